//! `brain status` and `brain stop`. Neither starts a daemon.

use brain_protocol::{Fault, JobCounts, StatusReply, WorkerState, WorkerStatus};
use clap::Args;
use serde::Serialize;

use crate::{
    command::{Group, Verb},
    context::Context,
    duration,
    home::Home,
    output::{Outcome, Show, Text, count, format_bytes},
    stop,
};

/// Arguments of `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusCommand {}

impl Verb for StatusCommand {
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
        let uptime = duration::format_rounded(self.uptime_seconds);
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

/// Arguments of `stop`.
#[derive(Debug, Args)]
pub(crate) struct StopCommand {}

/// The result of `stop`.
#[derive(Debug, Serialize)]
struct StopResult {
    /// `stopped` or `not_running`.
    status: &'static str,
    /// The process id of the stopped daemon, if known.
    pid: Option<u32>,
}

impl Verb for StopCommand {
    const NAME: &'static str = "stop";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Stop the daemon";
    const EXAMPLES: &'static str = "Examples:
  brain stop
  brain stop && brain serve";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let home = Home::find()?;
        let Some(pid) = stop::stop_daemon(&home.socket())? else {
            return context.show(&StopResult { status: "not_running", pid: None });
        };
        context.show(&StopResult { status: "stopped", pid: (pid != 0).then_some(pid) })
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
}
