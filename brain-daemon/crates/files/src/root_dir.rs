//! Resolves paths below a directory. No symbolic link leads out of it.
//!
//! The kernel resolves each path in one step, from a handle of the directory (`openat2` with
//! `RESOLVE_BENEATH`). So no path leads out, even if a directory is replaced by a link meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, chmodat, fstat, mkdirat, open, openat, openat2, syncfs,
};
use rustix::io::Errno;

use super::parts::Parts;

/// Attempts to resolve a path: the kernel gives up when a directory is renamed meanwhile.
const MAX_ATTEMPTS: usize = 16;
/// Flags for a directory handle that needs no read permission.
const DIR: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A directory that paths are resolved below.
#[derive(Debug)]
pub struct RootDir {
    handle: OwnedFd,
    path: PathBuf,
    /// The file systems that files may be in; `None` for any.
    parts: Option<Parts>,
}

impl RootDir {
    /// Opens the directory at `path`, which can be a symbolic link.
    ///
    /// # Errors
    /// When there is no directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let handle = open(path, DIR, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned(), parts: None })
    }

    /// Opens the directory at `path`, which is no symbolic link.
    ///
    /// # Errors
    /// When there is no directory, or a link.
    pub fn open_unlinked(path: &Path) -> io::Result<Self> {
        let handle = open(path, DIR | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned(), parts: None })
    }

    /// Refuses files and directories that are in other file systems than these parts.
    #[must_use]
    pub fn with_parts(self, parts: Parts) -> Self {
        Self { parts: Some(parts), ..self }
    }

    /// Returns the parts, if they were set.
    #[must_use]
    pub fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// Returns the path that it was opened at.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses `path` if it is in a part that is away.
    ///
    /// # Errors
    /// Says why; see [`super::is_away`].
    pub(super) fn check_path(&self, path: &Path) -> io::Result<()> {
        self.parts.as_ref().map_or(Ok(()), |parts| parts.check_path(path))
    }

    /// Refuses the open file or directory at `path` if it is in another file system than expected.
    ///
    /// # Errors
    /// Says why; see [`super::is_away`].
    pub(super) fn check(&self, path: &Path, handle: impl AsFd) -> io::Result<()> {
        self.parts.as_ref().map_or(Ok(()), |parts| parts.check(path, handle))
    }

    /// Flushes the file systems of the directory to the disk.
    pub fn sync(&self) -> io::Result<()> {
        let roots = self.parts.iter().flat_map(Parts::present).chain([&self.handle]);
        for root in roots {
            match openat(root, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
                Ok(root) => syncfs(root)?,
                // A single file that is mounted: its writer flushes it.
                Err(Errno::NOTDIR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Opens a handle of the directory at `path` below this one. Follows links that stay below it;
    /// on systems without `openat2`, follows no links.
    ///
    /// # Errors
    /// When the directory is missing, or a link leads out.
    pub fn open_dir(&self, path: &Path) -> io::Result<OwnedFd> {
        self.resolve(path, DIR, ResolveFlags::empty()).map_err(|e| match Errno::from_io_error(&e) {
            Some(Errno::XDEV) => io::Error::other(format!(
                "{} leads out of {}",
                self.path.join(path).display(),
                self.path.display()
            )),
            _ => e,
        })
    }

    /// As [`RootDir::open_dir`]; creates missing directories. With `inherit_mode`, they get the
    /// mode of their parent directory.
    ///
    /// # Errors
    /// When a directory cannot be created, or a link leads out.
    pub fn create_dir(&self, path: &Path, inherit_mode: bool) -> io::Result<OwnedFd> {
        match self.open_dir(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let mut current_path = PathBuf::new();
        let mut dir = self.open_dir(&current_path)?;
        for part in path.components() {
            let is_new = match mkdirat(&dir, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(e) => return Err(e.into()),
            };
            current_path.push(part);
            let subdirectory = self.open_dir(&current_path)?;
            if is_new && inherit_mode {
                // A file system without modes refuses this. The directory is usable nevertheless.
                let mode = Mode::from_raw_mode(fstat(&dir)?.st_mode & 0o7777);
                let _ = chmodat(&dir, part.as_os_str(), mode, AtFlags::empty());
            }
            dir = subdirectory;
        }
        Ok(dir)
    }

    /// Opens the file at `path` for reading. Follows no links and does not wait for a pipe.
    ///
    /// # Errors
    /// When the file is missing, unreadable, a link, or below a link (`ELOOP`, `ENOTDIR`).
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(self.resolve(path, flags, ResolveFlags::NO_SYMLINKS)?.into())
    }

    /// Returns a path handle (`O_PATH`) of `path`, which can be a link. Follows no links.
    ///
    /// # Errors
    /// When the file is missing or below a link. The file need not be readable.
    pub fn open_path(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(self.resolve(path, flags, ResolveFlags::NO_SYMLINKS)?.into())
    }

    /// Opens `path` with `flags`, in the file system that it belongs to.
    fn resolve(&self, path: &Path, flags: OFlags, how: ResolveFlags) -> io::Result<OwnedFd> {
        self.check_path(path)?;
        let handle = resolve(self.handle.as_fd(), path, flags, how)?;
        self.check(path, &handle)?;
        Ok(handle)
    }
}

impl AsFd for RootDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Opens `path` below `root` with `flags`; an empty path is `root` itself.
fn resolve(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    resolve_flags: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve_flags = resolve_flags | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..MAX_ATTEMPTS {
        match openat2(root, path, flags, Mode::empty(), resolve_flags) {
            Err(Errno::AGAIN) => {}
            // Linux before 5.6, or a container without this call.
            Err(Errno::NOSYS | Errno::PERM) => return resolve_step_by_step(root, path, flags),
            other => return other,
        }
    }
    resolve_step_by_step(root, path, flags)
}

/// Opens `path` one component after another, following no links.
fn resolve_step_by_step(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut parts = path.components().peekable();
    let mut dir = openat(root, ".", DIR, Mode::empty())?;
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() { flags } else { DIR };
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                dir = openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
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
    fn no_path_leads_out_through_a_link() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = RootDir::open(dir.path()).unwrap();
        std::fs::write(outside.path().join("x.md"), "secret").unwrap();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        root.create_dir(Path::new("a/b"), false).unwrap();
        symlink("a", dir.path().join("inside")).unwrap();
        assert!(root.open_dir(Path::new("inside/b")).is_ok());
        for path in ["out", "out/new", "../x", "/"] {
            assert!(root.open_dir(Path::new(path)).is_err(), "{path}");
            assert!(root.create_dir(Path::new(path), false).is_err(), "{path}");
        }
        assert!(root.open_file(Path::new("out/x.md")).is_err());
        let steps = |path: &str| resolve_step_by_step(root.handle.as_fd(), Path::new(path), DIR);
        assert!(steps("a/b").is_ok() && steps(".").is_ok());
        assert!(steps("out").is_err() && steps("inside/b").is_err() && steps("../x").is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
