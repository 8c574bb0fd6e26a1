//! One file of a source, read and worked out before the writer sees it.

use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use brain_protocol::{MAX_CONTENT, Slug};

use crate::provenance::SYNC;
use crate::write_page::{read_document, read_page};
use brain_store::files::{RootDir, Stat, digest, is_missing};
use brain_store::{FileRecord, Hash, NewPage, Provenance};

/// A file that changed this shortly before it was read may change again without its times telling.
const RACY_NS: i64 = 2_000_000_000;

/// A file that has to be read.
#[derive(Debug, Clone)]
pub(super) struct ToRead {
    /// Its path in the source.
    pub(super) path: String,
    /// Its length when it was looked at.
    pub(super) size: u64,
    /// The slug of its page, or the one it is to get.
    pub(super) slug: Slug,
    /// Whether a page has this path, deleted or not.
    pub(super) known: bool,
    /// Its digest when it and its page last agreed, if the page is as it was then: with the same
    /// one there is nothing to work out.
    pub(super) recorded: Option<Hash>,
    /// Where its page comes from, as the record says.
    pub(super) provenance: Option<Provenance>,
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct ReadFile {
    pub(super) path: String,
    pub(super) slug: Slug,
    /// How it was just before it was read.
    pub(super) stat: Stat,
    /// Whether its times prove nothing.
    racy: bool,
    pub(super) digest: Hash,
    pub(super) text: Text,
}

/// What is in a file.
#[derive(Debug)]
pub(super) enum Text {
    /// A page.
    Page(Box<NewPage>),
    /// What was there when it was last taken in.
    AsRecorded,
    /// Nothing that can be a page, and this is why.
    Bad(String),
    /// It could not be read.
    Unreadable(String),
    /// There is no such file any more.
    Gone,
}

/// A file's bytes, and how it was just before.
pub(super) struct Seen {
    pub(super) stat: Stat,
    pub(super) racy: bool,
    /// `None` when it is longer than a page may be.
    bytes: Option<Vec<u8>>,
}

impl Seen {
    pub(super) fn digest(&self) -> Hash {
        self.bytes.as_ref().map_or([0; 32], |bytes| digest(bytes))
    }
}

impl ReadFile {
    /// What is noted of the file.
    pub(super) fn row(&self, page: Option<u64>, seq: u64, problem: Option<String>) -> FileRecord {
        row(self.stat, self.racy, self.digest, page, seq, problem)
    }
}

/// What is noted of a file.
pub(super) fn row(
    stat: Stat,
    racy: bool,
    digest: Hash,
    page: Option<u64>,
    seq: u64,
    problem: Option<String>,
) -> FileRecord {
    let mtime_ns = if racy { 0 } else { stat.mtime_ns };
    FileRecord { size: stat.size, mtime_ns, ctime_ns: stat.ctime_ns, digest, page, seq, problem }
}

/// Reads a file of the source at `root`, at `now`.
pub(super) fn read_file(root: &Path, file: &ToRead, now: i64) -> ReadFile {
    let place = root.join(&file.path);
    let none = Stat { size: 0, mtime_ns: 0, ctime_ns: 0 };
    let (stat, racy, digest, text) = match look(root, &file.path) {
        Ok(Some(seen)) => {
            let digest = seen.digest();
            let text = match &seen.bytes {
                None => Text::Bad(format!(
                    "it has {} bytes, more than the limit of {MAX_CONTENT}",
                    seen.stat.size
                )),
                Some(_) if file.recorded == Some(digest) => Text::AsRecorded,
                Some(bytes) => page(file, &place, bytes, now),
            };
            (seen.stat, seen.racy, digest, text)
        }
        Ok(None) => (none, true, [0; 32], Text::Gone),
        Err(e) => (none, true, [0; 32], Text::Unreadable(format!("cannot be read: {e}"))),
    };
    ReadFile { path: file.path.clone(), slug: file.slug.clone(), stat, racy, digest, text }
}

fn page(file: &ToRead, place: &Path, bytes: &[u8], now: i64) -> Text {
    // The reason is told beside the path.
    let page = read_document(bytes, "it").and_then(|document| {
        let known = file.provenance.as_ref();
        let provenance = SYNC.of_file(&document.frontmatter, uri(place), now, known);
        read_page(&file.slug, document, provenance, &file.path)
    });
    match page {
        Ok(page) => Text::Page(Box::new(page)),
        Err(fault) => {
            let reason = fault.message.strip_prefix("it: ").unwrap_or(&fault.message);
            Text::Bad(reason.strip_suffix("; nothing was stored").unwrap_or(reason).to_owned())
        }
    }
}

/// `source_uri` of what was read from a file.
pub(super) fn uri(place: &Path) -> String {
    format!("file://{}", place.display())
}

/// Opens and reads the file at `path` below `root`; `None` when there is none. No link is followed
/// on the way there, neither one that was there when the directory was read nor one that took a
/// directory's place since.
pub(super) fn look(root: &Path, path: &str) -> io::Result<Option<Seen>> {
    let mut file = match RootDir::open(root)?.open_file(Path::new(path)) {
        Ok(file) => file,
        Err(e) if is_missing(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(None);
    }
    let stat = Stat::of(&meta);
    // The system's clock, and no other: it is the one that file times are from.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
    let racy = now.saturating_sub(stat.mtime_ns) < RACY_NS;
    let mut bytes = Vec::with_capacity(stat.size.min(MAX_CONTENT as u64) as usize + 1);
    (&mut file).take(MAX_CONTENT as u64 + 1).read_to_end(&mut bytes)?;
    let bytes = (bytes.len() <= MAX_CONTENT).then_some(bytes);
    Ok(Some(Seen { stat, racy, bytes }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn times_of_a_file_that_changed_a_moment_ago_prove_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a.md");
        std::fs::write(&place, "a").unwrap();
        let to_read = ToRead {
            path: "a.md".into(),
            size: 1,
            slug: Slug::parse("a").unwrap(),
            known: false,
            recorded: None,
            provenance: None,
        };
        let noted = || read_file(dir.path(), &to_read, 0).row(None, 0, None).mtime_ns;
        assert_eq!(noted(), 0);
        let earlier = SystemTime::now() - Duration::from_secs(60);
        File::options().write(true).open(&place).unwrap().set_modified(earlier).unwrap();
        assert!(noted() > 0);
        // A clock that is ahead proves nothing either.
        let later = SystemTime::now() + Duration::from_secs(60);
        File::options().write(true).open(&place).unwrap().set_modified(later).unwrap();
        assert_eq!(noted(), 0);
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
            assert!(look(dir.path(), name).unwrap().is_none(), "{name}");
        }
        assert!(look(dir.path(), "dir/b").unwrap().is_some());
    }
}
