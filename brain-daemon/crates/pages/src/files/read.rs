//! Reads one file of a source and parses it, before the writer gets it.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use brain_protocol::{Fault, FaultCode, MAX_CONTENT, NameError, Slug};

use crate::provenance::SYNC;
use crate::write_page::{read_document, read_page};
use brain_files::{CommitTimes, GitHistory, RootDir, Stat, digest, is_missing};
use brain_page::{NoteDates, plain_slug};
use brain_store::{FileRecord, Hash, LineChange, NewPage, Provenance};

/// The time after a change of a file in which it may change again with the same times, in
/// nanoseconds.
const RACY_NS: i64 = 2_000_000_000;

/// A file to read.
#[derive(Debug, Clone)]
pub struct FileToRead {
    /// The path in the source.
    pub path: String,
    /// The length in the directory walk.
    pub size: u64,
    /// The slug of the page, or of the page to be created; `None` for that of the path, which most
    /// have.
    slug: Option<Box<Slug>>,
    /// The page that has this path, deleted pages included. Boxed, because a new source can have a
    /// million files without one.
    pub page: Option<Box<PageOfFile>>,
}

impl FileToRead {
    /// Creates a file to read, whose page has this slug.
    #[must_use]
    pub fn new(path: String, size: u64, slug: Slug, page: Option<Box<PageOfFile>>) -> Self {
        let is_plain = plain_slug(&path).is_ok_and(|plain| plain == slug);
        Self { path, size, slug: (!is_plain).then(|| Box::new(slug)), page }
    }

    /// Returns the slug of the page.
    ///
    /// # Errors
    /// None: [`FileToRead::new`] leaves a slug out only if the path has it.
    pub fn slug(&self) -> Result<Slug, NameError> {
        self.slug.as_deref().map_or_else(|| plain_slug(&self.path), |slug| Ok(slug.clone()))
    }
}

/// The page that a file had when it was last read.
#[derive(Debug, Clone)]
pub struct PageOfFile {
    /// The digest of the file when it was last equal to its page, if the page is unchanged. A file
    /// with this digest need not be parsed.
    pub synced_digest: Option<Hash>,
    /// The provenance in the record of the page.
    pub provenance: Provenance,
}

/// A file that was read.
#[derive(Debug)]
pub struct ReadFile {
    /// The path in the source.
    pub path: String,
    /// The slug of the page.
    pub slug: Slug,
    /// The state of the file just before it was read.
    pub stat: Stat,
    /// Whether the file may change without its times changing.
    is_racy: bool,
    /// The digest of the bytes; zeros if the file is too long.
    pub digest: Hash,
    /// The content.
    pub text: FileText,
}

/// The content of a file, parsed.
#[derive(Debug)]
pub enum FileText {
    /// A page.
    Page(Box<NewPage>),
    /// The content has not changed since the last sync.
    AsRecorded,
    /// The content cannot be a page; the reason.
    Invalid(String),
    /// The file cannot be read; the reason.
    Unreadable(String),
    /// The file is gone.
    Gone,
}

/// The bytes of a file, and its state just before they were read.
pub struct FileContent {
    /// The state of the file just before it was read.
    pub stat: Stat,
    /// See [`file_times`].
    times: (i64, i64),
    /// Whether the file may change without its times changing.
    pub is_racy: bool,
    /// `None` if the file is longer than a page may be.
    bytes: Option<Vec<u8>>,
}

impl FileContent {
    /// Returns the bytes; `None` if the file is longer than a page may be.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// Returns the digest of the bytes; zeros if the file is too long.
    pub fn digest(&self) -> Hash {
        self.bytes.as_ref().map_or([0; 32], |bytes| digest(bytes))
    }
}

impl ReadFile {
    /// Returns the row of the file.
    pub fn row(&self, page: Option<u64>, seq: u64, problem: Option<String>) -> FileRecord {
        row(self.stat, self.is_racy, self.digest, page, seq, problem)
    }
}

/// Returns the row of a file. A racy file has the time 0, so that the next sync reads it again.
pub fn row(
    stat: Stat,
    is_racy: bool,
    digest: Hash,
    page: Option<u64>,
    seq: u64,
    problem: Option<String>,
) -> FileRecord {
    let mtime_ns = if is_racy { 0 } else { stat.mtime_ns };
    FileRecord { size: stat.size, mtime_ns, ctime_ns: stat.ctime_ns, digest, page, seq, problem }
}

/// Returns the commits of the files to read; for the watcher, only those of new files. Their paths
/// are looked up in git's history once.
pub fn commit_times(
    history: &GitHistory,
    root: &Path,
    to_read: &[FileToRead],
    is_watched: bool,
    should_continue: &dyn Fn() -> bool,
) -> CommitTimes {
    // A new file may have had another name.
    if !is_watched && to_read.iter().any(|file| file.page.is_none()) {
        return history.commit_times(root, None, should_continue);
    }
    // The watcher sees a page while it is written: the time of the file is that of the change.
    let files = to_read.iter().filter(|file| !is_watched || file.page.is_none());
    let paths: Vec<&str> = files.map(|file| file.path.as_str()).collect();
    history.commit_times(root, Some(&paths), should_continue)
}

/// Reads a file of the source at `root`, at `now`. `commits` has the commits of its path.
///
/// # Errors
/// As [`FileToRead::slug`].
pub fn read_file(
    root: &RootDir,
    file: &FileToRead,
    commits: &CommitTimes,
    now: i64,
) -> Result<ReadFile, NameError> {
    let slug = file.slug()?;
    let file_path = root.path().join(&file.path);
    let none = Stat { size: 0, mtime_ns: 0, ctime_ns: 0 };
    let (stat, is_racy, digest, text) = match read_bytes(root, &file.path) {
        Ok(Some(content)) => {
            let digest = content.digest();
            let text = match &content.bytes {
                None => FileText::Invalid(format!(
                    "it has {} bytes, more than the limit of {MAX_CONTENT}",
                    content.stat.size
                )),
                Some(_)
                    if file.page.as_ref().is_some_and(|it| it.synced_digest == Some(digest)) =>
                {
                    FileText::AsRecorded
                }
                Some(bytes) => {
                    let commits = commits.get(&file.path).copied();
                    let file_dates =
                        NoteDates { commits, file: Some(content.times), ..NoteDates::default() };
                    page((file, &slug), &file_path, bytes, file_dates, now)
                }
            };
            (content.stat, content.is_racy, digest, text)
        }
        Ok(None) => (none, true, [0; 32], FileText::Gone),
        Err(e) => (none, true, [0; 32], FileText::Unreadable(format!("cannot be read: {e}"))),
    };
    Ok(ReadFile { path: file.path.clone(), slug, stat, is_racy, digest, text })
}

fn page(
    (file, slug): (&FileToRead, &Slug),
    file_path: &Path,
    bytes: &[u8],
    dates: NoteDates,
    now: i64,
) -> FileText {
    // Replies show the reason next to the path.
    let page = read_document(bytes, "it").and_then(|document| {
        let previous = file.page.as_ref().map(|page| &page.provenance);
        let provenance =
            SYNC.provenance_of_file(&document.frontmatter, uri(file_path), now, previous);
        let page = read_page(slug, document, provenance, &file.path)?;
        // All lines get the author of the page.
        let author = Some(SYNC.author(uri(file_path)));
        let dates = NoteDates { commits: dates.commits, file: dates.file, ..page.dates };
        Ok(NewPage { author, line_change: LineChange::ByPageAuthor, dates, ..page })
    });
    match page {
        Ok(page) => FileText::Page(Box::new(page)),
        Err(fault) => FileText::Invalid(unread_reason(fault)),
    }
}

/// Returns the reason of a fault of [`read_document`] about "it", for a list that names the file.
#[must_use]
pub fn unread_reason(fault: Fault) -> String {
    let reason = fault.message.strip_prefix("it: ").unwrap_or(&fault.message);
    let reason = reason.strip_suffix("; nothing was stored").unwrap_or(reason);
    match fault.hint {
        Some(hint) if fault.code == FaultCode::BinaryContent => format!("{reason}; {hint}"),
        _ => reason.to_owned(),
    }
}

/// Returns when a file was created and last changed, in Unix milliseconds. If a copy kept its time
/// of last change, that time is before its creation; then it counts for both.
pub fn file_times(meta: &Metadata) -> (i64, i64) {
    let last = Stat::of(meta).mtime_ns / 1_000_000;
    let created = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let created = created.and_then(|at| i64::try_from(at.as_millis()).ok());
    (created.map_or(last, |created| created.min(last)), last)
}

/// Returns the `source_uri` of a file.
pub fn uri(file_path: &Path) -> String {
    format!("file://{}", file_path.display())
}

/// Reads the file at `path` below `root`. Returns `None` if there is no regular file. Follows
/// no symbolic link, even if one has replaced a directory since the walk.
pub fn read_bytes(root: &RootDir, path: &str) -> io::Result<Option<FileContent>> {
    let mut file = match root.open_file(Path::new(path)) {
        Ok(file) => file,
        Err(e) if is_missing(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(None);
    }
    let (stat, times) = (Stat::of(&meta), file_times(&meta));
    // File times come from the system's clock, so no other clock is used here.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
    let is_racy = now.saturating_sub(stat.mtime_ns) < RACY_NS;
    let mut bytes = Vec::with_capacity(stat.size.min(MAX_CONTENT as u64) as usize + 1);
    (&mut file).take(MAX_CONTENT as u64 + 1).read_to_end(&mut bytes)?;
    let bytes = (bytes.len() <= MAX_CONTENT).then_some(bytes);
    Ok(Some(FileContent { stat, times, is_racy, bytes }))
}

/// Returns whether a file is as it was at the last sync. A recorded time of 0 never matches.
pub fn is_as_recorded(row: &FileRecord, stat: Stat) -> bool {
    row.mtime_ns != 0
        && row.mtime_ns == stat.mtime_ns
        && row.ctime_ns == stat.ctime_ns
        && row.size == stat.size
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn times_of_a_file_that_just_changed_are_not_stored() {
        let dir = tempfile::tempdir().unwrap();
        let file_path = dir.path().join("a.md");
        std::fs::write(&file_path, "a").unwrap();
        let to_read = FileToRead::new("a.md".into(), 1, Slug::parse("a").unwrap(), None);
        let stored_mtime = || {
            let root = RootDir::open(dir.path()).unwrap();
            let file = read_file(&root, &to_read, &CommitTimes::new(), 0).unwrap();
            file.row(None, 0, None).mtime_ns
        };
        assert_eq!(stored_mtime(), 0);
        let earlier = SystemTime::now() - Duration::from_secs(60);
        File::options().write(true).open(&file_path).unwrap().set_modified(earlier).unwrap();
        assert!(stored_mtime() > 0);
        // A time in the future is not stored either.
        let later = SystemTime::now() + Duration::from_secs(60);
        File::options().write(true).open(&file_path).unwrap().set_modified(later).unwrap();
        assert_eq!(stored_mtime(), 0);
    }

    #[test]
    fn a_file_has_the_slug_of_its_page() {
        for (path, slug) in [("Notes/A b.md", "notes/a-b"), ("C++.md", "c-ab12cd"), ("a.md", "b")] {
            let slug = Slug::parse(slug).unwrap();
            let file = FileToRead::new(path.into(), 0, slug.clone(), None);
            assert_eq!(file.slug().unwrap(), slug);
        }
    }

    #[test]
    fn links_and_pipes_are_no_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "a").unwrap();
        std::os::unix::fs::symlink(dir.path().join("a"), dir.path().join("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::Mode::RWXU)
            .unwrap();
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        std::fs::write(dir.path().join("dir/b"), "b").unwrap();
        std::os::unix::fs::symlink("dir", dir.path().join("linked")).unwrap();
        for name in ["link", "pipe", "none", "a/b", ".", "linked/b", "../a"] {
            assert!(
                read_bytes(&RootDir::open(dir.path()).unwrap(), name).unwrap().is_none(),
                "{name}"
            );
        }
        assert!(read_bytes(&RootDir::open(dir.path()).unwrap(), "dir/b").unwrap().is_some());
    }
}
