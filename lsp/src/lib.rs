//! The language server of brain: the Language Server Protocol (3.17, 3.18) over standard input and
//! output.
//!
//! It knows the documents that are open in the editor, and asks the daemon for everything else. It
//! opens no store and keeps no copy of other pages. Only two things change a text: an edit that the
//! editor applies, and an operation that the daemon acknowledges.
//!
//! One thread reads messages, one answers them in order, and one waits for changes of pages. So the
//! process ends at once when the editor is gone, whatever is being answered.

mod actions;
mod commands;
mod completion;
mod diagnostics;
mod document;
mod edits;
mod finish_rename;
mod frontmatter;
mod navigate;
mod page_links;
mod page_names;
mod pending;
mod rename;
mod server;
mod symbols;
mod text;
mod uri;

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use brain_protocol::{EditorChanges, Fault, Operation, Reply, Request};
use lsp_server::{Message, RequestId};

use server::Server;

/// How often the reader looks whether the editor's process has ended.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);
/// The time to finish when the editor is gone.
const MAX_END: Duration = Duration::from_millis(700);
/// The pause after a failed attempt to reach the daemon.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Sends a request to the daemon.
pub type Send = Arc<dyn Fn(Request) -> Result<Reply, Fault> + std::marker::Send + Sync>;

/// The way to the daemon.
#[derive(Clone)]
pub struct Daemon {
    /// Sends a request, and starts the daemon if none runs.
    pub call: Send,
    /// Sends a request to a daemon that runs.
    pub call_running: Send,
    /// Returns the day in the user's time zone, `YYYY-MM-DD`.
    pub today: fn() -> String,
}

impl Daemon {
    /// Runs an operation.
    fn run<O: Operation>(&self, operation: O) -> Result<O::Reply, Fault> {
        (self.call)(operation.into()).and_then(O::read_reply)
    }
}

/// What the answering thread waits for.
enum Event {
    /// A message of the editor.
    Message(Message),
    /// Pages changed.
    Changed,
    /// The editor is gone.
    End,
}

/// What the threads share.
#[derive(Default)]
struct Shared {
    /// Requests that the editor cancelled.
    cancelled: Mutex<HashSet<RequestId>>,
    /// The editor's process; 0 if unknown.
    editor: AtomicI32,
}

impl Shared {
    /// Returns whether a request was cancelled, and forgets that.
    fn take_cancelled(&self, id: &RequestId) -> bool {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

/// Serves one editor until it is gone. Returns false if the editor sent `exit` without `shutdown`.
pub fn serve(daemon: &Daemon) -> bool {
    // Signals of a terminal that is closed reach the editor alone: this process still has to update
    // what the editor did not save. Fails if the editor has separated the process itself.
    let _ = rustix::process::setsid();
    let shared = Arc::new(Shared::default());
    let (events, queue) = mpsc::channel();
    let (done, ended) = mpsc::channel();
    let mut server = Server::new(daemon.clone(), Arc::clone(&shared), events.clone());
    let worker = thread::spawn(move || {
        server.answer(&queue);
        let _ = done.send(());
    });
    let is_orderly = read(&input(), &shared, &events, &worker);
    let _ = events.send(Event::End);
    // What the daemon has begun is completed without this process.
    let _ = ended.recv_timeout(MAX_END);
    is_orderly
}

/// Returns the messages of standard input, until it ends. A message that cannot be read is left
/// out: some clients omit the result of a response.
fn input() -> Receiver<Message> {
    let (sender, messages) = mpsc::channel();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let is_open = match Message::read(&mut input) {
                Ok(Some(message)) => sender.send(message).is_ok(),
                Ok(None) => false,
                Err(error) => error.kind() == io::ErrorKind::InvalidData,
            };
            if !is_open {
                return;
            }
        }
    });
    messages
}

/// Passes on messages until the editor is gone. Returns false after `exit` without `shutdown`.
fn read(
    messages: &Receiver<Message>,
    shared: &Shared,
    events: &Sender<Event>,
    worker: &thread::JoinHandle<()>,
) -> bool {
    let mut is_shut_down = false;
    loop {
        let message = match messages.recv_timeout(WATCH_INTERVAL) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                if worker.is_finished() || is_gone(shared.editor.load(Ordering::Relaxed)) {
                    return true;
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return true,
        };
        is_shut_down |= matches!(&message, Message::Request(it) if it.method == "shutdown");
        if let Message::Notification(notification) = &message {
            match notification.method.as_str() {
                "exit" => return is_shut_down,
                "$/cancelRequest" => {
                    let id = notification.params.get("id").cloned().unwrap_or_default();
                    if let Ok(id) = serde_json::from_value(id) {
                        let cancelled = shared.cancelled.lock();
                        cancelled.unwrap_or_else(PoisonError::into_inner).insert(id);
                    }
                    continue;
                }
                _ => {}
            }
        }
        if events.send(Event::Message(message)).is_err() {
            return true;
        }
    }
}

/// Returns whether a process has ended. `0` is no process.
fn is_gone(pid: i32) -> bool {
    let Some(process) = rustix::process::Pid::from_raw(pid) else { return false };
    if rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH) {
        return true;
    }
    // A process that has ended stays until its parent asks.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z'))
}

/// Tells the answering thread when pages change, until it has ended.
fn watch(daemon: Daemon, events: Sender<Event>) {
    thread::spawn(move || {
        let mut seen = None;
        loop {
            let request = EditorChanges { seen: seen.unwrap_or(u64::MAX) };
            let changed = (daemon.call_running)(request.into()).and_then(EditorChanges::read_reply);
            let Ok(changed) = changed else {
                // After a restart, the daemon counts anew.
                seen = Some(u64::MAX);
                thread::sleep(RETRY_DELAY);
                continue;
            };
            let is_first = seen.is_none();
            if seen.replace(changed.number) == Some(changed.number) || is_first {
                continue;
            }
            if events.send(Event::Changed).is_err() {
                return;
            }
        }
    });
}
