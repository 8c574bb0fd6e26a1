//! Wire types of conflicts between pages and their files.

use serde::{Deserialize, Serialize};

use crate::{PageRef, Slug, SourceId};

/// `brain conflicts`: lists the pages whose file has another program's text that could not be taken
/// in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictList;

/// The reply to [`ConflictList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflicts {
    /// The conflicts, in the order in which the pages were created.
    pub conflicts: Vec<Conflict>,
}

/// A page and its file, which have different texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its file, relative to the source.
    pub path: String,
    /// Why the texts could not be joined.
    pub reason: String,
    /// The version with the text of the file. `None` if that text cannot be a page.
    pub file_version: Option<u32>,
    /// When the page was last changed.
    pub page_changed_at: String,
    /// When the file was last changed.
    pub file_changed_at: String,
}

/// `brain keep`: chooses between the text of a page and that of its file. The reply is a
/// [`crate::WriteReply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// The page.
    pub page: PageRef,
    /// The text that both get. The other one becomes a version of the page.
    pub side: KeptSide,
}

/// A side of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptSide {
    /// The text of the page.
    Page,
    /// The text of the file.
    File,
}
