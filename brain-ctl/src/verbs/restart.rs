//! `brain restart`: ends the daemon and starts it again, for example with a changed configuration.

use std::ffi::OsStr;

use brain_protocol::{Fault, FaultCode};
use clap::Args;
use serde::Serialize;

use crate::{
    command::{Group, Verb},
    context::Context,
    home::Home,
    output::{Outcome, Show, Text},
    start, stop,
};

/// Arguments of `restart`.
#[derive(Debug, Args)]
pub(crate) struct RestartCommand {}

/// The result of `restart`.
#[derive(Debug, Serialize)]
struct RestartResult {
    /// `restarted`, or `started` if no daemon ran.
    status: &'static str,
    /// The process id of the stopped daemon, if known.
    stopped: Option<u32>,
    /// The process id of the new daemon.
    pid: u32,
}

impl Verb for RestartCommand {
    const NAME: &'static str = "restart";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Stop the daemon and start it again";
    const EXAMPLES: &'static str = "Examples:
  brain config set sources.watch true && brain restart
  brain restart --json

Without a running daemon, it starts one; with --no-start or BRAIN_NO_START, it fails instead.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        // A working daemon is not stopped if the configuration would prevent the next start.
        start::run_program(&[OsStr::new("config"), OsStr::new("check")])?;
        let stopped = stop::stop_daemon(&Home::find()?.socket())?;
        if stopped.is_none() && context.no_start {
            let message = "no daemon runs, and --no-start or BRAIN_NO_START forbids to start one";
            return Err(Fault::new(FaultCode::Unreachable, message)
                .hint("omit --no-start, and unset BRAIN_NO_START"));
        }
        // This call starts the daemon, unless a service has already started it.
        let starting_context = Context { quiet: true, no_start: false, ..*context };
        let status = starting_context.call(brain_protocol::Status)?;
        context.show(&RestartResult {
            status: if stopped.is_some() { "restarted" } else { "started" },
            // The process id is 0 if it is unknown.
            stopped: stopped.filter(|pid| *pid != 0),
            pid: status.pid,
        })
    }
}

impl Show for RestartResult {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} brain-daemon (pid {})", self.status, self.pid));
    }

    fn quiet(&self, _: &mut Text) {}
}
