//! The user's service manager, asked through `systemctl --user`.

use std::{
    env,
    io::ErrorKind,
    process::{Command, Stdio},
};

use brain_protocol::{Fault, FaultCode};

use crate::fail;

/// The units, in the order in which they are started.
pub(super) const UNITS: [&str; 2] = ["brain-daemon.socket", "brain-daemon.service"];

/// What a unit is like, as far as the manager told.
#[derive(Debug, Default)]
pub(super) struct State {
    /// `active`, `inactive`, `failed`, `activating` …
    pub(super) active: String,
    /// `enabled`, `disabled` …
    pub(super) enabled: String,
    /// The main process; `None`: none runs.
    pub(super) pid: Option<u32>,
    /// What the daemon said of itself.
    pub(super) said: String,
}

/// Makes sure that there is a manager to talk to. `without` is what can be done when there is none.
///
/// # Errors
/// Why there is none, and how to get one.
pub(super) fn require(without: &str) -> Result<(), Fault> {
    let (done, _, said) = run(&["show-environment"])?;
    if done {
        return Ok(());
    }
    let said = said.lines().next().unwrap_or("it said nothing");
    let mut hint = "keep one running for you: loginctl enable-linger".to_owned();
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

/// Does something, for example `daemon-reload`.
///
/// # Errors
/// What systemctl said.
pub(super) fn order(arguments: &[&str]) -> Result<(), Fault> {
    let (done, _, said) = run(arguments)?;
    if done {
        return Ok(());
    }
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let what = arguments.join(" ");
    Err(Fault::new(FaultCode::Io, format!("`systemctl --user {what}` failed: {}", said.join(" ")))
        .hint("see why: journalctl --user -u brain-daemon -n 20"))
}

/// What a unit is like.
///
/// # Errors
/// When the manager cannot be asked.
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

/// Whether the manager stays when the user logs out; `None`: it is not known.
pub(super) fn lingers() -> Option<bool> {
    let mut command = Command::new("loginctl");
    command.args(["show-user", "--property=Linger", "--value"]).stdin(Stdio::null());
    // It is asked about a user by name or number.
    command.arg(rustix::process::getuid().as_raw().to_string());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(output.stdout.starts_with(b"yes"))
}

/// Whether it was done, standard output, standard error.
fn run(arguments: &[&str]) -> Result<(bool, String, String), Fault> {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Fault::new(
            FaultCode::Unreachable,
            "systemctl is not there: systemd does not run this machine",
        )
        .hint("nothing has to be installed: every command starts the daemon when it is needed"),
        _ => Fault::new(FaultCode::Io, format!("cannot run systemctl: {}", fail::reason(&e))),
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((output.status.success(), text(output.stdout), text(output.stderr)))
}
