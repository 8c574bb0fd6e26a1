//! `sync` of git work trees, with a git that has no network: what is pulled, what is not, and that
//! it is said truly.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use brain_tests::{Daemon, TestHome, run};
use serde_json::{Value, json};

use crate::sync::{assert_changes, get, listed, sync, sync_with, write};

/// git, for the test's own hands.
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(args);
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("LC_ALL", "C");
    run(command, b"").expect(0).stdout.trim().to_owned()
}

fn commit(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "-m", message]);
}

/// Somebody's repository, a clone of it that is the source `notes`, and the daemon.
struct Shared {
    home: TestHome,
    _daemon: Daemon,
    /// A work tree beside, in which somebody else works.
    theirs: PathBuf,
    notes: PathBuf,
}

/// `None`, said loudly, without git.
fn shared() -> Option<Shared> {
    let there = Command::new("git").arg("--version").stdout(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        brain_tests::skip("git is not installed");
        return None;
    }
    let mut home = TestHome::new();
    home.env.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
    let outside = home.outside();
    let (origin, theirs, notes) =
        (outside.join("origin.git"), outside.join("theirs"), outside.join("notes"));
    fs::create_dir_all(&theirs).unwrap();
    git(&outside, &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    git(&theirs, &["init", "-q", "-b", "main"]);
    git(&theirs, &["remote", "add", "origin", origin.to_str().unwrap()]);
    write(&theirs, "one.md", "One.\n");
    write(&theirs, "two.md", "Two.\n");
    commit(&theirs, "first");
    git(&theirs, &["push", "-q", "-u", "origin", "main"]);
    git(&outside, &["clone", "-q", "origin.git", "notes"]);
    let daemon = home.daemon();
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    Some(Shared { home, _daemon: daemon, theirs, notes })
}

impl Shared {
    fn they_push(&self, name: &str, text: &str) {
        write(&self.theirs, name, text);
        commit(&self.theirs, name);
        git(&self.theirs, &["push", "-q"]);
    }

    fn head(&self) -> String {
        git(&self.notes, &["rev-parse", "HEAD"])
    }
}

fn pull(report: &Value) -> (&str, &str) {
    (
        report["pull"]["status"].as_str().unwrap(),
        report["pull"]["message"].as_str().unwrap_or_default(),
    )
}

#[test]
fn what_others_pushed_is_pulled_and_taken_in() {
    let Some(shared) = shared() else { return };
    let home = &shared.home;
    let report = sync(home);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull(&report).0, "up_to_date");
    let before = shared.head();
    shared.they_push("three.md", "Three, from them.\n");
    fs::remove_file(shared.theirs.join("one.md")).unwrap();
    fs::rename(shared.theirs.join("two.md"), shared.theirs.join("Second.md")).unwrap();
    commit(&shared.theirs, "more");
    git(&shared.theirs, &["push", "-q"]);
    // Neither of these asks anybody.
    let dry = sync_with(home, &["--dry-run"], 0);
    assert_changes(&dry, &[]);
    assert_eq!((pull(&dry).0, shared.head()), ("skipped", before.clone()));
    assert_eq!(git(&shared.notes, &["rev-parse", "origin/main"]), before, "nothing was fetched");
    let local = sync_with(home, &["--no-pull"], 0);
    assert_changes(&local, &[]);
    assert_eq!((pull(&local).0, shared.head()), ("skipped", before.clone()));

    let report = sync(home);
    assert_changes(&report, &[("added", 1), ("removed", 1), ("renamed", 1)]);
    assert_eq!(
        pull(&report),
        ("updated", format!("{}..{}", &before[..8], &shared.head()[..8]).as_str())
    );
    assert_eq!(listed(home), ["second", "three"]);
    // What git does not know of is taken in all the same.
    write(&shared.notes, "mine.md", "Not committed.\n");
    write(&shared.notes, ".gitignore", "ignored.md\n");
    write(&shared.notes, "ignored.md", "Not even looked at by git.\n");
    let report = sync(home);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull(&report).0, "up_to_date");
    assert_eq!(git(&shared.notes, &["status", "--porcelain"]), "?? .gitignore\n?? mine.md");
    let row = &home.json(["sources", "list"])["sources"][1];
    assert_eq!((&row["git"], &row["problem"]), (&json!(true), &Value::Null));
}

#[test]
fn a_branch_switched_between_two_syncs_is_just_other_files() {
    let Some(shared) = shared() else { return };
    let home = &shared.home;
    sync(home);
    git(&shared.notes, &["checkout", "-q", "-b", "draft"]);
    write(&shared.notes, "one.md", "One, as a draft.\n");
    fs::remove_file(shared.notes.join("two.md")).unwrap();
    write(&shared.notes, "only-here.md", "On the draft only.\n");
    commit(&shared.notes, "draft");
    let report = sync(home);
    assert_changes(&report, &[("added", 1), ("updated", 1), ("removed", 1)]);
    assert_eq!(pull(&report), ("skipped", "the branch draft has no upstream"));
    git(&shared.notes, &["checkout", "-q", "main"]);
    let report = sync(home);
    assert_changes(&report, &[("removed", 1), ("updated", 1), ("restored", 1)]);
    assert_eq!(
        (listed(home), &get(home, "one")["body"]),
        (vec!["one".to_owned(), "two".to_owned()], &json!("One.\n"))
    );
    git(&shared.notes, &["checkout", "-q", "--detach"]);
    let report = sync(home);
    assert_changes(&report, &[]);
    assert_eq!(pull(&report).0, "skipped");
    assert!(pull(&report).1.contains("detached"), "{report}");
}

#[test]
fn a_pull_that_is_refused_is_told_and_local_files_are_taken_in() {
    let Some(shared) = shared() else { return };
    let home = &shared.home;
    sync(home);
    shared.they_push("theirs.md", "Theirs.\n");
    write(&shared.notes, "ours.md", "Ours.\n");
    commit(&shared.notes, "ours");
    let before = shared.head();
    let report = sync_with(home, &[], 1);
    assert_changes(&report, &[("added", 1)]);
    assert_eq!((&report["status"], pull(&report).0), (&json!("partial"), "failed"));
    assert!(pull(&report).1.to_lowercase().contains("fast-forward"), "{report}");
    assert_eq!(
        (shared.head(), listed(home)),
        (before, vec!["one".to_owned(), "ours".into(), "two".into()])
    );
    assert!(git(&shared.notes, &["status", "--porcelain"]).is_empty());
    let plain = home.brain(["sync", "--source", "notes"]).expect(1);
    assert!(plain.stderr.contains("git pull"), "{plain:?}");
    let problem = home.json(["sources", "list"])["sources"][1]["problem"].clone();
    assert!(problem.as_str().unwrap().contains("git pull"), "{problem}");

    // A change in the work tree that the pull would overwrite.
    git(&shared.notes, &["reset", "-q", "--hard", "HEAD~1"]);
    shared.they_push("one.md", "One, theirs.\n");
    write(&shared.notes, "one.md", "One, not committed.\n");
    let report = sync_with(home, &[], 1);
    assert_eq!(pull(&report).0, "failed");
    assert_eq!(get(home, "one")["body"], "One, not committed.\n");
    assert_eq!(fs::read_to_string(shared.notes.join("one.md")).unwrap(), "One, not committed.\n");
}

#[test]
fn a_remote_that_is_not_there_names_no_password() {
    let Some(shared) = shared() else { return };
    let home = &shared.home;
    let gone = home.outside().join("no/such/place.git");
    git(&shared.notes, &["remote", "set-url", "origin", gone.to_str().unwrap()]);
    let report = sync_with(home, &[], 1);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!((&report["status"], pull(&report).0), (&json!("partial"), "failed"));
    assert!(pull(&report).1.contains("no/such/place.git"), "{report}");
    // Nobody listens on that port: refused at once.
    git(&shared.notes, &["remote", "set-url", "origin", "http://me:s3cret@127.0.0.1:1/x.git"]);
    let run = home.brain(["sync", "--source", "notes", "--json"]).expect(1);
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run:?}");
    assert_eq!(pull(&run.json()["sources"][0]).0, "failed");
    assert!(!home.log().contains("s3cret"), "nor in the log");
}

#[test]
fn without_the_git_program_local_files_are_taken_in() {
    let Some(shared) = shared() else { return };
    let Shared { mut home, _daemon: daemon, notes, .. } = shared;
    let _ = daemon.terminate();
    let empty = home.outside().join("empty");
    fs::create_dir_all(&empty).unwrap();
    home.env.push(("PATH".into(), empty.display().to_string()));
    let _daemon = home.daemon();
    let report = sync_with(&home, &[], 1);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull(&report), ("failed", "the program git is not there"));
    assert!(notes.join("one.md").exists());
}

#[test]
fn a_repository_within_is_read_and_not_pulled() {
    let Some(shared) = shared() else { return };
    let (home, outside) = (&shared.home, shared.home.outside());
    git(&outside, &["clone", "-q", "origin.git", "notes/vendor"]);
    shared.they_push("three.md", "Three.\n");
    let report = sync(home);
    assert_changes(&report, &[("added", 5)]);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("vendor") && warnings.contains("not pulled"), "{report}");
    assert_eq!(listed(home), ["one", "three", "two", "vendor/one", "vendor/two"]);
    let plain = home.brain(["sync", "--source", "notes"]).expect(0);
    assert!(plain.stderr.contains("vendor"), "{plain:?}");
}

#[test]
fn a_directory_in_a_work_tree_pulls_it_if_the_work_tree_has_its_files() {
    let Some(shared) = shared() else { return };
    let home = &shared.home;
    shared.they_push("docs/plan.md", "Plan.\n");
    git(&shared.notes, &["pull", "-q"]);
    home.json(["sources", "remove", "notes", "--yes"]);
    home.json(["sources", "add", "notes", "--path", shared.notes.join("docs").to_str().unwrap()]);
    shared.they_push("docs/more.md", "More.\n");
    let report = sync(home);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull(&report).0, "updated");
    // One that git knows nothing of is no reason to pull everything around it.
    let private = shared.notes.join("private");
    write(&private, "diary.md", "Dear diary.\n");
    home.json(["sources", "remove", "notes", "--yes"]);
    home.json(["sources", "add", "notes", "--path", private.to_str().unwrap()]);
    shared.they_push("docs/again.md", "Again.\n");
    let before = shared.head();
    let report = sync(home);
    assert_eq!(
        (pull(&report).0, shared.head(), listed(home)),
        ("skipped", before, vec!["diary".to_owned()])
    );
}

#[test]
fn the_variables_of_a_hook_lead_to_no_other_repository() {
    let Some(shared) = shared() else { return };
    let Shared { mut home, _daemon: daemon, theirs, notes } = shared;
    let _ = daemon.terminate();
    home.env.push(("GIT_DIR".into(), theirs.join(".git").display().to_string()));
    home.env.push(("GIT_WORK_TREE".into(), theirs.display().to_string()));
    let _daemon = home.daemon();
    write(&theirs, "three.md", "Three.\n");
    commit(&theirs, "three");
    git(&theirs, &["push", "-q"]);
    let report = sync(&home);
    assert_changes(&report, &[("added", 3)]);
    assert_eq!(pull(&report).0, "updated");
    assert_eq!(git(&notes, &["rev-parse", "HEAD"]), git(&theirs, &["rev-parse", "HEAD"]));
}

#[test]
fn a_repository_that_names_a_program_is_pulled_once_its_owner_approved_it() {
    let Some(shared) = shared() else { return };
    let Shared { home, _daemon: daemon, theirs, notes } = shared;
    let ran = home.outside().join("ran");
    git(&notes, &["config", "filter.x.smudge", &format!("touch '{}'; cat", ran.display())]);
    write(&theirs, ".gitattributes", "*.md filter=x\n");
    write(&theirs, "three.md", "Three.\n");
    commit(&theirs, "three");
    git(&theirs, &["push", "-q"]);

    let report = sync_with(&home, &[], 1);
    assert_changes(&report, &[("added", 2)]);
    let (status, why) = pull(&report);
    assert_eq!(status, "failed");
    assert!(why.contains("filter.x.smudge") && why.contains("sources.git_approved"), "{why}");
    assert!(!ran.exists() && !notes.join("three.md").exists());
    let fingerprint = why.split('"').nth(1).unwrap().to_owned();
    // A word of a human, in the file that only the owner writes.
    drop(daemon);
    let config = format!("[sources]\ngit_approved = [\"{fingerprint}\"]\n");
    fs::write(home.path().join("config.toml"), config).unwrap();
    let _daemon = home.daemon();
    let report = sync(&home);
    assert_changes(&report, &[("added", 1)]);
    assert_eq!(pull(&report).0, "updated");
    assert!(ran.exists());
    // And not what somebody adds to it later.
    fs::remove_file(&ran).unwrap();
    git(&notes, &["config", "core.fsmonitor", &format!("touch '{}'", ran.display())]);
    let report = sync_with(&home, &[], 1);
    assert!(pull(&report).1.contains("core.fsmonitor"), "{report}");
    assert!(!ran.exists());
}
