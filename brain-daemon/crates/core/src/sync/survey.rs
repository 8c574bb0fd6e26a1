//! Compares a source's directory with the store's rows of its files, both in the order of paths.
//! An unchanged file is only counted, so a sync without changes needs no memory for it.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, Scope};

use brain_protocol::SourceId;

use super::compare::{KnownFiles, covers, is_as_recorded};
use brain_store::files::{self, IgnoreRules, MarkdownFile, ScanReport};
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
}

impl Survey {
    /// Compares the files at or below the paths of `scope` with their rows. An empty path means the
    /// whole source. With `full`, no file counts as unchanged.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn new(
        reader: &Reader,
        source: &SourceId,
        (root, rules): (&Path, &IgnoreRules),
        scope: &[String],
        full: bool,
    ) -> Result<Self, StoreError> {
        let mut survey = Self::default();
        for part in scope {
            let inside = |path: &str| covers(part, path);
            let (rows, paths) = (reader.files(source, part)?, reader.paths(source, part)?);
            let found = thread::scope(|scope| {
                // A whole source is worth two threads; a changed file is not.
                let is_whole = part.is_empty();
                let mut rows = PeekedRows::new(read_ahead(scope, rows, is_whole));
                let mut paths = PeekedRows::new(read_ahead(scope, paths, is_whole));
                let mut problem = None;
                let found = files::for_each_markdown_file(root, part, rules, None, &mut |file| {
                    let added = survey.add_file(file, &mut rows, &mut paths, full, &inside);
                    problem = added.err();
                    problem.is_none()
                });
                if let Some(problem) = problem {
                    return Err(problem);
                }
                rows.advance_to(None, |path, row| survey.known.add_row(&inside, path, row))?;
                paths.advance_to(None, |path, page| survey.known.add_page(&inside, path, page))?;
                Ok(found)
            })?;
            survey.found.unreadable.extend(found.unreadable);
            survey.found.repositories.extend(found.repositories);
            survey.found.left_out = found.left_out;
        }
        Ok(survey)
    }

    fn add_file(
        &mut self,
        file: MarkdownFile,
        rows: &mut PeekedRows<FileRecord, impl Iterator<Item = PathRow<FileRecord>>>,
        paths: &mut PeekedRows<u64, impl Iterator<Item = PathRow<u64>>>,
        full: bool,
        inside: &impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        self.files += 1;
        let known = &mut self.known;
        let row =
            rows.advance_to(Some(&file.path), |path, row| known.add_row(inside, path, row))?;
        let page =
            paths.advance_to(Some(&file.path), |path, page| known.add_page(inside, path, page))?;
        let is_unchanged = !full
            && page.is_some()
            && row.as_ref().is_some_and(|row| {
                row.page == page && row.problem.is_none() && is_as_recorded(row, file.stat)
            });
        if is_unchanged {
            self.unchanged += 1;
            return Ok(());
        }
        known.rows.extend(row.map(|row| (file.path.clone(), row)));
        known.paths.extend(page.map(|page| (file.path.clone(), page)));
        self.found.files.push(file);
        Ok(())
    }
}

impl KnownFiles {
    fn add_row(&mut self, inside: &impl Fn(&str) -> bool, path: String, row: FileRecord) {
        if inside(&path) {
            self.rows.insert(path, row);
        }
    }

    fn add_page(&mut self, inside: &impl Fn(&str) -> bool, path: String, page: u64) {
        if inside(&path) {
            self.paths.insert(path, page);
        }
    }
}

/// Reads rows on a thread of `scope` if `is_whole`: they are decoded while the walk waits for the
/// kernel. The thread ends when the receiver is dropped.
fn read_ahead<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut rows: impl Iterator<Item = PathRow<T>> + Send + 'scope,
    is_whole: bool,
) -> Box<dyn Iterator<Item = PathRow<T>> + 'scope> {
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

/// Rows in the order of their paths. The next one is read ahead.
struct PeekedRows<T, I> {
    rows: I,
    next: Option<(String, T)>,
    begun: bool,
}

impl<T, I: Iterator<Item = PathRow<T>>> PeekedRows<T, I> {
    fn new(rows: I) -> Self {
        Self { rows, next: None, begun: false }
    }

    /// Returns the row at `path`. Passes the rows before it to `before`; without a path, all rows.
    fn advance_to(
        &mut self,
        path: Option<&str>,
        mut before: impl FnMut(String, T),
    ) -> Result<Option<T>, StoreError> {
        if !self.begun {
            self.begun = true;
            self.next = self.rows.next().transpose()?;
        }
        while let Some((at, value)) =
            self.next.take_if(|(at, _)| path.is_none_or(|path| at.as_str() <= path))
        {
            self.next = self.rows.next().transpose()?;
            if path == Some(at.as_str()) {
                return Ok(Some(value));
            }
            before(at, value);
        }
        Ok(None)
    }
}
