//! The collector's data directory. Files are replaced atomically.
//!
//! A write creates `<path>.tmp` and renames it, so after a crash the old file is intact. Readers
//! ignore temporary files. The run after an interrupted one removes them.

mod engagement;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use brain_protocol::{Curve, Deletion, DeletionReason};
use serde_json::{Map, Value, json};

use super::record::{COLLECTED_AT, LAST_UPDATED};
use super::{DataFault, PostId, Record, Stream, preview};
use brain_base::clock::rfc3339;
use brain_base::disk;
use brain_base::durable::UNFINISHED;

/// Directories with additional data of posts. The data of a post is removed when it is redacted.
const ATTACHMENT_DIRS: [&str; 4] = ["ratings", "images", "outbound", "articles"];
/// The field with the time at which a deletion was found.
const DETECTED_AT: &str = "detected_at";
/// The fields that a redacted post keeps.
const REDACTED_FIELDS: [&str; 5] = ["id", "created_at", COLLECTED_AT, DETECTED_AT, "reason"];

/// The `data/` directory of a collector.
#[derive(Debug, Clone)]
pub struct Data {
    root: PathBuf,
}

impl Data {
    /// Uses the collector's directory `dir`. Does no I/O.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { root: dir.join("data") }
    }

    /// Creates the directories with access for the owner only.
    ///
    /// # Errors
    /// The I/O error with its path if a directory cannot be created.
    pub fn prepare(&self) -> Result<(), DataFault> {
        for stream in Stream::ALL {
            disk::make_dir(&self.root.join("tweets").join(stream.as_str()))?;
        }
        disk::make_dir(&self.root.join("deletions"))?;
        disk::make_dir(&self.root.join("engagement"))
    }

    /// Removes temporary files of interrupted writes.
    pub fn remove_leftovers(&self) {
        let dirs = Stream::ALL.map(|stream| format!("tweets/{}", stream.as_str()));
        let dirs = dirs
            .iter()
            .map(String::as_str)
            .chain(["", "deletions", "engagement"])
            .chain(ATTACHMENT_DIRS);
        let _write_lock = disk::lock_writes();
        for dir in dirs {
            // A missing directory has nothing to remove.
            for entry in fs::read_dir(self.root.join(dir)).into_iter().flatten().flatten() {
                if entry.file_name().as_encoded_bytes().ends_with(UNFINISHED.as_bytes()) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Flushes everything written so far to disk.
    ///
    /// # Errors
    /// The I/O error with its path if flushing fails.
    pub fn sync(&self) -> Result<(), DataFault> {
        let root = fs::File::open(&self.root).map_err(disk::fault(&self.root))?;
        rustix::fs::syncfs(&root).map_err(|error| disk::fault(&self.root)(error.into()))
    }

    /// Returns the post in a stream; `None` if it is not stored.
    ///
    /// # Errors
    /// If the file cannot be read, or if it is damaged. A damaged file is moved to
    /// `<name>.damaged`, and the error names it.
    pub fn post(&self, stream: Stream, id: &PostId) -> Result<Option<Record>, DataFault> {
        self.record(&self.post_file(stream, id), id)
    }

    /// Returns the most recently seen record of a post and the streams that have it. Damaged files
    /// do not hide intact ones.
    ///
    /// # Errors
    /// If a file cannot be read, or if all are damaged.
    pub fn find_post(&self, id: &PostId) -> Result<Option<(Record, Vec<Stream>)>, DataFault> {
        let mut newest: Option<Record> = None;
        let mut streams = Vec::new();
        let mut damage = None;
        for stream in Stream::ALL {
            let record = match self.post(stream, id) {
                Err(fault) if fault.is_damage() => {
                    tracing::warn!(%fault, "damaged file of a post");
                    damage = Some(fault);
                    continue;
                }
                read => read?,
            };
            let Some(record) = record else { continue };
            streams.push(stream);
            if newest
                .as_ref()
                .is_none_or(|known| known.instant(LAST_UPDATED) < record.instant(LAST_UPDATED))
            {
                newest = Some(record);
            }
        }
        match (newest, damage) {
            (Some(record), _) => Ok(Some((record, streams))),
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(None),
        }
    }

    /// Writes a post.
    ///
    /// # Errors
    /// The I/O error with its path if the file cannot be written.
    pub fn put_post(&self, stream: Stream, record: &Record) -> Result<(), DataFault> {
        let bytes = bytes(record.fields());
        let _write_lock = disk::lock_writes();
        disk::replace(&self.post_file(stream, record.id()), &bytes, false)
    }

    /// Writes the posts of a page.
    ///
    /// # Errors
    /// The I/O error with its path if a file cannot be written.
    pub fn put_posts<'a>(
        &self,
        stream: Stream,
        posts: impl Iterator<Item = &'a Record>,
    ) -> Result<(), DataFault> {
        let files: Vec<_> =
            posts.map(|post| (self.post_file(stream, post.id()), bytes(post.fields()))).collect();
        if files.is_empty() {
            return Ok(());
        }
        let _write_lock = disk::lock_writes();
        disk::replace_all(&self.root, &files)
    }

    /// Writes the posts that are not there, and of which no deletion is recorded. Returns the
    /// numbers of those that were added, were there, and were deleted. With `dry_run`, only counts.
    ///
    /// # Errors
    /// The I/O error with its path if a file cannot be written.
    pub fn add_posts(
        &self,
        stream: Stream,
        posts: &[Record],
        dry_run: bool,
    ) -> Result<[u64; 3], DataFault> {
        let (mut present, mut deleted) = (0, 0);
        let mut files = BTreeMap::new();
        // Runs write under this lock, too, so no file appears between the check and the write.
        let _write_lock = disk::lock_writes();
        for post in posts {
            let path = self.post_file(stream, post.id());
            if self.is_deleted(post.id()) {
                deleted += 1;
            } else if path.exists() || files.contains_key(&path) {
                present += 1;
            } else {
                files.insert(path, bytes(post.fields()));
            }
        }
        let files: Vec<_> = files.into_iter().collect();
        if !dry_run && !files.is_empty() {
            disk::replace_all(&self.root, &files)?;
        }
        Ok([files.len() as u64, present, deleted])
    }

    /// Returns whether a deletion of this post was recorded.
    #[must_use]
    pub fn is_deleted(&self, id: &PostId) -> bool {
        self.file("deletions", id).exists()
    }

    /// Returns the recorded deletion of a post.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn deletion(&self, id: &PostId) -> Result<Option<Deletion>, DataFault> {
        let Some(record) = self.record(&self.file("deletions", id), id)? else { return Ok(None) };
        let text = |name| record.str(name).map(str::to_owned);
        Ok(Some(Deletion {
            id: id.to_string(),
            author: record.author().to_owned(),
            text: record.text().to_owned(),
            created_at: text("created_at"),
            detected_at: text(DETECTED_AT).unwrap_or_default(),
            reason: text("reason").unwrap_or_default(),
        }))
    }

    /// Records a deletion durably: the post, `detected_at` (Unix milliseconds) and `reason`. With
    /// `redact`, keeps only id, times and reason, here and in the other records of the post.
    ///
    /// # Errors
    /// The I/O error with its path if a file cannot be written or removed.
    pub fn put_deletion(
        &self,
        post: &Record,
        detected_at: i64,
        reason: DeletionReason,
        redact: bool,
    ) -> Result<(), DataFault> {
        let mut fields = post.fields().clone();
        fields.insert(DETECTED_AT.into(), json!(rfc3339(detected_at)));
        fields.insert("reason".into(), json!(reason));
        if redact {
            strip_to_minimum(&mut fields);
        }
        {
            let _write_lock = disk::lock_writes();
            disk::replace(&self.file("deletions", post.id()), &bytes(&fields), true)?;
        }
        if redact { self.redact(post.id()) } else { Ok(()) }
    }

    /// Reduces the records of a deleted post to id, times and reason, and removes its other files.
    /// Does nothing if no deletion is recorded. Can be repeated.
    ///
    /// # Errors
    /// The I/O error with its path if a file cannot be read, written or removed. The damage, if the
    /// record of the deletion is damaged.
    pub fn redact(&self, id: &PostId) -> Result<(), DataFault> {
        let deletion = self.record(&self.file("deletions", id), id)?;
        let Some(mut redacted) = deletion.map(|record| record.fields().clone()) else {
            return Ok(());
        };
        strip_to_minimum(&mut redacted);
        let mut records = Stream::ALL.map(|stream| self.post_file(stream, id)).to_vec();
        records.push(self.file("deletions", id));
        let redacted = bytes(&redacted);
        let _write_lock = disk::lock_writes();
        for path in &records {
            if disk::read(path)?.is_some_and(|found| found != redacted) {
                disk::replace(path, &redacted, true)?;
            }
        }
        let attachments: Vec<PathBuf> =
            ATTACHMENT_DIRS.iter().chain(&["engagement"]).map(|dir| self.file(dir, id)).collect();
        // A damaged file may still contain readable text.
        let damaged = records.iter().chain(&attachments).map(|path| disk::damaged_path(path));
        for path in damaged.collect::<Vec<_>>().iter().chain(&attachments) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(disk::fault(path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns a value beside a post, `data/<kind>/<id>.json`. Kinds: `ratings`, `images`,
    /// `outbound`, `articles`.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn attachment(&self, kind: &str, id: &PostId) -> Result<Option<Value>, DataFault> {
        let path = self.file(kind, id);
        let Some(bytes) = disk::read(&path)? else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| disk::move_aside(&path, &error.to_string()))
    }

    /// Writes a value beside a post, `data/<kind>/<id>.json`.
    ///
    /// # Errors
    /// The I/O error with its path if the file cannot be written.
    pub fn put_attachment(&self, kind: &str, id: &PostId, value: &Value) -> Result<(), DataFault> {
        disk::make_dir(&self.root.join(kind))?;
        let _write_lock = disk::lock_writes();
        disk::replace(&self.file(kind, id), value.to_string().as_bytes(), false)
    }

    /// Counts the posts in a directory such as `tweets/own`, `deletions` or `engagement`. Returns 0
    /// if the directory cannot be read.
    #[must_use]
    pub fn count(&self, dir: &str) -> u64 {
        self.ids(dir).map_or(0, |ids| ids.len() as u64)
    }

    /// Returns the ids in a directory, unordered. Directories are as for [`Data::count`].
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn ids(&self, dir: &str) -> Result<Vec<PostId>, DataFault> {
        let path = self.root.join(dir);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk::fault(&path)(error)),
        };
        let id =
            |entry: fs::DirEntry| PostId::parse(entry.file_name().to_str()?.strip_suffix(".json")?);
        let entries: io::Result<Vec<_>> = entries.collect();
        Ok(entries.map_err(disk::fault(&path))?.into_iter().filter_map(id).collect())
    }

    /// Returns the engagement curve of a post; `None` if neither snapshots nor the post are stored.
    ///
    /// # Errors
    /// If a file cannot be read, or if it is damaged and has no intact copy.
    pub fn curve(&self, id: &PostId) -> Result<Option<Curve>, DataFault> {
        let snapshots = self.snapshots(id)?;
        let record = self.find_post(id)?.map(|(record, _)| record);
        if snapshots.is_empty() && record.is_none() {
            return Ok(None);
        }
        let author = record.as_ref().map(|record| record.author().to_owned()).unwrap_or_default();
        let preview = record.map(|record| preview(record.text())).unwrap_or_default();
        Ok(Some(Curve { id: id.to_string(), author, preview, snapshots }))
    }

    /// Returns the path of `state.json`.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Returns the path of `data/`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn post_file(&self, stream: Stream, id: &PostId) -> PathBuf {
        self.root.join(format!("tweets/{}/{id}.json", stream.as_str()))
    }

    fn file(&self, dir: &str, id: &PostId) -> PathBuf {
        self.root.join(format!("{dir}/{id}.json"))
    }

    /// Reads the post in a file and checks that its id is `id`. Moves a damaged file aside.
    fn record(&self, path: &Path, id: &PostId) -> Result<Option<Record>, DataFault> {
        let Some(bytes) = disk::read(path)? else { return Ok(None) };
        let value = serde_json::from_slice(&bytes)
            .map_err(|error| disk::move_aside(path, &error.to_string()))?;
        match Record::new(value).filter(|record| record.id() == id) {
            Some(record) => Ok(Some(record)),
            None => Err(disk::move_aside(path, "it does not contain the post of its name")),
        }
    }
}

/// Removes everything from a post except [`REDACTED_FIELDS`].
fn strip_to_minimum(fields: &mut Map<String, Value>) {
    fields.retain(|name, _| REDACTED_FIELDS.contains(&name.as_str()));
}

/// Serialises an object; this cannot fail in memory.
fn bytes(fields: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(fields).unwrap_or_default()
}
