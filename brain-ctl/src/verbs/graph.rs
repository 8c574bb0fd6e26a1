//! `brain graph`: lists pages linked with a page.

use brain_protocol::{Fault, GraphNode, GraphReply};
use clap::{Args, ValueEnum};

use super::page;
use crate::{
    args::{Group, Verb},
    context::Context,
    output::{Column, Outcome, Paint, Show, Table, Text, clean, page_name},
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

    /// Format of the graph
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = GraphFormat::Table)]
    format: GraphFormat,
}

/// The format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// A table
    Table,
    /// One JSON value, as --json
    Json,
    /// For Graphviz
    Dot,
    /// For Mermaid, also in markdown
    Mermaid,
}

impl Verb for Graph {
    const NAME: &'static str = "graph";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List the pages linked with a page";
    const EXAMPLES: &'static str = "Examples:
  brain graph people/ada --depth 2
  brain graph companies/acme --format dot | dot -Tsvg > acme.svg";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let graph = context.call(brain_protocol::Graph {
            page: page(&self.slug, self.source.as_deref())?,
            depth: self.depth,
            limit: self.limit,
        })?;
        let drawing = match self.format {
            _ if context.json => return context.show(&graph),
            GraphFormat::Table => return context.show(&graph),
            GraphFormat::Json => return Context { json: true, ..*context }.show(&graph),
            GraphFormat::Dot => dot(&graph),
            GraphFormat::Mermaid => mermaid(&graph),
        };
        Ok(Outcome { notes: graph.notes(), ..Outcome::text(drawing) })
    }
}

/// Returns the graph in the language of Graphviz.
fn dot(graph: &GraphReply) -> String {
    let quoted =
        |text: &str| format!("\"{}\"", clean(text).replace('\\', "\\\\").replace('"', "\\\""));
    let name = |at: u32| graph.nodes.get(at as usize).map(|node| quoted(&full_name(node)));
    let mut out = "digraph brain {\n  rankdir=LR;\n".to_owned();
    for node in &graph.nodes {
        let (name, title) = (quoted(&full_name(node)), quoted(&node.title));
        out.push_str(&format!("  {name} [label={title}];\n"));
    }
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (name(edge.from), name(edge.to)) {
            out.push_str(&format!("  {from} -> {to} [label={}];\n", quoted(&edge.kind)));
        }
    }
    out + "}\n"
}

/// Returns the graph in the language of Mermaid.
fn mermaid(graph: &GraphReply) -> String {
    let quoted = |text: &str| {
        let text = clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        format!("\"{text}\"")
    };
    let mut out = "graph LR\n".to_owned();
    for (at, node) in graph.nodes.iter().enumerate() {
        out.push_str(&format!("  n{at}[{}]\n", quoted(&node.title)));
    }
    for edge in &graph.edges {
        out.push_str(&format!("  n{} -->|{}| n{}\n", edge.from, quoted(&edge.kind), edge.to));
    }
    out
}

const NODES: &[Column] = &[
    Column::fixed("STEPS").right().optional(2),
    Column::whole("PAGE").painted(Paint::cyan),
    Column::flexible("TYPE", 6).optional(3),
    Column::flexible("TITLE", 10).optional(1),
];

const EDGES: &[Column] = &[
    Column::whole("FROM").painted(Paint::cyan),
    Column::flexible("KIND", 8).optional(1),
    Column::whole("TO").painted(Paint::cyan),
];

fn full_name(node: &GraphNode) -> String {
    page_name(&node.source_id, &node.slug)
}

impl Show for GraphReply {
    fn text(&self, t: &mut Text) {
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
            t.raw(&full_name(node));
        }
    }

    fn notes(&self) -> Vec<String> {
        let more = self.truncated.then(|| "more pages exist; --limit shows more".to_owned());
        more.into_iter().collect()
    }
}
