//! Other programs save while brain writes the same file: every save is in the file, in the page, or
//! in a version.
//!
//! `BRAIN_STRESS_SECONDS` says how long the editors and the writers are at it (5).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_protocol::{Get, Origin, PageRef, Put, Reply, Request, Slug};
use brain_tests::{Client, Daemon, TestHome};
use serde_json::json;

use crate::crash::{Dice, Run};
use crate::sync::{get, source, sync};
use crate::sync_faults::notes_id;

/// Pages of each kind of editor.
const PAGES: usize = 4;

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + brain_tests::PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn watching() -> (TestHome, Daemon, PathBuf) {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_SOURCES_WATCH".into(), "true".into()));
    let daemon = home.daemon();
    let notes = home.outside().join("notes");
    fs::create_dir_all(&notes).unwrap();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    (home, daemon, notes)
}

#[test]
fn a_file_that_is_open_for_writing_and_empty_is_nobodys_leftover() {
    let (home, _daemon, notes) = watching();
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
    wait_until("RESULT becomes the page", || get(&home, "n")["body"] == "RESULT\n");
    let former = home.json(["get", "n", "--source", "notes", "--version", "1"]);
    assert_eq!(former["body"], "x\n", "what was put is a version");
    assert_eq!(fs::read_to_string(&file).unwrap(), "RESULT\n");
}

#[test]
fn an_editor_that_writes_to_a_replaced_file_loses_nothing() {
    let (home, _daemon, notes) = source();
    home.json_with(["put", "n", "--source", "notes"], b"First.\n");
    let mut open = File::options().write(true).open(notes.join("n.md")).unwrap();
    let written = home.json_with(["put", "n", "--source", "notes"], b"Second.\n");
    assert_eq!(written["written"], true, "{written}");
    open.set_len(0).unwrap();
    open.write_all(b"Written by an editor.\n").unwrap();
    let report = sync(&home);
    assert_eq!(
        report["conflicts"],
        json!([{"slug": "n", "path": "n.md", "kept_version": 2}]),
        "{report}"
    );
    assert_eq!(get(&home, "n")["body"], "Second.\n");
    let kept = home.json(["get", "n", "--source", "notes", "--version", "2"]);
    assert_eq!(kept["body"], "Written by an editor.\n");
    let doctor = home.brain(["doctor", "--json"]).json();
    let outbox = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "outbox")
        .unwrap()
        .clone();
    assert!(outbox["message"].as_str().unwrap().contains("version 2 of n"), "{outbox}");
    // And once more, after that.
    open.rewind().unwrap();
    open.write_all(b"Written").unwrap();
    assert_eq!(sync(&home)["conflicts"], json!([]), "the same text is kept once");
    open.write_all(b" again").unwrap();
    assert_eq!(sync(&home)["conflicts"][0]["kept_version"], 3);
}

#[test]
fn a_replaced_file_keeps_mode_and_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let (home, _daemon, notes) = source();
    home.json_with(["put", "n", "--source", "notes"], b"First.\n");
    let file = notes.join("n.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root {
        chown(&file, Some(4321), Some(4322)).unwrap();
    }
    home.json_with(["put", "n", "--source", "notes"], b"Second.\n");
    let meta = fs::metadata(&file).unwrap();
    assert_eq!(meta.mode() & 0o777, 0o660);
    if root {
        assert_eq!((meta.uid(), meta.gid()), (4321, 4322));
    }
}

/// How a program saves.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Empties the file, and writes it in two steps.
    Truncate,
    /// Writes another file, and renames it.
    Rename,
    /// Opens the file, writes over it, and cuts it.
    InPlace,
}

impl Way {
    fn save(self, place: &Path, text: &str, dice: &mut Dice) {
        let mut think = || std::thread::sleep(Duration::from_micros(dice.below(3000)));
        let half = text.len() / 2;
        match self {
            Self::Truncate => {
                let mut file = File::create(place).unwrap();
                think();
                file.write_all(&text.as_bytes()[..half]).unwrap();
                think();
                file.write_all(&text.as_bytes()[half..]).unwrap();
            }
            Self::Rename => {
                let other = place.with_extension("swp");
                fs::write(&other, text).unwrap();
                think();
                fs::rename(other, place).unwrap();
            }
            Self::InPlace => {
                let mut file =
                    File::options().write(true).create(true).truncate(false).open(place).unwrap();
                think();
                file.write_all(text.as_bytes()).unwrap();
                think();
                file.set_len(text.len() as u64).unwrap();
            }
        }
    }

    fn page(self, n: usize) -> String {
        format!("{self:?}-{n}").to_lowercase()
    }
}

/// One editor at work; the saves that are to be found: those that it did not itself write over.
fn edit(
    way: Way,
    notes: &Path,
    mut dice: Dice,
    over: &AtomicBool,
) -> (usize, Vec<(String, String)>) {
    let (mut count, mut owed) = (0, Vec::new());
    let mut last: Vec<Option<String>> = vec![None; PAGES];
    while !over.load(Ordering::Relaxed) {
        let n = dice.below(PAGES as u64) as usize;
        let place = notes.join(format!("{}.md", way.page(n)));
        // What is not in the file any more was replaced by brain.
        let there = fs::read_to_string(&place).unwrap_or_default();
        owed.extend(last[n].take().filter(|save| *save != there).map(|save| (way.page(n), save)));
        count += 1;
        let text = format!(
            "{way:?} saved number {count}.\n{}\n",
            "Tides and pumps. ".repeat(dice.below(60) as usize)
        );
        way.save(&place, &text, &mut dice);
        last[n] = Some(text);
        std::thread::sleep(Duration::from_micros(dice.below(4000)));
    }
    owed.extend(last.into_iter().enumerate().filter_map(|(n, save)| Some((way.page(n), save?))));
    (count, owed)
}

fn page_ref(slug: &str) -> PageRef {
    PageRef { source: Some(notes_id()), slug: Slug::parse(slug).unwrap() }
}

/// Every text that the page has or had.
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
    let mut dice = run.dice();
    let (home, _daemon, notes) = watching();
    let ways = [Way::Truncate, Way::Rename, Way::InPlace];
    let pages: Vec<String> = ways.iter().flat_map(|way| (0..PAGES).map(|n| way.page(n))).collect();
    let over = AtomicBool::new(false);
    let (mut saves, mut owed, mut puts) = (0, Vec::new(), 0);
    std::thread::scope(|scope| {
        let editors: Vec<_> = ways
            .into_iter()
            .map(|way| {
                let (dice, notes, over) = (Dice::from_seed(dice.below(u64::MAX)), &notes, &over);
                scope.spawn(move || edit(way, notes, dice, over))
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let mut dice = Dice::from_seed(dice.below(u64::MAX));
                let (home, pages, over) = (&home, &pages, &over);
                scope.spawn(move || {
                    let mut client = home.connect().unwrap();
                    let mut count = 0;
                    while !over.load(Ordering::Relaxed) {
                        let slug = &pages[dice.below(pages.len() as u64) as usize];
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
                        std::thread::sleep(Duration::from_micros(dice.below(2000)));
                    }
                    count
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        over.store(true, Ordering::Relaxed);
        for editor in editors {
            let (count, left) = editor.join().unwrap();
            saves += count;
            owed.extend(left);
        }
        puts = writers.into_iter().map(|writer| writer.join().unwrap()).sum::<usize>();
    });
    // Whatever the watcher still has to do, this does.
    for _ in 0..3 {
        home.brain(["sync", "--source", "notes", "--json"]);
    }
    let mut client = home.connect().unwrap();
    let mut lost = Vec::new();
    for slug in &pages {
        if !owed.iter().any(|(page, _)| page == slug) {
            continue;
        }
        let mut there = texts(&mut client, slug);
        there.insert(fs::read_to_string(notes.join(format!("{slug}.md"))).unwrap_or_default());
        let of_page = owed.iter().filter(|(page, save)| page == slug && !there.contains(save));
        lost.extend(
            of_page
                .map(|(page, save)| format!("{page}: {}", save.lines().next().unwrap_or_default())),
        );
    }
    run.tell(&format!(
        "{saves} saves, {} replaced by brain, {puts} puts, {} lost",
        owed.len(),
        lost.len()
    ));
    assert_eq!(lost, Vec::<String>::new(), "{}", home.log());
    assert!(saves > 100 && puts > 100, "{saves} saves, {puts} puts");
}
