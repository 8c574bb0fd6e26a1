//! The outbox: bringing files in line with the store.
//!
//! Every change of a page leaves a row in the same transaction. Whoever made the change brings the file in line
//! before answering; what a crash or a full disk left is done at the next start and by the minute.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use brain_protocol::{Fault, SourceId};

use super::Brain;
use crate::files::{Outcome, Tree};
use crate::page;
use crate::store::{FileState, PageRecord, Visibility};

const STRIPES: usize = 64;

/// Locks by page, so that two changes of one page cannot write its file in the wrong order; and what failed.
pub(super) struct Outbox {
    stripes: [Mutex<()>; STRIPES],
    failing: Mutex<HashMap<u64, String>>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { stripes: std::array::from_fn(|_| Mutex::new(())), failing: Mutex::default() }
    }
}

/// A page's file after an attempt.
#[derive(Debug, Clone)]
pub(super) struct FileReport {
    /// Whether it is as it should be.
    pub(super) written: bool,
    /// Where it is, or would be.
    pub(super) path: PathBuf,
    /// Why it is not written.
    pub(super) problem: Option<String>,
}

impl FileReport {
    pub(super) fn warnings(&self) -> Vec<String> {
        self.problem.iter().map(|p| format!("the page is stored, but its file is not: {p}")).collect()
    }
}

impl Brain {
    /// Brings the file of a page in line with the store.
    pub(super) fn agree(&self, source: &SourceId, record: &PageRecord) -> FileReport {
        let mut path = self.file_place(source, record);
        let problem = match self.agree_by_id(record.id) {
            Ok(place) => {
                path = place.unwrap_or(path);
                None
            }
            Err(problem) => {
                tracing::warn!(%source, path = record.source_path, problem, "file not written");
                Some(problem)
            }
        };
        FileReport { written: problem.is_none(), path, problem }
    }

    /// Where the file of a page is, or would be.
    pub(super) fn file_place(&self, source: &SourceId, record: &PageRecord) -> PathBuf {
        match self.tree(source.as_str()) {
            Ok(tree) => tree.place(&record.source_path),
            Err(_) => PathBuf::from(&record.source_path),
        }
    }

    /// Does what the page's outbox row asks for; the place when it was asked for.
    fn agree_by_id(&self, id: u64) -> Result<Option<PathBuf>, String> {
        let stripe = &self.outbox.stripes[id as usize % STRIPES];
        let _turn = stripe.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.try_agree(id);
        let mut failing = self.outbox.failing.lock().unwrap_or_else(PoisonError::into_inner);
        match &outcome {
            Ok(_) => _ = failing.remove(&id),
            Err(problem) => _ = failing.insert(id, problem.clone()),
        }
        outcome
    }

    fn try_agree(&self, id: u64) -> Result<Option<PathBuf>, String> {
        let reader = self.store.read(Visibility::All).map_err(|e| e.to_string())?;
        let Some(row) = reader.outbox_row(id).map_err(|e| e.to_string())? else { return Ok(None) };
        let tree = self.tree(&row.source)?;
        let place = tree.place(&row.path);
        let done = match row.want {
            FileState::Present => {
                let content = reader.content(id).map_err(|e| e.to_string())?;
                drop(reader);
                tree.put(&row.path, &page::file_text(&content.frontmatter, &content.body), &row.ours, id)
            }
            FileState::Trashed => tree.trash(&row.path),
            FileState::Purged => tree.purge(&row.path, &row.ours),
        };
        match done {
            Ok(Outcome::Done) => {
                self.store.file_done(id, row.seq);
                Ok(Some(place))
            }
            // A changed copy in the trash stays there for its author.
            Ok(Outcome::Foreign) if row.want == FileState::Purged => {
                self.store.file_done(id, row.seq);
                Ok(Some(place))
            }
            Ok(Outcome::Foreign) => {
                Err(format!("{} was changed by another program; it was left as it is", place.display()))
            }
            Err(e) => Err(format!("{}: {e}", place.display())),
        }
    }

    /// Does everything that is left in the outbox; returns how many files could not be brought in line.
    pub fn replay_outbox(&self) -> usize {
        let ids = match self.store.read(Visibility::All).and_then(|reader| reader.outbox()) {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "outbox cannot be read");
                return 0;
            }
        };
        let failed = ids.iter().filter(|&&id| self.agree_by_id(id).is_err()).count();
        if !ids.is_empty() {
            tracing::info!(files = ids.len(), failed, "outbox replayed");
            if let Err(error) = self.store.flush_done_files() {
                tracing::warn!(%error, "outbox rows stay");
            }
        }
        failed
    }

    /// Commits what is noted about files, for a timer: nobody waits for it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn flush_outbox(&self) -> Result<(), Fault> {
        Ok(self.store.flush_done_files()?)
    }

    /// Whether any file could not be written when it was last tried.
    pub fn has_failing_files(&self) -> bool {
        !self.outbox.failing.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What failed last, for the doctor.
    pub(super) fn failing_files(&self) -> Vec<String> {
        self.outbox.failing.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn tree(&self, source: &str) -> Result<Tree, String> {
        if source == SourceId::DEFAULT {
            return Ok(Tree::new(self.home.pages()));
        }
        let reader = self.store.read(Visibility::All).map_err(|e| e.to_string())?;
        let sources = reader.sources().map_err(|e| e.to_string())?;
        let path =
            sources.into_iter().find(|(id, _)| id.as_str() == source).and_then(|(_, record)| record.path);
        path.map(Tree::new).ok_or_else(|| format!("source \"{source}\" has no directory any more"))
    }
}
