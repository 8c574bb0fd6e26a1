//! `brain diff`: shows what changed between two versions of a page.

use brain_protocol::{DiffReply, Fault};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, count, page_name},
};

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// The older version [default: the previous version]
    #[arg(value_name = "A", value_parser = clap::value_parser!(u32).range(1..))]
    from: Option<u32>,

    /// The newer version [default: the current version]
    #[arg(value_name = "B", value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Diff {
    const NAME: &'static str = "diff";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Compare two versions of a page";
    const EXAMPLES: &'static str = "Examples:
  brain diff people/ada
  brain diff people/ada 2 5";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        context.run(brain_protocol::Diff { page, from: self.from, to: self.to })
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
        vec![match self.diff.is_empty() {
            true => format!("versions {from} and {to} of {page} are equal"),
            false => format!(
                "version {from} to {to}: {} added, {} removed",
                count(*added, "line"),
                count(*removed, "line")
            ),
        }]
    }
}
