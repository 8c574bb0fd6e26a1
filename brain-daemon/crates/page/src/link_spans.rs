//! Where the links of a text are, byte by byte, for editors. Knows no pages.

use super::grapheme::cut;
use super::links::{LinkReader, MENTIONS, PageLink};
use super::markdown::for_each_event;
use super::prose::{MARKDOWN, comments_and_formulas, is_in};
use brain_protocol::Slug;
use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

/// Maximum number of links of one text; further ones are ignored.
const MAX_SPANS: usize = 200_000;
/// Maximum length of the shown text of a link, in characters.
const MAX_TEXT: usize = 200;

/// A link in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpan {
    /// The byte range of the whole link. For a link with a label, without the definition.
    pub range: Range<usize>,
    /// The byte range of the target with its anchor, as written. For a link with a label, that of
    /// its definition. `None` if the target is written with escapes.
    pub target: Option<Range<usize>>,
    /// The target with its anchor.
    pub raw: String,
    /// Whether it is written as `[[target]]`.
    pub is_wiki: bool,
    /// Whether it shows the target, as `![[target]]` does.
    pub is_embed: bool,
    /// The shown text; empty if there is none.
    pub text: String,
}

impl LinkSpan {
    /// Returns the target without its anchor.
    #[must_use]
    pub fn path(&self) -> &str {
        self.raw.split('#').next().unwrap_or_default()
    }

    /// Returns the anchor, as written, without `#`. Of `#a#b` it is `b`.
    #[must_use]
    pub fn anchor(&self) -> Option<&str> {
        let (_, anchor) = self.raw.split_once('#')?;
        Some(anchor.rsplit('#').next().unwrap_or(anchor))
    }
}

/// Returns the links of `text`, which is the body of a page, in order. Ignores those in code,
/// comments and formulas. Linear in the length of the text.
#[must_use]
pub fn link_spans(text: &str) -> Vec<LinkSpan> {
    let mut spans: Vec<LinkSpan> = Vec::new();
    if !text.contains('[') {
        return spans;
    }
    let hidden = comments_and_formulas(text);
    let definitions = definitions(text);
    let mut open: Option<LinkSpan> = None;
    for_each_event(text, MARKDOWN, |event, range| {
        match event {
            Event::Start(
                Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. },
            ) if open.is_none() && !is_in(&hidden, range.start) => {
                open = span(text, range, link_type, &dest_url, &definitions);
            }
            Event::Text(shown) | Event::Code(shown) => {
                if let Some(open) = open.as_mut().filter(|open| open.text.len() < MAX_TEXT) {
                    open.text.push_str(cut(&shown, MAX_TEXT));
                }
            }
            Event::End(TagEnd::Link | TagEnd::Image) => spans.extend(open.take()),
            _ => {}
        }
        match spans.len() < MAX_SPANS {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    spans.sort_by_key(|span| span.range.start);
    spans
}

fn span(
    text: &str,
    range: Range<usize>,
    link_type: LinkType,
    dest_url: &CowStr<'_>,
    definitions: &HashMap<&str, Range<usize>>,
) -> Option<LinkSpan> {
    let written = &text[range.clone()];
    let is_wiki = matches!(link_type, LinkType::WikiLink { .. });
    let raw = match is_wiki {
        // In a table the bar is escaped.
        true => dest_url.strip_suffix('\\').unwrap_or(dest_url),
        false => dest_url,
    };
    let target = match link_type {
        LinkType::Autolink | LinkType::Email => return None,
        LinkType::WikiLink { .. } => {
            written.find("[[").map(|at| at + 2).filter(|at| written[*at..].starts_with(raw))
        }
        LinkType::Inline => {
            // The text of a link can have brackets.
            let mut starts = written.rmatch_indices("](").map(|(at, _)| at + 2);
            let inner = |at: usize| {
                let inner = written[at..].trim_start_matches([' ', '\t', '\n', '<']);
                inner.starts_with(raw).then(|| written.len() - inner.len())
            };
            starts.find_map(inner)
        }
        _ => {
            let target = definitions.get(raw).cloned();
            let (raw, text) = (raw.to_owned(), String::new());
            return Some(LinkSpan { range, target, raw, is_wiki, is_embed: false, text });
        }
    };
    let target = target.map(|at| range.start + at..range.start + at + raw.len());
    let is_embed = written.starts_with('!');
    Some(LinkSpan { range, target, raw: raw.to_owned(), is_wiki, is_embed, text: String::new() })
}

/// Returns the ranges of the targets of link definitions, `[label]: target`, by target.
fn definitions(text: &str) -> HashMap<&str, Range<usize>> {
    let mut found = HashMap::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        if let Some((_, rest)) = bare.split_once("]:").filter(|_| bare.starts_with('[')) {
            let rest = rest.trim_start_matches([' ', '\t']);
            let target = rest.strip_prefix('<').unwrap_or(rest);
            let ends = if rest.starts_with('<') { &['>'][..] } else { &[' ', '\t', '\r', '\n'] };
            let length = target.find(ends).unwrap_or(target.len());
            let start = at + line.len() - target.len();
            found.entry(&target[..length]).or_insert(start..start + length);
        }
        at += line.len();
    }
    found
}

/// Returns the link of the page `slug` that is written as `[[target]]` or as `[text](target)`.
/// `None` if it leads to no page: to an anchor of its own page, to another file, or out of brain.
#[must_use]
pub fn written_link(slug: &Slug, target: &str, is_wiki: bool) -> Option<PageLink> {
    let reader = LinkReader::of(slug);
    let found = match is_wiki {
        true => reader.parse_wiki_link(target),
        false => reader.parse_markdown_link(target),
    }?;
    let (kind, raw) = (MENTIONS.to_owned(), target.to_owned());
    Some(PageLink { target: found, kind, text: String::new(), raw })
}

/// Returns the anchors of headings in the form of GitHub: lower case, `-` for spaces, without
/// punctuation. Equal ones get `-1`, `-2`, and so on.
#[must_use]
pub fn heading_anchors<'a>(headings: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut anchors: Vec<String> = Vec::new();
    for heading in headings {
        let plain = heading.trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor: String =
            plain.chars().filter(is_kept).map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = counts.entry(anchor.clone()).or_insert(0);
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// Returns which of `headings` an anchor means: the one with this anchor, else the first one with
/// this text, as [`super::normalize_name`] compares names.
#[must_use]
pub fn heading_of_anchor(headings: &[String], anchor: &str, is_wiki: bool) -> Option<usize> {
    let anchor = super::percent_decode(anchor);
    let name = super::normalize_name(&anchor);
    let by_text = || headings.iter().position(|it| super::normalize_name(it) == name);
    let by_anchor = || {
        let anchors = heading_anchors(headings.iter().map(String::as_str));
        anchors.iter().position(|it| **it == *anchor)
    };
    match is_wiki {
        true => by_text().or_else(by_anchor),
        false => by_anchor().or_else(by_text),
    }
}

/// Returns the new anchor of a link to a heading that was renamed, written as the former one.
/// `before` and `after` are the headings of the page, equally many. `None` if the anchor stays.
#[must_use]
pub fn renamed_anchor(
    before: &[String],
    after: &[String],
    anchor: &str,
    is_wiki: bool,
) -> Option<String> {
    let index = heading_of_anchor(before, anchor, is_wiki)?;
    let anchors = |headings: &[String]| heading_anchors(headings.iter().map(String::as_str));
    let is_text = super::normalize_name(&super::percent_decode(anchor))
        == super::normalize_name(&before[index]);
    let new = match is_text && (is_wiki || anchors(before)[index] != anchor) {
        // These characters would end the anchor or the link.
        true => after.get(index)?.replace(['#', '|', '^', '[', ']'], " ").trim().to_owned(),
        false => anchors(after).get(index)?.clone(),
    };
    let same_text = is_text && before[index] == after[index];
    (new != anchor && !(same_text && is_wiki)).then_some(new)
}

/// Replaces the anchors of links in `text`. `new_anchor` returns the new one, as written, or `None`
/// if it stays. Returns the new text and the number of replaced anchors.
#[must_use]
pub fn retarget_anchors(
    text: &str,
    mut new_anchor: impl FnMut(&LinkSpan, &str) -> Option<String>,
) -> (String, usize) {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for span in link_spans(text) {
        let (Some(target), Some(anchor)) = (&span.target, span.anchor()) else { continue };
        if let Some(new) = new_anchor(&span, anchor) {
            edits.push((target.end - anchor.len()..target.end, new));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    edits.dedup_by_key(|(range, _)| range.start);
    let mut out = text.to_owned();
    for (range, new) in edits.iter().rev() {
        out.replace_range(range.clone(), new);
    }
    (out, edits.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn targets(text: &str) -> Vec<&str> {
        let spans = link_spans(text);
        spans.into_iter().map(|span| &text[span.target.unwrap()]).collect()
    }

    #[test]
    fn targets_are_found_as_written() {
        assert_eq!(
            targets("- [the plan](plan.md \"Q3\") ![[plan#Goals|g]]\n> 1. [see **it**](<plan.md>)"),
            ["plan.md", "plan#Goals", "plan.md"]
        );
        assert_eq!(
            targets("| [[2026-01-05\\|Mon]] | x |\n|--|--|\n| [[a]] | b |"),
            ["2026-01-05", "a"]
        );
        assert_eq!(targets("[a][r] [r]\n\n[r]: <x y.md>\n"), ["x y.md", "x y.md"]);
        assert!(targets("`[[a]]` %%[[b]]%% <https://x.test>").is_empty());
    }

    #[test]
    fn equal_headings_have_numbered_anchors() {
        let headings = ["Notes", "Notes", "What's up?", "Größe 2"].map(str::to_owned);
        let anchors = heading_anchors(headings.iter().map(String::as_str));
        assert_eq!(anchors, ["notes", "notes-1", "whats-up", "größe-2"]);
        for (anchor, is_wiki, found) in [
            ("notes-1", false, Some(1)),
            ("Notes", true, Some(0)),
            ("what's up?", true, Some(2)),
            ("gr%C3%B6%C3%9Fe-2", false, Some(3)),
            ("x", true, None),
        ] {
            assert_eq!(heading_of_anchor(&headings, anchor, is_wiki), found, "{anchor}");
        }
    }

    #[test]
    fn anchors_are_replaced_and_nothing_else() {
        let (text, count) = retarget_anchors("[x](a.md#n \"t\") [[a#b#n|l]] [[a]]", |_, anchor| {
            (anchor == "n").then(|| "new".to_owned())
        });
        assert_eq!((text.as_str(), count), ("[x](a.md#new \"t\") [[a#b#new|l]] [[a]]", 2));
    }

    proptest! {
        #[test]
        fn spans_of_any_text_are_within_it(
            text in "(\\[\\[|\\]\\]|\\[|\\]\\(|\\)|\\||#|\\\\|<|>|\n|\\]: |a|É|🦓|!|`|\\PC){0,30}",
        ) {
            for span in link_spans(&text) {
                prop_assert!(text.get(span.range.clone()).is_some());
                if let Some(target) = span.target {
                    prop_assert_eq!(text.get(target), Some(span.raw.as_str()));
                }
            }
        }
    }
}
