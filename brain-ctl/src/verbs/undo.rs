//! `brain undo` and `brain redo`: take back writes, and write them again.

use std::io::{self, IsTerminal, Write as _};

use brain_protocol::{Command, Doer, Fault, FaultCode, UndoEffect, UndoReply, UndonePage};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail, input,
    output::{Outcome, Show, Text, count, format_to_minute, page_name},
    when::TimePeriod,
};

/// Maximum number of newer writes to show.
const MAX_NEWER: usize = 5;

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub(crate) struct UndoCommand {
    /// Take back your last write to this page [default: your last write]
    #[arg(value_name = "SLUG", conflicts_with_all = ["client", "import", "run"])]
    slug: Option<String>,

    /// Take back everything that this client wrote
    #[arg(long, value_name = "NAME", conflicts_with_all = ["import", "run"])]
    client: Option<String>,

    /// Only what the client wrote since: a day, a time or an age
    #[arg(long, value_name = "TIME", requires = "client", value_parser = TimePeriod::parse)]
    since: Option<TimePeriod>,

    /// Take back an import (see `brain import --report`)
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    import: Option<String>,

    /// Take back a sync or an enrichment (see `brain why`)
    #[arg(long, value_name = "ID")]
    run: Option<String>,

    /// Also take back what was made from it
    #[arg(long)]
    derived: bool,

    /// Show what would become of each page, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE", requires = "slug")]
    source: Option<String>,
}

impl Verb for UndoCommand {
    const NAME: &'static str = "undo";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Take back your last write, or all of a client, import or run";
    const EXAMPLES: &'static str = "Examples:
  brain undo
  brain undo --client helm --since yesterday --derived --dry-run";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page =
            self.slug.as_deref().map(|slug| page(slug, self.source.as_deref())).transpose()?;
        let undo = brain_protocol::Undo {
            page,
            client: self.client,
            since: self.since.as_ref().map(TimePeriod::start),
            run: self.import.or(self.run),
            derived: self.derived,
            dry_run: self.dry_run,
        };
        if !undo.is_of_caller() && !undo.dry_run && !self.yes {
            let plan = context.call(brain_protocol::Undo { dry_run: true, ..undo.clone() })?;
            confirm(&plan)?;
        }
        context.run(undo)
    }
}

/// Arguments of `redo`.
#[derive(Debug, Args)]
pub(crate) struct RedoCommand {
    /// Show what would become of each page, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for RedoCommand {
    const NAME: &'static str = "redo";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Write again what your last undo took back";
    const EXAMPLES: &'static str = "Examples:
  brain redo
  brain redo --dry-run";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.run(brain_protocol::Redo { dry_run: self.dry_run })
    }
}

/// Shows the plan on a terminal and asks.
///
/// # Errors
/// `confirmation_needed` if the answer is not yes, or if standard input is no terminal. The fault
/// of [`fail::stdout`] if the terminal fails.
fn confirm(plan: &UndoReply) -> Result<(), Fault> {
    let pages = count(plan.taken_back + plan.kept_in_part + plan.to_be_made_again, "page");
    let ask = || {
        let mut text = Text::for_stdout();
        plan.text(&mut text);
        io::stderr().write_all(&text.into_bytes())?;
        input::confirm(&format!("change {pages}?"))
    };
    let message = match io::stdin().is_terminal() {
        false => format!("{pages} would be changed"),
        true if ask().map_err(|e| fail::stdout(&e))? == Some(true) => return Ok(()),
        true => format!("{pages} were not changed"),
    };
    Err(Fault::new(FaultCode::ConfirmationNeeded, message)
        .hint("nothing was changed; --dry-run lists the pages, --yes does it without asking"))
}

impl Show for UndoReply {
    fn text(&self, t: &mut Text) {
        let effects = match (self.redo, self.dry_run) {
            (false, false) => ["taken back", "kept in part", "to be made again", "untouched"],
            (false, true) => [
                "would be taken back",
                "would be kept in part",
                "would be to be made again",
                "untouched",
            ],
            (true, false) => {
                ["written again", "written again in part", "to be made again", "untouched"]
            }
            (true, true) => [
                "would be written again",
                "would be written again in part",
                "to be made again",
                "untouched",
            ],
        };
        let totals = [self.taken_back, self.kept_in_part, self.to_be_made_again, self.untouched];
        for ((effect, label), total) in UndoEffect::ALL.into_iter().zip(effects).zip(totals) {
            if total == 0 {
                continue;
            }
            let line = format!("{}: {}", t.paint.bold(label), count(total, "page"));
            t.raw_line(&line);
            for row in self.pages.iter().filter(|row| row.effect == effect) {
                page_lines(t, row);
            }
        }
        if self.pages.is_empty() {
            t.line("nothing to take back");
        }
        if self.newer_total > 0 {
            let stand = if self.newer_total == 1 { "stands" } else { "stand" };
            t.line(&format!("{} by others {stand}:", count(self.newer_total, "newer write")));
            for newer in self.newer.iter().take(MAX_NEWER) {
                let page = t.paint.cyan(&newer.page.to_string());
                let line = format!("  {page}: {} {}", newer.event, by(&newer.by));
                t.raw_line(&line);
            }
            let more = self.newer_total.saturating_sub(self.newer.len().min(MAX_NEWER) as u64);
            if more > 0 {
                t.line(&format!("  and {more} more"));
            }
        }
        if self.run.is_some() {
            let back = if self.redo { Command::Undo } else { Command::Redo };
            t.line(&format!("{back} reverses this"));
        }
    }

    fn quiet(&self, t: &mut Text) {
        for row in self.pages.iter().filter(|row| row.effect != UndoEffect::Untouched) {
            t.line(&row.page.to_string());
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Adds the lines about a page.
fn page_lines(t: &mut Text, row: &UndonePage) {
    let name = match &row.page.source {
        Some(source) => page_name(source, &row.page.slug),
        None => row.page.to_string(),
    };
    let mut parts = Vec::new();
    if let Some(event) = row.event {
        parts.push(format!("{event} {}", by(&row.by)));
    }
    if row.deleted && row.effect != UndoEffect::Untouched {
        parts.push("deleted, restorable for 72 hours".to_owned());
    }
    if row.kept_lines > 0 && row.effect == UndoEffect::KeptInPart {
        parts.push(format!(
            "kept: {} by {}",
            count(row.kept_lines, "line"),
            row.kept_by.join(", ")
        ));
    }
    parts.extend(row.reason.clone());
    let lead = format!("  {}: ", t.paint.cyan(&name));
    t.wrapped(&lead, 4, &parts.join("; "));
    for conflict in &row.conflicts {
        t.wrapped("    ! ", 6, conflict);
    }
}

/// Returns who did something, and when.
fn by(doer: &Doer) -> String {
    let run = doer.run.iter().map(|run| format!(", {run}")).collect::<String>();
    format!("by {}{run} on {}", doer.name(), format_to_minute(&doer.at))
}
