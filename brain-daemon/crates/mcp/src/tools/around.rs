//! What is around a page: links, step by step.

use std::collections::{HashSet, VecDeque};

use brain_protocol::{
    Fault, FaultCode, Get, Graph, GraphReply, LinkRow, Links, PageRef, Reply, Request,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::twenty;
use super::read::TITLE;
use crate::answer::short;
use crate::cursor::{self, Cursors, Part};
use crate::tool::{Call, Effect};
use crate::trust::Trust;
use crate::{Desk, defect, near, place};
use brain_base::caller::Scope;

/// How many pages of a neighbourhood are looked at.
const AROUND: u32 = 1_000;
/// How many characters of what a link says are shown.
const TARGET: usize = 200;

/// The links of a page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetLinks {
    slug: String,
    #[serde(default)]
    direction: Direction,
    /// Steps away
    #[schemars(range(min = 1, max = 3))]
    #[serde(default = "one")]
    depth: u32,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "twenty")]
    limit: u32,
    cursor: Option<String>,
}

fn one() -> u32 {
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
    fn goes(self, way: Way) -> bool {
        match self {
            Self::Out => way == Way::Out,
            Self::In => way == Way::In,
            Self::Both => true,
        }
    }
}

/// Which way one link goes.
#[derive(Serialize, JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
enum Way {
    Out,
    In,
}

/// Links.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Linked {
    links: Vec<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A link.
#[derive(Serialize, JsonSchema)]
struct Link {
    direction: Way,
    /// The page at the other end, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    slug: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What the text says, when it leads to no one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// `missing` or `ambiguous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// `mentions`, or the frontmatter's key.
    kind: String,
    /// Steps away, when there may be more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    /// The page in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    /// Of `title` or `target`.
    trust: Trust,
}

impl Call for GetLinks {
    const NAME: &'static str = "get_links";
    const TITLE: &'static str = "Links of a page";
    const DESCRIPTION: &'static str = "Pages that a page links to (out) or that link to it (in), up to 3 steps away: who and what belongs together.";
    const SCOPE: Scope = Scope::Read;
    const EFFECT: Effect = Effect::Reads;
    type Output = Linked;

    fn call(self, desk: &Desk) -> Result<Linked, Fault> {
        let page = place::page(&self.slug)?;
        let cursors = Cursors::of(Self::NAME, &(&page, self.direction, self.depth));
        let after = cursors.place(self.cursor.as_deref())?;
        let (after, limit) = (after.as_deref(), self.limit as usize);
        let (part, more) = if self.depth == 1 {
            beside(desk, &page, self.direction, after, limit)?
        } else {
            around(desk, &page, self.direction, self.depth, after, limit)?
        };
        let end = part.next.is_none() && more;
        let note = end.then(|| {
            "there are more than can be shown; ask for one direction, or fewer steps".into()
        });
        Ok(Linked {
            links: part.rows,
            next_cursor: part.next.map(|place| cursors.after(&place)),
            note,
        })
    }
}

/// The links of one page, and whether the brain held more back than a cursor can reach.
fn beside(
    desk: &Desk,
    page: &PageRef,
    direction: Direction,
    after: Option<&str>,
    limit: usize,
) -> Result<(Part<Link>, bool), Fault> {
    let ask = |request| match desk.ask(request)? {
        Reply::Links(found) => Ok(found),
        _ => Err(defect()),
    };
    let links: Option<Result<Links, Fault>> =
        direction.goes(Way::Out).then(|| ask(Request::Links(page.clone())));
    let backlinks = direction.goes(Way::In).then(|| ask(Request::Backlinks(page.clone())));
    // A page that is not there yet can be linked to; then it has no links of its own.
    let backlinks = match (backlinks, &links) {
        (Some(Err(fault)), Some(Ok(_))) => return Err(fault),
        (Some(Err(fault)), _) => return near::or_near(desk, page, Err(fault)),
        (Some(Ok(found)), _) => Some(found),
        (None, _) => None,
    };
    let links = match (links, &backlinks) {
        (Some(Err(fault)), Some(_)) if fault.code == FaultCode::NotFound => None,
        (Some(Err(fault)), _) => return near::or_near(desk, page, Err(fault)),
        (Some(Ok(found)), _) => Some(found),
        (None, _) => None,
    };
    let more = [&links, &backlinks].into_iter().flatten().any(|found| found.truncated);
    let rows = |way, found: Option<Links>| {
        found.map_or_else(Vec::new, |found| found.links).into_iter().map(move |row| (way, row))
    };
    let mut all: Vec<(Way, LinkRow)> =
        rows(Way::Out, links).chain(rows(Way::In, backlinks)).collect();
    // One page may name another in several spellings; of one that is there only where it is is told.
    let mut seen = HashSet::new();
    all.retain(|(way, row)| {
        row.slug.is_none()
            || seen.insert((*way, row.source_id.clone(), row.slug.clone(), row.kind.clone()))
    });
    let mut own = None;
    let key = |(way, row): &(Way, LinkRow)| {
        format!("{way:?} {:?} {:?} {} {}", row.source_id, row.slug, row.target, row.kind)
    };
    let part = cursor::part(&all, false, after, limit, key, |(way, row)| {
        let live = match (&row.source_id, &row.slug) {
            (Some(source), Some(slug)) => Some(desk.name(source, slug)?),
            _ => None,
        };
        let trust = match (&live, own) {
            (Some(_), _) => Trust::of(row.source_kind.as_deref()),
            (None, Some(own)) => own,
            // Where no page is, the words are those of the page that was asked about.
            (None, None) => *own.insert(trust_of(desk, page)?),
        };
        Ok(Link {
            direction: *way,
            target: live.is_none().then(|| short(&row.target, TARGET)),
            problem: live.is_none().then(|| row.status.clone()),
            slug: live,
            title: row.title.as_deref().map(|title| short(title, TITLE)),
            kind: short(&row.kind, TARGET),
            depth: None,
            via: None,
            trust,
        })
    })?;
    Ok((part, more))
}

fn trust_of(desk: &Desk, page: &PageRef) -> Result<Trust, Fault> {
    match desk.ask(Request::Get(Get { page: page.clone(), version: None }))? {
        Reply::Page(page) => Ok(Trust::of(page.source_kind.as_deref())),
        _ => Err(defect()),
    }
}

/// The pages within `depth` steps, the nearest first, and whether there are more than were looked at.
fn around(
    desk: &Desk,
    page: &PageRef,
    direction: Direction,
    depth: u32,
    after: Option<&str>,
    limit: usize,
) -> Result<(Part<Link>, bool), Fault> {
    let asked = Request::Graph(Graph { page: page.clone(), depth, limit: AROUND });
    let Reply::Graph(graph) = near::or_near(desk, page, desk.ask(asked))? else {
        return Err(defect());
    };
    let steps = steps(&graph, direction, depth);
    let name = |at: usize| match graph.nodes.get(at) {
        Some(node) => desk.name(&node.source_id, &node.slug),
        None => Err(defect()),
    };
    let key = |step: &Step| {
        graph
            .nodes
            .get(step.to)
            .map(|node| format!("{}:{}", node.source_id, node.slug))
            .unwrap_or_default()
    };
    let part = cursor::part(&steps, false, after, limit, key, |step| {
        let node = graph.nodes.get(step.to).ok_or_else(defect)?;
        Ok(Link {
            direction: step.way,
            slug: Some(name(step.to)?),
            title: Some(short(&node.title, TITLE)),
            target: None,
            problem: None,
            kind: short(&step.kind, TARGET),
            depth: Some(step.depth),
            via: (step.depth > 1).then(|| name(step.from)).transpose()?,
            trust: Trust::of(node.source_kind.as_deref()),
        })
    })?;
    Ok((part, graph.truncated))
}

/// One step of a walk.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    from: usize,
    to: usize,
    way: Way,
    kind: String,
    depth: u32,
}

/// Walks from the first page of `graph` along links that go in this direction; each page is stepped to once, the nearest first.
fn steps(graph: &GraphReply, direction: Direction, depth: u32) -> Vec<Step> {
    let mut ways: Vec<Vec<(usize, Way, &str)>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        let (from, to) = (edge.from as usize, edge.to as usize);
        for (at, way, other) in [(from, Way::Out, to), (to, Way::In, from)] {
            if direction.goes(way)
                && other < graph.nodes.len()
                && let Some(ways) = ways.get_mut(at)
            {
                ways.push((other, way, &edge.kind));
            }
        }
    }
    let mut seen = vec![false; graph.nodes.len()];
    seen.first_mut().into_iter().for_each(|first| *first = true);
    let (mut found, mut next) = (Vec::new(), VecDeque::from([(0, 0)]));
    while let Some((from, at)) = next.pop_front() {
        if at == depth {
            break;
        }
        for &(to, way, kind) in ways.get(from).into_iter().flatten() {
            if !std::mem::replace(&mut seen[to], true) {
                found.push(Step { from, to, way, kind: kind.to_owned(), depth: at + 1 });
                next.push_back((to, at + 1));
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
        };
        let edge = |&(from, to): &(u32, u32)| GraphEdge { from, to, kind: "mentions".into() };
        GraphReply {
            nodes: nodes.iter().map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            truncated: false,
        }
    }

    fn walked(
        graph: &GraphReply,
        direction: Direction,
        depth: u32,
    ) -> Vec<(usize, usize, Way, u32)> {
        steps(graph, direction, depth)
            .into_iter()
            .map(|step| (step.from, step.to, step.way, step.depth))
            .collect()
    }

    #[test]
    fn a_walk_keeps_its_direction() {
        // a → b → c → a, d → a
        let graph = graph(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 0), (3, 0), (0, 0)]);
        assert_eq!(walked(&graph, Direction::Out, 1), [(0, 1, Way::Out, 1)]);
        assert_eq!(walked(&graph, Direction::Out, 3), [(0, 1, Way::Out, 1), (1, 2, Way::Out, 2)]);
        let inward = [(0, 2, Way::In, 1), (0, 3, Way::In, 1), (2, 1, Way::In, 2)];
        assert_eq!(walked(&graph, Direction::In, 2), inward);
        assert_eq!(walked(&graph, Direction::Both, 2).len(), 3);
        assert_eq!(walked(&super::tests::graph(&[], &[]), Direction::Both, 3), []);
    }
}
