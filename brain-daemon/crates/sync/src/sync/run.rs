//! A sync of one source in progress. Its steps are those that [`super`] lists.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{
    Command, Fault, FaultCode, Pull, PullStatus, Slug, SourceId, SyncedSource, hint,
};

use super::beside;
use super::compare::{MissingPage, compare, covers};
use super::decide::SyncContext;
use super::document_sync::DocumentSync;
use super::listing::{active_pages, has_pages, missing_pages, slugs_of_new_files, walk};
use super::removals::are_too_many;
use super::renames::{Move, RenameSearch};
use super::survey::Survey;
use super::tally::Tally;
use super::{SyncOptions, SyncService};
use brain_base::caller::Visibility;
use brain_files::{AwayPart, Parts, PullOutcome, RootDir};
use brain_pages::files::read::{FileToRead, commit_times, read_file};
use brain_pages::presence::{CheckDepth, away_hint, away_reason};
use brain_service::Progress;
use brain_service::batch::in_batches;
use brain_store::{Reader, SourceRecord, StoreError, SyncResult};

/// Why a sync deletes nothing when a disk comes or goes while it runs.
const CHANGED_MEANWHILE: &str =
    "a disk was mounted or unmounted while the sync ran; the next sync looks again";

/// The sync of one source.
pub(super) struct SyncRun<'a> {
    service: &'a SyncService,
    id: &'a SourceId,
    record: &'a SourceRecord,
    options: SyncOptions<'a>,
    progress: &'a dyn Progress,
    root: PathBuf,
    /// The open directory; `None` if it cannot be opened.
    files: Option<Arc<RootDir>>,
    tally: Tally,
    /// The number of files that are done.
    done: u64,
}

/// Why a sync ends before it has compared and stored all files.
enum EarlyEnd {
    /// The source is away, for this reason.
    Away(String),
    /// The source cannot be read, because of this problem.
    Unreadable(String),
    Fault(Fault),
}

impl From<Fault> for EarlyEnd {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for EarlyEnd {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

impl EarlyEnd {
    /// Returns the report of a sync that ended for this reason.
    fn into_report(self, tally: Tally) -> Result<SyncedSource, Fault> {
        match self {
            Self::Away(reason) => Ok(tally.into_away(reason)),
            Self::Unreadable(problem) => Ok(tally.into_failure(problem)),
            Self::Fault(fault) => Err(fault),
        }
    }
}

/// The differences between the files of a source and its pages.
struct SourceChanges {
    moves: Vec<Move>,
    to_read: Vec<FileToRead>,
    /// Slugs of files without a page that are not read. Pages with such a slug are not deleted.
    claimed_slugs: HashSet<Slug>,
    missing: Vec<MissingPage>,
    /// The number of active pages of the source; 0 if none is missing.
    pages: usize,
    /// Paths of rows without a file and without a page.
    stale: Vec<String>,
}

impl<'a> SyncRun<'a> {
    /// Prepares a sync of a source.
    pub(super) fn new(
        service: &'a SyncService,
        (id, record): (&'a SourceId, &'a SourceRecord),
        options: SyncOptions<'a>,
        progress: &'a dyn Progress,
    ) -> Self {
        let root = service.sources.source_dir(record);
        let tally = Tally::new(id, root.display().to_string());
        Self { service, id, record, options, progress, root, files: None, tally, done: 0 }
    }

    /// Syncs the source.
    ///
    /// # Errors
    /// `cancelled`, or the store fails. A source that cannot be read is no error: the report says
    /// so.
    pub(super) fn run(mut self) -> Result<SyncedSource, Fault> {
        if let Err(end) = self.open() {
            return end.into_report(self.tally);
        }
        if !self.options.dry_run {
            self.preserve_edits();
        }
        let _refresh = self.service.index.refresh_on_drop();
        // The context is created before the walk. The walk sees files that were written before the
        // context, and the context expects no file that is written later.
        let mut context = self.new_context()?;
        match self.update_pages(&mut context) {
            Ok(stale) => self.finish(&context, stale),
            Err(end) => end.into_report(self.tally),
        }
    }

    /// Opens the directory of the source, and pulls if that is requested.
    fn open(&mut self) -> Result<(), EarlyEnd> {
        if !self.service.store.read(Visibility::All)?.has_files_of(self.id)? {
            return Err(EarlyEnd::Unreadable(brain_pages::files::OF_ANOTHER_MACHINE.into()));
        }
        let presence = &self.service.pages.files.presence;
        match presence.open(self.id, &self.root, CheckDepth::Again) {
            Ok(_) => {
                self.tally.report.pull = self.pull();
                // A pull can take minutes.
                self.files =
                    presence.open(self.id, &self.root, CheckDepth::Usual).ok().map(Arc::new);
            }
            Err(e) => {
                if let Some(reason) = away_reason(&e) {
                    let hint = away_hint(self.id, &self.root);
                    return Err(EarlyEnd::Away(format!("{reason}; {hint}")));
                }
            }
        }
        Ok(())
    }

    fn pull(&self) -> Pull {
        let outcome = match (self.options.pull, self.options.dry_run) {
            (false, _) => PullOutcome::Skipped("not requested".into()),
            (true, true) => PullOutcome::Skipped("a dry run does not pull".into()),
            (true, false) => {
                let _git = self.service.open_request_of_git();
                brain_files::pull(&self.root, &self.service.env.git_approved, &|| {
                    self.progress.at(0, 0) && !self.service.env.stop.is_cancelled()
                })
            }
        };
        let (status, message) = match outcome {
            PullOutcome::Skipped(why) => (PullStatus::Skipped, Some(why)),
            PullOutcome::UpToDate => (PullStatus::UpToDate, None),
            PullOutcome::Updated(summary) => (PullStatus::Updated, Some(summary)),
            PullOutcome::Failed(why) => (PullStatus::Failed, Some(why)),
        };
        if status == PullStatus::Failed {
            tracing::warn!(path = %self.root.display(), message, "git pull failed");
        }
        Pull { status, message }
    }

    /// Stores edits that brain overwrote, and reports them as conflicts.
    fn preserve_edits(&mut self) {
        let edits = self.service.pages.files.preserve_edits();
        let own = edits.into_iter().filter(|edit| edit.source == *self.id);
        self.tally.report.conflicts.extend(own.map(|edit| edit.conflict));
    }

    fn new_context(&self) -> Result<SyncContext, Fault> {
        let reader = self.service.store.read(Visibility::All)?;
        let rules = self.service.sources.rules(&reader, self.id, self.record)?;
        drop(reader);
        Ok(self.service.context(self.id, self.record, &rules, self.files.as_ref()))
    }

    /// Carries out all steps after the pull. Returns the paths of rows that have neither a file nor
    /// a page.
    fn update_pages(&mut self, context: &mut SyncContext) -> Result<Vec<String>, EarlyEnd> {
        let reader = self.service.store.read(Visibility::All)?;
        let mut survey = self.survey(&reader, context)?;
        let documents = std::mem::take(&mut survey.documents);
        self.report_survey(&survey);
        let mut changes = self.compare(&reader, context, survey)?;
        drop(reader);
        self.check_cancelled(self.done)?;
        if !self.has_same_disks() {
            return Err(EarlyEnd::Away(CHANGED_MEANWHILE.into()));
        }
        self.move_pages(context, &mut changes)?;
        self.store_changed_files(context, &changes.to_read)?;
        self.hold_pages(context, &mut changes);
        self.delete_pages(context, &changes.missing, changes.pages)?;
        self.sync_documents(context, &documents)?;
        Ok(changes.stale)
    }

    /// Walks the directory. A directory without files and without pages need not exist.
    fn survey(&self, reader: &Reader, context: &SyncContext) -> Result<Survey, EarlyEnd> {
        let walked = match &self.files {
            Some(files) => walk(reader, self.id, (files, &context.rules), self.options)?,
            None => Err(format!("{} cannot be read", self.root.display())),
        };
        match walked {
            Ok(survey) => Ok(survey),
            Err(_)
                if !has_pages(reader, self.id, self.options.scope)?
                    && self.service.sources.directory_problem(self.id, self.record).is_none() =>
            {
                Ok(Survey::default())
            }
            Err(problem) if self.files.is_some() => Err(EarlyEnd::Unreadable(problem)),
            Err(problem) => {
                let error = RootDir::open(&self.root).err();
                let why = error.map(|e| format!(": {e}")).unwrap_or_default();
                Err(EarlyEnd::Unreadable(problem + &why))
            }
        }
    }

    /// Reports what the walk found besides changed files.
    fn report_survey(&mut self, survey: &Survey) {
        let files = self.files.iter().filter_map(|files| files.parts());
        let away_parts: Vec<AwayPart> = files.flat_map(Parts::away).cloned().collect();
        for part in &away_parts {
            self.tally.note_away_part(part);
        }
        self.tally.report.files = survey.files;
        self.tally.report.left_out = survey.found.ignored.clone();
        let is_away = |path: &str| away_parts.iter().any(|part| covers(&part.path, path));
        for (path, reason) in survey.found.unreadable.iter().filter(|(path, _)| !is_away(path)) {
            self.tally.fail(path.clone(), format!("cannot be read: {reason}"));
        }
        beside::warn(survey, &mut self.tally);
        if survey.files == 0 && self.options.is_whole() && self.options.watched.is_none() {
            let warning = self.service.export_warning(&self.root);
            self.tally.report.warnings.extend(warning);
        }
        if self.options.is_whole() {
            self.service.sources.note_links(self.id, &survey.found.links);
        }
    }

    /// Finds the changes among the surveyed files, and counts the other files.
    fn compare(
        &mut self,
        reader: &Reader,
        context: &SyncContext,
        survey: Survey,
    ) -> Result<SourceChanges, EarlyEnd> {
        let files = (self.files.as_deref(), &*context.rules);
        let is_taken = |slug: &Slug| context.has_other_file(reader, slug);
        let mut slugs =
            slugs_of_new_files(reader, self.id, files, &survey, self.options, is_taken)?;
        let Survey { found, known, unchanged, .. } = survey;
        let plan = compare(reader, &known, found, &mut slugs, self.options.full)?;
        self.tally.report.unchanged = plan.unchanged + unchanged;
        self.done = self.tally.report.unchanged + plan.failed.len() as u64;
        for (path, reason) in plan.failed {
            self.tally.fail(path, reason);
        }
        let missing = missing_pages(reader, context, &plan.missing)?;
        let (scope, since) = (self.options.scope, self.last_sync_at());
        let search = RenameSearch { reader, context, known: &known, scope, since };
        let moves = search.find(&missing, &plan.to_read, &|| self.should_continue(self.done))?;
        let pages = if missing.is_empty() { 0 } else { active_pages(reader, self.id)? };
        let (to_read, claimed_slugs, stale) = (plan.to_read, plan.claimed_slugs, plan.stale);
        Ok(SourceChanges { moves, to_read, claimed_slugs, missing, pages, stale })
    }

    /// Returns when the last recorded sync ended, in Unix milliseconds; 0 before the first one.
    fn last_sync_at(&self) -> i64 {
        self.record.last_sync.as_ref().map_or(0, |sync| sync.at)
    }

    /// Reports the progress. Returns whether the sync should continue.
    fn should_continue(&self, done: u64) -> bool {
        self.progress.at(done, self.tally.report.files) && !self.service.env.stop.is_cancelled()
    }

    fn check_cancelled(&self, done: u64) -> Result<(), Fault> {
        if self.should_continue(done) {
            return Ok(());
        }
        let (id, total) = (self.id, self.tally.report.files);
        let message = format!("the sync of \"{id}\" ended early, after {done} of {total} files");
        Err(Fault::new(FaultCode::Cancelled, message)
            .hint(hint!("the files stored so far stay; the next {} continues", Command::Sync)))
    }

    /// Returns whether the same disks are mounted as before the walk. Files that the walk did not
    /// see may be on a disk that was unmounted meanwhile.
    fn has_same_disks(&self) -> bool {
        let Some(before) = &self.files else { return true };
        let now = self.service.pages.files.presence.open(self.id, &self.root, CheckDepth::Usual);
        now.is_ok_and(|now| now.parts().zip(before.parts()).is_some_and(|(a, b)| a.is_same(b)))
    }

    /// Moves pages to the new paths of their files, and removes both from the other changes.
    fn move_pages(
        &mut self,
        context: &mut SyncContext,
        changes: &mut SourceChanges,
    ) -> Result<(), EarlyEnd> {
        let moves = std::mem::take(&mut changes.moves);
        let new_paths: Vec<(u64, String)> =
            moves.iter().map(|m| (m.record.id, m.path.clone())).collect();
        let dry_run = self.options.dry_run;
        let check_cancelled = |moved| self.check_cancelled(self.done + moved);
        let not_moved: HashSet<u64> = self
            .service
            .move_pages(context, moves, dry_run, &check_cancelled)?
            .into_iter()
            .map(|page_move| page_move.record.id)
            .collect();
        let (moved, moved_paths): (HashSet<u64>, HashSet<String>) =
            new_paths.into_iter().filter(|(page, _)| !not_moved.contains(page)).unzip();
        self.tally.report.renamed = moved.len() as u64;
        self.done += self.tally.report.renamed;
        for page in changes.missing.extract_if(.., |page| moved.contains(&page.record.id)) {
            context.freed_slugs.extend(dry_run.then_some(page.slug));
        }
        changes.to_read.retain(|file| !moved_paths.contains(&file.path));
        Ok(())
    }

    /// Reads the changed files and stores them in batches.
    fn store_changed_files(
        &mut self,
        context: &SyncContext,
        to_read: &[FileToRead],
    ) -> Result<(), EarlyEnd> {
        let history = &self.service.git_history;
        let is_watched = self.options.watched.is_some();
        let commits = commit_times(history, &self.root, to_read, is_watched, &|| {
            self.should_continue(self.done)
        });
        let now = self.service.env.clock.now();
        let files = self.files.clone();
        in_batches(
            files.as_ref().map_or(&[], |_| to_read),
            |file| file.size,
            |file| files.as_deref().and_then(|root| read_file(root, file, &commits, now).ok()),
            |batch| {
                self.check_cancelled(self.done)?;
                self.done += batch.len() as u64;
                let freed_slugs = context.freed_slugs.clone();
                let context =
                    self.service.context(self.id, self.record, &context.rules, files.as_ref());
                self.service.store_files(
                    SyncContext { freed_slugs, ..context },
                    batch.into_iter().flatten().collect(),
                    self.options.dry_run,
                    &mut self.tally,
                )
            },
        )?;
        Ok(())
    }

    /// Takes out of the missing pages those that must not be deleted.
    fn hold_pages(&mut self, context: &SyncContext, changes: &mut SourceChanges) {
        let SourceChanges { missing, to_read, claimed_slugs, .. } = changes;
        if missing.is_empty() {
            return;
        }
        let new = to_read.iter().filter(|file| file.page.is_none());
        let mut claimed: HashSet<Slug> = new.filter_map(|file| file.slug().ok()).collect();
        claimed.extend(claimed_slugs.drain());
        // A page is not missing if another file has its slug now. Nor if its file is back, unless
        // the rules leave it out: editors remove a file for a moment while they save it.
        missing.retain(|page| {
            !claimed.contains(&page.slug)
                && (!context.has_file(&page.record.source_path)
                    || context.is_left_out(&page.record))
        });
        if !self.options.yes {
            beside::hold_replaced(&self.root, self.id, missing, &mut self.tally);
        }
        if let Some(changed_paths) = self.options.watched {
            let before = missing.len();
            missing.retain(|page| {
                changed_paths.iter().any(|part| covers(part, &page.record.source_path))
            });
            self.tally.report.held_back = (before - missing.len()) as u64;
        }
    }

    /// Returns whether the sync may delete this number of pages, and counts them as held back if
    /// they are too many. `pages` is the number of active pages of the source. Removals by the
    /// watcher count together, and those of this sync.
    fn may_delete(&mut self, missing: usize, pages: usize) -> Result<bool, EarlyEnd> {
        let Self { service, options, tally, .. } = self;
        let removed = tally.report.removed as usize;
        let before = match options.watched {
            Some(_) => service.removals.recent(self.id, service.env.clock.now()),
            None => removed,
        };
        // A dry run removed none of them.
        let all = pages + if options.dry_run { 0 } else { before };
        if missing > 0 && are_too_many(missing + before, all) && !options.yes {
            tally.report.held_back += missing as u64;
            return Ok(false);
        }
        if missing > 0 && !options.dry_run && !self.has_same_disks() {
            return Err(EarlyEnd::Away(CHANGED_MEANWHILE.into()));
        }
        Ok(missing > 0)
    }

    /// Adds pages that were deleted to the report, and to the recent removals of the watcher.
    fn count_removed(&mut self, removed: u64) {
        self.tally.report.removed += removed;
        if self.options.watched.is_some() {
            let now = self.service.env.clock.now();
            self.service.removals.record(self.id, now, removed as usize);
        }
    }

    /// Deletes the missing pages, unless they are too many. `pages` is the number of active pages.
    fn delete_pages(
        &mut self,
        context: &SyncContext,
        missing: &[MissingPage],
        pages: usize,
    ) -> Result<(), EarlyEnd> {
        if !self.may_delete(missing.len(), pages)? {
            return Ok(());
        }
        let removed = match self.options.dry_run {
            true => missing.len() as u64,
            false => {
                let check_cancelled = || self.check_cancelled(self.done);
                self.service.delete_missing(context, missing, &check_cancelled)?
            }
        };
        self.count_removed(removed);
        Ok(())
    }

    /// Brings the pages of documents up to date, if the rules of the source name any.
    fn sync_documents(
        &mut self,
        context: &SyncContext,
        documents: &[String],
    ) -> Result<(), EarlyEnd> {
        let Some(files) = self.files.clone().filter(|_| context.rules.has_documents()) else {
            return Ok(());
        };
        if !self.has_same_disks() {
            return Err(EarlyEnd::Away(CHANGED_MEANWHILE.into()));
        }
        let (service, source) = (self.service, self.id);
        let (options, progress) = (self.options, self.progress);
        let sync = DocumentSync { service, source, files: &files, options, progress };
        let gone = sync.update(documents, &mut self.tally)?;
        let pages = match gone.is_empty() {
            true => 0,
            false => active_pages(&self.service.store.read(Visibility::All)?, self.id)?,
        };
        // The conversions can take minutes, so the disks are checked again.
        if self.may_delete(gone.len(), pages)? {
            let removed = sync.delete(&gone, &mut self.tally)?;
            self.count_removed(removed);
        }
        Ok(())
    }

    /// Records the result of the sync, and returns its report.
    fn finish(self, context: &SyncContext, stale: Vec<String>) -> Result<SyncedSource, Fault> {
        let (service, total) = (self.service, self.tally.report.files);
        self.progress.at(total, total);
        let (options, since) = (self.options, self.last_sync_at());
        let report = self.tally.into_report();
        if options.dry_run {
            return Ok(report);
        }
        let at = service.env.clock.now();
        // A sync of a part is recorded only if it had problems.
        let at = if options.is_whole() { at } else { since };
        let result = (options.is_whole() || report.problem.is_some())
            .then(|| SyncResult { at, problem: report.problem.clone() });
        if result.is_some() || !stale.is_empty() {
            service.record_result(context, stale, result)?;
        }
        service.pages.files.forget_failures();
        Ok(report)
    }
}
