//! Renames that replace no file, and exchanges of two files, on every file system.
//!
//! Many file systems lack some of these calls, and report that with an errno of their own: `ERANGE`
//! and `EIO` were seen. A call whose flag is missing can answer `EEXIST` where the name is taken,
//! and another errno where it is free. So each change tries the calls in the order of their
//! strength, and only the last call's error counts.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

/// Exchanges the files `ours` and `theirs` of a directory. No other program uses the name `ours`.
///
/// A kill can leave the file of `theirs` at [`name_in_exchange`], on file systems that cannot
/// exchange two files at once. `Tree::put_back` finds it.
///
/// # Errors
/// `NotFound` when one of them is missing.
pub(super) fn exchange(dir: impl AsFd, ours: &str, theirs: &str) -> io::Result<()> {
    let dir = dir.as_fd();
    match renameat_with(dir, ours, dir, theirs, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::NOENT) => Err(Errno::NOENT.into()),
        Err(_) => exchange_in_steps(dir, ours, theirs),
    }
}

/// Returns the name that the file to replace has in the middle of an exchange in steps with `ours`.
pub(super) fn name_in_exchange(ours: &str) -> String {
    format!("{ours}.old")
}

/// Exchanges two files on file systems without `RENAME_EXCHANGE`. For a moment nothing is at
/// `theirs`. If another program creates a file there, that file stays, as if it had replaced ours.
fn exchange_in_steps(dir: impl AsFd, ours: &str, theirs: &str) -> io::Result<()> {
    let dir = dir.as_fd();
    let old_name = name_in_exchange(ours);
    // A killed process may have left a file at the old name, which nothing may replace.
    rename_new(dir, theirs, dir, &old_name)?;
    match rename_new(dir, ours, dir, theirs) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            // The first rename worked, so this one does: it needs nothing else.
            rename_if_free(dir, &old_name, dir, theirs)?;
            Err(e)
        }
        _ => Ok(renameat(dir, &old_name, dir, ours)?),
    }
}

/// Renames a file to a name that must be free.
///
/// # Errors
/// `AlreadyExists` when the name is taken, `NotFound` when there is no such file.
pub(super) fn rename_new(from: impl AsFd, name: &str, to: impl AsFd, free: &str) -> io::Result<()> {
    rename_new_paths((from, Path::new(name)), (to, Path::new(free)))
}

/// As `rename_new`, for paths.
///
/// # Errors
/// `AlreadyExists` when the path is taken, `NotFound` when there is no such file.
pub fn publish(file: &Path, free: &Path) -> io::Result<()> {
    rename_new_paths((CWD, file), (CWD, free))
}

fn rename_new_paths(
    (from, name): (impl AsFd, &Path),
    (to, free): (impl AsFd, &Path),
) -> io::Result<()> {
    match renameat_with(&from, name, &to, free, RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(()),
        Err(e @ (Errno::EXIST | Errno::NOENT)) => return Err(e.into()),
        Err(_) => {}
    }
    match linkat(&from, name, &to, free, AtFlags::empty()) {
        Ok(()) => return Ok(unlinkat(&from, name, AtFlags::empty())?),
        Err(Errno::EXIST) => return Err(Errno::EXIST.into()),
        Err(_) => {}
    }
    rename_if_free(from, name, to, free)
}

/// Checks that the name is free, then renames. Another program that creates a file of this name in
/// between loses it; so this is the last resort.
fn rename_if_free(
    from: impl AsFd,
    name: impl rustix::path::Arg,
    to: impl AsFd,
    free: impl rustix::path::Arg + Copy,
) -> io::Result<()> {
    match statat(&to, free, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST.into()),
        // The rename reports what is wrong, if it is not a missing file.
        Err(_) => Ok(renameat(from, name, to, free)?),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::OwnedFd;

    #[test]
    fn two_files_are_exchanged_on_any_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let handle: OwnedFd = fs::File::open(dir.path()).unwrap().into();
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        type Change = fn(&OwnedFd, &str, &str) -> io::Result<()>;
        let changes: [Change; 2] =
            [|dir, a, b| exchange(dir, a, b), |dir, a, b| exchange_in_steps(dir, a, b)];
        for change in changes {
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
    fn the_replaced_file_comes_back_if_ours_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let handle: OwnedFd = fs::File::open(dir.path()).unwrap().into();
        fs::write(dir.path().join("theirs"), "old").unwrap();
        let error = exchange_in_steps(&handle, "ours", "theirs").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_to_string(dir.path().join("theirs")).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_an_interrupted_exchange_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let handle: OwnedFd = fs::File::open(dir.path()).unwrap().into();
        for (name, text) in [("ours", "new"), ("theirs", "old"), ("ours.old", "left")] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let error = exchange_in_steps(&handle, "ours", "theirs").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(dir.path().join("ours.old")).unwrap(), "left");
        assert_eq!(fs::read_to_string(dir.path().join("theirs")).unwrap(), "old");
    }

    #[test]
    fn a_taken_name_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let handle: OwnedFd = fs::File::open(dir.path()).unwrap().into();
        type Rename = fn(&OwnedFd, &str, &OwnedFd, &str) -> io::Result<()>;
        let renames: [Rename; 2] = [
            |a, from, b, to| rename_new(a, from, b, to),
            |a, from, b, to| rename_if_free(a, from, b, to),
        ];
        for rename in renames {
            fs::write(dir.path().join("a"), "a").unwrap();
            fs::write(dir.path().join("b"), "b").unwrap();
            let error = rename(&handle, "a", &handle, "b").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            rename(&handle, "a", &handle, "c").unwrap();
            assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "b");
            fs::remove_file(dir.path().join("c")).unwrap();
            let error = rename(&handle, "a", &handle, "c").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }
}
