//! A page to write, prepared before the writer runs.

use super::record::{Author, Content, DerivedRows, Hash, LineMark, PageRecord, Provenance};
use brain_page::{self as page, FormerDates, NoteDates};

/// A page to write, prepared before the writer runs.
#[derive(Debug, Clone)]
pub struct NewPage {
    /// The page's type.
    pub page_type: String,
    /// The page's title; `None` means the name of its file.
    pub title: Option<String>,
    /// Other names of the page.
    pub aliases: Vec<String>,
    /// Its text.
    pub content: Content,
    /// SHA-256 of the normalised body.
    pub content_hash: Hash,
    /// Number of chunks of the body.
    pub chunks: u32,
    /// Its links, names, tags and dated lines.
    pub derived: DerivedRows,
    /// Origin of the page.
    pub provenance: Provenance,
    /// Dates that it and its file state.
    pub dates: NoteDates,
    /// Who writes this version; `None` if that is not known.
    pub author: Option<Author>,
    /// How this version changes the marks of lines.
    pub line_change: LineChange,
    /// Digest of the file contents from which this page was made, and which may be overwritten.
    pub replaces: Option<Hash>,
    /// Whether the slug was made from the content, so that the same content within 24 hours is a
    /// duplicate.
    pub is_capture: bool,
    /// How the page's file changes.
    pub file: FilePlan,
}

impl NewPage {
    /// Returns `record` with the fields of this page.
    pub(super) fn fill_record(&self, record: PageRecord) -> PageRecord {
        PageRecord {
            page_type: self.page_type.clone(),
            title: self.title.clone().unwrap_or_else(|| {
                page::file_title(&record.source_path, self.provenance.source_uri.as_deref())
            }),
            tags: self.derived.tags.clone(),
            aliases: self.aliases.clone(),
            content_hash: self.content_hash,
            chunks: self.chunks,
            bytes: self.content.body.len() as u64,
            provenance: self.provenance.clone(),
            author: self.author.clone().filter(|author| !author.is_of(&self.provenance)),
            ..record
        }
    }

    /// Returns the times at which the note was created and its text last changed, for a version
    /// that is written at `now`. `former` is the previous version.
    pub(super) fn resolve_dates(&self, former: Option<&PageRecord>, now: i64) -> (i64, i64) {
        let former = former.map(|old| FormerDates {
            created: old.created_at,
            updated: old.updated_at,
            is_same_text: old.content_hash == self.content_hash,
        });
        self.dates.resolve(former, now)
    }
}

/// How a write changes the marks of a page's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineChange {
    /// The page's author wrote all lines: no line has a mark.
    ByPageAuthor,
    /// [`NewPage::author`], which is not the page's author, wrote the added and changed lines.
    /// Other lines keep their marks.
    ByOtherAuthor,
    /// Lines keep their marks. A new line gets a mark only if it replaces a marked line or has the
    /// text of one.
    SameMarks,
    /// A former version becomes the current one, with its marks.
    OfVersion {
        /// The marks.
        marks: Vec<LineMark>,
        /// Whether the version's title is from another author than the page's.
        has_outside_title: bool,
    },
}

/// How a write changes the page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePlan {
    /// The file is written with the page's text.
    Write,
    /// The page was read from the file at this path, relative to the source. The file stays as it
    /// is.
    Keep(String),
}
