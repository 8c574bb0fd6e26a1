//! The whole brain: [`Brain`] composes the services of all other crates.
//!
//! Every interface calls [`Brain::answer`], which decides permission and dispatches to a service.
//! `open` gives each service its dependencies. What needs all services is here, too: `doctor`, a
//! purge, a restore, status. This is the one crate that names all features. It does not know
//! sockets or HTTP, or how the store and the index keep their bytes. Everything here blocks; call
//! it off async threads.

mod completion;
mod compose;
mod doctor;
mod door;
mod environment;
mod follow_machines;
mod home_owner;
mod ledgers;
mod open;
mod page_names;
mod parts;
mod past_brain;
mod purge;
mod restore;
mod restore_home;
mod status;
mod store_identity;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod undo;
mod uploads;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use brain_protocol::{
    Fault, FaultCode, McpReply, Operation, Reply, Request, StopReply, SyncedSource, hint,
};

use brain_access::Access;
use brain_base::caller::Caller;
use brain_base::home::Home;
use brain_base::permission::permit;
use brain_base::random::RandomSource;
use brain_base::secrets::ReadVariable;
use brain_base::workers::WorkerStates;
use brain_config::Config;
use brain_connect::ConnectService;
use brain_machines::MachineService;
use brain_net::HttpClient;
use brain_pages::provenance::actor_of;
use brain_service::moved_home::check_home;
use brain_service::{TextBudget, text_bytes};
use brain_store::{Act, Store, acting};

use brain_assist::ask::AskService;
use brain_assist::ideas::IdeaService;
use brain_collector::CollectorService;
use brain_graph::GraphService;
use brain_ingest::IngestService;
use brain_ledger::LeftService;
use brain_llm::LanguageModels;
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_pages::sources::SourceService;
use brain_past::PastService;
use brain_retrieval::embedding::EmbeddingService;
use brain_retrieval::search::SearchService;
use brain_review::{RecallService, ReviewService};
use brain_sync::backup::scheduled_backup::BackupService;
use brain_sync::sync::SyncService;
use brain_tunnel::TunnelService;
use brain_voice::VoiceService;

use doctor::process::Process;

pub use brain_ingest as ingest;
pub use brain_ledger::{
    AnsweredCall, RecordedCall, RecordedReply, Renderer, SeenService, answer_hash,
};
pub use brain_pages::pages::broken_links::IdleLinkCheck;
pub use brain_pages::pages::similar_pages::SimilarPage;
pub use brain_pages::pages::surroundings::{FirstOf, LinkedPage, Surroundings};
pub use brain_pages::provenance::INGEST_KEYS;
pub use brain_pages::sources::watch_state::{IgnoreRules, WatchState, is_markdown, is_rule_file};
pub use brain_service::{
    AuditLog, ChangeFeed, EventLines, NoProgress, Progress, StandardOutput, TextPermit,
};
pub use brain_sync::backup::verify_backup;
pub use brain_voice::TELEPHONE;
pub use door::Door;
pub use environment::Environment;
pub use purge::PurgeService;
pub use restore::restore;
pub use restore_home::restore_from_home;
pub use uploads::{MAX_UPLOAD, UploadInUse, UploadedFile, Uploads};

/// Dependencies of a brain on the world outside, except the clock.
pub struct ExternalDependencies {
    /// The source of random bytes.
    pub random: Arc<dyn RandomSource>,
    /// The environment's variables, for secrets.
    pub variables: ReadVariable,
    /// The client for outgoing HTTP.
    pub net: Arc<dyn HttpClient>,
    /// The output of event lines.
    pub lines: Arc<dyn EventLines>,
    /// The program that reads exports of other programs.
    pub converter: PathBuf,
}

/// The services of one brain.
pub struct Brain {
    /// The values of the process.
    pub env: Environment,
    /// Access over HTTP: clients, tokens and the owner's consent.
    pub access: Arc<Access>,
    /// The record of calls over the network.
    pub audit: Arc<AuditLog>,
    /// Notifies subscribers when pages or the queue change.
    pub changes: Arc<ChangeFeed>,
    /// The files of pages.
    pub files: Arc<FileService>,
    /// Operations on single pages.
    pub pages: Arc<PageService>,
    /// What looks back.
    pub past: Arc<PastService>,
    /// Contradictions, and answers that age.
    pub review: ReviewService,
    /// The owner's own test set of searches.
    pub recall: Arc<RecallService>,
    /// The graph of all pages.
    pub graph: GraphService,
    /// The registered sources.
    pub sources: Arc<SourceService>,
    /// Search by words, links and meaning.
    pub search: Arc<SearchService>,
    /// Vectors of pages.
    pub embedding: Arc<EmbeddingService>,
    /// Sync and import.
    pub sync: Arc<SyncService>,
    /// Backups and exports.
    pub backup: Arc<BackupService>,
    /// Purges at once.
    pub purge: Arc<PurgeService>,
    /// The ingest queue.
    pub ingest: Arc<IngestService>,
    /// Language models and their costs.
    pub models: Arc<LanguageModels>,
    /// Answers with citations.
    pub ask: AskService,
    /// Idea making.
    pub ideas: IdeaService,
    /// The collector.
    pub collector: Arc<CollectorService>,
    /// The tunnel.
    pub tunnel: Arc<TunnelService>,
    /// The telephone.
    pub voice: VoiceService,
    /// Requests that left this machine.
    pub left: LeftService,
    /// What AI clients were given.
    pub seen: SeenService,
    /// The states of the background workers, which their runner writes.
    pub workers: Arc<WorkerStates>,
    connect: ConnectService,
    process: Arc<Process>,
    machines: Arc<MachineService>,
    store: Arc<Store>,
    index: Arc<IndexFollower>,
    text: Arc<TextBudget>,
    /// Files that a browser sent for an import.
    uploads: Uploads,
    /// The result of comparing the files in `pages/` with a store that is another file than before.
    taken_in: OnceLock<Result<SyncedSource, Fault>>,
}

impl Brain {
    /// Answers one request.
    ///
    /// # Errors
    /// If the caller may not run the operation, if the home was moved, or if the operation fails.
    pub fn answer(
        &self,
        caller: &Caller,
        request: Request,
        progress: &dyn Progress,
    ) -> Result<Reply, Fault> {
        let name = request.name();
        permit(caller, request.info())?;
        if request.needs_home() {
            check_home(&self.env.home)?;
        }
        let began = Instant::now();
        let permit = self.text.take(text_bytes(&request));
        let result = self
            .act_of(caller)
            .and_then(|act| acting(act, || self.dispatch(caller, request, progress)));
        drop(permit);
        let took_us = began.elapsed().as_micros() as u64;
        match &result {
            Ok(_) => tracing::debug!(caller = caller.name, request = name, took_us, "answered"),
            Err(fault) => tracing::debug!(
                caller = caller.name,
                request = name,
                took_us,
                code = fault.code.as_str(),
                "failed"
            ),
        }
        result.map_err(|fault| self.with_config_hint(fault))
    }

    /// Returns who acts when `caller` runs an operation, and what from.
    fn act_of(&self, caller: &Caller) -> Result<Act, Fault> {
        let made_from = self.past.origins(caller)?;
        Ok(Act { actor: actor_of(caller), at: Some(self.now()), made_from })
    }

    /// Adds a hint to an error about the configuration if its file has changed since the start.
    fn with_config_hint(&self, fault: Fault) -> Fault {
        let is_config_fault = matches!(fault.code, FaultCode::NotSetUp | FaultCode::InvalidConfig);
        let Some(notice) = is_config_fault.then(|| self.changed_config_notice()).flatten() else {
            return fault;
        };
        let hint = match &fault.hint {
            Some(hint) => hint!("{}; {}", notice, hint.clone()),
            None => notice.into(),
        };
        Fault { hint: Some(hint), ..fault }
    }

    /// Runs one operation.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn run<O: Operation>(
        &self,
        caller: &Caller,
        operation: O,
        progress: &dyn Progress,
    ) -> Result<O::Reply, Fault> {
        self.answer(caller, operation.into(), progress).and_then(O::read_reply)
    }

    #[expect(clippy::too_many_lines, reason = "one arm an operation; the compiler misses none")]
    fn dispatch(
        &self,
        caller: &Caller,
        request: Request,
        progress: &dyn Progress,
    ) -> Result<Reply, Fault> {
        match request {
            Request::Status(_) => self.status(caller).map(Reply::Status),
            Request::Stop(_) => Ok(Reply::Stopping(StopReply)),
            Request::Capture(r) => self.pages.capture(caller, r).map(Reply::Write),
            Request::Put(r) => self.pages.put(caller, &r).map(Reply::Write),
            Request::Get(r) => self.pages.get(caller, &r).map(|page| {
                self.recall.note_open(caller, &page.source_id, &page.slug);
                Reply::Page(page)
            }),
            Request::Search(r) => {
                let request = r.clone();
                let hits = self.search.search(caller, r)?;
                self.recall.note_search(caller, &request, &hits);
                Ok(Reply::Hits(hits))
            }
            Request::List(r) => self.pages.list(caller, &r).map(Reply::Pages),
            Request::Delete(r) => self.pages.delete(caller, &r).map(Reply::Delete),
            Request::Restore(r) => self.pages.restore(caller, &r.page).map(Reply::Restore),
            Request::History(r) => self.pages.history(caller, &r.page).map(Reply::History),
            Request::Revert(r) => self.pages.revert(caller, r).map(Reply::Write),
            Request::Trust(r) => self.pages.trust(caller, &r).map(Reply::Write),
            Request::Tags(r) => self.pages.tags(caller, r).map(Reply::from),
            Request::Link(r) => self.pages.link(caller, r).map(Reply::Link),
            Request::Links(r) => self.pages.links(caller, &r.page).map(Reply::Links),
            Request::Backlinks(r) => self.pages.backlinks(caller, &r.page).map(Reply::Links),
            Request::Graph(r) => self.pages.graph(caller, &r).map(Reply::Graph),
            Request::Timeline(r) => self.pages.timeline(caller, &r).map(Reply::Timeline),
            Request::Import(r) => {
                self.sync.import(caller, &r, &*self.collector, progress).map(Reply::Import)
            }
            Request::Doctor(r) => Ok(Reply::Doctor(self.doctor().doctor(&r))),
            Request::SourceList(_) => self.sources.list(caller).map(Reply::Sources),
            Request::BackupList(_) => self.backup.list().map(Reply::BackupList),
            Request::SourceSet(r) => self.sources.set(caller, &r).map(Reply::Source),
            Request::SourceAdd(r) => self.sources.add(caller, &r).map(|mut reply| {
                let directory = Path::new(&reply.source.path);
                reply.warnings.extend(self.sync.export_warning(directory));
                Reply::Source(reply)
            }),
            Request::SourceRemove(r) => self.sources.remove(caller, &r).map(Reply::Source),
            Request::SourceDefault(r) => self.sources.source_default(caller, &r).map(Reply::Source),
            Request::Sync(r) => self.sync.sync(caller, &r, progress).map(Reply::Sync),
            Request::Export(r) => self.backup.export(caller, &r, progress).map(Reply::Export),
            Request::Backup(r) => self.backup.backup(caller, &r, progress).map(Reply::Backup),
            Request::BackupVerify(r) => {
                self.backup.backup_verify(caller, &r, progress).map(Reply::Backup)
            }
            Request::BrokenLinks(r) => self.pages.broken_links(caller, &r).map(Reply::BrokenLinks),
            Request::ClientRegister(r) => self.access.client_register(r).map(Reply::ClientRegister),
            Request::ClientList(r) => self.access.client_list(&r).map(Reply::Clients),
            Request::ClientUpdate(r) => self.access.client_update(r).map(Reply::Client),
            Request::ClientRevoke(r) => self.access.client_revoke(&r).map(Reply::Client),
            Request::TokenCreate(r) => self.access.token_create(&r).map(Reply::TokenCreate),
            Request::TokenList(r) => self.access.token_list(&r).map(Reply::Tokens),
            Request::TokenRevoke(r) => self.access.token_revoke(&r).map(Reply::TokenRevoke),
            Request::AdminToken(r) => self.access.admin_token(&r).map(Reply::AdminToken),
            Request::AuditList(r) => self.audit.list(&r).map(Reply::Audit),
            Request::JobList(r) => self.ingest.job_list(&r).map(Reply::Jobs),
            Request::JobShow(r) => self.ingest.job_show(caller, &r).map(Reply::Job),
            Request::JobRetry(r) => self.ingest.job_retry(&r).map(Reply::JobRetry),
            // The socket handles the rest of the session.
            Request::Mcp(_) => Ok(Reply::Mcp(McpReply)),
            Request::ConnectTest(r) => self.connect.test(&r).map(Reply::ConnectTest),
            Request::CollectorSetup(r) => {
                self.collector.setup(&r, progress).map(Reply::CollectorSetup)
            }
            Request::CollectorCollect(_) => {
                self.collector.collect(progress).map(Reply::CollectorRun)
            }
            Request::CollectorStatus(_) => self.collector.status().map(Reply::CollectorStatus),
            Request::CollectorDeletions(r) => {
                self.collector.deletions(&r.period).map(Reply::CollectorDeletions)
            }
            Request::CollectorAlerts(r) => {
                self.collector.alerts(&r.period).map(Reply::CollectorAlerts)
            }
            Request::CollectorDigest(r) => {
                self.collector.digest(caller, &r).map(Reply::CollectorDigest)
            }
            Request::CollectorEnrich(r) => {
                self.collector.enrich(caller, &r, progress).map(Reply::CollectorEnrich)
            }
            Request::CollectorCurve(r) => self.collector.curve(&r).map(Reply::CollectorCurve),
            Request::TunnelSetup(_) => self.tunnel.setup(progress).map(Reply::TunnelSetup),
            Request::TunnelStart(_) => self.tunnel.start().map(Reply::TunnelStatus),
            Request::TunnelStop(_) => self.tunnel.stop().map(Reply::TunnelStatus),
            Request::TunnelStatus(_) => self.tunnel.status().map(Reply::TunnelStatus),
            Request::TunnelRequests(r) => self.tunnel.requests(&r).map(Reply::TunnelRequests),
            Request::TunnelReplay(r) => self.tunnel.replay(&r).map(Reply::TunnelReplay),
            Request::VoiceTurn(r) => self.voice.voice(caller, &r).map(Reply::Voice),
            Request::Embed(r) => self.embedding.embed(&r, progress).map(Reply::Embed),
            Request::ModelInstall(r) => {
                self.embedding.model_install(&r, progress).map(Reply::ModelInstall)
            }
            Request::ModelList(_) => self.embedding.models(caller).map(Reply::Models),
            Request::Ask(r) => self.ask.ask(caller, &r, progress).map(Reply::Ask),
            Request::Costs(r) => self.ask.costs(&r).map(Reply::Costs),
            Request::Ideas(r) => self.ideas.ideas(caller, &r, progress).map(Reply::Ideas),
            Request::IdeaRuns(_) => self.ideas.idea_runs(caller).map(Reply::IdeaRuns),
            Request::Append(r) => self.pages.append(caller, r).map(Reply::Write),
            Request::Diff(r) => self.pages.diff(caller, &r).map(Reply::Diff),
            Request::Today(r) => self.pages.today(caller, &r).map(Reply::Write),
            Request::Random(r) => self.pages.random(caller, &r).map(Reply::Page),
            Request::Orphans(r) => self.pages.orphans(caller, &r).map(Reply::Pages),
            Request::Todos(r) => self.pages.todos(caller, &r).map(Reply::Todos),
            Request::Resolve(r) => self.pages.resolve_links(caller, &r).map(Reply::Resolve),
            Request::PageNames(r) => self.page_names(caller, &r).map(Reply::PageNames),
            Request::EditorChanges(r) => Ok(Reply::EditorChanges(self.wait_for_changes(&r))),
            Request::Refactor(r) => self.pages.refactor(caller, &r).map(Reply::Refactor),
            Request::Rename(r) => self.pages.rename(caller, &r).map(Reply::Move),
            Request::Merge(r) => self.pages.merge(caller, &r).map(Reply::Move),
            Request::Purge(r) => {
                let purged = self.purge.purge(caller, &r).map(Reply::Purge);
                // Copies of past states and recent searches may have the text, also after a purge
                // that did not finish.
                self.recall.forget_recent();
                self.past.drop_views(true)?;
                purged
            }
            Request::Complete(r) => self.complete(caller, &r).map(Reply::Completions),
            Request::TimelineDays(r) => {
                self.pages.timeline_days(caller, &r).map(Reply::TimelineDays)
            }
            Request::Attach(r) => self.pages.attach(caller, r).map(Reply::Attach),
            Request::Detach(r) => self.pages.detach(caller, r).map(Reply::Attach),
            Request::AttachmentList(r) => {
                self.pages.attachments(caller, &r).map(Reply::Attachments)
            }
            Request::AttachmentGet(r) => {
                self.pages.attachment_content(caller, &r).map(Reply::AttachmentContent)
            }
            Request::BrowserOpen(r) => self.access.browser_open(&r).map(Reply::BrowserOpen),
            Request::Why(r) => self.past.why(caller, &r).map(Reply::Why),
            Request::AsOf(r) => self.past.as_of(caller, r, progress).map(Reply::AsOf),
            Request::Changes(r) => self.past.changes(caller, &r).map(Reply::Changes),
            Request::ContradictionList(r) => {
                self.review.contradictions(caller, &r).map(Reply::Contradictions)
            }
            Request::Settle(r) => self.review.settle(caller, &r).map(Reply::Settled),
            Request::AnswerSave(r) => self.review.save_answer(caller, &r).map(Reply::Write),
            Request::StaleAnswerList(r) => {
                self.review.stale_answers(caller, &r).map(Reply::StaleAnswers)
            }
            Request::RecallRun(r) => self.recall.run(caller, &r).map(Reply::Recall),
            Request::GraphLayout(r) => self.graph.layout(caller, &r).map(Reply::GraphLayout),
            Request::MachinesPlan(r) => self.machines.plan(&r).map(Reply::MachinesPlan),
            Request::MachinesInit(r) => self.machines.init(&r, progress).map(Reply::MachinesInit),
            Request::MachinesJoin(r) => self.machines.join(&r, progress).map(Reply::MachinesJoin),
            Request::MachineList(_) => self.machines.list().map(Reply::Machines),
            Request::MachinesStatus(_) => self.machines.status().map(Reply::MachinesStatus),
            Request::MachinesLeave(_) => {
                let left = self.machines.leave();
                // The store has the items now that waited for the server.
                self.ingest.wake();
                left.map(Reply::MachineRemove)
            }
            Request::MachineRemove(r) => self.machines.remove(&r).map(Reply::MachineRemove),
            Request::MachinesRotateKey(_) => {
                self.machines.rotate_key().map(Reply::MachinesRotateKey)
            }
            Request::ConflictList(_) => self.pages.conflicts(caller).map(Reply::Conflicts),
            Request::Keep(r) => self.pages.keep(caller, &r).map(Reply::Write),
            Request::ImportReports(r) => self.sync.import_reports(&r).map(Reply::ImportReports),
            Request::Undo(r) => undo::undo(self, caller, &r).map(Reply::Undo),
            Request::Redo(r) => self.past.redo(caller, &r).map(Reply::Undo),
            Request::LeftList(r) => self.list_left(caller, &r).map(Reply::Left),
            Request::SeenList(r) => self.list_seen(caller, &r).map(Reply::Seen),
            Request::SeenReplay(r) => self.replay_seen(&r).map(Reply::SeenReplay),
        }
    }

    /// Returns the configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.env.config
    }

    /// Returns the time of the brain's clock, in Unix milliseconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.env.clock.now()
    }

    /// Waits for a share of the text budget; see [`TextPermit`]. Blocks.
    pub fn text_permit(&self, bytes: usize) -> TextPermit<'_> {
        self.text.take(bytes)
    }

    /// Returns the home directory.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.env.home
    }

    /// Removes the former versions that `[history] keep` does not keep. Returns their number. A
    /// timer calls this method.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn prune_history(&self) -> Result<u64, Fault> {
        self.past.prune()
    }

    /// Asks long work to stop at its next safe point.
    pub fn begin_stop(&self) {
        self.env.stop.cancel();
    }

    /// Writes derived data to disk, so that the next start has nothing to catch up with. Without
    /// this call, no data is lost.
    pub fn flush(&self) {
        // On several machines, no write follows what the others may have seen last: the next start
        // moves the rows from the file.
        let left = if self.store.is_shared() { Ok(()) } else { self.left.store_ended() };
        let closed = [self.seen.write(), left];
        for fault in closed.into_iter().filter_map(Result::err) {
            tracing::warn!(%fault, "ledgers not written at the end");
        }
        if let Err(fault) = self.audit.close().and_then(|()| self.access.write_last_use()) {
            tracing::warn!(%fault, "cannot write the last calls and the last use of tokens");
        }
        match self.files.flush_outbox() {
            Ok(()) => self.files.record_clean_shutdown(),
            Err(fault) => tracing::warn!(%fault, "cannot flush the files of pages"),
        }
        self.embedding.flush_vectors();
        self.index.flush();
    }
}
