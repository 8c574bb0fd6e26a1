//! Formats text for people, with lines that fit the terminal.

use std::{
    fmt::Display,
    io::{self, IsTerminal},
};

use brain_protocol::SourceId;
use supports_hyperlinks::Stream;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::{Paint, clean, clean_page};

/// Width of a terminal of unknown size.
const DEFAULT_WIDTH: usize = 80;

/// Returns the columns of the terminal at standard output, or `None` for a file or a pipe.
pub(crate) fn stdout_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let width = terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(w, _)| usize::from(w.0));
    Some(if width == 0 { DEFAULT_WIDTH } else { width })
}

/// Text for standard output.
pub(crate) struct Text {
    out: String,
    is_terminal: bool,
    /// The colour setting.
    pub(crate) paint: Paint,
    /// Maximum width of a line in columns; `None` for no limit.
    pub(crate) width: Option<usize>,
    /// The name of this machine in hyperlinks; `None` without hyperlinks.
    pub(super) link_host: Option<String>,
}

impl Text {
    /// Returns an empty text for the current standard output.
    pub(crate) fn for_stdout() -> Self {
        let width = stdout_width();
        Self {
            out: String::new(),
            is_terminal: width.is_some(),
            paint: Paint::new(width.is_some()),
            width,
            link_host: (width.is_some() && supports_hyperlinks::on(Stream::Stdout))
                .then(|| rustix::system::uname().nodename().to_string_lossy().into_owned()),
        }
    }

    /// Returns a text for tests.
    #[cfg(test)]
    pub(crate) fn plain(width: Option<usize>) -> Self {
        Self {
            out: String::new(),
            is_terminal: width.is_some(),
            paint: Paint::forced(false),
            width,
            link_host: None,
        }
    }

    /// Returns the text as bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out.into_bytes()
    }

    /// Returns the text, for tests.
    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.out
    }

    /// Adds a line unchanged: the caller must clean it and cut it to the width.
    pub(crate) fn raw_line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Returns `text` with a hyperlink to a file (OSC 8), on terminals with hyperlinks.
    pub(crate) fn hyperlink(&self, path: &str, text: &str) -> String {
        let Some(host) = &self.link_host else { return text.to_owned() };
        let mut url = format!("file://{host}");
        for byte in path.bytes() {
            match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(byte)),
                _ if byte.is_ascii_alphanumeric() => url.push(char::from(byte)),
                _ => url.push_str(&format!("%{byte:02X}")),
            }
        }
        format!("\u{1b}]8;;{url}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
    }

    /// Adds a line of untrusted text. It is cleaned but never cut, because users copy names and
    /// commands.
    pub(crate) fn line(&mut self, text: &str) {
        let line = clean(text);
        self.raw_line(&line);
    }

    /// Adds prose after `lead`, which is `indent` columns wide. Cleans the prose and wraps it
    /// between words; further lines are indented by `indent`.
    pub(crate) fn prose(&mut self, lead: &str, indent: usize, text: &str) {
        let max_width = self.width.map_or(usize::MAX, |w| w.saturating_sub(indent).max(16));
        let mut line = lead.to_owned();
        let mut used = 0;
        for word in clean(text).split_whitespace() {
            let columns = width(word);
            if used > 0 && used + 1 + columns > max_width {
                self.raw_line(line.trim_end());
                line = " ".repeat(indent);
                used = 0;
            } else if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += columns;
        }
        self.raw_line(line.trim_end());
    }

    /// Returns whether a line of so many columns fits the terminal.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.width.is_none_or(|max_width| columns <= max_width)
    }

    /// Adds `text` after `lead`, which is `indent` columns wide. Wraps it like [`Text::prose`] if
    /// it is too wide for the terminal.
    pub(crate) fn wrapped(&mut self, lead: &str, indent: usize, text: &str) {
        if !self.fits(indent + width(&clean(text))) {
            return self.prose(lead, indent, text);
        }
        let line = format!("{lead}{}", clean(text));
        self.raw_line(&line);
    }

    /// Cleans `text` and cuts it to the columns that are free after the first `used_columns`.
    pub(crate) fn cut(&self, text: &str, used_columns: usize) -> String {
        cut_to_width(&clean(text), self.width.map(|w| w.saturating_sub(used_columns)))
    }

    /// Adds a line with a label of up to 9 columns and its value, so that values are aligned.
    pub(crate) fn field(&mut self, label: &str, value: &str) {
        let lead = format!("{} ", self.paint.dim(&pad(label, 9)));
        self.wrapped(&lead, 10, value);
    }

    /// Adds a text unchanged, and a line end if it lacks one. For a terminal, control characters
    /// are replaced.
    pub(crate) fn verbatim(&mut self, content: &str) {
        if self.is_terminal {
            self.out.push_str(&clean_page(content));
        } else {
            self.out.push_str(content);
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Adds a unified diff. On a terminal, added and removed lines are in colour.
    pub(crate) fn diff(&mut self, diff: &str) {
        if !self.is_terminal {
            self.out.push_str(diff);
            return;
        }
        for (number, line) in clean_page(diff).lines().enumerate() {
            let line = match line.chars().next() {
                // The first two lines name the versions; a removed line can begin with `--`.
                _ if number < 2 => self.paint.bold(line),
                Some('@') => self.paint.cyan(line),
                Some('+') => self.paint.green(line),
                Some('-') => self.paint.red(line),
                Some('\\') => self.paint.dim(line),
                _ => line.to_owned(),
            };
            self.raw_line(&line);
        }
    }
}

/// Returns the width of `text` in columns.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cuts `text` to `max_width` columns. A cut text ends with `…`.
pub(crate) fn cut_to_width(text: &str, max_width: Option<usize>) -> String {
    let Some(max_width) = max_width else { return text.to_owned() };
    if width(text) <= max_width {
        return text.to_owned();
    }
    let Some(max_width) = max_width.checked_sub(1) else { return String::new() };
    format!("{}…", prefix(text, max_width).trim_end())
}

/// Returns the longest prefix of `text` within `max_width` columns. Combining marks stay with their
/// character.
fn prefix(text: &str, max_width: usize) -> &str {
    let mut used = 0;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > max_width {
            end = at;
            break;
        }
    }
    // A sequence can be wider than its characters (emoji presentation), and must not end on a
    // joiner.
    while width(&text[..end]) > max_width || text[..end].ends_with('\u{200D}') {
        end = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    }
    &text[..end]
}

/// Pads `text` with spaces to the width of `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(text))));
    padded
}

/// Returns the name of a page: its slug, with its source unless that is `default`. Every command
/// accepts this name. For a reply with a `default_source`, use [`brain_protocol::page_name`].
pub(crate) fn page_name(source: impl Display, slug: impl Display) -> String {
    let source = source.to_string();
    match source.as_str() {
        SourceId::DEFAULT => slug.to_string(),
        _ => format!("{source}:{slug}"),
    }
}

/// Formats a number with its noun: `1 page`, `2 pages`. The plural adds an `s`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Formats a size in decimal units.
pub(crate) fn format_bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_its_width_in_columns() {
        assert_eq!(cut_to_width("hello", Some(5)), "hello");
        assert_eq!(cut_to_width("hello!", Some(5)), "hell…");
        assert_eq!(cut_to_width("日本語の本", Some(10)), "日本語の本");
        assert_eq!(cut_to_width("日本語の本", Some(9)), "日本語の…");
        assert_eq!(cut_to_width("日本語の本", Some(8)), "日本語…");
        assert_eq!(cut_to_width("x", Some(0)), "");
        for text in [
            "👩‍👩‍👧‍👦 family and friends",
            "❤️❤️❤️❤️ hearts",
            "e\u{301}e\u{301}e\u{301}e\u{301}",
            "🇩🇪🇫🇷🇯🇵 flags",
            "กำลังเดินทาง",
        ] {
            for max_width in 0..20 {
                let cut = cut_to_width(text, Some(max_width));
                assert!(width(&cut) <= max_width, "{cut:?} is wider than {max_width}");
            }
        }
    }

    #[test]
    fn prose_wraps_between_words() {
        let mut t = Text::plain(Some(24));
        t.prose("ok  ", 4, "the quick brown fox jumps over\u{7} the dog");
        assert_eq!(t.as_str(), "ok  the quick brown fox\n    jumps over\u{FFFD} the dog\n");
    }

    #[test]
    fn only_a_line_that_is_too_wide_is_wrapped() {
        let mut t = Text::plain(Some(28));
        t.wrapped("", 0, "two  spaces stay");
        t.field("queue", "empty, 0 stored today");
        let expected = "two  spaces stay\nqueue     empty, 0 stored\n          today\n";
        assert_eq!(t.as_str(), expected);
    }

    #[test]
    fn sizes_and_counts_have_units() {
        assert_eq!(
            (format_bytes(999), format_bytes(1000), format_bytes(999_999)),
            ("999 B".into(), "1.0 kB".into(), "1.0 MB".into())
        );
        assert_eq!((count(1, "page"), count(2, "page")), ("1 page".into(), "2 pages".into()));
    }
}
