//! The words and numbers of a question.

use std::ops::Range;

use brain_search::each_word;

/// A folded word, and its byte range in the text.
pub(super) struct TimeToken {
    pub(super) text: String,
    pub(super) range: Range<usize>,
}

/// Splits a text into words and numbers. All other characters, also apostrophes, separate them.
pub(super) fn tokens(text: &str) -> Vec<TimeToken> {
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let mut folded = String::new();
                each_word(&text[from..at], &mut |word| folded.push_str(word));
                tokens.push(TimeToken { text: folded, range: from..at });
                start = None;
            }
            _ => {}
        }
    }
    tokens
}
