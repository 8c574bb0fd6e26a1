//! Lists the files of a source, and its pages without a file.

use std::collections::{HashMap, HashSet};

use brain_page::{NewSlugs, assign_slugs};
use brain_protocol::{Fault, Slug, SourceId};

use super::SyncOptions;
use super::compare::{MissingPage, NewSlug, SlugsOfNewFiles, covers};
use super::decide::SyncContext;
use super::survey::Survey;
use brain_files::{IgnoreRules, RootDir};
use brain_store::{FileState, Reader, StoreError};

/// Walks the directory. Returns the survey, or the reason why the source cannot be read.
pub(super) fn walk(
    reader: &Reader,
    source: &SourceId,
    (files, rules): (&RootDir, &IgnoreRules),
    options: SyncOptions<'_>,
) -> Result<Result<Survey, String>, StoreError> {
    let root = files.path();
    if !options.is_whole()
        && let Err(e) = std::fs::read_dir(root)
    {
        return Ok(Err(format!("{} cannot be read: {e}", root.display())));
    }
    let survey = Survey::new(reader, source, (files, rules), options.scope, options.full)?;
    if let Some((_, reason)) = survey.found.unreadable.iter().find(|(path, _)| path.is_empty()) {
        return Ok(Err(format!("{} cannot be read: {reason}", root.display())));
    }
    Ok(Ok(survey))
}

/// Returns whether any page, deleted ones included, has a path at or below a path of `scope`.
pub(super) fn has_pages(
    reader: &Reader,
    source: &SourceId,
    scope: &[String],
) -> Result<bool, StoreError> {
    for part in scope {
        for row in reader.paths(source, part)? {
            if covers(part, &row?.0) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns a function that gives the survey's files without a page their slugs, in their order;
/// `None` for a file that is gone meanwhile. All files of the source without a page take part,
/// because several of them may need the same slug.
pub(super) fn slugs_of_new_files<'t>(
    reader: &Reader,
    source: &SourceId,
    (files, rules): (Option<&RootDir>, &IgnoreRules),
    survey: &Survey,
    options: SyncOptions<'_>,
    is_taken: impl Fn(&Slug) -> bool + 't,
) -> Result<SlugsOfNewFiles<'t>, Fault> {
    let in_scope = survey.paths_without_page();
    let Some(files) = files.filter(|_| !options.is_whole() && !in_scope.is_empty()) else {
        let mut slugs = NewSlugs::of(&in_scope);
        return Ok(Box::new(move |path| Some(slugs.next(path, &is_taken))));
    };
    let all = Survey::new(reader, source, (files, rules), &[String::new()], false)?;
    let paths = all.paths_without_page();
    let slugs = assign_slugs(&paths, is_taken);
    let paths = paths.into_iter().map(str::to_owned);
    let mut slugs: HashMap<String, NewSlug> = paths.zip(slugs).collect();
    Ok(Box::new(move |path| slugs.remove(path)))
}

/// Returns the active pages among those without a file, except pages whose file is not written
/// yet.
pub(super) fn missing_pages(
    reader: &Reader,
    context: &SyncContext,
    ids: &[u64],
) -> Result<Vec<MissingPage>, Fault> {
    let mut out = Vec::new();
    for &id in ids {
        let Some((_, slug, record)) = reader.by_id(id)? else { continue };
        if context.pending(reader, id)?.is_none_or(|row| row.target_state != FileState::Present) {
            out.push(MissingPage { slug, record });
        }
    }
    Ok(out)
}

/// Returns the files of the source that the daemon is about to remove, with the digests of the
/// contents that it removes.
pub(super) fn files_to_remove(
    reader: &Reader,
    context: &SyncContext,
) -> Result<HashMap<String, Vec<[u8; 32]>>, StoreError> {
    let finished: HashSet<u64> = context.finished_rows.iter().map(|(id, _)| *id).collect();
    let mut files = HashMap::new();
    for id in reader.outbox()?.into_iter().filter(|id| !finished.contains(id)) {
        if let Some(row) = reader.outbox_row(id)?
            && row.target_state == FileState::Purged
            && row.source == context.source.as_str()
        {
            files.insert(row.path, row.own_digests);
        }
    }
    Ok(files)
}

/// Returns the number of active pages of the source.
pub(super) fn active_pages(reader: &Reader, source: &SourceId) -> Result<usize, Fault> {
    let mut pages = 0;
    reader.pages_in_order((source.as_str(), ""), |(of, _, _)| {
        pages += usize::from(of == *source);
        Ok(of == *source)
    })?;
    Ok(pages)
}
