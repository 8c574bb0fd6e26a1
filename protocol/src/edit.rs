//! Wire types for changes of existing pages: appended text, renames, merges, purges, and the
//! difference of two versions.

use serde::{Deserialize, Serialize};

use crate::{Origin, PageRef, Slug, SourceId};

/// `brain append`: adds text to the end of a page or of a section. The reply is a
/// [`crate::WriteReply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append {
    /// The page.
    pub page: PageRef,
    /// The text. Bytes, because the daemon decides what is text.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
    /// Where the text came from.
    pub origin: Origin,
    /// The heading of the section; the end of the page if absent.
    pub section: Option<String>,
}

/// `brain diff`: compares two versions of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The page.
    pub page: PageRef,
    /// The older version; the one before `to` if absent.
    pub from: Option<u32>,
    /// The newer version; the current one if absent.
    pub to: Option<u32>,
}

/// The difference of two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffReply {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The older version; 0 for a page with one version, which is compared with an empty one.
    pub from: u32,
    /// The newer version.
    pub to: u32,
    /// The number of lines that only the newer version has.
    pub added: u64,
    /// The number of lines that only the older version has.
    pub removed: u64,
    /// The difference in the unified format; empty if the versions are equal.
    pub diff: String,
}

/// `brain mv`: gives a page another slug and updates the links to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The page.
    pub page: PageRef,
    /// Its new slug, in the same source.
    pub to: Slug,
}

/// `brain merge`: appends a page to another one of its source, updates the links to it, and
/// soft-deletes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// The page that ends.
    pub page: PageRef,
    /// The page that gets its text and its versions.
    pub into: Slug,
}

/// The result of a rename or merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveReply {
    /// `renamed` or `merged`.
    pub status: String,
    /// The page that has the text now.
    pub slug: Slug,
    /// The former slug.
    pub from: Slug,
    /// The source of both.
    pub source_id: SourceId,
    /// The page's version.
    pub version: u32,
    /// Whether the file is written.
    pub written: bool,
    /// The path of its file.
    pub path: String,
    /// The other pages whose links were updated.
    pub pages: Vec<PageRef>,
    /// Links that could not be updated: page and target as written.
    pub left: Vec<String>,
    /// The end of the time in which a merged page can be restored.
    pub recoverable_until: Option<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain purge`: removes a page, or one of its former versions, for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// The page, active or deleted.
    pub page: PageRef,
    /// Only this former version.
    pub version: Option<u32>,
}

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeReply {
    /// Always `purged`.
    pub status: String,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The version, if only one was purged.
    pub version: Option<u32>,
    /// The number of purged versions.
    pub versions: u64,
    /// Backups in the home and in the directory of scheduled backups that still have it.
    pub backups: Vec<String>,
    /// Places where it may still be, and work that failed.
    pub warnings: Vec<String>,
}
