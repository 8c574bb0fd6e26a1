//! One ranking out of what words, vectors, links and time say of pages. Pure: numbers of pages in, scores out.
//!
//! All parts are on the scale of the words: a cosine as good as they become in this space counts somewhat more than the best text of this
//! question. So a weak side cannot push a strong one aside, as it can where ranks are fused.

use std::collections::{HashMap, HashSet};

use brain_protocol::ScorePart;

use super::relations::Relations;
use crate::brain::meaning::Meant;
use crate::search::Ranked;

/// What a tier is worth; the same as the index's.
const TIER: f32 = 1000.0;
/// A page that only vectors found must be so near, from 0 (nothing in common) to 1 (as near as pages get).
const ALONE: f32 = 0.15;
/// No cosine counts more than so much.
const NEAREST: f32 = 1.5;
/// What a cosine as good as they become is worth, where the best text is worth 1: three parts of five of both. What was
/// tried is in `docs/search-quality.md`.
const MEANING: f32 = 1.5;
/// What is left of the words and the meaning of a page that the question only starts from.
const SUBJECT: f32 = 0.3;
/// What a page of this moment gets, where the question asks for what is new.
const NEW: f32 = 0.15;
/// After so many days it is half of that.
const HALF_LIFE: f32 = 14.0;

/// What is known of the answers to a question.
pub(super) struct Legs<'a> {
    /// What the words found, best first.
    pub(super) text: Vec<Ranked>,
    /// What the vectors found.
    pub(super) meant: &'a Meant,
    /// What the links found.
    pub(super) relations: Relations,
    /// The word that asks for what is new, and the age in days of every page.
    pub(super) new: Option<(String, HashMap<u64, f32>)>,
    /// Whether to say what the scores are made of.
    pub(super) explain: bool,
}

/// A page with its place in the answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Fused {
    /// Its number.
    pub(super) id: u64,
    /// The sum of its parts.
    pub(super) score: f32,
    /// Why it matched.
    pub(super) matched: Vec<&'static str>,
    /// The parts of the score; empty unless asked for.
    pub(super) explain: Vec<ScorePart>,
    /// The window that is nearest to the question, where its text has none of its words.
    pub(super) window: Option<(u32, u32)>,
    tier: u8,
    /// The index found it: by a word, or by a condition that is the whole question (`tag:work`).
    by_words: bool,
}

impl Fused {
    fn add(&mut self, score: f32, explain: bool, reason: impl FnOnce() -> String) {
        self.score += score;
        if explain {
            self.explain.push(ScorePart { reason: reason(), score });
        }
    }
}

/// All pages of `legs`, best first. With the words alone, as they have it.
pub(super) fn fuse(legs: Legs<'_>) -> Vec<Fused> {
    let Legs { text, meant, relations, new, explain } = legs;
    let best = text.iter().map(|hit| hit.score - f32::from(hit.tier) * TIER).fold(0.0, f32::max);
    // Without words there is nothing to be in proportion to.
    let scale = if best > 1e-3 { best } else { 1.0 };
    let mut pages: Vec<Fused> = Vec::with_capacity(text.len() + meant.near.len());
    let mut place: HashMap<u64, usize> = HashMap::with_capacity(pages.capacity());
    for hit in text {
        place.insert(hit.id, pages.len());
        pages.push(Fused {
            id: hit.id,
            score: hit.score,
            matched: hit.matched,
            explain: hit.explain,
            window: None,
            tier: hit.tier,
            by_words: true,
        });
    }
    let mut at = |pages: &mut Vec<Fused>, id: u64| {
        *place.entry(id).or_insert_with(|| {
            pages.push(Fused { id, ..Fused::default() });
            pages.len() - 1
        })
    };
    let scaled = |cosine: f32| (cosine - meant.floor) / meant.span.max(1e-3);
    // Where any two texts are near each other, being near says little, and what is left of it less: so a model that does not know a
    // script or a language leaves the answer to the words.
    let chance = scaled(meant.background).clamp(0.0, 1.0);
    let told_apart = 1.0 - chance;
    for near in &meant.near {
        let share = (scaled(near.cosine).min(NEAREST) - chance).max(0.0) * told_apart;
        let known = at(&mut pages, near.page);
        let page = &mut pages[known];
        if share <= 0.0 || (page.matched.is_empty() && share < ALONE) {
            continue;
        }
        if !page.matched.contains(&"text") {
            page.window = Some((near.start, near.end));
        }
        page.matched.push("meaning");
        page.add(share * MEANING * scale, explain, || format!("meaning: cosine {:.3}", near.cosine));
    }
    let subjects: HashSet<u64> = relations.subjects.into_iter().collect();
    for page in pages.iter_mut().filter(|page| page.tier == 0 && subjects.contains(&page.id)) {
        let less = page.score * (SUBJECT - 1.0);
        page.add(less, explain, || "named by the question, which asks for others".to_owned());
    }
    // Links are weighed against all that words and meaning can be together.
    let whole = if meant.near.is_empty() { scale } else { scale * (1.0 + MEANING * told_apart) };
    for related in relations.related {
        let known = at(&mut pages, related.page);
        let page = &mut pages[known];
        page.matched.push("link");
        page.add(related.weight * whole, explain, || related.how);
    }
    if let Some((word, ages)) = new {
        for page in &mut pages {
            let Some(age) = ages.get(&page.id) else { continue };
            let share = NEW * (-age.max(0.0) / HALF_LIFE).exp2();
            page.add(share * whole, explain, || format!("\"{word}\": changed {age:.0} days ago"));
        }
    }
    pages.retain(|page| page.by_words || !page.matched.is_empty());
    // Equals stay as the words had them.
    pages.sort_by(|a, b| b.tier.cmp(&a.tier).then(b.score.total_cmp(&a.score)));
    pages
}

#[cfg(test)]
mod tests {
    use super::super::relations::Related;
    use super::*;
    use crate::vectors::Near;

    fn ranked(id: u64, score: f32, tier: u8) -> Ranked {
        let explain = vec![ScorePart { reason: "text: x".into(), score }];
        Ranked { id, score: score + f32::from(tier) * TIER, tier, matched: vec!["text"], explain }
    }

    fn meant(near: &[(u64, f32)]) -> Meant {
        let near = near.iter().map(|&(page, cosine)| Near { page, cosine, start: 3, end: 9 }).collect();
        Meant { near, floor: 0.1, background: 0.1, span: 0.6, lacking: None }
    }

    fn run(text: Vec<Ranked>, meant: &Meant, relations: Relations) -> Vec<Fused> {
        fuse(Legs { text, meant, relations, new: None, explain: true })
    }

    fn ids(pages: &[Fused]) -> Vec<u64> {
        pages.iter().map(|page| page.id).collect()
    }

    #[test]
    fn what_a_condition_alone_finds_is_found() {
        let hit = Ranked { id: 1, score: 0.0, tier: 0, matched: Vec::new(), explain: Vec::new() };
        assert_eq!(ids(&run(vec![hit], &meant(&[]), Relations::default())), [1]);
    }

    #[test]
    fn words_alone_stay_as_they_are() {
        let found = run(
            vec![ranked(1, 9.0, 0), ranked(2, 9.0, 0), ranked(3, 1.0, 0)],
            &meant(&[]),
            Relations::default(),
        );
        assert_eq!(ids(&found), [1, 2, 3]);
        assert!((found[0].score - 9.0).abs() < 1e-6 && found[0].matched == ["text"]);
    }

    #[test]
    fn a_cosine_and_the_best_text_are_on_one_scale() {
        let near = meant(&[(3, 0.6), (2, 0.4), (4, 0.11)]);
        let found = run(vec![ranked(1, 8.0, 0), ranked(2, 6.0, 0)], &near, Relations::default());
        assert_eq!(
            ids(&found),
            [2, 3, 1],
            "both sides together are more; what is hardly near alone is nothing"
        );
        assert!((found[1].score - 10.0).abs() < 1e-3, "{found:?}");
        assert_eq!((found[1].matched.as_slice(), found[1].window), (["meaning"].as_slice(), Some((3, 9))));
        assert_eq!(found[0].window, None);
        for page in &found {
            let sum: f32 = page.explain.iter().map(|part| part.score).sum();
            assert!((sum - page.score).abs() < 1e-3, "the parts are the score: {page:?}");
        }
    }

    #[test]
    fn nearness_that_any_text_has_counts_little() {
        let text = || vec![ranked(1, 8.0, 0), ranked(2, 7.0, 0)];
        let mut near = meant(&[(2, 0.68), (1, 0.6), (3, 0.66)]);
        assert_eq!(ids(&run(text(), &near, Relations::default())), [2, 1, 3]);
        near.background = 0.55;
        let found = run(text(), &near, Relations::default());
        assert_eq!(ids(&found), [1, 2], "and alone it is none");
        near.background = 0.9;
        assert!((run(text(), &near, Relations::default())[0].score - 8.0).abs() < 1e-3);
        near.background = -0.2;
        assert_eq!(
            ids(&run(text(), &near, Relations::default())),
            [2, 1, 3],
            "less than the floor is the floor"
        );
    }

    #[test]
    fn what_is_called_so_stays_first() {
        let found =
            run(vec![ranked(1, 0.5, 3), ranked(2, 9.0, 0)], &meant(&[(2, 0.7)]), Relations::default());
        assert_eq!(ids(&found), [1, 2]);
    }

    #[test]
    fn links_bring_pages_that_nothing_else_found_and_their_start_steps_back() {
        let related = vec![Related { page: 7, weight: 1.0, how: "link on a: b".into() }];
        let relations = Relations { related, subjects: vec![1] };
        let found = run(vec![ranked(1, 9.0, 0), ranked(2, 5.0, 0)], &meant(&[]), relations);
        assert_eq!(ids(&found), [7, 2, 1]);
        assert_eq!(
            (found[0].matched.as_slice(), found[0].explain[0].reason.as_str()),
            (["link"].as_slice(), "link on a: b")
        );
    }

    #[test]
    fn the_newer_of_equals_is_first_when_asked_for() {
        let ages = HashMap::from([(1, 400.0), (2, 1.0)]);
        let nothing = Meant::default();
        let legs = |new| Legs {
            text: vec![ranked(1, 9.0, 0), ranked(2, 8.9, 0)],
            meant: &nothing,
            relations: Relations::default(),
            new,
            explain: true,
        };
        assert_eq!(ids(&fuse(legs(None))), [1, 2]);
        assert_eq!(ids(&fuse(legs(Some(("latest".into(), ages))))), [2, 1]);
    }
}
