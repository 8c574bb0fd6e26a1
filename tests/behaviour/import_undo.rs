//! Reports of imports that stay, and imports that are undone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use brain_tests::{TestHome, texts, wait_for};
use serde_json::{Value, json};

/// Makes a directory with these notes.
fn notes(home: &TestHome, notes: &[(&str, &str)]) -> PathBuf {
    let dir = home.outside().join("notes");
    fs::create_dir_all(&dir).unwrap();
    for (name, text) in notes {
        fs::write(dir.join(format!("{name}.md")), text).unwrap();
    }
    dir
}

fn import(home: &TestHome, dir: &Path) -> (Value, String) {
    let reply = home.json(["import", dir.to_str().unwrap()]);
    let id = reply["id"].as_str().unwrap().to_owned();
    (reply, id)
}

/// Returns the numbers of pages that are taken back, kept in part, and untouched.
fn counts(reply: &Value) -> [u64; 3] {
    ["taken_back", "kept_in_part", "untouched"].map(|field| reply[field].as_u64().unwrap())
}

#[test]
fn new_pages_are_deleted_and_others_get_their_former_text() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = notes(&home, &[("old", "The first text\n")]);
    let _ = import(&home, &dir);
    home.put("gone", "Was deleted\n");
    home.brain(["delete", "gone"]).expect(0);
    let dir = notes(&home, &[("new", "New\n"), ("old", "Second\n"), ("gone", "Back\n")]);
    let (reply, id) = import(&home, &dir);
    assert_eq!(
        (&reply["created"], &reply["updated"], &reply["restored"]),
        (&json!(1), &json!(1), &json!(1))
    );

    let dry = home.json(["import", "--undo", &id, "--dry-run"]);
    assert_eq!((counts(&dry), &dry["dry_run"]), ([3, 0, 0], &json!(true)), "{dry}");
    assert_eq!(home.get("old")["body"], "Second\n");
    let undone = home.json(["import", "--undo", &id]);
    assert_eq!(counts(&undone), [3, 0, 0], "{undone}");
    assert_eq!(home.get("old")["body"], "The first text\n");
    assert_eq!(texts(&home.json(["list"])["pages"], "slug"), ["old"]);
    assert!(home.search("New").is_empty() && home.search("Second").is_empty());
    assert!(!home.page_file("new").exists());

    // The same again changes nothing. What was undone can come again.
    assert_eq!(counts(&home.json(["import", "--undo", &id])), [0, 0, 3]);
    assert_eq!(import(&home, &dir).0["restored"], 2);
    assert_eq!(home.get("gone")["body"], "Back\n");
}

#[test]
fn pages_that_changed_since_stay_and_are_named() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir =
        notes(&home, &[("edited", "From the import\n"), ("moved", "Moves\n"), ("same", "x\n")]);
    let (_, id) = import(&home, &dir);
    home.put("edited", "Mine\n");
    home.brain(["mv", "moved", "elsewhere"]).expect(0);
    let undone = home.json(["import", "--undo", &id]);
    assert_eq!(counts(&undone), [2, 1, 0], "{undone}");
    assert_eq!(undone["pages"][2]["page"]["slug"], "edited");
    assert_eq!(home.get("edited")["body"], "Mine\n");
    // A page is the same under another name.
    home.fault(["get", "elsewhere"], 4);
    let text = home.brain(["import", "--undo", &id]).expect(0).stdout;
    assert!(text.contains("it is taken back already"), "{text}");
}

/// T4: what the import created goes, what it changed gets its former text and keeps later lines,
/// and what it found unchanged is named.
#[test]
fn a_page_that_the_import_changed_keeps_later_lines() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let kim = "# Kim\n\nSails.\n";
    let _ = import(&home, &notes(&home, &[("oda", "# Oda\n\nold\n\nend\n"), ("kim", kim)]));
    let dir = notes(&home, &[("oda", "# Oda\n\nnew\n\nend\n"), ("kim", kim), ("pia", "# Pia\n")]);
    let (_, id) = import(&home, &dir);
    let oda = home.get("oda")["body"].as_str().unwrap().replace("end", "the owner's end");
    home.put("oda", &oda);
    let versions = |slug: &str| home.get(slug)["version"].clone();
    let before = versions("kim");
    let plan = home.json(["undo", "--import", &id, "--dry-run"]);
    let rows: Vec<(&str, &str, &Value)> = plan["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let slug = row["page"]["slug"].as_str().unwrap();
            (slug, row["effect"].as_str().unwrap(), &row["event"])
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("pia", "taken_back", &json!("created")),
            ("oda", "kept_in_part", &json!("written")),
            ("kim", "untouched", &Value::Null),
        ]
    );
    assert_eq!(home.get("oda")["body"], "# Oda\n\nnew\n\nthe owner's end\n");
    home.json(["undo", "--import", &id, "--yes"]);
    assert_eq!(home.get("oda")["body"], "# Oda\n\nold\n\nthe owner's end\n");
    assert_eq!(versions("kim"), before);
    home.fault(["get", "pia"], 4);
    home.brain(["restore", "pia"]).expect(0);
}

#[test]
fn reports_stay_and_name_the_imports() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    let dir = notes(&home, &[("one", "1\n")]);
    fs::write(dir.join("picture.bin"), b"\0").unwrap();
    let (first, id) = import(&home, &dir);
    assert!(first["not_imported"][0]["path"] == "picture.bin", "{first}");
    fs::write(dir.join("one.md"), "2\n").unwrap();
    let text = home.brain(["import", dir.to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("undo it: brain undo --import "), "{text}");
    assert!(daemon.is_running());
    daemon.kill();
    let _daemon = home.daemon();
    let report = home.json(["import", "--report", &id]);
    assert_eq!(report["report"], first, "{report}");
    let list = home.json(["import", "--report"]);
    assert_eq!(list["imports"].as_array().unwrap().len(), 2, "{list}");
    assert_eq!(list["imports"][1]["id"], json!(id));
    assert_eq!(list["imports"][1]["pages"], 1);
    let shown = home.brain(["import", "--report", &id]).expect(0).stdout;
    assert!(shown.contains("1 created") && shown.contains("picture.bin"), "{shown}");
    for wrong in ["20260101-000000", "../brain", "x/y", ""] {
        let fault = home.fault(["import", "--undo", wrong], 4);
        assert_eq!(fault["code"], "not_found", "{fault}");
    }
}

#[test]
fn an_import_that_a_kill_ended_can_be_undone() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let dir = home.outside().join("notes");
    fs::create_dir_all(&dir).unwrap();
    for n in 0..6000 {
        fs::write(dir.join(format!("{n}.md")), format!("Note {n}\n")).unwrap();
    }
    let importing = {
        let mut command = home.command("brain");
        command.args(["import", dir.to_str().unwrap()]).spawn().unwrap()
    };
    brain_tests::wait_for("a batch", || home.status().pages > 0);
    daemon.kill();
    let mut importing = importing;
    importing.wait().unwrap();
    let _daemon = home.daemon();
    let stored = home.status().pages;
    assert!(stored > 0);
    let list = home.json(["import", "--report"]);
    assert_eq!(list["imports"][0]["status"], Value::Null, "{list}");
    let id = list["imports"][0]["id"].as_str().unwrap();
    let undone = home.json(["import", "--undo", id]);
    assert_eq!(
        (&undone["taken_back"], &undone["kept_in_part"]),
        (&json!(stored), &json!(0)),
        "{undone}"
    );
    assert_eq!(home.status().pages, 0);
}

#[test]
fn since_leaves_out_older_notes() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dated = |day: &str| format!("---\nupdated: {day}\n---\nText\n");
    let dir = notes(&home, &[("a", &dated("2024-01-01")), ("b", &dated("2026-02-01"))]);
    let dir = dir.to_str().unwrap();
    let reply = home.json(["import", dir, "--since", "2025-01-01"]);
    assert_eq!((&reply["created"], &reply["older"]), (&json!(1), &json!(1)), "{reply}");
    assert_eq!(texts(&home.json(["list"])["pages"], "slug"), ["b"]);
    let fault = home.fault(["import", dir, "--since", "soon"], 2);
    assert_eq!(fault["code"], "usage", "{fault}");
}

#[test]
fn a_page_of_another_import_is_kept() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = notes(&home, &[("p", "First\n")]);
    let (_, first) = import(&home, &dir);
    home.brain(["mv", "p", "q"]).expect(0);
    fs::write(dir.join("p.md"), "Second\n").unwrap();
    let _ = import(&home, &dir);
    let undone = home.json(["import", "--undo", &first]);
    assert_eq!(counts(&undone), [1, 0, 0], "{undone}");
    assert_eq!(home.get("p")["body"], "Second\n");
    home.fault(["get", "q"], 4);
}

#[test]
fn a_record_that_a_crash_cut_does_not_hide_the_others() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let (_, id) = import(&home, &notes(&home, &[("p", "First\n")]));
    fs::write(home.path().join("imports/20260101-000000.jsonl"), "").unwrap();
    let list = home.json(["import", "--report"]);
    assert_eq!(texts(&list["imports"], "id"), [id], "{list}");
    let fault = home.fault(["import", "--report", "20260101-000000"], 1);
    assert!(fault["message"].as_str().unwrap().contains("damaged"), "{fault}");
}

#[test]
fn an_import_keeps_what_was_written_or_changed_in_brain() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("mine", "My own\n");
    let dir = notes(&home, &[("mine", "Theirs\n"), ("boat", "First\n"), ("sail", "White\n")]);
    let path = dir.to_str().unwrap();
    let failed = home.brain(["import", path]).expect(1);
    assert!(failed.stderr.contains("mine.md: its page was written or changed"), "{failed:?}");
    home.brain(["append", "boat", "my words"]).expect(0);
    fs::write(dir.join("boat.md"), "Second\n").unwrap();
    fs::write(dir.join("sail.md"), "Red\n").unwrap();
    let dry = home.brain(["import", path, "--dry-run"]).expect(1);
    let again = home.brain(["import", path]).expect(1);
    for output in [dry, again] {
        assert!(output.stdout.contains("1 updated"), "{output:?}");
        assert!(output.stderr.contains("boat.md: its page"), "{output:?}");
    }
    assert_eq!(home.get("mine")["body"], "My own\n");
    assert!(home.get("boat")["body"].as_str().unwrap().contains("my words"));
    assert_eq!(home.get("sail")["body"], "Red\n");
}

#[test]
fn an_interrupted_import_says_how_to_go_on() {
    let home = TestHome::new();
    let program = home.outside().join("slow");
    fs::create_dir_all(home.outside().join("notes")).unwrap();
    // It never ends, so the import waits for it after it stored the note.
    fs::write(&program, "#!/bin/sh\nsleep 300\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[import]\nprocessors = [\"slow: {}\"]\n", program.display());
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("config.toml"), config).unwrap();
    let _daemon = home.daemon();
    let dir = notes(&home, &[("a", "One\n")]);
    fs::write(dir.join("b.slow"), "x").unwrap();
    let mut command = home.command("brain");
    command.args(["import", dir.to_str().unwrap()]).stderr(Stdio::piped()).stdout(Stdio::null());
    let child = command.spawn().unwrap();
    wait_for("the note", || home.page_file("a").exists());
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let id = home.json(["import", "--report"])["imports"][0]["id"].as_str().unwrap().to_owned();
    for line in [
        "the import was interrupted; what was stored stays".to_owned(),
        format!("see it:   brain import --report {id}"),
        format!("continue: brain import {}", dir.display()),
        format!("undo it:  brain undo --import {id}"),
    ] {
        assert!(said.contains(&line), "{line}: {said}");
    }
    assert_eq!(output.status.signal(), Some(2), "{said}");
}
