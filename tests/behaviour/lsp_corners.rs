//! `brain lsp`: corners of the protocol and of markdown.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use brain_tests::editor::{Editor, position, uri};
use brain_tests::{TEST_TIMEOUT, wait_for};
use serde_json::{Value, json};

use crate::lsp::{vault, watching_home};
use crate::lsp_rename::{broken, plain_capabilities, text, wait_text};

/// Returns the texts that the items of a completion lead to. `‸` is the cursor.
fn completed(editor: &mut Editor, note: &str, text: &str) -> Vec<String> {
    let before = text.split('‸').next().unwrap();
    let line = before.matches('\n').count() as u64;
    let column = before.rsplit('\n').next().unwrap().encode_utf16().count() as u64;
    editor.set(note, &text.replace('‸', ""));
    let items = editor.complete(note, line, column);
    items.iter().map(|item| editor.accepted(note, item)).collect()
}

#[test]
fn the_rest_of_a_closed_link_is_replaced() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("meeting.md", "---\naliases: [gathering]\n---\n# Meeting\n## Long goals\nx ^abc\n"),
            ("n.md", "x\n"),
        ],
    );
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("n.md"));
    for (text, expected) in [
        ("[[Me‸eting]]", "[[Meeting]]"),
        ("[[Me‸|label]] x", "[[meeting|label]] x"),
        ("[[gath‸|label]]", "[[meeting|label]]"),
        ("[[Me‸#Long goals]]", "[[meeting#Long goals]]"),
        ("[[Me‸ and [[n]]", "[[Meeting]] and [[n]]"),
        ("[[meeting#Lo‸ng|l]]", "[[meeting#Long goals|l]]"),
        ("[[meeting#^a‸b]]", "[[meeting#^abc]]"),
        ("[x](mee‸t.md#h)", "[x](meeting.md#h)"),
        ("[x](mee‸t.md \"t\")", "[x](meeting.md \"t\")"),
        ("[x](mee‸ (y)", "[x](meeting.md) (y)"),
        ("[^lo‸n] x\n\n[^long]: y", "[^long] x\n\n[^long]: y"),
        ("see [y](n.md)\n[[Me‸eting]] z", "see [y](n.md)\n[Meeting](meeting.md) z"),
        ("see [y](n.md)\n[[Me‸|label]]", "see [y](n.md)\n[[meeting|label]]"),
        ("see [y](n.md)\n![[Me‸]]", "see [y](n.md)\n![[Meeting]]"),
        // A row of a table without outer bars.
        ("a | b\n--|--\n[[gath‸ | x", "a | b\n--|--\n[[meeting\\|gathering]] | x"),
        ("a | b\n\n[[gath‸ | x", "a | b\n\n[[meeting|gathering]] | x"),
        ("| a |\n|--|\n| [[Me‸\\|l]] |", "| a |\n|--|\n| [[meeting\\|l]] |"),
    ] {
        let found = completed(&mut editor, &note, text);
        assert!(found.contains(&expected.to_owned()), "{text}: {found:?}");
    }
    for text in ["```sh\nif [[ Me‸\n```\n", "```c\n#me‸\n```\n", "x\n\n    [[Me‸"] {
        assert_eq!(completed(&mut editor, &note, text), [""; 0], "{text}");
    }
}

#[test]
fn a_mention_in_a_table_becomes_a_link_that_keeps_the_cell() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault =
        vault(&home, &[("plan.md", "---\naliases: [the roadmap]\n---\nx\n"), ("n.md", "x\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("n.md"));
    editor.set(&note, "| a |\n|---|\n| see the roadmap |\n");
    let params = json!({
        "textDocument": { "uri": note }, "context": { "diagnostics": [] },
        "range": { "start": position(2, 8), "end": position(2, 8) },
    });
    let actions = editor.request("textDocument/codeAction", params);
    editor.apply(&actions[0]["edit"]);
    assert_eq!(editor.text(&note), "| a |\n|---|\n| see [[plan\\|the roadmap]] |\n");
}

#[test]
fn a_line_tells_who_wrote_it() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("a.md", "one\ntwo\none\n")]);
    fs::write(vault.join("a.md"), "one\ntwo\nthree\none\n").unwrap();
    wait_for("the sync", || home.json(["get", "vault:a"])["version"] == 2);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    let why = |editor: &mut Editor, line: u64| {
        let params =
            json!({ "command": "brain.why", "arguments": [{ "uri": note, "line": line }] });
        editor.ask("workspace/executeCommand", params)
    };
    let three = why(&mut editor, 2)["result"].clone();
    assert_eq!((&three["text"], &three["version"]), (&json!("three"), &json!(2)), "{three}");
    assert!(three["by"]["at"].as_str().is_some_and(|at| at.contains('T')), "{three}");
    assert_eq!(why(&mut editor, 3)["result"]["line"], 4);
    assert!(editor.shown[0].contains("version 2"), "{:?}", editor.shown);
    // A line that moved in the unsaved text, and a new one.
    editor.set(&note, "zero\none\ntwo\n");
    assert_eq!(why(&mut editor, 1)["result"]["line"], 1);
    assert!(why(&mut editor, 0)["error"]["message"].is_string());
    editor.open_as("untitled:x", "y");
}

#[test]
fn undo_of_brain_turns_a_whole_rename_back() {
    let home = watching_home();
    let _daemon = home.daemon();
    let files =
        [("old-plan.md", "# Old\n"), ("a.md", "[[old-plan]]\n"), ("b.md", "[x](old-plan.md)\n")];
    let vault = vault(&home, &files);
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let note = editor.open(&vault.join("a.md"));
    editor.rename(&note, (0, 4), "The new plan");
    wait_text(&vault.join("b.md"), "[x](The%20new%20plan.md)\n");
    editor.save(&note);
    editor.close(&note);
    wait_for("the sync", || home.json(["get", "vault:a"])["body"] == "[[The new plan]]\n");
    home.json(["undo", "vault:the-new-plan"]);
    wait_text(&vault.join("b.md"), "[x](old-plan.md)\n");
    wait_text(&vault.join("old-plan.md"), "# Old\n");
    wait_text(&vault.join("a.md"), "[[old-plan]]\n");
    assert!(!vault.join("The new plan.md").exists());
    assert!(broken(&home).is_empty());
}

/// Waits for the end of a process, and returns its status.
fn status(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < end, "the server does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_status_is_that_of_the_protocol() {
    let home = watching_home();
    let _daemon = home.daemon();
    let mut editor = Editor::new(&home);
    editor.notify("exit", Value::Null);
    assert_eq!(status(&mut editor.child), Some(1), "`exit` without `shutdown`");
    let mut editor = Editor::new(&home);
    editor.begin("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    assert_eq!(status(&mut editor.child), Some(0));
    // An editor that closed standard error first.
    let mut command = home.command("brain");
    let (reader, writer) = std::io::pipe().unwrap();
    command.arg("lsp").stderr(Stdio::from(writer));
    drop(reader);
    let mut editor = Editor::of_command(command);
    editor.initialize(plain_capabilities(true));
    editor.end();
}

#[test]
fn links_to_headings_lead_where_they_led_after_any_rename() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("n.md", "x\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("n.md"));
    for (before, line, name, after) in [
        // The first one gets the name of the second.
        ("# A\n# B\n[a](#a) [b](#b)\n", 0, "B", "# B\n# B\n[a](#b) [b](#b-1)\n"),
        ("# A\n# A\n[a](#a) [b](#a-1)\n", 1, "C", "# A\n# C\n[a](#a) [b](#c)\n"),
        ("# A\n# A\n# A\n[c](#a-2)\n", 0, "B", "# B\n# A\n# A\n[c](#a-1)\n"),
        ("Title\n===\n[[#Title]] [t](#title \"x\")\n", 0, "N", "N\n===\n[[#N]] [t](#n \"x\")\n"),
        ("## A ##\n[[n#A|l]]\n", 0, "Ä b", "## Ä b ##\n[[n#Ä b|l]]\n"),
    ] {
        editor.set(&note, before);
        let column = before.lines().nth(line as usize).unwrap().len() as u64;
        editor.rename(&note, (line, column), name);
        assert_eq!(editor.text(&note), after, "{before:?}");
    }
}

#[test]
fn every_form_of_a_link_follows_a_rename() {
    let home = watching_home();
    let _daemon = home.daemon();
    let links = "---\nrelated: \"[[my plan]]\"\n---\n\n[a][r] ![x](<my plan.md>)\n\
                 ![[my plan]] [[My Plan#^b1]] [[my plan.md|l]] [u](./my%20plan.md?x#y)\n\
                 | a |\n|---|\n| [[my plan\\|my plan]] |\n`[[my plan]]`\n\n[r]: <my plan.md> 'T'\n";
    let renamed = links
        .replace("[[my plan]]\"", "[[next]]\"")
        .replace("my%20plan.md", "next.md")
        .replace("![[my plan]]", "![[next]]")
        .replace("[[My Plan#", "[[next#")
        .replace("[[my plan.md|", "[[next.md|")
        .replace("[[my plan\\|", "[[next\\|")
        .replace("<my plan.md>", "<next.md>");
    let vault = vault(&home, &[("my plan.md", "x ^b1\n"), ("a.md", links), ("b.md", links)]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.rename(&note, (5, 6), "next");
    assert_eq!(editor.text(&note), renamed);
    wait_text(&vault.join("b.md"), &renamed);
}

#[test]
fn several_files_are_renamed_in_one_request() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(
        &home,
        &[
            ("a.md", "[[b]] [b](b.md)\n"),
            ("b.md", "[[a]] [a](a.md)\n"),
            ("c.md", "[[a]] [[b]] [a](a.md) [b](b.md)\n"),
            ("d.md", "[[a]] [b](b.md)\n"),
        ],
    );
    let mut editor = Editor::new(&home);
    let open = editor.open(&vault.join("c.md"));
    let at = |name: &str| uri(&vault.join(name));
    let pair = |from: &str, to: &str| json!({ "oldUri": at(from), "newUri": at(to) });
    let params = json!({ "files": [pair("a.md", "x/one.md"), pair("b.md", "x/two.md")] });
    let edit = editor.request("workspace/willRenameFiles", params);
    editor.apply(&edit);
    assert_eq!(editor.text(&open), "[[one]] [[two]] [a](x/one.md) [b](x/two.md)\n");
    editor.move_file(&at("a.md"), &at("x/one.md"));
    editor.move_file(&at("b.md"), &at("x/two.md"));
    wait_text(&vault.join("d.md"), "[[one]] [b](x/two.md)\n");
    wait_text(&vault.join("x/one.md"), "[[two]] [b](two.md)\n");
    wait_text(&vault.join("x/two.md"), "[[one]] [a](one.md)\n");
    editor.save(&open);
    wait_for("no broken link", || broken(&home).is_empty());
    // A directory with a slash at the end.
    let params = json!({ "files": [{
        "oldUri": format!("{}/", at("x")), "newUri": format!("{}/", at("y/z")),
    }] });
    let edit = editor.request("workspace/willRenameFiles", params);
    editor.apply(&edit);
    assert_eq!(editor.text(&open), "[[one]] [[two]] [a](y/z/one.md) [b](y/z/two.md)\n");
}

#[test]
fn a_page_that_another_program_removes_makes_its_links_dead() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("sub/b.md", "x\n"), ("a.md", "[[b]] [c](sub/b.md)\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.wait("no diagnostics", |editor| editor.diagnostics.get(&note) == Some(&json!([])));
    editor.listen(Duration::from_millis(300));
    fs::remove_file(vault.join("sub/b.md")).unwrap();
    editor.wait("two", |editor| editor.diagnostics[&note].as_array().unwrap().len() == 2);
}

#[test]
fn a_directory_behind_a_symbolic_link_is_the_source() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "x\n"), ("a.md", "[[Old]]\n"), ("b.md", "[[Old]]\n")]);
    let link = home.outside().join("linked ü");
    symlink(&vault, &link).unwrap();
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let lower = uri(&link.join("a.md")).replace('ü', "%c3%bc");
    let note = editor.open_as(&lower, "[[Old]] unsaved\n");
    let target = editor.at("textDocument/definition", &note, 0, 3);
    assert!(target[0]["uri"].as_str().unwrap().ends_with("/Old.md"), "{target}");
    editor.rename(&note, (0, 3), "New");
    assert_eq!(editor.text(&note), "[[New]] unsaved\n");
    wait_text(&vault.join("b.md"), "[[New]]\n");
    assert_eq!(text(&vault.join("a.md")), "[[Old]]\n", "it is open");
    editor.end();
    wait_text(&vault.join("a.md"), "[[New]]\n");
}

#[test]
fn documents_are_opened_twice_and_changed_across_lines() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[]);
    let mut editor = Editor::new(&home);
    let note = editor.open_as(&uri(&vault.join("n.md")), "x");
    let note = editor.open_as(&note, "# A\r\n# 🦓B\r\n# C\r\n");
    let change = |a: (u64, u64), b: (u64, u64), text: &str| {
        let range = json!({ "start": position(a.0, a.1), "end": position(b.0, b.1) });
        json!({ "range": range, "text": text })
    };
    // The end of the first line, into the animal; then the rest of the second line.
    editor.change(&note, json!([change((0, 3), (1, 2), "\n\n# "), change((2, 4), (3, 0), "\r\n")]));
    editor.notify("textDocument/didChange", json!({ "textDocument": { "uri": "file:///n" } }));
    let params = json!({ "textDocument": { "uri": note } });
    let outline = editor.request("textDocument/documentSymbol", params);
    let names: Vec<_> = outline.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["A", "🦓", "C"]);
}
