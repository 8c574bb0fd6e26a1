//! The engagement curves of posts: `data/engagement/<id>.json`, an array of `{timestamp, metrics}`, oldest first.

use brain_protocol::Snapshot;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Data, DataFault};
use crate::{PostId, counts, disk};
use brain_base::clock::rfc3339;

/// The most snapshots of a post; the oldest go first.
const MOST_SNAPSHOTS: usize = 100;

/// The end of a file that is read to find its last snapshot, in bytes: more than any snapshot has.
const LAST: u64 = 2048;
/// How a snapshot begins, as it is written here.
const BEGIN: &[u8] = br#"{"timestamp":"#;

/// A snapshot as it is kept.
#[derive(Deserialize)]
struct Kept {
    timestamp: String,
    metrics: Map<String, Value>,
}

impl Kept {
    fn snapshot(self) -> Option<Snapshot> {
        Some(Snapshot { timestamp: self.timestamp, metrics: counts(&self.metrics)? })
    }
}

/// The snapshot that `text` is.
fn snapshot(text: &RawValue) -> Option<Snapshot> {
    serde_json::from_str::<Kept>(text.get()).ok()?.snapshot()
}

impl Data {
    /// The snapshots of a post, oldest first; those that are no snapshots are left out.
    ///
    /// # Errors
    /// When they cannot be read. Damaged ones are moved aside.
    pub fn snapshots(&self, id: &PostId) -> Result<Vec<Snapshot>, DataFault> {
        Ok(self.kept(id)?.iter().filter_map(|kept| snapshot(kept)).collect())
    }

    /// The last snapshot of a post. Reads no more of the file than that, where it is as it was written.
    ///
    /// # Errors
    /// As [`Data::snapshots`].
    pub fn last_snapshot(&self, id: &PostId) -> Result<Option<Snapshot>, DataFault> {
        let Some(end) = disk::read_end(&self.file("engagement", id), LAST)? else {
            return Ok(None);
        };
        let last = end.windows(BEGIN.len()).rposition(|part| part == BEGIN);
        let last = last.and_then(|at| end.get(at..)?.strip_suffix(b"]"));
        // What only looks like a snapshot, within another, is no JSON up to the end.
        if let Some(found) =
            last.and_then(|text| serde_json::from_slice::<Kept>(text).ok()).and_then(Kept::snapshot)
        {
            return Ok(Some(found));
        }
        Ok(self.snapshots(id)?.pop())
    }

    /// Appends a snapshot with all of the post's `public_metrics`, and drops the oldest beyond 100. Reposts are called
    /// `retweet_count` in it, however the platform calls them.
    ///
    /// # Errors
    /// What the disk says.
    pub fn add_snapshot(
        &self,
        id: &PostId,
        at: i64,
        metrics: &Map<String, Value>,
    ) -> Result<(), DataFault> {
        let mut metrics = metrics.clone();
        if let (Some(reposts), None) =
            (metrics.get("repost_count").cloned(), metrics.get("retweet_count"))
        {
            metrics.insert("retweet_count".into(), reposts);
        }
        let added =
            format!(r#"{{"timestamp":"{}","metrics":{}}}"#, rfc3339(at), Value::Object(metrics));
        let _writing = disk::writing();
        let kept = self.kept(id)?;
        let from = (kept.len() + 1).saturating_sub(MOST_SNAPSHOTS);
        let mut all: Vec<&str> = kept.iter().skip(from).map(|kept| kept.get()).collect();
        all.push(&added);
        disk::replace(
            &self.file("engagement", id),
            format!("[{}]", all.join(",")).as_bytes(),
            false,
        )
    }

    /// What is in a post's file.
    fn kept(&self, id: &PostId) -> Result<Vec<Box<RawValue>>, DataFault> {
        let path = self.file("engagement", id);
        let Some(bytes) = disk::read(&path)? else { return Ok(Vec::new()) };
        serde_json::from_slice(&bytes).map_err(|error| disk::move_aside(&path, &error.to_string()))
    }
}
