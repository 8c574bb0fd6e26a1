//! `brain delete` and `brain restore`: delete a page and restore it.

use brain_protocol::{DeleteReply, Fault, RestoreReply};
use clap::Args;
use serde::Serialize;

use super::page;
use crate::{
    args::{Group, Verb},
    context::Context,
    output::{Outcome, Show, Text, minute},
};

/// Arguments of `delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Delete {
    const NAME: &'static str = "delete";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Delete a page (restorable for 72 hours)";
    const EXAMPLES: &'static str = "Examples:
  brain delete inbox/2026-11-21-1a2b3c4d
  brain delete people/ada --source work --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let reply = context.call(brain_protocol::Delete { page, expect: None })?;
        context.show(&DeleteOutput { reply, has_source: self.source.is_some() })
    }
}

/// The output of `delete`.
#[derive(Serialize)]
#[serde(transparent)]
struct DeleteOutput {
    reply: DeleteReply,
    /// Whether the command had `--source`. Then the hint has it, too.
    #[serde(skip)]
    has_source: bool,
}

impl Show for DeleteOutput {
    fn text(&self, t: &mut Text) {
        let DeleteReply { slug, source_id, recoverable_until, .. } = &self.reply;
        let line = format!("deleted {}", t.paint.cyan(slug.as_str()));
        t.raw(&line);
        let source = if self.has_source { format!(" --source {source_id}") } else { String::new() };
        t.line(&format!(
            "  restore it until {}: brain restore {slug}{source}",
            minute(recoverable_until)
        ));
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.reply.warnings
    }
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Restore {
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
        let line = format!("restored {}", t.paint.cyan(self.slug.as_str()));
        t.raw(&line);
        t.line(&format!("  {}", self.path));
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
