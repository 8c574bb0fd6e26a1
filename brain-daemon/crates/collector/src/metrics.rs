//! The numbers of a post, in either vocabulary of the platform. Pure.

use brain_protocol::Metrics;
use serde_json::{Map, Value};

use super::Record;

/// The four numbers that snapshots are compared by; `None` when the post has no `public_metrics`, or no likes in it. The
/// platform calls reposts `retweet_count` or `repost_count`.
#[must_use]
pub fn compared(record: &Record) -> Option<Metrics> {
    counts(record.fields().get("public_metrics")?.as_object()?)
}

/// The four numbers in an object of metrics; `None` without likes. Taken for 0, likes that are missing once, or are no number, would be an
/// alert when they are there again. Of the others, those that are missing are 0.
#[must_use]
pub fn counts(metrics: &Map<String, Value>) -> Option<Metrics> {
    let of = |names: &[&str]| names.iter().find_map(|name| metrics.get(*name)?.as_u64());
    Some(Metrics {
        like_count: of(&["like_count"])?,
        retweet_count: of(&["retweet_count", "repost_count"]).unwrap_or(0),
        reply_count: of(&["reply_count"]).unwrap_or(0),
        quote_count: of(&["quote_count"]).unwrap_or(0),
    })
}
