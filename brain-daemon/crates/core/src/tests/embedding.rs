//! Tests of the commit hook, the rounds and vector search. A deterministic embedder maps each word
//! to a dimension.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_protocol::{Delete, Embed, Origin, PageRef, Put, Slug, SourceAdd, SourceId, Sync};

use crate::Brain;
use brain_base::caller::{Caller, Visibility};
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_config::Config;
use brain_embed::{EmbedError, EmbedErrorKind, Embedder, VectorPurpose, VectorSpace};
use brain_service::NoProgress;

mod failures;
mod order;

const DIMENSIONS: usize = 256;

/// A clock that advances by 1 ms at each call.
struct MockClock(AtomicI64);

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// A callback that runs while a text is embedded.
type EmbedCallback = Box<dyn Fn(&str) + Send>;

/// A fake embedder that maps each word to a dimension.
#[derive(Default)]
struct WordEmbedder {
    identity: Mutex<String>,
    /// The page texts that the embedder received.
    texts: Mutex<Vec<String>>,
    calls: AtomicUsize,
    concurrent_calls: AtomicUsize,
    max_concurrent_calls: AtomicUsize,
    unload_calls: AtomicUsize,
    fault: Mutex<Option<EmbedError>>,
    is_stalled: AtomicBool,
    during_embed: Mutex<Option<EmbedCallback>>,
}

fn fault(kind: EmbedErrorKind) -> EmbedError {
    EmbedError { kind, message: "the endpoint is offline".into(), hint: Some("wait".into()) }
}

impl Embedder for WordEmbedder {
    fn space(&self) -> Result<VectorSpace, EmbedError> {
        let identity = format!("words {}", self.identity.lock().unwrap());
        Ok(VectorSpace { model: "words".into(), identity, dimensions: DIMENSIONS })
    }

    fn embed(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let concurrent_calls = self.concurrent_calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_concurrent_calls.fetch_max(concurrent_calls, Ordering::SeqCst);
        while self.is_stalled.load(Ordering::SeqCst) {
            // An embedder that ignores cancellation.
            std::thread::sleep(Duration::from_millis(5));
        }
        self.concurrent_calls.fetch_sub(1, Ordering::SeqCst);
        if let Some(fault) = self.fault.lock().unwrap().clone() {
            return Err(fault);
        }
        if !should_continue() {
            return Err(fault(EmbedErrorKind::Stopped));
        }
        if texts.iter().any(|text| text.contains("unspeakable")) {
            return Err(fault(EmbedErrorKind::Text));
        }
        if purpose == VectorPurpose::Document {
            for text in texts {
                if let Some(during_embed) = &*self.during_embed.lock().unwrap() {
                    during_embed(text);
                }
                self.texts.lock().unwrap().push(text.clone());
            }
        }
        Ok(texts.iter().map(|text| vector(text)).collect())
    }

    fn coverage(&self, text: &str) -> f32 {
        if text.contains("illegible") { 0.25 } else { 1.0 }
    }

    fn unload_if_idle(&self, _idle: Duration) {
        self.unload_calls.fetch_add(1, Ordering::SeqCst);
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word
            .bytes()
            .fold(7_usize, |hash, b| hash.wrapping_mul(31).wrapping_add(usize::from(b)));
        vector[hash % DIMENSIONS] += 1.0;
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
    vector.into_iter().map(|x| x / length).collect()
}

fn start(dir: &Path, embedder: Option<&Arc<WordEmbedder>>) -> Arc<Brain> {
    start_with(dir, embedder, |_| None)
}

fn start_with(
    dir: &Path,
    embedder: Option<&Arc<WordEmbedder>>,
    env: impl Fn(&str) -> Option<String>,
) -> Arc<Brain> {
    let home = Home::at(dir.join("home"));
    let config = Config::load(&home.config(), env).unwrap();
    let clock = Arc::new(MockClock(AtomicI64::new(1_795_000_000_000)));
    let brain = Brain::open(home, config, clock, 7).unwrap();
    if let Some(embedder) = embedder {
        brain.embedding.set_embedder(Arc::clone(embedder) as Arc<dyn Embedder>);
    }
    Arc::new(brain)
}

fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

fn page(text: &str) -> PageRef {
    PageRef { source: None, slug: slug(text) }
}

/// Puts a page, and returns its id.
fn put(brain: &Brain, name: &str, content: &str) -> u64 {
    let content = content.as_bytes().to_vec();
    let request =
        Put { page: page(name), content, origin: Origin::Stdin, allow_empty: false, expect: None };
    brain.pages.put(&Caller::local(0), &request).unwrap();
    page_id(brain, name)
}

fn page_id(brain: &Brain, name: &str) -> u64 {
    let reader = brain.store.read(Visibility::All).unwrap();
    reader.page(&SourceId::default(), &slug(name)).unwrap().unwrap().id
}

fn delete(brain: &Brain, name: &str) {
    brain.pages.delete(&Caller::local(0), &Delete { page: page(name), expect: None }).unwrap();
}

/// Runs background rounds until no pages are pending.
fn embed_all(brain: &Brain) {
    for _ in 0..200 {
        if !brain.embedding.embed_in_background().is_zero() {
            return;
        }
    }
    panic!("pages are still pending after 200 rounds");
}

/// Returns why the results are incomplete, as the owner sees it.
fn degradation_text(results: &brain_retrieval::embedding::VectorResults) -> Option<String> {
    results.degradation.as_ref().map(|degradation| degradation.text(&Caller::local(0)))
}

fn degradation(brain: &Brain, question: &str) -> Option<String> {
    degradation_text(&brain.embedding.near(question, 10, &|_| true, None))
}

fn near(brain: &Brain, question: &str) -> Vec<u64> {
    brain
        .embedding
        .near(question, 10, &|_| true, None)
        .near
        .iter()
        .filter(|near| near.cosine > 0.45)
        .map(|near| near.page)
        .collect()
}

#[test]
fn page_is_never_found_by_its_former_vectors() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let harbour = put(&brain, "harbour", "boats moor at the quay");
    let garden = put(&brain, "garden", "tomatoes and basil grow");
    embed_all(&brain);
    assert_eq!(near(&brain, "boats quay"), [harbour]);
    assert_eq!(near(&brain, "tomatoes basil"), [garden]);
    let results = brain.embedding.near("boats", 10, &|page| page != harbour, None);
    assert!(results.near.iter().all(|near| near.page != harbour), "hidden pages are left out");
    assert_eq!(
        (results.floor, results.span, results.coverage, results.degradation),
        (0.10, 0.60, 1.0, None)
    );
    let results = brain.embedding.near("illegible boats", 10, &|_| true, None);
    assert!(
        (results.coverage - 0.25).abs() < 1e-6,
        "the model reports which share of the text it can read"
    );
    assert!(brain.embedding.distance(harbour, garden).unwrap() > 0.3);
    // The old vectors are removed before the write is acknowledged; the new ones follow later.
    put(&brain, "harbour", "cranes unload containers");
    assert_eq!(near(&brain, "boats quay"), [] as [u64; 0]);
    assert_eq!(near(&brain, "cranes containers"), [] as [u64; 0]);
    assert_eq!(
        degradation(&brain, "cranes").unwrap(),
        "search by meaning: 50 % of the pages have their vectors"
    );
    embed_all(&brain);
    assert_eq!(near(&brain, "cranes containers"), [harbour]);
    delete(&brain, "garden");
    assert_eq!(near(&brain, "tomatoes basil"), [] as [u64; 0]);
    assert_eq!(brain.embedding.distance(harbour, garden), None);
    let status = brain.embedding.meaning_status();
    assert_eq!((status.pages, status.missing, status.model.as_deref()), (1, 0, Some("words")));
}

#[test]
fn former_vectors_are_used_until_all_are_computed_again() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let harbour = put(&brain, "harbour", "boats moor at the quay");
    put(&brain, "garden", "tomatoes and basil grow");
    embed_all(&brain);
    embedder.texts.lock().unwrap().clear();
    // The command is stopped after the probe of the embedder has succeeded.
    let calls = AtomicUsize::new(0);
    let ended = brain.embedding.embed_round(true, &|| calls.fetch_add(1, Ordering::SeqCst) == 0);
    assert_eq!(ended.unwrap_err().kind, EmbedErrorKind::Stopped);
    assert_eq!(near(&brain, "boats quay"), [harbour]);
    assert_eq!(brain.embedding.meaning_status().missing, 0);
    embed_all(&brain);
    let texts = embedder.texts.lock().unwrap().clone();
    assert_eq!(texts.iter().filter(|text| text.contains("boats")).count(), 1, "{texts:?}");
    assert_eq!(texts.iter().filter(|text| text.contains("basil")).count(), 1, "{texts:?}");
    assert_eq!(near(&brain, "boats quay"), [harbour]);
}

#[test]
fn metadata_changes_need_no_new_vectors() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let one = put(&brain, "one", "boats moor here");
    embed_all(&brain);
    put(&brain, "one", "---\ntags: [harbour]\n---\nboats moor here");
    assert_eq!(near(&brain, "boats moor"), [one]);
    embed_all(&brain);
    assert_eq!(embedder.texts.lock().unwrap().len(), 1);
    put(&brain, "one", "---\ntitle: The quay\n---\nboats moor here");
    embed_all(&brain);
    assert_eq!(
        embedder.texts.lock().unwrap()[1..],
        ["The quay. boats moor here"],
        "the title is part of the embedded text"
    );
}

#[test]
fn newest_pages_are_embedded_first() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    for name in ["a", "b", "c"] {
        put(&brain, name, &format!("---\ntitle: {name}\n---\ntext {name}"));
    }
    embed_all(&brain);
    assert_eq!(*embedder.texts.lock().unwrap(), ["c. text c", "b. text b", "a. text a"]);
}

#[test]
fn start_embeds_only_missing_pages() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let (stays, changes) =
        (put(&brain, "stays", "boats moor"), put(&brain, "changes", "tomatoes grow"));
    put(&brain, "goes", "snow falls");
    embed_all(&brain);
    brain.flush();
    // These changes are never flushed, as after a crash.
    put(&brain, "changes", "tomatoes rot");
    delete(&brain, "goes");
    drop(brain);
    // A page is written while no model is configured.
    let brain = start(dir.path(), None);
    let new = put(&brain, "new", "wind blows");
    drop(brain);
    embedder.texts.lock().unwrap().clear();
    embedder.is_stalled.store(true, Ordering::SeqCst);
    let brain = start(dir.path(), Some(&embedder));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| embed_all(&brain));
        // Stale vectors are gone before new ones are made.
        let open = brain
            .embedding
            .state
            .shared
            .wait_for_vectors(Instant::now() + Duration::from_secs(20), Duration::from_secs(20))
            .unwrap();
        assert_eq!(open.vectors.pages(), [stays]);
        embedder.is_stalled.store(false, Ordering::SeqCst);
        worker.join().unwrap();
    });
    let mut texts = embedder.texts.lock().unwrap().clone();
    texts.sort();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("tomatoes rot") && texts[1].contains("wind blows"), "{texts:?}");
    assert_eq!(near(&brain, "wind blows"), [new]);
    assert_eq!(near(&brain, "tomatoes rot"), [changes]);
    assert_eq!(near(&brain, "snow falls"), [] as [u64; 0]);
}

#[test]
fn page_that_changes_during_embedding_gets_no_vectors() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let id = put(&brain, "page", "first wording");
    let other = put(&brain, "other", "short life");
    let writer = Arc::downgrade(&brain);
    *embedder.during_embed.lock().unwrap() = Some(Box::new(move |text| {
        let Some(brain) = writer.upgrade() else { return };
        if text.contains("first wording") {
            put(&brain, "page", "second wording");
        } else if text.contains("short life") {
            delete(&brain, "other");
        }
    }));
    embed_all(&brain);
    *embedder.during_embed.lock().unwrap() = None;
    assert_eq!(near(&brain, "second wording"), [id]);
    let open = brain.embedding.state.shared.open_vectors().unwrap();
    assert_eq!((open.vectors.pages(), open.vectors.key(other)), (vec![id], None));
    assert!(embedder.texts.lock().unwrap().iter().any(|text| text.contains("second wording")));
}

#[test]
fn new_model_replaces_old_vectors_when_complete() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let id = put(&brain, "page", "boats moor");
    embed_all(&brain);
    brain.flush();
    let file_path = dir.path().join("home/index/vectors");
    let files = || std::fs::read_dir(&file_path).unwrap().count();
    assert_eq!(files(), 1);
    *embedder.identity.lock().unwrap() = "of another kind".into();
    *embedder.fault.lock().unwrap() = Some(fault(EmbedErrorKind::Retryable(None)));
    brain.embedding.embedding_changed();
    brain.embedding.embed_in_background();
    let degradation = degradation(&brain, "boats").unwrap();
    assert!(
        degradation.starts_with("search by meaning: 0 % of the pages have their vectors"),
        "{degradation}"
    );
    assert_eq!(files(), 1, "the former vectors are kept until the new ones are complete");
    *embedder.fault.lock().unwrap() = None;
    while brain.embedding.embed_round(false, &|| true).unwrap().pages > 0 {}
    assert_eq!(near(&brain, "boats moor"), [id]);
    assert_eq!(files(), 1, "only the file of the new vectors");
    drop(brain);
    embedder.texts.lock().unwrap().clear();
    let brain = start(dir.path(), Some(&embedder));
    embed_all(&brain);
    assert_eq!((near(&brain, "boats moor"), embedder.texts.lock().unwrap().len()), (vec![id], 0));
}

#[test]
fn suppressed_pages_are_embedded_on_request() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let notes = dir.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let id = SourceId::parse("notes").unwrap();
    let add = SourceAdd {
        id: id.clone(),
        path: notes.display().to_string(),
        settings: Default::default(),
    };
    brain.sources.add(&Caller::local(0), &add).unwrap();
    let sync = |embed| Sync {
        source: Some(id.clone()),
        all: false,
        pull: false,
        embed,
        dry_run: false,
        full: false,
        yes: false,
    };
    // The first sync runs before any vector exists, the second one after it.
    std::fs::write(notes.join("early.md"), "frogs leap\n").unwrap();
    brain.sync.sync(&Caller::local(0), &sync(false), &NoProgress).unwrap();
    embed_all(&brain);
    assert_eq!(embedder.texts.lock().unwrap().len(), 0);
    brain.embedding.embed(&Embed { all: false, dry_run: false }, &NoProgress).unwrap();
    assert_eq!(std::mem::take(&mut *embedder.texts.lock().unwrap()).len(), 1);
    std::fs::write(notes.join("synced.md"), "boats moor at the quay\n").unwrap();
    let added =
        brain.sync.sync(&Caller::local(0), &sync(false), &NoProgress).unwrap().sources[0].added;
    assert_eq!(added, 1);
    put(&brain, "captured", "tomatoes grow");
    embed_all(&brain);
    let texts = embedder.texts.lock().unwrap().clone();
    assert!(texts.len() == 1 && texts[0].contains("tomatoes grow"), "{texts:?}");
    assert_eq!(brain.embedding.meaning_status().missing, 1);
    let dry_run = brain.embedding.embed(&Embed { all: false, dry_run: true }, &NoProgress).unwrap();
    assert_eq!((dry_run.pages, dry_run.missing), (1, 1));
    let reply = brain.embedding.embed(&Embed { all: false, dry_run: false }, &NoProgress).unwrap();
    assert_eq!((reply.pages, reply.missing), (1, 0));
    // A background round embeds the pages of a sync without suppression.
    std::fs::write(notes.join("next.md"), "snow falls\n").unwrap();
    brain.sync.sync(&Caller::local(0), &sync(true), &NoProgress).unwrap();
    embed_all(&brain);
    assert!(embedder.texts.lock().unwrap().last().unwrap().contains("snow falls"));
}

#[test]
fn search_without_a_model_is_not_degraded() {
    let dir = tempfile::tempdir().unwrap();
    let brain = start(dir.path(), None);
    let id = put(&brain, "page", "boats moor");
    embed_all(&brain);
    let results = brain.embedding.near("boats", 10, &|_| true, None);
    assert_eq!((results.near.len(), results.degradation), (0, None));
    assert_eq!(brain.embedding.distance(id, id), None);
    let status = brain.embedding.meaning_status();
    assert_eq!((status.provider.as_str(), status.missing, status.problem), ("none", 0, None));
    assert!(
        brain
            .embedding
            .embed_round(false, &|| true)
            .unwrap_err()
            .message
            .contains("no embedding model")
    );
    assert!(!dir.path().join("home/index/vectors").exists());
}
