//! `brain purge`: removes a page with all its versions, or one former version, for good.

use std::io::{self, IsTerminal};

use brain_protocol::{Fault, FaultCode, PageChange, PurgeReply};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    editor, fail, input,
    output::{Outcome, Show, Text, count, page_name},
};

/// Arguments of `purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeCommand {
    /// The page's whole slug; the page can be deleted already
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Purge only this former version (see `brain history`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    version: Option<u32>,

    /// Purge at once, without the 72 hours in which a page can be restored
    #[arg(long)]
    now: bool,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for PurgeCommand {
    const NAME: &'static str = "purge";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Remove a page or version for good";
    const EXAMPLES: &'static str = "Examples:
  brain purge inbox/2026-11-21-1a2b3c4d --now
  brain purge people/ada --version 2 --now --yes";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        if !self.now {
            let hint = match self.version {
                Some(version) => {
                    format!("to purge this version: `brain purge {page} --version {version} --now`")
                }
                None => {
                    format!("`brain delete {page}` hides the page and purges it after 72 hours")
                }
            };
            return Err(fail::usage("a purge cannot be undone, so it needs --now").hint(hint));
        }
        if !self.yes {
            let target = match self.version {
                Some(version) => format!("version {version} of {page}"),
                None => format!("{page} with all its versions"),
            };
            confirm(&target)?;
        }
        let name = format!("{}.md", page.slug.name());
        let mut reply = context.call(brain_protocol::Purge { page, version: self.version })?;
        let edits = editor::kept_edits(&name);
        reply.backups.extend(edits.iter().map(|path| path.display().to_string()));
        context.show(&reply)
    }
}

/// Asks on a terminal whether to purge `target`.
///
/// # Errors
/// `confirmation_needed` if the answer is not yes, or if standard input is no terminal. The fault
/// of [`fail::stdout`] if the terminal fails.
fn confirm(target: &str) -> Result<(), Fault> {
    let ask = || input::confirm(&format!("purge {target} for good?"));
    let message = match io::stdin().is_terminal() {
        false => format!("{target} would be purged for good"),
        true if ask().map_err(|e| fail::stdout(&e))? == Some(true) => return Ok(()),
        true => format!("{target} was not purged"),
    };
    Err(Fault::new(FaultCode::ConfirmationNeeded, message)
        .hint("nothing was purged; --yes does it without asking"))
}

impl Show for PurgeReply {
    fn text(&self, t: &mut Text) {
        let slug = t.paint.cyan(&page_name(&self.source_id, &self.slug));
        let is_finished = self.status != PageChange::Unfinished;
        let done = if is_finished { "purged" } else { "purge not finished yet:" };
        let line = match (self.version, self.versions) {
            (Some(version), _) => format!("{done} version {version} of {slug}"),
            // An earlier call removed the page, and was interrupted.
            (None, 0) => format!("{done} {slug}"),
            (None, versions) => format!("{done} {slug} ({})", count(versions, "version")),
        };
        t.raw_line(&line);
        match self.backups.is_empty() {
            true => {
                t.line("  no copy in the home or in the directory of scheduled backups has it");
            }
            false => {
                t.line("  these copies still have it, until you delete them:");
                for path in &self.backups {
                    t.line(&format!("    {path}"));
                }
                t.line("  `brain backup create FILE` makes a new backup without it");
            }
        }
    }

    fn quiet(&self, t: &mut Text) {
        for path in &self.backups {
            t.line(path);
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
