//! `brain graph`: lists pages linked with a page, or all pages.

use std::collections::HashMap;

use brain_protocol::{
    Fault, GraphEdge, GraphLayout, GraphLayoutReply, GraphNode, GraphReply, LayoutNode,
};
use clap::{Args, ValueEnum};

use super::page;
use crate::{
    as_of::AsOfOption,
    command::{Group, Verb},
    context::Context,
    fail,
    output::{self, Column, Outcome, Paint, Show, Table, Text, clean, page_name},
};

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub(crate) struct GraphCommand {
    /// The page's slug
    #[arg(value_name = "SLUG", required_unless_present = "all")]
    slug: Option<String>,

    /// List all pages, those with most links first; JSON also has their positions in a drawing
    #[arg(long, conflicts_with_all = ["slug", "depth", "as_of"])]
    all: bool,

    /// Maximum distance from the page in links, 1 to 5
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=5)
    )]
    depth: u32,

    /// Maximum number of pages, 1 to 1000 [default: 100; all with --all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,

    /// With --all: only pages of this type
    #[arg(long = "type", value_name = "TYPE", requires = "all")]
    page_type: Option<String>,

    /// With --all: only pages with this tag
    #[arg(long, value_name = "TAG", requires = "all")]
    tag: Option<String>,

    /// Source of the page [default: `brain sources default`; all with --all]
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    as_of: AsOfOption,

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

impl Verb for GraphCommand {
    const NAME: &'static str = "graph";
    const GROUP: Group = Group::Organising;
    const ABOUT: &'static str = "List the pages linked with a page, or all pages by their links";
    const EXAMPLES: &'static str = "Examples:
  brain graph companies/acme --depth 2 --format dot | dot -Tsvg > acme.svg
  brain graph --all --limit 20";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let source = self.source.as_deref();
        match &self.slug {
            Some(slug) => {
                let request = brain_protocol::Graph {
                    page: page(slug, source)?,
                    depth: self.depth,
                    limit: self.limit.unwrap_or(100),
                };
                let (graph, label) = self.as_of.call(context, request)?;
                let outcome = self.print(context, &graph, Drawing::of)?;
                label.add_to(outcome, context.json || self.format == GraphFormat::Json)
            }
            None => {
                let graph = context.call(GraphLayout {
                    source: fail::parse_source(source)?,
                    page_type: self.page_type.clone(),
                    tag: self.tag.clone(),
                    limit: self.limit,
                    ..GraphLayout::default()
                })?;
                self.print(context, &graph, Drawing::of_layout)
            }
        }
    }
}

impl GraphCommand {
    fn print<T: Show + serde::Serialize>(
        &self,
        context: &Context,
        graph: &T,
        drawing: impl FnOnce(&T) -> Drawing,
    ) -> Result<Outcome, Fault> {
        let text = match self.format {
            GraphFormat::Table => return context.show(graph),
            GraphFormat::Json => return Context { json: true, ..*context }.show(graph),
            _ if context.json => return Err(output::contradiction()),
            GraphFormat::Dot => dot(&drawing(graph)),
            GraphFormat::Mermaid => mermaid(&drawing(graph)),
        };
        Ok(Outcome { notes: graph.notes(), ..Outcome::text(text) })
    }
}

/// The nodes and edges of a graph, for Graphviz and Mermaid.
struct Drawing {
    nodes: Vec<DrawnNode>,
    edges: Vec<DrawnEdge>,
}

/// A page of a drawing.
struct DrawnNode {
    /// The name of the page with its source.
    name: String,
    title: String,
}

/// A link of a drawing.
struct DrawnEdge {
    /// The index of the page that has the link.
    from: u32,
    /// The index of the linked page.
    to: u32,
    /// The kind of the link, if known.
    kind: Option<String>,
}

impl Drawing {
    fn of(graph: &GraphReply) -> Self {
        let node = |it: &GraphNode| DrawnNode { name: full_name(it), title: it.title.clone() };
        let edges = graph.edges.iter().map(|it| DrawnEdge {
            from: it.from,
            to: it.to,
            kind: Some(it.kind.clone()),
        });
        Self { nodes: graph.nodes.iter().map(node).collect(), edges: edges.collect() }
    }

    fn of_layout(graph: &GraphLayoutReply) -> Self {
        let node =
            |it: &LayoutNode| DrawnNode { name: layout_name(graph, it), title: it.title.clone() };
        let edges = graph.edges.iter();
        Self {
            nodes: graph.nodes.iter().map(node).collect(),
            edges: edges.map(|it| DrawnEdge { from: it.from, to: it.to, kind: None }).collect(),
        }
    }
}

/// Returns the graph in the language of Graphviz.
fn dot(graph: &Drawing) -> String {
    let quoted =
        |text: &str| format!("\"{}\"", clean(text).replace('\\', "\\\\").replace('"', "\\\""));
    let name = |index: u32| graph.nodes.get(index as usize).map(|node| quoted(&node.name));
    let mut out = "digraph brain {\n  rankdir=LR;\n".to_owned();
    for node in &graph.nodes {
        out.push_str(&format!("  {} [label={}];\n", quoted(&node.name), quoted(&node.title)));
    }
    for DrawnEdge { from, to, kind } in &graph.edges {
        if let (Some(from), Some(to)) = (name(*from), name(*to)) {
            let label = kind.as_ref().map(|kind| format!(" [label={}]", quoted(kind)));
            out.push_str(&format!("  {from} -> {to}{};\n", label.unwrap_or_default()));
        }
    }
    out + "}\n"
}

/// Returns the graph in the language of Mermaid.
fn mermaid(graph: &Drawing) -> String {
    let quoted = |text: &str| {
        let text = clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        format!("\"{text}\"")
    };
    let mut out = "graph LR\n".to_owned();
    for (index, node) in graph.nodes.iter().enumerate() {
        out.push_str(&format!("  n{index}[{}]\n", quoted(&node.title)));
    }
    for DrawnEdge { from, to, kind } in &graph.edges {
        let label = kind.as_ref().map(|kind| format!("|{}|", quoted(kind))).unwrap_or_default();
        out.push_str(&format!("  n{from} -->{label} n{to}\n"));
    }
    out
}

const NODES: &[Column] = &[
    Column::fixed("STEPS").align_right().droppable(2),
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::flexible("TYPE", 6).droppable(3),
    Column::flexible("TITLE", 10).droppable(1),
];

const LAYOUT_NODES: &[Column] = &[
    Column::fixed("LINKS").align_right().droppable(2),
    Column::uncut("PAGE").with_paint(Paint::cyan),
    Column::flexible("TYPE", 6).droppable(3),
    Column::flexible("TITLE", 10).droppable(1),
];

const EDGES: &[Column] = &[
    Column::uncut("FROM").with_paint(Paint::cyan),
    Column::flexible("KIND", 8).droppable(1),
    Column::uncut("TO").with_paint(Paint::cyan),
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
        t.raw_line("");
        let node = |index: u32| self.nodes.get(index as usize);
        let name = |index: u32| node(index).map_or_else(|| "?".to_owned(), full_name);
        let mut edges = Table::new(EDGES);
        for (from, to, kinds) in merge_kinds(&self.edges) {
            edges.row([&name(from), &kinds, &name(to)]);
        }
        edges.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for node in &self.nodes {
            t.raw_line(&full_name(node));
        }
    }

    fn notes(&self) -> Vec<String> {
        let more = self.truncated.then(|| "more pages exist; --limit shows more".to_owned());
        more.into_iter().collect()
    }
}

/// Returns each pair of linked pages once, in the order of its first link, with the kinds of all
/// its links. A narrow table drops the kinds, so a pair must not be listed twice.
fn merge_kinds(edges: &[GraphEdge]) -> Vec<(u32, u32, String)> {
    let mut pairs: Vec<(u32, u32, String)> = Vec::new();
    let mut positions = HashMap::new();
    for edge in edges {
        let position = *positions.entry((edge.from, edge.to)).or_insert(pairs.len());
        match pairs.get_mut(position) {
            Some((_, _, kinds)) => kinds.push_str(&format!(", {}", edge.kind)),
            None => pairs.push((edge.from, edge.to, edge.kind.clone())),
        }
    }
    pairs
}

fn layout_name(graph: &GraphLayoutReply, node: &LayoutNode) -> String {
    let source = graph.sources.get(node.source as usize);
    source.map_or_else(|| node.slug.to_string(), |source| page_name(source, &node.slug))
}

impl Show for GraphLayoutReply {
    fn text(&self, t: &mut Text) {
        let mut nodes = Table::new(LAYOUT_NODES);
        for node in &self.nodes {
            let page_type = self.types.get(node.page_type as usize).map_or("", String::as_str);
            let links = node.links.to_string();
            nodes.row([&links, &layout_name(self, node), page_type, &node.title]);
        }
        nodes.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for node in &self.nodes {
            t.raw_line(&layout_name(self, node));
        }
    }

    fn notes(&self) -> Vec<String> {
        let shown = self.nodes.len() as u64;
        let more = (shown < self.total).then(|| format!("{shown} of {} pages", self.total));
        more.into_iter().collect()
    }
}
