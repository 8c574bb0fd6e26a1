//! One ranking out of what words, vectors, links and time say of pages. Pure: numbers of pages in,
//! scores out.
//!
//! All parts are on the scale of the words: a cosine as good as they become in this space counts
//! somewhat more than the best text of this question. So a weak side cannot push a strong one
//! aside, as it can where ranks are fused.

use std::collections::{HashMap, HashSet};

use brain_protocol::ScorePart;

use super::relations::Relations;
use crate::embedding::VectorResults;
use brain_search::RankedPage;

/// What a tier is worth; the same as the index's.
const TIER: f32 = 1000.0;
/// A page that only vectors found must be so near, from 0 (nothing in common) to 1 (as near as
/// pages get).
const ALONE: f32 = 0.15;
/// No cosine counts more than so much.
const NEAREST: f32 = 1.5;
/// What a cosine as good as they become is worth, where the best text is worth 1: three parts of
/// five of both. What was tried is in `docs/search-quality.md`.
const MEANING: f32 = 1.5;
/// Where nearness by chance makes up this part of the scale, being near says nothing.
const BY_CHANCE: f32 = 0.5;
/// Of a question in a language that a model has not learnt it reads hardly more than names: with so
/// much of its letters nearness says nothing, and with so much all that it can.
const HARDLY_READ: f32 = 0.3;
const READ: f32 = 0.6;
/// What a link of weight 1 is worth, where the best text is worth 1: as a rule more than words can
/// be, and what is left of the meaning beside it.
const LINK: f32 = 1.5;
/// What is left of the meaning of every page where links answer, and then of all that a page has
/// which the question only starts from: a question is near what it names and what is like that,
/// which is not what it asks for.
const SUBJECT: f32 = 0.3;
/// What a page of this moment gets, where the question asks for what is new.
const NEW: f32 = 0.15;
/// After so many days it is half of that.
const HALF_LIFE: f32 = 14.0;

/// What is known of the answers to a question.
pub(super) struct Legs<'a> {
    /// What the words found, best first.
    pub(super) text: Vec<RankedPage>,
    /// What the vectors found.
    pub(super) meant: &'a VectorResults,
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

/// What cosines with a question mean.
struct Nearness {
    /// The cosine that is no nearness: what the question has with any window.
    chance: f32,
    /// From there to a nearness of 1.
    span: f32,
    /// How much of it says something, from 0 to 1. Where any two texts are near each other, being
    /// near says little; and a model that does not know a language leaves the answer to the words.
    told_apart: f32,
}

impl Nearness {
    fn of(meant: &VectorResults) -> Self {
        let span = meant.span.max(1e-3);
        let top = meant.floor + span;
        let by_chance = (meant.background - meant.floor).max(0.0) / (BY_CHANCE * span);
        let read = ((meant.read - HARDLY_READ) / (READ - HARDLY_READ)).clamp(0.0, 1.0);
        Self {
            chance: meant.background,
            // Windows may be nearer to each other than to a question, so the floor may be too high.
            span: top - meant.background.min(meant.floor),
            told_apart: (1.0 - by_chance).max(0.0) * read,
        }
    }

    fn share(&self, cosine: f32) -> f32 {
        ((cosine - self.chance) / self.span).clamp(0.0, NEAREST) * self.told_apart
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
    let nearness = Nearness::of(meant);
    let linked: HashMap<u64, f32> =
        relations.related.iter().map(|related| (related.page, related.weight * LINK)).collect();
    for near in &meant.near {
        let mut share = nearness.share(near.cosine);
        if !linked.is_empty() {
            share *= SUBJECT;
        }
        // Which of the answers the question is nearest to tells nothing: what it says besides the
        // name was looked for where they are linked. So only what nearness is worth beyond the link
        // counts.
        let link = linked.get(&near.page).copied().unwrap_or(0.0);
        let worth = (share * MEANING - link).max(0.0);
        let known = at(&mut pages, near.page);
        let page = &mut pages[known];
        if share <= 0.0 || (page.matched.is_empty() && link <= 0.0 && share < ALONE) {
            continue;
        }
        if !page.matched.contains(&"text") {
            page.window = Some((near.start, near.end));
        }
        if worth > 0.0 {
            page.matched.push("meaning");
            page.add(worth * scale, explain, || format!("meaning: cosine {:.3}", near.cosine));
        }
    }
    let subjects: HashSet<u64> = relations.subjects.into_iter().collect();
    for page in pages.iter_mut().filter(|page| page.tier == 0 && subjects.contains(&page.id)) {
        let less = page.score * (SUBJECT - 1.0);
        page.add(less, explain, || "named by the question, which asks for others".to_owned());
    }
    for related in relations.related {
        let known = at(&mut pages, related.page);
        let page = &mut pages[known];
        page.matched.push("link");
        page.add(related.weight * LINK * scale, explain, || related.how);
    }
    if let Some((word, ages)) = new {
        let whole = if meant.near.is_empty() {
            scale
        } else {
            scale * (1.0 + MEANING * nearness.told_apart)
        };
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
    use brain_embed::vectors::NearPage;

    fn ranked(id: u64, score: f32, tier: u8) -> RankedPage {
        let explain = vec![ScorePart { reason: "text: x".into(), score }];
        RankedPage {
            id,
            score: score + f32::from(tier) * TIER,
            tier,
            matched: vec!["text"],
            explain,
        }
    }

    fn meant(near: &[(u64, f32)]) -> VectorResults {
        let near = near
            .iter()
            .map(|&(page, cosine)| NearPage { page, cosine, start: 3, end: 9 })
            .collect();
        VectorResults { near, floor: 0.1, background: 0.1, span: 0.6, read: 1.0, degradation: None }
    }

    fn run(text: Vec<RankedPage>, meant: &VectorResults, relations: Relations) -> Vec<Fused> {
        fuse(Legs { text, meant, relations, new: None, explain: true })
    }

    fn ids(pages: &[Fused]) -> Vec<u64> {
        pages.iter().map(|page| page.id).collect()
    }

    #[test]
    fn what_a_condition_alone_finds_is_found() {
        let hit =
            RankedPage { id: 1, score: 0.0, tier: 0, matched: Vec::new(), explain: Vec::new() };
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
        assert_eq!(
            (found[1].matched.as_slice(), found[1].window),
            (["meaning"].as_slice(), Some((3, 9)))
        );
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
        // Half of the scale by chance; or a question of which the model can read the names at the
        // most.
        for (background, read) in [(0.4, 1.0), (0.1, 0.3)] {
            (near.background, near.read) = (background, read);
            let found = run(text(), &near, Relations::default());
            assert_eq!(ids(&found), [1, 2], "and alone it is none");
            assert!((found[0].score - 8.0).abs() < 1e-3);
        }
        (near.background, near.read) = (0.25, 1.0);
        let less = run(text(), &near, Relations::default())[0].score;
        near.background = 0.1;
        assert!(run(text(), &near, Relations::default())[0].score > less && less > 8.0);
    }

    #[test]
    fn a_question_that_is_further_from_all_than_they_are_from_each_other_has_a_scale_of_its_own() {
        let score = |floor, background| {
            let near = VectorResults { floor, span: 0.7 - floor, background, ..meant(&[(1, 0.7)]) };
            run(vec![ranked(1, 8.0, 0)], &near, Relations::default())[0].score
        };
        assert!((score(0.4, 0.1) - score(0.1, 0.1)).abs() < 1e-3, "the best is the best");
    }

    #[test]
    fn what_links_answer_is_not_ordered_by_nearness_to_the_question() {
        let related = |page, weight| Related { page, weight, how: String::new() };
        let links = |weight| Relations {
            related: vec![related(3, weight), related(4, weight)],
            subjects: vec![1],
        };
        let text = || vec![ranked(1, 9.0, 0), ranked(3, 2.0, 0), ranked(4, 1.0, 0)];
        // A page like the one that is named is nearest, and the second answer is nearer than the
        // first.
        let near = meant(&[(2, 0.7), (4, 0.6), (3, 0.5)]);
        assert_eq!(ids(&run(text(), &near, links(0.6))), [3, 4, 2, 1]);
        assert_eq!(
            ids(&run(text(), &near, Relations::default()))[..3],
            [2, 4, 3],
            "without links it is"
        );
        let weak = run(text(), &near, links(0.01));
        assert_eq!(
            weak[0].matched,
            ["text", "meaning", "link"],
            "a weak link takes nothing away: {weak:?}"
        );
        // Of two that are as near, the one with the stronger link is first, however near they are.
        for cosine in [0.2, 0.31, 0.52, 0.7] {
            let near = meant(&[(3, cosine), (4, cosine)]);
            for (weaker, stronger) in [(0.1, 0.2), (0.2, 0.4), (0.05, 0.06)] {
                let links = Relations {
                    related: vec![related(3, weaker), related(4, stronger)],
                    subjects: vec![1],
                };
                let found = run(vec![ranked(1, 9.0, 0)], &near, links);
                let of = |id| found.iter().find(|page| page.id == id).cloned().unwrap_or_default();
                let (weak, strong) = (of(3), of(4));
                assert!(
                    strong.score > weak.score - 1e-4,
                    "{cosine} {weaker} {stronger}: {found:?}"
                );
                assert!(strong.window.is_some(), "its nearest passage is shown");
            }
        }
    }

    #[test]
    fn what_is_called_so_stays_first() {
        let found = run(
            vec![ranked(1, 0.5, 3), ranked(2, 9.0, 0)],
            &meant(&[(2, 0.7)]),
            Relations::default(),
        );
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
        let nothing = VectorResults::default();
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
