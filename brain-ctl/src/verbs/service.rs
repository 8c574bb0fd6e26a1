//! `brain service`: the daemon as a user unit of systemd's. It needs no daemon; the user's service manager does the work.

mod manager;
mod unit;

use std::{
    env,
    fs::{self, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use brain_protocol::{Fault, FaultCode, Request, encode};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::status;
use crate::{
    args::{Group, Verb},
    connect::{self, Missed, Session},
    context::Context,
    fail,
    home::Home,
    output::{Outcome, Show, Text},
    start, xdg,
};

/// Arguments of `service`.
#[derive(Debug, Args)]
pub(crate) struct Service {
    /// What to do
    #[arg(value_enum, value_name = "ACTION")]
    action: Action,

    /// Replace units that something else wrote (install only)
    #[arg(long)]
    force: bool,
}

/// What `service` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Write the units, enable and start them; with --no-start only write them
    Install,
    /// Stop the daemon, and remove the units that install wrote
    Uninstall,
    /// Show whether the units are there and how they are
    Status,
}

impl Verb for Service {
    const NAME: &'static str = "service";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Let systemd run the daemon";
    const EXAMPLES: &'static str = "Examples:
  brain service install
  brain service status --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if self.force && self.action != Action::Install {
            return Err(fail::usage("only `brain service install` takes --force")
                .hint("brain service install --force"));
        }
        let files = Files::find()?;
        match self.action {
            Action::Install => install(context, &files, self.force),
            Action::Uninstall => uninstall(context, &files),
            Action::Status => tell(context, &files),
        }
    }
}

/// Where the units lie.
struct Files {
    socket: PathBuf,
    service: PathBuf,
}

/// What lies at the place of a unit.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Ours(String),
    Foreign,
}

impl Files {
    fn find() -> Result<Self, Fault> {
        let dir = xdg::config_home()?.join("systemd/user");
        let [socket, service] = manager::UNITS.map(|unit| dir.join(unit));
        Ok(Self { socket, service })
    }

    fn both(&self) -> [&Path; 2] {
        [&self.socket, &self.service]
    }

    /// The links that `systemctl enable` makes, by the units' `WantedBy=`.
    fn links(&self) -> Vec<PathBuf> {
        let link =
            |path: &Path, target: &str| Some(path.parent()?.join(target).join(path.file_name()?));
        let socket = link(&self.socket, "sockets.target.wants");
        socket.into_iter().chain(link(&self.service, "default.target.wants")).collect()
    }

    /// Whether something of ours is there.
    ///
    /// # Errors
    /// [`FaultCode::Conflict`] when something else is, unless `force`.
    fn ours(&self, force: bool, way_out: &str) -> Result<bool, Fault> {
        let mut ours = false;
        for path in self.both() {
            match look(path)? {
                Found::Ours(_) => ours = true,
                Found::Foreign if !force => {
                    let message = format!(
                        "{} was not written by brain service install; it was left alone",
                        path.display()
                    );
                    return Err(Fault::new(FaultCode::Conflict, message).hint(way_out));
                }
                Found::Nothing | Found::Foreign => {}
            }
        }
        Ok(ours)
    }
}

fn look(path: &Path) -> Result<Found, Fault> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(unit::MARKER) => Ok(Found::Ours(text)),
        Ok(_) => Ok(Found::Foreign),
        Err(e) if e.kind() == ErrorKind::InvalidData => Ok(Found::Foreign),
        // A link that leads nowhere, as `systemctl mask` makes them, is somebody's decision too.
        Err(e) if e.kind() == ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            Ok(Found::Nothing)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Found::Foreign),
        Err(e) => Err(fail::file("read", path, &e)),
    }
}

/// What `install` and `uninstall` did.
#[derive(Debug, Serialize)]
struct Changed {
    /// `installed`, `updated`, `written` (not started), `uninstalled` or `not_installed`.
    status: &'static str,
    /// The unit files that were written or removed.
    files: Vec<String>,
    /// The daemon's process, when it was started.
    pid: Option<u32>,
    /// The daemon that ran before and was stopped first.
    stopped: Option<u32>,
    /// What the user should know.
    #[serde(skip)]
    notes: Vec<String>,
}

fn install(context: &Context, files: &Files, force: bool) -> Result<Outcome, Fault> {
    let home = Home::find()?;
    let program = start::program().ok_or_else(start::no_program)?;
    let program = std::path::absolute(&program).unwrap_or(program);
    let socket = configured_socket(&program, &home)?;
    let usual = env::var_os("HOME").map(|dir| Path::new(&dir).join(".brain"));
    let paths = unit::Paths {
        program: &program,
        home: (usual.as_deref() != Some(home.dir())).then(|| home.dir()),
        socket: &socket,
    };
    let (socket_text, service_text) = (unit::socket(&paths)?, unit::service(&paths)?);
    let before = files.ours(force, "look at it; to replace it: brain service install --force")?;
    if !context.no_start {
        manager::require("write the files only: brain service install --no-start")?;
    }
    let socket_moved = look(&files.socket)? != Found::Ours(socket_text.clone());
    write(&files.socket, &socket_text)?;
    write(&files.service, &service_text)?;
    let mut changed = Changed {
        status: if before { "updated" } else { "installed" },
        files: files.both().map(|path| path.display().to_string()).to_vec(),
        pid: None,
        stopped: None,
        notes: Vec::new(),
    };
    if context.no_start {
        changed.status = "written";
        changed.notes.push("not started; start it with: systemctl --user daemon-reload && systemctl --user enable --now brain-daemon.socket brain-daemon.service".to_owned());
        return context.show(&changed);
    }
    manager::order(&["daemon-reload"])?;
    let [socket_unit, service_unit] = manager::UNITS;
    changed.stopped = stop_another(&home, service_unit)?;
    manager::order(&["enable", "--now", socket_unit, service_unit])?;
    if before || force {
        // The program may be a new one too. The socket stays when it can: nobody then finds nobody.
        let units = if socket_moved { &manager::UNITS[..] } else { &[service_unit] };
        manager::order(&[&["restart"], units].concat())?;
    }
    changed.pid = manager::state(service_unit)?.pid;
    if manager::lingers() == Some(false) {
        changed.notes.push(
            "it ends when you log out; to keep it running: loginctl enable-linger".to_owned(),
        );
    }
    context.show(&changed)
}

fn uninstall(context: &Context, files: &Files) -> Result<Outcome, Fault> {
    let ours = files
        .ours(false, "if it is to go, remove it yourself, then: systemctl --user daemon-reload")?;
    let mut changed = Changed {
        status: "not_installed",
        files: Vec::new(),
        pid: None,
        stopped: None,
        notes: Vec::new(),
    };
    if !ours {
        return context.show(&changed);
    }
    changed.status = "uninstalled";
    if !context.no_start {
        let files_only = "remove the files only: brain service uninstall --no-start";
        manager::require(files_only)?;
        let [socket_unit, service_unit] = manager::UNITS;
        changed.stopped = manager::state(service_unit)?.pid;
        // It refuses, for example, when one of the two files is gone already.
        manager::order(&["disable", "--now", socket_unit, service_unit]).map_err(|fault| {
            let why = fault.hint.clone().unwrap_or_default();
            fault.hint(format!("{why}; or {files_only}"))
        })?;
    }
    for path in files.both() {
        match fs::remove_file(path) {
            Ok(()) => changed.files.push(path.display().to_string()),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(fail::file("remove", path, &e)),
        }
    }
    if context.no_start {
        for link in files.links() {
            // What `disable` would have removed.
            if fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_symlink()) {
                fs::remove_file(&link).map_err(|e| fail::file("remove", &link, &e))?;
            }
        }
        changed.notes.push(
            "the manager was not told; tell it with: systemctl --user daemon-reload".to_owned(),
        );
    } else {
        manager::order(&["daemon-reload"])?;
    }
    context.show(&changed)
}

/// Where the daemon's socket is to be: `BRAIN_SOCKET`, else what the daemon's own configuration says.
///
/// # Errors
/// The daemon's fault, when its configuration is wrong: it would not start.
fn configured_socket(program: &Path, home: &Home) -> Result<PathBuf, Fault> {
    let broken = |why: String| {
        Fault::new(FaultCode::InvalidConfig, format!("{} config show: {why}", program.display()))
            .hint("see it with: brain config show")
    };
    let mut command = Command::new(program);
    command.args(["config", "--json", "show"]).env("BRAIN_HOME", home.dir());
    let output = command.output().map_err(|e| broken(fail::reason(&e)))?;
    let told: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| broken(e.to_string()))?;
    if let Ok(fault) = serde_json::from_value::<Fault>(told["error"].clone()) {
        return Err(fault);
    }
    if let Some(socket) = home.socket_override() {
        return Ok(socket.to_owned());
    }
    let keys = told["keys"].as_array().into_iter().flatten();
    let value =
        keys.filter(|key| key["key"] == "daemon.socket").find_map(|key| key["value"].as_str());
    Ok(match value {
        None | Some("") => home.run_dir().join("brain.sock"),
        Some(path) => home.dir().join(path),
    })
}

/// Stops the daemon of this home if it is not the manager's own: the store serves one.
fn stop_another(home: &Home, service: &str) -> Result<Option<u32>, Fault> {
    let socket = home.socket();
    let question = encode(&Request::Status)
        .map_err(|e| Fault::new(FaultCode::Internal, format!("cannot ask for the status: {e}")))?;
    let pid = match connect::open(&socket).and_then(|stream| Session::begin(stream, &question)) {
        Ok(session) => session.hello.pid,
        Err(Missed::Mismatch(hello)) => hello.pid,
        Err(Missed::Absent | Missed::Gone) => return Ok(None),
        Err(missed) => return Err(missed.into_fault(&socket)),
    };
    if manager::state(service)?.pid == Some(pid) {
        return Ok(None);
    }
    status::end(&socket)
}

/// Writes a file as a whole.
fn write(path: &Path, text: &str) -> Result<(), Fault> {
    let failed = |e: std::io::Error| fail::file("write", path, &e);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o644)
        .open(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&new, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&new);
        failed(e)
    })
}

/// How the service is.
#[derive(Debug, Serialize)]
struct Told {
    /// `running`, `waiting` (the first request starts it), `stopped`, `failed`, `foreign` or `not_installed`.
    status: &'static str,
    /// The service's unit file.
    unit: String,
    /// The program that the unit starts, as it stands there.
    program: Option<String>,
    /// Whether it is started at login.
    enabled: bool,
    /// The daemon's process.
    pid: Option<u32>,
    /// What the daemon says of itself.
    said: String,
}

fn tell(context: &Context, files: &Files) -> Result<Outcome, Fault> {
    let mut told = Told {
        status: "not_installed",
        unit: files.service.display().to_string(),
        program: None,
        enabled: false,
        pid: None,
        said: String::new(),
    };
    match look(&files.service)? {
        Found::Nothing => return context.show(&told),
        Found::Foreign => {
            told.status = "foreign";
            return context.show(&told);
        }
        Found::Ours(text) => {
            let program = text.lines().find_map(|line| line.strip_prefix("ExecStart="));
            told.program = program.map(|program| program.trim_matches('"').to_owned());
        }
    }
    manager::require("ask the daemon itself: brain status")?;
    let [socket, service] = manager::UNITS;
    let (socket, service) = (manager::state(socket)?, manager::state(service)?);
    told.status = match (service.active.as_str(), socket.active.as_str()) {
        ("active" | "activating" | "reloading", _) => "running",
        ("failed", _) | (_, "failed") => "failed",
        (_, "active") => "waiting",
        _ => "stopped",
    };
    told.enabled = service.enabled == "enabled";
    told.pid = service.pid;
    // The manager remembers the last words of one that has ended.
    told.said = if told.pid.is_some() { service.said } else { String::new() };
    context.show(&told)
}

impl Show for Changed {
    fn text(&self, t: &mut Text) {
        if let Some(pid) = self.stopped {
            t.line(&format!("stopped brain-daemon (pid {pid})"));
        }
        t.line(match self.status {
            "uninstalled" => "brain-daemon is no longer a service",
            "not_installed" => "brain-daemon is not installed as a service",
            "written" => "the units are written",
            _ => "brain-daemon is a service",
        });
        if let Some(pid) = self.pid {
            t.field("process", &pid.to_string());
        }
        for file in &self.files {
            t.field("unit", file);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Show for Told {
    fn text(&self, t: &mut Text) {
        let at_login = if self.enabled { "" } else { ", but not enabled" };
        t.line(&match self.status {
            "running" => format!("brain-daemon is a service and runs{at_login}"),
            "waiting" => format!("brain-daemon is a service; the next command starts it{at_login}"),
            "stopped" => format!("brain-daemon is a service, and is stopped{at_login}"),
            "failed" => "brain-daemon is a service, and has failed".to_owned(),
            "foreign" => "brain-daemon is a service that brain did not install".to_owned(),
            _ => "brain-daemon is not installed as a service".to_owned(),
        });
        if self.status != "not_installed" {
            t.field("unit", &self.unit);
        }
        if let Some(program) = &self.program {
            t.field("program", program);
        }
        if let Some(pid) = self.pid {
            t.field("process", &pid.to_string());
        }
        if !self.said.is_empty() {
            t.field("says", &self.said);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status);
    }

    fn notes(&self) -> Vec<String> {
        match self.status {
            "failed" => vec!["see why: journalctl --user -u brain-daemon -n 20".to_owned()],
            "not_installed" => vec!["install it with: brain service install".to_owned()],
            _ => Vec::new(),
        }
    }
}
