//! `brain delete` and `brain restore`: delete a page and restore it.

use brain_protocol::{DeleteReply, Fault, RestoreReply};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, format_to_minute, page_name},
};

/// Arguments of `delete`.
#[derive(Debug, Args)]
pub(crate) struct DeleteCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for DeleteCommand {
    const NAME: &'static str = "delete";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Delete a page (restorable for 72 hours)";
    const ALIASES: &'static [&'static str] = &["rm"];
    const EXAMPLES: &'static str = "Examples:
  brain delete inbox/2026-11-21-1a2b3c4d
  brain delete people/ada --source work --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        context.run(brain_protocol::Delete { page, expect: None })
    }
}

impl Show for DeleteReply {
    fn text(&self, t: &mut Text) {
        // The hint names the source, so that it is correct with any default source.
        let page = page_name(&self.source_id, &self.slug);
        let line = format!("deleted {}", t.paint.cyan(&page));
        t.raw_line(&line);
        t.line(&format!(
            "  restore it until {}: brain restore {page}",
            format_to_minute(&self.recoverable_until)
        ));
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for RestoreCommand {
    const NAME: &'static str = "restore";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Restore a deleted page";
    const EXAMPLES: &'static str = "Examples:
  brain restore inbox/2026-11-21-1a2b3c4d
  brain restore people/ada --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.run(brain_protocol::Restore { page: page(&self.slug, self.source.as_deref())? })
    }
}

impl Show for RestoreReply {
    fn text(&self, t: &mut Text) {
        let page = page_name(&self.source_id, &self.slug);
        let line = format!("restored {}", t.paint.cyan(&page));
        t.raw_line(&line);
        t.line(&format!("  {}", self.path));
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
