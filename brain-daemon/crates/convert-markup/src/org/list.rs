//! Lists of Org. What belongs to an item is indented more than its bullet.

use super::scope::Scope;
use crate::markdown::item;

/// Converts lines at a depth of nesting.
type Blocks = fn(&[&str], usize, &mut Scope<'_>) -> String;

/// The beginning of an item.
pub(super) struct Bullet<'l> {
    indent: usize,
    /// Its marker in markdown: `-` or `3.`.
    marker: String,
    /// The text after the bullet.
    text: &'l str,
}

/// The number of blanks at the beginning of a line, in bytes.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns the item that a line begins.
pub(super) fn bullet(line: &str) -> Option<Bullet<'_>> {
    let indent = indent_of(line);
    let rest = line.get(indent..)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (length, marker) = match rest.get(digits..)?.chars().next()? {
        '-' | '+' if digits == 0 => (1, "-".to_owned()),
        '*' if digits == 0 && indent > 0 => (1, "-".to_owned()),
        mark @ ('.' | ')') if (1..=9).contains(&digits) => {
            (digits + 1, format!("{}{mark}", rest.get(..digits)?))
        }
        _ => return None,
    };
    let text = rest.get(length..)?;
    let is_item = text.is_empty() || text.starts_with([' ', '\t']);
    is_item.then(|| Bullet { indent, marker, text: text.trim() })
}

/// Converts the list at the beginning. Returns it, and the number of its lines.
pub(super) fn list(
    lines: &[&str],
    depth: usize,
    scope: &mut Scope<'_>,
    blocks: Blocks,
) -> (String, usize) {
    let mut items = Vec::new();
    let mut at = 0;
    let first = lines.first().and_then(|line| bullet(line)).map_or(0, |it| it.indent);
    while let Some(bullet) =
        lines.get(at).and_then(|line| bullet(line)).filter(|it| it.indent == first)
    {
        let length = 1 + content_length(lines.get(at + 1..).unwrap_or_default(), first);
        let (marker, text) = marker(&bullet);
        let mut content = vec![text.as_str()];
        content.extend(lines.get(at + 1..at + length).unwrap_or_default());
        items.push(item(&marker, &blocks(&content, depth + 1, scope)));
        at += length;
        // One blank line can separate items.
        if lines.get(at).is_some_and(|line| line.trim().is_empty())
            && lines
                .get(at + 1)
                .and_then(|line| self::bullet(line))
                .is_some_and(|it| it.indent == first)
        {
            at += 1;
        }
    }
    (items.join("\n"), at.max(1))
}

/// Returns the number of lines that belong to an item whose bullet has this indentation.
fn content_length(lines: &[&str], indent: usize) -> usize {
    let mut end = 0;
    let mut blank = 0;
    let mut is_in_block = false;
    for (at, line) in lines.iter().enumerate() {
        let lower = line.trim_start().get(..8).map(str::to_ascii_lowercase).unwrap_or_default();
        if line.trim().is_empty() {
            blank += 1;
            if blank == 2 && !is_in_block {
                break;
            }
            continue;
        }
        if indent_of(line) <= indent && !is_in_block {
            break;
        }
        blank = 0;
        is_in_block = (is_in_block || lower == "#+begin_") && !lower.starts_with("#+end_");
        end = at + 1;
    }
    end
}

/// Returns the marker of an item with its box, and its text.
fn marker(bullet: &Bullet<'_>) -> (String, String) {
    let mut marker = bullet.marker.clone();
    let mut text = bullet.text;
    if let Some((number, rest)) = text.strip_prefix("[@").and_then(|it| it.split_once(']'))
        && !number.is_empty()
        && number.len() <= 9
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        marker = format!("{number}{}", if marker.ends_with(')') { ')' } else { '.' });
        text = rest.trim_start();
    }
    let mut suffix = "";
    for (mark, shown, note) in
        [("[ ]", " [ ]", ""), ("[X]", " [x]", ""), ("[x]", " [x]", ""), ("[-]", " [ ]", " (begun)")]
    {
        if let Some(rest) = text.strip_prefix(mark)
            && (rest.is_empty() || rest.starts_with(' '))
        {
            marker.push_str(shown);
            text = rest.trim_start();
            suffix = note;
        }
    }
    let text = match text.split_once(" :: ").or_else(|| Some((text.strip_suffix(" ::")?, ""))) {
        Some((term, description)) if marker.starts_with('-') => {
            format!("*{}*: {description}", term.trim())
        }
        _ => text.to_owned(),
    };
    (marker, format!("{text}{suffix}"))
}
