//! `brain sync`: updates pages from the files of their sources.

use std::path::Path;

use brain_protocol::{Exit, Fault, PullStatus, SourceList, SyncReply, SyncStatus, SyncedSource};
use clap::Args;

use super::{
    import::{failure_lines, ignored_files_line},
    sources::{absolute, is_path},
};
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{Outcome, Show, Text, clean, count},
};

/// Arguments of `sync`.
#[derive(Debug, Args)]
pub(crate) struct SyncCommand {
    /// Source to synchronise [default: `brain sources default`]
    #[arg(value_name = "SOURCE", conflicts_with_all = ["source", "all"])]
    name: Option<String>,

    /// The same as SOURCE
    #[arg(long, value_name = "SOURCE", conflicts_with = "all")]
    source: Option<String>,

    /// Synchronise every source
    #[arg(long)]
    all: bool,

    /// Do not run git pull
    #[arg(long)]
    no_pull: bool,

    /// Do not compute vectors now (see `brain embed`)
    #[arg(long)]
    no_embed: bool,

    /// Show what would happen without writing or pulling
    #[arg(long)]
    dry_run: bool,

    /// Read all files, also those with unchanged size and times
    #[arg(long)]
    full: bool,

    /// Confirm the removal of many pages
    #[arg(long)]
    yes: bool,
}

impl Verb for SyncCommand {
    const NAME: &'static str = "sync";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Update pages from a source's files";
    const EXAMPLES: &'static str = "Examples:
  brain sync --all
  brain sync notes --dry-run --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if let Some(path) = self.name.as_deref().filter(|name| is_path(name)) {
            return Err(path_fault(context, path));
        }
        let request = brain_protocol::Sync {
            source: fail::parse_source(self.name.or(self.source).as_deref())?,
            all: self.all,
            pull: !self.no_pull,
            embed: !self.no_embed,
            dry_run: self.dry_run,
            full: self.full,
            yes: self.yes,
        };
        context.run(request)
    }
}

/// Returns the fault if a path is given instead of a source's name. The hint names the source with
/// that directory, if there is one.
fn path_fault(context: &Context, given: &str) -> Fault {
    let fault = fail::usage(format!("\"{given}\" is a path, but sync takes the name of a source"));
    let path = absolute(Path::new(given)).unwrap_or_default();
    // If the sources cannot be listed, the general hint below still applies.
    let sources = context.call(SourceList).map(|reply| reply.sources).unwrap_or_default();
    match sources.iter().find(|source| Path::new(&source.path) == Path::new(&path)) {
        Some(source) => {
            fault.hint(format!("use the name of its source: brain sync {}", source.source_id))
        }
        None => fault.hint(format!(
            "list the sources: brain sources list; add this directory: brain sources add NAME \
             {given}; copy its files into brain once: brain import {given}"
        )),
    }
}

impl Show for SyncReply {
    fn text(&self, t: &mut Text) {
        for source in &self.sources {
            if is_unread(source) {
                t.line(&format!("{}: {}", source.source_id, source.status));
                continue;
            }
            print_counts(t, source, self.dry_run);
        }
        t.line(&format!("took {:.1} s", self.took_ms as f64 / 1000.0));
    }

    fn quiet(&self, _: &mut Text) {}

    fn exit(&self) -> Exit {
        match self.status {
            SyncStatus::Done => Exit::Done,
            SyncStatus::HeldBack => Exit::Confirm,
            SyncStatus::Partial | SyncStatus::Away | SyncStatus::Failed => Exit::Failed,
        }
    }

    fn away(&self) -> Vec<String> {
        let is_away = |source: &&SyncedSource| source.status == SyncStatus::Away;
        self.sources.iter().filter(is_away).filter_map(problem_line).collect()
    }

    fn failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for source in &self.sources {
            let name = &source.source_id;
            if source.status == SyncStatus::Failed {
                lines.extend(problem_line(source));
            }
            if source.pull.status == PullStatus::Failed {
                let reason = source.pull.message.as_deref().unwrap_or_default();
                lines.push(format!(
                    "{name}: git pull: {}; the existing files were read",
                    clean(reason)
                ));
            }
            lines.extend(
                failure_lines(&source.failed, source.failed_total)
                    .into_iter()
                    .map(|line| format!("{name}: {line}")),
            );
            if source.held_back > 0 {
                lines.push(format!(
                    "{name}: the files of {} are missing; no page was removed. \
                     To remove the pages: brain sync --source {name} --yes",
                    count(source.held_back, "page")
                ));
            }
        }
        lines
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for source in &self.sources {
            let name = &source.source_id;
            notes.extend(source.warnings.iter().map(|warning| format!("{name}: {warning}")));
            notes.extend(source.conflicts.iter().map(|c| {
                format!(
                    "{name}: {0} and {1} were changed in the same lines; version {2} has the \
                     text of the other program: brain diff {0} {2} --source {name}; to keep one: \
                     brain keep {0} page --source {name}, or brain keep {0} file --source {name}",
                    c.slug,
                    clean(&c.path),
                    c.kept_version,
                )
            }));
        }
        notes
    }
}

/// Returns the problem of a source, after its name.
fn problem_line(source: &SyncedSource) -> Option<String> {
    let problem = source.problem.as_ref()?;
    Some(format!("{}: {}", source.source_id, clean(problem)))
}

/// Returns whether nothing of the source could be read.
fn is_unread(source: &SyncedSource) -> bool {
    source.status == SyncStatus::Failed || (source.status == SyncStatus::Away && source.files == 0)
}

/// Prints the counts of a source. Does not print counts of 0.
fn print_counts(t: &mut Text, source: &SyncedSource, dry_run: bool) {
    let mode = if dry_run { " (dry run)" } else { "" };
    let pull_note = match source.pull.status {
        PullStatus::Updated => {
            format!(", pulled {}", source.pull.message.as_deref().unwrap_or_default())
        }
        PullStatus::UpToDate => ", nothing to pull".into(),
        PullStatus::Skipped | PullStatus::Failed => String::new(),
    };
    t.line(&format!("{}: {}{pull_note}{mode}", source.source_id, count(source.files, "file")));
    for (n, label) in [
        (source.added, "added"),
        (source.updated, "updated"),
        (source.restored, "restored"),
        (source.renamed, "renamed"),
        (source.removed, "removed"),
        (source.unchanged, "unchanged"),
        (source.held_back, "held back"),
        (source.failed_total, "failed"),
    ] {
        if n > 0 {
            t.line(&format!("  {n:>8} {label}"));
        }
    }
    if let Some(line) = ignored_files_line(&source.left_out) {
        t.line(&line);
    }
}
