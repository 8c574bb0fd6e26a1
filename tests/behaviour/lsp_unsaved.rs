//! `brain lsp`: what becomes of a rename while documents are open and not saved.

use std::path::Path;
use std::time::Duration;

use brain_tests::editor::{Editor, position, uri, usual_capabilities};
use brain_tests::wait_for;
use serde_json::{Value, json};

use crate::lsp::{has_page, vault, watching_home};
use crate::lsp_rename::{broken, plain_capabilities, text, wait_text};

const A_WHILE: Duration = Duration::from_millis(500);

/// Returns the code actions at the third character of a document.
fn actions(editor: &mut Editor, note: &str) -> Vec<Value> {
    let at = position(0, 3);
    let params = json!({
        "textDocument": { "uri": note }, "range": { "start": at, "end": at },
        "context": { "diagnostics": [] },
    });
    editor.request("textDocument/codeAction", params).as_array().unwrap().clone()
}

fn wait_message(editor: &mut Editor, note: &str, message: &str) {
    editor.wait(message, |editor| {
        editor.diagnostics.get(note).is_some_and(|found| found[0]["message"] == message)
    });
}

#[test]
fn a_rename_that_brain_has_undone_is_not_made_again() {
    let home = watching_home();
    let _daemon = home.daemon();
    let files = [("old.md", "x\n"), ("a.md", "[[old]]\n"), ("b.md", "[[old]]\n")];
    let vault = vault(&home, &files);
    for ends in [false, true] {
        let mut editor = Editor::with(&home, plain_capabilities(true));
        let note = editor.open(&vault.join("a.md"));
        editor.rename(&note, (0, 3), "new");
        wait_text(&vault.join("b.md"), "[[new]]\n");
        editor.listen(A_WHILE);
        home.json(["undo", "vault:new"]);
        wait_text(&vault.join("b.md"), "[[old]]\n");
        wait_message(&mut editor, &note, "\"new\" is now \"old\"");
        if ends {
            editor.end();
        } else {
            editor.close(&note);
            editor.listen(A_WHILE);
        }
        assert!(vault.join("old.md").exists() && !vault.join("new.md").exists());
        assert!(files.iter().all(|(name, old)| text(&vault.join(name)) == *old));
        assert!(broken(&home).is_empty());
    }
}

#[test]
fn a_refused_rename_is_not_made_when_the_document_closes() {
    let home = watching_home();
    let _daemon = home.daemon();
    let files = [("Old.md", "x\n"), ("a.md", "[[Old]]\n"), ("b.md", "[[Old]]\n")];
    let vault = vault(&home, &files);
    let is_as_before = || files.iter().all(|(name, old)| text(&vault.join(name)) == *old);
    for capabilities in [plain_capabilities(true), usual_capabilities()] {
        let mut editor = Editor::with(&home, capabilities);
        let note = editor.open(&vault.join("a.md"));
        editor.refuses_edits = true;
        let (from, to) = (vault.join("Old.md"), vault.join("New.md"));
        editor.execute("brain.rename", json!([{ "from": from, "to": to }]));
        editor.wait("the message", |editor| !editor.shown.is_empty());
        assert!(editor.shown[0].starts_with("nothing was renamed"), "{:?}", editor.shown);
        editor.close(&note);
        editor.listen(A_WHILE);
        assert!(is_as_before());
        // An edit that the editor has taken, and does not apply.
        let note = editor.open(&vault.join("a.md"));
        let params = json!({
            "textDocument": { "uri": note }, "position": position(0, 3), "newName": "New",
        });
        editor.request("textDocument/rename", params);
        editor.close(&note);
        editor.wait("the second message", |editor| editor.shown.len() == 2);
        assert!(is_as_before());
    }
}

#[test]
fn links_of_an_unsaved_document_follow_several_renames() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[("w/P.md", "[[P]] [c](../c.md)\n"), ("a.md", "[[P]] [x](w/P.md)\n"), ("c.md", "[[P]]\n")],
    );
    let mut name = "P".to_owned();
    for (round, ends) in [(1, false), (2, true)] {
        for capabilities in [plain_capabilities(true), usual_capabilities()] {
            let can_move = capabilities == usual_capabilities();
            let mut editor = Editor::with(&home, capabilities);
            let note = editor.open(&vault.join("a.md"));
            let page = uri(&vault.join(format!("w/{name}.md")));
            editor.open(&vault.join(format!("w/{name}.md")));
            for step in ["x", "y"] {
                let new = format!("{step}{round}{can_move}");
                editor.rename(&note, (0, 3), &format!("w/{step}/{new}"));
                wait_text(&vault.join("c.md"), &format!("[[{new}]]\n"));
                editor.listen(A_WHILE);
                name = format!("{step}/{new}");
            }
            let moved = uri(&vault.join(format!("w/{name}.md")));
            if ends {
                editor.end();
            } else {
                editor.close(&note);
                editor.close(if can_move { &moved } else { &page });
                editor.listen(A_WHILE);
            }
            let short = name.rsplit('/').next().unwrap();
            wait_text(&vault.join("a.md"), &format!("[[{short}]] [x](w/{name}.md)\n"));
            let own = format!("[[{short}]] [c](../../c.md)\n");
            wait_text(&vault.join(format!("w/{name}.md")), &own);
            wait_for("no broken link", || broken(&home).is_empty());
        }
    }
}

#[test]
fn a_closed_document_has_the_new_name_though_its_buffer_had_no_link() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "x\n"), ("a.md", "[[Old]]\n"), ("b.md", "[[Old]]\n")]);
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let (a, b) = (editor.open(&vault.join("a.md")), editor.open(&vault.join("b.md")));
    editor.set(&b, "no link\n");
    editor.rename(&a, (0, 3), "New");
    wait_for("the rename", || vault.join("New.md").exists());
    editor.save(&a);
    editor.close(&b);
    wait_text(&vault.join("b.md"), "[[New]]\n");
}

#[test]
fn a_former_name_leads_to_the_page_in_a_later_session() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault =
        vault(&home, &[("work/Old.md", "# Goals\n"), ("a.md", "[[Old]] [o](work/Old.md#goals)\n")]);
    for new in ["Quite another name", "Third"] {
        let mut editor = Editor::with(&home, plain_capabilities(true));
        let note = editor.open(&vault.join("a.md"));
        let text = if new == "Third" { "[[Quite another name]]" } else { "[[Old]]" };
        editor.set(&note, text);
        editor.rename(&note, (0, 3), new);
        wait_for("the rename", || vault.join(format!("work/{new}.md")).exists());
        // The server is killed, and then the editor: the note was not saved.
        editor.child.kill().unwrap();
        editor.child.wait().unwrap();
    }
    assert_eq!(text(&vault.join("a.md")), "[[Old]] [o](work/Old.md#goals)\n");
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let note = editor.open(&vault.join("a.md"));
    wait_message(&mut editor, &note, "\"Old\" is now \"Third\"");
    assert_eq!(editor.diagnostics[&note][1]["message"], "\"work/Old.md\" is now \"work/Third.md\"");
    for character in [3, 15] {
        let target = editor.at("textDocument/definition", &note, 0, character);
        assert_eq!(target[0]["uri"], uri(&vault.join("work/Third.md")).as_str(), "{target}");
    }
    let replace = &actions(&mut editor, &note)[0];
    assert_eq!(replace["isPreferred"], true, "{replace}");
    editor.apply(&replace["edit"]);
    assert_eq!(editor.text(&note), "[[Third]] [o](work/Old.md#goals)\n");
    // Another program renames the file.
    editor.set(&note, "[[Third]]\n");
    move_file(&vault, "work/Third.md", "Fourth.md");
    wait_message(&mut editor, &note, "\"Third\" is now \"Fourth\"");
}

fn move_file(vault: &Path, from: &str, to: &str) {
    std::fs::rename(vault.join(from), vault.join(to)).unwrap();
}

#[test]
fn renames_are_turned_back_one_after_the_other() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("P.md", "x\n"), ("a.md", "[[P]]\n"), ("c.md", "[[P]]\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    for new in ["Q", "R"] {
        editor.rename(&note, (0, 3), new);
        wait_text(&vault.join("c.md"), &format!("[[{new}]]\n"));
        editor.listen(A_WHILE);
    }
    for former in ["Q", "P"] {
        editor.execute("brain.renameBack", json!([]));
        wait_text(&vault.join("c.md"), &format!("[[{former}]]\n"));
        editor.listen(A_WHILE);
        assert_eq!(editor.text(&note), format!("[[{former}]]\n"));
    }
    let params = json!({ "command": "brain.renameBack", "arguments": [] });
    assert!(editor.ask("workspace/executeCommand", params)["error"].is_object());
    editor.save(&note);
    wait_for("the pages", || broken(&home).is_empty() && has_page(&home, ["get", "vault:p"]));
}
