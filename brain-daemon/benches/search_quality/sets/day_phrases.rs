//! Days and months inside questions, of pages that have their day in the slug, in the frontmatter,
//! or in a sentence only. Each month occurs once, so a month without a year is unambiguous.

use super::prose::{LANGUAGES, page, prose};
use super::versions::letters;
use crate::films::Rng;
use crate::set::{Doc, Set};

/// The months of the pages: from April 2021 to March 2022, after the time of all files.
const MONTHS: usize = 12;
/// Pages of a month.
const PER_MONTH: usize = 4;

struct Language {
    months: [&'static str; 12],
    /// A day as prose writes it, and in another notation.
    day: &'static str,
    other_day: &'static str,
    /// Sentences that hold a day.
    sentences: [&'static str; 4],
    /// Subjects of pages.
    subjects: [&'static str; 6],
    /// Questions about a month, by its name or its number with two digits.
    month_forms: &'static [&'static str],
    /// Questions about a day, of a page about a subject.
    day_forms: &'static [&'static str],
}

const WORDS: [Language; 4] = [
    Language {
        months: [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        day: "{day} {month} {year}",
        other_day: "{month} {day}, {year}",
        sentences: [
            "Released on {day}.",
            "The contract was signed on {day} and runs for two years.",
            "Bought on {day} at the market.",
            "On {day} the heating failed.",
        ],
        subjects: ["album", "contract", "bicycle", "heating", "passport", "window"],
        month_forms: &[
            "notes from {month} {year}",
            "{number}/{year}",
            "what did I write in {month}",
            "pages from {month} {year}",
            "everything of {month} {year}",
            "my notes of {year}-{number}",
            "what happened in {month} {year}?",
            "entries in {month}",
            "what was going on in {month} of {year}",
        ],
        day_forms: &[
            "Released on {day}",
            "what was signed on {day}?",
            "{day}",
            "{subject} {day}",
            "what happened on {day}",
            "note about {day}",
        ],
    },
    Language {
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        day: "{day}. {month} {year}",
        other_day: "{day}.{number}.{year}",
        sentences: [
            "Erschienen am {day}.",
            "Der Vertrag wurde am {day} unterschrieben.",
            "Gekauft am {day} auf dem Markt.",
            "Am {day} fiel die Heizung aus.",
        ],
        subjects: ["Album", "Vertrag", "Fahrrad", "Heizung", "Pass", "Fenster"],
        month_forms: &[
            "Notizen aus dem {month} {year}",
            "{number}/{year}",
            "was habe ich im {month} geschrieben?",
            "alles vom {month} {year}",
            "Einträge im {month}",
            "was war im {month} {year} los",
        ],
        day_forms: &[
            "Erschienen am {day}",
            "was wurde am {day} unterschrieben",
            "{day}",
            "{subject} {day}",
        ],
    },
    Language {
        months: [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        day: "{day} {month} {year}",
        other_day: "{day}/{number}/{year}",
        sentences: [
            "Sorti le {day}.",
            "Le contrat a été signé le {day}.",
            "Acheté le {day} au marché.",
            "Le {day}, le chauffage est tombé en panne.",
        ],
        subjects: ["album", "contrat", "vélo", "chauffage", "passeport", "fenêtre"],
        month_forms: &[
            "notes de {month} {year}",
            "{number}/{year}",
            "qu'ai-je écrit en {month} ?",
            "pages du mois de {month} {year}",
            "tout ce qui date de {month} {year}",
            "entrées en {month}",
        ],
        day_forms: &["sorti le {day}", "qu'a-t-on signé le {day} ?", "{day}", "{subject} {day}"],
    },
    Language {
        months: [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
        day: "{day} de {month} de {year}",
        other_day: "{day}/{number}/{year}",
        sentences: [
            "Publicado el {day}.",
            "El contrato se firmó el {day}.",
            "Comprado el {day} en el mercado.",
            "El {day} falló la calefacción.",
        ],
        subjects: ["álbum", "contrato", "bicicleta", "calefacción", "pasaporte", "ventana"],
        month_forms: &[
            "notas de {month} de {year}",
            "{number}/{year}",
            "¿qué escribí en {month}?",
            "páginas de {month} {year}",
            "todo lo de {month} de {year}",
            "entradas en {month}",
        ],
        day_forms: &["publicado el {day}", "¿qué se firmó el {day}?", "{day}", "{subject} {day}"],
    },
];

/// Returns two sets for each language: pages that have a day, and pages that name one.
pub(crate) fn sets() -> Vec<Set> {
    let by_language = |language| [months(language), days_in_text(language)];
    (0..LANGUAGES.len()).flat_map(by_language).collect()
}

/// Adds notes without a day. Some name a month, and May, March and the like as other words.
fn add_others(docs: &mut Vec<Doc>, language: usize, rng: &mut Rng) {
    let code = LANGUAGES[language];
    for number in 0..50 {
        let month = WORDS[language].months[number % 12];
        let text = format!(
            "{} See {month}, and the table with {} rows. {}",
            prose(code, rng, 4),
            2000 + number,
            prose(code, rng, 4)
        );
        let id = format!("notes/{}", letters(number));
        docs.push(page(id, prose(code, rng, 1).trim_end_matches('.'), text, ""));
    }
}

/// Asks for the pages of a month.
fn months(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_280 + language as u64);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    for at in 0..MONTHS {
        let (year, month) = (2021 + (at + 3) / 12, (at + 3) % 12);
        let mut answers = Vec::new();
        for number in 0..PER_MONTH {
            let date = format!("{year}-{:02}-{:02}", month + 1, 2 + number * 7 + rng.below(6));
            // The day is in the slug, or in the frontmatter.
            let (id, title, head) = match number % 2 {
                0 => (format!("daily/{date}"), date, String::new()),
                _ => {
                    let title = prose(code, &mut rng, 1).trim_end_matches('.').to_owned();
                    (format!("log/{}", letters(at * 4 + number)), title, format!("date: {date}\n"))
                }
            };
            docs.push(page(id.clone(), &title, prose(code, &mut rng, 6), &head));
            answers.push(id);
        }
        let rounds = if language == 0 { words.month_forms.len() } else { 4 };
        for round in 0..rounds {
            let text = words.month_forms[(at + round) % words.month_forms.len()]
                .replace("{month}", words.months[month])
                .replace("{year}", &year.to_string())
                .replace("{number}", &format!("{:02}", month + 1));
            questions.push((text, answers.clone()));
        }
    }
    add_others(&mut docs, language, &mut rng);
    Set::new(&format!("months-{code}"), docs, &questions)
}

/// Returns a day in a notation of the language.
fn written(words: &Language, notation: &str, year: usize, month: usize, day: usize) -> String {
    notation
        .replace("{day}", &day.to_string())
        .replace("{month}", words.months[month])
        .replace("{number}", &format!("{:02}", month + 1))
        .replace("{year}", &year.to_string())
}

/// Asks for days that stand in the text only. Each has a daily note that says nothing about it.
fn days_in_text(language: usize) -> Set {
    let words = &WORDS[language];
    let code = LANGUAGES[language];
    let mut rng = Rng(20_261_290 + language as u64);
    let (mut docs, mut questions) = (Vec::new(), Vec::new());
    for number in 0..48 {
        let (year, month) = (2015 + number % 7, number * 5 % 12);
        let day = 1 + (number * 11 + number / 12) % 28;
        let iso = format!("{year}-{:02}-{day:02}", month + 1);
        let notations = [
            written(words, words.day, year, month, day),
            written(words, words.other_day, year, month, day),
            iso.clone(),
        ];
        let at = number % 4;
        let subject = words.subjects[at];
        let sentence = words.sentences[at].replace("{day}", &notations[number / 4 % 2]);
        let text = format!(
            "{} {subject}: {sentence} {}",
            prose(code, &mut rng, 3),
            prose(code, &mut rng, 4)
        );
        let id = format!("things/{}", letters(number));
        docs.push(page(id.clone(), prose(code, &mut rng, 1).trim_end_matches('.'), text, ""));
        let daily = format!("daily/{iso}");
        docs.push(page(daily.clone(), &iso, prose(code, &mut rng, 7), ""));
        let rounds = if language == 0 { 3 } else { 2 };
        for round in 0..rounds {
            // The first two forms belong to the first two kinds of sentences.
            let form = match (round, at) {
                (0, 0 | 1) => words.day_forms[at],
                _ => words.day_forms[2 + (number + round * 5) % (words.day_forms.len() - 2)],
            };
            let asked = &notations[(number / 2 + round) % 3];
            let text = form.replace("{day}", asked).replace("{subject}", subject);
            // A day alone is also that of the daily note.
            let names_subject = form == words.day_forms[at.min(1)] || form.contains("{subject}");
            let mut answers = vec![id.clone()];
            if !names_subject {
                answers.push(daily.clone());
            }
            questions.push((text, answers));
        }
    }
    add_others(&mut docs, language, &mut rng);
    // Neighbours: the same day of other months, and the same month of other years.
    for number in 0..40 {
        let month = rng.below(12);
        let day = 1 + number % 28;
        let written = written(words, words.day, 1990 + number, month, day);
        let text = format!("{} {written}. {}", prose(code, &mut rng, 4), prose(code, &mut rng, 3));
        let title = prose(code, &mut rng, 1);
        docs.push(page(format!("old/{}", letters(number)), title.trim_end_matches('.'), text, ""));
    }
    Set::new(&format!("days-in-text-{code}"), docs, &questions)
}
