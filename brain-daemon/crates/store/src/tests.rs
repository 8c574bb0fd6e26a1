//! Migration, isolation of tasks that share a commit, and agreement of the tables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use brain_base::caller::Visibility;
use brain_protocol::{Fault, FaultCode, Slug, SourceId, WriteStatus};
use proptest::prelude::*;
use redb::{Database, ReadableDatabase, ReadableTable};

use super::migrate::{PageRecord80, SourceRecord81, VersionRecord80};
use super::record::{Stored, from_bytes, to_bytes};
use super::*;
use crate::tables as t;

pub(super) fn options() -> StoreOptions {
    StoreOptions {
        cache_bytes: 4 << 20,
        min_free_bytes: 0,
        now: 1000,
        fresh_id: 7,
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
        title: body.into(),
        tags: tags.iter().map(|&t| t.into()).collect(),
        aliases: vec![],
        content: Content { frontmatter: String::new(), body: body.into() },
        content_hash: brain_page::content_digest(body),
        chunks: 1,
        links: link.into_iter().collect(),
        names: vec![],
        timeline: vec![],
        provenance: Provenance { source_kind: Some("import".into()), ..Provenance::default() },
        replaces: None,
        captured: false,
        file: FilePlan::Write,
    }
}

fn put(store: &Store, name: &str, new: NewPage, now: i64) -> WrittenPage {
    let name = slug(name);
    store
        .write(move |draft| draft.write_page(&SourceId::default(), &name, new.clone(), now))
        .unwrap()
}

/// The bytes of a value of schema 80.
fn v80<T: serde::Serialize>(value: &T) -> Vec<u8> {
    use bincode::Options;
    let mut out = vec![1_u8];
    bincode::DefaultOptions::new().serialize_into(&mut out, value).unwrap();
    out
}

fn record80(id: u64, version: u32, title: &str, deleted_at: Option<i64>) -> PageRecord80 {
    PageRecord80 {
        id,
        seq: id,
        version,
        page_type: "note".into(),
        title: title.into(),
        tags: vec!["old".into()],
        aliases: vec![],
        content_hash: brain_page::content_digest(title),
        chunks: 1,
        bytes: title.len() as u64,
        created_at: 100,
        updated_at: 200,
        content_at: 200,
        deleted_at,
        source_path: format!("old/{id}.md"),
    }
}

/// Writes the golden store of schema 80, with nothing but what that schema had. Run by hand, once:
/// `cargo test -p brain-daemon make_golden_v80 -- --ignored`.
#[test]
#[ignore = "makes the golden store; it is checked in and never made again"]
fn make_golden_v80() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/v80.redb");
    let _ = std::fs::remove_file(&path);
    let db = Database::create(&path).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut meta = txn.open_table(t::META).unwrap();
        for (key, value) in
            [("schema", 80), ("next_id", 4), ("seq", 3), ("active", 2), ("store_id", 99)]
        {
            meta.insert(key, value).unwrap();
        }
        let source = SourceRecord81 { path: None, created_at: 100 };
        txn.open_table(t::SOURCES).unwrap().insert("default", v80(&source).as_slice()).unwrap();
        let mut pages = txn.open_table(t::PAGES).unwrap();
        let mut ids = txn.open_table(t::IDS).unwrap();
        let mut contents = txn.open_table(t::CONTENTS).unwrap();
        let mut changes = txn.open_table(t::CHANGES).unwrap();
        let mut paths = txn.open_table(t::PATHS).unwrap();
        let mut derived = txn.open_table(t::DERIVED).unwrap();
        let mut tags = txn.open_table(t::TAGS).unwrap();
        for (id, name, title, deleted) in [
            (1, "old/one", "One", None),
            (2, "old/two", "Two, übung", None),
            (3, "old/gone", "Gone", Some(300)),
        ] {
            let record = record80(id, if id == 2 { 2 } else { 1 }, title, deleted);
            pages.insert(("default", name), v80(&record).as_slice()).unwrap();
            ids.insert(id, ("default", name)).unwrap();
            let content =
                Content { frontmatter: "tags: [old]\n".into(), body: format!("{title}\n") };
            contents.insert(id, to_bytes(&content).unwrap().as_slice()).unwrap();
            changes.insert(id, id).unwrap();
            paths.insert(("default", record.source_path.as_str()), id).unwrap();
            let rows = Derived { tags: vec!["old".into()], ..Derived::default() };
            derived.insert(id, to_bytes(&rows).unwrap().as_slice()).unwrap();
            if deleted.is_none() {
                tags.insert(("default", "old", id), ()).unwrap();
            }
        }
        let former = VersionRecord80 {
            record: record80(2, 1, "Two, before", None),
            content: Content { frontmatter: String::new(), body: "before\n".into() },
        };
        txn.open_table(t::VERSIONS).unwrap().insert((2, 1), v80(&former).as_slice()).unwrap();
        txn.open_table(t::DELETED).unwrap().insert((300, 3), ()).unwrap();
        txn.open_table(t::NAMES).unwrap();
        txn.open_table(t::LINKS_IN).unwrap();
        txn.open_table(t::TIMELINE).unwrap();
        txn.open_table(t::CAPTURED).unwrap();
        txn.open_table(t::OUTBOX).unwrap();
    }
    txn.commit().unwrap();
}

pub(super) fn golden(schema: u64, dir: &Path) -> std::path::PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures");
    let path = dir.join("brain.redb");
    std::fs::copy(fixtures.join(format!("v{schema}.redb")), &path).unwrap();
    path
}

/// The golden store of schema 81 was written by the last program that had it, with `capture`, `put`
/// and `delete`.
#[test]
fn a_store_of_schema_81_is_migrated_completely() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&golden(81, dir.path()));
    let reader = store.read(Visibility::All).unwrap();
    let counts = reader.counts().unwrap();
    assert_eq!((counts.schema, counts.active, counts.deleted), (SCHEMA, 3, 1));
    let source = SourceId::default();
    let harbour = reader.page(&source, &slug("places/harbour")).unwrap().unwrap();
    assert_eq!((harbour.title.as_str(), harbour.version), ("Harbour", 2));
    assert_eq!(harbour.provenance.source_kind.as_deref(), Some("put_page"));
    let content = reader.content(&harbour).unwrap();
    assert!(
        content
            .frontmatter
            .starts_with("title: Harbour\ntags: [port, Übung]\naliases: [The Port]\n")
    );
    let lines = "See [[companies/acme]].\n\n- 2026-01-02 | Opened [Source: paper]\n";
    assert_eq!(content.body, format!("# Harbour\n\nSecond words. {lines}"));
    let former = reader.version(harbour.id, 1).unwrap().unwrap();
    assert_eq!(former.content.body, format!("# Harbour\n\nFirst words. {lines}"));
    let thought = reader.page(&source, &slug("inbox/2026-11-21-92755830")).unwrap().unwrap();
    assert_eq!(reader.content(&thought).unwrap().body, "a thought kept");
    assert!(
        reader.page_even_deleted(&source, &slug("old/gone")).unwrap().unwrap().deleted_at.is_some()
    );
    let (id, record) = reader.sources().unwrap().remove(0);
    assert_eq!(
        (id.as_str(), record.path, record.preferred, record.synced),
        ("default", None, false, None)
    );
    assert_eq!(reader.files(&source, "").unwrap().count(), 0);
    let kept = Database::open(dir.path().join("brain.redb.v81")).unwrap();
    let kept = kept.begin_read().unwrap();
    assert_eq!(rows(&kept, t::PAGES), 4, "the older store is kept");
}

/// The rows of links, without the source.
fn link_rows(path: &Path) -> Vec<(String, u64)> {
    let db = Database::open(path).unwrap();
    let txn = db.begin_read().unwrap();
    let table = txn.open_table(t::LINKS_IN).unwrap();
    let rows = table.iter().unwrap().map(|row| {
        let row = row.unwrap().0;
        let (_, key, id) = row.value();
        (key.to_owned(), id)
    });
    rows.collect()
}

/// The golden store of schema 83 has links by name, by alias, by slug, by file name, and of a
/// deleted page.
#[test]
fn links_of_schema_83_are_migrated_and_removed_with_pages() {
    let dir = tempfile::tempdir().unwrap();
    let path = golden(83, dir.path());
    let store = open(&path);
    let source = SourceId::default();
    let pages = ["companies/acme", "places/old-harbour", "inbox/2026-11-22-a3c61148"];
    let ids = pages.map(|name| {
        let reader = store.read(Visibility::All).unwrap();
        reader.page(&source, &slug(name)).unwrap().unwrap().id
    });
    let [acme, harbour, thought] = ids;
    drop(store);
    let row = |key: &str, id: u64| (key.to_owned(), id);
    let expected = [
        row("/companies/acme", harbour),
        row("/companies/places/old-harbour", acme),
        row("/places/old-harbour", acme),
        row("größe & co", acme),
        row("größe co", acme),
        row("old harbour", thought),
        row("old harbour", acme),
        row("the port", acme),
    ];
    assert_eq!(link_rows(&path), expected);

    let store = open(&path);
    put(&store, pages[0], page("no links any more", &[], None), 5000);
    for name in &pages[1..] {
        let (source, name) = (source.clone(), slug(name));
        store
            .write(move |draft| {
                let record = draft.page(&source, &name)?.unwrap();
                draft.soft_delete(&source, &name, record, 5000)
            })
            .unwrap();
    }
    drop(store);
    assert_eq!(link_rows(&path), []);
}

#[test]
fn links_to_a_root_page_skip_a_namesake_in_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let bare = |name: &str| {
        let mut page = page("bare", &[], Some(name));
        page.links[0].name = Some(name.into());
        page
    };
    let named = NewPage { names: vec!["index".into()], ..page("a page", &[], None) };
    for name in ["index", "projects/index"] {
        put(&store, name, named.clone(), 1);
    }
    put(&store, "by/path", page("by path", &[], Some("index")), 2);
    put(&store, "by/name", bare("index"), 3);
    put(&store, "by/folder", page("by folder", &[], Some("projects/index")), 4);
    let reader = store.read(Visibility::All).unwrap();
    let found = |name: &str| reader.page(&SourceId::default(), &slug(name)).unwrap().unwrap();
    let from = |name: &str| found(name).id;
    let linking = |name: &str, limit| {
        reader.linking(&(SourceId::default(), slug(name), found(name)), limit).unwrap()
    };
    assert_eq!(linking("index", 9), [from("by/name"), from("by/path")]);
    assert_eq!(linking("projects/index", 9), [from("by/folder"), from("by/name")]);
    let inbound = reader.inbound().unwrap();
    let count = |name: &str| inbound.of(&SourceId::default(), &slug(name));
    assert_eq!((count("index"), count("projects/index"), count("by/path")), (2, 1, 0));
    drop((reader, store));
    assert_eq!(link_rows(&path).len(), 3, "a bare link has one row");
}

#[test]
fn a_store_of_schema_80_is_migrated_completely() {
    let dir = tempfile::tempdir().unwrap();
    let path = golden(80, dir.path());
    let store = open(&path);
    let reader = store.read(Visibility::All).unwrap();
    assert_eq!(reader.counts().unwrap().schema, SCHEMA);
    assert_eq!((reader.counts().unwrap().active, reader.counts().unwrap().deleted), (2, 1));
    let two = reader.page(&SourceId::default(), &slug("old/two")).unwrap().unwrap();
    assert_eq!(
        (two.title.as_str(), two.version, &two.provenance),
        ("Two, übung", 2, &Provenance::default())
    );
    assert_eq!(reader.content(&two).unwrap().body, "Two, übung\n");
    assert_eq!(reader.version(two.id, 1).unwrap().unwrap().content.body, "before\n");
    assert!(reader.page(&SourceId::default(), &slug("old/gone")).unwrap().is_none());
    assert_eq!(reader.tag_counts(None).unwrap(), BTreeMap::from([("old".into(), 2)]));
    let kept = Database::open(dir.path().join("brain.redb.v80")).unwrap();
    let kept = kept.begin_read().unwrap();
    assert_eq!(kept.open_table(t::META).unwrap().get("schema").unwrap().unwrap().value(), 80);
    assert_eq!(rows(&kept, t::PAGES), 3, "the older store is kept");
    drop(reader);
    assert_eq!(put(&store, "old/two", page("third", &[], None), 5000).record.version, 3);
}

#[test]
fn an_interrupted_migration_starts_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = golden(80, dir.path());
    // What a crash in the middle leaves: half a copy, and no committed transaction.
    std::fs::write(dir.path().join("brain.redb.v80.tmp"), b"half").unwrap();
    let store = open(&path);
    assert_eq!(store.read(Visibility::All).unwrap().counts().unwrap().schema, SCHEMA);
    assert!(!dir.path().join("brain.redb.v80.tmp").exists());
}

#[test]
fn a_newer_store_is_refused_and_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    drop(open(&path));
    let db = Database::open(&path).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(t::META).unwrap().insert("schema", SCHEMA + 1).unwrap();
    txn.commit().unwrap();
    drop(db);
    match Store::open(&path, &options(), Box::new(|_| {})) {
        Err(StoreError::Newer { found, known, .. }) => {
            assert_eq!((found, known), (SCHEMA + 1, SCHEMA));
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
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
                store.write(move |draft| {
                    if n % 3 == 1 {
                        return Err(Fault::new(FaultCode::Conflict, "before writing").into());
                    }
                    draft.write_page(&SourceId::default(), &name, page("x", &[], None), 1)?;
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
        let there = reader.page(&SourceId::default(), &slug(&format!("p/{n}"))).unwrap().is_some();
        assert_eq!((n, acknowledged), (n, n % 3 == 0));
        assert_eq!(there, acknowledged, "page {n}");
    }
    assert_eq!(reader.counts().unwrap().active, 10);
}

/// The pages with this mark, newest first.
fn with(reader: &Reader, mark: PageLabel<'_>) -> Vec<PageEntry> {
    let mut out = Vec::new();
    let each = |found| {
        out.push(found);
        Ok(true)
    };
    reader.newest_with(mark, None, u64::MAX, each).unwrap();
    out
}

/// The rows by which pages are found go in at the end of a transaction: a page that changes twice
/// in it leaves none behind.
#[test]
fn a_page_changed_twice_in_a_transaction_has_its_last_rows() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("s.redb"));
    let source = SourceId::default();
    let (name, other, place) = (slug("a"), slug("b"), source.clone());
    let id = store
        .write(move |draft| {
            draft.write_page(&place, &name, page("one", &["x", "z"], Some("b")), 1)?;
            draft.write_page(&place, &other, page("other", &["x"], None), 1)?;
            Ok(draft.write_page(&place, &name, page("two", &["z", "y"], None), 2)?.record.id)
        })
        .unwrap();
    let reader = store.read(Visibility::All).unwrap();
    let tagged = |tag| -> Vec<u64> {
        with(&reader, PageLabel::Tag(tag)).iter().map(|page| page.2.id).collect()
    };
    assert_eq!([tagged("x"), tagged("y"), tagged("z")], [vec![id + 1], vec![id], vec![id]]);
    let other = reader.by_id(id + 1).unwrap().unwrap();
    assert!(reader.backlinks(&other).unwrap().is_empty());
}

#[test]
fn the_hook_gets_all_changes_in_order_before_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let hook: CommitHook =
        Box::new(move |changes| ear.lock().unwrap().extend(changes.iter().map(|c| c.seq)));
    let store = Store::open(&dir.path().join("brain.redb"), &options(), hook).unwrap();
    for n in 0..5 {
        let seq = put(&store, &format!("p/{n}"), page("x", &[], None), n).record.seq;
        assert_eq!(heard.lock().unwrap().last(), Some(&seq));
    }
    assert_eq!(*heard.lock().unwrap(), [1, 2, 3, 4, 5]);
}

#[derive(Debug, Clone)]
enum Step {
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

fn rows<K: redb::Key + 'static, V: redb::Value + 'static>(
    txn: &redb::ReadTransaction,
    table: redb::TableDefinition<'static, K, V>,
) -> usize {
    txn.open_table(table).unwrap().iter().unwrap().count()
}

fn values<T: Stored>(
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

    /// After any history, what the tables say of each other is true, and matches a plain model.
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
                    let status = put(&store, &format!("p/{p}"), page(&body, &["t", &format!("t{tag}")], Some(&link)), now).status;
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
                    store.write(move |draft| {
                        let record = draft.page(&SourceId::default(), &name)?.unwrap();
                        draft.soft_delete(&SourceId::default(), &name, record, now)
                    }).unwrap();
                },
                Step::Restore(p) => if let Some((_, active @ false)) = model.get_mut(&p) {
                    *active = true;
                    let name = slug(&format!("p/{p}"));
                    store.write(move |draft| {
                        let record = draft.page(&SourceId::default(), &name)?.unwrap();
                        draft.restore(&SourceId::default(), &name, record)
                    }).unwrap();
                },
                Step::Purge => {
                    let gone = store.write(move |draft| draft.purge(now + RECOVERY_MS, 100)).unwrap().len();
                    let before = model.len();
                    model.retain(|_, (_, active)| *active);
                    prop_assert_eq!(gone, before - model.len());
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
            let expected = usize::from(*is_active && model.get(&((p + 5) % 6)).is_some_and(|(_, a)| *a));
            if *is_active {
                prop_assert_eq!(reader.backlinks(&to).unwrap().len(), expected);
            }
        }
        prop_assert_eq!(reader.tag_counts(None).unwrap().get("t").copied().unwrap_or(0) as usize, active);
        let mut newest = Vec::new();
        reader.newest(u64::MAX, |found| { newest.push(found); Ok(true) }).unwrap();
        for tag in ["t", "t0", "t1", "t2", "none"] {
            let expected: Vec<PageEntry> =
                newest.iter().filter(|page| page.2.tags.iter().any(|own| own == tag)).cloned().collect();
            prop_assert_eq!(reader.tag_counts(None).unwrap().get(tag).copied().unwrap_or(0), expected.len() as u64);
            prop_assert_eq!(with(&reader, PageLabel::Tag(tag)), expected);
        }
        let of_type = newest.first().map_or("note".to_owned(), |page| page.2.page_type.clone());
        prop_assert_eq!(with(&reader, PageLabel::Type(&of_type)), newest);
        drop(reader);
        drop(store);
        verify(&path, &|_, _| true).unwrap();
        // The bare tables: nothing dangles.
        let db = Database::open(&path).unwrap();
        let txn = db.begin_read().unwrap();
        prop_assert_eq!(rows(&txn, t::PAGES), model.len());
        prop_assert_eq!(rows(&txn, t::IDS), model.len());
        prop_assert_eq!(rows(&txn, t::CONTENTS), model.len());
        prop_assert_eq!(rows(&txn, t::DERIVED), model.len());
        prop_assert_eq!(rows(&txn, t::PATHS), model.len());
        prop_assert_eq!(rows(&txn, t::TAGS), 2 * active);
        prop_assert_eq!(rows(&txn, t::TYPES), active);
        prop_assert_eq!(rows(&txn, t::LINKS_IN), active);
        for (id, row) in values::<OutboxRow>(&txn, t::OUTBOX) {
            prop_assert!(row.seq > 0 && id > 0);
        }
    }
}
