//! Composes the services of a brain: each gets the few things that it depends on.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use brain_access::Access;
use brain_assist::ask::AskService;
use brain_assist::ideas::{IdeaEnvironment, IdeaService};
use brain_base::home::Home;
use brain_base::random;
use brain_collector::{CollectorEnvironment, CollectorService};
use brain_config::{ClientDocuments, Config, HomePath};
use brain_connect::ConnectService;
use brain_converter::Converters;
use brain_costs::Ledger;
use brain_graph::GraphService;
use brain_ingest::{DocumentSettings, IngestService, Queue};
use brain_ledger::{LeftService, SeenService};
use brain_llm::LanguageModels;
use brain_machines::{LeaseTable, MachineEnvironment, MachineService};
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_pages::pages::dedup::Dedup;
use brain_pages::sources::SourceService;
use brain_past::PastService;
use brain_protocol::Fault;
use brain_retrieval::embedding::{EmbeddingEnvironment, EmbeddingService, EmbeddingState};
use brain_retrieval::search::SearchService;
use brain_review::{RecallService, ReviewService};
use brain_service::health::Health;
use brain_service::{AuditLog, ChangeFeed, TextBudget};
use brain_store::{Reader, Store};
use brain_sync::backup::scheduled_backup::BackupService;
use brain_sync::sync::{SyncEnvironment, SyncService};
use brain_tunnel::{TelephoneNumber, TunnelEnvironment, TunnelService};
use brain_voice::{ConfiguredNumber, VoiceService};
use parking_lot::Mutex;

use crate::doctor::DoctorService;
use crate::doctor::access::AccessHealth;
use crate::doctor::process::Process;
use crate::doctor::store::StoreHealth;
use crate::doctor::workers::WorkerHealth;
use crate::environment::Environment;
use crate::past_brain::PastOpener;
use crate::uploads::Uploads;
use crate::{Brain, PurgeService};

/// What several services share. Clones share it, too.
#[derive(Clone)]
pub(crate) struct SharedParts {
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
    converters: Arc<Converters>,
}

impl SharedParts {
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
        let processors = env.config.import.processors.clone();
        let converters = Converters::new(env.converter.clone(), processors);
        Ok(Self {
            files: Arc::new(files),
            converters: Arc::new(converters),
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
        let access = self.access()?;
        let pages = self.pages();
        let sources = self.sources();
        let embedding = self.embedding(embedding_state);
        let search = self.search(embedding.clone());
        let sync = self.sync(pages.clone(), sources.clone(), embedding.clone());
        let ingest = self.ingest();
        let models = self.models();
        let collector = self.collector(pages.clone(), sync.clone(), ingest.clone(), models.clone());
        let number = self.number();
        let tunnel = self.tunnel(access.clone(), ingest.clone(), number.clone());
        let backup = self.backup();
        let purge = self.purge(pages.clone(), embedding.clone(), backup.clone());
        let process = self.process();
        let (left, seen) = self.ledgers(&pages)?;
        let Environment { clock, net, random, stop, .. } = self.env.clone();
        let store = self.store.clone();
        Ok(Brain {
            audit: Arc::new(AuditLog::new(store.clone(), clock.clone())),
            connect: ConnectService::new(access.clone(), net, clock.clone(), random),
            ask: AskService::new(store.clone(), search.clone(), models.clone(), stop.clone()),
            past: Arc::new(self.past(pages.clone())),
            review: ReviewService::new(store.clone(), pages.clone(), clock.clone(), stop.clone()),
            recall: self.recall(search.clone()),
            graph: GraphService::new(store.clone(), clock, pages.clone(), stop),
            ideas: self.ideas(pages.clone(), search.clone(), embedding.clone(), models.clone()),
            voice: self.voice(pages.clone(), search.clone(), number),
            uploads: self.uploads(),
            left,
            seen,
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
            workers: Arc::default(),
            env: self.env,
            store,
            index: self.index,
            machines: self.machines,
            changes: self.changes,
            files: self.files,
            text: self.text,
        })
    }

    fn ledgers(&self, pages: &Arc<PageService>) -> Result<(LeftService, SeenService), Fault> {
        let Environment { config, clock, random, outgoing, .. } = self.env.clone();
        let (store, pages) = (self.store.clone(), pages.clone());
        let number = random::number(&*random)?;
        let retention = config.history.left;
        let left =
            LeftService::new(store.clone(), clock.clone(), pages.clone(), outgoing, retention);
        Ok((left, SeenService::new(store, clock, pages, config.history.seen, number)))
    }

    fn uploads(&self) -> Uploads {
        let Environment { home, config, random, .. } = self.env.clone();
        Uploads::new(home.uploads(), config.store.min_free_mb * 1_000_000, random)
    }

    fn access(&self) -> Result<Arc<Access>, Fault> {
        let Environment { home, config, clock, random, secrets, net, .. } = self.env.clone();
        let settings = access_settings(&config, &home);
        Ok(Arc::new(Access::open(self.store.clone(), clock, random, secrets, net, settings)?))
    }

    fn pages(&self) -> Arc<PageService> {
        let Self { env, store, files, dedup, .. } = self.clone();
        let config = env.config.pages.clone();
        Arc::new(PageService::new(store, files, dedup, env.leases, env.random, config))
    }

    fn sources(&self) -> Arc<SourceService> {
        let Self { env, store, files, index, .. } = self.clone();
        let Environment { clock, home, stop, config, .. } = env;
        let config = config.sources.clone();
        Arc::new(SourceService::new(store, clock, home, files, index, stop, config))
    }

    fn embedding(&self, state: EmbeddingState) -> Arc<EmbeddingService> {
        let Self { env, store, ledger, queue, sync_lock, .. } = self.clone();
        let environment = EmbeddingEnvironment {
            config: env.config.embedding.clone(),
            search: env.config.search.clone(),
            key_file: path_in(&env.home, env.config.embedding.api_key_file.as_ref()),
            rerank_key_file: path_in(&env.home, env.config.search.rerank_api_key_file.as_ref()),
            min_free_mb: env.config.store.min_free_mb,
            home: env.home,
            clock: env.clock,
            secrets: env.secrets,
            net: env.net,
            stop: env.stop,
        };
        Arc::new(EmbeddingService::new(environment, store, ledger, queue, sync_lock, state))
    }

    fn recall(&self, search: Arc<SearchService>) -> Arc<RecallService> {
        let Environment { clock, stop, config, .. } = self.env.clone();
        let is_enabled = config.search.remember;
        Arc::new(RecallService::new(self.store.clone(), search, clock, stop, is_enabled))
    }

    fn search(&self, embedding: Arc<EmbeddingService>) -> Arc<SearchService> {
        let Self { env, store, index, files, machines, .. } = self.clone();
        Arc::new(SearchService::new(store, index, env.clock, embedding, files, machines))
    }

    fn sync(
        &self,
        pages: Arc<PageService>,
        sources: Arc<SourceService>,
        embedding: Arc<EmbeddingService>,
    ) -> Arc<SyncService> {
        let Self { env, store, index, sync_lock: lock, .. } = self.clone();
        let git_approved = env.config.sources.git_approved.clone();
        let converters = self.converters.clone();
        let Environment { home, clock, stop, outgoing, .. } = env;
        let environment = SyncEnvironment { home, converters, outgoing, git_approved, clock, stop };
        Arc::new(SyncService::new(environment, store, index, pages, sources, embedding, lock))
    }

    fn ingest(&self) -> Arc<IngestService> {
        let Self { env, store, index, files, dedup, text, queue, .. } = self.clone();
        let documents = DocumentSettings {
            is_on: env.config.ingest.documents,
            max_bytes: env.config.pages.max_attachment_mb * 1_000_000,
            converters: self.converters.clone(),
            outgoing: env.outgoing,
            scratch: env.home.run().join("document"),
            stop: env.stop,
        };
        let environment = (env.clock, documents);
        Arc::new(IngestService::new(store, index, files, dedup, text, queue, environment))
    }

    fn models(&self) -> Arc<LanguageModels> {
        let Environment { home, config, secrets, net, .. } = self.env.clone();
        let (config, ledger) = (config.llm.clone(), self.ledger.clone());
        let key_file = path_in(&home, config.api_key_file.as_ref());
        Arc::new(LanguageModels::new(config, key_file, secrets, net, ledger))
    }

    fn ideas(
        &self,
        pages: Arc<PageService>,
        search: Arc<SearchService>,
        embedding: Arc<EmbeddingService>,
        models: Arc<LanguageModels>,
    ) -> IdeaService {
        let Environment { home, clock, random, stop, .. } = self.env.clone();
        let environment = IdeaEnvironment { dir: home.ideas(), clock, random, stop };
        IdeaService::new(environment, self.store.clone(), pages, search, embedding, models)
    }

    fn collector(
        &self,
        pages: Arc<PageService>,
        sync: Arc<SyncService>,
        ingest: Arc<IngestService>,
        models: Arc<LanguageModels>,
    ) -> Arc<CollectorService> {
        let Self { env, store, index, .. } = self.clone();
        let environment = CollectorEnvironment {
            config: env.config.collector.clone(),
            task: env.config.collector_task(),
            token_file: path_in(&env.home, env.config.collector.token_file.as_ref()),
            max_article_bytes: env.config.ingest.max_bytes,
            home: env.home,
            clock: env.clock,
            secrets: env.secrets,
            net: env.net,
            lines: env.lines,
            leases: env.leases,
            stop: env.stop,
        };
        Arc::new(CollectorService::new(environment, store, index, pages, sync, ingest, models))
    }

    fn number(&self) -> ConfiguredNumber {
        let Environment { home, config, secrets, net, .. } = self.env.clone();
        let token_file = path_in(&home, config.voice.auth_token_file.as_ref());
        ConfiguredNumber::new(config.voice.clone(), token_file, secrets, net)
    }

    fn tunnel(
        &self,
        access: Arc<Access>,
        ingest: Arc<IngestService>,
        number: ConfiguredNumber,
    ) -> Arc<TunnelService> {
        let Self { env, store, .. } = self.clone();
        let environment = TunnelEnvironment {
            settings: brain_tunnel::Settings::from_config(&env.config),
            forward: env.config.tunnel.forward,
            token_file: path_in(&env.home, env.config.tunnel.authtoken_file.as_ref()),
            base_url: env.config.http.base_url.clone(),
            public: env.config.http.public,
            config_file: env.config.file().to_owned(),
            home: env.home,
            clock: env.clock,
            random: env.random,
            secrets: env.secrets,
            net: env.net,
            outgoing: env.outgoing,
            leases: env.leases,
            stop: env.stop,
        };
        let number = Box::new(NumberOfTunnel(number));
        Arc::new(TunnelService::new(environment, store, access, ingest, number))
    }

    fn voice(
        &self,
        pages: Arc<PageService>,
        search: Arc<SearchService>,
        number: ConfiguredNumber,
    ) -> VoiceService {
        let Self { env, store, files, .. } = self.clone();
        VoiceService::new(store, files, pages, search, number, env.clock)
    }

    fn backup(&self) -> Arc<BackupService> {
        let Environment { home, config, clock, leases, stop, .. } = self.env.clone();
        let (store, config) = (self.store.clone(), config.backup.clone());
        Arc::new(BackupService::new(store, home, config, clock, leases, stop))
    }

    fn purge(
        &self,
        pages: Arc<PageService>,
        embedding: Arc<EmbeddingService>,
        backup: Arc<BackupService>,
    ) -> Arc<PurgeService> {
        let Self { env, store, index, files, .. } = self.clone();
        Arc::new(PurgeService {
            home: env.home,
            clock: env.clock,
            stop: env.stop,
            store,
            index,
            files,
            pages,
            embedding,
            backup,
            finished_later: Mutex::default(),
            problems: Mutex::default(),
        })
    }

    fn past(&self, pages: Arc<PageService>) -> PastService {
        let Self { env, store, index, machines, queue, ledger, .. } = self.clone();
        let Environment { clock, home, stop, .. } = env.clone();
        let (number_key, keep) = (store.number_key(), env.config.history.keep);
        let opener = Arc::new(PastOpener { env, index, machines, queue, ledger, number_key });
        PastService::new(store, pages, clock, &home, opener, keep, stop)
    }

    fn process(&self) -> Arc<Process> {
        let Self { env, store, files, .. } = self.clone();
        let Environment { home, config, clock, .. } = env;
        Arc::new(Process { home, config, clock, store, files, started: Instant::now() })
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
            Arc::new(StoreHealth::new(self.store.clone())),
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
            self.past.clone(),
            self.recall.clone(),
            Arc::new(WorkerHealth(self.workers.clone())),
        ]
    }
}

/// Composes the machines, which exist before the other services: a shared store has its log before
/// anything is written.
pub(crate) fn machine_service(
    env: Environment,
    store: Arc<Store>,
    leases: Arc<LeaseTable>,
) -> MachineService {
    let environment = MachineEnvironment {
        cache_bytes: env.config.store.cache_mb * 1_000_000,
        min_free_bytes: env.config.store.min_free_mb * 1_000_000,
        max_token_age: env.config.machines.max_token_age,
        home: env.home,
        clock: env.clock,
        random: env.random,
        secrets: env.secrets,
        outgoing: env.outgoing,
        stop: env.stop,
    };
    MachineService::new(environment, store, leases)
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

/// Returns the path of a configured file, if there is one.
fn path_in(home: &Home, file: Option<&HomePath>) -> Option<PathBuf> {
    Some(file?.resolve(home))
}

/// Returns the settings of [`Access`].
fn access_settings(config: &Config, home: &Home) -> brain_access::AccessSettings {
    brain_access::AccessSettings {
        admin_token_file: path_in(home, config.http.admin_token_file.as_ref()),
        base_url: config.http_base_url().map(str::to_owned),
        local: config.http.local,
        fetch_client_documents: config.http.client_documents == ClientDocuments::Fetch,
    }
}
