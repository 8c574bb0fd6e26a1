//! Questions for the newest or oldest page of a kind: `latest release`, `the last note about
//! gardens`. No I/O.

use brain_search::QuestionTerms;

use super::function_words::{is_any_page, is_function_word};
use super::times::is_order_word;

/// Maximum distance of the noun from the word for the order: `the last big team meeting`, `note la
/// plus récente`.
const MAX_DISTANCE: usize = 3;
/// Words before what the pages are about, or whom they are with.
const ABOUT: [&str; 19] = [
    "about",
    "on",
    "mentioning",
    "regarding",
    "with",
    "of",
    "for",
    "in",
    "uber",
    "zu",
    "zum",
    "mit",
    "von",
    "sur",
    "avec",
    "de",
    "sobre",
    "con",
    "del",
];

/// A question for the newest or oldest page of a kind. Its words are indices of
/// [`QuestionTerms::words`].
#[derive(Debug, PartialEq, Eq)]
pub struct OrderedQuestion {
    /// The words that may name the kind, the most likely first.
    pub kinds: Vec<usize>,
    /// Whether one of them stands for any page, as `note` does.
    pub is_any_page: bool,
    /// The other words with a meaning.
    pub others: Vec<usize>,
    /// Whether the question clearly asks for pages with the other words: they follow a word for
    /// `about`, or there are none.
    pub is_clear: bool,
}

/// Returns what a question for the newest or oldest page asks for; `None` for any other question.
pub fn ordered_question(terms: &QuestionTerms) -> Option<OrderedQuestion> {
    let words = &terms.words;
    let order = (0..words.len()).find(|&at| is_order_word(&words[at].text))?;
    let any_page =
        (0..words.len()).find(|&at| is_any_page(&words[at]) && at.abs_diff(order) <= MAX_DISTANCE);
    let content: Vec<usize> = (0..words.len())
        .filter(|&at| !is_function_word(&words[at]) && !is_order_word(&words[at].text))
        .filter(|&at| Some(at) != any_page && !["plus", "mas", "most"].contains(&&*words[at].text))
        .collect();
    let mut kinds: Vec<usize> =
        content.iter().copied().filter(|at| at.abs_diff(order) <= MAX_DISTANCE).collect();
    // `latest daily note`, but not `last note about gardens`
    let is_beside = |at: usize| any_page.is_none_or(|noun| at.max(order) < noun);
    kinds.sort_by_key(|at| (!is_beside(*at), at.abs_diff(order)));
    let place = kinds.iter().filter(|at| is_beside(**at)).count();
    kinds.splice(place..place, any_page);
    if kinds.is_empty() {
        return None;
    }
    let about = (order..words.len()).find(|&at| ABOUT.contains(&words[at].text.as_str()));
    let others: Vec<usize> =
        content.iter().copied().filter(|at| about.is_some_and(|about| *at > about)).collect();
    let near = content.len() - others.len();
    Some(OrderedQuestion {
        is_clear: near <= 1,
        kinds,
        is_any_page: any_page.is_some(),
        others: content,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    /// Returns the nearest word for a kind, the other words, and whether the question is clear.
    fn parsed(text: &str) -> Option<(String, String, bool)> {
        let terms = terms(text);
        let question = ordered_question(&terms)?;
        let word = |at: &usize| terms.words[*at].text.clone();
        let kind = question.kinds.first();
        let others = question.others.iter().filter(|at| Some(*at) != kind);
        let others: Vec<String> = others.map(word).collect();
        Some((kind.map(word)?, others.join(" "), question.is_clear))
    }

    #[test]
    fn kind_and_subject_are_read() {
        for (text, kind, others, is_clear) in [
            ("latest release", "release", "", true),
            ("what is the newest post?", "post", "", true),
            ("the last note about gardens", "note", "gardens", true),
            ("oldest recipe", "recipe", "", true),
            ("latest daily note", "daily", "", true),
            ("most recent release", "release", "", true),
            ("was ist die neueste Notiz über Gärten", "notiz", "garten", true),
            ("die letzte Sitzung", "sitzung", "", true),
            ("la dernière note sur les jardins", "note", "jardins", true),
            ("la nota más reciente", "nota", "", true),
            ("último libro", "libro", "", true),
            ("what did the last release change", "release", "change", false),
        ] {
            let expected = Some((kind.to_owned(), others.to_owned(), is_clear));
            assert_eq!(parsed(text), expected, "{text}");
        }
        for text in ["release", "at last", "first"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
