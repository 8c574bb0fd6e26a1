//! Words for kinds of pages: `meetings`, `Firmen`, `livres`. No I/O.

use brain_search::QuestionWord;

/// Synonyms of kinds of pages, one kind per entry. Any other word names the kind with the same
/// stem.
const KINDS: [&[&str]; 18] = [
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
        "meet",
        "met",
        "treffen",
        "traf",
        "getroffen",
        "rencontre",
        "rencontrer",
        "incontrato",
        "ontmoet",
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
    &[
        "release",
        "releases",
        "version",
        "versions",
        "versionen",
        "versiones",
        "veroffentlichung",
        "veroffentlichungen",
        "lanzamiento",
        "lanzamientos",
    ],
    &[
        "post",
        "posts",
        "blogpost",
        "blogposts",
        "beitrag",
        "beitrage",
        "billet",
        "billets",
        "publication",
        "publications",
        "publicacion",
        "publicaciones",
    ],
    &[
        "journal",
        "journals",
        "journaux",
        "diary",
        "diaries",
        "tagebuch",
        "tagebucher",
        "diario",
        "diarios",
    ],
    &["letter", "letters", "brief", "briefe", "lettre", "lettres", "carta", "cartas"],
    &[
        "invoice",
        "invoices",
        "bill",
        "bills",
        "rechnung",
        "rechnungen",
        "facture",
        "factures",
        "factura",
        "facturas",
    ],
    &[
        "trip", "trips", "travel", "travels", "reise", "reisen", "voyage", "voyages", "viaje",
        "viajes",
    ],
    &[
        "task", "tasks", "todo", "todos", "aufgabe", "aufgaben", "tache", "taches", "tarea",
        "tareas",
    ],
    &["place", "places", "ort", "orte", "lieu", "lieux", "lugar", "lugares"],
    &["game", "games", "spiel", "spiele", "jeu", "jeux", "juego", "juegos"],
];
/// Ends of German compounds for one page of a kind: `Tagebucheintrag`, `Blogbeitrag`.
const ITEM_ENDINGS: [&str; 4] = ["eintrag", "eintrage", "beitrag", "beitrage"];

/// Types and folders of pages about persons, besides the first entry of [`KINDS`].
const PEOPLE: [&str; 38] = [
    "teilnehmer",
    "anwesend",
    "asistente",
    "participante",
    "gast",
    "invite",
    "invitado",
    "cast",
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

/// Returns whether a word is one of the known words for kinds.
pub fn is_kind_word(word: &str) -> bool {
    let whole = ITEM_ENDINGS.iter().find_map(|end| word.strip_suffix(end));
    KINDS.iter().any(|kind| kind.contains(&word) || whole.is_some_and(|it| kind.contains(&it)))
}

/// Returns whether a word names a kind: the type of a page or one of its folders.
pub fn names_kind(word: &QuestionWord, kind: &str) -> bool {
    // `note` is the default type, so it distinguishes no pages.
    if kind == "note" {
        return false;
    }
    let exact_entry = |text: &str| KINDS.iter().position(|entry| entry.contains(&text));
    // `l'entreprise` is one word without its apostrophe.
    let entry = |text: &str| {
        exact_entry(text).or_else(|| text.strip_prefix(['l', 'd']).and_then(exact_entry))
    };
    let compound = ITEM_ENDINGS.iter().find_map(|end| word.text.strip_suffix(end));
    if let Some(whole) = compound.filter(|whole| whole.len() > 3) {
        return names_kind(&QuestionWord::new(whole), kind);
    }
    // Entry 0 (`KINDS[0]`) has the words for persons.
    word.similarity(kind) >= 1.0
        || entry(&word.text)
            .is_some_and(|index| entry(kind) == Some(index) || (index == 0 && is_person(kind)))
}

/// Returns whether pages of this kind are about persons.
pub fn is_person(kind: &str) -> bool {
    let mut singulars =
        ["s", "n", "en"].iter().filter_map(|plural| kind.strip_suffix(plural)).chain([kind]);
    KINDS[0].contains(&kind) || singulars.any(|kind| PEOPLE.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_in_several_languages() {
        for (word, kind) in
            [("people", "person"), ("Firmen", "company"), ("films", "film"), ("albums", "album")]
        {
            assert!(names_kind(&QuestionWord::new(&word.to_lowercase()), kind), "{word}");
        }
        for (word, kind) in [
            ("version", "release"),
            ("lanzamiento", "releases"),
            ("beitrag", "post"),
            ("publicaciones", "posts"),
            ("tagebucheintrag", "journal"),
            ("blogbeitrag", "blog"),
            ("diario", "journal"),
            ("briefe", "letters"),
            ("factura", "invoice"),
        ] {
            assert!(names_kind(&QuestionWord::new(word), kind), "{word}");
        }
        assert!(!names_kind(&QuestionWord::new("beitrag"), "journal"));
        assert!(!names_kind(&QuestionWord::new("meetings"), "person"));
    }
}
