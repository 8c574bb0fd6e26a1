//! Two brains, each on its own directory, and a sync program between the directories. After random
//! changes from both sides everything comes to rest, both sides are equal, and each line that was
//! acknowledged is in a file, in a conflict copy, or in a version of a page.
//!
//! `BRAIN_SYNC_OPERATIONS` is the number of changes (60; the full run has 500). `BRAIN_SYNC_SEED`
//! repeats the choices of a run, except for their moments. `BRAIN_REST_SECONDS` is how long nothing
//! may be written after the end (5).

pub(crate) mod check;
mod person;
mod programs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, has_program, report};

use crate::crash::Rng;
use check::{Snapshot, find_lost_lines, is_conflict_copy};
use person::{Log, Person};
use programs::{Bisync, SyncProgram, Syncthing, Unison};

/// A brain whose source `notes` is a directory that a sync program keeps equal to another.
pub(crate) struct Side {
    pub(crate) home: TestHome,
    pub(crate) notes: PathBuf,
    /// Held by a person who saves a file, and by a program that must not run meanwhile.
    pub(crate) saving: Mutex<()>,
    _daemon: Daemon,
}

impl Side {
    fn new() -> Self {
        let mut home = TestHome::new();
        home.env.push(("BRAIN_SOURCES_WATCH".into(), "true".into()));
        let daemon = home.daemon();
        let notes = home.outside().join("notes");
        person::write_first_notes(&notes);
        home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
        Self { home, notes, saving: Mutex::new(()), _daemon: daemon }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("not a number"))
}

/// Changes both sides at random while the program runs, waits for rest, and checks the result.
fn changes_from_both_sides_end_equal<'a, P: SyncProgram>(
    sides: &'a [Side; 2],
    start: impl FnOnce(&'a Side, &'a Side) -> P,
) {
    let operations = setting("BRAIN_SYNC_OPERATIONS", 60);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = setting("BRAIN_SYNC_SEED", now);
    report(&format!("{}: BRAIN_SYNC_SEED={seed}, {operations} operations", P::NAME));
    let mut program = start(&sides[0], &sides[1]);
    let mut rng = Rng::from_seed(seed);
    let is_finished = AtomicBool::new(false);
    let logs: Vec<Log> = std::thread::scope(|scope| {
        let people: Vec<_> = sides
            .iter()
            .zip(["left", "right"])
            .map(|(side, name)| {
                let mut person = Person::new(side, name, rng.split());
                scope.spawn(move || {
                    (0..operations / 2).for_each(|_| person.change_something());
                    person.log
                })
            })
            .collect();
        let runs = scope.spawn(|| {
            while !is_finished.load(Ordering::Relaxed) {
                program.synchronise();
            }
        });
        let logs: Vec<_> = people.into_iter().map(ScopedJoinHandle::join).collect();
        // A person that panicked must not leave the program running.
        is_finished.store(true, Ordering::Relaxed);
        runs.join().unwrap();
        logs.into_iter().map(Result::unwrap).collect()
    });
    wait_for_rest(sides, &mut program);
    let rest = sides.each_ref().map(Snapshot::take);
    std::thread::sleep(Duration::from_secs(setting("BRAIN_REST_SECONDS", 5)));
    program.synchronise();
    for (side, before) in sides.iter().zip(&rest) {
        assert_eq!(before.difference(&Snapshot::take(side)), Vec::<String>::new());
    }
    let copies = rest[0].files.keys().filter(|path| is_conflict_copy(path)).count();
    report(&format!("{}: {} files, of them {copies} copies", P::NAME, rest[0].files.len()));
    report(&format!("{}: refused: {:?}", P::NAME, refusals(&logs)));
    assert_no_doubled_page(&rest[0].files);
    let lost = find_lost_lines(sides, &logs, P::NAME);
    if !lost.is_empty() {
        let mut history: Vec<_> = logs.iter().flat_map(|log| &log.history).collect();
        history.sort();
        history.iter().for_each(|(at, operation)| {
            let at = at.duration_since(UNIX_EPOCH).unwrap();
            report(&format!("{}.{:03} {operation}", at.as_secs() % 3600, at.subsec_millis()));
        });
    }
    assert_eq!(lost, Vec::<String>::new(), "{}", sides.each_ref().map(|s| s.home.log()).join("\n"));
}

/// Synchronises until the directories are equal and both brains have the pages of the files.
fn wait_for_rest(sides: &[Side; 2], program: &mut impl SyncProgram) {
    // Brain writes a file again after a minute if another program was in its way.
    let deadline = Instant::now() + 3 * TEST_TIMEOUT;
    let (mut quiet_rounds, mut equal_rounds) = (0, 0);
    let mut former_differences = Vec::new();
    let mut former: Option<[Snapshot; 2]> = None;
    while quiet_rounds < 2 {
        program.synchronise();
        std::thread::sleep(Duration::from_millis(500));
        let snapshots = sides.each_ref().map(Snapshot::take);
        let changes = former.iter().flatten().zip(&snapshots);
        let differences: Vec<String> = snapshots
            .iter()
            .flat_map(Snapshot::pages_unlike_files)
            .chain(snapshots[0].files_unlike(&snapshots[1]))
            .chain(changes.flat_map(|(before, now)| before.difference(now)))
            .collect();
        quiet_rounds = if differences.is_empty() { quiet_rounds + 1 } else { 0 };
        former = Some(snapshots);
        equal_rounds = if differences == former_differences { equal_rounds + 1 } else { 0 };
        if equal_rounds == 10 && differences.iter().all(|line| line.starts_with("other file")) {
            program.compare_all();
        }
        former_differences.clone_from(&differences);
        assert!(Instant::now() < deadline, "no rest: {differences:#?}");
    }
}

/// No two files have the same text, except for conflict copies. Each change added its own line, so
/// only a page that was stored twice looks like another, or one that both sides renamed.
fn assert_no_doubled_page(files: &BTreeMap<String, Vec<u8>>) {
    let mut paths = BTreeMap::<&[u8], Vec<&str>>::new();
    for (path, bytes) in files.iter().filter(|(path, _)| !is_conflict_copy(path)) {
        paths.entry(bytes).or_default().push(path);
    }
    paths.retain(|_, paths| {
        let moved_by = |side: &str| paths.iter().filter(|path| path.starts_with(side)).count();
        let both_renamed = [moved_by("moved/left-"), moved_by("moved/right-")] == [1, 1];
        paths.len() > 1 && !(both_renamed && paths.len() == 2)
    });
    assert!(paths.is_empty(), "the same page twice: {:?}", paths.values());
}

/// Counts the error codes of the refused operations.
fn refusals(logs: &[Log]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for code in logs.iter().flat_map(|log| &log.refused) {
        *counts.entry(code.as_str()).or_default() += 1;
    }
    counts
}

#[test]
fn two_brains_over_syncthing_end_equal() {
    if has_program("syncthing") {
        changes_from_both_sides_end_equal(&[Side::new(), Side::new()], Syncthing::start);
    }
}

#[test]
fn two_brains_over_unison_end_equal() {
    if has_program("unison") {
        changes_from_both_sides_end_equal(&[Side::new(), Side::new()], Unison::start);
    }
}

#[test]
fn two_brains_over_rclone_bisync_end_equal() {
    if has_program("rclone") {
        changes_from_both_sides_end_equal(&[Side::new(), Side::new()], Bisync::start);
    }
}
