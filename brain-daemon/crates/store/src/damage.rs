//! Reports damage to a page, with the newest backup that has an intact copy.
//!
//! redb verifies its checksums only when it repairs a file. So each value has its own checksum, and
//! a page's text is compared with the content hash whenever it is read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use redb::{ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::damaged_page::{BackupSearch, DamagedPage};
use super::error::with_damage_report;
use super::record::{check_text, check_version, from_bytes};
use super::{StoreError, former_records, meta, tables as t};

/// Maximum backups that are searched, the newest first.
const MAX_BACKUPS: usize = 16;
/// Maximum damaged pages per snapshot for which backups are searched, so that a walk through a
/// badly damaged store ends.
const MAX_LOOKUPS: u32 = 20;

/// A page of the store, or one of its former versions.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageKey<'a> {
    /// The source's id.
    pub(super) source: &'a str,
    pub(super) slug: &'a str,
    /// The version, for a former one.
    pub(super) version: Option<u32>,
    /// Whether the text is damaged, which a `put` repairs, rather than the record.
    pub(super) is_text: bool,
}

/// Context for reports of damage: the store and its backups.
#[derive(Debug)]
pub(super) struct DamageReport {
    /// The store file.
    pub(super) path: PathBuf,
    /// The store's id, which its backups carry.
    pub(super) store_id: u64,
    /// The directory of scheduled backups.
    pub(super) backups: OnceLock<PathBuf>,
}

impl DamageReport {
    /// Creates the context of the store at `path`.
    pub(super) fn new(path: &Path, store_id: u64) -> Self {
        Self { path: path.to_owned(), store_id, backups: OnceLock::new() }
    }

    /// Returns the error for a damaged page. `what` says what is wrong. `lookups` counts searches
    /// for a backup. For callers who must not see local paths, no backup is searched.
    pub(super) fn page(
        &self,
        key: PageKey<'_>,
        what: &str,
        lookups: &AtomicU32,
        may_see_paths: bool,
    ) -> StoreError {
        let what = what.strip_prefix(&format!("{}: ", self.path.display())).unwrap_or(what);
        let backup =
            match !may_see_paths || lookups.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
                true => BackupSearch::NotSearched,
                false => self.newest_intact_backup(key).map_or(
                    BackupSearch::NotFound,
                    |(path, made_at)| BackupSearch::Found { path, made_at },
                ),
            };
        StoreError::DamagedPage(Box::new(DamagedPage {
            source_id: key.source.to_owned(),
            slug: key.slug.to_owned(),
            version: key.version,
            is_text: key.is_text,
            problem: what.to_owned(),
            backup,
        }))
    }

    /// Returns the newest backup of this store with an intact copy of the page, and its time.
    fn newest_intact_backup(&self, key: PageKey<'_>) -> Option<(PathBuf, i64)> {
        let mut files: Vec<_> = fs::read_dir(self.backups.get()?)
            .ok()?
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|ext| ext == "redb"))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort_unstable();
        let newest = files.into_iter().rev().take(MAX_BACKUPS);
        let mut found: Vec<_> = newest
            .filter_map(|(_, path)| {
                let time = with_damage_report(&path, || self.time_if_intact(&path, key));
                Some((time.ok().flatten()?, path))
            })
            .collect();
        found.sort_unstable();
        found.pop().map(|(at, path)| (path, at))
    }

    /// Returns the time of the backup at `path`, if it is of this store and has an intact copy of
    /// the page.
    fn time_if_intact(&self, path: &Path, key: PageKey<'_>) -> Result<Option<i64>, StoreError> {
        let unreadable = |e: redb::DatabaseError| StoreError::damaged(e.to_string());
        let db = ReadOnlyDatabase::open(path).map_err(unreadable)?;
        let txn = db.begin_read()?;
        let schema = meta::check_schema(&txn, path)?;
        let number = |key| meta::number(&txn, key);
        let (Some(id), Some(at)) = (number(t::META_STORE_ID)?, number(t::META_MADE_AT)?) else {
            return Ok(None);
        };
        let is_intact = id == self.store_id && is_intact(&txn, schema, key)?;
        Ok(is_intact.then_some(at).and_then(|at| i64::try_from(at).ok()))
    }
}

/// Whether the store of `txn`, with this schema, has an intact copy of the page or version.
fn is_intact(txn: &ReadTransaction, schema: u64, key: PageKey<'_>) -> Result<bool, StoreError> {
    let Some(row) = txn.open_table(t::PAGES)?.get((key.source, key.slug))? else {
        return Ok(false);
    };
    let record = former_records::page_of(schema, row.value())?;
    if let Some(number) = key.version.filter(|number| *number != record.version) {
        let Some(row) = txn.open_table(t::VERSIONS)?.get((record.id, number))? else {
            return Ok(false);
        };
        let former = former_records::version_of(schema, row.value())?;
        return Ok(check_version(&former, record.id, number).is_ok());
    }
    let Some(row) = txn.open_table(t::CONTENTS)?.get(record.id)? else { return Ok(false) };
    Ok(check_text(&record, &from_bytes(row.value())?).is_ok())
}
