//! Finds the words of a question that may be mistyped.

use super::Question;
use super::language::is_stop_word_of_any_language;
use super::query::Unit;
use super::token::Kind;

/// Minimum letters of a word that is corrected.
const MIN_LETTERS: usize = 4;

/// Returns the folded words of the question that may be mistyped. Excludes quoted words, numbers,
/// codes and parts of URLs and e-mail addresses.
pub(super) fn words_that_may_be_mistyped(question: &Question) -> Vec<&str> {
    let query = &question.query;
    let texts = || {
        query.units.iter().filter_map(|(unit, words)| match unit {
            Unit::Words(text) => Some((text.as_str(), words)),
            _ => None,
        })
    };
    let has_lowercase = texts().any(|(text, _)| text.contains(char::is_lowercase));
    let (mut mistyped, mut has_last_word) = (Vec::new(), false);
    for (text, words) in texts() {
        let mut compound_end = 0;
        for word in words {
            if word.kind == Kind::Whole {
                compound_end = word.range.end;
            }
            let source = text.get(word.range.clone()).unwrap_or_default();
            let is_code = has_digits(&word.text)
                || (has_lowercase && !source.contains(char::is_lowercase) && has_capitals(source));
            if word.kind == Kind::Word {
                // A question may be in another language than all pages.
                has_last_word = word.range.start >= compound_end
                    && !is_code
                    && is_long_enough(&word.text)
                    && !is_stop_word_of_any_language(&word.text);
                if has_last_word {
                    mistyped.push(word.text.as_str());
                }
            }
        }
    }
    // The last word is unfinished: pages need not have it.
    if has_last_word && question.is_being_typed && query.text.ends_with(char::is_alphanumeric) {
        mistyped.pop();
    }
    mistyped
}

pub(super) fn is_long_enough(word: &str) -> bool {
    word.chars().nth(MIN_LETTERS - 1).is_some()
}

pub(super) fn has_digits(word: &str) -> bool {
    word.contains(char::is_numeric)
}

fn has_capitals(text: &str) -> bool {
    text.contains(char::is_uppercase)
}
