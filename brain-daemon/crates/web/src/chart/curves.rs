//! The likes, reposts and replies of a post over time. Each count has its own panel, because likes
//! would flatten the other curves.

use std::fmt::Write as _;

use brain_base::clock::{parse_instant, rfc3339};
use brain_protocol::{Metrics, Snapshot};
use maud::{Markup, html};

use super::scale;
use crate::table::{table, time};
use crate::text::Text;

const WIDTH: i64 = 600;
/// The space above a panel, for the numbers of marks.
const TOP: i64 = 26;
/// The space at the other edges, for the width of the lines.
const EDGE: i64 = 4;
/// Maximum number of snapshots that are drawn as dots.
const MAX_DOTS: usize = 40;

/// The panel of one count.
struct Panel {
    name: &'static str,
    height: i64,
    count: fn(&Metrics) -> u64,
}

const PANELS: [Panel; 3] = [
    Panel { name: "Likes", height: 150, count: |metrics| metrics.like_count },
    Panel { name: "Reposts", height: 90, count: |metrics| metrics.retweet_count },
    Panel { name: "Replies", height: 90, count: |metrics| metrics.reply_count },
];

/// An event on the curves.
pub(crate) struct CurveMark {
    /// When it happened, in RFC 3339.
    pub(crate) at: String,
    /// What happened, in words.
    pub(crate) label: String,
    pub(crate) is_deletion: bool,
}

/// The times of snapshots and marks, and the period that both cover.
struct CurveTimes {
    snapshots: Vec<i64>,
    marks: Vec<Option<i64>>,
    first: i64,
    last: i64,
    /// Whether the times are in Unix milliseconds. Otherwise they are the positions of the
    /// snapshots.
    has_times: bool,
}

impl CurveTimes {
    /// Parses the times. If the time of a snapshot is invalid, the positions of the snapshots
    /// replace all times.
    fn of(snapshots: &[Snapshot], marks: &[CurveMark]) -> Self {
        let read: Option<Vec<i64>> =
            snapshots.iter().map(|snapshot| parse_instant(&snapshot.timestamp)).collect();
        let has_times = read.is_some();
        let (snapshots, marks) = match read {
            Some(times) => (times, marks.iter().map(|mark| parse_instant(&mark.at)).collect()),
            None => ((0..).take(snapshots.len()).collect(), vec![None; marks.len()]),
        };
        let all = || snapshots.iter().copied().chain(marks.iter().flatten().copied());
        let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        Self { snapshots, marks, first, last, has_times }
    }

    fn x(&self, at: i64) -> i64 {
        EDGE + scale(at.into(), self.first.into(), self.last.into(), WIDTH - 2 * EDGE)
    }
}

/// Draws likes, reposts and replies, with the marks, and a table of all numbers.
pub(crate) fn curves(snapshots: &[Snapshot], marks: &[CurveMark]) -> Markup {
    let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else {
        return html! { p { "There are no numbers yet." } };
    };
    let times = CurveTimes::of(snapshots, marks);
    html! {
        @if snapshots.len() > 1 {
            @for panel in &PANELS { (draw_panel(panel, snapshots, marks, &times)) }
            p class="axis" {
                @if times.has_times {
                    (time(&rfc3339(times.first))) " " (time(&rfc3339(times.last)))
                } @else { (time(&first.timestamp)) " " (time(&last.timestamp)) }
            }
        } @else { p { "A curve needs a second snapshot." } }
        @if !marks.is_empty() {
            ol class="marks" {
                @for mark in marks { li { (time(&mark.at)) ": " bdi { (Text(&mark.label)) } } }
            }
        }
        (numbers(snapshots, snapshots.len() < 2))
    }
}

fn draw_panel(
    panel: &Panel,
    snapshots: &[Snapshot],
    marks: &[CurveMark],
    times: &CurveTimes,
) -> Markup {
    let Panel { name, height, count } = *panel;
    let values: Vec<u64> = snapshots.iter().map(|snapshot| count(&snapshot.metrics)).collect();
    let (from, to) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
    let (low, high) = bounds(&values);
    let y = |value: u64| TOP + height - scale(value.into(), low.into(), high.into(), height);
    let dots: Vec<(i64, i64)> =
        times.snapshots.iter().zip(&values).map(|(at, value)| (times.x(*at), y(*value))).collect();
    let label = format!("{name}: from {from} to {to}, between {low} and {high}");
    let (bottom, box_height) = (TOP + height, TOP + height + EDGE);
    html! {
        figure class="curve" {
            figcaption {
                strong { (name) } " " (from) " → " (to)
                span class="facts" { " lowest " (low) ", highest " (high) }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (box_height) } role="img" aria-label=(label) {
                path class="base" d={ "M0 " (bottom) "H" (WIDTH) "M0 " (TOP) "H" (WIDTH) } {}
                @for (number, (mark, at)) in marks.iter().zip(&times.marks).enumerate() {
                    @if let Some(at) = at { (draw_mark(times.x(*at), bottom, number + 1, mark)) }
                }
                polyline points=(points(&dots)) {}
                @if dots.len() <= MAX_DOTS {
                    @for (x, y) in &dots { circle cx=(x) cy=(y) r="3" {} }
                }
            }
        }
    }
}

/// Draws a mark: a line over the panel with a number on top.
fn draw_mark(x: i64, bottom: i64, number: usize, mark: &CurveMark) -> Markup {
    // Keeps the number inside the picture.
    let text_x = x.clamp(8, WIDTH - 8 * i64::try_from(number.to_string().len()).unwrap_or(1));
    html! {
        g class={ "mark" @if mark.is_deletion { " end" } } {
            path d={ "M" (x) " " (TOP - 4) "V" (bottom) } {}
            text x=(text_x) y=(TOP - 8) text-anchor="middle" { (number) }
        }
    }
}

/// Draws likes as a line without labels, for a list.
pub(crate) fn sparkline(snapshots: &[Snapshot]) -> Markup {
    let likes: Vec<u64> = snapshots.iter().map(|it| it.metrics.like_count).collect();
    let ((low, high), times) = (bounds(&likes), CurveTimes::of(snapshots, &[]));
    let y = |value: u64| 22 - scale(value.into(), low.into(), high.into(), 20);
    let x = |at: i64| 2 + scale(at.into(), times.first.into(), times.last.into(), 96);
    let dots: Vec<(i64, i64)> =
        times.snapshots.iter().zip(&likes).map(|(at, likes)| (x(*at), y(*likes))).collect();
    html! {
        @if dots.len() > 1 {
            svg class="spark" viewBox="0 0 100 24" aria-hidden="true" {
                polyline points=(points(&dots)) {}
            }
        }
    }
}

fn bounds(values: &[u64]) -> (u64, u64) {
    (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0))
}

fn points(dots: &[(i64, i64)]) -> String {
    let mut text = String::new();
    for (x, y) in dots {
        let _ = write!(text, "{x},{y} ");
    }
    text.truncate(text.trim_end().len());
    text
}

fn numbers(snapshots: &[Snapshot], is_open: bool) -> Markup {
    let row = |snapshot: &Snapshot| {
        let Metrics { like_count, retweet_count, reply_count, quote_count } = snapshot.metrics;
        let counts = [like_count, retweet_count, reply_count, quote_count];
        let counts = counts.map(|count| html! { (count) });
        std::iter::once(time(&snapshot.timestamp)).chain(counts).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Markup>> = snapshots.iter().map(row).collect();
    let headings = ["Time (UTC)", "Likes", "Reposts", "Replies", "Quotes"];
    html! {
        details open[is_open] {
            summary { "The numbers" }
            (table("Numbers", &headings, &rows, ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshots(likes: &[u64]) -> Vec<Snapshot> {
        let snapshot = |(n, like_count): (usize, &u64)| Snapshot {
            timestamp: format!("2026-11-21T{:02}:{:02}:00.000Z", n / 2, n % 2 * 30),
            metrics: Metrics { like_count: *like_count, ..Metrics::default() },
        };
        likes.iter().enumerate().map(snapshot).collect()
    }

    #[test]
    fn a_curve_rises_to_the_upper_right_and_has_a_table() {
        let shown = curves(&snapshots(&[0, 25, 100]), &[]).0;
        assert!(shown.contains("points=\"4,176 300,138 596,26\""), "{shown}");
        assert!(shown.contains("aria-label=\"Likes: from 0 to 100, between 0 and 100\""));
        assert!(shown.contains(">25</td>") && !shown.contains(" style="), "{shown}");
        assert_eq!(shown.matches("<svg").count(), 3);
    }

    #[test]
    fn marks_are_numbered_inside_the_picture() {
        let mark =
            |at: &str, is_deletion| CurveMark { at: at.into(), label: "<b>".into(), is_deletion };
        let marks = [
            mark("2026-11-21T00:30:00Z", false),
            mark("2026-11-22T00:00:00Z", true),
            mark("nonsense", false),
        ];
        let shown = curves(&snapshots(&[1, 2]), &marks).0;
        assert_eq!(shown.matches("class=\"mark\"").count(), 3, "one in each panel: {shown}");
        assert_eq!(shown.matches("class=\"mark end\"").count(), 3, "{shown}");
        let axis = "2026-11-21 00:00</time> <time datetime=\"2026-11-22T00:00:00.000Z\"";
        assert!(shown.contains(axis), "the axis ends with the last mark: {shown}");
        assert!(shown.contains("M596 ") && shown.contains("&lt;b&gt;"), "{shown}");
        assert_eq!(shown.matches("<li>").count(), 3, "{shown}");
    }

    #[test]
    fn any_numbers_are_drawn() {
        assert!(curves(&[], &[]).0.contains("no numbers"));
        let one = curves(&snapshots(&[u64::MAX]), &[]).0;
        assert!(one.contains("second snapshot") && one.contains("<details open>"), "{one}");
        let without_times: Vec<Snapshot> = snapshots(&[u64::MAX, 0, 5])
            .into_iter()
            .map(|snapshot| Snapshot { timestamp: "x".into(), ..snapshot })
            .collect();
        assert!(curves(&without_times, &[]).0.contains("points=\"4,26 300,176"), "by position");
        assert!(sparkline(&without_times).0.contains("points=\"2,2 50,22 98,22\""));
        assert_eq!(sparkline(&snapshots(&[1])).0, "");
    }
}
