//! Questions that exclude something in words: `trust without game`. For each pair, some notes have
//! the first word alone, others both words.

use super::prose::{page, pick, prose};
use crate::films::Rng;
use crate::set::{Doc, Question, Set};

/// Notes that have the first word of a pair alone.
const ALONE: usize = 4;
/// Notes that have both words. They have the first one more often.
const BOTH: usize = 5;

struct Language {
    code: &'static str,
    /// The wanted and the excluded word.
    pairs: &'static [(&'static str, &'static str)],
    /// Sentences of a note about `A`.
    about: [&'static str; 4],
    /// Sentences of a note with `A` that mentions `B`.
    mentions: [&'static str; 4],
    /// Questions. `A` is wanted, `B` excluded.
    forms: &'static [&'static str],
}

const LANGUAGES: [Language; 4] = [
    Language {
        code: "en",
        pairs: &[
            ("trust", "game"),
            ("sqlite", "datasette"),
            ("graph", "canvas"),
            ("sourdough", "rye"),
            ("backup", "cloud"),
            ("running", "marathon"),
            ("python", "pandas"),
            ("coffee", "espresso"),
            ("gardening", "pesticides"),
            ("meditation", "app"),
            ("synthesizer", "modular"),
            ("migration", "postgres"),
            ("tax", "pension"),
            ("lighthouse", "ferry"),
        ],
        about: [
            "This is about A.",
            "A came up again today.",
            "I read a long piece on A.",
            "Another question about A.",
        ],
        mentions: [
            "For A, B matters most; A and B go together.",
            "A with B: what A gains from B.",
            "B changed how I see A.",
            "Most people who talk about A mean B.",
        ],
        forms: &[
            "A without B",
            "A but not B",
            "A, not B",
            "notes on A without B",
            "A and not B",
            "A except B",
            "A excluding B",
            "something about A that does not mention B",
        ],
    },
    Language {
        code: "de",
        pairs: &[
            ("Vertrauen", "Spiel"),
            ("Sauerteig", "Roggen"),
            ("Sicherung", "Wolke"),
            ("Laufen", "Marathon"),
            ("Kaffee", "Espresso"),
            ("Garten", "Schnecken"),
            ("Steuer", "Rente"),
            ("Leuchtturm", "Fähre"),
            ("Klavier", "Orchester"),
            ("Umzug", "Spedition"),
        ],
        about: [
            "Hier geht es um A.",
            "Heute kam A wieder vor.",
            "Ein langer Text über A.",
            "Eine Frage zu A.",
        ],
        mentions: [
            "Bei A zählt B am meisten; A und B gehören zusammen.",
            "A mit B: was A durch B gewinnt.",
            "B hat meinen Blick auf A verändert.",
            "Wer von A spricht, meint meist B.",
        ],
        forms: &[
            "A ohne B",
            "A, aber nicht B",
            "A aber ohne B",
            "Notizen zu A ohne B",
            "A, nicht B",
            "A außer B",
        ],
    },
    Language {
        code: "fr",
        pairs: &[
            ("confiance", "jeu"),
            ("levain", "seigle"),
            ("sauvegarde", "nuage"),
            ("course", "marathon"),
            ("café", "expresso"),
            ("jardinage", "pesticides"),
            ("impôts", "retraite"),
            ("phare", "ferry"),
            ("piano", "orchestre"),
            ("déménagement", "camion"),
        ],
        about: [
            "Il est question de A.",
            "On a reparlé de A.",
            "Un long texte sur A.",
            "Une question à propos de A.",
        ],
        mentions: [
            "Pour A, B compte le plus ; A et B vont ensemble.",
            "A avec B : ce que A gagne avec B.",
            "B a changé mon regard sur A.",
            "Qui parle de A pense souvent à B.",
        ],
        forms: &[
            "A sans B",
            "A mais pas B",
            "A, pas B",
            "notes sur A sans B",
            "A mais sans B",
            "A sauf B",
        ],
    },
    Language {
        code: "es",
        pairs: &[
            ("confianza", "juego"),
            ("fermentación", "centeno"),
            ("respaldo", "nube"),
            ("carrera", "maratón"),
            ("café", "expreso"),
            ("jardinería", "pesticidas"),
            ("impuestos", "pensión"),
            ("faro", "ferry"),
            ("piano", "orquesta"),
            ("mudanza", "camión"),
        ],
        about: [
            "Esto trata de A.",
            "Hoy volvió a salir A.",
            "Un texto largo sobre A.",
            "Una pregunta sobre A.",
        ],
        mentions: [
            "Para A, B es lo que más cuenta; A y B van juntos.",
            "A con B: lo que A gana con B.",
            "B cambió mi idea de A.",
            "Quien habla de A suele pensar en B.",
        ],
        forms: &[
            "A sin B",
            "A pero no B",
            "A, no B",
            "notas sobre A sin B",
            "A pero sin B",
            "A excepto B",
        ],
    },
];

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    LANGUAGES.iter().enumerate().map(|(number, language)| exclusion_set(number, language)).collect()
}

/// Returns the notes about a pair.
fn notes(language: &Language, pair: usize, rng: &mut Rng) -> Vec<Doc> {
    let (wanted, excluded) = language.pairs[pair];
    let code = language.code;
    let filled = |text: &str| {
        // Words of the pair are put in one step, since one may contain a letter `B`.
        let parts: Vec<&str> = text.split_inclusive([' ', '.', ',', ';', ':']).collect();
        let word = |part: &&str| {
            let end = part.trim_start_matches(|c: char| c.is_alphanumeric());
            match part.strip_suffix(end).unwrap_or(part) {
                "A" => format!("{wanted}{end}"),
                "B" => format!("{excluded}{end}"),
                _ => (*part).to_owned(),
            }
        };
        parts.iter().map(word).collect::<String>()
    };
    let mut docs = Vec::new();
    for number in 0..ALONE + BOTH {
        let mut text = format!("{} {} ", prose(code, rng, 2), filled(pick(rng, &language.about)));
        if number >= ALONE {
            let mention = filled(pick(rng, &language.mentions));
            text.push_str(&format!("{} {mention} ", prose(code, rng, 1)));
        }
        text.push_str(&prose(code, rng, 3 + number % 3));
        let id = format!("notes/{pair}-{number}");
        let title = match number % 3 {
            0 => filled("A"),
            _ => prose(code, rng, 1).trim_end_matches('.').to_owned(),
        };
        docs.push(page(id, &title, text, ""));
    }
    docs
}

fn exclusion_set(number: usize, language: &Language) -> Set {
    let mut rng = Rng(20_261_240 + number as u64);
    let mut docs = Vec::new();
    let mut questions = Vec::new();
    for pair in 0..language.pairs.len() {
        docs.extend(notes(language, pair, &mut rng));
        let (wanted, excluded) = language.pairs[pair];
        for (at, form) in language.forms.iter().enumerate() {
            // English has more forms: a quarter of their combinations is left out.
            if language.forms.len() > 6 && (at + pair) % 4 == 3 {
                continue;
            }
            let words = form.split(' ').map(|word| match word {
                "A" => wanted.to_owned(),
                "A," => format!("{wanted},"),
                "B" => excluded.to_owned(),
                _ => word.to_owned(),
            });
            questions.push(Question {
                text: words.collect::<Vec<_>>().join(" "),
                wanted: (0..ALONE).map(|number| format!("notes/{pair}-{number}")).collect(),
                unwanted: (ALONE..ALONE + BOTH).map(|n| format!("notes/{pair}-{n}")).collect(),
            });
        }
    }
    Set::with_unwanted(&format!("without-{}", language.code), docs, questions)
}
