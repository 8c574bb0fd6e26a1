//! Names of files and pages.

/// Returns the name of a file without folders and without `.md`.
pub(crate) fn stem(path: &str) -> &str {
    bare(path.rsplit('/').next().unwrap_or(path))
}

/// Returns a path without the extension of markdown.
pub(crate) fn bare(path: &str) -> &str {
    [".md", ".markdown", ".mdx"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path)
}
