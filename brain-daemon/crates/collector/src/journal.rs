//! What was noted, in order: posts when they were new, deletions, alerts, what was enriched. One JSON object a line in `journal.jsonl`
//! of the collector's directory; it spares reading a hundred thousand files to know what is new. A line is written before what it tells
//! of is, so after a crash it may come twice: readers take each thing once. Lines cut short by a crash are left out.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record::{COLLECTED_AT, LAST_UPDATED};
use super::{Data, DataFault, Stream, disk};
use brain_base::clock::{parse_instant, rfc3339};

/// How much is read at once from its end, in bytes.
const BLOCK: u64 = 64 * 1024;

/// What was noted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Noted {
    /// A post came that was not stored before.
    Post {
        /// Its id.
        id: String,
        /// The stream it came by.
        stream: String,
        /// The id of its author.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author_id: Option<String>,
    },
    /// A deletion was confirmed.
    Deletion {
        /// The post.
        id: String,
    },
    /// An alert that is none of a deletion: `velocity`, `reply_ratio`, `quote_ratio`.
    Alert {
        /// Which.
        alert: String,
        /// The post.
        id: String,
        /// Handle or id of its author.
        author: String,
        /// The event line, or a sentence.
        message: String,
    },
    /// A line of an enrichment rule stands in a page, and need not be written again.
    Enriched {
        /// What makes the line one: rule, page and post or topic.
        key: String,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, RFC 3339.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub noted: Noted,
}

/// The journal in a directory.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The one in the collector's directory `dir`. Touches nothing.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join("journal.jsonl") }
    }

    /// Appends these, on the disk itself when this returns. An unfinished last line of a crash is ended first.
    ///
    /// # Errors
    /// What the disk says.
    pub fn append(&self, at: i64, noted: &[Noted]) -> Result<(), DataFault> {
        if noted.is_empty() {
            return Ok(());
        }
        let at = rfc3339(at);
        let lines: String = noted
            .iter()
            .map(|noted| line(&Entry { at: at.clone(), noted: noted.clone() }))
            .collect();
        disk::append(&self.path, &lines, true)
    }

    /// Everything noted at or after `since` (Unix milliseconds), oldest first, each thing once. Reads from the end backwards, so old
    /// lines cost nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn since(&self, since: i64) -> Result<Vec<Entry>, DataFault> {
        let Some(file) = self.open()? else { return Ok(Vec::new()) };
        let mut found = self.backwards(file, since).map_err(disk::fault(&self.path))?;
        found.reverse();
        let mut seen = HashSet::new();
        found.retain(|entry| seen.insert(entry.noted.clone()));
        Ok(found)
    }

    /// Makes a journal of the stored posts and deletions when there is none: it was lost, or the files are older than it.
    ///
    /// # Errors
    /// When files cannot be read, or it cannot be written.
    pub fn rebuild(&self, data: &Data) -> Result<(), DataFault> {
        if self.path.exists() {
            return Ok(());
        }
        let mut entries = Vec::new();
        for stream in Stream::ALL {
            for id in data.ids(&format!("tweets/{}", stream.as_str()))? {
                let Some(post) = readable(data.post(stream, &id))? else { continue };
                let at = [COLLECTED_AT, LAST_UPDATED]
                    .iter()
                    .find_map(|name| post.instant(name))
                    .unwrap_or(0);
                let author_id = post.author_id().map(str::to_owned);
                let noted = Noted::Post {
                    id: id.to_string(),
                    stream: stream.as_str().to_owned(),
                    author_id,
                };
                entries.push((at, Entry { at: rfc3339(at), noted }));
            }
        }
        for id in data.ids("deletions")? {
            let Some(deletion) = readable(data.deletion(&id))? else { continue };
            let at = parse_instant(&deletion.detected_at, false).unwrap_or(0);
            entries.push((
                at,
                Entry { at: rfc3339(at), noted: Noted::Deletion { id: id.to_string() } },
            ));
        }
        entries.sort_by_key(|(at, _)| *at);
        let lines: String = entries.iter().map(|(_, entry)| line(entry)).collect();
        let _writing = disk::writing();
        disk::replace(&self.path, lines.as_bytes(), true)
    }

    fn open(&self) -> Result<Option<File>, DataFault> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(disk::fault(&self.path)(error)),
        }
    }

    /// The entries at or after `since`, newest first. Ends with the first block that has none, so that a clock that was set back by a
    /// little hides nothing.
    fn backwards(&self, mut file: File, since: i64) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        // What was read of the line that began before the block.
        let mut rest = Vec::new();
        let mut end = file.metadata()?.len();
        while end > 0 {
            let begin = end.saturating_sub(BLOCK);
            let mut block = Vec::new();
            file.seek(SeekFrom::Start(begin))?;
            Read::by_ref(&mut file).take(end - begin).read_to_end(&mut block)?;
            block.append(&mut rest);
            // The first line of a block may have begun before it.
            let whole = match begin {
                0 => 0,
                _ => block.iter().position(|b| *b == b'\n').map_or(block.len(), |at| at + 1),
            };
            let lines = block.get(whole..).unwrap_or_default().split(|b| *b == b'\n').rev();
            let entries: Vec<Entry> =
                lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
            let read = entries.len();
            let young =
                |entry: &Entry| parse_instant(&entry.at, false).is_some_and(|at| at >= since);
            let before = found.len();
            found.extend(entries.into_iter().filter(young));
            if read > 0 && found.len() == before {
                break;
            }
            block.truncate(whole);
            (rest, end) = (block, begin);
        }
        Ok(found)
    }
}

/// An entry as it stands in the journal; such a value can always be written.
fn line(entry: &Entry) -> String {
    serde_json::to_string(entry).map(|line| line + "\n").unwrap_or_default()
}

/// What was read, unless it was damaged: that was moved aside.
fn readable<T>(read: Result<Option<T>, DataFault>) -> Result<Option<T>, DataFault> {
    match read {
        Err(fault) if fault.is_damage() => Ok(None),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::{PostId, Record};

    const T0: i64 = 1_795_257_045_123;

    fn post(id: i64) -> Noted {
        Noted::Post { id: id.to_string(), stream: "own".into(), author_id: Some("5".into()) }
    }

    fn ids(entries: &[Entry]) -> Vec<String> {
        let id = |entry: &Entry| match &entry.noted {
            Noted::Post { id, .. } | Noted::Deletion { id } | Noted::Alert { id, .. } => id.clone(),
            Noted::Enriched { key } => key.clone(),
        };
        entries.iter().map(id).collect()
    }

    #[test]
    fn what_was_noted_comes_back_in_order_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path());
        assert_eq!(journal.since(0).unwrap(), []);
        let alert = Noted::Alert {
            alert: "velocity".into(),
            id: "2".into(),
            author: "alice\n".into(),
            message: "VELOCITY_ALERT:2:likes:50->100:30min".into(),
        };
        journal.append(T0, &[post(1), post(2)]).unwrap();
        journal.append(T0 + 1, &[alert.clone(), Noted::Deletion { id: "1".into() }]).unwrap();
        journal.append(T0 + 2, &[post(1), Noted::Enriched { key: "key".into() }]).unwrap();
        journal.append(T0 + 2, &[]).unwrap();
        let all = journal.since(T0).unwrap();
        assert_eq!(ids(&all), ["1", "2", "2", "1", "key"]);
        assert_eq!((&all[2].noted, all[2].at.as_str()), (&alert, "2026-11-21T10:30:45.124Z"));
        assert_eq!(ids(&journal.since(T0 + 1).unwrap()), ["2", "1", "1", "key"]);
        assert_eq!(journal.since(T0 + 3).unwrap(), []);
    }

    #[test]
    fn lines_cut_short_and_lines_that_are_none_are_left_out() {
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
    fn a_long_journal_is_read_across_its_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path());
        let posts: Vec<Noted> = (0..5000).map(post).collect();
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
        // Were they read, one would be among what is found: a line of today before thousands of yesterday's.
        journal.append(T0, &[post(0)]).unwrap();
        journal.append(T0 - 100_000, &(1..5000).map(post).collect::<Vec<_>>()).unwrap();
        journal.append(T0, &[post(5000)]).unwrap();
        assert_eq!(ids(&journal.since(T0).unwrap()), ["5000"]);
    }

    #[test]
    fn a_journal_that_was_lost_is_made_of_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let (data, journal) = (Data::new(dir.path()), Journal::new(dir.path()));
        data.prepare().unwrap();
        let record = |id: &str, at: i64| {
            Record::new(json!({"id": id, "author_id": "5", "text": "t", COLLECTED_AT: rfc3339(at)}))
                .unwrap()
        };
        data.put_post(Stream::Own, &record("2", T0 + 2)).unwrap();
        data.put_post(Stream::Searches, &record("1", T0 + 1)).unwrap();
        data.put_deletion(&record("2", T0 + 2), T0 + 3, "not_found", false).unwrap();
        fs::write(data.root().join("tweets/own/3.json"), "{").unwrap();
        journal.rebuild(&data).unwrap();
        let entries = journal.since(0).unwrap();
        assert_eq!(ids(&entries), ["1", "2", "2"]);
        assert_eq!(
            entries[2].noted,
            Noted::Deletion { id: PostId::parse("2").unwrap().to_string() }
        );
        assert_eq!(entries[1].at, rfc3339(T0 + 2));
        // One that is there is left alone.
        fs::write(dir.path().join("journal.jsonl"), "").unwrap();
        journal.rebuild(&data).unwrap();
        assert_eq!(journal.since(0).unwrap(), []);
    }
}
