//! AI clients on this machine: finds them, and connects them to `brain mcp`.
//!
//! Claude Code often rewrites its file, so its own command, `claude mcp`, makes the change. In the
//! files of the other clients, brain changes only its own entry.

mod json_entry;
mod known;
mod splice;
mod toml_entry;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use brain_protocol::{Fault, FaultCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(crate) use known::CLIENTS;
use splice::Splice;
pub(crate) use splice::{read as read_file, replace as replace_file};

use crate::{fail, output::clean};

/// The name of brain's entry in the list of MCP servers of each client.
const ENTRY: &str = "brain";

/// How a client stores its list of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerList {
    /// In a JSON file that only the client's command, `claude mcp`, changes.
    ClaudeCommand,
    /// In the object with this key, in a file of JSON with comments.
    Json(&'static str),
    /// In the tables `[mcp_servers.NAME]` of a TOML file.
    Toml,
}

/// An AI client that can start programs on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AiClient {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The name for people.
    pub(crate) label: &'static str,
    /// Its program on `PATH`, if it has one.
    program: Option<&'static str>,
    registration: ServerList,
    /// Returns the path of its file; `None` if the user's home is unknown. The directory of the
    /// file exists if the client was used.
    file: fn() -> Option<PathBuf>,
}

/// How a client starts brain.
#[derive(Debug, Clone)]
pub(crate) struct BrainServer {
    /// The absolute path of `brain`.
    pub(crate) program: String,
    /// The home, unless it is the default one.
    pub(crate) home: Option<String>,
}

/// A planned connection: nothing is changed yet.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The client.
    pub(crate) client: &'static AiClient,
    /// The client's file.
    pub(crate) path: PathBuf,
    /// The address or program of the client's present entry, if the entry does not start brain.
    pub(crate) other_target: Option<String>,
    /// The change; `None` if the client is connected already.
    change: Option<PlannedChange>,
}

/// The change that a plan makes.
#[derive(Debug)]
enum PlannedChange {
    /// Runs the client's program with each list of arguments in `commands`. They replace the entry
    /// `former`.
    Run { commands: Vec<Vec<String>>, former: Option<Value> },
    /// Changes the file.
    Edit(Splice),
}

/// A connection that was made, with what `disconnect` needs to undo it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClientConnection {
    /// The client's name.
    pub(crate) client: String,
    /// The client's file.
    pub(crate) path: PathBuf,
    /// The change of the file; `None` if the client's program made it.
    #[serde(default)]
    splice: Option<Splice>,
    /// The former entry, which the client's program replaced.
    #[serde(default)]
    former: Option<Value>,
}

impl AiClient {
    /// Returns the client of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Returns whether the client's program or the directory of its file exists.
    pub(crate) fn is_installed(&self) -> bool {
        let has_program = self.program.is_some_and(|program| on_path(program).is_some());
        let was_used = |file: PathBuf| match self.name {
            // Its file is in the user's home, and its program is needed.
            "claude-code" => false,
            // Antigravity uses the same directory.
            "gemini" => file.is_file(),
            _ => file.parent().is_some_and(Path::is_dir),
        };
        has_program || (self.file)().is_some_and(was_used)
    }

    /// Plans the connection to `server`.
    ///
    /// # Errors
    /// `invalid_config` if `HOME` is not set, or if brain cannot change the client's file safely;
    /// `io` if the file cannot be read.
    pub(crate) fn plan(&'static self, server: &BrainServer) -> Result<Plan, Fault> {
        let path = (self.file)().ok_or_else(|| {
            Fault::new(FaultCode::InvalidConfig, "HOME is not set").hint("set HOME")
        })?;
        let text = splice::read(&path)?;
        let present = self.entry(&path, text.as_deref().unwrap_or_default())?;
        let entry = self.entry_for(server);
        let other_target = present.as_ref().filter(|entry| !is_ours(entry)).map(target_of);
        let change = match present.as_ref().is_some_and(|present| is_same(present, &entry)) {
            true => None,
            false => Some(self.change(&path, text.as_deref(), present, server, &entry)?),
        };
        Ok(Plan { client: self, path, other_target, change })
    }

    /// Returns the entry [`ENTRY`] of the file with this text.
    fn entry(&self, path: &Path, text: &str) -> Result<Option<Value>, Fault> {
        match self.registration {
            ServerList::ClaudeCommand => json_entry::find(path, text, "mcpServers", ENTRY),
            ServerList::Json(key) => json_entry::find(path, text, key, ENTRY),
            ServerList::Toml => toml_entry::find(path, text, ENTRY),
        }
    }

    /// Returns the entry with which this client starts `server`.
    fn entry_for(&self, server: &BrainServer) -> Value {
        let mut entry = Map::new();
        let kind = match self.name {
            "vscode" | "claude-code" | "cline" => Some("stdio"),
            "opencode" | "copilot" => Some("local"),
            _ => None,
        };
        if let Some(kind) = kind {
            entry.insert("type".into(), json!(kind));
        }
        let mut environment = "env";
        if self.name == "opencode" {
            environment = "environment";
            entry.insert("command".into(), json!([server.program, "mcp"]));
        } else {
            entry.insert("command".into(), json!(server.program));
            entry.insert("args".into(), json!(["mcp"]));
        }
        if let Some(home) = &server.home {
            entry.insert(environment.into(), json!({ "BRAIN_HOME": home }));
        }
        match self.name {
            "copilot" => _ = entry.insert("tools".into(), json!(["*"])),
            "cline" => entry = Map::from_iter([("transport".to_owned(), Value::Object(entry))]),
            _ => {}
        }
        Value::Object(entry)
    }

    /// Returns the change that replaces the entry `present` by `entry`.
    fn change(
        &self,
        path: &Path,
        text: Option<&str>,
        present: Option<Value>,
        server: &BrainServer,
        entry: &Value,
    ) -> Result<PlannedChange, Fault> {
        let before = text.unwrap_or_default();
        let after = match self.registration {
            ServerList::ClaudeCommand => {
                let mut commands = Vec::new();
                if present.is_some() {
                    commands.push(remove_arguments());
                }
                commands.push(add_arguments(server));
                return Ok(PlannedChange::Run { commands, former: present });
            }
            ServerList::Json(key) => json_entry::set(path, before, key, ENTRY, entry)?,
            ServerList::Toml => toml_entry::set(path, before, ENTRY, entry)?,
        };
        Ok(PlannedChange::Edit(Splice::between(text, &after)))
    }

    /// Runs the client's program. Fails if the program is missing or its exit status is not 0.
    fn run(&self, arguments: &[String]) -> Result<(), Fault> {
        let program = self.program.and_then(on_path).ok_or_else(|| {
            Fault::new(FaultCode::Io, format!("the program of {} is not on PATH", self.label))
        })?;
        let output = Command::new(&program).args(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|e| fail::run(program.display(), &e))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
        let reason = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        let command = format!("{} {}", program.display(), arguments.join(" "));
        Err(Fault::new(FaultCode::Io, format!("`{command}` failed: {}", clean(reason.trim())))
            .hint("run it by hand to see why"))
    }

    /// Removes the connection and restores the former entry, if the file did not change since.
    ///
    /// # Errors
    /// `invalid_config` if brain cannot change the file safely; `conflict` if the file changes
    /// meanwhile; `io` if it cannot be read, or the client's program fails; `io`, `disk_full` or
    /// `read_only` if it cannot be written.
    pub(crate) fn disconnect(&self, connection: &ClientConnection) -> Result<(), Fault> {
        let Some(splice) = &connection.splice else {
            self.run(&remove_arguments())?;
            return match &connection.former {
                Some(former) => self.run(&restore_arguments(former)),
                None => Ok(()),
            };
        };
        let path = &connection.path;
        let Some(text) = splice::read(path)? else { return Ok(()) };
        if let Some(before) = splice.revert(&text) {
            return splice::replace(path, Some(&text), before.as_deref());
        }
        // The file changed after the connection, so only an entry that starts brain is removed.
        if !self.entry(path, &text)?.as_ref().is_some_and(is_ours) {
            return Ok(());
        }
        let after = match self.registration {
            ServerList::Json(key) => json_entry::remove(path, &text, key, ENTRY)?,
            ServerList::ClaudeCommand | ServerList::Toml => toml_entry::remove(path, &text, ENTRY)?,
        };
        splice::replace(path, Some(&text), Some(&after))
    }
}

impl Plan {
    /// Returns whether the client is connected already.
    pub(crate) fn is_connected(&self) -> bool {
        self.change.is_none()
    }

    /// Describes the change, in lines.
    pub(crate) fn describe(&self) -> Vec<String> {
        match &self.change {
            None => vec![format!("is connected already ({})", self.path.display())],
            Some(PlannedChange::Run { commands, .. }) => commands
                .iter()
                .map(|arguments| {
                    format!("runs: {} {}", self.client.program.unwrap_or(""), arguments.join(" "))
                })
                .collect(),
            Some(PlannedChange::Edit(splice)) => splice.describe(&self.path),
        }
    }

    /// Makes the change. Returns `None` if the client was connected already.
    ///
    /// # Errors
    /// `conflict` if the file changed since the plan; `invalid_config` if it is no usable file any
    /// more; `io` if the client's program fails; `io`, `disk_full` or `read_only` if the file
    /// cannot be written.
    pub(crate) fn apply(self) -> Result<Option<ClientConnection>, Fault> {
        let client = self.client.name.to_owned();
        match self.change {
            None => Ok(None),
            Some(PlannedChange::Run { commands, former }) => {
                for (index, arguments) in commands.iter().enumerate() {
                    let Err(fault) = self.client.run(arguments) else { continue };
                    // The first of two commands removed the former entry.
                    let removed = former.as_ref().filter(|_| index > 0);
                    let restored = removed.map(|it| self.client.run(&restore_arguments(it)));
                    return Err(match restored {
                        Some(Err(_)) => fault.hint("the former entry is lost; add it by hand"),
                        _ => fault,
                    });
                }
                Ok(Some(ClientConnection { client, path: self.path, splice: None, former }))
            }
            Some(PlannedChange::Edit(splice)) => {
                splice.apply(&self.path)?;
                let splice = Some(splice);
                Ok(Some(ClientConnection { client, path: self.path, splice, former: None }))
            }
        }
    }
}

fn add_arguments(server: &BrainServer) -> Vec<String> {
    let mut arguments = ["mcp", "add"].map(str::to_owned).to_vec();
    if let Some(home) = &server.home {
        arguments.extend(["--env".to_owned(), format!("BRAIN_HOME={home}")]);
    }
    // `--env` takes all words up to the next option, so another option is before the name.
    arguments.extend(["--scope", "user", ENTRY, "--", &server.program, "mcp"].map(str::to_owned));
    arguments
}

fn remove_arguments() -> Vec<String> {
    ["mcp", "remove", "--scope", "user", ENTRY].map(str::to_owned).to_vec()
}

fn restore_arguments(former: &Value) -> Vec<String> {
    ["mcp", "add-json", "--scope", "user", ENTRY, &former.to_string()].map(str::to_owned).to_vec()
}

/// Returns the part of an entry that says what is started or called. Cline has it in an object.
fn transport(entry: &Value) -> &Value {
    entry.get("transport").unwrap_or(entry)
}

/// Returns the program of an entry and its arguments. opencode has both in one list.
fn command_of(entry: &Value) -> Vec<&str> {
    let entry = transport(entry);
    let list = |key: &str| entry[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    entry["command"].as_str().into_iter().chain(list("command")).chain(list("args")).collect()
}

/// Returns whether an entry starts `brain mcp`, with any path and home.
fn is_ours(entry: &Value) -> bool {
    let command = command_of(entry);
    let program = command.first().and_then(|program| Path::new(program).file_name());
    program.is_some_and(|name| name == "brain") && command[1..] == ["mcp"]
}

/// Returns the address or program of an entry, without other parts, which can contain secrets.
fn target_of(entry: &Value) -> String {
    let text = |key: &str| transport(entry)[key].as_str().map(clean);
    // Windsurf and Antigravity say `serverUrl`, and Gemini CLI `httpUrl`.
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(text);
    let url = url.map(|url| url.split(['?', '#']).next().unwrap_or_default().to_owned());
    let program = || command_of(entry).first().map(|program| clean(program));
    url.or_else(program).unwrap_or_else(|| "neither an address nor a program".into())
}

/// Returns whether two entries start the same program in the same home.
fn is_same(a: &Value, b: &Value) -> bool {
    let home = |entry: &Value| {
        let home = |key: &str| transport(entry)[key]["BRAIN_HOME"].as_str().map(str::to_owned);
        home("env").or_else(|| home("environment"))
    };
    command_of(a) == command_of(b) && home(a) == home(b)
}

/// Returns the fault of a file that brain does not change, because of `reason`.
fn invalid(path: &Path, reason: &str) -> Fault {
    Fault::new(
        FaultCode::InvalidConfig,
        format!("{} {reason}, so it is not changed", path.display()),
    )
    .hint("correct the file, or add the entry by hand: docs/clients.md")
}

/// Sorts the fields of an entry as people write them: `type`, `command`, `args`, `env`.
fn in_order(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let place = |name: &str| ["type", "command", "args", "env"].iter().position(|it| *it == name);
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| place(name));
    fields
}

/// Returns the path of the first executable file `program` in the directories of `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = env::var_os("PATH")?;
    env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program)).find(
        |file| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0),
    )
}
