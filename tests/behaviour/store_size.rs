//! The size of the store's file: a start releases free space, and doctor reports how much is in
//! use.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brain_tests::TestHome;
use redb::{Database, TableDefinition};

/// The number of filler rows that are stored before the pages.
const FILLER_ROWS: u64 = 1200;
/// The size of a filler row, in bytes.
const ROW_BYTES: usize = 128 << 10;
const CONTENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("contents");

fn allocated_bytes(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

/// Applies `change` to the table and the key of each filler row. The rows stand for texts that are
/// deleted later.
fn change_rows(path: &Path, change: impl Fn(&mut redb::Table<'_, u64, &[u8]>, u64)) {
    let db = Database::open(path).unwrap();
    let txn = db.begin_write().unwrap();
    let mut table = txn.open_table(CONTENTS).unwrap();
    (0..FILLER_ROWS).for_each(|n| change(&mut table, (1 << 40) + n));
    drop(table);
    txn.commit().unwrap();
}

#[test]
fn a_start_releases_free_space_and_doctor_reports_it() {
    let home = TestHome::new();
    let store = home.path().join("brain.redb");
    assert!(home.daemon().terminate().0.success());
    change_rows(&store, |table, id| {
        table.insert(id, vec![7; ROW_BYTES].as_slice()).unwrap();
    });
    let daemon = home.daemon();
    let text = |n: usize| format!("{}\n", format!("page {n} has words. ").repeat(20_000));
    (0..10).for_each(|n| {
        home.put(&format!("note-{n}"), &text(n));
    });
    assert!(daemon.terminate().0.success());
    change_rows(&store, |table, id| {
        table.remove(id).unwrap();
    });
    let before = allocated_bytes(&store);
    assert!(before > FILLER_ROWS * ROW_BYTES as u64, "{before}");

    let daemon = home.daemon();
    let after = allocated_bytes(&store);
    assert!(after < 64 << 20, "{before} before, {after} after; {}", home.log());
    (0..10).for_each(|n| assert_eq!(home.get(&format!("note-{n}"))["body"], text(n)));
    let doctor = home.json(["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let size = checks.iter().find(|check| check["name"] == "store size").unwrap();
    assert_eq!(size["status"], "ok", "{size}");
    let message = size["message"].as_str().unwrap();
    let numbers: Vec<u64> = message.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [on_disk, in_use] = numbers[..] else { panic!("{message}") };
    assert!(message.contains("MB on the disk") && message.contains("MB in use"), "{message}");
    assert!(in_use >= 3 && in_use <= on_disk && on_disk < 64, "{message}");
    daemon.kill();
    let _daemon = home.daemon();
    (0..10).for_each(|n| assert_eq!(home.get(&format!("note-{n}"))["body"], text(n)));
}
