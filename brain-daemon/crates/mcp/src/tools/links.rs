//! The tool `get_links`: the links of a page, up to three steps away.

use std::collections::{HashSet, VecDeque};

use brain_protocol::{
    Backlinks, Fault, FaultCode, Get, Graph, GraphReply, LinkRow, Links, LinksReply,
    Operation as _, OperationInfo, PageRef, TrustLevel,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::default_limit;
use super::read::MAX_TITLE;
use crate::answer::shorten;
use crate::cursor::{self, Cursors, ListPart};
use crate::tool::{Effect, ToolCall};
use crate::trust::TextTrust;
use crate::{ToolContext, missing_node, names};

/// The maximum number of pages that a walk visits.
const MAX_PAGES: u32 = 1_000;
/// Maximum number of shown characters of a link's text, and of its kind.
const MAX_TEXT_CHARS: usize = 200;

/// The links of a page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetLinks {
    slug: String,
    #[serde(default)]
    direction: Direction,
    /// Steps away
    #[schemars(range(min = 1, max = 3))]
    #[serde(default = "default_depth")]
    depth: u32,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "default_limit")]
    limit: u32,
    cursor: Option<String>,
}

fn default_depth() -> u32 {
    1
}

/// Which way links go.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Direction {
    /// From the page.
    Out,
    /// To the page.
    In,
    /// All.
    #[default]
    Both,
}

impl Direction {
    fn includes(self, direction: LinkDirection) -> bool {
        match self {
            Self::Out => direction == LinkDirection::Out,
            Self::In => direction == LinkDirection::In,
            Self::Both => true,
        }
    }
}

/// The direction of one link.
#[derive(Serialize, JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
enum LinkDirection {
    Out,
    In,
}

/// The output of `get_links`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinksOutput {
    links: Vec<ListedLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One link.
#[derive(Serialize, JsonSchema)]
struct ListedLink {
    direction: LinkDirection,
    /// The page at the other end, if it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    slug: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The link's text, if it does not lead to exactly one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// `missing` or `ambiguous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// `mentions`, or the key in the frontmatter.
    kind: String,
    /// Steps away, if more than one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    /// The previous page on the way, if the linked page is more than one step away.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    /// Who wrote `title` or `target`.
    trust: TextTrust,
}

impl ToolCall for GetLinks {
    const NAME: &'static str = "get_links";
    const TITLE: &'static str = "Links";
    const DESCRIPTION: &'static str = "Links from a page (out) and to it (in), up to 3 steps \
        away: who and what belongs together.";
    const OPERATIONS: &'static [OperationInfo] = &[
        brain_protocol::Get::INFO,
        brain_protocol::Links::INFO,
        brain_protocol::Backlinks::INFO,
        brain_protocol::Graph::INFO,
    ];
    const EFFECT: Effect = Effect::ReadOnly;
    type Output = LinksOutput;

    fn call(self, context: &ToolContext) -> Result<LinksOutput, Fault> {
        let page = names::find_page(context, &self.slug)?;
        let cursors = Cursors::of(Self::NAME, &(&page, self.direction, self.depth));
        let after = cursors.position(self.cursor.as_deref())?;
        let (after, limit) = (after.as_deref(), self.limit as usize);
        let (part, has_more) = if self.depth == 1 {
            direct_links(context, &page, self.direction, after, limit)?
        } else {
            linked_pages(context, &page, self.direction, self.depth, after, limit)?
        };
        let is_cut = part.next.is_none() && has_more;
        let note =
            is_cut.then(|| "not all links are shown; request one direction, or fewer steps".into());
        Ok(LinksOutput {
            links: part.rows,
            next_cursor: part.next.map(|position| cursors.after(&position)),
            note,
        })
    }
}

/// Returns the links of one page, and whether there are more than a cursor can reach.
fn direct_links(
    context: &ToolContext,
    page: &PageRef,
    direction: Direction,
    after: Option<&str>,
    limit: usize,
) -> Result<(ListPart<ListedLink>, bool), Fault> {
    let (links, backlinks) = both_directions(context, page, direction)?;
    let has_more = [&links, &backlinks].into_iter().flatten().any(|found| found.truncated);
    let rows = |direction, found: Option<LinksReply>| {
        let links = found.map_or_else(Vec::new, |found| found.links);
        links.into_iter().map(move |row| (direction, row))
    };
    let mut all: Vec<(LinkDirection, LinkRow)> =
        rows(LinkDirection::Out, links).chain(rows(LinkDirection::In, backlinks)).collect();
    // A page may link to another one in several spellings. Existing pages are listed once.
    let mut listed = HashSet::new();
    all.retain(|(direction, row)| {
        row.slug.is_none()
            || listed.insert((
                *direction,
                row.source_id.clone(),
                row.slug.clone(),
                row.kind.clone(),
            ))
    });
    let mut page_trust = None;
    let key = |(direction, row): &(LinkDirection, LinkRow)| {
        format!("{direction:?} {:?} {:?} {} {}", row.source_id, row.slug, row.target, row.kind)
    };
    let max_bytes = cursor::max_rows_bytes(limit, default_limit());
    let part = cursor::list_part(&all, false, after, limit, max_bytes, key, |(direction, row)| {
        let slug = match (&row.source_id, &row.slug) {
            (Some(source), Some(slug)) => Some(context.page_name(source, slug)?),
            _ => None,
        };
        let trust = match (&slug, page_trust) {
            (Some(_), _) => row.trust.into(),
            (None, Some(trust)) => trust,
            // The text of a link without a page was written by the author of the requested page.
            (None, None) => *page_trust.insert(trust_of(context, page)?),
        };
        Ok(ListedLink {
            direction: *direction,
            target: slug.is_none().then(|| shorten(&row.target, MAX_TEXT_CHARS)),
            problem: slug.is_none().then(|| row.status.to_string()),
            slug,
            title: row.title.as_deref().map(|title| shorten(title, MAX_TITLE)),
            kind: shorten(&row.kind, MAX_TEXT_CHARS),
            depth: None,
            via: None,
            trust,
        })
    })?;
    Ok((part, has_more))
}

/// Returns the links and the backlinks of a page, as far as `direction` includes them.
fn both_directions(
    context: &ToolContext,
    page: &PageRef,
    direction: Direction,
) -> Result<(Option<LinksReply>, Option<LinksReply>), Fault> {
    let links =
        direction.includes(LinkDirection::Out).then(|| context.run(Links { page: page.clone() }));
    let backlinks = direction
        .includes(LinkDirection::In)
        .then(|| context.run(Backlinks { page: page.clone() }));
    // A missing page can have backlinks, but no links.
    let backlinks = match (backlinks, &links) {
        (Some(Err(fault)), _) => return Err(fault),
        (Some(Ok(found)), _) => Some(found),
        (None, _) => None,
    };
    let links = match (links, &backlinks) {
        (Some(Err(fault)), Some(_)) if fault.code == FaultCode::NotFound => None,
        (Some(Err(fault)), _) => return Err(fault),
        // A shortened slug can be the whole slug of a missing page that has backlinks.
        (Some(Ok(found)), Some(back)) => (found.slug == back.slug).then_some(found),
        (Some(Ok(found)), None) => Some(found),
        (None, _) => None,
    };
    Ok((links, backlinks))
}

/// Returns the trust in the links of a page. A link does not say which line it is from, so one line
/// from outside suffices for [`TextTrust::Outside`].
fn trust_of(context: &ToolContext, page: &PageRef) -> Result<TextTrust, Fault> {
    let page = context.run(Get { page: page.clone(), version: None })?;
    Ok(if page.trust == TrustLevel::Owner { TextTrust::Owner } else { TextTrust::Outside })
}

/// Returns the pages within `depth` steps, the nearest first, and whether there are more.
fn linked_pages(
    context: &ToolContext,
    page: &PageRef,
    direction: Direction,
    depth: u32,
    after: Option<&str>,
    limit: usize,
) -> Result<(ListPart<ListedLink>, bool), Fault> {
    let operation = Graph { page: page.clone(), depth, limit: MAX_PAGES };
    let graph = context.run(operation)?;
    let steps = walk(&graph, direction, depth);
    let name = |at: usize| match graph.nodes.get(at) {
        Some(node) => context.page_name(&node.source_id, &node.slug),
        None => Err(missing_node()),
    };
    let key = |step: &WalkStep| {
        graph
            .nodes
            .get(step.to)
            .map(|node| format!("{}:{}", node.source_id, node.slug))
            .unwrap_or_default()
    };
    let max_bytes = cursor::max_rows_bytes(limit, default_limit());
    let part = cursor::list_part(&steps, false, after, limit, max_bytes, key, |step| {
        let node = graph.nodes.get(step.to).ok_or_else(missing_node)?;
        Ok(ListedLink {
            direction: step.direction,
            slug: Some(name(step.to)?),
            title: Some(shorten(&node.title, MAX_TITLE)),
            target: None,
            problem: None,
            kind: shorten(&step.kind, MAX_TEXT_CHARS),
            depth: Some(step.depth),
            via: (step.depth > 1).then(|| name(step.from)).transpose()?,
            trust: node.trust.into(),
        })
    })?;
    Ok((part, graph.truncated))
}

/// One step of a walk through the link graph. `from` and `to` are positions in its nodes.
#[derive(Debug, PartialEq, Eq)]
struct WalkStep {
    from: usize,
    to: usize,
    direction: LinkDirection,
    kind: String,
    depth: u32,
}

/// Walks breadth-first from the first page of `graph` along links of this direction. Visits each
/// page once.
fn walk(graph: &GraphReply, direction: Direction, depth: u32) -> Vec<WalkStep> {
    // For each node: the linked node, the direction of the link, and its kind.
    let mut neighbours: Vec<Vec<(usize, LinkDirection, &str)>> =
        vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        let (from, to) = (edge.from as usize, edge.to as usize);
        for (at, link_direction, other) in
            [(from, LinkDirection::Out, to), (to, LinkDirection::In, from)]
        {
            if direction.includes(link_direction)
                && other < graph.nodes.len()
                && let Some(neighbours) = neighbours.get_mut(at)
            {
                neighbours.push((other, link_direction, &edge.kind));
            }
        }
    }
    let mut visited = vec![false; graph.nodes.len()];
    visited.first_mut().into_iter().for_each(|first| *first = true);
    let (mut found, mut queue) = (Vec::new(), VecDeque::from([(0, 0)]));
    while let Some((from, steps)) = queue.pop_front() {
        if steps == depth {
            break;
        }
        for &(to, direction, kind) in neighbours.get(from).into_iter().flatten() {
            if !std::mem::replace(&mut visited[to], true) {
                let kind = kind.to_owned();
                found.push(WalkStep { from, to, direction, kind, depth: steps + 1 });
                queue.push_back((to, steps + 1));
            }
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_protocol::{GraphEdge, GraphNode, Slug, SourceId};

    fn graph(nodes: &[&str], edges: &[(u32, u32)]) -> GraphReply {
        let node = |slug: &&str| GraphNode {
            slug: Slug::parse(*slug).unwrap(),
            source_id: SourceId::default(),
            title: String::new(),
            page_type: String::new(),
            depth: 0,
            source_kind: None,
            trust: TrustLevel::Owner,
        };
        let edge = |&(from, to): &(u32, u32)| GraphEdge { from, to, kind: "mentions".into() };
        GraphReply {
            nodes: nodes.iter().map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            truncated: false,
        }
    }

    fn walk_tuples(
        graph: &GraphReply,
        direction: Direction,
        depth: u32,
    ) -> Vec<(usize, usize, LinkDirection, u32)> {
        walk(graph, direction, depth)
            .into_iter()
            .map(|step| (step.from, step.to, step.direction, step.depth))
            .collect()
    }

    #[test]
    fn a_walk_follows_the_requested_direction() {
        // a → b → c → a, d → a
        let graph = graph(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 0), (3, 0), (0, 0)]);
        assert_eq!(walk_tuples(&graph, Direction::Out, 1), [(0, 1, LinkDirection::Out, 1)]);
        assert_eq!(
            walk_tuples(&graph, Direction::Out, 3),
            [(0, 1, LinkDirection::Out, 1), (1, 2, LinkDirection::Out, 2)]
        );
        let inward = [
            (0, 2, LinkDirection::In, 1),
            (0, 3, LinkDirection::In, 1),
            (2, 1, LinkDirection::In, 2),
        ];
        assert_eq!(walk_tuples(&graph, Direction::In, 2), inward);
        assert_eq!(walk_tuples(&graph, Direction::Both, 2).len(), 3);
        assert_eq!(walk_tuples(&super::tests::graph(&[], &[]), Direction::Both, 3), []);
    }
}
