//! Questions about values that pages state in their frontmatter: `which projects are active`,
//! `books I rated 5`, `who wrote Night Ferry`, `status of Night Ferry`. No I/O.

use brain_search::{QuestionTerms, QuestionWord};

use super::forms::{WHICH, WHO, is_possessive};
use super::function_words::{NEGATIONS, is_any_page, is_function_word};
use super::order_words::is_order;
use super::relation_words::{names_relation, relation_of};
use super::times::asks_for_day;

/// Words that widen a condition, besides [`NEGATIONS`]: pages with the value are not the answer.
const NOT_EQUAL: [&str; 26] = [
    "more",
    "less",
    "than",
    "least",
    "most",
    "above",
    "below",
    "over",
    "better",
    "worse",
    "best",
    "worst",
    "mehr",
    "weniger",
    "mindestens",
    "hochstens",
    "besser",
    "plus",
    "moins",
    "mas",
    "menos",
    "since",
    "before",
    "after",
    "until",
    "but",
];
/// Beginnings of words for the same key, besides those of [`relation_of`].
const KEYS: [&[&str]; 13] = [
    &[
        "rating", "rated", "rate", "stars", "score", "bewert", "sterne", "etoile", "calific",
        "puntu", "valor", "gave", "given", "give", "gegeben", "vergeben", "donne",
    ],
    &["status", "state", "estado", "statut", "zustand"],
    &["due", "deadline", "fallig", "frist", "echeance", "vence", "plazo"],
    &["finish", "read", "seen", "saw", "watch", "gelesen", "gesehen", "beendet", "termin", "leido"],
    &[
        "lead",
        "leader",
        "led",
        "leit",
        "dirig",
        "manag",
        "owner",
        "responsab",
        "responsib",
        "verantwort",
    ],
    &["publish", "verlag", "editeur", "editorial"],
    &["direct", "dirig", "regie", "regiss", "realisat", "realise"],
    &["phone", "telephone", "telefon", "mobile"],
    &["city", "town", "stadt", "wohnort", "ville", "ciudad"],
    &["birth", "born", "geburt", "geboren", "naissance", "nacimiento", "nacio", "cumple"],
    &["price", "cost", "preis", "kost", "prix", "cout", "precio", "cuest"],
    &["language", "sprache", "langue", "idioma"],
    &["client", "customer", "kund", "cliente"],
];
/// Nouns beside the word for a key: `phone number`, `birth date`.
const VALUE_NOUNS: [&str; 12] = [
    "number", "address", "date", "day", "value", "nummer", "adresse", "datum", "numero", "fecha",
    "valeur", "wert",
];
/// Words for taking place: `when did the review take place`.
const TAKE_PLACE: [&str; 9] =
    ["take", "place", "eu", "lieu", "tuvo", "lugar", "findet", "stattfand", "stattgefunden"];

/// Forms that are too short for [`KEYS`], or words of another meaning elsewhere, each with a word
/// of its list: `livres lus`, `livres notés 5`.
const FRENCH_FORMS: [(&str, &str); 12] = [
    ("lu", "read"),
    ("lus", "read"),
    ("lue", "read"),
    ("lues", "read"),
    ("vu", "read"),
    ("vus", "read"),
    ("vue", "read"),
    ("vues", "read"),
    ("note", "rating"),
    ("notes", "rating"),
    ("notee", "rating"),
    ("notees", "rating"),
];

/// Returns how similar a word of the question is to a word of a key, 0 to 1.
pub fn key_similarity(word: &QuestionWord, key_word: &str) -> f32 {
    let is_same = |list: &[&str]| {
        let names = |word: &str| names_relation(word, list);
        let is_french = FRENCH_FORMS.iter().any(|(form, key)| *form == word.text && names(key));
        (names(&word.text) || is_french) && names(key_word)
    };
    let is_relation = relation_of(&word.text).is_some_and(|list| names_relation(key_word, list));
    match is_relation || KEYS.iter().any(|list| is_same(list)) {
        true => 1.0,
        false => word.similarity(key_word),
    }
}

/// Returns the words with a meaning in a question for pages with values, as indices of
/// [`QuestionTerms::words`]: the kind of the pages, keys and values.
/// `None` if the question cannot be one.
pub fn property_words(terms: &QuestionTerms) -> Option<Vec<usize>> {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let count = terms.words.len();
    // `the most recently finished book` asks for an order.
    let is_superlative =
        |at: usize| ["most", "plus", "mas"].contains(&word(at)) && is_order(&terms.words, at + 1);
    let is_other = (0..count).any(|at| {
        (is_changed(word(at)) && !is_superlative(at))
            || (at < 2 && (WHO.contains(&word(at)) || asks_for_day(word(at))))
    });
    if is_other {
        return None;
    }
    // `which books did I give 5`: at the beginning, `give` is a request.
    let is_key = |at: usize| at > 1 && names_relation(word(at), KEYS[0]);
    let content: Vec<usize> = (0..count)
        .filter(|&at| is_key(at) || !is_function_word(&terms.words[at]))
        .filter(|&at| !is_order(&terms.words, at) && !is_changed(word(at)))
        .collect();
    (content.len() > 1).then_some(content)
}

/// Returns whether a word turns or widens a condition.
fn is_changed(word: &str) -> bool {
    NEGATIONS.contains(&word) || NOT_EQUAL.contains(&word)
}

/// The words for a value of the named page.
#[derive(Debug, PartialEq, Eq)]
pub struct ValueQuestion {
    /// The words for the key, as indices of [`QuestionTerms::words`]. None for the day of the page
    /// itself: `when was the spring review`.
    pub key: Vec<usize>,
    /// Whether the value must be a day.
    pub is_day: bool,
    /// Whether the value must be a name: `who created Night Ferry` is not answered by a day.
    pub is_name: bool,
}

/// Returns what a question for a value of the named page asks for: `who wrote Night Ferry`. `None`
/// for any other question.
pub fn value_question(terms: &QuestionTerms) -> Option<ValueQuestion> {
    let [subject] = terms.subjects.as_slice() else { return None };
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let is_content = |at: &usize| {
        !subject.words.contains(at)
            && !is_function_word(&terms.words[*at])
            && !asks_for_day(word(*at))
    };
    let is_day = (0..2).any(|at| asks_for_day(word(at)));
    let mut key: Vec<usize> = (0..terms.words.len()).filter(is_content).collect();
    if is_day {
        key.retain(|at| !TAKE_PLACE.contains(&word(*at)));
    }
    if key.len() > 1 {
        key.retain(|at| !VALUE_NOUNS.contains(&word(*at)));
    }
    // `Night Ferry notes` asks for a page: `notes` is no key for its rating.
    let has_page_word = key.iter().any(|at| is_any_page(&terms.words[*at]));
    if (key.is_empty() && !is_day)
        || has_page_word
        || key.len() > 2
        || key.iter().any(|at| is_changed(word(*at)))
    {
        return None;
    }
    let asks = (0..2).any(|at| WHO.contains(&word(at)) || WHICH.contains(&word(at)))
        || ["was", "how", "wie", "comment", "como", "quest"].contains(&word(0));
    // `status of Night Ferry`, `Night Ferry's status`, `Night Ferry status`
    let is_noun = key.len() == 1
        && terms.words.len() <= subject.words.len() + 3
        && (key[0] < subject.words.start
            || key[0] == subject.words.end
            || is_possessive(terms, &subject.words));
    let is_name = (0..2).any(|at| WHO.contains(&word(at)));
    (is_day || asks || is_noun).then_some(ValueQuestion { key, is_day, is_name })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    #[test]
    fn words_with_a_meaning_are_kind_keys_and_values() {
        let words = |text: &str| {
            let terms = terms(text);
            let words: Vec<String> =
                property_words(&terms)?.iter().map(|at| terms.words[*at].text.clone()).collect();
            Some(words.join(" "))
        };
        for (text, expected) in [
            ("which projects are active?", "projects active"),
            ("books I rated 5", "books rated 5"),
            ("how many books by Nadia Holt", "books nadia holt"),
            ("Welche Projekte sind aktiv?", "projekte aktiv"),
            ("quels projets sont actifs ?", "projets actifs"),
            ("¿qué proyectos están activos?", "proyectos activos"),
            ("which books did I give 5?", "books give 5"),
            ("livres notés 5", "livres notes 5"),
            ("the most recently finished book", "finished book"),
            ("le livre lu le plus récent", "livre lu"),
        ] {
            assert_eq!(words(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "which projects are not active",
            "books I rated more than 3",
            "projects active since last May",
            "who leads active projects",
            "Welche Projekte sind nicht aktiv?",
            "projects",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_of_the_named_page_is_asked_for() {
        let key = |text: &str| {
            let terms = terms(text);
            let question = value_question(&terms)?;
            let words: Vec<&str> =
                question.key.iter().map(|at| terms.words[*at].text.as_str()).collect();
            Some((words.join(" "), question.is_day))
        };
        for (text, expected, is_day) in [
            ("who wrote [Night Ferry]?", "wrote", false),
            ("who is the author of [Night Ferry]", "author", false),
            ("status of [Night Ferry]", "status", false),
            ("[Night Ferry]'s status", "status", false),
            ("when is [Night Ferry] due", "due", true),
            ("how did I rate [Night Ferry]", "rate", false),
            ("wer hat [Nachtboot] geschrieben", "geschrieben", false),
            ("qui a écrit [Bateau] ?", "ecrit", false),
            ("¿quién escribió [Barco]?", "escribio", false),
            ("what's the phone number of [Ann Lee]", "phone", false),
            ("wie heißt der Verlag von [Nachtboot]?", "verlag", false),
            ("when was [Night Ferry]?", "", true),
            ("when did [Night Ferry] take place", "", true),
        ] {
            assert_eq!(key(text), Some((expected.to_owned(), is_day)), "{text}");
        }
        for text in [
            "[Night Ferry]",
            "notes of [Night Ferry]",
            "how does [Night Ferry] work at the harbour gate",
            "who wrote",
        ] {
            assert_eq!(key(text), None, "{text}");
        }
    }

    #[test]
    fn words_for_one_key_are_similar() {
        for (word, key) in [
            ("rated", "rating"),
            ("wrote", "author"),
            ("ecrit", "auteur"),
            ("due", "deadline"),
            ("leads", "lead"),
            ("led", "lead"),
            ("finished", "finished"),
            ("directed", "director"),
            ("realise", "director"),
            ("notes", "rating"),
            ("verlag", "publisher"),
            ("saw", "seen"),
        ] {
            assert!(key_similarity(&QuestionWord::new(word), key) >= 0.8, "{word} {key}");
        }
        for (word, key) in [("rated", "status"), ("wrote", "rating"), ("active", "author")] {
            assert!(key_similarity(&QuestionWord::new(word), key) < 0.5, "{word} {key}");
        }
    }
}
