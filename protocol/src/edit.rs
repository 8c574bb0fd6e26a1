//! Wire types for changes of existing pages: appended text, and the difference of two versions.

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
