//! The domain bank: selects pages far from the question by their slugs. No I/O.
//!
//! Pages are grouped by their first two slug segments. Groups with a close page are excluded; every
//! other group has one representative. Groups alternate between first segments, those without a
//! close page first. In a brain of `people/…` pages each page is its own group, and six people are
//! not six domains. The result never exceeds the requested size.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use brain_protocol::{Slug, SourceId};

/// Pages without a change for this long are stale, in milliseconds.
const STALE_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// Facts about a page that need no reading of its text.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The page id.
    pub(super) id: u64,
    /// The source.
    pub(super) source: SourceId,
    /// The slug.
    pub(super) slug: Slug,
    /// Staleness from 0 to 2; always 0 if the profile ignores it.
    pub(super) stale: u8,
    /// Approximate number of inbound links.
    pub(super) links: u32,
}

/// The selected far set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DomainBank {
    /// Page ids, best first, and whether each represents its group.
    pub(super) pages: Vec<(u64, bool)>,
    /// Whether there were too few groups.
    pub(super) has_too_few_groups: bool,
}

/// Returns the staleness of a page: 2 if it is old and was never edited, 1 if the last edit is old.
pub(super) fn staleness(version: u32, updated_at: i64, now: i64) -> u8 {
    match now.saturating_sub(updated_at) > STALE_MS {
        true if version <= 1 => 2,
        true => 1,
        false => 0,
    }
}

/// Selects at most `max` candidates far from the pages in `close`.
pub(super) fn select(candidates: &[Candidate], close: &[(u64, Slug)], max: usize) -> DomainBank {
    let near_ids: HashSet<u64> = close.iter().map(|(id, _)| *id).collect();
    let near_groups: HashSet<&str> = close.iter().map(|(_, slug)| group(slug)).collect();
    let near_tops: HashSet<&str> = close.iter().map(|(_, slug)| top(slug)).collect();
    let free = || candidates.iter().filter(|page| !near_ids.contains(&page.id));

    let mut representatives: BTreeMap<&str, &Candidate> = BTreeMap::new();
    for page in free().filter(|page| !near_groups.contains(group(&page.slug))) {
        let representative = representatives.entry(group(&page.slug)).or_insert(page);
        if rank(page) < rank(representative) {
            *representative = page;
        }
    }
    let mut tops: BTreeMap<&str, Vec<&Candidate>> = BTreeMap::new();
    for page in representatives.into_values() {
        tops.entry(top(&page.slug)).or_default().push(page);
    }
    tops.values_mut().for_each(|pages| pages.sort_unstable_by_key(|page| rank(page)));
    let (near, far): (Vec<_>, Vec<_>) =
        tops.into_iter().partition(|(top, _)| near_tops.contains(top));
    let mut pages = Vec::with_capacity(max);
    for tops in [far, near] {
        round_robin(tops.into_iter().map(|(_, pages)| pages).collect(), max, &mut pages);
    }
    let has_too_few_groups = pages.len() < max;
    if has_too_few_groups {
        let taken: HashSet<u64> = pages.iter().map(|page| page.id).collect();
        let mut rest: Vec<&Candidate> = free().filter(|page| !taken.contains(&page.id)).collect();
        rest.sort_unstable_by_key(|page| (near_groups.contains(group(&page.slug)), rank(page)));
        rest.truncate(max - pages.len());
        let domains = pages.len();
        pages.extend(rest);
        let origin = |(at, page): (usize, &Candidate)| (page.id, at < domains);
        return DomainBank {
            pages: pages.into_iter().enumerate().map(origin).collect(),
            has_too_few_groups,
        };
    }
    DomainBank {
        pages: pages.into_iter().map(|page| (page.id, true)).collect(),
        has_too_few_groups,
    }
}

/// Takes one page of each list in turn until `out` has `max`. The list with the best first page
/// goes first.
fn round_robin<'a>(mut lists: Vec<Vec<&'a Candidate>>, max: usize, out: &mut Vec<&'a Candidate>) {
    lists.sort_unstable_by_key(|pages| pages.first().map(|page| rank(page)));
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest)
        .flat_map(|turn| lists.iter().filter_map(move |pages| pages.get(turn).copied()));
    let room = max - out.len().min(max);
    out.extend(turns.take(room));
}

/// Orders by staleness, links and slug. Ranks are unique.
fn rank(page: &Candidate) -> (Reverse<u8>, Reverse<u32>, &Slug, &SourceId) {
    (Reverse(page.stale), Reverse(page.links), &page.slug, &page.source)
}

/// Returns the first two segments.
fn group(slug: &Slug) -> &str {
    let text = slug.as_str();
    text.match_indices('/').nth(1).map_or(text, |(at, _)| &text[..at])
}

/// Returns the first segment.
fn top(slug: &Slug) -> &str {
    slug.as_str().split('/').next().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(id: u64, slug: &str, stale: u8, links: u32) -> Candidate {
        Candidate {
            id,
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            stale,
            links,
        }
    }

    fn close(id: u64, slug: &str) -> (u64, Slug) {
        (id, Slug::parse(slug).unwrap())
    }

    fn ids(domain_bank: &DomainBank) -> Vec<u64> {
        domain_bank.pages.iter().map(|(id, _)| *id).collect()
    }

    #[test]
    fn representative_is_chosen_by_rank() {
        let pages = [
            page(1, "a/x/one", 0, 9),
            page(2, "a/x/two", 1, 0),
            page(3, "b/y/one", 0, 1),
            page(4, "b/y/two", 0, 2),
            page(5, "c/z/b", 0, 0),
            page(6, "c/z/a", 0, 0),
        ];
        let domain_bank = select(&pages, &[], 3);
        assert_eq!((ids(&domain_bank), domain_bank.has_too_few_groups), (vec![2, 4, 6], false));
    }

    #[test]
    fn groups_with_close_pages_are_excluded() {
        let pages = [page(1, "a/x/one", 0, 0), page(2, "a/x/two", 0, 50), page(3, "a/y/one", 0, 0)];
        let domain_bank = select(&pages, &[close(1, "a/x/one")], 1);
        assert_eq!(domain_bank, DomainBank { pages: vec![(3, true)], has_too_few_groups: false });
    }

    #[test]
    fn groups_alternate_between_first_segments() {
        let pages = [
            page(1, "people/ann", 0, 90),
            page(2, "people/bob", 0, 80),
            page(3, "meetings/one", 0, 5),
            page(4, "meetings/two", 0, 4),
            page(5, "concepts/one", 0, 3),
            page(6, "concepts/two", 0, 2),
        ];
        let domain_bank = select(&pages, &[close(1, "people/ann")], 5);
        assert_eq!(ids(&domain_bank), [3, 5, 4, 6, 2]);
        assert!(!domain_bank.has_too_few_groups);
    }

    #[test]
    fn too_few_groups_are_filled_up() {
        let pages = [
            page(1, "a/x/one", 0, 0),
            page(2, "a/x/two", 0, 9),
            page(3, "b/y/one", 0, 2),
            page(4, "b/y/two", 0, 1),
        ];
        let domain_bank = select(&pages, &[close(1, "a/x/one")], 3);
        // Remaining pages of other groups come before the close page's own group.
        assert_eq!(
            domain_bank,
            DomainBank { pages: vec![(3, true), (4, false), (2, false)], has_too_few_groups: true }
        );
        let domain_bank = select(&pages, &[close(1, "a/x/one")], 12);
        assert_eq!((domain_bank.pages.len(), domain_bank.has_too_few_groups), (3, true));
        assert_eq!(
            select(&pages[..1], &[close(1, "a/x/one")], 6),
            DomainBank { pages: vec![], has_too_few_groups: true }
        );
    }

    #[test]
    fn pages_are_stale_after_ninety_days() {
        let day = 24 * 60 * 60 * 1000;
        let now = 1000 * day;
        assert_eq!(staleness(1, now - 91 * day, now), 2);
        assert_eq!(staleness(3, now - 91 * day, now), 1);
        assert_eq!(staleness(1, now - 90 * day, now), 0);
        assert_eq!(staleness(1, now + day, now), 0, "a clock that was set back");
    }

    fn world() -> impl Strategy<Value = (Vec<Candidate>, Vec<usize>, usize)> {
        let one = ("[ab]/[abc](/[a-e]){0,2}", 0..3_u8, 0..4_u32);
        (prop::collection::vec(one, 0..60), prop::collection::vec(0..60_usize, 0..4), 0..15_usize)
            .prop_map(|(pages, close, max)| {
                let mut seen = HashSet::new();
                let mut out = Vec::new();
                for (slug, stale, links) in pages {
                    if seen.insert(slug.clone()) {
                        out.push(page(out.len() as u64, &slug, stale, links));
                    }
                }
                (out, close, max)
            })
    }

    proptest! {
        #[test]
        fn domain_bank_is_bounded_distinct_and_deterministic((pages, near, max) in world()) {
            let near: Vec<(u64, Slug)> =
                near.iter().filter_map(|at| pages.get(*at))
                    .map(|page| (page.id, page.slug.clone())).collect();
            let domain_bank = select(&pages, &near, max);
            prop_assert!(domain_bank.pages.len() <= max);
            let distinct: HashSet<u64> = ids(&domain_bank).into_iter().collect();
            prop_assert_eq!(distinct.len(), domain_bank.pages.len());
            prop_assert!(near.iter().all(|(id, _)| !distinct.contains(id)));

            let near_groups: HashSet<&str> = near.iter().map(|(_, slug)| group(slug)).collect();
            let groups: HashSet<&str> =
                pages.iter().map(|page| group(&page.slug))
                    .filter(|group| !near_groups.contains(group)).collect();
            prop_assert_eq!(domain_bank.has_too_few_groups, groups.len() < max);
            let of = |id: u64| pages.iter().find(|page| page.id == id)
                .map(|page| group(&page.slug)).unwrap();
            let spoken: Vec<&str> = domain_bank.pages.iter().filter(|(_, domain)| *domain)
                .map(|(id, _)| of(*id)).collect();
            let distinct: HashSet<&str> = spoken.iter().copied().collect();
            prop_assert_eq!(distinct.len(), spoken.len(), "one page a group");
            prop_assert!(spoken.iter().all(|group| !near_groups.contains(group)));
            prop_assert_eq!(spoken.len(), groups.len().min(max));

            let mut turned = pages.clone();
            turned.reverse();
            prop_assert_eq!(select(&turned, &near, max), domain_bank,
                "the order of reading does not matter");
        }
    }
}
