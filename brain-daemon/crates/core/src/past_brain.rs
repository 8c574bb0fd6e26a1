//! A brain with one past state: the services that read pages, over a store of that state.
//!
//! It has no model, no vectors and no workers. Its clock stands at the time of the state.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::Clock;
use brain_config::EmbeddingProvider;
use brain_costs::Ledger;
use brain_ingest::Queue;
use brain_machines::MachineService;
use brain_pages::files::FileService;
use brain_pages::index::{IndexFollower, IndexFork};
use brain_pages::pages::PageService;
use brain_pages::pages::dedup::Dedup;
use brain_past::{CopiedPages, OpenPastBrain, PastBrain};
use brain_protocol::{Fault, FaultCode, PastRequest, Reply, SourceId};
use brain_retrieval::embedding::{EmbeddingEnvironment, EmbeddingService, EmbeddingState};
use brain_retrieval::search::SearchService;
use brain_service::Progress;
use brain_store::{PageEntry, PastPage, SourceRecord, Store};
use brain_sync::backup::scheduled_backup::BackupService;

use crate::environment::{Environment, store_options};

/// Size of the cache of a past store, in bytes.
const CACHE_BYTES: usize = 32 << 20;

/// Opens brains with a past state.
pub(crate) struct PastOpener {
    pub(crate) env: Environment,
    /// The index of the present.
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) machines: Arc<MachineService>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) ledger: Arc<Ledger>,
    /// The key of the numbers that restricted callers see, so that they get the same ones.
    pub(crate) number_key: u64,
}

/// The services that read pages.
struct PastServices {
    store: Arc<Store>,
    index: Arc<IndexFollower>,
    pages: PageService,
    search: SearchService,
    backup: BackupService,
}

/// A clock that stands.
struct StoppedClock(i64);

impl Clock for StoppedClock {
    fn now(&self) -> i64 {
        self.0
    }
}

impl OpenPastBrain for PastOpener {
    fn fork_index(&self) -> Option<IndexFork> {
        self.index.fork()
    }

    fn open(
        &self,
        dir: &Path,
        at: i64,
        from: Option<CopiedPages<'_>>,
    ) -> Result<Box<dyn PastBrain>, Fault> {
        let env = Environment { clock: Arc::new(StoppedClock(at)), ..self.env.clone() };
        let options = brain_store::StoreOptions {
            cache_bytes: CACHE_BYTES,
            ..store_options(&env.config, at, self.number_key)
        };
        // The files of attachments are those of the present.
        symlink(env.home.attachments(), dir.join("attachments")).map_err(|e| {
            Fault::new(FaultCode::Io, format!("cannot write to {}: {e}", dir.display()))
        })?;
        let path = dir.join("past.redb");
        let (index, is_fork) = match from {
            Some(CopiedPages { index, reader, bytes }) => {
                reader.copy_pages(&path, bytes, &options)?;
                (Arc::new(index.follower), true)
            }
            None => (Arc::new(IndexFollower::new(dir.join("index"))), false),
        };
        let store = Arc::new(Store::open(&path, &options, index.hook())?);
        if !is_fork {
            index.start(&store, &env.config)?;
        }
        Ok(Box::new(self.compose(env, store, index)))
    }
}

impl PastOpener {
    fn compose(
        &self,
        env: Environment,
        store: Arc<Store>,
        index: Arc<IndexFollower>,
    ) -> PastServices {
        let Environment { home, config, clock, stop, leases, random, secrets, net, .. } = env;
        let files = FileService::new(home.clone(), store.clone(), clock.clone(), stop.clone());
        let files = Arc::new(files);
        let mut embedding = config.embedding.clone();
        embedding.provider = EmbeddingProvider::None;
        let mut search = config.search.clone();
        search.rerank = None;
        let embedding = EmbeddingEnvironment {
            config: embedding,
            search,
            key_file: None,
            rerank_key_file: None,
            min_free_mb: config.store.min_free_mb,
            home: home.clone(),
            clock: clock.clone(),
            secrets,
            net,
            stop: stop.clone(),
        };
        let embedding = EmbeddingService::new(
            embedding,
            store.clone(),
            self.ledger.clone(),
            self.queue.clone(),
            Arc::default(),
            EmbeddingState::default(),
        );
        let pages = PageService::new(
            store.clone(),
            files.clone(),
            Arc::new(Dedup::new(config.store.dedup_entries)),
            leases.clone(),
            random,
            config.pages.clone(),
        );
        let search = SearchService::new(
            store.clone(),
            index.clone(),
            clock.clone(),
            Arc::new(embedding),
            files,
            self.machines.clone(),
        );
        let backup =
            BackupService::new(store.clone(), home, config.backup.clone(), clock, leases, stop);
        PastServices { store, index, pages, search, backup }
    }
}

impl PastBrain for PastServices {
    fn add_sources(&self, sources: Vec<(SourceId, SourceRecord)>) -> Result<(), Fault> {
        Ok(self.store.write(move |transaction| {
            sources.iter().try_for_each(|(id, record)| transaction.put_source(id, record))
        })?)
    }

    fn remove_pages(&self, pages: Vec<PageEntry>) -> Result<(), Fault> {
        Ok(self.store.write(move |transaction| {
            pages.iter().try_for_each(|page| transaction.remove_copied_page(page))
        })?)
    }

    fn add_pages(&self, pages: Vec<PastPage>) -> Result<(), Fault> {
        self.index.wait_for_backlog();
        Ok(self.store.write(move |transaction| {
            transaction.mark_as_bulk();
            for page in &pages {
                if !transaction.add_past_page(page)? {
                    tracing::warn!(slug = %page.slug, "another page had this name at that time");
                }
            }
            Ok(())
        })?)
    }

    fn answer(
        &self,
        caller: &Caller,
        request: PastRequest,
        progress: &dyn Progress,
    ) -> Result<Reply, Fault> {
        match request {
            PastRequest::Get(r) => self.pages.get(caller, &r).map(Reply::Page),
            PastRequest::Search(r) => {
                self.index.refresh();
                self.search.search(caller, r).map(Reply::Hits)
            }
            PastRequest::List(r) => self.pages.list(caller, &r).map(Reply::Pages),
            PastRequest::Links(r) => self.pages.links(caller, &r.page).map(Reply::Links),
            PastRequest::Backlinks(r) => self.pages.backlinks(caller, &r.page).map(Reply::Links),
            PastRequest::Graph(r) => self.pages.graph(caller, &r).map(Reply::Graph),
            PastRequest::Timeline(r) => self.pages.timeline(caller, &r).map(Reply::Timeline),
            PastRequest::Export(r) => self.backup.export(caller, &r, progress).map(Reply::Export),
        }
    }
}
