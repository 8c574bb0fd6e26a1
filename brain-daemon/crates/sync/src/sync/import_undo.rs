//! `import --undo`: takes an import back.
//!
//! A page that the import created is deleted, and one that it changed gets its former text. A page
//! that somebody changed since stays as it is, and is named. Like every deletion and change, this
//! can be reverted itself.

use brain_base::caller::{Caller, Visibility};
use brain_pages::provenance::{IMPORT, author_of};
use brain_protocol::{
    Command, Delete, Fault, FaultCode, ImportReports, ImportReportsReply, ImportUndo,
    ImportUndoReply, PageRef, Precondition, Revert, SourceId, hint,
};
use brain_service::Progress;
use brain_service::batch::{Failures, map_in_parallel};
use brain_store::PageRecord;

use super::SyncService;
use super::import_record::{ImportRecords, PageBefore, RecordedImport};

/// How many pages are taken back between two reports of progress.
const BATCH: usize = 200;

/// What becomes of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// It is deleted, after it got back the text of this version.
    Delete { version: u32, former: Option<u32> },
    /// It gets the text of the version `former`.
    Revert { version: u32, former: u32 },
    /// The import did not write it, or it is deleted already.
    Untouched,
    /// It stays, for this reason.
    Keep(String),
}

impl SyncService {
    /// Lists the imports of this machine, or returns the report of one.
    ///
    /// # Errors
    /// `not_found` for an unknown id; `io` if a record cannot be read.
    pub fn import_reports(&self, request: &ImportReports) -> Result<ImportReportsReply, Fault> {
        ImportRecords::new(self.env.home.root()).reports(request.id.as_deref())
    }

    /// Takes an import back.
    ///
    /// # Errors
    /// `not_found` for an unknown id, `cancelled`, or `io`. Pages that were taken back before an
    /// error stay so; the same call goes on from there.
    pub fn import_undo(
        &self,
        caller: &Caller,
        request: &ImportUndo,
        progress: &dyn Progress,
    ) -> Result<ImportUndoReply, Fault> {
        let record = ImportRecords::new(self.env.home.root()).open(&request.id)?;
        let import = record.read()?;
        let pages: Vec<&PageBefore> = import.pages.values().collect();
        let mut reply = ImportUndoReply {
            id: request.id.clone(),
            dry_run: request.dry_run,
            deleted: 0,
            reverted: 0,
            untouched: 0,
            kept: Vec::new(),
            kept_total: 0,
        };
        let mut kept = Failures::default();
        for (number, batch) in pages.chunks(BATCH).enumerate() {
            let (done, total) = ((number * BATCH) as u64, pages.len() as u64);
            if !progress.at(done, total) || self.env.stop.is_cancelled() {
                let message = format!("it ended early, after {done} of {total} pages");
                return Err(Fault::new(FaultCode::Cancelled, message).hint(hint!(
                    "go on: {}",
                    Command::ImportUndo { id: Some(request.id.clone()) }
                )));
            }
            let effects = map_in_parallel(batch, |before| {
                let effect = self.effect_of_undo(&import, before)?;
                match request.dry_run {
                    true => Ok(effect),
                    false => self.take_back(caller, &import.source, before, effect),
                }
            });
            for (before, effect) in batch.iter().zip(effects) {
                match effect? {
                    Effect::Delete { .. } => reply.deleted += 1,
                    Effect::Revert { .. } => reply.reverted += 1,
                    Effect::Untouched => reply.untouched += 1,
                    Effect::Keep(reason) => kept.add(before.slug.as_str(), reason),
                }
            }
        }
        if !request.dry_run {
            record.mark_undone(self.env.clock.now())?;
        }
        (reply.kept, reply.kept_total) = (kept.named, kept.total);
        Ok(reply)
    }

    /// Decides what becomes of a page.
    fn effect_of_undo(
        &self,
        import: &RecordedImport,
        before: &PageBefore,
    ) -> Result<Effect, Fault> {
        let reader = self.store.read(Visibility::All)?;
        Ok(match reader.page_even_deleted(&import.source, &before.slug)? {
            Some(page) => effect(before, &page, import.began()),
            // The daemon ended before it wrote the page.
            None if import.report.is_none() => Effect::Untouched,
            None => Effect::Keep("it is not there: it was moved, merged or purged".to_owned()),
        })
    }

    /// Takes a page back. If it changed meanwhile, it is kept.
    fn take_back(
        &self,
        caller: &Caller,
        source: &SourceId,
        before: &PageBefore,
        effect: Effect,
    ) -> Result<Effect, Fault> {
        let page = PageRef::new(source, &before.slug);
        let revert = |version, former| {
            let expect = Some(Precondition::Version(version));
            let request = Revert { page: page.clone(), version: former, expect };
            self.pages.revert(caller, request).map(|reply| reply.version)
        };
        let done = match &effect {
            Effect::Untouched | Effect::Keep(_) => Ok(()),
            Effect::Revert { version, former } => revert(*version, *former).map(drop),
            Effect::Delete { version, former } => {
                let version = former.map_or(Ok(*version), |former| revert(*version, former));
                version.and_then(|version| {
                    let expect = Some(Precondition::Version(version));
                    let request = Delete { page: page.clone(), expect };
                    self.pages.delete(caller, &request).map(drop)
                })
            }
        };
        match done {
            Ok(()) => Ok(effect),
            Err(fault) if fault.code == FaultCode::Conflict => Ok(Effect::Keep(fault.message)),
            Err(fault) => Err(fault),
        }
    }
}

/// Decides what becomes of a page that an import found as `before`, and that is `page` now.
fn effect(before: &PageBefore, page: &PageRecord, began: i64) -> Effect {
    let written = before.version.map_or(1, |version| version + 1);
    let is_by_import = author_of(page).is_some_and(|author| author.kind.starts_with(IMPORT.kind))
        && page.written_at >= began;
    if page.deleted_at.is_some() || Some(page.version) == before.version {
        return Effect::Untouched;
    }
    if page.version != written || !is_by_import {
        return Effect::Keep("it changed since the import".to_owned());
    }
    match before.version {
        Some(former) if !before.is_deleted => Effect::Revert { version: written, former },
        former => Effect::Delete { version: written, former },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::Slug;
    use brain_store::Author;

    use super::*;

    fn before(version: Option<u32>, is_deleted: bool) -> PageBefore {
        PageBefore { slug: Slug::parse("a").unwrap(), version, is_deleted }
    }

    fn page(version: u32, kind: &str, written_at: i64) -> PageRecord {
        let author = Some(Author { kind: kind.to_owned(), uri: "file:///a".to_owned() });
        PageRecord { version, author, written_at, ..PageRecord::default() }
    }

    #[test]
    fn a_page_is_taken_back_by_what_it_was() {
        let import = |version| page(version, "import", 10);
        for (before, now, expected) in [
            (before(None, false), import(1), Effect::Delete { version: 1, former: None }),
            (before(Some(3), false), import(4), Effect::Revert { version: 4, former: 3 }),
            (before(Some(3), true), import(4), Effect::Delete { version: 4, former: Some(3) }),
        ] {
            assert_eq!(effect(&before, &now, 10), expected);
        }
    }

    #[test]
    fn a_page_that_another_write_changed_is_kept() {
        let changed = Effect::Keep("it changed since the import".to_owned());
        assert_eq!(effect(&before(None, false), &page(2, "put_page", 20), 10), changed);
        // The import was killed before it wrote the page, and another program did.
        assert_eq!(effect(&before(None, false), &page(1, "put_page", 20), 10), changed);
        assert_eq!(effect(&before(Some(3), false), &page(5, "import", 20), 10), changed);
        assert_eq!(effect(&before(None, false), &page(1, "import", 9), 10), changed);
    }

    #[test]
    fn a_page_that_the_import_did_not_write_is_untouched() {
        let now = page(3, "put_page", 5);
        assert_eq!(effect(&before(Some(3), false), &now, 10), Effect::Untouched);
        let deleted = PageRecord { deleted_at: Some(20), ..page(1, "import", 10) };
        assert_eq!(effect(&before(None, false), &deleted, 10), Effect::Untouched);
    }
}
