//! `brain service`: runs the daemon as a user unit of systemd.

mod manager;
mod status;
mod unit;

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use brain_protocol::{Fault, FaultCode, Request, Status, encode};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::completions::write;
use crate::{
    command::{Group, Verb},
    connect::{self, ConnectError, Exchange},
    context::Context,
    daemon_program, fail,
    home::Home,
    output::{Outcome, Show, Text},
    stop, xdg,
};

/// Arguments of `service`.
#[derive(Debug, Args)]
pub(crate) struct ServiceCommand {
    /// What to do with the systemd units
    #[arg(value_enum, value_name = "ACTION")]
    action: ServiceAction,

    /// Replace unit files that brain did not write (install)
    #[arg(long)]
    force: bool,
}

/// The actions of `service`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ServiceAction {
    /// Write, enable and start the units; with --no-start only write them
    Install,
    /// Stop the daemon and remove the installed units
    Uninstall,
    /// Show the state of the units
    Status,
}

impl Verb for ServiceCommand {
    const NAME: &'static str = "service";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Run the daemon as a systemd service";
    const EXAMPLES: &'static str = "Examples:
  brain service install
  brain service status --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if self.force && self.action != ServiceAction::Install {
            return Err(fail::usage("only `brain service install` takes --force")
                .hint("brain service install --force"));
        }
        let files = Files::find()?;
        match self.action {
            ServiceAction::Install => install(context, &files, self.force),
            ServiceAction::Uninstall => uninstall(context, &files),
            ServiceAction::Status => status::show(context, &files),
        }
    }
}

/// Returns whether the daemon runs as the user's service.
pub(super) fn is_running() -> bool {
    let [_, service] = manager::UNITS;
    manager::state(service).is_ok_and(|state| state.pid.is_some())
}

/// Paths of the unit files and of a drop-in.
struct Files {
    socket: PathBuf,
    service: PathBuf,
    /// The drop-in of the service with restrictions that not every system allows.
    restrictions: PathBuf,
}

/// The file of a unit.
#[derive(Debug, PartialEq, Eq)]
enum UnitFile {
    /// The file does not exist.
    Missing,
    /// `brain service install` wrote the file. The value is its text.
    Ours(String),
    /// Another program or the user wrote the file.
    Foreign,
}

impl Files {
    fn find() -> Result<Self, Fault> {
        let dir = xdg::config_home()?.join("systemd/user");
        let [socket, service] = manager::UNITS.map(|unit| dir.join(unit));
        let restrictions = dir.join(format!("{}.d/{}", manager::UNITS[1], unit::RESTRICTIONS_FILE));
        Ok(Self { socket, service, restrictions })
    }

    /// Returns the paths of the two unit files, without the drop-in.
    fn paths(&self) -> [&Path; 2] {
        [&self.socket, &self.service]
    }

    /// Writes the drop-in if this system allows its restrictions, and else removes it. Does not
    /// change a file of this name that brain did not write. Returns whether brain's drop-in exists.
    fn update_restrictions(&self) -> Result<bool, Fault> {
        let present = read_unit(&self.restrictions)?;
        match (present, manager::can_run_with(unit::restriction_settings())) {
            (UnitFile::Foreign, _) => Ok(false),
            (_, true) => write(&self.restrictions, unit::restrictions().as_bytes()).map(|()| true),
            (_, false) => self.remove_restrictions().map(|_| false),
        }
    }

    /// Removes brain's drop-in, and its directory if that has no other files. Returns whether the
    /// drop-in existed.
    fn remove_restrictions(&self) -> Result<bool, Fault> {
        if !matches!(read_unit(&self.restrictions)?, UnitFile::Ours(_)) {
            return Ok(false);
        }
        fs::remove_file(&self.restrictions)
            .map_err(|e| fail::file("remove", &self.restrictions, &e))?;
        let _ = self.restrictions.parent().map(fs::remove_dir);
        Ok(true)
    }

    /// Returns the links that `systemctl enable` creates for `WantedBy=` of the units.
    fn links(&self) -> Vec<PathBuf> {
        let link =
            |path: &Path, target: &str| Some(path.parent()?.join(target).join(path.file_name()?));
        let socket = link(&self.socket, "sockets.target.wants");
        socket.into_iter().chain(link(&self.service, "default.target.wants")).collect()
    }

    /// Returns whether `brain service install` wrote one of the files.
    ///
    /// # Errors
    /// [`FaultCode::Conflict`] with `hint` if a file is foreign, unless `force`. The fault of the
    /// file if reading fails.
    fn is_installed(&self, force: bool, hint: &str) -> Result<bool, Fault> {
        let mut is_installed = false;
        for path in self.paths() {
            match read_unit(path)? {
                UnitFile::Ours(_) => is_installed = true,
                UnitFile::Foreign if !force => {
                    let message = format!(
                        "{} was not written by brain service install, so it was not changed",
                        path.display()
                    );
                    return Err(Fault::new(FaultCode::Conflict, message).hint(hint));
                }
                UnitFile::Missing | UnitFile::Foreign => {}
            }
        }
        Ok(is_installed)
    }
}

/// Reads the file of a unit. A file without brain's marker is foreign.
fn read_unit(path: &Path) -> Result<UnitFile, Fault> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(unit::MARKER) => Ok(UnitFile::Ours(text)),
        Ok(_) => Ok(UnitFile::Foreign),
        Err(e) if e.kind() == ErrorKind::InvalidData => Ok(UnitFile::Foreign),
        // `systemctl mask` creates a dangling link, which reads as `NotFound` but is foreign.
        Err(e) if e.kind() == ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            Ok(UnitFile::Missing)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(UnitFile::Foreign),
        Err(e) => Err(fail::file("read", path, &e)),
    }
}

/// The result of `install` and `uninstall`.
#[derive(Debug, Serialize)]
struct InstallResult {
    /// `installed`, `updated`, `written` (not started), `uninstalled` or `not_installed`.
    status: &'static str,
    /// The unit files that were written or removed.
    files: Vec<String>,
    /// The process id of the started daemon.
    pid: Option<u32>,
    /// The process id of the daemon that was stopped.
    stopped: Option<u32>,
    /// Notes for the user.
    #[serde(skip)]
    notes: Vec<String>,
}

fn install(context: &Context, files: &Files, force: bool) -> Result<Outcome, Fault> {
    let home = Home::find()?;
    let program = daemon_program::find()?;
    let program = std::path::absolute(&program).unwrap_or(program);
    let socket = configured_socket(&program, &home)?;
    let default_home = env::var_os("HOME").map(|dir| Path::new(&dir).join(".brain"));
    let paths = unit::Paths {
        program: &program,
        home: (default_home.as_deref() != Some(home.dir())).then(|| home.dir()),
        socket: &socket,
    };
    let (socket_text, service_text) = (unit::socket(&paths)?, unit::service(&paths)?);
    let was_installed = files
        .is_installed(force, "check the file; to replace it: brain service install --force")?;
    if !context.no_start {
        manager::require_manager("only write the files: brain service install --no-start")?;
    }
    let is_socket_changed = read_unit(&files.socket)? != UnitFile::Ours(socket_text.clone());
    write(&files.socket, socket_text.as_bytes())?;
    write(&files.service, service_text.as_bytes())?;
    let mut result = InstallResult {
        status: if was_installed { "updated" } else { "installed" },
        files: files.paths().map(|path| path.display().to_string()).to_vec(),
        pid: None,
        stopped: None,
        notes: Vec::new(),
    };
    if context.no_start {
        result.status = "written";
        result.notes.push(
            "not started; start it with: systemctl --user daemon-reload && \
             systemctl --user enable --now brain-daemon.socket brain-daemon.service"
                .to_owned(),
        );
        return context.show(&result);
    }
    if files.update_restrictions()? {
        result.files.push(files.restrictions.display().to_string());
    }
    manager::systemctl(&["daemon-reload"])?;
    let [socket_unit, service_unit] = manager::UNITS;
    result.stopped = stop_other_daemon(&home, service_unit)?;
    manager::systemctl(&["enable", "--now", socket_unit, service_unit])?;
    if was_installed || force {
        // The program may have changed, so the service is restarted. An unchanged socket stays
        // open, so that clients can connect during the restart.
        let units = if is_socket_changed { &manager::UNITS[..] } else { &[service_unit] };
        manager::systemctl(&[&["restart"], units].concat())?;
    }
    result.pid = manager::state(service_unit)?.pid;
    if manager::is_linger_enabled() == Some(false) {
        result.notes.push(
            "it stops when you log out; to keep it running: loginctl enable-linger".to_owned(),
        );
    }
    context.show(&result)
}

fn uninstall(context: &Context, files: &Files) -> Result<Outcome, Fault> {
    let hint = "move it to another directory, then: systemctl --user daemon-reload";
    let is_installed = files.is_installed(false, hint)?;
    let mut result = InstallResult {
        status: "not_installed",
        files: Vec::new(),
        pid: None,
        stopped: None,
        notes: Vec::new(),
    };
    if !is_installed {
        if !context.no_start && status::packaged_unit().is_some() {
            result.notes.push(
                "a package installed its units; to disable them: systemctl --user disable --now \
                 brain-daemon.socket brain-daemon.service"
                    .to_owned(),
            );
        }
        return context.show(&result);
    }
    result.status = "uninstalled";
    if !context.no_start {
        let files_only = "to uninstall without it: brain service uninstall --no-start";
        manager::require_manager(files_only)?;
        let [socket_unit, service_unit] = manager::UNITS;
        result.stopped = manager::state(service_unit)?.pid;
        // systemctl fails, for example, if one of the two files is missing.
        manager::systemctl(&["disable", "--now", socket_unit, service_unit]).map_err(|fault| {
            let hint = fault.hint.clone().unwrap_or_default();
            fault.hint(format!("{hint}; or {files_only}"))
        })?;
    }
    for path in files.paths() {
        match fs::remove_file(path) {
            Ok(()) => result.files.push(path.display().to_string()),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(fail::file("remove", path, &e)),
        }
    }
    if files.remove_restrictions()? {
        result.files.push(files.restrictions.display().to_string());
    }
    if context.no_start {
        for link in files.links() {
            // `systemctl disable` would remove these links.
            if fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_symlink()) {
                fs::remove_file(&link).map_err(|e| fail::file("remove", &link, &e))?;
            }
        }
        result
            .notes
            .push("systemd was not reloaded; reload it: systemctl --user daemon-reload".to_owned());
    } else {
        manager::systemctl(&["daemon-reload"])?;
    }
    context.show(&result)
}

/// Returns the path of the socket: `BRAIN_SOCKET`, or the configured path, or the default.
///
/// # Errors
/// The daemon's fault if its configuration is wrong, even with `BRAIN_SOCKET`. `invalid_config` if
/// `program` cannot be run or prints no JSON.
fn configured_socket(program: &Path, home: &Home) -> Result<PathBuf, Fault> {
    let config_error = |reason: String| {
        Fault::new(FaultCode::InvalidConfig, format!("{} config show: {reason}", program.display()))
            .hint("show the configuration: brain config show")
    };
    let mut command = Command::new(program);
    command.args(["config", "--json", "show"]).env("BRAIN_HOME", home.dir());
    let output = command.output().map_err(|e| config_error(fail::reason(&e)))?;
    let config: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| config_error(e.to_string()))?;
    if let Ok(fault) = serde_json::from_value::<Fault>(config["error"].clone()) {
        return Err(fault);
    }
    if let Some(socket) = home.socket_override() {
        return Ok(socket.to_owned());
    }
    let keys = config["keys"].as_array().into_iter().flatten();
    let value =
        keys.filter(|key| key["key"] == "daemon.socket").find_map(|key| key["value"].as_str());
    Ok(match value {
        None | Some("") => home.run_dir().join("brain.sock"),
        Some(path) => home.dir().join(path),
    })
}

/// Stops a daemon of this home that systemd did not start. Returns its process id (0 if unknown),
/// or `None` if no such daemon runs.
fn stop_other_daemon(home: &Home, service: &str) -> Result<Option<u32>, Fault> {
    let socket = home.socket();
    let request = encode(&Request::from(Status)).map_err(|e| {
        Fault::new(FaultCode::Internal, format!("cannot encode the status request: {e}"))
    })?;
    let pid = match connect::connect(&socket).and_then(|stream| Exchange::begin(stream, &request)) {
        Ok(session) => session.hello.pid,
        Err(ConnectError::Mismatch(hello)) => hello.pid,
        Err(ConnectError::NotListening | ConnectError::ClosedWithoutGreeting) => return Ok(None),
        Err(error) => return Err(error.into_fault(&socket)),
    };
    if manager::state(service)?.pid == Some(pid) {
        return Ok(None);
    }
    stop::stop_daemon(&socket)
}

impl Show for InstallResult {
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
