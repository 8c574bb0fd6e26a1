//! `brain completions` and `brain man`: made from the command line's own definition.

use std::{fs, path::PathBuf};

use brain_protocol::Fault;
use clap::Args;
use clap_complete::Shell;
use serde::Serialize;

use crate::{
    args::{Group, Verb, tree},
    context::Context,
    fail,
    output::{Outcome, Show, Text},
};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete for
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// A completion script.
#[derive(Debug, Serialize)]
struct Script {
    /// The shell it is for.
    shell: String,
    /// The script.
    script: String,
}

impl Verb for Completions {
    const NAME: &'static str = "completions";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Print the completions of a shell";
    const EXAMPLES: &'static str = "Examples:
  brain completions bash > ~/.local/share/bash-completion/completions/brain
  brain completions zsh > ~/.zfunc/_brain";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut tree(), "brain", &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        context.show(&Script { shell: self.shell.to_string(), script })
    }
}

impl Show for Script {
    fn text(&self, t: &mut Text) {
        t.raw(self.script.trim_end());
    }

    fn quiet(&self, t: &mut Text) {
        self.text(t);
    }
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory to write to; it is made when it is missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// The man pages written.
#[derive(Debug, Serialize)]
struct Pages {
    /// The directory.
    directory: String,
}

impl Verb for Man {
    const NAME: &'static str = "man";
    const GROUP: Group = Group::Hidden;
    const ABOUT: &'static str = "Write the man pages";
    const EXAMPLES: &'static str = "Examples:
  brain man --out ~/.local/share/man/man1
  brain man --out target/man";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let written =
            fs::create_dir_all(&self.out).and_then(|()| clap_mangen::generate_to(tree(), &self.out));
        written.map_err(|e| fail::file("write", &self.out, &e))?;
        context.show(&Pages { directory: self.out.display().to_string() })
    }
}

impl Show for Pages {
    fn text(&self, t: &mut Text) {
        t.line(&format!("man pages are in {}", self.directory));
    }

    fn quiet(&self, _: &mut Text) {}
}
