//! Edits a page's text; all other bytes stay. Knows nothing of editors, versions, or the daemon's
//! keys of the frontmatter.

use super::frontmatter::Frontmatter;
use super::section::{Heading, SectionError, headings, section};
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of lines or headings that an error names.
const MAX_ERROR_ITEMS: usize = 20;
/// Maximum length of a line, heading or key in an error, in characters.
const MAX_LINE_CHARS: usize = 160;
/// A line that an error names is more similar than this, on a scale from 0 to 1.
const MIN_SIMILARITY: f64 = 0.5;
/// Lines of context around a change in an excerpt.
const CONTEXT_LINES: usize = 2;

/// Why an edit is not possible. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no text to insert.
    #[error("the text is empty")]
    Empty,
    /// The text to replace does not exist. Holds the number and the text of the most similar line.
    #[error("the text to replace was not found{}", nearest(.0.as_ref()))]
    TextNotFound(Option<(usize, String)>),
    /// The text to replace exists more than once.
    #[error("the text to replace occurs {count} times, {}", at_lines(.lines, *.count))]
    Ambiguous {
        /// Number of occurrences.
        count: usize,
        /// Lines of the body with the first occurrences, 1-based.
        lines: Vec<usize>,
    },
    /// No heading has this text.
    #[error("there is no heading \"{}\"; {}", .heading.escape_debug(), heading_list(.existing))]
    HeadingNotFound {
        /// The requested heading.
        heading: String,
        /// The first headings of the page, with their `#`.
        existing: Vec<String>,
    },
    /// Several headings have this text.
    #[error(
        "\"{}\" names {count} headings: {}{}",
        .heading.escape_debug(),
        .addresses.join(" · "),
        if .addresses.len() < *.count { " and more" } else { "" }
    )]
    HeadingAmbiguous {
        /// The requested heading.
        heading: String,
        /// Number of headings.
        count: usize,
        /// The addresses of the first headings.
        addresses: Vec<String>,
    },
    /// The key has a value other than a text or a list of texts; setting the key would lose it.
    #[error("\"{0}\" holds more than a text or a list of texts")]
    NotScalar(String),
    /// The key is empty, longer than 64 bytes, or has invalid characters.
    #[error(
        "\"{}\" is not a key of frontmatter: letters, digits, - and _ make one",
        .0.escape_debug()
    )]
    InvalidKey(String),
}

fn nearest(line: Option<&(usize, String)>) -> String {
    line.map_or_else(String::new, |(n, text)| format!("; the nearest is line {n}: {text:?}"))
}

fn at_lines(lines: &[usize], count: usize) -> String {
    let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let more = if count > lines.len() { " and more" } else { "" };
    format!("at lines {}{more}", numbers.join(", "))
}

fn heading_list(existing: &[String]) -> String {
    if existing.is_empty() {
        "the page has none".into()
    } else {
        format!("there are: {}", existing.join(" · "))
    }
}

/// Inserts `text` at the end of the part of `body` under `heading`, before its first sub-heading.
/// Without `heading`, inserts `text` at the end of the body. The text becomes a paragraph of its
/// own; a list item continues an existing list.
///
/// # Errors
/// [`EditError::Empty`] when `text` is blank; [`EditError::HeadingNotFound`] or
/// [`EditError::HeadingAmbiguous`] when `heading` does not name exactly one section.
pub fn append(body: &str, heading: Option<&str>, text: &str) -> Result<String, EditError> {
    match heading {
        None => insert(body, body.len(), text),
        Some(heading) => append_to_section(body, &part_of(body, heading)?, text),
    }
}

/// Inserts `text` at the end of the section `part` of `body`, before its first sub-heading.
///
/// # Errors
/// [`EditError::Empty`] when `text` is blank.
pub(super) fn append_to_section(
    body: &str,
    part: &Range<usize>,
    text: &str,
) -> Result<String, EditError> {
    let own = text_below_heading(body, part);
    insert(body, own.start + content_end(&body[own]), text)
}

/// Inserts `text` at the beginning of the part of `body` under `heading`. Without `heading`,
/// inserts `text` at the beginning of the body, but below a heading of level 1 that begins it.
/// Otherwise like [`append`].
///
/// # Errors
/// As for [`append`].
pub fn prepend(body: &str, heading: Option<&str>, text: &str) -> Result<String, EditError> {
    let start = match heading {
        Some(heading) => text_below_heading(body, &part_of(body, heading)?).start,
        None => headings(body)
            .into_iter()
            .next()
            .filter(|first| first.level == 1 && body[..first.range.start].trim().is_empty())
            .map_or(0, |first| first.range.end),
    };
    insert(body, start, text)
}

/// Replaces `find` with `text` in `body`, or in its section under `heading`. `find` must occur
/// exactly once, character by character, except that LF matches CRLF. An empty `text` removes
/// `find`.
///
/// # Errors
/// [`EditError::TextNotFound`] or [`EditError::Ambiguous`] when `find` does not occur exactly once;
/// [`EditError::Empty`] when `find` is empty; [`EditError::HeadingNotFound`] or
/// [`EditError::HeadingAmbiguous`] when `heading` does not name exactly one section.
pub fn replace_text(
    body: &str,
    heading: Option<&str>,
    find: &str,
    text: &str,
) -> Result<String, EditError> {
    if find.is_empty() {
        return Err(EditError::Empty);
    }
    let part = match heading {
        Some(heading) => part_of(body, heading)?,
        None => 0..body.len(),
    };
    let line_of = |at: usize| body[..at].matches('\n').count() + 1;
    let inside = &body[part.clone()];
    let adapted = with_line_ends(find, line_end(body));
    let find = if inside.contains(find) { find } else { adapted.as_str() };
    let mut found = inside.match_indices(find).map(|(at, _)| part.start + at);
    let Some(at) = found.next() else {
        let near =
            most_similar_line(inside, find).map(|(n, line)| (n + line_of(part.start) - 1, line));
        return Err(EditError::TextNotFound(near));
    };
    // Overlapping occurrences count separately.
    let behind = at + find.chars().next().map_or(1, char::len_utf8);
    let mut others: Vec<usize> = found.collect();
    if others.is_empty() {
        others.extend(body[behind..part.end].find(find).map(|next| behind + next));
    }
    if !others.is_empty() {
        let count = others.len() + 1;
        let lines = std::iter::once(at).chain(others).take(MAX_ERROR_ITEMS).map(line_of).collect();
        return Err(EditError::Ambiguous { count, lines });
    }
    let text = with_line_ends(text, line_end(body));
    Ok([&body[..at], &text, &body[at + find.len()..]].concat())
}

/// Replaces the section under `heading` with its sub-headings. The heading stays, unless `text`
/// begins with a heading of the same or a higher level. Surrounding blank lines stay. An empty
/// `text` leaves only the heading.
///
/// # Errors
/// [`EditError::HeadingNotFound`] or [`EditError::HeadingAmbiguous`] when `heading` does not name
/// exactly one section.
pub fn replace_section(body: &str, heading: &str, text: &str) -> Result<String, EditError> {
    let part = part_of(body, heading)?;
    let own = heading_of(body, &part);
    let text = text.trim_matches(['\r', '\n']);
    let renamed = headings(text)
        .first()
        .is_some_and(|first| first.range.start == 0 && first.level <= own.level);
    let start = if renamed { part.start } else { own.range.end };
    let old = &body[start..part.end];
    let blank_before = if renamed { 0 } else { old.len() - without_leading_blanks(old).len() };
    let behind = start + content_end(old).max(blank_before);
    if text.trim().is_empty() {
        return Ok([&body[..start], &body[behind..]].concat());
    }
    let cut = [&body[..start + blank_before], &body[behind..]].concat();
    insert(&cut, start + blank_before, text)
}

/// Sets `key` to `value`: a YAML list of texts (`[a, b]`) becomes a list, any other value a text.
/// An empty value removes the key.
///
/// # Errors
/// [`EditError::InvalidKey`] when `key` is not valid; [`EditError::NotScalar`] when its present
/// value is neither a text nor a list of texts.
pub fn set_frontmatter(
    frontmatter: &mut Frontmatter,
    key: &str,
    value: &str,
) -> Result<(), EditError> {
    let is_key_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if key.is_empty() || key.len() > 64 || !key.chars().all(is_key_char) {
        return Err(EditError::InvalidKey(key.chars().take(MAX_LINE_CHARS).collect()));
    }
    if !frontmatter.is_plain(key) {
        return Err(EditError::NotScalar(key.to_owned()));
    }
    let value = value.trim();
    let list = (value.starts_with('[') && !value.contains('\n'))
        .then(|| Frontmatter::parse(&format!("it: {value}")).ok())
        .flatten()
        .filter(|read| read.get("it").is_none() && read.is_plain("it") && read.keys().count() == 1)
        .map(|read| read.list("it"));
    match list {
        Some(list) => frontmatter.set_list(key, &list),
        None if value.is_empty() => frontmatter.remove(key),
        None => frontmatter.set(key, value),
    }
    Ok(())
}

/// Returns the lines of `new` from the first to the last that differs from `old`, with two lines
/// before and after them. Cuts them after `max_chars` characters and adds `…`. Returns an
/// empty text when the texts are equal.
#[must_use]
pub fn excerpt(old: &str, new: &str, max_chars: usize) -> String {
    if old == new {
        return String::new();
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let max_tail = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(max_tail).take_while(same).count();
    let shown =
        head.saturating_sub(CONTEXT_LINES)..(after.len() - tail + CONTEXT_LINES).min(after.len());
    let mut out = String::new();
    for line in &after[shown] {
        if out.chars().count() + line.chars().count() > max_chars {
            out.extend(line.chars().take(max_chars.saturating_sub(out.chars().count())));
            out.push('…');
            return out;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Inserts `text` at the byte `at` of `body`, which begins a line or is the end, with the necessary
/// line ends and blank lines.
///
/// # Errors
/// [`EditError::Empty`] when `text` is blank.
pub(super) fn insert(body: &str, at: usize, text: &str) -> Result<String, EditError> {
    let end = line_end(body);
    let text = with_line_ends(text.trim_matches(['\r', '\n']), end);
    if text.trim().is_empty() {
        return Err(EditError::Empty);
    }
    let (before, after) = body.split_at(at);
    let mut out = String::with_capacity(body.len() + text.len() + 8);
    out.push_str(before);
    let last = before.lines().next_back().unwrap_or_default();
    if !before.is_empty() && !before.ends_with('\n') {
        out.push_str(end);
    }
    if !last.trim().is_empty() && !go_together(last, text.lines().next().unwrap_or_default()) {
        out.push_str(end);
    }
    out.push_str(&text);
    out.push_str(end);
    let next = after.lines().next().unwrap_or_default();
    if !next.trim().is_empty() && !go_together(text.lines().next_back().unwrap_or_default(), next) {
        out.push_str(end);
    }
    out.push_str(after);
    Ok(out)
}

/// Returns whether two lines can be adjacent without becoming one paragraph: list items, table
/// rows, a quote.
fn go_together(one: &str, next: &str) -> bool {
    let kind = |line: &str| {
        let line = line.trim_start();
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        match line.chars().next()? {
            '-' | '*' | '+' if line[1..].starts_with([' ', '\t']) => Some('-'),
            '0'..='9' if number.starts_with(". ") || number.starts_with(") ") => Some('1'),
            sign @ ('|' | '>') => Some(sign),
            _ => None,
        }
    };
    kind(one).is_some() && kind(one) == kind(next)
}

/// Returns the line end of the first line; LF if there is none.
pub(super) fn line_end(body: &str) -> &'static str {
    match body.find('\n') {
        Some(at) if body[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn with_line_ends(text: &str, end: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if end == "\n" { text } else { text.replace('\n', end) }
}

fn part_of(body: &str, heading: &str) -> Result<Range<usize>, EditError> {
    let short = |text: &str| text.chars().take(MAX_LINE_CHARS).collect::<String>();
    section(body, heading).map_err(|error| match error {
        SectionError::NotFound => EditError::HeadingNotFound {
            heading: short(heading),
            existing: headings(body)
                .into_iter()
                .filter(|it| !it.text.is_empty())
                .take(MAX_ERROR_ITEMS)
                .map(|it| format!("{} {}", "#".repeat(it.level.into()), short(&it.text)))
                .collect(),
        },
        SectionError::Ambiguous { count, addresses, .. } => {
            EditError::HeadingAmbiguous { heading: short(heading), count, addresses }
        }
    })
}

/// Returns the heading at the beginning of a section.
fn heading_of(body: &str, part: &Range<usize>) -> Heading {
    let none = Heading { level: 6, text: String::new(), range: part.start..part.start };
    headings(&body[part.clone()]).into_iter().next().map_or(none, |first| Heading {
        range: part.start + first.range.start..part.start + first.range.end,
        ..first
    })
}

/// Returns the text below a heading, before the next heading of any level.
fn text_below_heading(body: &str, part: &Range<usize>) -> Range<usize> {
    let all = headings(&body[part.clone()]);
    let start = all.first().map_or(part.start, |first| part.start + first.range.end);
    start..all.get(1).map_or(part.end, |next| part.start + next.range.start)
}

/// Returns the end of the last line that is not blank.
fn content_end(text: &str) -> usize {
    let end = text.trim_end().len();
    if end == 0 {
        return 0;
    }
    text[end..].find('\n').map_or(text.len(), |at| end + at + 1)
}

/// Returns a text without leading blank lines.
fn without_leading_blanks(text: &str) -> &str {
    let start = text.len() - text.trim_start().len();
    &text[text[..start].rfind('\n').map_or(0, |at| at + 1)..]
}

/// Returns the number, 1-based, and the text of the line of `body` that is most similar to the
/// first line of `find` with text. `None` if no line is similar.
fn most_similar_line(body: &str, find: &str) -> Option<(usize, String)> {
    let first_line = find.lines().find(|line| !line.trim().is_empty())?;
    let first_pairs = pairs(first_line);
    let mut best = (MIN_SIMILARITY, None);
    for (n, line) in body.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let alike = similarity(&first_pairs, &pairs(line));
        if alike > best.0 {
            best = (alike, Some((n + 1, line)));
        }
    }
    best.1.map(|(n, line)| (n, line.chars().take(MAX_LINE_CHARS).collect()))
}

/// Counts the pairs of adjacent characters at the beginning of a line, in lower case and without
/// white space.
fn pairs(line: &str) -> HashMap<(char, char), usize> {
    let chars: Vec<char> = line
        .chars()
        .take(MAX_LINE_CHARS)
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect();
    let mut pairs = HashMap::new();
    for pair in chars.windows(2) {
        *pairs.entry((pair[0], pair[1])).or_default() += 1;
    }
    pairs
}

/// Returns Dice's coefficient of two lines.
fn similarity(a: &HashMap<(char, char), usize>, b: &HashMap<(char, char), usize>) -> f64 {
    let all: usize = a.values().chain(b.values()).sum();
    let common: usize = a.iter().map(|(pair, n)| b.get(pair).map_or(0, |m| *n.min(m))).sum();
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
