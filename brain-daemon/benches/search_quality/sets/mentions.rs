//! Questions about what links to a page and what mentions it, in plain words. Some notes link with
//! another text, some mention the name without a link. Other notes are about links and mentions.

use super::properties::name;
use super::properties_words::VOCABULARIES;
use super::prose::{page, parts, prose, slug};
use crate::films::Rng;
use crate::set::{Doc, Set};

/// Pages that are asked for, of each language: people, projects and books in turn.
const TARGETS: usize = 15;

struct Language {
    /// Sentences with a link whose text is the name `X`, or another text.
    linked: [&'static str; 3],
    other_texts: [&'static str; 3],
    /// Sentences with the name and no link.
    named: [&'static str; 2],
    /// Sentences about links, notes and mentions.
    about: [&'static str; 4],
    /// Questions about pages that link to `X`.
    links: &'static [&'static str],
    /// Questions about pages that link to `X` or name it.
    mentions: &'static [&'static str],
}

const LANGUAGES: [Language; 4] = [
    Language {
        linked: [
            "Spent the morning on LINK.",
            "LINK is on the list again.",
            "More about LINK soon.",
        ],
        other_texts: ["the usual", "what we discussed", "see there"],
        named: ["X came up at lunch.", "Somebody had heard of X before."],
        about: [
            "I should mention the broken link in the notes.",
            "Which notes link where? A page about backlinks.",
            "The mention of pages in pages is a link.",
            "Where did I put the notes about linking?",
        ],
        links: &[
            "what links to X",
            "what links to X?",
            "which pages link to X?",
            "pages linking to X",
            "backlinks of X",
            "who links to X",
            "notes that link to X",
        ],
        mentions: &[
            "which notes mention X",
            "where did I mention X?",
            "where is X mentioned",
            "mentions of X",
            "notes mentioning X",
            "in which pages does X appear",
            "what mentions X",
        ],
    },
    Language {
        linked: ["Den Morgen mit LINK verbracht.", "LINK steht wieder an.", "Bald mehr zu LINK."],
        other_texts: ["das Übliche", "was wir besprachen", "siehe dort"],
        named: ["X war beim Essen Thema.", "Jemand kannte X schon."],
        about: [
            "Ich sollte den kaputten Link in den Notizen erwähnen.",
            "Welche Notizen verweisen wohin? Eine Seite über Verweise.",
            "Die Erwähnung einer Seite ist ein Verweis.",
            "Wo sind die Notizen über Links?",
        ],
        links: &[
            "was verlinkt auf X",
            "welche Seiten verweisen auf X?",
            "Links auf X",
            "was verweist auf X",
        ],
        mentions: &[
            "welche Notizen erwähnen X",
            "wo habe ich X erwähnt?",
            "wo wird X erwähnt",
            "Erwähnungen von X",
        ],
    },
    Language {
        linked: ["La matinée avec LINK.", "LINK revient sur la liste.", "Bientôt plus sur LINK."],
        other_texts: ["comme d'habitude", "ce dont on a parlé", "voir là"],
        named: ["On a parlé de X à midi.", "Quelqu'un connaissait déjà X."],
        about: [
            "Il faut mentionner le lien cassé dans les notes.",
            "Quelles notes renvoient où ? Une page sur les liens.",
            "La mention d'une page est un lien.",
            "Où sont les notes sur les liens ?",
        ],
        links: &[
            "qu'est-ce qui renvoie à X ?",
            "quelles pages ont un lien vers X",
            "liens vers X",
            "pages qui renvoient à X",
        ],
        mentions: &[
            "quelles notes mentionnent X",
            "où ai-je mentionné X ?",
            "où est mentionné X",
            "mentions de X",
        ],
    },
    Language {
        linked: ["La mañana con LINK.", "LINK vuelve a la lista.", "Pronto más sobre LINK."],
        other_texts: ["lo de siempre", "lo que hablamos", "véase allí"],
        named: ["Se habló de X en la comida.", "Alguien ya conocía X."],
        about: [
            "Debería mencionar el enlace roto en las notas.",
            "¿Qué notas enlazan adónde? Una página sobre enlaces.",
            "La mención de una página es un enlace.",
            "¿Dónde están las notas sobre enlaces?",
        ],
        links: &[
            "qué enlaza a X",
            "¿qué páginas enlazan con X?",
            "enlaces a X",
            "páginas que enlazan a X",
        ],
        mentions: &[
            "qué notas mencionan X",
            "¿dónde mencioné X?",
            "dónde se menciona X",
            "menciones de X",
        ],
    },
];

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    (0..LANGUAGES.len()).map(mention_set).collect()
}

/// Returns the title of a target.
fn title(language: usize, number: usize) -> String {
    let words = &VOCABULARIES[language];
    match number % 3 {
        0 => name(language * 30 + number),
        1 => parts(words.projects)[number / 3].to_owned(),
        _ => parts(words.books)[number / 3].to_owned(),
    }
}

fn mention_set(number: usize) -> Set {
    let language = &LANGUAGES[number];
    let mut rng = Rng(20_261_260 + number as u64);
    let mut notes = Notes { number, docs: Vec::new() };
    let mut questions = Vec::new();
    for target in 0..TARGETS {
        let title = title(number, target);
        let id = format!("topics/{}", slug(&title));
        notes.docs.push(page(
            id.clone(),
            &title,
            prose(VOCABULARIES[number].code, &mut rng, 5),
            "",
        ));
        let mut answers = Vec::new();
        for (at, sentence) in language.linked.iter().enumerate() {
            // Two links of three have another text than the name.
            let other_text = language.other_texts[(target + at) % 3];
            let link = match at {
                0 => format!("[[{id}|{title}]]"),
                1 => format!("[{other_text}]({id})"),
                _ => format!("[[{id}|{other_text}]]"),
            };
            answers.push(notes.add(&sentence.replace("LINK", &link), &mut rng));
        }
        // One target of two is asked for by its links: then a name without a link is no answer.
        let by_links = target % 2 == 0;
        for at in 0..if by_links { 4 } else { 1 } {
            let id = notes.add(&language.named[at % 2].replace('X', &title), &mut rng);
            if !by_links {
                answers.push(id);
            }
        }
        let forms = if by_links { language.links } else { language.mentions };
        let rounds = if number == 0 { 6 } else { 3 };
        for round in 0..rounds {
            let form = forms[(target + round) % forms.len()];
            questions.push((form.replace('X', &title), answers.clone()));
        }
        // Notes with one word of the name, and notes about links.
        let word = title.split(' ').next_back().unwrap_or_default();
        notes.add(&language.named[0].replace('X', word), &mut rng);
        notes.add(language.about[target % language.about.len()], &mut rng);
    }
    Set::new(&format!("mentions-{}", VOCABULARIES[number].code), notes.docs, &questions)
}

/// Notes of days.
struct Notes {
    /// The number of the language.
    number: usize,
    docs: Vec<Doc>,
}

impl Notes {
    /// Adds the note of a day with a sentence, and returns its id.
    fn add(&mut self, sentence: &str, rng: &mut Rng) -> String {
        let code = VOCABULARIES[self.number].code;
        let day = self.docs.len();
        let date = format!("2023-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
        let id = format!("daily/{date}");
        let text = format!("{} {sentence} {}", prose(code, rng, 4), prose(code, rng, 3));
        self.docs.push(page(id.clone(), &date, text, ""));
        id
    }
}
