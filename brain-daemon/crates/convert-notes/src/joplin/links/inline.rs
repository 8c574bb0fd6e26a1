//! Rewrites the links of one paragraph.

use std::collections::HashMap;

use super::target::{address, attribute, definition, destination, plain_address};
use super::{Link, Target, Targets};

/// Maximum number of open brackets. Text that nests deeper keeps its links.
const MAX_OPEN: usize = 32;

/// A link that has begun.
enum Open {
    /// `[` or `![`.
    Bracket { at: usize, is_image: bool, begins_line: bool },
    /// `<a href="…">`, of this length.
    Anchor { at: usize, length: usize, target: Target, heading: String },
}

/// The state while a paragraph is rewritten.
pub(super) struct Paragraph<'t> {
    text: &'t str,
    at: usize,
    out: String,
    open: Vec<Open>,
    /// The places of runs of backticks, by their length.
    ticks: HashMap<usize, Vec<usize>>,
}

impl<'t> Paragraph<'t> {
    /// Appends the text with all links rewritten.
    pub(super) fn rewrite(text: &'t str, targets: &mut dyn Targets, out: &mut String) {
        let mut paragraph = Self {
            text,
            at: 0,
            out: String::with_capacity(text.len()),
            open: Vec::new(),
            ticks: tick_runs(text),
        };
        while let Some(special) = paragraph.rest().find(['\\', '`', '!', '[', ']', '<']) {
            paragraph.copy(special);
            paragraph.special(targets);
        }
        paragraph.copy(paragraph.rest().len());
        out.push_str(&paragraph.out);
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Copies this number of bytes.
    fn copy(&mut self, length: usize) {
        self.out.push_str(self.rest().get(..length).unwrap_or_default());
        self.at += length;
    }

    /// Takes a character that has a meaning.
    fn special(&mut self, targets: &mut dyn Targets) {
        let rest = self.rest();
        match rest.as_bytes().first() {
            Some(b'\\') => self.copy(1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
            Some(b'`') => self.code(),
            Some(b'!') if rest.starts_with("![") => self.begin(true),
            Some(b'[') => self.begin(false),
            Some(b']') => self.end(targets),
            Some(b'<') => self.tag(targets),
            _ => self.copy(1),
        }
    }

    /// Copies a code span, or backticks that begin none.
    fn code(&mut self) {
        let length = self.rest().bytes().take_while(|b| *b == b'`').count();
        let runs = self.ticks.get(&length).map(Vec::as_slice).unwrap_or_default();
        let next = runs.get(runs.partition_point(|at| *at <= self.at));
        self.copy(next.map_or(length, |end| end + length - self.at));
    }

    fn begin(&mut self, is_image: bool) {
        if self.open.len() < MAX_OPEN {
            let before = self.text.get(..self.at).unwrap_or_default();
            let begins_line = before.trim_end_matches([' ', '>']);
            let begins_line = begins_line.is_empty() || begins_line.ends_with('\n');
            self.open.push(Open::Bracket { at: self.out.len(), is_image, begins_line });
        }
        self.copy(1 + usize::from(is_image));
    }

    /// Takes a closing bracket, and the address after it.
    fn end(&mut self, targets: &mut dyn Targets) {
        let Some(Open::Bracket { at, is_image, begins_line }) =
            self.open.pop_if(|it| matches!(it, Open::Bracket { .. }))
        else {
            return self.copy(1);
        };
        let after = self.rest().get(1..).unwrap_or_default();
        if let Some(to) = after.strip_prefix('(').and_then(destination) {
            let length = 2 + to.length;
            let Some(target) = targets.find(to.id) else { return self.copy(length) };
            let label = self.out.split_off(at);
            let label = label.get(1 + usize::from(is_image)..).unwrap_or_default();
            let (heading, title) = (to.heading, to.title);
            Link { target: &target, is_image, label, heading, title }.write(&mut self.out);
            self.at += length;
            if !is_image {
                // A link contains no link.
                self.open.retain(|it| matches!(it, Open::Anchor { .. }));
            }
        } else if let Some((id, heading, length)) =
            after.strip_prefix(':').filter(|_| begins_line && !is_image).and_then(definition)
            && let Some(target) = targets.find(id)
        {
            self.out.push_str(&format!("]: {}", plain_address(&target, heading)));
            self.at += 2 + length;
        } else {
            self.copy(1);
        }
    }

    /// Takes a tag of HTML.
    fn tag(&mut self, targets: &mut dyn Targets) {
        let rest = self.rest();
        let inner = rest.get(1..).unwrap_or_default();
        let end = inner.find(['<', '>']).filter(|end| inner.as_bytes().get(*end) == Some(&b'>'));
        let Some(tag) = end.and_then(|end| rest.get(..end + 2)) else { return self.copy(1) };
        if tag.eq_ignore_ascii_case("</a>") {
            return self.end_anchor(tag.len());
        }
        let name: String = inner.chars().take_while(char::is_ascii_alphanumeric).collect();
        let found = ["src", "href"].into_iter().find_map(|key| {
            let place = attribute(tag, key)?;
            let (id, heading) = address(tag.get(place.clone())?)?;
            Some((place, id, heading))
        });
        let Some((place, id, heading)) = found.filter(|_| !name.is_empty()) else {
            return self.copy(tag.len());
        };
        let Some(target) = targets.find(id) else { return self.copy(tag.len()) };
        self.at += tag.len();
        if name.eq_ignore_ascii_case("img") {
            let label = attribute(tag, "alt").and_then(|it| tag.get(it)).unwrap_or_default();
            let link = Link { target: &target, is_image: true, label, heading, title: "" };
            return link.write(&mut self.out);
        }
        let at = self.out.len();
        let (before, after) = (tag.get(..place.start), tag.get(place.end..));
        let new = plain_address(&target, heading);
        self.out.extend([before.unwrap_or_default(), &new, after.unwrap_or_default()]);
        if name.eq_ignore_ascii_case("a") && self.open.len() < MAX_OPEN {
            let (length, heading) = (self.out.len() - at, heading.to_owned());
            self.open.push(Open::Anchor { at, length, target, heading });
        }
    }

    /// Makes a link of what stands between `<a …>` and `</a>`, a tag of this length.
    fn end_anchor(&mut self, length: usize) {
        while let Some(open) = self.open.pop() {
            if let Open::Anchor { at, length: begin, target, heading } = open {
                let label = self.out.split_off(at);
                let label = label.get(begin..).unwrap_or_default();
                let link =
                    Link { target: &target, is_image: false, label, heading: &heading, title: "" };
                link.write(&mut self.out);
                self.at += length;
                return;
            }
        }
        self.copy(length);
    }
}

/// Returns the places of all runs of backticks, by their length.
fn tick_runs(text: &str) -> HashMap<usize, Vec<usize>> {
    let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'`' {
            let mut length = 1;
            while bytes.next_if(|(_, byte)| *byte == b'`').is_some() {
                length += 1;
            }
            runs.entry(length).or_default().push(at);
        }
    }
    runs
}
