//! `brain sources`: manages sources, the directories with the files of pages.

use std::path::{Path, PathBuf};

use brain_protocol::{
    ChangeStatus, Fault, SourceAdd, SourceDefault, SourceId, SourceList, SourceRemove, SourceReply,
    SourceRow, SourceSet, SourceSettings, SourcesReply, names_documents,
};
use clap::{Args, ValueEnum};

use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{Column, Outcome, Paint, Show, Table, Text, clean, count, format_to_minute},
};

/// Arguments of `sources`.
#[derive(Debug, Args)]
pub(crate) struct SourcesCommand {
    /// What to do with the sources
    #[arg(value_enum, value_name = "ACTION", default_value_t = SourcesAction::List)]
    action: SourcesAction,

    /// Name of the source
    #[arg(
        value_name = "NAME",
        required_if_eq_any([("action", "add"), ("action", "set"), ("action", "remove")])
    )]
    name: Option<String>,

    /// Directory of the source (add)
    #[arg(value_name = "PATH", conflicts_with = "path_option")]
    path: Option<PathBuf>,

    /// The same as PATH
    #[arg(long = "path", value_name = "PATH")]
    path_option: Option<PathBuf>,

    /// Files that become pages, and "*.pdf" adds documents (add, set); repeatable, "" for all
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,

    /// Leave out files and directories that match, as in a .gitignore (add, set; repeatable)
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Whether brain writes the origin of new pages (captured_at, …) into their frontmatter (add,
    /// set)
    #[arg(long, value_enum, value_name = "ON|OFF")]
    provenance: Option<Switch>,

    /// Confirm the removal (remove)
    #[arg(long)]
    yes: bool,
}

/// The actions of `sources`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SourcesAction {
    /// List the sources
    List,
    /// Register a directory under a name
    Add,
    /// Change the settings of a source
    Set,
    /// Remove a source; its files stay
    Remove,
    /// Show or change the default source
    Default,
}

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Verb for SourcesCommand {
    const NAME: &'static str = "sources";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List, add, change, remove and choose sources";
    const EXAMPLES: &'static str = "Examples:
  brain sources add work ~/vaults/work --exclude drafts/
  brain sources default work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let misplaced = |flag: &str, action: &str| {
            fail::usage(format!("{flag} belongs to `brain sources {action}`"))
                .hint("see: brain sources --help")
        };
        let path = self.path.or(self.path_option);
        if path.is_some() && self.action != SourcesAction::Add {
            return Err(misplaced("a path", "add"));
        }
        if self.yes && self.action != SourcesAction::Remove {
            return Err(misplaced("--yes", "remove"));
        }
        let settings = SourceSettings {
            include: patterns(self.include),
            exclude: patterns(self.exclude),
            provenance: self.provenance.map(|switch| switch == Switch::On),
        };
        let has_settings = settings != SourceSettings::default();
        if has_settings && !matches!(self.action, SourcesAction::Add | SourcesAction::Set) {
            return Err(misplaced("this setting", "add` or `brain sources set"));
        }
        if let (SourcesAction::Add, Some(name), None) = (self.action, &self.name, &path) {
            return Err(missing_path(name));
        }
        let id = fail::parse_source(self.name.as_deref())?;
        match (self.action, id) {
            (SourcesAction::List, None) => context.run(SourceList),
            (SourcesAction::List, Some(id)) => {
                Err(fail::usage("`brain sources list` takes no name")
                    .hint(format!("list the pages of a source: brain list --source {id}")))
            }
            (SourcesAction::Add, Some(id)) => {
                let path = absolute(&path.unwrap_or_default())?;
                context.run(SourceAdd { id, path, settings })
            }
            (SourcesAction::Set, Some(_)) if !has_settings => {
                Err(fail::usage("there is nothing to set")
                    .hint("give --include, --exclude or --provenance; see: brain sources --help"))
            }
            (SourcesAction::Set, Some(id)) => context.run(SourceSet { id, settings }),
            (SourcesAction::Remove, Some(id)) => context.run(SourceRemove { id, yes: self.yes }),
            (SourcesAction::Default, id) => context.run(SourceDefault { id }),
            (SourcesAction::Add | SourcesAction::Set | SourcesAction::Remove, None) => {
                Err(fail::usage("the name of the source is missing")
                    .hint("see: brain sources --help"))
            }
        }
    }
}

/// Returns the patterns without empty texts, or `None` if no option was given. So one empty text
/// removes all patterns.
fn patterns(texts: Vec<String>) -> Option<Vec<String>> {
    (!texts.is_empty()).then(|| texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// Returns whether a text is a path rather than the name of a source.
pub(super) fn is_path(text: &str) -> bool {
    text.contains('/') || text.starts_with(['.', '~'])
}

/// Returns the fault of a source that is added without a path, or without a name.
fn missing_path(name: &str) -> Fault {
    if !is_path(name) {
        return fail::usage("the directory of the source is missing")
            .hint(format!("for example: brain sources add {name} ~/vaults/{name}"));
    }
    let last = Path::new(name).file_name().and_then(|last| last.to_str()).unwrap_or_default();
    let id = SourceId::parse(last.to_lowercase()).ok().filter(|id| *id != SourceId::default());
    let id = id.map_or_else(|| "notes".to_owned(), |id| id.to_string());
    fail::usage("the source needs a name before its directory")
        .hint(format!("for example: brain sources add {id} {name}"))
}

/// Hint for the path of a directory that is not UTF-8.
pub(super) const NOT_UTF8_HINT: &str =
    "rename the directory, or use a symbolic link to it with a UTF-8 path";

/// Makes the path absolute, because the daemon has another working directory.
pub(super) fn absolute(path: &Path) -> Result<String, Fault> {
    let path = std::path::absolute(path).map_err(|e| fail::file("read", path, &e))?;
    fail::path_text(&path, NOT_UTF8_HINT)
}

const COLUMNS: &[Column] = &[
    Column::fixed("SOURCE").with_paint(Paint::cyan),
    Column::fixed("PAGES").align_right(),
    Column::fixed("SYNCED").droppable(2),
    Column::fixed("GIT").droppable(3),
    Column::flexible("PATH", 20),
    Column::flexible("PROBLEM", 16).droppable(1),
];

impl Show for SourcesReply {
    fn text(&self, t: &mut Text) {
        // The last column is printed only if a source has a problem.
        let column_count = if self.sources.iter().any(|s| s.problem.is_some()) { 6 } else { 5 };
        let mut table = Table::new(&COLUMNS[..column_count]);
        for source in &self.sources {
            let name = format!("{}{}", source.source_id, if source.default { " *" } else { "" });
            let pages = source.pages.to_string();
            let synced =
                source.synced_at.as_deref().map_or_else(|| "never".into(), format_to_minute);
            let git = if source.git { "yes" } else { "no" };
            let problem = source.problem.as_deref().unwrap_or_default();
            table.row([&name, &pages, &synced, git, &source.path, problem]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for source in &self.sources {
            t.raw_line(source.source_id.as_str());
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.sources.iter().filter_map(links_note).collect();
        match self.sources.len() {
            0 => notes.push("no sources".into()),
            1 => {}
            _ => notes.push("* default source".into()),
        }
        notes
    }
}

impl Show for SourceReply {
    fn text(&self, t: &mut Text) {
        let SourceRow { source_id, path, pages, .. } = &self.source;
        let name = t.paint.cyan(source_id.as_str());
        match self.status {
            ChangeStatus::Added => t.raw_line(&format!("added {name}")),
            ChangeStatus::Changed => t.raw_line(&format!("changed {name}")),
            ChangeStatus::Removed => {
                t.raw_line(&format!("removed {name}"));
                t.line(&format!("  {} hidden; the files stay as they are", count(*pages, "page")));
            }
            ChangeStatus::Default => t.raw_line(&format!("{name} is the default source")),
            _ if self.source.default => {
                t.raw_line(&format!("{name} is already the default source"));
            }
            _ => t.raw_line(&format!("{name} is unchanged")),
        }
        t.line(&format!("  {path}"));
        let (documents, included): (Vec<_>, Vec<_>) =
            self.source.include.iter().cloned().partition(|pattern| names_documents(pattern));
        for (label, patterns) in [
            ("includes only", &included),
            ("documents that become pages", &documents),
            ("leaves out", &self.source.exclude),
        ] {
            if !patterns.is_empty() {
                t.line(&format!("  {label}: {}", patterns.join(", ")));
            }
        }
        if !self.source.provenance {
            t.line("  brain does not write the origin of new pages into their frontmatter");
        }
    }

    fn quiet(&self, t: &mut Text) {
        if self.status == ChangeStatus::Default {
            t.raw_line(self.source.source_id.as_str());
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn notes(&self) -> Vec<String> {
        match self.status {
            ChangeStatus::Changed => {
                vec![format!("apply it to the files: brain sync {}", self.source.source_id)]
            }
            ChangeStatus::Added => {
                vec![format!("store its files: brain sync {}", self.source.source_id)]
            }
            ChangeStatus::Removed => vec![undo_hint(&self.source.source_id, &self.source.path)],
            _ => Vec::new(),
        }
    }
}

/// Returns a note about the symbolic links in a source. `None` without links.
fn links_note(source: &SourceRow) -> Option<String> {
    let links = source.links.as_ref().filter(|links| links.count > 0)?;
    let more = if links.count > links.first.len() as u64 { ", …" } else { "" };
    let are = if links.count == 1 { "is not" } else { "are not" };
    Some(format!(
        "{}: {} {are} followed: {}{more}",
        source.source_id,
        count(links.count, "symbolic link"),
        clean(&links.first.join(", "))
    ))
}

/// Returns the commands that undo a removal.
fn undo_hint(id: &SourceId, path: &str) -> String {
    format!("to undo: brain sources add {id} {path}; brain sync {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, problem: Option<&str>) -> SourceRow {
        SourceRow {
            source_id: SourceId::parse(id).unwrap_or_default(),
            path: "/home/ann/vaults/a rather long name of a directory/work".into(),
            default: id == "work",
            git: true,
            pages: 12_345,
            added_at: "2026-11-21T10:00:00.000Z".into(),
            synced_at: Some("2026-11-21T10:30:00.000Z".into()),
            problem: problem.map(str::to_owned),
            include: Vec::new(),
            exclude: Vec::new(),
            provenance: true,
            links: None,
        }
    }

    #[test]
    fn the_list_fits_and_marks_the_default() {
        for problem in [None, Some("the directory does not exist any more, or is not mounted")] {
            let reply = SourcesReply { sources: vec![row("default", None), row("work", problem)] };
            let mut t = Text::plain(Some(60));
            reply.text(&mut t);
            assert!(t.as_str().lines().all(|line| line.chars().count() <= 60), "{}", t.as_str());
            assert!(
                t.as_str().contains("work *") && t.as_str().contains("12345"),
                "{}",
                t.as_str()
            );
            let mut wide = Text::plain(None);
            reply.text(&mut wide);
            assert!(wide.as_str().contains("directory/work"), "{}", wide.as_str());
            assert_eq!(wide.as_str().contains("PROBLEM"), problem.is_some());
        }
    }
}
