//! Scheduled backups with a mock clock, a real brain and real files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_core::{Brain, NoProgress};
use brain_protocol::{
    BackupList, BackupVerify, Capture, Check, CheckStatus, Doctor, Fault, FaultCode, Origin, Reply,
    Request,
};
use brain_tests::expect_reply;

use crate::mock_clock::{HOUR, MockClock};

/// A brain with scheduled backups and a mock clock.
struct Fixture {
    dir: tempfile::TempDir,
    clock: MockClock,
    brain: Option<Arc<Brain>>,
    new_store_id: u64,
}

impl Fixture {
    /// Opens a brain with the backup directory `backups` beside its home.
    fn new(settings: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = MockClock::at("2026-11-21T10:00:00Z");
        let mut fixture = Self { dir, clock, brain: None, new_store_id: 7 };
        fs::create_dir_all(fixture.backup_dir()).unwrap();
        fs::create_dir_all(fixture.dir.path().join("home")).unwrap();
        let config =
            format!("[backup]\ndir = {:?}\n{settings}", fixture.backup_dir().to_str().unwrap());
        fs::write(fixture.dir.path().join("home/config.toml"), config).unwrap();
        fixture.reopen();
        fixture
    }

    fn backup_dir(&self) -> PathBuf {
        self.dir.path().join("backups")
    }

    fn reopen(&mut self) {
        self.brain = None;
        self.brain = Some(self.clock.open_brain(self.dir.path(), self.new_store_id));
    }

    fn advance(&self, ms: i64) {
        self.clock.advance(ms);
    }

    fn answer(&self, request: Request) -> Result<Reply, Fault> {
        self.brain.as_ref().unwrap().answer(&Caller::local(0), request, &NoProgress)
    }

    fn capture(&self, text: &str) {
        let (content, origin) = (text.into(), Origin::Argument);
        let (source, slug, page_type, title, tags) = (None, None, None, None, Vec::new());
        self.answer(Request::Capture(Capture {
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

    /// Makes a backup if one is due, as the timer does. Returns its name.
    fn run_due(&self) -> Result<Option<String>, FaultCode> {
        let made = self.brain.as_ref().unwrap().backup.backup_due().map_err(|fault| fault.code)?;
        Ok(made.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()))
    }

    fn backup_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.backup_dir()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn check(&self) -> Check {
        let reply = expect_reply!(self.answer(Request::Doctor(Doctor { fix: false })), Doctor);
        reply.checks.into_iter().find(|check| check.name == "backup").unwrap()
    }

    fn pages_in(&self, name: &str) -> u64 {
        let path = self.backup_dir().join(name).to_str().unwrap().to_owned();
        let reply = self.answer(Request::BackupVerify(BackupVerify { path }));
        let reply = expect_reply!(reply, Backup);
        reply.pages
    }
}

#[test]
fn due_backups_are_made_and_the_oldest_removed() {
    let fixture = Fixture::new("every = \"6h\"\nkeep = 3\n");
    assert_eq!(fixture.check().status, CheckStatus::Ok, "the first backup is due now");
    fixture.capture("one");
    assert_eq!(fixture.run_due(), Ok(Some("brain-20261121T100000Z.redb".into())));
    assert_eq!(fixture.run_due(), Ok(None), "the next backup is not due");
    fixture.capture("two");
    fixture.advance(6 * HOUR - 1);
    assert_eq!(fixture.run_due(), Ok(None), "no backup before it is due");
    fixture.advance(1);
    assert_eq!(fixture.run_due(), Ok(Some("brain-20261121T160000Z.redb".into())));
    assert_eq!(fixture.pages_in("brain-20261121T160000Z.redb"), 2);
    for _ in 0..3 {
        fixture.advance(6 * HOUR);
        assert!(fixture.run_due().unwrap().is_some());
    }
    let kept = [
        "brain-20261121T220000Z.redb",
        "brain-20261122T040000Z.redb",
        "brain-20261122T100000Z.redb",
    ];
    assert_eq!(fixture.backup_names(), kept);
    let Reply::BackupList(listed) = fixture.answer(Request::BackupList(BackupList)).unwrap() else {
        panic!("no list")
    };
    let newest_first: Vec<&str> =
        listed.backups.iter().filter_map(|file| file.path.rsplit('/').next()).collect();
    assert_eq!(newest_first, kept.iter().rev().copied().collect::<Vec<_>>());
    assert!(listed.backups.iter().all(|file| file.bytes > 0 && file.made_at.ends_with("00.000Z")));
    assert_eq!(fixture.check().status, CheckStatus::Ok);
}

#[test]
fn without_a_directory_no_backups_are_made() {
    let mut fixture = Fixture::new("");
    let made = fixture.run_due().unwrap().unwrap();
    fs::write(fixture.dir.path().join("home/config.toml"), "").unwrap();
    fixture.reopen();
    fixture.advance(1000 * HOUR);
    assert_eq!(fixture.run_due(), Ok(None));
    assert_eq!(fixture.backup_names(), [made]);
    assert_eq!(fixture.check().status, CheckStatus::Ok);
}

#[test]
fn only_own_backups_are_removed() {
    let fixture = Fixture::new("every = \"1h\"\nkeep = 1\n");
    let other = Fixture::new("");
    other.brain.as_ref().unwrap().backup.backup_due().unwrap();
    // A backup of another brain, files with similar names, and files made by hand.
    let mut other_brain = Fixture::new("");
    other_brain.new_store_id = 8;
    other_brain.brain = None;
    fs::remove_dir_all(other_brain.dir.path().join("home/index")).unwrap();
    fs::remove_file(other_brain.dir.path().join("home/brain.redb")).unwrap();
    other_brain.reopen();
    let other_backup = other_brain.run_due().unwrap().unwrap();
    fs::copy(
        other_brain.backup_dir().join(other_backup),
        fixture.backup_dir().join("brain-20260101T000000Z.redb"),
    )
    .unwrap();
    fs::write(fixture.backup_dir().join("brain-20260102T000000Z.redb"), "no store at all").unwrap();
    fs::create_dir(fixture.backup_dir().join("brain-20260103T000000Z.redb")).unwrap();
    let first = fixture.run_due().unwrap().unwrap();
    fs::copy(fixture.backup_dir().join(&first), fixture.backup_dir().join("before-the-move.redb"))
        .unwrap();
    fs::copy(
        fixture.backup_dir().join(&first),
        fixture.backup_dir().join("brain-20261121T100000Z.redb.old"),
    )
    .unwrap();
    fixture.advance(HOUR);
    let second = fixture.run_due().unwrap().unwrap();
    let mut expected = vec![
        "before-the-move.redb".to_owned(),
        "brain-20260101T000000Z.redb".into(),
        "brain-20260102T000000Z.redb".into(),
        "brain-20260103T000000Z.redb".into(),
        "brain-20261121T100000Z.redb.old".into(),
        second,
    ];
    expected.sort();
    assert_eq!(fixture.backup_names(), expected, "{first} is gone and nothing else");
}

#[test]
fn leftovers_of_killed_backups_are_removed() {
    let fixture = Fixture::new("every = \"6h\"");
    // The first process id exceeds the kernel's limit, so no process has it. The second is this
    // process.
    let leftovers = [
        ".brain-20261120T100000Z.redb.2000000000-0.brain-backup".to_owned(),
        format!(".brain-20261119T100000Z.redb.{}-3.brain-backup", std::process::id()),
    ];
    let others = [
        ".brain-20261120T100000Z.redb.1-0.brain-backup",
        ".brain-20261320T100000Z.redb.2000000000-0.brain-backup",
        ".by-hand-20261120T100000Z.redb.2000000000-0.brain-backup",
        "brain-20261120T100000Z.redb.2000000000-0.brain-backup",
    ];
    for name in leftovers.iter().map(String::as_str).chain(others) {
        fs::write(fixture.backup_dir().join(name), "half").unwrap();
    }
    let locked_file = fs::File::open(fixture.backup_dir().join(&leftovers[1])).unwrap();
    locked_file.try_lock_shared().unwrap();
    assert!(fixture.run_due().unwrap().is_some());
    let backup_names = fixture.backup_names();
    assert!(
        !backup_names.contains(&leftovers[0]) && backup_names.contains(&leftovers[1]),
        "the second file is locked, as if it was being written: {backup_names:?}"
    );
    // Compare names: a program started by another test may briefly hold a copy of the descriptor.
    locked_file.unlock().unwrap();
    fixture.advance(6 * HOUR);
    assert!(fixture.run_due().unwrap().is_some());
    let backup_names = fixture.backup_names();
    assert!(
        !backup_names.contains(&leftovers[1])
            && others.iter().all(|name| backup_names.iter().any(|t| t == name)),
        "{backup_names:?}"
    );
}

#[test]
fn a_missed_backup_is_made_once_after_start() {
    let mut fixture = Fixture::new("every = \"24h\"\n");
    fixture.run_due().unwrap().unwrap();
    fixture.brain = None;
    fixture.advance(5 * 24 * HOUR);
    fixture.reopen();
    assert_eq!(fixture.check().status, CheckStatus::Ok, "no warning just after a start");
    assert_eq!(fixture.run_due(), Ok(Some("brain-20261126T100000Z.redb".into())));
    assert_eq!(fixture.run_due(), Ok(None), "a missed backup is made once");
    fixture.reopen();
    assert_eq!(fixture.run_due(), Ok(None), "a restart makes no backup if none was missed");
    assert_eq!(fixture.backup_names().len(), 2);
}

#[test]
fn failed_backups_are_reported_and_retried() {
    let fixture = Fixture::new("every = \"24h\"\nkeep = 1\n");
    let first = fixture.run_due().unwrap().unwrap();
    let (backup_dir, away) = (fixture.backup_dir(), fixture.dir.path().join("away"));
    fs::rename(&backup_dir, &away).unwrap();
    fixture.advance(24 * HOUR);
    assert_eq!(fixture.run_due(), Err(FaultCode::Io));
    assert!(!backup_dir.exists(), "the missing backup directory is not created");
    let check = fixture.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(check.message.contains(backup_dir.to_str().unwrap()), "{check:?}");
    assert_eq!(check.hint.unwrap().to_string(), format!("mkdir -p {}", backup_dir.display()));
    fs::rename(&away, &backup_dir).unwrap();
    assert_eq!(fixture.run_due(), Ok(None), "no retry within 10 minutes");
    fixture.advance(10 * 60 * 1000);
    // Another failure: a file already has the name of the backup.
    fs::write(backup_dir.join("brain-20261122T101000Z.redb"), "somebody's").unwrap();
    assert_eq!(fixture.run_due(), Err(FaultCode::Conflict));
    let check = fixture.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(
        check
            .hint
            .unwrap()
            .to_string()
            .starts_with(&format!("brain backup create {}/by-hand-", backup_dir.display()))
    );
    assert_eq!(
        fixture.backup_names(),
        [first.as_str(), "brain-20261122T101000Z.redb"],
        "the intact backup stays"
    );
    fixture.advance(10 * 60 * 1000);
    let second = fixture.run_due().unwrap().unwrap();
    assert_eq!(fixture.backup_names(), ["brain-20261122T101000Z.redb", second.as_str()]);
    assert_eq!(fixture.check().status, CheckStatus::Ok);
}

#[test]
fn the_doctor_warns_of_overdue_backups() {
    let fixture = Fixture::new("every = \"24h\"\n");
    fixture.run_due().unwrap().unwrap();
    fixture.advance(25 * HOUR);
    assert_eq!(fixture.check().status, CheckStatus::Ok, "a delay of an hour is no warning");
    fixture.advance(1);
    let check = fixture.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(
        check.message.contains("overdue") && check.message.contains("2026-11-21T10:00:00"),
        "{check:?}"
    );
}

#[test]
fn backups_continue_after_the_clock_goes_back() {
    let fixture = Fixture::new("every = \"1h\"\nkeep = 2\n");
    for _ in 0..2 {
        fixture.advance(HOUR);
        fixture.run_due().unwrap().unwrap();
    }
    fixture.advance(-1000 * HOUR);
    let check = fixture.check();
    assert_eq!(check.status, CheckStatus::Warn);
    assert!(
        check.message.contains("2026-11-21T12:00:00") && check.message.contains("in the future"),
        "{check:?}"
    );
    let made = fixture.run_due().unwrap().expect("files with a future date prevent a backup");
    assert!(fixture.backup_names().contains(&made), "the newest backup is never removed");
    assert_eq!(fixture.check().status, CheckStatus::Ok);
    assert_eq!(fixture.backup_names().len(), 2);
}
