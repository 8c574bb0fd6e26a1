//! Saves of other programs that brain's own write came between.
//!
//! A program that had a file open when brain replaced it goes on writing to the file that was replaced, which has no
//! name any more. So brain keeps replaced files open for a while and looks at them again.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::own::digest;

/// How long after its last change a replaced file is looked at.
const WATCHED_FOR: Duration = Duration::from_secs(30);
/// How many replaced files are kept open; the oldest one has its last look early.
const MAX_WATCHED: usize = 256;
/// How many bytes of such a file are read.
const MAX_BYTES: usize = 8_000_000;

/// What another program saved in a page's file, and is not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// The number that the file was written with.
    pub tag: u64,
    /// Where it was saved, relative to the tree.
    pub path: String,
    /// What was saved.
    pub bytes: Vec<u8>,
}

/// A file that was replaced.
#[derive(Debug)]
struct Replaced {
    tag: u64,
    path: String,
    file: File,
    digest: [u8; 32],
    changed: Instant,
}

/// The replaced files of one tree.
#[derive(Debug, Default)]
pub(super) struct Late {
    replaced: Mutex<VecDeque<Replaced>>,
    saves: Mutex<Vec<Save>>,
}

impl Late {
    /// Watches a file that was replaced when it held `bytes`.
    pub(super) fn watch(&self, tag: u64, path: &str, file: File, bytes: &[u8]) {
        let one = Replaced {
            tag,
            path: path.to_owned(),
            file,
            digest: digest(bytes),
            changed: Instant::now(),
        };
        let mut replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.push_back(one);
        let oldest = if replaced.len() > MAX_WATCHED { replaced.pop_front() } else { None };
        drop(replaced);
        if let Some(mut oldest) = oldest {
            self.saves.lock().unwrap_or_else(PoisonError::into_inner).extend(oldest.look());
        }
    }

    /// Notes a save that is to be kept.
    pub(super) fn add(&self, tag: u64, path: &str, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let save = Save { tag, path: path.to_owned(), bytes };
            self.saves.lock().unwrap_or_else(PoisonError::into_inner).push(save);
        }
    }

    /// Looks at all replaced files and returns what was saved since they were replaced, each save once.
    pub(super) fn take(&self) -> Vec<Save> {
        let mut saves =
            std::mem::take(&mut *self.saves.lock().unwrap_or_else(PoisonError::into_inner));
        let mut replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.retain_mut(|one| {
            saves.extend(one.look());
            one.changed.elapsed() < WATCHED_FOR
        });
        saves
    }
}

impl Replaced {
    fn look(&mut self) -> Option<Save> {
        let bytes = read(&self.file)?;
        let now = digest(&bytes);
        if now == self.digest {
            return None;
        }
        (self.digest, self.changed) = (now, Instant::now());
        // An empty one is about to be written.
        (!bytes.is_empty()).then(|| Save { tag: self.tag, path: self.path.clone(), bytes })
    }
}

/// The whole file, whatever was read of it before.
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
