//! A question, parsed once. No I/O.

use std::ops::Range;
use std::sync::Arc;

use brain_search::{Query, QuestionTerms, Subject};
use jiff::civil::Date;

use super::times::Times;

/// A question with all that its text says without an index. Only [`QuestionTerms`] need one: the
/// pages that the question names, and the languages of the pages.
#[derive(Debug, Clone)]
pub struct ParsedQuestion {
    /// Its words, phrases, exclusions and filters.
    pub query: Arc<Query>,
    /// The period and the order that it names.
    pub times: Times,
    /// The day on which it is asked.
    pub today: Date,
    /// The byte range of [`Query::plain`] that names a period.
    period_words: Option<Range<usize>>,
}

impl ParsedQuestion {
    /// Parses a question that is asked on the day `today`.
    pub fn new(text: impl Into<String>, today: Date) -> Self {
        Self::of(Query::parse(text), today)
    }

    /// As [`Self::new`], for a question whose words are parsed.
    pub fn of(query: Arc<Query>, today: Date) -> Self {
        let times = Times::of(&query.text, today);
        // Filters and operators move the words, and can have days of their own.
        let period = match query.plain == query.text {
            true => times.period.clone(),
            false => Times::of(&query.plain, today).period,
        };
        Self { query, times, today, period_words: period.map(|period| period.range) }
    }

    /// Returns the byte range of [`Query::plain`] that names a day; `None` for a longer period.
    pub fn day_words(&self) -> Option<Range<usize>> {
        let is_day = self.times.period.as_ref().is_some_and(|it| it.first == it.last);
        self.period_words.clone().filter(|_| is_day)
    }

    /// Returns the question without its period. It is the same question if it names none.
    pub fn without_period(&self) -> Self {
        match self.times.period {
            Some(_) => {
                Self::of(self.query.with_text(self.times.rest(&self.query.text)), self.today)
            }
            None => self.clone(),
        }
    }

    /// Forgets the period if it is a part of the name of a page that the question names: `who
    /// attended the Acme Review Q1 2025` asks for that page, not for others of those days.
    pub fn forget_period_in_name(&mut self, terms: &QuestionTerms) {
        let Some(period) = &self.period_words else { return };
        let is_within = |name: &Subject| {
            let words = terms.words.get(name.words.clone()).unwrap_or_default();
            let start = words.first().map_or(0, |word| word.range.start);
            let end = words.last().map_or(0, |word| word.range.end);
            let has_more =
                words.iter().any(|word| !word.is_stop_word && !period.contains(&word.range.start));
            start <= period.start && period.end <= end && has_more
        };
        if terms.subjects.iter().any(is_within) {
            self.times.period = None;
            self.period_words = None;
        }
    }

    /// Removes page names from the terms of this question that are words of the period: in a
    /// question for March, a page with the title "March" is not named.
    pub fn remove_period_names(&self, terms: &mut QuestionTerms) {
        let Some(period) = &self.period_words else { return };
        let QuestionTerms { words, subjects, .. } = terms;
        subjects.retain(|Subject { words: name, .. }| {
            let words = words.get(name.clone()).unwrap_or_default();
            !words.iter().all(|word| period.contains(&word.range.start))
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::forms::tests::terms;

    #[test]
    fn words_of_the_period_name_no_page() {
        let names = |before: &str, text: &str| {
            let plain = text.replace(['[', ']'], "");
            let today = "2026-11-23".parse().unwrap();
            let question = ParsedQuestion::new(format!("{before}{plain}"), today);
            let mut terms = terms(text);
            question.remove_period_names(&mut terms);
            terms.subjects.len()
        };
        assert_eq!(names("", "meetings in [March]"), 0);
        assert_eq!(names("-draft tag:x ", "meetings in [March]"), 0);
        assert_eq!(names("", "meetings in March with [Ann]"), 1);
        assert_eq!(names("", "notes about [March]"), 1);
        assert_eq!(names("", "what did [Jan] write"), 1);
        assert_eq!(names("", "[April] notes"), 0);
    }

    #[test]
    fn a_period_within_the_name_of_a_page_is_none() {
        let period = |text: &str| {
            let today = "2026-11-23".parse().unwrap();
            let mut question = ParsedQuestion::new(text.replace(['[', ']'], ""), today);
            question.forget_period_in_name(&terms(text));
            question.times.period.is_some()
        };
        assert!(!period("who attended [Harbour Review Q1 2025]"));
        assert!(!period("what links to [Plan for March 2025]"));
        assert!(period("who attended the [Harbour Review] in March 2025"));
        assert!(period("meetings in [March]"), "the name is the period alone");
        assert!(period("meetings in March with [Ann]"));
    }

    #[test]
    fn the_question_without_its_period_is_parsed_again() {
        let today = "2026-11-23".parse().unwrap();
        let rest = |text: &str| ParsedQuestion::new(text, today).without_period();
        assert_eq!(rest("meetings in March -draft").query.text, "meetings -draft");
        assert_eq!(rest("meetings last week in March").times.period.unwrap().range, 9..17);
        assert_eq!(rest("latency budget").query.text, "latency budget");
    }
}
