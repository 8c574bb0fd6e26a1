//! Wire types for changes of existing pages: appended text, renames, merges, purges, and the
//! difference of two versions.

use serde::{Deserialize, Serialize};

use crate::words::words;
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
    /// The origin of the text.
    pub origin: Origin,
    /// The heading of the section; the end of the page if absent.
    pub section: Option<String>,
}

/// `brain diff`: compares two versions of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The page.
    pub page: PageRef,
    /// The older version; if absent, the one that precedes `to`.
    pub from: Option<u32>,
    /// The newer version; the current one if absent.
    pub to: Option<u32>,
    /// Compares the current version with another text instead.
    pub other: Option<DiffOther>,
}

/// A text that is no version of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffOther {
    /// The page's file as it is now.
    File,
    /// The page of which another program made this copy.
    Original,
}

/// The difference of two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffReply {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The older version; 0 if `to` has no predecessor and is compared with an empty text.
    pub from: u32,
    /// The newer version.
    pub to: u32,
    /// The number of lines that only the newer version has.
    pub added: u64,
    /// The number of lines that only the older version has.
    pub removed: u64,
    /// The difference in the unified format; empty if the versions are equal.
    pub diff: String,
    /// The file or the page that version `to` was compared with, instead of version `from`.
    pub other: Option<String>,
}

/// `brain mv`: gives a page another slug and updates the links to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The page.
    pub page: PageRef,
    /// Its new slug, in the same source.
    pub to: Slug,
}

/// `brain merge`: appends `page` to `into`, makes links to `page` point to `into`, and soft-deletes
/// `page`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// The page that is soft-deleted.
    pub page: PageRef,
    /// The page of the same source that gets the text and former versions of `page`.
    pub into: Slug,
}

words! {
    /// The effect of an operation on a page as a whole.
    PageChange {
        Renamed = "renamed", Merged = "merged",
        /// It can be restored for a time.
        SoftDeleted = "soft_deleted",
        Restored = "restored", Purged = "purged",
        /// brain has to finish its purge later; warnings say why.
        Unfinished = "unfinished",
    }
}

/// The result of a rename or merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveReply {
    /// `Renamed` or `Merged`.
    pub status: PageChange,
    /// The page that has the text now.
    pub slug: Slug,
    /// The former slug.
    pub from: Slug,
    /// The source of both slugs.
    pub source_id: SourceId,
    /// The version of the page `slug` now.
    pub version: u32,
    /// Whether the file is written.
    pub written: bool,
    /// The path of the page's file.
    pub path: String,
    /// The other pages whose links were updated.
    pub pages: Vec<PageRef>,
    /// Links that could not be updated: the page that contains the link, and the target as written.
    pub left: Vec<String>,
    /// The time until which the page `from` of a merge can be restored.
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
    /// `Purged` or `Unfinished`.
    pub status: PageChange,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The version, if only one was purged.
    pub version: Option<u32>,
    /// The number of purged versions; 0 if an earlier purge was interrupted after it removed them.
    pub versions: u64,
    /// Copies that still contain the page: backups in the directory of scheduled backups, backups
    /// and former stores in the home, and failed edits of the user who asks.
    pub backups: Vec<String>,
    /// Places that may still contain the page, and work that failed.
    pub warnings: Vec<String>,
}
