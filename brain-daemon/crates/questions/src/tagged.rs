//! Questions for the pages with a tag, in words: `notes tagged evergreen`, `Notizen mit dem
//! Schlagwort evergreen`. No I/O.

use std::ops::Range;

use brain_search::QuestionTerms;

use super::function_words::{begins_with, is_any_page, is_function_word, is_negated};

/// Beginnings of words for tags.
const TAGGED: [&str; 10] = [
    "tagged",
    "marcad",
    "hashtag",
    "labelled",
    "getaggt",
    "schlagw",
    "verschlagwort",
    "etiquet",
    "tague",
    "motcle",
];
/// Nouns and verbs that have other meanings, too. The noun follows a word of [`WITH`], the verb one
/// of [`WRITER`]: `with the tag evergreen`, `what did I tag evergreen`, but not `am Tag der
/// Abreise`.
const TAG: [&str; 6] = ["tag", "tags", "label", "labels", "labeled", "balise"];
const WITH: [&str; 23] = [
    "with", "have", "has", "having", "mit", "haben", "avec", "ont", "con", "tienen", "under",
    "unter", "sous", "bajo", "by", "carry", "carries", "tragt", "tragen", "porte", "portent",
    "lleva", "llevan",
];
const ENGLISH_WITH: [&str; 6] = ["with", "have", "has", "having", "under", "carry"];
const WRITER: [&str; 3] = ["i", "we", "you"];
/// Words beside a tag that only say how it is meant: `with evergreen as tag`.
const AS: [&str; 4] = ["as", "als", "comme", "como"];
/// Articles between a tag and the noun after it: `with evergreen as a tag`.
const ARTICLES: [&str; 9] = ["a", "an", "the", "une", "un", "una", "l", "la", "ein"];
/// German participles with these endings stand before a noun: `mit Herbst getaggte Rezepte`.
const PARTICIPLES: [&str; 2] = ["getaggt", "verschlagwortet"];
const ENDINGS: [&str; 5] = ["e", "en", "er", "es", "em"];
/// Words between several tags.
const AND: [&str; 4] = ["and", "und", "et", "y"];
/// Words between tags of which one suffices.
pub(crate) const OR: [&str; 4] = ["or", "oder", "ou", "o"];
/// Maximum number of words of a tag and of what follows it.
const MAX_TAG_WORDS: usize = 8;
/// Maximum distance of a noun for a tag from its word of [`WITH`]: `with the reading list tag`.
const MAX_DISTANCE: usize = 5;

/// A question for the pages with tags. Its words are indices of [`QuestionTerms::words`].
#[derive(Debug, PartialEq, Eq)]
pub struct TagQuestion {
    /// The word for the kind of the pages, if they must be of a kind.
    pub kind: Option<usize>,
    /// The tags of the pages, each as a range. Words of another condition may follow a tag:
    /// `tagged evergreen about oak`.
    pub tags: Vec<Range<usize>>,
    /// Whether one of the tags suffices: `tagged oak or elm`.
    pub is_any: bool,
}

/// Returns what a question for tagged pages asks for; `None` for any other question.
pub fn tag_question(terms: &QuestionTerms) -> Option<TagQuestion> {
    let question = TagWords { terms };
    let trigger = (0..terms.words.len()).find(|at| question.asks_for_tags(*at));
    if is_negated(terms) {
        return None;
    }
    let Some(trigger) = trigger else { return question.hashtags() };
    match question.is_attributive(trigger) || question.kinds(trigger + 1..usize::MAX).is_empty() {
        true => question.tag_before(trigger),
        false => question.tag_after(trigger),
    }
}

/// The words of a question with a word for tags.
struct TagWords<'a> {
    terms: &'a QuestionTerms,
}

impl TagWords<'_> {
    fn word(&self, at: usize) -> &str {
        self.terms.words.get(at).map_or("", |word| word.text.as_str())
    }

    fn asks_for_tags(&self, at: usize) -> bool {
        let follows = |list: &[&str], distance: usize| {
            (at.saturating_sub(distance)..at).any(|before| list.contains(&self.word(before)))
        };
        let pair = (self.word(at), self.word(at + 1));
        let is_keyword = [("mot", "cle"), ("filed", "under")].contains(&pair);
        begins_with(self.word(at), &TAGGED)
            || is_keyword
            || (TAG.contains(&self.word(at))
                && (follows(&WITH, MAX_DISTANCE) || follows(&WRITER, 1)))
    }

    /// Returns whether the tag stands before the word for tags, and a noun after it:
    /// `evergreen-tagged pages`.
    fn is_attributive(&self, trigger: usize) -> bool {
        let word = self.word(trigger);
        let is_inflected = PARTICIPLES.iter().any(|participle| {
            word.strip_prefix(participle).is_some_and(|ending| ENDINGS.contains(&ending))
        });
        is_inflected || self.is_joined_to_next(trigger.wrapping_sub(1))
    }

    /// Returns whether only marks of one tag are between the words at `at` and after it.
    fn is_joined_to_next(&self, at: usize) -> bool {
        let words = &self.terms.words;
        let (Some(one), Some(next)) = (words.get(at), words.get(at.wrapping_add(1))) else {
            return false;
        };
        let between = self.terms.text.get(one.range.end..next.range.start);
        between.is_some_and(|text| !text.is_empty() && text.chars().all(|c| "-_/".contains(c)))
    }

    /// Returns the words in `range` that can name a kind or a tag.
    fn kinds(&self, range: Range<usize>) -> Vec<usize> {
        let is_kind = |at: &usize| {
            let word = &self.terms.words[*at];
            !is_function_word(word)
                && !is_any_page(word)
                && [&WITH[..], &AS, &TAG, &["mot", "cle", "filed"]]
                    .iter()
                    .all(|list| !list.contains(&word.text.as_str()))
        };
        (range.start..range.end.min(self.terms.words.len())).filter(is_kind).collect()
    }

    /// Reads `tagged with evergreen`, `mit dem Schlagwort „evergreen“`.
    fn tag_after(&self, trigger: usize) -> Option<TagQuestion> {
        let count = self.terms.words.len();
        let is_before_tag = |at: &usize| {
            let word = self.word(*at);
            [&WITH[..], &AS, &TAG].iter().any(|list| list.contains(&word))
                || ["wurden", "sind", "werden", "the", "dem", "cle", "both"].contains(&word)
        };
        let start = (trigger + 1..count).find(|at| !is_before_tag(at))?;
        // `die das Schlagwort Herbst tragen`
        let end = (start..count).rfind(|at| !WITH.contains(&self.word(*at)))? + 1;
        self.question(&self.kinds(0..trigger), start..end)
    }

    /// Reads `mit evergreen getaggt`, `evergreen-tagged pages`, `with the evergreen tag`.
    fn tag_before(&self, trigger: usize) -> Option<TagQuestion> {
        // `with the evergreen tag` is English: `mit der Bahn am Tag` is no question for a tag.
        let is_noun = TAG.contains(&self.word(trigger));
        let has_as = (trigger.saturating_sub(2)..trigger).any(|at| AS.contains(&self.word(at)));
        let begins = |at: &usize| match is_noun && !has_as {
            true => ENGLISH_WITH.contains(&self.word(*at)),
            false => WITH.contains(&self.word(*at)) || AS.contains(&self.word(*at)),
        };
        let mut from =
            (0..trigger).rev().find(|at| begins(at) && !self.kinds(*at..trigger).is_empty());
        if self.is_joined_to_next(trigger.wrapping_sub(1)) {
            from = (0..trigger).rev().take_while(|at| self.is_joined_to_next(*at)).last();
        } else if from.is_none() && is_any_page(self.terms.words.get(trigger + 1)?) {
            from = Some(0);
        }
        let from = from?;
        let is_beside_tag = |at: &usize| {
            let word = self.word(*at);
            [&WITH[..], &AS, &ARTICLES].iter().any(|list| list.contains(&word))
        };
        let first = match self.is_joined_to_next(from) {
            // `to-sort-tagged`
            true => from,
            false => *self.kinds(from..trigger).first()?,
        };
        let tag = first..(first..trigger).rfind(|at| !is_beside_tag(at))? + 1;
        let mut kinds = self.kinds(0..from);
        kinds.extend(self.kinds(trigger + 1..usize::MAX));
        self.question(&kinds, tag)
    }

    /// Reads `#evergreen`, `recipes #autumn #oak`.
    fn hashtags(&self) -> Option<TagQuestion> {
        let is_hashtag = |at: &usize| {
            let before = self.terms.text.get(..self.terms.words[*at].range.start);
            let sign = before.and_then(|text| text.strip_suffix('#'));
            sign.is_some_and(|text| !text.ends_with(|c: char| !c.is_whitespace()))
        };
        let count = self.terms.words.len();
        let mut starts: Vec<usize> = (0..count).filter(is_hashtag).collect();
        let kinds = self.kinds(0..*starts.first()?);
        starts.push(count);
        let tags = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        (kinds.len() < 2).then(|| TagQuestion { kind: kinds.first().copied(), tags, is_any: false })
    }

    /// Returns the question for pages of one of these kinds, at most one, with the tags in `range`.
    fn question(&self, kinds: &[usize], range: Range<usize>) -> Option<TagQuestion> {
        if kinds.len() > 1 || range.len() > MAX_TAG_WORDS {
            return None;
        }
        let words: Vec<usize> = range.collect();
        let has_or = |at: &usize| OR.contains(&self.word(*at));
        let is_any = words.iter().any(has_or);
        let tags: Vec<Range<usize>> = words
            .split(|at| AND.contains(&self.word(*at)) || has_or(at))
            .filter_map(|tag| Some(*tag.first()?..*tag.last()? + 1))
            .collect();
        (!tags.is_empty()).then(|| TagQuestion { kind: kinds.first().copied(), tags, is_any })
    }
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
            ("notes tagged both evergreen and oak", "", "evergreen,oak"),
            ("notes filed under the tag evergreen", "", "evergreen"),
            ("notas marcadas con huerta", "", "huerta"),
            ("what did I tag as evergreen", "", "evergreen"),
            ("which pages did we tag evergreen", "", "evergreen"),
            ("show me the evergreen-tagged notes", "", "evergreen"),
            ("every area/kitchen-tagged recipe", "recipe", "area kitchen"),
            ("all to-read-tagged entries", "", "to read"),
            ("evergreen tagged entries", "", "evergreen"),
            ("notes with the reading list tag", "", "reading list"),
            ("entries with evergreen as a tag", "", "evergreen"),
            ("pages under the label area/kitchen", "", "area kitchen"),
            ("what is tagged “machine learning”?", "", "machine learning"),
            ("everything with the tag machine learning", "", "machine learning"),
            ("books tagged classics and sea", "books", "classics,sea"),
            ("which recipes are tagged with autumn?", "recipes", "autumn"),
            ("show pages that have the hashtag evergreen", "", "evergreen"),
            ("Notizen mit dem Tag immergrün", "", "immergrun"),
            ("alle Notizen mit Schlagwort Garten", "", "garten"),
            ("welche Rezepte sind mit Herbst getaggt", "rezepte", "herbst"),
            ("mit Herbst getaggte Rezepte", "rezepte", "herbst"),
            ("alle mit Herbst und Garten getaggten Seiten", "", "herbst,garten"),
            ("Was habe ich als Entwurf getaggt?", "", "entwurf"),
            ("Einträge, die mit lange-liste getaggt sind", "", "lange liste"),
            ("mit Herbst verschlagwortete Notizen", "", "herbst"),
            ("was hat das Schlagwort Herbst", "", "herbst"),
            ("Seiten, die das Schlagwort Herbst tragen", "", "herbst"),
            ("what is filed under evergreen", "", "evergreen"),
            ("everything under #evergreen", "", "evergreen"),
            ("recipes #autumn #to-read", "recipes", "autumn,to read"),
            ("notes étiquetées jardin", "", "jardin"),
            ("les notes avec l'étiquette jardin", "", "jardin"),
            ("les notes avec le mot-clé jardin", "", "jardin"),
            ("qu'est-ce qui est tagué jardin ?", "", "jardin"),
            ("tout ce que j'ai étiqueté jardin", "", "jardin"),
            ("tout ce qui porte l'étiquette jardin", "", "jardin"),
            ("fiches avec jardin comme étiquette", "", "jardin"),
            ("notas con la etiqueta jardín", "", "jardin"),
            ("notas etiquetadas como jardín", "", "jardin"),
            ("¿qué está etiquetado con jardín?", "", "jardin"),
            ("apuntes con jardín como etiqueta", "apuntes", "jardin"),
        ] {
            let expected = (kind.to_owned(), tags.split(',').map(str::to_owned).collect());
            let expected = Some(expected).filter(|_| !tags.is_empty());
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn one_of_several_tags_suffices_after_or() {
        for (text, is_any) in [
            ("notes tagged oak or elm", true),
            ("Notizen mit dem Schlagwort Eiche oder Ulme", true),
            ("notes tagged oak and elm", false),
        ] {
            let question = tag_question(&terms(text)).unwrap();
            assert_eq!((question.tags.len(), question.is_any), (2, is_any), "{text}");
        }
    }

    #[test]
    fn other_uses_of_the_words_are_no_tags() {
        for text in [
            "am Tag der Abreise",
            "how do tags work",
            "label of the wine",
            "notes not tagged evergreen",
            "Notizen ohne Schlagwort Garten",
            "notas sin la etiqueta jardín",
            "what can I do with a tag",
            "mit der Bahn am Tag",
            "C# code",
            "tagged",
            "",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
