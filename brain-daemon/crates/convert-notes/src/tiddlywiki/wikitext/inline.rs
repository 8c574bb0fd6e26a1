//! Converts wikitext within a block.

use super::super::links::Links;
use super::address::address;
use super::escape::{code, escaped};
use super::html;
use super::spans::Spans;

/// The marks of formats: in wikitext, and before and after the text in markdown. The last pair is
/// used where the first has no effect.
const MARKS: [(&str, [&str; 2], [&str; 2]); 6] = [
    ("''", ["**", "**"], ["<b>", "</b>"]),
    ("//", ["*", "*"], ["<i>", "</i>"]),
    ("~~", ["~~", "~~"], ["<del>", "</del>"]),
    ("__", ["<u>", "</u>"], ["<u>", "</u>"]),
    ("^^", ["<sup>", "</sup>"], ["<sup>", "</sup>"]),
    (",,", ["<sub>", "</sub>"], ["<sub>", "</sub>"]),
];
/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a paragraph or an item of a list.
    Paragraph,
    /// In a heading or the cell of a table, which are one line.
    Line,
    /// In the cell of a table, where a bar ends the cell.
    Cell,
}

/// Returns the text as markdown.
pub(super) fn inline(text: &str, place: Place, links: &mut Links<'_>) -> String {
    let mut run = Run {
        text,
        place,
        links,
        spans: Spans::default(),
        out: String::with_capacity(text.len() + 16),
        open: Vec::new(),
        has_lines: false,
        is_marked: None,
        before: None,
    };
    let mut at = 0;
    while at < text.len() {
        at = run.step(at);
    }
    while let Some((mark, start)) = run.open.pop() {
        run.restore(mark, start);
    }
    let out = run.out;
    match place {
        Place::Cell => out.replace('\n', " "),
        _ => out,
    }
}

struct Run<'a, 'l> {
    text: &'a str,
    place: Place,
    links: &'a mut Links<'l>,
    spans: Spans,
    out: String,
    /// The open formats: their index, and where their text begins in the output.
    open: Vec<(usize, usize)>,
    /// Whether line ends count.
    has_lines: bool,
    /// The open `@@`: what ends it.
    is_marked: Option<&'static str>,
    before: Option<char>,
}

impl Run<'_, '_> {
    /// Converts what begins at `at`, and returns where it ends.
    fn step(&mut self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let Some(first) = rest.chars().next() else { return self.text.len() };
        let end = match first {
            '\'' | '/' | '~' | '_' | '^' | ',' => self.mark(rest, at),
            '<' | '{' | '[' | '`' => self.span(at),
            '"' if rest.starts_with("\"\"\"") => Some(self.hard_lines(rest, at)),
            '@' if rest.starts_with("@@") => Some(self.style(rest, at)),
            '-' if rest.starts_with("--") => Some(self.dash(rest, at)),
            '$' if rest.starts_with("$$") => self.formula(at),
            '\n' => Some(self.line_end(at)),
            _ => None,
        };
        let end = end.or_else(|| self.word(rest, at, first));
        let end = end.unwrap_or_else(|| {
            let after = rest.get(first.len_utf8()..).unwrap_or_default();
            escaped(&mut self.out, self.before, first, after);
            at + first.len_utf8()
        });
        let end = end.max(at + first.len_utf8());
        self.before = self.text.get(..end).and_then(|text| text.chars().next_back());
        end
    }

    /// Writes a formula of the KaTeX plugin. One on a single line is a part of its line. Without
    /// signs of TeX it is a text such as an amount.
    fn formula(&mut self, at: usize) -> Option<usize> {
        let end = self.spans.after(self.text, at + 2, "$$")?;
        let tex = self.text.get(at + 2..end - 2)?;
        if !tex.contains(['\\', '^', '_', '=']) || tex.contains("\n\n") {
            return None;
        }
        match tex.contains('\n') && self.place == Place::Paragraph {
            true => self.out.extend(["$$", tex, "$$"]),
            false => self.out.extend(["$", tex.trim(), "$"]),
        }
        Some(end)
    }

    /// Begins or ends a format.
    fn mark(&mut self, rest: &str, at: usize) -> Option<usize> {
        let index = MARKS.iter().position(|(mark, ..)| rest.starts_with(mark))?;
        let (mark, ..) = MARKS.get(index)?;
        let next = at + mark.len();
        if let Some(depth) = self.open.iter().position(|(open, _)| *open == index) {
            while self.open.len() > depth {
                let Some((open, start)) = self.open.pop() else { break };
                self.close(open, start, next);
            }
            return Some(next);
        }
        self.spans.after(self.text, next, mark)?;
        self.open.push((index, self.out.len()));
        Some(next)
    }

    /// Puts a format around the output from `start`.
    fn close(&mut self, index: usize, start: usize, next: usize) {
        let Some((_, plain, html)) = MARKS.get(index) else { return };
        let content = self.out.split_off(start.min(self.out.len()));
        let inner = content.trim();
        let lead = content.len() - content.trim_start().len();
        let tail = content.trim_end().len().max(lead);
        let is_word = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
        let is_sign = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric());
        let before = self.out.chars().next_back().filter(|_| lead == 0);
        let after = self.text.get(next..).and_then(|rest| rest.chars().next());
        let after = after.filter(|_| tail == content.len());
        let is_broken = is_sign(inner.chars().next()) && is_word(before)
            || is_sign(inner.chars().next_back()) && is_word(after)
            || before == Some('*')
            || after == Some('*');
        let [begin, end] = if is_broken { html } else { plain };
        self.out.push_str(content.get(..lead).unwrap_or_default());
        if !inner.is_empty() {
            self.out.extend([*begin, inner, *end]);
        }
        self.out.push_str(content.get(tail..).unwrap_or_default());
    }

    /// Writes a mark that nothing ends.
    fn restore(&mut self, index: usize, start: usize) {
        if let Some((mark, ..)) = MARKS.get(index)
            && self.out.is_char_boundary(start)
        {
            let shown: String = mark.chars().flat_map(|c| ['\\', c]).collect();
            self.out.insert_str(start, &shown);
        }
    }

    fn span(&mut self, at: usize) -> Option<usize> {
        let end = self.spans.end(self.text, at);
        let rest = self.text.get(at..)?;
        let Some(span) = end.and_then(|end| self.text.get(at..end)) else {
            return html::tag(self.text, at, &mut self.spans, self.links, &mut self.out);
        };
        if rest.starts_with("<!--") {
            return end;
        }
        let shown = match span.as_bytes() {
            [b'`', ..] => {
                let ticks = span.bytes().take_while(|b| *b == b'`').count().min(2);
                let content = span.get(ticks..span.len().saturating_sub(ticks)).unwrap_or_default();
                code(content)
            }
            [b'[', b'[', ..] => self.link(span)?,
            [b'[', b'i', ..] => self.image(span)?,
            [b'[', ..] => {
                let content = span.get(5..span.len() - 2)?;
                let (label, url) = content.split_once('|').unwrap_or((content, content));
                self.external(label, url)
            }
            [b'{', b'{', b'{', ..] | [b'<', ..] => {
                if let Some((shown, end)) = html::widget_link(rest, self.links) {
                    self.push(&shown);
                    return Some(at + end);
                }
                self.links.has_macros = true;
                code(span)
            }
            _ => {
                let title = span.get(2..span.len() - 2)?;
                self.links.embed(title).unwrap_or_else(|| {
                    self.links.has_macros = true;
                    code(span)
                })
            }
        };
        self.push(&shown);
        end
    }

    fn push(&mut self, shown: &str) {
        // Two pieces of code side by side would be one.
        if shown.starts_with('`') && self.out.ends_with('`') {
            self.out.push(' ');
        }
        match self.place {
            Place::Cell => self.out.push_str(&shown.replace('|', "\\|")),
            _ => self.out.push_str(shown),
        }
    }

    /// `[[shown|target]]`: the label comes first.
    fn link(&mut self, span: &str) -> Option<String> {
        let content = span.get(2..span.len() - 2)?;
        if content.trim().is_empty() {
            return None;
        }
        let (label, target) = content.split_once('|').unwrap_or((content, content));
        if address(target) > 0 || target.starts_with("data:") || target.starts_with("file:") {
            return Some(self.external(label, target));
        }
        Some(self.links.link(target.trim(), label))
    }

    fn external(&mut self, label: &str, url: &str) -> String {
        let url = url.trim();
        if label.trim() == url && !url.contains(' ') && address(url) > 0 {
            return format!("<{url}>");
        }
        let mut shown = String::new();
        let mut before = None;
        for (at, c) in label.char_indices() {
            let rest = label.get(at + c.len_utf8()..).unwrap_or_default();
            escaped(&mut shown, before, c, rest);
            before = Some(c);
        }
        let url: String = url.replace(['\n', '\r'], " ").replace('<', "%3C").replace('>', "%3E");
        let is_plain = !url.contains([' ', '(', ')', '\\']) && !url.is_empty();
        if is_plain { format!("[{shown}]({url})") } else { format!("[{shown}](<{url}>)") }
    }

    /// `[img width=32 [alt|source]]`
    fn image(&mut self, span: &str) -> Option<String> {
        let (_, content) = span.get(4..span.len() - 2)?.split_once('[')?;
        let (alt, source) = content.split_once('|').unwrap_or(("", content));
        let source = source.trim();
        if source.starts_with("http:") || source.starts_with("https:") {
            return Some(format!("!{}", self.external(alt, source)).replacen("!<", "![](<", 1));
        }
        Some(self.links.image(source, alt.trim()))
    }

    fn hard_lines(&mut self, rest: &str, at: usize) -> usize {
        if !self.has_lines && self.spans.after(self.text, at + 3, "\"\"\"").is_none() {
            self.out.push_str("\"\"\"");
            return at + 3;
        }
        self.has_lines = !self.has_lines;
        at + if self.has_lines && rest.get(3..4) == Some("\n") { 4 } else { 3 }
    }

    fn line_end(&mut self, at: usize) -> usize {
        let rest = self.text.get(at + 1..).unwrap_or_default();
        let kept = self.out.trim_end_matches([' ', '\t']).len();
        let is_open = self.open.iter().any(|(_, start)| *start > kept);
        if !is_open {
            self.out.truncate(kept);
        }
        match self.place {
            _ if self.has_lines && rest.starts_with("\"\"\"") => self.out.push('\n'),
            Place::Paragraph if self.has_lines => self.out.push_str("\\\n"),
            Place::Paragraph => self.out.push('\n'),
            _ if self.has_lines => self.out.push_str("<br>"),
            _ => self.out.push(' '),
        }
        at + 1 + (rest.len() - rest.trim_start_matches([' ', '\t']).len())
    }

    /// `@@css: value; text@@`, `@@.class text@@` and `@@text@@`.
    fn style(&mut self, rest: &str, at: usize) -> usize {
        if let Some(end) = self.is_marked.take() {
            self.out.push_str(end);
            return at + 2;
        }
        if self.spans.after(self.text, at + 2, "@@").is_none() {
            self.out.push_str("@@");
            return at + 2;
        }
        let content = rest.get(2..).unwrap_or_default();
        let skipped = super::style_length(content);
        let mark = if skipped == 0 { "==" } else { "" };
        self.is_marked = Some(mark);
        self.out.push_str(mark);
        at + 2 + skipped
    }

    /// Two or three hyphens are a dash (`dash.js`); of more, the last three.
    fn dash(&mut self, rest: &str, at: usize) -> usize {
        let count = rest.bytes().take_while(|b| *b == b'-').count();
        for _ in 3..count {
            self.out.push_str("\\-");
        }
        self.out.push(if count == 2 { '–' } else { '—' });
        at + count
    }

    /// Addresses and `CamelCase`.
    fn word(&mut self, rest: &str, at: usize, first: char) -> Option<usize> {
        let suppressed = rest.strip_prefix('~');
        let word = suppressed.unwrap_or(rest);
        if self.before.is_some_and(char::is_alphanumeric) && suppressed.is_none()
            || !(first == '~' || first.is_alphabetic())
        {
            return None;
        }
        let length = address(word);
        if let Some(url) = word.get(..length).filter(|_| length > 0) {
            match suppressed {
                Some(_) => self.out.push_str(&brain_page::escape_inline(url)),
                None => self.push(&format!("<{url}>")),
            }
            return Some(at + length + usize::from(suppressed.is_some()));
        }
        let length = camel_case(word);
        let name = word.get(..length).filter(|_| length > 0)?;
        if suppressed.is_some() {
            self.out.push_str(name);
            return Some(at + 1 + length);
        }
        let is_link = self.links.has_wiki_words() && self.links.has_title(name);
        let link = is_link.then(|| self.links.link(name, name))?;
        self.push(&link);
        Some(at + length)
    }
}

/// Returns the length of the `CamelCase` word at the beginning, or 0 (`wikilink.js`).
fn camel_case(text: &str) -> usize {
    let mut states = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        states = match (states, c) {
            (0 | 1, c) if c.is_uppercase() => 1,
            (1 | 2, c) if c.is_lowercase() => 2,
            (2, c) if c.is_uppercase() => 3,
            (3, c) if c.is_alphanumeric() => 3,
            _ => break,
        };
        end = at + c.len_utf8();
    }
    if states == 3 { end } else { 0 }
}
