//! `brain lsp`: kills in the middle of a rename, and a brain that cannot be written.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use brain_tests::editor::{Editor, uri};
use brain_tests::{TestHome, wait_for};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use crate::lsp::{vault, watching_home};
use crate::lsp_rename::{broken, plain_capabilities, text, wait_text};

/// The number of closed notes that link to the page.
const CLOSED: usize = 60;
/// The pauses between the editor's half of a rename and a kill, in milliseconds: from before the
/// daemon's half to after its last file.
const PAUSES: [u64; 10] = [0, 10, 20, 25, 30, 40, 60, 90, 150, 400];

fn closed_note(number: usize, name: &str) -> String {
    format!("Note {number} of the user.\n\n- see [[{name}|the page]] and [[{name}#Goals]]\n")
}

/// Registers notes that link to the page `P0`: `open.md`, and closed ones.
fn linked_vault(home: &TestHome) -> PathBuf {
    let mut files = vec![
        ("P0.md".to_owned(), "## Goals\n".to_owned()),
        ("open.md".to_owned(), "[[P0]]\n".to_owned()),
    ];
    files.extend((0..CLOSED).map(|n| (format!("n{n}.md"), closed_note(n, "P0"))));
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    vault(home, &files)
}

/// Returns the one name that all closed notes and the file of the page have; `None` if they differ.
fn common_name(vault: &Path) -> Option<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for n in 0..CLOSED {
        let text = text(&vault.join(format!("n{n}.md")));
        let name = text.split_once("[[")?.1.split_once('|')?.0.to_owned();
        assert_eq!(text, closed_note(n, &name), "the text of the user");
        names.insert(name);
    }
    let name = names.pop_first().filter(|_| names.is_empty())?;
    let is_page = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('P');
    let pages: Vec<_> = fs::read_dir(vault).unwrap().flatten().filter(is_page).collect();
    let is_it = pages.len() == 1 && pages[0].file_name() == format!("{name}.md").as_str();
    is_it.then_some(name)
}

/// Returns the common name when it has not changed for a second: a busy daemon may take a while.
fn settled_name(vault: &Path) -> String {
    let (mut name, mut since) = (None, Instant::now());
    wait_for("one name", || {
        let now = common_name(vault);
        if now != name {
            (name, since) = (now, Instant::now());
        }
        name.is_some() && since.elapsed() > Duration::from_secs(1)
    });
    name.unwrap()
}

/// Renames `from` to `to` in the open note, which also gets unsaved text, and applies the edit.
fn begin_rename(editor: &mut Editor, vault: &Path, (from, to): (&str, &str)) -> String {
    let note = editor.open(&vault.join("open.md"));
    editor.set(&note, &format!("[[{from}]]\nunsaved\n"));
    editor.rename(&note, (0, 3), to);
    assert_eq!(editor.text(&note), format!("[[{to}]]\nunsaved\n"));
    note
}

#[test]
fn a_server_that_is_killed_during_a_rename_leaves_all_or_nothing() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = linked_vault(&home);
    let mut name = "P0".to_owned();
    for (round, pause) in (1..).zip(PAUSES) {
        let mut editor = Editor::with(&home, plain_capabilities(true));
        let new = format!("P{round}");
        let note = begin_rename(&mut editor, &vault, (&name, &new));
        std::thread::sleep(Duration::from_millis(pause));
        editor.child.kill().unwrap();
        editor.child.wait().unwrap();
        assert_eq!(text(&vault.join("open.md")), format!("[[{name}]]\n"), "only the editor saves");
        // What the daemon has begun, it completes.
        let now = settled_name(&vault);
        assert!(now == name || now == new, "{now}");
        // The editor starts another server, and the user goes on.
        let mut again = Editor::with(&home, plain_capabilities(true));
        let buffer = editor.text(&note).to_owned();
        again.open_as(&note, &buffer);
        if now == name {
            let params = json!({
                "textDocument": { "uri": note }, "context": { "diagnostics": [] },
                "range": { "start": { "line": 0, "character": 3 }, "end": { "line": 0, "character": 3 } },
            });
            let actions = again.request("textDocument/codeAction", params);
            assert!(actions[0]["title"].is_string(), "{actions}");
            again.set(&note, &format!("[[{name}]]\nunsaved\n"));
        }
        again.save(&note);
        wait_for("every link leads to the page", || broken(&home).is_empty());
        again.set(&note, &format!("[[{now}]]\n"));
        again.save(&note);
        again.end();
        name = now;
    }
}

#[test]
fn a_rename_is_completed_after_the_daemon_was_killed() {
    let home = watching_home();
    let vault = {
        let _daemon = home.daemon();
        linked_vault(&home)
    };
    let mut name = "P0".to_owned();
    for (round, pause) in (1..).zip(PAUSES) {
        let daemon = home.daemon();
        let mut command = home.command("brain");
        // Only the test starts daemons.
        command.args(["lsp", "--no-start"]).stderr(Stdio::inherit());
        let mut editor = Editor::of_command(command);
        editor.initialize(plain_capabilities(true));
        let new = format!("P{round}");
        let note = begin_rename(&mut editor, &vault, (&name, &new));
        std::thread::sleep(Duration::from_millis(pause));
        daemon.kill();
        let _daemon = home.daemon();
        wait_for("the new name", || common_name(&vault).as_deref() == Some(&new));
        editor.save(&note);
        wait_for("every link leads to the page", || broken(&home).is_empty());
        editor.set(&note, &format!("[[{new}]]\n"));
        editor.save(&note);
        editor.listen(Duration::from_millis(200));
        assert!(editor.shown.is_empty(), "{:?}", editor.shown);
        name = new;
    }
}

#[test]
fn a_terminal_that_is_closed_does_not_keep_links_from_following() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "x\n"), ("a.md", "[[Old]]\n"), ("b.md", "[[Old]]\n")]);
    // The shell stands for an editor in a terminal, whose processes are one group.
    let server = home.command("brain");
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" lsp; exit"]).arg(server.get_program()).process_group(0);
    shell.env_clear().envs(server.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let mut editor = Editor::of_command(shell);
    editor.initialize(plain_capabilities(true));
    let note = editor.open(&vault.join("a.md"));
    editor.rename(&note, (0, 3), "New");
    wait_text(&vault.join("b.md"), "[[New]]\n");
    editor.listen(Duration::from_millis(300));
    let group = Pid::from_child(&editor.child);
    kill_process_group(group, Signal::HUP).unwrap();
    editor.end();
    wait_text(&vault.join("a.md"), "[[New]]\n");
    assert!(broken(&home).is_empty());
}

#[test]
fn a_read_only_brain_reads_and_refuses_renames() {
    let Some(mut home) = crate::faults::small_home("60m") else { return };
    home.env.push(("BRAIN_SOURCES_WATCH".into(), "true".into()));
    let runtime = home.outside().join("runtime");
    fs::create_dir_all(&runtime).unwrap();
    home.env.push(("XDG_RUNTIME_DIR".into(), runtime.display().to_string()));
    let daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "# Old\n"), ("a.md", "[[Old]] #t\n")]);
    assert!(daemon.terminate().0.success());
    home.remount("ro");
    let mut editor = Editor::with(&home, plain_capabilities(true));
    let note = editor.open(&vault.join("a.md"));
    let target = editor.at("textDocument/definition", &note, 0, 3);
    assert_eq!(target[0]["uri"], uri(&vault.join("Old.md")).as_str());
    editor.set(&note, "[[O");
    assert_eq!(editor.complete(&note, 0, 3)[0]["label"], "Old");
    editor.set(&note, "[[Old]] #t [[none]]\n");
    editor.wait("diagnostics", |editor| {
        editor.diagnostics.get(&note).is_some_and(|found| found[0]["code"] == "missing-page")
    });
    for character in [3, 9] {
        let params = json!({
            "textDocument": { "uri": note }, "newName": "New",
            "position": { "line": 0, "character": character },
        });
        let response = editor.ask("textDocument/rename", params);
        let message = response["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("read-only"), "{response}");
    }
    let create = json!({
        "command": "brain.createPage", "arguments": [{ "uri": note, "target": "none" }],
    });
    assert!(editor.ask("workspace/executeCommand", create)["error"].is_object());
    assert_eq!(text(&vault.join("a.md")), "[[Old]] #t\n");
    assert!(vault.join("Old.md").exists() && !vault.join("none.md").exists());
    editor.end();
    home.json(["stop"]);
}
