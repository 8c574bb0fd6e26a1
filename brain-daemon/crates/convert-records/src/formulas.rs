//! Formulas in the text of a model: `\(…\)` and `\[…\]` become `$…$` and `$$…$$`. In markdown, the
//! backslashes would only show the brackets.

/// Maximum length of the blanks and marks of lists before a formula, in bytes.
const MAX_MARKS: usize = 64;

/// Returns a text whose formulas are between dollar signs. Code stays as it is.
pub(crate) fn with_dollars(text: &str) -> String {
    if !text.contains("\\(") && !text.contains("\\[") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut ends = Ends::default();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (copied, read) = match rest.as_bytes() {
            [b'`' | b'~', ..] => (None, code_length(text, at, &mut ends)),
            [b'\\', b'(', ..] => formula(text, at, "\\)", "$", &mut ends),
            [b'\\', b'[', ..] if begins_line(&out) => formula(text, at, "\\]", "$$", &mut ends),
            [b'\\', _, ..] => (None, 1 + rest.get(1..).and_then(first_length).unwrap_or(0)),
            _ => (None, rest.find(['\\', '`', '~']).unwrap_or(rest.len())),
        };
        let read = read.max(1);
        out.push_str(copied.as_deref().unwrap_or(rest.get(..read).unwrap_or(rest)));
        at += read;
    }
    out
}

/// The places of the next ends, so that a text without them is searched once.
#[derive(Default)]
struct Ends {
    found: std::collections::HashMap<String, Option<usize>>,
}

impl Ends {
    /// Returns where `end` is next at or after `from`.
    fn next(&mut self, text: &str, from: usize, end: &str) -> Option<usize> {
        match self.found.get(end) {
            Some(None) => return None,
            Some(Some(at)) if *at >= from => return Some(*at),
            _ => {}
        }
        let found = text.get(from..).and_then(|rest| rest.find(end)).map(|at| from + at);
        self.found.insert(end.to_owned(), found);
        found
    }
}

fn first_length(text: &str) -> Option<usize> {
    text.chars().next().map(char::len_utf8)
}

/// Returns whether the line that follows `before` has only blanks and marks of lists so far.
fn begins_line(before: &str) -> bool {
    let is_mark = |byte: u8| b" \t>-*+.".contains(&byte) || byte.is_ascii_digit();
    let mut line = before.bytes().rev().take(MAX_MARKS).take_while(|byte| *byte != b'\n');
    line.all(is_mark)
}

/// Returns the formula that begins at `at`, and how long it is in the text. A formula ends in its
/// paragraph, and has no dollar sign.
fn formula(
    text: &str,
    at: usize,
    end: &str,
    sign: &str,
    ends: &mut Ends,
) -> (Option<String>, usize) {
    let close = ends.next(text, at + 2, end);
    let paragraph = ends.next(text, at + 2, "\n\n").unwrap_or(text.len());
    let tex = close.filter(|close| *close <= paragraph).and_then(|close| text.get(at + 2..close));
    match tex {
        Some(tex) if !tex.contains('$') && !tex.trim().is_empty() => {
            let inner = if sign == "$" || !tex.contains('\n') { tex.trim() } else { tex };
            (Some(format!("{sign}{inner}{sign}")), tex.len() + 4)
        }
        _ => (None, 2),
    }
}

/// Returns the length of the code that begins at `at`: to the end of its fence, or of its marks.
fn code_length(text: &str, at: usize, ends: &mut Ends) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let Some(sign) = rest.chars().next() else { return 0 };
    let length = rest.chars().take_while(|c| *c == sign).count();
    if sign == '~' && length < 3 {
        return length;
    }
    let marks = rest.get(..length).unwrap_or_default();
    let end = ends.next(text, at + length, marks);
    let is_fence = length >= 3 && begins_line(text.get(..at).unwrap_or_default());
    match end {
        Some(end) => end + length - at,
        None if is_fence => rest.len(),
        None => length,
    }
}

#[cfg(test)]
mod tests {
    use brain_convert_testing::assert_linear;

    use super::*;

    #[test]
    fn formulas_get_dollar_signs() {
        for (text, expected) in [
            ("Area \\(\\pi r^2\\) and \\( a_1 \\).", "Area $\\pi r^2$ and $a_1$."),
            ("So:\n\n\\[\nx = \\frac{1}{2}\n\\]\n\nend", "So:\n\n$$\nx = \\frac{1}{2}\n$$\n\nend"),
            ("1. \\[ x = 1 \\]", "1. $$x = 1$$"),
            // Brackets in a line are brackets.
            ("see \\[1\\]", "see \\[1\\]"),
            ("\\\\(a\\\\)", "\\\\(a\\\\)"),
            ("`\\(a\\)` \\(b\\)", "`\\(a\\)` $b$"),
            ("```\n\\(a\\)\n```\n\\(b\\)", "```\n\\(a\\)\n```\n$b$"),
            ("~~~tex\n\\[a\\]\n", "~~~tex\n\\[a\\]\n"),
            ("\\(a\n\nb\\)", "\\(a\n\nb\\)"),
            ("\\(5 $\\)", "\\(5 $\\)"),
            ("\\(", "\\("),
            ("ä\\ö\\(ü\\)", "ä\\ö$ü$"),
        ] {
            assert_eq!(with_dollars(text), expected, "{text}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in ["\\(", "\\[", "\\(a\n\n", "`\\(", "``` \\(", "\\(\\)", "\n\\["] {
            assert_linear(piece, 400_000, |size| {
                assert!(!with_dollars(&piece.repeat(size / piece.len())).is_empty());
            });
        }
    }
}
