//! Finds the copies of a store that have a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use brain_page::file_path;
use brain_protocol::{Slug, SourceId};
use redb::{ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::error::with_damage_report;
use super::{Store, StoreError, former_records, meta, tables as t};

/// The beginning of the names of directories that a join keeps beside the store.
const KEPT_PAGES: &str = "pages.before-joining-";

/// The page whose copies are searched for.
struct Wanted<'a> {
    /// Its id in this store.
    id: u64,
    source: &'a SourceId,
    slug: &'a Slug,
    /// Only this version.
    version: Option<u32>,
}

impl Store {
    /// Returns the copies of this store that have the page `id`, or its version `version`:
    /// scheduled backups, and the copies and former stores beside the store. `name` is the page's
    /// source and slug: a store that was another one before it joined a shared brain has other ids.
    /// A copy that cannot be read is returned, too.
    #[must_use]
    pub fn copies_with(
        &self,
        id: u64,
        (source, slug): (&SourceId, &Slug),
        version: Option<u32>,
    ) -> Vec<PathBuf> {
        let wanted = Wanted { id, source, slug, version };
        let store = self.path();
        let scheduled = self.shared.report.backups.get().map(PathBuf::as_path);
        let dirs: BTreeSet<&Path> = scheduled.into_iter().chain(store.parent()).collect();
        let paths = dirs
            .into_iter()
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flat_map(|entries| entries.flatten().map(|entry| entry.path()));
        let mut found: Vec<PathBuf> = paths
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?;
                if name.starts_with(KEPT_PAGES) && source.as_str() == SourceId::DEFAULT {
                    let file = path.join(file_path(slug));
                    return file.exists().then_some(file);
                }
                let is_copy = path != store && is_copy_name(name);
                let has_page =
                    || with_damage_report(&path, || self.has_row(&path, &wanted)).unwrap_or(true);
                (is_copy && has_page()).then_some(path)
            })
            .collect();
        found.sort();
        found
    }

    /// Whether the copy at `path` has the page, or the given version of it.
    fn has_row(&self, path: &Path, wanted: &Wanted<'_>) -> Result<bool, StoreError> {
        let unreadable = |e: redb::DatabaseError| StoreError::damaged(e.to_string());
        let db = ReadOnlyDatabase::open(path).map_err(unreadable)?;
        let txn = db.begin_read()?;
        let schema = meta::check_schema(&txn, path)?;
        let Wanted { id, source, slug, version } = *wanted;
        if meta::number(&txn, t::META_STORE_ID)?.is_some_and(|id| id != self.id()) {
            // A backup of another brain is none of this one; a former store of this home may be.
            let is_former = path.file_name().is_some_and(|name| !is_backup_name(name));
            let name = (source.as_str(), slug.as_str());
            return Ok(is_former && txn.open_table(t::PAGES)?.get(name)?.is_some());
        }
        match version {
            Some(version) => has_version(&txn, schema, id, version),
            None => Ok(txn.open_table(t::CONTENTS)?.get(id)?.is_some()),
        }
    }
}

/// Whether a copy with this schema has a version of a page, as a former or as the current one.
fn has_version(
    txn: &ReadTransaction,
    schema: u64,
    id: u64,
    version: u32,
) -> Result<bool, StoreError> {
    if txn.open_table(t::VERSIONS)?.get((id, version))?.is_some() {
        return Ok(true);
    }
    let Some(name) = txn.open_table(t::IDS)?.get(id)? else { return Ok(false) };
    let Some(row) = txn.open_table(t::PAGES)?.get(name.value())? else { return Ok(false) };
    Ok(former_records::page_of(schema, row.value())?.version == version)
}

fn is_backup_name(name: &std::ffi::OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "redb")
}

/// Whether a file can be a copy of a store: `….redb`; `brain.redb.v84` of a migration;
/// `brain.redb.before-sharing-1` and `brain.redb.before-joining-1` of a shared brain;
/// `brain.redb.torn-…` of a restore.
fn is_copy_name(name: &str) -> bool {
    let Some((_, kind)) = name.rsplit_once(".redb") else { return false };
    let is_schema = || kind.strip_prefix(".v").is_some_and(|n| n.parse::<u64>().is_ok());
    let is_former = || {
        let former = [".before-sharing-", ".before-joining-", ".torn-"];
        former.iter().any(|prefix| kind.starts_with(prefix))
    };
    kind.is_empty() || is_schema() || is_former()
}
