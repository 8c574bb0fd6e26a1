//! Finds the markdown files of a directory and their sizes and times, without reading them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;

use super::ignore_rules::IgnoreRules;
use super::root_dir::RootDir;
use super::walk::for_each_markdown_file;
use brain_protocol::IgnoredFiles;

/// Size and times of a file, to notice changes without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub size: u64,
    /// When the content changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When the content or metadata changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
}

impl Stat {
    /// Converts metadata of the file system.
    #[must_use]
    pub fn of(meta: &fs::Metadata) -> Self {
        let (mtime, ctime) = (meta.mtime_nsec(), meta.ctime_nsec());
        Self::new(meta.len(), (meta.mtime(), mtime), (meta.ctime(), ctime))
    }

    /// Takes times as seconds and nanoseconds.
    fn new(size: u64, mtime: (i64, i64), ctime: (i64, i64)) -> Self {
        let nanoseconds = |(seconds, rest): (i64, i64)| {
            seconds.saturating_mul(1_000_000_000).saturating_add(rest)
        };
        Self { size, mtime_ns: nanoseconds(mtime), ctime_ns: nanoseconds(ctime) }
    }
}

impl From<rustix::fs::Stat> for Stat {
    fn from(stat: rustix::fs::Stat) -> Self {
        Self::new(
            stat.st_size.unsigned_abs(),
            (stat.st_mtime, stat.st_mtime_nsec.cast_signed()),
            (stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
        )
    }
}

/// A markdown file.
#[derive(Debug, Clone)]
pub struct MarkdownFile {
    /// Path relative to the directory, with `/` as separator.
    pub path: String,
    /// Size and times.
    pub stat: Stat,
}

/// Result of a directory walk.
#[derive(Debug, Default)]
pub struct ScanReport {
    /// Markdown files, in the order of the walk.
    pub files: Vec<MarkdownFile>,
    /// Number of files that are not markdown, and of links.
    pub other_files: u64,
    /// Paths that could not be read or are not UTF-8, with the reason. Relative to the directory;
    /// empty for the directory itself.
    pub unreadable: Vec<(String, String)>,
    /// Directories below that are separate git work trees.
    pub repositories: Vec<String>,
    /// Files and directories that the rules left out, and hidden directories.
    pub ignored: IgnoredFiles,
}

/// Returns all `.md`, `.markdown` and `.mdx` files of `dir` at or below the path `below`; an empty
/// path means all of `dir`. Leaves out the directory `except`, directories whose names begin with a
/// dot, paths that the rules leave out, and links.
#[must_use]
pub fn markdown_files(
    dir: &Path,
    below: &str,
    rules: &IgnoreRules,
    except: Option<&Path>,
) -> ScanReport {
    let mut files = Vec::new();
    let found = for_each_markdown_file(dir, below, rules, except, &mut |file| {
        files.push(file);
        true
    });
    ScanReport { files, ..found }
}

/// Returns size and times of the file at `path` in `dir`. `None` when there is no regular file, or
/// when it is below a link or a hidden directory.
///
/// # Errors
/// When the file's metadata cannot be read.
pub fn stat_of(dir: &Path, path: &str) -> io::Result<Option<Stat>> {
    // A file name can begin with a dot; a directory's cannot.
    let is_hidden =
        path.rsplit_once('/').is_some_and(|(dirs, _)| dirs.split('/').any(|d| d.starts_with('.')));
    if is_hidden {
        return Ok(None);
    }
    match RootDir::open(dir)
        .and_then(|root| root.open_path(Path::new(path)))
        .and_then(|file_path| file_path.metadata())
    {
        Ok(meta) => Ok(meta.is_file().then(|| Stat::of(&meta))),
        Err(e) if is_missing(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether an error of [`RootDir::open_file`] or [`RootDir::open_path`] means that there is no file
/// at the path, or only through a symbolic link.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::XDEV))
}

/// Whether a walk can reach `path`: it is no hidden directory, and no directory above is hidden or
/// a link.
pub(super) fn is_reachable(dir: &Path, path: &str) -> bool {
    let mut file_path = dir.to_owned();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        file_path.push(part);
        let is_last = parts.peek().is_none();
        // A file name can begin with a dot; a directory's cannot.
        if part.starts_with('.') && (!is_last || file_path.is_dir()) {
            return false;
        }
        if !is_last && !fs::symlink_metadata(&file_path).is_ok_and(|meta| meta.is_dir()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn write(dir: &Path, path: &str) {
        let file_path = dir.join(path);
        fs::create_dir_all(file_path.parent().unwrap()).unwrap();
        fs::write(file_path, "x").unwrap();
    }

    fn paths(found: &ScanReport) -> Vec<&str> {
        found.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn hidden_and_linked_files_are_not_found() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path();
        write(outside.path(), "secret.md");
        for path in [
            "a.md",
            "b/c.MDX",
            "b/.hidden/x.md",
            ".trash/x.md",
            "b/pic.png",
            "lib/.git/HEAD",
            "lib/r.md",
        ] {
            write(root, path);
        }
        std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), root.join("link.md")).unwrap();
        let found = markdown_files(root, "", &IgnoreRules::off(), None);
        assert_eq!(paths(&found), ["a.md", "b/c.MDX", "lib/r.md"]);
        assert_eq!((found.other_files, found.repositories), (3, vec!["lib".to_owned()]));
        assert_eq!(paths(&markdown_files(root, "b", &IgnoreRules::off(), None)), ["b/c.MDX"]);
        assert_eq!(paths(&markdown_files(root, "a.md", &IgnoreRules::off(), None)), ["a.md"]);
        for below in
            ["out", "out/secret.md", "link.md", ".trash", "b/.hidden/x.md", "none", "a.md/x"]
        {
            let found = markdown_files(root, below, &IgnoreRules::off(), None);
            assert_eq!(paths(&found), Vec::<&str>::new(), "{below}");
            assert_eq!(stat_of(root, below).unwrap(), None, "{below}");
        }
        assert_eq!(stat_of(root, "a.md").unwrap(), Some(found.files[0].stat));
    }

    #[test]
    fn rules_leave_files_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in [
            "a.md",
            "!first.md",
            "node_modules/x/README.md",
            "p/.venv/x.md",
            "p/target/x.md",
            "p/draft.md",
            "q/draft.md",
        ] {
            write(root, path);
        }
        fs::write(root.join("p/.brainignore"), "draft.md\n!target/\n").unwrap();
        fs::write(root.join(".gitignore"), "\\!first.md\n").unwrap();
        let rules = IgnoreRules::new(root, &[], &[]).unwrap();
        let found = markdown_files(root, "", &rules, None);
        assert_eq!(paths(&found), ["a.md", "p/target/x.md", "q/draft.md"]);
        assert_eq!((found.ignored.files, found.ignored.directories), (2, 2));
        let left_out = ["!first.md", "node_modules/", "p/.venv/", "p/draft.md"];
        assert_eq!(found.ignored.paths, left_out);
        assert_eq!(paths(&markdown_files(root, "p", &rules, None)), ["p/target/x.md"]);
        assert_eq!(paths(&markdown_files(root, "p/target/x.md", &rules, None)), ["p/target/x.md"]);
        for below in ["p/draft.md", "node_modules", "node_modules/x/README.md"] {
            assert!(markdown_files(root, below, &rules, None).files.is_empty(), "{below}");
        }
    }

    #[test]
    fn files_are_sorted_by_path() {
        let dir = tempfile::tempdir().unwrap();
        for path in
            ["a/x.md", "a-b/x.md", "a.md", "a/b/c.md", "a/b-c.md", "b/é.md", "b/z.md", "B.md"]
        {
            write(dir.path(), path);
        }
        let found = markdown_files(dir.path(), "", &IgnoreRules::off(), None);
        assert_eq!(found.files.len(), 8);
        assert!(paths(&found).is_sorted(), "{:?}", paths(&found));
    }

    #[test]
    fn a_missing_directory_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let found = markdown_files(&dir.path().join("none"), "", &IgnoreRules::off(), None);
        assert_eq!((found.files.len(), found.unreadable[0].0.as_str()), (0, ""));
    }
}
