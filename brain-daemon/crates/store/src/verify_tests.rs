//! Verification refuses crafted, damaged and truncated backups.

use std::path::Path;

use brain_base::caller::Visibility;
use brain_protocol::SourceId;
use redb::{Database, ReadableTable};

use super::backup_tests::{CONTINUE, options, rows, store};
use super::tables as t;
use super::tests::{open, page, put, slug};
use super::*;

/// Paths for crafted backups: each is outside a source, or is not the path of its page's file.
const BAD_PATHS: [&str; 11] = [
    "../outside.md",
    "a/../../outside.md",
    "/etc/outside.md",
    "./../outside.md",
    "..",
    "",
    "a\0b.md",
    ".ssh/authorized_keys",
    ".git/note.md",
    "a/.obsidian/note.md",
    "p/other-than-the-others.md",
];

/// Writes the path `bad` to `table`, one of the tables of a backup with paths. Returns `false` if
/// the path is valid there.
#[allow(clippy::too_many_lines)]
fn write_bad_path(txn: &redb::WriteTransaction, table: &str, bad: &str) -> bool {
    use super::record::{from_bytes, to_bytes};
    let page = ("default", "p/7");
    match table {
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
            // The two tables agree, as in a careful forgery.
            if bad.starts_with("p/") {
                return false;
            }
            write_bad_path(txn, "pages", bad);
            write_bad_path(txn, "paths", bad);
        }
        "files" => {
            // In this table, another name is a valid file.
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
            let (key, mut version): (_, VersionRecord) = {
                let (key, row) = table.first().unwrap().unwrap();
                (key.value(), from_bytes(row.value()).unwrap())
            };
            version.record.source_path = bad.into();
            table.insert(key, to_bytes(&version).unwrap().as_slice()).unwrap();
        }
        _ => {
            // Any absolute directory can belong to a source: a restore asks about it by name.
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
    store.back_up(&good, 1, CONTINUE).unwrap();
    verify(&good, CONTINUE).unwrap();
    let mut crafted = 0;
    for table in ["pages", "paths", "pages and paths", "files", "outbox", "versions", "sources"] {
        for bad in BAD_PATHS {
            let file = dir.path().join(format!("crafted-{crafted}.redb"));
            std::fs::copy(&good, &file).unwrap();
            let db = Database::open(&file).unwrap();
            let txn = db.begin_write().unwrap();
            let is_bad = write_bad_path(&txn, table, bad);
            txn.commit().unwrap();
            drop(db);
            if !is_bad {
                continue;
            }
            crafted += 1;
            match verify(&file, CONTINUE) {
                Err(StoreError::Damaged(message)) => {
                    let bad_path = format!("{bad:?}");
                    // If two tables differ, the message names either row.
                    let names_row = message.contains(&bad_path) || message.contains("p/7");
                    assert!(names_row, "{table}, {bad:?}: {message}");
                }
                other => panic!("{table}, {bad:?}: {other:?}"),
            }
            let to = dir.path().join("restored.redb");
            assert!(restore(&file, &to, &options(9), &mut |_, _, _| true, CONTINUE).is_err());
            assert!(!to.exists(), "{table}, {bad:?}");
        }
    }
    assert!(crafted > 50, "{crafted}");
}

/// Returns a generator of random numbers below its argument, the same in each run.
fn random_numbers() -> impl FnMut(usize) -> usize {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

/// Damage is reported, or lies in unused bytes: a verified backup restores every row.
#[test]
fn a_flipped_byte_is_refused_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("brain.redb"), dir.path().join("copy.redb"));
    store(&path).back_up(&copy, 4711, CONTINUE).unwrap();
    let good = std::fs::read(&copy).unwrap();
    let restored_rows = |from: &Path| {
        let to = dir.path().join("restored.redb");
        let _ = std::fs::remove_file(&to);
        restore(from, &to, &options(9), &mut |_, _, _| true, CONTINUE).unwrap();
        rows(&to)
    };
    let expected = restored_rows(&copy);
    let bad = dir.path().join("bad.redb");
    let mut random = random_numbers();
    let (mut refused, mut harmless) = (0, 0);
    let mut offsets: Vec<usize> = (0..320).collect();
    offsets.extend((0..160).map(|_| random(good.len())));
    // Offsets in the texts of pages, where damage is never harmless.
    let words = good.windows(5).enumerate().filter(|(_, w)| *w == b"words").map(|(at, _)| at);
    let words: Vec<usize> = words.collect();
    let text_offsets: Vec<usize> = (0..40).map(|_| words[random(words.len())]).collect();
    let cases = offsets.into_iter().map(|at| (at, false));
    for (at, is_text) in cases.chain(text_offsets.into_iter().map(|at| (at, true))) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << random(8);
        std::fs::write(&bad, &bytes).unwrap();
        match verify(&bad, CONTINUE) {
            Err(StoreError::Damaged(message)) => {
                refused += 1;
                assert!(message.contains("bad.redb"), "{message}");
            }
            Err(other) => panic!("byte {at}: {other:?}"),
            Ok(_) => {
                assert!(!is_text, "byte {at} belongs to a page");
                harmless += 1;
                assert_eq!(restored_rows(&bad), expected, "byte {at}");
            }
        }
        assert!(std::fs::read(&bad).unwrap() == bytes, "verification changes nothing");
    }
    assert!(refused > 40, "{refused} refused, {harmless} harmless");
}

#[test]
fn a_truncated_backup_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy.redb");
    store(&dir.path().join("brain.redb")).back_up(&copy, 4711, CONTINUE).unwrap();
    let good = std::fs::read(&copy).unwrap();
    let bad = dir.path().join("bad.redb");
    let mut random = random_numbers();
    let mut lengths: Vec<usize> = (0..60).map(|_| random(good.len())).collect();
    lengths.extend([0, 1, 8, 9, 10, 319, 4096, good.len() - 4096, good.len() - 1]);
    for length in lengths {
        std::fs::write(&bad, &good[..length]).unwrap();
        match verify(&bad, CONTINUE) {
            Err(StoreError::Damaged(message)) => {
                assert!(message.contains("bad.redb"), "{message}");
            }
            other => panic!("cut to {length}: {other:?}"),
        }
        let to = dir.path().join("restored.redb");
        assert!(restore(&bad, &to, &options(9), &mut |_, _, _| true, CONTINUE).is_err());
        assert!(!to.exists());
    }
}

#[test]
fn older_stores_are_verified() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures");
    for (schema, pages, deleted, versions) in [(80, 2, 1, 1), (81, 3, 1, 1)] {
        let path = fixtures.join(format!("v{schema}.redb"));
        let before = std::fs::read(&path).unwrap();
        let report = verify(&path, CONTINUE).unwrap();
        assert_eq!((report.schema, report.pages), (schema, pages));
        assert_eq!((report.deleted, report.versions, report.made_at), (deleted, versions, None));
        assert!(std::fs::read(&path).unwrap() == before, "verification changes nothing");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("restored.redb");
        restore(&path, &to, &options(9), &mut |_, _, _| true, CONTINUE).unwrap();
        let store = Store::open(&to, &options(1), Box::new(|_| {})).unwrap();
        let counts = store.read(Visibility::All).unwrap().counts().unwrap();
        assert_eq!((counts.schema, counts.active, counts.outbox), (SCHEMA, pages, pages));
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "a restore keeps no copy of the older store"
        );
    }
}

/// A restore copies rows by tag and type, so wrong rows would stay wrong.
#[test]
fn wrong_rows_by_tag_and_type_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    drop(store(&path));
    verify(&path, CONTINUE).unwrap();
    type Damage = fn(&redb::WriteTransaction);
    let cases: [(&str, Damage); 4] = [
        ("tags", |txn| {
            let mut tags = txn.open_table(t::TAGS).unwrap();
            let (_, _, at, id) = tags.pop_last().unwrap().unwrap().0.value();
            tags.insert(("default", "harbor", at, id), ()).unwrap();
        }),
        ("types", |txn| _ = txn.open_table(t::TYPES).unwrap().pop_first().unwrap()),
        ("types", |txn| {
            let mut types = txn.open_table(t::TYPES).unwrap();
            types.insert(("default", "note", 4000, 1), ()).unwrap();
        }),
        ("counts", |txn| {
            let mut counts = txn.open_table(t::TAG_COUNTS).unwrap();
            counts.insert(("default", "harbour"), 3).unwrap();
        }),
    ];
    for (n, (table, damage)) in cases.into_iter().enumerate() {
        let damaged = dir.path().join(format!("{n}.redb"));
        std::fs::copy(&path, &damaged).unwrap();
        let db = Database::open(&damaged).unwrap();
        let txn = db.begin_write().unwrap();
        damage(&txn);
        txn.commit().unwrap();
        drop(db);
        match verify(&damaged, CONTINUE) {
            Err(StoreError::Damaged(message)) => {
                assert!(message.contains(table), "{n}: {message}");
            }
            other => panic!("{n}: {other:?}"),
        }
    }
}

#[test]
fn a_saved_version_leaves_tags_and_type_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    put(&store, "a", page("ours", &["t"], Some("b")), 1);
    let (source, name) = (SourceId::default(), slug("a"));
    let keep = move |transaction: &mut Transaction<'_>| {
        let present = transaction.page(&source, &name)?.unwrap();
        transaction.store_version(&source, &name, present, &page("theirs", &[], None), 2)
    };
    assert_eq!(store.write(keep).unwrap(), 2);
    drop(store);
    verify(&path, CONTINUE).unwrap();
}
