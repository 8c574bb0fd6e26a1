//! Engagement curves: `data/engagement/<id>.json`, snapshots of `{timestamp, metrics}`, oldest
//! first.

use brain_protocol::Snapshot;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Data;
use crate::{DataFault, PostId, parse_metrics};
use brain_base::clock::rfc3339;
use brain_base::disk;

/// Maximum number of snapshots per post; the oldest are dropped.
const MAX_SNAPSHOTS: usize = 100;

/// Bytes read from the end of a file to find its last snapshot. Longer than a usual snapshot.
const TAIL_BYTES: u64 = 2048;
/// The beginning of a snapshot, as written here.
const SNAPSHOT_PREFIX: &[u8] = br#"{"timestamp":"#;

/// A stored snapshot.
#[derive(Deserialize)]
struct StoredSnapshot {
    timestamp: String,
    metrics: Map<String, Value>,
}

impl StoredSnapshot {
    fn into_snapshot(self) -> Option<Snapshot> {
        Some(Snapshot { timestamp: self.timestamp, metrics: parse_metrics(&self.metrics)? })
    }
}

/// Parses a snapshot; `None` if it is invalid.
fn parse_snapshot(text: &RawValue) -> Option<Snapshot> {
    serde_json::from_str::<StoredSnapshot>(text.get()).ok()?.into_snapshot()
}

impl Data {
    /// Returns the snapshots of a post, oldest first. Skips invalid ones.
    ///
    /// # Errors
    /// If the file cannot be read, or if it is damaged. A damaged file is moved aside.
    pub fn snapshots(&self, id: &PostId) -> Result<Vec<Snapshot>, DataFault> {
        Ok(self.raw_snapshots(id)?.iter().filter_map(|raw| parse_snapshot(raw)).collect())
    }

    /// Returns the last snapshot of a post. Usually reads only the end of the file.
    ///
    /// # Errors
    /// As [`Data::snapshots`].
    pub fn last_snapshot(&self, id: &PostId) -> Result<Option<Snapshot>, DataFault> {
        let Some(end) = disk::read_end(&self.file("engagement", id), TAIL_BYTES)? else {
            return Ok(None);
        };
        let last = end.windows(SNAPSHOT_PREFIX.len()).rposition(|part| part == SNAPSHOT_PREFIX);
        let last = last.and_then(|at| end.get(at..)?.strip_suffix(b"]"));
        // The prefix may also occur inside a snapshot. The text from there to the end is not valid
        // JSON.
        if let Some(found) = last
            .and_then(|text| serde_json::from_slice::<StoredSnapshot>(text).ok())
            .and_then(StoredSnapshot::into_snapshot)
        {
            return Ok(Some(found));
        }
        Ok(self.snapshots(id)?.pop())
    }

    /// Appends a snapshot with all `public_metrics` of the post at `at`, in Unix milliseconds.
    /// Drops the oldest snapshots above 100. Stores reposts also as `retweet_count` if the platform
    /// calls them `repost_count`.
    ///
    /// # Errors
    /// If the file cannot be read or written, or if it is damaged. A damaged file is moved aside.
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
        let new_snapshot =
            format!(r#"{{"timestamp":"{}","metrics":{}}}"#, rfc3339(at), Value::Object(metrics));
        let _write_lock = disk::lock_writes();
        let raw_snapshots = self.raw_snapshots(id)?;
        let surplus = (raw_snapshots.len() + 1).saturating_sub(MAX_SNAPSHOTS);
        let mut all: Vec<&str> = raw_snapshots.iter().skip(surplus).map(|raw| raw.get()).collect();
        all.push(&new_snapshot);
        disk::replace(
            &self.file("engagement", id),
            format!("[{}]", all.join(",")).as_bytes(),
            false,
        )
    }

    /// Returns the raw snapshots of a post.
    fn raw_snapshots(&self, id: &PostId) -> Result<Vec<Box<RawValue>>, DataFault> {
        let path = self.file("engagement", id);
        let Some(bytes) = disk::read(&path)? else { return Ok(Vec::new()) };
        serde_json::from_slice(&bytes).map_err(|error| disk::move_aside(&path, &error.to_string()))
    }
}
