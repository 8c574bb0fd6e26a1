//! `brain machines`: one brain on several machines.

mod setup;
mod show;

use std::path::PathBuf;

use brain_protocol::{
    Fault, MachineList, MachineRemove, MachinesAction, MachinesLeave, MachinesRotateKey,
    MachinesStatus,
};
use clap::{Args, ValueEnum};

use super::access::check_flags;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::Outcome,
};

/// Arguments of `machines`.
#[derive(Debug, Args)]
pub(crate) struct MachinesCommand {
    /// What to do
    #[arg(value_enum, value_name = "ACTION", default_value_t = MachinesVerb::Status)]
    action: MachinesVerb,

    /// Machine to remove (remove), or action to show: init or join (plan)
    #[arg(value_name = "NAME")]
    target: Option<String>,

    /// File with the URL of the PostgreSQL server or its pooler; - is standard input (init, join,
    /// plan)
    #[arg(long, value_name = "FILE")]
    url_file: Option<PathBuf>,

    /// File with the URL of the server itself, without the pooler (init, join, plan)
    #[arg(long, value_name = "FILE")]
    direct_url_file: Option<PathBuf>,

    /// File with the 24 words of the key; - is standard input (join, plan)
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Name of this machine [default: the host's name] (init, join, plan)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// PostgreSQL schema of the tables [default: brain] (init, join, plan)
    #[arg(long, value_name = "SCHEMA")]
    namespace: Option<String>,

    /// Let the server see the content of pages (init, plan)
    #[arg(long)]
    no_encryption: bool,

    /// Do not ask (init, join, leave, remove, rotate-key)
    #[arg(long)]
    yes: bool,
}

/// The actions of `machines`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MachinesVerb {
    /// Share this brain through a PostgreSQL server
    Init,
    /// Make this home a machine of a shared brain, or build its store again
    Join,
    /// Show what init or join would do: plan init, plan join
    Plan,
    /// List the machines, and how far behind they are
    List,
    /// Show how this machine follows the others
    Status,
    /// Leave the shared brain; this machine keeps its pages
    Leave,
    /// Remove another machine
    Remove,
    /// Replace the key, for example after a machine was lost
    RotateKey,
}

impl Verb for MachinesCommand {
    const NAME: &'static str = "machines";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "Use one brain on several machines";
    const EXAMPLES: &'static str = "Examples:
  brain machines init --url-file ~/postgres-url
  brain machines join --url-file ~/postgres-url --key-file ~/words

Without --url-file and --key-file, init and join ask at the
terminal and do not show what you type; an empty line means
the stored secret. docs/machines.md has all steps.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        use MachinesVerb::{Init, Join, Leave, List, Plan, Remove, RotateKey, Status};
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("a name after the action", self.target.is_some(), &[Remove, Plan]),
                ("--url-file", self.url_file.is_some(), &[Init, Join, Plan]),
                ("--direct-url-file", self.direct_url_file.is_some(), &[Init, Join, Plan]),
                ("--key-file", self.key_file.is_some(), &[Join, Plan]),
                ("--name", self.name.is_some(), &[Init, Join, Plan]),
                ("--namespace", self.namespace.is_some(), &[Init, Join, Plan]),
                ("--no-encryption", self.no_encryption, &[Init, Plan]),
                ("--yes", self.yes, &[Init, Join, Leave, Remove, RotateKey]),
            ],
        )?;
        match self.action {
            Init => self.init(context),
            Join => self.join(context),
            Plan => {
                let action = match self.target.as_deref() {
                    Some("init") => MachinesAction::Init,
                    Some("join") => MachinesAction::Join,
                    _ => {
                        return Err(fail::usage("`plan` needs an action: init or join")
                            .hint("brain machines plan init"));
                    }
                };
                let access = self.access(context, action)?;
                context.run(brain_protocol::MachinesPlan { action, access })
            }
            List => context.run(MachineList),
            Status => context.run(MachinesStatus),
            Leave => {
                self.confirm(
                    "the store of this machine keeps all pages and no longer follows the others",
                    "leave the shared brain?",
                )?;
                context.run(MachinesLeave)
            }
            Remove => {
                let name = self.target.clone().ok_or_else(|| {
                    fail::usage("no machine is named").hint("`brain machines list` lists them")
                })?;
                self.confirm(
                    &format!("the machine \"{name}\" can no longer write; it keeps its copy"),
                    &format!("remove \"{name}\"?"),
                )?;
                context.run(MachineRemove { name })
            }
            RotateKey => {
                self.confirm(
                    "the other machines stop until each has the new 24 words",
                    "replace the key?",
                )?;
                context.run(MachinesRotateKey)
            }
        }
    }
}
