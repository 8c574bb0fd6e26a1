//! Questions for the pages with a tag, in words: `notes tagged evergreen`, `Notizen mit dem
//! Schlagwort evergreen`. No I/O.

use std::ops::Range;

use brain_search::QuestionTerms;

use super::function_words::{begins_with, is_any_page, is_function_word};

/// Beginnings of words for tags.
const TAGGED: [&str; 9] = [
    "tagged",
    "hashtag",
    "labelled",
    "getaggt",
    "schlagw",
    "verschlagwort",
    "etiquet",
    "tague",
    "motcle",
];
/// Nouns that have other meanings, too. They follow a word of [`WITH`]: `with the tag evergreen`,
/// but not `am Tag der Abreise`.
const TAG: [&str; 6] = ["tag", "tags", "label", "labels", "labeled", "balise"];
const WITH: [&str; 12] = [
    "with", "have", "has", "having", "mit", "haben", "avec", "ont", "con", "tienen", "under", "by",
];
/// Words between several tags.
const AND: [&str; 4] = ["and", "und", "et", "y"];
/// Maximum number of words of a tag and of what follows it.
const MAX_TAG_WORDS: usize = 8;

/// A question for the pages with tags. Its words are indices of [`QuestionTerms::words`].
#[derive(Debug, PartialEq, Eq)]
pub struct TagQuestion {
    /// The word for the kind of the pages, if they must be of a kind.
    pub kind: Option<usize>,
    /// The words after the word for `tagged`: the tags of the pages, each as a range. Words of
    /// another condition may follow a tag: `tagged evergreen about oak`.
    pub tags: Vec<Range<usize>>,
}

/// Returns what a question for tagged pages asks for; `None` for any other question.
pub fn tag_question(terms: &QuestionTerms) -> Option<TagQuestion> {
    let words = &terms.words;
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let trigger = (0..words.len()).find(|&at| {
        begins_with(word(at), &TAGGED)
            || (TAG.contains(&word(at))
                && (at.saturating_sub(3)..at).any(|before| WITH.contains(&word(before))))
    })?;
    let mut before = (0..trigger)
        .filter(|&at| !is_function_word(&words[at]) && !is_any_page(&words[at]))
        .filter(|&at| !WITH.contains(&word(at)));
    let kind = before.next();
    if before.next().is_some() || words.len() - trigger > MAX_TAG_WORDS {
        return None;
    }
    // `tagged with evergreen`, `mit dem Schlagwort „evergreen“`
    let is_before_tag = |at: &usize| {
        let word = &words[*at];
        WITH.contains(&word.text.as_str())
            || TAG.contains(&word.text.as_str())
            || ["as", "als", "comme", "como", "wurden", "sind", "werden", "the", "dem"]
                .contains(&word.text.as_str())
    };
    let start = (trigger + 1..words.len()).find(|at| !is_before_tag(at))?;
    let after: Vec<usize> = (start..words.len()).collect();
    let tags: Vec<Range<usize>> = after
        .split(|at| AND.contains(&word(*at)))
        .filter_map(|tag| Some(*tag.first()?..*tag.last()? + 1))
        .collect();
    (!tags.is_empty()).then_some(TagQuestion { kind, tags })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    /// Returns the kind and the tags.
    fn parsed(text: &str) -> Option<(String, Vec<String>)> {
        let terms = terms(text);
        let question = tag_question(&terms)?;
        let word = |at: usize| terms.words[at].text.clone();
        let tag = |range: Range<usize>| range.map(word).collect::<Vec<_>>().join(" ");
        Some((
            question.kind.map(word).unwrap_or_default(),
            question.tags.into_iter().map(tag).collect(),
        ))
    }

    #[test]
    fn tags_are_read_in_four_languages() {
        for (text, kind, tags) in [
            ("notes tagged evergreen", "", "evergreen"),
            ("what did I tag as evergreen", "", ""),
            ("everything with the tag machine learning", "", "machine learning"),
            ("books tagged classics and sea", "books", "classics,sea"),
            ("which recipes are tagged with autumn?", "recipes", "autumn"),
            ("show pages that have the hashtag evergreen", "", "evergreen"),
            ("Notizen mit dem Tag immergrün", "", "immergrun"),
            ("alle Notizen mit Schlagwort Garten", "", "garten"),
            ("welche Rezepte sind mit Herbst getaggt", "", ""),
            ("notes étiquetées jardin", "", "jardin"),
            ("les notes avec l'étiquette jardin", "", "jardin"),
            ("notas con la etiqueta jardín", "", "jardin"),
            ("notas etiquetadas como jardín", "", "jardin"),
        ] {
            let expected = (kind.to_owned(), tags.split(',').map(str::to_owned).collect());
            let expected = Some(expected).filter(|_| !tags.is_empty());
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn other_uses_of_the_words_are_no_tags() {
        for text in ["am Tag der Abreise", "how do tags work", "label of the wine", "tagged", ""] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
