//! `brain capture`: stores a thought as a page.

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    path::PathBuf,
};

use brain_protocol::Fault;
use clap::Args;

use super::optional_page;
use crate::{
    command::{Group, Verb},
    context::Context,
    input,
    output::Outcome,
};

/// Arguments of `capture`.
#[derive(Debug, Args)]
pub(crate) struct CaptureCommand {
    /// Text to store; several words are joined by spaces; `-` is standard input
    #[arg(value_name = "CONTENT", allow_negative_numbers = true)]
    content: Vec<OsString>,

    /// Store the content of a file; `-` is standard input
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Store standard input [default if no text or file is given, unless it is a terminal]
    #[arg(long)]
    stdin: bool,

    /// Type: note, idea, observation, or another lower-case word [default: note]
    #[arg(long = "type", value_name = "TYPE")]
    page_type: Option<String>,

    /// Source of the new page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Slug [default: inbox/DATE-HASH]
    #[arg(long, value_name = "SLUG")]
    slug: Option<String>,

    /// Title [default: the first line]
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    /// Tag to add (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

impl Verb for CaptureCommand {
    const NAME: &'static str = "capture";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Store a thought as a page in the inbox";
    const EXAMPLES: &'static str = "Examples:
  brain capture \"Ask Ada about the engine\" --type idea --tag history
  date | brain capture --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (source, slug) = optional_page(self.slug.as_deref(), self.source.as_deref())?;
        // A pipe needs no `--stdin`: `echo text | brain capture`.
        let has_input = !self.content.is_empty() || self.file.is_some();
        let stdin = self.stdin || (!has_input && !io::stdin().is_terminal());
        let input = input::for_capture(self.content, self.file.as_deref(), stdin)?;
        context.run(brain_protocol::Capture {
            content: input.content,
            origin: input.origin,
            source,
            slug,
            page_type: self.page_type,
            title: self.title,
            tags: self.tags,
        })
    }
}
