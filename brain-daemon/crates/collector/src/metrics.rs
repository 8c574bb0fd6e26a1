//! The metrics of a post, in both vocabularies of the platform. No I/O.

use brain_protocol::Metrics;
use serde_json::{Map, Value};

use super::Record;

/// Returns the four metrics that snapshots compare. `None` without `public_metrics` or likes.
/// Reposts are `retweet_count` or `repost_count`.
#[must_use]
pub fn post_metrics(record: &Record) -> Option<Metrics> {
    parse_metrics(record.fields().get("public_metrics")?.as_object()?)
}

/// Returns the four metrics of an object; `None` without likes. Missing likes must not count as 0,
/// or their return would be an alert. Other missing metrics are 0.
#[must_use]
pub fn parse_metrics(metrics: &Map<String, Value>) -> Option<Metrics> {
    let of = |names: &[&str]| names.iter().find_map(|name| metrics.get(*name)?.as_u64());
    Some(Metrics {
        like_count: of(&["like_count"])?,
        retweet_count: of(&["retweet_count", "repost_count"]).unwrap_or(0),
        reply_count: of(&["reply_count"]).unwrap_or(0),
        quote_count: of(&["quote_count"]).unwrap_or(0),
    })
}
