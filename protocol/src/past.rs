//! Wire types of the past: a page's life, who wrote its lines, what is taken back, a state of all
//! pages, and what changed in a period.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{PageRef, Slug, SourceId};

/// `brain why`: where a page, or a line of it, comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The page: active, deleted, or by a slug that it had before it was moved.
    pub page: PageRef,
    /// Only lines that contain this text, in any case.
    pub line: Option<String>,
}

words! {
    /// What happened to a page.
    LifeEvent {
        Created = "created", Written = "written", Deleted = "deleted", Restored = "restored",
        Moved = "moved",
        /// Another text was kept as a former version: a conflict, or the text of a merged page.
        TextKept = "text_kept",
        /// The page is another program's again: its file is to be written anew.
        FileReplaced = "file_replaced",
        Purged = "purged",
    }
}

/// Who did something, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Doer {
    /// The order of all changes of the brain; 0 if it is not known, or for a caller that does not see
    /// all sources.
    pub change: u64,
    /// When, RFC 3339 in UTC. Never earlier than what the same machine did before, nor later than
    /// now on a single machine.
    pub at: String,
    /// What the clock said, if it had gone back or was ahead.
    pub clock: Option<String>,
    /// The door: `cli`, `browser`, `mcp`, `http`, or a worker, such as `sync`. Empty for changes
    /// from before brain recorded it.
    pub door: String,
    /// The client, as in the audit. Empty as `door`.
    pub client: String,
    /// The import, sync or enrichment that it belongs to.
    pub run: Option<String>,
    /// The machine of a shared brain.
    pub machine: Option<String>,
    /// `owner`, or the client or address that the text came from, if known.
    pub author: Option<String>,
}

/// Whether the owner works at this door by hand.
#[must_use]
pub fn is_hand_of_owner(door: &str) -> bool {
    matches!(door, "cli" | "browser")
}

/// Whether what comes through this door is the owner's: written by hand, or taken in from the
/// owner's files.
#[must_use]
pub fn is_door_of_owner(door: &str) -> bool {
    is_hand_of_owner(door) || matches!(door, "import" | "sync")
}

impl Doer {
    /// Returns who did it, for people: the author of the text, else the owner for the owner's own
    /// doors, else the client; then the door, with the client if it is another one.
    pub fn name(&self) -> String {
        let who = match (self.author.as_deref(), self.door.as_str()) {
            (Some(author), _) => author,
            (None, door) if is_door_of_owner(door) => "owner",
            (None, _) if self.client.is_empty() => "not known",
            (None, _) => &self.client,
        };
        match (self.door.as_str(), self.client.as_str()) {
            ("", _) => who.to_owned(),
            (door, _) if is_hand_of_owner(door) => format!("{who}, {door}"),
            (door, client) if client.is_empty() || client == who => format!("{who}, {door}"),
            (door, client) => format!("{who}, {door} {client}"),
        }
    }
}

/// A change of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifeStep {
    /// What happened.
    pub event: LifeEvent,
    /// Who did it, and when.
    pub by: Doer,
    /// The version after it.
    pub version: u32,
    /// The slug after it.
    pub slug: Slug,
    /// What the text was made from: pages by name and version, addresses.
    pub made_from: Vec<String>,
    /// Lines that it added, if it is known.
    pub added: Option<u64>,
    /// Lines that it removed, if it is known.
    pub removed: Option<u64>,
}

/// A line of a page, and who changed it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineOrigin {
    /// The line's number in the page's file, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// The version that has it first.
    pub version: u32,
    /// Who wrote it, and when.
    pub by: Doer,
}

/// A page's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyReply {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Whether it is deleted; then it can be purged.
    pub deleted: bool,
    /// Its life, oldest first.
    pub steps: Vec<LifeStep>,
    /// The requested lines, or without a request all of them, up to 2,000.
    pub lines: Vec<LineOrigin>,
    /// Pages that were made from it.
    pub made: Vec<PageRef>,
}

/// `brain undo`: takes back the caller's last write, or all writes of a client or a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Undo {
    /// The caller's last write that changed this page, instead of the last of all.
    pub page: Option<PageRef>,
    /// All writes of this client, by its name or id.
    pub client: Option<String>,
    /// Only writes of the client since then: a day or an instant.
    pub since: Option<String>,
    /// All writes of this import, sync or enrichment.
    pub run: Option<String>,
    /// Also what was made from it.
    pub derived: bool,
    /// Whether to write nothing, and to report what would become of each page.
    pub dry_run: bool,
}

impl Undo {
    /// Returns whether it takes back one write of the caller's own.
    #[must_use]
    pub fn is_of_caller(&self) -> bool {
        self.client.is_none() && self.run.is_none()
    }
}

/// `brain redo`: writes again what the caller's last undo took back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Redo {
    /// Whether to write nothing, and to report what would become of each page.
    pub dry_run: bool,
}

words! {
    /// What an undo makes of a page.
    UndoEffect {
        /// The page is as it was before, or deleted if it was not there.
        TakenBack = "taken_back",
        /// Later edits by others stay.
        KeptInPart = "kept_in_part",
        /// The page stays and is marked: some of what it was made from is taken back.
        ToBeMadeAgain = "to_be_made_again",
        /// There is nothing to take back.
        Untouched = "untouched",
    }
}

/// A page in a plan or a report of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndonePage {
    /// The page, as it is named afterwards.
    pub page: PageRef,
    /// What becomes of it.
    pub effect: UndoEffect,
    /// What was first done to it of what is taken back. `None` if it was made from a page of which
    /// something is taken back.
    pub event: Option<LifeEvent>,
    /// The last change that is taken back. For a page that was made from others, the change that
    /// made it.
    pub by: Doer,
    /// Whether the page is deleted afterwards.
    pub deleted: bool,
    /// Number of lines that stay from later edits by others.
    pub kept_lines: u64,
    /// Who wrote them.
    pub kept_by: Vec<String>,
    /// What cannot be taken back, and why: for example lines that others changed since.
    pub conflicts: Vec<String>,
    /// Why nothing is done, or from what it is to be made again.
    pub reason: Option<String>,
}

/// A newer write that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewerWrite {
    /// The page.
    pub page: PageRef,
    /// What happened to it.
    pub event: LifeEvent,
    /// Who did it, and when.
    pub by: Doer,
}

/// What an undo or a redo did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoReply {
    /// Whether it is a redo.
    pub redo: bool,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The run of the changes that it made, for example `undo-7`; `None` if nothing was written, or
    /// for a caller that does not see all sources.
    pub run: Option<String>,
    /// The pages, in the order of the effects; at most 10,000.
    pub pages: Vec<UndonePage>,
    /// The number of pages that are as they were before, or deleted.
    pub taken_back: u64,
    /// The number of pages of which something stays.
    pub kept_in_part: u64,
    /// The number of pages that are to be made again.
    pub to_be_made_again: u64,
    /// The number of pages with nothing to take back.
    pub untouched: u64,
    /// Newer writes by others, newest first; at most 20. Only for the caller's own last write.
    pub newer: Vec<NewerWrite>,
    /// The number of all newer writes by others.
    pub newer_total: u64,
    /// Files that could not be written, and what an undo does not reach.
    pub warnings: Vec<String>,
}

/// A state of the brain in the past.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PastState {
    /// The instant, RFC 3339.
    pub at: String,
    /// The name that the requested page had then, if the request has a later one.
    pub then_called: Option<PageRef>,
    /// The name that the requested page has now, if the request has a former one.
    pub now_called: Option<PageRef>,
    /// The number of pages that were purged later. Nothing says which of them were there.
    pub purged_since: u64,
    /// The number of pages that were there and whose text of that time is not kept any more.
    pub not_kept: u64,
}

/// `brain diff --since`: what changed in the whole brain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changes {
    /// The first instant: RFC 3339, or a day, from its start.
    pub since: String,
    /// The last instant; a day counts in full. Now if absent.
    pub until: Option<String>,
    /// Only pages of this source; all if absent.
    pub source: Option<SourceId>,
    /// Only pages whose last change has a smaller number: the `next` of the previous reply.
    pub before: Option<u64>,
    /// The maximum number of pages, 1 to 1000.
    pub limit: u32,
}

/// The pages that changed in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesReply {
    /// The first instant, RFC 3339.
    pub since: String,
    /// The last instant.
    pub until: String,
    /// The pages, that with the newest change first.
    pub pages: Vec<PageChanges>,
    /// The number of all pages that changed.
    pub total: u64,
    /// The `before` of the next request, if there are more.
    pub next: Option<u64>,
}

/// What happened to a page in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageChanges {
    /// Its name after the period; `None` if it was purged: its name may be what had to go.
    pub slug: Option<Slug>,
    /// Its source.
    pub source_id: SourceId,
    /// Its name before, if it was moved.
    pub former_slug: Option<Slug>,
    /// What happened, in the order of the changes.
    pub steps: Vec<ChangeStep>,
    /// The number of lines that the period added, if texts could be compared.
    pub added: Option<u64>,
    /// The number of lines that it removed.
    pub removed: Option<u64>,
    /// The difference of the texts before and after, as a unified diff; empty if they are equal, or
    /// too long for the reply.
    pub diff: String,
}

/// A change of a page in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeStep {
    /// What happened.
    pub event: LifeEvent,
    /// Who did it, and when.
    pub by: Doer,
    /// The version after it.
    pub version: u32,
}
