//! Tests of the index on disk: commits, damage, failing disks, and merges.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, time::Duration};

use super::tests::{ids, no_commit_options, note, open, page, put, question, sorted_ids};
use super::*;

#[test]
fn uncommitted_changes_are_requested_again() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![note(1, "one"), note(2, "two")]);
    index.flush().unwrap();
    index.push(vec![note(3, "three")]);
    assert_eq!((index.committed_seq(), index.uncommitted_count()), (2, 1));
    drop(index);
    let (index, report) = Index::open(dir.path(), "store", 3, no_commit_options()).unwrap();
    assert_eq!(report, OpenReport { seq: 2, rebuilt: None });
    assert_eq!(ids(&index, "three"), Vec::<u64>::new());
    // The same change may be pushed twice.
    index.push(vec![note(2, "two"), note(3, "three")]);
    assert_eq!((ids(&index, "three"), index.doc_count()), (vec![3], 3));
    index.close().unwrap();
    assert_eq!(
        Index::open(dir.path(), "store", 3, no_commit_options()).unwrap().1,
        OpenReport { seq: 3, rebuilt: None }
    );
}

#[test]
fn commits_happen_automatically() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { commit_when_idle: Duration::from_millis(30), ..Options::default() };
    let (index, _) = Index::open(dir.path(), "store", 9, options).unwrap();
    index.push(vec![note(1, "one")]);
    wait_until("the changes are committed", || index.uncommitted_count() == 0);
    assert_eq!((index.committed_seq(), ids(&index, "one")), (1, vec![1]));
}

/// Opens an index with one page after `damage` has changed its files.
fn open_damaged(damage: impl Fn(&Path), store: &str, store_seq: u64) -> OpenReport {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.push(vec![note(1, "one")]);
    index.flush().unwrap();
    drop(index);
    fs::write(dir.path().join("mine.txt"), "keep").unwrap();
    damage(dir.path());
    let (index, report) = Index::open(dir.path(), store, store_seq, no_commit_options()).unwrap();
    // The index works in any case, and foreign files are kept.
    index.push(vec![note(2, "two")]);
    assert_eq!(ids(&index, "two"), [2]);
    index.flush().unwrap();
    assert_eq!(ids(&index, "two"), [2]);
    assert_eq!(fs::read(dir.path().join("mine.txt")).unwrap(), b"keep");
    report
}

fn files(dir: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let all = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    all.filter(|p| p.to_string_lossy().ends_with(ending)).collect()
}

#[test]
fn an_unusable_index_is_replaced() {
    let intact = open_damaged(|_| (), "store", 5);
    assert_eq!(intact, OpenReport { seq: 1, rebuilt: None });
    let meta =
        |text: &'static str| move |dir: &Path| fs::write(dir.join("meta.json"), text).unwrap();
    let reports = [
        open_damaged(meta(""), "store", 5),
        open_damaged(meta("{\"segments\":"), "store", 5),
        open_damaged(meta("[1,2,3]"), "store", 5),
        open_damaged(|dir| fs::remove_file(dir.join("meta.json")).unwrap(), "store", 5),
        open_damaged(
            |dir| {
                fs::remove_file(dir.join(".managed.json")).unwrap();
                fs::write(dir.join("meta.json"), "x").unwrap();
            },
            "store",
            5,
        ),
        open_damaged(
            |dir| files(dir, ".term").iter().for_each(|p| fs::remove_file(p).unwrap()),
            "store",
            5,
        ),
        open_damaged(
            |dir| files(dir, ".idx").iter().for_each(|p| fs::write(p, "garbage").unwrap()),
            "store",
            5,
        ),
        open_damaged(
            |dir| files(dir, ".fast").iter().for_each(|p| fs::write(p, "").unwrap()),
            "store",
            5,
        ),
        open_damaged(|_| (), "other", 5),
        open_damaged(|_| (), "store", 0),
    ];
    for report in reports {
        assert_eq!(report.seq, 0);
        assert!(report.rebuilt.is_some());
    }
    // A deleted index is no damage.
    let delete_index = |dir: &Path| {
        for path in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
            if !path.ends_with("mine.txt") {
                fs::remove_file(path).unwrap();
            }
        }
    };
    assert_eq!(open_damaged(delete_index, "store", 5), OpenReport { seq: 0, rebuilt: None });
}

#[test]
fn damage_inside_a_file_does_not_panic() {
    for ending in [".term", ".idx", ".pos", ".fast", ".fieldnorm"] {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        index.push(
            (1..200).map(|id| note(id, &format!("common word{id} and more common text"))).collect(),
        );
        index.flush().unwrap();
        drop(index);
        for path in files(dir.path(), ending) {
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.len() / 2;
            bytes[..end].iter_mut().for_each(|b| *b ^= 0x5A);
            fs::write(&path, bytes).unwrap();
        }
        let (index, report) = Index::open(dir.path(), "store", 1000, no_commit_options()).unwrap();
        let failed = ["common", "\"more common\"", "com*", "word7"]
            .map(|q| index.search(&question(q)).is_err());
        drop(index);
        // Damage is found on opening, or by the first affected question. The next opening then
        // replaces the index.
        if failed.contains(&true) {
            assert_eq!(report.rebuilt, None);
            assert!(
                Index::open(dir.path(), "store", 1000, no_commit_options())
                    .unwrap()
                    .1
                    .rebuilt
                    .is_some(),
                "{ending}"
            );
        }
    }
}

#[test]
fn an_index_in_an_unwritable_directory_uses_memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    // No directory can be created below a file.
    let (index, report) =
        Index::open(&file.join("index"), "store", 5, no_commit_options()).unwrap();
    assert!(report.rebuilt.is_some() && index.problem().is_some());
    index.push(vec![note(1, "one")]);
    assert_eq!(ids(&index, "one"), [1]);
    index.flush().unwrap();
    assert_eq!(ids(&index, "one"), [1]);
}

#[test]
fn an_index_in_memory_returns_to_disk_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    // An index that cannot be opened or replaced, as on a read-only file system.
    drop(open(&path));
    fs::rename(&path, dir.path().join("away")).unwrap();
    fs::write(&path, "no directory").unwrap();
    let (index, _) = Index::open(&path, "store", 5, no_commit_options()).unwrap();
    assert!(index.problem().unwrap().ends_with("; searching in memory"));
    index.push(vec![note(1, "one")]);
    index.flush().unwrap();
    fs::remove_file(&path).unwrap();
    fs::rename(dir.path().join("away"), &path).unwrap();
    wait_until("the index is on disk", || index.problem().is_none());
    index.push(vec![note(2, "two")]);
    index.flush().unwrap();
    assert_eq!((ids(&index, "one"), ids(&index, "two")), (vec![1], vec![2]));
    drop(index);
    let (index, report) = Index::open(&path, "store", 5, no_commit_options()).unwrap();
    assert_eq!((report.seq, report.rebuilt, index.problem()), (2, None, None));
    assert_eq!((ids(&index, "one"), ids(&index, "two")), (vec![1], vec![2]));
}

#[test]
fn a_failing_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let index_dir = dir.path().join("index");
    let index = Index::open(&index_dir, "store", 5, no_commit_options()).unwrap().0;
    index.push(vec![note(1, "one")]);
    fs::rename(&index_dir, dir.path().join("away")).unwrap();
    assert!(matches!(index.flush(), Err(IndexError::Unwritable(_))));
    assert!(index.problem().is_some());
    index.push(vec![note(2, "two")]);
    index.wait_for_backlog_below(1);
    assert_eq!((ids(&index, "one"), ids(&index, "two")), (vec![1], vec![2]));
    fs::rename(dir.path().join("away"), &index_dir).unwrap();
    index.flush().unwrap();
    assert_eq!((index.problem(), index.committed_seq()), (None, 2));
    assert_eq!((ids(&index, "one"), ids(&index, "two")), (vec![1], vec![2]));
}

#[test]
fn a_failing_disk_does_not_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let index_dir = dir.path().join("index");
    let options = Options { overlay_bytes: 200_000, ..no_commit_options() };
    let index = Index::open(&index_dir, "store", 0, options).unwrap().0;
    index.push(vec![note(1, "first")]);
    fs::rename(&index_dir, dir.path().join("away")).unwrap();
    assert!(index.flush().is_err());
    index.push((2..=900).map(|id| note(id, "later")).collect());
    wait_until("the first change is dropped", || ids(&index, "first").is_empty());
    assert_eq!(ids(&index, "900"), [900]);
    fs::rename(dir.path().join("away"), &index_dir).unwrap();
    index.flush().unwrap();
    assert_eq!(ids(&index, "900"), [900]);
    // The index reports the problem, and its committed sequence number stays 0.
    assert!(
        index.problem().is_some() && index.committed_seq() == 0 && index.uncommitted_count() == 900
    );
    drop(index);
    assert_eq!(
        Index::open(&index_dir, "store", 900, no_commit_options()).unwrap().1,
        OpenReport { seq: 0, rebuilt: None }
    );
}

#[test]
fn merged_segments_are_searched_without_another_commit() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for id in 1..=6 {
        index.push(vec![note(id, "harbour")]);
        index.flush().unwrap();
    }
    wait_until("segments are merged", || index.segments() < 6);
    assert_eq!(sorted_ids(&index, "harbour"), (1..=6).collect::<Vec<_>>());
}

#[test]
fn a_bulk_load_is_merged_when_idle() {
    const PAGES: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let bulk_options =
        Options { commit_changes: 4, commit_changes_bulk: 16, ..no_commit_options() };
    let (index, _) = Index::open(dir.path(), "store", PAGES + 1, bulk_options.clone()).unwrap();
    for first in (1..=PAGES).step_by(20) {
        index.push((first..first + 20).map(|n| note(n, &format!("common only{n}"))).collect());
        wait_until("the changes are committed", || index.uncommitted_count() == 0);
    }
    assert!(index.segments() > 8, "{} segments", index.segments());
    drop(index);

    // Segments are merged after a start and after later changes.
    let options = Options { commit_when_idle: Duration::from_millis(30), ..bulk_options };
    let (index, report) = Index::open(dir.path(), "store", PAGES + 1, options).unwrap();
    assert_eq!(report, OpenReport { seq: PAGES, rebuilt: None });
    wait_until("one segment is left", || index.segments() == 1);
    index.push(vec![put(page(7, PAGES + 1, "Note 7", "changed"))]);
    wait_until("the changes are committed", || index.uncommitted_count() == 0);
    assert_eq!((ids(&index, "changed"), ids(&index, "only8")), (vec![7], vec![8]));
    let all = index.search(&Question { limit: 500, ..question("common") }).unwrap();
    assert_eq!((all.hits.len(), index.doc_count()), (PAGES as usize - 1, PAGES));
    drop(index);
    let reopened = Index::open(dir.path(), "store", PAGES + 1, no_commit_options()).unwrap().1;
    assert_eq!(reopened, OpenReport { seq: PAGES + 1, rebuilt: None });
}

/// Waits up to 30 seconds for a condition.
fn wait_until(description: &str, mut is_met: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !is_met() {
        assert!(std::time::Instant::now() < deadline, "timed out waiting until {description}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
