//! Lists, definitions and quotes that marks at the beginnings of lines make.

use super::super::links::Links;
use super::escape::paragraph;
use super::inline::{Place, inline};
use super::spans::Spans;
use super::without_classes;

/// Maximum nesting of lists. Marks beyond it do not count.
const MAX_DEPTH: usize = 10;

/// An open list.
struct Level {
    mark: char,
    /// The number of its last item.
    number: usize,
    /// What begins the further lines of its item.
    indent: &'static str,
}

/// Returns the list at `at` in markdown, and its length.
pub(super) fn list(
    text: &str,
    at: usize,
    spans: &mut Spans,
    links: &mut Links<'_>,
) -> (String, usize) {
    let is_mark = |c: char| matches!(c, '*' | '#' | ';' | ':' | '>');
    let mut levels: Vec<Level> = Vec::new();
    let mut out = String::new();
    let mut position = at;
    while let Some(rest) = text.get(position..) {
        let marks = rest.len() - rest.trim_start_matches(is_mark).len();
        let first = rest.chars().next().filter(|_| marks > 0);
        let Some(first) = first else { break };
        if levels.first().is_some_and(|level| !is_same(level.mark, first)) {
            break;
        }
        let end = spans.run(text, position + marks, "\n");
        let content = without_classes(text.get(position + marks..end).unwrap_or_default());
        let shown = paragraph(&inline(content, Place::Paragraph, links));
        let marks = rest.get(..marks.min(MAX_DEPTH)).unwrap_or_default();
        item(marks, &shown, &mut levels, &mut out);
        position = (end + 1).min(text.len());
        if end >= text.len() {
            break;
        }
    }
    (out, position - at)
}

fn is_same(a: char, b: char) -> bool {
    a == b || matches!((a, b), (';', ':') | (':', ';'))
}

fn item(marks: &str, shown: &str, levels: &mut Vec<Level>, out: &mut String) {
    let count = marks.chars().count();
    let mut begin = String::new();
    let follows_quote = levels.len() >= count && marks.ends_with('>');
    levels.truncate(count);
    let mut is_new = false;
    for (depth, mark) in marks.chars().enumerate() {
        let is_last = depth + 1 == count;
        if levels.get(depth).is_some_and(|level| !is_same(level.mark, mark)) {
            levels.truncate(depth);
        }
        let level = match levels.get_mut(depth) {
            Some(level) => level,
            None => {
                is_new = true;
                levels.push(Level { mark, number: 0, indent: "" });
                let Some(level) = levels.last_mut() else { return };
                level
            }
        };
        if !(is_last || is_new) {
            begin.push_str(level.indent);
            continue;
        }
        level.number += 1;
        match mark {
            '#' => {
                level.indent = if level.number < 10 { "   " } else { "    " };
                begin.push_str(&format!("{}. ", level.number.min(999)));
            }
            '>' => {
                level.indent = "> ";
                if follows_quote && out.ends_with('\n') {
                    out.push_str(begin.as_str());
                    out.push_str(">\n");
                }
                begin.push_str("> ");
            }
            ':' if level.mark == ';' => begin.push_str("  - "),
            _ => {
                level.indent = "  ";
                begin.push_str("- ");
            }
        }
    }
    let indent: String = levels.iter().map(|level| level.indent).collect();
    let is_term = marks.ends_with(';') && !shown.contains("**") && !shown.is_empty();
    out.push_str(&begin);
    match is_term {
        true => out.extend(["**", shown, "**"]),
        false => out.push_str(&shown.replace('\n', &format!("\n{indent}"))),
    }
    out.push('\n');
}
