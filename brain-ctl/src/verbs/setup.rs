//! `brain setup`: asks five questions, then sets up the home, the service, the notes, the AI
//! clients and the model. `--undo` disconnects the clients and removes the service.

mod answers;
mod undo;

use std::{
    env,
    io::{self, IsTerminal},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use brain_protocol::{Exit, Fault, FaultCode, Hint};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::answers::Answers;
use crate::{
    ai_clients::{BrainServer, ClientConnection, Plan, on_path, read_file, replace_file},
    command::{Group, Verb},
    context::Context,
    end_signals::{at_end_signals, wait_for_end},
    fail,
    home::Home,
    output::{Outcome, Show, Text, end_line_at_terminal, notice, write_stdout},
    xdg,
};

/// The file in the home that records what setup changed outside of brain.
const RECORD: &str = "setup.json";

/// Arguments of `setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupCommand {
    /// Take the default for each question without an option
    #[arg(long)]
    yes: bool,

    /// Directory of the brain [default: BRAIN_HOME, or ~/.brain]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,

    /// Whether systemd runs the daemon [default: yes, if systemd runs]
    #[arg(
        long, value_enum, value_name = "YES|NO", num_args = 0..=1, require_equals = true,
        default_missing_value = "yes"
    )]
    service: Option<YesNo>,

    /// Directory of markdown notes to keep in sync, or none [default: none]
    #[arg(long, value_name = "DIR")]
    notes: Option<String>,

    /// AI client to connect, all or none; repeatable [default: all that are installed]
    #[arg(long, value_name = "NAME")]
    connect: Vec<String>,

    /// Model for search by meaning, or none [default: none]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Replace an entry "brain" of an AI client that leads elsewhere
    #[arg(long)]
    replace: bool,

    /// Disconnect the AI clients and remove the service; with --connect, only disconnect those
    /// named
    #[arg(long, conflicts_with_all = ["yes", "service", "notes", "model", "replace"])]
    undo: bool,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

/// What setup changed outside of brain.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Whether setup installed the service.
    #[serde(default)]
    service: bool,
    /// The changes of the clients, oldest first.
    #[serde(default)]
    connections: Vec<ClientConnection>,
}

/// A part of the setup and its result.
#[derive(Debug, Serialize)]
struct SetupPart {
    /// `home`, `service`, `notes`, `model`, or the name of a client.
    name: String,
    /// `done`, `unchanged`, `skipped`, `undone` or `failed`.
    status: &'static str,
    /// What happened.
    message: String,
    /// The files or commands of the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<String>,
}

/// The result of `setup`.
#[derive(Debug, Serialize)]
struct SetupReply {
    /// `done`, `partial`, `undone` or `nothing_to_undo`.
    status: &'static str,
    home: String,
    parts: Vec<SetupPart>,
    #[serde(skip)]
    notes: Vec<String>,
}

impl Verb for SetupCommand {
    const NAME: &'static str = "setup";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Set brain up: five questions with defaults";
    const EXAMPLES: &'static str = "Examples:
  brain setup --yes --notes ~/notes --connect cursor --connect codex
  brain setup --undo

Clients: claude-code, claude-desktop, codex, cursor, vscode, windsurf, devin, gemini,
antigravity, zed, opencode, qwen, copilot, cline, mcporter.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if self.undo {
            let home = answers::parse_home(self.home.as_deref())?;
            return undo::run(context, &home, &self.connect);
        }
        let interruption = Interruption::new()?;
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !context.json;
        let Some(answers) = Answers::collect(&self, is_terminal)? else {
            let note = "nothing was changed".to_owned();
            return Ok(Outcome { notes: vec![note], ..Outcome::default() });
        };
        let home = answers.home.clone();
        SetupRunner { context, home, parts: Vec::new(), interruption }.run(answers)
    }
}

/// What a signal such as Ctrl-C does during the setup. It waits for a change that has begun, so
/// that the record has each change.
struct Interruption {
    /// Whether a signal has arrived.
    is_stopping: AtomicBool,
    /// Whether setup has changed anything. The lock is held during a change.
    has_changed: Mutex<bool>,
}

impl Interruption {
    /// Waits for signals from now on.
    fn new() -> Result<Arc<Self>, Fault> {
        let shared =
            Arc::new(Self { is_stopping: AtomicBool::new(false), has_changed: Mutex::new(false) });
        let interruption = Arc::clone(&shared);
        at_end_signals(move |end| {
            interruption.is_stopping.store(true, Ordering::SeqCst);
            let has_changed = interruption.lock();
            end_line_at_terminal();
            notice(match *has_changed {
                true => {
                    "setup stopped early; to finish it: brain setup; to reverse it: brain setup \
                     --undo"
                }
                false => "nothing was changed",
            });
            end();
        })?;
        Ok(shared)
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.has_changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a change, which ends when the result is dropped. After a signal, does not return.
    fn begin_change(&self) -> MutexGuard<'_, bool> {
        let mut has_changed = self.lock();
        if self.is_stopping.load(Ordering::SeqCst) {
            drop(has_changed);
            wait_for_end();
        }
        *has_changed = true;
        has_changed
    }
}

/// Carries out the answers.
struct SetupRunner<'a> {
    context: &'a Context,
    home: Home,
    parts: Vec<SetupPart>,
    interruption: Arc<Interruption>,
}

impl SetupRunner<'_> {
    fn run(mut self, answers: Answers) -> Result<Outcome, Fault> {
        let interruption = Arc::clone(&self.interruption);
        let change = interruption.begin_change();
        self.home.prepare()?;
        let mut record = Record::load(&self.home)?;
        drop(change);
        let dir = self.home.dir().to_owned();
        let warning = self.home.synced_folder().map_or_else(String::new, |found| {
            format!("; warning: {}; {}", found.warning(&dir), found.way_out(&dir))
        });
        self.add_part("home", "done", format!("your pages are in {}{warning}", dir.display()));
        if answers.service {
            let _change = interruption.begin_change();
            // `--undo` does not remove a service that existed before the setup.
            let reply = self.run_part("service", &["service", "install"]);
            record.service |= reply.is_some_and(|reply| reply["status"] == "installed");
            record.save(&self.home)?;
        }
        if let Some(dir) = &answers.notes {
            self.sync_notes(dir);
        }
        for (client, plan) in answers.plans {
            let _change = interruption.begin_change();
            match plan {
                Ok(plan) => self.connect(plan, answers.replace, &mut record)?,
                Err(fault) => self.add_part(client.name, "failed", message_of(&fault)),
            }
        }
        if let Some(model) = &answers.model {
            self.run_part("model", &["model", "install", model]);
        }
        drop(interruption.begin_change());
        let has_failed = self.parts.iter().any(|part| part.status == "failed");
        let reply = SetupReply {
            status: if has_failed { "partial" } else { "done" },
            home: self.home.dir().display().to_string(),
            parts: self.parts,
            notes: next_steps(&self.home),
        };
        self.context.show(&reply)
    }

    fn add_part(&mut self, name: &str, status: &'static str, message: String) {
        self.parts.push(SetupPart { name: name.to_owned(), status, message, changes: Vec::new() });
    }

    /// Runs a command of brain, and records its result as `part`. Returns the command's answer if
    /// it succeeded.
    fn run_part(&mut self, part: &str, arguments: &[&str]) -> Option<Value> {
        match self.run_in_home(arguments) {
            Ok(reply) => {
                self.add_part(part, "done", format!("brain {}", arguments.join(" ")));
                Some(reply)
            }
            Err(fault) => {
                self.add_part(part, "failed", message_of(&fault));
                None
            }
        }
    }

    /// Runs a command of brain in the chosen home, and returns its answer in JSON.
    fn run_in_home(&self, arguments: &[&str]) -> Result<Value, Fault> {
        run_brain(self.context, &self.home, arguments)
    }

    /// Registers the directory as a source, unless it is one, and synchronises it.
    fn sync_notes(&mut self, dir: &Path) {
        let text = dir.display().to_string();
        let silent = Context { quiet: true, ..*self.context };
        let sources = match run_brain(&silent, &self.home, &["sources", "list"]) {
            Ok(sources) => sources,
            Err(fault) => return self.add_part("notes", "failed", message_of(&fault)),
        };
        let rows = sources["sources"].as_array().cloned().unwrap_or_default();
        let present = rows.iter().find(|row| row["path"].as_str() == Some(text.as_str()));
        let names: Vec<&str> = rows.iter().filter_map(|row| row["source_id"].as_str()).collect();
        let name = match present.and_then(|row| row["source_id"].as_str()) {
            Some(name) => name.to_owned(),
            None => answers::source_name(dir, &names),
        };
        let add_result = match present {
            Some(_) => Ok(Value::Null),
            None => self.run_in_home(&["sources", "add", &name, &text]),
        };
        match add_result.and_then(|_| self.run_in_home(&["sync", &name])) {
            Ok(_) => self.add_part("notes", "done", format!("{text} is the source \"{name}\"")),
            Err(fault) => self.add_part("notes", "failed", message_of(&fault)),
        }
    }

    /// Connects an AI client, and records the change. Does not replace a foreign entry without
    /// `replace`.
    fn connect(&mut self, plan: Plan, replace: bool, record: &mut Record) -> Result<(), Fault> {
        let (name, label) = (plan.client.name, plan.client.label);
        if plan.is_connected() {
            self.add_part(name, "unchanged", format!("{label} is connected already"));
            return Ok(());
        }
        if let Some(foreign) = plan.other_target.as_ref().filter(|_| !replace) {
            let message = format!(
                "{label} has another entry \"brain\" in {}, which leads to {foreign} and was not \
                 changed; to replace it: brain setup --yes --connect {name} --replace",
                plan.path.display()
            );
            self.add_part(name, "failed", message);
            return Ok(());
        }
        let changes = plan.describe();
        match plan.apply() {
            Ok(connection) => {
                record.connections.extend(connection);
                record.save(&self.home)?;
                let message = format!("{label} is connected; restart it to see brain's tools");
                self.parts.push(SetupPart { name: name.into(), status: "done", message, changes });
            }
            Err(fault) => self.add_part(name, "failed", message_of(&fault)),
        }
        Ok(())
    }
}

/// Prints and runs a command of brain in `home`, and returns its answer in JSON. With `--quiet` or
/// `--json`, does not print the command.
///
/// # Errors
/// `io` with message and hint of the command if it fails, or if it cannot be run.
fn run_brain(context: &Context, home: &Home, arguments: &[&str]) -> Result<Value, Fault> {
    if !context.json && !context.quiet {
        write_stdout(format!("$ brain {}\n", arguments.join(" ")).as_bytes())
            .map_err(|e| fail::stdout(&e))?;
    }
    let mut command = Command::new(env::current_exe().map_err(|e| fail::run("brain", &e))?);
    command.args(arguments).arg("--json").stdin(Stdio::null()).stderr(Stdio::inherit());
    if context.no_start {
        command.arg("--no-start");
    }
    command.env("BRAIN_HOME", home.dir());
    if arguments.first() == Some(&"service") {
        // Ctrl-C does not reach another process group, so the change and its record are complete.
        command.process_group(0);
    }
    let output = command.output().map_err(|e| fail::run("brain", &e))?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if output.status.success() {
        return Ok(answer);
    }
    let text = |key: &str| answer["error"][key].as_str().map(str::to_owned);
    let message = text("message").unwrap_or_else(|| {
        format!("`brain {}` failed ({}); run it to see why", arguments.join(" "), output.status)
    });
    let fault = Fault::new(FaultCode::Io, message);
    Err(Fault { hint: text("hint").map(Hint::from), ..fault })
}

/// Returns the message of a fault with its hint.
fn message_of(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{}; {hint}", fault.message),
        None => fault.message.clone(),
    }
}

/// Returns notes that suggest the next commands.
fn next_steps(home: &Home) -> Vec<String> {
    let mut notes = Vec::new();
    if Home::find().is_ok_and(|found| found.dir() != home.dir()) {
        notes.push(format!(
            "add this to your shell's profile: export BRAIN_HOME={}",
            home.dir().display()
        ));
    }
    notes.push("begin: brain capture \"A first thought\"; look: brain open".to_owned());
    let editors = used_editors();
    if !editors.is_empty() {
        notes.push(format!("{} can use `brain lsp`: docs/editors.md", editors.join(", ")));
    }
    notes
}

/// Returns the editors that the user has configured and that can start a language server.
fn used_editors() -> Vec<&'static str> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let config = xdg::config_home().unwrap_or_else(|_| home.join(".config"));
    let places = [
        ("Neovim", config.join("nvim")),
        ("Helix", config.join("helix")),
        ("Kakoune", config.join("kak")),
        ("Emacs", config.join("emacs")),
        ("Emacs", home.join(".emacs.d")),
    ];
    let mut found: Vec<_> =
        places.iter().filter(|(_, dir)| dir.is_dir()).map(|(label, _)| *label).collect();
    found.dedup();
    found
}

/// Returns how AI clients start brain in `home`.
fn server(home: &Home) -> Result<BrainServer, Fault> {
    let exe = env::current_exe().map_err(|e| {
        Fault::new(FaultCode::Io, format!("cannot find this program: {}", fail::reason(&e)))
    })?;
    // The path found on PATH stays the same after an upgrade, so it is preferred.
    let program = on_path("brain")
        .filter(|found| found.canonicalize().ok() == exe.canonicalize().ok())
        .unwrap_or(exe);
    let default = env::var_os("HOME").map(|dir| Path::new(&dir).join(".brain"));
    let is_default = default.as_deref() == Some(home.dir());
    Ok(BrainServer {
        program: program.display().to_string(),
        home: (!is_default).then(|| home.dir().display().to_string()),
    })
}

impl Record {
    fn load(home: &Home) -> Result<Self, Fault> {
        let path = home.dir().join(RECORD);
        let Some(text) = read_file(&path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|e| {
            Fault::new(FaultCode::Io, format!("cannot read {}: {e}", path.display())).hint(
                "move it to another directory, then disconnect the clients by hand: \
                     docs/clients.md",
            )
        })
    }

    fn save(&self, home: &Home) -> Result<(), Fault> {
        let path = home.dir().join(RECORD);
        let before = read_file(&path)?;
        if !self.service && self.connections.is_empty() {
            return match before {
                Some(before) => replace_file(&path, Some(&before), None),
                None => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        replace_file(&path, before.as_deref(), Some(&text))
    }
}

impl Show for SetupReply {
    fn text(&self, t: &mut Text) {
        for part in &self.parts {
            let status = match part.status {
                "failed" => t.paint.red("fail"),
                "unchanged" | "skipped" => t.paint.dim("ok  "),
                _ => t.paint.green("ok  "),
            };
            t.prose(&format!("{status}  "), 6, &part.message);
            for line in &part.changes {
                let line = format!("      {}", t.paint.dim(line));
                t.raw_line(&line);
            }
        }
        if self.status == "nothing_to_undo" {
            t.line("there is nothing to undo");
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn exit(&self) -> Exit {
        let has_failed = self.parts.iter().any(|part| part.status == "failed");
        if has_failed { Exit::Failed } else { Exit::Done }
    }
}
