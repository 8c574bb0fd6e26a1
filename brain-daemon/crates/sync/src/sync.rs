//! `sync`: updates the pages of a source from its files. Apart from the pull, a sync does not
//! write, move or remove files of the source.
//!
//! The steps of a sync:
//! 1. Pull with git, if requested.
//! 2. Walk the directory, and compare its files with the rows of the last sync (`survey`,
//!    [`compare`]).
//! 3. Find renamed files (`renames`).
//! 4. Read the other changed files, and store them in batches (`decide`, `apply`).
//! 5. Delete the pages whose file is gone, unless they are too many.
//!
//! One sync runs at a time; others wait, except dry runs.

pub mod import;
pub(crate) mod import_attachments;

mod apply;
mod beside;
pub mod compare;
mod copies;
mod decide;
mod listing;
mod renames;
mod survey;
mod take_in;
mod tally;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_pages::files::read::{commit_times, read_file};
use brain_protocol::{Fault, FaultCode, Pull, Slug, SourceId, Sync, SyncReply, SyncedSource};
use compare::{compare, covers};
use decide::SyncContext;
use listing::{active_pages, files_without_page, has_pages, missing_pages, walk};
use parking_lot::{Mutex, MutexGuard};
use survey::{Survey, scope};
use tally::Tally;

use brain_base::caller::{Caller, Visibility};
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_pages::presence::{Check, away_hint, away_reason};
use brain_pages::sources::SourceService;
use brain_retrieval::embedding::EmbeddingService;
use brain_service::batch::in_batches;
use brain_service::{Environment, NoProgress, Progress};

use brain_files::{AwayPart, GitHistory, Parts, PullOutcome, RootDir};
use brain_store::{SourceRecord, Store, SyncResult};

/// More missing pages than this number, which are also more than [`MAX_REMOVED_PERCENT`] of the
/// source, are deleted only with `--yes`.
const MAX_REMOVED: usize = 20;
/// See [`MAX_REMOVED`].
const MAX_REMOVED_PERCENT: usize = 30;
/// Removals that the watcher sees within this time are added up, in milliseconds. The watcher sees
/// a large removal as many small ones.
const REMOVAL_WINDOW_MS: i64 = 10 * 60 * 1000;
/// The status of a source that is away, or that has such a part.
const AWAY: &str = "away";
/// Why a sync deletes nothing when a disk comes or goes while it runs.
const CHANGED_MEANWHILE: &str =
    "a disk was mounted or unmounted while the sync ran; the next sync looks again";
/// The interval at which a waiting sync checks whether the other one has ended.
const TURN_POLL: Duration = Duration::from_millis(50);

/// The options of a sync of one source.
#[derive(Debug, Clone, Copy)]
struct SyncOptions<'a> {
    pull: bool,
    dry_run: bool,
    full: bool,
    yes: bool,
    /// The changed paths, if the watcher started this sync. Pages whose missing file has another
    /// path are not deleted.
    watched: Option<&'a [String]>,
    /// Only files at or below these paths are synced. An empty path means the whole source.
    scope: &'a [String],
}

impl SyncOptions<'_> {
    fn is_whole(&self) -> bool {
        self.scope.iter().any(String::is_empty)
    }
}

/// Sync of sources with their files, and imports.
pub struct SyncService {
    pub(crate) env: Environment,
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) sources: Arc<SourceService>,
    pub(crate) embedding: Arc<EmbeddingService>,
    /// Locked while a sync runs.
    pub(crate) sync_lock: Arc<Mutex<()>>,
    /// The recent removals by the watcher: source, time in Unix milliseconds, number of pages.
    pub(crate) removals: Mutex<Vec<(SourceId, i64, usize)>>,
    git_history: GitHistory,
}

impl SyncService {
    /// Creates the service.
    pub fn new(
        env: Environment,
        store: Arc<Store>,
        index: Arc<IndexFollower>,
        pages: Arc<PageService>,
        sources: Arc<SourceService>,
        embedding: Arc<EmbeddingService>,
        sync_lock: Arc<Mutex<()>>,
    ) -> Self {
        Self {
            env,
            store,
            index,
            pages,
            sources,
            embedding,
            sync_lock,
            removals: Mutex::default(),
            git_history: GitHistory::default(),
        }
    }

    /// Takes changes of files into the store, for one source or for all.
    pub fn sync(
        &self,
        caller: &Caller,
        request: &Sync,
        progress: &dyn Progress,
    ) -> Result<SyncReply, Fault> {
        let began = Instant::now();
        if request.all && request.source.is_some() {
            return Err(Fault::new(FaultCode::Usage, "either one source or all of them")
                .hint("brain sync --all, or brain sync --source <name>"));
        }
        // A dry run changes nothing, so it need not wait.
        let _turn = if request.dry_run { None } else { Some(self.wait_for_turn(progress)?) };
        let _no_embedding = (!request.embed).then(|| self.embedding.state.suppress_embedding());
        let reader = self.store.read(caller.visibility())?;
        let selected = match request.all {
            true => brain_pages::sources::own_sources(&reader)?,
            false => vec![brain_pages::sources::resolve(caller, &reader, request.source.as_ref())?],
        };
        drop(reader);
        let options = SyncOptions {
            pull: request.pull,
            dry_run: request.dry_run,
            full: request.full,
            yes: request.yes,
            watched: None,
            scope: &[String::new()],
        };
        let mut sources = Vec::with_capacity(selected.len());
        for (id, record) in selected {
            sources.push(self.sync_source(&id, &record, options, progress)?);
        }
        let worst = ["failed", AWAY, "held_back", "partial"]
            .into_iter()
            .find(|status| sources.iter().any(|source| source.status == *status));
        Ok(SyncReply {
            status: worst.unwrap_or("done").into(),
            dry_run: request.dry_run,
            sources,
            took_ms: began.elapsed().as_millis() as u64,
        })
    }

    /// Syncs changed files and directories of a source, by their absolute paths, without a pull. A
    /// file with the content of its page changes nothing, so the daemon's own writes do not cause
    /// another sync.
    ///
    /// # Errors
    /// `unknown_source`, `cancelled`, `invalid_config`, or the store fails. The report names the
    /// files that failed.
    pub fn sync_paths(&self, source: &SourceId, paths: &[PathBuf]) -> Result<SyncedSource, Fault> {
        let _turn = self.wait_for_turn(&NoProgress)?;
        let sources = self.store.read(Visibility::All)?.sources()?;
        let Some((id, record)) = sources.into_iter().find(|(id, _)| id == source) else {
            let message = format!("source \"{source}\" is not registered");
            return Err(
                Fault::new(FaultCode::UnknownSource, message).hint("see `brain sources list`")
            );
        };
        // After a sync with problems, only a sync of the whole source shows whether they persist.
        let changed_paths = scope(&self.sources.source_dir(&record), paths);
        let whole_source = vec![String::new()];
        let scope = match record.last_sync.as_ref().is_some_and(|sync| sync.problem.is_some()) {
            true => &whole_source,
            false => &changed_paths,
        };
        let options = SyncOptions {
            pull: false,
            dry_run: false,
            full: false,
            yes: false,
            watched: Some(&changed_paths),
            scope,
        };
        self.sync_source(&id, &record, options, &NoProgress)
    }

    /// Waits until no other sync runs.
    fn wait_for_turn(&self, progress: &dyn Progress) -> Result<MutexGuard<'_, ()>, Fault> {
        loop {
            if let Some(turn) = self.sync_lock.try_lock() {
                return Ok(turn);
            }
            if !progress.at(0, 0) || self.env.stop.is_cancelled() {
                return Err(Fault::new(
                    FaultCode::Cancelled,
                    "the sync ended early, before its turn",
                ));
            }
            std::thread::sleep(TURN_POLL);
        }
    }

    fn sync_source(
        &self,
        id: &SourceId,
        record: &SourceRecord,
        options: SyncOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<SyncedSource, Fault> {
        let root = self.sources.source_dir(record);
        let mut tally = Tally::new(id, root.display().to_string());
        if !self.store.read(Visibility::All)?.has_files_of(id)? {
            return Ok(tally.into_failure(brain_pages::files::OF_ANOTHER_MACHINE.into()));
        }
        let presence = &self.pages.files.presence;
        let mut files = match presence.open(id, &root, Check::Again) {
            Ok(files) => Some(Arc::new(files)),
            Err(e) => match away_reason(&e) {
                Some(reason) => {
                    let hint = away_hint(id, &root);
                    return Ok(tally.into_away(format!("{reason}; {hint}")));
                }
                None => None,
            },
        };
        if files.is_some() {
            tally.report.pull = self.pull(&root, options, progress);
            // A pull can take minutes.
            files = presence.open(id, &root, Check::Usual).ok().map(Arc::new);
        }
        if !options.dry_run {
            let edits =
                self.pages.files.preserve_edits().into_iter().filter(|edit| edit.source == *id);
            tally.report.conflicts.extend(edits.map(|edit| edit.conflict));
        }
        let _refresh = self.index.refresh_on_drop();
        // The context is created before the walk. The walk sees files that were written before the
        // context, and the context expects no file that is written later.
        let reader = self.store.read(Visibility::All)?;
        let rules = self.sources.rules(&reader, id, record)?;
        drop(reader);
        let mut context = self.context(id, record, &rules, files.as_ref());
        let reader = self.store.read(Visibility::All)?;
        let walked = match &files {
            Some(files) => walk(&reader, id, (files, &rules), options)?,
            None => Err(format!("{} cannot be read", root.display())),
        };
        let survey = match walked {
            Ok(survey) => survey,
            Err(_)
                if !has_pages(&reader, id, options.scope)?
                    && self.sources.directory_problem(id, record).is_none() =>
            {
                Survey::default()
            }
            Err(problem) => {
                let why = RootDir::open(&root).err().map(|e| format!(": {e}")).unwrap_or_default();
                let problem = if files.is_some() { problem } else { problem + &why };
                return Ok(tally.into_failure(problem));
            }
        };
        let away_parts = files.iter().filter_map(|files| files.parts()).flat_map(Parts::away);
        let away_parts: Vec<AwayPart> = away_parts.cloned().collect();
        for part in &away_parts {
            tally.note_away_part(part);
        }
        let Survey { found, known, .. } = &survey;
        tally.report.files = survey.files;
        tally.report.left_out = found.ignored.clone();
        let is_away = |path: &str| away_parts.iter().any(|part| covers(&part.path, path));
        for (path, reason) in found.unreadable.iter().filter(|(path, _)| !is_away(path)) {
            tally.fail(path.clone(), format!("cannot be read: {reason}"));
        }
        beside::warn(&survey, &mut tally);
        if options.is_whole() {
            self.sources.note_links(id, &found.links);
        }
        let files_without_page =
            files_without_page(&reader, id, (files.as_deref(), &rules), &survey, options)?;
        let is_taken = |slug: &Slug| context.has_other_file(&reader, slug);
        let plan = compare(&reader, known, found, &files_without_page, options.full, is_taken)?;
        tally.report.unchanged = plan.unchanged + survey.unchanged;
        let mut done = tally.report.unchanged + plan.failed.len() as u64;
        for (path, reason) in plan.failed {
            tally.fail(path, reason);
        }
        let (mut to_read, mut claimed) = (plan.to_read, plan.claimed_slugs);
        let mut missing = missing_pages(&reader, &context, &plan.missing)?;
        let since = record.last_sync.as_ref().map_or(0, |sync| sync.at);
        let total = tally.report.files;
        let should_continue = |done: u64| progress.at(done, total) && !self.env.stop.is_cancelled();
        let moves = renames::find(
            &reader,
            &context,
            (known, options.scope),
            &missing,
            &to_read,
            since,
            &|| should_continue(done),
        )?;
        let pages = if missing.is_empty() { 0 } else { active_pages(&reader, id)? };
        drop(reader);

        let check_cancelled = |done: u64| {
            if should_continue(done) {
                return Ok(());
            }
            let message =
                format!("the sync of \"{id}\" ended early, after {done} of {total} files");
            Err(Fault::new(FaultCode::Cancelled, message)
                .hint("the files stored so far stay; the next `brain sync` continues"))
        };
        check_cancelled(done)?;
        // Files that the walk did not see may be on a disk that was unmounted meanwhile.
        let is_as_before = || match &files {
            Some(before) => presence.open(id, &root, Check::Usual).is_ok_and(|now| {
                now.parts().zip(before.parts()).is_some_and(|(a, b)| a.is_same(b))
            }),
            None => true,
        };
        if !is_as_before() {
            return Ok(tally.into_away(CHANGED_MEANWHILE.into()));
        }
        let new_paths: Vec<(u64, String)> =
            moves.iter().map(|m| (m.record.id, m.path.clone())).collect();
        let not_moved: HashSet<u64> = self
            .move_pages(&context, moves, options.dry_run, &|moved| check_cancelled(done + moved))?
            .into_iter()
            .map(|page_move| page_move.record.id)
            .collect();
        let (moved, moved_paths): (HashSet<u64>, HashSet<String>) =
            new_paths.into_iter().filter(|(page, _)| !not_moved.contains(page)).unzip();
        tally.report.renamed = moved.len() as u64;
        done += tally.report.renamed;
        for page in missing.extract_if(.., |page| moved.contains(&page.record.id)) {
            context.freed_slugs.extend(options.dry_run.then_some(page.slug));
        }
        for file in to_read.extract_if(.., |file| moved_paths.contains(&file.path)) {
            claimed.remove(&file.slug);
        }

        let is_watched = options.watched.is_some();
        let commits =
            commit_times(&self.git_history, &root, &to_read, is_watched, &|| should_continue(done));
        let now = self.env.clock.now();
        let read = |file: &_, root: &RootDir| read_file(root, file, &commits, now);
        in_batches(
            files.as_ref().map_or(&[], |_| to_read.as_slice()),
            |file| file.size,
            |file| files.as_deref().map(|root| read(file, root)),
            |batch| {
                check_cancelled(done)?;
                done += batch.len() as u64;
                let freed_slugs = context.freed_slugs.clone();
                let context = self.context(id, record, &rules, files.as_ref());
                self.store_files(
                    SyncContext { freed_slugs, ..context },
                    batch.into_iter().flatten().collect(),
                    options.dry_run,
                    &mut tally,
                )
            },
        )?;

        // A page is not missing if another file has its slug now. Nor if its file is back, unless
        // the rules leave it out: editors remove a file for a moment while they save it.
        missing.retain(|page| {
            !claimed.contains(&page.slug)
                && (!context.has_file(&page.record.source_path)
                    || context.is_left_out(&page.record))
        });
        if !options.yes {
            beside::hold_replaced(&root, id, &mut missing, &mut tally);
        }
        if let Some(changed_paths) = options.watched {
            let before = missing.len();
            missing.retain(|page| {
                changed_paths.iter().any(|part| covers(part, &page.record.source_path))
            });
            tally.report.held_back = (before - missing.len()) as u64;
        }
        let recent = if options.watched.is_some() { self.recent_removals(id) } else { 0 };
        let (removals, all) = (missing.len() + recent, pages + recent);
        let is_too_many = removals > MAX_REMOVED && removals * 100 > all * MAX_REMOVED_PERCENT;
        if !missing.is_empty() && is_too_many && !options.yes {
            tally.report.held_back += missing.len() as u64;
        } else if options.dry_run {
            tally.report.removed = missing.len() as u64;
        } else if !missing.is_empty() && !is_as_before() {
            return Ok(tally.into_away(CHANGED_MEANWHILE.into()));
        } else {
            tally.report.removed =
                self.delete_missing(&context, &missing, &|| check_cancelled(done))?;
            if options.watched.is_some() && tally.report.removed > 0 {
                let removal = (id.clone(), self.env.clock.now(), tally.report.removed as usize);
                self.removals.lock().push(removal);
            }
        }
        progress.at(total, total);
        let stale = plan.stale;
        let report = tally.into_report();
        if !options.dry_run {
            let at = self.env.clock.now();
            // A sync of a part is recorded only if it had problems.
            let at = if options.is_whole() { at } else { since };
            let result = (options.is_whole() || report.problem.is_some())
                .then(|| SyncResult { at, problem: report.problem.clone() });
            if result.is_some() || !stale.is_empty() {
                self.record_result(&context, stale, result)?;
            }
            self.pages.files.forget_failures();
        }
        Ok(report)
    }

    /// Returns the number of pages of the source whose removal the watcher saw recently.
    fn recent_removals(&self, source: &SourceId) -> usize {
        let since = self.env.clock.now() - REMOVAL_WINDOW_MS;
        let mut removals = self.removals.lock();
        removals.retain(|(_, at, _)| *at > since);
        removals.iter().filter(|(id, _, _)| id == source).map(|(_, _, pages)| pages).sum()
    }

    fn pull(&self, root: &Path, options: SyncOptions<'_>, progress: &dyn Progress) -> Pull {
        let outcome = match (options.pull, options.dry_run) {
            (false, _) => PullOutcome::Skipped("not requested".into()),
            (true, true) => PullOutcome::Skipped("a dry run does not pull".into()),
            (true, false) => {
                let approved = &self.env.config.sources.git_approved;
                brain_files::pull(root, approved, &|| {
                    progress.at(0, 0) && !self.env.stop.is_cancelled()
                })
            }
        };
        let (status, message) = match outcome {
            PullOutcome::Skipped(why) => ("skipped", Some(why)),
            PullOutcome::UpToDate => ("up_to_date", None),
            PullOutcome::Updated(summary) => ("updated", Some(summary)),
            PullOutcome::Failed(why) => ("failed", Some(why)),
        };
        if status == "failed" {
            tracing::warn!(path = %root.display(), message, "git pull failed");
        }
        Pull { status: status.into(), message }
    }
}
