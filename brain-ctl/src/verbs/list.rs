//! `brain list`: lists pages.

use brain_protocol::{Exit, Fault, PageRow, Pages, Sort, SourceId, page_name};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    fail,
    output::{
        Column, FormatOption, Listing, Outcome, Paint, Show, Table, Text, format_to_day,
        json_records,
    },
    unknown_label,
    when::PeriodOptions,
};

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListCommand {
    /// Only pages of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Only slugs with this prefix, for example people/
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// Only pages of this type
    #[arg(long = "type", value_name = "TYPE")]
    page_type: Option<String>,

    /// Only pages with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    #[command(flatten)]
    period: PeriodOptions,

    #[command(flatten)]
    as_of: AsOfOption,

    /// List deleted pages that can be restored
    #[arg(long)]
    deleted: bool,

    /// Order of the list
    #[arg(long, value_enum, default_value_t = ListOrder::Updated)]
    sort: ListOrder,

    /// Number of pages, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    limit: u32,

    /// Part of the list, from 1
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with_all = ["all", "after"],
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    page: u32,

    /// Continue after this cursor, the value of `next` in the previous JSON reply
    #[arg(long, value_name = "NEXT", allow_hyphen_values = true)]
    after: Option<String>,

    /// List all pages
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    #[command(flatten)]
    format: FormatOption,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListOrder {
    /// By date of the last change, latest first
    Updated,
    /// By source and slug
    Slug,
}

/// Number of pages that `--all` requests at once.
const BATCH: u32 = 1000;

impl Verb for ListCommand {
    const NAME: &'static str = "list";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List pages";
    const ALIASES: &'static [&'static str] = &["ls"];
    const EXAMPLES: &'static str = "Examples:
  brain list --prefix people/ --sort slug
  brain list --since yesterday";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (since, until) = self.period.instants();
        let mut request = brain_protocol::List {
            source: fail::parse_source(self.source.as_deref())?,
            prefix: self.prefix,
            page_type: self.page_type,
            tag: self.tag,
            deleted: self.deleted,
            sort: match self.sort {
                ListOrder::Updated => Sort::Updated,
                ListOrder::Slug => Sort::Slug,
            },
            limit: if self.all { BATCH } else { self.limit },
            after: self.after,
            updated_since: since,
            updated_until: until,
        };
        let mut all = Pages {
            pages: Vec::new(),
            truncated: false,
            next: None,
            default_source: SourceId::default(),
            damaged: Vec::new(),
        };
        // `--page` selects a part of the list: `--limit` pages.
        let mut part = 1;
        loop {
            let (mut pages, label) = self.as_of.call(context, request.clone())?;
            if !self.all {
                all.pages.clear();
            }
            all.pages.append(&mut pages.pages);
            all.truncated = pages.truncated;
            all.next = pages.next;
            all.default_source = pages.default_source;
            pages.damaged.retain(|fault| !all.damaged.contains(fault));
            all.damaged.append(&mut pages.damaged);
            let has_more = all.truncated && all.next.is_some() && all.next != request.after;
            if has_more && (self.all || part < self.page) {
                part += 1;
                request.after.clone_from(&all.next);
                continue;
            }
            if part < self.page {
                all.pages.clear();
            }
            let empty_note = match self.page {
                1 if all.pages.is_empty() && self.as_of.is_set() => "no pages".to_owned(),
                1 if all.pages.is_empty() => empty_note(context, &request),
                1 => String::new(),
                page => format!("the list has no part {page}"),
            };
            let more_note = format!("more pages exist: use --all, or --page {}", self.page + 1);
            let list = PageList { pages: all, empty_note, more_note };
            let outcome = context.list(&list, &self.format)?;
            return label.add_to(outcome, self.format.is_json(context.json));
        }
    }
}

/// Returns what is shown instead of an empty list. Suggests labels similar to unknown ones.
fn empty_note(context: &Context, request: &brain_protocol::List) -> String {
    let suggestion = match context.json {
        true => None,
        false => unknown_label::suggestion_note(
            context,
            request.tag.as_slice(),
            request.page_type.as_deref(),
        ),
    };
    suggestion.unwrap_or_else(|| "no pages".to_owned())
}

const PAGE_COLUMNS: &[Column] = &[
    Column::uncut("SLUG").with_paint(Paint::cyan),
    Column::fixed("UPDATED").droppable(2),
    Column::flexible("TYPE", 8).droppable(3),
    Column::flexible("TITLE", 12).droppable(1),
];

const DELETED_COLUMNS: &[Column] = &[
    Column::uncut("SLUG").with_paint(Paint::cyan),
    Column::fixed("UNTIL"),
    Column::flexible("TITLE", 12).droppable(1),
];

/// Returns the name of a listed page as commands accept it.
fn name_in(pages: &Pages, page: &PageRow) -> String {
    page_name(pages.default_source.as_str(), &page.source_id, &page.slug)
}

/// Pages of a list, with their notes.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct PageList {
    /// The pages.
    pub(super) pages: Pages,
    /// The note if there are no pages.
    #[serde(skip)]
    pub(super) empty_note: String,
    /// The note if more pages exist.
    #[serde(skip)]
    pub(super) more_note: String,
}

impl Listing for PageList {
    const FIELDS: &'static [&'static str] =
        &["slug", "source_id", "title", "type", "tags", "created_at", "updated_at"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.pages.pages, Self::FIELDS)
    }

    fn paths(&self) -> Option<Vec<&str>> {
        Some(self.pages.pages.iter().filter_map(|page| page.path.as_deref()).collect())
    }
}

impl Show for PageList {
    fn text(&self, t: &mut Text) {
        let pages = &self.pages;
        if pages.pages.iter().any(|page| page.deleted_at.is_some()) {
            let mut table = Table::new(DELETED_COLUMNS);
            for page in &pages.pages {
                let until = page.recoverable_until.as_deref();
                let until = until.map(crate::output::format_to_minute).unwrap_or_default();
                table.row([&name_in(pages, page), &until, &page.title]);
            }
            return table.write(t);
        }
        let mut table = Table::new(PAGE_COLUMNS);
        for page in &pages.pages {
            let (name, updated) = (name_in(pages, page), format_to_day(&page.updated_at));
            let cells = [&*name, &*updated, &page.page_type, &page.title];
            table.linked_row(page.path.as_deref(), cells);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for page in &self.pages.pages {
            t.raw_line(&name_in(&self.pages, page));
        }
    }

    fn failures(&self) -> Vec<String> {
        let text = |fault: &Fault| match &fault.hint {
            Some(hint) => format!("{}\n  {hint}", fault.message),
            None => fault.message.clone(),
        };
        self.pages.damaged.iter().map(text).collect()
    }

    fn exit(&self) -> Exit {
        if self.pages.damaged.is_empty() { Exit::Done } else { Exit::Failed }
    }

    fn notes(&self) -> Vec<String> {
        if self.pages.pages.is_empty() {
            return vec![self.empty_note.clone()];
        }
        self.pages.truncated.then(|| self.more_note.clone()).into_iter().collect()
    }
}
