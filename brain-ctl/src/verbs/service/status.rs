//! `brain service status`: the state of the units, of `brain service install` or of a package.

use std::{fs, path::PathBuf};

use brain_protocol::Fault;
use serde::Serialize;

use super::{Files, UnitFile, manager, read_unit};
use crate::{
    context::Context,
    fail,
    output::{Outcome, Show, Text},
};

/// The state of the service.
#[derive(Debug, Serialize)]
struct ServiceStatus {
    /// `running`, `waiting` (the first request starts it), `stopped`, `failed`, `foreign` or
    /// `not_installed`.
    status: &'static str,
    /// The service's unit file.
    unit: String,
    /// The program in the unit.
    program: Option<String>,
    /// Whether it starts at login.
    enabled: bool,
    /// The daemon's process id.
    pid: Option<u32>,
    /// The daemon's status text; empty if it does not run.
    #[serde(rename = "said")]
    status_text: String,
}

/// Returns the unit file of a package, if this user runs or has enabled it.
pub(super) fn packaged_unit() -> Option<PathBuf> {
    let [socket, service] = manager::UNITS.map(|unit| manager::state(unit).unwrap_or_default());
    let is_used = |state: &manager::UnitState| state.is_enabled || state.active == "active";
    (!service.file.is_empty() && (is_used(&service) || is_used(&socket)))
        .then(|| service.file.into())
}

/// Shows the state of the service.
///
/// # Errors
/// Returns the reason why a unit file cannot be read or systemd does not answer.
pub(super) fn show(context: &Context, files: &Files) -> Result<Outcome, Fault> {
    let mut report = ServiceStatus {
        status: "not_installed",
        unit: files.service.display().to_string(),
        program: None,
        enabled: false,
        pid: None,
        status_text: String::new(),
    };
    let text = match read_unit(&files.service)? {
        UnitFile::Ours(text) => text,
        UnitFile::Foreign => {
            report.status = "foreign";
            return context.show(&report);
        }
        UnitFile::Missing => {
            let Some(packaged) = packaged_unit() else { return context.show(&report) };
            report.unit = packaged.display().to_string();
            fs::read_to_string(&packaged).map_err(|e| fail::file("read", &packaged, &e))?
        }
    };
    let program = text.lines().find_map(|line| line.strip_prefix("ExecStart="));
    report.program = program.map(|program| program.trim_matches('"').to_owned());
    manager::require_manager("ask the daemon: brain status")?;
    let [socket, service] = manager::UNITS;
    let (socket, service) = (manager::state(socket)?, manager::state(service)?);
    report.status = match (service.active.as_str(), socket.active.as_str()) {
        ("active" | "activating" | "reloading", _) => "running",
        ("failed", _) | (_, "failed") => "failed",
        (_, "active") => "waiting",
        _ => "stopped",
    };
    report.enabled = service.is_enabled;
    report.pid = service.pid;
    // systemd keeps the status text of a service that has ended.
    report.status_text = if report.pid.is_some() { service.status_text } else { String::new() };
    context.show(&report)
}

impl Show for ServiceStatus {
    fn text(&self, t: &mut Text) {
        let at_login = if self.enabled { "" } else { ", but not enabled" };
        t.line(&match self.status {
            "running" => format!("brain-daemon is a running service{at_login}"),
            "waiting" => format!("brain-daemon is a service; the next command starts it{at_login}"),
            "stopped" => format!("brain-daemon is a stopped service{at_login}"),
            "failed" => "brain-daemon is a failed service".to_owned(),
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
        if !self.status_text.is_empty() {
            t.field("says", &self.status_text);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.status);
    }

    fn notes(&self) -> Vec<String> {
        match self.status {
            "failed" => vec!["show the log: journalctl --user -u brain-daemon -n 20".to_owned()],
            "not_installed" => vec!["install it with: brain service install".to_owned()],
            _ => Vec::new(),
        }
    }
}
