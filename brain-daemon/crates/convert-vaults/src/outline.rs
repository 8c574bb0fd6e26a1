//! Finds the marks in the text of an outliner: `[[page]]`, `#[[tag]]`, `((block))`, `{{macro}}` and
//! `[label](target)`, outside of code.
//!
//! Time is linear in the length of the text: the ends of all marks are found in one pass.

use std::collections::{HashMap, HashSet};

/// A mark in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark<'a> {
    /// `[[name]]`; the name can contain other marks.
    Page(&'a str),
    /// `#[[name]]`.
    Tag(&'a str),
    /// `((id))`.
    Block(&'a str),
    /// `{{text}}`.
    Macro(&'a str),
    /// `[label](target)`, with `!` before it if it is embedded.
    Link { label: &'a str, target: &'a str, is_embed: bool },
}

/// Returns the text with each mark replaced by what `new` returns; `None` keeps it.
pub(crate) fn replace(text: &str, new: &mut dyn FnMut(Mark<'_>) -> Option<String>) -> String {
    if !text.contains(['[', '(', '{']) {
        return text.to_owned();
    }
    let mut scanner = Scanner::of(text);
    let mut out = String::with_capacity(text.len() + 32);
    let (mut at, mut copied) = (0, 0);
    while at < text.len() {
        let end = match scanner.code(at) {
            Some(end) => {
                at = end;
                continue;
            }
            None => scanner.mark(at),
        };
        let Some((mark, end)) = end else {
            // A backslash hides the next sign.
            at += if text.as_bytes().get(at) == Some(&b'\\') { 2 } else { 1 };
            while at < text.len() && !text.is_char_boundary(at) {
                at += 1;
            }
            continue;
        };
        if let Some(new) = new(mark) {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(&new);
            copied = end;
        }
        at = end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// The ends of all marks of a text.
struct Scanner<'a> {
    text: &'a str,
    /// The positions behind the closing signs, by the position of the opening ones.
    pages: HashMap<usize, usize>,
    brackets: HashMap<usize, usize>,
    braces: HashMap<usize, usize>,
    parentheses: HashMap<usize, usize>,
    /// Positions and lengths of runs of backticks.
    runs: Vec<(usize, usize)>,
    /// Lengths of runs that no later run closes.
    unclosed: HashSet<usize>,
}

impl<'a> Scanner<'a> {
    fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut runs = Vec::new();
        let mut at = 0;
        while let Some(found) = text.get(at..).and_then(|rest| rest.find('`')) {
            let start = at + found;
            let length = bytes.iter().skip(start).take_while(|byte| **byte == b'`').count();
            runs.push((start, length));
            at = start + length;
        }
        Self {
            text,
            pages: pairs(bytes, b"[[", b"]]"),
            brackets: pairs(bytes, b"[", b"]"),
            braces: pairs(bytes, b"{", b"}"),
            parentheses: pairs(bytes, b"(", b")"),
            runs,
            unclosed: HashSet::new(),
        }
    }

    /// Returns the end of the code that begins here.
    fn code(&mut self, at: usize) -> Option<usize> {
        let number = self.runs.binary_search_by_key(&at, |run| run.0).ok()?;
        let (_, length) = *self.runs.get(number)?;
        if !self.unclosed.contains(&length) {
            let later = self.runs.get(number + 1..).unwrap_or_default();
            if let Some((start, _)) = later.iter().find(|run| run.1 == length) {
                return Some(start + length);
            }
            self.unclosed.insert(length);
        }
        Some(at + length)
    }

    /// Returns the mark that begins here, and its end.
    fn mark(&self, at: usize) -> Option<(Mark<'a>, usize)> {
        let rest = self.text.get(at..)?;
        let inner = |start: usize, end: usize| self.text.get(start..end).unwrap_or_default();
        if rest.starts_with("#[[") {
            let end = *self.pages.get(&(at + 1))?;
            return Some((Mark::Tag(inner(at + 3, end - 2)), end));
        }
        if rest.starts_with("[[")
            && let Some(end) = self.pages.get(&at)
        {
            return Some((Mark::Page(inner(at + 2, end - 2)), *end));
        }
        // The end of two pairs that enclose the same.
        let double = |pairs: &HashMap<usize, usize>| {
            let end = *pairs.get(&at)?;
            (pairs.get(&(at + 1)) == Some(&(end - 1))).then_some(end)
        };
        if rest.starts_with("((") && !rest.starts_with("(((") {
            let end = double(&self.parentheses)?;
            return Some((Mark::Block(inner(at + 2, end - 2)), end));
        }
        if rest.starts_with("{{") {
            let end = double(&self.braces)?;
            return Some((Mark::Macro(inner(at + 2, end - 2)), end));
        }
        let is_embed = rest.starts_with("![");
        let start = at + usize::from(is_embed);
        let label_end = *self.brackets.get(&start)?;
        let end = *self.parentheses.get(&label_end)?;
        let label = inner(start + 1, label_end - 1);
        let target = inner(label_end + 1, end - 1);
        let is_line = !label.contains('\n') && !target.contains('\n');
        is_line.then_some((Mark::Link { label, target, is_embed }, end))
    }
}

/// Returns the ends of pairs of signs, by their starts. Pairs can contain pairs.
fn pairs(bytes: &[u8], open: &[u8], close: &[u8]) -> HashMap<usize, usize> {
    let mut found = HashMap::new();
    let mut starts = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(open) {
            starts.push(at);
            at += open.len();
        } else if rest.starts_with(close) {
            at += close.len();
            if let Some(start) = starts.pop() {
                found.insert(start, at);
            }
        } else {
            at += 1;
        }
    }
    found
}

/// Returns the text with `change` applied to everything but code.
pub(crate) fn map_text(text: &str, change: &dyn Fn(&str) -> String) -> String {
    let mut scanner = Scanner::of(text);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, _) in scanner.runs.clone() {
        if start >= copied
            && let Some(end) = scanner.code(start)
        {
            out.push_str(&change(text.get(copied..start).unwrap_or_default()));
            out.push_str(text.get(start..end).unwrap_or_default());
            copied = end;
        }
    }
    out.push_str(&change(text.get(copied..).unwrap_or_default()));
    out
}

/// Returns whether a name can be a tag in a text: `#name`.
pub(crate) fn is_tag(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/'))
        && name.chars().any(char::is_alphabetic)
        && !name.starts_with('/')
}

/// Returns a text for a link that leads to it: one line without marks, cut after some words.
pub(crate) fn label_of(text: &str) -> String {
    const MAX: usize = 80;
    let text = replace(text, &mut |mark| {
        Some(match mark {
            Mark::Page(name) | Mark::Tag(name) => name.to_owned(),
            Mark::Block(_) | Mark::Macro(_) => String::new(),
            Mark::Link { label, .. } => label.to_owned(),
        })
    });
    let text: String = brain_page::single_line(&text).replace(['[', ']', '|', '`', '*', '#'], "");
    let line = text.trim();
    if line.chars().count() <= MAX {
        return line.to_owned();
    }
    let cut: String = line.chars().take(MAX).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{cut} …")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        replace(text, &mut |mark| match mark {
            Mark::Page("keep") => None,
            mark => Some(format!("<{mark:?}>").replace('"', "'")),
        })
    }

    #[test]
    fn marks_are_found_and_can_nest() {
        for (text, expected) in [
            ("a [[b c]] d", "a <Page('b c')> d"),
            ("[[a [[b]] c]]", "<Page('a [[b]] c')>"),
            ("#[[x y]] #z", "<Tag('x y')> #z"),
            ("see ((abc-1))", "see <Block('abc-1')>"),
            ("{{query: {and: [[a]]}}}", "<Macro('query: {and: [[a]]}')>"),
            ("[l]([[p]])", "<Link { label: 'l', target: '[[p]]', is_embed: false }>"),
            ("![](a b.png)", "<Link { label: '', target: 'a b.png', is_embed: true }>"),
            ("[->](((b)))", "<Link { label: '->', target: '((b))', is_embed: false }>"),
            ("ä[[ü]]é", "ä<Page('ü')>é"),
            ("(see ((b))) (((c)))", "(see <Block('b')>) (<Block('c')>)"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn code_escapes_and_open_marks_stay() {
        for text in [
            "`[[a]]` ``` ((b)) ```",
            "\\[[keep]]",
            "[[open",
            "[x] (y) [ ] z",
            "{{open} ((a)",
            "[[keep]] `",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn many_open_marks_take_linear_time() {
        let text = "[[((".repeat(100_000) + &"[".repeat(100_000) + &"` `` ``` ".repeat(1000);
        assert_eq!(shown(&text), text);
    }

    #[test]
    fn a_label_is_one_short_line() {
        assert_eq!(label_of("**Oil** the [[hinge]] ((x)) [a](b)\nnow"), "Oil the hinge a now");
        assert!(label_of(&"word ".repeat(100)).ends_with("word …"));
    }
}
