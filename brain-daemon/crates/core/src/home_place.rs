//! Whether the home is still where it was at the start.
//!
//! The store's file stays open when its directory is moved or removed, so it would go on being written where nobody finds
//! it, and everything else would be made anew at the old place.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brain_protocol::{Fault, FaultCode};

use super::Brain;

impl Brain {
    /// Whether the home is the directory that it was at the start.
    #[must_use]
    pub fn is_home_here(&self) -> bool {
        self.is_home(self.home.root())
    }

    /// Whether `dir` is the home, wherever that is now.
    pub(super) fn is_home(&self, dir: &Path) -> bool {
        is_same_directory(&self.home_handle, dir)
    }

    /// Refuses what would write to the home when it is not.
    pub(super) fn check_home(&self) -> Result<(), Fault> {
        if self.is_home_here() {
            return Ok(());
        }
        Err(Fault::new(FaultCode::ReadOnly, self.moved_home()).hint(self.way_back()))
    }

    /// What can be done then.
    pub(super) fn way_back(&self) -> String {
        format!(
            "move it back, or end this daemon with `kill {}` and start it again with BRAIN_HOME set to the new place",
            std::process::id()
        )
    }

    /// What is said when it is not.
    pub(super) fn moved_home(&self) -> String {
        format!(
            "the home {} was moved, removed or replaced while the daemon ran; nothing is written there",
            self.home.root().display()
        )
    }
}

/// Whether `path` is the directory that `handle` stands for.
fn is_same_directory(handle: &File, path: &Path) -> bool {
    let ids = |meta: Metadata| (meta.dev(), meta.ino());
    match (handle.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => ids(held) == ids(there),
        _ => false,
    }
}
