//! Reports damage to a page, with the newest backup that has an intact copy.
//!
//! redb verifies its checksums only when it repairs a file. So each value has its own checksum, and
//! a page's text is compared with the content hash whenever it is read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use brain_protocol::SourceId;
use redb::{ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::error::with_damage_report;
use super::record::{Content, PageRecord, Provenance, VersionRecord, from_bytes};
use super::{Store, StoreError, migrate, tables as t};
use brain_base::clock::rfc3339;
use brain_page as page;

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
    /// The slug.
    pub(super) slug: &'a str,
    /// The version, for a former one.
    pub(super) version: Option<u32>,
    /// Whether the text is damaged, which a `put` repairs, rather than the record.
    pub(super) is_text: bool,
}

/// A damaged page, or former version of a page.
#[derive(Debug, Clone)]
pub struct DamagedPage {
    /// The source's id.
    pub(super) source_id: String,
    /// The slug.
    pub(super) slug: String,
    /// The version, for a former one.
    pub(super) version: Option<u32>,
    /// Whether the text is damaged, which a `put` repairs, rather than the record.
    pub(super) is_text: bool,
    /// What is wrong.
    pub(super) problem: String,
    /// The newest backup with an intact copy.
    pub(super) backup: Backup,
}

/// The result of a search for a backup with an intact copy of a page.
#[derive(Debug, Clone)]
pub(super) enum Backup {
    /// The caller must not see local paths, or too many pages are damaged.
    NotSearched,
    /// No scheduled backup has one.
    NotFound,
    /// This backup has one.
    Found {
        /// The backup.
        path: PathBuf,
        /// When it was made, in Unix milliseconds.
        made_at: i64,
    },
}

impl std::fmt::Display for DamagedPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(number) = self.version {
            write!(f, "version {number} of ")?;
        }
        write!(f, "page \"{}\"", self.slug)?;
        if self.source_id != SourceId::DEFAULT {
            write!(f, " of source \"{}\"", self.source_id)?;
        }
        write!(f, " is damaged in the store: {}", self.problem)?;
        match &self.backup {
            Backup::NotSearched => Ok(()),
            Backup::NotFound => f.write_str("; no scheduled backup has an intact copy"),
            Backup::Found { path, made_at } => {
                let (path, at) = (path.display(), rfc3339(*made_at));
                write!(f, "; the newest backup with an intact copy is {path}, of {at}")
            }
        }
    }
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
        let backup = match !may_see_paths || lookups.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS
        {
            true => Backup::NotSearched,
            false => self
                .newest_intact_backup(key)
                .map_or(Backup::NotFound, |(path, made_at)| Backup::Found { path, made_at }),
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
        let schema = migrate::check(&txn, path)?;
        let number = |key| migrate::meta(&txn, key);
        let (Some(id), Some(at)) = (number(t::META_STORE_ID)?, number(t::META_MADE_AT)?) else {
            return Ok(None);
        };
        let is_intact = id == self.store_id && is_intact(&txn, schema, key)?;
        Ok(is_intact.then_some(at).and_then(|at| i64::try_from(at).ok()))
    }
}

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
        let schema = migrate::check(&txn, path)?;
        if migrate::meta(&txn, t::META_STORE_ID)?.is_some_and(|id| id != self.id()) {
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
        Ok(migrate::page_of(schema, row.value())?.version == version)
    }
}

/// Whether a file can be a copy of a store: `….redb`, or `brain.redb.v84` of a migration.
fn is_copy_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".redb")
        || name.rsplit_once(".redb.v").is_some_and(|(_, n)| n.parse::<u64>().is_ok())
}

/// Whether the store of `txn`, with this schema, has an intact copy of the page or version.
fn is_intact(txn: &ReadTransaction, schema: u64, key: PageKey<'_>) -> Result<bool, StoreError> {
    let Some(row) = txn.open_table(t::PAGES)?.get((key.source, key.slug))? else {
        return Ok(false);
    };
    let record = migrate::page_of(schema, row.value())?;
    if let Some(number) = key.version.filter(|number| *number != record.version) {
        let Some(row) = txn.open_table(t::VERSIONS)?.get((record.id, number))? else {
            return Ok(false);
        };
        let former = migrate::version_of(schema, row.value())?;
        return Ok(check_version(&former, record.id, number).is_ok());
    }
    let Some(row) = txn.open_table(t::CONTENTS)?.get(record.id)? else { return Ok(false) };
    Ok(check_text(&record, &from_bytes(row.value())?).is_ok())
}

/// Checks that the text matches the record; otherwise returns what is wrong.
pub(super) fn check_text(record: &PageRecord, content: &Content) -> Result<(), &'static str> {
    match page::content_digest(&content.body) == record.content_hash {
        true => Ok(()),
        false => Err("its text does not match its content hash"),
    }
}

/// Checks that `former` is version `number` of the page `id`, with a matching text; otherwise
/// returns what is wrong.
pub(super) fn check_version(
    former: &VersionRecord,
    id: u64,
    number: u32,
) -> Result<(), &'static str> {
    if (former.record.id, former.record.version) != (id, number) {
        return Err("its id or number does not match");
    }
    // Hashes of versions from before schema 81 were not kept up to date.
    match former.record.provenance == Provenance::default() {
        true => Ok(()),
        false => check_text(&former.record, &former.content),
    }
}
