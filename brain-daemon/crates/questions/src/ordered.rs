//! Questions for the newest or oldest page of a kind: `latest release`, `the last note about
//! gardens`. No I/O.

use brain_search::QuestionTerms;

use super::function_words::{is_any_page, is_function_word};
use super::order_words::{is_most, is_order};

/// Maximum distance of the noun from the word for the order: `the last big team meeting`, `note la
/// plus récente`.
const MAX_DISTANCE: usize = 3;
/// Words before what the pages are about, or whom they are with.
const ABOUT: [&str; 31] = [
    "about",
    "on",
    "mentioning",
    "regarding",
    "with",
    "of",
    "for",
    "in",
    "from",
    "by",
    "uber",
    "zu",
    "zum",
    "mit",
    "von",
    "vom",
    "bei",
    "beim",
    "fur",
    "sur",
    "avec",
    "de",
    "du",
    "des",
    "d",
    "pour",
    "chez",
    "sobre",
    "con",
    "del",
    "para",
];
/// Words that strengthen an order: `the very last invoice`.
const STRENGTHENING: [&str; 7] = ["most", "very", "toute", "tout", "aller", "one", "ones"];
/// Number of words of a question that are compared with kinds.
const MAX_KINDS: usize = 4;

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
    let first = (0..words.len()).find(|&at| is_order(words, at))?;
    let order = (first..words.len()).take_while(|at| is_order(words, *at)).last()?;
    let is_content = |at: &usize| {
        !is_function_word(&words[*at])
            && !is_order(words, *at)
            && !STRENGTHENING.contains(&words[*at].text.as_str())
    };
    let nouns: Vec<usize> = (0..words.len()).filter(is_content).collect();
    // `la facture de gaz la plus récente`: the kind is the first noun.
    let is_superlative = order.checked_sub(1).is_some_and(|before| is_most(words, before));
    let is_at_end = is_superlative && nouns.iter().all(|at| *at < order);
    let distance = if is_at_end { usize::MAX } else { MAX_DISTANCE };
    let is_near = |at: &usize| at.abs_diff(order) <= distance;
    let any_page = nouns.iter().copied().find(|at| is_any_page(&words[*at]) && is_near(at));
    let mut kinds: Vec<usize> =
        nouns.iter().copied().filter(|at| is_near(at) && Some(*at) != any_page).collect();
    // `latest daily note`, but not `last note about gardens`
    let is_beside = |at: usize| {
        any_page.is_none_or(|noun| if is_at_end { at < noun } else { at.max(order) < noun })
    };
    kinds.sort_by_key(|at| (!is_beside(*at), if is_at_end { *at } else { at.abs_diff(order) }));
    let place = kinds.iter().filter(|at| is_beside(**at)).count();
    kinds.splice(place..place, any_page);
    kinds.truncate(MAX_KINDS);
    if kinds.is_empty() {
        return None;
    }
    // `the latest of my invoices`: a preposition before the first noun belongs to the order.
    let noun = nouns.iter().copied().find(|at| is_at_end || *at > order).unwrap_or(order);
    let about = (noun..words.len()).find(|&at| ABOUT.contains(&words[at].text.as_str()));
    let others = nouns.into_iter().filter(|at| Some(*at) != any_page);
    let (about, names) = others.partition(|at| about.is_some_and(|about| *at > about));
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
            ("le dernier devis", "devis", "", ""),
            ("devis le plus ancien", "devis", "", ""),
            ("quel est mon tout dernier devis ?", "devis", "", ""),
            ("devis du plombier le plus récent", "devis", "", "plombier"),
            ("la note sur les ruches la plus ancienne", "note", "", "ruches"),
            ("la plus récente de mes lettres", "lettres", "", ""),
            ("el pedido más antiguo", "pedido", "", ""),
            ("la nota sobre colmenas más antigua", "nota", "", "colmenas"),
            ("mein ältester Brief", "brief", "", ""),
            ("die jüngste Mail vom Vermieter", "mail", "", "vermieter"),
            ("the very last letter from Ann", "letter", "", "ann"),
            ("the latest of my letters", "letters", "", ""),
            ("which letter is the oldest", "letter", "", ""),
        ] {
            let expected = Some((kind.to_owned(), names.to_owned(), about.to_owned()));
            assert_eq!(parsed(text), expected, "{text}");
        }
        for text in ["release", "at last", "first"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
