//! `brain collector plot`: draws a post's metrics over time as text.
//!
//! Each metric has its own panel, because likes would flatten the others.

use brain_protocol::{Curve, Metrics, Snapshot};

use super::relative_time;
use crate::output::{Show, Text, clean, count, format_to_minute, pad, width};

/// Maximum width of the drawing in columns.
const MAX_WIDTH: usize = 100;
/// Width of the drawing in columns without a terminal.
const DEFAULT_WIDTH: usize = 72;
/// Minimum width of a curve in columns.
const MIN_WIDTH: usize = 8;

/// The characters of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The drawing of one metric.
struct MetricPanel {
    name: &'static str,
    /// The height in lines.
    lines: usize,
    metric: fn(&Metrics) -> u64,
}

/// The panels from top to bottom.
const PANELS: [MetricPanel; 3] = [
    MetricPanel { name: "likes", lines: 8, metric: |metrics| metrics.like_count },
    MetricPanel { name: "reposts", lines: 4, metric: |metrics| metrics.retweet_count },
    MetricPanel { name: "replies", lines: 4, metric: |metrics| metrics.reply_count },
];

/// Draws `values` in up to `columns` characters. A character for several values shows the last.
pub(super) fn sparkline(values: &[u64], columns: usize) -> String {
    let (Some(low), Some(high)) = (values.iter().min(), values.iter().max()) else {
        return String::new();
    };
    let columns = values.len().min(columns);
    let pick = |n: usize| values[(n + 1) * values.len() / columns - 1];
    let steps = BARS.len() as u64 - 1;
    let height = |value: u64| {
        let above = u128::from(value - low) * u128::from(steps);
        // Equal values are drawn as a line at the bottom.
        above.checked_div(u128::from(high - low)).map_or(0, |n| n as usize)
    };
    (0..columns).map(|n| BARS[height(pick(n)).min(BARS.len() - 1)]).collect()
}

/// Dots in braille characters, each 2 dots wide and 4 high.
struct Canvas {
    columns: usize,
    lines: usize,
    cells: Vec<u8>,
}

impl Canvas {
    fn new(columns: usize, lines: usize) -> Self {
        Self { columns, lines, cells: vec![0; columns * lines] }
    }

    /// Sets a dot; `y` grows upwards.
    fn dot(&mut self, x: usize, y: usize) {
        /// The bit of a dot, by its row from the top and its column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let down = (self.lines * 4 - 1).saturating_sub(y);
        if let Some(cell) = self.cells.get_mut(down / 4 * self.columns + x / 2) {
            *cell |= BITS[down % 4][x % 2];
        }
    }

    /// Draws a straight line.
    fn line(&mut self, from: (usize, usize), to: (usize, usize)) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |a: usize, b: usize, n: usize| {
            let (a, b, n, steps) = (a as i64, b as i64, n as i64, steps as i64);
            usize::try_from(a + (2 * (b - a) * n + steps).div_euclid(2 * steps)).unwrap_or(0)
        };
        for n in 0..=steps {
            self.dot(between(from.0, to.0, n), between(from.1, to.1, n));
        }
    }

    /// Returns the characters of a line, counted from the top.
    fn row(&self, line: usize) -> String {
        let cells = &self.cells[line * self.columns..(line + 1) * self.columns];
        // Some fonts draw empty circles for the pattern without dots.
        let character = |&bits: &u8| match bits {
            0 => Some(' '),
            _ => char::from_u32(0x2800 + u32::from(bits)),
        };
        cells.iter().filter_map(character).collect::<String>().trim_end().to_owned()
    }
}

/// Maps `value` from `low..=high` to `0..=max`; to the middle if both bounds are equal.
fn scale(value: i128, low: i128, high: i128, max: usize) -> usize {
    let (span, max) = (high - low, max as i128);
    let at = if span == 0 { max / 2 } else { ((value - low) * max + span / 2) / span };
    usize::try_from(at).unwrap_or(0)
}

/// Returns the times of the snapshots in milliseconds; their indices if any time is unreadable.
fn times(snapshots: &[Snapshot]) -> Vec<i64> {
    let times: Option<Vec<i64>> =
        snapshots.iter().map(|snapshot| relative_time::millis(&snapshot.timestamp)).collect();
    times.unwrap_or_else(|| (0..).take(snapshots.len()).collect())
}

/// Draws one metric over time: `values` at `times`, in `columns` characters after labels of
/// `label_width` characters.
fn draw_panel(
    t: &mut Text,
    panel: &MetricPanel,
    values: &[u64],
    times: &[i64],
    label_width: usize,
    columns: usize,
) {
    let (first, last) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
    t.raw_line(&format!("{} {first} -> {last}", t.paint.bold(panel.name)));
    let (low, high) =
        (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    // Values that never change need one line.
    let lines = if low == high { 1 } else { panel.lines };
    let mut canvas = Canvas::new(columns, lines);
    let (from, to) =
        (times.iter().min().copied().unwrap_or(0), times.iter().max().copied().unwrap_or(0));
    let dots: Vec<(usize, usize)> = values
        .iter()
        .zip(times)
        .map(|(&value, &time)| {
            let x = scale(time.into(), from.into(), to.into(), columns * 2 - 1);
            (x, scale(value.into(), low.into(), high.into(), lines * 4 - 1))
        })
        .collect();
    for pair in dots.windows(2) {
        canvas.line(pair[0], pair[1]);
    }
    for line in 0..lines {
        let label = match line {
            0 => high.to_string(),
            n if n + 1 == lines => low.to_string(),
            _ => String::new(),
        };
        let label = format!("{label:>label_width$}");
        t.raw_line(&format!(
            "{} {}{}",
            t.paint.dim(&label),
            t.paint.dim("┤"),
            t.paint.cyan(&canvas.row(line))
        ));
    }
}

impl Show for Curve {
    fn text(&self, t: &mut Text) {
        let name = format!("{} {}", self.id, self.author);
        let head = t.cut(&name, 0);
        t.raw_line(t.paint.bold(head.trim_end()).as_str());
        let preview = t.cut(&self.preview, 0);
        if !preview.is_empty() {
            t.raw_line(&preview);
        }
        let (first, last) = match self.snapshots.as_slice() {
            [] => return t.line("no numbers yet"),
            [one] => {
                let Metrics { like_count, retweet_count, reply_count, .. } = one.metrics;
                let replies = if reply_count == 1 {
                    "1 reply".into()
                } else {
                    format!("{reply_count} replies")
                };
                let counts = format!(
                    "{}, {}, {replies}",
                    count(like_count, "like"),
                    count(retweet_count, "repost")
                );
                return t.prose(
                    "",
                    0,
                    &format!(
                        "{}: {counts}; a curve needs a second snapshot",
                        format_to_minute(&one.timestamp)
                    ),
                );
            }
            [first, .., last] => (first, last),
        };
        let values = PANELS.map(|panel| {
            let value = |snapshot: &Snapshot| (panel.metric)(&snapshot.metrics);
            self.snapshots.iter().map(value).collect::<Vec<u64>>()
        });
        let largest = values.iter().flatten().max().copied().unwrap_or(0);
        let label_width = largest.to_string().len();
        let width = t.width.unwrap_or(DEFAULT_WIDTH).min(MAX_WIDTH);
        let columns = width.saturating_sub(label_width + 2).max(MIN_WIDTH);
        let times = times(&self.snapshots);
        for (panel, values) in PANELS.iter().zip(&values) {
            draw_panel(t, panel, values, &times, label_width, columns);
        }
        draw_axis(
            t,
            label_width,
            columns,
            &clean(&format_to_minute(&first.timestamp)),
            &clean(&format_to_minute(&last.timestamp)),
        );
    }

    /// Prints the time and the likes of each snapshot.
    fn quiet(&self, t: &mut Text) {
        for snapshot in &self.snapshots {
            t.line(&format!("{} {}", snapshot.timestamp, snapshot.metrics.like_count));
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.snapshots.len() {
            0 | 1 => Vec::new(),
            n => vec![format!("{} (at most 100 are kept)", count(n as u64, "snapshot"))],
        }
    }
}

/// Draws the time axis.
fn draw_axis(t: &mut Text, label_width: usize, columns: usize, from: &str, to: &str) {
    let indent = " ".repeat(label_width + 1);
    t.raw_line(&format!("{indent}{}", t.paint.dim(&format!("└{}", "─".repeat(columns)))));
    let width_left = columns + 1;
    let times = match width_left.checked_sub(width(from) + width(to)) {
        Some(gap) if gap > 0 => format!("{from}{}{to}", " ".repeat(gap)),
        // If only one time fits, the later one is shown.
        _ => pad("", width_left.saturating_sub(width(to))) + to,
    };
    t.raw_line(&format!("{indent}{}", t.paint.dim(&times)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(likes: &[u64]) -> Curve {
        let snapshots = likes.iter().zip(0..).map(|(&like_count, n)| Snapshot {
            timestamp: format!("2026-11-21T{:02}:{:02}:00.000Z", n / 2, n % 2 * 30),
            metrics: Metrics {
                like_count,
                retweet_count: like_count / 10,
                reply_count: 3,
                quote_count: 0,
            },
        });
        Curve {
            id: "1234567890123456789".into(),
            author: "ada".into(),
            preview: "a text \u{1b}[2J\u{202e} that is longer than sixty columns, \
                      as most of them are anyway"
                .into(),
            snapshots: snapshots.collect(),
        }
    }

    fn render(curve: &Curve, columns: Option<usize>) -> String {
        let mut t = Text::plain(columns);
        curve.text(&mut t);
        t.as_str().to_owned()
    }

    #[test]
    fn a_curve_rises_from_the_lower_left_to_the_upper_right() {
        let text = render(&curve(&[0, 25, 50, 75, 100]), Some(60));
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines {
            assert!(width(line) <= 60, "{line}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert_eq!(lines[2], "likes 0 -> 100");
        let (top, bottom) = (lines[3], lines[10]);
        assert!(top.starts_with("100 ┤  ") && width(top) == 60, "{top:?}");
        assert!(
            bottom.starts_with("  0 ┤") && !bottom[7..].starts_with(' ') && width(bottom) < 20,
            "{bottom:?}"
        );
        assert_eq!(lines[11], "reposts 0 -> 10");
        assert!(
            text.ends_with("2026-11-21 00:00                        2026-11-21 02:00\n"),
            "{text}"
        );
    }

    #[test]
    fn constant_numbers_are_one_flat_line() {
        let text = render(&curve(&[7, 7, 7]), Some(40));
        assert!(
            text.contains("likes 7 -> 7\n7 ┤⠤⠤⠤") || text.contains("likes 7 -> 7\n7 ┤⠒⠒⠒"),
            "{text}"
        );
        assert_eq!(text.lines().filter(|line| line.contains('┤')).count(), 3, "{text}");
    }

    #[test]
    fn fewer_than_two_snapshots_are_printed_as_text() {
        let one = render(&curve(&[1]), Some(60));
        assert!(one.contains("2026-11-21 00:00: 1 like, 0 reposts, 3 replies;"), "{one}");
        assert!(render(&curve(&[]), Some(60)).ends_with("no numbers yet\n"));
    }

    #[test]
    fn any_width_and_any_numbers_are_drawn() {
        let odd = Curve {
            snapshots: curve(&[u64::MAX, 0, u64::MAX / 2])
                .snapshots
                .into_iter()
                .map(|snapshot| Snapshot {
                    timestamp: "2026-11-21T00:00:00.000Z".into(),
                    ..snapshot
                })
                .collect(),
            ..curve(&[])
        };
        for columns in [None, Some(1), Some(20), Some(33), Some(60), Some(500)] {
            for curve in [&curve(&[1, 2]), &odd, &curve(&(0..100).rev().collect::<Vec<_>>())] {
                let text = render(curve, columns);
                let max_width = columns.unwrap_or(DEFAULT_WIDTH).clamp(32, MAX_WIDTH);
                let drawn = text.lines().filter(|line| line.contains('┤'));
                assert!(drawn.clone().count() >= 3, "{text}");
                assert!(drawn.clone().all(|line| width(line) <= max_width), "{columns:?}\n{text}");
            }
        }
        let unreadable_times = Curve {
            snapshots: curve(&[1, 5])
                .snapshots
                .into_iter()
                .map(|s| Snapshot { timestamp: "x".into(), ..s })
                .collect(),
            ..curve(&[])
        };
        assert!(render(&unreadable_times, Some(40)).contains("likes 1 -> 5"));
    }

    #[test]
    fn sparklines_have_the_height_of_their_values() {
        assert_eq!(sparkline(&[], 8), "");
        assert_eq!(sparkline(&[5], 8), "▁");
        assert_eq!(sparkline(&[5, 5, 5], 8), "▁▁▁");
        assert_eq!(sparkline(&[0, 1, 2, 3, 4, 5, 6, 7], 8), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[0, u64::MAX], 8), "▁█");
        assert_eq!(sparkline(&(0..100).collect::<Vec<_>>(), 4).chars().count(), 4);
        assert_eq!(sparkline(&[0, 0, 0, 9], 2), "▁█", "a column shows the last of its values");
    }
}
