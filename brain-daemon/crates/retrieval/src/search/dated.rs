//! Pages of the days that a question names, and pages in the order that it asks for.

use std::collections::BTreeMap;
use std::ops::Range;

use brain_page::{line_with_date, page_dates};
use brain_search::{Index, IndexError, Question, QuestionTerms, RankedPage};
use brain_store::{Content, Reader, StoreError, unless_damaged};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::fuse::RankingEntry;
use super::target_pages::kinds;
use brain_questions::ParsedQuestion;
use brain_questions::forms::names_kind;
use brain_questions::times::{Order, Period};

/// Maximum number of pages of a period that are searched for the question's other words.
const DEPTH: usize = 200;
/// Maximum number of newest pages of a period that are considered in addition.
const MAX_PAGES: usize = 1_000;
/// Weight of a page of the period that has none of the question's other words.
const DAY_ONLY_WEIGHT: f32 = 0.25;
/// The weight of each page of the period if none has one of these words.
const NO_WORDS_WEIGHT: f32 = 0.6;
/// Weight of a page of the period that has some of these words, and the addition for all of them.
const SOME_WORDS_WEIGHT: f32 = 0.3;
const ALL_WORDS_WEIGHT: f32 = 0.4;
/// Added for a page of the kind that the question names.
const KIND_WEIGHT: f32 = 0.5;
/// Weight of a page that was changed in the period and states no day of it.
const CHANGED_WEIGHT: f32 = 0.4;
/// Maximum number of pages that are put into order.
const MAX_ORDERED: usize = 40;
/// Pages below this share of the best one do not answer the question.
const MIN_SHARE: f32 = 0.4;

/// Pages of the period of a question.
#[derive(Debug, Default)]
pub(super) struct DatedPages {
    /// How much of the question each page answers, by page id: 0 to 1.5.
    pub(super) weights: BTreeMap<u64, f32>,
    pub(super) period: Option<Period>,
}

impl DatedPages {
    /// Returns the byte range of the first line of `body` with a day of the period, if the page is
    /// one of these pages.
    pub(super) fn line(&self, page: u64, body: &str) -> Option<Range<usize>> {
        let period = self.period.as_ref().filter(|_| self.weights.contains_key(&page))?;
        line_with_date(body, period.first, period.last)
    }

    /// Finds the pages of the period that the question names.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub(super) fn find(
        index: &Index,
        question: &Question,
        parsed: &ParsedQuestion,
        zone: &TimeZone,
    ) -> Result<Self, IndexError> {
        let Some(period) = parsed.times.period.clone() else { return Ok(Self::default()) };
        let rest = parsed.times.rest(&parsed.query.text);
        let query = index.parse(&rest, question.view.as_deref())?;
        let rest = Question { query, limit: DEPTH, explain: false, ..question.clone() };
        let on_days = Question { days: Some((period.first, period.last)), ..rest.clone() };
        let with_words = index.search(&on_days)?.hits;
        let mut all: Vec<u64> = index.matching_pages(&on_days)?.into_iter().flatten().collect();
        // Newer pages have greater ids.
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.truncate(MAX_PAGES);
        let mut weights = BTreeMap::new();
        let day_only = match with_words.first() {
            // If the question has only question words besides the period, such as "which", all
            // pages of the period answer it.
            Some(page) if page.matched.is_empty() => 1.0,
            Some(_) => DAY_ONLY_WEIGHT,
            None => NO_WORDS_WEIGHT,
        };
        weights.extend(all.into_iter().map(|page| (page, day_only)));
        weights.extend(
            shares(&with_words)
                .map(|(page, share)| (page, SOME_WORDS_WEIGHT + ALL_WORDS_WEIGHT * share)),
        );
        // The day of an edit counts, too, but less than a day that the page states.
        let start = |day: Date| Some(day.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
        let since = question.since.max(start(period.first));
        let end = period.last.tomorrow().ok().and_then(start).map(|next| next - 1);
        let until = question.until.into_iter().chain(end).min();
        let changed = index.search(&Question { since, until, ..rest })?.hits;
        for (page, share) in shares(&changed) {
            weights.entry(page).or_insert(CHANGED_WEIGHT * share);
        }
        Ok(Self { weights, period: Some(period) })
    }

    /// Adds weight to the pages of a kind that the question names: `which meetings took place in
    /// March`.
    pub(super) fn add_kind_weight(
        &mut self,
        reader: &Reader,
        terms: &QuestionTerms,
    ) -> Result<(), StoreError> {
        for (&id, weight) in &mut self.weights {
            let Some(page) = reader.by_id(id)? else { continue };
            let kinds = kinds(&page);
            let mut words = terms.words.iter().filter(|word| !word.is_stop_word);
            if words.any(|word| kinds.iter().any(|kind| names_kind(word, kind))) {
                *weight += KIND_WEIGHT;
            }
        }
        Ok(())
    }
}

/// Returns the pages with their share of the best score. Pages without words have the share 1.
fn shares(hits: &[RankedPage]) -> impl Iterator<Item = (u64, f32)> {
    let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
    hits.iter().map(move |hit| (hit.id, if best > 0.0 { hit.score / best } else { 1.0 }))
}

/// Sorts the answers to a question for the newest or oldest pages. The answers are the pages that
/// links lead to, else the pages of the kind that the question names.
pub(super) fn order_answers(
    merged: &mut [RankingEntry],
    order: Order,
    today: Date,
    reader: &Reader,
    terms: &QuestionTerms,
    explain: bool,
) -> Result<(), StoreError> {
    let is_linked = merged.iter().any(|page| page.matched.contains(&"link"));
    let best = merged.iter().filter(|page| page.tier == 0).map(|page| page.score);
    let min_score = best.fold(0.0, f32::max) * MIN_SHARE;
    let mut slots = Vec::new();
    let mut answers: Vec<(Date, RankingEntry)> = Vec::new();
    for (slot, page) in merged.iter().enumerate() {
        if answers.len() >= MAX_ORDERED || page.score < min_score {
            break;
        }
        if page.tier > 0 || (is_linked && !page.matched.contains(&"link")) {
            continue;
        }
        let Some(entry) = reader.by_id(page.id)? else { continue };
        let kinds = kinds(&entry);
        let mut words = terms.words.iter().filter(|word| !word.is_stop_word);
        let is_kind = words.any(|word| kinds.iter().any(|kind| names_kind(word, kind)));
        if !is_linked && !is_kind {
            continue;
        }
        let (_, slug, record) = entry;
        let Some(Content { frontmatter, .. }) = unless_damaged(reader.content(&record))? else {
            continue;
        };
        let days = page_dates(&slug, &record.title, &frontmatter, std::iter::empty());
        let day = match order {
            Order::Newest => days.iter().rev().find(|day| **day <= today),
            Order::Oldest => days.first(),
        };
        if let Some(day) = day {
            slots.push(slot);
            answers.push((*day, page.clone()));
        }
    }
    match order {
        Order::Newest => answers.sort_by(|(one, _), (other, _)| other.cmp(one)),
        Order::Oldest => answers.sort_by_key(|(day, _)| *day),
    }
    let scores: Vec<f32> = slots.iter().map(|slot| merged[*slot].score).collect();
    for ((slot, score), (day, mut page)) in slots.into_iter().zip(scores).zip(answers) {
        page.add(score - page.score, explain, || format!("by its day, {day}"));
        merged[slot] = page;
    }
    Ok(())
}
