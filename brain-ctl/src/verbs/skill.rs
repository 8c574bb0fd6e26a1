//! `brain skill`: prints or installs the skill that tells agents how to use brain.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode, SKILL};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::completions::write;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text},
};

/// Arguments of `skill`.
#[derive(Debug, Args)]
pub(crate) struct SkillCommand {
    /// Whether to print or install the skill
    #[arg(value_enum, value_name = "ACTION", default_value_t = SkillAction::Show)]
    action: SkillAction,

    /// Directory of the agent's skills [default: ~/.claude/skills] (install)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Replace another file of this name (install)
    #[arg(long)]
    force: bool,
}

/// What to do with the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SkillAction {
    /// Print the skill
    Show,
    /// Write the skill to the directory of an agent's skills
    Install,
}

/// The text of the skill.
#[derive(Debug, Serialize)]
struct SkillText {
    skill: &'static str,
}

/// The installed skill.
#[derive(Debug, Serialize)]
struct InstalledSkill {
    /// The path of the skill's file.
    path: String,
    /// `installed`, or `unchanged` if the file already had the same content.
    status: &'static str,
}

impl Verb for SkillCommand {
    const NAME: &'static str = "skill";
    const GROUP: Group = Group::Service;
    const ABOUT: &'static str = "Print or install the skill for agents";
    const EXAMPLES: &'static str = "Examples:
  brain skill install
  brain skill install --dir ~/.codex/skills

The skill tells an agent when and how to use brain. Agents that
are connected over MCP can also read it as skill://brain/SKILL.md.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if self.action == SkillAction::Show {
            return context.show(&SkillText { skill: SKILL });
        }
        let dir = self.dir.map_or_else(default_dir, Ok)?;
        let path = dir.join("brain").join("SKILL.md");
        let status = match fs::read(&path) {
            Ok(bytes) if bytes == SKILL.as_bytes() => "unchanged",
            Ok(_) if !self.force => return Err(foreign_file_fault(&path)),
            // A missing or unreadable file is written too; writing reports a problem.
            _ => {
                write(&path, SKILL.as_bytes())?;
                "installed"
            }
        };
        context.show(&InstalledSkill { path: path.display().to_string(), status })
    }
}

fn default_dir() -> Result<PathBuf, Fault> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty());
    home.map(|home| Path::new(&home).join(".claude/skills")).ok_or_else(|| {
        Fault::new(FaultCode::InvalidConfig, "HOME is not set")
            .hint("name the directory of the agent's skills with --dir")
    })
}

fn foreign_file_fault(path: &Path) -> Fault {
    let message = format!("{} is not the skill of this version", path.display());
    Fault::new(FaultCode::Conflict, message).hint("replace it with --force")
}

impl Show for SkillText {
    fn text(&self, t: &mut Text) {
        t.raw_line(self.skill.trim_end());
    }

    fn quiet(&self, t: &mut Text) {
        self.text(t);
    }
}

impl Show for InstalledSkill {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{}: {}", self.status, self.path));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&self.path);
    }
}
