//! Vector index: int8 vectors of page windows, in memory and in a file.
//!
//! The index is derived data: it can be deleted, damaged or out of date. The module knows neither
//! models nor the store.
//!
//! Each [`crate::VectorSpace`] has a file: a header with store, space and format, then records with
//! checksums. The last record of a page counts. A damaged or incomplete record is cut off, with all
//! records after it. A file with more stale records than current ones is rewritten.

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

use file::VectorFile;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use record::VectorRecord;
use rows::{Rows, VectorRow};

/// Minimum number of windows at which a search uses sketches. With fewer, a full scan takes some
/// milliseconds.
const SKETCH_FROM: usize = 200_000;
/// Pages copied at once during a rewrite; other threads can change the index in between.
const REWRITE_PAGES: usize = 64;

/// Identifies the content of a page's vectors: equal content has an equal key and needs no new
/// vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub [u8; 16]);

/// A window of a page with its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowVector {
    /// Start in the page's body, in bytes.
    pub start: u32,
    /// End in the page's body, in bytes.
    pub end: u32,
    /// The vector, of length one.
    pub vector: Vec<f32>,
}

/// A page near a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearPage {
    /// The page's id.
    pub page: u64,
    /// The cosine of its nearest window.
    pub cosine: f32,
    /// Start of that window in the body, in bytes.
    pub start: u32,
    /// End of that window in the body, in bytes.
    pub end: u32,
}

/// Size of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Pages with vectors, including pages without windows.
    pub pages: u64,
    /// Pages of which only some windows have vectors. They are among `pages`.
    pub incomplete: u64,
    /// Number of windows.
    pub windows: u64,
    /// Memory in bytes.
    pub bytes: u64,
}

/// Errors of the vector index. [`crate::EmbedError`] describes failures of providers.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The file cannot be read or written. A search still finds vectors in memory.
    #[error("the vectors in {path} cannot be read or stored: {error}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        error: std::io::Error,
    },
    /// A vector has the wrong length.
    #[error("a vector has {actual} numbers, and {expected} were expected")]
    Length {
        /// Its length.
        actual: usize,
        /// The length of the space.
        expected: usize,
    },
}

/// The vectors of one space.
///
/// A search locks `memory` for some milliseconds, most changes for microseconds. It is not locked
/// during disk I/O.
#[derive(Debug)]
pub struct Vectors {
    dimensions: usize,
    memory: RwLock<Memory>,
    /// The file. Locked before `memory`.
    log: Mutex<VectorFile>,
}

#[derive(Debug)]
struct Memory {
    rows: Rows,
    /// Records that are not in the file yet.
    pending: Vec<u8>,
    /// Size of the records of all pages in `rows`, in bytes.
    live_bytes: u64,
    /// Sequence number of the last change of the store that the vectors include, as of the last
    /// flush.
    last_change: u64,
}

impl Memory {
    fn put(&mut self, page: u64, key: Key, rows: &[VectorRow], next: Option<u32>) {
        self.forget(page);
        self.live_bytes += record::size(rows.len(), self.rows.dimensions);
        self.rows.put(page, key, rows, next);
    }

    /// Adds rows to the page's vectors of the same key, or replaces vectors of another one. Adding
    /// the same rows again changes nothing: a rewritten file can have them twice.
    fn add(&mut self, page: u64, key: Key, rows: Vec<VectorRow>, next: Option<u32>) {
        if self.rows.key(page) != Some(key) {
            return self.put(page, key, &rows, next);
        }
        let Some(begun_to) = self.rows.next(page) else { return };
        let Some((_, mut all)) = self.rows.copy(page) else { return };
        all.extend(rows.into_iter().filter(|row| row.start >= begun_to));
        self.put(page, key, &all, next.map(|next| next.max(begun_to)));
    }

    fn forget(&mut self, page: u64) -> bool {
        let windows = self.rows.rows_of(page).len();
        let was_there = self.rows.remove(page);
        if was_there {
            self.live_bytes =
                self.live_bytes.saturating_sub(record::size(windows, self.rows.dimensions));
        }
        was_there
    }
}

impl Vectors {
    /// Opens the file of the space `identity` ([`crate::VectorSpace::identity`]) in `dir`. Without
    /// a file, the index is empty. A file of another store or format will be replaced. The second
    /// value says which vectors were lost, and why.
    ///
    /// # Errors
    /// [`VectorError::Io`] when the directory cannot be created or the file cannot be read.
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
        let mut memory = Memory { rows, pending: Vec::new(), live_bytes: 0, last_change: 0 };
        let (log, lost) =
            VectorFile::open(dir, store, identity, dimensions, |record| match record {
                VectorRecord::Put(page, key, rows) => memory.put(page, key, &rows, None),
                VectorRecord::Part(page, key, rows, next) => memory.add(page, key, rows, next),
                VectorRecord::Remove(page) => drop(memory.forget(page)),
                VectorRecord::LastChange(seq) => memory.last_change = seq,
            })
            .map_err(|error| VectorError::Io { path: dir.display().to_string(), error })?;
        Ok((Self { dimensions, memory: RwLock::new(memory), log: Mutex::new(log) }, lost))
    }

    /// Replaces a page's vectors; `windows` may be empty. Durable after the next
    /// [`Vectors::flush`].
    ///
    /// # Errors
    /// [`VectorError::Length`] when a vector has another length than those of the space; nothing is
    /// changed then.
    pub fn put(&self, page: u64, key: Key, windows: &[WindowVector]) -> Result<(), VectorError> {
        let rows = self.quantise(windows)?;
        let mut memory = self.write();
        memory.put(page, key, &rows, None);
        record::put(page, key, &rows, &mut memory.pending);
        Ok(())
    }

    /// Adds vectors of a page's next windows to its vectors of the same key. Replaces vectors of
    /// another key. `next` is the position in the body, in bytes, of the first window that still
    /// has no vector; `None` makes the page complete. Windows that have vectors already are not
    /// added again. Durable after the next [`Vectors::flush`].
    ///
    /// # Errors
    /// As [`Vectors::put`].
    pub fn add(
        &self,
        page: u64,
        key: Key,
        windows: &[WindowVector],
        next: Option<u32>,
    ) -> Result<(), VectorError> {
        let rows = self.quantise(windows)?;
        let mut memory = self.write();
        record::part(page, key, &rows, next, &mut memory.pending);
        memory.add(page, key, rows, next);
        Ok(())
    }

    fn quantise(&self, windows: &[WindowVector]) -> Result<Vec<VectorRow>, VectorError> {
        match windows.iter().find(|window| window.vector.len() != self.dimensions) {
            Some(wrong) => {
                Err(VectorError::Length { actual: wrong.vector.len(), expected: self.dimensions })
            }
            None => Ok(windows.iter().map(VectorRow::of).collect()),
        }
    }

    /// Removes a page's vectors. Durable after the next [`Vectors::flush`].
    pub fn remove(&self, page: u64) {
        let mut memory = self.write();
        if memory.forget(page) {
            record::remove(page, &mut memory.pending);
        }
    }

    /// Returns the key of a page's vectors.
    #[must_use]
    pub fn key(&self, page: u64) -> Option<Key> {
        self.read().rows.key(page)
    }

    /// Returns the position in the body, in bytes, of the page's first window without a vector.
    /// `None` if the page has no vectors, or they are complete.
    #[must_use]
    pub fn next(&self, page: u64) -> Option<u32> {
        self.read().rows.next(page)
    }

    /// Returns the pages with vectors, in no order.
    #[must_use]
    pub fn pages(&self) -> Vec<u64> {
        self.read().rows.page_ids()
    }

    /// Returns the sequence number of the last change of the store that the vectors include: the
    /// argument of the last [`Vectors::flush`].
    #[must_use]
    pub fn applied_seq(&self) -> u64 {
        self.read().last_change
    }

    /// Returns the `limit` pages nearest to `query` (of length one), nearest first, each by its
    /// best window. Returns only pages that `admits` accepts, and calls it at most once for a page.
    /// Equally near pages are ordered by id.
    #[must_use]
    pub fn search(
        &self,
        query: &[f32],
        limit: usize,
        admits: &dyn Fn(u64) -> bool,
    ) -> Vec<NearPage> {
        scan::search(&self.read().rows, query, limit, admits)
    }

    /// As [`Vectors::search`], for `pages` only, of which each is given once. Other pages affect
    /// neither the result nor its duration.
    #[must_use]
    pub fn search_among(
        &self,
        query: &[f32],
        limit: usize,
        pages: &mut dyn Iterator<Item = u64>,
    ) -> Vec<NearPage> {
        scan::among(&self.read().rows, query, limit, pages)
    }

    /// Returns the number of windows of each of `pages`; `None` for a page without vectors.
    #[must_use]
    pub fn window_counts(&self, pages: &[u64]) -> Vec<Option<usize>> {
        let memory = self.read();
        let windows = |page: &u64| memory.rows.key(*page).map(|_| memory.rows.rows_of(*page).len());
        pages.iter().map(windows).collect()
    }

    /// Returns the vector of a page's window number `nth` (from 0), if it exists.
    #[must_use]
    pub fn window_of(&self, page: u64, nth: usize) -> Option<Vec<f32>> {
        let memory = self.read();
        let row = *memory.rows.rows_of(page).get(nth)? as usize;
        let scale = *memory.rows.scales.get(row)?;
        Some(memory.rows.numbers(row).iter().map(|number| f32::from(*number) * scale).collect())
    }

    /// Returns the cosine between the nearest windows of two pages, if both have windows. Of a
    /// very long page, only some windows are compared.
    #[must_use]
    pub fn similarity(&self, one: u64, other: u64) -> Option<f32> {
        scan::similarity(&self.read().rows, one, other)
    }

    /// Returns page and vector of window number `nth` (from 0) of all windows, if it exists. A
    /// change can give windows other numbers.
    #[must_use]
    pub fn window(&self, nth: u64) -> Option<(u64, Vec<f32>)> {
        let memory = self.read();
        let nth = usize::try_from(nth).ok()?;
        let (owner, scale) = (memory.rows.owners.get(nth)?, *memory.rows.scales.get(nth)?);
        let vector =
            memory.rows.numbers(nth).iter().map(|number| f32::from(*number) * scale).collect();
        Some((memory.rows.page(owner.slot), vector))
    }

    /// Returns the size of the index.
    #[must_use]
    pub fn size(&self) -> Size {
        let memory = self.read();
        Size {
            pages: memory.rows.pages() as u64,
            incomplete: memory.rows.incomplete as u64,
            windows: memory.rows.len() as u64,
            bytes: (memory.rows.bytes() + memory.pending.capacity()) as u64,
        }
    }

    /// Returns the bytes that wait for the next [`Vectors::flush`].
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.read().pending.len()
    }

    /// Makes all changes durable, and records the sequence number `last_change` of the store's last
    /// change that they include. After an error, the next call rewrites the whole file.
    ///
    /// # Errors
    /// [`VectorError::Io`] when the file cannot be written.
    pub fn flush(&self, last_change: u64) -> Result<(), VectorError> {
        let mut log = self.log.lock();
        let (mut records, is_stale) = {
            let mut memory = self.write();
            let records = std::mem::take(&mut memory.pending);
            if records.is_empty() && memory.last_change == last_change && log.file.is_some() {
                return Ok(());
            }
            (records, log.is_stale(memory.live_bytes))
        };
        let result = match is_stale {
            // `rows` contains what the pending records say.
            true => self.rewrite(&mut log, last_change),
            false => {
                VectorRecord::LastChange(last_change).write(&mut records);
                log.append(&records)
            }
        };
        match result {
            Ok(()) => {
                self.write().last_change = last_change;
                Ok(())
            }
            Err(error) => Err(VectorError::Io { path: log.name(), error }),
        }
    }

    /// Rewrites the file from memory. Changes made meanwhile are appended.
    fn rewrite(&self, log: &mut VectorFile, last_change: u64) -> std::io::Result<()> {
        let pages = self.pages();
        let mut parts = pages.chunks(REWRITE_PAGES);
        log.rewrite(|out| {
            let Some(part) = parts.next() else {
                out.append(&mut self.write().pending);
                VectorRecord::LastChange(last_change).write(out);
                return false;
            };
            let memory = self.read();
            for (page, (key, rows)) in
                part.iter().filter_map(|page| Some((*page, memory.rows.copy(*page)?)))
            {
                match memory.rows.next(page) {
                    // The page's vectors are not in the new file yet, so a part replaces them.
                    next @ Some(_) => record::part(page, key, &rows, next, out),
                    None => record::put(page, key, &rows, out),
                }
            }
            true
        })
    }

    /// Deletes the files of other spaces beside this one and returns their number.
    ///
    /// # Errors
    /// [`VectorError::Io`] when the directory cannot be read or a file cannot be deleted.
    pub fn remove_others(&self) -> Result<usize, VectorError> {
        let log = self.log.lock();
        log.remove_others().map_err(|error| VectorError::Io { path: log.name(), error })
    }

    fn read(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write()
    }
}
