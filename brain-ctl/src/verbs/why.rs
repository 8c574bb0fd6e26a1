//! `brain why`: where a page, or a line of it, comes from.

use brain_protocol::{Doer, Fault, LifeEvent, LifeStep, LineOrigin, Why, WhyReply};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{
        Column, Listing, Outcome, Paint, Show, Table, TableFormatOption, Text, count,
        format_to_second, json_records,
    },
};

/// Arguments of `why`.
#[derive(Debug, Args)]
pub(crate) struct WhyCommand {
    /// The page's slug, or one that it had before it was moved
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Show who changed last the lines with this text
    #[arg(long, value_name = "TEXT")]
    line: Option<String>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for WhyCommand {
    const NAME: &'static str = "why";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Show where a page comes from: who wrote what, when, what from";
    const EXAMPLES: &'static str = "Examples:
  brain why people/ada
  brain why people/ada --line \"chief engineer\"

A deleted page has its life until it is purged. --json has the origin of every line, too.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let has_line = self.line.is_some();
        let reply = context.call(Why { page, line: self.line })?;
        match has_line {
            true => context.list(&LinesOf(reply), &self.format.into()),
            false => context.list(&reply, &self.format.into()),
        }
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("WHEN"),
    Column::fixed("WHAT"),
    Column::fixed("VERSION").align_right(),
    Column::fixed("LINES"),
    Column::flexible("BY", 8),
    Column::flexible("MADE FROM", 8).droppable(2),
    Column::flexible("RUN", 6).droppable(1),
];

impl Listing for WhyReply {
    const FIELDS: &'static [&'static str] =
        &["at", "event", "version", "slug", "door", "client", "author", "run", "made_from"];

    fn records(&self) -> Vec<Vec<String>> {
        let rows = self.steps.iter().map(|step| {
            serde_json::json!({
                "at": step.by.at, "event": step.event, "version": step.version, "slug": step.slug,
                "door": step.by.door, "client": step.by.client, "author": step.by.author,
                "run": step.by.run, "made_from": step.made_from,
            })
        });
        json_records(&rows.collect::<Vec<_>>(), Self::FIELDS)
    }
}

impl Show for WhyReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for step in &self.steps {
            let lines = match (step.added, step.removed) {
                (Some(added), Some(removed)) => format!("+{added} -{removed}"),
                _ => String::new(),
            };
            table.row([
                &when(&step.by),
                &what(step),
                &step.version.to_string(),
                &lines,
                &step.by.name(),
                &step.made_from.join(", "),
                step.by.run.as_deref().unwrap_or_default(),
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for step in &self.steps {
            t.line(&format!("{} {} {}", when(&step.by), what(step), step.by.name()));
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.deleted {
            notes.push("the page is deleted; this is kept until it is purged".to_owned());
        }
        if !self.made.is_empty() {
            let names: Vec<String> = self.made.iter().map(ToString::to_string).collect();
            notes.push(format!("made from it: {}", names.join(", ")));
        }
        notes
    }
}

/// The lines of a reply, with who changed them last.
#[derive(Debug, serde::Serialize)]
#[serde(transparent)]
struct LinesOf(WhyReply);

const LINE_COLUMNS: &[Column] = &[
    Column::fixed("LINE").align_right(),
    Column::fixed("WHEN"),
    Column::fixed("VERSION").align_right(),
    Column::flexible("BY", 8),
    Column::flexible("TEXT", 20).with_paint(Paint::cyan),
];

impl Listing for LinesOf {
    const FIELDS: &'static [&'static str] =
        &["line", "at", "version", "door", "client", "author", "text"];

    fn records(&self) -> Vec<Vec<String>> {
        let rows = self.0.lines.iter().map(|LineOrigin { line, text, version, by }| {
            serde_json::json!({
                "line": line, "at": by.at, "version": version, "door": by.door,
                "client": by.client, "author": by.author, "text": text,
            })
        });
        json_records(&rows.collect::<Vec<_>>(), Self::FIELDS)
    }
}

impl Show for LinesOf {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(LINE_COLUMNS);
        for LineOrigin { line, text, version, by } in &self.0.lines {
            let (line, version) = (line.to_string(), version.to_string());
            table.row([&line, &when(by), &version, &by.name(), text]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for LineOrigin { line, by, .. } in &self.0.lines {
            t.line(&format!("{line} {} {}", when(by), by.name()));
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.0.lines.len() {
            0 => vec![format!("no line of {} has this text now", self.0.slug)],
            lines => vec![count(lines as u64, "line")],
        }
    }
}

/// When something was done, with the clock's time if that was another one.
fn when(by: &Doer) -> String {
    let at = format_to_second(&by.at);
    let Some(clock) = &by.clock else { return at };
    let problem = if *clock < by.at { "went back to" } else { "was ahead, at" };
    format!("{at} (the clock {problem} {})", format_to_second(clock))
}

fn what(step: &LifeStep) -> String {
    match step.event {
        LifeEvent::Moved => format!("moved to {}", step.slug),
        LifeEvent::TextKept => "text kept".to_owned(),
        LifeEvent::FileReplaced => "file replaced".to_owned(),
        event => event.as_str().to_owned(),
    }
}
