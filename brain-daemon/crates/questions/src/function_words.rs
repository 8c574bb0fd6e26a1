//! Words of questions that have only a grammatical function, in English, German, French and
//! Spanish, without accents. Stop words of the index are known for the languages of the pages; a
//! question may have another one. No I/O.

use brain_search::{QuestionTerms, QuestionWord};

use super::forms::{COUNT, PREPOSITIONS, WHICH, WHO};

/// Pronouns, articles, auxiliaries and verbs without a meaning of their own.
const FUNCTION_WORDS: [&str; 196] = [
    "i",
    "we",
    "you",
    "he",
    "she",
    "it",
    "they",
    "me",
    "my",
    "our",
    "your",
    "the",
    "a",
    "an",
    "is",
    "are",
    "am",
    "was",
    "were",
    "be",
    "been",
    "do",
    "does",
    "did",
    "have",
    "has",
    "had",
    "that",
    "there",
    "this",
    "these",
    "those",
    "where",
    "when",
    "how",
    "what",
    "please",
    "ever",
    "so",
    "far",
    "held",
    "happened",
    "took",
    "place",
    "can",
    "could",
    "would",
    "should",
    "tell",
    "and",
    "or",
    "ich",
    "wir",
    "du",
    "er",
    "sie",
    "es",
    "mir",
    "mein",
    "meine",
    "meinen",
    "meiner",
    "unsere",
    "die",
    "das",
    "dem",
    "den",
    "ein",
    "eine",
    "einen",
    "einem",
    "einer",
    "ist",
    "sind",
    "war",
    "waren",
    "hat",
    "habe",
    "haben",
    "hatte",
    "hatten",
    "wird",
    "wurde",
    "wurden",
    "gibt",
    "gab",
    "fand",
    "fanden",
    "statt",
    "wo",
    "wann",
    "wie",
    "und",
    "oder",
    "hier",
    "bitte",
    "heisst",
    "heissen",
    "appelle",
    "llama",
    "je",
    "j",
    "jai",
    "nous",
    "on",
    "tu",
    "vous",
    "il",
    "elle",
    "ils",
    "elles",
    "mon",
    "ma",
    "mes",
    "le",
    "la",
    "les",
    "l",
    "un",
    "une",
    "est",
    "sont",
    "etait",
    "etaient",
    "ai",
    "as",
    "avons",
    "avez",
    "ont",
    "avait",
    "ete",
    "ou",
    "quand",
    "comment",
    "quest",
    "ce",
    "cet",
    "cette",
    "ces",
    "qu",
    "quoi",
    "et",
    "y",
    "yo",
    "nosotros",
    "mi",
    "mis",
    "el",
    "los",
    "las",
    "lo",
    "una",
    "son",
    "fue",
    "fueron",
    "era",
    "estaba",
    "estan",
    "esta",
    "estuvo",
    "hemos",
    "ha",
    "han",
    "hay",
    "hubo",
    "tuve",
    "donde",
    "cuando",
    "como",
    "se",
    "quelles",
    "entre",
    "au",
    "aux",
    "al",
    "auf",
    "sur",
    "sobre",
    "vers",
    "hacia",
    "als",
    "seit",
    "dont",
    "welche",
    "ins",
    "still",
    "currently",
    "now",
    "noch",
    "gerade",
    "derzeit",
    "encore",
    "actuellement",
    "todavia",
    "aun",
    "ahora",
];

/// Nouns for any page: they name no kind.
const ANY_PAGE: [&str; 32] = [
    "note",
    "notes",
    "page",
    "pages",
    "entry",
    "entries",
    "file",
    "files",
    "document",
    "documents",
    "everything",
    "anything",
    "things",
    "stuff",
    "notiz",
    "notizen",
    "seite",
    "seiten",
    "eintrag",
    "eintrage",
    "dokument",
    "dokumente",
    "alles",
    "fiche",
    "fiches",
    "tout",
    "nota",
    "notas",
    "pagina",
    "paginas",
    "entradas",
    "todo",
];

/// Nouns for any page of a kind that another word names: `blog post`.
const ITEM: [&str; 18] = [
    "post",
    "posts",
    "article",
    "articles",
    "entry",
    "entries",
    "item",
    "items",
    "beitrag",
    "beitrage",
    "artikel",
    "eintrag",
    "eintrage",
    "billet",
    "billets",
    "articulo",
    "articulos",
    "entrada",
];

/// Words that turn a condition: pages that meet it are not the answer.
pub(crate) const NEGATIONS: [&str; 67] = [
    "not", "no", "isnt", "arent", "wasnt", "werent", "doesnt", "dont", "didnt", "hasnt", "havent",
    "hadnt", "cant", "cannot", "couldnt", "wont", "wouldnt", "shouldnt", "never", "nobody", "none",
    "nothing", "neither", "nor", "without", "except", "nicht", "nichts", "kein", "keine", "keinen",
    "keinem", "keiner", "keines", "nie", "niemals", "niemand", "weder", "ohne", "ausser", "pas",
    "ne", "jamais", "aucun", "aucune", "rien", "sans", "sauf", "excepte", "hormis", "nunca",
    "jamas", "ningun", "ninguna", "ninguno", "nadie", "tampoco", "sin", "salvo", "excepto",
    "nowhere", "nirgends", "nulle", "nao", "nenhum", "nenhuma", "ninguem",
];
/// Words of Portuguese that the other languages with the negation `no` do not have. Beside them,
/// `no` is a preposition with an article: `notas no projeto`.
const PORTUGUESE: [&str; 26] = [
    "em",
    "na",
    "nas",
    "um",
    "uma",
    "das",
    "ao",
    "aos",
    "pela",
    "quem",
    "quais",
    "foi",
    "foram",
    "onde",
    "meu",
    "minha",
    "meus",
    "minhas",
    "escrevi",
    "anotei",
    "reuniao",
    "reunioes",
    "projeto",
    "anotacoes",
    "caderno",
    "estavamos",
];

/// Words for people who are not at an event.
const ABSENCE: [&str; 8] =
    ["absent", "absents", "absente", "absentes", "abwesend", "abwesende", "ausente", "ausentes"];

/// Returns whether the word turns a condition.
pub fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

/// Returns whether the word means people who are not at an event.
pub fn names_absence(word: &str) -> bool {
    ABSENCE.contains(&word)
}

/// Returns whether a question asks for what does not meet a condition: `which notes do not mention
/// Acme`. Words of a name of several words turn nothing: `Life Without Principle`.
pub fn is_negated(terms: &QuestionTerms) -> bool {
    let is_in_name = |at: usize| {
        terms.subjects.iter().any(|name| name.words.len() > 1 && name.words.contains(&at))
    };
    terms.words.iter().enumerate().any(|(at, word)| {
        // At the end, it is the English noun.
        let is_noun = word.text == "sin" && at + 1 == terms.words.len();
        let is_preposition = word.text == "no" && is_portuguese(terms);
        is_negation(&word.text) && !is_noun && !is_preposition && !is_in_name(at)
    })
}

fn is_portuguese(terms: &QuestionTerms) -> bool {
    terms.words.iter().any(|word| PORTUGUESE.contains(&word.text.as_str()))
}

/// Returns whether the word has only a grammatical function, or belongs to the form of questions.
pub fn is_function_word(word: &QuestionWord) -> bool {
    let text = word.text.as_str();
    word.is_stop_word
        || [&FUNCTION_WORDS[..], &PREPOSITIONS, &WHO, &WHICH, &COUNT]
            .iter()
            .any(|list| list.contains(&text))
}

/// Words of [`ANY_PAGE`] that also mean a folder `notes`, if there is one.
const NOTE: [&str; 6] = ["note", "notes", "notiz", "notizen", "nota", "notas"];

/// Returns the word as it names a folder: `notes` for a word of any language for it.
pub fn folder_word(word: &QuestionWord) -> QuestionWord {
    match NOTE.contains(&word.text.as_str()) {
        true => QuestionWord::new("notes"),
        false => word.clone(),
    }
}

/// Returns whether the word stands for any page, as `notes` does.
pub fn is_any_page(word: &QuestionWord) -> bool {
    ANY_PAGE.contains(&word.text.as_str())
}

/// Returns whether the word stands for any page of a kind that another word names, as `post` does in
/// `blog post`.
pub fn is_item(word: &QuestionWord) -> bool {
    ITEM.contains(&word.text.as_str())
}

/// Returns whether `word` begins with one of `beginnings` and has only a short ending.
pub(crate) fn begins_with(word: &str, beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|begin| word.strip_prefix(begin).is_some_and(|end| end.len() <= begin.len() / 2 + 3))
}

#[cfg(test)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    #[test]
    fn negative_questions_are_known_in_four_languages() {
        for text in [
            "which notes do not mention Acme",
            "which notes don't mention Acme",
            "who wasn’t at the kickoff",
            "which notes are not tagged evergreen",
            "notes tagged work but not draft",
            "notes without the tag evergreen",
            "all meetings except those with Ann",
            "pages that nothing links to",
            "who never attended a review",
            "wer war nicht beim [Kickoff]",
            "welche Notizen haben kein Schlagwort Garten",
            "Notizen ohne Schlagwort Garten",
            "alle Notizen außer denen mit Acme",
            "quelles notes ne mentionnent pas Bateau",
            "qui n'était pas à la réunion",
            "notes sans l'étiquette jardin",
            "qué notas no mencionan Barco",
            "notas sin la etiqueta jardín",
            "no tengo notas de Barco",
            "quais notas não mencionam [Barco]",
            "nenhuma nota no projeto",
            "who was [not] there",
        ] {
            assert!(is_negated(&terms(text)), "{text}");
        }
        for text in [
            "which notes mention Acme",
            "who wrote [Life Without Principle]",
            "which notes mention [Not Invented Here]",
            "which notes mention sin",
            "quel est le but de Bateau",
            "notes about knots",
            "o que escrevi no caderno",
            "reuniões no [Porto]",
            "quem foi visto no encontro",
            "",
        ] {
            assert!(!is_negated(&terms(text)), "{text}");
        }
    }
}
