//! Backups by schedule. The clock is ours, the brain and the files are real.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_core::{Brain, Silent};
use brain_protocol::{
    BackupVerify, Capture, Check, CheckStatus, Doctor, Fault, FaultCode, Origin, Reply, Request,
};

use crate::hands::{HOUR, Hands};

struct Lab {
    dir: tempfile::TempDir,
    clock: Hands,
    brain: Option<Arc<Brain>>,
    fresh_id: u64,
}

impl Lab {
    /// A brain that keeps its backups in `backups` beside its home.
    fn new(settings: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Hands::at("2026-11-21T10:00:00Z");
        let mut lab = Self { dir, clock, brain: None, fresh_id: 7 };
        fs::create_dir_all(lab.place()).unwrap();
        fs::create_dir_all(lab.dir.path().join("home")).unwrap();
        let config = format!("[backup]\ndir = {:?}\n{settings}", lab.place().to_str().unwrap());
        fs::write(lab.dir.path().join("home/config.toml"), config).unwrap();
        lab.reopen();
        lab
    }

    fn place(&self) -> PathBuf {
        self.dir.path().join("backups")
    }

    fn reopen(&mut self) {
        self.brain = None;
        self.brain = Some(self.clock.open(self.dir.path(), self.fresh_id));
    }

    fn turn(&self, ms: i64) {
        self.clock.turn(ms);
    }

    fn ask(&self, request: Request) -> Result<Reply, Fault> {
        self.brain.as_ref().unwrap().answer(&Caller::local(0), request, &Silent)
    }

    fn capture(&self, text: &str) {
        let (content, origin) = (text.into(), Origin::Argument);
        let (source, slug, page_type, title, tags) = (None, None, None, None, Vec::new());
        self.ask(Request::Capture(Capture {
            content,
            origin,
            source,
            slug,
            page_type,
            title,
            tags,
        }))
        .unwrap();
    }

    /// Looks whether one is due, as the timer does; the name of what was made.
    fn look(&self) -> Result<Option<String>, FaultCode> {
        let made = self.brain.as_ref().unwrap().copies.backup_due().map_err(|fault| fault.code)?;
        Ok(made.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()))
    }

    fn there(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn check(&self) -> Check {
        let Reply::Doctor(reply) = self.ask(Request::Doctor(Doctor { fix: false })).unwrap() else {
            panic!()
        };
        reply.checks.into_iter().find(|check| check.name == "backup").unwrap()
    }

    fn pages_in(&self, name: &str) -> u64 {
        let path = self.place().join(name).to_str().unwrap().to_owned();
        let Reply::Backup(reply) = self.ask(Request::BackupVerify(BackupVerify { path })).unwrap()
        else {
            panic!()
        };
        reply.pages
    }
}

#[test]
fn one_is_made_when_it_is_due_and_the_oldest_go() {
    let lab = Lab::new("every = \"6h\"\nkeep = 3\n");
    assert_eq!(lab.check().status, CheckStatus::Ok, "the first one is about to be made");
    lab.capture("one");
    assert_eq!(lab.look(), Ok(Some("brain-20261121T100000Z.redb".into())));
    assert_eq!(lab.look(), Ok(None), "not due again");
    lab.capture("two");
    lab.turn(6 * HOUR - 1);
    assert_eq!(lab.look(), Ok(None), "not a moment early");
    lab.turn(1);
    assert_eq!(lab.look(), Ok(Some("brain-20261121T160000Z.redb".into())));
    assert_eq!(lab.pages_in("brain-20261121T160000Z.redb"), 2);
    for _ in 0..3 {
        lab.turn(6 * HOUR);
        assert!(lab.look().unwrap().is_some());
    }
    let kept = [
        "brain-20261121T220000Z.redb",
        "brain-20261122T040000Z.redb",
        "brain-20261122T100000Z.redb",
    ];
    assert_eq!(lab.there(), kept);
    assert_eq!(lab.check().status, CheckStatus::Ok);
}

#[test]
fn without_a_directory_there_are_none_and_all_is_well() {
    let lab = Lab::new("");
    fs::write(lab.dir.path().join("home/config.toml"), "").unwrap();
    let mut lab = lab;
    lab.reopen();
    lab.turn(1000 * HOUR);
    assert_eq!(lab.look(), Ok(None));
    assert_eq!(lab.there(), Vec::<String>::new());
    assert_eq!(lab.check().status, CheckStatus::Ok);
}

#[test]
fn only_its_own_old_ones_are_removed() {
    let lab = Lab::new("every = \"1h\"\nkeep = 1\n");
    let other = Lab::new("");
    other.brain.as_ref().unwrap().copies.backup_due().unwrap();
    // Another brain's, whose number is its own; what only looks like one; what a person made.
    let mut stranger = Lab::new("");
    stranger.fresh_id = 8;
    stranger.brain = None;
    fs::remove_dir_all(stranger.dir.path().join("home/index")).unwrap();
    fs::remove_file(stranger.dir.path().join("home/brain.redb")).unwrap();
    stranger.reopen();
    let theirs = stranger.look().unwrap().unwrap();
    fs::copy(stranger.place().join(theirs), lab.place().join("brain-20260101T000000Z.redb"))
        .unwrap();
    fs::write(lab.place().join("brain-20260102T000000Z.redb"), "no store at all").unwrap();
    fs::create_dir(lab.place().join("brain-20260103T000000Z.redb")).unwrap();
    let first = lab.look().unwrap().unwrap();
    fs::copy(lab.place().join(&first), lab.place().join("before-the-move.redb")).unwrap();
    fs::copy(lab.place().join(&first), lab.place().join("brain-20261121T100000Z.redb.old"))
        .unwrap();
    lab.turn(HOUR);
    let second = lab.look().unwrap().unwrap();
    let mut expected = vec![
        "before-the-move.redb".to_owned(),
        "brain-20260101T000000Z.redb".into(),
        "brain-20260102T000000Z.redb".into(),
        "brain-20260103T000000Z.redb".into(),
        "brain-20261121T100000Z.redb.old".into(),
        second,
    ];
    expected.sort();
    assert_eq!(lab.there(), expected, "{first} is gone and nothing else");
}

#[test]
fn what_a_killed_one_left_goes_with_the_next() {
    let lab = Lab::new("every = \"6h\"");
    // No process has the first number: it is over the kernel's limit. The second is that of this
    // very process.
    let left = [
        ".brain-20261120T100000Z.redb.2000000000-0.brain-backup".to_owned(),
        format!(".brain-20261119T100000Z.redb.{}-3.brain-backup", std::process::id()),
    ];
    let others = [
        ".brain-20261120T100000Z.redb.1-0.brain-backup",
        ".brain-20261320T100000Z.redb.2000000000-0.brain-backup",
        ".by-hand-20261120T100000Z.redb.2000000000-0.brain-backup",
        "brain-20261120T100000Z.redb.2000000000-0.brain-backup",
    ];
    for name in left.iter().map(String::as_str).chain(others) {
        fs::write(lab.place().join(name), "half").unwrap();
    }
    let held = fs::File::open(lab.place().join(&left[1])).unwrap();
    held.try_lock_shared().unwrap();
    assert!(lab.look().unwrap().is_some());
    let there = lab.there();
    assert!(
        !there.contains(&left[0]) && there.contains(&left[1]),
        "one of them is being written: {there:?}"
    );
    // By name: a program that another test is just starting may have a copy of the file for a
    // moment.
    held.unlock().unwrap();
    lab.turn(6 * HOUR);
    assert!(lab.look().unwrap().is_some());
    let there = lab.there();
    assert!(
        !there.contains(&left[1]) && others.iter().all(|name| there.iter().any(|t| t == name)),
        "{there:?}"
    );
}

#[test]
fn a_missed_one_is_made_up_once_after_the_start() {
    let mut lab = Lab::new("every = \"24h\"\n");
    lab.look().unwrap().unwrap();
    lab.brain = None;
    lab.turn(5 * 24 * HOUR);
    lab.reopen();
    assert_eq!(lab.check().status, CheckStatus::Ok, "it has just started");
    assert_eq!(lab.look(), Ok(Some("brain-20261126T100000Z.redb".into())));
    assert_eq!(lab.look(), Ok(None), "once");
    lab.reopen();
    assert_eq!(lab.look(), Ok(None), "a start that missed nothing makes nothing");
    assert_eq!(lab.there().len(), 2);
}

#[test]
fn a_failure_removes_nothing_is_told_and_is_tried_again() {
    let lab = Lab::new("every = \"24h\"\nkeep = 1\n");
    let first = lab.look().unwrap().unwrap();
    let (place, away) = (lab.place(), lab.dir.path().join("away"));
    fs::rename(&place, &away).unwrap();
    lab.turn(24 * HOUR);
    assert_eq!(lab.look(), Err(FaultCode::Io));
    assert!(!place.exists(), "a disk that is not there is not made up for");
    let check = lab.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(check.message.contains(place.to_str().unwrap()), "{check:?}");
    assert_eq!(check.hint.unwrap(), format!("mkdir -p {}", place.display()));
    fs::rename(&away, &place).unwrap();
    assert_eq!(lab.look(), Ok(None), "not every half minute");
    lab.turn(10 * 60 * 1000);
    // Another kind of failure: something has the name that it would get.
    fs::write(place.join("brain-20261122T101000Z.redb"), "somebody's").unwrap();
    assert_eq!(lab.look(), Err(FaultCode::Conflict));
    let check = lab.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(check.hint.unwrap().starts_with(&format!("brain backup {}/by-hand-", place.display())));
    assert_eq!(lab.there(), [first.as_str(), "brain-20261122T101000Z.redb"], "the good one stays");
    lab.turn(10 * 60 * 1000);
    let second = lab.look().unwrap().unwrap();
    assert_eq!(lab.there(), ["brain-20261122T101000Z.redb", second.as_str()]);
    assert_eq!(lab.check().status, CheckStatus::Ok);
}

#[test]
fn one_that_does_not_come_is_noticed() {
    let lab = Lab::new("every = \"24h\"\n");
    lab.look().unwrap().unwrap();
    lab.turn(25 * HOUR);
    assert_eq!(lab.check().status, CheckStatus::Ok, "an hour late is not late");
    lab.turn(1);
    let check = lab.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(
        check.message.contains("overdue") && check.message.contains("2026-11-21T10:00:00"),
        "{check:?}"
    );
}

#[test]
fn a_clock_that_went_back_costs_no_backup() {
    let lab = Lab::new("every = \"1h\"\nkeep = 2\n");
    for _ in 0..2 {
        lab.turn(HOUR);
        lab.look().unwrap().unwrap();
    }
    lab.turn(-1000 * HOUR);
    let check = lab.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(
        check.message.contains("2026-11-21T12:00:00") && check.message.contains("later than now"),
        "{check:?}"
    );
    let made = lab.look().unwrap().expect("files of the future do not keep it from its work");
    assert!(lab.there().contains(&made), "the one just made is never the one to go");
    assert_eq!(lab.check().status, CheckStatus::Ok);
    assert_eq!(lab.there().len(), 2);
}
