//! Paths below a directory that no link leads out of.
//!
//! The kernel resolves each path in one step, from a handle of the directory (`openat2` with `RESOLVE_BENEATH`). A
//! directory that is replaced by a link in the meantime is not followed out of the tree.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2};
use rustix::io::Errno;

/// The kernel gives up when a directory is renamed while it resolves a path.
const TRIES: usize = 16;
/// A handle that only stands for a directory: it takes no permission to read it.
const DIR: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory that paths are relative to.
#[derive(Debug)]
pub struct Root {
    handle: OwnedFd,
    path: PathBuf,
}

impl Root {
    /// Opens the directory at `path`. A link may lead to the directory itself.
    ///
    /// # Errors
    /// When there is no directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: open(path, DIR, Mode::empty())?, path: path.to_owned() })
    }

    /// Returns a handle of the directory at `path` below this one. Links may lead elsewhere below it.
    ///
    /// # Errors
    /// When it is not there, or a link leads out.
    pub fn dir(&self, path: &Path) -> io::Result<OwnedFd> {
        resolve(self.handle.as_fd(), path, DIR, ResolveFlags::empty()).map_err(|e| match e {
            Errno::XDEV => io::Error::other(format!(
                "{} leads out of {}",
                self.path.join(path).display(),
                self.path.display()
            )),
            e => e.into(),
        })
    }

    /// As [`Root::dir`]; makes the directories that are not there.
    ///
    /// # Errors
    /// When one cannot be made, or a link leads out.
    pub fn make_dir(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.dir(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let mut here = PathBuf::new();
        let mut dir = self.dir(&here)?;
        for part in path.components() {
            match mkdirat(&dir, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
            here.push(part);
            dir = self.dir(&here)?;
        }
        Ok(dir)
    }

    /// Opens the file at `path` for reading, if the way there has no link at all. Does not wait for a pipe.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is behind a link (`ELOOP`, `ENOTDIR`).
    pub fn file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(resolve(self.handle.as_fd(), path, flags, ResolveFlags::NO_SYMLINKS)?.into())
    }

    /// Returns a handle that stands for what is at `path`, if the way there has no link.
    ///
    /// # Errors
    /// As [`Root::file`]; it need not be readable.
    pub fn stand(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(resolve(self.handle.as_fd(), path, flags, ResolveFlags::NO_SYMLINKS)?.into())
    }
}

fn resolve(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    how: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let how = how | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(root, path, flags, Mode::empty(), how) {
            Err(Errno::AGAIN) => {}
            // Linux before 5.6, or a container that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return step_by_step(root, path, flags),
            other => return other,
        }
    }
    step_by_step(root, path, flags)
}

/// Opens one directory after another, and follows no link.
fn step_by_step(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut parts = path.components().peekable();
    let mut dir = openat(root, ".", DIR, Mode::empty())?;
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() { flags } else { DIR };
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                dir = openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty())?
            }
            _ => return Err(Errno::XDEV),
        }
    }
    Ok(dir)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_leads_out() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Root::open(dir.path()).unwrap();
        std::fs::write(outside.path().join("x.md"), "secret").unwrap();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        root.make_dir(Path::new("a/b")).unwrap();
        symlink("a", dir.path().join("inside")).unwrap();
        assert!(root.dir(Path::new("inside/b")).is_ok());
        for path in ["out", "out/new", "../x", "/"] {
            assert!(root.dir(Path::new(path)).is_err(), "{path}");
            assert!(root.make_dir(Path::new(path)).is_err(), "{path}");
        }
        assert!(root.file(Path::new("out/x.md")).is_err());
        let steps = |path: &str| step_by_step(root.handle.as_fd(), Path::new(path), DIR);
        assert!(steps("a/b").is_ok() && steps(".").is_ok());
        assert!(steps("out").is_err() && steps("inside/b").is_err() && steps("../x").is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
