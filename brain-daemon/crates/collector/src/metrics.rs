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

/// Returns the four metrics of an object; `None` without likes. Likes that are missing must not
/// count as 0: their next value would look like growth. Other missing metrics are 0.
#[must_use]
pub fn parse_metrics(metrics: &Map<String, Value>) -> Option<Metrics> {
    let count = |names: &[&str]| names.iter().find_map(|name| metrics.get(*name)?.as_u64());
    Some(Metrics {
        like_count: count(&["like_count"])?,
        retweet_count: count(&["retweet_count", "repost_count"]).unwrap_or(0),
        reply_count: count(&["reply_count"]).unwrap_or(0),
        quote_count: count(&["quote_count"]).unwrap_or(0),
    })
}
