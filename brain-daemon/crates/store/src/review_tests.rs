//! Citations, questions and settled contradictions, and what a purge takes of them.

use brain_base::caller::Visibility;
use brain_protocol::SourceId;

use super::tests::{open, page, put, slug};
use super::*;

fn citation(page: u64, version: u32) -> CitationRecord {
    CitationRecord {
        page,
        version,
        span: "pin 4471".into(),
        before: "the".into(),
        after: "opens".into(),
        count: 1,
    }
}

fn question(text: &str, page: u64) -> RecallRecord {
    RecallRecord::Question { text: text.into(), page, was_missed: true, at: 1 }
}

#[test]
fn a_purge_takes_what_was_cited_of_the_page_or_asked_about_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    for (name, text) in [("answer", "a"), ("key", "pin 4471"), ("other", "b")] {
        put(&store, name, page(text, &[], None), 10);
    }
    let record = |name: &str| {
        let reader = store.read(Visibility::All).unwrap();
        reader.page(&SourceId::default(), &slug(name)).unwrap().unwrap()
    };
    let (answer, key, other) = (record("answer").id, record("key"), record("other").id);
    let id = key.id;
    store
        .write(move |transaction| {
            transaction.set_citations(answer, &[citation(id, 1), citation(other, 1)])?;
            transaction.set_recall(1, Some(&question("where is it", id)))?;
            transaction.set_recall(2, Some(&question("where is it", other)))?;
            transaction.set_recall(3, Some(&question("pin 4471", other)))
        })
        .unwrap();
    store
        .write(move |transaction| {
            transaction.purge_page(&SourceId::default(), &slug("key"), key.clone(), 20)
        })
        .unwrap();
    let reader = store.read(Visibility::All).unwrap();
    let emptied = CitationRecord { page: id, version: 1, ..CitationRecord::default() };
    assert_eq!(reader.citations_of(answer).unwrap(), [emptied, citation(other, 1)]);
    // Questions that led to the page, and those that name something of its text.
    assert_eq!(reader.recall().unwrap(), [(2, question("where is it", other))]);
    drop(reader);
    let answer_record = record("answer");
    store
        .write(move |transaction| {
            transaction.purge_page(&SourceId::default(), &slug("answer"), answer_record.clone(), 30)
        })
        .unwrap();
    assert_eq!(store.read(Visibility::All).unwrap().citations().unwrap(), []);
}

#[test]
fn a_contradiction_is_settled_and_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("brain.redb"));
    let settled = SettledRecord { kept: (1, 2), other: (3, 4), is_none: false, at: 5 };
    let row = settled.clone();
    store.write(move |transaction| transaction.settle("a1", Some(&row))).unwrap();
    let read = || store.read(Visibility::All).unwrap().settled("a1").unwrap();
    assert_eq!(read(), Some(settled));
    store.write(|transaction| transaction.settle("a1", None)).unwrap();
    assert_eq!(read(), None);
}
