//! Wire types of attachments: files that belong to pages.

use serde::{Deserialize, Serialize};

use crate::{ChangeStatus, PageRef, Slug, SourceId};

/// Maximum size of an attachment in bytes (16 MB, decimal): an attachment is sent in one message.
pub const MAX_ATTACHMENT: usize = 16_000_000;

/// `brain attach`: adds a file to a page, and its name to the page's frontmatter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The page.
    pub page: PageRef,
    /// The name of the file, without a directory.
    pub name: String,
    /// Its bytes.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// `brain attachments --remove`: removes a file from a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detach {
    /// The page.
    pub page: PageRef,
    /// The name of the file.
    pub name: String,
}

/// The result of a change of a page's attachments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachReply {
    /// `Attached`, `Unchanged` or `Removed`.
    pub status: ChangeStatus,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its version now.
    pub version: u32,
    /// The file.
    pub attachment: Attachment,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain attachments`: lists the files of a page, or of all pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentList {
    /// The page; all pages if absent.
    pub page: Option<PageRef>,
    /// Only the pages of this source; all sources if absent.
    pub source: Option<SourceId>,
}

/// Files of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachments {
    /// One entry for each combination of content and name.
    pub attachments: Vec<Attachment>,
}

/// A file of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its media type, derived from its name.
    pub media_type: String,
    /// SHA-256 of its bytes, in lower-case hex.
    pub hash: String,
    /// When it was first attached.
    pub attached_at: String,
    /// The pages with this attachment that the caller can see.
    pub pages: Vec<PageRef>,
}

/// `brain attachments --get`: reads a file of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentGet {
    /// The page.
    pub page: PageRef,
    /// The name of the file.
    pub name: String,
}

/// A file with its bytes, which match its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentContent {
    /// The file.
    pub attachment: Attachment,
    /// Its bytes.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}
