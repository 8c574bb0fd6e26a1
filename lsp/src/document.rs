//! Open documents, and what a text says: links, headings, tags.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use brain_page::{Document as PageText, LinkSpan, headings, link_spans, tag_ranges};

use crate::text::Text;

/// A document that is open in the editor.
#[derive(Debug)]
pub(crate) struct Document {
    /// The URI as the client spells it.
    pub(crate) uri: String,
    pub(crate) version: Option<i32>,
    pub(crate) text: Text,
    outline: OnceCell<Arc<Outline>>,
}

impl Document {
    pub(crate) fn new(uri: String, version: Option<i32>, text: Text) -> Self {
        Self { uri, version, text, outline: OnceCell::new() }
    }

    /// Returns what the text says.
    pub(crate) fn outline(&self) -> Arc<Outline> {
        Arc::clone(self.outline.get_or_init(|| Arc::new(Outline::of(self.text.as_str()))))
    }

    /// Forgets what the former text said.
    pub(crate) fn changed(&mut self, version: Option<i32>) {
        self.version = version.or(self.version);
        self.outline = OnceCell::new();
    }
}

/// A heading, with byte ranges of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) level: u8,
    /// The text; can be empty.
    pub(crate) text: String,
    /// The lines of the heading without the last line end.
    pub(crate) lines: Range<usize>,
    /// The text in the first line; empty, at the end of the marks, if there is none.
    pub(crate) name: Range<usize>,
    /// The end of the section.
    pub(crate) section_end: usize,
}

/// What a text says. All ranges are byte ranges of the whole text.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Where the body begins, after the frontmatter.
    pub(crate) body: usize,
    /// The line and column, from 1, and the reason why the frontmatter cannot be read.
    pub(crate) problem: Option<(usize, usize, String)>,
    pub(crate) links: Vec<LinkSpan>,
    pub(crate) headings: Vec<Heading>,
    /// The tags in the text, without `#`.
    pub(crate) tags: Vec<Range<usize>>,
}

impl Outline {
    pub(crate) fn of(text: &str) -> Self {
        let mut outline = Self::default();
        match PageText::parse(text) {
            Ok(document) => outline.body = text.len() - document.body.len(),
            Err(error) => {
                outline.body = end_of_block(text);
                outline.problem = Some((error.line, error.column, error.message));
            }
        }
        let (head, body) = text.split_at(outline.body);
        let at = outline.body;
        let shift = |range: Range<usize>| range.start + at..range.end + at;
        outline.links = links_in_frontmatter(head);
        outline.links.extend(link_spans(body).into_iter().map(|span| LinkSpan {
            range: shift(span.range),
            target: span.target.map(shift),
            ..span
        }));
        outline.tags = tag_ranges(body).into_iter().map(shift).collect();
        let found = headings(body);
        for (n, heading) in found.iter().enumerate() {
            let next = found[n + 1..].iter().find(|next| next.level <= heading.level);
            let section_end = next.map_or(text.len(), |next| next.range.start + at);
            let lines = shift(heading.range.clone());
            let written = &text[lines.clone()];
            let lines = lines.start..lines.start + written.trim_end_matches(['\r', '\n']).len();
            let written = text[lines.clone()].lines().next().unwrap_or_default();
            let marks = written.len() - written.trim_start().trim_start_matches('#').len();
            let begin = marks + written[marks..].len() - written[marks..].trim_start().len();
            let end = written.trim_end().trim_end_matches('#').trim_end().len().max(begin);
            outline.headings.push(Heading {
                level: heading.level,
                text: heading.text.clone(),
                name: lines.start + begin.min(end)..lines.start + end,
                lines,
                section_end,
            });
        }
        outline
    }

    /// Returns the texts of the headings.
    pub(crate) fn heading_texts(&self) -> Vec<String> {
        self.headings.iter().map(|heading| heading.text.clone()).collect()
    }

    /// Returns the link around a byte.
    pub(crate) fn link_at(&self, byte: usize) -> Option<&LinkSpan> {
        let covers = |range: &Range<usize>| range.start <= byte && byte <= range.end;
        // Of two links side by side, the second one begins here.
        self.links
            .iter()
            .rev()
            .find(|link| covers(&link.range) || link.target.as_ref().is_some_and(&covers))
    }
}

/// Returns the wiki links in the frontmatter.
fn links_in_frontmatter(head: &str) -> Vec<LinkSpan> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = head[at..].find("[[").map(|start| at + start) {
        let inner = &head[start + 2..];
        let line = inner.lines().next().unwrap_or_default();
        let Some(end) = line.find("]]") else {
            at = start + 2;
            continue;
        };
        let (raw, text) = line[..end].split_once('|').unwrap_or((&line[..end], ""));
        found.push(LinkSpan {
            range: start..start + 2 + end + 2,
            target: Some(start + 2..start + 2 + raw.len()),
            raw: raw.to_owned(),
            is_wiki: true,
            is_embed: false,
            text: text.to_owned(),
        });
        at = start + 2 + end;
    }
    found
}

/// Returns where the block of a frontmatter that cannot be read ends.
fn end_of_block(text: &str) -> usize {
    let mut at = 0;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        at += line.len();
        if n > 0 && ["---", "...", "+++"].contains(&line.trim_end()) {
            return at;
        }
    }
    0
}

/// The open documents, by their paths.
pub(crate) type Documents = HashMap<String, Document>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headings_have_their_names_and_sections() {
        let text = "---\ntitle: x\n---\n\n# \n## Real ##\ntext\n\nTwo\n===\n##";
        let outline = Outline::of(text);
        let found: Vec<_> =
            outline.headings.iter().map(|it| (it.level, &text[it.name.clone()])).collect();
        assert_eq!(found, [(1, ""), (2, "Real"), (1, "Two"), (2, "")]);
        assert_eq!(&text[outline.headings[1].section_end..], "Two\n===\n##");
    }

    #[test]
    fn links_of_frontmatter_and_body_are_found() {
        let text = "---\nrelated: [\"[[a|A]]\", \"[[b]]\"]\n---\n[[c#d]]";
        let outline = Outline::of(text);
        let targets: Vec<_> =
            outline.links.iter().map(|it| &text[it.target.clone().unwrap_or_default()]).collect();
        assert_eq!(targets, ["a", "b", "c#d"]);
        assert!(Outline::of("---\na: [\n---\n[[c]]").problem.is_some());
    }

    proptest! {
        #[test]
        fn ranges_of_any_text_are_within_it(text in "(---\n|# |#|=+\n|\\[\\[|\\]\\]|🦓|a|\r\n|\n| |-){0,25}") {
            let outline = Outline::of(&text);
            for it in &outline.headings {
                prop_assert!(text.get(it.lines.clone()).is_some());
                prop_assert!(text.get(it.name.clone()).is_some());
                prop_assert!(it.lines.start <= it.name.start && it.name.end <= it.lines.end);
                prop_assert!(it.lines.end <= it.section_end);
            }
            for it in &outline.links {
                prop_assert!(text.get(it.range.clone()).is_some());
            }
        }
    }
}
