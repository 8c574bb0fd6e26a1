//! Options that lists share, and parts of long lists.

use brain_protocol::Fault;
use clap::Args;
use serde::Serialize;

use crate::{
    context::Context,
    output::{FormatOption, Listing, Outcome, Show, Text},
};

/// The options `--limit` and `--page`.
#[derive(Debug, Args)]
pub(crate) struct PagingOptions {
    #[command(flatten)]
    limit: LimitOption,

    /// Part of the list, from 1
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    page: u32,
}

impl PagingOptions {
    /// Returns the maximum number of rows.
    pub(crate) fn limit(&self) -> u32 {
        self.limit.limit
    }

    /// Returns the number of rows before this part.
    pub(crate) fn skip(&self) -> u32 {
        self.limit().saturating_mul(self.page - 1)
    }

    /// Returns the note of a part without rows. `rows` names them in the plural, for example
    /// `pages`.
    pub(crate) fn empty_note(&self, rows: &str) -> String {
        match self.page {
            1 => format!("no {rows}"),
            page => format!("the list has no part {page}"),
        }
    }

    /// Returns the note that says that more rows follow, and how to get them.
    pub(crate) fn more_note(&self, rows: &str) -> String {
        format!("more {rows} exist: use --limit, or --page {}", self.page.saturating_add(1))
    }

    /// Returns the outcome that prints a part of a list. `truncated` says whether more rows follow;
    /// `rows` names the rows in the plural. If each row is a line of a page, `form` is an example
    /// of such a line, for the note of an empty list.
    ///
    /// # Errors
    /// As [`Context::list`].
    pub(crate) fn print<L: Listing>(
        &self,
        context: &Context,
        format: &FormatOption,
        list: L,
        truncated: bool,
        rows: &str,
        form: Option<&str>,
    ) -> Result<Outcome, Fault> {
        let note = match (list.records().is_empty(), form) {
            (true, Some(form)) if self.page == 1 => Some(no_lines(rows, form)),
            (true, _) => Some(self.empty_note(rows)),
            (false, _) => truncated.then(|| self.more_note(rows)),
        };
        context.list(&ListWithNote { list, note }, format)
    }
}

/// Returns the note that no page has such lines. `form` is an example of one.
pub(crate) fn no_lines(rows: &str, form: &str) -> String {
    format!("no {rows}; to add one, write a line of this form in a page: {form}")
}

/// The option `--limit` alone, for commands in which `--page` names a page of the brain.
#[derive(Debug, Args)]
pub(crate) struct LimitOption {
    /// Number of rows, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub(crate) limit: u32,
}

impl LimitOption {
    /// Returns the outcome that prints a list. `truncated` says whether more rows exist; `rows`
    /// names them in the plural.
    ///
    /// # Errors
    /// As [`Context::list`].
    pub(crate) fn print<L: Listing>(
        &self,
        context: &Context,
        format: &FormatOption,
        list: L,
        truncated: bool,
        rows: &str,
    ) -> Result<Outcome, Fault> {
        let note = match list.records().is_empty() {
            true => Some(format!("no {rows}")),
            false => {
                truncated.then(|| format!("more {rows} exist: use --limit, or an earlier time"))
            }
        };
        context.list(&ListWithNote { list, note }, format)
    }
}

/// The options of a list of pages, or of lines of pages.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    pub(crate) paging: PagingOptions,

    /// Only pages of this source
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,

    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// A part of a list, with its note.
#[derive(Serialize)]
#[serde(transparent)]
struct ListWithNote<L> {
    list: L,
    #[serde(skip)]
    note: Option<String>,
}

impl<L: Show> Show for ListWithNote<L> {
    fn text(&self, t: &mut Text) {
        self.list.text(t);
    }

    fn quiet(&self, t: &mut Text) {
        self.list.quiet(t);
    }

    fn notes(&self) -> Vec<String> {
        self.note.iter().cloned().collect()
    }
}

impl<L: Listing> Listing for ListWithNote<L> {
    const FIELDS: &'static [&'static str] = L::FIELDS;

    fn records(&self) -> Vec<Vec<String>> {
        self.list.records()
    }

    fn paths(&self) -> Option<Vec<&str>> {
        self.list.paths()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_the_next_part() {
        let part = |limit, page| PagingOptions { limit: LimitOption { limit }, page };
        let first = part(20, 1);
        assert_eq!((first.skip(), first.empty_note("calls")), (0, "no calls".into()));
        assert_eq!(first.more_note("calls"), "more calls exist: use --limit, or --page 2");
        let third = part(20, 3);
        assert_eq!(
            (third.skip(), third.empty_note("calls")),
            (40, "the list has no part 3".into())
        );
        let last = part(1000, u32::MAX);
        assert_eq!(last.skip(), u32::MAX);
    }
}
