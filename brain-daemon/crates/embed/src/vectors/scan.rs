//! Finds the visible pages nearest to a query, each by its best window.

use std::cmp::Ordering;

use super::NearPage;
use super::kernel::products;
use super::rows::{Rows, quantised};

/// Rows whose products are computed at once: the rows and their products fit into the L1 cache.
const BLOCK: usize = 1024;
/// Candidate rows for each requested page.
const CANDIDATES_PER_PAGE: usize = 5;
/// Minimum number of candidate rows.
const MIN_CANDIDATES: usize = 1000;
/// Found pages are pruned to the limit when they are this many times the limit.
const HELD_PER_PAGE: usize = 3;
/// Maximum windows of a page that are compared with another page's.
const MAX_COMPARED_WINDOWS: usize = 128;

/// Returns the `limit` pages nearest to `query`, nearest first.
pub(super) fn search(
    rows: &Rows,
    query: &[f32],
    limit: usize,
    admits: &dyn Fn(u64) -> bool,
) -> Vec<NearPage> {
    if limit == 0 || query.len() != rows.dimensions {
        return Vec::new();
    }
    let (numbers, scale) = quantised(query);
    let mut best = NearestPages::new(rows, limit, admits);
    match &rows.sketch {
        None => {
            let mut dot_products = [0; BLOCK];
            for (at, block) in rows.numbers.chunks(BLOCK * rows.dimensions).enumerate() {
                products(&numbers, block, &mut dot_products);
                let first = at * BLOCK;
                let scales = rows.scales.get(first..).unwrap_or_default();
                for (nth, (product, row_scale)) in dot_products.iter().zip(scales).enumerate() {
                    best.offer(first + nth, *product as f32 * (scale * row_scale));
                }
            }
        }
        Some(sketch) => {
            let min_rows = MIN_CANDIDATES.max(CANDIDATES_PER_PAGE * limit);
            for row in candidates(&sketch.differences(query), min_rows, &mut best) {
                let mut product = [0];
                products(&numbers, rows.numbers(row), &mut product);
                let row_scale = rows.scales.get(row).copied().unwrap_or_default();
                best.offer(row, product[0] as f32 * (scale * row_scale));
            }
        }
    }
    best.into_pages()
}

/// Returns the `limit` of `pages` nearest to `query`, nearest first. Compares all their rows,
/// without sketches.
pub(super) fn among(
    rows: &Rows,
    query: &[f32],
    limit: usize,
    pages: &mut dyn Iterator<Item = u64>,
) -> Vec<NearPage> {
    if limit == 0 || query.len() != rows.dimensions {
        return Vec::new();
    }
    let (numbers, scale) = quantised(query);
    let mut near_pages: Vec<NearPage> = Vec::new();
    for page in pages {
        let mut nearest: Option<NearPage> = None;
        for &row in rows.rows_of(page) {
            let row = row as usize;
            let (Some(owner), Some(row_scale)) = (rows.owners.get(row), rows.scales.get(row))
            else {
                continue;
            };
            let mut product = [0];
            products(&numbers, rows.numbers(row), &mut product);
            let cosine = (product[0] as f32 * (scale * row_scale)).clamp(-1.0, 1.0);
            if nearest.is_none_or(|nearest| cosine > nearest.cosine) {
                nearest = Some(NearPage { page, cosine, start: owner.start, end: owner.end });
            }
        }
        near_pages.extend(nearest);
    }
    if near_pages.len() > limit {
        near_pages.select_nth_unstable_by(limit - 1, order);
        near_pages.truncate(limit);
    }
    near_pages.sort_by(order);
    near_pages
}

/// Returns the rows of visible pages with the fewest differing bits: at least `min_rows`, if there
/// are as many.
fn candidates(differences: &[u16], min_rows: usize, best: &mut NearestPages<'_>) -> Vec<usize> {
    let max = differences.iter().copied().max().unwrap_or_default();
    let mut counts = vec![0_usize; usize::from(max) + 1];
    for difference in differences {
        if let Some(count) = counts.get_mut(usize::from(*difference)) {
            *count += 1;
        }
    }
    let mut out = Vec::with_capacity(2 * min_rows);
    let mut from = 0_u16;
    // Usually one round; more when many of the nearest rows are of hidden pages.
    while out.len() < min_rows && from <= max {
        let (mut to, mut sum) = (from, 0);
        for count in counts.iter().skip(usize::from(from)) {
            sum += count;
            to += 1;
            if sum >= min_rows - out.len() {
                break;
            }
        }
        let nearer = differences
            .iter()
            .enumerate()
            .filter(|(_, difference)| (from..to).contains(*difference));
        out.extend(nearer.map(|(row, _)| row).filter(|row| best.is_visible(*row)));
        from = to;
    }
    out
}

/// Returns the cosine between the nearest windows of two pages; `None` if one has no windows.
pub(super) fn similarity(rows: &Rows, one: u64, other: u64) -> Option<f32> {
    let sampled_rows = |page| {
        let all = rows.rows_of(page);
        all.iter().step_by(all.len().div_ceil(MAX_COMPARED_WINDOWS).max(1)).map(|row| *row as usize)
    };
    let mut nearest: Option<f32> = None;
    for a in sampled_rows(one) {
        let scale = rows.scales.get(a).copied().unwrap_or_default();
        for b in sampled_rows(other) {
            let mut product = [0];
            products(rows.numbers(a), rows.numbers(b), &mut product);
            let other_scale = rows.scales.get(b).copied().unwrap_or_default();
            let cosine = product[0] as f32 * scale * other_scale;
            nearest = Some(nearest.map_or(cosine, |nearest| nearest.max(cosine)));
        }
    }
    nearest.map(|cosine| cosine.clamp(-1.0, 1.0))
}

/// The best pages so far. Holds more pages than the limit, and prunes them when there are
/// [`HELD_PER_PAGE`] times as many.
struct NearestPages<'a> {
    rows: &'a Rows,
    limit: usize,
    admits: &'a dyn Fn(u64) -> bool,
    /// State of each slot.
    slot_states: Vec<SlotState>,
    /// Found slots with their best windows.
    found: Vec<(u32, NearPage)>,
    /// Pages below this cosine cannot be among the best.
    min_cosine: f32,
}

/// State of a page in a search.
#[derive(Clone, Copy)]
enum SlotState {
    /// The page was not checked yet.
    Unchecked,
    /// The page is not visible.
    Hidden,
    /// The page is visible and not in `found`.
    Open,
    /// The page is in `found`, at this index.
    Found(u32),
}

impl<'a> NearestPages<'a> {
    fn new(rows: &'a Rows, limit: usize, admits: &'a dyn Fn(u64) -> bool) -> Self {
        let limit = limit.min(rows.pages());
        Self {
            rows,
            limit,
            admits,
            slot_states: vec![SlotState::Unchecked; rows.slots()],
            found: Vec::with_capacity(HELD_PER_PAGE * limit),
            min_cosine: f32::NEG_INFINITY,
        }
    }

    /// Returns whether the page of a row is visible. Checks each page once.
    fn is_visible(&mut self, row: usize) -> bool {
        let Some(owner) = self.rows.owners.get(row) else { return false };
        let Some(state) = self.slot_states.get_mut(owner.slot as usize) else { return false };
        if matches!(state, SlotState::Unchecked) {
            let admitted = (self.admits)(self.rows.page(owner.slot));
            *state = if admitted { SlotState::Open } else { SlotState::Hidden };
        }
        !matches!(state, SlotState::Hidden)
    }

    /// Adds a row unless its page cannot be among the best.
    #[inline(always)]
    fn offer(&mut self, row: usize, cosine: f32) {
        if cosine >= self.min_cosine {
            self.add(row, cosine);
        }
    }

    /// Adds a row if its page is visible and has no better row.
    #[inline(never)]
    fn add(&mut self, row: usize, cosine: f32) {
        if !self.is_visible(row) {
            return;
        }
        let Some(owner) = self.rows.owners.get(row).copied() else { return };
        let Some(state) = self.slot_states.get_mut(owner.slot as usize) else { return };
        let near = NearPage {
            page: self.rows.page(owner.slot),
            cosine,
            start: owner.start,
            end: owner.end,
        };
        if let SlotState::Found(at) = *state
            && let Some((_, old)) = self.found.get_mut(at as usize)
        {
            // Of equally near windows, the first one in the page counts.
            if cosine > old.cosine || (cosine == old.cosine && near.start < old.start) {
                *old = near;
            }
            return;
        }
        *state = SlotState::Found(self.found.len() as u32);
        self.found.push((owner.slot, near));
        if self.found.len() >= HELD_PER_PAGE * self.limit {
            self.prune();
        }
    }

    /// Keeps only the best pages.
    fn prune(&mut self) {
        if self.found.len() <= self.limit || self.limit == 0 {
            return;
        }
        let (_, least, _) =
            self.found.select_nth_unstable_by(self.limit - 1, |a, b| order(&a.1, &b.1));
        self.min_cosine = least.1.cosine;
        for (slot, _) in self.found.drain(self.limit..) {
            if let Some(state) = self.slot_states.get_mut(slot as usize) {
                *state = SlotState::Open;
            }
        }
        for (at, (slot, _)) in (0_u32..).zip(&self.found) {
            if let Some(state) = self.slot_states.get_mut(*slot as usize) {
                *state = SlotState::Found(at);
            }
        }
    }

    fn into_pages(mut self) -> Vec<NearPage> {
        self.prune();
        let mut pages: Vec<NearPage> = self.found.into_iter().map(|(_, near)| near).collect();
        pages.sort_by(order);
        // Rounding can exceed the range slightly.
        pages.iter_mut().for_each(|near| near.cosine = near.cosine.clamp(-1.0, 1.0));
        pages
    }
}

/// Orders by cosine, nearest first, then by id.
fn order(a: &NearPage, b: &NearPage) -> Ordering {
    b.cosine.total_cmp(&a.cosine).then(a.page.cmp(&b.page))
}
