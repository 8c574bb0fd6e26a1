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

/// How long a replaced file is watched after its last change.
const WATCH_TIME: Duration = Duration::from_secs(30);
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
    digest: [u8; 32],
    changed: Instant,
}

/// The replaced files of one tree.
#[derive(Debug, Default)]
pub(super) struct ReplacedFiles {
    replaced: Mutex<VecDeque<ReplacedFile>>,
    saves: Mutex<Vec<OverwrittenEdit>>,
}

impl ReplacedFiles {
    /// Starts to watch a file that held `bytes` when it was replaced.
    pub(super) fn watch(&self, page_id: u64, path: &str, file: File, bytes: &[u8]) {
        let one = ReplacedFile {
            page_id,
            path: path.to_owned(),
            file,
            digest: digest(bytes),
            changed: Instant::now(),
        };
        let mut replaced = self.replaced.lock();
        replaced.push_back(one);
        let oldest = if replaced.len() > MAX_WATCHED { replaced.pop_front() } else { None };
        drop(replaced);
        if let Some(mut oldest) = oldest {
            self.saves.lock().extend(oldest.check());
        }
    }

    /// Adds a save that must be kept.
    pub(super) fn add(&self, page_id: u64, path: &str, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let save = OverwrittenEdit { page_id, path: path.to_owned(), bytes };
            self.saves.lock().push(save);
        }
    }

    /// Checks all replaced files and returns the new saves, each once.
    pub(super) fn take(&self) -> Vec<OverwrittenEdit> {
        let mut saves = std::mem::take(&mut *self.saves.lock());
        let mut replaced = self.replaced.lock();
        replaced.retain_mut(|one| {
            saves.extend(one.check());
            one.changed.elapsed() < WATCH_TIME
        });
        saves
    }
}

impl ReplacedFile {
    fn check(&mut self) -> Option<OverwrittenEdit> {
        let bytes = read(&self.file)?;
        let now = digest(&bytes);
        if now == self.digest {
            return None;
        }
        (self.digest, self.changed) = (now, Instant::now());
        // An empty file is about to be written.
        (!bytes.is_empty()).then(|| OverwrittenEdit {
            page_id: self.page_id,
            path: self.path.clone(),
            bytes,
        })
    }
}

/// Reads the file from its beginning.
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
