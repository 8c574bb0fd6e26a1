//! The values of the store's tables, and their bytes.
//!
//! A stored value is one format byte, then bincode, then a checksum of both. A format is never changed: a new one
//! gets the next number and [`super::migrate`] turns the old rows into it. The highest bit of the format byte says
//! that the checksum is there: stores before schema 85 have none, and their backups are still read.

use std::borrow::Cow;

use bincode::Options;
use brain_protocol::{GrantType, JobState, Scopes};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::StoreError;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// A page without its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRecord {
    /// Stable for the page's whole life; never used again.
    pub id: u64,
    /// Place of the last change in the store's sequence.
    pub seq: u64,
    /// Number of the present version, from 1.
    pub version: u32,
    /// The page's type.
    pub page_type: String,
    /// The page's title.
    pub title: String,
    /// The page's tags, in the author's order.
    pub tags: Vec<String>,
    /// Other names that the page answers to.
    pub aliases: Vec<String>,
    /// SHA-256 of the normalised body.
    pub content_hash: Hash,
    /// In how many chunks the body is.
    pub chunks: u32,
    /// Length of the body in bytes.
    pub bytes: u64,
    /// First stored, Unix milliseconds.
    pub created_at: i64,
    /// Last changed, Unix milliseconds.
    pub updated_at: i64,
    /// When this body came in, Unix milliseconds: the 24 hours of the duplicate check begin here.
    pub content_at: i64,
    /// Soft-deleted, Unix milliseconds.
    pub deleted_at: Option<i64>,
    /// The page's file, relative to its source's directory.
    pub source_path: String,
    /// Where the page came from. Schema 81.
    pub provenance: Provenance,
}

/// Where a page came from: the columns that schema 81 added. All absent for pages of schema 80.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The door: `capture-cli`, `put_page`, `import` …
    pub source_kind: Option<String>,
    /// Where the content was, for example `file:///home/me/note.md`.
    pub source_uri: Option<String>,
    /// The operation that took it in.
    pub ingested_via: Option<String>,
    /// When, Unix milliseconds.
    pub ingested_at: Option<i64>,
}

/// A page's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The YAML between the `---` lines, verbatim; empty when there is none.
    pub frontmatter: String,
    /// The markdown below it, verbatim.
    pub body: String,
}

/// What is derived from a page's text and stands in tables of its own. Kept beside the page, so that exactly
/// these rows go when the page changes, whatever a later program would derive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// Links in the order of the text.
    pub links: Vec<LinkRecord>,
    /// Normalised names (file name and aliases) for bare `[[name]]` links.
    pub names: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Dated lines.
    pub timeline: Vec<TimelineRecord>,
}

/// A link as the author wrote it, not resolved: pages come and go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The source that is named, else the page's own.
    pub source: Option<String>,
    /// Slugs it may mean, best first; empty for a bare name.
    pub slugs: Vec<String>,
    /// The normalised name, for a bare `[[name]]`, or for `[[a:b]]` when there is no source `a`.
    pub name: Option<String>,
    /// `mentions` or the frontmatter key.
    pub kind: String,
    /// What the author wrote as target.
    pub raw: String,
}

/// A dated line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRecord {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// What happened.
    pub text: String,
    /// What stands in `[Source: …]`.
    pub source: Option<String>,
}

/// A former version of a page, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The page as it was.
    pub record: PageRecord,
    /// Its text as it was.
    pub content: Content,
}

/// A registered source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Its directory; `None` for `pages/` in the home.
    pub path: Option<String>,
    /// Registered, Unix milliseconds.
    pub created_at: i64,
    /// Whether it is meant when no source is named. Schema 82.
    pub preferred: bool,
    /// The last sync that read it. Schema 82.
    pub synced: Option<SyncMark>,
}

impl SourceRecord {
    /// A source that was registered just now and never synchronised.
    #[must_use]
    pub fn new(path: Option<String>, now: i64) -> Self {
        Self { path, created_at: now, preferred: false, synced: None }
    }
}

/// How a sync ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncMark {
    /// When, Unix milliseconds.
    pub at: i64,
    /// What it could not do.
    pub problem: Option<String>,
}

/// A file of a source as the last sync saw it. Schema 82.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its length in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds since 1970. 0 for a file that may have changed in the very moment it was
    /// read: it is read again.
    pub mtime_ns: i64,
    /// When anything about it changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// SHA-256 of its bytes.
    pub digest: Hash,
    /// The page it became.
    pub page: Option<u64>,
    /// That page's last change when the two agreed.
    pub seq: u64,
    /// Why it could not become one.
    pub problem: Option<String>,
}

impl FileRecord {
    /// No file's `ctime_ns`: brain itself has sent the file to the trash.
    const IN_TRASH: i64 = -1;

    /// The same for a file that brain sends to the trash.
    pub(super) fn trashed(self) -> Self {
        Self { mtime_ns: 0, ctime_ns: Self::IN_TRASH, ..self }
    }

    /// Whether brain has sent the file to the trash. Otherwise what lies there is its author's.
    #[must_use]
    pub fn is_trashed(&self) -> bool {
        (self.mtime_ns, self.ctime_ns) == (0, Self::IN_TRASH)
    }
}

/// A page whose file may not yet be as the store says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// The change that asked for it.
    pub seq: u64,
    /// The page's source.
    pub source: String,
    /// The file, relative to the source's directory.
    pub path: String,
    /// What the file should become.
    pub want: FileState,
    /// Digests of what brain may have left in the file before: anything else is somebody's work and stays.
    pub ours: Vec<Hash>,
}

/// What a page's file should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileState {
    /// The page's text.
    Present,
    /// In `.trash/`.
    Trashed,
    /// Gone from its place and from `.trash/`.
    Purged,
    /// Gone from `.trash/`. What stands in its place stays. Schema 82.
    TrashPurged,
}

/// An item that was taken in over HTTP. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// How far it is.
    pub state: JobState,
    /// Who sent it, as the audit knows them.
    pub client: String,
    /// Where its page goes.
    pub source: String,
    /// SHA-256 of its text.
    pub content_hash: Hash,
    /// Its media type: one of those that can be taken in.
    pub content_type: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// What its sender wants of the page.
    pub wishes: JobWishes,
    /// Its text as markdown, and the frontmatter that it came with; empty once it is a page.
    pub content: Content,
    /// Accepted, Unix milliseconds.
    pub received_at: i64,
    /// Became a page or failed for good, Unix milliseconds.
    pub finished_at: Option<i64>,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is due, Unix milliseconds: its key in the table of what is due.
    pub due_at: i64,
    /// The page that it became.
    pub slug: Option<String>,
    /// What went wrong last: code and message.
    pub error: Option<(String, String)>,
    /// The keys under which it is in the table of what was seen.
    pub seen: Vec<Hash>,
}

/// What the sender of an item wants of its page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobWishes {
    /// The page's slug.
    pub slug: Option<String>,
    /// The page's title.
    pub title: Option<String>,
    /// The page's type.
    pub page_type: Option<String>,
    /// Where the content comes from.
    pub uri: Option<String>,
}

/// Somebody who may come over HTTP. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// What people call it.
    pub name: String,
    /// SHA-256 of its secret; a public client has none.
    pub secret: Option<Hash>,
    /// What it is granted.
    pub scopes: Scopes,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<String>,
    /// How it may come to a token.
    pub grant_types: Vec<GrantType>,
    /// Where a browser may be sent back to.
    pub redirect_uris: Vec<String>,
    /// How long its access tokens live, in seconds.
    pub token_ttl: u32,
    /// `admin`, `dynamic` or `metadata`.
    pub registered_by: String,
    /// Registered, Unix milliseconds.
    pub created_at: i64,
    /// Let in, Unix milliseconds, to the minute.
    pub last_used_at: Option<i64>,
    /// Revoked, Unix milliseconds.
    pub revoked_at: Option<i64>,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenKind {
    /// Made by the owner for somebody who only sends a bearer.
    Personal,
    /// For an hour.
    Access,
    /// For the next access token. Good once.
    Refresh,
}

/// A token, without itself: its key is its SHA-256. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// What it is for.
    pub kind: TokenKind,
    /// The client it belongs to; none for a personal one.
    pub client: Option<String>,
    /// What people call a personal one.
    pub name: String,
    /// What it is granted. A client's token has no more than the client, whatever stands here.
    pub scopes: Scopes,
    /// The only sources it may see and write; all when empty.
    pub sources: Vec<String>,
    /// What it is good for (RFC 8707).
    pub resource: Option<String>,
    /// All tokens that descend from one consent, or from one call of `/token`.
    pub family: u64,
    /// Made, Unix milliseconds.
    pub created_at: i64,
    /// Ends, Unix milliseconds; never when absent.
    pub expires_at: Option<i64>,
    /// A refresh token was exchanged, Unix milliseconds.
    pub used_at: Option<i64>,
    /// Revoked, Unix milliseconds.
    pub revoked_at: Option<i64>,
}

/// Calls that were written down together. Schema 83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuditPage<'a> {
    /// In the order of their end.
    pub calls: Cow<'a, [AuditRecord]>,
}

/// A call over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When it began, Unix milliseconds.
    pub at: i64,
    /// A client's id, `token:<name>`, `admin`, or `-`.
    pub client: String,
    /// What was asked, for example `POST /ingest`.
    pub operation: String,
    /// HTTP status.
    pub status: u16,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// What came with it: names and sizes in bytes, never values.
    pub parameters: Vec<(String, u64)>,
}

/// A value with a format number and bytes of its own.
pub(super) trait Stored: Serialize + DeserializeOwned {
    /// The format byte.
    const FORMAT: u8;
    /// What it is, for errors.
    const WHAT: &'static str;
}

macro_rules! stored {
    ($($type:ty = $format:literal, $what:literal;)*) => {
        $(impl Stored for $type { const FORMAT: u8 = $format; const WHAT: &'static str = $what; })*
    };
}

stored! {
    PageRecord = 2, "page";
    Content = 1, "text of a page";
    Derived = 1, "derived rows of a page";
    VersionRecord = 2, "version of a page";
    SourceRecord = 2, "source";
    FileRecord = 1, "file of a source";
    OutboxRow = 1, "outbox row";
    JobRecord = 1, "job";
    ClientRecord = 1, "client";
    TokenRecord = 1, "token";
    AuditPage<'_> = 1, "page of the audit";
}

fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

/// The bit of the format byte that says that a checksum follows the value.
const SEALED: u8 = 0x80;
/// The length of the checksum in bytes.
const SUM: usize = 4;

/// The bytes of a value.
pub(super) fn to_bytes<T: Stored>(value: &T) -> Result<Vec<u8>, StoreError> {
    // bincode writes a few bytes at a time: room for most values, so that it is not made again and again.
    let mut out = Vec::with_capacity(1024);
    out.push(T::FORMAT);
    options()
        .serialize_into(&mut out, value)
        .map_err(|e| StoreError::damaged(format!("a {} cannot be stored: {e}", T::WHAT)))?;
    seal(&mut out);
    Ok(out)
}

/// Adds the checksum to the bytes of a value that has none.
pub(super) fn seal(bytes: &mut Vec<u8>) {
    if let Some(format) = bytes.first_mut().filter(|format| **format & SEALED == 0) {
        *format |= SEALED;
        let sum = crc32fast::hash(bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }
}

/// The bincode of a value, once its checksum and format were looked at.
fn unseal<T: Stored>(bytes: &[u8]) -> Result<&[u8], StoreError> {
    let format = bytes.first().copied().unwrap_or_default();
    let value = match format & SEALED {
        0 => bytes,
        _ => match bytes.split_last_chunk::<SUM>() {
            Some((value, sum)) if crc32fast::hash(value).to_le_bytes() == *sum => value,
            _ => {
                return Err(StoreError::damaged(format!(
                    "a {} does not match its checksum",
                    T::WHAT
                )));
            }
        },
    };
    match value.split_first() {
        Some((_, rest)) if format & !SEALED == T::FORMAT => Ok(rest),
        _ => Err(StoreError::damaged(format!(
            "a {} has format {}, expected {}",
            T::WHAT,
            format & !SEALED,
            T::FORMAT
        ))),
    }
}

/// The page of a stored [`VersionRecord`], without decoding its text.
pub(super) fn record_of_version(bytes: &[u8]) -> Result<PageRecord, StoreError> {
    // The record stands first.
    beginning::<VersionRecord, _>(bytes)
}

/// How far a stored [`JobRecord`] is, without decoding its text.
pub(super) fn state_of_job(bytes: &[u8]) -> Result<JobState, StoreError> {
    // The state stands first.
    beginning::<JobRecord, _>(bytes)
}

/// The first field of the value of type `T` that `bytes` hold.
fn beginning<T: Stored, F: DeserializeOwned>(bytes: &[u8]) -> Result<F, StoreError> {
    options()
        .allow_trailing_bytes()
        .deserialize(unseal::<T>(bytes)?)
        .map_err(|e| StoreError::damaged(format!("a {} cannot be read: {e}", T::WHAT)))
}

/// The value that `bytes` hold.
pub(super) fn from_bytes<T: Stored>(bytes: &[u8]) -> Result<T, StoreError> {
    options()
        .deserialize(unseal::<T>(bytes)?)
        .map_err(|e| StoreError::damaged(format!("a {} cannot be read: {e}", T::WHAT)))
}
