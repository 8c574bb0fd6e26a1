//! `brain diff`: shows what changed between two versions of a page, or between page and file.

use brain_protocol::{DiffOther, DiffReply, Fault};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, clean, count, page_name},
};

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// The older version [default: the previous version]
    #[arg(value_name = "A", value_parser = clap::value_parser!(u32).range(1..))]
    from: Option<u32>,

    /// The newer version [default: the current version]
    #[arg(value_name = "B", value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,

    /// Compare the page with its file as it is now
    #[arg(long, conflicts_with_all = ["from", "to"])]
    file: bool,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for DiffCommand {
    const NAME: &'static str = "diff";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Compare two versions of a page, or a page with its file";
    const EXAMPLES: &'static str = "Examples:
  brain diff people/ada 2 5
  brain diff people/ada --file";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let other = self.file.then_some(DiffOther::File);
        context.run(brain_protocol::Diff { page, from: self.from, to: self.to, other })
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
