//! Query language (`docs/search.md`): words, phrases, exclusions, prefixes and filters.
//!
//! Text that does not parse counts as plain words; there are no errors.

use std::{ops::Range, sync::Arc};

use super::{
    command,
    encoding::field_value,
    exact,
    name_key::{name_key, tag_key},
    numbers,
    replaced_word::with_word,
    token::{self, Kind, divides_hebrew, head},
};

/// Maximum bytes read of a question.
pub(super) const MAX_QUESTION_BYTES: usize = 4096;
/// Maximum bytes of the key of a field in a question.
const MAX_FIELD_BYTES: usize = 40;
/// Maximum units read of a question.
const MAX_UNITS: usize = 256;

/// The fields that a unit searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Anywhere,
    Title,
}

/// A part of a question: words, a phrase, a prefix, an exclusion or a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// Words that affect the ranking only.
    Words(String),
    /// Words whose last one is a prefix. In the title they are required; anywhere, they affect the
    /// ranking only.
    Prefix(String, Reach),
    /// A required phrase, or words required in the title.
    Required(String, Reach),
    /// An excluded word or phrase.
    Excluded(String, Reach),
    /// An excluded prefix.
    ExcludedPrefix(String, Reach),
    /// A required or excluded value of a field.
    Filter { field: Filter, value: String, excluded: bool },
}

/// A filter of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Tag,
    Type,
    Source,
    /// A value of a field; see [`super::encoding::field_value`].
    Field,
}

/// A field name before a colon.
enum Field {
    Title,
    Filter(Filter),
}

impl Unit {
    /// Returns the text of words and phrases that are searched; `None` for prefixes, exclusions and
    /// filters.
    pub(super) fn plain_text(&self) -> Option<&str> {
        match self {
            Self::Words(text) | Self::Required(text, _) => Some(text),
            _ => None,
        }
    }

    /// Returns the text with the unit's words, if it has any.
    fn text(&self) -> &str {
        match self {
            Self::Words(text)
            | Self::Prefix(text, _)
            | Self::Required(text, _)
            | Self::Excluded(text, _)
            | Self::ExcludedPrefix(text, _) => text,
            Self::Filter { .. } => "",
        }
    }
}

/// A word of a unit, or a token of another kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The folded text.
    pub(super) text: String,
    /// Byte range in the text of the unit.
    pub(super) range: Range<usize>,
    /// The key of its exact form; only for [`Kind::Word`].
    pub(super) exact: Option<String>,
    /// Whether it is the only word of its unit.
    pub(super) is_alone: bool,
    /// The position among the tokens of its unit.
    pub(super) position: u32,
    pub(super) kind: Kind,
    /// Whether it is a part of a number, which is searched whole only.
    pub(super) is_number_part: bool,
}

/// A question, parsed once into units and words. No index is needed for that.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The question as typed.
    pub text: String,
    /// Its words and phrases as typed, without operators, filters, prefixes and exclusions.
    pub plain: String,
    /// Its parts in order, each with its words.
    pub(super) units: Vec<(Unit, Vec<Word>)>,
}

impl Query {
    /// Parses a question.
    #[must_use]
    pub fn parse(text: impl Into<String>) -> Arc<Self> {
        Self::parse_with_fields(text, &mut |_, _| false)
    }

    /// As [`Self::parse`]; a word `key:value` is a filter if `has_value` says that pages have the
    /// value.
    pub(super) fn parse_with_fields(
        text: impl Into<String>,
        has_value: &mut dyn FnMut(&str, &str) -> bool,
    ) -> Arc<Self> {
        let text = text.into();
        let mut units = parse(&text, has_value);
        let has_filters = units.iter().any(|unit| matches!(unit, Unit::Filter { .. }));
        if !has_filters && command::is_command(head(&text, MAX_QUESTION_BYTES)) {
            units = vec![Unit::Words(head(&text, MAX_QUESTION_BYTES).to_owned())];
        }
        Self::of(text, units)
    }

    /// Parses another text with the filters of this question: a word `key:value` is a filter if it
    /// is one here.
    #[must_use]
    pub fn with_text(&self, text: impl Into<String>) -> Arc<Self> {
        Self::parse_with_fields(text, &mut |key, value| {
            let wanted = field_value(key, value);
            let is_same = |unit: &Unit| match unit {
                Unit::Filter { field: Filter::Field, value, .. } => *value == wanted,
                _ => false,
            };
            self.units.iter().any(|(unit, _)| is_same(unit))
        })
    }

    /// Creates a question whose text is plain words, without operators.
    #[must_use]
    pub fn of_words(text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        let units = vec![Unit::Words(head(&text, MAX_QUESTION_BYTES).to_owned())];
        Self::of(text, units)
    }

    /// Returns the question with `parts` in place of a folded word, outside of filters and quotes.
    pub(super) fn with_parts(&self, word: &str, parts: &str) -> Arc<Self> {
        let units = self.units.iter().map(|(unit, _)| match unit {
            Unit::Words(text) => Unit::Words(with_word(text, word, parts)),
            other => other.clone(),
        });
        Self::of(with_word(&self.text, word, parts), units.collect())
    }

    fn of(text: String, units: Vec<Unit>) -> Arc<Self> {
        let plain = units.iter().filter_map(Unit::plain_text).collect::<Vec<_>>().join(" ");
        let words: Vec<_> = units.iter().map(|unit| words(unit.text())).collect();
        Arc::new(Self { text, plain, units: units.into_iter().zip(words).collect() })
    }

    /// Returns the words that a dash excludes, without those in quotes.
    pub fn excluded_words(&self) -> impl Iterator<Item = &str> {
        let is_bare = |word: &&str| {
            let word = format!("-{word}");
            self.text.split_whitespace().any(|it| it.trim_end_matches('*') == word)
        };
        let excluded = self.units.iter().filter_map(|(unit, _)| match unit {
            Unit::Excluded(text, Reach::Anywhere) | Unit::ExcludedPrefix(text, Reach::Anywhere) => {
                Some(text.as_str())
            }
            _ => None,
        });
        excluded.filter(is_bare)
    }

    /// Returns whether the question has words only: no phrases, prefixes, exclusions or filters.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.units.iter().all(|(unit, _)| matches!(unit, Unit::Words(_)))
    }

    /// Returns whether the question has no words beside quoted phrases, prefixes, exclusions and
    /// filters.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        !self.has_words(false)
    }

    /// Returns the words of `plain` with their byte ranges in it, the parts of compounds only.
    pub(super) fn plain_words(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let mut end = 0;
        self.units.iter().filter_map(|(unit, words)| Some((unit.plain_text()?, words))).flat_map(
            move |(text, words)| {
                let start = end;
                end += text.len() + " ".len();
                simple_words(words)
                    .map(move |(word, range)| (word, start + range.start..start + range.end))
            },
        )
    }

    /// Returns whether the question has words outside quotes, filters, `title:` and exclusions.
    /// With `prefixes`, a prefix counts as a word.
    pub(super) fn has_words(&self, prefixes: bool) -> bool {
        self.units.iter().any(|(unit, _)| match unit {
            Unit::Words(text) => text.chars().any(char::is_alphanumeric),
            Unit::Prefix(text, Reach::Anywhere) => {
                prefixes && text.chars().any(char::is_alphanumeric)
            }
            _ => false,
        })
    }

    /// Returns whether the question ends with words outside quotes and filters, so that the last
    /// one may be incomplete.
    pub(super) fn ends_with_words(&self) -> bool {
        matches!(self.units.last(), Some((Unit::Words(_), _)))
    }
}

/// Returns the words of a unit with their byte ranges in its text, the parts of compounds only.
pub(super) fn simple_words(words: &[Word]) -> impl Iterator<Item = (&str, Range<usize>)> {
    let words = words.iter().filter(|word| word.kind != Kind::Whole);
    words.map(|word| (word.text.as_str(), word.range.clone()))
}

/// Returns the tokens of a unit with positions. The last character of a run without spaces is left
/// out, because the pair before it has it, too.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut out = Vec::new();
    let (mut position, mut number_end) = (0, 0);
    token::scan(text, &mut |t| {
        let is_number = t.kind == Kind::Whole && numbers::is_number(t.text);
        if is_number {
            number_end = t.end;
        }
        // A skipped token takes a position, as in pages.
        if t.kind != Kind::Tail {
            let exact = match t.kind {
                Kind::Word => Some(exact::key(&text[t.start..t.end], t.text, &text[t.end..])),
                Kind::Whole if is_number => Some(exact::key_of_number(t.text)),
                _ => None,
            };
            out.push(Word {
                text: t.text.to_owned(),
                range: t.start..t.end,
                exact,
                is_alone: false,
                position,
                kind: t.kind,
                is_number_part: t.kind != Kind::Whole && t.start < number_end,
            });
        }
        position += 1;
    });
    match out.as_mut_slice() {
        [word] => word.is_alone = true,
        // Beside other words, a letter is rarely a name: `plan b`.
        words => {
            for word in words.iter_mut().filter(|word| word.text.len() == 1) {
                word.exact.take_if(|key| key.len() == 2);
            }
        }
    }
    out
}

/// Returns the units of `question`, in order.
fn parse(question: &str, has_value: &mut dyn FnMut(&str, &str) -> bool) -> Vec<Unit> {
    let question = head(question, MAX_QUESTION_BYTES);
    let mut units = Vec::new();
    let mut rest = question.trim_start();
    while !rest.is_empty() && units.len() < MAX_UNITS {
        let (unit, after) = unit(rest, has_value);
        match (unit, units.last_mut()) {
            // Adjacent words stay together, so that their order can count.
            (Some(Unit::Words(word)), Some(Unit::Words(words))) => {
                words.push(' ');
                words.push_str(&word);
            }
            (Some(unit), _) => units.push(unit),
            (None, _) => {}
        }
        rest = after.trim_start();
    }
    units
}

/// Parses the first unit of `text`, which does not begin with white space; returns the rest, too.
/// An empty quotation, and a quote that is not closed, yield no unit.
fn unit<'t>(
    text: &'t str,
    has_value: &mut dyn FnMut(&str, &str) -> bool,
) -> (Option<Unit>, &'t str) {
    let (excluded, body) = match text.strip_prefix('-') {
        Some(body)
            if body.starts_with(|c: char| c.is_alphanumeric() || is_quote(c) || c == '#') =>
        {
            (true, body)
        }
        _ => (false, text),
    };
    let word_end = body.find(char::is_whitespace).unwrap_or(body.len());
    if let Some((field, after)) = field(body) {
        let (value, quoted, rest) = value(after);
        if let Some(unit) = field_unit(&field, value, quoted, excluded) {
            return (Some(unit), rest);
        }
        // `tag:` without a value, or `source:???`, is plain words.
        return (Some(Unit::Words(body[..word_end].to_owned())), &body[word_end..]);
    }
    if let Some((name, after)) = possible_field(body) {
        let (value, _, rest) = value(after);
        if !value.is_empty() && has_value(name, value) {
            let value = field_value(name, value);
            return (Some(Unit::Filter { field: Filter::Field, value, excluded }), rest);
        }
    }
    if body.starts_with(is_quote) {
        let (value, quoted, rest) = value(body);
        if quoted {
            if name_key(value).is_empty() {
                return (None, rest);
            }
            let value = value.to_owned();
            let unit = if excluded {
                Unit::Excluded(value, Reach::Anywhere)
            } else {
                Unit::Required(value, Reach::Anywhere)
            };
            return (Some(unit), rest);
        }
        // No closing quote: plain words follow.
        let skip = body.chars().next().map_or(0, char::len_utf8);
        return (None, &body[skip..]);
    }
    // A quote within a word ends it: `say:"hello world"`.
    let quote = find_quote(body).unwrap_or(body.len());
    let word_end = body.find(char::is_whitespace).unwrap_or(body.len()).min(quote).max(1);
    let word_end =
        (word_end..=body.len()).find(|&i| body.is_char_boundary(i)).unwrap_or(body.len());
    let (word, rest) = body.split_at(word_end);
    let unit = match (word.strip_suffix('*').filter(|stem| !name_key(stem).is_empty()), excluded) {
        (Some(stem), false) => Unit::Prefix(stem.to_owned(), Reach::Anywhere),
        (Some(stem), true) => Unit::ExcludedPrefix(stem.to_owned(), Reach::Anywhere),
        (None, true) => Unit::Excluded(word.to_owned(), Reach::Anywhere),
        (None, false) => Unit::Words(word.to_owned()),
    };
    (Some(unit), rest)
}

/// Parses a field name and its colon; returns the rest.
fn field(text: &str) -> Option<(Field, &str)> {
    let (name, after) = text.split_once(':')?;
    let field = match name {
        // The longest field name is `source`.
        _ if name.len() > 6 => return None,
        _ if name.eq_ignore_ascii_case("title") => Field::Title,
        _ if name.eq_ignore_ascii_case("tag") => Field::Filter(Filter::Tag),
        _ if name.eq_ignore_ascii_case("type") => Field::Filter(Filter::Type),
        _ if name.eq_ignore_ascii_case("source") => Field::Filter(Filter::Source),
        _ => return None,
    };
    Some((field, after))
}

/// Parses the key of a page's field and its colon; returns the rest.
fn possible_field(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.split_once(':')?;
    let is_name = name.starts_with(char::is_alphabetic)
        && name.len() <= MAX_FIELD_BYTES
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_name.then_some((name, after))
}

/// Parses a value, quoted or up to white space. Returns it, whether it was quoted, and the rest.
fn value(text: &str) -> (&str, bool, &str) {
    if text.starts_with(is_quote) {
        let open = text.chars().next().map_or(0, char::len_utf8);
        let inner = &text[open..];
        if let Some(close) = find_quote(inner) {
            let end = inner[close..].chars().next().map_or(0, char::len_utf8);
            return (&inner[..close], true, &inner[close + end..]);
        }
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], false, &text[end..])
}

/// Returns the unit of a field and its value; `None` if the value is empty or not valid.
fn field_unit(field: &Field, value: &str, quoted: bool, excluded: bool) -> Option<Unit> {
    match field {
        Field::Title => {
            if name_key(value).is_empty() {
                return None;
            }
            let prefix =
                value.strip_suffix('*').filter(|stem| !quoted && !name_key(stem).is_empty());
            Some(match (prefix, excluded) {
                (Some(stem), false) => Unit::Prefix(stem.to_owned(), Reach::Title),
                (Some(stem), true) => Unit::ExcludedPrefix(stem.to_owned(), Reach::Title),
                (None, false) => Unit::Required(value.to_owned(), Reach::Title),
                (None, true) => Unit::Excluded(value.to_owned(), Reach::Title),
            })
        }
        Field::Filter(filter) => {
            let value = match filter {
                Filter::Tag => tag_key(value),
                Filter::Type | Filter::Field => value.trim().to_lowercase(),
                Filter::Source => {
                    brain_protocol::SourceId::parse(value.to_lowercase()).ok()?.as_str().to_owned()
                }
            };
            (!value.is_empty()).then_some(Unit::Filter { field: *filter, value, excluded })
        }
    }
}

/// Returns the place of the first quote in `text`, except marks within Hebrew words.
fn find_quote(text: &str) -> Option<usize> {
    let mut quotes = text.char_indices().filter(|(_, c)| is_quote(*c));
    let is_mark = |at: usize, c: char| divides_hebrew(&text[..at], &text[at + c.len_utf8()..]);
    quotes.find(|&(at, c)| !is_mark(at, c)).map(|(at, _)| at)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』')
}
