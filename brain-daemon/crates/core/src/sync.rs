//! `sync`: bringing the pages of a source in line with its files.
//!
//! The files are their authors': nothing here writes, moves or removes one. First git may pull;
//! then the directory is walked beside what was noted of its files ([`survey`]), and what is not as
//! it was is compared ([`compare`]); renames are told from what came and went ([`renames`]); the
//! rest is read and stored a batch at a time ([`decide`], [`apply`]); at last pages without a file
//! are hidden, unless they are too many. One sync is at work in a brain at a time; the next one
//! waits for its turn.

pub(crate) mod import;

mod apply;
mod compare;
mod decide;
mod read;
mod renames;
mod survey;
mod tally;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use brain_protocol::{Fault, FaultCode, Pull, SourceId, Sync, SyncReply, SyncedSource};
use compare::{Missing, compare, covers};
use decide::Ground;
use read::read_file;
use survey::Survey;
use tally::Tally;

use crate::batch::in_batches;
use crate::index::Follower;
use crate::{Caller, EmbeddingService, Environment, FileService, Progress, Silent, SourceService};
use brain_base::caller::Visibility;
use brain_store::files::{self, PullOutcome};
use brain_store::{FileState, Reader, SourceRecord, Store, StoreError, SyncResult};

/// More pages than this, and
const MANY: usize = 20;
/// more percent of a source than this, do not go without the user's word.
const MANY_PERCENT: usize = 30;
/// Removals that the watcher sees within this time count together, in milliseconds: it takes in a
/// large removal in small parts.
const TOGETHER_MS: i64 = 10 * 60 * 1000;
/// How often somebody who waits for a turn looks again.
const TURN: Duration = Duration::from_millis(50);

/// How a sync is to be done.
#[derive(Debug, Clone, Copy)]
struct Wish<'a> {
    pull: bool,
    dry_run: bool,
    full: bool,
    yes: bool,
    /// Nobody asked for it: the watcher noticed something at these paths. Pages whose file is gone
    /// elsewhere wait on.
    watched: Option<&'a [String]>,
    /// Only files at or below these paths; everything when one is empty.
    scope: &'a [String],
}

impl Wish<'_> {
    fn is_whole(&self) -> bool {
        self.scope.iter().any(String::is_empty)
    }
}

/// Sync of sources with their files, and imports.
pub struct SyncService {
    pub(crate) env: Environment,
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<Follower>,
    pub(crate) files: Arc<FileService>,
    pub(crate) sources: Arc<SourceService>,
    pub(crate) embedding: Arc<EmbeddingService>,
    pub(crate) syncing: Arc<Mutex<()>>,
    pub(crate) removals: Mutex<Vec<(SourceId, i64, usize)>>,
}

impl SyncService {
    /// Creates the service.
    pub(crate) fn new(
        env: Environment,
        store: Arc<Store>,
        index: Arc<Follower>,
        files: Arc<FileService>,
        sources: Arc<SourceService>,
        embedding: Arc<EmbeddingService>,
        syncing: Arc<Mutex<()>>,
    ) -> Self {
        Self { env, store, index, files, sources, embedding, syncing, removals: Mutex::default() }
    }

    pub(crate) fn sync(
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
        // A dry run changes nothing, and stands in nobody's way.
        let _turn = if request.dry_run { None } else { Some(self.turn(progress)?) };
        let _quiet = (!request.embed).then(|| self.embedding.state.suppress_embedding());
        let reader = self.store.read(caller.visibility())?;
        let chosen = match request.all {
            true => reader.sources()?,
            false => vec![crate::sources::resolve(caller, &reader, request.source.as_ref())?],
        };
        drop(reader);
        let wish = Wish {
            pull: request.pull,
            dry_run: request.dry_run,
            full: request.full,
            yes: request.yes,
            watched: None,
            scope: &[String::new()],
        };
        let mut sources = Vec::with_capacity(chosen.len());
        for (id, record) in chosen {
            sources.push(self.sync_source(&id, &record, wish, progress)?);
        }
        let worst = ["failed", "held_back", "partial"]
            .into_iter()
            .find(|status| sources.iter().any(|source| source.status == *status));
        Ok(SyncReply {
            status: worst.unwrap_or("done").into(),
            dry_run: request.dry_run,
            sources,
            took_ms: began.elapsed().as_millis() as u64,
        })
    }

    /// The same for files and directories of a source in which something has happened, by their
    /// absolute paths, without a pull. Files that say what their pages say change nothing, so the
    /// daemon's own writes come to rest.
    ///
    /// # Errors
    /// `unknown_source`, and when the store fails. What could not be taken in is in the report.
    pub fn sync_paths(&self, source: &SourceId, paths: &[PathBuf]) -> Result<SyncedSource, Fault> {
        let _turn = self.turn(&Silent)?;
        let sources = self.store.read(Visibility::All)?.sources()?;
        let Some((id, record)) = sources.into_iter().find(|(id, _)| id == source) else {
            let message = format!("source \"{source}\" is not registered");
            return Err(
                Fault::new(FaultCode::UnknownSource, message).hint("see `brain sources list`")
            );
        };
        // What was noted as wrong is mended somewhere, and only a look at everything can tell.
        let touched = scope(&self.sources.source_dir(&record), paths);
        let everything = vec![String::new()];
        let scope = match record.synced.as_ref().is_some_and(|mark| mark.problem.is_some()) {
            true => &everything,
            false => &touched,
        };
        let wish = Wish {
            pull: false,
            dry_run: false,
            full: false,
            yes: false,
            watched: Some(&touched),
            scope,
        };
        self.sync_source(&id, &record, wish, &Silent)
    }

    /// Waits until no other sync is at work.
    fn turn(&self, progress: &dyn Progress) -> Result<MutexGuard<'_, ()>, Fault> {
        loop {
            match self.syncing.try_lock() {
                Ok(turn) => return Ok(turn),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if !progress.at(0, 0) || self.env.stop.is_cancelled() {
                return Err(Fault::new(
                    FaultCode::Cancelled,
                    "the sync ended early, before its turn",
                ));
            }
            std::thread::sleep(TURN);
        }
    }

    fn sync_source(
        &self,
        id: &SourceId,
        record: &SourceRecord,
        wish: Wish<'_>,
        progress: &dyn Progress,
    ) -> Result<SyncedSource, Fault> {
        let root = self.sources.source_dir(record);
        let mut tally = Tally::new(id, root.display().to_string());
        if root.is_dir() {
            tally.out.pull = self.pull(&root, wish, progress);
        }
        if !wish.dry_run {
            let kept = self.files.keep_saves().into_iter().filter(|kept| kept.source == *id);
            tally.out.conflicts.extend(kept.map(|kept| kept.conflict));
        }
        let _settled = self.index.settle_at_end();
        // In this order: what is written from here on is either seen by the walk or not yet
        // expected to be there.
        let mut ground = self.ground(id, record);
        let reader = self.store.read(Visibility::All)?;
        let survey = match walk(&reader, id, &root, wish)? {
            Ok(survey) => survey,
            Err(_)
                if !has_pages(&reader, id, wish.scope)?
                    && self.sources.unusable(record).is_none() =>
            {
                Survey::default()
            }
            Err(problem) => return Ok(tally.failed(problem)),
        };
        let Survey { found, known, .. } = &survey;
        tally.out.files = survey.files;
        for (path, reason) in &found.unreadable {
            tally.fail(path.clone(), format!("cannot be read: {reason}"));
        }
        for path in &found.repositories {
            tally.warn(format!(
                "{path} is a git work tree of its own: its files are taken in, it is not pulled"
            ));
        }
        let strangers = strangers(&reader, id, &root, &survey, wish)?;
        let plan = compare(&reader, known, found, &strangers, wish.full)?;
        tally.out.unchanged = plan.unchanged + survey.unchanged;
        let mut done = tally.out.unchanged + plan.failed.len() as u64;
        for (path, reason) in plan.failed {
            tally.fail(path, reason);
        }
        let (mut to_read, mut claimed) = (plan.to_read, plan.claimed);
        let mut missing = missing(&reader, &ground, &plan.missing)?;
        let since = record.synced.as_ref().map_or(0, |mark| mark.at);
        let total = tally.out.files;
        let goes_on = || progress.at(done, total) && !self.env.stop.is_cancelled();
        let moves = renames::find(
            &reader,
            &ground,
            (known, wish.scope),
            &missing,
            &to_read,
            since,
            &goes_on,
        )?;
        let pages = if missing.is_empty() { 0 } else { active_pages(&reader, id)? };
        drop(reader);

        let go_on = |done: u64| {
            if progress.at(done, total) && !self.env.stop.is_cancelled() {
                return Ok(());
            }
            let message =
                format!("the sync of \"{id}\" ended early, after {done} of {total} files");
            Err(Fault::new(FaultCode::Cancelled, message)
                .hint("what was taken in stays; the next `brain sync` goes on from there"))
        };
        go_on(done)?;
        let all: Vec<(u64, String)> = moves.iter().map(|m| (m.record.id, m.path.clone())).collect();
        let left: HashSet<u64> = self
            .follow(&ground, moves, wish.dry_run, &|moved| go_on(done + moved))?
            .into_iter()
            .map(|still| still.record.id)
            .collect();
        let (moved, taken): (HashSet<u64>, HashSet<String>) =
            all.into_iter().filter(|(page, _)| !left.contains(page)).unzip();
        tally.out.renamed = moved.len() as u64;
        done += tally.out.renamed;
        for page in missing.extract_if(.., |page| moved.contains(&page.record.id)) {
            ground.freed.extend(wish.dry_run.then_some(page.slug));
        }
        for file in to_read.extract_if(.., |file| taken.contains(&file.path)) {
            claimed.remove(&file.slug);
        }

        let now = self.env.clock.now();
        in_batches(
            &to_read,
            |file| file.size,
            |file| read_file(&root, file, now),
            |files| {
                go_on(done)?;
                done += files.len() as u64;
                let freed = ground.freed.clone();
                self.take_in(
                    Ground { freed, ..self.ground(id, record) },
                    files,
                    wish.dry_run,
                    &mut tally,
                )
            },
        )?;

        // A page whose slug another file has now is that file's, or waits until it can be. And what
        // was away for a moment only, as when an editor saves, was never gone.
        missing.retain(|page| {
            !claimed.contains(&page.slug) && !ground.has_file(&page.record.source_path)
        });
        if let Some(touched) = wish.watched {
            let before = missing.len();
            missing
                .retain(|page| touched.iter().any(|part| covers(part, &page.record.source_path)));
            tally.out.held_back = (before - missing.len()) as u64;
        }
        let lately = if wish.watched.is_some() { self.removed_lately(id) } else { 0 };
        let (gone, all) = (missing.len() + lately, pages + lately);
        if !missing.is_empty() && gone > MANY && gone * 100 > all * MANY_PERCENT && !wish.yes {
            tally.out.held_back += missing.len() as u64;
        } else if wish.dry_run {
            tally.out.removed = missing.len() as u64;
        } else {
            tally.out.removed = self.give_up(&ground, &missing, &|| go_on(done))?;
            if wish.watched.is_some() && tally.out.removed > 0 {
                let removal = (id.clone(), self.env.clock.now(), tally.out.removed as usize);
                self.removals.lock().unwrap_or_else(PoisonError::into_inner).push(removal);
            }
        }
        progress.at(total, total);
        let stale = plan.stale;
        let out = tally.done();
        if !wish.dry_run {
            let at = self.env.clock.now();
            // A part tells nothing of the rest; but what could not be done there has to be seen.
            let at = if wish.is_whole() { at } else { since };
            let mark = (wish.is_whole() || out.problem.is_some())
                .then(|| SyncResult { at, problem: out.problem.clone() });
            if mark.is_some() || !stale.is_empty() {
                self.finish(&ground, stale, mark)?;
            }
            self.files.forget_failures();
        }
        Ok(out)
    }

    /// How many pages of the source the watcher has removed lately.
    fn removed_lately(&self, source: &SourceId) -> usize {
        let since = self.env.clock.now() - TOGETHER_MS;
        let mut removals = self.removals.lock().unwrap_or_else(PoisonError::into_inner);
        removals.retain(|(_, at, _)| *at > since);
        removals.iter().filter(|(of, _, _)| of == source).map(|(_, _, pages)| pages).sum()
    }

    fn pull(&self, root: &Path, wish: Wish<'_>, progress: &dyn Progress) -> Pull {
        let pulled = match (wish.pull, wish.dry_run) {
            (false, _) => PullOutcome::Skipped("not asked for".into()),
            (true, true) => PullOutcome::Skipped("a dry run does not pull".into()),
            (true, false) => {
                let approved = &self.env.config.sources.git_approved;
                files::pull(root, approved, &|| progress.at(0, 0) && !self.env.stop.is_cancelled())
            }
        };
        let (status, message) = match pulled {
            PullOutcome::Skipped(why) => ("skipped", Some(why)),
            PullOutcome::UpToDate => ("up_to_date", None),
            PullOutcome::Updated(what) => ("updated", Some(what)),
            PullOutcome::Failed(why) => ("failed", Some(why)),
        };
        if status == "failed" {
            tracing::warn!(place = %root.display(), message, "git pull");
        }
        Pull { status: status.into(), message }
    }
}

/// What is at or below the paths; or why the source cannot be read.
fn walk(
    reader: &Reader,
    source: &SourceId,
    root: &Path,
    wish: Wish<'_>,
) -> Result<Result<Survey, String>, StoreError> {
    if !wish.is_whole()
        && let Err(e) = std::fs::read_dir(root)
    {
        return Ok(Err(format!("{} cannot be read: {e}", root.display())));
    }
    let survey = Survey::new(reader, source, root, wish.scope, wish.full)?;
    if let Some((_, reason)) = survey.found.unreadable.iter().find(|(place, _)| place.is_empty()) {
        return Ok(Err(format!("{} cannot be read: {reason}", root.display())));
    }
    if !root.is_dir() {
        return Ok(Err(format!("{} is not a directory", root.display())));
    }
    Ok(Ok(survey))
}

/// Whether any page, deleted ones included, has a path at or below these.
fn has_pages(reader: &Reader, source: &SourceId, scope: &[String]) -> Result<bool, StoreError> {
    for part in scope {
        for row in reader.paths(source, part)? {
            if covers(part, &row?.0) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The paths of all files of the source that have no page: a new one needs to know of every other.
fn strangers(
    reader: &Reader,
    source: &SourceId,
    root: &Path,
    survey: &Survey,
    wish: Wish<'_>,
) -> Result<Vec<String>, Fault> {
    let without = |survey: &Survey| -> Vec<String> {
        let strange =
            survey.found.files.iter().filter(|file| !survey.known.paths.contains_key(&file.path));
        strange.map(|file| file.path.clone()).collect()
    };
    let here = without(survey);
    if wish.is_whole() || here.is_empty() {
        return Ok(here);
    }
    Ok(without(&Survey::new(reader, source, root, &[String::new()], false)?))
}

/// The active pages among those without a file. One whose file is still to be written is none of
/// them.
fn missing(reader: &Reader, ground: &Ground, ids: &[u64]) -> Result<Vec<Missing>, Fault> {
    let mut out = Vec::new();
    for &id in ids {
        let Some((_, slug, record)) = reader.by_id(id)? else { continue };
        if ground.pending(reader, id)?.is_none_or(|row| row.want != FileState::Present) {
            out.push(Missing { slug, record });
        }
    }
    Ok(out)
}

/// How many active pages the source has.
fn active_pages(reader: &Reader, source: &SourceId) -> Result<usize, Fault> {
    let mut pages = 0;
    reader.in_order((source.as_str(), ""), |(of, _, _)| {
        pages += usize::from(of == *source);
        Ok(of == *source)
    })?;
    Ok(pages)
}

/// Absolute paths as paths in the source, none below another.
fn scope(root: &Path, paths: &[PathBuf]) -> Vec<String> {
    let real = root.canonicalize();
    let mut parts: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let inside = path
                .strip_prefix(root)
                .ok()
                .or_else(|| path.strip_prefix(real.as_ref().ok()?).ok());
            Some(inside?.to_str()?.to_owned())
        })
        .collect();
    parts.sort();
    parts.dedup();
    let mut out: Vec<String> = Vec::with_capacity(parts.len());
    for part in parts {
        // `a-b` stands between `a` and `a/b`.
        if !out.iter().rev().any(|above| covers(above, &part)) {
            out.push(part);
        }
    }
    out
}
