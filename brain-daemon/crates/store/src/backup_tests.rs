//! Backups contain every row of every table, byte for byte, and damage is detected.

use std::path::Path;

use brain_base::caller::Visibility;
use brain_protocol::{GrantType, JobState, Scope, Slug, SourceId};
use redb::{Database, Key, ReadableDatabase, ReadableTable, TableDefinition, Value};

use super::tables as t;
use super::*;

const HEARD: &dyn Fn(u64, u64) -> bool = &|_, _| true;

fn options(fresh_id: u64) -> StoreOptions {
    StoreOptions { fresh_id, ..super::tests::options() }
}

/// A store with something in every table.
fn store(path: &Path) -> Store {
    let store = Store::open(path, &options(7), Box::new(|_| {})).unwrap();
    let source = SourceId::default();
    for n in 0..40_u32 {
        let body = format!("body {n} {}", "words and more words ".repeat(20 * n as usize));
        let slug = Slug::parse(format!("p/{}", n % 30)).unwrap();
        let link = LinkRecord {
            source: None,
            slugs: vec!["p/1".into()],
            name: None,
            kind: "mentions".into(),
            raw: "p/1".into(),
        };
        let entry =
            TimelineRecord { date: "2026-11-21".into(), text: "opened".into(), source: None };
        let new = NewPage {
            page_type: "note".into(),
            title: format!("Title {n}"),
            tags: vec!["harbour".into()],
            aliases: vec![],
            content_hash: brain_page::content_digest(&body),
            content: Content { frontmatter: "a: 1\n".into(), body },
            chunks: 1,
            links: vec![link.clone(), LinkRecord { slugs: vec!["nowhere".into()], ..link }],
            names: vec![format!("name {n}")],
            timeline: vec![entry],
            provenance: Provenance { source_kind: Some("import".into()), ..Provenance::default() },
            replaces: None,
            captured: true,
            file: FilePlan::Write,
        };
        let place = source.clone();
        store
            .write(move |draft| draft.write_page(&place, &slug, new.clone(), i64::from(n)))
            .unwrap();
    }
    store.check_links(&|| true).unwrap();
    store
        .write(move |draft| {
            let slug = Slug::parse("p/3").unwrap();
            let record = draft.page(&source, &slug)?.unwrap();
            draft.soft_delete(&source, &slug, record, 90)?;
            let (size, mtime_ns, ctime_ns) = (1, 2, 3);
            let digest = [4; 32];
            let seen =
                FileRecord { size, mtime_ns, ctime_ns, digest, page: None, seq: 5, problem: None };
            draft.put_file(&source, "p/7.md", &seen)
        })
        .unwrap();
    store.write(what_came_over_http).unwrap();
    store
}

/// What a crafted backup may say of a place: each leads out of a source, or names no page's file.
const BAD_PATHS: [&str; 9] = [
    "../outside.md",
    "a/../../outside.md",
    "/etc/outside.md",
    "./../outside.md",
    "..",
    "",
    "a\0b.md",
    ".ssh/authorized_keys",
    "p/other-than-the-others.md",
];

/// Writes `bad` into one of the places of a backup that hold a path.
fn craft(txn: &redb::WriteTransaction, place: &str, bad: &str) -> bool {
    use super::record::{from_bytes, to_bytes};
    let page = ("default", "p/7");
    match place {
        "pages" => {
            let mut table = txn.open_table(t::PAGES).unwrap();
            let mut record: PageRecord =
                from_bytes(table.get(page).unwrap().unwrap().value()).unwrap();
            record.source_path = bad.into();
            table.insert(page, to_bytes(&record).unwrap().as_slice()).unwrap();
        }
        "paths" => {
            let mut table = txn.open_table(t::PATHS).unwrap();
            let id = table.remove(("default", "p/7.md")).unwrap().unwrap().value();
            table.insert(("default", bad), id).unwrap();
        }
        "pages and paths" => {
            // Both alike, as a careful forger has them.
            if bad.starts_with("p/") {
                return false;
            }
            craft(txn, "pages", bad);
            craft(txn, "paths", bad);
        }
        "files" => {
            // The one of another name is a file like any other.
            if bad.starts_with("p/") {
                return false;
            }
            let mut table = txn.open_table(t::FILES).unwrap();
            let row = table.remove(("default", "p/7.md")).unwrap().unwrap().value().to_vec();
            table.insert(("default", bad), row.as_slice()).unwrap();
        }
        "outbox" => {
            let mut table = txn.open_table(t::OUTBOX).unwrap();
            let (id, mut row): (u64, OutboxRow) = {
                let (id, row) = table.first().unwrap().unwrap();
                (id.value(), from_bytes(row.value()).unwrap())
            };
            row.path = bad.into();
            table.insert(id, to_bytes(&row).unwrap().as_slice()).unwrap();
        }
        "versions" => {
            if bad.starts_with("p/") {
                return false;
            }
            let mut table = txn.open_table(t::VERSIONS).unwrap();
            let (key, mut kept): (_, VersionRecord) = {
                let (key, kept) = table.first().unwrap().unwrap();
                (key.value(), from_bytes(kept.value()).unwrap())
            };
            kept.record.source_path = bad.into();
            table.insert(key, to_bytes(&kept).unwrap().as_slice()).unwrap();
        }
        _ => {
            // Any absolute directory may be a source's own: a restore asks for it by name.
            if bad.starts_with("/etc") {
                return false;
            }
            let mut table = txn.open_table(t::SOURCES).unwrap();
            let row = to_bytes(&SourceRecord::new(Some(bad.into()), 1)).unwrap();
            table.insert("notes", row.as_slice()).unwrap();
        }
    }
    true
}

#[test]
fn a_backup_with_a_path_outside_a_source_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    let good = dir.path().join("good.redb");
    store.back_up(&good, 1, HEARD).unwrap();
    verify(&good, HEARD).unwrap();
    let mut crafted = 0;
    for place in ["pages", "paths", "pages and paths", "files", "outbox", "versions", "sources"] {
        for bad in BAD_PATHS {
            let file = dir.path().join(format!("crafted-{crafted}.redb"));
            std::fs::copy(&good, &file).unwrap();
            let db = Database::open(&file).unwrap();
            let txn = db.begin_write().unwrap();
            let applies = craft(&txn, place, bad);
            txn.commit().unwrap();
            drop(db);
            if !applies {
                continue;
            }
            crafted += 1;
            match verify(&file, HEARD) {
                Err(StoreError::Damaged(what)) => {
                    let shown = format!("{bad:?}");
                    // Where two tables differ, either may be named.
                    let named =
                        what.contains(&shown) || what.contains("p/7.md") || what.contains("p/7");
                    assert!(named, "{place}, {bad:?}: {what}");
                }
                other => panic!("{place}, {bad:?}: {other:?}"),
            }
            let to = dir.path().join("restored.redb");
            assert!(restore(&file, &to, &options(9), &mut |_, _, _| true, HEARD).is_err());
            assert!(!to.exists(), "{place}, {bad:?}");
        }
    }
    assert!(crafted > 50, "{crafted}");
}

/// An item that waits and one that failed, a client, a token and a call.
fn what_came_over_http(draft: &mut Draft<'_>) -> Result<(), StoreError> {
    let waits = JobRecord {
        state: JobState::Queued,
        client: "phone".into(),
        source: "default".into(),
        content_hash: brain_page::content_digest("taken in"),
        content_type: "text/plain".into(),
        bytes: 8,
        wishes: JobOptions::default(),
        content: Content { frontmatter: String::new(), body: "taken in".into() },
        received_at: 95,
        finished_at: None,
        attempts: 0,
        due_at: 95,
        slug: None,
        error: None,
        seen: vec![[5; 32]],
    };
    draft.add_job(&waits)?;
    let failed =
        JobRecord { state: JobState::Failed, finished_at: Some(99), seen: vec![[6; 32]], ..waits };
    draft.add_job(&failed)?;
    let client = ClientRecord {
        name: "Phone".into(),
        secret: Some([6; 32]),
        scopes: Scope::Write.into(),
        sources: vec!["default".into()],
        grant_types: vec![GrantType::ClientCredentials],
        redirect_uris: Vec::new(),
        token_ttl: 3600,
        registered_by: "admin".into(),
        created_at: 96,
        last_used_at: None,
        revoked_at: None,
    };
    let token = TokenRecord {
        kind: TokenKind::Access,
        client: Some("phone".into()),
        name: String::new(),
        scopes: Scope::Write.into(),
        sources: Vec::new(),
        resource: None,
        family: 1,
        created_at: 97,
        expires_at: Some(99),
        used_at: None,
        revoked_at: None,
    };
    // A restore keeps this one only.
    let personal = TokenRecord { kind: TokenKind::Personal, client: None, ..token.clone() };
    draft.change_grants(&GrantUpdate {
        clients: vec![("phone".into(), Some(client))],
        tokens: vec![([7; 32], Some(token)), ([8; 32], Some(personal))],
        only_reduces_access: false,
    })?;
    let call = AuditRecord {
        at: 98,
        client: "phone".into(),
        operation: "POST /ingest".into(),
        status: 202,
        took_us: 400,
        parameters: vec![("body".into(), 8)],
    };
    draft.add_calls(98, &[call])
}

type Row = (String, Vec<u8>, Vec<u8>);

/// Every row of every table as bytes.
fn rows(path: &Path) -> Vec<Row> {
    fn table<K: Key + 'static, V: Value + 'static>(
        txn: &redb::ReadTransaction,
        definition: TableDefinition<'static, K, V>,
    ) -> Vec<Row> {
        let table = txn.open_table(definition).unwrap();
        let rows = table.iter().unwrap();
        rows.map(|row| {
            let (key, value) = row.unwrap();
            let key = K::as_bytes(&key.value()).as_ref().to_vec();
            (definition.to_string(), key, V::as_bytes(&value.value()).as_ref().to_vec())
        })
        .collect()
    }
    let db = Database::open(path).unwrap();
    let txn = db.begin_read().unwrap();
    let mut all = Vec::new();
    macro_rules! gather {
        ($($table:ident),*) => {$(
            let found = table(&txn, t::$table);
            assert!(!found.is_empty(), "nothing in {}", stringify!($table));
            all.extend(found);
        )*};
    }
    t::every_table!(gather);
    all
}

/// All but what a backup adds.
fn without_mark(mut rows: Vec<Row>) -> Vec<Row> {
    rows.retain(|(_, key, _)| key != t::META_MADE_AT.as_bytes());
    rows
}

#[test]
fn a_backup_has_every_row_of_every_table_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("brain.redb"), dir.path().join("copy.redb"));
    let store = store(&path);
    let sound = store.back_up(&copy, 4711, HEARD).unwrap();
    assert_eq!((sound.pages, sound.deleted, sound.versions, sound.schema), (29, 1, 10, SCHEMA));
    assert_eq!(sound.made_at, Some(4711));
    assert_eq!(verify(&copy, HEARD).unwrap(), sound);
    assert_eq!(store_id(&copy).unwrap(), 7);
    assert!(matches!(verify(&path, HEARD), Err(StoreError::Locked(_))), "the store is in use");
    drop(store);
    assert_eq!(without_mark(rows(&copy)), rows(&path));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
}

/// What is sound in itself may still not be what was written.
#[test]
fn a_copy_with_different_rows_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    let target = dir.path().join("copy.redb");
    let harm = |path: &Path| {
        let db = Database::open(path).unwrap();
        let txn = db.begin_write().unwrap();
        {
            // As many rows as before, and none that another table speaks of.
            let mut names = txn.open_table(t::NAMES).unwrap();
            let (source, id) = {
                let (key, _) = names.pop_first().unwrap().unwrap();
                let (source, _, id) = key.value();
                (source.to_owned(), id)
            };
            names.insert((source.as_str(), "zebra", id), ()).unwrap();
        }
        txn.commit().unwrap();
        drop(db);
        assert!(verify(path, HEARD).is_ok(), "it is sound in itself");
    };
    match store.back_up_past(&target, 1, HEARD, &harm) {
        Err(error @ StoreError::UnequalCopy(_)) => {
            assert!(error.to_string().contains("/copy.redb: "), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the copy is removed");
    store.back_up(&target, 1, HEARD).unwrap();
}

#[test]
fn a_cancelled_or_failed_backup_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    let target = dir.path().join("copy.redb");
    for stop_after in [0, 300, 385] {
        let heard = |done, _| done < stop_after;
        match store.back_up(&target, 1, &heard) {
            Err(StoreError::Cancelled(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(store.back_up(&dir.path().join("no/such/dir.redb"), 1, HEARD).is_err());
    std::fs::write(&target, "somebody's").unwrap();
    match store.back_up(&target, 1, HEARD) {
        Err(StoreError::TargetExists(_)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "somebody's");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_file_with_an_unknown_table_is_no_backup() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    drop(store(&path));
    let db = Database::open(&path).unwrap();
    let txn = db.begin_write().unwrap();
    txn.open_table(TableDefinition::<u64, u64>::new("newer")).unwrap();
    txn.commit().unwrap();
    drop(db);
    let store = Store::open(&path, &options(1), Box::new(|_| {})).unwrap();
    match store.back_up(&dir.path().join("copy.redb"), 1, HEARD) {
        Err(StoreError::UnknownTable(name)) => assert_eq!(name, "newer"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_files_of_killed_copies_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("brain.redb"));
    // No process has this number: it is over the kernel's limit.
    let left = dir.path().join(".copy.redb.2000000000-0.brain-backup");
    let others = [
        ".copy.redb.2000000000-0.brain-backup.mine",
        ".copy.redb.x-0.brain-backup",
        ".other.redb.2000000000-0.brain-backup",
        ".copy.redb.1-0.brain-backup",
    ];
    std::fs::write(&left, "half").unwrap();
    for other in others {
        std::fs::write(dir.path().join(other), "somebody's").unwrap();
    }
    store.back_up(&dir.path().join("copy.redb"), 1, HEARD).unwrap();
    assert!(!left.exists());
    for other in others {
        assert!(dir.path().join(other).exists(), "{other}");
    }
}

/// A small generator: the places of damage are many and repeat.
fn dice() -> impl FnMut(usize) -> usize {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

/// Damage is seen, or it is where nothing is: what is called sound restores every row.
#[test]
fn a_flipped_byte_is_refused_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("brain.redb"), dir.path().join("copy.redb"));
    store(&path).back_up(&copy, 4711, HEARD).unwrap();
    let good = std::fs::read(&copy).unwrap();
    let restored_rows = |from: &Path| {
        let to = dir.path().join("restored.redb");
        let _ = std::fs::remove_file(&to);
        restore(from, &to, &options(9), &mut |_, _, _| true, HEARD).unwrap();
        rows(&to)
    };
    let expected = restored_rows(&copy);
    let bad = dir.path().join("bad.redb");
    let mut roll = dice();
    let (mut refused, mut harmless) = (0, 0);
    let mut places: Vec<usize> = (0..320).collect();
    places.extend((0..160).map(|_| roll(good.len())));
    // Where pages are, for certain: their words.
    let words = good.windows(5).enumerate().filter(|(_, w)| *w == b"words").map(|(at, _)| at);
    let words: Vec<usize> = words.collect();
    let sure: Vec<usize> = (0..40).map(|_| words[roll(words.len())]).collect();
    for (at, must) in
        places.into_iter().map(|at| (at, false)).chain(sure.into_iter().map(|at| (at, true)))
    {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << roll(8);
        std::fs::write(&bad, &bytes).unwrap();
        match verify(&bad, HEARD) {
            Err(StoreError::Damaged(what)) => {
                refused += 1;
                assert!(what.contains("bad.redb"), "{what}");
            }
            Err(other) => panic!("byte {at}: {other:?}"),
            Ok(_) => {
                assert!(!must, "byte {at} is a page's");
                harmless += 1;
                assert_eq!(restored_rows(&bad), expected, "byte {at}");
            }
        }
        assert!(std::fs::read(&bad).unwrap() == bytes, "looking changes nothing");
    }
    assert!(refused > 40, "{refused} refused, {harmless} harmless");
}

#[test]
fn a_truncated_backup_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy.redb");
    store(&dir.path().join("brain.redb")).back_up(&copy, 4711, HEARD).unwrap();
    let good = std::fs::read(&copy).unwrap();
    let bad = dir.path().join("bad.redb");
    let mut roll = dice();
    let mut lengths: Vec<usize> = (0..60).map(|_| roll(good.len())).collect();
    lengths.extend([0, 1, 8, 9, 10, 319, 4096, good.len() - 4096, good.len() - 1]);
    for length in lengths {
        std::fs::write(&bad, &good[..length]).unwrap();
        match verify(&bad, HEARD) {
            Err(StoreError::Damaged(what)) => assert!(what.contains("bad.redb"), "{what}"),
            other => panic!("cut to {length}: {other:?}"),
        }
        let to = dir.path().join("restored.redb");
        assert!(restore(&bad, &to, &options(9), &mut |_, _, _| true, HEARD).is_err());
        assert!(!to.exists());
    }
}

#[test]
fn older_stores_are_verified() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures");
    for (schema, pages, deleted, versions) in [(80, 2, 1, 1), (81, 3, 1, 1)] {
        let path = fixtures.join(format!("v{schema}.redb"));
        let before = std::fs::read(&path).unwrap();
        let sound = verify(&path, HEARD).unwrap();
        assert_eq!((sound.schema, sound.pages), (schema, pages));
        assert_eq!((sound.deleted, sound.versions, sound.made_at), (deleted, versions, None));
        assert!(std::fs::read(&path).unwrap() == before, "looking changes nothing");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("restored.redb");
        restore(&path, &to, &options(9), &mut |_, _, _| true, HEARD).unwrap();
        let store = Store::open(&to, &options(1), Box::new(|_| {})).unwrap();
        let counts = store.read(Visibility::All).unwrap().counts().unwrap();
        assert_eq!((counts.schema, counts.active, counts.outbox), (SCHEMA, pages, pages));
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no copy is kept: the backup is one"
        );
    }
}

/// Lists and numbers that speak of other pages than there are, would be wrong for good after a
/// restore.
#[test]
fn wrong_rows_by_tag_and_type_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    drop(store(&path));
    verify(&path, HEARD).unwrap();
    type Harm = fn(&redb::WriteTransaction);
    let harms: [(&str, Harm); 4] = [
        ("tags", |txn| {
            let mut tags = txn.open_table(t::TAGS).unwrap();
            let last = tags.pop_last().unwrap().unwrap().0.value().2;
            tags.insert(("default", "harbor", last), ()).unwrap();
        }),
        ("types", |txn| _ = txn.open_table(t::TYPES).unwrap().pop_first().unwrap()),
        ("types", |txn| {
            _ = txn.open_table(t::TYPES).unwrap().insert(("default", "note", 4000), ()).unwrap();
        }),
        ("numbers", |txn| {
            let mut counts = txn.open_table(t::TAG_COUNTS).unwrap();
            counts.insert(("default", "harbour"), 3).unwrap();
        }),
    ];
    for (n, (what, harm)) in harms.into_iter().enumerate() {
        let harmed = dir.path().join(format!("{n}.redb"));
        std::fs::copy(&path, &harmed).unwrap();
        let db = Database::open(&harmed).unwrap();
        let txn = db.begin_write().unwrap();
        harm(&txn);
        txn.commit().unwrap();
        drop(db);
        match verify(&harmed, HEARD) {
            Err(StoreError::Damaged(why)) => assert!(why.contains(what), "{n}: {why}"),
            other => panic!("{n}: {other:?}"),
        }
    }
}
