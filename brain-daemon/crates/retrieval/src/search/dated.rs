//! Pages of the days that a question names, and pages in the order that it asks for.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use brain_page::{line_with_date, page_dates};
use brain_search::{
    DayCondition, DayRole, Index, IndexError, Question, QuestionTerms, QuestionWord, RankedPage,
    each_word,
};
use brain_store::{Content, Reader, StoreError, unless_damaged};
use jiff::civil::Date;

use super::fuse::RankingEntry;
use super::target_pages::kinds;
use brain_questions::ParsedQuestion;
use brain_questions::kinds::names_kind;
use brain_questions::times::{Order, Period};

/// Maximum number of readings of a period without a year that are sought, from the last one back.
const MAX_PERIODS: usize = 60;
/// Maximum number of pages of a period that are searched for the question's other words.
const DEPTH: usize = 200;
/// Maximum number of newest pages of a period that are considered in addition, for each role.
const MAX_PAGES: usize = 1_000;
/// Weight of a page that states a day of the period, if the question has no other words. The text
/// of a page that only mentions the day matches the question's words, too, and must not outweigh it.
const NO_TOPIC_WEIGHT: f32 = 1.25;
/// Weight of a page of the period that has none of the question's other words.
const DAY_ONLY_WEIGHT: f32 = 0.25;
/// The weight of each page of the period if none has one of these words.
const NO_WORDS_WEIGHT: f32 = 0.6;
/// Weight of a page of the period that has some of these words, and the addition for all of them.
const SOME_WORDS_WEIGHT: f32 = 0.3;
const ALL_WORDS_WEIGHT: f32 = 0.4;
/// Added for a page of the kind that the question names.
const KIND_WEIGHT: f32 = 0.5;
/// The factor of pages whose timeline has the day, and that state no day of their own.
const LISTED_FACTOR: f32 = 0.8;
/// The factors of pages whose text mentions the day, and of those that were written on it.
const MENTIONED_FACTOR: f32 = 0.65;
const WRITTEN_FACTOR: f32 = 0.4;
/// The same for a question about writing: `what did I write in March`, `notes from May`.
const LISTED_FACTOR_FOR_WRITING: f32 = 0.5;
const MENTIONED_FACTOR_FOR_WRITING: f32 = 0.2;
const WRITTEN_FACTOR_FOR_WRITING: f32 = 0.74;
/// Maximum number of pages that are put into order.
const MAX_ORDERED: usize = 40;
/// Pages below this share of the best one do not answer the question.
const MIN_SHARE: f32 = 0.4;

/// Pages of the period of a question.
#[derive(Debug, Default)]
pub(super) struct DatedPages {
    /// How much of the question each page answers, by page id: 0 to 1.75.
    pub(super) weights: BTreeMap<u64, f32>,
    pub(super) period: Option<Period>,
    /// The factor of each page for its role.
    factors: BTreeMap<u64, f32>,
    /// The words of the question that say something about a page, beside the period.
    topic: Vec<String>,
}

impl DatedPages {
    /// Returns the byte range of the first line of `body` with a day of the period, if the page is
    /// one of these pages.
    pub(super) fn line(&self, page: u64, body: &str) -> Option<Range<usize>> {
        let period = self.period.as_ref().filter(|_| self.weights.contains_key(&page))?;
        period.spans().find_map(|(first, last)| line_with_date(body, first, last))
    }

    /// Whether the question has other words than those of the period.
    pub(super) fn has_topic(&self) -> bool {
        self.period.is_some() && !self.topic.is_empty()
    }

    /// Finds the pages of the period that the question names: those that state one of its days,
    /// mention it, or were written on it. `is_of_kind` returns whether a page is of the kind that
    /// the question names; `None` if it names none.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub(super) fn find(
        index: &Index,
        question: &Question,
        parsed: &ParsedQuestion,
        is_of_kind: Option<&dyn Fn(u64) -> bool>,
    ) -> Result<Self, IndexError> {
        let Some(period) = parsed.times.period.clone() else { return Ok(Self::default()) };
        let text = parsed.times.topic(&parsed.query.text);
        let query = index.parse(&text, question.view.as_deref())?;
        let mut topic = Vec::new();
        each_word(&query.plain, &mut |word| topic.push(word.to_owned()));
        let rest = Question { query, limit: DEPTH, explain: false, ..question.clone() };
        let on_days_of = |period: &Period, roles: &[DayRole]| {
            let condition = DayCondition { spans: period.spans().collect(), roles: roles.to_vec() };
            Question { days: Some(condition), ..rest.clone() }
        };
        let pages_of =
            |period: &Period, roles: &[DayRole]| index.matching_pages(&on_days_of(period, roles));
        let period = last_with_pages(period, &parsed.query.text, pages_of, is_of_kind)?;
        let on_days = |roles: &[DayRole]| on_days_of(&period, roles);
        let roles = roles(parsed.times.is_about_writing);
        let factors = factors(&roles, |role| index.matching_pages(&on_days(&[role])))?;
        let mut with_words = index.search(&on_days(&DayRole::ALL))?.hits;
        with_words.retain(|hit| !hit.matched.is_empty());
        let is_without_topic = topic.is_empty();
        let is_day = period.first == period.last;
        let mut weights = BTreeMap::new();
        for (&page, &factor) in &factors {
            let weight = match with_words.is_empty() || is_without_topic {
                true if is_without_topic && factor >= 1.0 => NO_TOPIC_WEIGHT,
                true if is_without_topic => factor,
                true => NO_WORDS_WEIGHT * factor,
                // Beside pages with the words, a page without them must state the period.
                false if is_day || factor >= LISTED_FACTOR => DAY_ONLY_WEIGHT * factor,
                false => continue,
            };
            weights.insert(page, weight);
        }
        if !is_without_topic {
            weights.extend(shares(&with_words).map(|(page, share)| {
                let factor = factors.get(&page).copied().unwrap_or(WRITTEN_FACTOR);
                (page, (SOME_WORDS_WEIGHT + ALL_WORDS_WEIGHT * share) * factor)
            }));
        }
        Ok(Self { weights, period: Some(period), factors, topic })
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
            let names = |word: &&QuestionWord| kinds.iter().any(|kind| names_kind(word, kind));
            let mut words = terms.words.iter().filter(|word| !word.is_stop_word);
            if !words.clone().any(|word| names(&word)) {
                continue;
            }
            let factor = self.factors.get(&id).copied().unwrap_or(WRITTEN_FACTOR);
            // `notes from May` asks for pages of these days rather than for the folder `notes`.
            if self.topic.is_empty() && factor < 1.0 {
                continue;
            }
            // A question for nothing but a kind of pages is answered without the word in the text.
            if words.all(|word| names(&word) || !self.topic.contains(&word.text)) {
                *weight = weight.max(factor);
            }
            *weight += KIND_WEIGHT * factor;
        }
        Ok(())
    }

    /// Returns how the period was read, if the question leaves that open. A word such as `march`
    /// alone is explained only if it found something.
    pub(super) fn note(&self, text: &str) -> Option<String> {
        let period = self.period.as_ref().filter(|it| it.is_assumed || it.other.is_some())?;
        let words = text.get(period.range.clone())?;
        if self.weights.is_empty() && words == text.trim() {
            return None;
        }
        let readings: Vec<String> = period.spans().map(span_name).collect();
        Some(format!("\"{words}\" was read as {}", readings.join(" or ")))
    }
}

/// Returns the last reading of a period without a year that has pages: `in March`. If the question
/// names a kind of pages (`journal 17th of May`), the last one whose days such a page states, if
/// any.
fn last_with_pages(
    period: Period,
    text: &str,
    pages_of: impl Fn(&Period, &[DayRole]) -> Result<Option<HashSet<u64>>, IndexError>,
    is_of_kind: Option<&dyn Fn(u64) -> bool>,
) -> Result<Period, IndexError> {
    let mut last = None;
    let mut earlier = Some(period.clone());
    for _ in 0..MAX_PERIODS {
        let Some(candidate) = earlier else { break };
        earlier = candidate.a_year_earlier(text);
        if pages_of(&candidate, &DayRole::ALL)?.is_some_and(|pages| pages.is_empty()) {
            continue;
        }
        let Some(is_of_kind) = is_of_kind else { return Ok(candidate) };
        let stated = pages_of(&candidate, &[DayRole::Stated])?.unwrap_or_default();
        if stated.into_iter().take(MAX_PAGES).any(is_of_kind) {
            return Ok(candidate);
        }
        last = last.or(Some(candidate));
    }
    Ok(last.unwrap_or(period))
}

/// Returns the factor of the best role of each page. `pages` finds the pages of a role.
fn factors(
    roles: &[(DayRole, f32)],
    pages: impl Fn(DayRole) -> Result<Option<HashSet<u64>>, IndexError>,
) -> Result<BTreeMap<u64, f32>, IndexError> {
    let mut factors = BTreeMap::new();
    for (role, factor) in roles {
        // So many pages of better roles leave no place for others.
        if factors.len() >= MAX_PAGES {
            break;
        }
        let mut pages: Vec<u64> = pages(*role)?.into_iter().flatten().collect();
        // Newer pages have greater ids.
        pages.sort_unstable_by(|one, other| other.cmp(one));
        pages.truncate(MAX_PAGES);
        for page in pages {
            factors.entry(page).or_insert(*factor);
        }
    }
    Ok(factors)
}

/// Returns the roles of pages with their factors, best first.
fn roles(is_about_writing: bool) -> [(DayRole, f32); 4] {
    let stated = (DayRole::Stated, 1.0);
    match is_about_writing {
        true => [
            stated,
            (DayRole::Written, WRITTEN_FACTOR_FOR_WRITING),
            (DayRole::Listed, LISTED_FACTOR_FOR_WRITING),
            (DayRole::Mentioned, MENTIONED_FACTOR_FOR_WRITING),
        ],
        false => [
            stated,
            (DayRole::Listed, LISTED_FACTOR),
            (DayRole::Mentioned, MENTIONED_FACTOR),
            (DayRole::Written, WRITTEN_FACTOR),
        ],
    }
}

/// Names a period for a reader: `2021-05-24`, `May 2021`, `2021-03-01 to 2021-05-31`.
fn span_name((first, last): (Date, Date)) -> String {
    match () {
        () if first == last => first.to_string(),
        () if first == Date::MIN => format!("{last} and earlier"),
        () if last == Date::MAX => format!("{first} and later"),
        () if first == first.first_of_month() && last == first.last_of_month() => {
            first.strftime("%B %Y").to_string()
        }
        () => format!("{first} to {last}"),
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
        let days = page_dates(&slug, &record.title, &frontmatter);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn note(text: &str) -> Option<String> {
        let parsed = ParsedQuestion::new(text, "2026-11-23".parse().unwrap());
        let weights = BTreeMap::from([(1, 1.0)]);
        DatedPages { period: parsed.times.period, weights, ..DatedPages::default() }.note(text)
    }

    #[test]
    fn the_note_names_what_the_question_leaves_open() {
        for (text, reading) in [
            ("what did I write in March", "\"in March\" was read as March 2026"),
            ("notes since June", "\"since June\" was read as 2026-06-01 and later"),
            ("letters before May", "\"before May\" was read as 2026-04-30 and earlier"),
            ("last spring", "\"last spring\" was read as 2026-03-01 to 2026-05-31"),
            ("calls on Friday", "\"on Friday\" was read as 2026-11-20"),
            ("03/04/2021", "\"03/04/2021\" was read as 2021-04-03 or 2021-03-04"),
        ] {
            assert_eq!(note(text).as_deref(), Some(reading), "{text}");
        }
        for text in ["March 2021", "yesterday", "2019", "last week", "tea", "24/05/2021"] {
            assert_eq!(note(text), None, "{text}");
        }
    }
}
