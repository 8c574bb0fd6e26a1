//! Questions with a day that is not in the calendar, such as 2021-02-30.
//!
//! Its numbers are parts of other days, so they are not searched one by one: pages are found that
//! have the day as it is written, or by the other words of the question.

use brain_questions::ParsedQuestion;
use brain_search::{Index, IndexError, Query, Question};

/// Returns the question to search instead of one with such a day, and the note for the reader.
/// `None` if the question has no such day.
///
/// # Errors
/// As [`Index::search`].
pub(super) fn without_no_day(
    index: &Index,
    question: &Question,
    parsed: &ParsedQuestion,
) -> Result<Option<(ParsedQuestion, String)>, IndexError> {
    let text = &parsed.query.text;
    let Some(range) = parsed.times.no_day.clone().filter(|_| !text.contains('"')) else {
        return Ok(None);
    };
    let (before, day, after) = (&text[..range.start], &text[range.clone()], &text[range.end..]);
    let note = format!("{day} is not a day of the calendar");
    let quoted = Query::parse(format!("\"{day}\""));
    let rest = format!("{} {}", before.trim_end(), after.trim_start());
    let has_other_words = !Query::parse(parsed.times.topic(&rest)).plain.trim().is_empty();
    let literal = Question { query: quoted.clone(), ..question.clone() };
    let is_written = index.matching_pages(&literal)?.is_none_or(|pages| !pages.is_empty());
    let text = match (has_other_words, is_written) {
        (true, true) => return Ok(Some((parsed.clone(), note))),
        (true, false) => rest,
        (false, _) => format!("{before}{}{after}", quoted.text),
    };
    let query = index.parse(&text, question.view.as_deref())?;
    Ok(Some((ParsedQuestion::of(query, parsed.today), note)))
}
