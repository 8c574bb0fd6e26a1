//! Islands: the connected components of a graph, and their positions.

use std::f32::consts::TAU;

use super::Point;
use super::coarse::group_pages;

/// The space around an island, in the unit of [`Point`].
const MARGIN: f32 = 1.0;

/// A connected component.
pub(super) struct Island<'a> {
    /// The pages of the island, ascending.
    pub(super) pages: &'a [u32],
    /// The links of the island, as pairs of indices in `pages`.
    pub(super) edges: Vec<(u32, u32)>,
}

/// The connected components of a graph.
pub(super) struct Islands {
    /// The index in `pages` at which each island begins.
    page_starts: Vec<u32>,
    /// The index in `edges` at which each island begins.
    edge_starts: Vec<u32>,
    /// All pages, sorted by island.
    pages: Vec<u32>,
    /// All links, sorted by island, as in [`Island::edges`].
    edges: Vec<(u32, u32)>,
    /// The islands, largest first.
    order: Vec<u32>,
}

impl Islands {
    /// Finds the islands of a graph with the pages `0..pages`.
    pub(super) fn of(pages: usize, edges: &[(u32, u32)]) -> Self {
        let (island_of, count) = find_islands(pages, edges);
        let (page_starts, members) = group_pages(&island_of, count);
        let mut local_index = vec![0_u32; pages];
        for island in 0..count {
            let (first, end) = (page_starts[island] as usize, page_starts[island + 1] as usize);
            for (index, &page) in members[first..end].iter().enumerate() {
                local_index[page as usize] = index as u32;
            }
        }
        let island_of_edge: Vec<u32> =
            edges.iter().map(|&(from, _)| island_of[from as usize]).collect();
        let (edge_starts, edge_order) = group_pages(&island_of_edge, count);
        let local_edge = |&edge: &u32| {
            let (from, to) = edges[edge as usize];
            (local_index[from as usize], local_index[to as usize])
        };
        let edges = edge_order.iter().map(local_edge).collect();
        let size = |island: usize| page_starts[island + 1] - page_starts[island];
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&island| std::cmp::Reverse(size(island as usize)));
        Self { page_starts, edge_starts, pages: members, edges, order }
    }

    /// Returns the islands, largest first.
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
            // The islands share the remaining space on the ring.
            let spread = TAU / angles.iter().sum::<f32>();
            let mut start = 0.0;
            for (island, width) in (next..end).zip(angles) {
                let (sin, cos) = (start + width * spread / 2.0).sin_cos();
                moves[island] = Point { x: ring * cos, y: ring * sin };
                start += width * spread;
            }
            inner = ring + thickness;
            next = end;
        }
        for (island, moved) in self.iter().zip(moves) {
            for &page in island.pages {
                points[page as usize].x += moved.x;
                points[page as usize].y += moved.y;
            }
        }
    }
}

/// Returns the angle that an island takes on a ring, in radians, given the radii of both.
fn angle(radius: f32, ring: f32) -> f32 {
    2.0 * (radius / ring).min(1.0).asin()
}

/// Returns the end of the islands from `next` that fit on a ring outside the radius `inner`. At
/// least one is taken.
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
    let mut parents: Vec<u32> = (0..pages as u32).collect();
    for &(from, to) in edges {
        let (a, b) = (find_root(&mut parents, from), find_root(&mut parents, to));
        parents[a.max(b) as usize] = a.min(b);
    }
    let (mut count, mut island_of) = (0, vec![0; pages]);
    // A root is the smallest page of its island, so it comes first.
    for page in 0..pages as u32 {
        let root = find_root(&mut parents, page);
        if root == page {
            island_of[page as usize] = count;
            count += 1;
        } else {
            island_of[page as usize] = island_of[root as usize];
        }
    }
    (island_of, count as usize)
}

/// Returns the root of a page, and shortens the path to it.
fn find_root(parents: &mut [u32], mut page: u32) -> u32 {
    while parents[page as usize] != page {
        parents[page as usize] = parents[parents[page as usize] as usize];
        page = parents[page as usize];
    }
    page
}
