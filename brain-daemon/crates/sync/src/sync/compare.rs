//! Compares the files on disk with the rows in the store: finds unchanged files, files to read, and
//! pages without a file.

use std::collections::{HashMap, HashSet};

use brain_protocol::{NameError, Slug};

use brain_files::{MarkdownFile, ScanReport};
use brain_pages::files::read::{FileToRead, PageOfFile, is_as_recorded};
use brain_store::{FileRecord, PageRecord, Reader, StoreError};

/// The slug of a new file, or why it gets none.
pub(super) type NewSlug = Result<Slug, NameError>;

/// Returns the slug of a new file, by its path. There can be a million, so they are not kept.
pub(super) type SlugsOfNewFiles<'a> = Box<dyn FnMut(&str) -> Option<NewSlug> + 'a>;

/// Store rows of files that may have changed, and of files that are gone.
#[derive(Default)]
pub(super) struct KnownFiles {
    /// The state of files at the last sync, by path.
    pub(super) rows: HashMap<String, FileRecord>,
    /// The pages by path, deleted pages included.
    pub(super) paths: HashMap<String, u64>,
}

/// Returns whether `path` is `part` or below it. Every path is below an empty one.
pub(super) fn covers(part: &str, path: &str) -> bool {
    part.is_empty()
        || path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An active page whose file is missing.
#[derive(Debug, Clone)]
pub(super) struct MissingPage {
    pub(super) slug: Slug,
    pub(super) record: PageRecord,
}

/// The work of a sync.
#[derive(Default)]
pub(super) struct SyncPlan {
    /// The number of unchanged files.
    pub(super) unchanged: u64,
    /// Unchanged files that failed before, and files that cannot get a slug: path and reason.
    pub(super) failed: Vec<(String, String)>,
    pub(super) to_read: Vec<FileToRead>,
    /// Slugs of other files without a page. Pages with such a slug are not deleted.
    pub(super) claimed_slugs: HashSet<Slug>,
    /// Pages without a file.
    pub(super) missing: Vec<u64>,
    /// Paths of rows without a file and without a page.
    pub(super) stale: Vec<String>,
}

/// Plans a sync of the files that were found. `slugs` is called with those without a page, in their
/// order. The files become a part of the plan: there can be a million.
pub(super) fn compare(
    reader: &Reader,
    known: &KnownFiles,
    found: ScanReport,
    slugs: &mut SlugsOfNewFiles<'_>,
    full: bool,
) -> Result<SyncPlan, StoreError> {
    let mut plan = SyncPlan::default();
    plan.add_gone_files(known, &found);
    plan.to_read.reserve_exact(found.files.len());
    for file in found.files {
        let page = known.paths.get(&file.path).copied();
        let row = known.rows.get(&file.path).filter(|row| row.page == page);
        let new = match page.is_none().then(|| slugs(&file.path)).flatten() {
            None => None,
            Some(Ok(slug)) => Some(slug),
            Some(Err(reason)) => {
                plan.failed.push((file.path, reason.to_string()));
                continue;
            }
        };
        if let Some(row) = row.filter(|row| !full && is_as_recorded(row, file.stat)) {
            plan.claimed_slugs.extend(new);
            plan.skip_unchanged(&file.path, row);
            continue;
        }
        plan.to_read.extend(file_to_read(reader, file, (page, row), new)?);
    }
    Ok(plan)
}

impl SyncPlan {
    /// Counts a file that is unchanged since its row was stored, or reports its problem again.
    fn skip_unchanged(&mut self, path: &str, row: &FileRecord) {
        match &row.problem {
            Some(problem) => self.failed.push((path.to_owned(), problem.clone())),
            None => self.unchanged += 1,
        }
    }

    /// Adds the pages whose file is gone, and the rows of files that are gone and have no page. A
    /// file that cannot be read is not gone.
    fn add_gone_files(&mut self, known: &KnownFiles, found: &ScanReport) {
        if known.paths.is_empty() && known.rows.is_empty() {
            return;
        }
        let present: HashSet<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        let is_gone = |path: &str| {
            !present.contains(path) && !found.unreadable.iter().any(|(part, _)| covers(part, path))
        };
        let mut missing: Vec<_> = known.paths.iter().filter(|(path, _)| is_gone(path)).collect();
        missing.sort();
        self.missing = missing.into_iter().map(|(_, id)| *id).collect();
        self.stale = known
            .rows
            .keys()
            .filter(|path| is_gone(path) && !known.paths.contains_key(*path))
            .cloned()
            .collect();
    }
}

/// Returns a changed file with the slug of its page, or with `new_slug` if it has no page. `None`
/// if it has neither.
fn file_to_read(
    reader: &Reader,
    file: MarkdownFile,
    (page, row): (Option<u64>, Option<&FileRecord>),
    new_slug: Option<Slug>,
) -> Result<Option<FileToRead>, StoreError> {
    let (slug, record) = match (new_slug, page) {
        (Some(slug), _) => (slug, None),
        (None, Some(id)) => match reader.by_id_including_deleted(id)? {
            Some((_, slug, record)) => (slug, Some(record)),
            None => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    let is_synced = |row: &&FileRecord| {
        let active = record.as_ref().filter(|record| record.deleted_at.is_none());
        row.problem.is_none() && active.is_some_and(|record| record.seq == row.seq)
    };
    let synced_digest = row.filter(is_synced).map(|row| row.digest);
    let page =
        record.map(|record| Box::new(PageOfFile { synced_digest, provenance: record.provenance }));
    Ok(Some(FileToRead::new(file.path, file.stat.size, slug, page)))
}
