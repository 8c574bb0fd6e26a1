//! Isolation of tasks that share a commit, lookup rows, and agreement of the tables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use brain_base::caller::Visibility;
use brain_protocol::{Fault, FaultCode, Slug, SourceId, WriteStatus};
use proptest::prelude::*;
use redb::{ReadableDatabase, ReadableTable};

use super::record::{StoredValue, from_bytes};
use super::*;
use crate::tables as t;

pub(super) fn options() -> StoreOptions {
    StoreOptions {
        cache_bytes: 4 << 20,
        min_free_bytes: 0,
        now: 1000,
        new_store_id: 7,
        min_returned_bytes: 1 << 20,
    }
}

pub(super) fn open(path: &Path) -> Store {
    Store::open(path, &options(), Box::new(|_| {})).unwrap()
}

pub(super) fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

pub(super) fn page(body: &str, tags: &[&str], link: Option<&str>) -> NewPage {
    let link = link.map(|to| LinkRecord {
        source: None,
        slugs: vec![to.into()],
        name: None,
        kind: "mentions".into(),
        raw: to.into(),
    });
    NewPage {
        page_type: "note".into(),
        title: Some(body.into()),
        aliases: vec![],
        content: Content { body: body.into(), ..Content::default() },
        content_hash: brain_page::content_digest(body),
        chunks: 1,
        derived: DerivedRows {
            links: link.into_iter().collect(),
            tags: tags.iter().map(|&t| t.into()).collect(),
            ..DerivedRows::default()
        },
        provenance: Provenance { source_kind: Some("import".into()), ..Provenance::default() },
        author: None,
        line_change: LineChange::SameMarks,
        dates: brain_page::NoteDates::default(),
        replaces: None,
        is_capture: false,
        file: FilePlan::Write,
    }
}

pub(super) fn put(store: &Store, name: &str, new: NewPage, now: i64) -> WrittenPage {
    let name = slug(name);
    store
        .write(move |transaction| transaction.write_page(&SourceId::default(), &name, &new, now))
        .unwrap()
}

/// Returns the key and the linking page's id of each link row.
pub(super) fn link_rows(path: &Path) -> Vec<(String, u64)> {
    let db = super::jobs_tests::open_file(path);
    let txn = db.begin_read().unwrap();
    let table = txn.open_table(t::LINKS_IN).unwrap();
    let rows = table.iter().unwrap().map(|row| {
        let row = row.unwrap().0;
        let (_, key, id) = row.value();
        (key.to_owned(), id)
    });
    rows.collect()
}

#[test]
fn a_slug_link_leads_only_to_the_page_of_that_slug() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let bare = |name: &str| {
        let mut page = page("bare", &[], Some(name));
        page.derived.links[0].name = Some(name.into());
        page
    };
    let mut named = page("a page", &[], None);
    named.derived.names = vec!["index".into()];
    for name in ["index", "projects/index"] {
        put(&store, name, named.clone(), 1);
    }
    put(&store, "by/path", page("by path", &[], Some("index")), 2);
    put(&store, "by/name", bare("index"), 3);
    put(&store, "by/folder", page("by folder", &[], Some("projects/index")), 4);
    let reader = store.read(Visibility::All).unwrap();
    let found = |name: &str| reader.page(&SourceId::default(), &slug(name)).unwrap().unwrap();
    let id_of = |name: &str| found(name).id;
    let linking = |name: &str, limit| {
        reader.linking(&(SourceId::default(), slug(name), found(name)), limit).unwrap()
    };
    assert_eq!(linking("index", 9), [id_of("by/name"), id_of("by/path")]);
    assert_eq!(linking("projects/index", 9), [id_of("by/folder"), id_of("by/name")]);
    drop((reader, store));
    assert_eq!(link_rows(&path).len(), 3, "a bare link has one row");
}

#[test]
fn a_failed_task_does_not_affect_its_batch() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&dir.path().join("brain.redb")));
    let threads: Vec<_> = (0..30)
        .map(|n| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                let name = slug(&format!("p/{n}"));
                store.write(move |transaction| {
                    if n % 3 == 1 {
                        return Err(Fault::new(FaultCode::Conflict, "before writing").into());
                    }
                    transaction.write_page(
                        &SourceId::default(),
                        &name,
                        &page("x", &[], None),
                        1,
                    )?;
                    match n % 6 {
                        2 => Err(Fault::new(FaultCode::Conflict, "after writing").into()),
                        5 => panic!("a defect"),
                        _ => Ok(()),
                    }
                })
            })
        })
        .collect();
    let outcomes: Vec<bool> = threads.into_iter().map(|t| t.join().unwrap().is_ok()).collect();
    let reader = store.read(Visibility::All).unwrap();
    for (n, acknowledged) in outcomes.into_iter().enumerate() {
        let exists = reader.page(&SourceId::default(), &slug(&format!("p/{n}"))).unwrap().is_some();
        assert_eq!((n, acknowledged), (n, n % 3 == 0));
        assert_eq!(exists, acknowledged, "page {n}");
    }
    assert_eq!(reader.counts().unwrap().active, 10);
}

/// Returns the pages with this label, newest first.
fn pages_with(reader: &Reader, label: PageLabel<'_>) -> Vec<PageEntry> {
    let mut out = Vec::new();
    let each = |found| {
        out.push(found);
        Ok(true)
    };
    reader.latest_with_label(label, None, LATEST, each).unwrap();
    out
}

/// Lookup rows are inserted at the end of a transaction. A page that changes twice in it leaves no
/// rows of its first change.
#[test]
fn a_page_changed_twice_in_a_transaction_has_its_last_rows() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("s.redb"));
    let source = SourceId::default();
    let (name, other, source_id) = (slug("a"), slug("b"), source.clone());
    let id = store
        .write(move |transaction| {
            transaction.write_page(&source_id, &name, &page("one", &["x", "z"], Some("b")), 1)?;
            transaction.write_page(&source_id, &other, &page("other", &["x"], None), 1)?;
            Ok(transaction
                .write_page(&source_id, &name, &page("two", &["z", "y"], None), 2)?
                .record
                .id)
        })
        .unwrap();
    let reader = store.read(Visibility::All).unwrap();
    let tagged = |tag| -> Vec<u64> {
        pages_with(&reader, PageLabel::Tag(tag)).iter().map(|page| page.2.id).collect()
    };
    assert_eq!([tagged("x"), tagged("y"), tagged("z")], [vec![id + 1], vec![id], vec![id]]);
    let other = reader.by_id(id + 1).unwrap().unwrap();
    assert!(reader.backlinks(&other).unwrap().is_empty());
}

#[test]
fn the_hook_gets_all_changes_in_order_before_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    let hook: CommitHook =
        Box::new(move |changes| sink.lock().unwrap().extend(changes.iter().map(|c| c.seq)));
    let store = Store::open(&dir.path().join("brain.redb"), &options(), hook).unwrap();
    for n in 0..5 {
        let seq = put(&store, &format!("p/{n}"), page("x", &[], None), n).record.seq;
        assert_eq!(received.lock().unwrap().last(), Some(&seq));
    }
    assert_eq!(*received.lock().unwrap(), [1, 2, 3, 4, 5]);
}

/// A change of pages, by their numbers.
#[derive(Debug, Clone)]
enum Step {
    /// Numbers of page, text and tag.
    Put(u8, u8, u8),
    Delete(u8),
    Restore(u8),
    Purge,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u8, any::<u8>(), 0..4_u8).prop_map(|(p, b, t)| Step::Put(p, b, t)),
        2 => (0..6_u8).prop_map(Step::Delete),
        1 => (0..6_u8).prop_map(Step::Restore),
        1 => Just(Step::Purge),
    ]
}

/// Returns the number of rows of a table.
pub(super) fn rows<K: redb::Key + 'static, V: redb::Value + 'static>(
    txn: &redb::ReadTransaction,
    table: redb::TableDefinition<'static, K, V>,
) -> usize {
    txn.open_table(table).unwrap().iter().unwrap().count()
}

fn values<T: StoredValue>(
    txn: &redb::ReadTransaction,
    table: redb::TableDefinition<'static, u64, &'static [u8]>,
) -> Vec<(u64, T)> {
    let table = txn.open_table(table).unwrap();
    table
        .iter()
        .unwrap()
        .map(|row| row.map(|(k, v)| (k.value(), from_bytes(v.value()).unwrap())).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any history, the tables agree with each other and with a simple model.
    #[test]
    fn tables_agree(steps in proptest::collection::vec(step(), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.redb");
        let store = open(&path);
        let mut model: BTreeMap<u8, (String, bool)> = BTreeMap::new();
        for (now, step) in (1..).zip(steps) {
            match step {
                Step::Put(p, body, tag) => {
                    let body = format!("body {body}");
                    let link = format!("p/{}", (p + 1) % 6);
                    let new = page(&body, &["t", &format!("t{tag}")], Some(&link));
                    let status = put(&store, &format!("p/{p}"), new, now).status;
                    let before = model.insert(p, (body, true));
                    prop_assert_eq!(status, match before {
                        None => WriteStatus::Created,
                        Some((_, true)) => WriteStatus::Updated,
                        Some((_, false)) => WriteStatus::Restored,
                    });
                }
                Step::Delete(p) => if let Some((_, active @ true)) = model.get_mut(&p) {
                    *active = false;
                    let name = slug(&format!("p/{p}"));
                    store.write(move |transaction| {
                        let record = transaction.page(&SourceId::default(), &name)?.unwrap();
                        transaction.soft_delete(&SourceId::default(), &name, record, now)
                    }).unwrap();
                },
                Step::Restore(p) => if let Some((_, active @ false)) = model.get_mut(&p) {
                    *active = true;
                    let name = slug(&format!("p/{p}"));
                    store.write(move |transaction| {
                        let record = transaction.page(&SourceId::default(), &name)?.unwrap();
                        transaction.restore(&SourceId::default(), &name, record)
                    }).unwrap();
                },
                Step::Purge => {
                    let purged =
                        store
                            .write(move |transaction| transaction.purge(now + RECOVERY_MS, 100))
                            .unwrap();
                    let before = model.len();
                    model.retain(|_, (_, active)| *active);
                    prop_assert_eq!(purged.len(), before - model.len());
                }
            }
        }
        let active = model.values().filter(|(_, active)| *active).count();
        let reader = store.read(Visibility::All).unwrap();
        prop_assert_eq!(reader.counts().unwrap().active as usize, active);
        prop_assert_eq!(reader.counts().unwrap().deleted as usize, model.len() - active);
        for (p, (body, is_active)) in &model {
            let name = slug(&format!("p/{p}"));
            let record = reader.page_even_deleted(&SourceId::default(), &name).unwrap().unwrap();
            prop_assert_eq!(&reader.content(&record).unwrap().body, body);
            prop_assert_eq!(record.deleted_at.is_none(), *is_active);
            prop_assert_eq!(reader.versions(record.id).unwrap().len() as u32, record.version - 1);
            let to = (SourceId::default(), name, record);
            let is_linked = model.get(&((p + 5) % 6)).is_some_and(|(_, active)| *active);
            let expected = usize::from(*is_active && is_linked);
            if *is_active {
                prop_assert_eq!(reader.backlinks(&to).unwrap().len(), expected);
            }
        }
        let tag_count = |tag: &str| {
            reader.tag_counts(None).unwrap().get(tag).copied().unwrap_or(0) as usize
        };
        prop_assert_eq!(tag_count("t"), active);
        prop_assert_eq!(reader.count_pages(&SourceId::default()).unwrap() as usize, active);
        prop_assert_eq!(tag_count(""), 0);
        let mut newest = Vec::new();
        reader.newest_pages(u64::MAX, |found| { newest.push(found); Ok(true) }).unwrap();
        newest.sort_by_key(|page| std::cmp::Reverse(date_key(page)));
        let mut latest = Vec::new();
        reader.latest(None, LATEST, |found| { latest.push(found); Ok(true) }).unwrap();
        prop_assert_eq!(&latest, &newest);
        for tag in ["t", "t0", "t1", "t2", "none"] {
            let tagged = newest.iter().filter(|page| page.2.tags.iter().any(|own| own == tag));
            let expected: Vec<PageEntry> = tagged.cloned().collect();
            prop_assert_eq!(tag_count(tag), expected.len());
            prop_assert_eq!(pages_with(&reader, PageLabel::Tag(tag)), expected);
        }
        let of_type = newest.first().map_or("note".to_owned(), |page| page.2.page_type.clone());
        prop_assert_eq!(pages_with(&reader, PageLabel::Type(&of_type)), newest);
        drop(reader);
        drop(store);
        verify(&path, &|_, _| true).unwrap();
        // No table has rows of missing pages.
        let db = super::jobs_tests::open_file(&path);
        let txn = db.begin_read().unwrap();
        prop_assert_eq!(rows(&txn, t::PAGES), model.len());
        prop_assert_eq!(rows(&txn, t::IDS), model.len());
        prop_assert_eq!(rows(&txn, t::CONTENTS), model.len());
        prop_assert_eq!(rows(&txn, t::DERIVED), model.len());
        prop_assert_eq!(rows(&txn, t::PATHS), model.len());
        prop_assert_eq!(rows(&txn, t::TAGS), 3 * active);
        prop_assert_eq!(rows(&txn, t::TYPES), active);
        prop_assert_eq!(rows(&txn, t::LINKS_IN), active);
        for (id, row) in values::<OutboxRow>(&txn, t::OUTBOX) {
            prop_assert!(row.seq > 0 && id > 0);
        }
    }
}
