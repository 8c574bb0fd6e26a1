//! `import`: stores a directory of markdown files, or the export of another program, once.
//!
//! Files are read and parsed on all cores while the previous batch is stored in one commit. The
//! files of the stored pages are written after that commit. A file that fails is reported, and the
//! others are imported. If the import ends early, stored pages stay. The next import continues from
//! there, because it does not write unchanged pages.

use std::time::Instant;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::instant_argument;
use brain_protocol::{Command, Fault, Import, ImportReply, SourceId, WriteStatus};
use brain_service::Progress;
use brain_service::batch::map_in_parallel;
use brain_store::{Act, Actor, WrittenPage, acting, current_act};

use super::SyncService;
use super::beside::links_warning;
use super::import_effect::ImportEffect;
use super::import_input::{ImportInput, InputKind};
use super::import_page::ImportPage;
use super::import_posts::PostKeeper;
use super::import_record::{ImportRecord, ImportRecords};
use super::import_run::{BLANK, ImportMode, ImportRun, KEPT};
use super::import_tally::ImportTally;

impl SyncService {
    /// Creates pages from the markdown files and documents of a directory, or from an export.
    /// `keeper` gets the posts of an export, too.
    ///
    /// # Errors
    /// `not_found` for a path that is not there, `usage`, `cancelled`, `busy` while an export is
    /// converted, or `io`. Pages that were imported before stay.
    pub fn import(
        &self,
        caller: &Caller,
        request: &Import,
        keeper: &dyn PostKeeper,
        progress: &dyn Progress,
    ) -> Result<ImportReply, Fault> {
        let began = Instant::now();
        let home =
            self.env.home.root().canonicalize().unwrap_or_else(|_| self.env.home.root().to_owned());
        let since = instant_argument(request.since.as_deref())?;
        let mut input = self.import_input(request, &home, progress)?;
        let source = self.target_source(caller, request, &input.path)?;
        let request = &Import { path: input.shown_path(request).to_owned(), ..request.clone() };
        let mut found = self.import_files(&input, &home)?;
        let documents = self.sort_other_files(request, &mut input, &mut found);
        let now = self.env.clock.now();
        let records = ImportRecords::new(&home);
        let begin = || records.begin(&request.path, &source, now);
        let record = (!request.dry_run).then(begin).transpose()?;
        let _running = record.as_ref().map(|record| self.run_record(&record.id)).transpose()?;
        if let Some(record) = &record {
            progress.line(&record.id);
        }
        let files = (found.files.len() + documents.len()) as u64;
        let mode = record.clone().map_or(ImportMode::DryRun, ImportMode::Recorded);
        let mut run = ImportRun::new(self, caller, progress, &source, mode, files);
        run.since = since;
        run.should_scrub = request.scrub;
        run.tally.add_problems(request, &mut input, &mut found);
        let _refresh = self.index.refresh_on_drop();
        let with_id = |fault| match &record {
            Some(record) => with_id(fault, record),
            None => fault,
        };
        let posts = acting(act_of_import(record.as_ref()), || {
            run.store_all(&input, &mut found, documents)?;
            run.hand_over_posts(&mut input, keeper)
        })
        .map_err(with_id)?;
        if let InputKind::Markdown(_) = input.kind {
            run.tally.lose_others(&input.path, &mut found);
        }
        progress.at(run.total, run.total);
        let format = match input.kind {
            InputKind::Export(export) => Some(export.format),
            InputKind::Markdown(_) | InputKind::Documents(_) => None,
        };
        let ImportRun { mut tally, total, .. } = run;
        tally.warnings.splice(0..0, links_warning(&found.links));
        let id = record.as_ref().map(|record| record.id.clone());
        let mut reply = ImportReply {
            left_out: found.ignored,
            took_ms: began.elapsed().as_millis() as u64,
            posts,
            ..tally.reply(id, format, total)
        };
        if let Some(record) = record
            && let Err(fault) = record.end(&reply)
        {
            reply.warnings.push(format!("the report is not kept: {}", fault.message));
        }
        Ok(reply)
    }

    /// Counts the effects in a dry run, with the same decisions, from a snapshot.
    pub(super) fn compare(
        &self,
        source: &SourceId,
        input: &ImportInput,
        pages: &[ImportPage],
        tally: &mut ImportTally,
    ) -> Result<(), Fault> {
        let reader = self.store.read(Visibility::All)?;
        for page in pages {
            let existing = reader.page_even_deleted(source, &page.slug)?;
            let name = input.name(&page.path);
            match ImportEffect::of(page, existing, &reader)? {
                ImportEffect::Unchanged(_) => tally.count(WriteStatus::Unchanged),
                ImportEffect::Blank => tally.failures.add(name, BLANK),
                ImportEffect::Keep => tally.failures.add(name, KEPT),
                ImportEffect::Write(status) => tally.count(status),
            }
        }
        Ok(())
    }

    /// Writes the files of stored pages. Returns the problems.
    pub(super) fn write_files(&self, source: &SourceId, changed: &[WrittenPage]) -> Vec<String> {
        let write = |page: &WrittenPage| {
            self.pages.files.update_file(source, &page.record, page.content.as_ref()).problem
        };
        map_in_parallel(changed, write).into_iter().flatten().collect()
    }
}

/// Returns who writes the pages of an import: its caller, in the run of its record.
fn act_of_import(record: Option<&ImportRecord>) -> Act {
    let former = current_act();
    let run = record.map(|record| record.id.clone());
    Act { actor: Actor { door: "import".into(), run, ..former.actor }, ..former }
}

/// Adds to the fault of an import how to undo what it stored.
fn with_id(fault: Fault, record: &ImportRecord) -> Fault {
    let undo = Command::ImportUndo { id: Some(record.id.clone()) };
    Fault { message: format!("{}; to undo what is stored: {undo}", fault.message), ..fault }
}
