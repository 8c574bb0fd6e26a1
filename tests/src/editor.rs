//! An editor that speaks the Language Server Protocol, with `brain lsp` as its server. It applies
//! edits as the protocol says, in UTF-16, and never touches a document that is not open.
#![allow(clippy::needless_pass_by_value)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{TEST_TIMEOUT, TestHome};

/// What most editors can do.
#[must_use]
pub fn usual_capabilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-16"] },
        "textDocument": { "documentSymbol": { "hierarchicalDocumentSymbolSupport": true } },
        "workspace": {
            "workspaceEdit": {
                "documentChanges": true, "resourceOperations": ["create", "rename", "delete"],
            },
            "fileOperations": { "willRename": true },
        },
    })
}

/// A document in the editor.
#[derive(Debug, Clone)]
struct Buffer {
    version: i64,
    text: String,
}

/// A running `brain lsp` with an editor's side of the session.
pub struct Editor {
    /// The process.
    pub child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: i64,
    buffers: HashMap<String, Buffer>,
    /// The last diagnostics of each document.
    pub diagnostics: HashMap<String, Value>,
    /// Messages that the server showed.
    pub shown: Vec<String>,
    /// The result of `initialize`.
    pub server: Value,
    /// Whether the editor refuses edits that the server asks for.
    pub refuses_edits: bool,
}

/// Returns the URI of a file, as this editor spells it.
#[must_use]
pub fn uri(path: &Path) -> String {
    let path = path.to_str().unwrap();
    format!("file://{}", path.replace('%', "%25").replace(' ', "%20").replace('#', "%23"))
}

/// Returns the path of such a URI.
fn path_of(uri: &str) -> PathBuf {
    let path = uri.strip_prefix("file://").unwrap();
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'%' => {
                let hex = std::str::from_utf8(&after[..2]).unwrap();
                bytes.push(u8::from_str_radix(hex, 16).unwrap());
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(String::from_utf8(bytes).unwrap())
}

/// Returns the position `line:character`.
#[must_use]
pub fn position(line: u64, character: u64) -> Value {
    json!({ "line": line, "character": character })
}

impl Editor {
    /// Starts the server without a session.
    #[must_use]
    pub fn start(home: &TestHome) -> Self {
        let mut command = home.command("brain");
        command.arg("lsp").stderr(Stdio::inherit());
        Self::of_command(command)
    }

    /// Starts a command that is, or becomes, the server.
    #[must_use]
    pub fn of_command(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read_message(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (buffers, diagnostics) = (HashMap::new(), HashMap::new());
        let (shown, server) = (Vec::new(), Value::Null);
        Self {
            child,
            input,
            messages,
            next_id: 0,
            buffers,
            diagnostics,
            shown,
            server,
            refuses_edits: false,
        }
    }

    /// Starts a session of an editor that can do `capabilities`.
    #[must_use]
    pub fn with(home: &TestHome, capabilities: Value) -> Self {
        let mut editor = Self::start(home);
        editor.initialize(capabilities);
        editor
    }

    /// Begins the session.
    pub fn initialize(&mut self, capabilities: Value) {
        let params = json!({
            "processId": std::process::id(), "rootUri": null, "capabilities": capabilities,
        });
        self.server = self.request("initialize", params);
        self.notify("initialized", json!({}));
    }

    /// Starts a session of a usual editor.
    #[must_use]
    pub fn new(home: &TestHome) -> Self {
        Self::with(home, usual_capabilities())
    }

    /// Sends raw bytes.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    /// Sends one message.
    pub fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    /// Sends a request without waiting, and returns its id.
    pub fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        self.send(json!({ "id": self.next_id, "method": method, "params": params }));
        self.next_id
    }

    /// Sends a request and returns the whole response.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.response(id)
    }

    /// Waits for the response to a request.
    pub fn response(&mut self, id: i64) -> Value {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).expect("no response");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.handle(message);
        }
    }

    /// Sends a request, expects success, and returns the result.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let response = self.ask(method, params);
        assert!(response.get("result").is_some(), "{method}: {response}");
        response["result"].clone()
    }

    /// Handles messages for a while.
    pub fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(message) =
            self.messages.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.handle(message);
        }
    }

    /// Handles messages until `done`.
    pub fn wait(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + TEST_TIMEOUT;
        while !done(self) {
            assert!(Instant::now() < end, "{what}: {:?} {:?}", self.diagnostics, self.shown);
            self.listen(Duration::from_millis(50));
        }
    }

    fn handle(&mut self, message: Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("textDocument/publishDiagnostics") => {
                let uri = params["uri"].as_str().unwrap().to_owned();
                self.diagnostics.insert(uri, params["diagnostics"].clone());
            }
            Some("window/showMessage") => {
                self.shown.push(params["message"].as_str().unwrap().to_owned());
            }
            Some("workspace/applyEdit") => {
                let applied = !self.refuses_edits;
                if applied {
                    self.apply(&params["edit"]);
                }
                self.send(json!({ "id": message["id"], "result": { "applied": applied } }));
            }
            Some(_) if message.get("id").is_some() => {
                self.send(json!({ "id": message["id"], "result": null }));
            }
            _ => {}
        }
    }

    /// Opens a file with the text that it has. Returns its URI.
    pub fn open(&mut self, path: &Path) -> String {
        let text = std::fs::read_to_string(path).unwrap();
        self.open_as(&uri(path), &text)
    }

    /// Opens a document.
    pub fn open_as(&mut self, uri: &str, text: &str) -> String {
        self.buffers.insert(uri.to_owned(), Buffer { version: 1, text: text.to_owned() });
        let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        uri.to_owned()
    }

    /// Replaces the text of an open document.
    pub fn set(&mut self, uri: &str, text: &str) {
        self.change(uri, json!([{ "text": text }]));
        text.clone_into(&mut self.buffers.get_mut(uri).unwrap().text);
    }

    /// Sends changes of a document, which the buffer does not follow.
    pub fn change(&mut self, uri: &str, changes: Value) {
        let buffer = self.buffers.get_mut(uri).unwrap();
        buffer.version += 1;
        let id = json!({ "uri": uri, "version": buffer.version });
        let params = json!({ "textDocument": id, "contentChanges": changes });
        self.notify("textDocument/didChange", params);
    }

    /// Saves an open document.
    pub fn save(&mut self, uri: &str) {
        std::fs::write(path_of(uri), &self.buffers[uri].text).unwrap();
        self.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    }

    /// Closes a document.
    pub fn close(&mut self, uri: &str) {
        self.buffers.remove(uri);
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// Returns the text of an open document.
    #[must_use]
    pub fn text(&self, uri: &str) -> &str {
        &self.buffers[uri].text
    }

    /// Sends a request about a position.
    pub fn at(&mut self, method: &str, uri: &str, line: u64, character: u64) -> Value {
        let params =
            json!({ "textDocument": { "uri": uri }, "position": position(line, character) });
        self.request(method, params)
    }

    /// Completes at a position, and returns the items.
    pub fn complete(&mut self, uri: &str, line: u64, character: u64) -> Vec<Value> {
        let list = self.at("textDocument/completion", uri, line, character);
        list["items"].as_array().unwrap().clone()
    }

    /// Renames what is at a position, and applies the edit as an editor does.
    pub fn rename(&mut self, uri: &str, (line, character): (u64, u64), name: &str) -> Value {
        let params = json!({
            "textDocument": { "uri": uri }, "position": position(line, character), "newName": name,
        });
        let edit = self.request("textDocument/rename", params);
        self.apply(&edit);
        edit
    }

    /// Runs a command.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Value {
        let params = json!({ "command": command, "arguments": arguments });
        self.request("workspace/executeCommand", params)
    }

    /// Applies an edit of the workspace: its parts in their order.
    pub fn apply(&mut self, edit: &Value) {
        assert!(edit["changes"].is_null() || edit["documentChanges"].is_null(), "{edit}");
        for (uri, edits) in edit["changes"].as_object().into_iter().flatten() {
            self.apply_edits(uri, edits);
        }
        for part in edit["documentChanges"].as_array().into_iter().flatten() {
            match part["kind"].as_str() {
                Some("rename") => {
                    let (from, to) =
                        (part["oldUri"].as_str().unwrap(), part["newUri"].as_str().unwrap());
                    self.move_file(from, to);
                }
                Some(kind) => panic!("unexpected {kind}"),
                None => {
                    self.apply_edits(part["textDocument"]["uri"].as_str().unwrap(), &part["edits"]);
                }
            }
        }
    }

    /// Moves a file. An open document moves with its text.
    pub fn move_file(&mut self, from: &str, to: &str) {
        let (old, new) = (path_of(from), path_of(to));
        std::fs::create_dir_all(new.parent().unwrap()).unwrap();
        assert!(!new.exists(), "{to} exists");
        std::fs::rename(old, new).unwrap();
        let moved: Vec<String> = self
            .buffers
            .keys()
            .filter(|uri| *uri == from || uri.starts_with(&format!("{from}/")))
            .cloned()
            .collect();
        for uri in moved {
            let text = self.buffers[&uri].text.clone();
            self.close(&uri);
            self.open_as(&uri.replacen(from, to, 1), &text);
        }
    }

    fn apply_edits(&mut self, uri: &str, edits: &Value) {
        let edits = edits.as_array().unwrap();
        assert!(!edits.is_empty(), "an empty list of edits");
        let buffer = self.buffers.get(uri).unwrap_or_else(|| panic!("an edit of {uri}, not open"));
        let mut text = buffer.text.clone();
        let mut edits: Vec<(usize, usize, &str)> = edits
            .iter()
            .map(|edit| {
                let at = |end: &str| byte_of(&text, &edit["range"][end]);
                (at("start"), at("end"), edit["newText"].as_str().unwrap())
            })
            .collect();
        edits.sort();
        for (start, end, new) in edits.into_iter().rev() {
            text.replace_range(start..end, new);
        }
        self.set(uri, &text);
    }

    /// Returns the text of a document after an item of a completion is accepted.
    #[must_use]
    pub fn accepted(&self, uri: &str, item: &Value) -> String {
        let mut text = self.text(uri).to_owned();
        let edit = &item["textEdit"];
        let (start, end) =
            (byte_of(&text, &edit["range"]["start"]), byte_of(&text, &edit["range"]["end"]));
        text.replace_range(start..end, edit["newText"].as_str().unwrap());
        text
    }

    /// Ends the input, as an editor that is killed does, and waits for the end of the server.
    pub fn end(mut self) -> Duration {
        let started_at = Instant::now();
        self.input = None;
        self.child.wait().unwrap();
        started_at.elapsed()
    }

    /// Returns whether the server has ended within a time.
    pub fn has_ended(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while Instant::now() < end {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the byte of a position in UTF-16.
fn byte_of(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().unwrap() as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let mut left = position["character"].as_u64().unwrap() as usize;
    let rest = &text[start..];
    for (at, c) in rest.char_indices() {
        if left == 0 || c == '\n' {
            return start + at;
        }
        left -= c.len_utf16();
    }
    text.len()
}

fn read_message(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}
