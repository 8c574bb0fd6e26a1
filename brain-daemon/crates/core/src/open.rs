//! Opens a brain: the store, the index, the services, and recovery after a crash.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use brain_access::Access;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::random::SystemRandom;
use brain_base::secrets::Secrets;
use brain_base::workers::WorkerStates;
use brain_config::{ClientDocuments, Config};
use brain_costs::Ledger;
use brain_files::{IgnoreRules, markdown_files};
use brain_protocol::{Fault, FaultCode, SyncedSource};
use brain_store::{Reader, Store, StoreOptions};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::doctor::DoctorService;
use crate::doctor::access::AccessHealth;
use crate::doctor::process::Process;
use crate::doctor::store::StoreHealth;
use crate::doctor::workers::WorkerHealth;
use crate::home_owner::check_owner;
use crate::purge::PurgeService;
use crate::{Brain, ExternalDependencies, store_identity};
use brain_assist::ask::AskService;
use brain_assist::ideas::IdeaService;
use brain_collector::CollectorService;
use brain_connect::ConnectService;
use brain_graph::GraphService;
use brain_ingest::IngestService;
use brain_ingest::Queue;
use brain_llm::LanguageModels;
use brain_machines::{LeaseTable, MachineService, complete_join};
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::index::index_id;
use brain_pages::pages::PageService;
use brain_pages::pages::dedup::Dedup;
use brain_pages::sources::SourceService;
use brain_retrieval::embedding::EmbeddingService;
use brain_retrieval::embedding::{EmbeddingState, combine_hooks};
use brain_retrieval::search::SearchService;
use brain_service::TextBudget;
use brain_service::health::Health;
use brain_service::{Audit, ChangeFeed, Environment, StandardOutput};
use brain_sync::backup::home_remains::{check_new_home, check_store, store_fault};
use brain_sync::backup::scheduled_backup::BackupService;
use brain_sync::sync::SyncService;
use brain_tunnel::{TelephoneNumber, TunnelService};
use brain_voice::{ConfiguredNumber, VoiceService};

impl Brain {
    /// Opens the brain at `home`: store, migration, index, and recovery after a crash.
    ///
    /// # Errors
    /// If the home cannot be used, the store is locked, damaged or from a newer version, or the
    /// index cannot be opened.
    pub fn open(
        home: Home,
        config: Config,
        clock: Arc<dyn Clock>,
        new_store_id: u64,
    ) -> Result<Self, Fault> {
        let variables = Box::new(|name: &str| std::env::var(name).ok());
        let (random, net) = (Arc::new(SystemRandom), Arc::new(brain_net::Client::new()));
        let lines = Arc::new(StandardOutput::default());
        let dependencies = ExternalDependencies { random, variables, net, lines };
        Self::open_with(home, config, clock, new_store_id, dependencies)
    }

    /// Opens the brain at `home` with these external dependencies.
    ///
    /// # Errors
    /// The same as for [`Brain::open`].
    pub fn open_with(
        home: Home,
        config: Config,
        clock: Arc<dyn Clock>,
        new_store_id: u64,
        external: ExternalDependencies,
    ) -> Result<Self, Fault> {
        check_owner(&home)?;
        check_new_home(&home)?;
        home.prepare().map_err(|e| home_fault(&home, &e))?;
        let unopened = home.clone();
        let home = home.keep_open().map_err(|e| home_fault(&unopened, &e))?;
        if !home.is_read_only() {
            complete_join(&home)?;
            home.prepare().map_err(|e| home_fault(&home, &e))?;
        }
        let now = clock.now();
        let options = store_options(&config, now, new_store_id);
        let index = Arc::new(IndexFollower::new(home.index()));
        let embedding_state = EmbeddingState::default();
        let changes = ChangeFeed::new();
        let hook = changes.hook(combine_hooks(embedding_state.hook(), index.hook()));
        check_store(&home)?;
        let is_new = !home.store().exists();
        let is_other_file = store_identity::is_other_file(&home);
        let opened = Store::open(&home.store(), &options, hook);
        let store = Arc::new(opened.map_err(|error| store_fault(&home, error))?);
        check_not_emptied(&home, &store)?;
        if is_new {
            tracing::info!(home = %home.root().display(), "made a new, empty brain");
        }
        if let Some(found) = home.synced_folder() {
            tracing::warn!("{}", found.warning(home.root()));
        }
        let is_other_store = is_other_file && store_identity::discard_torn_index(&home, &store);
        if let Some(dir) = config.backup_dir(&home) {
            store.set_backup_dir(dir);
        }
        index.start(&store, &config)?;
        let leases = Arc::new(LeaseTable::default());
        let env = Environment {
            leases: leases.clone(),
            secrets: Arc::new(Secrets::new(home.secrets(), external.variables)),
            config: Arc::new(config),
            random: external.random,
            net: external.net,
            lines: external.lines,
            stop: CancellationToken::new(),
            clock,
            home,
        };
        // A shared store has its log before anything is written.
        let machines = Arc::new(MachineService::new(env.clone(), store.clone(), leases));
        let brain = Self::compose(&env, &store, &index, embedding_state, changes, machines)?;
        brain.pages.dedup.refill(&store, now)?;
        brain.files.begin_recovery();
        if is_other_store {
            let taken_in = brain.take_in_files();
            let _ = brain.taken_in.set(taken_in);
        }
        brain.files.replay_outbox();
        store_identity::record(&brain.env.home);
        if let Err(fault) = brain.pages.purge_due() {
            tracing::warn!(%fault, "cannot purge expired pages at start");
        }
        Ok(brain)
    }

    /// Brings store and files of pages together: each may be newer.
    fn take_in_files(&self) -> Result<SyncedSource, Fault> {
        let taken_in = self.sync.take_in_files();
        match &taken_in {
            Ok(taken_in) => tracing::info!(
                files = taken_in.files,
                added = taken_in.added,
                updated = taken_in.updated,
                failed = taken_in.failed_total,
                "files in pages/ compared with the store"
            ),
            Err(fault) => tracing::warn!(%fault, "files in pages/ not compared with the store"),
        }
        taken_in
    }

    /// Gives each service its dependencies. The store is locked by now, so the owner's token is
    /// created only once.
    fn compose(
        env: &Environment,
        store: &Arc<Store>,
        index: &Arc<IndexFollower>,
        embedding_state: EmbeddingState,
        changes: Arc<ChangeFeed>,
        machines: Arc<MachineService>,
    ) -> Result<Self, Fault> {
        let (config, clock, stop) = (&env.config, &env.clock, &env.stop);
        let waiting = store.read_through(Reader::job_counts)?.waiting;
        let queue = Arc::new(Queue::new(config.ingest.queue, waiting, changes.clone()));
        let text = Arc::new(TextBudget::default());
        let dedup = Arc::new(Dedup::new(config.store.dedup_entries));
        let ledger = Arc::new(Ledger::new(&env.home.costs(), clock.clone()));
        let sync_lock = Arc::new(Mutex::new(()));

        let access = Arc::new(Access::open(
            store.clone(),
            clock.clone(),
            env.random.clone(),
            env.secrets.clone(),
            env.net.clone(),
            access_settings(config, &env.home),
        )?);
        let audit = Arc::new(Audit::new(store.clone(), clock.clone()));
        let files = Arc::new(FileService::new(
            env.home.clone(),
            store.clone(),
            clock.clone(),
            stop.clone(),
        ));
        let pages = Arc::new(PageService::new(env, store.clone(), files.clone(), dedup.clone()));
        let graph = GraphService::new(store.clone(), clock.clone(), pages.clone(), stop.clone());
        let sources = Arc::new(SourceService::new(
            store.clone(),
            clock.clone(),
            env.home.clone(),
            files.clone(),
            index.clone(),
            stop.clone(),
            env.config.clone(),
        ));
        let embedding = Arc::new(EmbeddingService::new(
            env.clone(),
            store.clone(),
            ledger.clone(),
            queue.clone(),
            sync_lock.clone(),
            embedding_state,
        ));
        let search = Arc::new(SearchService::new(
            store.clone(),
            index.clone(),
            clock.clone(),
            embedding.clone(),
            files.clone(),
            machines.clone(),
        ));
        let sync = Arc::new(SyncService::new(
            env.clone(),
            store.clone(),
            index.clone(),
            pages.clone(),
            sources.clone(),
            embedding.clone(),
            sync_lock,
        ));
        let ingest = Arc::new(IngestService::new(
            store.clone(),
            index.clone(),
            clock.clone(),
            files.clone(),
            dedup,
            text.clone(),
            queue,
        ));
        let models = Arc::new(LanguageModels::new(env.clone(), ledger));
        let ask = AskService::new(env.clone(), store.clone(), search.clone(), models.clone());
        let ideas = IdeaService::new(
            env.clone(),
            store.clone(),
            pages.clone(),
            search.clone(),
            embedding.clone(),
            models.clone(),
        );
        let collector = Arc::new(CollectorService::new(
            env.clone(),
            store.clone(),
            index.clone(),
            pages.clone(),
            sync.clone(),
            ingest.clone(),
            models.clone(),
        ));
        let tunnel = Arc::new(TunnelService::new(
            env.clone(),
            store.clone(),
            access.clone(),
            ingest.clone(),
            Box::new(NumberOfTunnel(ConfiguredNumber::new(env.clone()))),
        ));
        let backup = Arc::new(BackupService::new(env.clone(), store.clone()));
        let purge = Arc::new(PurgeService {
            env: env.clone(),
            store: store.clone(),
            index: index.clone(),
            files: files.clone(),
            pages: pages.clone(),
            embedding: embedding.clone(),
            backup: backup.clone(),
            finished_later: Mutex::default(),
            problems: Mutex::default(),
        });
        let workers = Arc::new(WorkerStates::default());
        let started = Instant::now();
        let process = Arc::new(Process {
            env: env.clone(),
            store: store.clone(),
            files: files.clone(),
            started,
        });
        let services: Vec<Arc<dyn Health>> = vec![
            process.clone(),
            Arc::new(AccessHealth(access.clone())),
            Arc::new(StoreHealth(store.clone())),
            search.clone(),
            files.clone(),
            ingest.clone(),
            pages.clone(),
            purge.clone(),
            sources.clone(),
            backup.clone(),
            embedding.clone(),
            collector.clone(),
            tunnel.clone(),
            machines.clone(),
            models.clone(),
            Arc::new(WorkerHealth(workers.clone())),
        ];
        let doctor = DoctorService {
            services,
            process,
            files: files.clone(),
            pages: pages.clone(),
            purge: purge.clone(),
            index: index.clone(),
        };
        let voice = VoiceService::new(
            env.clone(),
            store.clone(),
            files.clone(),
            pages.clone(),
            search.clone(),
        );
        Ok(Self {
            connect: ConnectService::new(env.clone(), access.clone()),
            started,
            env: env.clone(),
            store: store.clone(),
            index: index.clone(),
            access,
            audit,
            changes,
            files,
            pages,
            graph,
            sources,
            search,
            embedding,
            sync,
            ingest,
            models,
            ask,
            ideas,
            collector,
            tunnel,
            machines,
            voice,
            backup,
            purge,
            workers,
            doctor,
            text,
            taken_in: OnceLock::new(),
        })
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

/// Returns the options of a store that is opened or created at `now`.
pub(crate) fn store_options(config: &Config, now: i64, new_store_id: u64) -> StoreOptions {
    StoreOptions {
        cache_bytes: config.store.cache_mb * 1_000_000,
        min_free_bytes: config.store.min_free_mb * 1_000_000,
        now,
        new_store_id,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    }
}

/// Returns the settings of [`Access`].
fn access_settings(config: &Config, home: &Home) -> brain_access::Settings {
    brain_access::Settings {
        admin_token_file: config.http_admin_token_file(home),
        base_url: config.http_base_url().map(str::to_owned),
        local: config.http.local,
        fetch_client_documents: config.http.client_documents == ClientDocuments::Fetch,
    }
}

/// Refuses an empty store if the index knows of changes, or if the store was repaired and the home
/// has files of pages. The repair may have reset the store, and the owner must decide what to do.
fn check_not_emptied(home: &Home, store: &Store) -> Result<(), Fault> {
    if store.read_through(Reader::counts)?.seq > 0 {
        return Ok(());
    }
    let known_changes =
        brain_search::known_changes(&home.index(), &index_id(store)).filter(|count| *count > 0);
    let file_count = || {
        let rules = IgnoreRules::off();
        markdown_files(&home.pages(), "", &rules, None).files.len()
    };
    let is_repaired =
        || -> Result<bool, Fault> { Ok(store.was_repaired() || store.is_marked_lost()?) };
    let evidence = match known_changes {
        Some(count) => format!("its index knows of {count} changes"),
        None if is_repaired()? => match file_count() {
            0 => return Ok(()),
            files => {
                let pages = if files == 1 { "1 page".to_owned() } else { format!("{files} pages") };
                // Without this mark, the next start would not notice the repair.
                if let Err(error) = store.mark_lost() {
                    tracing::warn!(%error, "cannot mark the store as lost");
                }
                format!("{} has {pages}, and the store had to be repaired", home.pages().display())
            }
        },
        None => return Ok(()),
    };
    let store = store.path().display();
    let message = format!("{store} opened without any page, but {evidence}");
    Err(Fault::new(FaultCode::StoreDamaged, message).hint(format!(
        "no page was changed; move {store} away and restore a backup: `brain backup restore FILE`; \
         without a backup, move {} and {} away as well, and import the pages from there: \
         `brain import DIR`",
        home.index().display(),
        home.pages().display()
    )))
}

pub(crate) fn home_fault(home: &Home, error: &std::io::Error) -> Fault {
    let message = format!("cannot use {} as home: {error}", home.root().display());
    Fault::new(brain_base::write_code(error), message)
        .hint("make that directory writable, or set BRAIN_HOME to another one")
}
