//! File of a vector space: append-only records after a header.
//!
//! The file is rewritten when most of it is stale, and after every error, because its end is then
//! unknown. A rewrite fills a temporary file, which then gets the name of the file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use brain_base::durable::{self, UNFINISHED, unfinished_path};
use sha2::{Digest, Sha256};

use super::record::{self, VectorRecord};

/// End of the file's name.
const EXTENSION: &str = ".vec";
/// Bytes read or written at once.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Stale bytes that never cause a rewrite.
const ALLOWED_STALE_BYTES: u64 = 1024 * 1024;

/// The file of a vector space, and its state.
#[derive(Debug)]
pub(super) struct VectorFile {
    path: PathBuf,
    header: Vec<u8>,
    /// `None` if the file is missing, or unusable until it is rewritten.
    pub(super) file: Option<File>,
    /// Length of the file.
    pub(super) len: u64,
}

impl VectorFile {
    /// Opens the file of a space in `dir` and passes its records to `each`. Cuts off a damaged
    /// record and everything after it. Also returns a message if vectors were lost, with the
    /// reason.
    ///
    /// # Errors
    /// [`io::Error`] when `dir` cannot be created, or the file cannot be read or shortened.
    pub(super) fn open(
        dir: &Path,
        store: &str,
        identity: &str,
        dimensions: usize,
        mut each: impl FnMut(VectorRecord),
    ) -> io::Result<(Self, Option<String>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let name: String = Sha256::digest(identity.as_bytes())
            .iter()
            .take(8)
            .map(|b| format!("{b:02x}"))
            .collect();
        let path = dir.join(name + EXTENSION);
        let header = record::header(store, identity, dimensions);
        let mut log = Self { path, header, file: None, len: 0 };
        remove_if_present(&unfinished_path(&log.path))?;
        let file = match OpenOptions::new().read(true).write(true).open(&log.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((log, None)),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut from = BufReader::with_capacity(CHUNK_BYTES, &file);
        let mut head = Vec::new();
        (&mut from).take(log.header.len() as u64).read_to_end(&mut head)?;
        if let Err(mismatch) = record::compare(&head, &log.header) {
            let message = format!("{} is replaced by a new file: {mismatch}", file_name(&log.path));
            return Ok((log, Some(message)));
        }
        let (mut good, mut buffer) = (head.len() as u64, Vec::new());
        while let Some((record, size)) = record::next(&mut from, dimensions, &mut buffer)? {
            each(record);
            good += size;
        }
        drop(from);
        let lost = (good < length).then(|| {
            format!(
                "{} is damaged after byte {good} of {length}: the vectors after it are computed \
                    again",
                file_name(&log.path)
            )
        });
        if lost.is_some() {
            file.set_len(good)?;
        }
        (log.file, log.len) = (Some(file), good);
        Ok((log, lost))
    }

    /// Returns whether the file must or should be rewritten. `live_bytes` is the size of all
    /// current records.
    pub(super) fn is_stale(&self, live_bytes: u64) -> bool {
        self.file.is_none() || self.len > 2 * live_bytes + ALLOWED_STALE_BYTES
    }

    /// Appends records and flushes them. After an error, the file is not used again until it is
    /// rewritten.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be written or flushed, or is unusable.
    pub(super) fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("the file is unusable after an earlier error"));
        };
        let len = self.len;
        let result = file
            .seek(SeekFrom::Start(len))
            .and_then(|_| file.write_all(records))
            .and_then(|()| file.sync_data());
        match result {
            Ok(()) => self.len += records.len() as u64,
            Err(_) => {
                // Otherwise the next start would report the incomplete end as damage.
                let _ = file.set_len(len);
                self.file = None;
            }
        }
        result
    }

    /// Rewrites the file with records from `each`, until it returns `false`. The old file stays
    /// until the new one is complete and flushed.
    ///
    /// # Errors
    /// [`io::Error`] when the new file cannot be written or renamed. The name then still has a
    /// complete file.
    pub(super) fn rewrite(&mut self, mut each: impl FnMut(&mut Vec<u8>) -> bool) -> io::Result<()> {
        let (mut piece, mut len) = (self.header.clone(), 0);
        let written = durable::replace_with(&self.path, None, |file| {
            loop {
                let more = each(&mut piece);
                if piece.len() >= CHUNK_BYTES || !more {
                    file.write_all(&piece)?;
                    len += piece.len() as u64;
                    piece.clear();
                }
                if !more {
                    return Ok(());
                }
            }
        });
        match written {
            Ok(file) => {
                (self.file, self.len) = (Some(file), len);
                Ok(())
            }
            Err(error) => {
                self.file = None;
                Err(error)
            }
        }
    }

    /// Deletes the files of other spaces beside this one and returns their number.
    ///
    /// # Errors
    /// [`io::Error`] when the directory cannot be read or a file cannot be deleted.
    pub(super) fn remove_others(&self) -> io::Result<usize> {
        let Some(dir) = self.path.parent() else { return Ok(0) };
        let own_files = [self.path.clone(), unfinished_path(&self.path)];
        let mut count = 0;
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            let is_of_space = path.to_str().is_some_and(|path| {
                path.strip_suffix(UNFINISHED).unwrap_or(path).ends_with(EXTENSION)
            });
            if is_of_space && !own_files.contains(&path) {
                remove_if_present(&path)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Returns the file's path for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Returns the name of a file for messages.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Removes a file if it exists.
fn remove_if_present(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
