//! The text of a document, and positions in it. A client counts in UTF-8, UTF-16 or UTF-32.

use std::ops::Range;

use gen_lsp_types::{Position, Range as LspRange};
use serde::Deserialize;

/// The unit in which a client counts the characters of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    Utf8,
    /// What a client means that names no encoding.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// Returns the first encoding of the client's list that is known: the list begins with what the
    /// client likes best.
    pub(crate) fn choose<'a>(offered: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |name| match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        };
        offered.into_iter().find_map(known).unwrap_or_default()
    }

    /// Returns the name in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    fn length(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A text with the starts of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    /// The byte at which each line begins. Lines end with LF, CR LF or CR.
    lines: Vec<u32>,
    encoding: Encoding,
}

/// One change of a document.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    /// What is replaced; everything if absent.
    pub(crate) range: Option<LspRange>,
    /// The new text.
    pub(crate) text: String,
}

impl Text {
    pub(crate) fn new(text: String, encoding: Encoding) -> Self {
        let lines = line_starts(&text);
        Self { text, lines, encoding }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Applies a change. Of the changes of one notification, each one speaks of the text that the
    /// one before it left.
    pub(crate) fn apply(&mut self, change: Change) {
        match change.range {
            None => self.text = change.text,
            Some(range) => {
                let range = self.bytes(range);
                self.text.replace_range(range, &change.text);
            }
        }
        self.lines = line_starts(&self.text);
    }

    /// Returns the number of a line and its range without its end.
    pub(crate) fn line_at(&self, byte: usize) -> (usize, Range<usize>) {
        let line = self.lines.partition_point(|start| *start as usize <= byte).saturating_sub(1);
        (line, self.line(line))
    }

    /// Returns the byte range of a line without its end; the end of the text if there is none.
    pub(crate) fn line(&self, line: usize) -> Range<usize> {
        let start = |line: usize| self.lines.get(line).map(|start| *start as usize);
        let Some(from) = start(line) else { return self.text.len()..self.text.len() };
        let to = start(line + 1).unwrap_or(self.text.len());
        let content = &self.text[from..to];
        let content = content.strip_suffix('\n').unwrap_or(content);
        let content = content.strip_suffix('\r').unwrap_or(content);
        from..from + content.len()
    }

    /// Returns the byte of a position. A position behind the end of a line means that end; one
    /// inside of a character means its beginning.
    pub(crate) fn byte(&self, position: Position) -> usize {
        let line = self.line(position.line as usize);
        let mut left = position.character as usize;
        for (at, c) in self.text[line.clone()].char_indices() {
            let length = self.encoding.length(c);
            if left < length {
                return line.start + at;
            }
            left -= length;
        }
        line.end
    }

    /// Returns the byte range of a range; an empty one if it ends before it begins.
    pub(crate) fn bytes(&self, range: LspRange) -> Range<usize> {
        let start = self.byte(range.start);
        start..self.byte(range.end).max(start)
    }

    /// Returns the position of a byte.
    pub(crate) fn position(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte.min(self.text.len()));
        let (line, range) = self.line_at(byte);
        let before = &self.text[range.start..byte.min(range.end).max(range.start)];
        let character: usize = before.chars().map(|c| self.encoding.length(c)).sum();
        Position { line: line as u32, character: character as u32 }
    }

    /// Returns the range of a byte range.
    pub(crate) fn range(&self, bytes: Range<usize>) -> LspRange {
        LspRange { start: self.position(bytes.start), end: self.position(bytes.end) }
    }
}

fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut lines = vec![0];
    for (at, byte) in bytes.iter().enumerate() {
        let is_end = match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if is_end {
            lines.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(at: Option<[u32; 4]>, text: &str) -> Change {
        let range = at.map(|[line, character, end_line, end_character]| LspRange {
            start: Position { line, character },
            end: Position { line: end_line, character: end_character },
        });
        Change { range, text: text.to_owned() }
    }

    fn after(text: &str, encoding: Encoding, changes: Vec<Change>) -> String {
        let mut text = Text::new(text.to_owned(), encoding);
        changes.into_iter().for_each(|change| text.apply(change));
        text.text
    }

    #[test]
    fn changes_apply_one_after_the_other() {
        let two = || vec![change(Some([0, 0, 0, 0]), "zero\n"), change(Some([1, 0, 1, 3]), "ONE")];
        assert_eq!(after("one\ntwo\n", Encoding::Utf16, two()), "zero\nONE\ntwo\n");
        let backwards =
            vec![change(Some([1, 0, 1, 3]), "TWO"), change(Some([0, 0, 0, 3]), "ONE\nand")];
        assert_eq!(after("one\ntwo\n", Encoding::Utf16, backwards), "ONE\nand\nTWO\n");
        let whole = vec![
            change(Some([0, 0, 0, 1]), "x"),
            change(None, "new\r\ntext"),
            change(Some([1, 0, 1, 4]), "line"),
        ];
        assert_eq!(after("one", Encoding::Utf8, whole), "new\r\nline");
    }

    #[test]
    fn columns_count_in_the_encoding() {
        let insert = |encoding, character| {
            after("🦓 [[A", encoding, vec![change(Some([0, character, 0, character]), "b")])
        };
        assert_eq!(insert(Encoding::Utf32, 5), "🦓 [[Ab");
        assert_eq!(insert(Encoding::Utf16, 6), "🦓 [[Ab");
        assert_eq!(insert(Encoding::Utf8, 8), "🦓 [[Ab");
    }

    #[test]
    fn positions_outside_or_inside_a_character_are_moved() {
        let text = Text::new("a🦓\r\nb".to_owned(), Encoding::Utf16);
        let byte = |line, character| text.byte(Position { line, character });
        assert_eq!((byte(0, 2), byte(0, 3), byte(0, 99)), (1, 5, 5));
        assert_eq!((byte(1, 0), byte(1, 9), byte(7, 0)), (7, 8, 8));
    }

    #[test]
    fn the_first_known_encoding_is_chosen() {
        for (offered, chosen) in [
            (&["utf-32", "utf-16"][..], Encoding::Utf32),
            (&["utf-7", "utf-8", "utf-16"], Encoding::Utf8),
            (&[], Encoding::Utf16),
        ] {
            assert_eq!(Encoding::choose(offered.iter().copied()), chosen);
        }
    }

    proptest! {
        #[test]
        fn any_position_is_a_boundary_and_comes_back(
            text in "(a|🦓|é|\r\n|\n|\r| ){0,12}", line in 0..9_u32, character in 0..20_u32,
        ) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let text = Text::new(text.clone(), encoding);
                let byte = text.byte(Position { line, character });
                prop_assert!(text.text.is_char_boundary(byte));
                prop_assert_eq!(text.byte(text.position(byte)), byte);
            }
        }
    }
}
