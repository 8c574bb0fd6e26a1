//! Headings and sections of a page, as CommonMark parses them: with `#` or underlined, never in
//! code or HTML. A heading in a list or a quote has no section.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::ops::{ControlFlow, Range};

use pulldown_cmark::{Event, Options, Tag};
use unicode_normalization::UnicodeNormalization as _;

use super::markdown::for_each_event;

/// Options for parsing headings. A line of a table is no heading, nor is one of a footnote.
const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES);
/// Maximum number of addresses in an error.
const MAX_ADDRESSES: usize = 20;
/// Maximum number of `/` of an address at which it is divided.
const MAX_PARTS: usize = 32;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The level, 1 to 6. An underlined heading has level 1 (`=`) or 2 (`-`).
    pub level: u8,
    /// The text: markdown as written, on one line, without `#` or the underline. Can be empty.
    pub text: String,
    /// The byte range of the heading's lines in the body, including the line end.
    pub range: Range<usize>,
}

/// Why a name leads to no section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionError {
    /// No heading has this text or address.
    NotFound,
    /// Several headings have this text or address.
    Ambiguous {
        /// The section of the first.
        first: Range<usize>,
        /// Number of headings.
        count: usize,
        /// The addresses of the first headings. Each leads to one section.
        addresses: Vec<String>,
    },
}

/// Returns the headings of `body` in order. Linear in the body's length.
#[must_use]
pub fn headings(body: &str) -> Vec<Heading> {
    Spot::all(body).iter().map(|spot| spot.heading(body)).collect()
}

/// Returns the byte range of the section of `body` with the heading `name`. It begins with the
/// heading's line and ends before the next heading of the same or a higher level.
///
/// `name` is the text of the heading. Ignores case, surrounding white space, and the Unicode form
/// of accents. The name may begin with `#`; then a heading of that level is preferred. If no
/// heading has that text, `name` is an address: the texts of the headings around it and its own,
/// from any level down (`Tue/Log`) or from the top (`/Log`), each with its number if equal headings
/// have the same place (`Log[2]`).
///
/// # Errors
/// [`SectionError::NotFound`] and [`SectionError::Ambiguous`] if `name` leads not to exactly one
/// section.
pub fn section(body: &str, name: &str) -> Result<Range<usize>, SectionError> {
    let outline = Outline::of(body);
    let found = outline.find(name);
    match found.as_slice() {
        [] => Err(SectionError::NotFound),
        [only] => Ok(outline.section(*only)),
        [first, ..] => {
            let addresses =
                found.iter().take(MAX_ADDRESSES).map(|index| outline.address(*index)).collect();
            let first = outline.section(*first);
            Err(SectionError::Ambiguous { first, count: found.len(), addresses })
        }
    }
}

/// Returns the first section with the heading `name`, see [`section`], for callers that have nobody
/// to choose.
#[must_use]
pub fn first_section(body: &str, name: &str) -> Option<Range<usize>> {
    match section(body, name) {
        Ok(range) | Err(SectionError::Ambiguous { first: range, .. }) => Some(range),
        Err(SectionError::NotFound) => None,
    }
}

/// The place of a heading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    /// The level, 1 to 6.
    pub(super) level: u8,
    start: u32,
    end: u32,
}

impl Spot {
    /// Returns the places of all headings, in order.
    pub(super) fn all(body: &str) -> Vec<Self> {
        let mut found = Vec::new();
        if !body.lines().any(can_make_heading) {
            return found;
        }
        let mut depth = 0_usize;
        for_each_event(body, OPTIONS, |event, range| {
            match event {
                Event::Start(tag) => {
                    if let Tag::Heading { level, .. } = tag
                        && depth == 0
                    {
                        let start = body[..range.start].rfind('\n').map_or(0, |at| at + 1);
                        let last = body[..range.end].trim_end_matches(['\r', '\n']).len();
                        let end = body[last..].find('\n').map_or(body.len(), |at| last + at + 1);
                        if let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) {
                            found.push(Self { level: level as u8, start, end });
                        }
                    }
                    depth += 1;
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        found
    }

    /// Returns the byte range of the heading's lines.
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the text of the heading, see [`Heading::text`].
    pub(super) fn text(self, body: &str) -> Cow<'_, str> {
        let lines = body[self.range()].trim();
        if let Some(text) = hash_heading(lines) {
            return Cow::Borrowed(text);
        }
        let text = lines.rsplit_once('\n').map_or("", |(text, _)| text.trim());
        if !text.contains('\n') {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
    }

    fn heading(self, body: &str) -> Heading {
        let text = self.text(body).into_owned();
        Heading { level: self.level, text, range: self.range() }
    }
}

/// Returns whether a text without such a line has no heading.
fn can_make_heading(line: &str) -> bool {
    let line = line.trim();
    let is_of = |sign: u8| line.bytes().all(|byte| byte == sign);
    line.starts_with('#') || (!line.is_empty() && (is_of(b'=') || is_of(b'-')))
}

/// Returns the text of a heading with `#` (CommonMark 0.31, section 4.2), without white space
/// around its line. `None` for another line.
fn hash_heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let is_heading = (1..=6).contains(&(line.len() - text.len()))
        && (text.is_empty() || text.starts_with([' ', '\t']))
        && !line.contains('\n');
    if !is_heading {
        return None;
    }
    let text = text.trim();
    // `#` after the text closes the heading if white space precedes it.
    let open = text.trim_end_matches('#');
    Some(if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { text })
}

/// The headings of a text and their order. Texts are compared by their hash, which takes less
/// memory.
struct Outline<'a> {
    body: &'a str,
    hasher: RandomState,
    spots: Vec<Spot>,
    /// For each heading, the hash of its text's [`key`].
    keys: Vec<u64>,
    /// For each heading, the index of the one above it; `u32::MAX` at the top.
    parents: Vec<u32>,
    /// For each heading, its number from 1 among those with the same text and parent; 0 if there is
    /// no other.
    numbers: Vec<u32>,
}

impl<'a> Outline<'a> {
    fn of(body: &'a str) -> Self {
        let (hasher, spots) = (RandomState::new(), Spot::all(body));
        let keys: Vec<u64> =
            spots.iter().map(|spot| hasher.hash_one(key(&spot.text(body)))).collect();
        let mut above: Vec<(u8, u32)> = Vec::new();
        let parents: Vec<u32> = (0_u32..)
            .zip(&spots)
            .map(|(index, spot)| {
                above.retain(|(level, _)| *level < spot.level);
                let parent = above.last().map_or(u32::MAX, |(_, index)| *index);
                // A heading without text cannot be part of an address.
                if !spot.text(body).is_empty() {
                    above.push((spot.level, index));
                }
                parent
            })
            .collect();
        let mut order: Vec<usize> = (0..spots.len()).collect();
        order.sort_by_key(|index| (parents[*index], keys[*index]));
        let mut numbers = vec![0; spots.len()];
        for twins in order.chunk_by(|a, b| (parents[*a], keys[*a]) == (parents[*b], keys[*b])) {
            if twins.len() > 1 {
                (1_u32..).zip(twins).for_each(|(number, index)| numbers[*index] = number);
            }
        }
        Self { body, hasher, spots, keys, parents, numbers }
    }

    fn section(&self, index: usize) -> Range<usize> {
        let own = self.spots[index];
        let next = self.spots[index + 1..].iter().find(|next| next.level <= own.level);
        own.range().start..next.map_or(self.body.len(), |next| next.range().start)
    }

    fn parent(&self, index: usize) -> Option<usize> {
        Some(self.parents[index]).filter(|parent| *parent != u32::MAX).map(|at| at as usize)
    }

    /// Returns the headings to which `name` leads, in order.
    fn find(&self, name: &str) -> Vec<usize> {
        let full = name.trim();
        let bare = full.trim_start_matches('#');
        let level = full.len() - bare.len();
        let (full, bare) = (key(full), key(bare));
        if full.is_empty() {
            return Vec::new();
        }
        let all = || 0..self.spots.len();
        let has_text = |text: &str| {
            let hash = self.hasher.hash_one(text.to_owned());
            move |index: &usize| self.keys[*index] == hash
        };
        let (has_full, has_bare) = (has_text(&full), has_text(&bare));
        let mut found: Vec<usize> = all().filter(has_full).collect();
        if found.is_empty() && !bare.is_empty() {
            let has_level = |index: &usize| usize::from(self.spots[*index].level) == level;
            found = all().filter(has_level).filter(&has_bare).collect();
        }
        if found.is_empty() && !bare.is_empty() {
            found = all().filter(&has_bare).collect();
        }
        if found.is_empty() {
            let parts = self.parts(&full);
            found = all().filter(|index| self.has_address(*index, &parts)).collect();
        }
        found
    }

    /// Returns the possible last parts of an address.
    fn parts<'b>(&self, address: &'b str) -> Vec<AddressPart<'b>> {
        let cuts = address.rmatch_indices('/').take(MAX_PARTS);
        let cuts = cuts.map(|(at, _)| (&address[at + 1..], Some(&address[..at])));
        let mut parts = Vec::new();
        for (text, above) in cuts.chain([(address, None)]) {
            let text_hash = |text: &str| self.hasher.hash_one(text.to_owned());
            parts.push(AddressPart { text: text_hash(text), number: None, above });
            if let Some((text, number)) =
                text.strip_suffix(']').and_then(|text| text.rsplit_once('['))
                && let Ok(number) = number.parse()
            {
                parts.push(AddressPart { text: text_hash(text), number: Some(number), above });
            }
        }
        parts
    }

    /// Returns whether a heading has an address with one of these last parts.
    fn has_address(&self, index: usize, parts: &[AddressPart<'_>]) -> bool {
        parts.iter().any(|part| {
            !self.spots[index].text(self.body).is_empty()
                && part.text == self.keys[index]
                && part.number.is_none_or(|number| number == self.numbers[index].max(1))
                && match (part.above, self.parent(index)) {
                    (None, _) | (Some(""), None) => true,
                    (Some(""), Some(_)) | (Some(_), None) => false,
                    (Some(above), Some(parent)) => self.has_address(parent, &self.parts(above)),
                }
        })
    }

    /// Returns the shortest address that leads to this heading alone.
    fn address(&self, index: usize) -> String {
        let path: Vec<usize> =
            std::iter::successors(Some(index), |index| self.parent(*index)).collect();
        let address = |depth: usize, numbered: bool| {
            let part = |index: &usize| {
                let text = self.spots[*index].text(self.body);
                match self.numbers[*index] {
                    number @ 1.. if numbered => format!("{text}[{number}]"),
                    _ => text.into_owned(),
                }
            };
            path[..depth].iter().rev().map(part).collect::<Vec<_>>().join("/")
        };
        (1..=path.len())
            .flat_map(|depth| [address(depth, false), address(depth, true)])
            .find(|address| self.find(address) == [index])
            .unwrap_or_else(|| format!("/{}", address(path.len(), true)))
    }
}

/// A possible last part of an address.
struct AddressPart<'a> {
    /// The hash of its text.
    text: u64,
    number: Option<u32>,
    /// The address before it.
    above: Option<&'a str>,
}

/// Returns the form of a heading's text in which texts are compared.
fn key(text: &str) -> String {
    text.trim().nfc().collect::<String>().to_lowercase()
}

#[cfg(test)]
#[path = "section_tests.rs"]
mod tests;
