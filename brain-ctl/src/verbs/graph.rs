//! `brain graph`: lists pages linked with a page.

use brain_protocol::{Fault, GraphNode, GraphReply};
use clap::Args;

use super::page;
use crate::{
    args::{Group, Verb},
    context::Context,
    output::{Column, Outcome, Paint, Show, Table, Text},
};

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The page's slug
    #[arg(value_name = "SLUG")]
    slug: String,

    /// Maximum distance from the page in links, 1 to 5
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=5)
    )]
    depth: u32,

    /// Maximum number of pages, 1 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    limit: u32,

    /// Source of the page [default: `brain sources default`]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

impl Verb for Graph {
    const NAME: &'static str = "graph";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List the pages linked with a page";
    const EXAMPLES: &'static str = "Examples:
  brain graph people/ada --depth 2
  brain graph companies/acme --json";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        context.run(brain_protocol::Graph {
            page: page(&self.slug, self.source.as_deref())?,
            depth: self.depth,
            limit: self.limit,
        })
    }
}

const NODES: &[Column] = &[
    Column::fixed("STEPS").right().optional(2),
    Column::flexible("PAGE", 14).painted(Paint::cyan),
    Column::flexible("TYPE", 6).optional(3),
    Column::flexible("TITLE", 10).optional(1),
];

const EDGES: &[Column] = &[
    Column::flexible("FROM", 12).painted(Paint::cyan),
    Column::flexible("KIND", 8).optional(1),
    Column::flexible("TO", 12).painted(Paint::cyan),
];

impl Show for GraphReply {
    fn text(&self, t: &mut Text) {
        // Pages of other sources than that of the centre are printed with their source.
        let centre_source = self.nodes.first().map(|node| &node.source_id);
        let full_name = |node: &GraphNode| match centre_source {
            Some(source) if *source != node.source_id => {
                format!("{}:{}", node.source_id, node.slug)
            }
            _ => node.slug.to_string(),
        };
        let mut nodes = Table::new(NODES);
        for node in &self.nodes {
            nodes.row([&node.depth.to_string(), &full_name(node), &node.page_type, &node.title]);
        }
        nodes.write(t);
        if self.edges.is_empty() {
            return;
        }
        t.raw("");
        let name = |at: u32| self.nodes.get(at as usize).map_or_else(|| "?".to_owned(), full_name);
        let mut edges = Table::new(EDGES);
        for edge in &self.edges {
            edges.row([&name(edge.from), &edge.kind, &name(edge.to)]);
        }
        edges.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for node in &self.nodes {
            t.raw(node.slug.as_str());
        }
    }

    fn notes(&self) -> Vec<String> {
        let more = self.truncated.then(|| "more pages exist; --limit shows more".to_owned());
        more.into_iter().collect()
    }
}
