//! Times in questions: `which meetings took place in March 2025`, `what did Ann do last week`,
//! `notes between 3 and 10 May`. No I/O; the caller passes the current day.
//!
//! A month, a year or a day of the week alone is a time only after a preposition, or if the rest of
//! the question says nothing about a page (`October notes`). A time without a year is the last one
//! that has begun. A day that is not in the calendar is no time, nor is a part of it.

mod calendar;
mod day_forms;
mod parser;
mod period_forms;
mod relative_forms;
mod tokens;
mod topic;
mod words;

use std::ops::Range;

use jiff::ToSpan as _;
use jiff::civil::Date;

use self::calendar::Calendar;
use self::parser::TimeParser;
use self::tokens::{TimeToken, tokens};

/// A question is searched for times up to this length in bytes.
const MAX_TEXT: usize = 1_000;

/// A period that a question names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
    /// The first and the last day of another reading: `03/04/2021`, `winter 2020`.
    pub other: Option<(Date, Date)>,
    /// Whether the question leaves open which year, or which day with this name, it means.
    pub is_assumed: bool,
    /// Whether it is the last one of the periods that each year has, and can be an earlier one.
    can_be_earlier: bool,
    /// The words that name it, as a byte range of the question.
    pub range: Range<usize>,
}

impl Period {
    /// Returns the first and the last day of each reading.
    pub fn spans(&self) -> impl Iterator<Item = (Date, Date)> + '_ {
        std::iter::once((self.first, self.last)).chain(self.other)
    }

    /// Returns the same period of the last year before that has it, if the question names no year:
    /// `March` for a brain whose last notes of a March are older. `None` for a day of the week, and
    /// after `next` or `this`. `text` is the question.
    #[must_use]
    pub fn a_year_earlier(&self, text: &str) -> Option<Self> {
        if !self.can_be_earlier {
            return None;
        }
        // On the day before it begins, the question names the period before: a week is a week
        // again, and 29 February has its year. What follows a period (`after March`) begins when
        // that has begun, so it takes a day of the year before.
        let days = [self.first.yesterday().ok()?, self.first.checked_sub(1.year()).ok()?];
        days.into_iter().find_map(|today| {
            let period = Times::of(text, today).period?;
            (period.range == self.range && period.first < self.first).then_some(period)
        })
    }

    /// Returns whether a day is in the period.
    pub fn contains(&self, day: Date) -> bool {
        self.spans().any(|(first, last)| (first..=last).contains(&day))
    }
}

/// Whether a question asks for the newest or the oldest pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The newest page first.
    Newest,
    /// The oldest page first.
    Oldest,
}

/// The times of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// The period that it names.
    pub period: Option<Period>,
    /// The order that it asks for, and the word for it.
    pub order: Option<(Order, String)>,
    /// A day that is not in the calendar, such as 2021-02-30, as a byte range of the question. Only
    /// if the question names no period.
    pub no_day: Option<Range<usize>>,
    /// Whether it asks for pages by the time at which they were written: it has a word for writing,
    /// or for pages.
    pub is_about_writing: bool,
}

impl Times {
    /// Reads the times of a question.
    pub fn of(text: &str, today: Date) -> Self {
        let tokens = tokens(&text[..text.floor_char_boundary(MAX_TEXT)]);
        let parser = TimeParser { text, tokens: &tokens, calendar: Calendar { today } };
        let (period, no_day) = parser.first_period();
        let in_period = |token: &TimeToken| {
            period.as_ref().is_some_and(|p| p.range.contains(&token.range.start))
        };
        let order = tokens.iter().filter(|token| !in_period(token)).find_map(|token| {
            let order = match &token.text {
                word if words::NEWEST.contains(&word.as_str()) => Order::Newest,
                word if words::OLDEST.contains(&word.as_str()) => Order::Oldest,
                _ => return None,
            };
            Some((order, token.text.clone()))
        });
        let is_about_writing = tokens.iter().any(|token| topic::is_about_pages(&token.text));
        Self { period, order, no_day, is_about_writing }
    }

    /// Returns the question without its period.
    pub fn rest(&self, text: &str) -> String {
        match &self.period {
            Some(Period { range, .. }) => {
                format!("{} {}", text[..range.start].trim_end(), text[range.end..].trim_start())
            }
            None => text.to_owned(),
        }
    }

    /// Returns the question without its period, and without words that say nothing about the text
    /// of a page, such as `notes` and `wrote`.
    pub fn topic(&self, text: &str) -> String {
        topic::topic(&self.rest(text))
    }
}

/// Returns whether a word asks for an order.
pub(crate) fn is_order_word(word: &str) -> bool {
    words::NEWEST.contains(&word) || words::OLDEST.contains(&word)
}

/// Returns whether a word asks for a day.
pub(crate) fn asks_for_day(word: &str) -> bool {
    words::WHEN.contains(&word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod question_tests;
#[cfg(test)]
mod tests;
