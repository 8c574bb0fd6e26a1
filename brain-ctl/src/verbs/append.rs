//! `brain append` and `brain add`: add text to a page.

use std::{ffi::OsString, path::PathBuf};

use brain_protocol::Fault;
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    input,
    output::Outcome,
};

/// The arguments that `append` and `add` share.
#[derive(Debug, Args)]
struct SharedArguments {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Text to add; several words are joined by spaces; `-` is standard input [default: -]
    #[arg(value_name = "TEXT", allow_negative_numbers = true)]
    text: Vec<OsString>,

    /// Add to the section under this heading [default: the end of the page]
    #[arg(long, value_name = "HEADING")]
    section: Option<String>,

    /// Add the content of a file; `-` is standard input
    #[arg(long, value_name = "PATH", conflicts_with = "text")]
    file: Option<PathBuf>,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl SharedArguments {
    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        let input = input::for_append(self.text, self.file.as_deref())?;
        let (content, origin) = (input.content, input.origin);
        context.run(brain_protocol::Append { page, content, origin, section: self.section })
    }
}

/// Arguments of `append`.
#[derive(Debug, Args)]
pub(crate) struct AppendCommand {
    #[command(flatten)]
    arguments: SharedArguments,
}

impl Verb for AppendCommand {
    const NAME: &'static str = "append";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Add text to the end of a page or section";
    const EXAMPLES: &'static str = "Examples:
  brain append people/ada \"Born in London\"
  date | brain append projects/engine --section Log";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        self.arguments.run(context)
    }
}

/// Arguments of `add`.
#[derive(Debug, Args)]
pub(crate) struct AddCommand {
    #[command(flatten)]
    arguments: SharedArguments,
}

impl Verb for AddCommand {
    const NAME: &'static str = "add";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "The same as append";
    const EXAMPLES: &'static str = "Examples:
  brain add projects/engine --section Log \"First run\"
  brain add projects/engine --file notes.md";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        self.arguments.run(context)
    }
}
