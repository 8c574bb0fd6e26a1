//! Adds colour, and replaces unsafe characters.

use std::{
    env,
    io::{self, IsTerminal},
};

use brain_protocol::is_direction_control;

/// Adds colour to text, if enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    is_enabled: bool,
}

/// Returns the colour setting of standard error.
pub(crate) fn stderr() -> Paint {
    Paint { is_enabled: uses_colour(io::stderr().is_terminal()) }
}

/// Returns whether to use colour on a stream. `NO_COLOR` and `TERM=dumb` turn it off.
fn uses_colour(is_terminal: bool) -> bool {
    is_terminal
        && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

impl Paint {
    /// Returns the colour setting of a stream.
    pub(crate) fn new(is_terminal: bool) -> Self {
        Self { is_enabled: uses_colour(is_terminal) }
    }

    /// Returns a colour setting for tests, whatever the environment is.
    #[cfg(test)]
    pub(crate) fn forced(is_enabled: bool) -> Self {
        Self { is_enabled }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.is_enabled && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Formats a title.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Formats a less important text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Formats a failure.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// Formats a success.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Formats a warning or a match.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// Formats the name of a page.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }
}

/// The character that replaces a control character.
const REPLACEMENT: char = '\u{FFFD}';

/// Replaces a tab or line break by a space, and another control character by [`REPLACEMENT`].
pub(crate) fn clean_char(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
        _ if c.is_control() || is_direction_control(c) => REPLACEMENT,
        _ => c,
    }
}

/// Makes untrusted text safe for a terminal, on one line.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(clean_char).collect()
}

/// Makes untrusted text safe for a terminal, and keeps its line feeds.
pub(crate) fn clean_lines(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { c } else { clean_char(c) }).collect()
}

/// Makes a page safe for a terminal, and keeps its line breaks and tabs.
pub(crate) fn clean_page(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| {
            if matches!(c, '\n' | '\t') || !(c.is_control() || is_direction_control(c)) {
                c
            } else {
                REPLACEMENT
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        let evil = "a\u{1b}[31mred\u{7}\u{9b}2J\u{202e}\u{200f}x\ty\nz\r\u{7f}";
        let cleaned = clean(evil);
        assert!(!cleaned.chars().any(|c| c.is_control() || is_direction_control(c)), "{cleaned:?}");
        assert_eq!(cleaned.chars().count(), evil.chars().count());
        assert_eq!(clean("Café ☕ 日本"), "Café ☕ 日本");
        assert_eq!(clean_lines("a\n\u{1b}b"), "a\n\u{FFFD}b");
    }

    #[test]
    fn a_page_on_a_terminal_keeps_lines_and_tabs() {
        assert_eq!(clean_page("safe \u{202e}gpj.exe\u{2069}"), "safe \u{FFFD}gpj.exe\u{FFFD}");
        assert_eq!(clean_page("1\u{200e}2\u{200f}3\u{61c}"), "1\u{FFFD}2\u{FFFD}3\u{FFFD}");
        assert_eq!(
            clean_page("a\tb\r\nc\u{1b}]0;x\u{7}\rd"),
            "a\tb\nc\u{FFFD}]0;x\u{FFFD}\u{FFFD}d"
        );
    }

    #[test]
    fn only_enabled_paint_changes_the_text() {
        assert_eq!(Paint::forced(false).red("x"), "x");
        assert_eq!(Paint::forced(true).red("x"), "\u{1b}[1;31mx\u{1b}[0m");
    }
}
