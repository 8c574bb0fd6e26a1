//! Converts the text of a paragraph of a wiki: marks in pairs, such as `**bold**`, and links.
//!
//! Zim, DokuWiki and RedNotebook share this form. A [`Dialect`] has what differs.

use crate::markdown::{Finder, Inline, address_length, code, marked};

/// Maximum nesting of marks. Deeper ones are text.
pub(crate) const MAX_DEPTH: usize = 6;

/// How many more marks are looked at behind the mark that ends a text.
const MAX_MORE: usize = 2;

/// A pair of marks.
pub(crate) struct Mark {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    pub(crate) shown: Shown,
}

/// What a pair of marks becomes.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    /// The text between marks of markdown.
    Between(&'static str, &'static str),
    /// Code.
    Code,
    /// The text itself, in which marks mean nothing.
    Literal,
}

/// The rules of a wiki.
pub(crate) trait Dialect {
    /// The marks, the longer ones first.
    const MARKS: &'static [Mark];

    /// Returns whether marks can be around this text.
    fn is_content(mark: &Mark, content: &str) -> bool;

    /// Converts a link, a picture or another piece at the beginning of `piece.rest`. Returns the
    /// markdown and the length of its source.
    fn piece(&mut self, piece: &Piece<'_>, finder: &mut Finder) -> Option<(String, usize)>;
}

/// A place in a text.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    pub(crate) rest: &'t str,
    /// The character before it.
    pub(crate) before: Option<char>,
    pub(crate) depth: usize,
}

impl<'t> Piece<'t> {
    /// Returns the text between `open`, with which the rest begins, and the next `close`, and the
    /// length of all.
    pub(crate) fn between(
        &self,
        open: &str,
        close: &'static str,
        finder: &mut Finder,
    ) -> Option<(&'t str, usize)> {
        self.rest.starts_with(open).then_some(())?;
        let start = self.at + open.len();
        let end = finder.find(self.text, start, close)?;
        Some((self.text.get(start..end)?, end + close.len() - self.at))
    }
}

/// Returns a text as markdown. Line ends stay.
pub(crate) fn inline<D: Dialect>(text: &str, dialect: &mut D, depth: usize) -> String {
    let mut out = Inline::default();
    let mut finder = Finder::default();
    let mut at = 0;
    let mut before = None;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let piece = Piece { text, at, rest: text.get(at..).unwrap_or_default(), before, depth };
        let length = match converted(&piece, dialect, &mut finder) {
            Some((markdown, length)) => {
                out.markdown(&markdown);
                length
            }
            None => {
                out.char(c);
                c.len_utf8()
            }
        };
        before = text.get(at..at + length).and_then(|piece| piece.chars().next_back());
        at += length.max(1);
    }
    out.finish()
}

/// Converts what begins at a place. Returns `None` for plain text.
fn converted<D: Dialect>(
    piece: &Piece<'_>,
    dialect: &mut D,
    finder: &mut Finder,
) -> Option<(String, usize)> {
    let is_word = piece.before.is_some_and(char::is_alphanumeric);
    if !is_word && let Some(length) = address_length(piece.rest) {
        return Some((format!("<{}>", piece.rest.get(..length)?), length));
    }
    if let Some(found) = dialect.piece(piece, finder) {
        return Some(found);
    }
    for mark in D::MARKS {
        let Some((content, length)) = piece.between(mark.open, mark.close, finder) else {
            continue;
        };
        // The last of several marks ends: `**bold***`.
        let extra = piece.rest.get(length..)?;
        let first = mark.close.chars().next()?;
        let more: usize = match mark.open == mark.close {
            true => {
                let marks = extra.chars().take(MAX_MORE).take_while(|c| *c == first);
                marks.map(char::len_utf8).sum()
            }
            false => 0,
        };
        let content = match more {
            0 => content,
            more => piece.rest.get(mark.open.len()..mark.open.len() + content.len() + more)?,
        };
        if content.is_empty() || !D::is_content(mark, content) {
            continue;
        }
        let shown = match mark.shown {
            Shown::Code => code(content),
            Shown::Literal => {
                let mut literal = Inline::default();
                literal.text(content);
                literal.finish()
            }
            Shown::Between(..) if piece.depth == MAX_DEPTH => return None,
            Shown::Between(open, close) => {
                marked(open, &inline(content, dialect, piece.depth + 1), close)
            }
        };
        return Some((shown, length + more));
    }
    None
}
