//! Tests of the graph of pages: visibility, the cache, and days.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_base::caller::Scope;
use brain_base::home::Home;
use brain_base::leases::Alone;
use brain_base::random::SystemRandom;
use brain_config::Config;
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::dedup::Dedup;
use brain_pages::sources::SourceService;
use brain_protocol::{Origin, PageRef, Put, Slug, SourceAdd, SourceSettings};
use brain_store::StoreOptions;

use super::*;

struct MockClock(AtomicI64);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A store with its pages and their graph.
struct TestBrain {
    pages: Arc<PageService>,
    graph: GraphService,
}

/// Creates a brain with the sources `default` and `secret`.
fn start(dir: &Path, clock: &Arc<MockClock>) -> TestBrain {
    let home = Home::at(dir.join("home"));
    home.prepare().unwrap();
    let config = Config::load(&home.config(), |_| None).unwrap();
    let options = StoreOptions {
        cache_bytes: 1_000_000,
        min_free_bytes: 0,
        now: clock.now(),
        new_store_id: 7,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    };
    let store = Arc::new(Store::open(&home.store(), &options, Box::new(|_| {})).unwrap());
    let stop = CancellationToken::new();
    let files =
        Arc::new(FileService::new(home.clone(), store.clone(), clock.clone(), stop.clone()));
    let dedup = Arc::new(Dedup::new(100));
    let pages = Arc::new(PageService::new(
        store.clone(),
        files.clone(),
        dedup,
        Arc::new(Alone),
        Arc::new(SystemRandom),
        config.pages.clone(),
    ));
    let index = Arc::new(IndexFollower::new(home.index()));
    let sources = SourceService::new(
        store.clone(),
        clock.clone(),
        home,
        files,
        index,
        stop.clone(),
        config.sources.clone(),
    );
    let secret = dir.join("secret");
    std::fs::create_dir_all(&secret).unwrap();
    let add = SourceAdd {
        id: SourceId::parse("secret").unwrap(),
        path: secret.to_string_lossy().into_owned(),
        settings: SourceSettings::default(),
    };
    sources.add(&Caller::local(7), &add).unwrap();
    let graph = GraphService::new(store, clock.clone(), pages.clone(), stop);
    TestBrain { pages, graph }
}

fn put(brain: &TestBrain, source: Option<&str>, name: &str, content: &str) {
    let page = PageRef {
        source: source.map(|id| SourceId::parse(id).unwrap()),
        slug: Slug::parse(name).unwrap(),
    };
    let content = content.as_bytes().to_vec();
    let put = Put { page, content, origin: Origin::Stdin, allow_empty: false, expect: None };
    brain.pages.put(&Caller::local(7), &put).unwrap();
}

fn clock() -> Arc<MockClock> {
    Arc::new(MockClock(AtomicI64::new(1_795_000_000_000)))
}

#[test]
fn a_restricted_caller_sees_nothing_of_hidden_pages() {
    let dir = tempfile::tempdir().unwrap();
    let brain = start(dir.path(), &clock());
    put(&brain, None, "a", "[[b]] [[secret:x]]\n");
    put(&brain, None, "b", "# B\n");
    put(&brain, None, "c", "# C\n");
    let guest = Visibility::Only(vec![SourceId::default()]);
    let guest = Caller::granted("guest", Scope::Read.into(), guest);
    let layout = |caller: &Caller| brain.graph.layout(caller, &GraphLayout::default()).unwrap();
    let before = layout(&guest);
    assert_eq!((before.total, before.edges.len(), before.sources.len()), (3, 1, 1));
    put(&brain, Some("secret"), "x", "---\ntype: secret-type\n---\n[[default:c]] [[y]]\n");
    put(&brain, Some("secret"), "y", "[[default:b]]\n");
    let owner = layout(&Caller::local(7));
    assert_eq!((owner.total, owner.edges.len(), owner.sources.len()), (5, 5, 2));
    // The positions are the same while the owner's graph is cached.
    assert_eq!(layout(&guest), before);
    let around = GraphLayout {
        page: Some(PageRef { source: None, slug: Slug::parse("c").unwrap() }),
        depth: 3,
        ..GraphLayout::default()
    };
    assert_eq!(brain.graph.layout(&guest, &around).unwrap().total, 1);
    assert_eq!(brain.graph.layout(&Caller::local(7), &around).unwrap().total, 5);
    let of_secret =
        GraphLayout { source: SourceId::parse("secret").ok(), ..GraphLayout::default() };
    assert_eq!(brain.graph.layout(&guest, &of_secret).unwrap_err().code, FaultCode::UnknownSource);
}

#[test]
fn the_graph_is_cached_until_a_change_or_an_idle_time() {
    let dir = tempfile::tempdir().unwrap();
    let clock = clock();
    let brain = start(dir.path(), &clock);
    put(&brain, None, "a", "[[b]] [a](a.md)\n");
    let cached_graph =
        || brain.graph.cached.lock().as_ref().map(|cached| Arc::as_ptr(&cached.graph));
    let layout = || brain.graph.layout(&Caller::local(7), &GraphLayout::default()).unwrap();
    let first = layout();
    let graph = cached_graph();
    assert_eq!((layout(), cached_graph()), (first, graph));
    put(&brain, None, "b", "# B\n");
    assert_eq!(layout().edges, [LayoutEdge { from: 0, to: 1 }]);
    clock.0.fetch_add(CACHE_MS, Ordering::Relaxed);
    brain.graph.drop_when_idle();
    assert!(cached_graph().is_some());
    clock.0.fetch_add(1, Ordering::Relaxed);
    brain.graph.drop_when_idle();
    assert!(cached_graph().is_none());
    assert_eq!(layout().total, 2);
}

#[test]
fn days_are_counted_from_1970() {
    assert_eq!(day_number("1970-01-01"), Ok(0));
    assert_eq!(day_number("1969-12-31"), Ok(-1));
    assert_eq!(day_number("2026-11-25"), Ok(20_782));
    assert!(day_number("2026-11-31").is_err() && day_number("today").is_err());
}
