//! Tests of the whole vector index: search results, and recovery after errors.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// A deterministic random number generator.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a number between -1 and 1, usually near 0.
    fn number(&mut self) -> f32 {
        let sum: u64 = (0..4).map(|_| self.next() % 10_000).sum();
        sum as f32 / 20_000.0 - 1.0
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        unit((0..dimensions).map(|_| self.number()).collect())
    }
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-9);
    vector.into_iter().map(|x| x / length).collect()
}

fn window(start: u32, vector: &[f32]) -> WindowVector {
    WindowVector { start, end: start + 10, vector: vector.to_vec() }
}

fn key(n: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.to_le_bytes());
    Key(key)
}

fn open(dir: &Path) -> Vectors {
    Vectors::open(dir, "store", "model", 8).unwrap().0
}

fn only_file(dir: &Path) -> PathBuf {
    let files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Writes the pages 1, 2 and 3, with as many windows, to the disk. After page N, the last seen
/// change is 10 N.
fn three_pages(dir: &Path) -> Vectors {
    let vectors = open(dir);
    let mut random = RandomNumbers(7);
    for page in 1..=3 {
        let windows: Vec<WindowVector> =
            (0..page as u32).map(|n| window(n, &random.vector(8))).collect();
        vectors.put(page, key(page), &windows).unwrap();
        vectors.flush(10 * page).unwrap();
    }
    vectors
}

/// Returns the id, the key and the number of windows of each page, in the order of the ids.
fn contents(vectors: &Vectors) -> Vec<(u64, Key, usize)> {
    let mut pages = vectors.pages();
    pages.sort_unstable();
    let rows = |page| vectors.read().rows.rows_of(page).len();
    pages.into_iter().map(|page| (page, vectors.key(page).unwrap(), rows(page))).collect()
}

#[test]
fn visible_pages_are_found_by_their_nearest_window() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = Vectors::open(dir.path(), "s", "m", 3).unwrap().0;
    let (x, y, z) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], unit(vec![1.0, 1.0, 0.0]));
    vectors.put(5, key(5), &[window(0, &y), window(40, &x)]).unwrap();
    vectors.put(3, key(3), &[window(0, &z)]).unwrap();
    vectors.put(9, key(9), &[]).unwrap();
    vectors.put(1, key(1), &[window(0, &z)]).unwrap();
    let all = |_| true;
    let found = vectors.search(&x, 10, &all);
    assert_eq!(
        found.iter().map(|near| near.page).collect::<Vec<_>>(),
        [5, 1, 3],
        "ties are in the order of page ids"
    );
    assert_eq!((found[0].start, found[0].end), (40, 50));
    assert!((found[0].cosine - 1.0).abs() < 0.01 && (found[1].cosine - 0.707).abs() < 0.01);
    assert_eq!(vectors.search(&x, 2, &all).len(), 2);
    assert_eq!(
        vectors.search(&x, 2, &|page| page == 3).iter().map(|near| near.page).collect::<Vec<_>>(),
        [3]
    );
    assert_eq!(vectors.search(&x, 0, &all), []);
    assert_eq!(vectors.search(&[1.0], 5, &all), [], "a question of another length");
    assert!((vectors.similarity(5, 1).unwrap() - 0.707).abs() < 0.01);
    assert_eq!((vectors.similarity(5, 9), vectors.similarity(5, 77)), (None, None));
    assert_eq!(vectors.size().pages, 4);
    let error = vectors.put(5, key(5), &[window(0, &[1.0])]).unwrap_err();
    assert_eq!(error.to_string(), "a vector has 1 numbers, and 3 were expected");
    vectors.remove(5);
    assert_eq!(vectors.search(&x, 1, &all)[0].page, 1);
}

#[test]
fn the_exact_search_agrees_with_its_definition() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = Vectors::open(dir.path(), "s", "m", 48).unwrap().0;
    let mut random = RandomNumbers(1);
    let mut all = Vec::new();
    for page in 0..1500_u64 {
        let windows: Vec<WindowVector> =
            (0..page % 4).map(|n| window(n as u32, &random.vector(48))).collect();
        vectors.put(page, key(page), &windows).unwrap();
        all.extend(windows.into_iter().map(|window| (page, window.vector)));
    }
    let mut agreeing = 0;
    for _ in 0..20 {
        let query = random.vector(48);
        let mut by_cosine: Vec<(f32, u64)> = all
            .iter()
            .map(|(page, vector)| (vector.iter().zip(&query).map(|(a, b)| a * b).sum(), *page))
            .collect();
        by_cosine.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut pages: Vec<u64> = Vec::new();
        for (_, page) in by_cosine {
            if !pages.contains(&page) && page % 5 != 0 {
                pages.push(page);
            }
        }
        let found = vectors.search(&query, 10, &|page| page % 5 != 0);
        assert!(found.windows(2).all(|two| two[0].cosine >= two[1].cosine));
        agreeing += found.iter().filter(|near| pages[..10].contains(&near.page)).count();
    }
    assert!(
        agreeing >= 195,
        "{agreeing} of 200: int8 may reorder windows that are nearly equally near"
    );
}

#[test]
fn a_search_with_sketches_agrees_with_a_full_scan() {
    const PAGES: u64 = 6000;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // There are more windows than the thousand candidates of a search with sketches.
    let sketched = Vectors::open_with(dir.path(), "s", "m", 96, 3000).unwrap().0;
    let exact = Vectors::open(other.path(), "s", "m", 96).unwrap().0;
    let mut random = RandomNumbers(3);
    let middle = random.vector(96);
    let topics: Vec<Vec<f32>> = (0..60).map(|_| random.vector(96)).collect();
    let text = |random: &mut RandomNumbers| {
        let (a, b) = (random.next() as usize % 60, random.next() as usize % 60);
        unit(
            (0..96)
                .map(|n| {
                    middle[n] + topics[a][n] + 0.6 * topics[b][n] + 0.8 * random.number() / 5.0
                })
                .collect(),
        )
    };
    for page in 0..PAGES {
        let windows = [window(0, &text(&mut random)), window(50, &text(&mut random))];
        for vectors in [&sketched, &exact] {
            vectors.put(page, key(page), &windows).unwrap();
        }
    }
    // Rows move, and so do their sketches.
    for page in (0..PAGES).step_by(7) {
        sketched.remove(page);
        exact.remove(page);
    }
    assert!(sketched.read().rows.sketch.is_some() && exact.read().rows.sketch.is_none());
    let mut found_count = 0;
    for turn in 0..50_u64 {
        let query = text(&mut random);
        // Sometimes only a few pages are visible.
        let admits = |page: u64| turn % 2 == 0 || page % 50 == 1;
        let expected = exact.search(&query, 10, &admits);
        assert_eq!(expected.len(), 10);
        let found = sketched.search(&query, 10, &admits);
        assert!(found.iter().all(|near| admits(near.page)));
        found_count += expected.iter().filter(|near| found.contains(near)).count();
    }
    let recall = f64::from(u32::try_from(found_count).unwrap()) / 500.0;
    assert!(found_count >= 485, "recall@10 is {recall}");
    for page in 0..PAGES {
        sketched.remove(page);
    }
    assert!(sketched.read().rows.sketch.is_none());
}

#[test]
fn flushed_vectors_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = three_pages(dir.path());
    vectors.remove(2);
    vectors.put(3, key(33), &[]).unwrap();
    vectors.flush(40).unwrap();
    vectors.put(4, key(4), &[window(0, &[1.0; 8])]).unwrap();
    let pages = contents(&vectors);
    drop(vectors);
    let reopened = open(dir.path());
    assert_eq!(contents(&reopened), pages[..2], "page 4 was not flushed");
    assert_eq!(reopened.applied_seq(), 40);
}

#[test]
fn a_file_truncated_anywhere_is_recovered() {
    let dir = tempfile::tempdir().unwrap();
    let all = contents(&three_pages(dir.path()));
    let file = only_file(dir.path());
    let bytes = fs::read(&file).unwrap();
    // A cut at the end of a record cannot be detected.
    let mut ends = vec![record::header("", "", 0).len()];
    let mut rest = &bytes[ends[0]..];
    while let Some((_, size)) = record::next(&mut rest, 8, &mut Vec::new()).unwrap() {
        ends.push(ends[ends.len() - 1] + size as usize);
    }
    assert_eq!(
        ends.len(),
        7,
        "three records of pages, each followed by one of the last seen change"
    );
    for length in 0..=bytes.len() {
        fs::write(&file, &bytes[..length]).unwrap();
        let (vectors, lost) = Vectors::open(dir.path(), "store", "model", 8).unwrap();
        let pages = contents(&vectors);
        assert_eq!(pages, all[..pages.len()], "at {length}");
        assert!(
            vectors.applied_seq() <= 10 * pages.len() as u64,
            "the last change covers only pages in the file"
        );
        assert!(lost.is_some() || ends.contains(&length), "at {length}: the lost end is reported");
        // The file is continued.
        vectors.put(9, key(9), &[window(1, &[0.5; 8])]).unwrap();
        vectors.flush(99).unwrap();
        let reopened = open(dir.path());
        assert_eq!(
            (contents(&reopened), reopened.applied_seq()),
            (contents(&vectors), 99),
            "at {length}"
        );
    }
}

#[test]
fn a_damaged_byte_invents_no_vector() {
    let dir = tempfile::tempdir().unwrap();
    let all = contents(&three_pages(dir.path()));
    let file = only_file(dir.path());
    let bytes = fs::read(&file).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&file, &damaged).unwrap();
        let (vectors, lost) = Vectors::open(dir.path(), "store", "model", 8).unwrap();
        let pages = contents(&vectors);
        assert_eq!(pages, all[..pages.len()], "at {at}");
        assert!(lost.is_some() && pages.len() < 4 && vectors.applied_seq() < 30, "at {at}");
    }
}

#[test]
fn files_of_another_store_or_format_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    drop(three_pages(dir.path()));
    let (other, lost) = Vectors::open(dir.path(), "another store", "model", 8).unwrap();
    assert!(lost.unwrap().contains("another store"));
    assert_eq!((other.size().pages, other.applied_seq()), (0, 0));
    other.flush(5).unwrap();
    let file = only_file(dir.path());
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] = 7;
    fs::write(&file, bytes).unwrap();
    let (_, lost) = Vectors::open(dir.path(), "another store", "model", 8).unwrap();
    assert!(lost.unwrap().contains("format 7"));
    // Each model has a separate file, until the others are removed.
    let (next, lost) = Vectors::open(dir.path(), "another store", "next model", 4).unwrap();
    assert_eq!(lost, None);
    next.flush(1).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    assert_eq!(next.remove_others().unwrap(), 1);
    only_file(dir.path());
}

#[test]
fn a_flush_to_a_full_disk_is_repeated_later() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = three_pages(dir.path());
    let file = only_file(dir.path());
    let before = fs::read(&file).unwrap();
    vectors.log.lock().file = Some(OpenOptions::new().write(true).open("/dev/full").unwrap());
    vectors.put(4, key(4), &[window(0, &[1.0; 8])]).unwrap();
    vectors.remove(1);
    let error = vectors.flush(50).unwrap_err().to_string();
    assert!(error.contains("No space left") && error.contains(".vec"), "{error}");
    assert_eq!(vectors.key(4), Some(key(4)), "a page that could not be written is found");
    // The rewrite fails, too.
    let in_the_way = file.with_extension("vec.tmp");
    fs::create_dir(&in_the_way).unwrap();
    assert!(vectors.flush(51).is_err());
    assert_eq!(fs::read(&file).unwrap(), before, "the file is as it was");
    fs::remove_dir(&in_the_way).unwrap();
    let after_a_crash = open(dir.path());
    assert_eq!((after_a_crash.applied_seq(), after_a_crash.size().pages), (30, 3));
    drop(after_a_crash);
    vectors.flush(52).unwrap();
    let reopened = open(dir.path());
    assert_eq!((contents(&reopened), reopened.applied_seq()), (contents(&vectors), 52));
}

#[test]
fn many_changes_do_not_grow_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = Vectors::open(dir.path(), "s", "m", 1024).unwrap().0;
    let mut random = RandomNumbers(5);
    let vector = random.vector(1024);
    let mut largest = 0;
    for turn in 0..60_u64 {
        for page in 0..100 {
            vectors.put(page, key(turn), &[window(0, &vector)]).unwrap();
        }
        vectors.flush(turn).unwrap();
        largest = largest.max(fs::metadata(only_file(dir.path())).unwrap().len());
    }
    assert!(
        largest < 1_600_000,
        "{largest}: 100 pages of 1 KB, and a megabyte of obsolete records"
    );
    assert!(vectors.size().bytes < 1_000_000, "{:?}", vectors.size());
    let reopened = Vectors::open(dir.path(), "s", "m", 1024).unwrap().0;
    assert_eq!(contents(&reopened), contents(&vectors));
}

#[test]
fn unfinished_files_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let pages = contents(&three_pages(dir.path()));
    let file = only_file(dir.path());
    let bytes = fs::read(&file).unwrap();
    for length in (0..=bytes.len()).step_by(7) {
        fs::write(file.with_extension("vec.tmp"), &bytes[..length]).unwrap();
        assert_eq!(contents(&open(dir.path())), pages);
        assert_eq!(only_file(dir.path()), file);
    }
}

#[test]
fn changes_during_a_rewrite_are_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = open(dir.path());
    let vector = [1.0; 8];
    for page in 0..2000 {
        vectors.put(page, key(page), &[window(0, &vector)]).unwrap();
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for page in (0..2000).rev() {
                match page % 3 {
                    0 => vectors.remove(page),
                    1 => vectors.put(page, key(page + 1), &[]).unwrap(),
                    _ => {}
                }
            }
        });
        for seen in 0..20 {
            vectors.log.lock().file = None;
            vectors.flush(seen).unwrap();
        }
    });
    vectors.flush(100).unwrap();
    assert_eq!(contents(&open(dir.path())), contents(&vectors));
}

/// The environment variable with the directory of the child process.
const DIR_VARIABLE: &str = "BRAIN_TEST_VECTORS_TO_CHURN";

/// The work of the child process that [`a_kill_at_any_moment_leaves_a_valid_file`] kills.
#[test]
#[ignore = "runs until it is killed"]
fn changes_vectors_until_killed() {
    let Some(dir) = std::env::var_os(DIR_VARIABLE) else { return };
    let vectors = open(Path::new(&dir));
    let mut random = RandomNumbers(11);
    for turn in vectors.applied_seq() + 1.. {
        // All pages of a turn have the key of that turn, which makes any state of the file
        // checkable.
        for page in 0..40 {
            vectors.put(page, key(turn), &[window(turn as u32, &random.vector(8))]).unwrap();
        }
        if turn % 2 == 0 {
            vectors.log.lock().file = None;
        }
        vectors.flush(turn).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_valid_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "vectors::tests::changes_vectors_until_killed", "--ignored"])
            .env(DIR_VARIABLE, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Waits until the child writes: the file changes.
        let began = Instant::now();
        let last_change = || {
            let files =
                fs::read_dir(dir.path()).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
            let whole = files.filter(|path| path.extension().is_some_and(|end| end == "vec"));
            whole.filter_map(|path| fs::metadata(path).ok()?.modified().ok()).max()
        };
        let first = last_change();
        while last_change() == first && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(7 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let vectors = open(dir.path());
        assert!(
            vectors.applied_seq() >= seen.max(1),
            "round {round}: nothing that was flushed is lost"
        );
        seen = vectors.applied_seq();
        for (page, page_key, windows) in contents(&vectors) {
            let is_expected = page_key == key(seen) || page_key == key(seen + 1);
            assert!(is_expected && windows == 1, "page {page}");
        }
        assert_eq!(vectors.size().pages, 40);
    }
    assert!(seen > 12, "the process was killed before it wrote: {seen}");
}

#[test]
fn vectors_of_a_page_can_come_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = three_pages(dir.path());
    let mut random = RandomNumbers(9);
    let parts: Vec<WindowVector> = (0..5).map(|n| window(20 * n, &random.vector(8))).collect();
    let state = |vectors: &Vectors| {
        (vectors.window_counts(&[7]), vectors.next(7), vectors.size().incomplete)
    };
    vectors.add(7, key(7), &parts[..1], Some(20)).unwrap();
    assert_eq!(state(&vectors), (vec![Some(1)], Some(20), 1));
    let first = vectors.window_of(7, 0);
    vectors.flush(40).unwrap();
    drop(vectors);
    // The next part follows after a restart. Windows that have vectors are not added twice.
    let vectors = open(dir.path());
    assert_eq!(state(&vectors), (vec![Some(1)], Some(20), 1));
    vectors.add(7, key(7), &parts[..3], Some(60)).unwrap();
    assert_eq!(state(&vectors), (vec![Some(3)], Some(60), 1));
    assert_eq!(vectors.window_of(7, 0), first);
    vectors.add(7, key(7), &parts[3..], None).unwrap();
    vectors.add(7, key(7), &parts[..1], Some(20)).unwrap();
    assert_eq!(state(&vectors), (vec![Some(5)], None, 0));
    vectors.flush(50).unwrap();
    drop(vectors);
    let vectors = open(dir.path());
    assert_eq!(state(&vectors), (vec![Some(5)], None, 0));
    assert_eq!(vectors.window_of(7, 0), first);
    // A part of another text replaces all vectors.
    vectors.add(7, key(8), &parts[1..2], Some(40)).unwrap();
    assert_eq!(state(&vectors), (vec![Some(1)], Some(40), 1));
    vectors.remove(7);
    assert_eq!(state(&vectors), (vec![None], None, 0));
}

#[test]
fn rewritten_file_keeps_parts() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = three_pages(dir.path());
    let mut random = RandomNumbers(3);
    vectors.add(7, key(7), &[window(0, &random.vector(8))], Some(20)).unwrap();
    // A part that comes while the file is written is in it twice.
    let part = vectors.write().pending.clone();
    vectors.rewrite(&mut vectors.log.lock(), 40).unwrap();
    vectors.log.lock().append(&part).unwrap();
    vectors.add(3, key(3), &[window(9, &random.vector(8))], None).unwrap();
    vectors.flush(50).unwrap();
    let before = contents(&vectors);
    drop(vectors);
    let vectors = open(dir.path());
    assert_eq!(contents(&vectors), before);
    assert_eq!((vectors.next(7), vectors.size().incomplete), (Some(20), 1));
}
