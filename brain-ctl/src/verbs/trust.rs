//! `brain trust`: marks all lines of a page as the owner's. Formats who wrote which lines, also for
//! other commands.

use brain_protocol::{Fault, MarkedLines};
use clap::Args;

use super::page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Outcome, format_to_minute},
};

/// Arguments of `trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustCommand {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for TrustCommand {
    const NAME: &'static str = "trust";
    const GROUP: Group = Group::Writing;
    const ABOUT: &'static str = "Mark a page's text as written by you";
    const EXAMPLES: &'static str = "Examples:
  brain trust people/ada
  brain trust meetings/kickoff --source work";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let page = page(&self.slug, self.source.as_deref())?;
        context.run(brain_protocol::Trust { page })
    }
}

/// Formats the line numbers of a mark: `3` or `3-5`.
pub(super) fn line_range(mark: &MarkedLines) -> String {
    match mark.last == mark.first {
        true => mark.first.to_string(),
        false => format!("{}-{}", mark.first, mark.last),
    }
}

/// Returns a sentence about a mark: which lines, who, and when.
pub(super) fn sentence(mark: &MarkedLines) -> String {
    let lines = if mark.last == mark.first { "line" } else { "lines" };
    if mark.source_kind == "undone" {
        return format!("{lines} {}: {}", line_range(mark), mark.source_uri);
    }
    let author = mark.source_uri.strip_prefix("mcp:").unwrap_or(&mark.source_uri);
    format!(
        "{lines} {}: written by {author} ({}) at {}",
        line_range(mark),
        mark.source_kind,
        format_to_minute(&mark.written_at)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_lines_author_and_time() {
        let mark = |first, last| MarkedLines {
            first,
            last,
            source_kind: "mcp:put_page".into(),
            source_uri: "mcp:robot".into(),
            written_at: "2026-11-21T04:51:43.123Z".into(),
        };
        let one = sentence(&mark(9, 9));
        assert!(one.starts_with("line 9: written by robot (mcp:put_page) at 2026-11-2"), "{one}");
        assert!(sentence(&mark(3, 5)).starts_with("lines 3-5: written by robot"));
    }
}
