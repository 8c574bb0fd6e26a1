//! `brain serve` and `brain config`: replace this process with `brain-daemon`.

use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

use brain_protocol::{Fault, FaultCode};
use clap::{Args, ValueEnum};

use crate::{
    command::{Group, Verb},
    context::Context,
    daemon_program, fail,
    output::Outcome,
};

/// Replaces this process with the daemon's program. Returns only after a failure. `add_arguments`
/// adds the arguments of the program.
fn exec_daemon(add_arguments: impl FnOnce(&mut Command)) -> Result<Outcome, Fault> {
    let program = daemon_program::find()?;
    let mut command = Command::new(&program);
    add_arguments(&mut command);
    let error = command.exec();
    Err(Fault::new(
        FaultCode::Unreachable,
        format!("cannot run {}: {}", program.display(), fail::reason(&error)),
    )
    .hint("install brain-daemon in the directory of brain, or on PATH"))
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeCommand {}

impl Verb for ServeCommand {
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
pub(crate) struct ConfigCommand {
    /// What to do with the configuration
    #[arg(value_enum, value_name = "ACTION")]
    action: ConfigAction,

    /// File to check [default: the configuration]; key and value to set
    #[arg(value_name = "FILE|KEY VALUE", num_args = 0..=2)]
    operands: Vec<OsString>,
}

/// The actions of `config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConfigAction {
    /// Print every value and its origin
    Show,
    /// Check the configuration, or another file
    Check,
    /// Set a key; comments and order of the file stay
    Set,
    /// Print the path of the configuration
    Path,
}

impl Verb for ConfigCommand {
    const NAME: &'static str = "config";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Show, check or change the configuration";
    const EXAMPLES: &'static str = "Examples:
  brain config set sources.watch true
  brain config check";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (min, max, usage) = match self.action {
            ConfigAction::Show => (0, 0, "brain config show"),
            ConfigAction::Path => (0, 0, "brain config path"),
            ConfigAction::Check => (0, 1, "brain config check [FILE]"),
            ConfigAction::Set => (2, 2, "brain config set KEY VALUE"),
        };
        if !(min..=max).contains(&self.operands.len()) {
            let message = format!("the usage is: {usage}");
            return Err(fail::usage(message).hint("see: brain config --help"));
        }
        exec_daemon(|command| {
            // Errors then begin with the name of the program that was called.
            command.arg0("brain");
            command.arg("config").arg(match self.action {
                ConfigAction::Show => "show",
                ConfigAction::Check => "check",
                ConfigAction::Set => "set",
                ConfigAction::Path => "path",
            });
            command.args(context.json.then_some("--json"));
            if !self.operands.is_empty() {
                command.arg("--").args(&self.operands);
            }
        })
    }
}
