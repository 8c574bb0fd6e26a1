//! Watches replaced files for late writes of other programs.
//!
//! A program that has a file open while brain replaces it continues to write to the replaced file,
//! which has no name any more. So brain keeps replaced files open for a while and checks them
//! again.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::own_contents::digest;
use parking_lot::Mutex;

/// How long a replaced file is watched after its replacement or its last change.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchTime(Duration);

impl WatchTime {
    /// Returns the time for files of a disk. It is short if the disk can be unmounted, because an open
    /// file prevents that.
    pub(super) fn for_disk(can_be_unmounted: bool) -> Self {
        Self(Duration::from_secs(if can_be_unmounted { 1 } else { 30 }))
    }
}

/// Maximum watched files; beyond it, the oldest is checked a last time and closed.
const MAX_WATCHED: usize = 256;
/// Maximum bytes read of a replaced file.
const MAX_BYTES: usize = 8_000_000;

/// An edit that another program saved to a file that brain has replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverwrittenEdit {
    /// The page whose file it was.
    pub page_id: u64,
    /// The path of the file, relative to the tree.
    pub path: String,
    /// The saved bytes.
    pub bytes: Vec<u8>,
}

/// An open file that was replaced.
#[derive(Debug)]
struct ReplacedFile {
    page_id: u64,
    path: String,
    file: File,
    /// Digest of its bytes at the last check.
    digest: [u8; 32],
    changed_at: Instant,
    time: WatchTime,
}

/// The replaced files of one tree.
#[derive(Debug, Default)]
pub(super) struct ReplacedFiles {
    /// The watched files, oldest first.
    files: Mutex<VecDeque<ReplacedFile>>,
    /// Edits that [`ReplacedFiles::take`] has not returned yet.
    edits: Mutex<Vec<OverwrittenEdit>>,
}

impl ReplacedFiles {
    /// Starts to watch a file that held `bytes` when it was replaced.
    pub(super) fn watch(
        &self,
        page_id: u64,
        path: &str,
        file: File,
        bytes: &[u8],
        time: WatchTime,
    ) {
        let replaced_file = ReplacedFile {
            page_id,
            path: path.to_owned(),
            file,
            digest: digest(bytes),
            changed_at: Instant::now(),
            time,
        };
        let mut files = self.files.lock();
        files.push_back(replaced_file);
        let oldest = if files.len() > MAX_WATCHED { files.pop_front() } else { None };
        drop(files);
        if let Some(mut oldest) = oldest {
            self.edits.lock().extend(oldest.check());
        }
    }

    /// Adds an edit that must be kept; ignores an empty one.
    pub(super) fn add(&self, page_id: u64, path: &str, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let edit = OverwrittenEdit { page_id, path: path.to_owned(), bytes };
            self.edits.lock().push(edit);
        }
    }

    /// Checks the files whose time is over a last time, and closes those without a new edit.
    pub(super) fn close_expired(&self) {
        self.files.lock().retain_mut(|file| {
            let edit = file.has_expired().then(|| file.check()).flatten();
            self.edits.lock().extend(edit);
            !file.has_expired()
        });
    }

    /// Checks all replaced files and returns the new edits, each once.
    pub(super) fn take(&self) -> Vec<OverwrittenEdit> {
        let mut edits = std::mem::take(&mut *self.edits.lock());
        let mut files = self.files.lock();
        files.retain_mut(|file| {
            edits.extend(file.check());
            !file.has_expired()
        });
        edits
    }
}

impl ReplacedFile {
    fn has_expired(&self) -> bool {
        self.changed_at.elapsed() >= self.time.0
    }

    /// Returns the new contents if the file changed since the last check.
    fn check(&mut self) -> Option<OverwrittenEdit> {
        let bytes = read(&self.file)?;
        let current = digest(&bytes);
        if current == self.digest {
            return None;
        }
        (self.digest, self.changed_at) = (current, Instant::now());
        // An empty file is about to be written: a later check returns its contents.
        (!bytes.is_empty()).then(|| OverwrittenEdit {
            page_id: self.page_id,
            path: self.path.clone(),
            bytes,
        })
    }
}

/// Reads up to [`MAX_BYTES`] from the file's beginning; `None` if it cannot be read.
fn read(file: &File) -> Option<Vec<u8>> {
    let mut bytes = vec![0; MAX_BYTES.min(file.metadata().ok()?.len() as usize)];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(_) => return None,
        }
    }
    bytes.truncate(read);
    Some(bytes)
}
