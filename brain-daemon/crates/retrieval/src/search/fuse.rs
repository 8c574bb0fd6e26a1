//! Merges the rankings by words, vectors, links, days and age. No I/O.
//!
//! All scores use the scale of the text scores: a cosine of nearness 1 is worth [`VECTOR_WEIGHT`]
//! times the best text score. So a weak ranking cannot displace a strong one, as it can with rank
//! fusion.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use brain_protocol::ScorePart;

use super::relations::{RelatedPage, Relations};
use crate::embedding::VectorResults;
use brain_search::RankedPage;

/// The score added per tier. Equals `TIER` of the index.
const TIER: f32 = 1000.0;
/// The minimum nearness of a page that only vectors found.
const MIN_VECTOR_ONLY: f32 = 0.15;
/// The maximum nearness that counts. Nearness 1 is usual for the best matches.
const MAX_NEARNESS: f32 = 1.5;
/// The weight of nearness 1, where the best text score is 1: 60 % of their sum.
/// `docs/search-quality.md` has the alternatives that were measured.
const VECTOR_WEIGHT: f32 = 1.5;
/// If the cosine of random windows reaches this share of the span, vectors have no weight.
const MAX_BACKGROUND: f32 = 0.5;
/// Shares of the question's letters that the model knows. Below the first, vectors have no weight:
/// in an unknown language a model understands hardly more than names. From the second on, they have
/// their full weight.
const MIN_KNOWN_LETTERS: f32 = 0.3;
const FULL_KNOWN_LETTERS: f32 = 0.6;
/// The weight of a link of weight 1, where the best text score is 1.
const LINK_WEIGHT: f32 = 1.5;
/// The factor for vector scores of all pages if links answer the question, and for all scores of
/// the page that the question names: that page is near the question and is not its answer.
const SUBJECT_FACTOR: f32 = 0.3;
/// The weight of a page of the days that the question names, where the best text score is 1.
const DAY_WEIGHT: f32 = 2.0;
/// The bonus of a page updated now, if the question asks for recent pages.
const RECENCY_WEIGHT: f32 = 0.15;
/// Days after which that bonus is halved.
const RECENCY_HALF_LIFE: f32 = 14.0;

/// The rankings to merge.
pub(super) struct Rankings<'a> {
    /// The text ranking, best first.
    pub(super) text: Vec<RankedPage>,
    /// The pages near the question.
    pub(super) vectors: &'a VectorResults,
    /// The pages that links lead to.
    pub(super) relations: Relations,
    /// The pages that the question names, each with its bonus, where the best text score is 1.
    pub(super) named: Vec<(u64, f32)>,
    /// The pages of the days that the question names, each with its weight, 0 to 1.75.
    pub(super) dated: &'a BTreeMap<u64, f32>,
    /// The word of the question that asks for recent pages, and the age of each page in days.
    pub(super) recency: Option<(String, HashMap<u64, f32>)>,
    /// Whether to return the parts of each score.
    pub(super) explain: bool,
}

/// A page of the merged ranking.
#[derive(Debug, Clone, Default)]
pub(super) struct RankingEntry {
    pub(super) id: u64,
    /// The sum of its parts.
    pub(super) score: f32,
    /// Why it matched.
    pub(super) matched: Vec<&'static str>,
    /// The parts of the score; empty unless requested.
    pub(super) explain: Vec<ScorePart>,
    /// Start and end of the window nearest to the question, in bytes of the body. Set only if no
    /// word matched the text.
    pub(super) window: Option<(u32, u32)>,
    /// The tier of an exact match of a name, or 0.
    pub(super) tier: u8,
    /// Whether the full-text index found it, by a word or by a filter alone (`tag:work`).
    pub(super) by_words: bool,
}

impl RankingEntry {
    /// Returns whether the question names the page, or links lead to it. Reranking does not move it
    /// then.
    pub(super) fn is_pinned(&self) -> bool {
        self.tier > 0 || self.matched.iter().any(|reason| matches!(*reason, "link" | "list"))
    }

    /// Returns the byte range of the window nearest to the question, if no word matched the text.
    pub(super) fn window(&self) -> Option<Range<usize>> {
        self.window.map(|(start, end)| start as usize..end as usize)
    }

    /// Adds a part to the score. Records its reason if `explain` is set.
    pub(super) fn add(&mut self, score: f32, explain: bool, reason: impl FnOnce() -> String) {
        self.score += score;
        if explain {
            self.explain.push(ScorePart { reason: reason(), score });
        }
    }
}

/// Converts cosines with a question into nearness.
struct Nearness {
    /// The cosine that counts as nearness 0: that of the question with random windows.
    zero: f32,
    /// The difference between the cosines of nearness 0 and 1.
    span: f32,
    /// The reliability of cosines for this question, 0 to 1. It is low if all texts are near each
    /// other, or if the model does not know the language.
    reliability: f32,
}

impl Nearness {
    fn of(vectors: &VectorResults) -> Self {
        let span = vectors.span.max(1e-3);
        let top = vectors.floor + span;
        let background_share =
            (vectors.background - vectors.floor).max(0.0) / (MAX_BACKGROUND * span);
        let language_trust = ((vectors.coverage - MIN_KNOWN_LETTERS)
            / (FULL_KNOWN_LETTERS - MIN_KNOWN_LETTERS))
            .clamp(0.0, 1.0);
        Self {
            zero: vectors.background,
            // Windows may be nearer to each other than to a question, so the floor may be too high.
            span: top - vectors.background.min(vectors.floor),
            reliability: (1.0 - background_share).max(0.0) * language_trust,
        }
    }

    /// Returns the nearness of a cosine, 0 to [`MAX_NEARNESS`], times the reliability.
    fn reliable_nearness(&self, cosine: f32) -> f32 {
        ((cosine - self.zero) / self.span).clamp(0.0, MAX_NEARNESS) * self.reliability
    }
}

/// Returns the pages of `rankings`, best first. Without other rankings, the text ranking
/// keeps its order.
pub(super) fn fuse(rankings: Rankings<'_>) -> Vec<RankingEntry> {
    let Rankings { text, vectors, relations, named, dated, recency, explain } = rankings;
    let mut merged = MergedRanking::of_text(text, vectors.near.len(), explain);
    let nearness = Nearness::of(vectors);
    merged.add_near_pages(vectors, &nearness, &relations.related);
    merged.reduce_subjects(relations.subjects);
    merged.add_named(named);
    merged.add_related(relations.related, if relations.is_list { "list" } else { "link" });
    merged.add_dated(dated);
    if let Some((word, ages)) = recency {
        let weight = match vectors.near.is_empty() {
            true => 1.0,
            false => 1.0 + VECTOR_WEIGHT * nearness.reliability,
        };
        merged.add_recency(&word, &ages, weight);
    }
    merged.into_sorted()
}

/// The text ranking, with the pages and scores of the rankings that were added.
struct MergedRanking {
    pages: Vec<RankingEntry>,
    /// The index in `pages` of each page, by page id.
    index_of: HashMap<u64, usize>,
    /// The best text score: what a score of 1 in another ranking is worth.
    scale: f32,
    explain: bool,
}

impl MergedRanking {
    /// Starts with the text ranking, with room for `more` pages.
    fn of_text(text: Vec<RankedPage>, more: usize, explain: bool) -> Self {
        let best =
            text.iter().map(|hit| hit.score - f32::from(hit.tier) * TIER).fold(0.0, f32::max);
        // Without text scores, other scores are not scaled.
        let scale = if best > 1e-3 { best } else { 1.0 };
        let mut pages = Vec::with_capacity(text.len() + more);
        let mut index_of = HashMap::with_capacity(pages.capacity());
        for hit in text {
            index_of.insert(hit.id, pages.len());
            pages.push(RankingEntry {
                id: hit.id,
                score: hit.score,
                matched: hit.matched,
                explain: hit.explain,
                window: None,
                tier: hit.tier,
                by_words: true,
            });
        }
        Self { pages, index_of, scale, explain }
    }

    /// Returns the entry of a page. Adds one if there is none.
    fn entry(&mut self, id: u64) -> &mut RankingEntry {
        let index = *self.index_of.entry(id).or_insert_with(|| {
            self.pages.push(RankingEntry { id, ..RankingEntry::default() });
            self.pages.len() - 1
        });
        &mut self.pages[index]
    }

    /// Adds the pages near the question.
    fn add_near_pages(
        &mut self,
        vectors: &VectorResults,
        nearness: &Nearness,
        related: &[RelatedPage],
    ) {
        let linked: HashMap<u64, f32> =
            related.iter().map(|related| (related.page, related.weight * LINK_WEIGHT)).collect();
        let (scale, explain) = (self.scale, self.explain);
        for near in &vectors.near {
            let mut page_nearness = nearness.reliable_nearness(near.cosine);
            if !linked.is_empty() {
                page_nearness *= SUBJECT_FACTOR;
            }
            // A link already matched the question's other words in the sentence around it. So
            // nearness counts only as far as it exceeds the link's weight.
            let link = linked.get(&near.page).copied().unwrap_or(0.0);
            let excess = (page_nearness * VECTOR_WEIGHT - link).max(0.0);
            let page = self.entry(near.page);
            if page_nearness <= 0.0
                || (page.matched.is_empty() && link <= 0.0 && page_nearness < MIN_VECTOR_ONLY)
            {
                continue;
            }
            if !page.matched.contains(&"text") {
                page.window = Some((near.start, near.end));
            }
            if excess > 0.0 {
                page.matched.push("meaning");
                page.add(excess * scale, explain, || format!("meaning: cosine {:.3}", near.cosine));
            }
        }
    }

    /// Lowers the scores of pages that the question names while it asks for others.
    fn reduce_subjects(&mut self, subjects: Vec<u64>) {
        let explain = self.explain;
        let subjects: HashSet<u64> = subjects.into_iter().collect();
        let is_subject = |page: &&mut RankingEntry| page.tier == 0 && subjects.contains(&page.id);
        for page in self.pages.iter_mut().filter(is_subject) {
            let reduction = page.score * (SUBJECT_FACTOR - 1.0);
            page.add(reduction, explain, || {
                "named by the question, which asks for others".to_owned()
            });
        }
    }

    /// Adds the bonus of each page that the question names.
    fn add_named(&mut self, named: Vec<(u64, f32)>) {
        for (id, bonus) in named {
            // A page that the filters exclude is in no ranking.
            if let Some(page) = self.pages.iter_mut().find(|page| page.id == id) {
                let reason = || "named by the question".to_owned();
                page.add(bonus * self.scale, self.explain, reason);
            }
        }
    }

    /// Adds the pages that links lead to, or those of a list, as `reason` says.
    fn add_related(&mut self, related: Vec<RelatedPage>, reason: &'static str) {
        let (scale, explain) = (self.scale, self.explain);
        for related in related {
            let page = self.entry(related.page);
            page.matched.push(reason);
            page.add(related.weight * LINK_WEIGHT * scale, explain, || related.explanation);
        }
    }

    /// Adds the pages of the days that the question names.
    fn add_dated(&mut self, dated: &BTreeMap<u64, f32>) {
        let (scale, explain) = (self.scale, self.explain);
        for (&id, weight) in dated {
            let page = self.entry(id);
            page.matched.push("date");
            let reason = || "a day that the question names".to_owned();
            page.add(weight * DAY_WEIGHT * scale, explain, reason);
        }
    }

    /// Adds the bonus for recent pages, times `weight`. `word` asks for them, and `ages` are in
    /// days.
    fn add_recency(&mut self, word: &str, ages: &HashMap<u64, f32>, weight: f32) {
        let full_scale = self.scale * weight;
        for page in &mut self.pages {
            let Some(age) = ages.get(&page.id) else { continue };
            let bonus = RECENCY_WEIGHT * (-age.max(0.0) / RECENCY_HALF_LIFE).exp2();
            page.add(bonus * full_scale, self.explain, || {
                format!("\"{word}\": changed {age:.0} days ago")
            });
        }
    }

    /// Returns the pages that matched, best first.
    fn into_sorted(self) -> Vec<RankingEntry> {
        let mut pages = self.pages;
        pages.retain(|page| page.by_words || !page.matched.is_empty());
        // The sort is stable: pages with equal scores keep the order of the text ranking.
        pages.sort_by(|a, b| b.tier.cmp(&a.tier).then(b.score.total_cmp(&a.score)));
        pages
    }
}

#[cfg(test)]
mod tests {
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

    fn vectors(near: &[(u64, f32)]) -> VectorResults {
        let near = near
            .iter()
            .map(|&(page, cosine)| NearPage { page, cosine, start: 3, end: 9 })
            .collect();
        VectorResults {
            near,
            floor: 0.1,
            background: 0.1,
            span: 0.6,
            coverage: 1.0,
            degradation: None,
        }
    }

    fn fuse_with(
        text: Vec<RankedPage>,
        vectors: &VectorResults,
        relations: Relations,
    ) -> Vec<RankingEntry> {
        let (named, dated) = (Vec::new(), &BTreeMap::new());
        fuse(Rankings { text, vectors, relations, named, dated, recency: None, explain: true })
    }

    fn ids(pages: &[RankingEntry]) -> Vec<u64> {
        pages.iter().map(|page| page.id).collect()
    }

    #[test]
    fn filter_hits_without_words_are_kept() {
        let hit =
            RankedPage { id: 1, score: 0.0, tier: 0, matched: Vec::new(), explain: Vec::new() };
        assert_eq!(ids(&fuse_with(vec![hit], &vectors(&[]), Relations::default())), [1]);
    }

    #[test]
    fn text_ranking_alone_is_unchanged() {
        let found = fuse_with(
            vec![ranked(1, 9.0, 0), ranked(2, 9.0, 0), ranked(3, 1.0, 0)],
            &vectors(&[]),
            Relations::default(),
        );
        assert_eq!(ids(&found), [1, 2, 3]);
        assert!((found[0].score - 9.0).abs() < 1e-6 && found[0].matched == ["text"]);
    }

    #[test]
    fn vector_and_text_scores_share_a_scale() {
        let near = vectors(&[(3, 0.6), (2, 0.4), (4, 0.11)]);
        let found =
            fuse_with(vec![ranked(1, 8.0, 0), ranked(2, 6.0, 0)], &near, Relations::default());
        assert_eq!(
            ids(&found),
            [2, 3, 1],
            "two rankings add up; a page with little nearness is omitted"
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
    fn background_nearness_counts_little() {
        let text = || vec![ranked(1, 8.0, 0), ranked(2, 7.0, 0)];
        let mut near = vectors(&[(2, 0.68), (1, 0.6), (3, 0.66)]);
        assert_eq!(ids(&fuse_with(text(), &near, Relations::default())), [2, 1, 3]);
        // Random windows reach half of the span, or the model knows few letters of the question.
        for (background, coverage) in [(0.4, 1.0), (0.1, 0.3)] {
            (near.background, near.coverage) = (background, coverage);
            let found = fuse_with(text(), &near, Relations::default());
            assert_eq!(ids(&found), [1, 2], "vectors alone add no page");
            assert!((found[0].score - 8.0).abs() < 1e-3);
        }
        (near.background, near.coverage) = (0.25, 1.0);
        let less = fuse_with(text(), &near, Relations::default())[0].score;
        near.background = 0.1;
        assert!(fuse_with(text(), &near, Relations::default())[0].score > less && less > 8.0);
    }

    #[test]
    fn low_background_does_not_lower_the_best_score() {
        let score = |floor, background| {
            let near =
                VectorResults { floor, span: 0.7 - floor, background, ..vectors(&[(1, 0.7)]) };
            fuse_with(vec![ranked(1, 8.0, 0)], &near, Relations::default())[0].score
        };
        assert!((score(0.4, 0.1) - score(0.1, 0.1)).abs() < 1e-3, "the best score is the same");
    }

    #[test]
    fn linked_pages_are_ordered_by_link_weight() {
        let related = |page, weight| RelatedPage { page, weight, explanation: String::new() };
        let links = |weight| Relations {
            related: vec![related(3, weight), related(4, weight)],
            subjects: vec![1],
            is_list: false,
        };
        let text = || vec![ranked(1, 9.0, 0), ranked(3, 2.0, 0), ranked(4, 1.0, 0)];
        // Page 2 resembles the named page and is nearest. Page 4 is nearer than page 3.
        let near = vectors(&[(2, 0.7), (4, 0.6), (3, 0.5)]);
        assert_eq!(ids(&fuse_with(text(), &near, links(0.6))), [3, 4, 2, 1]);
        assert_eq!(
            ids(&fuse_with(text(), &near, Relations::default()))[..3],
            [2, 4, 3],
            "without links, nearness decides"
        );
        let weak = fuse_with(text(), &near, links(0.01));
        assert_eq!(
            weak[0].matched,
            ["text", "meaning", "link"],
            "a weak link removes no score: {weak:?}"
        );
        // Of two equally near pages, the one with the stronger link comes first.
        for cosine in [0.2, 0.31, 0.52, 0.7] {
            let near = vectors(&[(3, cosine), (4, cosine)]);
            for (weaker, stronger) in [(0.1, 0.2), (0.2, 0.4), (0.05, 0.06)] {
                let links = Relations {
                    related: vec![related(3, weaker), related(4, stronger)],
                    subjects: vec![1],
                    is_list: false,
                };
                let found = fuse_with(vec![ranked(1, 9.0, 0)], &near, links);
                let entry =
                    |id| found.iter().find(|page| page.id == id).cloned().unwrap_or_default();
                let (weak, strong) = (entry(3), entry(4));
                assert!(
                    strong.score > weak.score - 1e-4,
                    "{cosine} {weaker} {stronger}: {found:?}"
                );
                assert!(strong.window.is_some(), "its nearest passage is shown");
            }
        }
    }

    #[test]
    fn title_match_stays_first() {
        let found = fuse_with(
            vec![ranked(1, 0.5, 3), ranked(2, 9.0, 0)],
            &vectors(&[(2, 0.7)]),
            Relations::default(),
        );
        assert_eq!(ids(&found), [1, 2]);
    }

    #[test]
    fn links_add_pages_and_demote_the_named_page() {
        let related =
            vec![RelatedPage { page: 7, weight: 1.0, explanation: "link on a: b".into() }];
        let relations = Relations { related, subjects: vec![1], is_list: false };
        let found = fuse_with(vec![ranked(1, 9.0, 0), ranked(2, 5.0, 0)], &vectors(&[]), relations);
        assert_eq!(ids(&found), [7, 2, 1]);
        assert_eq!(
            (found[0].matched.as_slice(), found[0].explain[0].reason.as_str()),
            (["link"].as_slice(), "link on a: b")
        );
    }

    #[test]
    fn newer_page_comes_first_if_asked_for() {
        let ages = HashMap::from([(1, 400.0), (2, 1.0)]);
        let (no_vectors, no_days) = (VectorResults::default(), BTreeMap::new());
        let rankings = |recency| Rankings {
            text: vec![ranked(1, 9.0, 0), ranked(2, 8.9, 0)],
            vectors: &no_vectors,
            relations: Relations::default(),
            named: Vec::new(),
            dated: &no_days,
            recency,
            explain: true,
        };
        assert_eq!(ids(&fuse(rankings(None))), [1, 2]);
        assert_eq!(ids(&fuse(rankings(Some(("latest".into(), ages))))), [2, 1]);
    }
}
