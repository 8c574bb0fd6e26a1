//! `brain history` and `brain revert`: list the versions of a page and restore one.

use brain_protocol::{Fault, FaultCode, HistoryReply, PageRef, VersionRow};
use clap::Args;

use super::{page, trust::line_range};
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{
        Column, Listing, Outcome, Show, Table, TableFormatOption, Text, format_bytes,
        format_to_second, json_records,
    },
    when::TimePeriod,
};

/// Arguments of `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for HistoryCommand {
    const NAME: &'static str = "history";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List the versions of a page";
    const EXAMPLES: &'static str = "Examples:
  brain history people/ada
  brain history people/ada --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        context.list(&context.call(brain_protocol::History { page })?, &self.format.into())
    }
}

const COLUMNS: &[Column] = &[
    Column::fixed("VERSION").align_right(),
    Column::fixed("WRITTEN"),
    Column::flexible("BY", 6).droppable(4),
    Column::flexible("VIA", 6).droppable(5),
    Column::fixed("LINES"),
    Column::flexible("OTHERS' LINES", 6).droppable(6),
    Column::fixed("SIZE").align_right().droppable(2),
    Column::flexible("TYPE", 6).droppable(3),
    Column::flexible("TITLE", 8).droppable(1),
];

impl Listing for HistoryReply {
    const FIELDS: &'static [&'static str] = &[
        "version",
        "written_at",
        "lines_added",
        "lines_removed",
        "bytes",
        "type",
        "title",
        "written_by",
        "written_via",
    ];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.versions, Self::FIELDS)
    }
}

/// Formats the numbers of added and removed lines: `+3 -1`; `?` if they are unknown.
fn changed_lines(version: &VersionRow) -> String {
    match (version.lines_added, version.lines_removed) {
        (Some(added), Some(removed)) => format!("+{added} -{removed}"),
        _ => "?".to_owned(),
    }
}

impl Show for HistoryReply {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for version in &self.versions {
            let number = format!("{}{}", if version.current { "*" } else { "" }, version.version);
            let written = format_to_second(&version.written_at);
            let author = version.written_by.as_deref().unwrap_or("-");
            let route = version.written_via.as_deref().unwrap_or("-");
            let outside_lines: Vec<String> = version.outside_lines.iter().map(line_range).collect();
            table.row([
                &number,
                &written,
                author,
                route,
                &changed_lines(version),
                &outside_lines.join(", "),
                &format_bytes(version.bytes),
                &version.page_type,
                &version.title,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for version in &self.versions {
            t.raw_line(&version.version.to_string());
        }
    }
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
pub(crate) struct RevertCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Version to restore (see `brain history`), or a time: the page as it was then
    #[arg(value_name = "VERSION|WHEN", value_parser = RevertTarget::parse)]
    to: RevertTarget,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for RevertCommand {
    const NAME: &'static str = "revert";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Restore a former version of a page";
    const EXAMPLES: &'static str = "Examples:
  brain revert people/ada 2
  brain revert meetings/kickoff yesterday --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let version = match self.to {
            RevertTarget::Version(version) => version,
            RevertTarget::Time(when) => version_at(context, &page, &when)?,
        };
        context.run(brain_protocol::Revert { page, version, expect: None })
    }
}

/// The version that `revert` restores.
#[derive(Debug, Clone)]
enum RevertTarget {
    /// The version with this number.
    Version(u32),
    /// The version at the end of this period.
    Time(TimePeriod),
}

impl RevertTarget {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            Ok(0) => Err("versions are counted from 1".to_owned()),
            Ok(version) => Ok(Self::Version(version)),
            Err(_) => TimePeriod::parse(text).map(Self::Time),
        }
    }
}

/// Returns the number of the version that a page had at the end of a period.
///
/// # Errors
/// `unknown_version` if all versions are newer; otherwise the fault of `history`.
fn version_at(context: &Context, page: &PageRef, when: &TimePeriod) -> Result<u32, Fault> {
    let history = context.call(brain_protocol::History { page: page.clone() })?;
    let end = when.end();
    // Versions are listed newest first. Both times are RFC 3339 in UTC with milliseconds, so they
    // compare as text.
    let version = history.versions.iter().find(|version| version.written_at <= end);
    version.map(|version| version.version).ok_or_else(|| {
        let first = history.versions.last().map(|first| format_to_second(&first.written_at));
        let message = format!(
            "{} has no version from {} or earlier; its first version is from {}",
            page.slug,
            format_to_second(&end),
            first.unwrap_or_default()
        );
        Fault::new(FaultCode::UnknownVersion, message)
            .hint(format!("list its versions: brain history {}", page.slug))
    })
}
