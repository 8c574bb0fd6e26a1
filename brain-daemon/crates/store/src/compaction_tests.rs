//! Compaction at start returns space, loses nothing when killed, and keeps files that need none.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brain_base::caller::Visibility;
use brain_protocol::{JobState, SourceId};
use redb::ReadableTable;

use super::jobs_tests::job;
use super::tests::{open, options, page, slug};
use super::*;
use crate::tables as t;

const PAGES: usize = 200;
const JOBS: usize = 2000;

fn body(n: usize) -> String {
    format!("words of page {n} ").repeat(400)
}

/// Creates a store whose file is mostly free: many jobs were added, then pages, and then the texts
/// of the jobs were removed.
fn make_wasteful(path: &Path) {
    let store = open(path);
    let job = |n: usize| job(&format!("job {n} ").repeat(400), 5);
    store
        .write(move |transaction| {
            (0..JOBS).try_for_each(|n| transaction.add_job(&job(n)).map(drop))?;
            (0..PAGES).try_for_each(|n| {
                let new = page(&body(n), &["kept"], None);
                transaction
                    .write_page(&SourceId::default(), &slug(&format!("note-{n}")), &new, 1)
                    .map(drop)
            })
        })
        .unwrap();
    store
        .write(move |transaction| {
            (1..=JOBS as u64).try_for_each(|id| {
                let from = transaction.job(id)?.unwrap();
                let mut to =
                    JobRecord { state: JobState::Stored, finished_at: Some(6), ..from.clone() };
                to.content.body = "".into();
                transaction.change_job(id, &from, &to)
            })
        })
        .unwrap();
}

/// Returns the bytes that the file takes on disk, at most its length.
fn on_disk(path: &Path) -> u64 {
    let meta = fs::metadata(path).unwrap();
    meta.len().min(meta.blocks() * 512)
}

fn usage(store: &Store) -> SpaceUsage {
    let in_use = store.count_space().unwrap().bytes_in_use().unwrap();
    let on_disk = store.bytes_on_disk().unwrap();
    SpaceUsage { on_disk, in_use, min_returned_bytes: options().min_returned_bytes }
}

#[test]
fn a_count_that_outlasts_the_daemon_leaves_a_closed_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    let store = open(&path);
    store.write(|transaction| transaction.add_job(&job("text", 5)).map(drop)).unwrap();
    let count = store.count_space().unwrap();
    assert!(!is_closed(&path));
    drop(store);
    assert!(is_closed(&path));
    assert!(count.bytes_in_use().is_err(), "the store is closed");
}

/// Checks that all data is present, and that the directory holds only the store.
fn check_whole(path: &Path, store: &Store) {
    let reader = store.read(Visibility::All).unwrap();
    for n in 0..PAGES {
        let record =
            reader.page(&SourceId::default(), &slug(&format!("note-{n}"))).unwrap().unwrap();
        assert_eq!(reader.content(&record).unwrap().body, body(n));
    }
    assert_eq!(reader.counts().unwrap().active, PAGES as u64);
    assert_eq!(reader.job_counts().unwrap().waiting, 0);
    assert_eq!(reader.job(JOBS as u64).unwrap().unwrap().state, JobState::Stored);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["brain.redb"]);
}

#[test]
fn a_start_returns_space_that_finished_jobs_freed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    make_wasteful(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before = on_disk(&path);
    let store = open(&path);
    let after = usage(&store);
    assert!(
        !after.is_wasteful() && after.on_disk <= 2 * after.in_use,
        "{before} before, {after:?}"
    );
    assert!(after.on_disk < before / 2, "{before} before, {after:?}");
    check_whole(&path, &store);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    store.write(|transaction| transaction.add_job(&job("written afterwards", 7))).unwrap();
    drop(store);
    // The next start does not compact again.
    let file = fs::metadata(&path).unwrap().ino();
    let store = open(&path);
    assert_eq!(fs::metadata(&path).unwrap().ino(), file);
    assert_eq!(store.read(Visibility::All).unwrap().job_counts().unwrap().waiting, 1);
}

#[test]
fn a_file_in_use_is_measured_again_after_growth() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    make_wasteful(&path);
    drop(open(&path));
    // Returns the size at which the file is measured next, and replaces it with `new_size`.
    let next_measurement = |new_size: Option<u64>| {
        let db = super::jobs_tests::open_file(&path);
        let txn = db.begin_write().unwrap();
        let found = {
            let mut meta = txn.open_table(t::META).unwrap();
            let found = meta.get(t::META_NEXT_MEASUREMENT).unwrap().unwrap().value();
            new_size.map(|size| meta.insert(t::META_NEXT_MEASUREMENT, size).unwrap().is_some());
            found
        };
        txn.commit().unwrap();
        found
    };
    let measurement = next_measurement(None);
    assert!(measurement > on_disk(&path), "{measurement}");
    // A file that has grown beyond that size is measured again, and not replaced.
    next_measurement(Some(1));
    let file = fs::metadata(&path).unwrap().ino();
    drop(open(&path));
    assert_eq!(fs::metadata(&path).unwrap().ino(), file);
    let again = next_measurement(None);
    assert!(again > on_disk(&path), "{again}");
}

#[test]
fn a_full_disk_or_a_damaged_page_leaves_the_file_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    make_wasteful(&path);
    let file = fs::metadata(&path).unwrap().ino();
    let full = StoreOptions { min_free_bytes: u64::MAX / 2, ..options() };
    let store = Store::open(&path, &full, Box::new(|_| {})).unwrap();
    check_whole(&path, &store);
    drop(store);
    assert_eq!(fs::metadata(&path).unwrap().ino(), file);
    {
        let db = super::jobs_tests::open_file(&path);
        let txn = db.begin_write().unwrap();
        txn.open_table(t::CONTENTS).unwrap().insert(1, &b"\xffnot a text"[..]).unwrap();
        txn.commit().unwrap();
    }
    // The second start does not try again.
    for _ in 0..2 {
        let store = open(&path);
        assert!(usage(&store).is_wasteful());
        let reader = store.read(Visibility::All).unwrap();
        let record = reader.page(&SourceId::default(), &slug("note-7")).unwrap().unwrap();
        assert_eq!(reader.content(&record).unwrap().body, body(7));
        assert_eq!(fs::metadata(&path).unwrap().ino(), file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_store_without_a_change_keeps_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.redb");
    make_wasteful(&path);
    {
        let db = super::jobs_tests::open_file(&path);
        let txn = db.begin_write().unwrap();
        txn.open_table(t::META).unwrap().insert(t::META_SEQ, 0).unwrap();
        txn.commit().unwrap();
    }
    let file = fs::metadata(&path).unwrap().ino();
    drop(open(&path));
    assert_eq!(fs::metadata(&path).unwrap().ino(), file);
}

/// The variable with the store's path, for the child process.
const STORE_VARIABLE: &str = "BRAIN_TEST_COMPACTED";

#[test]
#[ignore = "the child process of the test below"]
fn opens_a_store_to_be_killed() {
    let Some(path) = std::env::var_os(STORE_VARIABLE) else { return };
    drop(open(Path::new(&path)));
}

#[test]
fn a_start_killed_at_any_moment_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("template");
    make_wasteful(&template);
    let start = |path: &Path| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "compaction_tests::opens_a_store_to_be_killed", "--ignored"])
            .env(STORE_VARIABLE, path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let new_home = |round: u32| {
        let home = dir.path().join(format!("home-{round}"));
        fs::create_dir(&home).unwrap();
        fs::copy(&template, home.join("brain.redb")).unwrap();
        home.join("brain.redb")
    };
    let uninterrupted = new_home(0);
    let started_at = Instant::now();
    assert!(start(&uninterrupted).wait().unwrap().success());
    let full_duration = started_at.elapsed();
    assert!(on_disk(&uninterrupted) < on_disk(&template) / 2, "the child compacts");
    const ROUNDS: u32 = 12;
    let mut killed_while_copying = 0;
    for round in 1..=ROUNDS {
        let path = new_home(round);
        let mut child = start(&path);
        std::thread::sleep(full_duration * round / ROUNDS);
        child.kill().unwrap();
        child.wait().unwrap();
        killed_while_copying +=
            u32::from(fs::read_dir(path.parent().unwrap()).unwrap().count() > 1);
        let store = open_when_free(&path);
        check_whole(&path, &store);
        assert!(!usage(&store).is_wasteful(), "round {round}");
    }
    assert!(
        killed_while_copying > 2,
        "{killed_while_copying} of {ROUNDS} were killed during the copy"
    );
}

/// Opens the store; a child process of another test may briefly hold its lock.
fn open_when_free(path: &Path) -> Store {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match Store::open(path, &options(), Box::new(|_| {})) {
            Err(StoreError::Locked(_)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened.unwrap(),
        }
    }
}
