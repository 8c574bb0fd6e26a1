//! Wire types of the past: a page's life, and who wrote its lines.

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
    /// The order of all changes of the brain; 0 if it is not known.
    pub change: u64,
    /// When, RFC 3339 in UTC. Never earlier than what the same machine did before.
    pub at: String,
    /// What the clock said, if it had gone back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The door: `cli`, `browser`, `mcp`, `http`, or a worker, such as `sync`. Empty for changes
    /// from before brain recorded it.
    pub door: String,
    /// The client, as in the audit. Empty as `door`.
    pub client: String,
    /// The import, sync or enrichment that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The machine of a shared brain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// `owner`, or the client or address that the text came from, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
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
