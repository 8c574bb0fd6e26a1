//! Renames without overwriting: exchanges two files, or renames to a free name.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

/// Exchanges the files `ours` and `theirs` of a directory. No other program uses the name `ours`.
///
/// # Errors
/// `NotFound` when one of them is missing.
pub(super) fn exchange(dir: &OwnedFd, ours: &str, theirs: &str) -> io::Result<()> {
    match renameat_with(dir, ours, dir, theirs, RenameFlags::EXCHANGE) {
        Err(e) if is_unsupported(e) => exchange_in_steps(dir, ours, theirs),
        other => Ok(other?),
    }
}

/// Exchanges two files on file systems without `RENAME_EXCHANGE`. For a moment nothing is at
/// `theirs`. If another program creates a file there, that file stays, as if it had replaced ours.
fn exchange_in_steps(dir: &OwnedFd, ours: &str, theirs: &str) -> io::Result<()> {
    let old_name = format!("{ours}.old");
    renameat(dir, theirs, dir, &old_name)?;
    let placed = rename_new(dir, ours, dir, theirs);
    match &placed {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            rename_new(dir, &old_name, dir, theirs)?;
            placed
        }
        _ => Ok(renameat(dir, &old_name, dir, ours)?),
    }
}

/// Renames a file to a name that must be free.
///
/// # Errors
/// `AlreadyExists` when the name is taken, `NotFound` when there is no such file.
pub(super) fn rename_new(from: &OwnedFd, name: &str, to: &OwnedFd, free: &str) -> io::Result<()> {
    match renameat_with(from, name, to, free, RenameFlags::NOREPLACE) {
        Err(e) if is_unsupported(e) => {}
        other => return Ok(other?),
    }
    match linkat(from, name, to, free, AtFlags::empty()) {
        Ok(()) => Ok(unlinkat(from, name, AtFlags::empty())?),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            // Neither call is supported: check, then rename.
            match statat(to.as_fd(), free, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Ok(renameat(from, name, to, free)?),
                Ok(_) => Err(Errno::EXIST.into()),
                Err(e) => Err(e.into()),
            }
        }
        Err(e) => Err(e.into()),
    }
}

/// Whether the kernel or the file system does not support a flag of the call.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn two_files_are_exchanged_on_any_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let handle: OwnedFd = fs::File::open(dir.path()).unwrap().into();
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        for change in [exchange, exchange_in_steps] {
            fs::write(dir.path().join("ours"), "new").unwrap();
            fs::write(dir.path().join("theirs"), "old").unwrap();
            change(&handle, "ours", "theirs").unwrap();
            assert_eq!((text("ours"), text("theirs")), ("old".into(), "new".into()));
            fs::remove_file(dir.path().join("theirs")).unwrap();
            let error = change(&handle, "ours", "theirs").unwrap_err();
            assert_eq!((error.kind(), text("ours")), (io::ErrorKind::NotFound, "old".into()));
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_taken_name_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let handle: OwnedFd = fs::File::open(dir.path()).unwrap().into();
        fs::write(dir.path().join("a"), "a").unwrap();
        fs::write(dir.path().join("b"), "b").unwrap();
        let error = rename_new(&handle, "a", &handle, "b").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        rename_new(&handle, "a", &handle, "c").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "b");
    }
}
