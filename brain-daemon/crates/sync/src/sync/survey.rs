//! Compares a source's directory with the store's rows of its files, both in the order of paths.
//! An unchanged file is only counted, so a sync without changes needs no memory for it.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, Scope};

use brain_protocol::SourceId;

use super::compare::{KnownFiles, covers};
use super::copies::Copies;
use brain_pages::files::read::is_as_recorded;

use brain_files::{IgnoreRules, MarkdownFile, RootDir, ScanReport};
use brain_store::{FileRecord, PathRow, Reader, StoreError};

/// The result of a walk, with the rows of its files.
#[derive(Default)]
pub(super) struct Survey {
    /// Files that may have changed, and paths that cannot be read.
    pub(super) found: ScanReport,
    /// The rows of those files, and of files that are gone.
    pub(super) known: KnownFiles,
    /// The number of all files.
    pub(super) files: u64,
    /// The number of files that are unchanged since the last sync.
    pub(super) unchanged: u64,
    /// Files that the rules name as documents, if there are any.
    pub(super) documents: Vec<String>,
    /// The files that programs made as copies of others.
    pub(super) copies: Copies,
}

impl Survey {
    /// Compares the files at or below the paths of `scope` with their rows. An empty path means the
    /// whole source. With `full`, no file counts as unchanged.
    pub(super) fn new(
        reader: &Reader,
        source: &SourceId,
        (root, rules): (&RootDir, &IgnoreRules),
        scope: &[String],
        full: bool,
    ) -> Result<Self, StoreError> {
        let mut survey = Self::default();
        for part in scope {
            let inside = |path: &str| covers(part, path);
            let (rows, paths) = (reader.files(source, part)?, reader.paths(source, part)?);
            let rows = MergeJoin { rows: rows.peekable(), paths: paths.peekable() };
            let found = thread::scope(|scope| {
                // A whole source is worth a second thread; a changed file is not.
                let mut rows = read_ahead(scope, rows, part.is_empty()).peekable();
                let mut problem = None;
                let found =
                    brain_files::for_each_markdown_file(root, part, rules, None, &mut |file| {
                        problem = survey.add_file(file, &mut rows, full, &inside).err();
                        problem.is_none()
                    });
                if let Some(problem) = problem {
                    return Err(problem);
                }
                for row in rows {
                    survey.known.add(&inside, row?);
                }
                Ok(found)
            })?;
            survey.found.unreadable.extend(found.unreadable);
            survey.found.repositories.extend(found.repositories);
            survey.found.links.extend(found.links);
            survey.found.ignored = found.ignored;
            if rules.has_documents() {
                let is_named = |path: &String| rules.names_document(Path::new(path));
                survey.documents.extend(found.other_paths.into_iter().filter(is_named));
            }
        }
        Ok(survey)
    }

    /// Returns the paths of the files that have no page.
    pub(super) fn paths_without_page(&self) -> Vec<&str> {
        let paths = self.found.files.iter().map(|file| file.path.as_str());
        paths.filter(|path| !self.known.paths.contains_key(*path)).collect()
    }

    /// Counts a file if it is unchanged; otherwise adds it with its rows. Adds the rows before it,
    /// which have no file any more.
    fn add_file(
        &mut self,
        file: MarkdownFile,
        rows: &mut Peekable<impl Iterator<Item = Result<KnownFile, StoreError>>>,
        full: bool,
        inside: &impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        self.files += 1;
        self.copies.add(&file.path);
        let mut known = None;
        let reaches = |row: &Result<KnownFile, StoreError>| {
            row.as_ref().map_or(true, |row| row.path.as_str() <= file.path.as_str())
        };
        while let Some(row) = rows.next_if(reaches) {
            let row = row?;
            if row.path == file.path {
                known = Some(row);
                break;
            }
            self.known.add(inside, row);
        }
        let is_unchanged = known.as_ref().is_some_and(|known| {
            known.page.is_some()
                && known.row.as_ref().is_some_and(|row| {
                    row.page == known.page
                        && row.problem.is_none()
                        && is_as_recorded(row, file.stat)
                })
        });
        if is_unchanged && !full {
            self.unchanged += 1;
            return Ok(());
        }
        if let Some(known) = known {
            self.known.add(&|_| true, known);
        }
        self.found.files.push(file);
        Ok(())
    }
}

/// The rows of the store for a path: that of its file, and the id of its page.
struct KnownFile {
    path: String,
    row: Option<FileRecord>,
    page: Option<u64>,
}

impl KnownFiles {
    fn add(&mut self, inside: &impl Fn(&str) -> bool, known: KnownFile) {
        if !inside(&known.path) {
            return;
        }
        if let Some(page) = known.page {
            self.paths.insert(known.path.clone(), page);
        }
        if let Some(row) = known.row {
            self.rows.insert(known.path, row);
        }
    }
}

/// Joins the rows of files and the pages by path. Both must be sorted by path.
struct MergeJoin<R: Iterator, P: Iterator> {
    rows: Peekable<R>,
    paths: Peekable<P>,
}

impl<R, P> Iterator for MergeJoin<R, P>
where
    R: Iterator<Item = PathRow<FileRecord>>,
    P: Iterator<Item = PathRow<u64>>,
{
    type Item = Result<KnownFile, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.rows.peek(), self.paths.peek()) {
            (Some(Ok((row, _))), Some(Ok((path, _)))) => row.cmp(path),
            // An error is returned at once.
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let row = if order.is_le() { self.rows.next() } else { None };
        let page = if order.is_ge() { self.paths.next() } else { None };
        Some(match (row.transpose(), page.transpose()) {
            (Err(error), _) | (_, Err(error)) => Err(error),
            (Ok(row), Ok(page)) => {
                let (path, row) = row.map_or((None, None), |(path, row)| (Some(path), Some(row)));
                let (path, page) = match page {
                    Some((at, page)) => (path.unwrap_or(at), Some(page)),
                    None => (path.unwrap_or_default(), None),
                };
                Ok(KnownFile { path, row, page })
            }
        })
    }
}

/// Reads rows on a thread of `scope` if `is_whole`: they are decoded while the walk waits for the
/// disk. The thread ends when the receiver is dropped.
fn read_ahead<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut rows: impl Iterator<Item = T> + Send + 'scope,
    is_whole: bool,
) -> Box<dyn Iterator<Item = T> + 'scope> {
    const BATCH: usize = 1000;
    if !is_whole {
        return Box::new(rows);
    }
    let (sender, receiver) = mpsc::sync_channel(2);
    scope.spawn(move || {
        loop {
            let batch: Vec<_> = rows.by_ref().take(BATCH).collect();
            if batch.is_empty() || sender.send(batch).is_err() {
                return;
            }
        }
    });
    Box::new(receiver.into_iter().flatten())
}

/// Returns absolute paths as paths in the source, without paths outside it and paths below others.
pub(super) fn scope(root: &Path, paths: &[PathBuf]) -> Vec<String> {
    let canonical_root = root.canonicalize();
    let mut parts: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let inside = path
                .strip_prefix(root)
                .ok()
                .or_else(|| path.strip_prefix(canonical_root.as_ref().ok()?).ok());
            Some(inside?.to_str()?.to_owned())
        })
        .collect();
    parts.sort();
    parts.dedup();
    let mut out: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        // `a-b` sorts between `a` and `a/b`.
        if !out.iter().rev().any(|above| covers(above, &part)) {
            out.push(part);
        }
    }
    out
}
