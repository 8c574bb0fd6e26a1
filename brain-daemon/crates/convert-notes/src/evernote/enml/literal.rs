//! Writes text as HTML so that the markdown shows it literally, also where the converter of HTML
//! leaves signs as they are: `#tag`, `==x==`, `---`. A name such as `snake_case_name` stays whole.

use super::places::Places;
use brain_convert_base::is_entity;

/// Writes a text. `is_start` says whether it begins a line.
pub(super) fn write(text: &str, is_start: bool, places: &mut Places, out: &mut String) {
    let mut is_start = is_start;
    for (n, word) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        write_word(word, is_start, places, out);
        is_start &= word.trim().is_empty();
    }
}

/// Writes a text without blanks.
fn write_word(word: &str, is_start: bool, places: &mut Places, out: &mut String) {
    let is_address = word.starts_with("https://") || word.starts_with("http://");
    let (mut before, mut from) = (' ', 0);
    for (at, c) in word.char_indices() {
        let rest = word.get(at + c.len_utf8()..).unwrap_or_default();
        let next = rest.chars().next().unwrap_or(' ');
        let markdown = match c {
            '_' if before.is_alphanumeric() && next.is_alphanumeric() => "_",
            '#' if !is_address && !before.is_alphanumeric() => "\\#",
            '-' if is_start && at == 0 => "\\-",
            // Bars of two lines make a table.
            '|' => "\\|",
            // A number and a parenthesis begin a list.
            ')' if is_start && rest.is_empty() && is_number(word.get(..at)) => "\\)",
            '=' if is_start && at == 0 || before == c => "\\=",
            '%' if before == c => "\\%",
            '$' if before == c => "\\$",
            '&' if is_entity(rest) => "\\&",
            _ => "",
        };
        before = c;
        if !markdown.is_empty()
            && let Some(place) = places.add_sign(markdown)
        {
            escape(word.get(from..at).unwrap_or_default(), out);
            out.push_str(&place);
            from = at + c.len_utf8();
        }
    }
    escape(word.get(from..).unwrap_or_default(), out);
}

/// Returns whether a text can be the number of an item of a list (CommonMark 5.2).
fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|it| (1..=9).contains(&it.len()) && it.bytes().all(|b| b.is_ascii_digit()))
}

/// Writes a text with its signs of HTML as references, and without control characters.
pub(super) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !c.is_whitespace() => {}
            c => out.push(c),
        }
    }
}
