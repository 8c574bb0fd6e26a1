//! `brain lsp`: renaming of pages, headings, tags and folders.

use std::fs;
use std::path::Path;
use std::time::Duration;

use brain_tests::editor::{Editor, uri, usual_capabilities};
use brain_tests::{TestHome, wait_for};
use serde_json::{Value, json};

use crate::lsp::{has_page, vault, watching_home};

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Waits until a file has this text.
pub(crate) fn wait_text(path: &Path, expected: &str) {
    let what = format!("{} is {:?} and not {expected:?}", path.display(), text(path));
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while text(path) != expected {
        assert!(std::time::Instant::now() < end, "{what}; now {:?}", text(path));
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn broken(home: &TestHome) -> Vec<String> {
    brain_tests::texts(&home.json(["links", "--broken"])["links"], "target")
}

/// An editor that cannot rename files.
pub(crate) fn plain_capabilities(versions: bool) -> Value {
    let mut capabilities = usual_capabilities();
    capabilities["workspace"]["workspaceEdit"] = json!({ "documentChanges": versions });
    capabilities
}

#[test]
fn texts_are_edited_before_the_file_is_renamed() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("old.md", "# Old\nsee [[Old]] itself\n"), ("b.md", "[[old]]\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("old.md"));
    let edit = editor.rename(&note, (1, 7), "New");
    let parts = edit["documentChanges"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{edit}");
    assert_eq!(parts[0]["textDocument"]["uri"], note.as_str());
    assert_eq!(parts[1]["kind"], "rename");
    let new = vault.join("New.md");
    assert_eq!(editor.text(&uri(&new)), "# Old\nsee [[New]] itself\n");
    wait_text(&vault.join("b.md"), "[[New]]\n");
    editor.save(&uri(&new));
    wait_for("the page", || {
        home.json(["get", "vault:new"])["body"] == "# Old\nsee [[New]] itself\n"
    });
    editor.listen(Duration::from_millis(500));
    let files: Vec<_> = fs::read_dir(&vault).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "one file of the page: {files:?}");
    assert_eq!(broken(&home), [""; 0]);
    assert_eq!(text(&new), "# Old\nsee [[New]] itself\n");
    assert!(editor.shown.is_empty(), "{:?}", editor.shown);
}

#[test]
fn edits_have_the_one_form_that_the_client_knows() {
    for (versions, can_rename) in [(true, false), (false, false), (true, true)] {
        let home = watching_home();
        let _daemon = home.daemon();
        let vault = vault(&home, &[("Old.md", "x\n"), ("a.md", "[[Old]]\n")]);
        let capabilities =
            if can_rename { usual_capabilities() } else { plain_capabilities(versions) };
        let mut editor = Editor::with(&home, capabilities);
        let note = editor.open(&vault.join("a.md"));
        let edit = editor.rename(&note, (0, 3), "Older");
        assert_eq!(edit.as_object().unwrap().len(), 1, "{edit}");
        let count = edit["documentChanges"].as_array().map(Vec::len);
        assert_eq!(count, versions.then_some(1 + usize::from(can_rename)), "{edit}");
        assert_eq!(editor.text(&note), "[[Older]]\n");
        let new = vault.join("Older.md");
        wait_text(&new, "x\n");
        assert!(!vault.join("Old.md").exists());
        wait_for("the page", || has_page(&home, ["get", "vault:older"]));
        editor.save(&note);
        wait_for("no broken link", || broken(&home).is_empty());
    }
}

#[test]
fn closed_notes_are_changed_by_the_daemon_and_open_ones_after_a_kill() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("Old.md", "x\n"),
            ("a.md", "a [[Old]]\n"),
            ("b.md", "[[Old]]\n"),
            ("c.md", "[[Old|o]]\n"),
        ],
    );
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let note = editor.open(&vault.join("a.md"));
    editor.rename(&note, (0, 5), "New");
    wait_text(&vault.join("b.md"), "[[New]]\n");
    wait_text(&vault.join("c.md"), "[[New|o]]\n");
    assert_eq!(text(&vault.join("a.md")), "a [[Old]]\n", "the editor has not saved it");
    editor.listen(Duration::from_millis(300));
    editor.end();
    wait_text(&vault.join("a.md"), "a [[New]]\n");
    assert_eq!(broken(&home), [""; 0]);
}

#[test]
fn an_edit_that_is_not_applied_renames_nothing() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "x\n"), ("a.md", "[[Old]]\n"), ("b.md", "[[Old]]\n")]);
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let note = editor.open(&vault.join("a.md"));
    let params = json!({
        "textDocument": { "uri": note }, "position": { "line": 0, "character": 3 }, "newName": "New",
    });
    editor.request("textDocument/rename", params);
    editor.listen(Duration::from_millis(500));
    assert!(vault.join("Old.md").exists() && text(&vault.join("b.md")) == "[[Old]]\n");
    editor.end();
    assert!(vault.join("Old.md").exists() && text(&vault.join("a.md")) == "[[Old]]\n");
}

#[test]
fn an_undo_in_one_document_is_explained_and_a_command_turns_all_back() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[("Old.md", "x\n"), ("a.md", "[[Old]]\n"), ("b.md", "[[Old]]\n"), ("c.md", "[[Old]]\n")],
    );
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let (a, b) = (editor.open(&vault.join("a.md")), editor.open(&vault.join("b.md")));
    editor.rename(&a, (0, 3), "New");
    wait_text(&vault.join("c.md"), "[[New]]\n");
    editor.save(&a);
    editor.save(&b);
    editor.set(&a, "[[Old]]\n");
    editor.wait("the diagnostic", |editor| {
        let found = editor.diagnostics.get(&a);
        found.is_some_and(|found| found[0]["message"] == "\"Old\" is now \"New\"")
    });
    let params = json!({
        "textDocument": { "uri": a }, "range": editor.diagnostics[&a][0]["range"],
        "context": { "diagnostics": [] },
    });
    let actions = editor.request("textDocument/codeAction", params);
    assert_eq!(actions[0]["isPreferred"], true, "{actions}");
    assert!(actions[0]["edit"].to_string().contains("\"New\""), "{actions}");
    assert!(!vault.join("Old.md").exists(), "nothing is created");
    editor.execute("brain.renameBack", json!([]));
    wait_text(&vault.join("c.md"), "[[Old]]\n");
    editor.wait("the edit", |editor| editor.text(&b) == "[[Old]]\n");
    assert_eq!(editor.text(&a), "[[Old]]\n");
    wait_text(&vault.join("Old.md"), "x\n");
    assert!(!vault.join("New.md").exists());
}

#[test]
fn links_to_a_renamed_heading_and_to_its_double_follow() {
    let home = watching_home();
    let _daemon = home.daemon();
    let own = "## Notes\na\n## Notes\nb\n[x](#notes) [y](#notes-1)\n";
    let vault = vault(
        &home,
        &[("n.md", own), ("o.md", "[x](n.md#notes) [y](n.md#notes-1) [[n#Notes|z]]\n")],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("n.md"));
    editor.rename(&note, (0, 5), "Minutes");
    let renamed = "## Minutes\na\n## Notes\nb\n[x](#minutes) [y](#notes)\n";
    assert_eq!(editor.text(&note), renamed);
    wait_text(&vault.join("o.md"), "[x](n.md#minutes) [y](n.md#notes) [[n#Minutes|z]]\n");
    editor.save(&note);
    wait_for("the sync", || home.json(["get", "vault:n"])["body"] == renamed);
    editor.execute("brain.renameBack", json!([]));
    editor.wait("the heading", |editor| editor.text(&note) == own);
    wait_text(&vault.join("o.md"), "[x](n.md#notes) [y](n.md#notes-1) [[n#Notes|z]]\n");
}

#[test]
fn only_the_target_of_a_link_changes() {
    let home = watching_home();
    let _daemon = home.daemon();
    let links = "- [the plan](plan.md \"Q3\")\n- ![[plan#Goals|g]]\n> 1. [see **it**](<plan.md>)\n";
    let renamed = "- [the plan](road%20map.md \"Q3\")\n- ![[road map#Goals|g]]\n\
                   > 1. [see **it**](<road map.md>)\n";
    let vault = vault(&home, &[("plan.md", "## Goals\n"), ("a.md", links), ("b.md", links)]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.rename(&note, (1, 6), "road map");
    assert_eq!(editor.text(&note), renamed);
    wait_text(&vault.join("b.md"), renamed);
    wait_text(&vault.join("road map.md"), "## Goals\n");
}

#[test]
fn a_folder_is_renamed_by_one_entry() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("work/a.md", "[b](b.md) ![](p.png)\n"),
            ("work/b.md", "[c](../c.md)\n"),
            ("c.md", "[[work/a]] [b](work/b.md#h)\n"),
            ("d.md", "[[work/a]]\n"),
        ],
    );
    fs::write(vault.join("work/p.png"), "png").unwrap();
    let mut editor = Editor::new(&home);
    let filters = &editor.server["capabilities"]["workspace"]["fileOperations"]["willRename"];
    let kinds: Vec<_> = filters["filters"].as_array().unwrap().iter().collect();
    assert!(kinds.iter().any(|it| it["pattern"]["matches"] == "folder"), "{filters}");
    let (c, b) = (editor.open(&vault.join("c.md")), editor.open(&vault.join("work/b.md")));
    let (from, to) = (uri(&vault.join("work")), uri(&vault.join("jobs/2026")));
    let params = json!({ "files": [{ "oldUri": from, "newUri": to }] });
    let edit = editor.request("workspace/willRenameFiles", params);
    editor.apply(&edit);
    assert_eq!(editor.text(&c), "[[jobs/2026/a]] [b](jobs/2026/b.md#h)\n");
    assert_eq!(editor.text(&b), "[c](../../c.md)\n");
    editor.move_file(&from, &to);
    wait_text(&vault.join("d.md"), "[[jobs/2026/a]]\n");
    editor.save(&c);
    editor.save(&uri(&vault.join("jobs/2026/b.md")));
    wait_for("the pages", || {
        broken(&home).is_empty() && has_page(&home, ["get", "vault:jobs/2026/a"])
    });
    assert_eq!(text(&vault.join("jobs/2026/a.md")), "[b](b.md) ![](p.png)\n");
    assert!(!vault.join("work").exists());

    // A client that cannot rename files: the daemon moves all of them, pictures included.
    let mut editor = Editor::with(&home, plain_capabilities(true));
    editor.execute("brain.rename", json!([{ "from": to, "to": uri(&vault.join("w")) }]));
    wait_text(&vault.join("d.md"), "[[w/a]]\n");
    wait_text(&vault.join("w/b.md"), "[c](../c.md)\n");
    wait_text(&vault.join("w/p.png"), "png");

    // A former file that comes back is a page again.
    fs::create_dir_all(vault.join("jobs/2026")).unwrap();
    fs::write(vault.join("jobs/2026/b.md"), "[c](../c.md)\n").unwrap();
    wait_for("the page", || has_page(&home, ["get", "vault:jobs/2026/b"]));
}

#[test]
fn a_tag_is_renamed_with_those_below_it() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("a.md", "x #work and #work/deep\n"),
            ("b.md", "---\ntags: [work, home]\n---\n\n#worker\n"),
        ],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.rename(&note, (0, 4), "#job");
    assert_eq!(editor.text(&note), "x #job and #job/deep\n");
    wait_for("the other page", || text(&vault.join("b.md")).contains("job"));
    let other = text(&vault.join("b.md"));
    assert!(other.contains("#worker") && other.contains("home"), "{other}");
    editor.save(&note);
    wait_for("the tags", || {
        brain_tests::texts(&home.json(["tags"])["tags"], "tag").contains(&"job/deep".to_owned())
    });
}

#[test]
fn a_taken_name_is_refused_and_changes_nothing() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "x\n"), ("New.md", "y\n"), ("a.md", "[[Old]] #t\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    for (at, name) in [(3, "New"), (3, "../x"), (3, ""), (9, "not a tag"), (9, "12")] {
        let params = json!({
            "textDocument": { "uri": note }, "newName": name,
            "position": { "line": 0, "character": at },
        });
        let response = editor.ask("textDocument/rename", params);
        assert!(response["error"]["message"].is_string(), "{name}: {response}");
    }
    assert_eq!(
        (text(&vault.join("Old.md")).as_str(), text(&vault.join("New.md")).as_str()),
        ("x\n", "y\n")
    );
    fs::create_dir(vault.join("w")).unwrap();
    let (from, to) = (uri(&vault.join("w")), uri(&vault.join("w/x")));
    let params = json!({ "files": [{ "oldUri": from, "newUri": to }] });
    let response = editor.ask("workspace/willRenameFiles", params);
    assert!(response["error"]["message"].as_str().unwrap().contains("into itself"), "{response}");
}

#[test]
fn diagnostics_come_while_a_rename_is_not_applied() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("w/a.md", "x\n"), ("b.md", "[[a]]\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("b.md"));
    let (from, to) = (uri(&vault.join("w")), uri(&vault.join("v")));
    let params = json!({ "files": [{ "oldUri": from, "newUri": to }] });
    editor.request("workspace/willRenameFiles", params);
    editor.set(&note, "[[missing]]\n");
    editor.wait("the diagnostic", |editor| {
        editor.diagnostics.get(&note).is_some_and(|found| found[0]["code"] == "missing-page")
    });
    assert!(editor.shown.is_empty(), "{:?}", editor.shown);
}
