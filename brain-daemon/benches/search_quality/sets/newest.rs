//! The newest, latest, last or oldest page of a kind. The kind is a folder, a type, a tag, a source
//! or a subject; its pages have a day in the slug or in the frontmatter.

use super::prose::{LANGUAGES, page, prose};
use super::versions::letters;
use crate::films::Rng;
use crate::set::{Doc, Set};

/// What makes the pages of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Folder,
    Type,
    Tag,
    Subject,
}
use By::{Folder, Subject, Tag, Type};

struct Language {
    /// Kinds: what makes them, their name in folder, type, tag or text, and the words for one page.
    kinds: &'static [(By, &'static str, &'static str)],
    /// Questions about the newest page of a kind `K` in one word or more.
    newest: &'static [&'static str],
    /// Questions about the oldest page.
    oldest: &'static [&'static str],
}

const WORDS: [Language; 4] = [
    Language {
        kinds: &[
            (Folder, "releases", "release"),
            (Folder, "posts", "post"),
            (Folder, "invoices", "invoice"),
            (Folder, "letters", "letter"),
            (Folder, "dreams", "dream"),
            (Type, "meeting", "meeting"),
            (Type, "recipe", "recipe"),
            (Type, "interview", "interview"),
            (Tag, "retrospective", "retrospective"),
            (Tag, "inspection", "inspection"),
            (Subject, "crdt", "note about crdt"),
            (Subject, "beehives", "note about beehives"),
            (Subject, "sundials", "page on sundials"),
        ],
        newest: &[
            "latest K",
            "newest K",
            "most recent K",
            "the last K",
            "what is the latest K?",
            "show me the newest K",
            "my latest K",
        ],
        oldest: &["oldest K", "the first K", "earliest K", "what was my first K?"],
    },
    Language {
        kinds: &[
            (Folder, "rechnungen", "Rechnung"),
            (Folder, "meldungen", "Meldung"),
            (Type, "sitzung", "Sitzung"),
            (Type, "begehung", "Begehung"),
            (Tag, "inspektion", "Inspektion"),
            (Tag, "lesung", "Lesung"),
            (Subject, "Bienenkörbe", "Notiz über Bienenkörbe"),
            (Subject, "Sonnenuhren", "Notiz zu Sonnenuhren"),
        ],
        newest: &[
            "neueste K",
            "letzte K",
            "die aktuellste K",
            "die jüngste K",
            "was ist die neueste K?",
        ],
        oldest: &["älteste K", "die erste K", "früheste K"],
    },
    Language {
        kinds: &[
            (Folder, "factures", "facture"),
            (Folder, "annonces", "annonce"),
            (Type, "recette", "recette"),
            (Type, "visite", "visite"),
            (Tag, "inspection", "inspection"),
            (Tag, "lecture", "lecture"),
            (Subject, "ruches", "note sur les ruches"),
            (Subject, "girouettes", "page sur les girouettes"),
        ],
        newest: &["dernière K", "la dernière K", "K la plus récente", "quelle est la dernière K ?"],
        oldest: &["la première K", "K la plus ancienne", "première K"],
    },
    Language {
        kinds: &[
            (Folder, "facturas", "factura"),
            (Folder, "cartas", "carta"),
            (Type, "receta", "receta"),
            (Type, "entrevista", "entrevista"),
            (Tag, "inspección", "inspección"),
            (Tag, "lectura", "lectura"),
            (Subject, "colmenas", "nota sobre colmenas"),
            (Subject, "veletas", "página sobre veletas"),
        ],
        newest: &["última K", "la última K", "la K más reciente", "¿cuál es la última K?"],
        oldest: &["la primera K", "la K más antigua", "primera K"],
    },
];

/// Returns a set for each language, and one whose kinds are sources.
pub(crate) fn sets() -> Vec<Set> {
    let mut sets: Vec<Set> = (0..LANGUAGES.len()).map(newest_of_kinds).collect();
    sets.push(newest_of_sources());
    sets
}

/// Returns the days of a kind's pages, in the order of the pages, and the numbers of the newest and
/// the oldest page.
fn dates(kind: usize, count: usize, rng: &mut Rng) -> (Vec<String>, usize, usize) {
    let mut dates = Vec::new();
    for number in 0..count {
        let month = 1 + (number * 5 + kind * 2) % 12;
        let day = 1 + rng.below(28);
        dates.push(format!("{}-{month:02}-{day:02}", 2021 + (number * 2 + kind) % 3));
    }
    let newest = (0..count).max_by_key(|at| &dates[*at]).unwrap_or_default();
    let oldest = (0..count).min_by_key(|at| &dates[*at]).unwrap_or_default();
    (dates, newest, oldest)
}

/// Returns the page of a kind with its day.
fn dated_page(by: By, name: &str, number: usize, date: &str, code: &str, rng: &mut Rng) -> Doc {
    let (name_of_file, head) = match number % 2 {
        0 => (format!("{date}-{}", letters(number)), String::new()),
        _ => (letters(number), format!("date: {date}\n")),
    };
    let (folder, head) = match by {
        Folder => (name, head),
        Type => ("archive", format!("{head}type: {name}\n")),
        Tag => ("work", format!("{head}tags: [{name}]\n")),
        Subject => ("journal", head),
    };
    let title = prose(code, rng, 1);
    let title = title.trim_end_matches('.');
    let text = match by {
        Subject => format!("{} {name}. {}", prose(code, rng, 4), prose(code, rng, 3)),
        _ => prose(code, rng, 7),
    };
    page(format!("{folder}/{name_of_file}"), title, text, &head)
}

fn newest_of_kinds(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_300 + language as u64);
    let (mut docs, mut questions) = (Vec::<Doc>::new(), Vec::new());
    for (kind, (by, name, asked)) in words.kinds.iter().enumerate() {
        let (dates, newest, oldest) = dates(kind, 5 + kind % 3, &mut rng);
        let first = docs.len();
        for (number, date) in dates.iter().enumerate() {
            docs.push(dated_page(*by, name, kind * 7 + number, date, code, &mut rng));
        }
        let (newest, oldest) = (docs[first + newest].id.clone(), docs[first + oldest].id.clone());
        let rounds = if language == 0 { (4, 3) } else { (4, 2) };
        let forms = [(words.newest, rounds.0, &newest), (words.oldest, rounds.1, &oldest)];
        for (forms, rounds, answer) in forms {
            for round in 0..rounds.min(forms.len()) {
                let form = forms[(kind + round) % forms.len()];
                questions.push((form.replace('K', asked), vec![answer.clone()]));
            }
        }
        // A newer page that only has the word in its text.
        if *by != Subject {
            let text =
                format!("{} {asked}. {}", prose(code, &mut rng, 3), prose(code, &mut rng, 3));
            let id = format!("journal/2024-01-{:02}", 1 + kind);
            docs.push(page(id, prose(code, &mut rng, 1).trim_end_matches('.'), text, ""));
        }
    }
    Set::new(&format!("newest-{code}"), docs, &questions)
}

/// Asks for the newest page of a source.
fn newest_of_sources() -> Set {
    let mut rng = Rng(20_261_304);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    let sources = ["blog", "newsletter", "podcast", "lab", "garden", "letters"];
    let nouns = ["blog entry", "newsletter", "podcast", "lab page", "garden note", "letter"];
    for (kind, (source, noun)) in sources.iter().zip(nouns).enumerate() {
        let (dates, newest, oldest) = dates(kind, 7, &mut rng);
        let id = |number: usize| format!("{source}/{}", letters(number));
        for (number, date) in dates.iter().enumerate() {
            let title = prose("en", &mut rng, 1);
            let head = format!("date: {date}\n");
            let text = prose("en", &mut rng, 7);
            docs.push(page(id(number), title.trim_end_matches('.'), text, &head));
        }
        for form in WORDS[0].newest {
            questions.push((form.replace('K', noun), vec![id(newest)]));
        }
        for form in &WORDS[0].oldest[..3] {
            questions.push((form.replace('K', noun), vec![id(oldest)]));
        }
    }
    Set::new("newest-of-source", docs, &questions).with_sources()
}
