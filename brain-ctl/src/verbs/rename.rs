//! `brain mv` and `brain merge`: give a page another slug, and append a page to another.

use brain_protocol::{Fault, MoveReply, PageChange, Slug};
use clap::Args;

use super::two_pages;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, clean, count, format_to_minute, page_name},
};

/// Arguments of `mv`.
#[derive(Debug, Args)]
pub(crate) struct MvCommand {
    /// The page's slug
    #[arg(value_name = "OLD")]
    old: String,

    /// Its new slug, in the same source
    #[arg(value_name = "NEW")]
    new: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for MvCommand {
    const NAME: &'static str = "mv";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Rename a page and update the links to it";
    const ALIASES: &'static [&'static str] = &["rename"];
    const EXAMPLES: &'static str = "Examples:
  brain mv inbox/2026-11-21-1a2b3c4d projects/engine
  brain mv people/ada persons/ada-lovelace --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (page, to) = two_pages(&self.old, &self.new, self.source.as_deref())?;
        context.run(brain_protocol::Rename { page, to })
    }
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeCommand {
    /// Page to merge; it can be restored for 72 hours
    #[arg(value_name = "FROM")]
    from: String,

    /// Page that gets its text, in the same source
    #[arg(value_name = "INTO")]
    into: String,

    /// Source of the pages [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for MergeCommand {
    const NAME: &'static str = "merge";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Append a page to another; redirect its links";
    const EXAMPLES: &'static str = "Examples:
  brain merge inbox/2026-11-21-1a2b3c4d projects/engine
  brain merge people/ada-l people/ada --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (page, into) = two_pages(&self.from, &self.into, self.source.as_deref())?;
        context.run(brain_protocol::Merge { page, into })
    }
}

impl Show for MoveReply {
    fn text(&self, t: &mut Text) {
        let name = |slug: &Slug| page_name(&self.source_id, slug);
        let (from, slug) = (t.paint.cyan(&name(&self.from)), t.paint.cyan(&name(&self.slug)));
        let preposition = if self.status == PageChange::Merged { "into" } else { "to" };
        let line = format!("{} {from} {preposition} {slug}", t.paint.green(self.status.as_str()));
        t.raw_line(&line);
        if self.written {
            let path = format!("  {}", t.paint.dim(&clean(&self.path)));
            t.raw_line(&path);
        }
        if !self.pages.is_empty() {
            let pages = count(self.pages.len() as u64, "page");
            t.line(&format!("  links updated in {pages}"));
        }
        if let Some(until) = &self.recoverable_until {
            let (from, until) = (name(&self.from), format_to_minute(until));
            t.line(&format!("  {from} can be restored until {until}: brain restore {from}"));
        }
    }

    fn quiet(&self, t: &mut Text) {
        t.raw_line(&page_name(&self.source_id, &self.slug));
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn failures(&self) -> Vec<String> {
        self.left.iter().map(|link| format!("this link could not be updated: {link}")).collect()
    }
}
