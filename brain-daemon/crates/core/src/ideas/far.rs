//! The domain bank: which pages stand far from the question. By where pages stand, not by what they say. Pure.
//!
//! Pages are grouped by their first two slug segments. Groups that have a close page are left out, and one page speaks for each other group.
//! Groups are taken in turn from the first segments, those without a close page before the others: in a brain whose pages are `people/…` and
//! `meetings/…` each page is a group of its own, and six people are not six domains. Never more than what was asked for, however many groups
//! there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use brain_protocol::{Slug, SourceId};

/// Pages that nobody touched for so long are stale, in milliseconds.
const STALE_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// What is known of a page without reading it.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The page.
    pub(super) id: u64,
    /// Its source.
    pub(super) source: SourceId,
    /// Its slug.
    pub(super) slug: Slug,
    /// How stale it is, 0 to 2; 0 for everybody when that does not count.
    pub(super) stale: u8,
    /// About how many pages link to it.
    pub(super) links: u32,
}

/// The far set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bank {
    /// Pages by their id, best first, and whether each is the one of its group.
    pub(super) pages: Vec<(u64, bool)>,
    /// There were too few groups.
    pub(super) short: bool,
}

/// How stale a page is: 2 when nobody touched it since it came in, long ago; 1 when the last change is long ago.
pub(super) fn staleness(version: u32, updated_at: i64, now: i64) -> u8 {
    match now.saturating_sub(updated_at) > STALE_MS {
        true if version <= 1 => 2,
        true => 1,
        false => 0,
    }
}

/// At most `most` of `candidates`, far from the pages in `close`.
pub(super) fn pick(candidates: &[Candidate], close: &[(u64, Slug)], most: usize) -> Bank {
    let near_ids: HashSet<u64> = close.iter().map(|(id, _)| *id).collect();
    let near_groups: HashSet<&str> = close.iter().map(|(_, slug)| group(slug)).collect();
    let near_tops: HashSet<&str> = close.iter().map(|(_, slug)| top(slug)).collect();
    let free = || candidates.iter().filter(|page| !near_ids.contains(&page.id));

    let mut speakers: BTreeMap<&str, &Candidate> = BTreeMap::new();
    for page in free().filter(|page| !near_groups.contains(group(&page.slug))) {
        let speaker = speakers.entry(group(&page.slug)).or_insert(page);
        if rank(page) < rank(speaker) {
            *speaker = page;
        }
    }
    let mut tops: BTreeMap<&str, Vec<&Candidate>> = BTreeMap::new();
    for page in speakers.into_values() {
        tops.entry(top(&page.slug)).or_default().push(page);
    }
    tops.values_mut().for_each(|pages| pages.sort_unstable_by_key(|page| rank(page)));
    let (near, far): (Vec<_>, Vec<_>) =
        tops.into_iter().partition(|(top, _)| near_tops.contains(top));
    let mut pages = Vec::with_capacity(most);
    for tops in [far, near] {
        in_turn(tops.into_iter().map(|(_, pages)| pages).collect(), most, &mut pages);
    }
    let short = pages.len() < most;
    if short {
        let taken: HashSet<u64> = pages.iter().map(|page| page.id).collect();
        let mut rest: Vec<&Candidate> = free().filter(|page| !taken.contains(&page.id)).collect();
        rest.sort_unstable_by_key(|page| (near_groups.contains(group(&page.slug)), rank(page)));
        rest.truncate(most - pages.len());
        let domains = pages.len();
        pages.extend(rest);
        let origin = |(at, page): (usize, &Candidate)| (page.id, at < domains);
        return Bank { pages: pages.into_iter().enumerate().map(origin).collect(), short };
    }
    Bank { pages: pages.into_iter().map(|page| (page.id, true)).collect(), short }
}

/// One of each list in turn, the list with the best first page first, until there are `most`.
fn in_turn<'a>(mut lists: Vec<Vec<&'a Candidate>>, most: usize, out: &mut Vec<&'a Candidate>) {
    lists.sort_unstable_by_key(|pages| pages.first().map(|page| rank(page)));
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest)
        .flat_map(|turn| lists.iter().filter_map(move |pages| pages.get(turn).copied()));
    let room = most - out.len().min(most);
    out.extend(turns.take(room));
}

/// Staleness, then links, then slug. No two pages have one rank.
fn rank(page: &Candidate) -> (Reverse<u8>, Reverse<u32>, &Slug, &SourceId) {
    (Reverse(page.stale), Reverse(page.links), &page.slug, &page.source)
}

/// The first two segments.
fn group(slug: &Slug) -> &str {
    let text = slug.as_str();
    text.match_indices('/').nth(1).map_or(text, |(at, _)| &text[..at])
}

/// The first segment.
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

    fn ids(bank: &Bank) -> Vec<u64> {
        bank.pages.iter().map(|(id, _)| *id).collect()
    }

    #[test]
    fn one_page_speaks_for_its_group_by_staleness_links_and_slug() {
        let pages = [
            page(1, "a/x/one", 0, 9),
            page(2, "a/x/two", 1, 0),
            page(3, "b/y/one", 0, 1),
            page(4, "b/y/two", 0, 2),
            page(5, "c/z/b", 0, 0),
            page(6, "c/z/a", 0, 0),
        ];
        let bank = pick(&pages, &[], 3);
        assert_eq!((ids(&bank), bank.short), (vec![2, 4, 6], false));
    }

    #[test]
    fn groups_of_close_pages_are_left_out() {
        let pages = [page(1, "a/x/one", 0, 0), page(2, "a/x/two", 0, 50), page(3, "a/y/one", 0, 0)];
        let bank = pick(&pages, &[close(1, "a/x/one")], 1);
        assert_eq!(bank, Bank { pages: vec![(3, true)], short: false });
    }

    #[test]
    fn groups_come_in_turn_from_first_segments_and_far_ones_first() {
        let pages = [
            page(1, "people/ann", 0, 90),
            page(2, "people/bob", 0, 80),
            page(3, "meetings/one", 0, 5),
            page(4, "meetings/two", 0, 4),
            page(5, "concepts/one", 0, 3),
            page(6, "concepts/two", 0, 2),
        ];
        let bank = pick(&pages, &[close(1, "people/ann")], 5);
        assert_eq!(ids(&bank), [3, 5, 4, 6, 2]);
        assert!(!bank.short);
    }

    #[test]
    fn too_few_groups_are_filled_from_everywhere() {
        let pages = [
            page(1, "a/x/one", 0, 0),
            page(2, "a/x/two", 0, 9),
            page(3, "b/y/one", 0, 2),
            page(4, "b/y/two", 0, 1),
        ];
        let bank = pick(&pages, &[close(1, "a/x/one")], 3);
        // What is left of other groups comes before the close page's own group, whoever links there.
        assert_eq!(bank, Bank { pages: vec![(3, true), (4, false), (2, false)], short: true });
        let bank = pick(&pages, &[close(1, "a/x/one")], 12);
        assert_eq!((bank.pages.len(), bank.short), (3, true));
        assert_eq!(
            pick(&pages[..1], &[close(1, "a/x/one")], 6),
            Bank { pages: vec![], short: true }
        );
    }

    #[test]
    fn stale_is_what_nobody_touched_for_ninety_days() {
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
            .prop_map(|(pages, close, most)| {
                let mut seen = HashSet::new();
                let mut out = Vec::new();
                for (slug, stale, links) in pages {
                    if seen.insert(slug.clone()) {
                        out.push(page(out.len() as u64, &slug, stale, links));
                    }
                }
                (out, close, most)
            })
    }

    proptest! {
        #[test]
        fn the_bank_is_bounded_distinct_far_and_foreseeable((pages, near, most) in world()) {
            let near: Vec<(u64, Slug)> =
                near.iter().filter_map(|at| pages.get(*at)).map(|page| (page.id, page.slug.clone())).collect();
            let bank = pick(&pages, &near, most);
            prop_assert!(bank.pages.len() <= most);
            let distinct: HashSet<u64> = ids(&bank).into_iter().collect();
            prop_assert_eq!(distinct.len(), bank.pages.len());
            prop_assert!(near.iter().all(|(id, _)| !distinct.contains(id)));

            let near_groups: HashSet<&str> = near.iter().map(|(_, slug)| group(slug)).collect();
            let groups: HashSet<&str> =
                pages.iter().map(|page| group(&page.slug)).filter(|group| !near_groups.contains(group)).collect();
            prop_assert_eq!(bank.short, groups.len() < most);
            let of = |id: u64| pages.iter().find(|page| page.id == id).map(|page| group(&page.slug)).unwrap();
            let spoken: Vec<&str> = bank.pages.iter().filter(|(_, domain)| *domain).map(|(id, _)| of(*id)).collect();
            let distinct: HashSet<&str> = spoken.iter().copied().collect();
            prop_assert_eq!(distinct.len(), spoken.len(), "one page a group");
            prop_assert!(spoken.iter().all(|group| !near_groups.contains(group)));
            prop_assert_eq!(spoken.len(), groups.len().min(most));

            let mut turned = pages.clone();
            turned.reverse();
            prop_assert_eq!(pick(&turned, &near, most), bank, "the order of reading does not matter");
        }
    }
}
