//! Verifies the rows of one page, and that the tables with one row a page have as many rows as
//! there are pages.

use brain_protocol::{Slug, SourceId};
use redb::{ReadOnlyTable, ReadableTableMetadata};

use super::super::record::{Content, PageRecord, from_bytes};
use super::super::{StoreError, tables as t};
use super::{Verifier, VerifyReport, check_path};
use brain_page as page;

/// The tables with rows of pages. `changes` has rows of purged pages, too.
pub(super) struct PageTables {
    ids: ReadOnlyTable<u64, (&'static str, &'static str)>,
    contents: ReadOnlyTable<u64, &'static [u8]>,
    changes: ReadOnlyTable<u64, u64>,
    deleted: ReadOnlyTable<(i64, u64), ()>,
    paths: ReadOnlyTable<(&'static str, &'static str), u64>,
}

impl PageTables {
    /// Opens the tables.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when one is missing; otherwise when the store cannot be read.
    pub(super) fn open(verifier: &Verifier<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            ids: verifier.required_table(t::IDS)?,
            contents: verifier.required_table(t::CONTENTS)?,
            changes: verifier.required_table(t::CHANGES)?,
            deleted: verifier.required_table(t::DELETED)?,
            paths: verifier.required_table(t::PATHS)?,
        })
    }

    /// Checks that the tables agree on the page with this record, and that its text has its hash.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when they do not; otherwise when the store cannot be read.
    pub(super) fn check_page(
        &self,
        source: &str,
        slug: &str,
        record: &PageRecord,
    ) -> Result<(), StoreError> {
        let wrong = |problem: &str| wrong_page(source, slug, problem);
        if self.ids.get(record.id)?.is_none_or(|found| found.value() != (source, slug)) {
            return Err(wrong("its id belongs to another page"));
        }
        if self.changes.get(record.seq)?.is_none_or(|found| found.value() != record.id) {
            return Err(wrong("its last change is missing from the change list"));
        }
        let path = record.source_path.as_str();
        check_path(path).map_err(|problem| wrong(&format!("its file {path:?} {problem}")))?;
        if self.paths.get((source, path))?.is_none_or(|found| found.value() != record.id) {
            return Err(wrong(&format!("its file {path:?} belongs to another page")));
        }
        let Some(text) = self.contents.get(record.id)? else { return Err(wrong("it has no text")) };
        let content: Content = from_bytes(text.value())?;
        if page::content_digest(&content.body) != record.content_hash {
            return Err(wrong("its text does not match its content hash"));
        }
        match record.deleted_at {
            Some(at) if self.deleted.get((at, record.id))?.is_none() => {
                Err(wrong("it is deleted, but the purge list lacks it"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the tables have no more rows than the pages in `report`. `active` is the stored
    /// number of active pages.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when a number differs; otherwise when the store cannot be read.
    pub(super) fn check_lengths(
        &self,
        report: &VerifyReport,
        active: u64,
    ) -> Result<(), StoreError> {
        let all = report.pages + report.deleted;
        for (noun, found, expected) in [
            ("ids", self.ids.len()?, all),
            ("texts", self.contents.len()?, all),
            ("files", self.paths.len()?, all),
            ("deleted pages", self.deleted.len()?, report.deleted),
            ("counted active pages", active, report.pages),
        ] {
            check_count(noun, found, expected)?;
        }
        Ok(())
    }
}

/// Checks that source and slug of a page are valid.
///
/// # Errors
/// [`StoreError::Damaged`] when one is not.
pub(super) fn check_key(source: &str, slug: &str) -> Result<(), StoreError> {
    match SourceId::parse(source).is_ok() && Slug::parse(slug).is_ok() {
        true => Ok(()),
        false => Err(wrong_page(source, slug, "it has no valid key")),
    }
}

fn wrong_page(source: &str, slug: &str, problem: &str) -> StoreError {
    StoreError::damaged(format!("page \"{slug}\" of source \"{source}\": {problem}"))
}

/// Checks that the store has as many rows as it should have.
///
/// # Errors
/// [`StoreError::Damaged`] when the numbers differ.
pub(super) fn check_count(noun: &str, found: u64, expected: u64) -> Result<(), StoreError> {
    match found == expected {
        true => Ok(()),
        false => {
            Err(StoreError::damaged(format!("it has {found} {noun}, and should have {expected}")))
        }
    }
}
