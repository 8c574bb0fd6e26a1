//! Filters a streamed answer. No I/O.
//!
//! Removes citations of passages that do not exist. Separates lines that begin with `UNKNOWN:` from
//! the text: they name the part of the question that the passages do not answer.

use std::collections::BTreeSet;

/// Maximum length of a citation mark, in characters: `[1, 2, 3-5]`.
const MAX_MARK_CHARS: usize = 40;
/// Maximum number of passages in a range such as `3-5`.
const MAX_RANGE: u32 = 50;
/// The word that begins a separated line.
const UNKNOWN: &str = "UNKNOWN";

/// The end of a filtered answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerTail {
    /// The text that was undecided when the answer ended. It belongs to the answer.
    pub(super) text: String,
    /// Numbers of the cited passages, ascending.
    pub(super) cited: Vec<u32>,
    /// The part of the question that the passages do not answer.
    pub(super) unknown: Option<String>,
}

/// Filters an answer as it arrives.
#[derive(Debug)]
pub(super) struct AnswerFilter {
    /// Number of passages. Marks with higher numbers are invalid.
    passages: u32,
    cited: BTreeSet<u32>,
    unknown: String,
    state: Region,
    /// Whether some text of the answer was emitted.
    has_begun: bool,
    /// White space that may belong to a removed mark or line.
    pending_space: String,
    /// A mark or line start that is still undecided.
    undecided: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    /// At the start of a line, holding a possible `UNKNOWN:`.
    Line,
    /// Inside a line.
    Text,
    /// Inside a mark.
    Mark,
    /// Inside the `UNKNOWN:` line.
    Unknown,
    /// Inside a mark of the `UNKNOWN:` line.
    UnknownMark,
}

impl AnswerFilter {
    /// Creates a filter for an answer from `passages` passages.
    pub(super) fn new(passages: usize) -> Self {
        Self {
            passages: u32::try_from(passages).unwrap_or(u32::MAX),
            cited: BTreeSet::new(),
            unknown: String::new(),
            state: Region::Line,
            has_begun: false,
            pending_space: String::new(),
            undecided: String::new(),
        }
    }

    /// Takes the next piece and returns the decided part of the answer.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            self.take_char(c, &mut out);
        }
        out
    }

    /// Ends the answer and returns the rest of it.
    pub(super) fn end(mut self) -> AnswerTail {
        let mut text = String::new();
        self.emit_undecided(&mut text);
        let unknown = self.unknown.split_whitespace().collect::<Vec<_>>().join(" ");
        let unknown = unknown.trim_matches(['*', '_', ' ']);
        let lowercase = unknown.trim_end_matches(['.', '。']).to_lowercase();
        let is_empty = ["", "nothing", "none", "n/a", "-"].contains(&lowercase.as_str());
        let unknown = (!is_empty).then(|| unknown.to_owned());
        AnswerTail { text, cited: self.cited.into_iter().collect(), unknown }
    }

    fn take_char(&mut self, c: char, out: &mut String) {
        match self.state {
            Region::Line => self.take_at_line_start(c, out),
            Region::Text | Region::Unknown => self.take_in_line(c, out),
            Region::Mark | Region::UnknownMark => self.take_in_mark(c, out),
        }
    }

    /// Handles a character at the start of a line. Emphasis or list marks may precede `UNKNOWN:`.
    fn take_at_line_start(&mut self, c: char, out: &mut String) {
        let word = self.undecided.trim_start_matches([' ', '*', '_', '#', '-', '>']);
        match c {
            ' ' | '*' | '_' | '#' | '-' | '>' if word.is_empty() => self.undecided.push(c),
            '*' | '_' | ' ' if word == UNKNOWN => self.undecided.push(c),
            ':' | '：' if word.trim_end_matches(['*', '_', ' ']) == UNKNOWN => {
                self.undecided.clear();
                // White space before the line stays for the text after it.
                self.unknown.push(' ');
                self.state = Region::Unknown;
            }
            c if c.is_ascii_uppercase()
                && UNKNOWN.get(word.len()..).is_some_and(|left| left.starts_with(c))
                && UNKNOWN.starts_with(word) =>
            {
                self.undecided.push(c);
            }
            c => {
                self.state = Region::Text;
                let undecided = std::mem::take(&mut self.undecided);
                if !undecided.is_empty() {
                    self.emit(&undecided, out);
                }
                self.take_in_line(c, out);
            }
        }
    }

    fn take_in_line(&mut self, c: char, out: &mut String) {
        match c {
            '[' | '【' => {
                self.undecided.push(c);
                self.state =
                    if self.state == Region::Unknown { Region::UnknownMark } else { Region::Mark };
            }
            '\n' => {
                if self.state == Region::Text {
                    self.pending_space.push(c);
                }
                self.state = Region::Line;
            }
            c if c.is_whitespace() && self.state == Region::Unknown => self.unknown.push(c),
            c if c.is_whitespace() => self.pending_space.push(c),
            c => self.emit(c.encode_utf8(&mut [0; 4]), out),
        }
    }

    fn take_in_mark(&mut self, c: char, out: &mut String) {
        self.undecided.push(c);
        let outer_state =
            if self.state == Region::UnknownMark { Region::Unknown } else { Region::Text };
        if matches!(c, ']' | '】') {
            self.state = outer_state;
            let undecided = std::mem::take(&mut self.undecided);
            match numbers(&undecided) {
                None => self.emit(&undecided, out),
                Some(numbers) => {
                    let valid: Vec<u32> = numbers
                        .into_iter()
                        .filter(|number| (1..=self.passages).contains(number))
                        .collect();
                    let marks: String = valid.iter().map(|number| format!("[{number}]")).collect();
                    self.cited.extend(valid);
                    if marks.is_empty() {
                        // Spaces go with an invalid mark; line ends do not.
                        let space = if outer_state == Region::Unknown {
                            &mut self.unknown
                        } else {
                            &mut self.pending_space
                        };
                        space.truncate(space.trim_end_matches(' ').len());
                    } else {
                        self.emit(&marks, out);
                    }
                }
            }
        } else if !(c.is_ascii_digit() || matches!(c, ' ' | ',' | ';' | '-' | '–' | '^'))
            || self.undecided.chars().count() > MAX_MARK_CHARS
        {
            let mut undecided = std::mem::take(&mut self.undecided);
            undecided.pop();
            self.emit(&undecided, out);
            self.state = outer_state;
            self.take_char(c, out);
        }
    }

    /// Emits text after its pending white space.
    fn emit(&mut self, text: &str, out: &mut String) {
        if matches!(self.state, Region::Unknown | Region::UnknownMark) {
            self.unknown.push_str(text);
            return;
        }
        let space = std::mem::take(&mut self.pending_space);
        // An answer does not start with white space.
        if self.has_begun {
            out.push_str(&space);
        }
        self.has_begun = true;
        out.push_str(text);
    }

    fn emit_undecided(&mut self, out: &mut String) {
        let undecided = std::mem::take(&mut self.undecided);
        // A mark that the answer's end cuts is dropped.
        if !undecided.is_empty() && self.state == Region::Line {
            self.emit(&undecided, out);
        }
    }
}

/// Parses the numbers of a mark. Returns `None` if the text is not a mark.
fn numbers(mark: &str) -> Option<Vec<u32>> {
    let inside = mark.trim_matches(['[', ']', '【', '】']);
    let mut found = Vec::new();
    for part in inside.split([',', ';']) {
        let part = part.trim().trim_start_matches('^');
        let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // Of a range that is too long or descends, only the ends count.
        if first <= last && last - first < MAX_RANGE {
            found.extend(first..=last);
        } else {
            found.extend([first, last]);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(pieces: &[&str], passages: usize) -> (String, Vec<u32>, Option<String>) {
        let mut filter = AnswerFilter::new(passages);
        let mut text: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        let tail = filter.end();
        text.push_str(&tail.text);
        (text, tail.cited, tail.unknown)
    }

    #[test]
    fn answer_is_the_same_for_any_split() {
        for (answer, text, cited, unknown) in [
            (
                "Ada did [1]. Bob [2][1], too [9].",
                "Ada did [1]. Bob [2][1], too.",
                vec![1, 2],
                None,
            ),
            (
                "All [1, 3] and [2-3] and [^1].",
                "All [1][3] and [2][3] and [1].",
                vec![1, 2, 3],
                None,
            ),
            ("Asia【2】 says [0] [4294967297] x", "Asia[2] says [4294967297] x", vec![2], None),
            (
                "See [the docs](x) and a[i] and [x",
                "See [the docs](x) and a[i] and [x",
                vec![],
                None,
            ),
            (
                "Yes [1].\n\nUNKNOWN: when he came [7] back.",
                "Yes [1].",
                vec![1],
                Some("when he came back."),
            ),
            ("Yes.\n**UNKNOWN:** nothing.", "Yes.", vec![], None),
            ("UNKNOWN: none\nBut then [1].", "But then [1].", vec![1], None),
            ("UNKNOWN: who\nUNKNOWN: where [1]", "", vec![1], Some("who where [1]")),
            (
                "- a [1]\n- UNICORNS\n\n  UNKNOWN\n",
                "- a [1]\n- UNICORNS\n\n  UNKNOWN",
                vec![1],
                None,
            ),
            ("Half a mark [1", "Half a mark", vec![], None),
            ("UNKN", "UNKN", vec![], None),
            ("A.\n\nUNKNOWN: x\nB [9].", "A.\n\nB.", vec![], Some("x")),
            ("[9] Hello", "Hello", vec![], None),
            ("1. a\n  - b  c", "1. a\n  - b  c", vec![], None),
            ("", "", vec![], None),
        ] {
            let expected = (text.to_owned(), cited, unknown.map(str::to_owned));
            assert_eq!(filtered(&[answer], 3), expected, "{answer}");
            let single: Vec<String> = answer.chars().map(String::from).collect();
            assert_eq!(
                filtered(&single.iter().map(String::as_str).collect::<Vec<_>>(), 3),
                expected,
                "{answer}"
            );
        }
    }

    #[test]
    fn too_long_mark_is_emitted() {
        let long = format!("[{} x", "1,".repeat(100));
        let (text, cited, _) = filtered(&[&long], 3);
        assert_eq!((text, cited), (long, vec![]));
    }
}
