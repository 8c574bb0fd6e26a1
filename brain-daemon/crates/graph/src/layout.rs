//! Positions for the pages of a graph. No I/O, and the same graph always gets the same positions.
//!
//! Each island (a connected part) is arranged by itself. `coarse` merges linked pages again and
//! again, until few are left; each finer graph begins at the positions of the coarser one and moves
//! for some rounds by the forces of `forces`. Then the islands are put on rings around the largest.
//! Time and memory grow in proportion to pages and links.

mod coarse;
mod forces;
mod islands;

use coarse::{CoarseGraph, merge};
use forces::Forces;
use islands::Islands;

/// Maximum number of pages of the coarsest graph. Larger graphs are made coarser.
const MAX_COARSEST_PAGES: usize = 40;
/// Rounds of the coarsest graph.
const FIRST_ROUNDS: u32 = 80;
/// Minimum rounds of a finer graph.
const MIN_ROUNDS: u32 = 14;
/// Maximum rounds of a finer graph.
const MAX_ROUNDS: u32 = 60;
/// Target for rounds times pages of a finer graph. The rounds stay within [`MIN_ROUNDS`] and
/// [`MAX_ROUNDS`].
const MOVES: u32 = 200_000;

/// A position. The mean distance between neighbours is about 2.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

/// A weighted graph, on which the forces act.
#[derive(Debug, Default)]
struct WeightedGraph {
    /// The index in `links` of the first entry of each page, then the length of `links`.
    starts: Vec<u32>,
    /// The other end of each link and its weight. Each link has two entries.
    links: Vec<(u32, f32)>,
    /// The mass of each page. A page pushes other pages away in proportion to its mass.
    masses: Vec<f32>,
}

impl WeightedGraph {
    /// Creates a graph in which the mass of a page is 1 plus the number of its links. `edges` are
    /// between the pages `0..pages`; a link from a page to itself is ignored.
    fn new(pages: usize, edges: &[(u32, u32)]) -> Self {
        let edges = || edges.iter().filter(|(from, to)| from != to);
        let mut starts = vec![0_u32; pages + 1];
        for &(from, to) in edges() {
            starts[from as usize + 1] += 1;
            starts[to as usize + 1] += 1;
        }
        let masses = starts[1..].iter().map(|&links| 1.0 + links as f32).collect();
        for page in 0..pages {
            starts[page + 1] += starts[page];
        }
        let mut next = starts.clone();
        let mut links = vec![(0, 1.0); starts[pages] as usize];
        for &(from, to) in edges() {
            for (page, other) in [(from, to), (to, from)] {
                let entry = &mut next[page as usize];
                links[*entry as usize].0 = other;
                *entry += 1;
            }
        }
        Self { starts, links, masses }
    }

    fn len(&self) -> usize {
        self.masses.len()
    }

    fn links(&self, page: usize) -> &[(u32, f32)] {
        &self.links[self.starts[page] as usize..self.starts[page + 1] as usize]
    }

    fn degree(&self, page: usize) -> u32 {
        self.starts[page + 1] - self.starts[page]
    }
}

/// A sequence of pseudorandom numbers that is the same in every run (SplitMix64).
struct RandomNumbers(u64);

impl RandomNumbers {
    /// Returns a number from -1 to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    fn next_point(&mut self, scale: f32) -> Point {
        Point { x: self.next() * scale, y: self.next() * scale }
    }
}

/// Returns a position for each of the pages `0..pages`, which `edges` connect.
pub(crate) fn arrange(pages: usize, edges: &[(u32, u32)]) -> Vec<Point> {
    let islands = Islands::of(pages, edges);
    let mut points = vec![Point::default(); pages];
    for island in islands.iter() {
        let island_points = arrange_island(island.pages.len(), &island.edges);
        for (&page, point) in island.pages.iter().zip(island_points) {
            points[page as usize] = point;
        }
    }
    islands.put_on_rings(&mut points);
    points
}

/// Arranges a connected graph around the origin.
fn arrange_island(pages: usize, edges: &[(u32, u32)]) -> Vec<Point> {
    match pages {
        0 | 1 => return vec![Point::default(); pages],
        2 => return vec![Point { x: -1.5, y: 0.0 }, Point { x: 1.5, y: 0.0 }],
        _ => {}
    }
    // Each finer graph, and the parent of each of its pages: the page that contains it in the next
    // coarser graph.
    let mut finer: Vec<(WeightedGraph, Vec<u32>)> = Vec::new();
    let mut graph = WeightedGraph::new(pages, edges);
    while graph.len() > MAX_COARSEST_PAGES {
        let CoarseGraph { graph: coarse, parent_of } = merge(&graph);
        finer.push((std::mem::replace(&mut graph, coarse), parent_of));
    }
    let mut sequence = RandomNumbers(pages as u64);
    let reach = vec![graph.masses.iter().sum::<f32>().sqrt(); graph.len()];
    let mut points: Vec<Point> = reach.iter().map(|&reach| sequence.next_point(reach)).collect();
    Forces::new(&graph, &reach).run(&mut points, FIRST_ROUNDS, &mut sequence);
    while let Some((finer_graph, parent_of)) = finer.pop() {
        let reach_of = |&parent: &u32| graph.masses[parent as usize].sqrt();
        let reach: Vec<f32> = parent_of.iter().map(reach_of).collect();
        points = refine(&points, &parent_of, &reach, &mut sequence);
        graph = finer_graph;
        let rounds = (MOVES / graph.len() as u32).clamp(MIN_ROUNDS, MAX_ROUNDS);
        Forces::new(&graph, &reach).run(&mut points, rounds, &mut sequence);
    }
    centre(&mut points);
    points
}

/// Returns a point for each page of a finer graph, near the point of its parent: in each direction
/// at most half of its `reach` away.
fn refine(
    coarse: &[Point],
    parent_of: &[u32],
    reach: &[f32],
    sequence: &mut RandomNumbers,
) -> Vec<Point> {
    let near = |(&parent, &reach): (&u32, &f32)| {
        let (centre, offset) = (coarse[parent as usize], sequence.next_point(0.5 * reach));
        Point { x: centre.x + offset.x, y: centre.y + offset.y }
    };
    parent_of.iter().zip(reach).map(near).collect()
}

/// Moves the points so that their mean is the origin.
fn centre(points: &mut [Point]) {
    let count = points.len().max(1) as f64;
    let sum = points.iter().fold((0.0, 0.0), |sum, at| {
        (sum.0 + f64::from(at.x) / count, sum.1 + f64::from(at.y) / count)
    });
    for point in points {
        point.x -= sum.0 as f32;
        point.y -= sum.1 as f32;
    }
}

#[cfg(test)]
mod tests;
