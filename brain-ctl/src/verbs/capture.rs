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
    #[arg(long = "type", value_name = "TYPE", value_parser = page_type)]
    page_type: Option<String>,

    /// The source that gets the page [default: default]
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

/// A page's type: a lower-case word.
pub(super) fn page_type(text: &str) -> Result<String, String> {
    let mut bytes = text.bytes();
    let head = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
    if head && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return Ok(text.to_owned());
    }
    Err("a type is a lower-case word, for example note, idea or observation".into())
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

#[cfg(test)]
mod tests {
    use super::page_type;

    #[test]
    fn a_type_is_a_lower_case_word() {
        for good in ["note", "idea", "x", "meeting-note", "v2"] {
            assert!(page_type(good).is_ok(), "{good}");
        }
        for bad in ["", "Note", "2d", "-x", "a b", "ü", "a_b"] {
            assert!(page_type(bad).is_err(), "{bad}");
        }
    }
}
