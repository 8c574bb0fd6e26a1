//! Tests of the two ledgers: order, retention from the oldest end, and purges.

use std::path::Path;

use brain_base::caller::Visibility;
use brain_protocol::{LeftKind, LeftOutcome, SeenOutcome, SourceId, TrustLevel};

use super::tests::{open, page, put, slug};
use super::*;

const DAY: i64 = 24 * 60 * 60 * 1000;

pub(super) fn left(host: &str) -> LeftRecord {
    LeftRecord {
        call: 1,
        machine: None,
        kind: LeftKind::Request,
        host: host.into(),
        port: 443,
        method: "POST".into(),
        purpose: "embedding".into(),
        pages: vec![1],
        outcome: LeftOutcome::Answered,
        status: Some(200),
        sent: 10,
        received: 20,
        took_ms: Some(3),
    }
}

fn hosts(store: &Store, since: i64) -> Vec<String> {
    let mut hosts = Vec::new();
    let reader = store.read(Visibility::All).unwrap();
    reader
        .left_since(since, |_, record| {
            hosts.push(record.host);
            true
        })
        .unwrap();
    hosts
}

pub(super) fn seen(request: &str, replies: Vec<SeenReplyRecord>) -> SeenRecord {
    SeenRecord {
        machine: None,
        client: "helm".into(),
        tool: "query".into(),
        outcome: SeenOutcome::Answered,
        code: String::new(),
        zone_minutes: 60,
        form: 1,
        bytes: 900,
        texts: Some(SeenTexts {
            request: Some(request.into()),
            hash: [7; 16],
            replies,
            ..SeenTexts::default()
        }),
        purged_pages: 0,
        purged_at: None,
    }
}

pub(super) fn given(page: u64, version: u32) -> SeenReplyRecord {
    SeenReplyRecord::Page(SeenPageRecord { page, version, trust: TrustLevel::Owner })
}

/// Returns the request of each call, oldest first; `None` for one whose texts are purged.
fn requests(store: &Store) -> Vec<Option<String>> {
    let mut requests = Vec::new();
    let reader = store.read(Visibility::All).unwrap();
    reader
        .seen_since(0, |_, record| {
            requests.push(record.texts.and_then(|texts| texts.request));
            true
        })
        .unwrap();
    requests.reverse();
    requests
}

#[test]
fn requests_are_listed_by_time_and_pruned_from_the_oldest_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("store"));
    let rows: Vec<(u64, LeftRecord)> =
        (1..=4).map(|day| (ledger_id(day * DAY, 9), left(&format!("{day}.example")))).collect();
    store
        .write({
            let rows = rows.clone();
            move |transaction| transaction.add_left(&rows)
        })
        .unwrap();
    // The same rows again: a crash between the store and the file.
    store.write(move |transaction| transaction.add_left(&rows)).unwrap();
    assert_eq!(hosts(&store, 0), ["4.example", "3.example", "2.example", "1.example"]);
    assert_eq!(hosts(&store, 3 * DAY), ["4.example", "3.example"]);
    assert!(!store.write(|transaction| transaction.forget_left(3 * DAY)).unwrap());
    assert_eq!(hosts(&store, 0), ["4.example", "3.example"]);
}

#[test]
fn calls_with_the_same_id_are_all_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("store"));
    let rows = vec![(ledger_id(DAY, 1), seen("a", vec![])), (ledger_id(DAY, 1), seen("b", vec![]))];
    store.write(move |transaction| transaction.add_seen(&rows, 8 * DAY)).unwrap();
    assert_eq!(requests(&store), [Some("a".into()), Some("b".into())]);
    store.write(|transaction| transaction.forget_seen(2 * DAY)).unwrap();
    assert!(requests(&store).is_empty());
}

#[test]
fn a_purge_empties_the_calls_that_gave_or_named_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = open(&path);
    put(&store, "x/key", page("the pin of 2026 is 4471, of the harbour office", &[], None), 10);
    put(&store, "x/other", page("tides of the northern harbour", &[], None), 20);
    let id = |name: &str| {
        let reader = store.read(Visibility::All).unwrap();
        reader.page(&SourceId::default(), &slug(name)).unwrap().unwrap().id
    };
    let (key, other) = (id("x/key"), id("x/other"));
    let calls = [
        seen("{\"slug\":\"x/key\"}", vec![given(key, 1)]),
        seen("{\"query\":\"pin 4471\"}", vec![]),
        seen("{\"query\":\"harbour office\"}", vec![]),
        seen("{\"query\":\"of the tides\",\"at\":\"2026-03-04\"}", vec![given(other, 1)]),
        seen("{\"query\":\"harbour\"}", vec![given(other, 1), given(key, 1)]),
    ];
    let rows: Vec<(u64, SeenRecord)> =
        (1..).zip(calls).map(|(day, call)| (ledger_id(day * DAY, 0), call)).collect();
    store.write(move |transaction| transaction.add_seen(&rows, 8 * DAY)).unwrap();
    let record = store.read(Visibility::All).unwrap();
    let record = record.page(&SourceId::default(), &slug("x/key")).unwrap().unwrap();
    store
        .write(move |transaction| {
            transaction.purge_page(&SourceId::default(), &slug("x/key"), record.clone(), 9 * DAY)
        })
        .unwrap();
    assert_eq!(
        requests(&store),
        [None, None, None, Some("{\"query\":\"of the tides\",\"at\":\"2026-03-04\"}".into()), None]
    );
    let reader = store.read(Visibility::All).unwrap();
    let last = reader.seen(ledger_id(5 * DAY, 0)).unwrap().unwrap();
    assert_eq!(
        (last.purged_pages, last.purged_at, last.client.as_str()),
        (2, Some(9 * DAY), "helm")
    );
    let first = reader.seen(ledger_id(2 * DAY, 0)).unwrap().unwrap();
    assert_eq!((first.purged_pages, first.bytes), (0, 900), "time and counts stay");
}

/// Returns a store with two versions of the page `x/key`, and its record.
fn store_with_two_versions(dir: &Path) -> (Store, PageRecord) {
    let store = open(&dir.join("store"));
    put(&store, "x/key", page("the pin is 4471", &[], None), 10);
    put(&store, "x/key", page("there is none", &[], None), 20);
    let reader = store.read(Visibility::All).unwrap();
    let record = reader.page(&SourceId::default(), &slug("x/key")).unwrap().unwrap();
    drop(reader);
    (store, record)
}

#[test]
fn a_purged_version_empties_the_calls_that_gave_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, record) = store_with_two_versions(dir.path());
    let rows = vec![
        (ledger_id(DAY, 0), seen("{\"slug\":\"one\"}", vec![given(record.id, 1)])),
        (ledger_id(2 * DAY, 0), seen("{\"slug\":\"two\"}", vec![given(record.id, 2)])),
    ];
    store.write(move |transaction| transaction.add_seen(&rows, 8 * DAY)).unwrap();
    store
        .write(move |transaction| {
            transaction.purge_version(&SourceId::default(), &slug("x/key"), record.id, 1, 9 * DAY)
        })
        .unwrap();
    assert_eq!(requests(&store), [None, Some("{\"slug\":\"two\"}".into())]);
}

#[test]
fn a_call_that_is_stored_after_the_purge_has_no_texts() {
    let dir = tempfile::tempdir().unwrap();
    let (store, record) = store_with_two_versions(dir.path());
    let id = record.id;
    let calls = move |request: &str, version| {
        vec![(ledger_id(DAY, 0), seen(request, vec![given(id, version)]))]
    };
    let purged = record.clone();
    store
        .write(move |transaction| {
            transaction.purge_version(&SourceId::default(), &slug("x/key"), id, 1, 9 * DAY)
        })
        .unwrap();
    for (request, version) in [("one", 1), ("two", 2)] {
        let rows = calls(request, version);
        store.write(move |transaction| transaction.add_seen(&rows, 9 * DAY)).unwrap();
    }
    assert_eq!(requests(&store), [None, Some("two".into())]);
    store
        .write(move |transaction| {
            transaction.purge_page(&SourceId::default(), &slug("x/key"), purged.clone(), 9 * DAY)
        })
        .unwrap();
    let rows = calls("three", 2);
    store.write(move |transaction| transaction.add_seen(&rows, 9 * DAY)).unwrap();
    assert_eq!(requests(&store), [None, None, None]);
}
