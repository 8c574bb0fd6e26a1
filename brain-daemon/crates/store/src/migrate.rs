//! Migrates stores of former schemas.
//!
//! An older store is copied, then migrated in one transaction, so a kill leaves it unchanged. A
//! newer one is refused; the error names both schemas.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brain_base::durable::replace_with;
use redb::{
    Database, ReadableDatabase, ReadableTable, TableDefinition, TableHandle, WriteTransaction,
};

use super::former_records::{
    PageRecord80, SourceRecord81, VersionRecord80, any_page, any_version, from_first,
};
use super::meta::{SCHEMA, check_schema};
use super::record::{
    DerivedRows, PageRecord, SourceRecord, VersionRecord, add_checksum, from_bytes, to_bytes,
};
use super::row_table::RowTable;
use super::transaction::{add_to_counts, insert_in_order};
use super::{
    StoreError, date_migration, spool, step_migration, tables as t, title_migration, toml_migration,
};

/// Migrates the store at `path` to [`SCHEMA`].
pub(super) fn upgrade(db: &mut Database, path: &Path) -> Result<(), StoreError> {
    let found = check_schema(&db.begin_read()?, path)?;
    if found == SCHEMA {
        return Ok(());
    }
    copy_before(path, found)?;
    migrate(db, found)
}

/// Migrates a store of schema `found` to [`SCHEMA`] in one transaction.
pub(super) fn migrate(db: &Database, found: u64) -> Result<(), StoreError> {
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    for from in found..SCHEMA {
        match from {
            80 => add_provenance(&txn)?,
            81 => add_files(&txn)?,
            82 => add_http(&txn)?,
            83 => make_link_rows(&txn)?,
            84 => {
                add_checksums(&txn)?;
                make_tag_and_type_rows(&txn)?;
                open_tables_of_links(&txn)?;
            }
            85 => {
                add_marks(&txn)?;
                txn.open_table(t::SOURCE_SETTINGS)?;
                title_migration::derive_titles(&txn)?;
            }
            86 => {
                convert_table(&txn, t::PAGES, |value| to_bytes(&any_page(value)?))?;
                convert_table(&txn, t::VERSIONS, |value| {
                    let mut version = any_version(value)?;
                    toml_migration::read_toml(&mut version.record, &mut version.content);
                    to_bytes(&version)
                })?;
                if toml_migration::read_pages(&txn)? {
                    open_tables_of_links(&txn)?;
                }
                date_migration::derive_dates(&txn)?;
            }
            87 => open_tables_of_attachments(&txn)?,
            88 => _ = txn.open_table(t::SOURCE_MACHINES)?,
            89 => make_link_rows(&txn)?,
            90 => {
                step_migration::make_steps(&txn)?;
                let _ = (txn.open_table(t::SEEN)?, txn.open_table(t::LEFT)?);
            }
            _ => {
                return Err(StoreError::Damaged(format!(
                    "there is no migration from schema {from}"
                )));
            }
        }
        txn.open_table(t::META)?.insert(t::META_SCHEMA, from + 1)?;
        tracing::info!(from, to = from + 1, "store migrated");
    }
    txn.commit()?;
    Ok(())
}

/// Copies the older store to `brain.redb.v<schema>`, and before it the spool, if a crash left one.
/// After a crash, each copy is either complete or missing.
fn copy_before(path: &Path, schema: u64) -> Result<(), StoreError> {
    let copy_path = path.with_extension(format!("redb.v{schema}"));
    let copy_durably = |from: &Path, to: &Path| {
        File::open(from)
            .and_then(|mut from| {
                let mode = from.metadata()?.mode() & 0o7777;
                replace_with(to, Some(mode), |to| io::copy(&mut from, to).map(drop))
            })
            .map(drop)
            .map_err(|e| StoreError::from_io(&e, &to.display().to_string()))
    };
    let spool = spool::spool_path(path);
    match spool.is_file() {
        true => copy_durably(&spool, &spool::spool_path(&copy_path))?,
        // A spool of an earlier copy does not belong to this one.
        false => spool::remove(&copy_path),
    }
    copy_durably(path, &copy_path)
}

/// 80 → 81: pages and their versions get the four fields of the provenance, all absent.
fn add_provenance(txn: &WriteTransaction) -> Result<(), StoreError> {
    let mut pages = txn.open_table(t::PAGES)?;
    let mut rows = Vec::new();
    for row in pages.iter()? {
        let (key, value) = row?;
        let (source, slug) = key.value();
        let old: PageRecord80 = from_first(value.value(), "page")?;
        rows.push((source.to_owned(), slug.to_owned(), to_bytes(&PageRecord::from(old))?));
    }
    for (source, slug, bytes) in rows {
        pages.insert((source.as_str(), slug.as_str()), bytes.as_slice())?;
    }
    let mut versions = txn.open_table(t::VERSIONS)?;
    let mut keys = Vec::new();
    for row in versions.iter()? {
        keys.push(row?.0.value());
    }
    for key in keys {
        let old: VersionRecord80 = match versions.get(key)? {
            Some(guard) => from_first(guard.value(), "version of a page")?,
            None => continue,
        };
        let new = VersionRecord { record: old.record.into(), content: old.content };
        versions.insert(key, to_bytes(&new)?.as_slice())?;
    }
    Ok(())
}

/// 81 → 82: adds the last sync to sources, and a table of synced files.
fn add_files(txn: &WriteTransaction) -> Result<(), StoreError> {
    txn.open_table(t::FILES)?;
    let mut sources = txn.open_table(t::SOURCES)?;
    let mut rows = Vec::new();
    for row in sources.iter()? {
        let (id, value) = row?;
        let old: SourceRecord81 = from_first(value.value(), "source")?;
        rows.push((id.value().to_owned(), to_bytes(&SourceRecord::new(old.path, old.created_at))?));
    }
    for (id, bytes) in rows {
        sources.insert(id.as_str(), bytes.as_slice())?;
    }
    Ok(())
}

/// 82 → 83: adds ingest jobs, clients, tokens and the audit.
fn add_http(txn: &WriteTransaction) -> Result<(), StoreError> {
    txn.open_table(t::JOBS)?;
    txn.open_table(t::JOBS_DUE)?;
    txn.open_table(t::JOBS_SEEN)?;
    txn.open_table(t::FINISHED_JOBS_BY_EXPIRY)?;
    txn.open_table(t::CLIENTS)?;
    txn.open_table(t::TOKENS)?;
    txn.open_table(t::AUDIT)?;
    Ok(())
}

/// Rows that are sorted and inserted at once; limits memory.
const ROWS_AT_ONCE: usize = 100_000;

/// 83 → 84: a link by slug gets no row if the linking page has a row for the same name. 89 → 90:
/// rows of links between sources name both. Rebuilds all rows; stores that began with schema 80 or
/// 81 lack some.
fn make_link_rows(txn: &WriteTransaction) -> Result<(), StoreError> {
    txn.delete_table(t::LINKS_IN)?;
    let mut links_in = RowTable::new(txn.open_table(t::LINKS_IN)?, false);
    let (pages, derived) = (txn.open_table(t::PAGES)?, txn.open_table(t::DERIVED)?);
    let mut rows = Vec::new();
    for page in pages.iter()? {
        let (key, value) = page?;
        let ((source, _), record) = (key.value(), any_page(value.value())?);
        if record.deleted_at.is_some() {
            continue;
        }
        if let Some(found) = derived.get(record.id)? {
            let found: DerivedRows = from_bytes(found.value())?;
            let links = found.link_rows(source).into_iter();
            rows.extend(links.map(|(to, key)| (to, key, record.id)));
        }
        if rows.len() >= ROWS_AT_ONCE {
            insert_in_order(&mut links_in, &mut rows)?;
        }
    }
    insert_in_order(&mut links_in, &mut rows)
}

/// Converts all values of a table. Reads the table in order and appends to a new one, so a large
/// store needs little memory.
fn convert_table<K: redb::Key + 'static>(
    txn: &WriteTransaction,
    table: TableDefinition<'static, K, &'static [u8]>,
    convert: impl Fn(&[u8]) -> Result<Vec<u8>, StoreError>,
) -> Result<(), StoreError> {
    let converted = TableDefinition::<K, &'static [u8]>::new("converted");
    {
        let (old, mut new) = (txn.open_table(table)?, txn.open_table(converted)?);
        for row in old.iter()? {
            let (key, value) = row?;
            new.insert(key.value(), convert(value.value())?.as_slice())?;
        }
    }
    txn.delete_table(table)?;
    Ok(txn.rename_table(converted, table)?)
}

/// 84 → 85: adds checksums to all values.
fn add_checksums(txn: &WriteTransaction) -> Result<(), StoreError> {
    fn seal_table<K: redb::Key + 'static>(
        txn: &WriteTransaction,
        table: TableDefinition<'static, K, &'static [u8]>,
    ) -> Result<(), StoreError> {
        convert_table(txn, table, |value| {
            let mut bytes = value.to_vec();
            add_checksum(&mut bytes);
            Ok(bytes)
        })
    }
    seal_table(txn, t::SOURCES)?;
    seal_table(txn, t::PAGES)?;
    seal_table(txn, t::CONTENTS)?;
    seal_table(txn, t::DERIVED)?;
    seal_table(txn, t::VERSIONS)?;
    seal_table(txn, t::FILES)?;
    seal_table(txn, t::OUTBOX)?;
    seal_table(txn, t::JOBS)?;
    seal_table(txn, t::CLIENTS)?;
    seal_table(txn, t::TOKENS)?;
    seal_table(txn, t::AUDIT)
}

/// 84 → 85: adds rows by tag and type in the order of last changes, and page counts by tag.
fn make_tag_and_type_rows(txn: &WriteTransaction) -> Result<(), StoreError> {
    txn.delete_table(t::TAGS_86)?;
    let mut tags = RowTable::new(txn.open_table(t::TAGS_86)?, false);
    let mut types = RowTable::new(txn.open_table(t::TYPES_86)?, false);
    let pages = txn.open_table(t::PAGES)?;
    let (mut of_tags, mut of_types, mut counts) = (Vec::new(), Vec::new(), BTreeMap::new());
    for page in pages.iter()? {
        let (key, value) = page?;
        let ((source, _), record) = (key.value(), any_page(value.value())?);
        if record.deleted_at.is_some() {
            continue;
        }
        for tag in record.distinct_tags() {
            of_tags.push((source.to_owned(), tag.to_owned(), record.seq));
            *counts.entry((source.to_owned(), tag.to_owned())).or_default() += 1;
        }
        of_types.push((source.to_owned(), record.page_type, record.seq));
        if of_tags.len() + of_types.len() >= ROWS_AT_ONCE {
            insert_in_order(&mut tags, &mut of_tags)?;
            insert_in_order(&mut types, &mut of_types)?;
        }
    }
    insert_in_order(&mut tags, &mut of_tags)?;
    insert_in_order(&mut types, &mut of_types)?;
    add_to_counts(&mut RowTable::new(txn.open_table(t::TAG_COUNTS)?, false), counts)
}

/// 85 → 86: pages and their versions get an absent author and an empty list of line marks.
fn add_marks(txn: &WriteTransaction) -> Result<(), StoreError> {
    convert_table(txn, t::PAGES, |value| to_bytes(&any_page(value)?))?;
    convert_table(txn, t::VERSIONS, |value| to_bytes(&any_version(value)?))?;
    // The first stores of schema 85 lack these tables.
    let has_tables = txn.list_tables()?.any(|table| table.name() == t::UNCHECKED.name());
    if has_tables { Ok(()) } else { open_tables_of_links(txn) }
}

/// Creates the tables of broken links. The first check of links fills them.
fn open_tables_of_links(txn: &WriteTransaction) -> Result<(), StoreError> {
    txn.open_table(t::BROKEN)?;
    txn.open_table(t::BROKEN_SUMS)?;
    txn.open_table(t::UNCHECKED)?;
    let mut meta = txn.open_table(t::META)?;
    meta.remove(t::META_LINKS_CHECKED)?;
    meta.remove(t::META_LINKS_KNOWN)?;
    Ok(())
}

/// 87 → 88: adds the tables of attachments. A new store gets them here too.
pub(super) fn open_tables_of_attachments(txn: &WriteTransaction) -> Result<(), StoreError> {
    txn.open_table(t::ATTACHMENTS)?;
    txn.open_table(t::ATTACHMENT_FILES)?;
    txn.open_table(t::ATTACHMENT_PARTS)?;
    Ok(())
}
