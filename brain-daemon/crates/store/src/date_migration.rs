//! Migrates schema 86 to 87: pages get the dates that they and their files state, and the rows of
//! tags and types get the date.

use std::collections::BTreeMap;

use brain_base::clock::zone;
use brain_page::{FormerDates, NoteDates};
use brain_protocol::{Slug, SourceId};
use redb::{ReadableTable, WriteTransaction};

use super::record::{Content, FileRecord, PageRecord, from_bytes, to_bytes};
use super::row_table::RowTable;
use super::transaction::{DatedRows, insert_labels};
use super::{StoreError, tables as t};

/// Derives the dates of all pages, and fills the tables of tags and types. Former versions keep
/// their dates.
pub(super) fn derive_dates(txn: &WriteTransaction) -> Result<(), StoreError> {
    for table in [t::TAGS_86, t::TYPES_86] {
        txn.delete_table(table)?;
    }
    for table in [t::TAGS, t::TYPES] {
        txn.delete_table(table)?;
    }
    let (mut pages, contents) = (txn.open_table(t::PAGES)?, txn.open_table(t::CONTENTS)?);
    let files = txn.open_table(t::FILES)?;
    let mut counts = BTreeMap::new();
    let (mut changed, mut tags, mut types) = (Vec::new(), DatedRows::new(), DatedRows::new());
    for row in pages.iter()? {
        let (key, value) = row?;
        let (source, name) = key.value();
        let mut record: PageRecord = from_bytes(value.value())?;
        let file = files.get((source, record.source_path.as_str()))?;
        let file = file.and_then(|row| from_bytes::<FileRecord>(row.value()).ok());
        let content = contents.get(record.id)?;
        let content = content.and_then(|row| from_bytes::<Content>(row.value()).ok());
        // A damaged text leaves its page as it is: reads report it.
        if let (Ok(slug), Some(content)) = (Slug::parse(name.to_owned()), content)
            && let Ok(frontmatter) = content.frontmatter.parsed()
        {
            let stated = NoteDates::stated(&slug, frontmatter, &zone());
            let dates = dates_of(stated, source, &record, file.as_ref());
            if dates != (record.created_at, record.updated_at) {
                (record.created_at, record.updated_at) = dates;
                changed.push((source.to_owned(), name.to_owned(), to_bytes(&record)?));
            }
        }
        if record.deleted_at.is_none() {
            let row = |label: &str| (source.into(), label.into(), record.updated_at, record.id);
            tags.extend(record.labels().into_iter().map(row));
            *counts.entry(source.to_owned()).or_insert(0_u64) += 1;
            types.push(row(&record.page_type));
        }
    }
    for (source, name, bytes) in changed {
        pages.insert((source.as_str(), name.as_str()), bytes.as_slice())?;
    }
    let mut tag_counts = txn.open_table(t::TAG_COUNTS)?;
    for (source, count) in counts {
        tag_counts.insert((source.as_str(), t::EVERY_PAGE), count)?;
    }
    insert_labels(&mut RowTable::new(txn.open_table(t::TAGS)?, false), &mut tags)?;
    insert_labels(&mut RowTable::new(txn.open_table(t::TYPES)?, false), &mut types)
}

/// Returns the times at which the note was created and its text last changed, in Unix milliseconds.
/// In sources other than the default one, files can be older than their pages.
fn dates_of(
    stated: NoteDates,
    source: &str,
    record: &PageRecord,
    file: Option<&FileRecord>,
) -> (i64, i64) {
    let modified = file
        .filter(|file| file.page == Some(record.id) && file.mtime_ns > 0)
        .filter(|_| source != SourceId::DEFAULT)
        .map(|file| file.mtime_ns / 1_000_000);
    let older = |at: i64| modified.map_or(at, |modified| modified.min(at));
    let (created, updated) = (older(record.created_at), older(record.content_at));
    let is_read = modified.is_some() || record.provenance.source_kind.as_deref() == Some("import");
    if is_read && record.content_at == record.created_at {
        // The page still has the text of its first import.
        let dates = NoteDates { file: Some((created, updated)), ..stated };
        return dates.resolve(None, record.updated_at);
    }
    let former = FormerDates { created, updated, is_same_text: true };
    stated.resolve(Some(former), record.updated_at)
}
