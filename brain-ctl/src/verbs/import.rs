//! `brain import`: imports markdown, documents, or an export of another program, once.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use brain_protocol::{
    Command, Exit, Fault, IgnoredFiles, ImportFailure, ImportReply, ImportReportsReply,
    ImportedPosts, SyncStatus,
};
use clap::Args;

use super::sources::NOT_UTF8_HINT;
use crate::{
    command::{Group, Verb},
    context::Context,
    end_signals::at_end_signals,
    fail,
    output::{Column, Outcome, Show, Table, Text, clean, count, format_to_second},
};

/// Arguments of `import`.
#[derive(Debug, Args)]
pub(crate) struct ImportCommand {
    /// Directory of markdown files and documents, or what another program exported
    #[arg(value_name = "PATH", required_unless_present_any = ["report", "undo"])]
    path: Option<PathBuf>,

    /// What the path is: markdown, or a format of `brain-convert --help` [default: what its content
    /// shows]
    #[arg(long = "as", value_name = "FORMAT")]
    format: Option<String>,

    /// Source of the new pages [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Only notes that changed since: a day or a time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Show what would happen without writing
    #[arg(long)]
    dry_run: bool,

    /// Remove API keys, tokens and private keys from the texts
    #[arg(long)]
    scrub: bool,

    /// Show the report of an import again, or list all imports
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        conflicts_with_all = ["path", "format", "source", "since", "dry_run", "scrub", "undo"]
    )]
    report: Option<Option<String>>,

    /// Undo an import, as `brain undo --import` does
    #[arg(long, value_name = "ID", conflicts_with_all = ["path", "format", "source", "since", "scrub"])]
    undo: Option<String>,
}

impl Verb for ImportCommand {
    const NAME: &'static str = "import";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Import markdown and documents, or the export of another program";
    const EXAMPLES: &'static str = "Examples:
  brain import ~/notes --dry-run
  brain import ~/Downloads/Recipes.enex";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if let Some(id) = self.report {
            return context.run(brain_protocol::ImportReports { id });
        }
        let dry_run = self.dry_run;
        if let Some(id) = self.undo {
            let run = Some(id);
            return context.run(brain_protocol::Undo { run, dry_run, ..Default::default() });
        }
        let source = fail::parse_source(self.source.as_deref())?;
        // The daemon has another working directory, so the path must be absolute.
        let path = self.path.unwrap_or_default();
        let path = path.canonicalize().map_err(|e| fail::file("read", &path, &e))?;
        let path = fail::path_text(&path, NOT_UTF8_HINT)?;
        let (format, since, scrub) = (self.format, self.since, self.scrub);
        let import = brain_protocol::Import { path, source, format, since, dry_run, scrub };
        let id = Arc::new(Mutex::new(None));
        if !dry_run {
            say_how_to_go_on(&id, import.path.clone())?;
        }
        // The only line of an import is its id, as soon as it begins to store pages.
        let reply = context.call_with_progress(import, &mut |line| {
            if let Ok(mut id) = id.lock() {
                *id = Some(line.to_owned());
            }
        })?;
        context.show(&reply)
    }
}

/// Prints how to see, continue or undo the import of `path` when a signal ends this process.
fn say_how_to_go_on(id: &Arc<Mutex<Option<String>>>, path: String) -> Result<(), Fault> {
    let id = Arc::clone(id);
    at_end_signals(move |end| {
        let id = id.lock().ok().and_then(|id| id.clone());
        let mut text = String::from("\nbrain: the import was interrupted");
        match id {
            None => text.push_str(" before it stored a page\n"),
            Some(id) => {
                let path = Some(path.clone());
                let again = Command::ImportPath { path };
                let (report, undo) = (Some(id.clone()), Some(id));
                text.push_str(&format!(
                    "; what was stored stays\n  see it:   {}\n  continue: {again}\n  undo it:  {}\n",
                    Command::ImportReport { id: report },
                    Command::ImportUndo { id: undo },
                ));
            }
        }
        // Nobody can be told if that fails.
        let _ = io::stderr().write_all(text.as_bytes());
        end();
    })
}

/// Maximum number of files to name that were left out.
const MAX_LEFT_OUT: usize = 100;

/// Maximum number of failures to show.
const MAX_FAILURES: usize = 20;

impl Show for ImportReply {
    fn text(&self, t: &mut Text) {
        let action = if self.dry_run { "would import" } else { "imported" };
        let what = match &self.format {
            Some(format) => format!("{} of {}", count(self.files, "page"), clean(format)),
            None => count(self.files, "file"),
        };
        t.line(&format!("{action} {what} in {:.1} s", self.took_ms as f64 / 1000.0));
        let failed = self.failed_total;
        let skipped = match self.format {
            Some(_) => "not imported, or only in part",
            None => "not imported",
        };
        for (n, label) in [
            (self.created, "created"),
            (self.updated, "updated"),
            (self.restored, "restored"),
            (self.unchanged, "unchanged"),
            (self.older, "older"),
            (self.secrets, "removed secrets"),
            (self.skipped, skipped),
            (failed, "failed"),
        ] {
            if n > 0 {
                t.line(&format!("  {n:>8} {label}"));
            }
        }
        if let Some(line) = ignored_files_line(&self.left_out) {
            t.line(&line);
        }
        if let Some(posts) = &self.posts {
            t.line(&posts_line(posts));
        }
        let ignored = self.left_out.paths.iter().map(|path| (path.as_str(), "excluded by rules"));
        let others = self.not_imported.iter().map(|it| (it.path.as_str(), it.reason.as_str()));
        for (path, reason) in others.chain(ignored).take(MAX_LEFT_OUT) {
            named_line(t, "  left out: ", path, reason);
        }
        let named = self.not_imported.len() + self.left_out.paths.len();
        if named > MAX_LEFT_OUT {
            t.line(&format!("  {} more are in the reply with --json", named - MAX_LEFT_OUT));
        }
        if let Some(id) = &self.id {
            t.line(&format!("show this again: {}", Command::ImportReport { id: Some(id.clone()) }));
            if self.created + self.updated + self.restored > 0 {
                t.line(&format!("undo it: {}", Command::ImportUndo { id: Some(id.clone()) }));
            }
        }
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn exit(&self) -> Exit {
        if self.status == SyncStatus::Partial || self.failed_total > 0 {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    fn failures(&self) -> Vec<String> {
        failure_lines(&self.failed, self.failed_total)
    }
}

const COLUMNS: &[Column] = &[
    Column::uncut("ID"),
    Column::fixed("BEGAN").droppable(1),
    Column::fixed("PAGES"),
    Column::fixed("STATE"),
    Column::fixed("SOURCE").droppable(2),
    Column::flexible("PATH", 12),
];

impl Show for ImportReportsReply {
    fn text(&self, t: &mut Text) {
        if let [row] = self.imports.as_slice()
            && let Some(report) = &self.report
        {
            t.line(&format!("{} of {}", row.id, clean(&row.path)));
            return report.text(t);
        }
        let mut table = Table::new(COLUMNS);
        for row in &self.imports {
            let state = match (&row.undone_at, row.status) {
                (Some(_), _) => "undone",
                (None, Some(status)) => status.as_str(),
                (None, None) => "incomplete",
            };
            let began = format_to_second(&row.began_at);
            let pages = row.pages.to_string();
            table.row([&row.id, &began, &pages, state, row.source_id.as_str(), &row.path]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for row in &self.imports {
            t.raw_line(&row.id);
        }
    }
}

/// Adds a line about a thing and the reason, which is wrapped between words.
fn named_line(t: &mut Text, lead: &str, path: &str, reason: &str) {
    t.wrapped(lead, lead.len(), &format!("{path}: {reason}"));
}

/// Returns a line about the posts that the collector got.
fn posts_line(posts: &ImportedPosts) -> String {
    let others = [(posts.present, "there already"), (posts.deleted, "recorded as deleted")];
    let others = others.iter().filter(|(n, _)| *n > 0).map(|(n, label)| format!(", {n} {label}"));
    let others: String = others.collect();
    format!("  {:>8} added to the collector's posts{others}", posts.added)
}

/// Maximum number of ignored paths to show.
const MAX_IGNORED_PATHS: usize = 3;

/// Returns a line about the files and directories that ignore rules exclude, or `None` if they
/// exclude none.
pub(super) fn ignored_files_line(left_out: &IgnoredFiles) -> Option<String> {
    let total = left_out.files + left_out.directories;
    let parts = [
        (left_out.files > 0).then(|| count(left_out.files, "file")),
        match left_out.directories {
            0 => None,
            1 => Some("1 directory".into()),
            n => Some(format!("{n} directories")),
        },
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let paths: Vec<String> =
        left_out.paths.iter().take(MAX_IGNORED_PATHS).map(|path| clean(path)).collect();
    let more = if total > paths.len() as u64 { ", …" } else { "" };
    (total > 0).then(|| {
        let parts = parts.join(" and ");
        format!("  {total:>8} excluded by rules: {parts} ({}{more})", paths.join(", "))
    })
}

/// Returns a line for each of the first failures, and one that counts the others. `total` is the
/// number of all failures; the daemon lists only the first 1000 in `failed`.
pub(super) fn failure_lines(failed: &[ImportFailure], total: u64) -> Vec<String> {
    let mut lines: Vec<String> = failed
        .iter()
        .take(MAX_FAILURES)
        .map(|f| {
            // The reasons of some failures begin with the path.
            let reason = f.reason.strip_prefix(&format!("{}: ", f.path)).unwrap_or(&f.reason);
            format!("{}: {}", clean(&f.path), clean(reason))
        })
        .collect();
    let more = total.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("… and {} more; --json lists up to 1000", count(more, "failure")));
    }
    lines
}
