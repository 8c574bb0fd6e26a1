//! A graph in a few arrays: 48 bytes plus slug and title for each page, 8 bytes for each link.

use std::cmp::Reverse;
use std::collections::HashMap;

use brain_protocol::{SourceId, TrustLevel};

use super::layout::{Point, arrange};
use brain_pages::provenance::trust_of_row;
use brain_store::PageEntry;

/// A day, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Pages with their positions in the drawing, and the links between them.
#[derive(Default)]
pub(super) struct PackedGraph {
    pub(super) sources: Vec<SourceId>,
    /// The types of the pages, the most frequent first.
    pub(super) types: Vec<String>,
    /// The pages with the most links first.
    pub(super) pages: Vec<PackedPage>,
    /// Links as pairs of indices in `pages`: each link once, and none from a page to itself.
    pub(super) edges: Vec<(u32, u32)>,
    /// The slugs and titles of all pages, without separators.
    names: String,
}

/// A page of a graph.
#[derive(Clone, Copy)]
pub(super) struct PackedPage {
    pub(super) id: u64,
    /// The index of the source in [`PackedGraph::sources`].
    pub(super) source: u32,
    /// The index of the type in [`PackedGraph::types`].
    pub(super) page_type: u32,
    /// The number of links from and to the page.
    pub(super) links: u32,
    /// The day of creation, counted from 1970-01-01.
    pub(super) created_day: i32,
    /// The position in the drawing, from the left.
    pub(super) x: u16,
    /// The position in the drawing, in the other direction.
    pub(super) y: u16,
    pub(super) trust: TrustLevel,
    /// Offsets in `names`: the slug's start, the slug's end and title's start, the title's end.
    name: [u32; 3],
}

impl PackedGraph {
    /// Returns slug and title of a page.
    pub(super) fn names_of(&self, page: u32) -> (&str, &str) {
        names_of(&self.names, &self.pages[page as usize])
    }
}

/// Returns slug and title of a page from the text with all names.
fn names_of<'a>(names: &'a str, page: &PackedPage) -> (&'a str, &'a str) {
    let [begin, middle, end] = page.name.map(|offset| offset as usize);
    (&names[begin..middle], &names[middle..end])
}

/// Collects the pages of a graph.
#[derive(Default)]
pub(super) struct GraphBuilder {
    graph: PackedGraph,
    /// The index of each type.
    type_indices: HashMap<String, u32>,
}

impl GraphBuilder {
    /// Adds a page. Its index is the number of pages before it.
    pub(super) fn add(&mut self, (source, slug, record): &PageEntry) {
        let graph = &mut self.graph;
        // Pages are mostly added source by source.
        let source_index = match graph.sources.iter().rposition(|it| it == source) {
            Some(index) => index,
            None => {
                graph.sources.push(source.clone());
                graph.sources.len() - 1
            }
        };
        let page_type = match self.type_indices.get(&record.page_type) {
            Some(&index) => index,
            None => {
                let index = graph.types.len() as u32;
                graph.types.push(record.page_type.clone());
                self.type_indices.insert(record.page_type.clone(), index);
                index
            }
        };
        let begin = graph.names.len();
        graph.names.push_str(slug.as_str());
        let middle = graph.names.len();
        graph.names.push_str(&record.title);
        graph.pages.push(PackedPage {
            id: record.id,
            source: source_index as u32,
            page_type,
            links: 0,
            created_day: record.created_at.div_euclid(DAY_MS) as i32,
            x: 0,
            y: 0,
            trust: trust_of_row(record),
            name: [begin, middle, graph.names.len()].map(|offset| offset as u32),
        });
    }

    /// Returns the index of a page, or `None` if it was not added. The pages must have been added
    /// in the order of source and slug.
    pub(super) fn index_of(&self, source: &str, slug: &str) -> Option<u32> {
        let graph = &self.graph;
        let key = |page: &PackedPage| {
            (graph.sources[page.source as usize].as_str(), names_of(&graph.names, page).0)
        };
        let found = graph.pages.binary_search_by(|page| key(page).cmp(&(source, slug)));
        found.ok().map(|index| index as u32)
    }

    /// Returns the index of each page, by its id.
    pub(super) fn indices_by_id(&self) -> HashMap<u64, u32> {
        self.graph.pages.iter().zip(0..).map(|(page, index)| (page.id, index)).collect()
    }

    /// Completes the graph: counts the links, arranges the pages, and sorts pages and types.
    pub(super) fn finish(self, edges: Vec<(u32, u32)>) -> PackedGraph {
        let mut graph = self.graph;
        for &(from, to) in &edges {
            graph.pages[from as usize].links += 1;
            graph.pages[to as usize].links += 1;
        }
        let points = arrange(graph.pages.len(), &edges);
        for (page, (x, y)) in graph.pages.iter_mut().zip(in_square(&points)) {
            (page.x, page.y) = (x, y);
        }
        graph.edges = edges;
        sort_types(&mut graph);
        sort_pages(&mut graph);
        graph.names.shrink_to_fit();
        graph.pages.shrink_to_fit();
        graph
    }
}

/// Returns the points scaled to a square of 65536 by 65536: around the centre, within 64000.
fn in_square(points: &[Point]) -> impl Iterator<Item = (u16, u16)> {
    let mut low = points.first().copied().unwrap_or_default();
    let mut high = low;
    for point in points {
        low = Point { x: low.x.min(point.x), y: low.y.min(point.y) };
        high = Point { x: high.x.max(point.x), y: high.y.max(point.y) };
    }
    let middle = Point { x: (low.x + high.x) / 2.0, y: (low.y + high.y) / 2.0 };
    // A graph of few pages does not fill the square.
    let extent = (high.x - low.x).max(high.y - low.y).max(8.0);
    let scale = 64_000.0 / extent;
    let scaled = move |value: f32, middle: f32| ((value - middle) * scale + 32_768.0) as u16;
    points.iter().map(move |point| (scaled(point.x, middle.x), scaled(point.y, middle.y)))
}

/// Sorts the types by number of pages, then by name.
fn sort_types(graph: &mut PackedGraph) {
    let mut counts = vec![0_u32; graph.types.len()];
    for page in &graph.pages {
        counts[page.page_type as usize] += 1;
    }
    let mut order: Vec<usize> = (0..graph.types.len()).collect();
    order.sort_by_key(|&index| (Reverse(counts[index]), &graph.types[index]));
    let mut new_index = vec![0; order.len()];
    for (new, &former) in order.iter().enumerate() {
        new_index[former] = new as u32;
    }
    graph.types = order.iter().map(|&index| graph.types[index].clone()).collect();
    for page in &mut graph.pages {
        page.page_type = new_index[page.page_type as usize];
    }
}

/// Sorts the pages by number of links.
fn sort_pages(graph: &mut PackedGraph) {
    let mut order: Vec<u32> = (0..graph.pages.len() as u32).collect();
    order.sort_by_key(|&index| Reverse(graph.pages[index as usize].links));
    let mut new_index = vec![0; order.len()];
    for (new, &former) in order.iter().enumerate() {
        new_index[former as usize] = new as u32;
    }
    graph.pages = order.iter().map(|&index| graph.pages[index as usize]).collect();
    for (from, to) in &mut graph.edges {
        (*from, *to) = (new_index[*from as usize], new_index[*to as usize]);
    }
}
