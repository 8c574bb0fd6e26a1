//! Snippets: one line of a found page around its best cluster of matches.

use std::{cell::RefCell, collections::HashMap, ops::Range};

use brain_protocol::SnippetSpan;

use super::snippet_line::LineBuilder;
use super::{
    begin::Beginnings,
    bm25::Stats,
    fold::{BuildTermHasher, hash},
    language::{Lang, alphabet, stem},
    markup::{self, Replacement},
    plan::Plan,
    token::{self, Kind, Token},
};

/// Maximum characters of a snippet.
pub const MAX_SNIPPET_CHARS: usize = 240;
/// A snippet with this many characters can end before a heading.
const MIN_SNIPPET_CHARS: usize = 80;
/// Maximum bytes of a body that one snippet is made from.
const MAX_SHOWN_BYTES: usize = 2048;
/// Maximum bytes between the beginning of a line and the snippet, for markup that spans both.
const MAX_LINE_BYTES: usize = 512;
/// Maximum bytes of a page that are searched.
const MAX_SCAN: usize = 256 << 10;
/// Maximum matches of a chunk that are compared.
const MAX_MATCHES: usize = 2_000;
/// Maximum cached words.
const MAX_STEMMED: usize = 10_000;
/// Maximum characters between the first and last match of a cluster.
const CLUSTER_CHARS: usize = 170;

/// A passage of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// One line of at most [`MAX_SNIPPET_CHARS`] characters.
    pub text: String,
    /// Byte ranges of `text` that match, in order.
    pub highlights: Vec<(u32, u32)>,
    /// Index of its chunk, from 0.
    pub chunk: u32,
    /// Line of the body with its first match, or with the beginning of its chunk if nothing
    /// matches; from 1.
    pub line: u32,
    /// Byte range of the body that `text` shows.
    pub range: Range<usize>,
    /// What [`snippet_text`] makes `text` from.
    pub span: SnippetSpan,
}

/// Returns the text of the snippet that shows a part of a body; `None` if the body has no such part.
#[must_use]
pub fn snippet_text(body: &str, span: &SnippetSpan) -> Option<String> {
    let SnippetSpan { start, matches_end, limit, has_more_before, has_more_after } = *span;
    let (start, limit) = (start as usize, limit as usize);
    body.get(start..limit)?;
    let begin = if has_more_before { start.checked_sub(1)? } else { start };
    let range = begin..limit + usize::from(has_more_after);
    Some(line(body, range, start..matches_end as usize, &[]).text)
}

/// Creates snippets for one question.
#[derive(Debug)]
pub struct Snippeter {
    /// Hash of a term → its group.
    terms: HashMap<u64, usize, BuildTermHasher>,
    /// Prefixes and their groups.
    prefixes: Vec<(String, usize)>,
    /// Weight of each group; 0 if no page has it.
    weights: Vec<f32>,
    languages: Vec<Lang>,
    /// Cache of groups by the words' hashes: texts repeat their words.
    stemmed: RefCell<HashMap<u64, Option<usize>, BuildTermHasher>>,
    /// Beginnings of words that can match.
    beginnings: Beginnings,
    /// The first two bytes of words that can match.
    first_bytes: Vec<[u8; 2]>,
}

/// A match of a group: its byte range in the body.
#[derive(Debug, Clone, Copy)]
struct Match {
    group: usize,
    start: usize,
    end: usize,
}

impl Snippeter {
    pub(super) fn new(plan: &Plan, stats: Option<&Stats>) -> Self {
        let mut new = Self {
            terms: HashMap::default(),
            prefixes: Vec::new(),
            weights: (0..plan.groups.len())
                .map(|g| match stats {
                    Some(stats) if stats.pages_with(g) == 0 => 0.0,
                    Some(stats) => stats.idf(g).max(0.05),
                    None => 1.0,
                })
                .collect(),
            languages: plan.languages.clone(),
            stemmed: RefCell::default(),
            beginnings: Beginnings::default(),
            first_bytes: Vec::new(),
        };
        for (index, group) in plan.groups.iter().enumerate() {
            // What no page has need not be looked for in texts.
            if new.weights[index] == 0.0 {
                continue;
            }
            for term in &group.terms {
                new.terms.entry(term.hash).or_insert(index);
                new.add_beginning(&term.text);
            }
            if let Some(prefix) = &group.prefix {
                new.prefixes.push((prefix.clone(), index));
                new.add_beginning(prefix);
            }
        }
        new
    }

    /// Adds the beginning of a term to the words that can match.
    fn add_beginning(&mut self, term: &str) {
        let bytes = term.as_bytes();
        if let Some(&first) = bytes.first() {
            self.beginnings.add(term);
            let first_two = [first, bytes.get(1).copied().unwrap_or(0)];
            if !self.first_bytes.contains(&first_two) {
                self.first_bytes.push(first_two);
            }
        }
    }

    /// Returns the best passage of `body`, or its beginning if nothing matches. `chunks` are the
    /// byte ranges of its chunks; if there are none, the body is one chunk. Searches the first
    /// 256 KiB of the chunks.
    #[must_use]
    pub fn snippet(&self, body: &str, chunks: &[Range<usize>]) -> Snippet {
        let whole = 0..body.len();
        let chunks = if chunks.is_empty() { std::slice::from_ref(&whole) } else { chunks };
        let mut best: Option<(f32, usize, Vec<Match>)> = None;
        let mut left = MAX_SCAN;
        for (index, chunk) in chunks.iter().enumerate() {
            if left == 0 || self.weights.is_empty() {
                break;
            }
            let range = within(body, chunk);
            let text = token::head(&body[range.clone()], left);
            left = left.saturating_sub(text.len().max(1));
            let matches = self.matches(text, range.start);
            if matches.is_empty() {
                continue;
            }
            let score = self.weigh(&matches);
            let has_all = self.has_all(&matches);
            if best.as_ref().is_none_or(|(other, ..)| score > *other) {
                best = Some((score, index, matches));
            }
            // A later chunk can only have more matches of the same words.
            if has_all {
                break;
            }
        }
        let (index, matches) = best.map_or((0, Vec::new()), |(_, index, matches)| (index, matches));
        let range = within(body, &chunks[index]);
        let cluster = self.cluster(body, &matches);
        let at = cluster.and_then(<[Match]>::first).map_or(range.start, |first| first.start);
        let line = body.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let shown = passage(body, range, cluster, &matches);
        Snippet { chunk: number(index), line: number(line), ..shown }
    }

    /// Returns the weight of the question's words in a text; 0 if it has none of them.
    #[must_use]
    pub fn weight(&self, text: &str) -> f32 {
        self.weigh(&self.matches(text, 0))
    }

    /// Returns the matches in `text`, which begins at `offset` in the body.
    fn matches(&self, text: &str, offset: usize) -> Vec<Match> {
        let mut matches = Vec::new();
        self.beginnings.scan(text, &mut |t| {
            if matches.len() < MAX_MATCHES
                && let Some(group) = self.group(&t)
            {
                matches.push(Match { group, start: offset + t.start, end: offset + t.end });
            }
        });
        matches
    }

    /// Returns the group that a token matches.
    fn group(&self, token: &Token<'_>) -> Option<usize> {
        let text = token.text;
        let bytes = text.as_bytes();
        if bytes.is_empty() || token.kind == Kind::Tail {
            return None;
        }
        let hashed = hash(bytes);
        if let Some(&group) = self.terms.get(&hashed) {
            return Some(group);
        }
        if let Some((_, group)) =
            self.prefixes.iter().find(|(prefix, _)| text.starts_with(prefix.as_str()))
        {
            return Some(*group);
        }
        if token.kind != Kind::Word {
            return None;
        }
        // Stems keep the beginning of a word, except of a few short words (dying, die) and of
        // Arabic words, which begin with a byte from 0xD8 on.
        let first_two = [bytes[0], bytes.get(1).copied().unwrap_or(0)];
        if bytes[0] < 0xD8 && bytes.len() > 5 && !self.first_bytes.contains(&first_two) {
            return None;
        }
        let mut stemmed = self.stemmed.borrow_mut();
        if let Some(group) = stemmed.get(&hashed) {
            return *group;
        }
        let group = self.by_stem(text);
        if stemmed.len() < MAX_STEMMED {
            stemmed.insert(hashed, group);
        }
        group
    }

    /// Returns the group of a word by its stem.
    fn by_stem(&self, text: &str) -> Option<usize> {
        let alphabet = alphabet(text);
        let default = self.languages.first().copied().unwrap_or(Lang::ENGLISH);
        let mut tried: Option<Lang> = None;
        self.languages.iter().find_map(|lang| {
            let lang = lang.of_word(alphabet, default);
            if tried == Some(lang) {
                return None;
            }
            tried = Some(lang);
            self.terms.get(&hash(stem(text, lang).as_bytes())).copied()
        })
    }

    /// Whether every group of the question that pages have is among the matches.
    fn has_all(&self, matches: &[Match]) -> bool {
        let has = |group| matches.iter().any(|found| found.group == group);
        (0..).zip(&self.weights).all(|(group, weight)| *weight == 0.0 || has(group))
    }

    /// Returns the weight of matches: that of each distinct group, and a little for repetitions.
    fn weigh(&self, matches: &[Match]) -> f32 {
        let mut counted_groups = 0_u64;
        let mut score = 0.0;
        for found in matches {
            let bit = 1 << (found.group % 64);
            let weight = self.weights.get(found.group).copied().unwrap_or(0.0);
            score += if counted_groups & bit == 0 { weight } else { weight * 0.03 };
            counted_groups |= bit;
        }
        score
    }

    /// Returns the best run of matches that fits in one passage.
    fn cluster<'m>(&self, body: &str, matches: &'m [Match]) -> Option<&'m [Match]> {
        let mut best: Option<(f32, &[Match])> = None;
        let mut end = 0;
        for (index, first) in matches.iter().enumerate() {
            // `fits` compares bytes first, and counts characters only if that does not decide.
            end = end.max(index + 1);
            while matches.get(end).is_some_and(|m| fits(body, first.start, m.end)) {
                end += 1;
            }
            let window = &matches[index..end];
            let score = self.weigh(&window[..window.len().min(64)]);
            // Of clusters with equal scores, up to rounding, the first wins.
            if best.is_none_or(|(other, _)| score > other * 1.000_1) {
                best = Some((score, window));
            }
        }
        best.map(|(_, window)| window)
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Returns the passage of `body[range]` around `cluster`, or its beginning; see [`line`].
fn passage(
    body: &str,
    range: Range<usize>,
    cluster: Option<&[Match]>,
    matches: &[Match],
) -> Snippet {
    let Some(first) = cluster.and_then(<[Match]>::first).map(|first| first.start) else {
        return line(body, range.clone(), range.start..range.start, &[]);
    };
    let end = cluster.unwrap_or_default().iter().map(|m| m.end).max().unwrap_or(first);
    let used = body[first..end].chars().count();
    let lead = MAX_SNIPPET_CHARS.saturating_sub(used + 2) * 2 / 5;
    let start = beginning(body, range.start, first, lead);
    line(body, range.clone(), start..end, matches)
}

/// Whether a cluster from `start` to `end` is short enough for a passage.
fn fits(body: &str, start: usize, end: usize) -> bool {
    end - start <= CLUSTER_CHARS
        || (end - start <= CLUSTER_CHARS * 4 && body[start..end].chars().count() <= CLUSTER_CHARS)
}

/// Limits `range` to `body`.
fn within(body: &str, range: &Range<usize>) -> Range<usize> {
    let start = token::head(body, range.start).len();
    let end = token::head(body, range.end).len();
    start..end.max(start)
}

/// Returns where a passage begins, at most `lead` characters before `first`: at the beginning of
/// the paragraph or of a sentence, else at a word.
fn beginning(body: &str, from: usize, first: usize, lead: usize) -> usize {
    let mut at = first;
    let (mut sentence, mut word) = (None, first);
    let mut chars = body[from..first].char_indices().rev();
    for count in 0..lead {
        let Some((index, c)) = chars.next() else { return from };
        if c == '\n' && ends_paragraph(body, from + index) {
            return at;
        }
        if ends_sentence(body, from + index, c) {
            sentence = Some(at);
            // A short sentence is shown with the one before it.
            if count * 3 > lead {
                return at;
            }
        }
        at = from + index;
        if c.is_whitespace() || can_cut_before(c) {
            word = at;
        }
    }
    sentence.unwrap_or(word)
}

/// Whether the line feed at `at` ends a paragraph: the line is a heading, or the next line is
/// blank, a list item, a heading, a quotation or a row of a table.
fn ends_paragraph(body: &str, at: usize) -> bool {
    let next = body[at + 1..].trim_start_matches([' ', '\t', '\r']);
    let line = body[..at].rsplit('\n').next().unwrap_or_default();
    next.starts_with(['\n', '-', '*', '+', '#', '>', '|'])
        || line.starts_with('#')
        || line.trim().is_empty()
        || next.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ")
}

/// Whether the mark `c` at `at` ends a sentence: white space follows, and no initial or title
/// precedes it (`J. Doe`, `Dr. Doe`).
fn ends_sentence(body: &str, at: usize, c: char) -> bool {
    if matches!(c, '。' | '！' | '？' | '।') {
        return true;
    }
    if !matches!(c, '.' | '!' | '?' | '؟' | '۔')
        || !body[at + c.len_utf8()..].starts_with(char::is_whitespace)
    {
        return false;
    }
    let letters = body[..at].chars().rev().take(3).take_while(|c| c.is_alphabetic()).count();
    c != '.' || !(1..=2).contains(&letters)
}

/// Whether a text can be cut before `c`.
fn can_cut_before(c: char) -> bool {
    super::fold::class(c) == super::fold::Class::Bigram
}

/// Returns one line of plain text from `shown.start` on, within `range`; its highlights; and the
/// part of `body` that it shows. After `shown.end`, the line ends before a heading.
fn line(body: &str, range: Range<usize>, shown: Range<usize>, matches: &[Match]) -> Snippet {
    let start = shown.start;
    let limit = body.floor_char_boundary(range.end.min(start + MAX_SHOWN_BYTES)).max(start);
    let earliest = body.ceil_char_boundary(start.saturating_sub(MAX_LINE_BYTES));
    let begin = body[earliest..start].rfind('\n').map_or(earliest, |at| earliest + at + 1);
    let marks = markup::marks(body, begin..limit);
    let mut mark = marks.iter().peekable();
    let mut line = LineBuilder::new(start > range.start);
    let mut matches = matches[matches.partition_point(|m| m.start < start)..].iter().peekable();
    let mut cut = (limit < range.end).then_some(limit);
    for (index, c) in body[start..limit].char_indices() {
        let at = start + index;
        line.end_match(at);
        while let Some(found) = matches.next_if(|m| m.start <= at) {
            line.begin_match(at, found.end);
        }
        while mark.next_if(|(mark, _)| mark.end <= at).is_some() {}
        let hidden = mark.peek().filter(|(mark, _)| mark.start <= at).map(|(_, shown)| *shown);
        if hidden == Some(Replacement::Nothing) {
            continue;
        }
        let is_end = at >= shown.end && line.chars >= MIN_SNIPPET_CHARS;
        if c == '\n' && is_end && body[at + 1..limit].trim_start().starts_with('#') {
            cut = Some(at);
            break;
        }
        if c.is_whitespace() || c.is_control() || hidden == Some(Replacement::Space) {
            line.push_space();
        } else {
            line.push(c);
        }
        if line.chars >= MAX_SNIPPET_CHARS - 1 && at + c.len_utf8() < range.end {
            cut = Some(at);
            break;
        }
    }
    let (text, highlights) = line.finish(cut.is_some());
    let span = SnippetSpan {
        start: number(start),
        matches_end: number(shown.end),
        limit: number(limit),
        has_more_before: start > range.start,
        has_more_after: limit < range.end,
    };
    let range = start..cut.unwrap_or(range.end);
    Snippet { text, highlights, range, span, ..Snippet::default() }
}
