//! Tests of failures: failing, stalled or changed providers, low disk space, panics and crashes.
//! Also tests of rounds that yield to other work.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use brain_protocol::{Embed, Scope};

use super::*;

#[test]
fn stalled_provider_blocks_no_search() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let id = put(&brain, "page", "boats moor");
    embed_all(&brain);
    embedder.is_stalled.store(true, Ordering::SeqCst);
    let timeout_message = "search by meaning: the embedding model did not answer within 2 s";
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let began = Instant::now();
                let results = brain.embedding.near("boats", 10, &|_| true, None);
                assert_eq!(
                    (degradation_text(&results).as_deref(), results.near.len()),
                    (Some(timeout_message), 0)
                );
                // The deadline is 2 s; the rest allows for a busy machine.
                assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
            });
        }
    });
    let calls = embedder.calls.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    assert_eq!(degradation(&brain, "boats").as_deref(), Some(timeout_message));
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "searches do not wait for a stalled provider: {:?}",
        began.elapsed()
    );
    assert_eq!(embedder.calls.load(Ordering::SeqCst), calls);
    assert_eq!(embedder.max_concurrent_calls.load(Ordering::SeqCst), 1);
    embedder.is_stalled.store(false, Ordering::SeqCst);
    let until = Instant::now() + Duration::from_secs(20);
    while near(&brain, "boats moor") != [id] {
        assert!(Instant::now() < until, "the recovered provider was not called again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[allow(clippy::too_many_lines)]
fn only_transient_failures_are_retried() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let id = put(&brain, "page", "boats moor");
    *embedder.fault.lock().unwrap() = Some(fault(EmbedErrorKind::Retryable(Some(300))));
    assert_eq!(
        brain.embedding.embed_in_background(),
        Duration::from_secs(60),
        "the next round is in 60 s; the provider is called again after 300 s"
    );
    let calls = embedder.calls.load(Ordering::SeqCst);
    brain.embedding.embed_in_background();
    assert_eq!(embedder.calls.load(Ordering::SeqCst), calls, "no call before 300 s");
    let status = brain.embedding.meaning_status();
    assert_eq!(status.problem, Some(("the endpoint is offline".into(), Some("wait".into()))));
    assert_eq!(status.missing, 1);
    let incomplete = "search by meaning: 0 % of the pages have their vectors";
    assert_eq!(
        degradation(&brain, "boats").unwrap(),
        format!("{incomplete}: the endpoint is offline")
    );
    // The problem may contain local paths. Only callers that may run `doctor` see it.
    let guest = Caller::granted("guest", Scope::Read.into(), Visibility::All);
    assert_eq!(
        brain.embedding.near("boats", 10, &|_| true, None).degradation.unwrap().text(&guest),
        incomplete
    );
    let unavailable = brain_retrieval::embedding::Degradation {
        percent_with_vectors: None,
        reason: Some("/home/ann/model is gone".into()),
    };
    assert_eq!(
        unavailable.text(&guest),
        "search by meaning: the embedding model is not available now"
    );
    assert!(unavailable.text(&Caller::local(0)).contains("/home/ann"));
    // A command retries at once; the provider still fails.
    assert_eq!(
        brain.embedding.embed_round(false, &|| true).unwrap_err().kind,
        EmbedErrorKind::Retryable(Some(300))
    );
    *embedder.fault.lock().unwrap() = Some(fault(EmbedErrorKind::Refused));
    assert_eq!(
        brain.embedding.embed_round(false, &|| true).unwrap_err().kind,
        EmbedErrorKind::Refused
    );
    let calls = embedder.calls.load(Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(brain.embedding.embed_in_background(), Duration::from_secs(60));
    }
    assert_eq!(embedder.calls.load(Ordering::SeqCst), calls, "a refusal is not retried");
    *embedder.fault.lock().unwrap() = None;
    assert_eq!(brain.embedding.embed_round(false, &|| true).unwrap().pages, 1);
    assert_eq!(brain.embedding.embed_round(false, &|| true).unwrap().pages, 0);
    assert_eq!(brain.embedding.meaning_status().problem, None);
    assert_eq!(near(&brain, "boats moor"), [id]);
    assert_eq!(
        brain.embedding.embed_round(true, &|| true).unwrap().pages,
        1,
        "all pages are embedded again"
    );
    assert_eq!(
        brain.embedding.embed_round(true, &|| false).unwrap_err().kind,
        EmbedErrorKind::Stopped
    );
    embed_all(&brain);
    assert_eq!(near(&brain, "boats moor"), [id], "background rounds compute the remaining vectors");
}

#[test]
fn rejected_window_does_not_affect_others() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let filler = "lorem ipsum dolor ".repeat(60);
    let id = put(
        &brain,
        "page",
        &format!("---\ntitle: Page\n---\nunspeakable {filler} boats moor quay boats moor quay"),
    );
    let other = put(&brain, "other", "tomatoes grow");
    embed_all(&brain);
    assert_eq!(near(&brain, "tomatoes grow"), [other]);
    assert!(
        brain
            .embedding
            .near("boats moor quay", 1, &|_| true, None)
            .near
            .iter()
            .any(|near| near.page == id)
    );
    assert_eq!(brain.embedding.meaning_status().missing, 0);
}

#[test]
fn stop_interrupts_a_round() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    for n in 0..40 {
        put(&brain, &format!("page-{n}"), &format!("text number {n}"));
    }
    let stopper = Arc::downgrade(&brain);
    *embedder.during_embed.lock().unwrap() = Some(Box::new(move |_| {
        if let Some(brain) = stopper.upgrade() {
            brain.begin_stop();
        }
    }));
    brain.embedding.embed_in_background();
    let embedded_count = embedder.texts.lock().unwrap().len();
    assert!(embedded_count < 40, "{embedded_count}: the round stopped after the current batch");
    let calls = embedder.calls.load(Ordering::SeqCst);
    brain.embedding.embed_in_background();
    assert_eq!(embedder.calls.load(Ordering::SeqCst), calls);
    brain.flush();
    drop(brain);
    *embedder.during_embed.lock().unwrap() = None;
    let brain = start(dir.path(), Some(&embedder));
    embed_all(&brain);
    assert_eq!(embedder.texts.lock().unwrap().len(), 40, "computed vectors are kept");
    assert_eq!(brain.embedding.meaning_status().pages, 40);
}

#[test]
fn changed_model_replaces_all_vectors() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let id = put(&brain, "page", "boats moor");
    embed_all(&brain);
    for by_question in [true, false] {
        *embedder.identity.lock().unwrap() = format!("changed, by question: {by_question}");
        *embedder.fault.lock().unwrap() = Some(fault(EmbedErrorKind::Changed));
        embedder.texts.lock().unwrap().clear();
        if by_question {
            let results = brain.embedding.near("boats", 10, &|_| true, None);
            assert!(results.near.is_empty() && results.degradation.is_some());
        } else {
            put(&brain, "page", "boats moor again");
            assert!(!brain.embedding.embed_in_background().is_zero());
        }
        *embedder.fault.lock().unwrap() = None;
        embed_all(&brain);
        assert_eq!(embedder.texts.lock().unwrap().len(), 1, "the new model embeds every page");
        assert_eq!(
            (near(&brain, "boats moor"), brain.embedding.meaning_status().problem),
            (vec![id], None)
        );
    }
}

#[test]
fn failing_embedder_keeps_existing_vectors() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    put(&brain, "page", "boats moor");
    embed_all(&brain);
    *embedder.fault.lock().unwrap() = Some(fault(EmbedErrorKind::Refused));
    assert!(brain.embedding.embed(&Embed { all: true, dry_run: false }, &NoProgress).is_err());
    assert_eq!(brain.embedding.meaning_status().pages, 1);
    // A worker that no longer calls the embedder still unloads the model.
    let unload_calls = embedder.unload_calls.load(Ordering::SeqCst);
    brain.embedding.embed_in_background();
    assert!(embedder.unload_calls.load(Ordering::SeqCst) > unload_calls);
}

#[test]
fn restored_store_is_compared_page_by_page() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let stays = put(&brain, "stays", "boats moor");
    put(&brain, "other", "tomatoes grow");
    embed_all(&brain);
    // The vectors claim later changes than the store has, as after a restore of the store.
    brain.embedding.state.shared.open_vectors().unwrap().vectors.flush(1_000_000).unwrap();
    drop(brain);
    let brain = start(dir.path(), None);
    put(&brain, "other", "snow falls");
    drop(brain);
    let brain = start(dir.path(), Some(&embedder));
    embedder.is_stalled.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| embed_all(&brain));
        let max_wait = Duration::from_secs(20);
        let open = brain
            .embedding
            .state
            .shared
            .wait_for_vectors(Instant::now() + max_wait, max_wait)
            .unwrap();
        assert_eq!(open.vectors.pages(), [stays]);
        embedder.is_stalled.store(false, Ordering::SeqCst);
        worker.join().unwrap();
    });
    let other = page_id(&brain, "other");
    assert_eq!(near(&brain, "snow falls"), [other]);
    put(&brain, "other", "wind blows");
    embed_all(&brain);
    assert_eq!(near(&brain, "wind blows"), [other]);
}

#[test]
fn low_disk_space_keeps_vectors_in_memory() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), None);
    let id = put(&brain, "page", "boats moor");
    drop(brain);
    let large_reserve =
        |name: &str| (name == "BRAIN_STORE_MIN_FREE_MB").then(|| "1000000".to_owned());
    let brain = start_with(dir.path(), Some(&embedder), large_reserve);
    embed_all(&brain);
    assert_eq!(near(&brain, "boats moor"), [id], "the vectors are in memory");
    assert_eq!(std::fs::read_dir(dir.path().join("home/index/vectors")).unwrap().count(), 0);
    let (problem, hint) = brain.embedding.meaning_status().problem.unwrap();
    assert!(
        problem.contains("MB free") && hint.unwrap().to_string().contains("make room"),
        "{problem}"
    );
}

#[test]
fn pages_are_embedded_after_a_round_and_a_sync_panicked() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let panicked = std::thread::scope(|scope| {
        let state = &brain.embedding;
        let failing = scope.spawn(|| {
            let _locks = (state.state.round_state.lock(), state.sync_lock.lock());
            panic!("simulated failure in a round");
        });
        failing.join().is_err()
    });
    assert!(panicked);
    let id = put(&brain, "page", "boats moor");
    embed_all(&brain);
    assert_eq!(near(&brain, "boats moor"), [id]);
}

#[test]
fn long_page_yields_to_a_sync_between_batches() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    put(&brain, "long", &"lorem ipsum dolor sit amet ".repeat(600));
    let (started_tx, started_rx) = std::sync::mpsc::channel();
    let (resume_tx, resume_rx) = std::sync::mpsc::channel::<()>();
    *embedder.during_embed.lock().unwrap() = Some(Box::new(move |_| {
        if started_tx.send(()).is_ok() {
            resume_rx.recv().unwrap();
        }
    }));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| embed_all(&brain));
        started_rx.recv().unwrap();
        let sync_guard = brain.embedding.sync_lock.lock();
        drop(started_rx);
        resume_tx.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(400));
        assert_eq!(embedder.calls.load(Ordering::SeqCst), 1, "no batch runs during a sync");
        drop(sync_guard);
        worker.join().unwrap();
    });
    assert_eq!(brain.embedding.meaning_status().missing, 0);
}

#[test]
fn crash_loses_at_most_one_round() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    for n in 0..140 {
        put(&brain, &format!("page-{n}"), &format!("text number {n}"));
    }
    // Background rounds wait during imports. The pause keeps the rate of changes below that of an
    // import.
    std::thread::sleep(Duration::from_millis(1600));
    assert!(brain.embedding.embed_in_background().is_zero());
    let embedded_count = embedder.texts.lock().unwrap().len();
    assert!((100..140).contains(&embedded_count), "{embedded_count}");
    // Nothing is flushed.
    drop(brain);
    let brain = start(dir.path(), Some(&embedder));
    embed_all(&brain);
    assert_eq!(
        (embedder.texts.lock().unwrap().len(), brain.embedding.meaning_status().missing),
        (140, 0)
    );
}
