//! `import --undo`: undoes an import.
//!
//! A page that the import created is deleted, and one that it changed gets its former text. A page
//! that somebody changed since stays as it is, and is named. Like every deletion and change, this
//! can be reverted itself. Posts in the files of the collector stay, and are named, too.

use std::collections::HashSet;

use brain_base::caller::{Caller, Visibility};
use brain_pages::provenance::{IMPORT, author_of};
use brain_protocol::{
    Command, Delete, Fault, FaultCode, ImportReports, ImportReportsReply, ImportUndo,
    ImportUndoReply, PageRef, Precondition, Revert, SourceId, hint,
};
use brain_service::Progress;
use brain_service::batch::{Failures, map_in_parallel};
use brain_store::PageRecord;
use parking_lot::Mutex;

use super::SyncService;
use super::fault_scope::is_of_one_page;
use super::import_record::{FormerState, ImportRecords, RecordedImport};

/// How many pages are undone between two reports of progress.
const BATCH: usize = 200;

/// What becomes of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// It is deleted.
    Delete,
    /// It gets the text of this version.
    Revert(u32),
    /// The import did not write it, or it is undone already.
    Untouched,
    /// It stays, for this reason.
    Keep(String),
}

/// An import that runs, or that is being undone.
pub(super) struct RunningImport<'a> {
    all: &'a Mutex<HashSet<String>>,
    id: String,
}

impl Drop for RunningImport<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}

impl SyncService {
    /// Lists the imports of this machine, or returns the report of one.
    ///
    /// # Errors
    /// `not_found` for an unknown id; `io` if a record cannot be read.
    pub fn import_reports(&self, request: &ImportReports) -> Result<ImportReportsReply, Fault> {
        ImportRecords::new(self.env.home.root()).reports(request.id.as_deref())
    }

    /// Undoes an import.
    ///
    /// # Errors
    /// `not_found` for an unknown id, `cancelled`, or `io`. Pages that were undone before an
    /// error stay so; the same call continues.
    pub fn import_undo(
        &self,
        caller: &Caller,
        request: &ImportUndo,
        progress: &dyn Progress,
    ) -> Result<ImportUndoReply, Fault> {
        let record = ImportRecords::new(self.env.home.root()).open(&request.id)?;
        let _running = self.run_record(&request.id)?;
        let import = record.read()?;
        let pages: Vec<&FormerState> = import.pages.values().collect();
        let mut reply = ImportUndoReply {
            id: request.id.clone(),
            dry_run: request.dry_run,
            deleted: 0,
            reverted: 0,
            untouched: 0,
            kept: Vec::new(),
            kept_total: 0,
            posts_directory: posts_directory(&import),
        };
        let mut kept = Failures::default();
        for (number, batch) in pages.chunks(BATCH).enumerate() {
            let (done, total) = ((number * BATCH) as u64, pages.len() as u64);
            if !progress.at(done, total) || self.env.stop.is_cancelled() {
                let message = format!("the undo ended early, after {done} of {total} pages");
                return Err(Fault::new(FaultCode::Cancelled, message).hint(hint!(
                    "continue: {}",
                    Command::ImportUndo { id: Some(request.id.clone()) }
                )));
            }
            let effects = map_in_parallel(batch, |former| {
                let effect = self.effect_of_undo(&import, former)?;
                match request.dry_run {
                    true => Ok(effect),
                    false => self.undo_page(caller, &import.source, former, effect),
                }
            });
            for (former, effect) in batch.iter().zip(effects) {
                match effect? {
                    Effect::Delete => reply.deleted += 1,
                    Effect::Revert(_) => reply.reverted += 1,
                    Effect::Untouched => reply.untouched += 1,
                    Effect::Keep(reason) => kept.add(former.slug.as_str(), reason),
                }
            }
        }
        if !request.dry_run {
            record.mark_undone(self.env.clock.now())?;
        }
        (reply.kept, reply.kept_total) = (kept.named, kept.total);
        Ok(reply)
    }

    /// Lets no other call import into the record, or undo it, while the result exists.
    ///
    /// # Errors
    /// `busy` if another call has it.
    pub(super) fn run_record(&self, id: &str) -> Result<RunningImport<'_>, Fault> {
        let all = &self.running_imports;
        if !all.lock().insert(id.to_owned()) {
            let message = format!("import {id} is running, or is being undone");
            return Err(Fault::new(FaultCode::Busy, message).hint("try again when it has ended"));
        }
        Ok(RunningImport { all, id: id.to_owned() })
    }

    /// Decides what becomes of a page.
    fn effect_of_undo(
        &self,
        import: &RecordedImport,
        former: &FormerState,
    ) -> Result<Effect, Fault> {
        let reader = self.store.read(Visibility::All)?;
        let Some(page) = reader.page_even_deleted(&import.source, &former.slug)? else {
            return Ok(match import.report {
                Some(_) => {
                    Effect::Keep("it is not there: it was moved, merged or purged".to_owned())
                }
                // The daemon ended before it wrote the page.
                None => Effect::Untouched,
            });
        };
        let effect = effect(former, &page);
        if let (Effect::Keep(_), Some(version)) = (&effect, former.version)
            && let Some(version) = reader.version(page.id, version)?
            && reader.content(&page)? == version.content
        {
            return Ok(Effect::Untouched);
        }
        Ok(effect)
    }

    /// Undoes the write of a page. If it changed meanwhile, or the fault is about this page alone,
    /// it is kept.
    fn undo_page(
        &self,
        caller: &Caller,
        source: &SourceId,
        former: &FormerState,
        effect: Effect,
    ) -> Result<Effect, Fault> {
        let page = PageRef::new(source, &former.slug);
        let expect = Some(Precondition::Version(former.written_version()));
        let done = match effect {
            Effect::Untouched | Effect::Keep(_) => Ok(()),
            Effect::Revert(version) => {
                self.pages.revert(caller, Revert { page, version, expect }).map(drop)
            }
            Effect::Delete => self.pages.delete(caller, &Delete { page, expect }).map(drop),
        };
        match done {
            Ok(()) => Ok(effect),
            Err(fault) if is_of_one_page(fault.code) => Ok(Effect::Keep(fault.message)),
            Err(fault) => Err(fault),
        }
    }
}

/// Returns the directory of the collector in which posts of the import stay. An import without a
/// report may have added some.
fn posts_directory(import: &RecordedImport) -> Option<String> {
    let reply = import.report.as_ref();
    let has_none = reply.is_some_and(|it| it.posts.as_ref().is_none_or(|posts| posts.added == 0));
    import.posts_directory.clone().filter(|_| !has_none)
}

/// Decides what becomes of a page that an import found as `former`, and that is `page` now.
fn effect(former: &FormerState, page: &PageRecord) -> Effect {
    let is_by_import = author_of(page).is_some_and(|author| author.kind.starts_with(IMPORT.kind))
        && page.written_at == former.written_at;
    if page.deleted_at.is_some() || Some(page.version) == former.version {
        return Effect::Untouched;
    }
    if page.version != former.written_version() || !is_by_import {
        return Effect::Keep("it changed since the import".to_owned());
    }
    match former.version {
        Some(version) if !former.is_deleted => Effect::Revert(version),
        _ => Effect::Delete,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::Slug;
    use brain_store::Author;

    use super::*;

    fn former(version: Option<u32>, is_deleted: bool) -> FormerState {
        FormerState { slug: Slug::parse("a").unwrap(), version, is_deleted, written_at: 10 }
    }

    fn page(version: u32, kind: &str, written_at: i64) -> PageRecord {
        let author = Some(Author { kind: kind.to_owned(), uri: "file:///a".to_owned() });
        PageRecord { version, author, written_at, ..PageRecord::default() }
    }

    #[test]
    fn a_page_gets_its_former_state() {
        let import = |version| page(version, "import", 10);
        for (former, now, expected) in [
            (former(None, false), import(1), Effect::Delete),
            (former(Some(3), false), import(4), Effect::Revert(3)),
            (former(Some(3), true), import(4), Effect::Delete),
        ] {
            assert_eq!(effect(&former, &now), expected);
        }
    }

    #[test]
    fn a_page_that_another_write_changed_is_kept() {
        let changed = Effect::Keep("it changed since the import".to_owned());
        assert_eq!(effect(&former(None, false), &page(2, "put_page", 20)), changed);
        // The import was killed before it wrote the page, and another one did.
        assert_eq!(effect(&former(None, false), &page(1, "put_page", 10)), changed);
        assert_eq!(effect(&former(None, false), &page(1, "import", 11)), changed);
        assert_eq!(effect(&former(Some(3), false), &page(5, "import", 20)), changed);
    }

    #[test]
    fn a_page_that_the_import_did_not_write_is_untouched() {
        let now = page(3, "put_page", 5);
        assert_eq!(effect(&former(Some(3), false), &now), Effect::Untouched);
        let deleted = PageRecord { deleted_at: Some(20), ..page(1, "import", 10) };
        assert_eq!(effect(&former(None, false), &deleted), Effect::Untouched);
    }
}
