//! References to pages, and how a person writes them.

use serde::{Deserialize, Serialize};

use crate::{Slug, SourceId};

/// Identifies a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRef {
    /// The page's source. If absent, a new page is written to the default source. An existing page
    /// is searched there first, then in all sources that the caller can see.
    pub source: Option<SourceId>,
    /// The page's slug.
    pub slug: Slug,
}

impl PageRef {
    /// Creates a reference to the page `slug` of `source`.
    #[must_use]
    pub fn new(source: &SourceId, slug: &Slug) -> Self {
        Self { source: Some(source.clone()), slug: slug.clone() }
    }
}

/// `slug`, or `source:slug` if there is a source.
impl std::fmt::Display for PageRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source}:{}", self.slug),
            None => self.slug.fmt(f),
        }
    }
}

/// Returns the name of a page as a person writes it: `slug`, or `source:slug` if its source is not
/// the default one.
#[must_use]
pub fn page_name(default_source: &str, source: &SourceId, slug: &Slug) -> String {
    match source.as_str() == default_source {
        true => slug.to_string(),
        false => format!("{source}:{slug}"),
    }
}
