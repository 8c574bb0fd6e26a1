//! Removing a source: its pages are hidden, and its files stay.

use std::fs;
use std::time::Instant;

use brain_tests::{TEST_TIMEOUT, TestHome, run, slugs};
use serde_json::json;

use super::{dir, home_with_work, path_str, put_in, row};

#[test]
fn removing_a_source_hides_its_pages_and_keeps_its_files() {
    let (home, work) = home_with_work();
    put_in(&home, "work", "a", "---\ntags: [t]\n---\nwalrus [[default:home]]\n");
    put_in(&home, "work", "deep/b", "walrus\n");
    home.put("home", "[[work:a]]\n");
    let before = fs::read(work.join("a.md")).unwrap();

    let refusal = home.fault(["sources", "remove", "work"], 5);
    assert_eq!(refusal["code"], "confirmation_needed");
    assert!(refusal["message"].as_str().unwrap().contains("2 pages"), "{refusal}");
    assert!(
        refusal["hint"].as_str().unwrap().contains("brain sources remove work --yes"),
        "{refusal}"
    );
    assert_eq!(home.search("walrus").len(), 2, "a refused removal hides nothing");

    let removed = home.json(["sources", "remove", "work", "--yes"]);
    assert_eq!((&removed["status"], &removed["source"]["pages"]), (&json!("removed"), &json!(2)));
    assert_eq!(fs::read(work.join("a.md")).unwrap(), before);
    assert!(work.join("deep/b.md").exists() && !work.join(".trash").exists());
    assert!(home.search("walrus").is_empty());
    assert_eq!(slugs(&home.json(["list"])["pages"]), ["home"]);
    assert_eq!(home.json(["list", "--deleted"])["pages"], json!([]));
    assert_eq!(home.json(["tags"])["tags"], json!([]));
    assert_eq!(home.json(["links", "home"])["links"][0]["status"], "missing");
    assert_eq!(home.json(["backlinks", "home"])["links"], json!([]));
    for args in
        [&["get", "a"][..], &["restore", "a"], &["delete", "a"], &["list"], &["capture", "x"]]
    {
        let args: Vec<&str> = args.iter().copied().chain(["--source", "work"]).collect();
        let error = home.fault(&args, 4);
        assert_eq!(error["code"], "unknown_source", "{args:?}");
        assert!(
            error["hint"].as_str().unwrap().contains("brain sources add work --path"),
            "{error}"
        );
    }
    assert_eq!(home.fault(["sources", "remove", "work", "--yes"], 4)["code"], "unknown_source");
    assert_eq!(home.json(["doctor"])["health_score"].as_u64().map(|score| score >= 75), Some(true));
    assert_eq!(home.json(["status"])["outbox"], 0);

    // The pages are kept: after the source is added again, each can be restored with its history.
    home.json(["sources", "add", "work", "--path", path_str(&work)]);
    assert_eq!(slugs(&home.json(["list", "--deleted"])["pages"]).len(), 2);
    assert_eq!(home.json(["restore", "a", "--source", "work"])["status"], "restored");
    assert_eq!(home.search("walrus"), ["a"]);
    assert_eq!(home.json(["links", "home"])["links"][0]["status"], "live");
    assert_eq!(fs::read(work.join("a.md")).unwrap(), before);
}

#[test]
fn a_source_added_again_has_its_pages_after_a_sync() {
    let (home, work) = home_with_work();
    put_in(&home, "work", "a", "first\n");
    put_in(&home, "work", "a", "walrus\n");
    fs::write(work.join("Own File.md"), "walrus of my own\n").unwrap();
    home.json(["sync", "--source", "work"]);
    assert_eq!(row(&home, "work")["pages"], 2);
    home.json(["sources", "remove", "work", "--yes"]);
    let elsewhere = dir(&home, "elsewhere").join("moved");
    fs::rename(&work, &elsewhere).unwrap();
    home.json(["sources", "add", "work", "--path", path_str(&elsewhere)]);
    let synced = home.json(["sync", "--source", "work"]);
    assert_eq!(synced["sources"][0]["restored"], 2, "{synced}");
    let mut found = home.search("walrus");
    found.sort();
    assert_eq!(found, ["a", "own-file"]);
    assert!(
        home.json(["history", "a", "--source", "work"])["versions"].as_array().unwrap().len() >= 2
    );
}

#[test]
fn the_default_source_cannot_be_removed() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for args in [&["sources", "remove", "default"][..], &["sources", "remove", "default", "--yes"]]
    {
        assert_eq!(home.fault(args, 3)["code"], "protected", "{args:?}");
    }
}

#[test]
fn removing_a_source_cancels_its_pending_file_writes() {
    let (home, work) = home_with_work();
    put_in(&home, "work", "a", "ours\n");
    fs::write(work.join("a.md"), "theirs\n").unwrap();
    assert_eq!(put_in(&home, "work", "a", "ours again\n")["written"], false);
    assert_ne!(home.json(["status"])["degraded"], json!([]));
    let refusal = home.fault(["sources", "remove", "work"], 5);
    assert!(
        refusal["message"].as_str().unwrap().contains("the files of 1 page were not written"),
        "{refusal}"
    );
    home.json(["sources", "remove", "work", "--yes"]);
    let status = home.json(["status"]);
    assert_eq!((&status["outbox"], &status["degraded"]), (&json!(0), &json!([])), "{status}");
    assert_eq!(fs::read_to_string(work.join("a.md")).unwrap(), "theirs\n");
}

#[test]
fn an_interrupted_removal_continues_and_touches_no_file() {
    let home = TestHome::new();
    let work = dir(&home, "work");
    let vault = dir(&home, "vault");
    for n in 0..1200 {
        fs::write(vault.join(format!("note-{n}.md")), format!("walrus {n}\n")).unwrap();
    }
    let daemon = home.daemon();
    home.json(["sources", "add", "work", "--path", path_str(&work)]);
    home.json(["import", path_str(&vault), "--source", "work"]);
    let mut command = home.command("brain");
    command.args(["sources", "remove", "work", "--yes", "--no-start"]);
    let removing = std::thread::spawn(move || run(command, b""));
    // Kill the daemon as soon as the first batch is hidden.
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.json(["status"])["deleted"] == 0 && Instant::now() < deadline {}
    daemon.kill();
    let first = removing.join().unwrap();
    let _daemon = home.daemon();
    let second = home.brain(["sources", "remove", "work", "--yes"]);
    assert!(second.code == 0 || (first.code == 0 && second.code == 4), "{first:?} {second:?}");
    assert_eq!(home.json(["status"])["pages"], 0);
    assert!(home.search("walrus").is_empty());
    assert_eq!(fs::read_dir(&work).unwrap().count(), 1200);
}
