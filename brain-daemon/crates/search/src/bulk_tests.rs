//! Tests of bulk imports, whose pages the index analyzes later.

#![allow(clippy::unwrap_used)]

use brain_protocol::SourceId;

use super::tests::{ids, no_commit_options, note, open, page, put};
use super::*;

#[test]
fn only_bulk_pages_are_indexed_later() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let word = |id: u64| format!("zqbulk{id}");
    let bulk = |id: u64| note(id, &format!("{} {}", word(id), "lorem ipsum dolor ".repeat(150)));
    index.push_bulk((1..=4000).map(bulk).collect());
    index.push(vec![note(4001, "urgent"), IndexChange::Remove { id: 4000, seq: 4002 }]);
    assert_eq!(ids(&index, "urgent"), [4001]);
    // To analyze so many pages takes seconds. A search does not wait for that.
    assert!(index.is_incomplete(None));
    assert_eq!(ids(&index, &word(3999)), [0; 0]);
    let other = SourceId::parse("work").unwrap();
    assert!(!index.is_incomplete(Some(&[other])), "the pages belong to another source");
    index.analyze_pending();
    assert!(!index.is_incomplete(None));
    assert_eq!((ids(&index, &word(3999)), ids(&index, &word(1))), (vec![3999], vec![1]));
    assert_eq!(ids(&index, &word(4000)), [0; 0], "a page that was removed meanwhile");
}

#[test]
fn a_bulk_change_shows_the_old_page_until_analyzed() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![note(1, "former"), note(2, "former")]);
    index.flush().unwrap();
    let filler = (3..=3000).map(|id| note(id, &"lorem ipsum dolor ".repeat(150)));
    let changed = |id: u64, seq: u64| put(page(id, seq, "Changed", "latter"));
    let last = [changed(1, 3001), changed(2, 3002)];
    index.push_bulk(filler.chain(last).collect());
    index.push(vec![put(page(2, 3003, "Changed again", "final"))]);
    assert_eq!(ids(&index, "former"), [1]);
    assert_eq!(ids(&index, "final"), [2]);
    index.analyze_pending();
    assert_eq!(
        (ids(&index, "former"), ids(&index, "latter"), ids(&index, "final")),
        (vec![], vec![1], vec![2])
    );
}

#[test]
fn an_endless_stream_of_large_pages_is_committed() {
    let dir = tempfile::tempdir().unwrap();
    // Five of these pages.
    let options = Options { commit_bytes: 100_000, ..no_commit_options() };
    let (index, _) = Index::open(dir.path(), "store", 1_000_000, options).unwrap();
    let text = "lorem ipsum dolor ".repeat(300);
    let mut max_in_memory = 0;
    for id in 1..=300 {
        index.push_bulk(vec![note(id, &text)]);
        index.wait_for_backlog_below(4000);
        max_in_memory = max_in_memory.max(index.uncommitted_count());
    }
    // Five that are not taken, as many that are being committed, and those that were taken last.
    assert!(max_in_memory <= 20, "{max_in_memory} of 300 pages were in memory");
}
