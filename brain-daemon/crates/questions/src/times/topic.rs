//! Words of a question that say nothing about the text of a page: those of the grammar, and those
//! for any page (`notes`) or for writing (`wrote`). In lower case and without accents.

use std::ops::Range;

use super::tokens::{TimeToken, tokens};
use super::words;

/// Words for any page.
const PAGES: [&str; 47] = [
    "note",
    "notes",
    "entry",
    "entries",
    "page",
    "pages",
    "journal",
    "journals",
    "diary",
    "log",
    "logs",
    "post",
    "posts",
    "item",
    "items",
    "memo",
    "memos",
    "things",
    "stuff",
    "notiz",
    "notizen",
    "eintrag",
    "eintrage",
    "eintragen",
    "tagebucheintrag",
    "tagebucheintrage",
    "seite",
    "seiten",
    "tagebuch",
    "beitrage",
    "entree",
    "entrees",
    "carnet",
    "nota",
    "notas",
    "entrada",
    "entradas",
    "pagina",
    "paginas",
    "diario",
    "apuntes",
    "appunti",
    "notities",
    "pagine",
    "anotacoes",
    "dagboek",
    "aufzeichnungen",
];
/// Words for writing.
const WRITING: [&str; 61] = [
    "write",
    "writes",
    "wrote",
    "written",
    "writing",
    "writings",
    "noted",
    "jot",
    "jotted",
    "record",
    "recorded",
    "capture",
    "captured",
    "create",
    "created",
    "add",
    "added",
    "edit",
    "edited",
    "change",
    "changed",
    "update",
    "updated",
    "schreiben",
    "schrieb",
    "schrieben",
    "geschrieben",
    "notiert",
    "notierte",
    "erstellt",
    "bearbeitet",
    "geandert",
    "verfasst",
    "festgehalten",
    "ecrire",
    "ecrit",
    "ecris",
    "ecrite",
    "ecrites",
    "ecrits",
    "notee",
    "notees",
    "cree",
    "crees",
    "modifie",
    "modifiees",
    "redige",
    "redigees",
    "escribir",
    "escribi",
    "escrito",
    "escrita",
    "escritas",
    "escritos",
    "escribimos",
    "anote",
    "anotado",
    "creadas",
    "escrevi",
    "scritto",
    "geschreven",
];
/// Words for something that took place.
const HAPPENING: [&str; 47] = [
    "happen",
    "happens",
    "happened",
    "happening",
    "take",
    "took",
    "taken",
    "place",
    "going",
    "up",
    "go",
    "went",
    "occurred",
    "occur",
    "do",
    "did",
    "done",
    "doing",
    "passiert",
    "passierte",
    "geschah",
    "geschehen",
    "gab",
    "fand",
    "fanden",
    "statt",
    "stattgefunden",
    "los",
    "getan",
    "gemacht",
    "passe",
    "passee",
    "eu",
    "lieu",
    "arrive",
    "arrivee",
    "fait",
    "paso",
    "pasado",
    "ocurrio",
    "sucedio",
    "hubo",
    "hice",
    "hicimos",
    "hecho",
    "aconteceu",
    "successo",
];
/// Words of the grammar, and those that ask for pages.
const GRAMMAR: [&str; 172] = [
    "i",
    "me",
    "my",
    "mine",
    "we",
    "us",
    "our",
    "you",
    "have",
    "has",
    "had",
    "was",
    "were",
    "is",
    "are",
    "be",
    "been",
    "what",
    "which",
    "where",
    "when",
    "who",
    "there",
    "the",
    "a",
    "an",
    "of",
    "from",
    "in",
    "on",
    "at",
    "for",
    "to",
    "during",
    "and",
    "or",
    "that",
    "this",
    "those",
    "these",
    "all",
    "any",
    "every",
    "everything",
    "anything",
    "something",
    "some",
    "show",
    "list",
    "find",
    "give",
    "get",
    "see",
    "search",
    "tell",
    "please",
    "back",
    "it",
    "s",
    "ve",
    "dated",
    "date",
    "around",
    "ich",
    "mir",
    "mich",
    "wir",
    "uns",
    "unsere",
    "mein",
    "meine",
    "meinen",
    "meiner",
    "habe",
    "haben",
    "hat",
    "hatte",
    "war",
    "waren",
    "ist",
    "sind",
    "wurde",
    "wurden",
    "welche",
    "welcher",
    "welches",
    "wo",
    "wann",
    "der",
    "die",
    "das",
    "den",
    "dem",
    "des",
    "im",
    "am",
    "vom",
    "von",
    "aus",
    "zu",
    "alle",
    "alles",
    "zeig",
    "zeige",
    "es",
    "und",
    "zum",
    "je",
    "j",
    "ai",
    "nous",
    "avons",
    "mes",
    "mon",
    "ma",
    "nos",
    "notre",
    "qu",
    "que",
    "quoi",
    "quel",
    "quelle",
    "quelles",
    "quels",
    "est",
    "ce",
    "c",
    "sont",
    "le",
    "la",
    "les",
    "l",
    "du",
    "de",
    "d",
    "en",
    "au",
    "aux",
    "et",
    "tout",
    "toutes",
    "tous",
    "ont",
    "y",
    "il",
    "ete",
    "montre",
    "se",
    "yo",
    "mis",
    "mi",
    "nuestras",
    "he",
    "hemos",
    "lo",
    "las",
    "los",
    "el",
    "del",
    "un",
    "una",
    "por",
    "fue",
    "fueron",
    "todo",
    "todas",
    "muestra",
    "cuales",
    "cual",
    "quais",
    "eu",
    "ho",
];
/// Verbs directly before the name of a person: `what did Jan write`, `was schrieb Jan`.
const BEFORE_NAME: [&str; 13] = [
    "did", "does", "has", "had", "hat", "hatte", "schrieb", "ha", "avait", "escribio", "escreveu",
    "heeft", "schreef",
];
/// Words of French questions after which `a` is a verb: `qu'a Jan écrit`.
const BEFORE_FRENCH_VERB: [&str; 4] = ["qu", "que", "ou", "quand"];
/// Verbs directly after the name of a person who writes: `what Jan wrote`, `ce que Jan a écrit`.
const AFTER_NAME: [&str; 31] = [
    "has",
    "had",
    "wrote",
    "writes",
    "noted",
    "jotted",
    "recorded",
    "captured",
    "created",
    "added",
    "edited",
    "changed",
    "updated",
    "hat",
    "hatte",
    "schrieb",
    "geschrieben",
    "notiert",
    "notierte",
    "erstellt",
    "bearbeitet",
    "verfasst",
    "festgehalten",
    "a",
    "avait",
    "ha",
    "escribio",
    "escreveu",
    "heeft",
    "schreef",
    "geschreven",
];
/// Subjects beside which the name of a month is no subject: `was habe ich Januar geschrieben`.
const WRITERS: [&str; 7] = ["i", "we", "you", "ich", "wir", "je", "nous"];

/// Returns whether the token `at` is the French verb `a`, which is a preposition in other languages.
pub(super) fn is_french_verb(tokens: &[TimeToken], at: usize) -> bool {
    is_one_of(tokens.get(at), &["a"]) && is_one_of(before(tokens, at), &BEFORE_FRENCH_VERB)
}

/// Words before a person who wrote something.
const BY: [&str; 5] = ["by", "von", "par", "por", "door"];
/// Words before the English verb `may`: `what may change`, `notes that may be old`.
const BEFORE_MAY: [&str; 20] = [
    "what", "which", "who", "that", "it", "i", "we", "you", "they", "he", "she", "this", "there",
    "how", "notes", "pages", "entries", "things", "changes", "posts",
];

/// Returns whether a time of one word is a person to whom something belongs, or who made it:
/// `Jan's notes`, `notes by Jan`. Only names of times that are first names, too.
pub(super) fn is_owner(tokens: &[TimeToken], time: Range<usize>) -> bool {
    let can_be_name = is_one_of(tokens.get(time.start), &words::FIRST_NAMES);
    // An apostrophe separates the words `Jan` and `s`.
    let is_possessive = is_one_of(tokens.get(time.end), &["s"]);
    time.len() == 1 && can_be_name && (is_possessive || is_one_of(before(tokens, time.start), &BY))
}

/// Returns whether the token `at` is the English verb `may`.
fn is_verb_may(tokens: &[TimeToken], at: usize) -> bool {
    let is_number = |token: &TimeToken| token.text.starts_with(|c: char| c.is_ascii_digit());
    is_one_of(tokens.get(at), &["may"])
        && is_one_of(before(tokens, at), &BEFORE_MAY)
        && tokens.get(at + 1).is_some_and(|next| !is_number(next))
}

/// Returns whether a time of one word is the subject of a verb, so that it names a person: `Jan` in
/// `what did Jan write`. Also if it is a verb itself: `what may change`.
pub(super) fn is_subject(tokens: &[TimeToken], time: Range<usize>) -> bool {
    let previous = before(tokens, time.start);
    let has_verb_before = is_one_of(previous, &BEFORE_NAME)
        || (time.start > 0 && is_french_verb(tokens, time.start - 1));
    let has_verb_after =
        is_one_of(tokens.get(time.end), &AFTER_NAME) && !is_one_of(previous, &WRITERS);
    time.len() == 1 && (has_verb_before || has_verb_after || is_verb_may(tokens, time.start))
}

fn before(tokens: &[TimeToken], at: usize) -> Option<&TimeToken> {
    tokens.get(at.checked_sub(1)?)
}

fn is_one_of(token: Option<&TimeToken>, list: &[&str]) -> bool {
    token.is_some_and(|token| list.contains(&token.text.as_str()))
}

/// Returns whether a word is about pages or writing.
pub(super) fn is_about_pages(word: &str) -> bool {
    PAGES.contains(&word) || WRITING.contains(&word)
}

fn is_general(word: &str) -> bool {
    is_about_pages(word) || HAPPENING.contains(&word) || GRAMMAR.contains(&word)
}

/// Returns whether the tokens outside `time` say nothing about a page, and one of them is about
/// pages in general.
pub(super) fn is_empty_beside(tokens: &[TimeToken], time: Range<usize>) -> bool {
    let others = tokens.iter().enumerate().filter(|(at, _)| !time.contains(at));
    let mut others = others.map(|(_, token)| token.text.as_str());
    others.clone().all(is_general) && others.any(is_about_pages)
}

/// Returns a question without the words that say nothing about the text of a page. Operators,
/// filters and quoted text are kept.
pub(super) fn topic(text: &str) -> String {
    if text.contains(['"', '“', '”', '„', '«', '»', '「', '『']) {
        return text.to_owned();
    }
    let is_general = |word: &&str| {
        let is_operator = word.starts_with('-') || word.ends_with('*') || word.contains([':', '#']);
        let says_nothing =
            |token: &TimeToken| is_general(&token.text) || super::is_order_word(&token.text);
        !is_operator && tokens(word).iter().all(says_nothing)
    };
    let words: Vec<&str> = text.split_whitespace().filter(|word| !is_general(word)).collect();
    words.join(" ")
}
