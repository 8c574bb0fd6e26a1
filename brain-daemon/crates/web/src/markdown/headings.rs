//! Writes headings, and makes the outline of a text.

use std::ops::{ControlFlow, Range};

use brain_page::{LongText, for_each_event, headings};
use maud::Markup;
use pulldown_cmark::{Event, HeadingLevel};

use super::writer::heading_element;
use super::{Heading, OPTIONS, Renderer};

/// The maximum length of a heading in an outline, in characters.
const MAX_HEADING: usize = 200;

/// The ids of a text's elements.
#[derive(Clone, Copy)]
pub(super) struct Ids<'a> {
    /// The beginning of each id.
    pub(super) prefix: &'a str,
    /// For a part of a longer text, its position. Then the id of a heading contains the position of
    /// the heading in the longer text, else the number of the heading.
    pub(super) part: Option<PartPosition>,
}

/// The position of a part in a longer text, in bytes.
#[derive(Clone, Copy)]
pub(super) struct PartPosition {
    /// Where the part begins in the text.
    pub(super) start: usize,
    /// The length of the lines that are repeated before the part.
    pub(super) head: usize,
}

/// Returns the headings of a text that is shown in parts, each with the number of its part. They
/// have the same ids as in the rendered parts.
pub(crate) fn outline_of(body: &str, parts: &LongText<'_>) -> Vec<(usize, Heading)> {
    let mut levels = Vec::new();
    let found = headings(body).into_iter().map(|heading| {
        let level = nested_level(&mut levels, heading.level);
        let (id, at) = (format!("s{}", heading.range.start), heading.range.start);
        let text = plain(&heading.text);
        (parts.part_with(at), Heading { level: level as u8, text, id })
    });
    found.collect()
}

/// Returns the text of a heading without its markdown.
fn plain(text: &str) -> String {
    let (heading, mut plain) = (format!("# {text}"), String::new());
    for_each_event(&heading, OPTIONS, |event, _| {
        if let Event::Text(text) | Event::Code(text) = &event {
            plain.push_str(text);
        }
        ControlFlow::Continue(())
    });
    plain.chars().take(MAX_HEADING).collect()
}

/// Returns the depth of a heading from 1. `levels` has the levels of the headings around it, and
/// receives this one. Levels that the author skips do not count.
fn nested_level(levels: &mut Vec<u8>, level: u8) -> usize {
    while levels.last().is_some_and(|above| *above >= level) {
        levels.pop();
    }
    levels.push(level);
    levels.len()
}

impl<F, P, E> Renderer<'_, F, P, E>
where
    F: Fn(&str) -> Option<String>,
    P: Fn(&str) -> Option<String>,
    E: Fn(&str) -> Option<Markup>,
{
    pub(super) fn heading(&mut self, level: HeadingLevel, range: &Range<usize>) {
        let number = match self.ids.part {
            None => self.headings.len() + 1,
            Some(PartPosition { start, head }) => {
                let before = self.text.get(..range.start).unwrap_or_default();
                let line = before.rfind('\n').map_or(0, |end| end + 1);
                start + line.saturating_sub(head)
            }
        };
        let id = format!("{}s{number}", self.ids.prefix);
        let depth = nested_level(&mut self.levels, level as u8);
        self.out.start_with(heading_element(depth), &[("id", &id)]);
        self.headings.push(Heading { level: depth as u8, text: String::new(), id });
        self.in_heading = true;
    }
}
