//! A graph as binary data, for `assets/graph.js`. All numbers are little-endian.
//!
//! | content | type |
//! |---|---|
//! | `brg1`; the numbers of pages, of links, and of bytes of all names | 4 bytes; 3 `u32` |
//! | for each link: the positions of both pages | 2 `u32` |
//! | for each page: its number of links | `u32` |
//! | for each page: the day of its creation, in days since 1970-01-01 | `i32` |
//! | for each page: where its name ends, in bytes from the first name | `u32` |
//! | for each page: `x` and `y` | 2 `u16` |
//! | for each page: the position of its type, at most `u16::MAX` | `u16` |
//! | for each page: its name, which is `source:slug`, a line break, the title | UTF-8 |

use brain_protocol::{GraphLayoutReply, LayoutNode};

use crate::text::replace_deceptive;

/// The first bytes.
const MAGIC: &[u8; 4] = b"brg1";

/// Returns the bytes of a graph.
pub(super) fn encode(graph: &GraphLayoutReply) -> Vec<u8> {
    let (mut names, mut ends) = (String::new(), Vec::with_capacity(graph.nodes.len()));
    for node in &graph.nodes {
        let source = graph.sources.get(node.source as usize).map_or("", |source| source.as_str());
        names.push_str(source);
        names.push(':');
        names.push_str(node.slug.as_str());
        names.push('\n');
        names.push_str(&replace_deceptive(&node.title));
        ends.push(names.len() as u32);
    }
    let (pages, links) = (graph.nodes.len(), graph.edges.len());
    let mut out = Vec::with_capacity(16 + links * 8 + pages * 18 + names.len());
    out.extend(MAGIC);
    for count in [pages, links, names.len()] {
        out.extend((count as u32).to_le_bytes());
    }
    for edge in &graph.edges {
        out.extend(edge.from.to_le_bytes());
        out.extend(edge.to.to_le_bytes());
    }
    let mut push_each = |bytes: &dyn Fn(&LayoutNode) -> [u8; 4]| {
        out.extend(graph.nodes.iter().flat_map(bytes));
    };
    push_each(&|node| node.links.to_le_bytes());
    push_each(&|node| node.created_day.to_le_bytes());
    out.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
    out.extend(graph.nodes.iter().flat_map(|node| {
        let ([a, b], [c, d]) = (node.x.to_le_bytes(), node.y.to_le_bytes());
        [a, b, c, d]
    }));
    let type_of = |node: &LayoutNode| u16::try_from(node.page_type).unwrap_or(u16::MAX);
    out.extend(graph.nodes.iter().flat_map(|node| type_of(node).to_le_bytes()));
    out.extend(names.as_bytes());
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{LayoutEdge, Slug, SourceId, TrustLevel};

    use super::*;

    #[test]
    fn every_number_is_at_its_offset() {
        let node = |slug: &str, title: &str, links| LayoutNode {
            slug: Slug::parse(slug).unwrap(),
            source: 0,
            title: title.into(),
            page_type: 70_000,
            links,
            created_day: -1,
            x: 1,
            y: 65_535,
            trust: TrustLevel::Owner,
        };
        let graph = GraphLayoutReply {
            sources: vec![SourceId::default()],
            types: vec!["note".into()],
            nodes: vec![node("a", "A\u{202e}\n", 7), node("ü", "B", 0)],
            edges: vec![LayoutEdge { from: 1, to: 0 }],
            total: 2,
            truncated: false,
        };
        let names = "default:a\nA\u{fffd}\ndefault:ü\nB";
        let mut expected = b"brg1".to_vec();
        expected.extend(
            [2_u32, 1, names.len() as u32, 1, 0, 7, 0].iter().flat_map(|n| n.to_le_bytes()),
        );
        expected.extend([-1_i32, -1, 15, 27].iter().flat_map(|n| n.to_le_bytes()));
        expected.extend(
            [1_u16, 65_535, 1, 65_535, u16::MAX, u16::MAX].iter().flat_map(|n| n.to_le_bytes()),
        );
        expected.extend(names.as_bytes());
        assert_eq!(encode(&graph), expected);
    }
}
