//! `brain timeline`: lists dated lines of one page or of all.

use brain_protocol::{Fault, TimelineDays, TimelineDaysReply, TimelineReply};
use clap::Args;

use super::optional_page;
use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    list_options::{ListOptions, no_lines},
    output::{Column, Listing, Outcome, Paint, Show, Table, Text, json_records, page_name},
    when::PeriodOptions,
};

/// The form of a dated line.
const FORM: &str = "- 2026-11-20 | text";

/// Arguments of `timeline`.
#[derive(Debug, Args)]
pub(crate) struct TimelineCommand {
    /// Page whose lines to list [default: all pages]
    #[arg(value_name = "SLUG")]
    slug: Option<String>,

    /// Count the lines of each day instead, oldest day first
    #[arg(long, conflicts_with_all = ["slug", "limit", "page", "as_of"])]
    days: bool,

    #[command(flatten)]
    period: PeriodOptions,

    #[command(flatten)]
    as_of: AsOfOption,

    #[command(flatten)]
    options: ListOptions,
}

impl Verb for TimelineCommand {
    const NAME: &'static str = "timeline";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List dated lines, `- DATE | text`, newest first";
    const EXAMPLES: &'static str = "Examples:
  brain timeline companies/acme
  brain timeline --days --since 2026-01 --until \"last month\"

A dated line in a page: - 2026-11-20 | text [Source: a letter]";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let ListOptions { paging, source, format } = self.options;
        let (source, slug) = optional_page(self.slug.as_deref(), source.as_deref())?;
        let (since, until) = self.period.days();
        if self.days {
            let days = context.call(TimelineDays { source, since, until })?;
            return context.list(&days, &format);
        }
        let (limit, skip) = (paging.limit(), paging.skip());
        let request = brain_protocol::Timeline { source, slug, since, until, limit, skip };
        let (lines, label) = self.as_of.call(context, request)?;
        let truncated = lines.truncated;
        let form = Some(FORM).filter(|_| !self.as_of.is_set());
        let outcome = paging.print(context, &format, lines, truncated, "dated lines", form)?;
        label.add_to(outcome, format.is_json(context.json))
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("DATE"),
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::flexible("TEXT", 20),
];

impl Listing for TimelineReply {
    const FIELDS: &'static [&'static str] = &["date", "slug", "source_id", "text", "source"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.entries, Self::FIELDS)
    }

    fn paths(&self) -> Option<Vec<&str>> {
        Some(self.entries.iter().filter_map(|entry| entry.path.as_deref()).collect())
    }
}

impl Show for TimelineReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for entry in &self.entries {
            let text = match &entry.source {
                Some(source) => format!("{} [{source}]", entry.text),
                None => entry.text.clone(),
            };
            let page = page_name(&entry.source_id, &entry.slug);
            table.linked_row(entry.path.as_deref(), [&entry.date, &page, &text]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for entry in &self.entries {
            t.line(&format!("{} {}", entry.date, entry.text));
        }
    }
}

const DAY_COLUMNS: &[Column] = &[Column::fixed("DATE"), Column::fixed("LINES").align_right()];

impl Listing for TimelineDaysReply {
    const FIELDS: &'static [&'static str] = &["date", "entries"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.days, Self::FIELDS)
    }
}

impl Show for TimelineDaysReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(DAY_COLUMNS);
        for day in &self.days {
            table.row([&day.date, &day.entries.to_string()]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for day in &self.days {
            t.line(&day.date);
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.days.is_empty() {
            true => vec![no_lines("dated lines", FORM)],
            false => Vec::new(),
        }
    }
}
