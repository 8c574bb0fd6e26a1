//! File primitives for files of features: read, replace atomically, and move aside; and their
//! errors.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

use crate::durable::{self, unfinished_path};

/// Locked while a file is written. If the write depends on the old content, locked from reading on.
/// A run and the persistent connection may write the same file, and temporary names are fixed.
static WRITE_LOCK: Mutex<()> = Mutex::new(());

/// Takes the write lock of this process.
pub fn lock_writes() -> MutexGuard<'static, ()> {
    WRITE_LOCK.lock()
}

/// An error of reading or writing a file.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}")]
pub struct DataFault {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub error: io::Error,
}

impl DataFault {
    /// Returns whether the file was damaged and moved aside.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        self.error.kind() == ErrorKind::InvalidData
    }
}

/// Converts an I/O error into a fault with its path.
pub fn fault(path: &Path) -> impl FnOnce(io::Error) -> DataFault {
    let path = path.to_owned();
    move |error| DataFault { path, error }
}

/// Creates a directory and its parents with access for the owner only.
pub fn make_dir(path: &Path) -> Result<(), DataFault> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(fault(path))
}

/// Reads a file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, DataFault> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(path)(error)),
    }
}

/// Reads at most `max` bytes from the end of a file; `None` if it does not exist.
pub fn read_end(path: &Path, max: u64) -> Result<Option<Vec<u8>>, DataFault> {
    let read_tail = |file: File| {
        let size = file.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(size.min(max)).unwrap_or(0)];
        file.read_exact_at(&mut bytes, size.saturating_sub(max))?;
        Ok(bytes)
    };
    match File::open(path) {
        Ok(file) => read_tail(file).map(Some).map_err(fault(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(path)(error)),
    }
}

/// Replaces a file atomically. With `durable`, as [`durable::replace`]; else without any flush. The
/// caller must hold [`lock_writes`].
pub fn replace(path: &Path, bytes: &[u8], durable: bool) -> Result<(), DataFault> {
    if durable {
        return durable::replace(path, bytes).map_err(fault(path));
    }
    let unfinished = unfinished_path(path);
    write_new(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path)).map_err(|error| {
        let _ = fs::remove_file(&unfinished);
        fault(path)(error)
    })
}

/// Replaces many files: writes all, flushes the file system of `dir`, then renames them. Without
/// the common flush, ext4 flushes each file at its rename, which takes a third more CPU time. The
/// bytes of the new files are on disk before their names. The caller must hold [`lock_writes`].
pub fn replace_all(dir: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<(), DataFault> {
    let mut temporaries = Vec::with_capacity(files.len());
    let result = write_and_rename(dir, files, &mut temporaries);
    if result.is_err() {
        // A file that was already renamed has no temporary name, so it stays.
        temporaries.iter().for_each(|temporary| drop(fs::remove_file(temporary)));
    }
    result
}

/// Does the work of [`replace_all`]. Adds the paths of the temporary files to `temporaries`.
fn write_and_rename(
    dir: &Path,
    files: &[(PathBuf, Vec<u8>)],
    temporaries: &mut Vec<PathBuf>,
) -> Result<(), DataFault> {
    for (path, bytes) in files {
        let temporary = unfinished_path(path);
        let result = write_new(&temporary, bytes);
        temporaries.push(temporary);
        result.map_err(fault(path))?;
    }
    let directory = File::open(dir).map_err(fault(dir))?;
    rustix::fs::syncfs(&directory).map_err(|error| fault(dir)(error.into()))?;
    for ((path, _), temporary) in files.iter().zip(temporaries) {
        fs::rename(temporary, path).map_err(fault(path))?;
    }
    Ok(())
}

/// Creates a file in place of a leftover or link.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    durable::create(path)?.write_all(bytes)
}

/// Returns the path to which a damaged file is moved.
pub fn damaged_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    name.into()
}

/// Moves a damaged file to `<path>.damaged` and returns the fault that says so.
pub fn move_aside(path: &Path, damage: &str) -> DataFault {
    let damaged = damaged_path(path);
    let text = match fs::rename(path, &damaged) {
        Ok(()) => format!("is damaged ({damage}), and is now {}", damaged.display()),
        Err(error) => format!("is damaged ({damage}), and cannot be moved aside: {error}"),
    };
    DataFault { path: path.to_owned(), error: io::Error::new(ErrorKind::InvalidData, text) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_replaced_file_is_whole_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        fs::write(unfinished_path(&path), "a leftover that is longer than the new text").unwrap();
        for (text, durable) in [("first", false), ("2", true)] {
            replace(&path, text.as_bytes(), durable).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(read(&dir.path().join("none")).unwrap().is_none());
        fs::create_dir_all(dir.path().join("in/the/way")).unwrap();
        assert!(replace(&dir.path().join("in"), b"x", false).is_err());
        assert!(!dir.path().join("in.tmp").exists());
    }

    #[test]
    fn the_end_of_a_file_is_read_without_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long");
        assert!(read_end(&path, 3).unwrap().is_none());
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_end(&path, 3).unwrap().unwrap(), b"789");
        assert_eq!(read_end(&path, 10).unwrap().unwrap(), b"0123456789");
    }

    #[test]
    fn a_damaged_file_is_moved_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        fs::write(&path, "{").unwrap();
        let fault = move_aside(&path, "no JSON");
        assert!(fault.is_damage());
        assert!(fault.to_string().contains("a.json.damaged"), "{fault}");
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(dir.path().join("a.json.damaged")).unwrap(), "{");
    }

    #[test]
    fn several_files_are_replaced_or_none_is_left_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let bytes = |text: &str| text.as_bytes().to_vec();
        replace_all(dir.path(), &[(path("a"), bytes("1")), (path("b"), bytes("2"))]).unwrap();
        assert_eq!(read(&path("a")).unwrap().unwrap(), b"1");
        assert_eq!(read(&path("b")).unwrap().unwrap(), b"2");
        fs::create_dir_all(path("in/the/way")).unwrap();
        let fault = replace_all(dir.path(), &[(path("a"), bytes("3")), (path("in"), bytes("4"))]);
        let fault = fault.unwrap_err();
        assert!(fault.path == path("in") && !fault.is_damage(), "{fault}");
        assert_eq!(read(&path("a")).unwrap().unwrap(), b"3");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "no unfinished file is left");
    }

    #[test]
    fn file_that_cannot_be_read_is_no_missing_file() {
        let dir = tempfile::tempdir().unwrap();
        let inside_a_file = dir.path().join("file/inside");
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(read(&inside_a_file).is_err() && read_end(&inside_a_file, 1).is_err());
    }
}
