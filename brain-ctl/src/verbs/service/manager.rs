//! Calls `systemctl --user`.

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
pub(super) struct State {
    /// `active`, `inactive`, `failed`, `activating` …
    pub(super) active: String,
    /// `enabled`, `disabled` …
    pub(super) enabled: String,
    /// The main process, if it runs.
    pub(super) pid: Option<u32>,
    /// The daemon's status text.
    pub(super) said: String,
}

/// Checks that a user manager runs. `without` is a hint for users without one.
///
/// # Errors
/// Returns the reason why none runs, and how to start one.
pub(super) fn require(without: &str) -> Result<(), Fault> {
    let (done, _, said) = run(&["show-environment"])?;
    if done {
        return Ok(());
    }
    let said = said.lines().next().unwrap_or("no output");
    let mut hint = "keep it running: loginctl enable-linger".to_owned();
    // Without it systemctl does not find a manager that runs; `su` and `sudo` do not set it.
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        hint.push_str("; then: export XDG_RUNTIME_DIR=/run/user/$(id -u)");
    }
    hint.push_str("; or ");
    hint.push_str(without);
    Err(Fault::new(
        FaultCode::Unreachable,
        format!("no systemd manager answers for this user: {said}"),
    )
    .hint(hint))
}

/// Runs an action such as `daemon-reload`.
///
/// # Errors
/// Returns the output of systemctl.
pub(super) fn order(arguments: &[&str]) -> Result<(), Fault> {
    let (done, _, said) = run(arguments)?;
    if done {
        return Ok(());
    }
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let what = arguments.join(" ");
    Err(Fault::new(FaultCode::Io, format!("`systemctl --user {what}` failed: {}", said.join(" ")))
        .hint("show the log: journalctl --user -u brain-daemon -n 20"))
}

/// Returns the state of a unit.
///
/// # Errors
/// Returns a fault if systemctl fails.
pub(super) fn state(unit: &str) -> Result<State, Fault> {
    let (_, told, _) =
        run(&["show", unit, "--property=ActiveState,UnitFileState,MainPID,StatusText"])?;
    let mut state = State::default();
    for line in told.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "ActiveState" => state.active = value.to_owned(),
            "UnitFileState" => state.enabled = value.to_owned(),
            "MainPID" => state.pid = value.parse().ok().filter(|pid| *pid != 0),
            "StatusText" => state.said = value.to_owned(),
            _ => {}
        }
    }
    Ok(state)
}

/// Returns whether the manager keeps running after logout, if known.
pub(super) fn lingers() -> Option<bool> {
    let mut command = Command::new("loginctl");
    command.args(["show-user", "--property=Linger", "--value"]).stdin(Stdio::null());
    // It is asked about a user by name or number.
    command.arg(rustix::process::getuid().as_raw().to_string());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(output.stdout.starts_with(b"yes"))
}

/// Returns success, standard output and standard error.
fn run(arguments: &[&str]) -> Result<(bool, String, String), Fault> {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Fault::new(
            FaultCode::Unreachable,
            "systemctl does not exist: this machine does not use systemd",
        )
        .hint("a service is not needed: every command starts the daemon"),
        _ => Fault::new(FaultCode::Io, format!("cannot run systemctl: {}", fail::reason(&e))),
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((output.status.success(), text(output.stdout), text(output.stderr)))
}
