//! Other programs save a file while brain writes it: every save is in the file, in the page, or in
//! a version.
//!
//! `BRAIN_STRESS_SECONDS` sets how many seconds editors and writers work (default 5).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_protocol::{Get, Origin, PageRef, Put, Reply, Request, Slug};
use brain_tests::{Client, Daemon, TestHome};
use serde_json::json;

use crate::crash::{Rng, Run};
use crate::sync::{get_note, home_with_notes, sync};
use crate::sync_faults::notes_id;

/// The number of pages for each save method.
const PAGES_PER_METHOD: usize = 4;

fn wait_until(condition: &str, mut is_met: impl FnMut() -> bool) {
    let deadline = Instant::now() + brain_tests::TEST_TIMEOUT;
    while !is_met() {
        assert!(Instant::now() < deadline, "never: {condition}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns a home, its daemon, and the directory of the watched source `notes`.
fn watched_source() -> (TestHome, Daemon, PathBuf) {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_SOURCES_WATCH".into(), "true".into()));
    let daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    (home, daemon, notes)
}

#[test]
fn an_empty_file_that_is_open_for_writing_is_left_alone() {
    let (home, _daemon, notes) = watched_source();
    let file = notes.join("n.md");
    let mut open = File::create(&file).unwrap();
    let written = home.json_with(["put", "n", "--source", "notes"], b"x\n");
    assert_eq!(written["written"], false, "{written}");
    assert!(
        written["warnings"][0].as_str().unwrap().contains("emptied by another program"),
        "{written}"
    );
    open.write_all(b"RESULT\n").unwrap();
    drop(open);
    assert_eq!(fs::read_to_string(&file).unwrap(), "RESULT\n");
    wait_until("RESULT becomes a version", || {
        let conflicts = home.json(["conflicts"])["conflicts"].clone();
        conflicts[0]["file_version"] == 2
    });
    assert_eq!(get_note(&home, "n")["body"], "x\n", "the put text stays the page");
    home.json(["keep", "n", "file", "--source", "notes"]);
    assert_eq!(get_note(&home, "n")["body"], "RESULT\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), "RESULT\n");
}

#[test]
fn an_editor_that_writes_to_a_replaced_file_loses_nothing() {
    let (home, _daemon, notes) = home_with_notes();
    home.json_with(["put", "n", "--source", "notes"], b"First.\n");
    let mut open = File::options().write(true).open(notes.join("n.md")).unwrap();
    let written = home.json_with(["put", "n", "--source", "notes"], b"Second.\n");
    assert_eq!(written["written"], true, "{written}");
    open.set_len(0).unwrap();
    open.write_all(b"Written by an editor.\n").unwrap();
    let report = sync(&home);
    assert_eq!(
        report["conflicts"],
        json!([{"slug": "n", "path": "n.md", "kept_version": 3}]),
        "{report}"
    );
    assert_eq!(get_note(&home, "n")["body"], "Second.\n");
    let version = home.json(["get", "n", "--source", "notes", "--version", "3"]);
    assert_eq!(version["body"], "Written by an editor.\n");
    let doctor = home.brain(["doctor", "--json"]).json();
    let outbox = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "outbox")
        .unwrap()
        .clone();
    assert!(outbox["message"].as_str().unwrap().contains("version 3 of n"), "{outbox}");
    // The editor writes the same bytes again.
    open.rewind().unwrap();
    open.write_all(b"Written").unwrap();
    assert_eq!(sync(&home)["conflicts"], json!([]), "the same conflict is reported once");
    open.write_all(b" again").unwrap();
    assert_eq!(sync(&home)["conflicts"][0]["kept_version"], 5);
}

#[test]
fn a_replaced_file_keeps_mode_and_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let (home, _daemon, notes) = home_with_notes();
    home.json_with(["put", "n", "--source", "notes"], b"First.\n");
    let file = notes.join("n.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&file, Some(4321), Some(4322)).unwrap();
    }
    home.json_with(["put", "n", "--source", "notes"], b"Second.\n");
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o660);
    if is_root {
        assert_eq!((metadata.uid(), metadata.gid()), (4321, 4322));
    }
}

/// How a program saves a file.
#[derive(Debug, Clone, Copy)]
enum SaveMethod {
    /// Empties the file and writes it in two steps.
    Truncate,
    /// Writes another file and renames it.
    Rename,
    /// Opens the file, overwrites it, and truncates it.
    InPlace,
}

impl SaveMethod {
    fn save(self, file_path: &Path, text: &str, rng: &mut Rng) {
        let mut pause = || std::thread::sleep(Duration::from_micros(rng.below(3000)));
        let half = text.len() / 2;
        match self {
            Self::Truncate => {
                let mut file = File::create(file_path).unwrap();
                pause();
                file.write_all(&text.as_bytes()[..half]).unwrap();
                pause();
                file.write_all(&text.as_bytes()[half..]).unwrap();
            }
            Self::Rename => {
                let other = file_path.with_extension("swp");
                fs::write(&other, text).unwrap();
                pause();
                fs::rename(other, file_path).unwrap();
            }
            Self::InPlace => {
                let mut file = File::options()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(file_path)
                    .unwrap();
                pause();
                file.write_all(text.as_bytes()).unwrap();
                pause();
                file.set_len(text.len() as u64).unwrap();
            }
        }
    }

    /// Returns the slug of page `n` of this method.
    fn slug(self, n: usize) -> String {
        format!("{self:?}-{n}").to_lowercase()
    }
}

/// Saves random pages until `should_stop`. Returns the number of saves, and slug and text of each
/// save that must be found later: those that the editor did not overwrite itself.
fn edit(
    method: SaveMethod,
    notes: &Path,
    mut rng: Rng,
    should_stop: &AtomicBool,
) -> (usize, Vec<(String, String)>) {
    let (mut count, mut expected_saves) = (0, Vec::new());
    let mut last: Vec<Option<String>> = vec![None; PAGES_PER_METHOD];
    while !should_stop.load(Ordering::Relaxed) {
        let n = rng.below(PAGES_PER_METHOD as u64) as usize;
        let file_path = notes.join(format!("{}.md", method.slug(n)));
        // A save that is no longer in the file was replaced by brain.
        let on_disk = fs::read_to_string(&file_path).unwrap_or_default();
        expected_saves.extend(
            last[n].take().filter(|save| *save != on_disk).map(|save| (method.slug(n), save)),
        );
        count += 1;
        let text = format!(
            "{method:?} saved number {count}.\n{}\n",
            "Tides and pumps. ".repeat(rng.below(60) as usize)
        );
        method.save(&file_path, &text, &mut rng);
        last[n] = Some(text);
        std::thread::sleep(Duration::from_micros(rng.below(4000)));
    }
    expected_saves
        .extend(last.into_iter().enumerate().filter_map(|(n, save)| Some((method.slug(n), save?))));
    (count, expected_saves)
}

fn page_ref(slug: &str) -> PageRef {
    PageRef { source: Some(notes_id()), slug: Slug::parse(slug).unwrap() }
}

/// Returns the text of each version of the page.
fn texts(client: &mut Client, slug: &str) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let (mut version, mut newest) = (None, 0);
    loop {
        match client.ask(&Request::Get(Get { page: page_ref(slug), version })) {
            Ok(Reply::Page(page)) => {
                texts.insert(page.content);
                newest = newest.max(page.version);
            }
            other => panic!("{slug} {version:?}: {other:?}"),
        }
        version = Some(version.unwrap_or(newest) - 1);
        if version == Some(0) {
            return texts;
        }
    }
}

#[test]
fn three_editors_and_two_writers_lose_no_save() {
    let seconds = std::env::var("BRAIN_STRESS_SECONDS").map_or(5, |s| s.parse::<u64>().unwrap());
    let run = Run::new(1);
    let mut rng = run.rng();
    let (home, _daemon, notes) = watched_source();
    let methods = [SaveMethod::Truncate, SaveMethod::Rename, SaveMethod::InPlace];
    let pages: Vec<String> =
        methods.iter().flat_map(|method| (0..PAGES_PER_METHOD).map(|n| method.slug(n))).collect();
    let should_stop = AtomicBool::new(false);
    let (mut saves, mut expected_saves, mut puts) = (0, Vec::new(), 0);
    std::thread::scope(|scope| {
        let editors: Vec<_> = methods
            .into_iter()
            .map(|method| {
                let (rng, notes, should_stop) =
                    (Rng::from_seed(rng.below(u64::MAX)), &notes, &should_stop);
                scope.spawn(move || edit(method, notes, rng, should_stop))
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let mut rng = Rng::from_seed(rng.below(u64::MAX));
                let (home, pages, should_stop) = (&home, &pages, &should_stop);
                scope.spawn(move || {
                    let mut client = home.connect().unwrap();
                    let mut count = 0;
                    while !should_stop.load(Ordering::Relaxed) {
                        let slug = &pages[rng.below(pages.len() as u64) as usize];
                        count += 1;
                        let content = format!("Put by {writer}, number {count}.\n").into_bytes();
                        let put = Put {
                            page: page_ref(slug),
                            content,
                            origin: Origin::Stdin,
                            allow_empty: false,
                            expect: None,
                        };
                        client.ask(&Request::Put(put)).unwrap();
                        std::thread::sleep(Duration::from_micros(rng.below(2000)));
                    }
                    count
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        should_stop.store(true, Ordering::Relaxed);
        for editor in editors {
            let (count, expected) = editor.join().unwrap();
            saves += count;
            expected_saves.extend(expected);
        }
        puts = writers.into_iter().map(|writer| writer.join().unwrap()).sum::<usize>();
    });
    // The syncs finish the watcher's remaining work.
    for _ in 0..3 {
        home.brain(["sync", "--source", "notes", "--json"]);
    }
    let mut client = home.connect().unwrap();
    let mut lost_saves = Vec::new();
    for slug in &pages {
        if !expected_saves.iter().any(|(page, _)| page == slug) {
            continue;
        }
        let mut found = texts(&mut client, slug);
        found.insert(fs::read_to_string(notes.join(format!("{slug}.md"))).unwrap_or_default());
        let missing =
            expected_saves.iter().filter(|(page, save)| page == slug && !found.contains(save));
        lost_saves
            .extend(missing.map(|(page, save)| {
                format!("{page}: {}", save.lines().next().unwrap_or_default())
            }));
    }
    run.report(&format!(
        "{saves} saves, {puts} puts; {} saves must be found, {} are lost",
        expected_saves.len(),
        lost_saves.len()
    ));
    assert_eq!(lost_saves, Vec::<String>::new(), "{}", home.log());
    assert!(saves > 100 && puts > 100, "{saves} saves, {puts} puts");
}
