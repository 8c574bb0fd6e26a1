//! The state of a session, and which handler answers which message.

use std::collections::{BTreeSet, HashSet};
use std::io::{Write, stdout};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use brain_protocol::{Fault, FaultCode, OpenDocument};
use gen_lsp_types::{Position, Range};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::{Document, Documents, Outline};
use crate::edits::EditSupport;
use crate::pending::Renames;
use crate::text::{Change, Encoding, Text};
use crate::uri::{path_of, uri_of};
use crate::{Daemon, Event, Shared};

/// The pause after the last message before diagnostics are sent.
const QUIET: Duration = Duration::from_millis(150);
/// How often a rename that waits for the editor is looked at.
const POLL: Duration = Duration::from_millis(20);
/// As [`QUIET`], while a rename waits for the editor: what it changes is wrong for a moment.
const QUIET_OF_RENAME: Duration = Duration::from_secs(1);
/// The wait without anything to do.
const IDLE: Duration = Duration::from_secs(3600);

/// The names of the commands.
const COMMANDS: [&str; 7] = [
    "brain.search",
    "brain.today",
    "brain.capture",
    "brain.createPage",
    "brain.rename",
    "brain.renameBack",
    "brain.why",
];

/// What the client can do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Support {
    pub(crate) edits: EditSupport,
    /// Outlines are trees.
    pub(crate) outline_trees: bool,
    /// It shows a document that the server names.
    pub(crate) show_document: bool,
}

/// One session with an editor.
pub(crate) struct Server {
    pub(crate) daemon: Daemon,
    pub(crate) documents: Documents,
    pub(crate) encoding: Encoding,
    pub(crate) support: Support,
    pub(crate) renames: Renames,
    shared: Arc<Shared>,
    events: Sender<Event>,
    state: State,
    /// Documents whose diagnostics are not up to date.
    pub(crate) stale: BTreeSet<String>,
    /// Directories of no source, of which the user was told.
    pub(crate) unknown_dirs: HashSet<String>,
    next_request: i32,
    /// Whether the client reads no more.
    is_broken: bool,
}

/// The phase of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    ShutDown,
}

/// A place in a document, as most requests name it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Place {
    pub(crate) text_document: DocumentId,
    pub(crate) position: Position,
}

/// A document, as the client names it.
#[derive(Debug, Deserialize)]
pub(crate) struct DocumentId {
    pub(crate) uri: String,
    #[serde(default)]
    version: Option<i32>,
    #[serde(default)]
    text: Option<String>,
}

/// The parameters of requests and notifications about a document as a whole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfDocument {
    pub(crate) text_document: DocumentId,
    #[serde(default)]
    pub(crate) range: Option<Range>,
    #[serde(default)]
    content_changes: Vec<Change>,
}

/// The result of a request.
pub(crate) type Answer = Result<Value, Fault>;

impl Server {
    pub(crate) fn new(daemon: Daemon, shared: Arc<Shared>, events: Sender<Event>) -> Self {
        Self {
            daemon,
            documents: Documents::default(),
            encoding: Encoding::default(),
            support: Support::default(),
            renames: Renames::default(),
            shared,
            events,
            state: State::New,
            stale: BTreeSet::new(),
            unknown_dirs: HashSet::new(),
            next_request: 0,
            is_broken: false,
        }
    }

    /// Answers messages until the editor is gone.
    pub(crate) fn answer(&mut self, queue: &Receiver<Event>) {
        let mut quiet_since = Instant::now();
        while !self.is_broken {
            let wait = match (self.renames.is_waiting(), self.stale.is_empty()) {
                (true, _) => POLL,
                (false, false) => QUIET,
                (false, true) => IDLE,
            };
            let event = queue.recv_timeout(wait);
            if event.is_ok() {
                quiet_since = Instant::now();
            }
            match event {
                Ok(Event::Message(message)) => self.handle(message),
                Ok(Event::Changed) => {
                    self.stale.extend(self.documents.keys().cloned());
                }
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let is_waiting = self.renames.is_waiting();
                    if !is_waiting || quiet_since.elapsed() > QUIET_OF_RENAME {
                        self.publish_stale();
                    }
                }
            }
            self.continue_renames();
        }
        self.finish_renames();
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Request(request) => self.handle_request(request),
            Message::Notification(notification) => self.handle_notification(notification),
            // The texts of documents say that the editor applied an edit.
            Message::Response(Response { id, response_result }) => {
                let is_refusal = response_result
                    .map_or(true, |result| result.get("applied") == Some(&Value::Bool(false)));
                if is_refusal {
                    self.refuse_renames(|pending| pending.request.as_ref() == Some(&id));
                }
            }
        }
    }

    fn handle_request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let refuse = |code: ErrorCode, message: &str| {
            Response::new_err(id.clone(), code as i32, message.to_owned())
        };
        let response = match (self.state, method.as_str()) {
            _ if self.shared.take_cancelled(&id) => refuse(ErrorCode::RequestCanceled, "cancelled"),
            (State::New, "initialize") => Response::new_ok(id.clone(), self.initialize(&params)),
            (State::New, _) => refuse(ErrorCode::ServerNotInitialized, "not initialized"),
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                Response::new_ok(id.clone(), Value::Null)
            }
            (State::Running, _) => match self.dispatch(&method, params) {
                Some(Ok(result)) => Response::new_ok(id.clone(), result),
                Some(Err(fault)) => failed(id.clone(), &fault),
                None => refuse(ErrorCode::MethodNotFound, &method),
            },
            (State::ShutDown, _) => refuse(ErrorCode::InvalidRequest, "shut down"),
        };
        self.shared.take_cancelled(&id);
        self.send(response.into());
    }

    /// Answers a request; `None` if the method is unknown.
    fn dispatch(&mut self, method: &str, params: Value) -> Option<Answer> {
        Some(match method {
            "textDocument/completion" => read(params).and_then(|p| self.completion_or_none(&p)),
            "textDocument/definition" => read(params).and_then(|p| self.definition(&p)),
            "textDocument/references" => read(params).and_then(|p| self.references(&p)),
            "textDocument/hover" => read(params).and_then(|p| self.hover(&p)),
            "textDocument/documentLink" => read(params).and_then(|p| self.document_links(&p)),
            "textDocument/documentSymbol" => read(params).and_then(|p| self.outline(&p)),
            "textDocument/foldingRange" => read(params).and_then(|p| self.folding(&p)),
            "textDocument/codeAction" => read(params).and_then(|p| self.code_actions(&p)),
            "textDocument/prepareRename" => read(params).and_then(|p| self.prepare_rename(&p)),
            "textDocument/rename" => {
                let new_name = params.get("newName").and_then(Value::as_str).map(str::to_owned);
                read(params).and_then(|p| self.rename(&p, &new_name.unwrap_or_default()))
            }
            "workspace/symbol" => self.workspace_symbols(&params),
            "workspace/willRenameFiles" => self.will_rename_files(&params),
            "workspace/executeCommand" => self.execute(&params),
            _ => return None,
        })
    }

    fn handle_notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        if method == "initialized" {
            return crate::watch(self.daemon.clone(), self.events.clone());
        }
        let Ok(OfDocument { text_document: id, content_changes, .. }) = read(params) else {
            return;
        };
        let path = self.key(&id.uri);
        match method.as_str() {
            "textDocument/didOpen" => {
                let text = Text::new(id.text.unwrap_or_default(), self.encoding);
                self.renames.seen(&path, text.as_str());
                self.documents.insert(path.clone(), Document::new(id.uri, id.version, text));
                self.stale.insert(path);
            }
            "textDocument/didChange" => {
                if let Some(document) = self.documents.get_mut(&path) {
                    for change in content_changes {
                        document.text.apply(change);
                        self.renames.seen(&path, document.text.as_str());
                    }
                    document.changed(id.version);
                    self.stale.insert(path);
                }
            }
            "textDocument/didSave" => {
                self.renames.saved(&path);
                self.stale.insert(path);
            }
            "textDocument/didClose" => {
                self.documents.remove(&path);
                self.stale.remove(&path);
                self.closed(&path);
                let params = json!({ "uri": id.uri, "diagnostics": [] });
                self.notify("textDocument/publishDiagnostics", params);
            }
            _ => {}
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.state = State::Running;
        let pid = params.get("processId").and_then(Value::as_i64).unwrap_or_default();
        let pid = i32::try_from(pid).unwrap_or_default();
        self.shared.editor.store(pid, Ordering::Relaxed);
        let client = |path: &str| params.pointer(&format!("/capabilities/{path}"));
        let has = |path: &str| client(path).and_then(Value::as_bool).unwrap_or_default();
        let operations = client("workspace/workspaceEdit/resourceOperations");
        let operations = operations.and_then(Value::as_array).cloned().unwrap_or_default();
        let rename = operations.iter().any(|operation| operation == "rename");
        self.support = Support {
            edits: EditSupport {
                // Only this form can rename files.
                versions: rename || has("workspace/workspaceEdit/documentChanges"),
                rename,
            },
            outline_trees: has("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            show_document: has("window/showDocument/support"),
        };
        let encodings = client("general/positionEncodings").and_then(Value::as_array);
        self.encoding = Encoding::choose(encodings.into_iter().flatten().filter_map(Value::as_str));
        let files = json!([
            { "scheme": "file", "pattern": { "glob": "**/*.{md,markdown,mdx}", "matches": "file" } },
            { "scheme": "file", "pattern": { "glob": "**", "matches": "folder" } },
        ]);
        json!({
            "serverInfo": { "name": "brain", "version": brain_protocol::VERSION },
            "capabilities": {
                "positionEncoding": self.encoding.name(),
                "textDocumentSync": {
                    "openClose": true, "change": 2, "save": { "includeText": false },
                },
                "completionProvider": {
                    "triggerCharacters": ["[", "#", "^", "(", "/"], "resolveProvider": false,
                },
                "definitionProvider": true,
                "referencesProvider": true,
                "hoverProvider": true,
                "documentLinkProvider": { "resolveProvider": false },
                "documentSymbolProvider": true,
                "foldingRangeProvider": true,
                "workspaceSymbolProvider": true,
                "codeActionProvider": { "codeActionKinds": ["quickfix", "refactor.rewrite"] },
                "renameProvider": { "prepareProvider": true },
                "executeCommandProvider": { "commands": COMMANDS },
                "workspace": { "fileOperations": { "willRename": { "filters": files } } },
            },
        })
    }

    /// Returns the key of a document: its path, or its URI if it is no file.
    fn key(&self, uri: &str) -> String {
        path_of(uri).unwrap_or_else(|| uri.to_owned())
    }

    /// Returns a document that is open, with its path.
    pub(crate) fn open_document(&self, id: &DocumentId) -> Result<(String, &Document), Fault> {
        let path = self.key(&id.uri);
        match self.documents.get(&path) {
            Some(document) => Ok((path, document)),
            None => Err(Fault::new(
                FaultCode::Usage,
                format!("the document {} is not open in the editor", id.uri),
            )),
        }
    }

    /// Returns a document that is open, or else the file, with what it says.
    pub(crate) fn read(&self, path: &str) -> Option<(Text, Arc<Outline>)> {
        if let Some(document) = self.documents.get(path) {
            return Some((document.text.clone(), document.outline()));
        }
        let text = std::fs::read_to_string(path).ok()?;
        let outline = Arc::new(Outline::of(&text));
        Some((Text::new(text, self.encoding), outline))
    }

    /// Returns the URI of a file, as the client spells it if it is open.
    pub(crate) fn uri(&self, path: &str) -> String {
        self.documents.get(path).map_or_else(|| uri_of(path), |document| document.uri.clone())
    }

    /// Returns the open documents with their texts.
    pub(crate) fn open_texts(&self) -> Vec<OpenDocument> {
        let documents = self.documents.iter().filter(|(path, _)| path.starts_with('/'));
        let text = |(path, document): (&String, &Document)| OpenDocument {
            file: path.clone(),
            text: document.text.as_str().to_owned(),
        };
        documents.map(text).collect()
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(Notification { method: method.to_owned(), params }.into());
    }

    /// Sends a request to the client.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> RequestId {
        self.next_request += 1;
        let id = RequestId::from(format!("brain-{}", self.next_request));
        self.send(Request { id: id.clone(), method: method.to_owned(), params }.into());
        id
    }

    /// Shows a message: 1 is an error, 2 a warning, 3 information.
    pub(crate) fn show(&mut self, severity: u8, message: &str) {
        self.notify("window/showMessage", json!({ "type": severity, "message": message }));
    }

    fn send(&mut self, message: Message) {
        let mut frame = Vec::new();
        let sent = message.write(&mut frame).and_then(|()| {
            let mut output = stdout().lock();
            output.write_all(&frame).and_then(|()| output.flush())
        });
        // The client reads no more.
        self.is_broken |= sent.is_err();
    }
}

/// Parses parameters.
fn read<T: for<'a> Deserialize<'a>>(params: Value) -> Result<T, Fault> {
    serde_json::from_value(params)
        .map_err(|error| Fault::new(FaultCode::Usage, format!("invalid parameters: {error}")))
}

/// Returns the response to a request that failed: what failed, and what to do.
fn failed(id: RequestId, fault: &Fault) -> Response {
    let code = match fault.code {
        FaultCode::Usage => ErrorCode::InvalidParams,
        // `RequestFailed` of the protocol.
        _ => return Response::new_err(id, -32803, text_of(fault)),
    };
    Response::new_err(id, code as i32, text_of(fault))
}

/// Returns a fault in one line.
pub(crate) fn text_of(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{}; {hint}", fault.message),
        None => fault.message.clone(),
    }
}
