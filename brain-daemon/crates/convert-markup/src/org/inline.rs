//! Converts the text of a paragraph of Org to markdown.

use crate::markdown::{Finder, Inline, address_length, code, marked};

use super::entities::entity;
use super::scope::Scope;

/// Maximum nesting of emphasis. Deeper marks are text.
const MAX_DEPTH: usize = 6;
/// Maximum length of a footnote within a text, in characters.
const MAX_FOOTNOTE: usize = 2000;
/// The marks of emphasis, and those of markdown.
const MARKS: [(char, &str, &str); 4] =
    [('*', "**", "**"), ('/', "*", "*"), ('_', "<u>", "</u>"), ('+', "~~", "~~")];

/// Returns the text as markdown. Line ends stay.
pub(super) fn inline(text: &str, scope: &mut Scope<'_>) -> String {
    nested(text, 0, scope)
}

fn nested(text: &str, depth: usize, scope: &mut Scope<'_>) -> String {
    let mut reader = Reader {
        text,
        depth,
        finder: Finder::default(),
        without_end: Vec::new(),
        out: Inline::default(),
    };
    reader.read(scope);
    reader.out.finish()
}

struct Reader<'t> {
    text: &'t str,
    depth: usize,
    finder: Finder,
    /// The marks that do not end any more.
    without_end: Vec<char>,
    out: Inline,
}

impl<'t> Reader<'t> {
    fn read(&mut self, scope: &mut Scope<'_>) {
        let mut at = 0;
        let mut before = None;
        while let Some(c) = self.text.get(at..).and_then(|rest| rest.chars().next()) {
            let length = match self.piece(at, c, before, scope) {
                Some(length) => length,
                None => {
                    self.out.char(c);
                    c.len_utf8()
                }
            };
            let piece = self.text.get(at..at + length).unwrap_or_default();
            before = piece.chars().next_back();
            at += length.max(1);
        }
    }

    /// Converts what begins here. Returns the length of its source, or `None` for plain text.
    fn piece(
        &mut self,
        at: usize,
        c: char,
        before: Option<char>,
        scope: &mut Scope<'_>,
    ) -> Option<usize> {
        let rest = self.text.get(at..)?;
        match c {
            '[' => self.bracket(at, rest, scope),
            '=' | '~' => {
                let end = self.emphasis_end(at, c, before)?;
                self.out.markdown(&code(self.text.get(at + 1..end)?));
                Some(end + 1 - at)
            }
            '*' | '/' | '+' => self.emphasis(at, c, before, scope),
            '_' => {
                self.emphasis(at, c, before, scope).or_else(|| self.raised(at, rest, before, scope))
            }
            '^' => self.raised(at, rest, before, scope),
            '<' => {
                let inner = rest.get(1..)?;
                let length = address_length(inner.split('>').next()?)?;
                inner.get(length..)?.starts_with('>').then_some(())?;
                self.out.markdown(&format!("<{}>", inner.get(..length)?));
                Some(length + 2)
            }
            '\\' => self.backslash(at, rest),
            '$' => self.formula(at, rest),
            'h' | 'f' | 'm' if !before.is_some_and(char::is_alphanumeric) => {
                let length = address_length(rest).filter(|_| !rest.starts_with("file:"))?;
                self.out.markdown(&format!("<{}>", rest.get(..length)?));
                Some(length)
            }
            _ => None,
        }
    }

    /// Links and footnotes.
    fn bracket(&mut self, at: usize, rest: &str, scope: &mut Scope<'_>) -> Option<usize> {
        if rest.starts_with("[[") {
            let end = self.finder.find(self.text, at + 2, "]]")?;
            let content = self.text.get(at + 2..end)?;
            // A label can end with a bracket: `[[x][a [b]]]`.
            let extra = usize::from(
                content.matches('[').count() > content.matches(']').count()
                    && self.text.get(end + 2..)?.starts_with(']'),
            );
            let content = self.text.get(at + 2..end + extra)?;
            let (target, label) = match content.split_once("][") {
                Some((target, label)) => (target, Some(label)),
                None => (content, None),
            };
            if target.trim().is_empty() || target.contains('\n') && label.is_none() {
                return None;
            }
            let label = label.map(|label| match self.depth < MAX_DEPTH {
                true => {
                    let is_web = ["http", "mailto:"].iter().any(|it| target.starts_with(it));
                    // The label of a link to a page is plain text.
                    let depth = if is_web { self.depth + 1 } else { MAX_DEPTH };
                    nested(label, depth, scope)
                }
                false => brain_convert_base::literal_part(label),
            });
            let shown = scope.link(&target.replace('\n', " "), label.as_deref());
            self.out.markdown(&shown);
            return Some(end + extra + 2 - at);
        }
        let inner = rest.strip_prefix("[fn:")?;
        let end = footnote_end(rest)?;
        let content = inner.get(..end - 4)?;
        let (label, text) = match content.split_once(':') {
            Some((label, text)) => (label, Some(text)),
            None => (content, None),
        };
        if label.contains(|c: char| !(c.is_alphanumeric() || "-_".contains(c))) {
            return None;
        }
        let mark = match text {
            Some(text) if self.depth < MAX_DEPTH => {
                let text = nested(text, self.depth + 1, scope);
                scope.footnote(label, Some(text))
            }
            Some(_) => return None,
            None => scope.footnote(label, None),
        };
        self.out.markdown(&mark);
        Some(end + 1)
    }

    fn emphasis(
        &mut self,
        at: usize,
        mark: char,
        before: Option<char>,
        scope: &mut Scope<'_>,
    ) -> Option<usize> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        let end = self.emphasis_end(at, mark, before)?;
        let (_, open, close) = MARKS.iter().find(|(known, ..)| *known == mark)?;
        let inner = nested(self.text.get(at + 1..end)?, self.depth + 1, scope);
        self.out.markdown(&marked(open, &inner, close));
        Some(end + 1 - at)
    }

    /// Returns where an emphasis that begins at `at` ends (rules of `org-emph-re`).
    fn emphasis_end(&mut self, at: usize, mark: char, before: Option<char>) -> Option<usize> {
        let begins = before.is_none_or(|c| c.is_whitespace() || "-('\"{".contains(c));
        let start = at + 1;
        let next = self.text.get(start..)?.chars().next()?;
        if !begins || next.is_whitespace() || self.without_end.contains(&mark) {
            return None;
        }
        let mut from = start + next.len_utf8();
        while let Some(found) = self.text.get(from..).and_then(|rest| rest.find(mark)) {
            let end = from + found;
            let last = self.text.get(..end)?.chars().next_back()?;
            let after = self.text.get(end + 1..)?.chars().next();
            let ends = after.is_none_or(|c| c.is_whitespace() || "-.,:!?;'\")}[\\".contains(c));
            if ends && !last.is_whitespace() {
                return Some(end);
            }
            from = end + 1;
        }
        self.without_end.push(mark);
        None
    }

    /// `x_{1}` and `x^{2}`. Without braces, `a_b` is a name.
    fn raised(
        &mut self,
        at: usize,
        rest: &str,
        before: Option<char>,
        scope: &mut Scope<'_>,
    ) -> Option<usize> {
        before.filter(|c| !c.is_whitespace())?;
        let name = if rest.starts_with("_{") { "sub" } else { "sup" };
        rest.get(1..)?.strip_prefix('{')?;
        let end = self.finder.find(self.text, at + 2, "}")?;
        let content = self.text.get(at + 2..end)?;
        if content.contains(['{', '\n']) || self.depth == MAX_DEPTH {
            return None;
        }
        let inner = nested(content, self.depth + 1, scope);
        self.out.markdown(&marked(&format!("<{name}>"), &inner, &format!("</{name}>")));
        Some(end + 1 - at)
    }

    /// Line breaks, formulas and entities.
    fn backslash(&mut self, at: usize, rest: &str) -> Option<usize> {
        if let Some(after) = rest.strip_prefix("\\\\") {
            let line = after.split('\n').next().unwrap_or_default();
            if line.trim().is_empty() {
                self.out.markdown(if after.len() > line.len() { "\\" } else { "" });
                return Some(2 + line.len());
            }
            return None;
        }
        for (open, close, mark) in [("\\(", "\\)", "$"), ("\\[", "\\]", "$$")] {
            if rest.starts_with(open) {
                let end = self.finder.find(self.text, at + open.len(), close)?;
                let formula = self.text.get(at + open.len()..end)?.trim();
                self.out.markdown(&format!("{mark}{formula}{mark}"));
                return Some(end + close.len() - at);
            }
        }
        let name: &str = rest.get(1..)?;
        let name = name.get(..name.bytes().take_while(u8::is_ascii_alphanumeric).count())?;
        let text = entity(name)?;
        self.out.text(text);
        let braces = rest.get(1 + name.len()..)?.starts_with("{}");
        Some(1 + name.len() + if braces { 2 } else { 0 })
    }

    /// `$x$` and `$$x$$` stay as they are.
    fn formula(&mut self, at: usize, rest: &str) -> Option<usize> {
        if rest.starts_with("$$") {
            let end = self.finder.find(self.text, at + 2, "$$")? + 2;
            self.out.markdown(self.text.get(at..end)?);
            return Some(end - at);
        }
        let inner = rest.get(1..)?;
        let line = inner.split('\n').next()?;
        let near = line.char_indices().nth(200).map_or(line.len(), |(at, _)| at);
        let end = line.get(..near)?.find('$')?;
        let content = line.get(..end)?;
        let after = inner.get(end + 1..)?.chars().next();
        let is_formula = !content.is_empty()
            && !content.starts_with([' ', '.', ',', ';', '$'])
            && !content.ends_with([' ', '.', ',', '$'])
            && after.is_none_or(|c| c.is_whitespace() || c.is_ascii_punctuation());
        is_formula.then(|| self.out.markdown(&format!("${content}$")))?;
        Some(end + 2)
    }
}

/// Returns where a footnote ends. Brackets in it are in pairs.
fn footnote_end(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices().take(MAX_FOOTNOTE) {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}
