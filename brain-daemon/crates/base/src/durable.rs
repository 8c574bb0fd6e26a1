//! Replaces files atomically and durably.
//!
//! The new content is written beside the file and flushed, then renamed to the file's path, and the
//! directory is flushed. So after a crash, the path has the old or the new content. What a crash
//! leaves beside it is removed by the next replacement.
//!
//! The name of the new file is fixed, so only one writer at a time may replace a file.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Suffix of a new file until it is renamed.
pub const UNFINISHED: &str = ".tmp";

/// Returns the path of the new content until it is renamed to `path`.
#[must_use]
pub fn unfinished_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// Replaces or creates the file. It is for the owner only.
///
/// # Errors
/// As [`replace_with`].
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, None, |file| file.write_all(bytes)).map(drop)
}

/// Replaces or creates the file by one that `write` fills, and returns it, open for reading and
/// writing. The file gets exactly the permission bits `mode`; without them, it is for the owner
/// only.
///
/// # Errors
/// Those of `write` and of the file system. The former file stays, and no unfinished one is left;
/// but if only the directory cannot be flushed, the path has the new content already.
pub fn replace_with(
    path: &Path,
    mode: Option<u32>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    let unfinished = unfinished_path(path);
    let fill_and_rename = || {
        let mut file = create(&unfinished)?;
        write(&mut file)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        flush_dir_of(path)?;
        Ok(file)
    };
    fill_and_rename().inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

/// Creates an empty file for the owner only. A leftover or a link at the path is removed, not
/// followed.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        other => other,
    }
}

/// Flushes the directory of `path`, so that the name of the file, or its absence, is durable.
///
/// # Errors
/// When the directory cannot be opened or flushed.
pub fn flush_dir_of(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use rustix::process::{Resource, Rlimit, Signal, setrlimit};

    use super::*;

    /// Names the file that the test's second process replaces.
    const CRASH_PATH: &str = "BRAIN_TEST_CRASH_PATH";

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"a first text that is longer").unwrap();
        assert_eq!(mode(&path), 0o600);
        let mut file = replace_with(&path, Some(0o640), |file| file.write_all(b"2")).unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"2".to_vec(), 0o640));
        file.write_all(b"3").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"23");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_error_keeps_the_former_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"old").unwrap();
        let full_disk = replace_with(&path, None, |file| {
            file.write_all(b"ne")?;
            File::options().write(true).open("/dev/full")?.write_all(b"w")
        });
        assert_eq!(full_disk.unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        // A rename to a directory that is not empty fails.
        fs::create_dir_all(dir.path().join("in/the/way")).unwrap();
        replace(&dir.path().join("in"), b"new").unwrap_err();
        assert!(dir.path().join("in/the/way").is_dir());
        assert!(!dir.path().join("in.tmp").exists());
        assert!(replace(&dir.path().join("none/a"), b"new").is_err());
    }

    #[test]
    fn a_leftover_is_replaced_and_a_link_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.json"), dir.path().join("other"));
        fs::write(&other, "other").unwrap();
        let leave: [fn(&Path, &Path); 2] = [
            |at, _| {
                fs::write(at, "a whole leftover").unwrap();
                fs::set_permissions(at, Permissions::from_mode(0o644)).unwrap();
            },
            |at, other| symlink(other, at).unwrap(),
        ];
        for leave in leave {
            leave(&unfinished_path(&path), &other);
            replace(&path, b"new").unwrap();
            assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o600));
            assert_eq!(fs::read(&other).unwrap(), b"other");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_killed_write_leaves_the_former_file() {
        if let Some(path) = std::env::var_os(CRASH_PATH) {
            let limit = |max| Rlimit { current: Some(max), maximum: Some(max) };
            setrlimit(Resource::Core, limit(0)).unwrap();
            setrlimit(Resource::Fsize, limit(1000)).unwrap();
            // The kernel kills this process at the limit.
            return replace(Path::new(&path), &[b'x'; 5000]).unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"old").unwrap();
        let test = "durable::tests::a_killed_write_leaves_the_former_file";
        let mut program = Command::new(std::env::current_exe().unwrap());
        let output = program.args(["--exact", test]).env(CRASH_PATH, &path).output().unwrap();
        assert_eq!(output.status.signal(), Some(Signal::XFSZ.as_raw()), "{output:?}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read(unfinished_path(&path)).unwrap(), [b'x'; 1000]);
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
