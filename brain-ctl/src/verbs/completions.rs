//! `brain completions` and `brain man`, generated from the definition of the command line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode};
use clap::Args;
use clap_complete::Shell;
use serde::Serialize;

use crate::{
    args::tree,
    command::{Group, Verb},
    completion,
    context::Context,
    fail,
    output::{Outcome, Show, Text},
    replace_file::replace_file,
    xdg,
};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsCommand {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
    /// Install the script for your user instead of printing it
    #[arg(long)]
    install: bool,
}

/// A completion script.
#[derive(Debug, Serialize)]
struct Script {
    shell: String,
    script: String,
}

/// A written file or directory.
#[derive(Debug, Serialize)]
struct Installation {
    /// What was done, for people.
    #[serde(skip)]
    status: &'static str,
    /// The file, or the directory of man pages.
    path: String,
    /// The next step for the user.
    note: Option<String>,
}

impl Verb for CompletionsCommand {
    const NAME: &'static str = "completions";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Print or install shell completions";
    const EXAMPLES: &'static str = "Examples:
  brain completions bash --install
  brain completions zsh > ~/.zfunc/_brain";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let shell = self.shell.to_string();
        let own_script = completion::script(&shell)
            .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        // For other shells, clap generates a script without values from the daemon.
        let script = own_script.unwrap_or_else(|| {
            let mut script = Vec::new();
            clap_complete::generate(self.shell, &mut tree(super::ALL), "brain", &mut script);
            script
        });
        if !self.install {
            let script = String::from_utf8_lossy(&script).into_owned();
            return context.show(&Script { shell, script });
        }
        let (path, note) = install_path(self.shell)?;
        write(&path, &script)?;
        context.show(&Installation { status: "installed", path: path.display().to_string(), note })
    }
}

/// Returns the file from which a shell reads the completions, and a note if the user must configure
/// the shell.
///
/// # Errors
/// `usage` for a shell without a standard directory; `invalid_config` as [`xdg::data_home`].
fn install_path(shell: Shell) -> Result<(PathBuf, Option<String>), Fault> {
    match shell {
        Shell::Bash => Ok((xdg::data_home()?.join("bash-completion/completions/brain"), None)),
        Shell::Fish => Ok((xdg::config_home()?.join("fish/completions/brain.fish"), None)),
        Shell::Zsh => {
            let dir = xdg::data_home()?.join("zsh/site-functions");
            let note = format!("add this to ~/.zshrc, before compinit: fpath+=({})", dir.display());
            Ok((dir.join("_brain"), Some(note)))
        }
        other => Err(fail::usage(format!("{other} has no standard directory for completions"))
            .hint(format!("print them to a file: brain completions {other} > FILE"))),
    }
}

/// Writes a file atomically, and creates its directory if missing.
///
/// # Errors
/// `io`, `disk_full` or `read_only` if it cannot be written.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let created = path.parent().map_or(Ok(()), fs::create_dir_all);
    created.map_err(|e| fail::file("write", path, &e))?;
    replace_file(path, bytes, None)
}

impl Show for Script {
    fn text(&self, t: &mut Text) {
        t.raw_line(self.script.trim_end());
    }

    fn quiet(&self, t: &mut Text) {
        self.text(t);
    }
}

impl Show for Installation {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{}: {}", self.status, self.path));
        if let Some(note) = &self.note {
            t.line(note);
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.path);
    }
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManCommand {
    /// Directory to write to; created if missing
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "install",
        required_unless_present = "install"
    )]
    out: Option<PathBuf>,
    /// Install the pages for your user
    #[arg(long)]
    install: bool,
}

impl Verb for ManCommand {
    const NAME: &'static str = "man";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Write or install the man pages";
    const EXAMPLES: &'static str = "Examples:
  brain man --install && man brain-capture
  brain man --out target/man";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let dir = match self.out {
            Some(dir) => dir,
            None => xdg::data_home()?.join("man/man1"),
        };
        let result = fs::create_dir_all(&dir)
            .and_then(|()| clap_mangen::generate_to(tree(super::ALL), &dir));
        result.map_err(|e| fail::file("write", &dir, &e))?;
        let note = self.install.then(|| "read them: man brain, man brain-capture".to_owned());
        let status = if self.install { "installed" } else { "written" };
        context.show(&Installation { status, path: dir.display().to_string(), note })
    }
}
