//! Spans of time: reads "since March 2024", "2021–2024", "until June" from the words of a sentence.

use brain_page::month_named;
use jiff::civil::Date;

/// The days during which a fact holds. An absent end is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first day.
    pub(crate) from: Option<Date>,
    /// The last day.
    pub(crate) to: Option<Date>,
}

impl Span {
    /// Returns whether the spans have a day in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        let ends_before = |a: Self, b: Self| a.to.zip(b.from).is_some_and(|(to, from)| to < from);
        !ends_before(self, other) && !ends_before(other, self)
    }

    /// Ends the span on the day before `day`, unless it ends earlier.
    pub(crate) fn end_before(&mut self, day: Date) {
        let last = day.yesterday().unwrap_or(day);
        self.to = Some(self.to.map_or(last, |to| to.min(last)));
    }
}

/// A day, month, quarter or year that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    /// Its first day.
    pub(crate) first: Date,
    /// Its last day.
    pub(crate) last: Date,
    /// Whether the text names no year, so that it was taken from the day of the line.
    pub(crate) has_no_year: bool,
}

impl Period {
    fn new(first: Date, last: Date) -> Self {
        Self { first, last, has_no_year: false }
    }

    fn month(year: i16, month: i8) -> Option<Self> {
        let first = Date::new(year, month, 1).ok()?;
        Some(Self::new(first, first.last_of_month()))
    }

    fn year(year: i16) -> Option<Self> {
        Some(Self::new(Date::new(year, 1, 1).ok()?, Date::new(year, 12, 31).ok()?))
    }
}

/// Reads a period at the beginning of `words`, which are in lower case. Returns it with the number
/// of its words. A month or day without a year is of the year of `today`.
pub(crate) fn period(words: &[&str], today: Option<Date>) -> Option<(Period, usize)> {
    let word = |at: usize| words.get(at).map(|word| word.trim_matches([',', '.', '(', ')']));
    let year_at = |at: usize| word(at).and_then(as_year);
    let first = word(0)?;
    if let Some(period) = numeric_date(first) {
        return Some((period, 1));
    }
    // "the 3rd of May 2024", "May 3rd, 2024", "3 May", "May 2024", "May".
    let article = usize::from(first == "the");
    let (day, month, used) =
        match (word(article).and_then(day_number), word(article).and_then(month)) {
            (Some(day), _) => {
                let of = usize::from(word(article + 1) == Some("of"));
                let month = word(article + 1 + of).and_then(month)?;
                (Some(day), month, article + 2 + of)
            }
            (None, Some(month)) => match word(article + 1).and_then(day_number) {
                Some(day) => (Some(day), month, article + 2),
                None => (None, month, article + 1),
            },
            (None, None) => return in_year(word(0)?, year_at(1), today),
        };
    let stated = year_at(used);
    let year = stated.or(today.map(Date::year))?;
    let mut period = match day {
        Some(day) => {
            let day = Date::new(year, month, day).ok()?;
            Period::new(day, day)
        }
        None => Period::month(year, month)?,
    };
    period.has_no_year = stated.is_none();
    Some((period, used + usize::from(stated.is_some())))
}

/// Reads "2024", "q3 2024" and "summer 2024".
fn in_year(word: &str, next: Option<i16>, today: Option<Date>) -> Option<(Period, usize)> {
    if let Some(year) = as_year(word) {
        return Period::year(year).map(|period| (period, 1));
    }
    let first_month = match word {
        "q1" | "winter" => 1,
        "q2" | "spring" => 4,
        "q3" | "summer" => 7,
        "q4" | "autumn" => 10,
        _ => return None,
    };
    let year = next.or(today.map(Date::year))?;
    let (first, last) = (Period::month(year, first_month)?, Period::month(year, first_month + 2)?);
    let period = Period { first: first.first, last: last.last, has_no_year: next.is_none() };
    Some((period, 1 + usize::from(next.is_some())))
}

/// Reads `2024-05-03`, `2024/05`, `2024-05`.
fn numeric_date(word: &str) -> Option<Period> {
    let parts: Vec<i16> =
        word.split(['-', '/']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let small = |n: i16| i8::try_from(n).ok();
    match parts[..] {
        [year, month] if (1000..3000).contains(&year) => Period::month(year, small(month)?),
        [year, month, day] if (1000..3000).contains(&year) => {
            let day = Date::new(year, small(month)?, small(day)?).ok()?;
            Some(Period::new(day, day))
        }
        _ => None,
    }
}

fn as_year(word: &str) -> Option<i16> {
    let is_year = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|year| is_year && (1000..2200).contains(year))
}

fn day_number(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ending = &word[digits.len()..];
    let is_day = matches!(ending, "" | "st" | "nd" | "rd" | "th") && digits.len() <= 2;
    digits.parse().ok().filter(|day| is_day && (1..=31).contains(day))
}

fn month(word: &str) -> Option<i8> {
    // In English, "may" and "mar" of a sentence are words, but not before a number or alone.
    month_named(word)
}

/// Words that begin a span.
const STARTS: [&str; 4] = ["since", "from", "starting", "effective"];
/// Words that end a span.
const ENDS: [&str; 5] = ["until", "till", "til", "through", "to"];
/// Words for the present.
const PRESENT: [&str; 4] = ["now", "today", "present", "date"];

/// Takes the span from the words of a sentence, and returns it with the other words. `today` is the
/// day of the sentence's line.
pub(crate) fn take_span<'a>(words: &[&'a str], today: Option<Date>) -> (Span, Vec<&'a str>) {
    let lower: Vec<String> = words.iter().map(|word| fold(word)).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let (mut span, mut rest, mut at) = (Span::default(), Vec::new(), 0);
    while at < words.len() {
        match span_at(&lower[at..], today) {
            Some((found, used)) => {
                span.from = found.from.or(span.from);
                span.to = found.to.or(span.to);
                at += used;
            }
            None => {
                rest.push(words[at]);
                at += 1;
            }
        }
    }
    if span.from.zip(span.to).is_some_and(|(from, to)| to < from) {
        span.to = span.from;
    }
    (span, rest)
}

/// Reads a span at the beginning of `words`.
fn span_at(words: &[&str], today: Option<Date>) -> Option<(Span, usize)> {
    let word = *words.first()?;
    if let Some(years) = range_in_word(word) {
        return Some((years, 1));
    }
    // "2021 – 2024", "March 2021 to June 2024", and "from", "between" before it.
    let lead = usize::from(STARTS.contains(&word) || word == "between");
    let of = usize::from(word == "as" && words.get(1) == Some(&"of")) * 2;
    if let Some((first, used)) = period(words.get(lead + of..)?, today) {
        let after = lead + of + used;
        let link = words.get(after).copied().unwrap_or_default();
        let is_link = ENDS.contains(&link) || matches!(link, "–" | "-" | "—" | "and");
        let begins = Some(first.first);
        if is_link && (lead > 0 || link != "and") {
            if let Some((last, used)) = period(words.get(after + 1..)?, today) {
                let to = last_day(last);
                return Some((Span { from: begins, to: Some(to) }, after + 1 + used));
            }
            if words.get(after + 1).is_some_and(|word| PRESENT.contains(word)) {
                return Some((Span { from: begins, to: None }, after + 2));
            }
        }
        if (lead > 0 && word != "between") || of > 0 {
            let onwards = usize::from(matches!(link, "on" | "onwards" | "onward"));
            return Some((Span { from: begins, to: None }, after + onwards));
        }
    }
    if ENDS.contains(&word) && word != "to" {
        let end = usize::from(words.get(1) == Some(&"the")) * 3;
        let (last, used) = period(words.get(1..)?, today)
            .or_else(|| period(words.get(1 + end..)?, today).map(|(it, used)| (it, used + end)))?;
        return Some((Span { from: None, to: Some(last_day(last)) }, 1 + used));
    }
    None
}

/// Returns the last day of a span that ends "until" a period. Whoever follows begins in it.
fn last_day(period: Period) -> Date {
    period.first.yesterday().unwrap_or(period.first)
}

/// Reads `2021–2024`, `(2021-2024)`, `2021–`.
fn range_in_word(word: &str) -> Option<Span> {
    let (first, last) = word.split_once(['–', '—', '-'])?;
    let first = Period::year(as_year(first)?)?;
    if last.is_empty() || PRESENT.contains(&last) {
        return Some(Span { from: Some(first.first), to: None });
    }
    let last = match last.len() {
        2 => as_year(&format!("{}{last}", first.first.year() / 100))?,
        _ => as_year(last)?,
    };
    Some(Span { from: Some(first.first), to: Some(last_day(Period::year(last)?)) })
}

/// Returns a word in lower case, without the punctuation around it.
pub(crate) fn fold(word: &str) -> String {
    let is_edge = |c: char| matches!(c, ',' | '.' | ';' | ':' | '(' | ')' | '!' | '"' | '“' | '”');
    word.trim_matches(is_edge).to_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, String) {
        let today = Date::new(2024, 9, 20).ok();
        let words: Vec<&str> = text.split_whitespace().collect();
        let (span, rest) = take_span(&words, today);
        let day = |day: Option<Date>| day.map_or(String::new(), |day| day.to_string());
        (format!("{}..{}", day(span.from), day(span.to)), rest.join(" "))
    }

    #[test]
    fn spans_are_read_and_taken_out() {
        for (text, span, rest) in [
            ("harbour master 2021–2024", "2021-01-01..2023-12-31", "harbour master"),
            ("pilot (since 2024)", "2024-01-01..", "pilot"),
            ("led by Oda until June", "..2024-05-31", "led by Oda"),
            ("led by Pia since September 2023", "2023-09-01..", "led by Pia"),
            ("from 3 May 2021 to 2022-06-01, Oda", "2021-05-03..2022-05-31", "Oda"),
            ("head between 2019 and 2021", "2019-01-01..2020-12-31", "head"),
            ("as of May 3rd, 2024 it is Oda", "2024-05-03..", "it is Oda"),
            ("2021-present: Oda", "2021-01-01..", "Oda"),
            ("moved from Oslo to Bergen", "..", "moved from Oslo to Bergen"),
            ("born in 1980", "..", "born in 1980"),
            ("until the end of June", "..2024-05-31", ""),
        ] {
            assert_eq!(read(text), (span.to_owned(), rest.to_owned()), "{text}");
        }
    }

    #[test]
    fn spans_of_a_succession_do_not_meet() {
        let span = |text: &str| take_span(&text.split(' ').collect::<Vec<_>>(), None).0;
        assert!(!span("2021–2024").meets(span("since 2024")));
        assert!(!span("until 2024-06-05").meets(span("since 2024-06-05")));
        assert!(span("since 2021").meets(span("since 2023")));
        assert!(span("2020–2024").meets(span("2022–2023")));
        assert!(Span::default().meets(span("2021–2024")));
    }
}
