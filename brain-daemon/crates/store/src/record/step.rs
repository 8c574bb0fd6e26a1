//! Steps: who changed a page, when, in which run, and what from. Schema 91.

use serde::{Deserialize, Serialize};

use super::PageRecord;

/// A change of a page. The row's key is the store's change number, which orders all changes; the
/// clock does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The page's id.
    pub page: u64,
    /// Change number of the page's step before this one; 0 for its first.
    pub previous: u64,
    /// When it happened, Unix milliseconds: the clock's time, or that of this machine's step
    /// before, if the clock went back.
    pub at: i64,
    /// What happened.
    pub kind: StepKind,
    /// The page's version after the step.
    pub version: u32,
    /// What the clock said, Unix milliseconds.
    pub clock: i64,
    /// The page's source.
    pub source: String,
    /// The page's slug after the step. For [`StepKind::Purged`], the hash of [`purged_name`].
    pub slug: String,
    /// Who changed it.
    pub actor: Actor,
    /// The machine, in a shared brain.
    pub machine: Option<u128>,
    /// What the text was made from, apart from the page itself.
    pub made_from: Vec<Origin>,
    /// Number of the first step of the same write: a move and a merge change several pages at once.
    pub write: u64,
    /// The page's file from the source's root after the step, if it is not the slug with `.md`.
    pub path: Option<String>,
}

impl StepRecord {
    /// Returns the page's file from the source's root after the step.
    pub fn file_path(&self) -> String {
        self.path.clone().unwrap_or_else(|| format!("{}.md", self.slug))
    }

    /// Returns what [`StepRecord::path`] has for a page.
    pub(crate) fn path_of(record: &PageRecord, slug: &str) -> Option<String> {
        let is_of_slug = record.source_path.strip_suffix(".md") == Some(slug);
        (!is_of_slug).then(|| record.source_path.clone())
    }
}

/// The first fields of a [`StepRecord`], for reads of many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepHead {
    /// As [`StepRecord::page`].
    pub page: u64,
    /// As [`StepRecord::previous`].
    pub previous: u64,
    /// As [`StepRecord::at`].
    pub at: i64,
    /// As [`StepRecord::kind`].
    pub kind: StepKind,
    /// As [`StepRecord::version`].
    pub version: u32,
}

/// What happened to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// It was created.
    Created,
    /// It got a new version. A deleted page became active again.
    Written,
    /// It was soft-deleted.
    Deleted,
    /// It became active again, with the text that it had.
    Restored,
    /// It got another slug or path; perhaps also a new version, if its own links changed.
    Moved,
    /// Another text was kept as a former version.
    TextKept,
    /// Its file is to be written anew; the page stays the same.
    FileReplaced,
    /// It was purged. This is its only step.
    Purged,
}

/// Who changes pages, and in which run. Empty for a change from before schema 91.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The door: `cli`, `browser`, `mcp`, `http`, or a worker, such as `sync`.
    pub door: String,
    /// The caller's name, as in the audit: a client's id, `uid 1000`, `browser`.
    pub client: String,
    /// The import, sync, enrichment or session that the change belongs to.
    pub run: Option<String>,
}

/// What a text was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// A version of a page.
    Page {
        /// The page's id.
        id: u64,
        /// The version's number.
        version: u32,
    },
    /// Something outside: an address, a post, a call.
    Address(String),
}

/// What became of a step, or what an undo or a redo did. Schema 91.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum UndoneRecord {
    /// The step was taken back.
    Step {
        /// The undo or redo that did it.
        by: u64,
    },
    /// An undo or a redo.
    Act(UndoAct),
}

/// An undo or a redo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoAct {
    /// Who asked for it.
    pub actor: Actor,
    /// The machine, in a shared brain.
    pub machine: Option<u128>,
    /// The number of the last change before it.
    pub after: u64,
    /// The steps that it took back.
    pub taken_back: Vec<u64>,
    /// The steps that it made.
    pub made: Vec<u64>,
    /// The undos that it took back, if it is the last part of a redo.
    pub redo_of: Vec<u64>,
    /// Whether it was taken back by a redo.
    pub is_redone: bool,
    /// The first of the acts that one request led to: each page that is moved back is one.
    pub part_of: u64,
    /// Whether it is a redo, or a part of one.
    pub is_redo: bool,
}

/// Returns what stands for a purged page's slug: its name may be what had to go.
#[must_use]
pub fn purged_name(source: &str, slug: &str) -> String {
    let digest = brain_page::content_digest(&format!("{source}\0{slug}"));
    brain_page::hex(&digest).chars().take(16).collect()
}
