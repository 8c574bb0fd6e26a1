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

/// The time limit of a run with the default number of rounds, for slow machines.
const MAX_DURATION: Duration = Duration::from_secs(30);

#[test]
fn a_killed_sync_has_the_result_of_an_undisturbed_one() {
    let run = Run::new(4);
    let (mut vault, mut rng) = (Vault::new(if run.is_default { 400 } else { 2000 }), run.rng());
    let (home, twin) = (TestHome::new(), TestHome::new());
    let mut twin_daemon = twin.daemon();
    for home in [&home, &twin] {
        // Both homes sync the same directory.
        let _daemon = (home.path() != twin.path()).then(|| home.daemon());
        home.json(["sources", "add", "notes", "--path", vault.dir.to_str().unwrap()]);
    }
    let mut sync_duration = Duration::from_millis(300);
    let (mut kills, mut cut_short, mut rounds) = (0, 0, 0);
    while kills < run.rounds.max(1) {
        if run.is_default && run.began.elapsed() > MAX_DURATION {
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
                cut_short += usize::from(sync.join().expect("the sync panicked").is_none());
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
        let again =
            ask_sync(&mut home.connect().unwrap(), false).expect("no answer from the daemon");
        assert_eq!(again.unchanged, again.files, "{again:?}");
        assert_eq!(vault.bytes_on_disk(), vault.expected_bytes(), "no file was touched");
        // Half of the rounds start after the kill of an idle daemon.
        match rng.one_in(2) {
            true => daemon.kill(),
            false => _ = daemon.terminate(),
        }
    }
    assert!(twin_daemon.is_running());
    run.report(&format!(
        "syncs of {} files: {kills} kills, {cut_short} cut short, {rounds} rounds, {:.0?}",
        vault.files.len(),
        run.began.elapsed()
    ));
}

/// Returns the source's slugs with their texts and the hashes of their versions.
fn pages_with_history(home: &TestHome, deleted: bool) -> BTreeMap<String, (String, Vec<String>)> {
    let mut client = home.connect().expect("no answer from the daemon");
    let (mut out, mut after) = (BTreeMap::new(), None);
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
            out.insert(row.slug.to_string(), (text, history));
        }
        after = pages.next;
        if after.is_none() {
            return out;
        }
    }
}

/// A directory of notes, and random changes to it as an author would make them.
struct Vault {
    _keep: tempfile::TempDir,
    dir: PathBuf,
    size: usize,
    files: BTreeMap<String, String>,
    number: usize,
}

impl Vault {
    fn new(size: usize) -> Self {
        let keep = tempfile::Builder::new().prefix("vault").tempdir().unwrap();
        let dir = keep.path().join("notes");
        fs::create_dir_all(&dir).unwrap();
        Self { _keep: keep, dir, size, files: BTreeMap::new(), number: 0 }
    }

    /// Adds, changes, removes and renames random files.
    fn change(&mut self, rng: &mut Rng) {
        for path in self.files.keys().cloned().collect::<Vec<_>>() {
            match rng.below(10) {
                0 => self.write(&path, rng),
                1 => self.remove(&path),
                2 => {
                    let to = self.name(rng);
                    let text = self.files[&path].clone();
                    self.remove(&path);
                    self.put(&to, text);
                }
                _ => {}
            }
        }
        while self.files.len() < self.size {
            let path = self.name(rng);
            self.write(&path, rng);
        }
    }

    fn name(&mut self, rng: &mut Rng) -> String {
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

    fn bytes_on_disk(&self) -> usize {
        self.files.keys().map(|path| fs::read(self.dir.join(path)).unwrap().len()).sum()
    }

    fn expected_bytes(&self) -> usize {
        self.files.values().map(String::len).sum()
    }
}
