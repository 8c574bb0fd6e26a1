//! Migration of stores of older schemas.

use std::collections::BTreeMap;
use std::path::Path;

use brain_base::caller::Visibility;
use brain_protocol::SourceId;
use redb::{Database, ReadableDatabase};

use super::former_records::{PageRecord80, SourceRecord81, VersionRecord80};
use super::record::to_bytes;
use super::tests::{link_rows, open, options, page, put, rows, slug};
use super::*;
use crate::tables as t;

/// Encodes a value as schema 80 does.
fn encode_v80<T: serde::Serialize>(value: &T) -> Vec<u8> {
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

/// Writes the golden store of schema 80, with only the tables of that schema. Run by hand, once:
/// `cargo test -p brain-store make_golden_v80 -- --ignored`.
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
        let mut sources = txn.open_table(t::SOURCES).unwrap();
        sources.insert("default", encode_v80(&source).as_slice()).unwrap();
        let mut pages = txn.open_table(t::PAGES).unwrap();
        let mut ids = txn.open_table(t::IDS).unwrap();
        let mut contents = txn.open_table(t::CONTENTS).unwrap();
        let mut changes = txn.open_table(t::CHANGES).unwrap();
        let mut paths = txn.open_table(t::PATHS).unwrap();
        let mut derived = txn.open_table(t::DERIVED).unwrap();
        let mut tags = txn.open_table(t::TAGS_86).unwrap();
        for (id, name, title, deleted) in [
            (1, "old/one", "One", None),
            (2, "old/two", "Two, übung", None),
            (3, "old/gone", "Gone", Some(300)),
        ] {
            let record = record80(id, if id == 2 { 2 } else { 1 }, title, deleted);
            pages.insert(("default", name), encode_v80(&record).as_slice()).unwrap();
            ids.insert(id, ("default", name)).unwrap();
            let content =
                Content { frontmatter: "tags: [old]\n".into(), body: format!("{title}\n").into() };
            contents.insert(id, to_bytes(&content).unwrap().as_slice()).unwrap();
            changes.insert(id, id).unwrap();
            paths.insert(("default", record.source_path.as_str()), id).unwrap();
            let rows = DerivedRows { tags: vec!["old".into()], ..DerivedRows::default() };
            derived.insert(id, to_bytes(&rows).unwrap().as_slice()).unwrap();
            if deleted.is_none() {
                tags.insert(("default", "old", id), ()).unwrap();
            }
        }
        let former = VersionRecord80 {
            record: record80(2, 1, "Two, before", None),
            content: Content { body: "before\n".into(), ..Content::default() },
        };
        let mut versions = txn.open_table(t::VERSIONS).unwrap();
        versions.insert((2, 1), encode_v80(&former).as_slice()).unwrap();
        txn.open_table(t::DELETED).unwrap().insert((300, 3), ()).unwrap();
        txn.open_table(t::NAMES).unwrap();
        txn.open_table(t::LINKS_IN).unwrap();
        txn.open_table(t::TIMELINE).unwrap();
        txn.open_table(t::CAPTURED).unwrap();
        txn.open_table(t::OUTBOX).unwrap();
    }
    txn.commit().unwrap();
}

/// Copies the golden store of a schema into `dir`, and returns its path.
pub(super) fn golden(schema: u64, dir: &Path) -> std::path::PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures");
    let path = dir.join("brain.redb");
    std::fs::copy(fixtures.join(format!("v{schema}.redb")), &path).unwrap();
    path
}

/// The last program with schema 81 wrote its golden store, with `capture`, `put` and `delete`.
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
        (id.as_str(), record.path, record.is_default, record.last_sync),
        ("default", None, false, None)
    );
    assert_eq!(reader.files(&source, "").unwrap().count(), 0);
    let older = super::jobs_tests::open_file(&dir.path().join("brain.redb.v81"));
    let older = older.begin_read().unwrap();
    assert_eq!(rows(&older, t::PAGES), 4, "the older store is kept");
}

/// The golden store of schema 83 has links by name, by alias, by slug, by file name, and of a
/// deleted page.
#[test]
fn links_of_schema_83_are_migrated_and_can_be_removed() {
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
            .write(move |transaction| {
                let record = transaction.page(&source, &name)?.unwrap();
                transaction.soft_delete(&source, &name, record, 5000)
            })
            .unwrap();
    }
    drop(store);
    assert_eq!(link_rows(&path), []);
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
        ("2", 2, &Provenance::default())
    );
    assert_eq!(reader.content(&two).unwrap().body, "Two, übung\n");
    assert_eq!(reader.version(two.id, 1).unwrap().unwrap().content.body, "before\n");
    assert!(reader.page(&SourceId::default(), &slug("old/gone")).unwrap().is_none());
    assert_eq!(reader.tag_counts(None).unwrap(), BTreeMap::from([("old".into(), 2)]));
    let older = super::jobs_tests::open_file(&dir.path().join("brain.redb.v80"));
    let older = older.begin_read().unwrap();
    assert_eq!(older.open_table(t::META).unwrap().get("schema").unwrap().unwrap().value(), 80);
    assert_eq!(rows(&older, t::PAGES), 3, "the older store is kept");
    drop(reader);
    assert_eq!(put(&store, "old/two", page("third", &[], None), 5000).record.version, 3);
}

/// Up to schema 86, the TOML of a file was part of its page's text.
#[test]
fn toml_in_a_text_becomes_frontmatter() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    let former = "+++\ntitle = \"Former\"\n+++\n\nHello";
    let post = "+++\ntitle = \"Post\"\ntype = \"Essay\"\ntags = [\"Sea\"]\n\
        aliases = [\"The Post\"]\n+++\n\nHello #night";
    let (malformed, prose) = ("+++\ntitle = \n+++\n\nHello", "+++\nprose\n+++\n");
    put(&store, "post", page(former, &[], None), 1000);
    let id = put(&store, "post", page(post, &["night"], None), 2000).record.id;
    put(&store, "malformed", page(malformed, &[], None), 3000);
    put(&store, "prose", page(prose, &[], None), 3000);
    // The file of this version began with its TOML.
    let author = Author { kind: "mcp".into(), uri: "mcp:agent".into() };
    let marks = vec![LineMark { first: 5, last: 5, author, at: 4000 }];
    let marked = page("+++\ntitle = \"Marked\"\n+++\nHello\nMore\n", &[], None);
    let line_change = LineChange::OfVersion { marks, has_outside_title: false };
    put(&store, "marked", NewPage { line_change, ..marked }, 4000);
    drop(store);
    let db = super::jobs_tests::open_file(&path);
    let txn = db.begin_write().unwrap();
    txn.open_table(t::META).unwrap().insert("schema", 86).unwrap();
    txn.commit().unwrap();
    drop(db);

    let store = open(&path);
    let reader = store.read(Visibility::All).unwrap();
    let find = |name: &str| {
        let record = reader.page(&SourceId::default(), &slug(name)).unwrap().unwrap();
        let content = reader.content(&record).unwrap();
        let file = brain_page::file_text(&content.frontmatter, &content.body);
        (record, content, file)
    };
    let (record, content, file) = find("post");
    assert_eq!((content.body.as_str(), file.as_str()), ("Hello #night", post));
    assert_eq!((record.title.as_str(), record.page_type.as_str()), ("Post", "essay"));
    assert_eq!(record.tags, ["sea", "night"]);
    assert_eq!(record.aliases, ["The Post"]);
    let counts = BTreeMap::from([("night".into(), 1), ("sea".into(), 1)]);
    assert_eq!(reader.tag_counts(None).unwrap(), counts);
    let version = reader.version(id, 1).unwrap().unwrap();
    assert_eq!((version.content.body.as_str(), version.record.title.as_str()), ("Hello", "Former"));
    assert_eq!(find("malformed").1.body, malformed);
    let (_, content, file) = find("prose");
    assert_eq!((content.body.as_str(), file.as_str()), (prose, prose));
    let (record, _, file) = find("marked");
    assert_eq!((file.lines().nth(5), record.marks.len()), (Some("More"), 1));
    assert_eq!((record.marks[0].first, record.marks[0].last), (6, 6));
    drop(reader);
    drop(store);
    let db = super::jobs_tests::open_file(&path);
    let names = db.begin_read().unwrap().open_table(t::NAMES).unwrap();
    assert!(names.get(("default", "the post", id)).unwrap().is_some());
}

#[test]
fn an_interrupted_migration_starts_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = golden(80, dir.path());
    // A crash during the migration leaves half a copy, and no committed transaction.
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
    let db = super::jobs_tests::open_file(&path);
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

/// The last program with schema 88 wrote its golden store, with `put`, `attach`, `capture`,
/// `delete`, `sources add` and `sync`. The store then becomes one of a shared brain.
#[test]
fn a_store_of_schema_88_has_no_source_of_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&golden(88, dir.path()));
    let reader = store.read(Visibility::All).unwrap();
    let counts = reader.counts().unwrap();
    assert_eq!((counts.schema, counts.active, counts.deleted), (SCHEMA, 3, 1));
    let source = SourceId::default();
    let harbour = reader.page(&source, &slug("places/harbour")).unwrap().unwrap();
    assert_eq!(harbour.version, 3);
    assert_eq!(reader.attachments_of(harbour.id, false).unwrap().len(), 1);
    for (id, _) in reader.sources().unwrap() {
        assert_eq!(reader.source_machine(&id).unwrap(), None);
        assert!(reader.has_files_of(&id).unwrap());
    }
    assert!(!store.is_shared());
    let copy = dir.path().join("copy.redb");
    store.back_up(&copy, 1, &|_, _| true).unwrap();
}

/// The last program with schema 89 wrote its golden store, with `capture`, `put`, `delete`,
/// `sources add` and `sync`. A page of the source `vault` links to one of the default source.
#[test]
fn links_between_sources_of_schema_89_get_rows_that_name_both() {
    let dir = tempfile::tempdir().unwrap();
    let path = golden(89, dir.path());
    let store = open(&path);
    let (source, vault) = (SourceId::default(), SourceId::parse("vault").unwrap());
    let linking = |view: Visibility| {
        let reader = store.read(view).unwrap();
        let name = slug("places/harbour");
        let page = reader.page(&source, &name).unwrap().unwrap();
        let found = reader.backlinks(&(source.clone(), name, page)).unwrap();
        found.into_iter().map(|((source, slug, _), _)| format!("{source}:{slug}")).collect()
    };
    let all: Vec<String> = linking(Visibility::All);
    assert_eq!(all, ["default:companies/acme", "vault:trip"]);
    let own: Vec<String> = linking(Visibility::Only(vec![source.clone()]));
    assert_eq!(own, ["default:companies/acme"]);
    let foreign: Vec<String> = linking(Visibility::Only(vec![source.clone(), vault]));
    assert_eq!(foreign, all);
    let reader = store.read(Visibility::All).unwrap();
    let trip = reader.page(&SourceId::parse("vault").unwrap(), &slug("trip")).unwrap().unwrap().id;
    drop((reader, store));
    let db = super::jobs_tests::open_file(&path);
    let table = db.begin_read().unwrap().open_table(t::LINKS_IN).unwrap();
    let first = ("default vault", "", 0)..("default vault", "~", 0);
    assert_eq!(table.range(first).unwrap().count(), 1, "one row names both sources");
    let of_default = ("default", "", 0)..("default", "~", 0);
    let ids = table.range(of_default).unwrap().map(|row| row.unwrap().0.value().2);
    assert!(ids.into_iter().all(|id| id != trip), "a row is read without the other source");
}
