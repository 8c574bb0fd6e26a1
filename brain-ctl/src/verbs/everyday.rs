//! `brain today`, `random`, `orphans` and `todos`: the daily note, a random page, pages without
//! links, and tasks.

use brain_protocol::{Fault, Get, Page, PageRef, TodosReply, WriteStatus};
use clap::Args;
use serde::Serialize;

use super::list::PageList;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    list_options::ListOptions,
    output::{Column, Listing, Outcome, Paint, Show, Table, Text, json_records, page_name},
    when::{TimePeriod, today},
};

/// Arguments of `today`.
#[derive(Debug, Args)]
pub(crate) struct TodayCommand {
    /// Another day: yesterday, monday, 2025-03-01
    #[arg(value_name = "DAY", value_parser = TimePeriod::parse)]
    day: Option<TimePeriod>,

    /// Source of the note [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for TodayCommand {
    const NAME: &'static str = "today";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Print the daily note; create it if needed";
    const EXAMPLES: &'static str = "Examples:
  brain today
  brain today yesterday --quiet";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let day = self.day.as_ref().map_or_else(today, TimePeriod::first_day);
        let source = fail::parse_source(self.source.as_deref())?;
        let note = context.call(brain_protocol::Today { day, source })?;
        let is_new = note.status != WriteStatus::Unchanged;
        let page = PageRef { source: Some(note.source_id), slug: note.slug };
        let page = context.call(Get { page, version: None })?;
        let name = page_name(&page.source_id, &page.slug);
        let notes = is_new.then(|| format!("created {name}")).into_iter().collect();
        let mut outcome = context.show(&PageWithNotes { page, notes })?;
        outcome.warnings = note.warnings;
        Ok(outcome)
    }
}

/// Arguments of `random`.
#[derive(Debug, Args)]
pub(crate) struct RandomCommand {
    /// Only pages of this type
    #[arg(long = "type", value_name = "TYPE")]
    page_type: Option<String>,

    /// Only pages with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Only pages of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for RandomCommand {
    const NAME: &'static str = "random";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Print a random page";
    const EXAMPLES: &'static str = "Examples:
  brain random
  brain random --type idea --quiet";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let Self { page_type, tag, source } = self;
        let source = fail::parse_source(source.as_deref())?;
        let page = context.call(brain_protocol::Random { source, page_type, tag })?;
        let notes = vec![page_name(&page.source_id, &page.slug)];
        context.show(&PageWithNotes { page, notes })
    }
}

/// A page that the command chose, with notes that name it.
#[derive(Serialize)]
#[serde(transparent)]
struct PageWithNotes {
    page: Page,
    #[serde(skip)]
    notes: Vec<String>,
}

impl Show for PageWithNotes {
    fn text(&self, t: &mut Text) {
        t.verbatim(&self.page.content);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(&page_name(&self.page.source_id, &self.page.slug));
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Arguments of `orphans`.
#[derive(Debug, Args)]
pub(crate) struct OrphansCommand {
    #[command(flatten)]
    options: ListOptions,
}

impl Verb for OrphansCommand {
    const NAME: &'static str = "orphans";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List pages without links to or from them";
    const EXAMPLES: &'static str = "Examples:
  brain orphans
  brain orphans --source work --format paths";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let ListOptions { paging, source, format } = self.options;
        let source = fail::parse_source(source.as_deref())?;
        let (limit, skip) = (paging.limit(), paging.skip());
        let pages = context.call(brain_protocol::Orphans { source, limit, skip })?;
        let (empty_note, more_note) =
            (paging.empty_note("pages without links"), paging.more_note("pages"));
        context.list(&PageList { pages, empty_note, more_note }, &format)
    }
}

/// Arguments of `todos`.
#[derive(Debug, Args)]
pub(crate) struct TodosCommand {
    /// List done tasks instead of open ones
    #[arg(long)]
    done: bool,

    /// Only pages whose slugs have this prefix, for example projects/
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    #[command(flatten)]
    options: ListOptions,
}

impl Verb for TodosCommand {
    const NAME: &'static str = "todos";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List open tasks, `- [ ] text`, with their pages";
    const EXAMPLES: &'static str = "Examples:
  brain todos --prefix projects/
  brain todos --done --format md";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let Self { done, prefix, options: ListOptions { paging, source, format } } = self;
        let source = fail::parse_source(source.as_deref())?;
        let (limit, skip) = (paging.limit(), paging.skip());
        let todos = context.call(brain_protocol::Todos { source, prefix, done, limit, skip })?;
        let truncated = todos.truncated;
        let (rows, form) = match done {
            true => ("done tasks", "- [x] text"),
            false => ("open tasks", "- [ ] text"),
        };
        paging.print(context, &format, todos, truncated, rows, Some(form))
    }
}

const COLUMNS: &[Column] = &[
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::fixed("LINE").align_right().droppable(1),
    Column::flexible("TASK", 20),
];

impl Listing for TodosReply {
    const FIELDS: &'static [&'static str] = &["slug", "source_id", "line", "text", "done"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.todos, Self::FIELDS)
    }

    fn paths(&self) -> Option<Vec<&str>> {
        Some(self.todos.iter().filter_map(|todo| todo.path.as_deref()).collect())
    }
}

impl Show for TodosReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for todo in &self.todos {
            let page = page_name(&todo.source_id, &todo.slug);
            let cells = [&*page, &*todo.line.to_string(), &*todo.text];
            table.linked_row(todo.path.as_deref(), cells);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for todo in &self.todos {
            let page = page_name(&todo.source_id, &todo.slug);
            t.line(&format!("{page}:{}: {}", todo.line, todo.text));
        }
    }
}
