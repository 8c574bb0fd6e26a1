//! Calls the systemd manager of the user: `systemctl --user`, `systemd-run` and `loginctl`.

use std::{
    env,
    io::ErrorKind,
    process::{Command, Stdio},
};

use brain_protocol::{Fault, FaultCode};

use crate::fail;

/// The units, in start order.
pub(super) const UNITS: [&str; 2] = ["brain-daemon.socket", "brain-daemon.service"];

/// The state of a unit.
#[derive(Debug, Default)]
pub(super) struct UnitState {
    /// `active`, `inactive`, `failed`, `activating` …
    pub(super) active: String,
    /// Whether it starts at login.
    pub(super) is_enabled: bool,
    /// The path of the unit file, empty if there is none.
    pub(super) file: String,
    /// The main process, if it runs.
    pub(super) pid: Option<u32>,
    /// The daemon's status text.
    pub(super) status_text: String,
}

/// Checks that a systemd manager of the user runs. `alternative` completes the hint with a way that
/// needs no systemd.
///
/// # Errors
/// `unreachable` if no manager answers or systemctl does not exist, with a hint what to do. `io` if
/// systemctl cannot be run.
pub(super) fn require_manager(alternative: &str) -> Result<(), Fault> {
    let (is_success, _, errors) = run(&["show-environment"])?;
    if is_success {
        return Ok(());
    }
    let reason = errors.lines().next().unwrap_or("no output");
    let mut hint = "keep the manager running: loginctl enable-linger".to_owned();
    // systemctl needs this variable to find the manager, and `su` and `sudo` do not set it.
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        hint.push_str("; then: export XDG_RUNTIME_DIR=/run/user/$(id -u)");
    }
    hint.push_str("; or ");
    hint.push_str(alternative);
    Err(Fault::new(
        FaultCode::Unreachable,
        format!("no systemd manager answers for this user: {reason}"),
    )
    .hint(hint))
}

/// Runs a command of systemctl, for example `daemon-reload`.
///
/// # Errors
/// `io` with the error output of systemctl if the command fails. The faults of [`run`].
pub(super) fn systemctl(arguments: &[&str]) -> Result<(), Fault> {
    let (is_success, _, errors) = run(arguments)?;
    if is_success {
        return Ok(());
    }
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let command = arguments.join(" ");
    let message = format!("`systemctl --user {command}` failed: {}", lines.join(" "));
    Err(Fault::new(FaultCode::Io, message)
        .hint("show the log: journalctl --user -u brain-daemon -n 20"))
}

/// Returns the state of a unit.
///
/// # Errors
/// The faults of [`run`]. A failure of systemctl gives a state with empty fields.
pub(super) fn state(unit: &str) -> Result<UnitState, Fault> {
    let properties = "--property=ActiveState,UnitFileState,FragmentPath,MainPID,StatusText";
    let (_, properties, _) = run(&["show", unit, properties])?;
    let mut state = UnitState::default();
    for line in properties.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "ActiveState" => state.active = value.to_owned(),
            "FragmentPath" => state.file = value.to_owned(),
            "UnitFileState" => state.is_enabled = value == "enabled",
            "MainPID" => state.pid = value.parse().ok().filter(|pid| *pid != 0),
            "StatusText" => state.status_text = value.to_owned(),
            _ => {}
        }
    }
    Ok(state)
}

/// Returns whether the manager keeps running after logout ("lingering"), if known.
pub(super) fn is_linger_enabled() -> Option<bool> {
    let mut command = Command::new("loginctl");
    command.args(["show-user", "--property=Linger", "--value"]).stdin(Stdio::null());
    // loginctl needs the name or id of the user.
    command.arg(rustix::process::getuid().as_raw().to_string());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(output.stdout.starts_with(b"yes"))
}

/// Returns whether the manager can run a service with these settings, for example
/// `PrivateUsers=yes`. To find out, starts a service that does nothing.
pub(super) fn can_run_with<'a>(settings: impl Iterator<Item = &'a str>) -> bool {
    let mut command = Command::new("systemd-run");
    command.args(["--user", "--wait", "--quiet", "--collect"]);
    settings.for_each(|setting| _ = command.args(["-p", setting]));
    command.arg("true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs systemctl. Returns whether it succeeded, its standard output and its standard error.
///
/// # Errors
/// `unreachable` if systemctl does not exist, and `io` if it cannot be run.
fn run(arguments: &[&str]) -> Result<(bool, String, String), Fault> {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Fault::new(
            FaultCode::Unreachable,
            "systemctl does not exist: this machine does not use systemd",
        )
        .hint("a service is not needed: every command starts the daemon"),
        _ => fail::run("systemctl", &e),
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((output.status.success(), text(output.stdout), text(output.stderr)))
}
