//! Composes the services of a brain: each gets the few things that it depends on.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use brain_access::Access;
use brain_assist::ask::AskService;
use brain_assist::ideas::IdeaService;
use brain_base::home::Home;
use brain_base::workers::WorkerStates;
use brain_collector::CollectorService;
use brain_config::{ClientDocuments, Config};
use brain_connect::ConnectService;
use brain_costs::Ledger;
use brain_graph::GraphService;
use brain_ingest::{IngestService, Queue};
use brain_llm::LanguageModels;
use brain_machines::MachineService;
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_pages::pages::dedup::Dedup;
use brain_pages::sources::SourceService;
use brain_protocol::Fault;
use brain_retrieval::embedding::{EmbeddingService, EmbeddingState};
use brain_retrieval::search::SearchService;
use brain_service::health::Health;
use brain_service::{Audit, ChangeFeed, Environment, TextBudget};
use brain_store::{Reader, Store};
use brain_sync::backup::scheduled_backup::BackupService;
use brain_sync::sync::SyncService;
use brain_tunnel::{TelephoneNumber, TunnelService};
use brain_voice::{ConfiguredNumber, VoiceService};
use parking_lot::Mutex;

use crate::doctor::DoctorService;
use crate::doctor::access::AccessHealth;
use crate::doctor::process::Process;
use crate::doctor::store::StoreHealth;
use crate::doctor::workers::WorkerHealth;
use crate::{Brain, PurgeService};

/// What several services share.
pub(crate) struct Parts {
    pub(crate) env: Environment,
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) machines: Arc<MachineService>,
    pub(crate) changes: Arc<ChangeFeed>,
    files: Arc<FileService>,
    dedup: Arc<Dedup>,
    queue: Arc<Queue>,
    ledger: Arc<Ledger>,
    text: Arc<TextBudget>,
    sync_lock: Arc<Mutex<()>>,
}

impl Parts {
    pub(crate) fn new(
        env: Environment,
        store: Arc<Store>,
        index: Arc<IndexFollower>,
        machines: Arc<MachineService>,
        changes: Arc<ChangeFeed>,
    ) -> Result<Self, Fault> {
        let waiting = store.read_through(Reader::job_counts)?.waiting;
        let files =
            FileService::new(env.home.clone(), store.clone(), env.clock.clone(), env.stop.clone());
        Ok(Self {
            files: Arc::new(files),
            dedup: Arc::new(Dedup::new(env.config.store.dedup_entries)),
            queue: Arc::new(Queue::new(env.config.ingest.queue, waiting, changes.clone())),
            ledger: Arc::new(Ledger::new(&env.home.costs(), env.clock.clone())),
            text: Arc::default(),
            sync_lock: Arc::default(),
            env,
            store,
            index,
            machines,
            changes,
        })
    }

    /// Composes the brain. The store is locked by now, so the owner's token is created only once.
    pub(crate) fn compose(self, embedding_state: EmbeddingState) -> Result<Brain, Fault> {
        let (env, store) = (&self.env, &self.store);
        let access = self.access()?;
        let pages = self.pages();
        let sources = self.sources();
        let embedding = self.embedding(embedding_state);
        let search = self.search(&embedding);
        let sync = self.sync(&pages, &sources, &embedding);
        let ingest = self.ingest();
        let models = Arc::new(LanguageModels::new(env.clone(), self.ledger.clone()));
        let collector = self.collector(&pages, &sync, &ingest, &models);
        let tunnel = self.tunnel(&access, &ingest);
        let backup = Arc::new(BackupService::new(env.clone(), store.clone()));
        let purge = self.purge(&pages, &embedding, &backup);
        let workers = Arc::new(WorkerStates::default());
        let process = self.process();
        Ok(Brain {
            audit: Arc::new(Audit::new(store.clone(), env.clock.clone())),
            connect: ConnectService::new(env.clone(), access.clone()),
            ask: AskService::new(env.clone(), store.clone(), search.clone(), models.clone()),
            graph: self.graph(&pages),
            ideas: self.ideas(&pages, &search, &embedding, &models),
            voice: self.voice(&pages, &search),
            taken_in: OnceLock::new(),
            process,
            access,
            pages,
            sources,
            search,
            embedding,
            sync,
            ingest,
            models,
            collector,
            tunnel,
            backup,
            purge,
            workers,
            env: self.env,
            store: self.store,
            index: self.index,
            machines: self.machines,
            changes: self.changes,
            files: self.files,
            text: self.text,
        })
    }

    fn access(&self) -> Result<Arc<Access>, Fault> {
        let env = &self.env;
        let settings = access_settings(&env.config, &env.home);
        let (clock, random) = (env.clock.clone(), env.random.clone());
        let (secrets, net) = (env.secrets.clone(), env.net.clone());
        Ok(Arc::new(Access::open(self.store.clone(), clock, random, secrets, net, settings)?))
    }

    fn pages(&self) -> Arc<PageService> {
        let (files, dedup) = (self.files.clone(), self.dedup.clone());
        Arc::new(PageService::new(&self.env, self.store.clone(), files, dedup))
    }

    fn graph(&self, pages: &Arc<PageService>) -> GraphService {
        let (clock, stop) = (self.env.clock.clone(), self.env.stop.clone());
        GraphService::new(self.store.clone(), clock, pages.clone(), stop)
    }

    fn sources(&self) -> Arc<SourceService> {
        Arc::new(SourceService::new(
            self.store.clone(),
            self.env.clock.clone(),
            self.env.home.clone(),
            self.files.clone(),
            self.index.clone(),
            self.env.stop.clone(),
            self.env.config.clone(),
        ))
    }

    fn embedding(&self, state: EmbeddingState) -> Arc<EmbeddingService> {
        Arc::new(EmbeddingService::new(
            self.env.clone(),
            self.store.clone(),
            self.ledger.clone(),
            self.queue.clone(),
            self.sync_lock.clone(),
            state,
        ))
    }

    fn search(&self, embedding: &Arc<EmbeddingService>) -> Arc<SearchService> {
        Arc::new(SearchService::new(
            self.store.clone(),
            self.index.clone(),
            self.env.clock.clone(),
            embedding.clone(),
            self.files.clone(),
            self.machines.clone(),
        ))
    }

    fn sync(
        &self,
        pages: &Arc<PageService>,
        sources: &Arc<SourceService>,
        embedding: &Arc<EmbeddingService>,
    ) -> Arc<SyncService> {
        Arc::new(SyncService::new(
            self.env.clone(),
            self.store.clone(),
            self.index.clone(),
            pages.clone(),
            sources.clone(),
            embedding.clone(),
            self.sync_lock.clone(),
        ))
    }

    fn ingest(&self) -> Arc<IngestService> {
        Arc::new(IngestService::new(
            self.store.clone(),
            self.index.clone(),
            self.env.clock.clone(),
            self.files.clone(),
            self.dedup.clone(),
            self.text.clone(),
            self.queue.clone(),
        ))
    }

    fn ideas(
        &self,
        pages: &Arc<PageService>,
        search: &Arc<SearchService>,
        embedding: &Arc<EmbeddingService>,
        models: &Arc<LanguageModels>,
    ) -> IdeaService {
        IdeaService::new(
            self.env.clone(),
            self.store.clone(),
            pages.clone(),
            search.clone(),
            embedding.clone(),
            models.clone(),
        )
    }

    fn collector(
        &self,
        pages: &Arc<PageService>,
        sync: &Arc<SyncService>,
        ingest: &Arc<IngestService>,
        models: &Arc<LanguageModels>,
    ) -> Arc<CollectorService> {
        Arc::new(CollectorService::new(
            self.env.clone(),
            self.store.clone(),
            self.index.clone(),
            pages.clone(),
            sync.clone(),
            ingest.clone(),
            models.clone(),
        ))
    }

    fn tunnel(&self, access: &Arc<Access>, ingest: &Arc<IngestService>) -> Arc<TunnelService> {
        Arc::new(TunnelService::new(
            self.env.clone(),
            self.store.clone(),
            access.clone(),
            ingest.clone(),
            Box::new(NumberOfTunnel(ConfiguredNumber::new(self.env.clone()))),
        ))
    }

    fn voice(&self, pages: &Arc<PageService>, search: &Arc<SearchService>) -> VoiceService {
        VoiceService::new(
            self.env.clone(),
            self.store.clone(),
            self.files.clone(),
            pages.clone(),
            search.clone(),
        )
    }

    fn purge(
        &self,
        pages: &Arc<PageService>,
        embedding: &Arc<EmbeddingService>,
        backup: &Arc<BackupService>,
    ) -> Arc<PurgeService> {
        Arc::new(PurgeService {
            env: self.env.clone(),
            store: self.store.clone(),
            index: self.index.clone(),
            files: self.files.clone(),
            pages: pages.clone(),
            embedding: embedding.clone(),
            backup: backup.clone(),
            finished_later: Mutex::default(),
            problems: Mutex::default(),
        })
    }

    fn process(&self) -> Arc<Process> {
        Arc::new(Process {
            env: self.env.clone(),
            store: self.store.clone(),
            files: self.files.clone(),
            started: Instant::now(),
        })
    }
}

impl Brain {
    /// Returns what runs all checks.
    pub(crate) fn doctor(&self) -> DoctorService {
        DoctorService {
            services: self.services_with_checks(),
            process: self.process.clone(),
            files: self.files.clone(),
            pages: self.pages.clone(),
            purge: self.purge.clone(),
            index: self.index.clone(),
        }
    }

    fn services_with_checks(&self) -> Vec<Arc<dyn Health>> {
        vec![
            self.process.clone(),
            Arc::new(AccessHealth(self.access.clone())),
            Arc::new(StoreHealth(self.store.clone())),
            self.search.clone(),
            self.files.clone(),
            self.ingest.clone(),
            self.pages.clone(),
            self.purge.clone(),
            self.sources.clone(),
            self.backup.clone(),
            self.embedding.clone(),
            self.collector.clone(),
            self.tunnel.clone(),
            self.machines.clone(),
            self.models.clone(),
            Arc::new(WorkerHealth(self.workers.clone())),
        ]
    }
}

/// The telephone number that the tunnel keeps at its address: neither feature knows the other.
struct NumberOfTunnel(ConfiguredNumber);

impl TelephoneNumber for NumberOfTunnel {
    fn webhook(&self, address: &str) -> Option<String> {
        self.0.webhook(address)
    }

    fn set_webhook(&self, url: &str) -> Result<String, Fault> {
        self.0.set_webhook(url)
    }
}

fn access_settings(config: &Config, home: &Home) -> brain_access::Settings {
    brain_access::Settings {
        admin_token_file: config.http_admin_token_file(home),
        base_url: config.http_base_url().map(str::to_owned),
        local: config.http.local,
        fetch_client_documents: config.http.client_documents == ClientDocuments::Fetch,
    }
}
