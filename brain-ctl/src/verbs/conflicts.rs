//! `brain conflicts` and `brain keep`: pages and files with different texts.

use brain_protocol::{ConflictList, Conflicts, Fault, KeptSide};
use clap::{Args, ValueEnum};

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{
        Column, Listing, Outcome, Show, Table, TableFormatOption, Text, format_to_second,
        json_records, page_name,
    },
};

/// Arguments of `conflicts`.
#[derive(Debug, Args)]
pub(crate) struct ConflictsCommand {
    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for ConflictsCommand {
    const NAME: &'static str = "conflicts";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "List pages whose file has another text";
    const EXAMPLES: &'static str = "Examples:
  brain conflicts
  brain conflicts --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.list(&context.call(ConflictList)?, &self.format.into())
    }
}

const COLUMNS: &[Column] = &[
    Column::flexible("PAGE", 8),
    Column::flexible("FILE", 8).droppable(2),
    Column::fixed("PAGE CHANGED").droppable(3),
    Column::fixed("FILE CHANGED").droppable(4),
    Column::fixed("FILE IS").droppable(5),
    Column::flexible("REASON", 12).droppable(1),
];

impl Listing for Conflicts {
    const FIELDS: &'static [&'static str] = &[
        "slug",
        "source_id",
        "path",
        "reason",
        "file_version",
        "page_changed_at",
        "file_changed_at",
    ];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.conflicts, Self::FIELDS)
    }
}

impl Show for Conflicts {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for conflict in &self.conflicts {
            let version = conflict.file_version.map(|version| format!("version {version}"));
            table.row([
                &page_name(&conflict.source_id, &conflict.slug),
                &conflict.path,
                &format_to_second(&conflict.page_changed_at),
                &format_to_second(&conflict.file_changed_at),
                version.as_deref().unwrap_or("-"),
                &conflict.reason,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for conflict in &self.conflicts {
            t.raw_line(&page_name(&conflict.source_id, &conflict.slug));
        }
    }

    fn notes(&self) -> Vec<String> {
        vec![match self.conflicts.first() {
            None => "no page differs from its file".to_owned(),
            Some(first) => {
                let page = page_name(&first.source_id, &first.slug);
                format!(
                    "compare: brain diff {page} --file; then: brain keep {page} page, or brain \
                     keep {page} file; the other text becomes a version"
                )
            }
        }]
    }
}

/// Arguments of `keep`.
#[derive(Debug, Args)]
pub(crate) struct KeepCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// The text that page and file get
    #[arg(value_name = "SIDE")]
    side: ConflictSide,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

/// A side of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConflictSide {
    /// The page's; that of the file becomes a version
    Page,
    /// The file's; that of the page becomes a version
    File,
}

impl Verb for KeepCommand {
    const NAME: &'static str = "keep";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Choose between the texts of a page and its file";
    const EXAMPLES: &'static str = "Examples:
  brain keep people/ada page
  brain keep meetings/kickoff file --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let side = match self.side {
            ConflictSide::Page => KeptSide::Page,
            ConflictSide::File => KeptSide::File,
        };
        context.run(brain_protocol::Keep { page, side })
    }
}
