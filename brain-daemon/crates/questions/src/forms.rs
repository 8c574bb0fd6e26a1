//! The form of a question: whether it asks for persons or things, and which words describe their
//! relation to the named page. No I/O.

use std::ops::Range;

use brain_search::{QuestionTerms, QuestionWord};

use super::kinds::is_kind_word;
use super::order_words::is_order;
use super::times::asks_for_day;

/// Words that ask for a person.
pub(crate) const WHO: [&str; 14] = [
    "who", "whom", "whose", "wer", "wem", "wen", "wessen", "qui", "quien", "quienes", "chi",
    "quem", "kto", "кто",
];

/// Words that ask for pages of the kind that the next word names.
pub(crate) const WHICH: [&str; 39] = [
    "which",
    "what",
    "list",
    "show",
    "find",
    "give",
    "name",
    "all",
    "every",
    "any",
    "many",
    "welche",
    "welcher",
    "welches",
    "welchen",
    "welchem",
    "alle",
    "zeige",
    "zeig",
    "liste",
    "nenne",
    "quel",
    "quels",
    "quelle",
    "quelles",
    "tous",
    "toutes",
    "cual",
    "cuales",
    "que",
    "todos",
    "todas",
    "quale",
    "quali",
    "tutti",
    "tutte",
    "какие",
    "какой",
    "все",
];

/// Words that ask for a number, in the first words of a question.
pub const COUNT: [&str; 11] = [
    "many",
    "viele",
    "vielen",
    "combien",
    "cuantos",
    "cuantas",
    "quanti",
    "quante",
    "quantos",
    "quantas",
    "сколько",
];

/// Prepositions between the wanted pages and the named page: `investors of Acme`.
pub(crate) const PREPOSITIONS: [&str; 44] = [
    "of", "at", "in", "into", "with", "from", "for", "by", "on", "to", "about", "an", "bei",
    "beim", "von", "vom", "mit", "aus", "zu", "zum", "zur", "der", "des", "im", "fur", "uber",
    "de", "du", "des", "chez", "avec", "dans", "pour", "del", "con", "en", "para", "di", "da",
    "per", "à", "у", "в", "с",
];

/// Words for the content of a page. They are also headings of lists in pages (`## Notes`), but a
/// question with such a word asks for the named page itself.
pub(crate) const PAGE_CONTENT: [&str; 16] = [
    "note",
    "notes",
    "summary",
    "minutes",
    "agenda",
    "text",
    "page",
    "details",
    "info",
    "infos",
    "content",
    "notiz",
    "notizen",
    "protokoll",
    "seite",
    "inhalt",
];

/// Endings of nouns for persons by their role (`investor`), in English, German, French and Spanish.
const ROLE_ENDINGS: [&str; 31] = [
    "er",
    "ern",
    "ers",
    "or",
    "ors",
    "ee",
    "ees",
    "ist",
    "ists",
    "ant",
    "ants",
    "ian",
    "ians",
    "oren",
    "erin",
    "innen",
    "isten",
    "mitglied",
    "mitglieder",
    "eur",
    "eurs",
    "euse",
    "euses",
    "trice",
    "trices",
    "ora",
    "oras",
    "ores",
    "ante",
    "antes",
    "entes",
];

/// The form of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionForm {
    /// Whether it asks for persons.
    pub asks_for_persons: bool,
    /// Whether it asks for pages of a kind.
    pub asks_for_kind: bool,
    /// Whether it asks for the last or first day of something: `when did I last meet Ann`.
    pub asks_for_first_or_last_day: bool,
    /// Whether the question attaches a word to the name: by a preposition before the name
    /// (`investors of Acme`), by a possessive mark (`Acme's investors`), or by a noun beside it
    /// (`Acme investors`).
    pub is_attached_to_name: bool,
    /// Indices of the words that describe the relation to the named page. Excludes names, stop
    /// words, prepositions, question words, and words for time and for the content of a page.
    pub content: Vec<usize>,
}

/// Returns the form of a question. `None` if it names no page, or does not ask for others.
pub fn question_form(terms: &QuestionTerms) -> Option<QuestionForm> {
    if terms.subjects.is_empty() {
        return None;
    }
    let named = |at: usize| terms.subjects.iter().any(|s| s.words.contains(&at));
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let matches = |at: usize, list: &[&str]| !named(at) && list.contains(&word(at));
    // Question words are at the beginning of a question.
    let asks_for_persons = (0..3).any(|at| matches(at, &WHO));
    let asks_for_kind = (0..3).any(|at| matches(at, &WHICH) || matches(at, &COUNT));
    let asks_for_first_or_last_day = (0..2).any(|at| !named(at) && asks_for_day(word(at)))
        && (0..terms.words.len()).any(|at| is_order(&terms.words, at));
    let follows_preposition = |s: &Range<usize>| {
        // `of the Acme …`
        (1..=2).any(|back| s.start.checked_sub(back).is_some_and(|at| matches(at, &PREPOSITIONS)))
    };
    let content: Vec<usize> = (0..terms.words.len())
        .filter(|&at| !named(at) && !terms.words[at].is_stop_word && word(at).chars().count() > 1)
        .filter(|&at| !is_order(&terms.words, at) && !asks_for_day(word(at)))
        .filter(|&at| {
            [&WHO[..], &WHICH, &COUNT, &PREPOSITIONS, &PAGE_CONTENT]
                .iter()
                .all(|list| !matches(at, list))
        })
        .collect();
    // `Acme investors`, `founder Acme`: the noun is beside the name.
    let is_beside_noun = |s: &Range<usize>| {
        content.len() <= 2
            && content.iter().any(|&at| {
                (at == s.end || at + 1 == s.start)
                    && (is_role_noun(word(at)) || word(at).len() > 4 && is_kind_word(word(at)))
            })
    };
    let is_attached_to_name = terms.subjects.iter().any(|s| {
        follows_preposition(&s.words) || is_possessive(terms, &s.words) || is_beside_noun(&s.words)
    });
    let asks =
        asks_for_persons || asks_for_kind || asks_for_first_or_last_day || is_attached_to_name;
    asks.then_some(QuestionForm {
        asks_for_persons,
        asks_for_kind,
        asks_for_first_or_last_day,
        is_attached_to_name,
        content,
    })
}

/// Returns whether a name ends with a possessive mark, such as `'s`.
pub(crate) fn is_possessive(terms: &QuestionTerms, name: &Range<usize>) -> bool {
    let Some(last) = name.end.checked_sub(1).and_then(|at| terms.words.get(at)) else {
        return false;
    };
    let end = last.range.end;
    let name_text = terms.text.get(last.range.clone()).unwrap_or_default();
    let after = terms.text.get(end..).unwrap_or_default();
    let ends_with_mark =
        |text: &str| ["'s", "’s", "s'", "s’"].iter().any(|mark| text.ends_with(mark));
    let before = terms.words.get(name.start).and_then(|first| terms.text.get(..first.range.start));
    let is_quote = before.is_some_and(|text| text.ends_with(['\'', '’', '‘']));
    ends_with_mark(name_text) || (!is_quote && after.starts_with(['\'', '’']))
}

/// Returns whether a word may name persons by their role: `investors`, `director`, `Teilnehmer`.
pub fn is_role_noun(word: &str) -> bool {
    word.len() > 4 && ROLE_ENDINGS.iter().any(|end| word.ends_with(end))
}

/// Returns the verb in a noun for persons by their role: `work` in `workers`.
pub fn role_root(word: &str) -> Option<&str> {
    const ENDINGS: [&str; 23] = [
        "adores", "adoras", "ateurs", "atrice", "ateur", "adora", "ador", "innen", "eurs", "ores",
        "ants", "eur", "ers", "ors", "ees", "ern", "ant", "in", "er", "or", "ee", "es", "s",
    ];
    let root = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending))?;
    (root.len() >= 4).then_some(root)
}

/// Returns related forms of a word that have another stem: the verb of a noun for persons, and a
/// German participle without its prefix (`gegründet`).
pub fn other_forms(word: &str) -> Vec<QuestionWord> {
    let participle = word.strip_prefix("ge").filter(|rest| {
        rest.len() >= 4 && ["t", "te", "ten", "ter", "tes", "en"].iter().any(|e| rest.ends_with(e))
    });
    let root = role_root(word).filter(|_| is_role_noun(word));
    participle.into_iter().chain(root).map(QuestionWord::new).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use brain_search::{Subject, each_word};

    /// Parses a question whose subject is in brackets.
    pub(in super::super) fn terms(text: &str) -> QuestionTerms {
        let (before, rest) = text.split_once('[').unwrap_or((text, ""));
        let (name, after) = rest.split_once(']').unwrap_or((rest, ""));
        let plain = format!("{before}{name}{after}");
        let (mut words, mut at) = (Vec::new(), 0);
        let folded = |c: char| {
            let mut folded = String::new();
            each_word(c.encode_utf8(&mut [0; 4]), &mut |word| folded.push_str(word));
            folded
        };
        each_word(&plain, &mut |word| {
            let first = &word[..word.chars().next().map_or(0, char::len_utf8)];
            let found = plain[at..].char_indices().find(|(_, c)| folded(*c).starts_with(first));
            let from = found.map_or(at, |(found, _)| at + found);
            let letters = plain[from..].chars().take(word.chars().count());
            at = from + letters.map(char::len_utf8).sum::<usize>();
            let mut word = QuestionWord::new(word);
            word.range = from..at;
            words.push(word);
        });
        let inside = before.len()..before.len() + name.len();
        let within: Vec<usize> =
            (0..words.len()).filter(|&n| inside.contains(&words[n].range.start)).collect();
        let subjects = match (within.first(), within.last()) {
            (Some(first), Some(last)) => vec![Subject { words: *first..last + 1, pages: vec![1] }],
            _ => Vec::new(),
        };
        for word in &mut words {
            word.is_stop_word =
                ["did", "the", "is", "of", "at", "in", "hat"].contains(&word.text.as_str());
        }
        QuestionTerms { text: plain, words, subjects }
    }

    fn content(text: &str) -> Vec<String> {
        let terms = terms(text);
        let form = question_form(&terms).unwrap();
        form.content.iter().map(|&at| terms.words[at].text.clone()).collect()
    }

    #[test]
    fn forms_are_recognised() {
        let of = |text: &str| {
            question_form(&terms(text))
                .map(|f| (f.asks_for_persons, f.asks_for_kind, f.is_attached_to_name))
        };
        assert_eq!(of("Who attended [Acme Board]?"), Some((true, false, false)));
        assert_eq!(of("Which companies did [Mia Brown] invest in?"), Some((false, true, false)));
        assert_eq!(of("people at [Acme]"), Some((false, false, true)));
        assert_eq!(of("investors of the [Acme]"), Some((false, false, true)));
        assert_eq!(of("Wer hat an [Acme Board] teilgenommen?"), Some((true, false, true)));
        assert_eq!(of("[Acme] latency"), None);
        assert_eq!(of("[Acme] investors"), Some((false, false, true)));
        assert_eq!(of("[Acme]' latency"), Some((false, false, true)));
        assert_eq!(of("'[Acme]' latency"), None, "quoted");
        assert_eq!(of("who attended the board"), None);
    }

    #[test]
    fn content_excludes_question_words() {
        assert_eq!(content("Who attended [Acme Board]?"), ["attended"]);
        assert_eq!(content("Wer hat an [Acme Board] teilgenommen?"), ["teilgenommen"]);
        assert!(content("notes from the [Acme Board]").is_empty());
        assert_eq!(content("Which companies did [Mia Brown] invest in?"), ["companies", "invest"]);
    }

    #[test]
    fn role_nouns_end_like_persons() {
        assert!(is_role_noun("investors") && is_role_noun("teilnehmer") && !is_role_noun("budget"));
    }
}
