//! `brain history` and `brain revert`: list the versions of a page and restore one.

use brain_protocol::Fault;
use clap::Args;

use super::{page, trust::line_range};
use crate::{
    args::{Group, Verb},
    context::Context,
    output::{Column, Outcome, Show, Table, Text, bytes, minute},
};

/// Arguments of `history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for History {
    const NAME: &'static str = "history";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List the versions of a page";
    const EXAMPLES: &'static str = "Examples:
  brain history people/ada
  brain history people/ada --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.run(brain_protocol::History { page: page(&self.slug, self.source.as_deref())? })
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("VERSION").right(),
    Column::fixed("WRITTEN"),
    Column::flexible("BY", 6).optional(4),
    Column::flexible("THEIR LINES", 6).optional(5),
    Column::fixed("SIZE").right().optional(2),
    Column::flexible("TYPE", 6).optional(3),
    Column::flexible("TITLE", 8).optional(1),
];

impl Show for brain_protocol::HistoryReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for version in &self.versions {
            let number = format!("{}{}", if version.current { "*" } else { "" }, version.version);
            let written = minute(&version.written_at);
            let author = version.written_by.as_deref().unwrap_or("-");
            let lines: Vec<String> = version.outside_lines.iter().map(line_range).collect();
            table.row([
                &number,
                &written,
                author,
                &lines.join(", "),
                &bytes(version.bytes),
                &version.page_type,
                &version.title,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for version in &self.versions {
            t.raw(&version.version.to_string());
        }
    }
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
pub(crate) struct Revert {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Version to restore (see `brain history`)
    #[arg(value_name = "VERSION", value_parser = clap::value_parser!(u32).range(1..))]
    version: u32,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Revert {
    const NAME: &'static str = "revert";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Restore a former version of a page";
    const EXAMPLES: &'static str = "Examples:
  brain revert people/ada 2
  brain revert meetings/kickoff 1 --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        context.run(brain_protocol::Revert { page, version: self.version })
    }
}
