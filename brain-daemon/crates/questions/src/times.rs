//! Times in questions: `which meetings took place in March 2025`, `what did Ann do last week`,
//! `notes between 3 and 10 May`. No I/O; the caller passes the current day.
//!
//! A month, a year or a day of the week alone is a time only after a preposition, or if it is the
//! whole question. A time without a year is the last one that has begun.

mod parser;
mod tokens;
mod words;

use std::ops::Range;

use jiff::civil::Date;

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
    /// The words that name it, as a byte range of the question.
    pub range: Range<usize>,
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
}

impl Times {
    /// Reads the times of a question.
    pub fn of(text: &str, today: Date) -> Self {
        let tokens = tokens(&text[..text.floor_char_boundary(MAX_TEXT)]);
        let parser = TimeParser { text, tokens: &tokens, today };
        let period = (0..tokens.len()).find_map(|at| parser.period(at));
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
        Self { period, order }
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
mod tests;
