//! The parts of a source's directory: the directory itself, and each file system that is mounted
//! below it.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::place::DirId;

/// The parts of a directory when it was last checked. Files of other file systems are refused.
#[derive(Debug)]
pub struct Parts {
    root: DirId,
    present: Vec<PresentPart>,
    away: Vec<AwayPart>,
}

/// A file system that is mounted below the directory, and belongs there.
#[derive(Debug)]
pub struct PresentPart {
    /// Path relative to the directory.
    pub path: String,
    /// What is mounted there.
    pub id: DirId,
    /// Its open root. While it is open, no other mount gets its number.
    pub handle: OwnedFd,
}

/// A part that is not there, or that another file system covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwayPart {
    /// Path relative to the directory.
    pub path: String,
    /// Why it is away, for people.
    pub reason: String,
}

impl Parts {
    /// Returns the parts of a directory with this identity.
    #[must_use]
    pub fn new(root: DirId, present: Vec<PresentPart>, away: Vec<AwayPart>) -> Self {
        Self { root, present, away }
    }

    /// Returns the parts that are away.
    #[must_use]
    pub fn away(&self) -> &[AwayPart] {
        &self.away
    }

    /// Returns the roots of the file systems below the directory.
    pub(super) fn present(&self) -> impl Iterator<Item = &OwnedFd> {
        self.present.iter().map(|part| &part.handle)
    }

    /// Returns whether the directory and its parts are the same as in `other`.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let present = |parts: &Self| -> Vec<(String, DirId)> {
            parts.present.iter().map(|part| (part.path.clone(), part.id)).collect()
        };
        self.root == other.root && present(self) == present(other) && self.away == other.away
    }

    /// Refuses `path` if it is in a part that is away.
    ///
    /// # Errors
    /// Says why; see [`is_away`].
    pub(super) fn check_path(&self, path: &Path) -> io::Result<()> {
        match self.away.iter().find(|part| path.starts_with(&part.path)) {
            Some(part) => Err(away_error(&part.reason)),
            None => Ok(()),
        }
    }

    /// Refuses the open file or directory at `path` if it is in another file system than expected.
    ///
    /// # Errors
    /// Says why; see [`is_away`].
    pub(super) fn check(&self, path: &Path, handle: impl AsFd) -> io::Result<()> {
        self.check_path(path)?;
        let parts = self.present.iter().filter(|part| path.starts_with(&part.path));
        let expected = parts.max_by_key(|part| part.path.len()).map_or(self.root, |part| part.id);
        if DirId::of(handle)?.is_in_mount_of(&expected) {
            return Ok(());
        }
        Err(away_error("a disk was mounted or unmounted there meanwhile"))
    }
}

/// The error of a file that is in a part that is away.
#[derive(Debug)]
struct Away(String);

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Away {}

/// Returns the error of a directory that is away, with the reason for people.
pub fn away_error(reason: &str) -> io::Error {
    io::Error::other(Away(reason.to_owned()))
}

/// Returns whether an error means that a disk, or a part of a source, is away.
#[must_use]
pub fn is_away(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<Away>())
}
