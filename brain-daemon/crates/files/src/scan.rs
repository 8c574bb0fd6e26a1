//! Finds the markdown files of a directory and their sizes and times, without reading them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;

use super::root_dir::RootDir;
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

/// Maximum number of paths of files that are not markdown.
pub(super) const MAX_OTHER_PATHS: usize = 100_000;

/// Result of a directory walk.
#[derive(Debug, Default)]
pub struct ScanReport {
    /// Markdown files, in the order of the walk.
    pub files: Vec<MarkdownFile>,
    /// Number of files that are not markdown, and of links.
    pub other_files: u64,
    /// The paths of the first 100,000 of them.
    pub other_paths: Vec<String>,
    /// Symbolic links with the name of a markdown file, or to a directory.
    pub links: Vec<String>,
    /// Paths that could not be read or are not UTF-8, with the reason. Relative to the directory;
    /// empty for the directory itself.
    pub unreadable: Vec<(String, String)>,
    /// Directories below that are separate git work trees.
    pub repositories: Vec<String>,
    /// Files and directories that the rules left out, and hidden directories.
    pub ignored: IgnoredFiles,
}

/// Returns size and times of the file at `path` in `root`. `None` when there is no regular file, or
/// when it is below a link or a hidden directory.
pub fn stat_of(root: &RootDir, path: &str) -> io::Result<Option<Stat>> {
    // A file name can begin with a dot; a directory's cannot.
    let is_hidden =
        path.rsplit_once('/').is_some_and(|(dirs, _)| dirs.split('/').any(|d| d.starts_with('.')));
    if is_hidden {
        return Ok(None);
    }
    match root.open_path(Path::new(path)).and_then(|file| file.metadata()) {
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
