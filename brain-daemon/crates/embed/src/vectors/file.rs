//! The file of a space: records behind a head, only ever added to. Written anew beside itself and renamed when most of it is out of date, and after every failure: then nobody knows
//! how it ends.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::record::{self, Record};

/// How the file's name ends, and that of one that is not whole yet.
const ENDING: &str = "vec";
const UNFINISHED: &str = "unfinished";
/// How much is read at once, and written at once when the file is written anew.
const PIECE: usize = 1024 * 1024;
/// A file is not written anew for less than this many bytes that are out of date.
const LITTLE: u64 = 1024 * 1024;

/// The file.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    header: Vec<u8>,
    /// `None`: it must be written anew.
    pub(super) file: Option<File>,
    /// How long it is.
    pub(super) len: u64,
}

impl Log {
    /// Opens the file of a space in `dir`, and hands over its records; what is damaged, and all behind it, is cut off. Also says what was lost, and why.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn open(
        dir: &Path,
        store: &str,
        identity: &str,
        dimensions: usize,
        mut each: impl FnMut(Record),
    ) -> io::Result<(Self, Option<String>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let name: String = Sha256::digest(identity.as_bytes())
            .iter()
            .take(8)
            .map(|b| format!("{b:02x}"))
            .collect();
        let path = dir.join(name).with_extension(ENDING);
        let header = record::header(store, identity, dimensions);
        let mut log = Self { path, header, file: None, len: 0 };
        gone(&log.unfinished())?;
        let file = match OpenOptions::new().read(true).write(true).open(&log.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((log, None)),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut from = BufReader::with_capacity(PIECE, &file);
        let mut head = Vec::new();
        (&mut from).take(log.header.len() as u64).read_to_end(&mut head)?;
        if let Err(misfit) = record::compare(&head, &log.header) {
            let why = format!("{} is begun anew: {misfit}", name_of(&log.path));
            return Ok((log, Some(why)));
        }
        let (mut good, mut buffer) = (head.len() as u64, Vec::new());
        while let Some((record, size)) = record::next(&mut from, dimensions, &mut buffer)? {
            each(record);
            good += size;
        }
        drop(from);
        let lost = (good < length).then(|| {
            format!(
                "{} is damaged behind byte {good} of {length}: the vectors there are made anew",
                name_of(&log.path)
            )
        });
        if lost.is_some() {
            file.set_len(good)?;
        }
        (log.file, log.len) = (Some(file), good);
        Ok((log, lost))
    }

    /// Whether so much is out of date that it should be written anew, or it must be. `living` bytes of records count.
    pub(super) fn is_stale(&self, living: u64) -> bool {
        self.file.is_none() || self.len > 2 * living + LITTLE
    }

    /// Adds records, and has them on the disk. After a failure the file is given up, as it is.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("the file was given up"));
        };
        let len = self.len;
        let added = file
            .seek(SeekFrom::Start(len))
            .and_then(|_| file.write_all(records))
            .and_then(|()| file.sync_data());
        match added {
            Ok(()) => self.len += records.len() as u64,
            Err(_) => {
                // A torn end would be cut off at the next start; without it there is less to wonder about.
                let _ = file.set_len(len);
                self.file = None;
            }
        }
        added
    }

    /// Writes the file anew: `each` is asked for pieces of records until there are none. The old one is in its place until the new one is whole and on the disk.
    ///
    /// # Errors
    /// What the disk says; the old file is there as before.
    pub(super) fn renew(&mut self, mut each: impl FnMut(&mut Vec<u8>) -> bool) -> io::Result<()> {
        let unfinished = self.unfinished();
        let result = (|| {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&unfinished)?;
            let mut piece = self.header.clone();
            let mut len = 0;
            loop {
                let more = each(&mut piece);
                if piece.len() >= PIECE || !more {
                    file.write_all(&piece)?;
                    len += piece.len() as u64;
                    piece.clear();
                }
                if !more {
                    break;
                }
            }
            file.sync_data()?;
            std::fs::rename(&unfinished, &self.path)?;
            // The name is safe, too.
            if let Some(dir) = self.path.parent() {
                File::open(dir)?.sync_all()?;
            }
            Ok((file, len))
        })();
        match result {
            Ok((file, len)) => {
                (self.file, self.len) = (Some(file), len);
                Ok(())
            }
            Err(error) => {
                self.file = None;
                let _ = gone(&unfinished);
                Err(error)
            }
        }
    }

    /// Deletes the files of other spaces beside this one. How many there were.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn remove_others(&self) -> io::Result<usize> {
        let Some(dir) = self.path.parent() else { return Ok(0) };
        let mut count = 0;
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            let is_ours = path.extension().is_some_and(|end| end == ENDING || end == UNFINISHED);
            if is_ours && path.file_stem() != self.path.file_stem() {
                gone(&path)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// The file's path, for people.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn unfinished(&self) -> PathBuf {
        self.path.with_extension(UNFINISHED)
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Removes a file, if it is there.
fn gone(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
