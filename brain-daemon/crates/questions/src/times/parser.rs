//! Parses the period of a question: a time alone, after a preposition, or between two bounds.

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::Date;

use super::calendar::{Calendar, Days};
use super::tokens::TimeToken;
use super::{Period, topic, words};

/// A parsed time: its days, and the index of the token after its words.
pub(super) struct ParsedTime {
    pub(super) days: Days,
    pub(super) end: usize,
    /// Whether the words are a time only after a preposition, or if the question says nothing else.
    pub(super) is_weak: bool,
    /// Whether a preposition is not enough: `in spring` can be a name.
    pub(super) is_faint: bool,
    /// Whether the year, or the day of a weekday, is not in the question.
    pub(super) is_assumed: bool,
    /// Whether the same period of an earlier year can be meant.
    pub(super) can_be_earlier: bool,
    /// The days of another reading: `03/04/2021`.
    pub(super) other: Option<Days>,
}

impl ParsedTime {
    /// Returns a time that needs no preposition.
    pub(super) fn strong(days: Days, end: usize) -> Self {
        Self {
            days,
            end,
            is_weak: false,
            is_faint: false,
            is_assumed: false,
            can_be_earlier: false,
            other: None,
        }
    }

    /// Returns a time that needs a preposition.
    pub(super) fn weak(days: Days, end: usize) -> Self {
        Self { is_weak: true, ..Self::strong(days, end) }
    }

    /// Returns the same time, as one that the question leaves open.
    pub(super) fn assumed(self) -> Self {
        Self { is_assumed: true, ..self }
    }

    /// Returns the same time, as the last one of those that each year has.
    pub(super) fn of_any_year(self) -> Self {
        Self { can_be_earlier: true, ..self.assumed() }
    }

    /// Returns whether the time is one day.
    pub(super) fn is_day(&self) -> bool {
        self.days.0 == self.days.1
    }
}

/// Reads the times in the tokens of a text.
pub(super) struct TimeParser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [TimeToken],
    pub(super) calendar: Calendar,
}

impl TimeParser<'_> {
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    pub(super) fn is(&self, at: usize, list: &[&str]) -> bool {
        list.contains(&self.word(at))
    }

    /// Returns the text between the tokens `at` and `at + 1`.
    pub(super) fn gap_after(&self, at: usize) -> &str {
        let next = self.tokens.get(at + 1).map_or(self.text.len(), |next| next.range.start);
        let end = self.tokens.get(at).map_or(next, |token| token.range.end);
        self.text.get(end..next).unwrap_or_default()
    }

    /// Returns the byte range of the tokens `from..to`.
    pub(super) fn range(&self, from: usize, to: usize) -> Option<Range<usize>> {
        let last = self.tokens.get(to.checked_sub(1)?)?;
        Some(self.tokens.get(from)?.range.start..last.range.end)
    }

    /// Returns the position after the words without a meaning at `at`, at most two.
    pub(super) fn skip_fillers(&self, at: usize) -> usize {
        at + (at..at + 2).take_while(|at| words::is_filler(self.word(*at))).count()
    }

    /// Returns the first period; without one, the byte range of the first day that is not in the
    /// calendar.
    pub(super) fn first_period(&self) -> (Option<Period>, Option<Range<usize>>) {
        let (mut at, mut no_day) = (0, None);
        while at < self.tokens.len() {
            if let Some(end) = self.no_day(at) {
                no_day = no_day.or_else(|| self.range(at, end));
                at = end;
            } else if let Some(period) = self.period(at) {
                return (Some(period), None);
            } else {
                at += 1;
            }
        }
        (None, no_day)
    }

    /// Reads a period that begins at the token `at`.
    fn period(&self, at: usize) -> Option<Period> {
        let found = self
            .span(at)
            .or_else(|| self.between(at))
            .or_else(|| self.bounded(at))
            .or_else(|| self.plain(at))?;
        let ((first, last), range) = (found.days, self.range(at, found.end)?);
        let other = found.other.filter(|(first, last)| first <= last);
        let ParsedTime { is_assumed, can_be_earlier, .. } = found;
        (first <= last).then_some(Period { first, last, other, is_assumed, can_be_earlier, range })
    }

    /// Reads `March to May 2021`, `2019-2021`, `12.–18. Mai 2021`.
    fn span(&self, at: usize) -> Option<ParsedTime> {
        self.two_ends(at, |at| {
            let gap = self.gap_after(at.saturating_sub(1)).trim().trim_start_matches('.');
            match matches!(gap.trim(), "-" | "–" | "—") {
                true => Some(at),
                false => self.is(at, &words::TO).then_some(at + 1),
            }
        })
    }

    /// Reads `between March and May`, `from 3 to 10 May`.
    fn between(&self, at: usize) -> Option<ParsedTime> {
        if !self.is(at, &words::BETWEEN) {
            return None;
        }
        let start = self.skip_fillers(at + 1);
        self.span(start)
            .or_else(|| self.two_ends(start, |at| self.is(at, &words::AND).then_some(at + 1)))
    }

    /// Reads two times with a word or a mark between them: `and` returns the position after it.
    fn two_ends(&self, at: usize, and: impl Fn(usize) -> Option<usize>) -> Option<ParsedTime> {
        // `3 and 10 May`: the first day has the month of the second.
        if let Some(day) = words::number(self.word(at)).filter(|day| (1..=31).contains(day))
            && let Some(after) = and(at + 1)
            && let Some(found) = self.day(self.skip_fillers(after))
            && let Ok(first) = found.days.0.with().day(i8::try_from(day).ok()?).build()
        {
            return Some(ParsedTime { days: (first, found.days.1), other: None, ..found });
        }
        let one = self.time(at)?;
        let other = self.time(self.skip_fillers(and(one.end)?))?;
        let ((mut first, _), (next, mut last)) = (one.days, other.days);
        match (one.is_assumed, other.is_assumed) {
            // `March 2024 to May`: the second has the year of the first, or the next one.
            (false, true) => {
                let years = i64::from(first.year()) - i64::from(next.year());
                let years =
                    if next.checked_add(years.years()).ok()? < first { years + 1 } else { years };
                last = last.checked_add(years.years()).ok()?;
            }
            (true, true) if words::weekday(self.word(at), self.word(at + 1)).is_some() => {
                first = if first > last { first.checked_sub(1.week()).ok()? } else { first };
            }
            // `March and May 2024`: the first has the year of the second.
            (true, _) => {
                let in_year = first.with().year(last.year()).build().ok()?;
                let is_after = in_year > last;
                first = if is_after { in_year.checked_sub(1.year()).ok()? } else { in_year };
            }
            (false, false) => {}
        }
        let is_assumed = one.is_assumed && other.is_assumed;
        let can_be_earlier = one.can_be_earlier && other.can_be_earlier;
        let found = ParsedTime::strong((first, last), other.end);
        Some(ParsedTime { is_assumed, can_be_earlier, ..found })
    }

    /// Reads `since March`, `before 2024`, `until yesterday`.
    fn bounded(&self, at: usize) -> Option<ParsedTime> {
        let lists: [&[&str]; 4] = [&words::SINCE, &words::AFTER, &words::BEFORE, &words::UNTIL];
        let bound = lists.iter().position(|list| self.is(at, list))?;
        // `vor 3 Tagen` is an age. `na` is `after` in Dutch, and `in the` in Portuguese.
        let is_portuguese =
            self.is(at, &["na"]) && (self.is(at + 1, &["semana"]) || self.is(at + 2, &["feira"]));
        if self.age(at).is_some() || is_portuguese {
            return None;
        }
        let start = self.skip_fillers(at + 1);
        let found = self.time(start)?;
        // `by Jan` names a writer; `by Jan 2025` a time.
        if topic::is_owner(self.tokens, start..found.end) {
            return None;
        }
        let is_numbered = words::number(self.word(at + 1)).is_some_and(|number| number < 1000);
        if found.is_faint || (found.is_weak && is_numbered) {
            return None;
        }
        let (first, last) = found.days;
        // `bound` is an index of `lists`.
        let days = match bound {
            0 => (first, Date::MAX),
            1 => (last.tomorrow().ok()?, Date::MAX),
            2 => (Date::MIN, first.yesterday().ok()?),
            _ => (Date::MIN, last),
        };
        Some(ParsedTime { days, other: None, ..found })
    }

    /// Reads a time, with the preposition before it if there is one.
    fn plain(&self, at: usize) -> Option<ParsedTime> {
        if words::is_preposition(self.word(at)) && !topic::is_french_verb(self.tokens, at) {
            let start = self.skip_fillers(at + 1);
            let is_time = |it: &ParsedTime| {
                (!it.is_faint || self.has_no_topic_beside(at..it.end))
                    && !topic::is_owner(self.tokens, start..it.end)
            };
            let found = self.time(start).filter(is_time);
            let found = found.or_else(|| self.day_and_month(at));
            if found.is_some() {
                return found;
            }
        }
        self.time(at).filter(|found| {
            let is_clear = !found.is_weak && !found.is_faint;
            let can_be_time = || {
                !topic::is_subject(self.tokens, at..found.end)
                    && !topic::is_owner(self.tokens, at..found.end)
                    && self.has_no_topic_beside(at..found.end)
            };
            is_clear || can_be_time()
        })
    }

    /// Returns whether the question says nothing about a page beside a time.
    fn has_no_topic_beside(&self, time: Range<usize>) -> bool {
        let can_be_other = time.len() == 1 && self.is(time.start, &words::OTHER_WORDS);
        time.len() == self.tokens.len()
            || (!can_be_other && topic::is_empty_beside(self.tokens, time))
    }

    /// Reads a time at a token.
    pub(super) fn time(&self, at: usize) -> Option<ParsedTime> {
        if self.no_day(at).is_some() {
            return None;
        }
        self.numeric(at)
            .or_else(|| self.age(at))
            .or_else(|| self.part(at))
            .or_else(|| self.relative(at))
            .or_else(|| self.week(at))
            .or_else(|| self.named_day(at))
            .or_else(|| self.quarter(at))
            .or_else(|| self.month(at))
            .or_else(|| self.season(at))
            .or_else(|| self.weekday(at))
            .or_else(|| self.whole_year(at))
    }
}
