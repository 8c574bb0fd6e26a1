//! Finds the copies of a store that have a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use redb::{ReadOnlyDatabase, ReadableDatabase};

use super::error::with_damage_report;
use super::{Store, StoreError, former_records, meta, tables as t};

impl Store {
    /// Returns the copies of this store that have the page `id`, or its version `version`:
    /// scheduled backups, and copies beside the store. A copy that cannot be read is returned, too.
    #[must_use]
    pub fn copies_with(&self, id: u64, version: Option<u32>) -> Vec<PathBuf> {
        let store = self.path();
        let scheduled = self.shared.report.backups.get().map(PathBuf::as_path);
        let dirs: BTreeSet<&Path> = scheduled.into_iter().chain(store.parent()).collect();
        let mut found: Vec<PathBuf> = dirs
            .into_iter()
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
            .filter(|path| path != store && is_copy_name(path))
            .filter(|path| {
                with_damage_report(path, || self.has_row(path, id, version)).unwrap_or(true)
            })
            .collect();
        found.sort();
        found
    }

    /// Whether the copy at `path` is of this store and has the page, or the given version of it.
    fn has_row(&self, path: &Path, id: u64, version: Option<u32>) -> Result<bool, StoreError> {
        let unreadable = |e: redb::DatabaseError| StoreError::damaged(e.to_string());
        let db = ReadOnlyDatabase::open(path).map_err(unreadable)?;
        let txn = db.begin_read()?;
        let schema = meta::check_schema(&txn, path)?;
        if meta::number(&txn, t::META_STORE_ID)?.is_some_and(|id| id != self.id()) {
            return Ok(false);
        }
        let Some(version) = version else {
            return Ok(txn.open_table(t::CONTENTS)?.get(id)?.is_some());
        };
        if txn.open_table(t::VERSIONS)?.get((id, version))?.is_some() {
            return Ok(true);
        }
        // When the copy was made, it may have been the current version.
        let Some(name) = txn.open_table(t::IDS)?.get(id)? else { return Ok(false) };
        let Some(row) = txn.open_table(t::PAGES)?.get(name.value())? else { return Ok(false) };
        Ok(former_records::page_of(schema, row.value())?.version == version)
    }
}

/// Whether a file can be a copy of a store: `….redb`, or `brain.redb.v84` of a migration.
fn is_copy_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".redb")
        || name.rsplit_once(".redb.v").is_some_and(|(_, n)| n.parse::<u64>().is_ok())
}
