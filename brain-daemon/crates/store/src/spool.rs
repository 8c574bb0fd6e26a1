//! The spool: items that were accepted, on disk before the store's own file has them.
//!
//! A commit of redb writes its pages wherever there is room, which for a few small items takes a disk several times as long as
//! the items themselves. So while only items come in, the writer puts them into a transaction that stays open, appends each
//! batch to the spool, flushes that, and answers. When the transaction is committed the spool is written over from its
//! beginning. What it holds counts only where the store ends: items from the store's next job number on.
//!
//! A record is a head, the items, and padding to the next [`BLOCK`], so that what is on disk is never written again by the
//! record behind it. Numbers are little-endian. Each record goes on with the number after the last one of the record before;
//! a smaller one behind it is of former times, and means nothing.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};
use redb::ReadTransaction;

use super::record::{JobRecord, from_bytes};
use super::{StoreError, migrate, tables as t};

/// Records begin at multiples of this, in bytes.
const BLOCK: usize = 4096;

/// The file grows in steps of this, in bytes: a flush that has to note a new length takes several times as long.
const STEP: u64 = 1 << 20;

/// What the buffer keeps of its memory, in bytes.
const KEEP: usize = 256 << 10;

/// What a record begins with; the last byte is the format's number.
/// Items are in the format of the `jobs` table: whoever changes that reads the former one here too, or changes this number.
const MAGIC: [u8; 8] = *b"brainsp1";
const HEAD: usize = 40;
const SUM: usize = HEAD - 4;

/// A spool that is written.
pub(super) struct Spool {
    file: File,
    path: PathBuf,
    store_id: u64,
    /// Where the next record goes.
    end: u64,
    /// How long the file is.
    length: u64,
    buffer: Vec<u8>,
}

/// Where the spool of the store at `path` is.
pub(super) fn place(path: &Path) -> PathBuf {
    beside(path, ".spool")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

impl Spool {
    /// A new spool of the store at `path`.
    ///
    /// # Errors
    /// When the file cannot be made; [`ErrorKind::AlreadyExists`] when there is one.
    pub(super) fn create(path: &Path, store_id: u64) -> io::Result<Self> {
        let path = place(path);
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        if let Some(dir) = path.parent() {
            File::open(dir)?.sync_all()?;
        }
        Ok(Self { file, path, store_id, end: 0, length: 0, buffer: Vec::new() })
    }

    /// Whether it is still where a start looks for it.
    pub(super) fn is_there(&self) -> bool {
        let place =
            |found: io::Result<fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let here = place(self.file.metadata());
        here.is_some() && here == place(fs::metadata(&self.path))
    }

    /// How much was appended since the beginning, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.end
    }

    /// Appends items, the first of which has this number, and flushes them to the disk.
    ///
    /// # Errors
    /// When the disk refuses; they are not in it then.
    pub(super) fn append(&mut self, first: u64, items: &[Vec<u8>]) -> io::Result<()> {
        let written = self.write(first, items);
        if written.is_err() {
            // Part of it may be there, or all of it with only the flush refused.
            self.length = self.end;
            let _ = self.file.set_len(self.end);
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEEP);
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
        let sum = sum(bytes);
        bytes[SUM..HEAD].copy_from_slice(&sum.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        #[cfg(test)]
        if tests_fill_the_disk(&self.path) {
            self.file.write_all_at(&bytes[..bytes.len() / 2], self.end)?;
            return Err(ErrorKind::StorageFull.into());
        }
        self.file.write_all_at(bytes, self.end)?;
        let end = self.end + bytes.len() as u64;
        if end > self.length {
            let grown = end.next_multiple_of(STEP);
            self.file.write_all_at(&vec![0; usize::try_from(grown - end).unwrap_or(0)], end)?;
            self.length = grown;
        }
        self.file.sync_data()?;
        self.end = end;
        Ok(())
    }

    /// Goes back to the beginning: the store has everything.
    pub(super) fn restart(&mut self) {
        self.end = 0;
    }

    /// The store has everything, and nobody goes on. What somebody has put in its place stays.
    pub(super) fn remove(self) {
        if self.is_there() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn sum(record: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&record[..SUM]);
    sum.update(&record[HEAD..]);
    sum.finalize()
}

/// What a spool holds that its store does not have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOver {
    /// The store's next job number: the first item's.
    pub(super) first: u64,
    /// In the order in which they were accepted.
    pub(super) items: Vec<JobRecord>,
    /// Whether there is something besides that this store does not have and cannot take: another store's items, or this one's
    /// at another time.
    pub(super) others: bool,
}

/// Reads what the spool of the store at `path` holds that the store does not have.
///
/// # Errors
/// When either cannot be read, or an item is none.
pub(super) fn left_over(path: &Path, store: &ReadTransaction) -> Result<LeftOver, StoreError> {
    let number = |key| migrate::meta(store, key);
    let first = number(t::META_NEXT_JOB)?.unwrap_or(1);
    let place = place(path);
    let io = |e: &io::Error| StoreError::from_io(e, &place.display().to_string());
    let bytes = match fs::metadata(&place) {
        Ok(found) if found.is_file() => fs::read(&place).map_err(|e| io(&e))?,
        // Not ours.
        Ok(_) => Vec::new(),
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(io(&e)),
    };
    let jobs = store.open_table(t::JOBS)?;
    let is_there = |id, item: &JobRecord| {
        let Some(row) = jobs.get(id)? else { return Ok(true) }; // It was worked off and forgotten since.
        let row: JobRecord = from_bytes(row.value())?;
        Ok((row.client, row.content_hash, row.received_at)
            == (item.client.clone(), item.content_hash, item.received_at))
    };
    let store_id = number(t::META_STORE_ID)?.unwrap_or_default();
    let read = |item: &[u8]| {
        from_bytes(item).map_err(|error| {
            Fault::new(FaultCode::StoreDamaged, format!("{}: {error}", place.display()))
                .hint("move it away, and keep it: the store is sound without it, but for the items in it")
                .into()
        })
    };
    sort_out(&bytes, store_id, first, read, is_there)
}

/// What of a spool's bytes a store with this id lacks that goes on with the number `first`. `is_there` tells whether the item is
/// what the store has, or had, under a number before that.
///
/// # Errors
/// What `read` and `is_there` say.
pub(super) fn sort_out(
    bytes: &[u8],
    store_id: u64,
    first: u64,
    read: impl Fn(&[u8]) -> Result<JobRecord, StoreError>,
    is_there: impl Fn(u64, &JobRecord) -> Result<bool, StoreError>,
) -> Result<LeftOver, StoreError> {
    let mut left = LeftOver { first, items: Vec::new(), others: false };
    // A format that a newer program writes, or no spool at all.
    let head = &bytes[..bytes.len().min(MAGIC.len())];
    left.others = !MAGIC.starts_with(head) && head.iter().any(|byte| *byte != 0);
    let (mut rest, mut number) = (bytes, None);
    while let Some(record) = Record::first(rest) {
        let goes_on = number.is_none_or(|number| record.first == number);
        if record.store_id != store_id || !goes_on {
            left.others |= number.is_none_or(|number| record.first > number);
            break;
        }
        let mut id = record.first;
        for item in record.items() {
            let (item, next) = (read(item)?, first + left.items.len() as u64);
            if id > next || id < first && !is_there(id, &item)? {
                left.others = true;
            } else if id == next {
                left.items.push(item);
            }
            id += 1;
        }
        number = Some(id);
        rest = rest.get(record.length..).unwrap_or_default();
    }
    Ok(left)
}

/// Whether there is a file in the place of the spool of the store at `path` that can be looked at.
pub(super) fn is_readable(path: &Path) -> bool {
    let place = place(path);
    place.is_file() && File::open(place).is_ok()
}

/// Removes the spool of the store at `path`, of which nothing is left over.
pub(super) fn remove(path: &Path) {
    let place = place(path);
    if place.is_file() {
        let _ = fs::remove_file(place);
    }
}

/// What the names of spools that were put aside begin with, behind that of their store.
const ASIDE: &str = ".spool-";

/// Keeps what another store may still be asked for, out of the way; where it is then.
///
/// # Errors
/// When it cannot be renamed.
pub(super) fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let mut names = (1..).map(|n: u32| beside(path, &format!("{ASIDE}{n}")));
    let aside = names.find(|name| !name.exists()).ok_or(ErrorKind::AlreadyExists)?;
    fs::rename(place(path), &aside)?;
    Ok(aside)
}

/// The spools that were put aside and are still there, in the order of their names.
///
/// # Errors
/// When the directory cannot be read.
pub(super) fn set_aside(path: &Path) -> io::Result<Vec<PathBuf>> {
    let begins = beside(path, ASIDE);
    let mut found = Vec::new();
    for entry in fs::read_dir(path.parent().unwrap_or(path))? {
        let place = entry?.path();
        let number = place.as_os_str().as_bytes().strip_prefix(begins.as_os_str().as_bytes());
        let is_number = |number: &[u8]| !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        if number.is_some_and(is_number) && place.is_file() {
            found.push(place);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// A record that was read.
struct Record<'b> {
    store_id: u64,
    /// The number of its first item.
    first: u64,
    payload: &'b [u8],
    /// Where the next one begins.
    length: usize,
}

impl<'b> Record<'b> {
    /// The record at the beginning, if there is a whole one.
    fn first(bytes: &'b [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD)?;
        let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| head[from + i]));
        if head[..8] != MAGIC {
            return None;
        }
        let end = usize::try_from(number(24)).ok()?.checked_add(HEAD)?;
        let record = bytes.get(..end)?;
        let stored = u32::from_le_bytes(std::array::from_fn(|i| head[SUM + i]));
        // Room for the numbers of its items.
        let first = number(16);
        first.checked_add(end as u64)?;
        (stored == sum(record)).then(|| Self {
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

/// Whether a test wants the disk to be full in the middle of a record: there is a file `brain.redb.spool.full`.
#[cfg(test)]
fn tests_fill_the_disk(spool: &Path) -> bool {
    beside(spool, ".full").exists()
}
