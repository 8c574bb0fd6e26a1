//! Reports damage to a page, with the newest backup that has an intact copy.
//!
//! redb verifies its checksums only when it repairs a file. So each value has its own checksum, and
//! a page's text is compared with the content hash whenever it is read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use brain_protocol::{Fault, FaultCode};
use redb::{ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::error::with_damage_report;
use super::record::{Content, PageRecord, Provenance, VersionRecord, from_bytes};
use super::{StoreError, migrate, tables as t};
use brain_base::clock::rfc3339;
use brain_page as page;

/// Maximum number of newest backups to search.
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
    /// For the store at `path`.
    pub(super) fn new(path: &Path, store_id: u64) -> Self {
        Self { path: path.to_owned(), store_id, backups: OnceLock::new() }
    }

    /// Returns the error for a damaged page. `lookups` counts searches for a backup. Callers who
    /// must not see local paths get none.
    pub(super) fn page(
        &self,
        key: PageKey<'_>,
        what: &str,
        lookups: &AtomicU32,
        tells_places: bool,
    ) -> StoreError {
        let PageKey { source, slug, version, .. } = key;
        let of_source = match source {
            brain_protocol::SourceId::DEFAULT => String::new(),
            other => format!(" of source \"{other}\""),
        };
        let of_version = version.map_or_else(String::new, |number| format!("version {number} of "));
        let what = what.strip_prefix(&format!("{}: ", self.path.display())).unwrap_or(what);
        let damaged =
            format!("{of_version}page \"{slug}\"{of_source} is damaged in the store: {what}");
        let fault = |message: String| Fault::new(FaultCode::StoreDamaged, message);
        let named = match source {
            brain_protocol::SourceId::DEFAULT => slug.to_owned(),
            other => format!("{slug} --source {other}"),
        };
        let shown =
            version.map_or_else(|| named.clone(), |number| format!("{named} --version {number}"));
        let way_out = match (version, key.is_text) {
            (Some(_), _) => format!(
                "the page itself, and each version that is not damaged, can still be read: `brain get {named}`, \
                 `brain get {named} --version N`"
            ),
            (None, true) => {
                format!(
                    "`brain put {named} --file FILE` stores the page anew from its file, if that is whole"
                )
            }
            (None, false) => {
                "the page's file may still be whole, and `brain export` writes all other pages"
                    .into()
            }
        };
        if !tells_places || lookups.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
            return fault(damaged).hint(way_out).into();
        }
        match self.newest_whole(key) {
            Some((backup, at)) => fault(format!(
                "{damaged}; the newest backup that has it whole is {}, of {}",
                backup.display(),
                rfc3339(at)
            ))
            .hint(format!(
                "{way_out}; from the backup: `BRAIN_HOME=DIR brain backup restore {}` makes a brain of its own in DIR, \
                 and `BRAIN_HOME=DIR brain get {shown}` shows it",
                backup.display()
            ))
            .into(),
            None => fault(format!("{damaged}; no backup by schedule has it whole"))
                .hint(format!("{way_out}; or restore a backup that you made: `brain backup restore FILE`"))
                .into(),
        }
    }

    /// Returns the newest backup of this store with an intact copy of the page, and its time.
    fn newest_whole(&self, key: PageKey<'_>) -> Option<(PathBuf, i64)> {
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
                let look = with_damage_report(&path, || self.has_whole(&path, key));
                Some((look.ok().flatten()?, path))
            })
            .collect();
        found.sort_unstable();
        found.pop().map(|(at, path)| (path, at))
    }

    /// Returns the time of the backup at `path`, if it is of this store and has an intact copy of
    /// the page.
    fn has_whole(&self, path: &Path, key: PageKey<'_>) -> Result<Option<i64>, StoreError> {
        let unreadable = |e: redb::DatabaseError| StoreError::damaged(e.to_string());
        let db = ReadOnlyDatabase::open(path).map_err(unreadable)?;
        let txn = db.begin_read()?;
        let schema = migrate::check(&txn, path)?;
        let number = |key| migrate::meta(&txn, key);
        let (Some(id), Some(at)) = (number(t::META_STORE_ID)?, number(t::META_MADE_AT)?) else {
            return Ok(None);
        };
        let is_whole = id == self.store_id && is_whole(&txn, schema, key)?;
        Ok(is_whole.then_some(at).and_then(|at| i64::try_from(at).ok()))
    }
}

fn is_whole(txn: &ReadTransaction, schema: u64, key: PageKey<'_>) -> Result<bool, StoreError> {
    let Some(row) = txn.open_table(t::PAGES)?.get((key.source, key.slug))? else {
        return Ok(false);
    };
    let record = migrate::page_of(schema, row.value())?;
    if let Some(number) = key.version.filter(|number| *number != record.version) {
        let Some(row) = txn.open_table(t::VERSIONS)?.get((record.id, number))? else {
            return Ok(false);
        };
        let kept = migrate::version_of(schema, row.value())?;
        return Ok(check_version(&kept, record.id, number).is_ok());
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

/// Checks that this is version `number` of the page `id`, with a matching text; otherwise returns
/// what is wrong.
pub(super) fn check_version(
    kept: &VersionRecord,
    id: u64,
    number: u32,
) -> Result<(), &'static str> {
    if (kept.record.id, kept.record.version) != (id, number) {
        return Err("it is another one");
    }
    // Hashes of versions from before schema 81 were not kept up to date.
    match kept.record.provenance == Provenance::default() {
        true => Ok(()),
        false => check_text(&kept.record, &kept.content),
    }
}
