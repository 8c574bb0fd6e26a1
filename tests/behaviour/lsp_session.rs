//! `brain lsp`: the life of a session, and input that no editor should send.

use std::fs;
use std::process::Command;
use std::time::Duration;

use brain_tests::editor::{Editor, uri, usual_capabilities};
use brain_tests::wait_for;
use serde_json::{Value, json};

use crate::lsp::{vault, watching_home};

/// The time within which a server ends without its editor; the machine may be busy.
const MAX_END: Duration = Duration::from_secs(5);

#[test]
fn the_server_ends_with_its_editor() {
    let home = watching_home();
    let _daemon = home.daemon();
    vault(&home, &[]);
    // The end of the input.
    assert!(Editor::new(&home).end() < MAX_END);
    assert!(Editor::start(&home).end() < MAX_END);
    // `exit`.
    let mut editor = Editor::new(&home);
    editor.request("shutdown", Value::Null);
    assert!(editor.ask("textDocument/hover", json!({}))["error"].is_object());
    editor.notify("exit", Value::Null);
    assert!(editor.has_ended(MAX_END));
    // The editor's process has ended, while another one holds the pipe.
    let mut ended = Command::new("true").spawn().unwrap();
    let pid = ended.id();
    ended.wait().unwrap();
    let mut editor = Editor::start(&home);
    editor.request("initialize", json!({ "processId": pid, "capabilities": {} }));
    assert!(editor.has_ended(MAX_END));
    let mut editor = Editor::start(&home);
    editor.request("initialize", json!({ "processId": null, "capabilities": {} }));
    assert!(!editor.has_ended(Duration::from_millis(700)));
}

#[test]
fn messages_that_no_handler_knows_are_answered() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("b.md", "x\n")]);
    let mut editor = Editor::start(&home);
    let early = editor.ask("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    editor
        .request("initialize", json!({ "processId": null, "capabilities": usual_capabilities() }));
    editor.notify("initialized", json!({}));
    editor.notify("$/unknown", json!({ "x": 1 }));
    assert_eq!(editor.ask("x/unknown", json!(null))["error"]["code"], -32601);
    for params in [json!(null), json!([]), json!({ "textDocument": 1 }), json!({ "position": {} })]
    {
        let response = editor.ask("textDocument/definition", params);
        assert_eq!(response["error"]["code"], -32602, "{response}");
    }
    let closed = json!({ "textDocument": { "uri": "file:///not/open.md" }, "position": { "line": 0, "character": 0 } });
    assert!(editor.ask("textDocument/hover", closed)["error"]["message"].is_string());
    editor.notify("textDocument/didChange", json!({ "textDocument": { "uri": 5 } }));
    // Messages that no rule allows, such as a response without a result.
    editor.send(json!({ "id": "brain-1" }));
    editor.send_bytes(b"x\r\nContent-Length: 3\r\n\r\n{,}");
    let unsaved = editor.open_as("untitled:Untitled-1", "# A\n[[b]]\n");
    let params = json!({ "textDocument": { "uri": unsaved } });
    let outline = editor.request("textDocument/documentSymbol", params);
    assert_eq!(outline[0]["name"], "A");
    let note = editor.open_as(&uri(&vault.join("n.md")), "[[b]]");
    // Cancelled before it is read: answered with an error, or already with the result.
    let id = editor.begin(
        "textDocument/hover",
        json!({
            "textDocument": { "uri": note }, "position": { "line": 0, "character": 3 },
        }),
    );
    editor.notify("$/cancelRequest", json!({ "id": id }));
    let response = editor.response(id);
    assert!(response["error"]["code"] == -32800 || response["result"].is_object(), "{response}");
}

#[test]
fn a_frame_that_is_cut_ends_the_server_quietly() {
    let home = watching_home();
    let _daemon = home.daemon();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "processId": null, "capabilities": {} } }).to_string();
    let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    for cut in 1..frame.len() {
        let mut editor = Editor::start(&home);
        editor.send_bytes(&frame.as_bytes()[..cut]);
        assert!(editor.end() < MAX_END, "cut at {cut}");
    }
    // One byte after the other.
    let mut editor = Editor::start(&home);
    for byte in frame.as_bytes() {
        editor.send_bytes(&[*byte]);
    }
    assert!(editor.response(1)["result"].is_object());
}

#[test]
fn the_session_goes_on_after_a_restart_of_the_daemon() {
    let home = watching_home();
    let daemon = home.daemon();
    let vault = vault(&home, &[("b.md", "here\n"), ("a.md", "[[b]] [[c]]\n")]);
    let mut editor = Editor::new(&home);
    let note = editor.open(&vault.join("a.md"));
    editor.wait("diagnostics", |editor| editor.diagnostics.contains_key(&note));
    daemon.terminate();
    let _daemon = home.daemon();
    let target = editor.at("textDocument/definition", &note, 0, 3);
    assert_eq!(target[0]["uri"], uri(&vault.join("b.md")).as_str());
    fs::write(vault.join("c.md"), "new\n").unwrap();
    editor.wait("the new page", |editor| editor.diagnostics[&note] == json!([]));
}

#[test]
fn a_directory_of_no_source_has_headings_and_links() {
    let home = watching_home();
    let _daemon = home.daemon();
    vault(&home, &[]);
    let dir = home.outside().join("elsewhere");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("b.md"), "# B\n").unwrap();
    fs::write(dir.join("a.md"), "# A\n[b](b.md#b) [[b]]\n").unwrap();
    let mut editor = Editor::new(&home);
    let note = editor.open(&dir.join("a.md"));
    editor.wait("the message", |editor| !editor.shown.is_empty());
    assert!(editor.shown[0].contains("brain sources add NAME --path"), "{:?}", editor.shown);
    let other = editor.open(&dir.join("b.md"));
    for character in [5, 17] {
        let target = editor.at("textDocument/definition", &note, 1, character);
        assert_eq!(target[0]["uri"], other.as_str(), "{character}: {target}");
    }
    let params = json!({ "textDocument": { "uri": note } });
    let outline = editor.request("textDocument/documentSymbol", params);
    assert_eq!(outline[0]["name"], "A");
    editor.listen(Duration::from_millis(400));
    assert_eq!(editor.shown.len(), 1, "said once: {:?}", editor.shown);
}

#[test]
fn large_documents_are_answered() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("b.md", "here\n")]);
    let mut editor = Editor::new(&home);
    let links = "[[b]] [[missing]]\n".repeat(50_000);
    let note = editor.open_as(&uri(&vault.join("many.md")), &links);
    let target = editor.at("textDocument/definition", &note, 49_999, 3);
    assert_eq!(target[0]["uri"], uri(&vault.join("b.md")).as_str());
    editor.wait("diagnostics", |editor| editor.diagnostics.contains_key(&note));
    assert_eq!(editor.diagnostics[&note].as_array().unwrap().len(), 500);
    let text = "Words without end, and then some more of them.\n".repeat(100_000);
    let note = editor.open_as(&uri(&vault.join("long.md")), &format!("{text}[["));
    assert_eq!(editor.complete(&note, 100_000, 2)[0]["label"], "b");
}

#[test]
fn two_editors_share_one_file() {
    let home = watching_home();
    let _daemon = home.daemon();
    let vault = vault(&home, &[("Old.md", "x\n"), ("a.md", "[[Old]]\n")]);
    let mut capabilities = usual_capabilities();
    capabilities["workspace"]["workspaceEdit"] = json!({ "documentChanges": true });
    let mut one = Editor::with(&home, capabilities.clone());
    let mut two = Editor::with(&home, capabilities);
    let note = one.open(&vault.join("a.md"));
    two.open(&vault.join("a.md"));
    one.rename(&note, (0, 3), "New");
    wait_for("the rename", || vault.join("New.md").exists());
    one.save(&note);
    two.wait("the other editor sees the old link", |editor| {
        editor.diagnostics.get(&note).is_some_and(|found| found[0]["code"] == "missing-page")
    });
    assert_eq!(fs::read_to_string(vault.join("a.md")).unwrap(), "[[New]]\n");
}

#[test]
fn the_daily_note_and_a_capture_are_commands() {
    let home = watching_home();
    let _daemon = home.daemon();
    let mut editor = Editor::new(&home);
    let note = editor.execute("brain.today", json!([]));
    assert!(note["uri"].as_str().unwrap().ends_with(".md"), "{note}");
    let captured = editor.execute("brain.capture", json!([{ "text": "# Zebra\n\nstripes\n" }]));
    assert!(captured["uri"].as_str().unwrap().starts_with("file:///"), "{captured}");
    wait_for("the page", || !home.search("stripes").is_empty());
    let params = json!({ "command": "brain.nothing", "arguments": [] });
    assert!(editor.ask("workspace/executeCommand", params)["error"].is_object());
    let params = json!({ "command": "brain.search", "arguments": [] });
    assert!(editor.ask("workspace/executeCommand", params)["error"].is_object());
}
