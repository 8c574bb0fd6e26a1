//! Checks of the process, its sockets, listeners and workers.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use brain_protocol::{CheckStatus, Fault, WorkerFailure, WorkerState, WorkerStatus};

use crate::Brain;
use brain_access::AccessSummary;
use brain_base::caller::Visibility;
use brain_base::clock::rfc3339;

use super::{Finding, fail, ok, quoted, warn};

pub(super) fn daemon(brain: &Brain) -> Result<Finding, Fault> {
    let version = brain_protocol::VERSION;
    if !brain.env.home.is_here() {
        let message = crate::moved_home::moved_home_message(&brain.env.home);
        return fail(message, crate::moved_home::move_back_hint());
    }
    ok(format!(
        "version {version}, process {}, up {} s",
        std::process::id(),
        brain.started.elapsed().as_secs()
    ))
}

pub(super) fn socket(brain: &Brain) -> Result<Finding, Fault> {
    let path = brain.env.config.socket(&brain.env.home);
    let passed = brain.env.config.socket_is_passed();
    let Ok(meta) = std::fs::symlink_metadata(&path) else {
        if passed {
            // The systemd manager of a user sets this variable, the one of the system does not.
            let manager =
                if std::env::var_os("XDG_RUNTIME_DIR").is_some() { " --user" } else { "" };
            let hint = format!("systemctl{manager} restart brain-daemon.socket");
            return fail(format!("{} is not there; systemd made it", path.display()), hint);
        }
        return fail(
            format!("{} is not there", path.display()),
            format!("kill {}", std::process::id()),
        );
    };
    let mode = meta.permissions().mode() & 0o777;
    if passed {
        // systemd decides the mode. The daemon checks the peer of each connection.
        return ok(format!("{}, mode {mode:04o}, passed in by systemd", path.display()));
    }
    if meta.uid() == rustix::process::geteuid().as_raw() && mode & 0o077 != 0 {
        return fail(
            format!("{} has mode {mode:04o}: others can open it", path.display()),
            format!("chmod 600 {}", quoted(&path)),
        );
    }
    ok(format!("{}, mode {mode:04o}", path.display()))
}

pub(super) fn http(brain: &Brain) -> Result<Finding, Fault> {
    let addresses = brain.access.http_addresses();
    if let Some(missing) = addresses.missing.first() {
        return warn(missing, "brain config path");
    }
    if !addresses.exposed.is_empty() {
        return warn(addresses.exposed.join("; "), "brain config path");
    }
    let served: Vec<String> =
        [addresses.local, addresses.public].iter().flatten().map(ToString::to_string).collect();
    let message = if served.is_empty() {
        "off".into()
    } else {
        format!("served at {}", served.join(" and "))
    };
    Ok((CheckStatus::Ok, message, None))
}

pub(super) fn clients(brain: &Brain) -> Result<Finding, Fault> {
    access_finding(brain.access.summary())
}

pub(super) fn access_finding(access: AccessSummary) -> Result<Finding, Fault> {
    if let Some(fault) = access.admin_token_problem {
        let hint = fault.hint.unwrap_or_else(|| "brain token admin".into());
        return warn(format!("there is no admin token: {}", fault.message), hint);
    }
    if !access.expiring.is_empty() {
        let expiring: Vec<String> = access
            .expiring
            .iter()
            .map(|(name, at)| format!("\"{name}\" at {}", rfc3339(*at)))
            .collect();
        let hint =
            "make new ones: brain token create NAME --scope SCOPES; brain token list has these";
        return warn(format!("tokens end soon: {}", expiring.join(", ")), hint);
    }
    let without_expiry = match access.without_expiry.as_slice() {
        [] => String::new(),
        names => format!("; without an end: {}", names.join(", ")),
    };
    ok(format!("clients: {}, personal tokens: {}{without_expiry}", access.clients, access.tokens))
}

pub(super) fn workers(brain: &Brain) -> Result<Finding, Fault> {
    let workers = brain.workers.list();
    let failing: Vec<String> = workers
        .iter()
        .filter_map(|it| {
            let WorkerFailure { message, at } = it.failure.as_ref()?;
            Some(format!("\"{}\" failed at {at}: {message} (restarts: {})", it.name, it.restarts))
        })
        .collect();
    if !failing.is_empty() {
        let is_down = workers.iter().any(|it| it.state == WorkerState::Restarting);
        let status = if is_down { CheckStatus::Fail } else { CheckStatus::Warn };
        let hint = "it restarts by itself; if it fails again, run `brain stop`, and report the \
                    message with the daemon's log";
        return Ok((status, failing.join("; "), Some(hint.into())));
    }
    let named = |is_configured: bool| -> String {
        let is_chosen =
            |it: &&WorkerStatus| (it.state != WorkerState::NotConfigured) == is_configured;
        let names: Vec<&str> = workers.iter().filter(is_chosen).map(|it| &*it.name).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    ok(format!("at work: {}; not configured: {}", named(true), named(false)))
}

pub(super) fn clock(brain: &Brain) -> Result<Finding, Fault> {
    let now = brain.env.clock.now();
    let mut newest = None;
    brain.store.read(Visibility::All)?.newest(u64::MAX, |(_, _, record)| {
        newest = Some(record.updated_at);
        Ok(false)
    })?;
    match newest {
        Some(at) if at > now + 60_000 => warn(
            format!("now is {}, but the newest page is of {}", rfc3339(now), rfc3339(at)),
            "date -u",
        ),
        _ => ok(rfc3339(now)),
    }
}
