//! `edit`, `append`, `diff` and `put --expect`: changes of existing pages.

use std::fs;

use brain_tests::{Run, TestHome, program, run};
use serde_json::json;

use crate::terminal::on_a_terminal;

#[test]
fn append_adds_a_paragraph_and_keeps_the_former_version() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/ada", "---\ntitle: Ada\n---\n\n# Ada\n\nShe wrote.\n");
    let reply = home.json(["append", "people/ada", "Born", "in", "London"]);
    assert_eq!((&reply["status"], &reply["version"]), (&json!("updated"), &json!(2)));
    let page = home.get("people/ada");
    assert_eq!(page["body"], "# Ada\n\nShe wrote.\n\nBorn in London\n");
    assert_eq!(page["title"], "Ada");
    let file = fs::read_to_string(home.page_file("people/ada")).unwrap();
    assert_eq!(page["content"], file.as_str());
    let former = home.json(["get", "people/ada", "--version", "1"]);
    assert_eq!(former["body"], "# Ada\n\nShe wrote.\n");
    assert_eq!(home.search("London"), ["people/ada"]);
}

#[test]
fn append_reads_standard_input_and_files() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("log", "one\n");
    home.brain_with(["append", "log"], b"two\n").expect(0);
    let file = home.outside().join("three.md");
    fs::write(&file, "three\n").unwrap();
    home.brain(["append", "log", "--file", file.to_str().unwrap()]).expect(0);
    assert_eq!(home.get("log")["body"], "one\n\ntwo\n\nthree\n");
    let error = home.fault_with(["append", "log"], b" \n", 2);
    assert_eq!(error["code"], "empty_content");
    assert_eq!(home.get("log")["version"], 3, "a refused append writes nothing");
}

#[test]
fn append_and_add_write_to_a_section() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("engine", "# Engine\n\n## Log\n\n- built\n\n## Ideas\n\nMore gears.\n");
    home.brain(["append", "engine", "--section", "Log", "--", "- oiled"]).expect(0);
    home.brain(["add", "engine", "--section", "Ideas", "Fewer gears."]).expect(0);
    assert_eq!(
        home.get("engine")["body"],
        "# Engine\n\n## Log\n\n- built\n- oiled\n\n## Ideas\n\nMore gears.\n\nFewer gears.\n"
    );
    let error = home.fault(["append", "engine", "--section", "Loog", "x"], 4);
    assert!(error["message"].as_str().unwrap().contains("## Log"), "{error}");
    assert_eq!(home.fault(["append", "no/page", "x"], 4)["code"], "not_found");
}

#[test]
fn equal_headings_are_refused_and_have_addresses() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("week", "## Mon\n\n### Log\n\nm\n\nTue\n---\n\n### Log\n\nt\n");
    let error = home.fault(["append", "week", "--section", "Log", "x"], 2);
    assert!(error["message"].as_str().unwrap().contains("Mon/Log · Tue/Log"), "{error}");
    assert_eq!(home.get("week")["version"], 1);
    home.brain(["append", "week", "--section", "Tue/Log", "x"]).expect(0);
    home.brain(["append", "week", "--section", "Mon", "y"]).expect(0);
    assert_eq!(
        home.get("week")["body"],
        "## Mon\n\ny\n\n### Log\n\nm\n\nTue\n---\n\n### Log\n\nt\n\nx\n"
    );
}

#[test]
fn appends_at_the_same_time_are_all_kept() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("log", "begin\n");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let home = &home;
            scope.spawn(move || home.brain(["append", "log", &format!("line {n}")]).expect(0));
        }
    });
    let body = home.get("log")["body"].as_str().unwrap().to_owned();
    for n in 0..8 {
        assert!(body.contains(&format!("line {n}\n")), "{body}");
    }
}

#[test]
fn append_leaves_the_provenance_of_a_synced_note() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let vault = home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    fs::write(vault.join("note.md"), "Mine.\n").unwrap();
    home.json(["sources", "add", "vault", "--path", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    home.json(["append", "note", "More.", "--source", "vault"]);
    assert_eq!(fs::read_to_string(vault.join("note.md")).unwrap(), "Mine.\n\nMore.\n");
    assert_eq!(home.json(["get", "note", "--source", "vault"])["source_kind"], "sync");
}

#[test]
fn diff_shows_the_changes_between_two_versions() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let page = |lines: &str| format!("---\ntitle: T\n---\n{lines}");
    home.put("v", &page("one\ntwo\n"));
    home.put("v", &page("one\n2\n"));
    home.put("v", &page("one\n2\nthree\n"));
    let diff = home.json(["diff", "v"]);
    assert_eq!((&diff["from"], &diff["to"]), (&json!(2), &json!(3)));
    assert!(diff["diff"].as_str().unwrap().contains("\n+three\n"), "{diff}");
    let text = home.brain(["diff", "v", "1"]).expect(0).stdout;
    assert!(text.starts_with("--- v@1\n+++ v@3\n@@ "), "{text}");
    assert!(text.contains("\n-two\n") && text.contains("\n+2\n"), "{text}");
    let back = home.brain(["diff", "v", "3", "2"]).expect(0).stdout;
    assert!(back.contains("\n-three\n"), "{back}");
    let same = home.json(["diff", "v", "3", "3"]);
    assert_eq!((&same["diff"], &same["added"]), (&json!(""), &json!(0)));
    assert_eq!(home.fault(["diff", "v", "9"], 4)["code"], "unknown_version");
    home.put("new", "only\n");
    let diff = home.json(["diff", "new"]);
    assert_eq!((&diff["from"], &diff["removed"]), (&json!(0), &json!(0)));
    assert!(diff["diff"].as_str().unwrap().contains("\n+only\n"), "{diff}");
}

#[test]
fn diff_is_coloured_on_a_terminal_only() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("v", "one\n");
    home.put("v", "two\n");
    let plain = home.brain(["diff", "v"]).expect(0).stdout;
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let Some((code, output)) = on_a_terminal(&home, 80, &[], &["diff", "v"]) else { return };
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("\u{1b}[1;31m-one\u{1b}[0m"), "{output:?}");
    assert!(output.contains("\u{1b}[32m+two\u{1b}[0m"), "{output:?}");
}

#[test]
fn put_with_an_expected_version_overwrites_no_other_change() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    assert_eq!(home.json_with(["put", "p", "--expect", "0"], b"one\n")["status"], "created");
    let error = home.fault_with(["put", "p", "--expect", "0"], b"other\n", 1);
    assert_eq!(error["code"], "conflict");
    assert_eq!(home.json_with(["put", "p", "--expect", "1"], b"two\n")["version"], 2);
    let error = home.fault_with(["put", "p", "--expect", "1"], b"three\n", 1);
    assert!(error["message"].as_str().unwrap().contains("version 2"), "{error}");
    assert_eq!(home.get("p")["body"], "two\n");
}

/// Runs `brain edit` with a shell script as the editor; `$1` is the file.
fn edit(home: &TestHome, script: &str, args: &[&str]) -> Run {
    let path = home.outside().join("editor.sh");
    fs::write(&path, script).unwrap();
    let mut command = home.command("brain");
    command.arg("edit").args(args).env("TMPDIR", home.outside());
    command.env("BRAIN", program("brain"));
    run(with_editor(command, &format!("sh {}", path.display())), b"")
}

fn with_editor(mut command: std::process::Command, editor: &str) -> std::process::Command {
    command.env("EDITOR", editor);
    command
}

/// Returns the temporary directories that `edit` did not remove.
fn remaining_directories(home: &TestHome) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(home.outside()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.display().to_string().contains("brain-edit-")).collect()
}

#[test]
fn edit_stores_the_text_that_the_editor_saved() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("people/ada", "---\ntitle: Ada\n---\n\nShe wrote.\n");
    let output = edit(&home, "sed -i s/wrote/programmed/ \"$1\"", &["people/ada"]).expect(0);
    assert!(output.stdout.starts_with("updated people/ada\n"), "{output:?}");
    assert_eq!(home.get("people/ada")["body"], "She programmed.\n");
    assert_eq!(home.get("people/ada")["version"], 2);
    let output = edit(&home, "cat \"$1\" > /dev/null", &["people/ada"]).expect(0);
    assert!(output.stdout.starts_with("unchanged people/ada"), "{output:?}");
    assert_eq!(home.get("people/ada")["version"], 2);
    assert!(remaining_directories(&home).is_empty());
}

#[test]
fn edit_merges_a_change_of_other_lines() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("list", "milk\n\nbread\n\nsalt\n");
    let script = "printf 'milk\\n\\nbread\\n\\npepper\\n' | \"$BRAIN\" put list > /dev/null
sed -i s/milk/oat/ \"$1\"";
    let output = edit(&home, script, &["list"]).expect(0);
    assert!(output.stderr.contains("changed meanwhile"), "{output:?}");
    let body = home.get("list")["body"].as_str().unwrap().to_owned();
    assert!(body.contains("oat\n\nbread\n\npepper\n"), "{body}");
    assert!(!body.contains("<<<"), "{body}");
}

#[test]
fn edit_opens_both_versions_of_a_conflict() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("note", "one\n");
    let script = "if grep -q '<<<<<<< your text' \"$1\"; then
    grep -q '^theirs$' \"$1\" && grep -q '^mine$' \"$1\" || exit 1
    sed -i -e '/^[<=>]\\{7\\}/d' \"$1\"
else
    printf 'theirs\\n' | \"$BRAIN\" put note > /dev/null
    printf 'mine\\n' > \"$1\"
fi";
    edit(&home, script, &["note"]).expect(0);
    let page = home.get("note");
    let body = page["body"].as_str().unwrap();
    assert!(body.contains("mine\n") && body.contains("theirs\n"), "{body}");
    assert_eq!(page["version"], 3);
    assert!(remaining_directories(&home).is_empty());
}

#[test]
fn edit_keeps_the_file_if_the_text_cannot_be_stored() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("note", "one\n");
    // The editor fails.
    let output = edit(&home, "echo mine > \"$1\"; exit 3", &["note"]).expect(1);
    let file = remaining_directories(&home).pop().unwrap().join("note.md");
    assert!(output.stderr.contains(&file.display().to_string()), "{output:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    // Conflict markers are left.
    let script = "if grep -q '<<<<<<<' \"$1\"; then exit 0; fi
printf 'theirs\\n' | \"$BRAIN\" put note > /dev/null
echo mine > \"$1\"";
    let output = edit(&home, script, &["note"]).expect(1);
    assert!(output.stderr.contains("conflict markers"), "{output:?}");
    let file = remaining_directories(&home).pop().unwrap().join("note.md");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("mine\n") && text.contains("theirs\n"), "{text}");
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    assert!(home.get("note")["body"] == "theirs\n");
    // The daemon refuses the text.
    let script = "printf -- '---\\na: [\\n---\\nx\\n' > \"$1\"";
    let output = edit(&home, script, &["note"]).expect(1);
    assert!(output.stderr.contains("your text is in"), "{output:?}");
    assert_eq!(remaining_directories(&home).len(), 1);
}

#[test]
fn edit_of_a_note_in_a_directory_adds_no_lines() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let vault = home.outside().join("vault");
    fs::create_dir_all(&vault).unwrap();
    fs::write(vault.join("note.md"), "Mine.\n").unwrap();
    home.json(["sources", "add", "vault", "--path", vault.to_str().unwrap()]);
    home.json(["sync", "--source", "vault"]);
    edit(&home, "echo More. >> \"$1\"", &["note", "--source", "vault"]).expect(0);
    assert_eq!(fs::read_to_string(vault.join("note.md")).unwrap(), "Mine.\nMore.\n");
    assert_eq!(home.json(["get", "note", "--source", "vault"])["source_kind"], "sync");
}

#[test]
fn edit_creates_a_page_only_with_the_flag_new() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let output = edit(&home, "echo x > \"$1\"", &["new/page"]).expect(4);
    assert!(output.stderr.contains("no page \"new/page\""), "{output:?}");
    edit(&home, "echo x > \"$1\"", &["new/page", "--new"]).expect(0);
    assert_eq!(home.get("new/page")["body"], "x\n");
    // The editor leaves the new page empty.
    edit(&home, "true", &["other", "--new"]).expect(2);
}
