//! The files of an import: those of a directory or a ZIP archive, or one file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use brain_convert_base::{ConvertError, Output, Tree};

/// Maximum length of a file of text, in bytes.
pub(crate) const MAX_TEXT: usize = 16 * 1024 * 1024;

/// The files of an import.
pub(crate) struct Source {
    tree: Option<Tree>,
    path: PathBuf,
    /// The paths of all files, sorted. For one file, its name.
    files: Vec<String>,
}

impl Source {
    /// Opens a directory, a ZIP archive or a file.
    ///
    /// # Errors
    /// [`ConvertError::Read`] if it cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let tree = Tree::open(path).map_err(ConvertError::read(path))?;
        let files = match &tree {
            Some(tree) => tree.entries().iter().map(|entry| entry.path.clone()).collect(),
            None => {
                vec![path.file_name().unwrap_or_default().to_string_lossy().into_owned()]
            }
        };
        Ok(Self { tree, path: path.to_owned(), files })
    }

    /// Returns whether this is a directory or an archive.
    pub(crate) fn is_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// The paths of all files, sorted.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    /// Returns whether there is a file at exactly this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.binary_search_by(|known| known.as_str().cmp(path)).is_ok()
    }

    /// Reads a file. Returns `None` if it has more than `max` bytes, or does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(&self, path: &str, max: usize) -> io::Result<Option<Vec<u8>>> {
        match &self.tree {
            Some(tree) => match tree.entry(path) {
                Some(entry) => tree.read(entry, max),
                None => Ok(None),
            },
            None => {
                let mut bytes = Vec::new();
                File::open(&self.path)?.take(max as u64 + 1).read_to_end(&mut bytes)?;
                Ok((bytes.len() <= max).then_some(bytes))
            }
        }
    }

    /// Reads at most `max` bytes of the beginning of a file.
    pub(crate) fn head(&self, path: &str, max: usize) -> Vec<u8> {
        let read = || match &self.tree {
            Some(tree) => tree.head(tree.entry(path)?, max).ok(),
            None => {
                let mut bytes = Vec::new();
                File::open(&self.path).ok()?.take(max as u64).read_to_end(&mut bytes).ok()?;
                Some(bytes)
            }
        };
        read().unwrap_or_default()
    }

    /// Reads a file as text, without a byte order mark and carriage returns. The error is a reason
    /// for the report.
    pub(crate) fn text(&self, path: &str) -> Result<String, String> {
        let bytes =
            self.read(path, MAX_TEXT).map_err(|error| format!("cannot be read: {error}"))?;
        let bytes = bytes.ok_or_else(|| format!("it has more than {MAX_TEXT} bytes, the limit"))?;
        match String::from_utf8(bytes) {
            Ok(text) => {
                let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
                Ok(if text.contains('\r') { text.replace("\r\n", "\n") } else { text })
            }
            Err(_) => Err("it is not UTF-8".to_owned()),
        }
    }

    /// Reports the files that could not be listed.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn report_problems(&self, out: &mut Output<'_>) -> io::Result<()> {
        self.tree.as_ref().map_or(Ok(()), |tree| tree.report_problems(out))
    }
}

/// Returns the folder of a path; empty at the root.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last name of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the path that `path` names from a folder, or `None` if it leads out of the import.
pub(crate) fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
