//! Writes plain text as markdown that shows it literally, line by line.
//!
//! A word that contains `_`, such as `snake_case_name`, stays as it is, so that search finds it. An
//! address of the web stays an address.

use brain_page::is_entity;

/// Maximum number of digits of a list number (CommonMark 5.2).
const MAX_LIST_DIGITS: usize = 9;
/// Width of a tab, in blanks (CommonMark 2.2).
const TAB: usize = 4;

/// Returns a text of several lines as markdown. Each line is a line for the reader. Blank lines
/// separate paragraphs. Blanks at the beginning of a line become no-break spaces, because markdown
/// reads four blanks as code.
pub fn literal_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    // A form feed ends a sheet, and a vertical tab is a line break of Word and Outlook.
    let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{2028}', '\u{2029}', '\u{85}'];
    let lines: Vec<String> = text.split(ends).map(literal_line).collect();
    let mut out = String::with_capacity(text.len() + 64);
    for (n, line) in lines.iter().enumerate() {
        out.push_str(line);
        let next = lines.get(n + 1);
        if !line.is_empty() && next.is_some_and(|next| !next.is_empty()) {
            // A line break within a paragraph (CommonMark 6.7).
            out.push_str("  ");
        }
        if next.is_some() {
            out.push('\n');
        }
    }
    out.trim_matches('\n').to_owned()
}

/// Returns one line as markdown, also at the beginning of a paragraph.
pub fn literal_line(line: &str) -> String {
    let line: String = line.chars().filter(|c| !c.is_control() || *c == '\t').collect();
    let line = line.trim_end();
    let text = line.trim_start_matches([' ', '\t']);
    let mut out = String::with_capacity(line.len() + 16);
    for c in line[..line.len() - text.len()].chars() {
        out.push_str(&"\u{a0}".repeat(if c == '\t' { TAB } else { 1 }));
    }
    let start = block_start(text);
    if let Some(at) = start {
        out.push_str(&text[..at]);
        out.push('\\');
    }
    out + &literal_part(&text[start.unwrap_or(0)..])
}

/// Returns where a backslash must be in a line of a paragraph, so that the line begins no list,
/// quote or heading. `text` has no blanks before it. A `#` at its beginning does not count, as
/// [`literal_part`] escapes it.
pub fn block_start(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text.chars().skip(digits);
    let starts_block = match (digits, rest.next(), rest.next()) {
        (0, Some('-' | '+' | '>' | '=' | ':'), _) => true,
        (1..=MAX_LIST_DIGITS, Some('.' | ')'), next) => next.is_none_or(char::is_whitespace),
        _ => false,
    };
    starts_block.then_some(digits)
}

/// Returns a part of a line as markdown, for a place that is not the beginning of a line.
pub fn literal_part(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (n, word) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        write_word(word, &mut out);
    }
    out
}

/// Writes a text without blanks.
fn write_word(word: &str, out: &mut String) {
    let is_address = word.starts_with("https://") || word.starts_with("http://");
    let mut before = ' ';
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        let next = rest.clone().next().unwrap_or(' ');
        let c = if is_address { c } else { plain_hyphen(before, c, next) };
        let is_escaped = match c {
            '\\' | '`' | '*' | '<' | '[' | ']' | '|' => true,
            // Between letters it has no meaning.
            '_' => !(before.is_alphanumeric() && next.is_alphanumeric()),
            // After a letter, as in `C#`, it is no tag.
            '#' => !is_address && !before.is_alphanumeric(),
            '~' => !is_address || next == '~' || before == '~',
            // Doubled, they start a comment, a highlight or a formula.
            '%' | '=' | '$' => before == c,
            '&' => is_entity(rest.as_str()),
            _ => false,
        };
        if is_escaped {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
}

/// Returns a text whose words have plain hyphens: a search for `2-15` would not find the sign that
/// only keeps a line from ending there.
pub fn plain_hyphens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut before, mut rest) = (' ', text.chars());
    while let Some(c) = rest.next() {
        let next = rest.clone().next().unwrap_or(' ');
        out.push(plain_hyphen(before, c, next));
        before = c;
    }
    out
}

/// Returns a character of a text, or a plain hyphen for one within a word.
fn plain_hyphen(before: char, c: char, next: char) -> char {
    let is_within = before.is_alphanumeric() && next.is_alphanumeric();
    if is_within && matches!(c, '\u{2010}' | '\u{2011}') { '-' } else { c }
}

/// Returns a block of code, with a fence longer than any in it. A `language` that is no name is left
/// out.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-_+".contains(&b);
    let language = if language.bytes().all(is_name) { language } else { "" };
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_page::{Frontmatter, body_tags, headings, todos};

    use super::*;

    #[test]
    fn im18_is_shown_line_by_line() {
        let text = "---\n#fence is broken\n# of guests: 40\n1986. A dry year\nsee [[map]] and <b>\n    \
                    four blanks\nsnake_case_name *not bold*";
        let shown = literal_text(text);
        assert_eq!(
            shown,
            "\\---  \n\\#fence is broken  \n\\# of guests: 40  \n1986\\. A dry year  \nsee \
             \\[\\[map\\]\\] and \\<b>  \n\u{a0}\u{a0}\u{a0}\u{a0}four blanks  \nsnake_case_name \
             \\*not bold\\*"
        );
    }

    #[test]
    fn a_text_has_no_effect_on_the_page() {
        let text = "- [ ] task\n+ [x] task\n1) [ ] x\n===\n> - [ ] quote\n~~~\n```\na|b\n:--|:--\n\
                    [[x]] ![[y]] [a](b) [z]: q\n#tag (#tag) &amp; &lt;\n- 2026-01-01 | x [Source: a]\n\
                    \tcode\n##\n\\# x";
        let shown = literal_text(text);
        let slug = brain_protocol::Slug::parse("calls/x").unwrap();
        assert!(brain_page::links(&slug, &shown, &Frontmatter::empty()).is_empty(), "{shown}");
        assert!(body_tags(&shown).is_empty(), "{shown}");
        assert!(headings(&shown).is_empty(), "{shown}");
        assert!(todos(&shown).is_empty(), "{shown}");
        assert!(brain_page::timeline(&shown).is_empty(), "{shown}");
        assert_eq!(shown.lines().count(), text.lines().count());
    }

    #[test]
    fn words_and_addresses_stay_as_they_are() {
        for text in [
            "snake_case_name",
            "https://x.org/~ann/a_b#part?x=1&y=2",
            "C# and AT&T, 100% of $5 = 5; 2.5 liters",
        ] {
            assert_eq!(literal_line(text), text);
        }
        assert_eq!(literal_line("_a_ __init__ ~b~"), "\\_a\\_ \\_\\_init\\_\\_ \\~b\\~");
        assert_eq!(literal_line("2\u{2011}15 e\u{2010}mail \u{2011} x"), "2-15 e-mail \u{2011} x");
        assert_eq!(literal_line("%%a%% ==b== $$c$$"), "%\\%a%\\% =\\=b=\\= $\\$c$\\$");
        assert_eq!(literal_line("\t a\u{7}b"), "\u{a0}".repeat(5) + "ab");
    }

    #[test]
    fn a_fence_is_longer_than_those_in_the_code() {
        assert_eq!(fenced("rust", "a\n````\n"), "`````rust\na\n````\n`````");
        assert_eq!(fenced("a b", "`"), "```\n`\n```");
    }

    #[test]
    fn all_line_ends_count_and_blank_lines_stay() {
        assert_eq!(literal_text("a\r\nb\rc\n\n\nd\n\n"), "a  \nb  \nc\n\n\nd");
        assert_eq!(literal_text("a\u{b}b\n\u{c}c"), "a  \nb\n\nc");
        assert_eq!(literal_text(""), "");
        assert_eq!(literal_text(" \n"), "");
    }
}
