//! `brain put`: stores a whole page.

use std::path::PathBuf;

use brain_protocol::{Fault, Precondition};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    input,
    output::Outcome,
};

/// Arguments of `put`.
#[derive(Debug, Args)]
pub(crate) struct PutCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Read the page from this file; `-` is standard input [default: -]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Allow empty content to replace a page
    #[arg(long)]
    allow_empty: bool,

    /// Fail unless the page has this version; 0 means that it does not exist
    #[arg(long, value_name = "VERSION")]
    expect: Option<u32>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for PutCommand {
    const NAME: &'static str = "put";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Store a page under a slug";
    const EXAMPLES: &'static str = "Examples:
  brain put people/ada --file ada.md
  brain get people/ada | sed s/Byron/Lovelace/ | brain put people/ada";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let input = input::for_put(self.file.as_deref())?;
        context.run(brain_protocol::Put {
            page,
            content: input.content,
            origin: input.origin,
            allow_empty: self.allow_empty,
            expect: self.expect.map(|version| match version {
                0 => Precondition::Absent,
                version => Precondition::Version(version),
            }),
        })
    }
}
