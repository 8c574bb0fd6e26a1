//! `brain diff`: shows what changed between two versions of a page, between page and file, or in the
//! whole brain in a period.

use brain_protocol::{
    ChangeStep, Changes, ChangesReply, DiffOther, DiffReply, Fault, PageChanges, PageRef, Slug,
};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    output::{Outcome, Show, Text, clean, count, format_to_second, page_name},
    when::{TimePeriod, format_with_offset},
};

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffCommand {
    /// The page's slug
    #[arg(value_name = "SLUG", required_unless_present = "since")]
    slug: Option<String>,

    /// The older version [default: the previous version]
    #[arg(value_name = "A", value_parser = clap::value_parser!(u32).range(1..))]
    from: Option<u32>,

    /// The newer version [default: the current version]
    #[arg(value_name = "B", value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,

    /// Compare the page with its file as it is now
    #[arg(long, conflicts_with_all = ["from", "to"])]
    file: bool,

    /// Show what changed in all pages since this time: yesterday, 7d, 2026-03-15
    #[arg(
        long,
        value_name = "WHEN",
        value_parser = TimePeriod::parse,
        conflicts_with_all = ["slug", "from", "to", "file"]
    )]
    since: Option<TimePeriod>,

    /// With --since: until this time; a day, week or month counts in full
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse, requires = "since")]
    until: Option<TimePeriod>,

    /// With --since: number of pages, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        requires = "since",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    limit: u32,

    /// With --since: only pages whose last change has a smaller number, the value of `next` in the
    /// previous reply
    #[arg(long, value_name = "NEXT", requires = "since")]
    before: Option<u64>,

    /// Source of the page, or with --since of all pages [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for DiffCommand {
    const NAME: &'static str = "diff";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Compare versions of a page, or show what changed in all pages";
    const EXAMPLES: &'static str = "Examples:
  brain diff people/ada 2 5
  brain diff people/ada --file
  brain diff --since yesterday";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = self.source.as_deref();
        match (&self.slug, &self.since) {
            (None, Some(since)) => {
                let mut changes = context.call(Changes {
                    since: since.start(),
                    until: self.until.as_ref().map(TimePeriod::end),
                    source: fail::parse_source(source)?,
                    before: self.before,
                    limit: self.limit,
                })?;
                changes.since = format_with_offset(&changes.since);
                changes.until = format_with_offset(&changes.until);
                context.show(&changes)
            }
            (slug, _) => {
                let page = page(slug.as_deref().unwrap_or_default(), source)?;
                let other = self.file.then_some(DiffOther::File);
                context.run(brain_protocol::Diff { page, from: self.from, to: self.to, other })
            }
        }
    }
}

impl Show for DiffReply {
    fn text(&self, t: &mut Text) {
        t.diff(&self.diff);
    }

    fn quiet(&self, t: &mut Text) {
        t.diff(&self.diff);
    }

    fn notes(&self) -> Vec<String> {
        let Self { from, to, added, removed, .. } = self;
        let page = page_name(&self.source_id, &self.slug);
        let (added, removed) = (count(*added, "line"), count(*removed, "line"));
        if let Some(other) = &self.other {
            return vec![match self.diff.is_empty() {
                true => format!("{page} and {} are equal", clean(other)),
                false => format!("{page} to {}: {added} added, {removed} removed", clean(other)),
            }];
        }
        vec![match self.diff.is_empty() {
            true => format!("versions {from} and {to} of {page} are equal"),
            false => format!("version {from} to {to}: {added} added, {removed} removed"),
        }]
    }
}

/// Returns the name of a changed page.
fn name_of(page: &PageChanges) -> String {
    let name = |slug: &Slug| PageRef::new(&page.source_id, slug).to_string();
    page.slug.as_ref().map_or_else(|| "(a purged page)".to_owned(), name)
}

fn show_step(step: &ChangeStep, t: &mut Text) {
    let ChangeStep { event, by, version } = step;
    let mut line = format!("  {}  {event}, version {version}", format_to_second(&by.at));
    if !by.door.is_empty() {
        line.push_str(&format!(", by {}", clean(&by.name())));
    }
    if let Some(clock) = &by.clock {
        line.push_str(&format!(" (the clock said {})", format_to_second(clock)));
    }
    t.line(&line);
}

impl Show for ChangesReply {
    fn text(&self, t: &mut Text) {
        for page in &self.pages {
            let mut line = name_of(page);
            if let Some(former) = &page.former_slug {
                line.push_str(&format!(", before {former}"));
            }
            if let (Some(added), Some(removed)) = (page.added, page.removed) {
                let (added, removed) = (count(added, "line"), count(removed, "line"));
                line.push_str(&format!(": {added} added, {removed} removed"));
            }
            t.line(&line);
            for step in &page.steps {
                show_step(step, t);
            }
            t.diff(&page.diff);
            t.raw_line("");
        }
    }

    fn quiet(&self, t: &mut Text) {
        for page in &self.pages {
            t.line(&name_of(page));
        }
    }

    fn notes(&self) -> Vec<String> {
        let pages = count(self.total, "page");
        let mut notes = vec![format!("{pages} changed from {} to {}", self.since, self.until)];
        notes.extend(
            self.next.map(|next| format!("more pages changed: use --limit, or --before {next}")),
        );
        notes
    }
}
