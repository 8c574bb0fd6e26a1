//! Committed changes of pages, for consumers that derive data from pages.

use std::sync::Arc;

use brain_protocol::{Slug, SourceId};

use super::record::{Content, PageRecord};

/// A page after a committed change, for consumers that derive data from pages.
#[derive(Debug)]
pub struct ChangedPage {
    /// Source and slug together name the page.
    pub source: SourceId,
    /// Unique in the source.
    pub slug: Slug,
    /// All that the store keeps of the page but its text.
    pub record: PageRecord,
    /// The page's text.
    pub content: Content,
    /// Whether the page was read from its file, rather than written to it.
    pub is_from_file: bool,
}

/// One committed change.
#[derive(Debug, Clone)]
pub struct Change {
    /// The change's sequence number.
    pub seq: u64,
    /// The page's id.
    pub id: u64,
    /// The page after the change; `None` when it is deleted or purged.
    pub page: Option<Arc<ChangedPage>>,
    /// Whether the change belongs to a bulk write that is not acknowledged yet; see
    /// [`super::Transaction::mark_as_bulk`].
    pub is_bulk: bool,
}

/// Receives the changes of each commit, in order: after the commit is durable, before its writers
/// are answered.
pub type CommitHook = Box<dyn Fn(Vec<Change>) + Send>;
