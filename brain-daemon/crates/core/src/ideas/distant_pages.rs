//! Draws the distant pages of a run from bands of distance over the whole brain. No I/O.
//!
//! Pages are ordered by their distance from the close pages. The far part of this order is cut into
//! as many bands as pages are wanted, and one page is drawn from each band. The draw depends on the
//! command, the question and the day, so a question has the same distant pages all day, and others
//! on the next day. It does not depend on page ids, because pages
//! that the caller cannot see affect them.

use std::cmp::Ordering;
use std::collections::HashSet;

use brain_protocol::{IdeaProfile, Slug, SourceId};
use sha2::{Digest, Sha256};

use super::run_state::Band;

/// Pages without a change for this long are stale, in milliseconds.
const STALE_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// A page that can be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// The source.
    pub(super) source: SourceId,
    /// The slug.
    pub(super) slug: Slug,
    /// The title.
    pub(super) title: String,
    /// The distance to each close page, 0 to 1.
    pub(super) distances: Vec<f32>,
    /// Whether a search for the question finds it. It is drawn only if there are too few others.
    pub(super) is_found: bool,
    /// Staleness from 0 to 2; always 0 if the profile ignores it. A page gets this many additional
    /// random keys, so it is drawn more often.
    pub(super) stale: u8,
}

impl Candidate {
    /// Returns the distance to the nearest close page.
    fn distance(&self) -> f32 {
        self.distances.iter().copied().fold(f32::INFINITY, f32::min)
    }

    /// Returns the first two segments of the slug. Two pages of one project are one domain.
    fn group(&self) -> (&SourceId, &str) {
        let text = self.slug.as_str();
        (&self.source, text.match_indices('/').nth(1).map_or(text, |(at, _)| &text[..at]))
    }
}

/// The drawn pages.
#[derive(Debug, PartialEq)]
pub(super) struct DistantPages {
    /// The pages and their bands, farthest band first.
    pub(super) pages: Vec<(Candidate, Band)>,
    /// Whether there were too few pages that the search does not find.
    pub(super) is_short: bool,
}

/// A repeatable draw.
#[derive(Debug, Clone)]
pub(super) struct Draw(Sha256);

impl Draw {
    /// Creates the draw of a question on a day.
    pub(super) fn new(profile: IdeaProfile, question: &str, day: &str) -> Self {
        Self(Sha256::new_with_prefix(format!("{}\0{day}\0{question}\0", profile.as_str())))
    }

    /// Returns the pseudo-random key number `nth` of a page. The page with the lowest key is drawn.
    pub(super) fn random_key(&self, source: &SourceId, slug: &Slug, nth: u8) -> [u8; 8] {
        let mut hasher = self.0.clone();
        hasher.update(format!("{source}\0{slug}"));
        hasher.update([0, nth]);
        let digest = hasher.finalize();
        std::array::from_fn(|at| digest[at])
    }

    /// Returns the lowest random key of a page. A page has one key, and more if it is stale.
    fn lowest_key(&self, page: &Candidate) -> [u8; 8] {
        let keys = (0..=page.stale).map(|nth| self.random_key(&page.source, &page.slug, nth));
        keys.min().unwrap_or([u8::MAX; 8])
    }
}

/// Returns the staleness of a page: 2 if it is old and was never edited, 1 if the last edit is old.
pub(super) fn staleness(version: u32, updated_at: i64, now: i64) -> u8 {
    match now.saturating_sub(updated_at) > STALE_MS {
        true if version <= 1 => 2,
        true => 1,
        false => 0,
    }
}

/// Draws at most `max` candidates from the farthest `1 / divisor` of them, or from the farthest
/// `max` if that is more.
pub(super) fn select(
    mut candidates: Vec<Candidate>,
    max: usize,
    divisor: usize,
    draw: &Draw,
) -> DistantPages {
    let order = |one: &Candidate, other: &Candidate| -> Ordering {
        let by_distance = other.distance().total_cmp(&one.distance());
        let by_key = || {
            let key = |page: &Candidate| draw.random_key(&page.source, &page.slug, 0);
            key(one).cmp(&key(other))
        };
        one.is_found.cmp(&other.is_found).then(by_distance).then_with(by_key)
    };
    candidates.sort_by(order);
    let free = candidates.iter().position(|page| page.is_found).unwrap_or(candidates.len());
    let far = candidates.len().div_ceil(divisor.max(1)).max(max).min(free);
    let bands = max.min(far);
    let mut groups = HashSet::new();
    let mut drawn = Vec::with_capacity(max);
    for band in 0..bands {
        let pages = &candidates[far * band / bands..far * (band + 1) / bands];
        let lowest =
            pages.iter().min_by_key(|page| (groups.contains(&page.group()), draw.lowest_key(page)));
        if let Some(page) = lowest {
            groups.insert(page.group());
            drawn.push((page.clone(), Band::of(band, bands)));
        }
    }
    let rest = candidates[far..].iter().take(max - drawn.len());
    drawn.extend(rest.map(|page| (page.clone(), Band::Near)));
    DistantPages { pages: drawn, is_short: bands < max }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: &str = "2026-11-21";

    fn page(slug: &str, distance: f32) -> Candidate {
        Candidate {
            source: SourceId::default(),
            slug: Slug::parse(slug).unwrap(),
            title: slug.into(),
            distances: vec![1.0, distance],
            is_found: false,
            stale: 0,
        }
    }

    fn draw(question: &str, day: &str) -> Draw {
        Draw::new(IdeaProfile::Brainstorm, question, day)
    }

    fn slugs(drawn: &DistantPages) -> Vec<&str> {
        drawn.pages.iter().map(|(page, _)| page.slug.as_str()).collect()
    }

    /// 240 pages whose distances differ, with a tenth of them found by the search.
    fn brain() -> Vec<Candidate> {
        let page = |n: u16| Candidate {
            is_found: n.is_multiple_of(10),
            ..page(&format!("people/p{n}"), f32::from(n) / 240.0)
        };
        (0..240).map(page).collect()
    }

    /// The number of distinct pages in `draws` uniform draws from `pages` pages, on average.
    fn uniform_draws(pages: f64, draws: i32) -> f64 {
        pages * (1.0 - (1.0 - 1.0 / pages).powi(draws))
    }

    #[test]
    fn questions_use_the_whole_far_part_of_the_brain() {
        let mut seen = HashSet::new();
        for question in 0..24 {
            let drawn = select(brain(), 6, 2, &draw(&format!("Question {question}?"), DAY));
            assert!(!drawn.is_short);
            let bands: Vec<Band> = drawn.pages.iter().map(|(_, band)| *band).collect();
            let thirds = [Band::Farthest, Band::Far, Band::Middle];
            assert_eq!(bands, thirds.map(|band| [band; 2]).concat());
            for (page, _) in &drawn.pages {
                assert!(!page.is_found, "{}", page.slug);
                seen.insert(page.slug.clone());
            }
            // 216 pages are not found, and the farthest 120 of them are cut into bands of 20.
            let far: Vec<f32> = drawn.pages.iter().map(|(page, _)| page.distance()).collect();
            assert!(far.is_sorted_by(|one, other| one > other), "one of each band: {far:?}");
            assert!(far[5] > 0.4 && far[0] > 0.9, "{far:?}");
        }
        let expected = uniform_draws(120.0, 24 * 6);
        assert!(seen.len() as f64 > expected * 0.9, "{} of {expected}", seen.len());
    }

    #[test]
    fn every_day_has_its_own_pages() {
        let today = select(brain(), 12, 2, &draw("Why?", DAY));
        assert_eq!(select(brain(), 12, 2, &draw("Why?", DAY)), today);
        let mut turned = brain();
        turned.reverse();
        assert_eq!(
            select(turned, 12, 2, &draw("Why?", DAY)),
            today,
            "the order of the pages does not matter"
        );
        for other in [
            draw("Why?", "2026-11-22"),
            draw("Why not?", DAY),
            Draw::new(IdeaProfile::Lsd, "Why?", DAY),
        ] {
            let other = select(brain(), 12, 2, &other);
            let today: HashSet<&str> = slugs(&today).into_iter().collect();
            let same = slugs(&other).iter().filter(|slug| today.contains(*slug)).count();
            assert!(same <= 4, "{same} of 12 are the same");
        }
    }

    #[test]
    fn pages_without_any_distance_are_drawn_evenly() {
        let same = || (0..240).map(|n| page(&format!("people/p{n}"), 1.0)).collect();
        let mut seen = HashSet::new();
        for question in 0..24 {
            let drawn = select(same(), 6, 2, &draw(&format!("Question {question}?"), DAY));
            seen.extend(drawn.pages.into_iter().map(|(page, _)| page.slug));
        }
        let expected = uniform_draws(240.0, 24 * 6);
        assert!(seen.len() as f64 > expected * 0.9, "{} of {expected}", seen.len());
    }

    #[test]
    fn pages_of_other_groups_come_first() {
        let pages: Vec<Candidate> = (0..40)
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
        let pages: Vec<Candidate> = (0..100)
            .map(|n| Candidate { stale: (n % 2) * 2, ..page(&format!("people/p{n}"), 1.0) })
            .collect();
        let stale: usize = (0..50)
            .map(|question| {
                let drawn =
                    select(pages.clone(), 6, 2, &draw(&format!("Question {question}?"), DAY));
                drawn.pages.iter().filter(|(page, _)| page.stale > 0).count()
            })
            .sum();
        // Stale pages have three of four keys: 225 of 300. Otherwise there would be 150.
        assert!((195..255).contains(&stale), "{stale}");
    }

    #[test]
    fn found_pages_complete_a_short_draw() {
        let found = |slug: &str, distance| Candidate { is_found: true, ..page(slug, distance) };
        let pages = vec![found("a/near", 0.2), page("a/far", 0.6), found("a/nearer", 0.9)];
        let drawn = select(pages.clone(), 2, 2, &draw("Why?", DAY));
        assert_eq!((slugs(&drawn), drawn.is_short), (vec!["a/far", "a/nearer"], true));
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

    fn draw_inputs() -> impl Strategy<Value = (Vec<Candidate>, usize, usize)> {
        let one = ("[ab]/[abc](/[a-e]){0,2}", 0..5_u8, any::<bool>(), 0..3_u8);
        (prop::collection::vec(one, 0..60), 0..15_usize, 0..4_usize).prop_map(
            |(pages, max, divisor)| {
                let mut seen = HashSet::new();
                let mut out = Vec::new();
                for (slug, distance, is_found, stale) in pages {
                    if seen.insert(slug.clone()) {
                        let page = page(&slug, f32::from(distance) / 4.0);
                        out.push(Candidate { is_found, stale, ..page });
                    }
                }
                (out, max, divisor)
            },
        )
    }

    proptest! {
        #[test]
        fn drawn_pages_are_bounded_distinct_and_far((pages, max, divisor) in draw_inputs()) {
            let drawn = select(pages.clone(), max, divisor, &draw("Why?", DAY));
            prop_assert_eq!(drawn.pages.len(), max.min(pages.len()));
            let distinct: HashSet<&str> = slugs(&drawn).into_iter().collect();
            prop_assert_eq!(distinct.len(), drawn.pages.len());
            let free = pages.iter().filter(|page| !page.is_found).count();
            prop_assert_eq!(drawn.is_short, free < max);
            for (page, band) in &drawn.pages {
                prop_assert_eq!(page.is_found, *band == Band::Near);
            }
        }
    }
}
