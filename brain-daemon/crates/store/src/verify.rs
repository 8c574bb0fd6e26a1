//! Verification: reads a whole store file without changing it.
//!
//! Checks the checksums, every row, the agreement of the tables, and every content hash.

mod attachments;
mod http;
mod labels;
mod pages;
mod review;
mod steps;

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use brain_protocol::SourceId;
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, TableDefinition, TableError, TableHandle,
};
use sha2::{Digest as _, Sha256};

use super::error::with_damage_report;
use super::overlay::FileOverlay;
use super::record::{DerivedRows, FileRecord, OutboxRow, Provenance, from_bytes};
use super::{StoreError, former_records, meta, tables as t};
use brain_page as page;

use labels::LabelRows;
use pages::{PageTables, check_key};

/// Receives progress as rows done and rows in total; returns whether to continue. Each row counts
/// twice: when it is copied, and when it is read back.
pub(super) type RowProgress<'a> = &'a dyn Fn(u64, u64) -> bool;

/// First bytes of a redb file.
pub(super) const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";
/// Cache size for reading, in bytes.
pub(super) const CACHE_BYTES: usize = 8_000_000;

/// Result of a successful verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// Length of the store file in bytes.
    pub bytes: u64,
    /// Schema number.
    pub schema: u64,
    /// Active pages.
    pub pages: u64,
    /// Soft-deleted pages.
    pub deleted: u64,
    /// Former versions.
    pub versions: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Time of the backup in Unix milliseconds; `None` for a store that is no backup.
    pub made_at: Option<i64>,
    /// Sources with a directory outside the home: id and directory.
    pub directories: Vec<(String, String)>,
    /// Files of attachments, whose hashes were compared.
    pub attachments: u64,
    /// Files of attachments that a backup lacks, because they were missing when it was made.
    pub missing_attachments: u64,
}

/// Verifies the store file at `path`, of this schema or an older one.
///
/// # Errors
/// [`StoreError::Damaged`] with a description of the damage, [`StoreError::Newer`],
/// [`StoreError::Locked`] when a daemon uses the file, [`StoreError::Cancelled`] when `progress`
/// returns `false`; errors of the disk.
pub fn verify(path: &Path, progress: RowProgress<'_>) -> Result<VerifyReport, StoreError> {
    verify_against(path, progress, None)
}

/// As [`verify`]; if `expected_digest` is given, the rows must also have this digest.
pub(super) fn verify_against(
    path: &Path,
    progress: RowProgress<'_>,
    expected_digest: Option<[u8; 32]>,
) -> Result<VerifyReport, StoreError> {
    let name = path.display().to_string();
    let file = open(path)?;
    let bytes = file.metadata().map_err(|e| StoreError::from_io(&e, &name))?.len();
    let check = || -> Result<VerifyReport, StoreError> {
        let overlay = FileOverlay::new(file).map_err(|e| StoreError::from_io(&e, &name))?;
        let mut db = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(overlay)
            .map_err(|e| from_redb(e, &name))?;
        if !db.check_integrity().map_err(|e| from_redb(e, &name))? {
            return Err(StoreError::damaged("it does not match its checksums"));
        }
        let txn = db.begin_read()?;
        let schema = meta::check_schema(&txn, path)?;
        let verifier = Verifier { txn: &txn, schema, path, progress };
        let report = verifier.verify_all(bytes)?;
        match expected_digest {
            Some(expected) if verifier.digest(report.rows)? != expected => {
                Err(StoreError::UnequalCopy(name.clone()))
            }
            _ => Ok(report),
        }
    };
    with_damage_report(path, check)
}

/// Returns the id of the store at `path` without verifying it.
///
/// # Errors
/// [`StoreError::Damaged`] if the file is not a store, [`StoreError::Locked`] if a daemon uses it;
/// errors of the disk.
pub fn store_id(path: &Path) -> Result<u64, StoreError> {
    let name = path.display().to_string();
    drop(open(path)?);
    with_damage_report(path, || {
        let db = redb::ReadOnlyDatabase::open(path).map_err(|e| from_redb(e, &name))?;
        Ok(meta::number(&db.begin_read()?, t::META_STORE_ID)?.unwrap_or_default())
    })
}

/// Opens the file if it can be a redb file that no process writes.
pub(super) fn open(path: &Path) -> Result<File, StoreError> {
    let name = path.display().to_string();
    let io = |e: std::io::Error| StoreError::from_read(&e, &name);
    // Checked before opening: opening a pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(StoreError::Damaged(format!("{name} is not a file")));
    }
    let mut file = File::open(path).map_err(io)?;
    if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock_shared() {
        return Err(StoreError::Locked(name));
    }
    let mut start = Vec::with_capacity(MAGIC.len());
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut start).map_err(io)?;
    match start.as_slice() {
        start if start == MAGIC => Ok(file),
        [] => Err(StoreError::Damaged(format!("{name} is empty"))),
        _ => Err(StoreError::Damaged(format!("{name} is not a brain store"))),
    }
}

fn from_redb(error: redb::DatabaseError, name: &str) -> StoreError {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => StoreError::Locked(name.to_owned()),
        redb::DatabaseError::Storage(redb::StorageError::Io(e)) => StoreError::from_io(&e, name),
        e => StoreError::Damaged(format!("{name}: {e}")),
    }
}

/// Digest of rows in table order. Excludes [`t::META`], which differs in a backup.
#[derive(Default)]
pub(super) struct RowDigest(Sha256);

impl RowDigest {
    pub(super) fn row<'k, 'v, K: redb::Key + 'static, V: redb::Value + 'static>(
        &mut self,
        table: &TableDefinition<'static, K, V>,
        key: &K::SelfType<'k>,
        value: &V::SelfType<'v>,
    ) {
        if table.name() == t::META.name() {
            return;
        }
        for part in
            [table.name().as_bytes(), K::as_bytes(key).as_ref(), V::as_bytes(value).as_ref()]
        {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    pub(super) fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Checks that `path` names a markdown file below a source's directory. The error is the rest of a
/// sentence that begins with the file.
fn check_path(path: &str) -> Result<(), &'static str> {
    let mut parts = Path::new(path).components();
    if path.contains('\0') || !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err("leads out of its source");
    }
    // Tools run what is in some of these, such as `.git`. brain reads and writes no file there.
    if path.rsplit_once('/').is_some_and(|(dirs, _)| dirs.split('/').any(|it| it.starts_with('.')))
    {
        return Err("is in a hidden directory");
    }
    if !page::is_markdown(Path::new(path)) {
        return Err("is not a markdown file");
    }
    Ok(())
}

/// Returns whether `path` is valid as the directory of a source. Does not read the disk.
fn is_valid_directory(path: &str) -> bool {
    let path = Path::new(path);
    path.is_absolute()
        && !path.as_os_str().as_encoded_bytes().contains(&0)
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

fn wrong_file(source: &str, path: &str, problem: &str) -> StoreError {
    StoreError::damaged(format!("file {path:?} of source \"{source}\" {problem}"))
}

/// State of one verification.
struct Verifier<'a> {
    txn: &'a ReadTransaction,
    schema: u64,
    path: &'a Path,
    progress: RowProgress<'a>,
}

impl Verifier<'_> {
    /// Verifies the whole store; `bytes` is the length of its file.
    fn verify_all(&self, bytes: u64) -> Result<VerifyReport, StoreError> {
        let rows = self.count_rows()?;
        let mut report = VerifyReport {
            bytes,
            schema: self.schema,
            pages: 0,
            deleted: 0,
            versions: 0,
            rows,
            made_at: meta::number(self.txn, t::META_MADE_AT)?.and_then(|at| i64::try_from(at).ok()),
            directories: Vec::new(),
            attachments: 0,
            missing_attachments: 0,
        };
        let mut done = 0;
        let mut step = || {
            let should_continue = done % 256 != 0 || (self.progress)(done, rows);
            done += 1;
            match should_continue {
                true => Ok(()),
                false => Err(StoreError::Cancelled(self.path.to_owned())),
            }
        };
        step()?;
        self.pages(&mut report, &mut step)?;
        self.versions(&mut report, &mut step)?;
        self.sources(&mut report, &mut step)?;
        self.derived(&mut step)?;
        self.outbox(&mut step)?;
        if self.schema >= 82 {
            self.files(&mut step)?;
        }
        if self.schema >= 83 {
            self.http(&mut step)?;
        }
        if self.schema >= 88 {
            self.attachments(&mut report, &mut step)?;
        }
        if self.schema >= 91 {
            self.steps(&mut step)?;
            self.review(&mut step)?;
        }
        (self.progress)(rows, rows);
        Ok(report)
    }

    /// Returns the number of rows in all tables of this schema.
    fn count_rows(&self) -> Result<u64, StoreError> {
        let mut rows = 0;
        macro_rules! count_rows {
            ($($table:ident),*) => {$(
                if let Some(table) = self.table(t::$table)? {
                    rows += table.len()?;
                }
            )*};
        }
        t::every_table!(count_rows);
        Ok(rows)
    }

    /// Returns the digest of all rows; `rows` is their number, for the progress.
    fn digest(&self, rows: u64) -> Result<[u8; 32], StoreError> {
        let mut digest = RowDigest::default();
        macro_rules! add_rows {
            ($($table:ident),*) => {$(
                for (n, row) in self.required_table(t::$table)?.iter()?.enumerate() {
                    if n % 256 == 0 && !(self.progress)(rows, rows) {
                        return Err(StoreError::Cancelled(self.path.to_owned()));
                    }
                    let (key, value) = row?;
                    digest.row(&t::$table, &key.value(), &value.value());
                }
            )*};
        }
        t::every_table!(add_rows);
        Ok(digest.end())
    }

    /// Checks every page and its text, and that the tables agree.
    fn pages(
        &self,
        report: &mut VerifyReport,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let tables = PageTables::open(self)?;
        let mut labels = LabelRows::default();
        for row in self.required_table(t::PAGES)?.iter()? {
            step()?;
            let (key, value) = row?;
            let (source, slug) = key.value();
            check_key(source, slug)?;
            let record = former_records::page_of(self.schema, value.value())?;
            tables.check_page(source, slug, &record)?;
            match record.deleted_at {
                None => {
                    report.pages += 1;
                    labels.expect(self.schema, source, &record);
                }
                Some(_) => report.deleted += 1,
            }
        }
        tables
            .check_lengths(report, meta::number(self.txn, t::META_ACTIVE)?.unwrap_or_default())?;
        if self.schema >= 85 {
            self.labels(&labels, step)?;
        }
        Ok(())
    }

    /// Checks that the directories of the sources are valid, and reports them.
    fn sources(
        &self,
        report: &mut VerifyReport,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.required_table(t::SOURCES)?.iter()? {
            step()?;
            let (key, value) = row?;
            let id = SourceId::parse(key.value())
                .map_err(|e| StoreError::damaged(format!("key of a source: {e}")))?;
            let Some(path) = former_records::source_of(self.schema, value.value())?.path else {
                continue;
            };
            if id.as_str() == SourceId::DEFAULT || !is_valid_directory(&path) {
                return Err(StoreError::damaged(format!(
                    "source \"{id}\": {path:?} is not a valid directory"
                )));
            }
            report.directories.push((id.to_string(), path));
        }
        Ok(())
    }

    /// Checks that each row with what was derived from a page can be read.
    fn derived(&self, step: &mut dyn FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
        for row in self.required_table(t::DERIVED)?.iter()? {
            step()?;
            from_bytes::<DerivedRows>(row?.1.value())?;
        }
        Ok(())
    }

    /// Checks that each file that sync read is below its source's directory.
    fn files(&self, step: &mut dyn FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
        for row in self.required_table(t::FILES)?.iter()? {
            step()?;
            let (key, value) = row?;
            from_bytes::<FileRecord>(value.value())?;
            let (source, path) = key.value();
            check_path(path).map_err(|problem| wrong_file(source, path, problem))?;
        }
        Ok(())
    }

    /// Checks that each outbox row names the file of its page.
    fn outbox(&self, step: &mut dyn FnMut() -> Result<(), StoreError>) -> Result<(), StoreError> {
        let (ids, pages) = (self.required_table(t::IDS)?, self.required_table(t::PAGES)?);
        for row in self.required_table(t::OUTBOX)?.iter()? {
            step()?;
            let (key, value) = row?;
            let row: OutboxRow = from_bytes(value.value())?;
            let wrong = |problem: &str| wrong_file(&row.source, &row.path, problem);
            check_path(&row.path).map_err(wrong)?;
            let Some(key) = ids.get(key.value())? else { continue };
            let page = match pages.get(key.value())? {
                Some(page) => former_records::page_of(self.schema, page.value())?,
                None => return Err(wrong("belongs to no page")),
            };
            if (key.value().0, page.source_path) != (row.source.as_str(), row.path.clone()) {
                return Err(wrong("is not the file of its page"));
            }
        }
        Ok(())
    }

    fn versions(
        &self,
        report: &mut VerifyReport,
        step: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let ids = self.required_table(t::IDS)?;
        for row in self.required_table(t::VERSIONS)?.iter()? {
            step()?;
            let (key, value) = row?;
            let (id, number) = key.value();
            let wrong = |problem: &str| {
                StoreError::damaged(format!("version {number} of page {id}: {problem}"))
            };
            let version = former_records::version_of(self.schema, value.value())?;
            if (version.record.id, version.record.version) != (id, number) {
                return Err(wrong("its id or number does not match"));
            }
            if ids.get(id)?.is_none() {
                return Err(wrong("there is no such page"));
            }
            let path = version.record.source_path.as_str();
            check_path(path).map_err(|problem| wrong(&format!("its file {path:?} {problem}")))?;
            // Hashes of versions from before schema 81 were not kept up to date.
            let has_valid_hash = version.record.provenance != Provenance::default();
            if has_valid_hash
                && page::content_digest(&version.content.body) != version.record.content_hash
            {
                return Err(wrong("its text does not match its content hash"));
            }
            report.versions += 1;
        }
        Ok(())
    }

    /// Returns a table, if this schema has it.
    fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
        match self.txn.open_table(definition) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(TableError::Storage(e)) => Err(e.into()),
            Err(e) => Err(StoreError::damaged(e.to_string())),
        }
    }

    fn required_table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, StoreError> {
        match self.table(definition)? {
            Some(table) => Ok(table),
            None => Err(StoreError::damaged(format!("{definition} is missing"))),
        }
    }
}
