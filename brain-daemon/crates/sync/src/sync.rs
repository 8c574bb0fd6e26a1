//! `sync`: updates the pages of a source from its files. Apart from the pull, a sync does not
//! write, move or remove files of the source.
//!
//! The steps of a sync (`run`):
//! 1. Pull with git, if requested.
//! 2. Walk the directory, and compare its files with the rows of the last sync (`survey`,
//!    [`compare`]).
//! 3. Find renamed files (`renames`).
//! 4. Read the other changed files, and store them in batches (`decide`, `apply`).
//! 5. Delete the pages whose file is gone, unless they are too many.
//! 6. Do the same for documents, if the source has rules for them (`document_sync`).
//!
//! One sync runs at a time; others wait, except dry runs.

pub(crate) mod export_dir;
mod fault_scope;
pub mod import;
pub(crate) mod import_attachments;
mod import_documents;
mod import_effect;
pub(crate) mod import_input;
mod import_page;
mod import_posts;
mod import_record;
mod import_run;
mod import_scrub;
mod import_tally;
mod import_undo;

mod apply;
mod beside;
pub mod compare;
mod convert;
mod copies;
mod decide;
mod document_places;
mod document_sync;
mod exported_posts;
mod listing;
mod local_files;
mod losses;
mod removals;
mod renames;
mod run;
mod survey;
mod take_in;
mod tally;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::{
    Command, Fault, FaultCode, SourceId, Sync, SyncReply, SyncStatus, SyncedSource, hint,
};
use document_sync::SeenDocuments;
pub use import_posts::PostKeeper;
use parking_lot::{Mutex, MutexGuard};
use removals::Removals;
use run::SyncRun;
use survey::scope;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::outgoing::OpenRequest;
use brain_base::outgoing::OutgoingLog;
use brain_converter::Converters;
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_pages::sources::SourceService;
use brain_retrieval::embedding::EmbeddingService;
use brain_service::{NoProgress, Progress};
use tokio_util::sync::CancellationToken;

use brain_files::GitHistory;
use brain_store::{Act, Actor, SourceRecord, Store, acting, current_act};

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

/// What [`SyncService`] uses besides other services.
pub struct SyncEnvironment {
    /// The home directory, which is not imported.
    pub home: Home,
    /// The programs that read documents and exports.
    pub converters: Arc<Converters>,
    /// The log of outgoing requests, for the starts of programs.
    pub outgoing: Arc<dyn OutgoingLog>,
    /// The git configurations that the owner approved: `sources.git_approved`.
    pub git_approved: Vec<String>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Cancelled when a sync should end after its next batch.
    pub stop: CancellationToken,
}

/// Sync of sources with their files, and imports.
pub struct SyncService {
    pub(crate) env: SyncEnvironment,
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) sources: Arc<SourceService>,
    pub(crate) embedding: Arc<EmbeddingService>,
    /// Locked while a sync runs.
    pub(crate) sync_lock: Arc<Mutex<()>>,
    /// The number of conversions of this daemon.
    conversions: Mutex<u64>,
    /// The ids of the imports that run, or that are being undone.
    running_imports: Mutex<HashSet<String>>,
    removals: Removals,
    git_history: GitHistory,
    seen_documents: Mutex<SeenDocuments>,
}

impl SyncService {
    /// Creates the service.
    pub fn new(
        env: SyncEnvironment,
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
            conversions: Mutex::default(),
            running_imports: Mutex::default(),
            removals: Removals::default(),
            git_history: GitHistory::default(),
            seen_documents: Mutex::default(),
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
                .hint(hint!("{}, or {}", Command::SyncAll, Command::SyncSource { source: None })));
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
        Ok(SyncReply {
            status: sources.iter().map(|it| it.status).max().unwrap_or(SyncStatus::Done),
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
            return Err(Fault::new(FaultCode::UnknownSource, message)
                .hint(hint!("see {}", Command::SourcesList)));
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

    /// Records that `git` starts, which may send by itself.
    fn open_request_of_git(&self) -> Option<OpenRequest> {
        OpenRequest::of_program(&self.env.outgoing, "git", "sync")
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
        let at = self.env.clock.now();
        let run = Some(format!("sync-{at}-{id}"));
        let former = current_act();
        let actor = Actor { door: "sync".into(), run, ..former.actor };
        acting(Act { actor, at: Some(at), made_from: Vec::new() }, || {
            SyncRun::new(self, (id, record), options, progress).run()
        })
    }
}
