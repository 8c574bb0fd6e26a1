//! Draws the distant pages of a run from bands of distance over the whole brain. No I/O.
//!
//! Pages are ordered by their distance from the close pages. The far part of this order is cut into
//! as many bands as pages are needed, and one page is drawn from each band. The draw depends on the
//! command, the question and the day. So in an unchanged brain, a question has the same distant
//! pages all day, and other pages on the next day. The draw does not depend on page ids, because
//! pages that the caller cannot see affect the ids.

use std::cmp::Ordering;
use std::collections::HashSet;

use brain_protocol::{IdeaProfile, Slug, SourceId};
use sha2::{Digest, Sha256};

use super::run_state::Band;

/// Pages without a change for this long are stale, in milliseconds.
const STALE_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// A page that can be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DrawablePage {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    pub(super) title: String,
    /// The distance to each close page, 0 to 1.
    pub(super) distances: Vec<f32>,
    /// Whether a search for the question finds the page. Such a page is selected only if there are
    /// too few other pages.
    pub(super) is_found: bool,
    /// Staleness from 0 to 2; always 0 if the profile ignores it. A page gets this many additional
    /// random keys, so it is drawn more often.
    pub(super) staleness: u8,
}

impl DrawablePage {
    /// Returns the distance to the nearest close page.
    fn distance(&self) -> f32 {
        self.distances.iter().copied().fold(f32::INFINITY, f32::min)
    }

    /// Returns the source and the first two segments of the slug. Pages with the same group, for
    /// example of one project, are about one subject.
    fn group(&self) -> (&SourceId, &str) {
        let text = self.slug.as_str();
        (&self.source, text.match_indices('/').nth(1).map_or(text, |(at, _)| &text[..at]))
    }
}

/// The drawn pages.
#[derive(Debug, PartialEq)]
pub(super) struct DistantPages {
    /// The pages and their bands, farthest band first, [`Band::Near`] last.
    pub(super) pages: Vec<(DrawablePage, Band)>,
    /// Whether there were fewer pages than needed that the search does not find.
    pub(super) is_short: bool,
}

/// A pseudo-random draw. The same inputs give the same draw.
#[derive(Debug, Clone)]
pub(super) struct Draw(Sha256);

impl Draw {
    /// Creates the draw of a question on a day.
    pub(super) fn new(profile: IdeaProfile, question: &str, day: &str) -> Self {
        Self(Sha256::new_with_prefix(format!("{}\0{day}\0{question}\0", profile.as_str())))
    }

    /// Returns the pseudo-random key number `nth` of a page. A lower key is drawn first.
    pub(super) fn random_key(&self, source: &SourceId, slug: &Slug, nth: u8) -> [u8; 8] {
        let mut hasher = self.0.clone();
        hasher.update(format!("{source}\0{slug}"));
        hasher.update([0, nth]);
        let digest = hasher.finalize();
        std::array::from_fn(|at| digest[at])
    }

    /// Returns the lowest random key of a page. A page has one key, and more if it is stale.
    fn lowest_key(&self, page: &DrawablePage) -> [u8; 8] {
        let keys = (0..=page.staleness).map(|nth| self.random_key(&page.source, &page.slug, nth));
        keys.min().unwrap_or([u8::MAX; 8])
    }
}

/// Returns the staleness of a page: 2 if it is old and was never edited, 1 if the last edit is old,
/// otherwise 0. Times are in Unix milliseconds.
pub(super) fn staleness(version: u32, updated_at: i64, now: i64) -> u8 {
    match now.saturating_sub(updated_at) > STALE_MS {
        true if version <= 1 => 2,
        true => 1,
        false => 0,
    }
}

/// Draws at most `max` candidates that the search does not find: from the farthest `1 / divisor` of
/// all candidates, or from the farthest `max` if that is more. Draws each group once if possible.
/// If there are too few, the farthest found candidates complete the selection.
pub(super) fn select(
    mut candidates: Vec<DrawablePage>,
    max: usize,
    divisor: usize,
    draw: &Draw,
) -> DistantPages {
    let selection_order = |one: &DrawablePage, other: &DrawablePage| -> Ordering {
        let by_distance = other.distance().total_cmp(&one.distance());
        let by_key = || {
            let key = |page: &DrawablePage| draw.random_key(&page.source, &page.slug, 0);
            key(one).cmp(&key(other))
        };
        one.is_found.cmp(&other.is_found).then(by_distance).then_with(by_key)
    };
    candidates.sort_by(selection_order);
    let not_found_count =
        candidates.iter().position(|page| page.is_found).unwrap_or(candidates.len());
    let far_count = candidates.len().div_ceil(divisor.max(1)).max(max).min(not_found_count);
    let band_count = max.min(far_count);
    let mut groups = HashSet::new();
    let mut drawn = Vec::with_capacity(max);
    for band in 0..band_count {
        let pages = &candidates[far_count * band / band_count..far_count * (band + 1) / band_count];
        let lowest =
            pages.iter().min_by_key(|page| (groups.contains(&page.group()), draw.lowest_key(page)));
        if let Some(page) = lowest {
            groups.insert(page.group());
            drawn.push((page.clone(), Band::of(band, band_count)));
        }
    }
    let rest = candidates[far_count..].iter().take(max - drawn.len());
    drawn.extend(rest.map(|page| (page.clone(), Band::Near)));
    DistantPages { pages: drawn, is_short: band_count < max }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: &str = "2026-11-21";

    fn page(slug: &str, distance: f32) -> DrawablePage {
        DrawablePage {
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
            distances: vec![1.0, distance],
            is_found: false,
            staleness: 0,
        }
    }

    fn draw(question: &str, day: &str) -> Draw {
        Draw::new(IdeaProfile::Brainstorm, question, day)
    }

    fn slugs(drawn: &DistantPages) -> Vec<&str> {
        drawn.pages.iter().map(|(page, _)| page.slug.as_str()).collect()
    }

    /// Returns 240 pages with different distances. The search finds a tenth of them.
    fn candidates() -> Vec<DrawablePage> {
        let page = |n: u16| DrawablePage {
            is_found: n.is_multiple_of(10),
            ..page(&format!("people/p{n}"), f32::from(n) / 240.0)
        };
        (0..240).map(page).collect()
    }

    /// Returns the expected number of distinct pages in `draws` uniform draws from `pages` pages.
    fn expected_distinct(pages: f64, draws: i32) -> f64 {
        pages * (1.0 - (1.0 - 1.0 / pages).powi(draws))
    }

    #[test]
    fn questions_draw_from_the_whole_far_part() {
        let mut drawn_slugs = HashSet::new();
        for question in 0..24 {
            let drawn = select(candidates(), 6, 2, &draw(&format!("Question {question}?"), DAY));
            assert!(!drawn.is_short);
            let bands: Vec<Band> = drawn.pages.iter().map(|(_, band)| *band).collect();
            let thirds = [Band::Farthest, Band::Far, Band::Middle];
            assert_eq!(bands, thirds.map(|band| [band; 2]).concat());
            for (page, _) in &drawn.pages {
                assert!(!page.is_found, "{}", page.slug);
                drawn_slugs.insert(page.slug.clone());
            }
            // 216 pages are not found, and the farthest 120 of them are cut into bands of 20.
            let far: Vec<f32> = drawn.pages.iter().map(|(page, _)| page.distance()).collect();
            assert!(far.is_sorted_by(|one, other| one > other), "one page of each band: {far:?}");
            assert!(far[5] > 0.4 && far[0] > 0.9, "{far:?}");
        }
        let expected = expected_distinct(120.0, 24 * 6);
        let count = drawn_slugs.len();
        assert!(count as f64 > expected * 0.9, "{count} of {expected}");
    }

    #[test]
    fn day_question_and_profile_decide_the_draw() {
        let today = select(candidates(), 12, 2, &draw("Why?", DAY));
        assert_eq!(select(candidates(), 12, 2, &draw("Why?", DAY)), today);
        let mut reversed = candidates();
        reversed.reverse();
        assert_eq!(
            select(reversed, 12, 2, &draw("Why?", DAY)),
            today,
            "the order of the pages does not matter"
        );
        for other in [
            draw("Why?", "2026-11-22"),
            draw("Why not?", DAY),
            Draw::new(IdeaProfile::Lsd, "Why?", DAY),
        ] {
            let other = select(candidates(), 12, 2, &other);
            let today: HashSet<&str> = slugs(&today).into_iter().collect();
            let same = slugs(&other).iter().filter(|slug| today.contains(*slug)).count();
            assert!(same <= 4, "{same} of 12 are the same");
        }
    }

    #[test]
    fn equally_distant_pages_are_drawn_evenly() {
        let equally_distant = || (0..240).map(|n| page(&format!("people/p{n}"), 1.0)).collect();
        let mut drawn_slugs = HashSet::new();
        for question in 0..24 {
            let draw = draw(&format!("Question {question}?"), DAY);
            let drawn = select(equally_distant(), 6, 2, &draw);
            drawn_slugs.extend(drawn.pages.into_iter().map(|(page, _)| page.slug));
        }
        let expected = expected_distinct(240.0, 24 * 6);
        let count = drawn_slugs.len();
        assert!(count as f64 > expected * 0.9, "{count} of {expected}");
    }

    #[test]
    fn pages_of_different_groups_are_preferred() {
        let pages: Vec<DrawablePage> = (0..40)
            .map(|n| page(&format!("projects/{}/{n}", if n % 4 == 0 { "b" } else { "a" }), 0.9))
            .collect();
        for question in 0..20 {
            let drawn = select(pages.clone(), 2, 2, &draw(&format!("Question {question}?"), DAY));
            let groups: HashSet<_> = drawn.pages.iter().map(|(page, _)| page.group()).collect();
            assert_eq!(groups.len(), 2, "{:?}", slugs(&drawn));
        }
    }

    #[test]
    fn stale_pages_are_drawn_more_often() {
        let pages: Vec<DrawablePage> = (0..100)
            .map(|n| DrawablePage { staleness: (n % 2) * 2, ..page(&format!("people/p{n}"), 1.0) })
            .collect();
        let stale: usize = (0..50)
            .map(|question| {
                let drawn =
                    select(pages.clone(), 6, 2, &draw(&format!("Question {question}?"), DAY));
                drawn.pages.iter().filter(|(page, _)| page.staleness > 0).count()
            })
            .sum();
        // 50 draws of 6 pages are 300. Stale pages have three of four keys, so 225 are expected;
        // with equal keys, 150.
        assert!((195..255).contains(&stale), "{stale}");
    }

    #[test]
    fn found_pages_complete_a_short_draw() {
        let found = |slug: &str, distance| DrawablePage { is_found: true, ..page(slug, distance) };
        let pages = vec![found("a/near", 0.2), page("a/far", 0.6), found("a/found", 0.9)];
        let drawn = select(pages.clone(), 2, 2, &draw("Why?", DAY));
        assert_eq!((slugs(&drawn), drawn.is_short), (vec!["a/far", "a/found"], true));
        assert_eq!(drawn.pages[1].1, Band::Near);
        let drawn = select(pages, 1, 2, &draw("Why?", DAY));
        assert_eq!((slugs(&drawn), drawn.is_short), (vec!["a/far"], false));
        assert!(select(Vec::new(), 6, 2, &draw("Why?", DAY)).pages.is_empty());
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

    fn select_inputs() -> impl Strategy<Value = (Vec<DrawablePage>, usize, usize)> {
        let page_input = ("[ab]/[abc](/[a-e]){0,2}", 0..5_u8, any::<bool>(), 0..3_u8);
        (prop::collection::vec(page_input, 0..60), 0..15_usize, 0..4_usize).prop_map(
            |(pages, max, divisor)| {
                let mut distinct = HashSet::new();
                let mut out = Vec::new();
                for (slug, distance, is_found, staleness) in pages {
                    if distinct.insert(slug.clone()) {
                        let page = page(&slug, f32::from(distance) / 4.0);
                        out.push(DrawablePage { is_found, staleness, ..page });
                    }
                }
                (out, max, divisor)
            },
        )
    }

    proptest! {
        #[test]
        fn selection_is_bounded_and_distinct((pages, max, divisor) in select_inputs()) {
            let drawn = select(pages.clone(), max, divisor, &draw("Why?", DAY));
            prop_assert_eq!(drawn.pages.len(), max.min(pages.len()));
            let distinct: HashSet<&str> = slugs(&drawn).into_iter().collect();
            prop_assert_eq!(distinct.len(), drawn.pages.len());
            let not_found_count = pages.iter().filter(|page| !page.is_found).count();
            prop_assert_eq!(drawn.is_short, not_found_count < max);
            for (page, band) in &drawn.pages {
                prop_assert_eq!(page.is_found, *band == Band::Near);
            }
        }
    }
}
