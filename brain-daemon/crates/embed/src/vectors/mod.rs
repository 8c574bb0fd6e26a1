//! The vector index: windows of pages as int8 vectors, in memory for the search and in one file for the next start. Derived: it may be deleted, damaged or
//! behind at any time. Knows neither models nor the store nor what a page is besides its number.
//!
//! One file for each [`crate::Space`]: a header that names store, space and format, then records with a checksum each; the last record of a page counts. A torn
//! end is cut off, and a file with more dead records than living ones is written anew beside itself and renamed.

mod file;
mod kernel;
mod record;
mod rows;
mod scan;
mod sketch;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use file::Log;
use record::Record;
use rows::{Row, Rows};

/// From how many windows on a search looks at sketches first. Up to here looking at everything takes some milliseconds.
const SKETCH_FROM: usize = 200_000;
/// Pages that are copied at once while the file is written anew: in between others may change what is in memory.
const COPIED: usize = 64;

/// What a page's vectors were made of: the same content has the same key, and needs no new vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub [u8; 16]);

/// A window with its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Windowed {
    /// Where it is in the page's body, in bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Its vector, of length one.
    pub vector: Vec<f32>,
}

/// A page that is near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// Its number.
    pub page: u64,
    /// The cosine of its nearest window.
    pub cosine: f32,
    /// Where that window is in the body, in bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Pages with vectors (also those whose text has no window).
    pub pages: u64,
    /// Their windows.
    pub windows: u64,
    /// Bytes of memory that they take.
    pub bytes: u64,
}

/// What keeps vectors from being kept.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The file cannot be read or written. What is in memory goes on being found.
    #[error("the vectors in {path} cannot be kept: {error}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A vector is not of this space's length.
    #[error("a vector of {got} numbers came, where {wanted} were expected")]
    Length {
        /// What came.
        got: usize,
        /// What was expected.
        wanted: usize,
    },
}

/// The vectors of one space.
///
/// Whoever searches has them for some milliseconds, whoever changes them for microseconds; nobody has them while the disk works.
#[derive(Debug)]
pub struct Vectors {
    dimensions: usize,
    memory: RwLock<Memory>,
    /// Taken before `memory`.
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Memory {
    rows: Rows,
    /// Records that the file does not have yet.
    pending: Vec<u8>,
    /// What records of everything in `rows` take.
    living: u64,
    /// Everything up to this change of the store is in the file, or in `pending`.
    seen: u64,
}

impl Memory {
    fn put(&mut self, page: u64, key: Key, rows: &[Row]) {
        self.forget(page);
        self.living += record::size(rows.len(), self.rows.dimensions);
        self.rows.put(page, key, rows);
    }

    fn forget(&mut self, page: u64) -> bool {
        let windows = self.rows.rows_of(page).len();
        let was_there = self.rows.remove(page);
        if was_there {
            self.living = self.living.saturating_sub(record::size(windows, self.rows.dimensions));
        }
        was_there
    }
}

impl Vectors {
    /// Opens the file of `space` (its [`crate::Space::identity`]) in `dir`, or begins one. What is of another store or format is replaced; the second value says why.
    ///
    /// # Errors
    /// [`VectorError::Io`].
    pub fn open(
        dir: &Path,
        store: &str,
        identity: &str,
        dimensions: usize,
    ) -> Result<(Self, Option<String>), VectorError> {
        Self::open_with(dir, store, identity, dimensions, SKETCH_FROM)
    }

    fn open_with(
        dir: &Path,
        store: &str,
        identity: &str,
        dimensions: usize,
        sketch_from: usize,
    ) -> Result<(Self, Option<String>), VectorError> {
        let dimensions = dimensions.max(1);
        let rows = Rows::new(dimensions, sketch_from);
        let mut memory = Memory { rows, pending: Vec::new(), living: 0, seen: 0 };
        let (log, lost) = Log::open(dir, store, identity, dimensions, |record| match record {
            Record::Put(page, key, rows) => memory.put(page, key, &rows),
            Record::Remove(page) => drop(memory.forget(page)),
            Record::Seen(seq) => memory.seen = seq,
        })
        .map_err(|error| VectorError::Io { path: dir.display().to_string(), error })?;
        Ok((Self { dimensions, memory: RwLock::new(memory), log: Mutex::new(log) }, lost))
    }

    /// Replaces a page's vectors; none at all is a valid number. On the disk at the next [`Vectors::flush`].
    ///
    /// # Errors
    /// [`VectorError::Length`]; nothing is changed then.
    pub fn put(&self, page: u64, key: Key, windows: &[Windowed]) -> Result<(), VectorError> {
        if let Some(wrong) = windows.iter().find(|window| window.vector.len() != self.dimensions) {
            return Err(VectorError::Length { got: wrong.vector.len(), wanted: self.dimensions });
        }
        let rows: Vec<Row> = windows.iter().map(Row::of).collect();
        let mut memory = self.write();
        memory.put(page, key, &rows);
        record::put(page, key, &rows, &mut memory.pending);
        Ok(())
    }

    /// Forgets a page at once. On the disk at the next [`Vectors::flush`].
    pub fn remove(&self, page: u64) {
        let mut memory = self.write();
        if memory.forget(page) {
            record::remove(page, &mut memory.pending);
        }
    }

    /// Forgets every page.
    pub fn clear(&self) {
        for page in self.pages() {
            self.remove(page);
        }
    }

    /// What a page's vectors were made of.
    #[must_use]
    pub fn key(&self, page: u64) -> Option<Key> {
        self.read().rows.key(page)
    }

    /// The pages with vectors, in no order.
    #[must_use]
    pub fn pages(&self) -> Vec<u64> {
        self.read().rows.page_numbers()
    }

    /// Up to which change of the store these vectors are known to be right: what the last [`Vectors::flush`] was told.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.read().seen
    }

    /// The `limit` pages nearest to `query` (of length one), nearest first, each by its best window; only pages that `admits` lets through, which is asked once a page at the
    /// most. Ties by number.
    #[must_use]
    pub fn search(&self, query: &[f32], limit: usize, admits: &dyn Fn(u64) -> bool) -> Vec<Near> {
        scan::search(&self.read().rows, query, limit, admits)
    }

    /// The same of `pages` alone, each named once. Which other pages have vectors makes no
    /// difference to what is found, nor to the time that it takes.
    #[must_use]
    pub fn search_among(
        &self,
        query: &[f32],
        limit: usize,
        pages: &mut dyn Iterator<Item = u64>,
    ) -> Vec<Near> {
        scan::among(&self.read().rows, query, limit, pages)
    }

    /// How many windows each of `pages` has; `None` for one without vectors.
    #[must_use]
    pub fn windows_of(&self, pages: &[u64]) -> Vec<Option<usize>> {
        let memory = self.read();
        let windows = |page: &u64| memory.rows.key(*page).map(|_| memory.rows.rows_of(*page).len());
        pages.iter().map(windows).collect()
    }

    /// The vector of the window at `nth` place of a page, as far as it is there.
    #[must_use]
    pub fn window_of(&self, page: u64, nth: usize) -> Option<Vec<f32>> {
        let memory = self.read();
        let row = *memory.rows.rows_of(page).get(nth)? as usize;
        let scale = *memory.rows.scales.get(row)?;
        Some(memory.rows.numbers(row).iter().map(|number| f32::from(*number) * scale).collect())
    }

    /// The cosine between the nearest windows of two pages, when both have vectors. Of very long pages some windows stand for all.
    #[must_use]
    pub fn between(&self, one: u64, other: u64) -> Option<f32> {
        scan::between(&self.read().rows, one, other)
    }

    /// The page and vector of the window at `nth` place among all, in no order that lasts.
    #[must_use]
    pub fn window(&self, nth: u64) -> Option<(u64, Vec<f32>)> {
        let memory = self.read();
        let nth = usize::try_from(nth).ok()?;
        let (owner, scale) = (memory.rows.owners.get(nth)?, *memory.rows.scales.get(nth)?);
        let vector =
            memory.rows.numbers(nth).iter().map(|number| f32::from(*number) * scale).collect();
        Some((memory.rows.page(owner.slot), vector))
    }

    /// How much there is.
    #[must_use]
    pub fn size(&self) -> Size {
        let memory = self.read();
        Size {
            pages: memory.rows.pages() as u64,
            windows: memory.rows.len() as u64,
            bytes: (memory.rows.bytes() + memory.pending.capacity()) as u64,
        }
    }

    /// How many bytes wait for the next [`Vectors::flush`].
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.read().pending.len()
    }

    /// Puts on the disk what is not there yet, and that everything up to the change `seen` of the store is in it. After a failure the file is as it was, and the next
    /// call writes all of it.
    ///
    /// # Errors
    /// [`VectorError::Io`].
    pub fn flush(&self, seen: u64) -> Result<(), VectorError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut records, is_stale) = {
            let mut memory = self.write();
            let records = std::mem::take(&mut memory.pending);
            if records.is_empty() && memory.seen == seen && log.file.is_some() {
                return Ok(());
            }
            (records, log.is_stale(memory.living))
        };
        let result = match is_stale {
            // What was pending is in memory.
            true => self.renew(&mut log, seen),
            false => {
                Record::Seen(seen).write(&mut records);
                log.append(&records)
            }
        };
        match result {
            Ok(()) => {
                self.write().seen = seen;
                Ok(())
            }
            Err(error) => Err(VectorError::Io { path: log.name(), error }),
        }
    }

    /// Writes the file anew from what is in memory. What changes meanwhile is written behind it.
    fn renew(&self, log: &mut Log, seen: u64) -> std::io::Result<()> {
        let pages = self.pages();
        let mut parts = pages.chunks(COPIED);
        log.renew(|out| {
            let Some(part) = parts.next() else {
                out.append(&mut self.write().pending);
                Record::Seen(seen).write(out);
                return false;
            };
            let memory = self.read();
            for (page, (key, rows)) in
                part.iter().filter_map(|page| Some((*page, memory.rows.copy(*page)?)))
            {
                record::put(page, key, &rows, out);
            }
            true
        })
    }

    /// Deletes the files of other spaces beside this one. How many there were.
    ///
    /// # Errors
    /// [`VectorError::Io`].
    pub fn remove_others(&self) -> Result<usize, VectorError> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.remove_others().map_err(|error| VectorError::Io { path: log.name(), error })
    }

    fn read(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }
}
