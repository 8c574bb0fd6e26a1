//! Adds colour and removes unsafe characters.

use std::{
    env,
    io::{self, IsTerminal},
};

/// The use of colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

/// Returns the colour setting of standard error.
pub(crate) fn stderr() -> Paint {
    Paint { on: wanted(io::stderr().is_terminal()) }
}

fn wanted(terminal: bool) -> bool {
    terminal
        && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

impl Paint {
    /// Returns the colour setting of a stream.
    pub(crate) fn new(terminal: bool) -> Self {
        Self { on: wanted(terminal) }
    }

    /// Returns colour independent of the environment.
    #[cfg(test)]
    pub(crate) fn forced(on: bool) -> Self {
        Self { on }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Titles.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What may be overlooked.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Failures.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// What is well.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What deserves a look; matches.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// Names of pages.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }
}

/// Stands for a character that must not reach a terminal.
const HIDDEN: char = '\u{FFFD}';

/// Characters that turn the direction of the text around them.
pub(super) fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// `c` as it may stand in one line, always one character for one.
pub(crate) fn clean_char(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
        _ if c.is_control() || is_bidi_control(c) => HIDDEN,
        _ => c,
    }
}

/// `text` on one line, without anything that a terminal would obey.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(clean_char).collect()
}

/// `text` with its lines, without anything else that a terminal would obey.
pub(crate) fn clean_lines(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { c } else { clean_char(c) }).collect()
}

/// A page for a terminal: verbatim but for what a terminal would obey.
pub(crate) fn clean_page(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| {
            if matches!(c, '\n' | '\t') || !(c.is_control() || is_bidi_control(c)) {
                c
            } else {
                HIDDEN
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        let evil = "a\u{1b}[31mred\u{7}\u{9b}2J\u{202e}x\ty\nz\r\u{7f}";
        let shown = clean(evil);
        assert!(!shown.chars().any(|c| c.is_control() || is_bidi_control(c)), "{shown:?}");
        assert_eq!(shown.chars().count(), evil.chars().count());
        assert_eq!(clean("Café ☕ 日本"), "Café ☕ 日本");
        assert_eq!(clean_lines("a\n\u{1b}b"), "a\n\u{FFFD}b");
    }

    #[test]
    fn a_page_on_a_terminal_keeps_lines_and_tabs() {
        assert_eq!(clean_page("safe \u{202e}gpj.exe\u{2069}"), "safe \u{FFFD}gpj.exe\u{FFFD}");
        assert_eq!(
            clean_page("a\tb\r\nc\u{1b}]0;x\u{7}\rd"),
            "a\tb\nc\u{FFFD}]0;x\u{FFFD}\u{FFFD}d"
        );
    }

    #[test]
    fn no_colour_is_the_text_itself() {
        assert_eq!(Paint::forced(false).red("x"), "x");
        assert_eq!(Paint::forced(true).red("x"), "\u{1b}[1;31mx\u{1b}[0m");
    }
}
