//! Builds a coarser graph by merging linked pages.

use super::WeightedGraph;

/// Marks a page without a parent, and a parent without an entry.
const NONE: u32 = u32::MAX;

/// A coarser graph, and the parent of each finer page: the coarse page that contains it.
pub(super) struct CoarseGraph {
    pub(super) graph: WeightedGraph,
    pub(super) parent_of: Vec<u32>,
}

/// Merges each page with a neighbour. In a connected graph, at most half of the pages are left.
pub(super) fn merge(graph: &WeightedGraph) -> CoarseGraph {
    let (parent_of, count) = parents(graph);
    CoarseGraph { graph: contract(graph, &parent_of, count), parent_of }
}

/// Returns the parent of each page, and the number of parents. Pages with few links choose first,
/// so the leaves of a star all join its centre.
fn parents(graph: &WeightedGraph) -> (Vec<u32>, usize) {
    let mut order: Vec<u32> = (0..graph.len() as u32).collect();
    order.sort_by_key(|&page| graph.degree(page as usize));
    let mut parent_of = vec![NONE; graph.len()];
    let mut masses: Vec<f32> = Vec::new();
    for page in order {
        let page = page as usize;
        if parent_of[page] != NONE {
            continue;
        }
        let links = graph.links(page).iter().filter(|(other, _)| *other as usize != page);
        let strength = |other: u32, weight: f32| {
            let mass = match parent_of[other as usize] {
                NONE => graph.masses[other as usize],
                parent => masses[parent as usize],
            };
            (parent_of[other as usize] == NONE, weight / mass)
        };
        // Prefers a neighbour without a parent; among equals, a strong link to a small mass.
        let best = links
            .map(|&(other, weight)| (strength(other, weight), other))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        let parent = match best {
            Some(((false, _), other)) => parent_of[other as usize],
            _ => {
                masses.push(0.0);
                masses.len() as u32 - 1
            }
        };
        let free_neighbour =
            best.filter(|((is_free, _), _)| *is_free).map(|(_, other)| other as usize);
        for page in [Some(page), free_neighbour].into_iter().flatten() {
            parent_of[page] = parent;
            masses[parent as usize] += graph.masses[page];
        }
    }
    (parent_of, masses.len())
}

/// Returns the graph of the coarse pages. Their masses and the weights of their links are sums.
fn contract(graph: &WeightedGraph, parent_of: &[u32], count: usize) -> WeightedGraph {
    let (starts, children) = group_pages(parent_of, count);
    let mut coarse = WeightedGraph { starts: vec![0], links: Vec::new(), masses: Vec::new() };
    // For each coarse page: the index in `links` of the latest link to it. An index below `first`
    // belongs to a link from an earlier page.
    let mut entry_of = vec![NONE; count];
    for parent in 0..count {
        let first = coarse.links.len();
        let mut mass = 0.0;
        for &child in &children[starts[parent] as usize..starts[parent + 1] as usize] {
            mass += graph.masses[child as usize];
            for &(other, weight) in graph.links(child as usize) {
                let to = parent_of[other as usize];
                if to as usize == parent {
                    continue;
                }
                let entry = entry_of[to as usize];
                if entry != NONE && entry as usize >= first {
                    coarse.links[entry as usize].1 += weight;
                } else {
                    entry_of[to as usize] = coarse.links.len() as u32;
                    coarse.links.push((to, weight));
                }
            }
        }
        coarse.masses.push(mass);
        coarse.starts.push(coarse.links.len() as u32);
    }
    coarse
}

/// Returns the index at which each group begins in the list of pages, and that list, sorted by
/// group.
pub(super) fn group_pages(group_of: &[u32], groups: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; groups + 1];
    for &group in group_of {
        starts[group as usize + 1] += 1;
    }
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut pages = vec![0_u32; group_of.len()];
    for (page, &group) in group_of.iter().enumerate() {
        let index = &mut next[group as usize];
        pages[*index as usize] = page as u32;
        *index += 1;
    }
    (starts, pages)
}
