//! Records: the values of the store's tables, and their encoding.
//!
//! A stored value is a format byte, bincode, and a checksum of both. A format never changes: a new
//! one gets the next number, and [`super::migrate`] converts the old rows. The highest bit of the
//! format byte marks a checksum. Stores before schema 85 have none, and their backups can still be
//! read.

mod encoding;
mod review;
mod step;

use std::borrow::Cow;

use brain_page::{Body, Document, DocumentType, FrontmatterText, TimelineEntry};
use brain_protocol::{GrantType, JobState, Scopes, Slug, SourceId, TokenKind};
use serde::{Deserialize, Serialize};

pub(super) use encoding::{
    StoredValue, add_checksum, format_of, from_bytes, from_format, head_of_step, read,
    record_of_version, state_of_job, to_bytes,
};
pub use review::{CitationRecord, RecallRecord, SettledRecord};
pub use step::{Actor, Origin, StepHead, StepKind, StepRecord, UndoAct, UndoneRecord, purged_name};

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// A page without its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRecord {
    /// Never changes, and is never used for another page.
    pub id: u64,
    /// Sequence number of the last change.
    pub seq: u64,
    /// Number of the current version, from 1.
    pub version: u32,
    /// The page's type.
    pub page_type: String,
    /// The page's title.
    pub title: String,
    /// The page's tags, in the author's order.
    pub tags: Vec<String>,
    /// Other names of the page.
    pub aliases: Vec<String>,
    /// SHA-256 of the normalised body.
    pub content_hash: Hash,
    /// Number of chunks of the body.
    pub chunks: u32,
    /// Length of the body in bytes.
    pub bytes: u64,
    /// When the note was created, as [`brain_page::NoteDates`] determines, Unix milliseconds.
    pub created_at: i64,
    /// When its text was last changed, by the same rule, Unix milliseconds.
    pub updated_at: i64,
    /// When this body arrived, Unix milliseconds. The 24 hours of the duplicate check begin here.
    pub content_at: i64,
    /// When the page was soft-deleted, Unix milliseconds.
    pub deleted_at: Option<i64>,
    /// The page's file, relative to its source's directory.
    pub source_path: String,
    /// Where the page came from. Schema 81.
    pub provenance: Provenance,
    /// Who wrote this version. Absent if the provenance names the author, as it always does in
    /// earlier schemas. Schema 86.
    pub author: Option<Author>,
    /// Lines that somebody other than the page's author wrote, in the order of the text. Schema 86.
    pub marks: Vec<LineMark>,
    /// Whether the title comes from one of the lines in `marks`. Schema 86.
    pub has_outside_title: bool,
    /// When this version was written, Unix milliseconds. Equal to `updated_at` in earlier schemas.
    /// Schema 87.
    pub written_at: i64,
}

/// Who wrote a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The interface that stored it, as in [`Provenance::source_kind`].
    pub kind: String,
    /// The client or the origin, as in [`Provenance::source_uri`].
    pub uri: String,
}

impl Author {
    /// Returns whether the provenance names this author.
    pub(super) fn is_of(&self, provenance: &Provenance) -> bool {
        let Provenance { source_kind, source_uri, .. } = provenance;
        source_kind.as_ref() == Some(&self.kind) && source_uri.as_ref() == Some(&self.uri)
    }
}

/// Lines of a page that somebody other than the page's author wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineMark {
    /// The first line, counted from 1 in the text of the page's file.
    pub first: u32,
    /// The last line, included.
    pub last: u32,
    /// Who wrote the lines.
    pub author: Author,
    /// When brain stored the lines, Unix milliseconds.
    pub at: i64,
}

/// Origin of a page, since schema 81. Absent for pages of schema 80.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The interface that stored it: `capture-cli`, `put_page`, `import` …
    pub source_kind: Option<String>,
    /// Origin of the content, for example `file:///home/me/note.md`.
    pub source_uri: Option<String>,
    /// The operation that stored it.
    pub ingested_via: Option<String>,
    /// When it was stored, Unix milliseconds.
    pub ingested_at: Option<i64>,
}

/// A page's text. Clones share it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The YAML between the `---` lines, or the TOML after a line `+++`, verbatim; empty when there
    /// is none.
    pub frontmatter: FrontmatterText,
    /// The markdown below it, verbatim.
    pub body: Body,
}

impl Content {
    /// Returns the text of the page's file.
    #[must_use]
    pub fn file_text(&self) -> String {
        brain_page::file_text(&self.frontmatter, &self.body)
    }

    /// Returns the SHA-256 of [`Self::file_text`].
    #[must_use]
    pub fn file_hash(&self) -> Hash {
        brain_page::file_hash(&self.frontmatter, &self.body)
    }
}

impl From<Document> for Content {
    fn from(Document { frontmatter, body }: Document) -> Self {
        Self { frontmatter: frontmatter.into(), body }
    }
}

/// Data derived from a page's text, from which rows of other tables are made. Stored with the page,
/// so that exactly these rows are removed when the page changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DerivedRows {
    /// Links in the order of the text.
    pub links: Vec<LinkRecord>,
    /// Normalised names (file name and aliases) for bare `[[name]]` links.
    pub names: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Dated lines.
    pub timeline: Vec<TimelineEntry>,
}

/// A link as written, not resolved: its target may appear or disappear later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The named source; `None` for the page's own.
    pub source: Option<String>,
    /// Possible slugs, best first; empty for a bare name.
    pub slugs: Vec<String>,
    /// The normalised name, for a bare `[[name]]`, or for `[[a:b]]` when there is no source `a`.
    pub name: Option<String>,
    /// `mentions` or the frontmatter key.
    pub kind: String,
    /// The target as written.
    pub raw: String,
}

/// A former version of a page with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The page's record while this version was the current one.
    pub record: PageRecord,
    /// Its text as it was.
    pub content: Content,
}

/// A registered source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Its directory; `None` for `pages/` in the home.
    pub path: Option<String>,
    /// When the source was registered, Unix milliseconds.
    pub created_at: i64,
    /// Whether it is the default source. Schema 82.
    pub is_default: bool,
    /// The last sync. Schema 82.
    pub last_sync: Option<SyncResult>,
}

impl SourceRecord {
    /// Returns a source that was never synchronised.
    #[must_use]
    pub fn new(path: Option<String>, now: i64) -> Self {
        Self { path, created_at: now, is_default: false, last_sync: None }
    }
}

/// The owner's settings of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceSettingsRecord {
    /// Patterns of the files that sync reads; empty: all.
    pub include: Vec<String>,
    /// Patterns of files and directories that sync leaves out.
    pub exclude: Vec<String>,
    /// Whether brain does not write the origin of new pages into their frontmatter.
    pub without_provenance: bool,
}

/// When a source was synchronised, and what kept the sync from being complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncResult {
    /// Time of the sync, Unix milliseconds.
    pub at: i64,
    /// Why the sync was incomplete.
    pub problem: Option<String>,
}

/// A file of a source as of the last sync. Schema 82.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its length in bytes.
    pub size: u64,
    /// When the content changed, in nanoseconds since 1970. 0 for a file that may have changed
    /// while it was read, which is read again.
    pub mtime_ns: i64,
    /// When the content or metadata changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// SHA-256 of its bytes.
    pub digest: Hash,
    /// Id of the file's page.
    pub page: Option<u64>,
    /// Sequence number of the page when page and file agreed.
    pub seq: u64,
    /// Why the file did not become a page.
    pub problem: Option<String>,
}

impl FileRecord {
    /// Marks a file that brain moved to the trash; no file has this `ctime_ns`.
    const IN_TRASH: i64 = -1;

    /// Returns the record as that of a file that brain moved to the trash.
    pub(super) fn trashed(self) -> Self {
        Self { mtime_ns: 0, ctime_ns: Self::IN_TRASH, ..self }
    }

    /// Whether brain moved the file to the trash. Otherwise the file there is its author's.
    #[must_use]
    pub fn is_trashed(&self) -> bool {
        (self.mtime_ns, self.ctime_ns) == (0, Self::IN_TRASH)
    }
}

/// Work for the outbox: a page whose file must be written, moved or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// Sequence number of the change.
    pub seq: u64,
    /// The page's source.
    pub source: String,
    /// The file, relative to the source's directory.
    pub path: String,
    /// The requested state of the file.
    pub target_state: FileState,
    /// Digests of contents that brain may have written to the file. The outbox never overwrites
    /// other contents.
    pub own_digests: Vec<Hash>,
}

/// An attachment of a page. The row's key has its name. Schema 88.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentRecord {
    /// SHA-256 of its bytes, which is the name of its file.
    pub hash: Hash,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was attached, Unix milliseconds.
    pub attached_at: i64,
    /// When the page's text ceased to name it, Unix milliseconds.
    pub removed_at: Option<i64>,
}

/// State of a page's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileState {
    /// The file has the page's text.
    Present,
    /// The file is in `.trash/`.
    Trashed,
    /// The file is removed from its path and from `.trash/`.
    Purged,
    /// The file is removed from `.trash/`; a file at its path stays. Schema 82.
    TrashPurged,
}

/// An ingest job. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// State of the job.
    pub state: JobState,
    /// The client that sent it, as named in the audit.
    pub client: String,
    /// Source of the page.
    pub source: SourceId,
    /// SHA-256 of its text, or of the bytes of a document.
    pub content_hash: Hash,
    /// Media type, one of the accepted types.
    pub content_type: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Options of the sender for the page.
    pub options: JobOptions,
    /// Markdown and frontmatter; empty for a document, and once the page is stored.
    pub content: Content,
    /// When the job was accepted, Unix milliseconds.
    pub received_at: i64,
    /// When the page was stored or the job failed, Unix milliseconds.
    pub finished_at: Option<i64>,
    /// Number of attempts.
    pub attempts: u32,
    /// Due time in Unix milliseconds: its key in `jobs_due`.
    pub due_at: i64,
    /// Slug of the stored page.
    pub slug: Option<Slug>,
    /// Code and message of the last error.
    pub error: Option<(String, String)>,
    /// Duplicate keys: its keys in `jobs_seen`.
    pub duplicate_keys: Vec<Hash>,
}

/// What becomes of the item of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// Its content is the text of the page.
    Text,
    /// Its text must be read from its file, an attachment with the hash `content_hash`.
    Document,
}

impl JobRecord {
    /// Returns the kind of the job, by its media type.
    #[must_use]
    pub fn kind(&self) -> JobKind {
        match DocumentType::of_media_type(&self.content_type) {
            Some(_) => JobKind::Document,
            None => JobKind::Text,
        }
    }

    /// Returns whether the job still needs the file of its document.
    pub(super) fn needs_file(&self) -> bool {
        self.kind() == JobKind::Document && self.state != JobState::Stored
    }
}

/// Options that the sender of an ingest job sets for its page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOptions {
    /// The page's slug.
    pub slug: Option<Slug>,
    /// The page's title.
    pub title: Option<String>,
    /// The page's type.
    pub page_type: Option<String>,
    /// Origin of the content.
    pub uri: Option<String>,
}

/// An HTTP client. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// Name for display.
    pub name: String,
    /// SHA-256 of its secret; a public client has none.
    pub secret: Option<Hash>,
    /// Granted scopes.
    pub scopes: Scopes,
    /// Sources that it can read and write; empty for all.
    pub sources: Vec<String>,
    /// Grant types that it can use.
    pub grant_types: Vec<GrantType>,
    /// Allowed redirect addresses.
    pub redirect_uris: Vec<String>,
    /// Lifetime of its access tokens in seconds.
    pub token_ttl: u32,
    /// `admin`, `dynamic` or `metadata`.
    pub registered_by: String,
    /// When the client was registered, Unix milliseconds.
    pub created_at: i64,
    /// When the client was last used, Unix milliseconds, to the minute.
    pub last_used_at: Option<i64>,
    /// When the client was revoked, Unix milliseconds.
    pub revoked_at: Option<i64>,
}

/// A token without its value; its key is its SHA-256. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// What the token is for.
    pub kind: TokenKind,
    /// Its client; `None` for a personal token.
    pub client: Option<String>,
    /// Name of a personal token.
    pub name: String,
    /// Granted scopes. A client's token never has more than the client.
    pub scopes: Scopes,
    /// Sources that it can read and write; empty for all.
    pub sources: Vec<String>,
    /// Resource that it is valid for (RFC 8707).
    pub resource: Option<String>,
    /// Shared by all tokens that descend from one consent, or from one call of `/token`.
    pub family: u64,
    /// When the token was created, Unix milliseconds.
    pub created_at: i64,
    /// When the token expires, Unix milliseconds; `None` for never.
    pub expires_at: Option<i64>,
    /// When a refresh token was exchanged, Unix milliseconds.
    pub used_at: Option<i64>,
    /// When the token was revoked, Unix milliseconds.
    pub revoked_at: Option<i64>,
}

/// Audited calls that are stored in one row. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuditPage<'a> {
    /// The calls, in the order in which they ended.
    pub calls: Cow<'a, [AuditRecord]>,
}

/// An audited network call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Start time, Unix milliseconds.
    pub at: i64,
    /// A client's id, `token:<name>`, `admin`, or `-`.
    pub client: String,
    /// Operation, for example `POST /ingest`.
    pub operation: String,
    /// HTTP status.
    pub status: u16,
    /// Duration in microseconds.
    pub took_us: u64,
    /// Names of parameters and their sizes in bytes, never values.
    pub parameters: Vec<(String, u64)>,
}

/// Checks that the text matches the record; otherwise returns what is wrong.
pub(super) fn check_text(record: &PageRecord, content: &Content) -> Result<(), &'static str> {
    match content.body.digest() == record.content_hash {
        true => Ok(()),
        false => Err("its text does not match its content hash"),
    }
}

/// Checks that `former` is version `number` of the page `id`, with a matching text; otherwise
/// returns what is wrong.
pub(super) fn check_version(
    former: &VersionRecord,
    id: u64,
    number: u32,
) -> Result<(), &'static str> {
    if (former.record.id, former.record.version) != (id, number) {
        return Err("its id or number does not match");
    }
    // Hashes of versions from before schema 81 were not kept up to date.
    match former.record.provenance == Provenance::default() {
        true => Ok(()),
        false => check_text(&former.record, &former.content),
    }
}
