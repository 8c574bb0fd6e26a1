//! A brain with a clock of its own, and callers that write pages. For tests and the benchmark.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_base::caller::{Caller, Scopes, Visibility};
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::leases::Alone;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_pages::files::FileService;
use brain_pages::pages::PageService;
use brain_pages::pages::dedup::Dedup;
use brain_pages::provenance::actor_of;
use brain_past::{OpenPastBrain, PastBrain, PastService};
use brain_protocol::{Fault, FaultCode, Get, Origin as From, Page, PageRef, Put, Slug, SourceId};
use brain_store::{Act, Origin, Store, StoreOptions, acting};
use tokio_util::sync::CancellationToken;

struct MockClock(AtomicI64);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Past states need a whole brain, which this fixture has not.
struct NoPastStates;

impl OpenPastBrain for NoPastStates {
    fn open(&self, _: &Path, _: i64) -> Result<Box<dyn PastBrain>, Fault> {
        Err(Fault::new(FaultCode::Internal, "this brain has no past states"))
    }
}

pub struct TestBrain {
    pub store: Arc<Store>,
    pub pages: Arc<PageService>,
    pub past: PastService,
    clock: Arc<MockClock>,
}

/// Returns the owner at the command line.
pub fn owner() -> Caller {
    Caller::local(7)
}

/// Returns an AI client.
pub fn client(name: &str) -> Caller {
    Caller::granted(name, Scopes::READ_WRITE, Visibility::All).as_model()
}

pub fn page_ref(slug: &str) -> PageRef {
    PageRef::new(&SourceId::default(), &Slug::parse(slug).unwrap())
}

impl TestBrain {
    pub fn open(dir: &Path) -> Self {
        let home = Home::at(dir.join("home"));
        home.prepare().unwrap();
        let clock = Arc::new(MockClock(AtomicI64::new(1_795_000_000_000)));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let options = StoreOptions {
            cache_bytes: 100_000_000,
            min_free_bytes: 0,
            now: clock.now(),
            new_store_id: 7,
            min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
        };
        let store = Arc::new(Store::open(&home.store(), &options, Box::new(|_| {})).unwrap());
        let stop = CancellationToken::new();
        let files =
            Arc::new(FileService::new(home.clone(), store.clone(), clock.clone(), stop.clone()));
        let pages = Arc::new(PageService::new(
            store.clone(),
            files,
            Arc::new(Dedup::new(100)),
            Arc::new(Alone),
            Arc::new(SystemRandom),
            config.pages.clone(),
        ));
        let (opener, keep) = (Arc::new(NoPastStates), None);
        let (of_store, of_pages) = (store.clone(), pages.clone());
        let past = PastService::new(of_store, of_pages, clock.clone(), &home, opener, keep, stop);
        Self { store, pages, past, clock }
    }

    /// Runs `work` as the door of `caller` does. What it writes is made from `made_from`.
    pub fn act<T>(&self, caller: &Caller, made_from: &[&str], work: impl FnOnce() -> T) -> T {
        let reader = self.store.read(Visibility::All).unwrap();
        let origin = |slug: &&str| {
            let slug = Slug::parse(*slug).unwrap();
            let page = reader.page_even_deleted(&SourceId::default(), &slug).unwrap().unwrap();
            Origin::Page { id: page.id, version: page.version }
        };
        let made_from = made_from.iter().map(origin).collect();
        drop(reader);
        let at = Some(self.clock.now());
        acting(Act { actor: actor_of(caller), at, made_from }, work)
    }

    pub fn put(&self, caller: &Caller, slug: &str, text: &str, made_from: &[&str]) {
        let origin = if caller.is_model() { From::Agent(None) } else { From::Stdin };
        let put = Put {
            page: page_ref(slug),
            content: text.as_bytes().to_vec(),
            origin,
            allow_empty: true,
            expect: None,
        };
        self.act(caller, made_from, || self.pages.put(caller, &put)).unwrap();
    }

    pub fn get(&self, slug: &str) -> Result<Page, Fault> {
        self.pages.get(&owner(), &Get { page: page_ref(slug), version: None })
    }
}
