//! The collector's journal, `journal.jsonl`: new posts, deletions, alerts and enrichments in order.
//!
//! With it, new posts are found without reading all post files. A line is written before its
//! change, so after a crash it may appear twice; readers deduplicate. Readers also skip a line that
//! a crash cut short.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use brain_protocol::AlertKind;
use serde::{Deserialize, Serialize};

use super::record::{ARCHIVED, COLLECTED_AT, LAST_UPDATED};
use super::{Data, DataFault, Stream};
use brain_base::clock::{parse_instant, rfc3339};
use brain_base::{disk, json_lines};

/// Size of a block when reading from the end, in bytes.
const BLOCK_BYTES: u64 = 64 * 1024;

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JournalEvent {
    /// A new post.
    Post {
        /// The post.
        id: String,
        /// The stream.
        stream: String,
        /// The id of the author.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author_id: Option<String>,
    },
    /// A confirmed deletion.
    Deletion {
        /// The post.
        id: String,
    },
    /// An alert other than a deletion.
    Alert {
        /// The kind.
        alert: AlertKind,
        /// The post.
        id: String,
        /// Handle or id of the author.
        author: String,
        /// The event line, or a sentence.
        message: String,
    },
    /// An enrichment that is done and need not be repeated.
    Enriched {
        /// The key of the enrichment: rule, page, and post or topic.
        key: String,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The time, in RFC 3339.
    pub at: String,
    /// The event.
    #[serde(flatten)]
    pub event: JournalEvent,
}

/// The journal of a collector's directory.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// Uses the collector's directory `dir`. Does no I/O.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join("journal.jsonl") }
    }

    /// Appends events durably, with the time `at` in Unix milliseconds.
    ///
    /// # Errors
    /// The I/O error with its path if the lines cannot be written.
    pub fn append(&self, at: i64, events: &[JournalEvent]) -> Result<(), DataFault> {
        if events.is_empty() {
            return Ok(());
        }
        let at = rfc3339(at);
        let lines: String = events
            .iter()
            .map(|event| format_line(&Entry { at: at.clone(), event: event.clone() }))
            .collect();
        let _write_lock = disk::lock_writes();
        json_lines::append(&self.path, true, |_| lines).map_err(disk::fault(&self.path))
    }

    /// Returns the distinct events at or after `since` (Unix milliseconds), oldest first. Reads
    /// backwards from the end, so old lines cost nothing.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn since(&self, since: i64) -> Result<Vec<Entry>, DataFault> {
        let Some(file) = self.open()? else { return Ok(Vec::new()) };
        let mut entries = self.read_backwards(file, since).map_err(disk::fault(&self.path))?;
        entries.reverse();
        let mut distinct_events = HashSet::new();
        entries.retain(|entry| distinct_events.insert(entry.event.clone()));
        Ok(entries)
    }

    /// Rebuilds a missing journal from the stored posts and deletions.
    ///
    /// # Errors
    /// If files cannot be read or the journal cannot be written.
    pub fn rebuild(&self, data: &Data) -> Result<(), DataFault> {
        if self.path.exists() {
            return Ok(());
        }
        let mut entries = Vec::new();
        for stream in Stream::ALL {
            for id in data.ids(&format!("tweets/{}", stream.as_str()))? {
                let Some(post) = skip_damaged(data.post(stream, &id))? else { continue };
                // It was written long before it was added, and is no news.
                if post.fields().contains_key(ARCHIVED) {
                    continue;
                }
                let at = [COLLECTED_AT, LAST_UPDATED]
                    .iter()
                    .find_map(|name| post.instant(name))
                    .unwrap_or(0);
                let author_id = post.author_id().map(str::to_owned);
                let event = JournalEvent::Post {
                    id: id.to_string(),
                    stream: stream.as_str().to_owned(),
                    author_id,
                };
                entries.push((at, Entry { at: rfc3339(at), event }));
            }
        }
        for id in data.ids("deletions")? {
            let Some(deletion) = skip_damaged(data.deletion(&id))? else { continue };
            let at = parse_instant(&deletion.detected_at).unwrap_or(0);
            entries.push((
                at,
                Entry { at: rfc3339(at), event: JournalEvent::Deletion { id: id.to_string() } },
            ));
        }
        entries.sort_by_key(|(at, _)| *at);
        let lines: String = entries.iter().map(|(_, entry)| format_line(entry)).collect();
        let _write_lock = disk::lock_writes();
        disk::replace(&self.path, lines.as_bytes(), true)
    }

    fn open(&self) -> Result<Option<File>, DataFault> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(disk::fault(&self.path)(error)),
        }
    }

    /// Returns the entries at or after `since`, newest first. Stops at the first block whose
    /// entries are all older, so a few entries out of order hide nothing.
    fn read_backwards(&self, mut file: File, since: i64) -> io::Result<Vec<Entry>> {
        let mut recent_entries = Vec::new();
        // The rest of the line that begins before the block that was read last.
        let mut line_rest = Vec::new();
        let mut end = file.metadata()?.len();
        while end > 0 {
            let begin = end.saturating_sub(BLOCK_BYTES);
            let mut block = Vec::new();
            file.seek(SeekFrom::Start(begin))?;
            Read::by_ref(&mut file).take(end - begin).read_to_end(&mut block)?;
            block.append(&mut line_rest);
            // The first line of a block may have begun before it.
            let first_line = match begin {
                0 => 0,
                _ => block.iter().position(|b| *b == b'\n').map_or(block.len(), |at| at + 1),
            };
            let lines = block.get(first_line..).unwrap_or_default().split(|b| *b == b'\n').rev();
            let entries: Vec<Entry> =
                lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
            let entry_count = entries.len();
            let is_recent = |entry: &Entry| parse_instant(&entry.at).is_some_and(|at| at >= since);
            let former_count = recent_entries.len();
            recent_entries.extend(entries.into_iter().filter(is_recent));
            if entry_count > 0 && recent_entries.len() == former_count {
                break;
            }
            block.truncate(first_line);
            (line_rest, end) = (block, begin);
        }
        Ok(recent_entries)
    }
}

/// Formats an entry as a line; this cannot fail.
fn format_line(entry: &Entry) -> String {
    serde_json::to_string(entry).map(|line| line + "\n").unwrap_or_default()
}

/// Treats a damaged file, which was moved aside, as missing.
fn skip_damaged<T>(read: Result<Option<T>, DataFault>) -> Result<Option<T>, DataFault> {
    match read {
        Err(fault) if fault.is_damage() => Ok(None),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use brain_protocol::DeletionReason;
    use serde_json::json;

    use super::*;
    use crate::{PostId, Record};

    const T0: i64 = 1_795_257_045_123;

    fn post(id: i64) -> JournalEvent {
        JournalEvent::Post { id: id.to_string(), stream: "own".into(), author_id: Some("5".into()) }
    }

    fn ids(entries: &[Entry]) -> Vec<String> {
        let id = |entry: &Entry| match &entry.event {
            JournalEvent::Post { id, .. }
            | JournalEvent::Deletion { id }
            | JournalEvent::Alert { id, .. } => id.clone(),
            JournalEvent::Enriched { key } => key.clone(),
        };
        entries.iter().map(id).collect()
    }

    #[test]
    fn events_are_returned_in_order_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path());
        assert_eq!(journal.since(0).unwrap(), []);
        let alert = JournalEvent::Alert {
            alert: AlertKind::Velocity,
            id: "2".into(),
            author: "alice\n".into(),
            message: "VELOCITY_ALERT:2:likes:50->100:30min".into(),
        };
        journal.append(T0, &[post(1), post(2)]).unwrap();
        journal
            .append(T0 + 1, &[alert.clone(), JournalEvent::Deletion { id: "1".into() }])
            .unwrap();
        journal.append(T0 + 2, &[post(1), JournalEvent::Enriched { key: "key".into() }]).unwrap();
        journal.append(T0 + 2, &[]).unwrap();
        let all = journal.since(T0).unwrap();
        assert_eq!(ids(&all), ["1", "2", "2", "1", "key"]);
        assert_eq!((&all[2].event, all[2].at.as_str()), (&alert, "2026-11-21T10:30:45.124Z"));
        assert_eq!(ids(&journal.since(T0 + 1).unwrap()), ["2", "1", "1", "key"]);
        assert_eq!(journal.since(T0 + 3).unwrap(), []);
    }

    #[test]
    fn invalid_lines_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path());
        journal.append(T0, &[post(1)]).unwrap();
        let path = dir.path().join("journal.jsonl");
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, [b"\xff no line\n\n", &whole[..], &whole[..cut]].concat()).unwrap();
            journal.append(T0, &[post(2)]).unwrap();
            assert_eq!(ids(&journal.since(T0).unwrap()), ["1", "2"], "cut at {cut}");
        }
    }

    #[test]
    fn a_long_journal_is_read_in_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path());
        let posts: Vec<JournalEvent> = (0..5000).map(post).collect();
        for (n, posts) in posts.chunks(100).enumerate() {
            journal.append(T0 + n as i64, posts).unwrap();
        }
        for from in [0, 1, 17, 49, 50] {
            let expected: Vec<String> = (from * 100..5000).map(|id| id.to_string()).collect();
            assert_eq!(ids(&journal.since(T0 + from).unwrap()), expected);
        }
    }

    #[test]
    fn old_lines_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path());
        // If old blocks were read, this recent line before thousands of old ones would be found.
        journal.append(T0, &[post(0)]).unwrap();
        journal.append(T0 - 100_000, &(1..5000).map(post).collect::<Vec<_>>()).unwrap();
        journal.append(T0, &[post(5000)]).unwrap();
        assert_eq!(ids(&journal.since(T0).unwrap()), ["5000"]);
    }

    #[test]
    fn a_missing_journal_is_rebuilt_from_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let (data, journal) = (Data::new(dir.path()), Journal::new(dir.path()));
        data.prepare().unwrap();
        let record = |id: &str, at: i64| {
            Record::new(json!({"id": id, "author_id": "5", "text": "t", COLLECTED_AT: rfc3339(at)}))
                .unwrap()
        };
        data.put_post(Stream::Own, &record("2", T0 + 2)).unwrap();
        data.put_post(Stream::Searches, &record("1", T0 + 1)).unwrap();
        data.put_deletion(&record("2", T0 + 2), T0 + 3, DeletionReason::NotFound, false).unwrap();
        fs::write(data.root().join("tweets/own/3.json"), "{").unwrap();
        journal.rebuild(&data).unwrap();
        let entries = journal.since(0).unwrap();
        assert_eq!(ids(&entries), ["1", "2", "2"]);
        assert_eq!(
            entries[2].event,
            JournalEvent::Deletion { id: PostId::parse("2").unwrap().to_string() }
        );
        assert_eq!(entries[1].at, rfc3339(T0 + 2));
        // An existing journal is left alone.
        fs::write(dir.path().join("journal.jsonl"), "").unwrap();
        journal.rebuild(&data).unwrap();
        assert_eq!(journal.since(0).unwrap(), []);
    }
}
