//! What is on disk against what is known: which files need no look, which have to be read, and
//! which pages have none.

use std::collections::{HashMap, HashSet};

use brain_protocol::Slug;

use super::read::ToRead;
use crate::batch::meets;
use brain_store::files::{ScanReport, Stat};
use brain_store::{FileRecord, PageRecord, Reader, StoreError};

/// What the store knows of files that were looked at: of those that may not be as they were, and of
/// those that are gone.
#[derive(Default)]
pub(super) struct Known {
    /// Files as they were when they were last looked at.
    pub(super) rows: HashMap<String, FileRecord>,
    /// Paths that pages have, deleted pages included.
    pub(super) paths: HashMap<String, u64>,
}

/// Whether `path` is `part`, or below it; everything is below an empty one.
pub(super) fn covers(part: &str, path: &str) -> bool {
    part.is_empty()
        || path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An active page whose file is not there.
#[derive(Debug, Clone)]
pub(super) struct Missing {
    pub(super) slug: Slug,
    pub(super) record: PageRecord,
}

/// What has to be done.
#[derive(Default)]
pub(super) struct Plan {
    /// Files that are as they were.
    pub(super) unchanged: u64,
    /// Files that failed before and are as they were, and those that cannot get a slug, with the
    /// reason.
    pub(super) failed: Vec<(String, String)>,
    pub(super) to_read: Vec<ToRead>,
    /// Slugs that files without a page would have: their pages are not given up for gone.
    pub(super) claimed: HashSet<Slug>,
    /// Pages that have no file now.
    pub(super) missing: Vec<u64>,
    /// Files that were known, are gone, and have no page, deleted pages included.
    pub(super) stale: Vec<String>,
}

/// Compares. `strangers` are the paths of all files of the source that have no page, for those that
/// meet on one slug.
pub(super) fn compare(
    reader: &Reader,
    known: &Known,
    found: &ScanReport,
    strangers: &[String],
    full: bool,
) -> Result<Plan, StoreError> {
    let mut plan = Plan::default();
    let mut by_slug: HashMap<Slug, Vec<&str>> = HashMap::new();
    for path in strangers {
        if let Ok(slug) = Slug::from_path(path) {
            by_slug.entry(slug).or_default().push(path);
        }
    }
    let mut there = HashSet::with_capacity(found.files.len());
    for file in &found.files {
        there.insert(file.path.as_str());
        let page = known.paths.get(&file.path).copied();
        let row = known.rows.get(&file.path).filter(|row| row.page == page);
        let new = match page.is_none().then(|| new_slug(&file.path, &by_slug)) {
            None => None,
            Some(Ok(slug)) => {
                plan.claimed.insert(slug.clone());
                Some(slug)
            }
            Some(Err((slug, reason))) => {
                plan.claimed.extend(slug);
                plan.failed.push((file.path.clone(), reason));
                continue;
            }
        };
        if let Some(row) = row.filter(|row| !full && is_as_recorded(row, file.stat)) {
            match &row.problem {
                Some(problem) => plan.failed.push((file.path.clone(), problem.clone())),
                None => plan.unchanged += 1,
            }
            continue;
        }
        let (slug, record) = match (new, page) {
            (Some(slug), _) => (slug, None),
            (None, Some(id)) => match reader.by_id_even_deleted(id)? {
                Some((_, slug, record)) => (slug, Some(record)),
                None => continue,
            },
            (None, None) => continue,
        };
        let agrees = |row: &&FileRecord| {
            let active = record.as_ref().filter(|record| record.deleted_at.is_none());
            row.problem.is_none() && active.is_some_and(|record| record.seq == row.seq)
        };
        plan.to_read.push(ToRead {
            path: file.path.clone(),
            size: file.stat.size,
            slug,
            known: page.is_some(),
            recorded: row.filter(agrees).map(|row| row.digest),
            provenance: record.map(|record| record.provenance),
        });
    }
    // What could not be looked at is not gone.
    let unseen = |path: &str| found.unreadable.iter().any(|(part, _)| covers(part, path));
    let gone = |path: &&String| !there.contains(path.as_str()) && !unseen(path);
    let mut missing: Vec<_> = known.paths.iter().filter(|(path, _)| gone(path)).collect();
    missing.sort();
    plan.missing = missing.into_iter().map(|(_, id)| *id).collect();
    plan.stale = known
        .rows
        .keys()
        .filter(gone)
        .filter(|path| !known.paths.contains_key(*path))
        .cloned()
        .collect();
    Ok(plan)
}

/// Whether a file is as it was when it was last looked at. Times of 0 prove nothing.
pub(super) fn is_as_recorded(row: &FileRecord, stat: Stat) -> bool {
    row.mtime_ns != 0
        && row.mtime_ns == stat.mtime_ns
        && row.ctime_ns == stat.ctime_ns
        && row.size == stat.size
}

/// The slug for a file without a page, unless other such files would have it, too.
fn new_slug(
    path: &str,
    by_slug: &HashMap<Slug, Vec<&str>>,
) -> Result<Slug, (Option<Slug>, String)> {
    let slug = Slug::from_path(path).map_err(|e| (None, e.to_string()))?;
    match meets(path, &slug, by_slug.get(&slug).map_or(&[], Vec::as_slice)) {
        None => Ok(slug),
        Some(reason) => Err((Some(slug), reason)),
    }
}
