//! `brain capture`: keep a thought.

use std::{ffi::OsString, path::PathBuf};

use brain_protocol::{Fault, Reply, Request};
use clap::Args;

use crate::{
    args::{Group, Verb},
    context::Context,
    fail, input,
    output::Outcome,
};

/// Arguments of `capture`.
#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The words to keep; several are joined by a space
    #[arg(value_name = "CONTENT", allow_negative_numbers = true)]
    content: Vec<OsString>,

    /// Keep a file's content
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Keep what comes on standard input
    #[arg(long)]
    stdin: bool,

    /// note, idea, observation, or another lower-case word [default: note]
    #[arg(long = "type", value_name = "TYPE")]
    page_type: Option<String>,

    /// The source that gets the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// The slug to use instead of inbox/DATE-HASH
    #[arg(long, value_name = "SLUG")]
    slug: Option<String>,

    /// The title to use instead of the first line
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    /// A tag to add; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

impl Verb for Capture {
    const NAME: &'static str = "capture";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Keep a thought as a page in the inbox";
    const EXAMPLES: &'static str = "Examples:
  brain capture \"Ask Ada about the engine\" --type idea --tag history
  brain capture --file meeting.md --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = fail::source(self.source.as_deref())?;
        let slug = self.slug.as_deref().map(fail::slug).transpose()?;
        let input = input::for_capture(self.content, self.file.as_deref(), self.stdin)?;
        let request = Request::Capture(brain_protocol::Capture {
            content: input.content,
            origin: input.origin,
            source,
            slug,
            page_type: self.page_type,
            title: self.title,
            tags: self.tags,
        });
        match context.call(&request)? {
            Reply::Written(written) => context.show(&written),
            _ => Err(fail::unexpected(Self::NAME)),
        }
    }
}
