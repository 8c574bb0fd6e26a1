//! A tree of one file, for a format whose exports are directories of such files.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::{Entry, Place, Tree};

impl Entry {
    /// Returns the entry of a file of a directory.
    pub(super) fn of_file(path: String, metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|it| Timestamp::try_from(it).ok());
        Self { path, size: metadata.len(), modified, number: (0, 0) }
    }
}

impl Tree {
    /// Returns a tree with only the file at a path.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entry = Entry::of_file(name, &fs::metadata(path)?);
        let directory = path.parent().unwrap_or(path).to_owned();
        Ok(Self { place: Place::Directory(directory), entries: vec![entry], problems: Vec::new() })
    }
}
