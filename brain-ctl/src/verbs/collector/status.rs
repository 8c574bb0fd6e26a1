//! `brain collector status`: shows the state on one screen.

use brain_protocol::{CollectorRun, CollectorStatusReply, Curve, RateLimit, RunStatus};

use super::{plot::sparkline, relative_time};
use crate::output::{Show, Text, clean, count, format_to_minute, pad, width};

/// Columns of a label with the space after it.
const LABEL_WIDTH: usize = 10;
/// Columns of a sparkline.
const SPARK_WIDTH: usize = 16;

/// Prints a labelled value, wrapped with a hanging indent.
fn field(t: &mut Text, label: &str, value: &str) {
    let lead = format!("{} ", t.paint.dim(&pad(label, LABEL_WIDTH - 1)));
    t.prose(&lead, LABEL_WIDTH, value);
}

/// Describes a run in one line.
fn run_summary(run: &CollectorRun) -> String {
    let streams = run.streams.iter().map(|stream| match &stream.skipped {
        None => format!("{} {} ({} new)", stream.stream, stream.total, stream.new),
        Some(skipped) => format!("{} skipped ({})", stream.stream, skipped.reason),
    });
    let streams: Vec<String> = streams.collect();
    let events = format!(
        "{}, {}",
        count(run.deletions, "deletion"),
        count(run.velocity_alerts, "velocity alert")
    );
    let at = format_to_minute(&run.finished_at);
    match run.status {
        RunStatus::Failed => format!("failed {at}: {}", run.why().unwrap_or_default()),
        RunStatus::Complete => format!("{at}: {}; {events}", streams.join(", ")),
    }
}

/// Describes the rate limit of an endpoint, unless its window is over.
fn limit_text(limit: &RateLimit, now: i64) -> Option<String> {
    if limit.reset <= now {
        return None;
    }
    let time_difference = relative_time::relative(limit.reset, now);
    let until = format!("until {} ({time_difference})", relative_time::clock(limit.reset));
    let pause = if limit.held { "; paused until then" } else { "" };
    Some(format!("{}: {} left {until}{pause}", limit.endpoint, limit.remaining))
}

/// Prints a growing post with a sparkline of its likes.
fn write_growing_post(t: &mut Text, curve: &Curve) {
    let likes: Vec<u64> =
        curve.snapshots.iter().map(|snapshot| snapshot.metrics.like_count).collect();
    let (first, last) = (likes.first().copied().unwrap_or(0), likes.last().copied().unwrap_or(0));
    let spark = pad(&sparkline(&likes, SPARK_WIDTH), SPARK_WIDTH);
    let numbers = format!("{first} -> {last}");
    let head = format!("  {}  {numbers}  ", t.paint.cyan(&spark));
    let used_columns = 2 + SPARK_WIDTH + 2 + width(&numbers) + 2;
    let text = t.cut(&format!("{} {}", curve.author, curve.preview), used_columns);
    t.raw_line(format!("{head}{text}").trim_end());
    t.raw_line(&format!(
        "  {}",
        t.paint.dim(&format!("brain collector plot {}", clean(&curve.id)))
    ));
}

/// Prints the status; `now` is in Unix seconds.
fn write(t: &mut Text, status: &CollectorStatusReply, now: i64) {
    let relative =
        |at: &str| relative_time::millis(at).map(|ms| relative_time::relative(ms / 1000, now));
    match (&status.off_because, &status.next_run) {
        (Some(reason), _) => field(t, "off", reason),
        (None, Some(next)) => {
            let time_difference = relative(next).unwrap_or_default();
            field(
                t,
                "on",
                &format!("the next run is at {} ({time_difference})", format_to_minute(next)),
            );
        }
        (None, None) => field(t, "on", ""),
    }
    let handle = status.handle.as_ref().map(|handle| format!("@{handle}"));
    let account: Vec<&str> =
        [&handle, &status.user_id].into_iter().flatten().map(String::as_str).collect();
    if !account.is_empty() {
        field(t, "account", &account.join(", id "));
    }
    field(t, "platform", &status.platform_api);
    field(t, "directory", &status.dir);
    match &status.last_run {
        Some(run) => field(t, "last run", &run_summary(run)),
        None => field(t, "last run", "none yet"),
    }
    let stored = &status.stored;
    field(
        t,
        "stored",
        &format!(
            "{}, {}, {} from searches; {}, {}",
            count(stored.own, "own post"),
            count(stored.mentions, "mention"),
            stored.searches,
            count(stored.deletions, "deletion"),
            count(stored.engagement, "curve")
        ),
    );
    let limits = status.rate_limits.iter().filter_map(|limit| limit_text(limit, now));
    for (n, text) in limits.enumerate() {
        field(t, if n == 0 { "limits" } else { "" }, &text);
    }
    if let Some(stream) = &status.stream {
        let posts = format!(
            "{} in {}",
            count(stream.posts, "post"),
            count(stream.connections, "connection")
        );
        field(t, "stream", &format!("{}, {posts}: {}", stream.state, stream.message));
    }
    if !status.movers.is_empty() {
        field(t, "growing", "likes of the fastest growing posts");
        for curve in &status.movers {
            write_growing_post(t, curve);
        }
    }
}

impl Show for CollectorStatusReply {
    fn text(&self, t: &mut Text) {
        write(t, self, relative_time::now());
    }

    fn quiet(&self, t: &mut Text) {
        t.raw_line(if self.enabled { "on" } else { "off" });
    }

    fn notes(&self) -> Vec<String> {
        let warnings = self.last_run.iter().flat_map(|run| &run.warnings);
        warnings.map(|warning| format!("last run: {warning}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{
        CollectedStream, CollectorCounts, ConnectionStatus, Metrics, RunProblem, SkippedStream,
        Snapshot, StreamStatus,
    };

    #[allow(clippy::too_many_lines)]
    fn status() -> CollectorStatusReply {
        let stream = |name: &str, skipped: Option<RunProblem>| CollectedStream {
            stream: name.into(),
            total: 100,
            new: 7,
            skipped: skipped.map(|reason| SkippedStream {
                reason,
                message: "m".into(),
                reset: None,
            }),
        };
        let snapshot = |n: u64| Snapshot {
            timestamp: format!("2026-11-21T1{n}:00:00.000Z"),
            metrics: Metrics { like_count: n * n * 10, ..Metrics::default() },
        };
        CollectorStatusReply {
            enabled: true,
            off_because: None,
            handle: Some("ada".into()),
            user_id: Some("1234567890123456789".into()),
            platform_api: "https://api.x.com".into(),
            dir: "/home/ada/.brain/collector".into(),
            next_run: Some("2026-11-21T10:30:00.000Z".into()),
            last_run: Some(CollectorRun {
                status: RunStatus::Complete,
                reason: None,
                message: None,
                started_at: "2026-11-21T10:00:00.000Z".into(),
                finished_at: "2026-11-21T10:00:01.000Z".into(),
                streams: vec![
                    stream("own", None),
                    stream("mentions", None),
                    stream("searches", Some(RunProblem::RateLimited)),
                ],
                tweets_stored: 200,
                deletions: 1,
                velocity_alerts: 0,
                unverified: 0,
                requests: 4,
                warnings: vec!["w".into()],
            }),
            stored: CollectorCounts {
                own: 1,
                mentions: 30,
                searches: 400,
                deletions: 2,
                engagement: 70,
            },
            rate_limits: vec![
                RateLimit {
                    endpoint: "/2/tweets/search/recent".into(),
                    remaining: 2,
                    reset: 1_795_256_100,
                    held: true,
                },
                RateLimit {
                    endpoint: "/2/users/me".into(),
                    remaining: 70,
                    reset: 1_795_255_000,
                    held: false,
                },
            ],
            stream: Some(StreamStatus {
                state: ConnectionStatus::Connected,
                message: "\u{1b}[2Jposts arrive".into(),
                posts: 3,
                connections: 1,
            }),
            movers: vec![Curve {
                id: "17".into(),
                author: "eve".into(),
                preview: "a preview \u{202e} that is much longer than what is left of the line"
                    .into(),
                snapshots: (0..6).map(snapshot).collect(),
            }],
        }
    }

    /// 2026-11-21 10:18 UTC.
    const NOW: i64 = 1_795_255_200 + 18 * 60;

    fn render(status: &CollectorStatusReply, columns: usize) -> String {
        let mut t = Text::plain(Some(columns));
        write(&mut t, status, NOW);
        t.as_str().to_owned()
    }

    #[test]
    fn a_status_fits_60_columns_and_is_clean() {
        let text = render(&status(), 60);
        for line in text.lines() {
            assert!(width(line) <= 60, "{line}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(
            text.starts_with("on        the next run is at 2026-11-21 10:30 (in 12 min)\n"),
            "{text}"
        );
    }

    #[test]
    fn only_current_rate_limits_are_listed() {
        let mut status = status();
        status.rate_limits[0].reset = NOW + 900;
        let text = render(&status, 200);
        let limits = "limits    /2/tweets/search/recent: 2 left until 10:33 (in 15 min); \
                      paused until then\n";
        assert!(text.contains(limits), "{text}");
        assert!(!text.contains("users/me"), "{text}");
    }

    #[test]
    fn a_disabled_collector_and_a_failed_run_have_reasons() {
        let mut status = status();
        status.off_because =
            Some("there is no token; `brain collector setup --token-file FILE`".into());
        status.next_run = None;
        let run = status.last_run.as_mut().expect("run");
        (run.status, run.message) = (RunStatus::Failed, Some("the account has no credits".into()));
        let text = render(&status, 200);
        assert!(text.starts_with("off       there is no token; `brain collector setup"), "{text}");
        assert!(
            text.contains("last run  failed 2026-11-21 10:00: the account has no credits\n"),
            "{text}"
        );
        assert!(!text.contains("next run"), "{text}");
    }

    #[test]
    fn a_growing_post_has_a_sparkline_and_a_plot_command() {
        let text = render(&status(), 60);
        assert!(text.contains("0 -> 250  eve a preview"), "{text}");
        assert!(text.contains('▁') && text.contains('█'), "{text}");
        assert!(text.contains("brain collector plot 17\n"), "{text}");
    }
}
