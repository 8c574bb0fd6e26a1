//! What an import does to a page: it changes only what an import wrote.

use brain_pages::pages::put::{WriteEffect, write_effect};
use brain_pages::provenance::{IMPORT, author_of};
use brain_protocol::WriteStatus;
use brain_store::{Content, PageRecord, StoreError, VersionRecord};

use super::import_page::ImportPage;

/// What an import does to a page.
pub(super) enum ImportEffect {
    /// The page has the text already.
    Unchanged(Box<PageRecord>),
    /// The text would blank the page, which is refused.
    Blank,
    /// The page is written, with this status.
    Write(WriteStatus),
    /// Somebody wrote or changed the page in brain, so it is kept.
    Keep,
}

/// The texts of the store that a decision may need.
pub(super) trait StoredTexts {
    /// Returns the text of a page.
    fn text(&self, page: &PageRecord) -> Result<Content, StoreError>;

    /// Returns a former version of the page `id`.
    fn former(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError>;
}

impl ImportEffect {
    /// Decides what an import does to `existing`, the page at the slug of `page`.
    pub(super) fn of(
        page: &ImportPage,
        existing: Option<PageRecord>,
        texts: &impl StoredTexts,
    ) -> Result<Self, StoreError> {
        let record = existing.clone();
        let effect = write_effect(
            existing,
            |page| texts.text(page),
            &[&page.frontmatter, &page.verified_frontmatter],
            &page.page.content.body,
        )?;
        Ok(match (effect, record) {
            (WriteEffect::Unchanged(record), _) => Self::Unchanged(record),
            (WriteEffect::Blank, _) => Self::Blank,
            (WriteEffect::Write(WriteStatus::Updated), Some(record))
                if !is_own_export(page, &record) && !has_text_of_import(&record, texts)? =>
            {
                Self::Keep
            }
            (WriteEffect::Write(status), _) => Self::Write(status),
        })
    }
}

/// Returns whether the file is the page's own, from an export of brain: it states its provenance.
/// A converted document states only that others wrote it.
fn is_own_export(page: &ImportPage, record: &PageRecord) -> bool {
    !page.page.dates.is_converted && record.provenance == page.page.provenance
}

/// Returns whether an import wrote the text of a page: its current version, or one to which it was
/// reverted.
pub(super) fn has_text_of_import(
    page: &PageRecord,
    texts: &impl StoredTexts,
) -> Result<bool, StoreError> {
    let is_import = |page: &PageRecord| {
        author_of(page).is_none_or(|author| author.kind.starts_with(IMPORT.kind))
    };
    if is_import(page) {
        return Ok(true);
    }
    let mut current = None;
    for version in (1..page.version).rev() {
        let Some(former) = texts.former(page.id, version)? else { continue };
        if is_import(&former.record) {
            let current = match &mut current {
                Some(current) => current,
                none => none.insert(texts.text(page)?),
            };
            if former.content == *current {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
