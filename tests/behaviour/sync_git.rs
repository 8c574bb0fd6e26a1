//! `sync` of git work trees, with local remotes: which changes are pulled, and how a pull is
//! reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use brain_tests::{Daemon, TestHome, run};
use serde_json::{Value, json};

use crate::sync::{assert_changes, get_note, listed_slugs, sync, sync_with, write};

/// Runs git in `dir` with a test author. Returns its trimmed output.
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

/// A remote repository, its clone as the source `notes`, and the daemon.
struct GitFixture {
    home: TestHome,
    _daemon: Daemon,
    /// The work tree of another author.
    theirs: PathBuf,
    notes: PathBuf,
}

/// Creates the fixture. Returns `None` and prints a notice if git is not installed.
fn git_fixture() -> Option<GitFixture> {
    if !brain_tests::has_program("git") {
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
    Some(GitFixture { home, _daemon: daemon, theirs, notes })
}

impl GitFixture {
    fn push_as_other_author(&self, name: &str, text: &str) {
        write(&self.theirs, name, text);
        commit(&self.theirs, name);
        git(&self.theirs, &["push", "-q"]);
    }

    fn head(&self) -> String {
        git(&self.notes, &["rev-parse", "HEAD"])
    }
}

/// Returns the status and the message of the pull.
fn pull_result(report: &Value) -> (&str, &str) {
    (
        report["pull"]["status"].as_str().unwrap(),
        report["pull"]["message"].as_str().unwrap_or_default(),
    )
}

#[test]
fn pushed_changes_are_pulled_and_synced() {
    let Some(fixture) = git_fixture() else { return };
    let home = &fixture.home;
    let report = sync(home);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull_result(&report).0, "up_to_date");
    let before = fixture.head();
    fixture.push_as_other_author("three.md", "Three, from them.\n");
    fs::remove_file(fixture.theirs.join("one.md")).unwrap();
    fs::rename(fixture.theirs.join("two.md"), fixture.theirs.join("Second.md")).unwrap();
    commit(&fixture.theirs, "more");
    git(&fixture.theirs, &["push", "-q"]);
    // Neither of these runs contacts the remote.
    let dry = sync_with(home, &["--dry-run"], 0);
    assert_changes(&dry, &[]);
    assert_eq!((pull_result(&dry).0, fixture.head()), ("skipped", before.clone()));
    assert_eq!(git(&fixture.notes, &["rev-parse", "origin/main"]), before, "nothing was fetched");
    let local = sync_with(home, &["--no-pull"], 0);
    assert_changes(&local, &[]);
    assert_eq!((pull_result(&local).0, fixture.head()), ("skipped", before.clone()));

    let report = sync(home);
    assert_changes(&report, &[("added", 1), ("removed", 1), ("renamed", 1)]);
    assert_eq!(
        pull_result(&report),
        ("updated", format!("{}..{}", &before[..8], &fixture.head()[..8]).as_str())
    );
    assert_eq!(listed_slugs(home), ["second", "three"]);
    // Untracked files are synced, too; files that git ignores are not.
    write(&fixture.notes, "mine.md", "Not committed.\n");
    write(&fixture.notes, ".gitignore", "ignored.md\n");
    write(&fixture.notes, "ignored.md", "Ignored by git.\n");
    let report = sync(home);
    assert_changes(&report, &[("added", 1)]);
    assert_eq!(report["left_out"]["paths"], json!(["ignored.md"]));
    assert_eq!(pull_result(&report).0, "up_to_date");
    assert_eq!(git(&fixture.notes, &["status", "--porcelain"]), "?? .gitignore\n?? mine.md");
    let row = &home.json(["sources", "list"])["sources"][1];
    assert_eq!((&row["git"], &row["problem"]), (&json!(true), &Value::Null));
}

#[test]
fn a_switch_of_branches_changes_pages_like_files() {
    let Some(fixture) = git_fixture() else { return };
    let home = &fixture.home;
    sync(home);
    git(&fixture.notes, &["checkout", "-q", "-b", "draft"]);
    write(&fixture.notes, "one.md", "One, as a draft.\n");
    fs::remove_file(fixture.notes.join("two.md")).unwrap();
    write(&fixture.notes, "only-here.md", "On the draft only.\n");
    commit(&fixture.notes, "draft");
    let report = sync(home);
    assert_changes(&report, &[("added", 1), ("updated", 1), ("removed", 1)]);
    assert_eq!(pull_result(&report), ("skipped", "the branch draft has no upstream"));
    git(&fixture.notes, &["checkout", "-q", "main"]);
    let report = sync(home);
    assert_changes(&report, &[("removed", 1), ("updated", 1), ("restored", 1)]);
    assert_eq!(
        (listed_slugs(home), &get_note(home, "one")["body"]),
        (vec!["one".to_owned(), "two".to_owned()], &json!("One.\n"))
    );
    git(&fixture.notes, &["checkout", "-q", "--detach"]);
    let report = sync(home);
    assert_changes(&report, &[]);
    assert_eq!(pull_result(&report).0, "skipped");
    assert!(pull_result(&report).1.contains("detached"), "{report}");
}

#[test]
fn a_failed_pull_is_reported_and_local_files_are_synced() {
    let Some(fixture) = git_fixture() else { return };
    let home = &fixture.home;
    sync(home);
    fixture.push_as_other_author("theirs.md", "Theirs.\n");
    write(&fixture.notes, "ours.md", "Ours.\n");
    commit(&fixture.notes, "ours");
    let before = fixture.head();
    let report = sync_with(home, &[], 1);
    assert_changes(&report, &[("added", 1)]);
    assert_eq!((&report["status"], pull_result(&report).0), (&json!("partial"), "failed"));
    assert!(pull_result(&report).1.to_lowercase().contains("fast-forward"), "{report}");
    assert_eq!(
        (fixture.head(), listed_slugs(home)),
        (before, vec!["one".to_owned(), "ours".into(), "two".into()])
    );
    assert!(git(&fixture.notes, &["status", "--porcelain"]).is_empty());
    let plain = home.brain(["sync", "--source", "notes"]).expect(1);
    assert!(plain.stderr.contains("git pull"), "{plain:?}");
    let problem = home.json(["sources", "list"])["sources"][1]["problem"].clone();
    assert!(problem.as_str().unwrap().contains("git pull"), "{problem}");

    // The pull would overwrite a change in the work tree.
    git(&fixture.notes, &["reset", "-q", "--hard", "HEAD~1"]);
    fixture.push_as_other_author("one.md", "One, theirs.\n");
    write(&fixture.notes, "one.md", "One, not committed.\n");
    let report = sync_with(home, &[], 1);
    assert_eq!(pull_result(&report).0, "failed");
    assert_eq!(get_note(home, "one")["body"], "One, not committed.\n");
    assert_eq!(fs::read_to_string(fixture.notes.join("one.md")).unwrap(), "One, not committed.\n");
}

#[test]
fn the_error_of_a_missing_remote_hides_its_password() {
    let Some(fixture) = git_fixture() else { return };
    let home = &fixture.home;
    let missing = home.outside().join("no/such/place.git");
    git(&fixture.notes, &["remote", "set-url", "origin", missing.to_str().unwrap()]);
    let report = sync_with(home, &[], 1);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!((&report["status"], pull_result(&report).0), (&json!("partial"), "failed"));
    assert!(pull_result(&report).1.contains("no/such/place.git"), "{report}");
    // No server listens on that port, so the connection is refused at once.
    git(&fixture.notes, &["remote", "set-url", "origin", "http://me:s3cret@127.0.0.1:1/x.git"]);
    let run = home.brain(["sync", "--source", "notes", "--json"]).expect(1);
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run:?}");
    assert_eq!(pull_result(&run.json()["sources"][0]).0, "failed");
    assert!(!home.log().contains("s3cret"), "the log does not contain the password");
}

#[test]
fn without_the_git_program_local_files_are_synced() {
    let Some(fixture) = git_fixture() else { return };
    let GitFixture { mut home, _daemon: daemon, notes, .. } = fixture;
    let _ = daemon.terminate();
    let empty = home.outside().join("empty");
    fs::create_dir_all(&empty).unwrap();
    home.env.push(("PATH".into(), empty.display().to_string()));
    let _daemon = home.daemon();
    let report = sync_with(&home, &[], 1);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull_result(&report), ("failed", "the program git is not installed"));
    assert!(notes.join("one.md").exists());
}

#[test]
fn a_nested_repository_is_read_and_not_pulled() {
    let Some(fixture) = git_fixture() else { return };
    let (home, outside) = (&fixture.home, fixture.home.outside());
    git(&outside, &["clone", "-q", "origin.git", "notes/vendor"]);
    fixture.push_as_other_author("three.md", "Three.\n");
    let report = sync(home);
    assert_changes(&report, &[("added", 5)]);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("vendor") && warnings.contains("not pulled"), "{report}");
    assert_eq!(listed_slugs(home), ["one", "three", "two", "vendor/one", "vendor/two"]);
    let plain = home.brain(["sync", "--source", "notes"]).expect(0);
    assert!(plain.stderr.contains("vendor"), "{plain:?}");
}

#[test]
fn a_directory_pulls_the_work_tree_that_tracks_its_files() {
    let Some(fixture) = git_fixture() else { return };
    let home = &fixture.home;
    fixture.push_as_other_author("docs/plan.md", "Plan.\n");
    git(&fixture.notes, &["pull", "-q"]);
    home.json(["sources", "remove", "notes", "--yes"]);
    home.json(["sources", "add", "notes", "--path", fixture.notes.join("docs").to_str().unwrap()]);
    fixture.push_as_other_author("docs/more.md", "More.\n");
    let report = sync(home);
    assert_changes(&report, &[("added", 2)]);
    assert_eq!(pull_result(&report).0, "updated");
    // An untracked directory does not pull the work tree around it.
    let private = fixture.notes.join("private");
    write(&private, "diary.md", "Dear diary.\n");
    home.json(["sources", "remove", "notes", "--yes"]);
    home.json(["sources", "add", "notes", "--path", private.to_str().unwrap()]);
    fixture.push_as_other_author("docs/again.md", "Again.\n");
    let before = fixture.head();
    let report = sync(home);
    assert_eq!(
        (pull_result(&report).0, fixture.head(), listed_slugs(home)),
        ("skipped", before, vec!["diary".to_owned()])
    );
}

#[test]
fn git_variables_of_a_hook_do_not_change_the_repository() {
    let Some(fixture) = git_fixture() else { return };
    let GitFixture { mut home, _daemon: daemon, theirs, notes } = fixture;
    let _ = daemon.terminate();
    home.env.push(("GIT_DIR".into(), theirs.join(".git").display().to_string()));
    home.env.push(("GIT_WORK_TREE".into(), theirs.display().to_string()));
    let _daemon = home.daemon();
    write(&theirs, "three.md", "Three.\n");
    commit(&theirs, "three");
    git(&theirs, &["push", "-q"]);
    let report = sync(&home);
    assert_changes(&report, &[("added", 3)]);
    assert_eq!(pull_result(&report).0, "updated");
    assert_eq!(git(&notes, &["rev-parse", "HEAD"]), git(&theirs, &["rev-parse", "HEAD"]));
}

#[test]
fn a_repository_that_names_a_program_needs_the_owners_approval() {
    let Some(fixture) = git_fixture() else { return };
    let GitFixture { home, _daemon: daemon, theirs, notes } = fixture;
    let output = home.outside().join("output");
    git(&notes, &["config", "filter.x.smudge", &format!("touch '{}'; cat", output.display())]);
    write(&theirs, ".gitattributes", "*.md filter=x\n");
    write(&theirs, "three.md", "Three.\n");
    commit(&theirs, "three");
    git(&theirs, &["push", "-q"]);

    let report = sync_with(&home, &[], 1);
    assert_changes(&report, &[("added", 2)]);
    let (status, message) = pull_result(&report);
    assert_eq!(status, "failed");
    assert!(
        message.contains("filter.x.smudge") && message.contains("sources.git_approved"),
        "{message}"
    );
    assert!(!output.exists() && !notes.join("three.md").exists());
    let fingerprint = message.split('"').nth(1).unwrap().to_owned();
    // The owner approves the configuration in a file that only the owner can write.
    drop(daemon);
    let config = format!("[sources]\ngit_approved = [\"{fingerprint}\"]\n");
    fs::write(home.path().join("config.toml"), config).unwrap();
    let _daemon = home.daemon();
    let report = sync(&home);
    assert_changes(&report, &[("added", 1)]);
    assert_eq!(pull_result(&report).0, "updated");
    assert!(output.exists());
    // The approval does not cover later changes of the configuration.
    fs::remove_file(&output).unwrap();
    git(&notes, &["config", "core.fsmonitor", &format!("touch '{}'", output.display())]);
    let report = sync_with(&home, &[], 1);
    assert!(pull_result(&report).1.contains("core.fsmonitor"), "{report}");
    assert!(!output.exists());
}
