//! Scoring: BM25 by field, a bonus for adjacent words, and a tier for exact names.
//!
//! The score does not depend on where a page is stored: the page ranks the same in the overlay and
//! on disk.

use std::{collections::HashMap, sync::Arc};

use brain_protocol::ScorePart;

use super::{
    Question, RankedPage,
    bm25::{Stats, saturation},
    document::PageToIndex,
    match_table::{Cell, CellCounts, MatchTable, PlanMatches},
    plan::{MAX_GROUPS, Plan, WordGroup},
    query::Reach,
    runs::{WordRun, runs},
};

/// Minimum number of candidates that are scored in full.
const MIN_CANDIDATES: usize = 100;
/// Weight of a word in the title or an alias, in addition to its weight in the text.
const TITLE_WEIGHT: f32 = 0.4;
/// Weight of a word in a tag.
pub(super) const TAG_WEIGHT: f32 = 0.3;
/// Weight of a word in the slug.
pub(super) const SLUG_WEIGHT: f32 = 0.2;
/// Weight of two words that have the same distance in the page and in the question.
const PAIR_WEIGHT: f32 = 0.2;
/// Weight of a run of the whole question, where the best score without runs is 1.
const RUN_WEIGHT: f32 = 1.5;
/// Maximum weight of a run of a part of the question, where the page's own score without it is 1: a
/// chat that repeats words of the question is no better answer than a page about it.
const MAX_PARTIAL_RUN: f32 = 0.25;
/// Score of one tier of a name: more than any score of words.
const TIER_SCORE: f32 = 1000.0;

/// Tier, score and index of a candidate.
type ScoredCandidate = (u8, f32, usize);

/// What a ranking returns.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankLimits {
    /// Maximum number of candidates that are compared by pairs and runs, the best by their words.
    /// Without it, the ranking would depend on how many candidates are in the overlay.
    pub(super) candidates: usize,
    /// Maximum number of pages.
    pub(super) pages: usize,
    /// Whether to return the parts of the scores.
    pub(super) explain: bool,
}

impl RankLimits {
    /// Returns the limits of a question. For few results, a few times as many candidates are
    /// enough. For many results, a fixed number of additional candidates is enough.
    pub(super) fn of(question: &Question) -> Self {
        let limit = question.limit;
        let candidates = MIN_CANDIDATES.max(limit.saturating_mul(4).min(limit + 200)).min(10_000);
        Self { candidates, pages: limit, explain: question.explain }
    }
}

/// Returns the best candidates, best first. `overlay_entry` returns a page of the overlay.
pub(super) fn rank(
    found: &PlanMatches<'_>,
    plan: &Plan,
    limits: RankLimits,
    overlay_entry: &dyn Fn(u64) -> Option<Arc<PageToIndex>>,
) -> tantivy::Result<Vec<RankedPage>> {
    let RankLimits { candidates, pages: limit, explain } = limits;
    let hits = &found.hits;
    let order = |a: &ScoredCandidate, b: &ScoredCandidate| {
        let (x, y) = (&hits.candidates[a.2], &hits.candidates[b.2]);
        b.0.cmp(&a.0)
            .then(b.1.total_cmp(&a.1))
            .then(y.updated_at.cmp(&x.updated_at))
            .then(x.id.cmp(&y.id))
    };
    let weights = Weights::new(&found.stats, plan);
    let mut scored: Vec<ScoredCandidate> = (0..hits.candidates.len())
        .map(|i| (hits.candidates[i].names.tier(), weights.score_of_words(hits, i), i))
        .collect();
    if scored.len() > candidates && candidates > 0 {
        scored.select_nth_unstable_by(candidates - 1, order);
        scored.truncate(candidates);
    }
    let mut scorer = Scorer::new(found, weights, &scored);
    for (_, score, candidate) in &mut scored {
        *score = scorer.score(*candidate, &mut |_, _, _| {});
    }
    if plan.sequences.iter().any(|sequence| sequence.words.len() > 1) {
        scorer.add_runs(found, &mut scored, overlay_entry)?;
    }
    if scored.len() > limit && limit > 0 {
        scored.select_nth_unstable_by(limit - 1, order);
    }
    scored.truncate(limit);
    scored.sort_unstable_by(order);
    let ranked = |(tier, score, i)| scorer.ranked(i, tier, score, explain);
    Ok(scored.into_iter().map(ranked).collect())
}

/// Returns the share of each group in the score of the words of page `id`; empty if it is no
/// candidate.
pub(super) fn group_shares(found: &PlanMatches<'_>, plan: &Plan, id: u64) -> Vec<f32> {
    let hits = &found.hits;
    let weights = Weights::new(&found.stats, plan);
    let Some(index) = hits.candidates.iter().position(|it| it.id == id) else { return Vec::new() };
    let candidate = &hits.candidates[index];
    let score = |(g, cell): (usize, &Cell)| {
        weights.score(g, cell.counts(), candidate.body_len, candidate.title_len)
    };
    let scores: Vec<f32> = hits.row(index).iter().enumerate().map(score).collect();
    let sum: f32 = scores.iter().sum();
    scores.iter().map(|score| score / sum.max(f32::MIN_POSITIVE)).collect()
}

/// Scores the groups of a question by the statistics, without pairs and runs.
pub(super) struct Weights<'a> {
    plan: &'a Plan,
    /// Inverse document frequency of each group, in the text and in titles.
    idf: Vec<(f32, f32)>,
    /// Average length of body and title together, in terms.
    average: f32,
    /// Average length of titles, in terms.
    title_average: f32,
}

impl<'a> Weights<'a> {
    pub(super) fn new(stats: &Stats, plan: &'a Plan) -> Self {
        Self {
            plan,
            idf: (0..plan.groups.len()).map(|g| (stats.idf(g), stats.title_idf(g))).collect(),
            average: stats.average(stats.body_terms + stats.title_terms),
            title_average: stats.average(stats.title_terms),
        }
    }

    /// Returns the score of group `g` in a page with these lengths of body and title.
    pub(super) fn score(&self, g: usize, counts: CellCounts, body_len: u32, title_len: u32) -> f32 {
        let mut total = 0.0;
        self.parts(g, counts, (body_len + title_len) as f32, title_len as f32, &mut |_, score| {
            total += score;
        });
        total
    }

    /// Returns the score of a candidate by its words and its name.
    fn score_of_words(&self, hits: &MatchTable, index: usize) -> f32 {
        let candidate = &hits.candidates[index];
        let cells = hits.row(index).iter().enumerate();
        let scores = cells
            .map(|(g, cell)| self.score(g, cell.counts(), candidate.body_len, candidate.title_len));
        scores.sum::<f32>() + candidate.names.score()
    }

    /// Returns the weight of each word of the question, by its rarity; 0 for other groups.
    fn word_weights(&self) -> Vec<f32> {
        let weight = |(group, (idf, _)): (&WordGroup, &(f32, f32))| {
            let is_word = group.joined.is_empty() && group.spelling_of.is_none();
            if is_word && group.prefix.is_none() { idf * group.multiplier } else { 0.0 }
        };
        self.plan.groups.iter().zip(&self.idf).map(weight).collect()
    }

    /// Returns which groups a page has, in their own form or in another one that it has: a bit for
    /// each of them.
    fn words_of(&self, row: &[Cell]) -> u64 {
        const { assert!(MAX_GROUPS <= u64::BITS as usize) };
        let mut has = 0;
        for ((at, group), cell) in self.plan.groups.iter().enumerate().zip(row) {
            if cell.counts() != CellCounts::default() {
                let words =
                    [at].into_iter().chain(group.joined.iter().chain(&group.spelling_of).copied());
                words.for_each(|word| has |= 1 << word);
            }
        }
        has
    }

    /// Calls `add` with the parts of that score. The title is part of the text: `len` covers both.
    fn parts(
        &self,
        g: usize,
        counts: CellCounts,
        len: f32,
        title_len: f32,
        add: &mut dyn FnMut(Reason, f32),
    ) {
        if counts == CellCounts::default() {
            return;
        }
        let group = &self.plan.groups[g];
        let (idf, title_idf) = self.idf[g];
        let (body, title) = (counts.body as f32, counts.title as f32);
        if group.scope == Reach::Anywhere && body + title > 0.0 {
            let share = idf * group.multiplier * saturation(body + title, len, self.average);
            let of_title = share * title / (body + title);
            if body > 0.0 {
                add(Reason::Text, share - of_title);
            }
            if title > 0.0 {
                add(Reason::Title, of_title);
            }
        }
        if title > 0.0 {
            let share = saturation(title, title_len, self.title_average);
            add(Reason::Title, TITLE_WEIGHT * title_idf * group.multiplier * share);
        }
        if counts.tag {
            add(Reason::Tag, TAG_WEIGHT * idf * group.multiplier);
        }
        if counts.slug {
            add(Reason::Slug, SLUG_WEIGHT * idf * group.multiplier);
        }
        if counts.exact {
            add(Reason::Exact, group.exact_weight * idf * group.multiplier);
        }
    }
}

/// Returns the share of the question's words that each of the table's candidates has, by their
/// rarity. That of `candidates` with most of them has 1; words that none of these has do not count.
fn shares_of_words(
    weights: &Weights<'_>,
    hits: &MatchTable,
    candidates: &[ScoredCandidate],
) -> Vec<f32> {
    let word_weights = weights.word_weights();
    let sum = |(.., candidate): &ScoredCandidate| -> f32 {
        let has = weights.words_of(hits.row(*candidate));
        let words = word_weights.iter().enumerate().filter(|(at, _)| has & (1 << at) > 0);
        words.map(|(_, weight)| weight).sum()
    };
    let sums: Vec<f32> = candidates.iter().map(sum).collect();
    let best = sums.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let mut shares = vec![1.0; hits.candidates.len()];
    candidates.iter().zip(sums).for_each(|(it, sum)| shares[it.2] = sum / best);
    shares
}

/// Scores candidates.
struct Scorer<'a> {
    hits: &'a MatchTable,
    plan: &'a Plan,
    weights: Weights<'a>,
    /// Number of occurrences of each pair, one row per candidate.
    pair_counts: Vec<u32>,
    /// Inverse document frequency of each pair.
    pair_idf: Vec<f32>,
    /// The share of the question's words that each candidate has, where the best one has 1.
    shares: Vec<f32>,
    /// The best run of each candidate.
    runs: HashMap<usize, WordRun>,
    /// The score of the run of each candidate.
    run_scores: HashMap<usize, f32>,
}

/// Where a part of a score comes from.
#[derive(Clone, Copy)]
enum Reason {
    Text,
    Title,
    Tag,
    Slug,
    Exact,
    /// A pair, with the index of its second group.
    Pair(usize),
    Run,
}

impl<'a> Scorer<'a> {
    fn new(
        found: &'a PlanMatches<'_>,
        weights: Weights<'a>,
        candidates: &[ScoredCandidate],
    ) -> Self {
        let (hits, plan) = (&found.hits, weights.plan);
        let count = plan.pairs.len();
        let mut pair_counts = Vec::with_capacity(hits.candidates.len() * count);
        for candidate in 0..hits.candidates.len() {
            pair_counts.extend(plan.pairs.iter().map(|pair| hits.count_pair(candidate, *pair)));
        }
        // Nearly all pages with a pair are candidates, so their number is counted here.
        let has_pair = |candidate: usize, pair| pair_counts[candidate * count + pair] > 0;
        let pages = |pair| candidates.iter().filter(|it| has_pair(it.2, pair)).count() as u64;
        let pair_idf = (0..count).map(|pair| found.stats.rarity(pages(pair))).collect();
        let shares = match plan.pairs.is_empty() {
            true => vec![1.0; hits.candidates.len()],
            false => shares_of_words(&weights, hits, candidates),
        };
        Self {
            hits,
            plan,
            weights,
            pair_counts,
            pair_idf,
            shares,
            runs: HashMap::new(),
            run_scores: HashMap::new(),
        }
    }

    /// Finds the runs of the candidates, and adds their scores.
    fn add_runs(
        &mut self,
        found: &PlanMatches<'_>,
        scored: &mut [ScoredCandidate],
        overlay_entry: &dyn Fn(u64) -> Option<Arc<PageToIndex>>,
    ) -> tantivy::Result<()> {
        scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.2.cmp(&b.2)));
        let ranked: Vec<usize> = scored.iter().map(|(.., candidate)| *candidate).collect();
        let count = self.pair_idf.len();
        let has_pair = |candidate, pair| self.pair_counts[candidate * count + pair] > 0;
        let found = runs(found, self.plan, &ranked, has_pair, overlay_entry)?;
        let of_words = |(_, score, candidate): &ScoredCandidate| {
            score - self.hits.candidates[*candidate].names.score()
        };
        let best = scored.iter().map(of_words).fold(0.0, f32::max);
        for page in scored.iter_mut() {
            let Some(run) = found.get(&page.2) else { continue };
            let score = run.share * RUN_WEIGHT * best;
            let bound = if run.is_whole { f32::INFINITY } else { MAX_PARTIAL_RUN * of_words(page) };
            let score = score.min(bound);
            self.run_scores.insert(page.2, score);
            page.1 += score;
        }
        self.runs = found;
        Ok(())
    }

    /// Returns a candidate's score without its tier; calls `part` with each part.
    fn score(&self, index: usize, part: &mut dyn FnMut(Reason, usize, f32)) -> f32 {
        let candidate = &self.hits.candidates[index];
        let row = self.hits.row(index);
        let mut total = candidate.names.score();
        let mut add = |reason: Reason, group: usize, score: f32| {
            total += score;
            part(reason, group, score);
        };
        // A page that repeats a part of the question is no better answer than one with more of its
        // words. If no page has more, it loses nothing.
        let share = self.shares[index];
        // The title is part of the text.
        let len = (candidate.body_len + candidate.title_len) as f32;
        for (g, cell) in row.iter().enumerate() {
            let title_len = candidate.title_len as f32;
            // Many programs have a version 1.8.3: in a title it says little without its program.
            let of_title = if self.plan.groups[g].is_number { share } else { 1.0 };
            self.weights.parts(g, cell.counts(), len, title_len, &mut |reason, score| {
                let factor = if matches!(reason, Reason::Title) { of_title } else { 1.0 };
                add(reason, g, factor * score);
            });
        }
        let counts = self.pair_counts.iter().skip(index * self.pair_idf.len());
        for ((pair, idf), &count) in self.plan.pairs.iter().zip(&self.pair_idf).zip(counts) {
            if count > 0 {
                add(
                    Reason::Pair(pair.second),
                    pair.first,
                    PAIR_WEIGHT
                        * idf
                        * share
                        * share
                        * saturation(count as f32, len, self.weights.average),
                );
            }
        }
        if let Some(score) = self.run_scores.get(&index) {
            add(Reason::Run, 0, *score);
        }
        total
    }

    /// Returns the words of a candidate's run.
    fn run_text(&self, index: usize) -> String {
        let words = self
            .runs
            .get(&index)
            .and_then(|run| self.plan.sequences.get(run.sequence)?.words.get(run.words.clone()));
        let words = words.unwrap_or_default().iter().map(|word| word.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns the candidate as a result; with `explain`, with the parts of its score.
    fn ranked(&self, index: usize, tier: u8, score: f32, explain: bool) -> RankedPage {
        let candidate = &self.hits.candidates[index];
        // By field: title, alias, slug, text, tag.
        let mut is_matched = [false; 5];
        let mut parts = Vec::new();
        let [title, alias, slug, _] = candidate.names.whole;
        is_matched[..3].copy_from_slice(&[title, alias, slug]);
        // Words of any name count as words of the title.
        is_matched[0] |= (1..=3).contains(&tier);
        if explain && tier > 0 {
            let score = f32::from(tier) * TIER_SCORE + candidate.names.score();
            parts.push(ScorePart { reason: candidate.names.reason().to_owned(), score });
        }
        self.score(index, &mut |reason, group, score| {
            let label = self.plan.groups.get(group).map_or("", |group| &group.label);
            let (field, field_name) = match reason {
                Reason::Title => (0, "title"),
                Reason::Slug => (2, "slug"),
                Reason::Text | Reason::Pair(_) | Reason::Run => (3, "text"),
                Reason::Exact => (3, "exact"),
                Reason::Tag => (4, "tag"),
            };
            is_matched[field] = true;
            if explain {
                let is_prefix = self.plan.groups.get(group).is_some_and(|g| g.prefix.is_some());
                let star = if is_prefix { "*" } else { "" };
                let reason = match reason {
                    Reason::Pair(second) => {
                        format!("together: {label} {}", self.plan.groups[second].label)
                    }
                    Reason::Run => format!("phrase: {}", self.run_text(index)),
                    _ => format!("{field_name}: {label}{star}"),
                };
                match parts.iter_mut().find(|part: &&mut ScorePart| part.reason == reason) {
                    Some(part) => part.score += score,
                    None => parts.push(ScorePart { reason, score }),
                }
            }
        });
        let matched = ["title", "alias", "slug", "text", "tag"]
            .into_iter()
            .zip(is_matched)
            .filter_map(|(name, is_matched)| is_matched.then_some(name))
            .collect();
        RankedPage {
            id: candidate.id,
            score: score + f32::from(tier) * TIER_SCORE,
            tier,
            matched,
            explain: parts,
        }
    }
}
