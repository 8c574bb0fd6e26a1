//! `brain tags`: lists tags, and changes those of a page.

use brain_protocol::{Fault, PageTags, TagCounts, TagsReply};
use clap::Args;

use super::optional_page;
use crate::{
    command::{Group, Verb},
    context::Context,
    output::{Column, Listing, Outcome, Show, Table, TableFormatOption, Text, json_records},
};

/// Arguments of `tags`.
#[derive(Debug, Args)]
pub(crate) struct TagsCommand {
    /// Page whose tags to list [default: all tags with counts]
    #[arg(value_name = "SLUG")]
    slug: Option<String>,

    /// Tag to add to the page (repeatable)
    #[arg(long, value_name = "TAG", requires = "slug")]
    add: Vec<String>,

    /// Tag to remove from the page (repeatable)
    #[arg(long, value_name = "TAG", requires = "slug")]
    remove: Vec<String>,

    /// Only this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    format: TableFormatOption,
}

impl Verb for TagsCommand {
    const NAME: &'static str = "tags";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List tags, or change those of a page";
    const EXAMPLES: &'static str = "Examples:
  brain tags
  brain tags people/ada --add mathematician --remove draft";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let (source, slug) = optional_page(self.slug.as_deref(), self.source.as_deref())?;
        let request = brain_protocol::Tags { source, slug, add: self.add, remove: self.remove };
        match context.call(request)? {
            TagsReply::All(tags) => context.list(&tags, &self.format.into()),
            TagsReply::OfPage(tags) => context.show(&tags),
        }
    }
}

const COLUMNS: &[Column] = &[Column::fixed("PAGES").align_right(), Column::flexible("TAG", 8)];

impl Listing for TagCounts {
    const FIELDS: &'static [&'static str] = &["tag", "pages"];

    fn records(&self) -> Vec<Vec<String>> {
        json_records(&self.tags, Self::FIELDS)
    }
}

impl Show for TagCounts {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for tag in &self.tags {
            table.row([&tag.pages.to_string(), &tag.tag]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for tag in &self.tags {
            t.line(&tag.tag);
        }
    }

    fn notes(&self) -> Vec<String> {
        if self.tags.is_empty() { vec!["no tags".into()] } else { Vec::new() }
    }
}

impl Show for PageTags {
    fn text(&self, t: &mut Text) {
        self.quiet(t);
    }

    fn quiet(&self, t: &mut Text) {
        for tag in &self.tags {
            t.line(tag);
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn notes(&self) -> Vec<String> {
        if self.tags.is_empty() { vec![format!("{} has no tags", self.slug)] } else { Vec::new() }
    }
}
