//! SIGKILL at random moments of a sync: the next sync has the same result as an undisturbed one.
//!
//! `BRAIN_CRASH_ROUNDS` sets the number of kills (default 4 with 400 files; any other number uses
//! 2000 files), and `BRAIN_CRASH_SEED` repeats the choices of a failed run.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use brain_protocol::{Get, List, PageRef, Reply, Request, Sort};
use brain_tests::{TestHome, expect_reply};

use crate::crash::{Rng, Run, settle};
use crate::sync::write;
use crate::sync_faults::{ask_sync, notes_id};

/// A run with the default number of rounds ends after this time, even if rounds are left.
const MAX_DURATION: Duration = Duration::from_secs(30);

#[test]
fn a_killed_sync_has_the_result_of_an_undisturbed_one() {
    let run = Run::new(4);
    let (mut vault, mut rng) = (Vault::new(if run.is_default { 400 } else { 2000 }), run.rng());
    let (home, twin) = (TestHome::new(), TestHome::new());
    let mut twin_daemon = twin.daemon();
    for home in [&home, &twin] {
        // Both homes sync the same directory. The twin's daemon already runs.
        let _daemon = (home.path() != twin.path()).then(|| home.daemon());
        home.json(["sources", "add", "notes", "--path", vault.dir.to_str().unwrap()]);
    }
    let mut sync_duration = Duration::from_millis(300);
    let (mut kills, mut interrupted, mut rounds) = (0, 0, 0);
    while kills < run.rounds.max(1) {
        if run.is_default && run.started_at.elapsed() > MAX_DURATION {
            break;
        }
        vault.change(&mut rng);
        rounds += 1;
        for _ in 0..=rng.below(4) {
            let daemon = home.daemon();
            let moment = Duration::from_micros(rng.below(sync_duration.as_micros() as u64));
            std::thread::scope(|scope| {
                let sync = scope.spawn(|| ask_sync(&mut home.connect()?, false));
                std::thread::sleep(moment);
                daemon.kill();
                interrupted += usize::from(sync.join().expect("the sync panicked").is_none());
            });
            kills += 1;
        }
        let daemon = home.daemon();
        settle(&home);
        ask_sync(&mut home.connect().unwrap(), false).expect("no answer from the daemon");
        let began = Instant::now();
        let report =
            ask_sync(&mut twin.connect().unwrap(), false).expect("no answer from the daemon");
        sync_duration = began.elapsed().max(Duration::from_millis(50));
        assert_eq!((report.failed_total, report.held_back), (0, 0), "{report:?}");
        assert_eq!(
            pages_with_history(&home, false),
            pages_with_history(&twin, false),
            "round {rounds}: the pages"
        );
        assert_eq!(
            pages_with_history(&home, true),
            pages_with_history(&twin, true),
            "round {rounds}: the deleted pages"
        );
        let second_report =
            ask_sync(&mut home.connect().unwrap(), false).expect("no answer from the daemon");
        assert_eq!(second_report.unchanged, second_report.files, "{second_report:?}");
        assert_eq!(vault.length_on_disk(), vault.expected_length(), "all files have their lengths");
        // About half of the rounds start after the kill of an idle daemon.
        match rng.one_in(2) {
            true => daemon.kill(),
            false => _ = daemon.terminate(),
        }
    }
    assert!(twin_daemon.is_running());
    run.report(&format!(
        "syncs of {} files: {kills} kills, {interrupted} interrupted, {rounds} rounds, {:.0?}",
        vault.files.len(),
        run.started_at.elapsed()
    ));
}

/// Returns the slugs of the source with their texts and the hashes of their versions. For deleted
/// pages, texts and hashes are empty.
fn pages_with_history(home: &TestHome, deleted: bool) -> BTreeMap<String, (String, Vec<String>)> {
    let mut client = home.connect().expect("no answer from the daemon");
    let (mut pages_by_slug, mut after) = (BTreeMap::new(), None);
    loop {
        let list = List {
            source: Some(notes_id()),
            deleted,
            sort: if deleted { Sort::Updated } else { Sort::Slug },
            limit: 1000,
            after,
            ..List::default()
        };
        let pages = expect_reply!(client.ask(&Request::List(list)), Pages);
        for row in pages.pages {
            let page = PageRef { source: Some(notes_id()), slug: row.slug.clone() };
            let text = match deleted {
                true => String::new(),
                false => match client.ask(&Request::Get(Get { page: page.clone(), version: None }))
                {
                    Ok(Reply::Page(page)) => page.content,
                    other => panic!("{}: {other:?}", row.slug),
                },
            };
            let history = match deleted {
                true => Vec::new(),
                false => match client.ask(&Request::History(page.into())) {
                    Ok(Reply::History(history)) => {
                        history.versions.into_iter().map(|version| version.content_hash).collect()
                    }
                    other => panic!("{}: {other:?}", row.slug),
                },
            };
            pages_by_slug.insert(row.slug.to_string(), (text, history));
        }
        after = pages.next;
        if after.is_none() {
            return pages_by_slug;
        }
    }
}

/// A directory of notes, and random changes to it as an author would make them.
struct Vault {
    _temp_dir: tempfile::TempDir,
    dir: PathBuf,
    /// The number of files after each change.
    file_count: usize,
    /// The texts by path.
    files: BTreeMap<String, String>,
    /// Makes names and most texts unique.
    number: usize,
}

impl Vault {
    fn new(file_count: usize) -> Self {
        let temp_dir = tempfile::Builder::new().prefix("vault").tempdir().unwrap();
        let dir = temp_dir.path().join("notes");
        fs::create_dir_all(&dir).unwrap();
        Self { _temp_dir: temp_dir, dir, file_count, files: BTreeMap::new(), number: 0 }
    }

    /// Adds, changes, removes and renames random files.
    fn change(&mut self, rng: &mut Rng) {
        for path in self.files.keys().cloned().collect::<Vec<_>>() {
            match rng.below(10) {
                0 => self.write(&path, rng),
                1 => self.remove(&path),
                2 => {
                    let to = self.new_name(rng);
                    let text = self.files[&path].clone();
                    self.remove(&path);
                    self.put(&to, text);
                }
                _ => {}
            }
        }
        while self.files.len() < self.file_count {
            let path = self.new_name(rng);
            self.write(&path, rng);
        }
    }

    fn new_name(&mut self, rng: &mut Rng) -> String {
        self.number += 1;
        format!("Group {}/Note {}.md", rng.below(9), self.number)
    }

    fn write(&mut self, path: &str, rng: &mut Rng) {
        self.number += 1;
        // Some files have equal texts, so that their renames are ambiguous.
        let text = match rng.one_in(10) {
            true => format!("Template {}.\n", rng.below(5)),
            false => format!(
                "---\ntitle: Note {}\n---\nThe text {}. {}\n",
                self.number,
                self.number,
                "Water. ".repeat(40)
            ),
        };
        self.put(path, text);
    }

    fn put(&mut self, path: &str, text: String) {
        write(&self.dir, path, &text);
        self.files.insert(path.to_owned(), text);
    }

    fn remove(&mut self, path: &str) {
        fs::remove_file(self.dir.join(path)).unwrap();
        self.files.remove(path);
    }

    /// Returns the sum of the lengths of all files, in bytes.
    fn length_on_disk(&self) -> usize {
        self.files.keys().map(|path| fs::read(self.dir.join(path)).unwrap().len()).sum()
    }

    /// Returns the sum of the lengths that the files should have, in bytes.
    fn expected_length(&self) -> usize {
        self.files.values().map(String::len).sum()
    }
}
