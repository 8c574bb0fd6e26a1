//! The files that a move of files and directories finds on the disk.

use std::path::Path;

/// Maximum number of files in a directory that moves.
const MAX_FILES: usize = 100_000;
/// Maximum number of files that warnings name.
const MAX_NAMED: usize = 20;

/// Names the files that are still where they were before the moves `folders`.
pub(super) fn not_moved(root: &Path, folders: &[(String, String)]) -> Vec<String> {
    let mut files = Vec::new();
    for (from, _) in folders.iter().filter(|(from, to)| is_other_file(root, to, from)) {
        let old = root.join(from);
        match old.is_dir() {
            true => list_files(&old, from, &mut files),
            false => files.push(from.clone()),
        }
    }
    let more = files.len().saturating_sub(MAX_NAMED);
    files.truncate(MAX_NAMED);
    let named = files.into_iter().map(|file| format!("the file \"{file}\" was not moved"));
    let more = (more > 0).then(|| format!("{more} more files were not moved"));
    named.chain(more).collect()
}

/// Returns whether there is another file at the new path. On some file systems a file also has its
/// name in other letter case.
pub(super) fn is_other_file(root: &Path, from: &str, to: &str) -> bool {
    let Ok(new) = root.join(to).canonicalize() else { return false };
    root.join(from).canonicalize().map_or(true, |old| old != new)
}

/// Lists the files below a directory, as paths from the root of the source.
pub(super) fn list_files(dir: &Path, path: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{path}/{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list_files(&entry.path(), &path, found),
            Ok(kind) if kind.is_file() && found.len() < MAX_FILES => found.push(path),
            _ => {}
        }
    }
}

/// Removes a directory and those in it if they have no files.
pub(super) fn remove_empty_dirs(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty_dirs(&entry.path());
        }
    }
    // Fails if there is a file in it, which then stays.
    let _ = std::fs::remove_dir(dir);
}
