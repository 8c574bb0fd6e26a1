//! The form of a question: whom or what it wants, and how that hangs together with what it names.
//! Pure.

use std::ops::Range;

use brain_search::{QuestionTerms, QuestionWord};

/// Words that ask for a person.
const WHO: [&str; 14] = [
    "who", "whom", "whose", "wer", "wem", "wen", "wessen", "qui", "quien", "quienes", "chi",
    "quem", "kto", "кто",
];

/// Words that ask for a thing of a kind that follows, or for all of that kind.
const WHICH: [&str; 39] = [
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

/// Words that tie what is wanted to what is named.
const OF: [&str; 44] = [
    "of", "at", "in", "into", "with", "from", "for", "by", "on", "to", "about", "an", "bei",
    "beim", "von", "vom", "mit", "aus", "zu", "zum", "zur", "der", "des", "im", "fur", "uber",
    "de", "du", "des", "chez", "avec", "dans", "pour", "del", "con", "en", "para", "di", "da",
    "per", "à", "у", "в", "с",
];

/// Words for what a page itself says. They name lists in pages too (`## Notes`), but who asks for
/// them wants the page.
const OWN: [&str; 16] = [
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

/// Kinds of pages that have more than one name. Words of one line mean the same kind; all others
/// mean a kind by their stem.
const KINDS: [&[&str]; 9] = [
    &[
        "person",
        "persons",
        "people",
        "human",
        "contact",
        "contacts",
        "personen",
        "leute",
        "menschen",
        "kontakt",
        "kontakte",
        "personne",
        "personnes",
        "personas",
        "persona",
    ],
    &[
        "company",
        "companies",
        "firm",
        "firms",
        "startup",
        "startups",
        "business",
        "businesses",
        "organization",
        "organizations",
        "organisation",
        "organisations",
        "firma",
        "firmen",
        "unternehmen",
        "entreprise",
        "entreprises",
        "empresa",
        "empresas",
    ],
    &[
        "meeting",
        "meetings",
        "treffen",
        "besprechung",
        "besprechungen",
        "sitzung",
        "sitzungen",
        "reunion",
        "reunions",
        "reuniones",
    ],
    &["project", "projects", "projekt", "projekte", "projet", "projets", "proyecto", "proyectos"],
    &["event", "events", "veranstaltung", "veranstaltungen"],
    &["book", "books", "buch", "bucher", "livre", "livres", "libro", "libros"],
    &["film", "films", "movie", "movies", "filme", "filmen", "pelicula", "peliculas"],
    &["idea", "ideas", "idee", "ideen"],
    &["recipe", "recipes", "rezept", "rezepte", "recette", "recettes"],
];

/// Types and folders of pages about persons, besides the first line of [`KINDS`].
const PEOPLE: [&str; 30] = [
    "actor",
    "advisor",
    "artist",
    "attendee",
    "author",
    "autor",
    "character",
    "client",
    "colleague",
    "customer",
    "employee",
    "expert",
    "family",
    "founder",
    "freund",
    "friend",
    "guest",
    "investor",
    "kollege",
    "kunde",
    "kunstler",
    "member",
    "mentor",
    "mitglied",
    "musician",
    "participant",
    "patient",
    "speaker",
    "student",
    "writer",
];

/// How names of those who do something end, in English and German.
const AGENTS: [&str; 18] = [
    "er",
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
];

/// How a question asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    /// It begins with a word for persons.
    pub(super) who: bool,
    /// It asks for things of a kind.
    pub(super) which: bool,
    /// What is named is tied to a word before or behind it: `investors of Acme`, `Acme's
    /// investors`.
    pub(super) tied: bool,
    /// The words that say how what is wanted and what is named hang together, by their place; none
    /// that only make the question.
    pub(super) content: Vec<usize>,
}

/// The form of `asked`; `None` when it names no page, or says nothing besides.
pub(super) fn form(asked: &QuestionTerms) -> Option<Form> {
    if asked.subjects.is_empty() {
        return None;
    }
    let named = |at: usize| asked.subjects.iter().any(|s| s.words.contains(&at));
    let word = |at: usize| asked.words.get(at).map_or("", |word| word.text.as_str());
    let is = |at: usize, list: &[&str]| !named(at) && list.contains(&word(at));
    let who = (0..3).any(|at| is(at, &WHO));
    let which = (0..3).any(|at| is(at, &WHICH));
    let before = |s: &Range<usize>| {
        // `of the Acme …`
        (1..=2).any(|back| s.start.checked_sub(back).is_some_and(|at| is(at, &OF)))
    };
    let tied = asked.subjects.iter().any(|s| before(&s.words) || is_possessive(asked, &s.words));
    let content = (0..asked.words.len())
        .filter(|&at| !named(at) && !asked.words[at].stop && word(at).chars().count() > 1)
        .filter(|&at| [&WHO[..], &WHICH, &OF, &OWN].iter().all(|list| !is(at, list)))
        .collect();
    (who || which || tied).then_some(Form { who, which, tied, content })
}

/// Whether `'s` stands at the end of a name.
fn is_possessive(asked: &QuestionTerms, name: &Range<usize>) -> bool {
    let Some(last) = name.end.checked_sub(1).and_then(|at| asked.words.get(at)) else {
        return false;
    };
    let end = last.place.end;
    let within = asked.text.get(last.place.clone()).unwrap_or_default();
    let after = asked.text.get(end..).unwrap_or_default();
    let s = |text: &str| ["'s", "’s", "s'", "s’"].iter().any(|mark| text.ends_with(mark));
    let quoted = asked.words.get(name.start).and_then(|first| asked.text.get(..first.place.start));
    let is_quote = quoted.is_some_and(|before| before.ends_with(['\'', '’', '‘']));
    s(within) || (!is_quote && after.starts_with(['\'', '’']))
}

/// Whether `word` names the kind `kind` (a page's type, or a folder that it is in).
pub(super) fn names_kind(word: &QuestionWord, kind: &str) -> bool {
    // Pages that name no type are notes: that tells nothing apart.
    if kind == "note" {
        return false;
    }
    let line = |text: &str| KINDS.iter().position(|line| line.contains(&text));
    word.similarity(kind) >= 1.0
        || line(&word.text).is_some_and(|of| line(kind) == Some(of) || (of == 0 && is_person(kind)))
}

/// Whether a page of the kind `kind` is about a person.
pub(super) fn is_person(kind: &str) -> bool {
    let mut one =
        ["s", "n", "en"].iter().filter_map(|plural| kind.strip_suffix(plural)).chain([kind]);
    KINDS[0].contains(&kind) || one.any(|kind| PEOPLE.contains(&kind))
}

/// Whether `word` may name somebody by what they do: `investors`, `director`, `Teilnehmer`.
pub(super) fn is_agent(word: &str) -> bool {
    word.len() > 4 && AGENTS.iter().any(|end| word.ends_with(end))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_search::{Subject, each_word};

    /// `text` with its subject in brackets.
    fn asked(text: &str) -> QuestionTerms {
        let (before, rest) = text.split_once('[').unwrap_or((text, ""));
        let (name, after) = rest.split_once(']').unwrap_or((rest, ""));
        let plain = format!("{before}{name}{after}");
        let (mut words, mut at) = (Vec::new(), 0);
        each_word(&plain, &mut |word| {
            let lower = plain.to_lowercase();
            let from = lower[at..].find(&word[..1]).map_or(at, |found| at + found);
            at = from + word.len();
            let mut word = QuestionWord::new(word);
            word.place = from..at;
            words.push(word);
        });
        let inside = before.len()..before.len() + name.len();
        let within: Vec<usize> =
            (0..words.len()).filter(|&n| inside.contains(&words[n].place.start)).collect();
        let subjects = match (within.first(), within.last()) {
            (Some(first), Some(last)) => vec![Subject { words: *first..last + 1, pages: vec![1] }],
            _ => Vec::new(),
        };
        for word in &mut words {
            word.stop = ["did", "the", "is", "of", "at", "in", "hat"].contains(&word.text.as_str());
        }
        QuestionTerms { text: plain, words, subjects }
    }

    fn content(text: &str) -> Vec<String> {
        let asked = asked(text);
        let form = form(&asked).unwrap();
        form.content.iter().map(|&at| asked.words[at].text.clone()).collect()
    }

    #[test]
    fn forms_are_told() {
        let of = |text: &str| form(&asked(text)).map(|f| (f.who, f.which, f.tied));
        assert_eq!(of("Who attended [Acme Board]?"), Some((true, false, false)));
        assert_eq!(of("Which companies did [Mia Brown] invest in?"), Some((false, true, false)));
        assert_eq!(of("people at [Acme]"), Some((false, false, true)));
        assert_eq!(of("investors of the [Acme]"), Some((false, false, true)));
        assert_eq!(of("Wer hat an [Acme Board] teilgenommen?"), Some((true, false, true)));
        assert_eq!(of("[Acme] latency"), None);
        assert_eq!(of("[Acme]' latency"), Some((false, false, true)));
        assert_eq!(of("'[Acme]' latency"), None, "quoted");
        assert_eq!(of("who attended the board"), None);
    }

    #[test]
    fn what_makes_the_question_says_nothing_else() {
        assert_eq!(content("Who attended [Acme Board]?"), ["attended"]);
        assert_eq!(content("Wer hat an [Acme Board] teilgenommen?"), ["teilgenommen"]);
        assert!(content("notes from the [Acme Board]").is_empty());
        assert_eq!(content("Which companies did [Mia Brown] invest in?"), ["companies", "invest"]);
    }

    #[test]
    fn kinds_have_names_in_several_languages() {
        for (word, kind) in
            [("people", "person"), ("Firmen", "company"), ("films", "film"), ("albums", "album")]
        {
            assert!(names_kind(&QuestionWord::new(&word.to_lowercase()), kind), "{word}");
        }
        assert!(!names_kind(&QuestionWord::new("meetings"), "person"));
        assert!(is_agent("investors") && is_agent("teilnehmer") && !is_agent("budget"));
    }
}
