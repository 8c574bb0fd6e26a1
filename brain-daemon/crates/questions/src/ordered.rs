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
    /// The other words that the pages are of a kind or have a name with: `blog` in `newest blog
    /// post`. The word for the kind is among them.
    pub names: Vec<usize>,
    /// The words that the text of the pages has.
    pub about: Vec<usize>,
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
    let (about, names) = content.into_iter().partition(|at| about.is_some_and(|about| *at > about));
    Some(OrderedQuestion { kinds, is_any_page: any_page.is_some(), names, about })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    /// Returns the likeliest word for a kind, the other words for names, and those for the text.
    fn parsed(text: &str) -> Option<(String, String, String)> {
        let terms = terms(text);
        let question = ordered_question(&terms)?;
        let word = |at: &usize| terms.words[*at].text.clone();
        let kind = question.kinds.first()?;
        let others = |all: &[usize]| {
            let others = all.iter().filter(|at| *at != kind);
            others.map(word).collect::<Vec<String>>().join(" ")
        };
        Some((word(kind), others(&question.names), others(&question.about)))
    }

    #[test]
    fn kind_and_subject_are_read() {
        for (text, kind, names, about) in [
            ("latest release", "release", "", ""),
            ("what is the newest post?", "post", "", ""),
            ("newest blog post", "blog", "post", ""),
            ("the last note about gardens", "note", "", "gardens"),
            ("oldest recipe", "recipe", "", ""),
            ("latest daily note", "daily", "", ""),
            ("most recent release", "release", "", ""),
            ("was ist die neueste Notiz über Gärten", "notiz", "", "garten"),
            ("die letzte Sitzung", "sitzung", "", ""),
            ("la dernière note sur les jardins", "note", "", "jardins"),
            ("la nota más reciente", "nota", "", ""),
            ("último libro", "libro", "", ""),
            ("what did the last release change", "release", "change", ""),
        ] {
            let expected = Some((kind.to_owned(), names.to_owned(), about.to_owned()));
            assert_eq!(parsed(text), expected, "{text}");
        }
        for text in ["release", "at last", "first"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
