//! Finds dates in a text: `2020-05-24`, `24/05/2020`, `24. Mai 2020`, `May 24th, 2020`, `mai 2020`.
//!
//! Each date has a year of four digits. `03/04/2020` yields a day for each of its two readings. A
//! date that is not in the calendar, such as `2021-02-30`, yields nothing, nor does a part of it.

use std::ops::Range;

use jiff::civil::Date;
use unicode_normalization::UnicodeNormalization;

use super::month_names::month_named;

/// The first and the last year of dates. Other numbers of four digits are no years.
const YEARS: std::ops::RangeInclusive<i16> = 1000..=2999;
/// Maximum number of characters between two parts of a date: `24., mai`.
const MAX_GAP: usize = 3;
/// Maximum length of the name of a month, in bytes.
const MAX_NAME: usize = 16;
/// Words between the parts of a date: `24th of May`, `24 de mayo de 2020`.
const FILLERS: [&str; 6] = ["of", "de", "del", "d", "di", "the"];
/// Endings of the number of a day: `24th`, `1er`, `24ten`.
const ORDINALS: [&str; 8] = ["st", "nd", "rd", "th", "er", "ten", "º", "°"];

/// A day or a month that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DateInText {
    /// The day, or the first day of the month.
    pub(super) first: Date,
    /// The day, or the last day of the month.
    pub(super) last: Date,
    /// Its place in the text, in bytes.
    pub(super) range: Range<usize>,
}

impl DateInText {
    fn day(day: Date, range: Range<usize>) -> Self {
        Self { first: day, last: day, range }
    }

    /// Returns whether the text names a day.
    pub(super) fn is_day(&self) -> bool {
        self.first == self.last
    }
}

/// Returns the dates of `text` in order.
pub(super) fn dates_in(text: &str) -> impl Iterator<Item = DateInText> {
    DateScanner { text, at: 0, other: None }
}

/// A number in digits, and its place.
#[derive(Clone, Copy)]
struct Number {
    value: i16,
    start: usize,
    end: usize,
}

impl Number {
    fn len(self) -> usize {
        self.end - self.start
    }

    /// Returns whether the number can be a day or a month.
    fn is_short(self) -> bool {
        self.len() <= 2
    }

    fn is_year(self) -> bool {
        self.len() == 4 && YEARS.contains(&self.value)
    }
}

/// What begins at a number.
enum Reading {
    /// A date, and its other reading.
    Dates(DateInText, Option<DateInText>),
    /// No date; the scan continues at this byte.
    Nothing(usize),
}

struct DateScanner<'a> {
    text: &'a str,
    at: usize,
    /// The other reading of the date before `at`.
    other: Option<DateInText>,
}

impl Iterator for DateScanner<'_> {
    type Item = DateInText;

    fn next(&mut self) -> Option<DateInText> {
        if let Some(other) = self.other.take() {
            return Some(other);
        }
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let start = self.at + rest.iter().position(u8::is_ascii_digit)?;
            let Some(number) = self.number(start) else {
                let digits = self.text.as_bytes()[start..].iter();
                self.at = start + digits.take_while(|byte| byte.is_ascii_digit()).count();
                continue;
            };
            match self.reading(number) {
                Reading::Dates(date, other) => {
                    self.at = date.range.end;
                    self.other = other;
                    return Some(date);
                }
                Reading::Nothing(end) => self.at = end,
            }
        }
    }
}

impl DateScanner<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Reads a number of at most four digits.
    fn number(&self, start: usize) -> Option<Number> {
        let digits = self.text.as_bytes().get(start..)?.iter().take(5);
        let end = start + digits.take_while(|byte| byte.is_ascii_digit()).count();
        let value = self.text.get(start..end).filter(|digits| digits.len() <= 4)?.parse().ok()?;
        Some(Number { value, start, end })
    }

    /// Reads the date at a number.
    fn reading(&self, number: Number) -> Reading {
        let found = self.numeric(number).or_else(|| match () {
            () if number.is_year() => self.month_and_year(number),
            () if number.is_short() => self.written(number),
            () => None,
        });
        found.unwrap_or(Reading::Nothing(number.end))
    }

    /// Reads `2020-05-24`, `2020/5/24`, `24.5.2020`, `05/24/2020`. `None` if these are not three
    /// numbers with equal marks between them.
    fn numeric(&self, one: Number) -> Option<Reading> {
        let mark = self.byte(one.end).filter(|mark| is_mark(*mark))?;
        let two = self.number(one.end + 1).filter(|two| two.is_short())?;
        let three = (self.byte(two.end) == Some(mark)).then(|| self.number(two.end + 1))??;
        let range = one.start..three.end;
        let is_year_first = one.is_year() && three.is_short();
        let is_year_last = one.is_short() && three.is_year();
        // `1.24.5.2020` is another number, but paths and slugs have other numbers beside a day.
        let is_dotted = mark == b'.' || (mark == b'/' && is_year_last);
        if is_dotted && (self.has_digit_before(one.start) || self.has_digit_after(three.end, mark))
        {
            return Some(Reading::Nothing(range.end));
        }
        let day = |year: Number, month: Number, day: Number| {
            Date::new(year.value, month.value.try_into().ok()?, day.value.try_into().ok()?).ok()
        };
        let (first, second) = match () {
            // `2020.5.2` is a version of a program.
            () if is_year_first && mark != b'/' && (two.len() != 2 || three.len() != 2) => {
                return Some(Reading::Nothing(range.end));
            }
            () if is_year_first => (day(one, two, three), None),
            () if is_year_last && mark == b'.' => (day(three, two, one), None),
            () if is_year_last => (day(three, two, one), day(three, one, two)),
            () => return None,
        };
        let mut days = first.into_iter().chain(second.filter(|day| Some(*day) != first));
        let Some(first) = days.next() else { return Some(Reading::Nothing(range.end)) };
        let other = days.next().map(|day| DateInText::day(day, range.clone()));
        Some(Reading::Dates(DateInText::day(first, range), other))
    }

    /// Returns whether a digit and a mark are before `at`.
    fn has_digit_before(&self, at: usize) -> bool {
        let is_mark = at.checked_sub(1).and_then(|at| self.byte(at)).is_some_and(is_mark);
        let digit = at.checked_sub(2).and_then(|at| self.byte(at));
        is_mark && digit.is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Returns whether `mark` and a digit are at `at`.
    fn has_digit_after(&self, at: usize, mark: u8) -> bool {
        let digit = self.byte(at + 1);
        self.byte(at) == Some(mark) && digit.is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Reads `May 2020` at its year.
    fn month_and_year(&self, year: Number) -> Option<Reading> {
        let (month, start) = self.month_before(year.start)?;
        let first = Date::new(year.value, month, 1).ok()?;
        let range = start..year.end;
        Some(Reading::Dates(DateInText { first, last: first.last_of_month(), range }, None))
    }

    /// Reads `24 May 2020` and `May 24, 2020` at the day.
    fn written(&self, day: Number) -> Option<Reading> {
        let end = self.after_ordinal(day.end);
        let (month, start, end) = match self.month_after(end) {
            Some((month, end)) => (month, day.start, end),
            None => {
                let (month, start) = self.month_before(day.start)?;
                (month, start, end)
            }
        };
        let year = self.number(self.after_fillers(end)?).filter(|year| year.is_year())?;
        let date = Date::new(year.value, month, day.value.try_into().ok()?).ok();
        // `30 February 2021` is no month either.
        Some(date.map_or(Reading::Nothing(year.end), |date| {
            Reading::Dates(DateInText::day(date, start..year.end), None)
        }))
    }

    fn after_ordinal(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let ending = ORDINALS.iter().find(|ending| {
            let after = rest.get(ending.len()..).and_then(|after| after.chars().next());
            rest.starts_with(**ending) && !after.is_some_and(char::is_alphanumeric)
        });
        at + ending.map_or(0, |ending| ending.len())
    }

    /// Returns the place after the marks and spaces at `at`; `None` if there are none or too many.
    fn after_gap(&self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        let gap = rest.char_indices().find(|(_, c)| !is_gap(*c)).map_or(rest.len(), |(at, _)| at);
        let is_short = gap > 0 && rest[..gap].chars().count() <= MAX_GAP;
        is_short.then_some(at + gap)
    }

    /// Returns the place after the gap at `at`, and after up to two words without a meaning.
    fn after_fillers(&self, at: usize) -> Option<usize> {
        let mut at = self.after_gap(at)?;
        for _ in 0..2 {
            let word = self.word_at(at);
            match FILLERS.contains(&word).then(|| self.after_gap(at + word.len())).flatten() {
                Some(next) => at = next,
                None => break,
            }
        }
        Some(at)
    }

    /// Returns the letters at `at`.
    fn word_at(&self, at: usize) -> &str {
        let rest = self.text.get(at..).unwrap_or_default();
        let rest = &rest[..rest.floor_char_boundary(MAX_NAME)];
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Reads the month after a day. Returns its number and its end.
    fn month_after(&self, at: usize) -> Option<(i8, usize)> {
        let start = self.after_fillers(at)?;
        let word = self.word_at(start);
        Some((month(word)?, start + word.len()))
    }

    /// Reads the month before a number. Returns its number and its start.
    fn month_before(&self, at: usize) -> Option<(i8, usize)> {
        let (word, start) = self.word_before(at)?;
        if !FILLERS.contains(&word) {
            return Some((month(word)?, start));
        }
        let (word, start) = self.word_before(start)?;
        Some((month(word)?, start))
    }

    /// Returns the word before the gap that ends at `at`, and its start.
    fn word_before(&self, at: usize) -> Option<(&str, usize)> {
        let before = self.text.get(..at)?;
        let end = before.trim_end_matches(is_gap).len();
        if end == at || before[end..].chars().count() > MAX_GAP {
            return None;
        }
        let from = before.ceil_char_boundary(end.saturating_sub(MAX_NAME));
        let word = &before[from..end];
        let start = word.rfind(|c: char| !c.is_alphabetic());
        let start = start.map_or(0, |at| word.ceil_char_boundary(at + 1));
        Some((&word[start..], from + start))
    }
}

/// Returns whether a byte can stand between the numbers of a date.
fn is_mark(byte: u8) -> bool {
    b"-/._".contains(&byte)
}

/// Returns whether a character can stand between the parts of a date.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '.' | '-' | '_' | '/' | '\'' | '’')
}

/// Returns the number of the month that a word names, in any case and with or without accents.
fn month(word: &str) -> Option<i8> {
    let letters = word.nfd().filter(char::is_ascii).map(|c| c.to_ascii_lowercase());
    month_named(&letters.collect::<String>())
}

#[cfg(test)]
#[path = "dates_in_text_tests.rs"]
mod tests;
