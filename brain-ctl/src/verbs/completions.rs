//! `brain completions` and `brain man`: made from the command line's own definition.

use std::{
    fs,
    path::{Path, PathBuf},
};

use brain_protocol::Fault;
use clap::Args;
use clap_complete::Shell;
use serde::Serialize;

use crate::{
    args::{Group, Verb, tree},
    context::Context,
    fail,
    output::{Outcome, Show, Text},
    xdg,
};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete for
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
    /// Write them to where the shell looks for yours, instead of printing them
    #[arg(long)]
    install: bool,
}

/// A completion script.
#[derive(Debug, Serialize)]
struct Script {
    /// The shell it is for.
    shell: String,
    /// The script.
    script: String,
}

/// What was installed, and where.
#[derive(Debug, Serialize)]
struct Installed {
    /// A file, or a directory of man pages.
    path: String,
    /// What the user has to do yet.
    note: Option<String>,
}

impl Verb for Completions {
    const NAME: &'static str = "completions";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Print or install the completions of a shell";
    const EXAMPLES: &'static str = "Examples:
  brain completions bash --install
  brain completions zsh > ~/.zfunc/_brain";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut tree(), "brain", &mut script);
        if !self.install {
            let script = String::from_utf8_lossy(&script).into_owned();
            return context.show(&Script { shell: self.shell.to_string(), script });
        }
        let (path, note) = place(self.shell)?;
        write(&path, &script)?;
        context.show(&Installed { path: path.display().to_string(), note })
    }
}

/// Where a shell looks for a user's completions, and what it needs besides.
fn place(shell: Shell) -> Result<(PathBuf, Option<String>), Fault> {
    match shell {
        Shell::Bash => Ok((xdg::data_home()?.join("bash-completion/completions/brain"), None)),
        Shell::Fish => Ok((xdg::config_home()?.join("fish/completions/brain.fish"), None)),
        Shell::Zsh => {
            let dir = xdg::data_home()?.join("zsh/site-functions");
            let note = format!(
                "zsh reads it when ~/.zshrc has, before compinit: fpath+=({})",
                dir.display()
            );
            Ok((dir.join("_brain"), Some(note)))
        }
        other => Err(fail::usage(format!("{other} has no usual place for completions"))
            .hint(format!("print them and put them where you like: brain completions {other}"))),
    }
}

/// Writes a file of ours whole, or leaves what is there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let temporary = path.with_extension("brain-new");
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&temporary, bytes))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&temporary);
        fail::file("write", path, &e)
    })
}

impl Show for Script {
    fn text(&self, t: &mut Text) {
        t.raw(self.script.trim_end());
    }

    fn quiet(&self, t: &mut Text) {
        self.text(t);
    }
}

impl Show for Installed {
    fn text(&self, t: &mut Text) {
        t.line(&format!("installed: {}", self.path));
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
pub(crate) struct Man {
    /// The directory to write to; it is made when it is missing
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "install",
        required_unless_present = "install"
    )]
    out: Option<PathBuf>,
    /// Write them to where `man` looks for yours
    #[arg(long)]
    install: bool,
}

impl Verb for Man {
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
        let written =
            fs::create_dir_all(&dir).and_then(|()| clap_mangen::generate_to(tree(), &dir));
        written.map_err(|e| fail::file("write", &dir, &e))?;
        let note = self.install.then(|| "read them: man brain, man brain-capture".to_owned());
        context.show(&Installed { path: dir.display().to_string(), note })
    }
}
