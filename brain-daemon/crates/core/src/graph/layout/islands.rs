//! Islands: the connected components of a graph, and their positions.

use std::f32::consts::TAU;

use super::Point;
use super::coarse::group_pages;

/// The space around an island.
const MARGIN: f32 = 1.0;

/// A connected component.
pub(super) struct Island<'a> {
    /// Its pages, ascending.
    pub(super) pages: &'a [u32],
    /// Its links, between positions in `pages`.
    pub(super) edges: Vec<(u32, u32)>,
}

/// The connected components of a graph, largest first.
pub(super) struct Islands {
    /// Where the pages and edges of each island begin.
    page_starts: Vec<u32>,
    edge_starts: Vec<u32>,
    pages: Vec<u32>,
    edges: Vec<(u32, u32)>,
    order: Vec<u32>,
}

impl Islands {
    pub(super) fn of(pages: usize, edges: &[(u32, u32)]) -> Self {
        let (island_of, count) = find_islands(pages, edges);
        let (page_starts, members) = group_pages(&island_of, count);
        let mut place = vec![0_u32; pages];
        for island in 0..count {
            let (first, end) = (page_starts[island] as usize, page_starts[island + 1] as usize);
            for (at, &page) in members[first..end].iter().enumerate() {
                place[page as usize] = at as u32;
            }
        }
        let of_edges: Vec<u32> = edges.iter().map(|&(from, _)| island_of[from as usize]).collect();
        let (edge_starts, edge_order) = group_pages(&of_edges, count);
        let local = |&edge: &u32| {
            let (from, to) = edges[edge as usize];
            (place[from as usize], place[to as usize])
        };
        let edges = edge_order.iter().map(local).collect();
        let size = |island: usize| page_starts[island + 1] - page_starts[island];
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&island| std::cmp::Reverse(size(island as usize)));
        Self { page_starts, edge_starts, pages: members, edges, order }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Island<'_>> {
        let part = |starts: &[u32], island: u32| {
            starts[island as usize] as usize..starts[island as usize + 1] as usize
        };
        self.order.iter().map(move |&island| Island {
            pages: &self.pages[part(&self.page_starts, island)],
            edges: self.edges[part(&self.edge_starts, island)].to_vec(),
        })
    }

    /// Moves the islands, which are all at the origin: the largest stays there, and the others go
    /// on rings around it, larger ones on inner rings.
    pub(super) fn put_on_rings(&self, points: &mut [Point]) {
        let radius = |pages: &[u32]| {
            let far = |&page: &u32| points[page as usize].x.hypot(points[page as usize].y);
            pages.iter().map(far).fold(0.0, f32::max) + MARGIN
        };
        let radii: Vec<f32> = self.iter().map(|island| radius(island.pages)).collect();
        let Some(&first) = radii.first() else { return };
        let (mut inner, mut next) = (first, 1);
        let mut moves = vec![Point::default(); radii.len()];
        while next < radii.len() {
            let end = ring_end(&radii, next, inner);
            let thickness = radii[next..end].iter().copied().fold(0.0, f32::max);
            let ring = inner + thickness;
            let angles: Vec<f32> = radii[next..end].iter().map(|&own| angle(own, ring)).collect();
            // The islands share the space that is left.
            let spread = TAU / angles.iter().sum::<f32>();
            let mut at = 0.0;
            for (island, width) in (next..end).zip(angles) {
                let turn = (at + width * spread / 2.0).sin_cos();
                moves[island] = Point { x: ring * turn.1, y: ring * turn.0 };
                at += width * spread;
            }
            inner = ring + thickness;
            next = end;
        }
        for (island, to) in self.iter().zip(moves) {
            for &page in island.pages {
                points[page as usize].x += to.x;
                points[page as usize].y += to.y;
            }
        }
    }
}

/// Returns the angle that an island with this radius takes on a ring.
fn angle(radius: f32, ring: f32) -> f32 {
    2.0 * (radius / ring).min(1.0).asin()
}

/// Returns the end of the islands from `next` that fit on a ring around the radius `inner`.
fn ring_end(radii: &[f32], next: usize, inner: f32) -> usize {
    let (mut end, mut thickness, mut angles) = (next, 0.0_f32, 0.0);
    while end < radii.len() {
        thickness = thickness.max(radii[end]);
        angles += angle(radii[end], inner + thickness);
        if angles > TAU && end > next {
            break;
        }
        end += 1;
    }
    end
}

/// Returns the island of each page, and their number.
fn find_islands(pages: usize, edges: &[(u32, u32)]) -> (Vec<u32>, usize) {
    let mut root: Vec<u32> = (0..pages as u32).collect();
    for &(from, to) in edges {
        let (a, b) = (find(&mut root, from), find(&mut root, to));
        root[a.max(b) as usize] = a.min(b);
    }
    let (mut count, mut island_of) = (0, vec![0; pages]);
    // A root is the smallest page of its island, so it comes first.
    for page in 0..pages as u32 {
        let own = find(&mut root, page);
        if own == page {
            island_of[page as usize] = count;
            count += 1;
        } else {
            island_of[page as usize] = island_of[own as usize];
        }
    }
    (island_of, count as usize)
}

/// Returns the root of a page, and shortens the path to it.
fn find(root: &mut [u32], mut page: u32) -> u32 {
    while root[page as usize] != page {
        root[page as usize] = root[root[page as usize] as usize];
        page = root[page as usize];
    }
    page
}
