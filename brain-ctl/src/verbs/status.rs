//! `brain status` and `brain stop`. Neither starts a daemon.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use brain_protocol::{
    Fault, FaultCode, Hello, JobCounts, Operation, Request, StatusReply, StopReply, WorkerState,
    WorkerStatus, encode,
};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use crate::{
    args::{Group, Verb},
    connect::{self, ConnectError, Session},
    context::Context,
    home::Home,
    output::{Outcome, Show, Text, count, format_bytes},
};

/// Arguments of `status`.
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Verb for Status {
    const NAME: &'static str = "status";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Show the state of the daemon";
    const EXAMPLES: &'static str = "Examples:
  brain status
  brain status --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let status = context.call_running(brain_protocol::Status)?;
        let mut outcome = context.show(&status)?;
        if !context.json {
            outcome.warnings.extend(status.degraded.iter().cloned());
        }
        Ok(outcome)
    }
}

impl Show for StatusReply {
    fn text(&self, t: &mut Text) {
        let uptime = duration(self.uptime_seconds);
        let Self { version, pid, .. } = self;
        let first = format!("brain-daemon {version} is running (pid {pid}, up {uptime})");
        t.wrapped("", 0, &first);
        t.field("home", &self.home);
        t.field("socket", &self.socket);
        let deleted =
            if self.deleted > 0 { format!(", {} deleted", self.deleted) } else { String::new() };
        t.field("pages", &format!("{}{deleted}, in {}", self.pages, count(self.sources, "source")));
        t.field("store", &format!("{}, schema {}", format_bytes(self.store_bytes), self.schema));
        t.field(
            "index",
            &match self.index_behind {
                0 => "up to date".to_owned(),
                n => format!("{} not on disk yet", count(n, "change")),
            },
        );
        t.field(
            "files",
            &match self.outbox {
                0 => "all written".to_owned(),
                n => format!("{n} still to be written"),
            },
        );
        t.field("http", &http(self.http_local.as_deref(), self.http_public.as_deref()));
        t.field("queue", &queue(&self.jobs));
        if let Some(machines) = &self.machines {
            t.field("machines", machines);
        }
        t.field("workers", &workers(&self.workers));
    }

    fn quiet(&self, _: &mut Text) {}
}

/// Describes the HTTP listeners.
fn http(local: Option<&str>, public: Option<&str>) -> String {
    match (local, public) {
        (None, None) => "off".into(),
        (Some(local), None) => format!("{local}; no public listener"),
        (Some(local), Some(public)) => format!("{local}; public {public}"),
        (None, Some(public)) => format!("public {public}; no local listener"),
    }
}

/// Describes the queue of ingest jobs.
fn queue(jobs: &JobCounts) -> String {
    let waiting = match jobs.waiting {
        0 => "empty".to_owned(),
        1 => "1 item waiting".to_owned(),
        n => format!("{n} items waiting"),
    };
    let failed = match jobs.failed {
        0 => String::new(),
        n => format!(", {n} failed (brain jobs list --state failed)"),
    };
    format!("{waiting}{failed}, {} stored in the last day", jobs.stored)
}

/// Describes the configured background workers: how many run or wait, and which are restarted after
/// which failure.
fn workers(workers: &[WorkerStatus]) -> String {
    let configured = workers.iter().filter(|worker| worker.state != WorkerState::NotConfigured);
    let (restarting, working): (Vec<_>, Vec<_>) =
        configured.partition(|worker| worker.state == WorkerState::Restarting);
    let mut text = format!("{} at work", working.len());
    for worker in restarting {
        let reason = worker.failure.as_ref().map_or("", |failure| &*failure.message);
        text.push_str(&format!(", \"{}\" restarting ({reason})", worker.name));
    }
    text
}

/// Formats seconds in the two largest units.
pub(super) fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, m) => format!("{m} min {} s", seconds % 60),
        (0, h, m) => format!("{h} h {m} min"),
        (d, h, _) => format!("{d} d {h} h"),
    }
}

/// Arguments of `stop`.
#[derive(Debug, Args)]
pub(crate) struct Stop {}

/// Time limit for a stop; a daemon completes active requests for up to 5 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// The result of `stop`.
#[derive(Debug, Serialize)]
struct StopResult {
    /// `stopped` or `not_running`.
    status: &'static str,
    /// The process id of the stopped daemon, if known.
    pid: Option<u32>,
}

impl Verb for Stop {
    const NAME: &'static str = "stop";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Stop the daemon";
    const EXAMPLES: &'static str = "Examples:
  brain stop
  brain stop && brain serve";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let home = Home::find()?;
        let Some(pid) = stop_daemon(&home.socket())? else {
            return context.show(&StopResult { status: "not_running", pid: None });
        };
        context.show(&StopResult { status: "stopped", pid: (pid != 0).then_some(pid) })
    }
}

/// Stops the daemon behind `socket` and waits for its end.
///
/// Returns its process id, 0 if unknown, or `None` if no daemon runs.
///
/// # Errors
/// `timeout` if the daemon does not end in time. The fault of the connection, of the request or of
/// the signal if it fails.
pub(crate) fn stop_daemon(socket: &Path) -> Result<Option<u32>, Fault> {
    let pid = match request_stop(socket) {
        Ok(hello) => hello.pid,
        Err(ConnectError::NotListening) => return Ok(None),
        Err(ConnectError::ClosedWithoutGreeting) => 0,
        // A daemon with another protocol cannot read the request, so it gets a signal.
        Err(ConnectError::Mismatch(hello)) => {
            terminate(hello.pid)?;
            hello.pid
        }
        Err(error) => return Err(error.into_fault(socket)),
    };
    let started_at = Instant::now();
    while !has_ended(socket, pid) {
        if started_at.elapsed() > STOP_TIMEOUT {
            let process = if pid == 0 { String::new() } else { format!(" (pid {pid})") };
            return Err(Fault::new(
                FaultCode::Timeout,
                format!("the daemon{process} did not stop within {} s", STOP_TIMEOUT.as_secs()),
            )
            .hint("it may still be writing; check again: brain status"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(Some(pid))
}

fn request_stop(socket: &Path) -> Result<Hello, ConnectError> {
    let request = encode(&Request::from(brain_protocol::Stop)).map_err(|e| {
        ConnectError::Fault(Fault::new(
            FaultCode::Internal,
            format!("cannot encode the stop request: {e}"),
        ))
    })?;
    let mut session = Session::begin(connect::connect(socket)?, &request)?;
    let hello = session.hello;
    match session.read_answer(STOP_TIMEOUT, |_| {}).and_then(brain_protocol::Stop::read_reply) {
        Ok(StopReply) => Ok(hello),
        // The daemon was already stopping, or ended before it answered.
        Err(fault) if matches!(fault.code, FaultCode::Stopping | FaultCode::Unreachable) => {
            Ok(hello)
        }
        Err(fault) => Err(ConnectError::Fault(fault)),
    }
}

fn terminate(pid: u32) -> Result<(), Fault> {
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    match target.map(|target| kill_process(target, Signal::TERM)) {
        Some(Ok(())) => Ok(()),
        Some(Err(e)) => Err(Fault::new(
            FaultCode::Forbidden,
            format!("cannot signal the daemon (pid {pid}): {e}"),
        )
        .hint(format!("stop it: kill {pid}"))),
        None => Err(Fault::new(
            FaultCode::BadFrame,
            format!("the daemon reported the invalid process id {pid}"),
        )),
    }
}

/// Returns whether the process is a daemon. A process id from a container can belong to another
/// program here.
pub(crate) fn is_daemon(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "brain-daemon")
}

/// Returns whether the daemon has ended and released the store: its process is gone or a zombie. If
/// `pid` is 0 (unknown) or there is no `/proc`, checks whether the socket still listens.
fn has_ended(socket: &Path, pid: u32) -> bool {
    let is_silent = || matches!(connect::connect(socket), Err(ConnectError::NotListening));
    if pid == 0 || !Path::new("/proc/self/stat").exists() {
        return is_silent();
    }
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(_) => true,
        // The state follows the name in parentheses. A zombie has released the store.
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
    }
}

impl Show for StopResult {
    fn text(&self, t: &mut Text) {
        match self.pid {
            Some(pid) => t.line(&format!("stopped brain-daemon (pid {pid})")),
            None if self.status == "stopped" => t.line("stopped brain-daemon"),
            None => t.line("brain-daemon is not running"),
        }
    }

    fn quiet(&self, _: &mut Text) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration(7), "7 s");
        assert_eq!(duration(67), "1 min 7 s");
        assert_eq!(duration(3600 * 3 + 120), "3 h 2 min");
        assert_eq!(duration(86_400 * 2 + 3600), "2 d 1 h");
    }

    #[test]
    fn listeners_and_queue_are_described() {
        assert_eq!(http(None, None), "off");
        assert_eq!(
            http(Some("127.0.0.1:1"), Some("127.0.0.1:2")),
            "127.0.0.1:1; public 127.0.0.1:2"
        );
        assert_eq!(http(Some("127.0.0.1:1"), None), "127.0.0.1:1; no public listener");
        assert_eq!(queue(&JobCounts::default()), "empty, 0 stored in the last day");
        let some = JobCounts { waiting: 2, failed: 1, stored: 5 };
        assert_eq!(
            queue(&some),
            "2 items waiting, 1 failed (brain jobs list --state failed), 5 stored in the last day"
        );
    }

    #[test]
    fn a_failed_worker_is_named_with_its_failure() {
        let worker = |name: &str, state, message: Option<&str>| WorkerStatus {
            name: name.into(),
            state,
            restarts: 0,
            failure: message.map(|message| brain_protocol::WorkerFailure {
                message: message.into(),
                at: "2026-11-21T10:30:00.000Z".into(),
            }),
        };
        let mut all = vec![
            worker("audit", WorkerState::Waiting, None),
            worker("ingest", WorkerState::Running, Some("a former failure")),
            worker("tunnel", WorkerState::NotConfigured, None),
        ];
        assert_eq!(workers(&all), "2 at work");
        all.push(worker("embedding", WorkerState::Restarting, Some("a defect")));
        assert_eq!(workers(&all), "2 at work, \"embedding\" restarting (a defect)");
    }

    #[test]
    fn only_a_dead_process_has_ended() {
        let missing_socket = Path::new("/no/such.sock");
        assert!(has_ended(missing_socket, u32::MAX - 1));
        assert!(!has_ended(missing_socket, std::process::id()));
        assert!(has_ended(missing_socket, 0));
    }
}
