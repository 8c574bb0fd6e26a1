//! The files of attachments: each is stored once, under the SHA-256 of its bytes.
//!
//! Before a row names a file, the file is written under a temporary name, flushed and renamed, and
//! its directory is flushed. [`AttachmentFiles::block_removal`] protects files that no row names
//! yet.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use brain_page::hex;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rustix::fs::OFlags;

use super::{digest, swap};

/// Suffix of a file that is being written.
const UNFINISHED: &str = ".new";

/// The directory of the attachments of one home.
#[derive(Debug)]
pub struct AttachmentFiles {
    root: PathBuf,
    /// Held for reading while files are written that no row names yet; held for writing while
    /// files are removed.
    in_use: RwLock<()>,
    /// Number of the next temporary file.
    next: AtomicU64,
}

impl AttachmentFiles {
    /// Returns the files below `root`, which need not exist.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root, in_use: RwLock::default(), next: AtomicU64::new(0) }
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the file whose bytes have this hash.
    #[must_use]
    pub fn path(&self, hash: &[u8; 32]) -> PathBuf {
        let name = hex(hash);
        self.root.join(name.get(..2).unwrap_or_default()).join(&name)
    }

    /// Returns a guard: until it is dropped, no file is removed.
    pub fn block_removal(&self) -> RwLockReadGuard<'_, ()> {
        self.in_use.read()
    }

    /// As [`Self::block_removal`], for the store's writer. Succeeds also while a removal waits for
    /// other guards: their holders can wait for the writer.
    pub fn block_removal_in_writer(&self) -> RwLockReadGuard<'_, ()> {
        self.in_use.read_recursive()
    }

    /// Returns a guard for removing files; `None` while another guard exists.
    pub fn try_lock_for_removal(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.in_use.try_write()
    }

    /// Waits until no other guard exists, and returns a guard for removing files.
    pub fn lock_for_removal(&self) -> RwLockWriteGuard<'_, ()> {
        self.in_use.write()
    }

    /// Writes the file durably and returns its hash. A file with these bytes stays as it is; a
    /// damaged one is replaced. The caller holds [`Self::block_removal`] until a row names the
    /// file.
    ///
    /// # Errors
    /// When the file cannot be written. No unfinished file is left then.
    pub fn write(&self, content: &[u8]) -> io::Result<[u8; 32]> {
        let hash = digest(content);
        let path = self.path(&hash);
        let dir = path.parent().unwrap_or(&self.root);
        make_durable_dir(&self.root)?;
        make_durable_dir(dir)?;
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let unfinished = dir.join(format!(".{}-{n}{UNFINISHED}", std::process::id()));
        let written =
            create(&unfinished, content).and_then(|()| publish(&unfinished, &path, &hash));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        File::open(dir)?.sync_all()?;
        Ok(hash)
    }

    /// Returns the bytes of the file after comparing them with the hash.
    ///
    /// # Errors
    /// `NotFound` when there is no such file, `InvalidData` when it has other bytes; other kinds
    /// when it is not a regular file or cannot be read.
    pub fn read(&self, hash: &[u8; 32]) -> io::Result<Vec<u8>> {
        let bytes = read_plain_file(&self.path(hash))?;
        match digest(&bytes) == *hash {
            true => Ok(bytes),
            false => Err(io::Error::new(ErrorKind::InvalidData, "its bytes have changed")),
        }
    }

    /// Returns the length of the file in bytes; `None` if it is missing or not a regular file.
    #[must_use]
    pub fn length(&self, hash: &[u8; 32]) -> Option<u64> {
        fs::symlink_metadata(self.path(hash)).ok().filter(fs::Metadata::is_file).map(|it| it.len())
    }

    /// Removes the file. Returns whether there was one.
    pub fn erase(&self, hash: &[u8; 32]) -> io::Result<bool> {
        match fs::remove_file(self.path(hash)) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Returns the hashes of all files that were written before `before`, in Unix milliseconds, and
    /// removes unfinished files of that age. Only files with the names that brain gives count.
    pub fn written_before(&self, before: i64) -> io::Result<Vec<[u8; 32]>> {
        let mut found = Vec::new();
        let dirs = match fs::read_dir(&self.root) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(found),
            dirs => dirs?,
        };
        for dir in dirs {
            let dir = dir?;
            if !dir.file_type()?.is_dir() {
                continue;
            }
            for entry in fs::read_dir(dir.path())? {
                let entry = entry?;
                let (name, meta) = (entry.file_name(), entry.metadata()?);
                let is_old = meta
                    .modified()?
                    .duration_since(UNIX_EPOCH)
                    .is_ok_and(|at| i64::try_from(at.as_millis()).is_ok_and(|at| at < before));
                let Some(name) = name.to_str().filter(|_| is_old && meta.is_file()) else {
                    continue;
                };
                if is_unfinished(name) {
                    fs::remove_file(entry.path())?;
                } else if let Some(hash) = hash_of(name).filter(|it| self.path(it) == entry.path())
                {
                    found.push(hash);
                }
            }
        }
        Ok(found)
    }
}

/// Creates a directory for the owner only, if it does not exist, and makes its name durable.
fn make_durable_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => File::open(dir.parent().unwrap_or(dir))?.sync_all(),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
}

/// Creates a file with this content and flushes it.
fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Renames a finished file to its path. A file there with the right bytes stays; a damaged one is
/// replaced.
fn publish(finished: &Path, path: &Path, hash: &[u8; 32]) -> io::Result<()> {
    match swap::publish(finished, path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        other => return other,
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => {
            let message = format!("{} is not a file that brain wrote", path.display());
            Err(io::Error::other(message))
        }
        Ok(_) if read_plain_file(path).is_ok_and(|found| digest(&found) == *hash) => {
            fs::remove_file(finished)
        }
        // The file is damaged.
        _ => fs::rename(finished, path),
    }
}

/// Reads a regular file. Follows no link, and does not wait for a pipe.
fn read_plain_file(path: &Path) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether brain gave this name to a file that it did not finish.
fn is_unfinished(name: &str) -> bool {
    let numbers = name.strip_prefix('.').and_then(|name| name.strip_suffix(UNFINISHED));
    numbers.and_then(|it| it.split_once('-')).is_some_and(|(pid, n)| {
        [pid, n].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Parses a file name that is a hash in lower-case hexadecimal.
pub fn hash_of(name: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if name.len() != 64 || !name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (n, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(name.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, AttachmentFiles) {
        let dir = tempfile::tempdir().unwrap();
        let files = AttachmentFiles::at(dir.path().join("attachments"));
        (dir, files)
    }

    #[test]
    fn the_same_bytes_are_one_file() {
        let (_dir, files) = files();
        let hash = files.write(b"one").unwrap();
        assert_eq!(files.write(b"one").unwrap(), hash);
        assert_eq!(files.read(&hash).unwrap(), b"one");
        assert_eq!(fs::read_dir(files.path(&hash).parent().unwrap()).unwrap().count(), 1);
        assert!(files.path(&hash).ends_with(format!("{}/{}", &hex(&hash)[..2], hex(&hash))));
    }

    #[test]
    fn a_damaged_file_is_reported_and_repaired_by_the_same_bytes() {
        let (_dir, files) = files();
        let hash = files.write(b"one").unwrap();
        fs::write(files.path(&hash), "two").unwrap();
        assert_eq!(files.read(&hash).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(files.write(b"one").unwrap(), hash);
        assert_eq!(files.read(&hash).unwrap(), b"one");
        files.erase(&hash).unwrap();
        assert_eq!(files.read(&hash).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.length(&hash), None);
    }

    #[test]
    fn a_link_is_neither_followed_nor_replaced() {
        let (dir, files) = files();
        let hash = files.write(b"one").unwrap();
        let other = dir.path().join("other");
        fs::write(&other, "one").unwrap();
        fs::remove_file(files.path(&hash)).unwrap();
        std::os::unix::fs::symlink(&other, files.path(&hash)).unwrap();
        assert!(files.read(&hash).is_err());
        assert!(files.write(b"one").is_err());
        assert!(files.path(&hash).is_symlink());
        assert_eq!(fs::read_to_string(other).unwrap(), "one");
    }

    #[test]
    fn only_names_that_brain_gives_count_as_its_files() {
        let (_dir, files) = files();
        let hash = files.write(b"one").unwrap();
        let dir = files.path(&hash).parent().unwrap().to_owned();
        let unfinished = dir.join(".12-3.new");
        let upper = hex(&hash).to_uppercase();
        let foreign = ["photo.png", ".x.new", ".1-.new", upper.as_str()].map(|name| dir.join(name));
        for path in foreign.iter().chain([&unfinished, &files.root().join(hex(&hash))]) {
            fs::write(path, "x").unwrap();
        }
        assert_eq!(files.written_before(0).unwrap(), Vec::<[u8; 32]>::new());
        assert!(unfinished.exists());
        assert_eq!(files.written_before(i64::MAX).unwrap(), [hash]);
        assert!(!unfinished.exists());
        assert!(foreign.iter().all(|path| path.exists()));
    }
}
