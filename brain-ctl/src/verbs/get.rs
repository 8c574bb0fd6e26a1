//! `brain get`: prints a page.

use brain_protocol::{Fault, Page};
use clap::Args;

use super::{page, trust};
use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, clean},
};

/// Maximum number of notes about lines from outside.
pub(super) const MAX_NOTES: usize = 5;

/// Arguments of `get`.
#[derive(Debug, Args)]
pub(crate) struct GetCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Number of a former version (see `brain history`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    version: Option<u32>,

    #[command(flatten)]
    as_of: AsOfOption,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for GetCommand {
    const NAME: &'static str = "get";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Print a page";
    const ALIASES: &'static [&'static str] = &["show"];
    const EXAMPLES: &'static str = "Examples:
  brain get people/ada
  brain get people/ada --as-of \"last month\" > former.md";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let request = brain_protocol::Get { page, version: self.version };
        let (page, label) = self.as_of.call(context, request)?;
        label.add_to(context.show(&page)?, context.json)
    }
}

impl Show for Page {
    fn text(&self, t: &mut Text) {
        t.verbatim(&self.content);
    }

    fn quiet(&self, t: &mut Text) {
        t.verbatim(&self.content);
    }

    fn notes(&self) -> Vec<String> {
        let outside = &self.outside_lines;
        let mut notes: Vec<String> = outside.iter().take(MAX_NOTES).map(trust::sentence).collect();
        if let Some(original) = &self.copy_of {
            notes.push(format!(
                "a sync program made this copy of {}: brain diff compares both",
                clean(original)
            ));
        }
        if outside.len() > MAX_NOTES {
            let more = outside.len() - MAX_NOTES;
            notes.push(format!("others wrote lines in {more} more places: see `--json`"));
        }
        notes
    }
}
