//! Filters a streamed answer. No I/O.
//!
//! Valid citation marks stay, invalid ones are removed, and the line on what is unknown is
//! separated.

use std::collections::BTreeSet;

/// Maximum length of a mark, in characters: `[1, 2, 3-5]`.
const MARK: usize = 40;
/// The word that begins the line on what is unknown.
const UNKNOWN: &str = "UNKNOWN";

/// The end of a filtered answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    /// Text that was held back.
    pub(super) text: String,
    /// Numbers of the cited passages, ascending.
    pub(super) used: Vec<u32>,
    /// What is unknown, if anything.
    pub(super) unknown: Option<String>,
}

/// Filters an answer as it arrives.
#[derive(Debug)]
pub(super) struct Sieve {
    passages: u32,
    used: BTreeSet<u32>,
    unknown: String,
    state: State,
    /// Whether some of the answer was emitted.
    has_begun: bool,
    /// White space that may belong to a removed mark or line.
    space: String,
    /// A mark or line start that is still undecided.
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a line, holding a possible `UNKNOWN:`.
    Line,
    /// Inside a line.
    Text,
    /// Inside a mark.
    Mark,
    /// Inside the line on what is unknown.
    Unknown,
    /// Inside a mark of that line.
    UnknownMark,
}

impl Sieve {
    /// Creates a filter for an answer from this many passages.
    pub(super) fn new(passages: usize) -> Self {
        Self {
            passages: u32::try_from(passages).unwrap_or(u32::MAX),
            used: BTreeSet::new(),
            unknown: String::new(),
            state: State::Line,
            has_begun: false,
            space: String::new(),
            held: String::new(),
        }
    }

    /// Takes the next piece and returns the decided part of the answer.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            self.take(c, &mut out);
        }
        out
    }

    /// Ends the answer.
    pub(super) fn end(mut self) -> Rest {
        let mut text = String::new();
        self.give_held(&mut text);
        let unknown = self.unknown.split_whitespace().collect::<Vec<_>>().join(" ");
        let unknown = unknown.trim_matches(['*', '_', ' ']);
        let bare = unknown.trim_end_matches(['.', '。']).to_lowercase();
        let is_known = ["", "nothing", "none", "n/a", "-"].contains(&bare.as_str());
        let unknown = (!is_known).then(|| unknown.to_owned());
        Rest { text, used: self.used.into_iter().collect(), unknown }
    }

    fn take(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Line => self.take_first(c, out),
            State::Text | State::Unknown => self.take_plain(c, out),
            State::Mark | State::UnknownMark => self.take_mark(c, out),
        }
    }

    /// Handles the start of a line, where emphasis or list marks may precede the word.
    fn take_first(&mut self, c: char, out: &mut String) {
        let word = self.held.trim_start_matches([' ', '*', '_', '#', '-', '>']);
        match c {
            ' ' | '*' | '_' | '#' | '-' | '>' if word.is_empty() => self.held.push(c),
            '*' | '_' | ' ' if word == UNKNOWN => self.held.push(c),
            ':' | '：' if word.trim_end_matches(['*', '_', ' ']) == UNKNOWN => {
                self.held.clear();
                // White space before the line stays for the text after it.
                self.unknown.push(' ');
                self.state = State::Unknown;
            }
            c if c.is_ascii_uppercase()
                && UNKNOWN.get(word.len()..).is_some_and(|left| left.starts_with(c))
                && UNKNOWN.starts_with(word) =>
            {
                self.held.push(c);
            }
            c => {
                self.state = State::Text;
                let held = std::mem::take(&mut self.held);
                if !held.is_empty() {
                    self.emit(&held, out);
                }
                self.take_plain(c, out);
            }
        }
    }

    fn take_plain(&mut self, c: char, out: &mut String) {
        match c {
            '[' | '【' => {
                self.held.push(c);
                self.state =
                    if self.state == State::Unknown { State::UnknownMark } else { State::Mark };
            }
            '\n' => {
                if self.state == State::Text {
                    self.space.push(c);
                }
                self.state = State::Line;
            }
            c if c.is_whitespace() && self.state == State::Unknown => self.unknown.push(c),
            c if c.is_whitespace() => self.space.push(c),
            c => self.emit(c.encode_utf8(&mut [0; 4]), out),
        }
    }

    fn take_mark(&mut self, c: char, out: &mut String) {
        self.held.push(c);
        let back = if self.state == State::UnknownMark { State::Unknown } else { State::Text };
        if matches!(c, ']' | '】') {
            self.state = back;
            let held = std::mem::take(&mut self.held);
            match numbers(&held) {
                None => self.emit(&held, out),
                Some(numbers) => {
                    let known: Vec<u32> = numbers
                        .into_iter()
                        .filter(|number| (1..=self.passages).contains(number))
                        .collect();
                    let marks: String = known.iter().map(|number| format!("[{number}]")).collect();
                    self.used.extend(known);
                    if marks.is_empty() {
                        // Spaces go with an invalid mark; line ends do not.
                        let space = if back == State::Unknown {
                            &mut self.unknown
                        } else {
                            &mut self.space
                        };
                        space.truncate(space.trim_end_matches(' ').len());
                    } else {
                        self.emit(&marks, out);
                    }
                }
            }
        } else if !(c.is_ascii_digit() || matches!(c, ' ' | ',' | ';' | '-' | '–' | '^'))
            || self.held.chars().count() > MARK
        {
            let mut held = std::mem::take(&mut self.held);
            held.pop();
            self.emit(&held, out);
            self.state = back;
            self.take(c, out);
        }
    }

    /// Emits text after its pending white space.
    fn emit(&mut self, text: &str, out: &mut String) {
        if matches!(self.state, State::Unknown | State::UnknownMark) {
            self.unknown.push_str(text);
            return;
        }
        let space = std::mem::take(&mut self.space);
        // An answer does not start with white space.
        if self.has_begun {
            out.push_str(&space);
        }
        self.has_begun = true;
        out.push_str(text);
    }

    fn give_held(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        // An incomplete mark is dropped.
        if !held.is_empty() && self.state == State::Line {
            self.emit(&held, out);
        }
    }
}

/// Parses the numbers of a mark; `None` if it is not a mark.
fn numbers(mark: &str) -> Option<Vec<u32>> {
    let inside = mark.trim_matches(['[', ']', '【', '】']);
    let mut found = Vec::new();
    for part in inside.split([',', ';']) {
        let part = part.trim().trim_start_matches('^');
        let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // Of an invalid range, only the ends count.
        if first <= last && last - first < 50 {
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

    fn sieved(pieces: &[&str], passages: usize) -> (String, Vec<u32>, Option<String>) {
        let mut sieve = Sieve::new(passages);
        let mut text: String = pieces.iter().map(|piece| sieve.push(piece)).collect();
        let rest = sieve.end();
        text.push_str(&rest.text);
        (text, rest.used, rest.unknown)
    }

    #[test]
    fn an_answer_is_the_same_wherever_it_is_cut() {
        for (said, text, used, unknown) in [
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
            let want = (text.to_owned(), used, unknown.map(str::to_owned));
            assert_eq!(sieved(&[said], 3), want, "{said}");
            let single: Vec<String> = said.chars().map(String::from).collect();
            assert_eq!(
                sieved(&single.iter().map(String::as_str).collect::<Vec<_>>(), 3),
                want,
                "{said}"
            );
        }
    }

    #[test]
    fn a_mark_without_end_holds_nothing_back() {
        let long = format!("[{} x", "1,".repeat(100));
        let (text, used, _) = sieved(&[&long], 3);
        assert_eq!((text, used), (long, vec![]));
    }
}
