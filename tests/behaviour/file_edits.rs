//! Another program saves the file of a page, and a command changes the page before a sync has read
//! the file: both texts stay. No watcher runs.

use std::fs;
use std::path::Path;

use brain_tests::{TestHome, texts};
use serde_json::{Value, json};

use crate::sync::{get_note, home_with_notes, sync, sync_with, write};

/// How an editor saves a file.
const SAVES: [fn(&Path, &str); 2] = [save_in_place, save_by_rename];

fn save_in_place(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
}

fn save_by_rename(file: &Path, text: &str) {
    let new = file.with_extension("swp");
    fs::write(&new, text).unwrap();
    fs::rename(new, file).unwrap();
}

fn append(home: &TestHome, slug: &str, text: &str) -> Value {
    home.json(["append", slug, text, "--source", "notes"])
}

/// Asserts that page and file are equal and have these lines.
#[track_caller]
fn assert_both_have(home: &TestHome, file: &Path, slug: &str, lines: &[&str]) {
    let page = get_note(home, slug);
    let (body, text) = (page["body"].as_str().unwrap(), fs::read_to_string(file).unwrap());
    for line in lines {
        assert!(body.lines().any(|found| found == *line), "the page lacks {line:?}: {page}");
    }
    assert_eq!(page["content"].as_str().unwrap(), text, "the file is the page");
}

/// Returns the text of a file with changes: each replaces a part of it.
fn changed(file: &Path, changes: &[(&str, &str)]) -> String {
    let text = fs::read_to_string(file).unwrap();
    changes.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{text}");
        text.replace(from, to)
    })
}

fn conflicts(home: &TestHome) -> Value {
    home.json(["conflicts"])["conflicts"].clone()
}

#[test]
fn a_saved_line_and_an_appended_one_are_in_page_and_file() {
    for save in SAVES {
        for is_synced in [false, true] {
            let (home, _daemon, notes) = home_with_notes();
            let file = notes.join("n.md");
            match is_synced {
                false => _ = home.json_with(["put", "n", "--source", "notes"], b"First.\n"),
                true => {
                    write(&notes, "n.md", "First.\n");
                    sync(&home);
                }
            }
            save(&file, &changed(&file, &[("First.\n", "First.\nFrom the editor.\n")]));
            let reply = append(&home, "n", "From brain.");
            assert_eq!((&reply["written"], &reply["version"]), (&json!(true), &json!(3)));
            assert_both_have(&home, &file, "n", &["First.", "From the editor.", "From brain."]);
            save(&file, &changed(&file, &[("First", "Edited")]));
            append(&home, "n", "Again.");
            assert_both_have(&home, &file, "n", &["Edited.", "From brain.", "Again."]);
            let edited = home.json(["get", "n", "--source", "notes", "--version", "2"]);
            assert_eq!(edited["body"], "First.\nFrom the editor.\n");
            assert_eq!(
                (conflicts(&home), sync(&home)["conflicts"].clone()),
                (json!([]), json!([]))
            );
        }
    }
}

#[test]
fn every_other_change_keeps_a_saved_line() {
    let (home, _daemon, notes) = home_with_notes();
    let file = |name: &str| notes.join(name);
    let saved = ("First.\n", "First.\n\nFrom the editor.\n");
    for name in ["tags", "put", "move", "merge", "into", "delete", "revert"] {
        home.json_with(["put", name, "--source", "notes"], b"Zero.\n");
        home.json_with(["put", name, "--source", "notes"], b"First.\n");
    }
    home.json_with(["put", "linking", "--source", "notes"], b"See [[move]].\n");
    for (name, save) in ["tags", "put", "move", "merge", "into", "delete", "revert"]
        .into_iter()
        .zip(SAVES.into_iter().cycle())
    {
        let file = file(&format!("{name}.md"));
        save(&file, &changed(&file, &[saved]));
    }
    let linking = file("linking.md");
    save_by_rename(&linking, &changed(&linking, &[("]].\n", "]].\nAlso here.\n")]));

    home.json(["tags", "tags", "--add", "work", "--source", "notes"]);
    assert_both_have(&home, &file("tags.md"), "tags", &["First.", "From the editor."]);
    assert_eq!(get_note(&home, "tags")["tags"], json!(["work"]));

    let put = home.json_with(["put", "put", "--source", "notes"], b"Before.\nFirst.\n");
    assert_eq!(put["written"], true, "{put}");
    assert_both_have(&home, &file("put.md"), "put", &["Before.", "First.", "From the editor."]);
    assert_eq!(put["version"], get_note(&home, "put")["version"], "the reply is about both texts");

    home.json(["mv", "move", "moved", "--source", "notes"]);
    assert_both_have(&home, &file("moved.md"), "moved", &["First.", "From the editor."]);
    assert!(!file("move.md").exists());
    assert_both_have(&home, &file("linking.md"), "linking", &["See [[moved]].", "Also here."]);

    home.json(["merge", "merge", "into", "--source", "notes"]);
    let lines =
        get_note(&home, "into")["body"].as_str().unwrap().matches("From the editor.").count();
    assert_eq!(lines, 2, "of both pages");

    home.json(["delete", "delete", "--source", "notes"]);
    assert!(!file("delete.md").exists());
    home.json(["restore", "delete", "--source", "notes"]);
    assert_both_have(&home, &file("delete.md"), "delete", &["First.", "From the editor."]);

    home.json(["revert", "revert", "1", "--source", "notes"]);
    assert_both_have(&home, &file("revert.md"), "revert", &["Zero."]);
    let former = home.json(["get", "revert", "--source", "notes", "--version", "3"]);
    assert_eq!(former["body"], saved.1, "the saved text is a version");
    assert_eq!((conflicts(&home), sync(&home)["conflicts"].clone()), (json!([]), json!([])));
}

/// Makes a page `n` with a line that is not in its file, because the file was not readable. Returns
/// the text that the file had before.
fn with_pending_line(home: &TestHome, notes: &Path) -> String {
    home.json_with(["put", "n", "--source", "notes"], b"One.\n\nTwo.\n\nThree.\n");
    let text = fs::read_to_string(notes.join("n.md")).unwrap();
    write(notes, "n.md", "---\nbroken: [\n---\nOne.\n");
    let reply = append(home, "n", "From brain.");
    assert_eq!(reply["written"], false, "{reply}");
    let warning = reply["warnings"][0].as_str().unwrap();
    assert!(warning.contains("cannot become the page") && warning.contains("brain keep n"));
    assert!(fs::read_to_string(notes.join("n.md")).unwrap().contains("broken"));
    text
}

#[test]
fn texts_are_joined_when_the_page_has_a_change_that_is_not_in_the_file() {
    for by_sync in [false, true] {
        let (home, _daemon, notes) = home_with_notes();
        let text = with_pending_line(&home, &notes);
        assert!(conflicts(&home)[0]["file_version"].is_null());
        let text = text.replace("One.", "ONE.") + "\nFrom the editor.\n";
        save_by_rename(&notes.join("n.md"), &text);
        match by_sync {
            true => assert_eq!(sync(&home)["updated"], 1),
            false => _ = append(&home, "n", "Again."),
        }
        let lines = ["ONE.", "Two.", "Three.", "From the editor.", "From brain."];
        assert_both_have(&home, &notes.join("n.md"), "n", &lines);
        assert_eq!(conflicts(&home), json!([]));
        assert_eq!(home.json(["doctor"])["status"], "healthy");
    }
}

#[test]
fn a_conflict_is_kept_reported_and_settled() {
    for side in ["page", "file"] {
        let (home, daemon, notes) = home_with_notes();
        let file = notes.join("n.md");
        let text = with_pending_line(&home, &notes);
        home.json_with(["put", "n", "--source", "notes"], b"One here.\n\nTwo.\n\nThree.\n");
        save_in_place(&file, &text.replace("One.", "One there."));
        let reply = append(&home, "n", "Last.");
        assert_eq!(reply["written"], false, "{reply}");
        assert!(reply["warnings"][0].as_str().unwrap().contains("the same lines"), "{reply}");
        drop(daemon);
        let _daemon = home.daemon();
        for _ in 0..2 {
            let report = sync(&home);
            assert_eq!(texts(&report["conflicts"], "slug"), ["n"], "{report}");
            let version = report["conflicts"][0]["kept_version"].to_string();
            let kept = home.json(["get", "n", "--source", "notes", "--version", &version]);
            assert_eq!(kept["body"], "One there.\n\nTwo.\n\nThree.\n");
            let listed = conflicts(&home);
            assert_eq!(listed[0]["file_version"].to_string(), version, "{listed}");
        }
        let doctor = home.brain(["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        let outbox = checks.iter().find(|check| check["name"] == "outbox").unwrap();
        assert!(outbox["message"].as_str().unwrap().contains("n.md"), "{outbox}");
        assert!(outbox["hint"].as_str().unwrap().contains("brain keep n"), "{outbox}");
        let diff = home.json(["diff", "n", "--file", "--source", "notes"]);
        assert_eq!(diff["other"], "n.md");
        let text = diff["diff"].as_str().unwrap();
        assert!(text.contains("-One here.\n+One there.\n"), "{text}");

        let kept = home.json(["keep", "n", side, "--source", "notes"]);
        assert_eq!((&kept["status"], &kept["written"]), (&json!("updated"), &json!(true)));
        let (mine, other) = match side {
            "page" => ("One here.", "One there."),
            _ => ("One there.", "One here."),
        };
        assert_both_have(&home, &file, "n", &[mine]);
        let versions = home.json(["history", "n", "--source", "notes"])["versions"].clone();
        let has_other = versions.as_array().unwrap().iter().any(|version| {
            let number = version["version"].to_string();
            let text = home.json(["get", "n", "--source", "notes", "--version", &number]);
            text["body"].as_str().unwrap().contains(other)
        });
        assert!(has_other, "{side}: {versions}");
        assert_eq!((conflicts(&home), sync(&home)["conflicts"].clone()), (json!([]), json!([])));
        assert_eq!(home.json(["doctor"])["status"], "healthy");
        let again = home.json(["keep", "n", side, "--source", "notes"]);
        assert_eq!(again["status"], "unchanged");
    }
}

#[test]
fn a_conflict_ends_when_the_file_no_longer_changes_the_same_lines() {
    let (home, _daemon, notes) = home_with_notes();
    let text = with_pending_line(&home, &notes);
    home.json_with(["put", "n", "--source", "notes"], b"One here.\n\nTwo.\n\nThree.\n");
    save_in_place(&notes.join("n.md"), &text.replace("One.", "One there."));
    assert_eq!(texts(&sync(&home)["conflicts"], "slug"), ["n"]);
    save_in_place(&notes.join("n.md"), &text.replace("Three.", "Three there."));
    assert_eq!(sync(&home)["updated"], 1);
    assert_both_have(&home, &notes.join("n.md"), "n", &["One here.", "Two.", "Three there."]);
}

#[test]
fn a_file_that_cannot_be_a_page_is_kept_when_the_page_is_chosen() {
    let (home, _daemon, notes) = home_with_notes();
    let file = notes.join("n.md");
    for bytes in [b"caf\xe9\n".as_slice(), b"", b"---\nbroken: [\n---\n"] {
        home.json_with(["put", "n", "--source", "notes", "--allow-empty"], b"First.\n");
        fs::write(&file, bytes).unwrap();
        let reply = append(&home, "n", "More.");
        assert_eq!(reply["written"], false, "{reply}");
        assert_eq!(fs::read(&file).unwrap(), bytes, "the file is left alone");
        let refused = home.brain(["keep", "n", "file", "--source", "notes"]).expect(1);
        assert!(refused.stderr.contains("cannot become the page"), "{refused:?}");
        let kept = home.json(["keep", "n", "page", "--source", "notes"]);
        assert_eq!(kept["written"], true, "{kept}");
        assert_both_have(&home, &file, "n", &["First.", "More."]);
        if !bytes.is_empty() {
            let warning = kept["warnings"][0].as_str().unwrap();
            let path = warning.rsplit(' ').next().unwrap();
            assert_eq!(fs::read(path).unwrap(), bytes, "{warning}");
        }
    }
    assert_eq!(sync_with(&home, &["--full"], 0)["conflicts"], json!([]));
}
