//! `brain serve` and `brain config`: the daemon's own program does the work in our place.

use std::{os::unix::process::CommandExt, path::PathBuf, process::Command};

use brain_protocol::{Fault, FaultCode};
use clap::{Args, ValueEnum};

use crate::{
    args::{Group, Verb},
    context::Context,
    fail,
    output::Outcome,
    start,
};

/// Becomes the daemon's program; comes back only with a failure.
fn become_daemon(arguments: impl FnOnce(&mut Command)) -> Result<Outcome, Fault> {
    let program = start::program().ok_or_else(start::no_program)?;
    let mut command = Command::new(&program);
    arguments(&mut command);
    let error = command.exec();
    Err(Fault::new(
        FaultCode::Unreachable,
        format!("cannot run {}: {}", program.display(), fail::reason(&error)),
    )
    .hint("install the daemon beside brain, or on PATH"))
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {}

impl Verb for Serve {
    const NAME: &'static str = "serve";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Run the daemon in the foreground";
    const EXAMPLES: &'static str = "Examples:
  brain serve
  BRAIN_HOME=/tmp/trial brain serve";

    fn run(self, _: &Context) -> Result<Outcome, Fault> {
        become_daemon(|_| {})
    }
}

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// What to do
    #[arg(value_enum, value_name = "ACTION")]
    action: Action,

    /// The file to check (check only)
    #[arg(value_name = "FILE", required_if_eq("action", "check"))]
    file: Option<PathBuf>,
}

/// What `config` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Print every value and where it comes from
    Show,
    /// Check a configuration file
    Check,
    /// Print where the configuration is
    Path,
}

impl Verb for Config {
    const NAME: &'static str = "config";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Show or check the configuration";
    const EXAMPLES: &'static str = "Examples:
  brain config show
  brain config check ~/.brain/config.toml";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if self.file.is_some() && self.action != Action::Check {
            return Err(fail::usage("only `brain config check` takes a file")
                .hint("brain config check FILE"));
        }
        become_daemon(|command| {
            command.arg("config").arg(match self.action {
                Action::Show => "show",
                Action::Check => "check",
                Action::Path => "path",
            });
            command.args(context.json.then_some("--json"));
            if let Some(file) = &self.file {
                command.arg("--").arg(file);
            }
        })
    }
}
