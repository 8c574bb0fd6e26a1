//! Wire types of pages: reading, writing, listing, versions.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Fault, MarkedLines, PageChange, PageRef, Slug, SourceId, TrustLevel};

/// `brain get`: reads a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Get {
    /// The page to read.
    pub page: PageRef,
    /// The number of a former version, instead of the current one.
    pub version: Option<u32>,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page {
    /// Its slug.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "people/ada-lovelace"))]
    pub slug: Slug,
    /// Its source.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub source_id: SourceId,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its aliases.
    pub aliases: Vec<String>,
    /// The YAML between the `---` lines, or the TOML after a line `+++`, verbatim; empty if there
    /// is none.
    pub frontmatter: String,
    /// The markdown below the frontmatter.
    pub body: String,
    /// The whole page, as in its file.
    pub content: String,
    /// Lower-case hex SHA-256 of the normalised content.
    pub content_hash: String,
    /// The number of its chunks.
    pub chunks: u32,
    /// When the note was created, according to its frontmatter, git, its file or the first write.
    pub created_at: String,
    /// When its text was last changed, according to its frontmatter, git, its file or the last
    /// write.
    pub updated_at: String,
    /// Its file, relative to its source's directory.
    pub source_path: Option<String>,
    /// The interface it came through.
    pub source_kind: Option<String>,
    /// The origin of the content.
    pub source_uri: Option<String>,
    /// The operation that ingested it.
    pub ingested_via: Option<String>,
    /// When it was ingested.
    pub ingested_at: Option<String>,
    /// The number of this version.
    pub version: u32,
    /// Who wrote it.
    pub trust: TrustLevel,
    /// The lines that somebody other than its author wrote, in order.
    pub outside_lines: Vec<MarkedLines>,
    /// The path, in its source, of the file of which its file is a copy, by the name that a sync
    /// program gave it. There need not be such a file any more.
    pub copy_of: Option<String>,
    /// The page's id. Not on the wire.
    #[serde(skip)]
    pub id: u64,
}

/// A version of a page, with the number that the store has for the page. Not on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageVersion {
    /// The page's id.
    pub page: u64,
    /// The number of the version.
    pub version: u32,
}

/// `brain list`: lists pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct List {
    /// Only pages of this source; all if absent.
    pub source: Option<SourceId>,
    /// Only pages whose slugs have this prefix.
    pub prefix: Option<String>,
    /// Only pages of this type.
    pub page_type: Option<String>,
    /// Only pages with this tag.
    pub tag: Option<String>,
    /// Whether to list deleted pages instead of active ones.
    pub deleted: bool,
    /// The order of the pages.
    pub sort: Sort,
    /// The maximum number of pages, 1 to 1000.
    pub limit: u32,
    /// The `next` of the previous reply.
    pub after: Option<String>,
    /// Only pages changed at or after this day or time (`YYYY-MM-DD` or RFC 3339).
    pub updated_since: Option<String>,
    /// Only pages changed at or before this day or time.
    pub updated_until: Option<String>,
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Last changed first.
    #[default]
    Updated,
    /// By source and slug.
    Slug,
}

/// A list of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// The pages.
    pub pages: Vec<PageRow>,
    /// Whether there are more pages than the limit.
    pub truncated: bool,
    /// The `after` of the next request.
    pub next: Option<String>,
    /// The default source, which is searched first for a slug without a source.
    pub default_source: SourceId,
    /// The faults of damaged pages, which the list leaves out; at most 20.
    pub damaged: Vec<Fault>,
}

/// A page in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRow {
    /// Its slug.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// When the note was created.
    pub created_at: String,
    /// When its text was last changed.
    pub updated_at: String,
    /// When it was soft-deleted.
    pub deleted_at: Option<String>,
    /// The time until which it can be restored.
    pub recoverable_until: Option<String>,
    /// The interface it came through.
    pub source_kind: Option<String>,
    /// Who wrote the text of this row.
    pub trust: TrustLevel,
    /// The absolute path of its file, for callers with the scope `admin`.
    pub path: Option<String>,
    /// The path, in its source, of the file of which its file is a copy, by the name that a sync
    /// program gave it. There need not be such a file any more.
    pub copy_of: Option<String>,
    /// The page's version. Not on the wire.
    #[serde(skip)]
    pub page: PageVersion,
}

/// `brain capture`: stores a new page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The content with its frontmatter. Bytes, because the daemon decides what is text.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
    /// Where the content came from.
    pub origin: Origin,
    /// The page's source; the default one if absent.
    pub source: Option<SourceId>,
    /// The slug, instead of `inbox/<date>-<hash>`.
    pub slug: Option<Slug>,
    /// The page's type, instead of the one in the frontmatter.
    pub page_type: Option<String>,
    /// The page's title, instead of the one in the frontmatter.
    pub title: Option<String>,
    /// Tags to add to those in the frontmatter.
    pub tags: Vec<String>,
}

/// Where content came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The command line.
    Argument,
    /// Standard input.
    Stdin,
    /// A file, by absolute path.
    File(String),
    /// An AI client, with the origin that it states.
    Agent(Option<String>),
    /// An editor that `brain edit` opened.
    Editor,
    /// A program, over HTTP.
    Http,
    /// The owner's browser.
    Browser,
}

/// `brain put`: stores a page under a slug.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// The page to write.
    pub page: PageRef,
    /// The whole page in markdown, frontmatter included.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
    /// Where the content came from.
    pub origin: Origin,
    /// Whether empty content may replace an existing page.
    pub allow_empty: bool,
    /// The required state of the page; any if absent.
    pub expect: Option<Precondition>,
}

/// The required state of a page. It is checked in the transaction of the write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precondition {
    /// No active page has this slug.
    Absent,
    /// The content has this hash (lower-case hex SHA-256).
    Hash(String),
    /// The page has this version.
    Version(u32),
}

words! {
    /// The effect of a write.
    WriteStatus {
        /// The page is new.
        Created = "created",
        /// The page had other content, which is now a former version.
        Updated = "updated",
        /// The page had the same content.
        Unchanged = "unchanged",
        /// The page was soft-deleted and is active again.
        Restored = "restored",
        /// The server of a shared brain is away. This machine keeps the text, and it becomes a page
        /// when the server answers.
        Queued = "queued",
    }
}

/// The result of an operation that writes the text of one page, such as a capture, put, append or
/// revert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteReply {
    /// The page.
    pub slug: Slug,
    /// The effect.
    pub status: WriteStatus,
    /// Whether the page already had this content, so that nothing was written.
    pub duplicate: bool,
    /// The number of its chunks.
    pub chunks: u32,
    /// Lower-case hex SHA-256 of the normalised content.
    pub content_hash: String,
    /// Whether the file is written.
    pub written: bool,
    /// The path of its file.
    pub path: String,
    /// The page's source.
    pub source_id: SourceId,
    /// The interface it came through.
    pub source_kind: Option<String>,
    /// Where the content came from.
    pub source_uri: Option<String>,
    /// When the page was captured.
    pub captured_at: Option<String>,
    /// Warnings for the user, for example why the file was not written.
    pub warnings: Vec<String>,
    /// The page's version, from 1.
    pub version: u32,
}

/// `brain delete`: soft-deletes a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delete {
    /// The page.
    pub page: PageRef,
    /// The required state of the page; any if absent.
    pub expect: Option<Precondition>,
}

impl From<PageRef> for Delete {
    fn from(page: PageRef) -> Self {
        Self { page, expect: None }
    }
}

/// The result of a delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteReply {
    /// Always `SoftDeleted`.
    pub status: PageChange,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The time until which it can be restored.
    pub recoverable_until: String,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain restore`: undoes a soft delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// The page.
    pub page: PageRef,
}

impl From<PageRef> for Restore {
    fn from(page: PageRef) -> Self {
        Self { page }
    }
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReply {
    /// Always `Restored`.
    pub status: PageChange,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The path of its file.
    pub path: String,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// `brain revert`: makes a former version the current one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// The page to change.
    pub page: PageRef,
    /// The version that becomes the current one.
    pub version: u32,
    /// What must hold before the write.
    pub expect: Option<Precondition>,
}

/// `brain history`: lists the versions of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The page.
    pub page: PageRef,
}

impl From<PageRef> for History {
    fn from(page: PageRef) -> Self {
        Self { page }
    }
}

/// The versions of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryReply {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The versions, newest first; the first is the current one.
    pub versions: Vec<VersionRow>,
}

/// One version of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRow {
    /// Its number, from 1.
    pub version: u32,
    /// Whether it is the current one.
    pub current: bool,
    /// When it was written.
    pub written_at: String,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// Lower-case hex SHA-256 of its normalised content.
    pub content_hash: String,
    /// Length of the body in bytes.
    pub bytes: u64,
    /// The interface that this version came through, if known.
    pub written_via: Option<String>,
    /// `owner`, or the client or address that it came from, if known.
    pub written_by: Option<String>,
    /// Who wrote this version.
    pub trust: TrustLevel,
    /// The lines that somebody other than the page's author wrote, in order.
    pub outside_lines: Vec<MarkedLines>,
    /// The number of lines that only this version has, if it was compared with the one before it.
    pub lines_added: Option<u64>,
    /// The number of lines that only the version before it has, if they were compared.
    pub lines_removed: Option<u64>,
}
