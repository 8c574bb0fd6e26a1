//! Replaces a word of a question.

use super::token;

/// Returns `text` with each `word` replaced by `spelling`.
pub(super) fn with_word(text: &str, word: &str, spelling: &str) -> String {
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    token::scan(text, &mut |t| {
        if t.text == word && t.start >= end {
            out.push_str(text.get(end..t.start).unwrap_or_default());
            out.push_str(spelling);
            end = t.end;
        }
    });
    out.push_str(text.get(end..).unwrap_or_default());
    out
}
