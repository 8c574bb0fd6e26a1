//! Finds the ENEX files of an export, and opens them.

use std::fs::{self, File};
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::input::Input;
use brain_convert_base::{ConvertError, Output};

/// Maximum depth of directories. A stack of notebooks is one.
const MAX_DEPTH: usize = 4;
/// Size of the buffer for a file, in bytes.
const BUFFER: usize = 64 * 1024;
const BOM: &[u8; 3] = b"\xEF\xBB\xBF";

/// An ENEX file.
pub(super) struct Enex {
    path: PathBuf,
    /// Its name for people: its path below the export.
    pub(super) shown: String,
    /// The folders of its pages: stack and notebook.
    pub(super) folders: Vec<String>,
}

/// Returns whether a file's name is the one of an ENEX file.
pub(super) fn is_export(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("enex"))
}

/// Returns the ENEX files of a path, sorted. Reports other files in a directory.
pub(super) fn find(path: &Path, out: &mut Output<'_>) -> Result<Vec<Enex>, ConvertError> {
    if !path.is_dir() {
        let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(vec![Enex { path: path.to_owned(), shown, folders: vec![stem(path)] }]);
    }
    let mut found = Vec::new();
    let mut directories = vec![(path.to_owned(), Vec::new())];
    while let Some((directory, folders)) = directories.pop() {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&directory).map_err(ConvertError::read(&directory))? {
            paths.push(entry.map_err(ConvertError::read(&directory))?.path());
        }
        for inner in paths {
            let metadata = fs::symlink_metadata(&inner).map_err(ConvertError::read(&inner))?;
            let shown = inner.strip_prefix(path).unwrap_or(&inner).to_string_lossy().into_owned();
            let mut folders: Vec<String> = folders.clone();
            if metadata.is_dir() && folders.len() < MAX_DEPTH {
                folders.push(name(&inner));
                directories.push((inner, folders));
            } else if metadata.is_file() && is_export(&inner) {
                folders.push(stem(&inner));
                found.push(Enex { path: inner, shown, folders });
            } else {
                out.lost(&shown, "it is not an ENEX file")?;
            }
        }
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

impl Enex {
    /// Opens the file at a position that [`Input::position`] returned, or at 0. Positions do not
    /// count a byte order mark.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub(super) fn open(&self, position: u64) -> Result<Input<BufReader<File>>, String> {
        let open = || {
            let mut file = File::open(&self.path)?;
            let mut head = Vec::new();
            Read::by_ref(&mut file).take(3).read_to_end(&mut head)?;
            let start = if head == BOM { 3 } else { 0 };
            file.seek(SeekFrom::Start(position.saturating_add(start)))?;
            Ok(Input::new(BufReader::with_capacity(BUFFER, file)))
        };
        open().map_err(|error: std::io::Error| error.to_string())
    }
}
