//! The rules of `sync`: which files are refused, which changes win, which removals wait for a
//! confirmation, and the report of a dry run.

use std::fs;
use std::sync::Arc;

use brain_base::caller::Caller;
use brain_base::clock::SystemClock;
use brain_base::home::Home;
use brain_config::Config;
use brain_core::{Brain, NoProgress, Progress};
use brain_protocol::{FaultCode, Reply, Request, SourceAdd, SourceId, Sync};
use brain_tests::{TestHome, texts};
use serde_json::{Value, json};

use crate::sync::{
    assert_changes, bytes_below, changes, get_note, home_with_notes, listed_slugs, reasons, sync,
    sync_with, write,
};

#[test]
fn bad_files_are_reported_until_they_are_corrected() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "good.md", "Good.\n");
    write(&notes, "yaml.md", "Fine at first.\n");
    sync(&home);
    write(&notes, "yaml.md", "---\nfine: 1\nbroken: [1, 2\n---\nx\n");
    write(&notes, "nul.md", b"a\0b");
    write(&notes, "latin1.md", b"caf\xe9");
    write(&notes, "large.md", vec![b'x'; 5_000_001]);
    write(&notes, "late.md", "The rest goes on.\n");
    write(&notes, "good.md", "");
    let assert_failures = |report: &Value| {
        let reasons = reasons(report);
        for (path, part) in [
            ("yaml.md", "line "),
            ("yaml.md", "column "),
            ("nul.md", "NUL byte at byte 1"),
            ("latin1.md", "invalid UTF-8 at byte 3"),
            ("large.md", "5000001"),
            ("good.md", "empty"),
        ] {
            assert!(
                reasons.get(path).is_some_and(|reason| reason.contains(part)),
                "{path}: {part} is not in {reasons:?}"
            );
        }
        assert_eq!((reasons.len(), &report["status"]), (5, &json!("partial")));
    };
    let first = sync_with(&home, &[], 1);
    assert_failures(&first);
    assert_eq!(first["added"], 1);
    // The existing pages are unchanged.
    assert_eq!(
        (&get_note(&home, "yaml")["body"], &get_note(&home, "good")["body"]),
        (&json!("Fine at first.\n"), &json!("Good.\n"))
    );
    assert_failures(&sync_with(&home, &[], 1));
    assert_failures(&sync_with(&home, &["--full"], 1));
    // A file that could not be synced is not overwritten.
    let put = home.json_with(["put", "yaml", "--source", "notes"], b"From here.\n");
    assert_eq!(put["written"], false);
    assert!(fs::read_to_string(notes.join("yaml.md")).unwrap().contains("broken"));
    let plain = home.brain(["sync", "--source", "notes"]).expect(1);
    assert!(plain.stderr.contains("yaml.md") && plain.stderr.contains("column"), "{plain:?}");
    let sources = home.json(["sources", "list"]);
    let row =
        sources["sources"].as_array().unwrap().iter().find(|s| s["source_id"] == "notes").unwrap();
    assert!(row["problem"].as_str().unwrap().contains("5 files"), "{row}");

    write(&notes, "yaml.md", "---\nfine: 1\nbroken: [1, 2]\n---\nCorrected.\n");
    write(&notes, "good.md", "Good again.\n");
    for file_name in ["nul.md", "latin1.md", "large.md"] {
        fs::remove_file(notes.join(file_name)).unwrap();
    }
    let corrected = sync(&home);
    assert_changes(&corrected, &[("updated", 1)]);
    assert_eq!(
        texts(&corrected["conflicts"], "slug"),
        ["yaml"],
        "the page was put in the meantime"
    );
    home.json(["keep", "yaml", "file", "--source", "notes"]);
    assert_eq!(get_note(&home, "yaml")["body"], "Corrected.\n");
    assert_eq!(
        home.json(["doctor"])["status"],
        "healthy",
        "the obstructing file now belongs to the page"
    );
}

#[test]
fn of_files_with_one_slug_each_gets_a_page_and_the_first_one_stays() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "Plan.md", "One.\n");
    write(&notes, "plan.md", "Two.\n");
    write(&notes, "owner.md", "I was first.\n");
    assert_changes(&sync(&home), &[("added", 3)]);
    assert_eq!(get_note(&home, "plan")["body"], "Two.\n", "the file with the name of the slug");
    write(&notes, "Owner.markdown", "I came later.\n");
    assert_changes(&sync(&home), &[("added", 1)]);
    let slugs = listed_slugs(&home);
    assert_eq!(slugs.len(), 4, "{slugs:?}");
    assert_eq!(get_note(&home, "owner")["body"], "I was first.\n");
    // One file of each pair is removed: the others keep their slugs.
    fs::remove_file(notes.join("plan.md")).unwrap();
    fs::remove_file(notes.join("owner.md")).unwrap();
    assert_changes(&sync(&home), &[("removed", 2)]);
    let left: Vec<String> =
        slugs.into_iter().filter(|slug| slug != "plan" && slug != "owner").collect();
    assert_eq!(listed_slugs(&home), left);
}

#[test]
fn a_changed_file_becomes_the_page_unless_both_changed_the_same_lines() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "plan.md", "Agreed.\n");
    sync(&home);
    home.json_with(["put", "plan", "--source", "notes"], b"Changed here.\n");
    write(&notes, "plan.md", "Changed on disk.\n");
    let report = sync(&home);
    assert_changes(&report, &[("updated", 1)]);
    assert_eq!(report["conflicts"], json!([]), "the page's change was in its file already");
    assert_eq!(get_note(&home, "plan")["body"], "Changed on disk.\n");
    let version = home.json(["get", "plan", "--source", "notes", "--version", "2"]);
    assert_eq!(version["body"], "Changed here.\n");
    assert_eq!(sync(&home)["conflicts"], json!([]));
    assert_eq!(fs::read_to_string(notes.join("plan.md")).unwrap(), "Changed on disk.\n");

    // A put does not overwrite a changed file, and a sync does not overwrite the put.
    write(&notes, "plan.md", "Again on disk.\n");
    let put = home.json_with(["put", "plan", "--source", "notes"], b"Again here.\n");
    assert_eq!(put["written"], false, "{put}");
    assert_ne!(home.json(["doctor"])["status"], "healthy");
    let plain = home.brain(["sync", "--source", "notes"]).expect(0);
    assert!(plain.stderr.contains("brain keep plan page --source notes"), "{plain:?}");
    assert_eq!(get_note(&home, "plan")["body"], "Again here.\n");
    home.json(["keep", "plan", "file", "--source", "notes"]);
    assert_eq!(get_note(&home, "plan")["body"], "Again on disk.\n");
    assert_eq!(home.json(["doctor"])["status"], "healthy");
    assert_eq!(home.json(["status"])["outbox"], 0);
    assert_eq!(fs::read_to_string(notes.join("plan.md")).unwrap(), "Again on disk.\n");
}

#[test]
fn a_dry_run_reports_all_changes_and_writes_nothing() {
    let (home, _daemon, notes) = home_with_notes();
    for n in 0..5 {
        write(&notes, &format!("n{n}.md"), format!("Number {n}.\n"));
    }
    let dry = sync_with(&home, &["--dry-run"], 0);
    assert_changes(&dry, &[("added", 5)]);
    assert_eq!(listed_slugs(&home), Vec::<String>::new());
    sync(&home);
    write(&notes, "n0.md", "Changed.\n");
    fs::remove_file(notes.join("n1.md")).unwrap();
    fs::rename(notes.join("n2.md"), notes.join("renamed.md")).unwrap();
    // The new file takes the slug that the renamed file leaves.
    write(&notes, "N2.md", "Another one.\n");
    write(&notes, "bad.md", b"a\0b");
    let state = || {
        let store = home.json(["list", "--source", "notes", "--limit", "100"]);
        (store, home.json(["sources", "list"]), bytes_below(&notes))
    };
    let before = state();
    let dry = sync_with(&home, &["--dry-run", "--full"], 1);
    assert_eq!(state(), before);
    let real = sync_with(&home, &[], 1);
    assert_changes(
        &real,
        &[("updated", 1), ("removed", 1), ("renamed", 1), ("added", 1), ("failed_total", 1)],
    );
    assert_eq!(changes(&dry), changes(&real), "a dry run says what would happen");
    assert_eq!(dry["failed"], real["failed"]);
    let plain = home.brain(["sync", "--source", "notes", "--dry-run"]).expect(1);
    assert!(plain.stdout.contains("dry run"), "{plain:?}");
}

#[test]
fn many_removals_wait_for_a_confirmation() {
    let (home, _daemon, notes) = home_with_notes();
    for n in 0..60 {
        write(&notes, &format!("n{n}.md"), format!("Number {n}.\n"));
    }
    sync(&home);
    // Up to 20 removals need no confirmation.
    let remove_files = |range: std::ops::Range<usize>| {
        range.for_each(|n| fs::remove_file(notes.join(format!("n{n}.md"))).unwrap());
    };
    remove_files(0..25);
    write(&notes, "n30.md", "Changed.\n");
    let held = sync_with(&home, &[], 5);
    assert_changes(&held, &[("held_back", 25), ("updated", 1)]);
    assert_eq!((&held["status"], listed_slugs(&home).len()), (&json!("held_back"), 60));
    let plain = home.brain(["sync", "--source", "notes"]).expect(5);
    assert!(plain.stderr.contains("brain sync --source notes --yes"), "{plain:?}");
    assert_changes(&sync_with(&home, &["--dry-run"], 5), &[("held_back", 25)]);
    // A renamed file is no removal, and neither is a file that reappears.
    write(&notes, "back.md", "Number 3.\n");
    write(&notes, "n4.md", "Number 4.\n");
    assert_changes(&sync_with(&home, &[], 5), &[("held_back", 23), ("renamed", 1)]);
    assert_changes(&sync_with(&home, &["--yes"], 0), &[("removed", 23)]);
    assert_eq!(listed_slugs(&home).len(), 37);
    remove_files(40..60);
    assert_changes(&sync(&home), &[("removed", 20)]);
    // The removals are soft: each page can be restored.
    assert_eq!(home.json(["restore", "n50", "--source", "notes"])["status"], "restored");
    assert_eq!(fs::read_to_string(notes.join("n50.md")).unwrap(), "Number 50.\n");
    assert_changes(&sync(&home), &[]);
}

/// A client that disconnects after `.0` files.
struct DisconnectAfter(u64);

impl Progress for DisconnectAfter {
    fn at(&self, done: u64, _: u64) -> bool {
        done < self.0
    }
}

#[test]
fn a_sync_stops_among_renames_when_its_client_disconnects() {
    let dir = tempfile::tempdir().unwrap();
    let (notes, home) = (dir.path().join("notes"), Home::at(dir.path().join("home")));
    // More files than the maximum of one transaction.
    for n in 0..2600 {
        write(&notes, &format!("old/n{n}.md"), format!("Number {n}.\n"));
    }
    let config = Config::load(&home.config(), |_| None).unwrap();
    let brain = Arc::new(Brain::open(home, config, Arc::new(SystemClock), 7).unwrap());
    let ask = |request, progress: &dyn Progress| brain.answer(&Caller::local(0), request, progress);
    let id = SourceId::parse("notes").unwrap();
    let path = notes.to_str().unwrap().to_owned();
    ask(
        Request::SourceAdd(SourceAdd { id: id.clone(), path, settings: Default::default() }),
        &NoProgress,
    )
    .unwrap();
    let sync = |progress: &dyn Progress| {
        let source = Some(id.clone());
        let (all, pull, embed, dry_run, full, yes) = (false, false, false, false, false, true);
        match ask(Request::Sync(Sync { source, all, pull, embed, dry_run, full, yes }), progress) {
            Ok(Reply::Sync(reply)) => Ok((reply.sources[0].renamed, reply.sources[0].removed)),
            Ok(other) => panic!("{other:?}"),
            Err(fault) => Err(fault.code),
        }
    };
    assert_eq!(sync(&NoProgress), Ok((0, 0)));
    fs::rename(notes.join("old"), notes.join("new")).unwrap();
    assert_eq!(sync(&DisconnectAfter(2000)), Err(FaultCode::Cancelled));
    assert_eq!(sync(&NoProgress), Ok((600, 0)), "2,000 files were renamed before the disconnect");
}

#[test]
fn sync_takes_one_source_all_sources_or_the_configured_one() {
    let (home, _daemon, notes) = home_with_notes();
    write(&notes, "a.md", "In notes.\n");
    home.put("b", "In the home.\n");
    assert_eq!(home.fault(["sync", "--all", "--source", "notes"], 2)["code"], "usage");
    let unknown = home.fault(["sync", "--source", "nowhere"], 4);
    assert!(unknown["hint"].as_str().unwrap().contains("brain sources add"), "{unknown}");
    assert_eq!(texts(&home.json(["sync"])["sources"], "source_id"), ["default"]);
    let all = home.json(["sync", "--all", "--no-embed", "--no-pull"]);
    assert_eq!(
        (texts(&all["sources"], "source_id"), &all["status"]),
        (vec!["default".into(), "notes".into()], &json!("done"))
    );
    home.json(["sources", "default", "notes"]);
    assert_eq!(texts(&home.json(["sync"])["sources"], "source_id"), ["notes"]);
    let row = |home: &TestHome| home.json(["sources", "list"])["sources"][1].clone();
    assert!(row(&home)["synced_at"].is_string());
    let quiet = home.brain(["sync", "--all", "-q"]).expect(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    // The source is removed and added again: the files restore its pages.
    home.json(["sources", "remove", "notes", "--yes"]);
    home.json(["sources", "add", "notes", "--path", notes.to_str().unwrap()]);
    assert_changes(&sync(&home), &[("restored", 1)]);
    assert_eq!(listed_slugs(&home), ["a"]);
}
