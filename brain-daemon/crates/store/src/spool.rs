//! Spool: a file of acknowledged ingest jobs that the store's own file does not have yet.
//!
//! Committing a few small jobs to redb takes several times as long as appending them to a file. So
//! while only ingest jobs arrive, the writer keeps one transaction open. It appends each batch to
//! the spool, flushes the spool, and answers. After the commit the spool is overwritten from its
//! beginning. A start imports only jobs from the store's next job number on.
//!
//! A record is a header, the jobs, and padding to the next [`BLOCK`], so that no later record
//! rewrites flushed blocks. Numbers are little-endian. Each record continues the job numbers of the
//! previous one. A record with a smaller number is a leftover and is ignored.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brain_base::durable::flush_dir_of;
use redb::ReadTransaction;

use super::record::{JobRecord, from_bytes};
use super::{StoreError, meta, tables as t};

/// Records begin at multiples of this, in bytes.
const BLOCK: usize = 4096;

/// Step in which the file grows, in bytes. A flush that changes the file's length takes several
/// times as long.
const GROWTH_BYTES: u64 = 1 << 20;

/// Capacity that the buffer keeps between records, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// First bytes of a record; the last byte is the format's number. Jobs have the format of the
/// `jobs` table. If that format changes, this file must still read the old format, or the number
/// must change.
const MAGIC: [u8; 8] = *b"brainsp1";
/// Length of a header in bytes: [`MAGIC`], store id, number of the first job, length of the jobs (8
/// each), 4 zeros, and the checksum (4).
const HEAD: usize = 40;
/// Offset of the checksum, which covers the rest of the header and the jobs.
const SUM: usize = HEAD - 4;

/// A spool file open for writing.
pub(super) struct Spool {
    file: File,
    path: PathBuf,
    store_id: u64,
    /// Offset of the next record.
    end: u64,
    /// Length of the file.
    length: u64,
    buffer: Vec<u8>,
}

/// Returns the path of the spool of the store at `path`.
#[must_use]
pub fn spool_path(path: &Path) -> PathBuf {
    with_suffix(path, ".spool")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

impl Spool {
    /// Creates a spool for the store at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] when there is one; other errors of the file system.
    pub(super) fn create(path: &Path, store_id: u64) -> io::Result<Self> {
        let path = spool_path(path);
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        flush_dir_of(&path)?;
        Ok(Self { file, path, store_id, end: 0, length: 0, buffer: Vec::new() })
    }

    /// Opens the spool of the store at `path` after its last record, or creates it. Used while the
    /// log of a shared brain is away.
    pub(super) fn open_at_end(path: &Path, store_id: u64) -> io::Result<Self> {
        match Self::create(path, store_id) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            other => return other,
        }
        let path = spool_path(path);
        let bytes = fs::read(&path)?;
        let file = File::options().write(true).open(&path)?;
        let end = records(&bytes, store_id).map(|record| record.length as u64).sum();
        Ok(Self { file, path, store_id, end, length: bytes.len() as u64, buffer: Vec::new() })
    }

    /// Whether the file is still at the path where a start reads it.
    pub(super) fn is_at_path(&self) -> bool {
        let identity =
            |found: io::Result<fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let here = identity(self.file.metadata());
        here.is_some() && here == identity(fs::metadata(&self.path))
    }

    /// Returns the length of the records since the last restart, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.end
    }

    /// Appends jobs and flushes them. `first` is the number of the first job.
    ///
    /// # Errors
    /// When the disk fails; the spool does not contain the jobs then.
    pub(super) fn append(&mut self, first: u64, items: &[Vec<u8>]) -> io::Result<()> {
        let written = self.write(first, items);
        if written.is_err() {
            // Part of the record may be written, or all of it without the flush.
            self.length = self.end;
            let _ = self.file.set_len(self.end);
        }
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES);
        written
    }

    fn write(&mut self, first: u64, items: &[Vec<u8>]) -> io::Result<()> {
        let bytes = &mut self.buffer;
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.store_id.to_le_bytes());
        bytes.extend_from_slice(&first.to_le_bytes());
        let payload: u64 = items.iter().map(|item| 8 + item.len() as u64).sum();
        bytes.extend_from_slice(&payload.to_le_bytes());
        bytes.resize(HEAD, 0);
        for item in items {
            bytes.extend_from_slice(&(item.len() as u64).to_le_bytes());
            bytes.extend_from_slice(item);
        }
        let sum = checksum(bytes);
        bytes[SUM..HEAD].copy_from_slice(&sum.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        #[cfg(test)]
        if is_full_disk_simulated(&self.path) {
            self.file.write_all_at(&bytes[..bytes.len() / 2], self.end)?;
            return Err(ErrorKind::StorageFull.into());
        }
        self.file.write_all_at(bytes, self.end)?;
        let end = self.end + bytes.len() as u64;
        if end > self.length {
            let grown = end.next_multiple_of(GROWTH_BYTES);
            self.file.write_all_at(&vec![0; usize::try_from(grown - end).unwrap_or(0)], end)?;
            self.length = grown;
        }
        self.file.sync_data()?;
        self.end = end;
        Ok(())
    }

    /// Restarts at the beginning: the store has all jobs.
    pub(super) fn restart(&mut self) {
        self.end = 0;
    }

    /// Removes the file: the store has all jobs. A file that replaced it stays.
    pub(super) fn remove(self) {
        if self.is_at_path() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn checksum(record: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&record[..SUM]);
    sum.update(&record[HEAD..]);
    sum.finalize()
}

/// Jobs of a spool that the store does not have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnstoredJobs {
    /// The store's next job number, which is the number of the first job.
    pub(super) first: u64,
    /// The jobs, in the order of their acceptance.
    pub(super) jobs: Vec<JobRecord>,
    /// Whether the spool also has jobs that this store cannot import: of another store, or of
    /// another state of this store.
    pub(super) has_foreign_jobs: bool,
}

/// Reads the jobs of the spool that the store at `path` does not have.
///
/// # Errors
/// When the store or the spool cannot be read, or a job is damaged.
pub(super) fn unstored_jobs(
    path: &Path,
    store: &ReadTransaction,
) -> Result<UnstoredJobs, StoreError> {
    let number = |key| meta::number(store, key);
    let first = number(t::META_NEXT_JOB)?.unwrap_or(1);
    let file_path = spool_path(path);
    let io = |e: &io::Error| StoreError::from_read(e, &file_path.display().to_string());
    let bytes = match fs::metadata(&file_path) {
        Ok(found) if found.is_file() => fs::read(&file_path).map_err(|e| io(&e))?,
        // Not a file that brain wrote.
        Ok(_) => Vec::new(),
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(io(&e)),
    };
    let jobs = store.open_table(t::JOBS)?;
    let is_stored = |id, item: &JobRecord| {
        // A job that is missing from the table was processed and removed.
        let Some(row) = jobs.get(id)? else { return Ok(true) };
        let row: JobRecord = from_bytes(row.value())?;
        Ok((row.client, row.content_hash, row.received_at)
            == (item.client.clone(), item.content_hash, item.received_at))
    };
    let store_id = number(t::META_STORE_ID)?.unwrap_or_default();
    let read = |item: &[u8]| {
        from_bytes(item).map_err(|error| StoreError::DamagedSpool {
            path: file_path.display().to_string(),
            source: Box::new(error),
        })
    };
    parse_spool(&bytes, store_id, first, read, is_stored)
}

/// Parses a spool and returns the jobs from number `first` on. `is_stored` tells whether the store
/// has, or had, a job under an earlier number.
///
/// # Errors
/// Errors of `read` and `is_stored`.
pub(super) fn parse_spool(
    bytes: &[u8],
    store_id: u64,
    first: u64,
    read: impl Fn(&[u8]) -> Result<JobRecord, StoreError>,
    is_stored: impl Fn(u64, &JobRecord) -> Result<bool, StoreError>,
) -> Result<UnstoredJobs, StoreError> {
    let mut unstored = UnstoredJobs { first, jobs: Vec::new(), has_foreign_jobs: false };
    // Another file, or a format of a newer program.
    let head = &bytes[..bytes.len().min(MAGIC.len())];
    unstored.has_foreign_jobs = !MAGIC.starts_with(head) && head.iter().any(|byte| *byte != 0);
    let (mut rest, mut number) = (bytes, None);
    while let Some(record) = SpoolRecord::first(rest) {
        let is_next = number.is_none_or(|number| record.first == number);
        if record.store_id != store_id || !is_next {
            unstored.has_foreign_jobs |= number.is_none_or(|number| record.first > number);
            break;
        }
        let mut id = record.first;
        for item in record.items() {
            let (item, next) = (read(item)?, first + unstored.jobs.len() as u64);
            if id > next || id < first && !is_stored(id, &item)? {
                unstored.has_foreign_jobs = true;
            } else if id == next {
                unstored.jobs.push(item);
            }
            id += 1;
        }
        number = Some(id);
        rest = rest.get(record.length..).unwrap_or_default();
    }
    Ok(unstored)
}

/// Returns the consecutive records of a spool that belong to this store.
fn records(bytes: &[u8], store_id: u64) -> impl Iterator<Item = SpoolRecord<'_>> {
    let (mut rest, mut next) = (bytes, None);
    std::iter::from_fn(move || {
        let record = SpoolRecord::first(rest)?;
        if record.store_id != store_id || next.is_some_and(|next| record.first != next) {
            return None;
        }
        next = Some(record.first + record.items().count() as u64);
        rest = rest.get(record.length..).unwrap_or_default();
        Some(record)
    })
}

/// Reads all jobs that the store spooled while the log of its shared brain was away, with their
/// numbers, from `next` on.
///
/// # Errors
/// When the spool cannot be read, or a job is damaged.
pub(super) fn all_jobs_from(
    path: &Path,
    store_id: u64,
    next: u64,
) -> Result<Vec<(u64, JobRecord)>, StoreError> {
    jobs_from(path, store_id, next, (usize::MAX, usize::MAX))
}

/// Reads the jobs in the spool beside `path`, of the store whose record is the first, from the
/// number `first` on. There need be no store and no spool.
///
/// # Errors
/// When the spool cannot be read, or a job is damaged.
pub fn spooled_jobs(path: &Path, first: u64) -> Result<Vec<JobRecord>, StoreError> {
    let file_path = spool_path(path);
    let store_id = match fs::read(&file_path) {
        Ok(bytes) => SpoolRecord::first(&bytes).map(|record| record.store_id),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(StoreError::from_read(&e, &file_path.display().to_string())),
    };
    let Some(store_id) = store_id else { return Ok(Vec::new()) };
    let jobs = all_jobs_from(path, store_id, first)?;
    Ok(jobs.into_iter().map(|(_, job)| job).collect())
}

/// As [`all_jobs_from`], but stops after a number of jobs, and before they exceed a number of
/// bytes. Reads at least one.
///
/// # Errors
/// As [`all_jobs_from`].
pub(super) fn jobs_from(
    path: &Path,
    store_id: u64,
    next: u64,
    (max_jobs, max_bytes): (usize, usize),
) -> Result<Vec<(u64, JobRecord)>, StoreError> {
    let file_path = spool_path(path);
    let shown_path = file_path.display().to_string();
    let bytes = match fs::read(&file_path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::from_read(&e, &shown_path)),
    };
    let (mut jobs, mut size) = (Vec::new(), 0);
    for record in records(&bytes, store_id) {
        for (number, item) in (record.first..).zip(record.items()) {
            if number < next {
                continue;
            }
            size += item.len();
            if jobs.len() == max_jobs || size > max_bytes && !jobs.is_empty() {
                return Ok(jobs);
            }
            let job = from_bytes(item).map_err(|error| StoreError::DamagedSpool {
                path: shown_path.clone(),
                source: Box::new(error),
            })?;
            jobs.push((number, job));
        }
    }
    Ok(jobs)
}

/// Whether the spool's path has a readable file.
pub(super) fn is_readable(path: &Path) -> bool {
    let file_path = spool_path(path);
    file_path.is_file() && File::open(file_path).is_ok()
}

/// Removes the spool of the store at `path`, if there is one.
pub(super) fn remove(path: &Path) {
    let file_path = spool_path(path);
    if file_path.is_file() {
        let _ = fs::remove_file(file_path);
    }
}

/// Suffix of set-aside spools, before their number.
const ASIDE: &str = ".spool-";

/// Renames the spool, because another store may need its jobs. Returns the new path.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let mut names = (1..).map(|n: u32| with_suffix(path, &format!("{ASIDE}{n}")));
    let aside = names.find(|name| !name.exists()).ok_or(ErrorKind::AlreadyExists)?;
    fs::rename(spool_path(path), &aside)?;
    Ok(aside)
}

/// Lists the set-aside spools, sorted by name.
pub(super) fn list_set_aside(path: &Path) -> io::Result<Vec<PathBuf>> {
    let prefix = with_suffix(path, ASIDE);
    let mut found = Vec::new();
    for entry in fs::read_dir(path.parent().unwrap_or(path))? {
        let file_path = entry?.path();
        let number = file_path.as_os_str().as_bytes().strip_prefix(prefix.as_os_str().as_bytes());
        let is_number = |number: &[u8]| !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        if number.is_some_and(is_number) && file_path.is_file() {
            found.push(file_path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// A parsed record.
struct SpoolRecord<'b> {
    store_id: u64,
    /// The number of its first job.
    first: u64,
    payload: &'b [u8],
    /// Offset of the next record.
    length: usize,
}

impl<'b> SpoolRecord<'b> {
    /// Parses the record at the beginning of `bytes`, if it is complete.
    fn first(bytes: &'b [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD)?;
        let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| head[from + i]));
        if head[..8] != MAGIC {
            return None;
        }
        let end = usize::try_from(number(24)).ok()?.checked_add(HEAD)?;
        let record = bytes.get(..end)?;
        let stored = u32::from_le_bytes(std::array::from_fn(|i| head[SUM + i]));
        // The job numbers must not overflow.
        let first = number(16);
        first.checked_add(end as u64)?;
        (stored == checksum(record)).then(|| Self {
            store_id: number(8),
            first,
            payload: &record[HEAD..],
            length: end.next_multiple_of(BLOCK),
        })
    }

    fn items(&self) -> impl Iterator<Item = &'b [u8]> {
        let mut rest = self.payload;
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first_chunk::<8>()?;
            let (item, behind) =
                behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            rest = behind;
            Some(item)
        })
    }
}

/// Whether a test simulates a full disk with a file `brain.redb.spool.full`.
#[cfg(test)]
fn is_full_disk_simulated(spool: &Path) -> bool {
    with_suffix(spool, ".full").exists()
}
