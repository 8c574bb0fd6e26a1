//! `brain link`, `brain links` and `brain backlinks`.

use brain_protocol::{Fault, Linked, Reply, Request};
use clap::Args;

use super::page;
use crate::{
    args::{Group, Verb},
    context::Context,
    fail,
    output::{Column, Outcome, Paint, Show, Table, Text},
};

/// Arguments of `link`.
#[derive(Debug, Args)]
pub(crate) struct Link {
    /// The page that gets the link
    #[arg(value_name = "FROM")]
    from: String,

    /// The page it leads to; it need not exist yet
    #[arg(value_name = "TO")]
    to: String,

    /// The frontmatter key that carries the link, for example company
    #[arg(long, value_name = "KIND", default_value = "related")]
    kind: String,

    /// Take the link away instead
    #[arg(long)]
    remove: bool,

    /// The source of FROM [default: default]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Link {
    const NAME: &'static str = "link";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "Link a page to another";
    const EXAMPLES: &'static str = "Examples:
  brain link people/ada companies/acme --kind company
  brain link people/ada people/charles --remove";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let request = Request::Link(brain_protocol::Link {
            from: page(&self.from, self.source.as_deref())?,
            to: fail::slug(&self.to)?,
            kind: self.kind,
            remove: self.remove,
        });
        match context.call(&request)? {
            Reply::Linked(linked) => context.show(&linked),
            _ => Err(fail::unexpected(Self::NAME)),
        }
    }
}

impl Show for Linked {
    fn text(&self, t: &mut Text) {
        t.line(&format!("{} {} → {} ({})", self.status, self.from, self.to, self.kind));
    }

    fn quiet(&self, _: &mut Text) {}

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn notes(&self) -> Vec<String> {
        match self.live || self.status == "removed" {
            true => Vec::new(),
            false => vec![format!("{} does not exist yet; the link becomes live when it does", self.to)],
        }
    }
}

/// Arguments of `links`.
#[derive(Debug, Args)]
pub(crate) struct Links {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// The page's source [default: default]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Links {
    const NAME: &'static str = "links";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List where a page leads to";
    const EXAMPLES: &'static str = "Examples:
  brain links people/ada
  brain links people/ada --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        match context.call(&Request::Links(page(&self.slug, self.source.as_deref())?))? {
            Reply::Links(links) => context.show(&links),
            _ => Err(fail::unexpected(Self::NAME)),
        }
    }
}

/// Arguments of `backlinks`.
#[derive(Debug, Args)]
pub(crate) struct Backlinks {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// The page's source [default: default]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Backlinks {
    const NAME: &'static str = "backlinks";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List the pages that lead to a page";
    const EXAMPLES: &'static str = "Examples:
  brain backlinks companies/acme
  brain backlinks companies/acme --quiet | wc -l";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        match context.call(&Request::Backlinks(page(&self.slug, self.source.as_deref())?))? {
            Reply::Links(links) => context.show(&links),
            _ => Err(fail::unexpected(Self::NAME)),
        }
    }
}

const COLUMNS: &[Column] = &[
    Column::flexible("PAGE", 14).painted(Paint::cyan),
    Column::flexible("KIND", 8).optional(3),
    Column::fixed("STATUS").optional(1),
    Column::flexible("TITLE", 10).optional(2),
];

impl Show for brain_protocol::Links {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(COLUMNS);
        for link in &self.links {
            let page = link.slug.as_ref().map_or(link.target.as_str(), |slug| slug.as_str());
            table.row([page, &link.kind, &link.status, link.title.as_deref().unwrap_or_default()]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for link in &self.links {
            match &link.slug {
                Some(slug) => t.raw(slug.as_str()),
                None => t.line(&link.target),
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        if !self.links.is_empty() {
            let more = self.truncated.then(|| format!("only the first {} are shown", self.links.len()));
            return more.into_iter().collect();
        }
        vec![match self.direction.as_str() {
            "backlinks" => format!("no page leads to {}", self.slug),
            _ => format!("{} leads nowhere", self.slug),
        }]
    }
}
