//! `brain serve` and `brain config`: replace this process with `brain-daemon`.

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

/// Replaces this process with the daemon's program. Returns only after a failure.
fn exec_daemon(arguments: impl FnOnce(&mut Command)) -> Result<Outcome, Fault> {
    let program = start::program().ok_or_else(start::no_program)?;
    let mut command = Command::new(&program);
    arguments(&mut command);
    let error = command.exec();
    Err(Fault::new(
        FaultCode::Unreachable,
        format!("cannot run {}: {}", program.display(), fail::reason(&error)),
    )
    .hint("install brain-daemon in the directory of brain, or on PATH"))
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
        exec_daemon(|_| {})
    }
}

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Action
    #[arg(value_enum, value_name = "ACTION")]
    action: Action,

    /// File to check (check only)
    #[arg(value_name = "FILE", required_if_eq("action", "check"))]
    file: Option<PathBuf>,
}

/// The actions of `config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Print every value and its origin
    Show,
    /// Check a configuration file
    Check,
    /// Print the path of the configuration
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
        exec_daemon(|command| {
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
