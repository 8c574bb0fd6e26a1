//! Finding the markdown files of a directory.

use std::path::{Path, PathBuf};

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// Markdown files: the path relative to the directory with `/` between its parts, and the place.
    pub files: Vec<(String, PathBuf)>,
    /// Files that are not markdown.
    pub skipped: u64,
    /// Places that could not be read, or whose name is not UTF-8, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// All `.md`, `.markdown` and `.mdx` files below `dir`, in the order of their paths. The directory `except` and those whose
/// name begins with a dot are left out; links are not followed, and count as skipped.
#[must_use]
pub fn markdown_files(dir: &Path, except: &Path) -> Found {
    let mut found = Found::default();
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter();
    let hidden = |e: &walkdir::DirEntry| {
        let dotted = e.file_name().as_encoded_bytes().starts_with(b".");
        e.depth() > 0 && e.file_type().is_dir() && (dotted || e.path() == except)
    };
    for entry in walk.filter_entry(|e| !hidden(e)) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                let place = e.path().unwrap_or(dir).display().to_string();
                let why = e.io_error().map_or_else(|| e.to_string(), ToString::to_string);
                found.unreadable.push((place, why));
                continue;
            }
        };
        if entry.file_type().is_dir() {
            continue;
        }
        if !entry.file_type().is_file() {
            found.skipped += 1;
            continue;
        }
        let markdown = entry
            .path()
            .extension()
            .is_some_and(|e| ["md", "markdown", "mdx"].iter().any(|known| e.eq_ignore_ascii_case(known)));
        if !markdown {
            found.skipped += 1;
            continue;
        }
        match entry.path().strip_prefix(dir).ok().and_then(Path::to_str) {
            Some(path) => found.files.push((path.to_owned(), entry.path().to_owned())),
            None => {
                found.unreadable.push((entry.path().display().to_string(), "its name is not UTF-8".into()));
            }
        }
    }
    found
}
