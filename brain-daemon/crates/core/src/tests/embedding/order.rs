//! Tests of the order of the work: beginnings first, newest first, and nothing twice.

use std::sync::Arc;

use brain_protocol::Embed;

use super::*;

/// Returns a body of `windows` windows. Each word names the page and the number of its window.
fn long_body(name: &str, windows: usize) -> String {
    let words = |n: usize| format!("{name}{n} ").repeat(60);
    // The last window also has the 15 words that two windows share.
    (0..windows).map(words).collect::<String>() + &format!("{name}end ").repeat(15)
}

fn put_long(brain: &Brain, name: &str, windows: usize) -> u64 {
    put(brain, name, &format!("---\ntitle: {name}\n---\n{}", long_body(name, windows)))
}

fn take_texts(embedder: &WordEmbedder) -> Vec<String> {
    std::mem::take(&mut *embedder.texts.lock().unwrap())
}

/// Asserts that no text was embedded twice.
fn assert_distinct(texts: &[String]) {
    let distinct: std::collections::HashSet<&String> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len(), "{texts:#?}");
}

#[test]
fn beginnings_of_all_pages_come_before_the_rest() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let ids: Vec<u64> = ["a", "b", "c"].map(|name| put_long(&brain, name, 3)).into();
    assert!(brain.embedding.embed_in_background().is_zero());
    let texts = take_texts(&embedder);
    assert_eq!(texts.len(), 3, "one window of each page");
    for (text, start) in texts.iter().zip(["c. c0 ", "b. b0 ", "a. a0 "]) {
        assert!(text.starts_with(start), "{text}");
    }
    // Search uses these vectors, and the status says that they are not all.
    assert_eq!(near(&brain, "b0 b0 b"), ids[1..2]);
    let status = brain.embedding.meaning_status();
    assert_eq!((status.pages, status.missing, status.incomplete), (3, 0, 3));
    assert!(status.seconds_left.is_some());
    embed_all(&brain);
    let rest = take_texts(&embedder);
    assert!(rest.len() >= 6 && rest[0].contains("c1"), "{rest:#?}");
    assert_distinct(&[texts, rest].concat());
    let status = brain.embedding.meaning_status();
    assert_eq!((status.pages, status.missing, status.incomplete), (3, 0, 0));
    assert_eq!(status.seconds_left, None);
}

#[test]
fn work_continues_after_a_restart() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let ids: Vec<u64> = ["a", "b"].map(|name| put_long(&brain, name, 4)).into();
    assert!(brain.embedding.embed_in_background().is_zero());
    brain.flush();
    drop(brain);
    let brain = start(dir.path(), Some(&embedder));
    // Nothing stops the vectors of the beginnings from being used.
    assert!(brain.embedding.embed_in_background().is_zero());
    assert_eq!(near(&brain, "a0 a0 a"), ids[..1]);
    embed_all(&brain);
    let texts = take_texts(&embedder);
    assert!(texts.len() >= 8, "{texts:#?}");
    assert_distinct(&texts);
    assert_eq!(brain.embedding.meaning_status().incomplete, 0);
}

#[test]
fn changed_pages_go_before_a_long_page() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    put_long(&brain, "long", 300);
    let changed = put_long(&brain, "changed", 1);
    for _ in 0..2 {
        assert!(brain.embedding.embed_in_background().is_zero());
    }
    let before = take_texts(&embedder);
    assert!(before.len() < 140, "a round embeds a part of a long page: {}", before.len());
    put(&brain, "changed", "tomatoes rot");
    assert!(brain.embedding.embed_in_background().is_zero());
    assert_eq!(take_texts(&embedder).len(), 1);
    assert_eq!(near(&brain, "tomatoes rot").first(), Some(&changed));
    embed_all(&brain);
    let rest = take_texts(&embedder);
    assert!(before.len() + rest.len() > 290, "{}", rest.len());
    assert_distinct(&[before, rest].concat());
    assert_eq!(brain.embedding.meaning_status().incomplete, 0);
}

#[test]
fn former_vectors_of_long_pages_stay_until_replaced() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let id = put_long(&brain, "long", 150);
    embed_all(&brain);
    take_texts(&embedder);
    let windows = || {
        let open = brain.embedding.state.shared.open_vectors().unwrap();
        open.vectors.window_counts(&[id])[0]
    };
    let all = windows();
    assert!(all.is_some_and(|count| count >= 150));
    let round = brain.embedding.embed_round(true, &|| true).unwrap();
    assert_eq!((round.pages, windows()), (1, all), "all windows are replaced at once");
    let texts = take_texts(&embedder);
    // The probe of the embedder is not among the windows.
    assert_eq!(texts.len(), all.unwrap() + 1);
    assert_distinct(&texts);
}

#[test]
fn rejected_beginning_does_not_stop_a_long_page() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    let body = "unspeakable ".repeat(200) + &long_body("page", 140);
    let id = put(&brain, "page", &body);
    embed_all(&brain);
    assert_eq!(near(&brain, "page139 page139"), [id]);
    let status = brain.embedding.meaning_status();
    assert_eq!((status.pages, status.incomplete, status.problem), (1, 0, None));
}

#[test]
fn estimate_has_a_measured_speed() {
    let (dir, embedder) = (tempfile::tempdir().unwrap(), Arc::new(WordEmbedder::default()));
    let brain = start(dir.path(), Some(&embedder));
    put_long(&brain, "a", 3);
    // No time is known for this model, so the command measures it.
    brain.embedding.embed_in_background();
    put_long(&brain, "b", 3);
    let reply = brain.embedding.embed(&Embed { all: true, dry_run: true }, &NoProgress).unwrap();
    assert_eq!((reply.pages, reply.missing), (2, 2));
    assert!(reply.seconds.is_some());
    let reply = brain.embedding.embed(&Embed { all: false, dry_run: false }, &NoProgress).unwrap();
    assert_eq!((reply.pages, reply.missing), (2, 0));
    let reply = brain.embedding.embed(&Embed { all: false, dry_run: true }, &NoProgress).unwrap();
    assert_eq!((reply.pages, reply.seconds), (0, Some(0)));
}
