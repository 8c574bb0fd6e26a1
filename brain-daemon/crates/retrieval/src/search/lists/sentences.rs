//! Sentences that say who was at an event: `Present were Ann and Bo.`, `Ann and Bo took part.` No
//! I/O.

use brain_questions::function_words::{is_negation, names_absence};
use brain_questions::relation_words::names_attendance;

use super::folded_words;
use super::names_in_text::{link_in, split_names};

/// Maximum number of words around the names of a sentence.
const MAX_OTHER_WORDS: usize = 4;
/// Maximum number of words before the colon of a list.
const MAX_LABEL_WORDS: usize = 8;
/// Maximum number of words of a name.
const MAX_NAME_WORDS: usize = 5;
/// Words that say that somebody was there, besides labels such as `present`.
const THERE: [&str; 11] = [
    "there",
    "here",
    "part",
    "attendance",
    "dabei",
    "da",
    "teil",
    "la",
    "joined",
    "asistio",
    "asistieron",
];
/// Verbs and other words around the names.
const OTHERS: [&str; 32] = [
    "was",
    "were",
    "is",
    "are",
    "by",
    "in",
    "the",
    "all",
    "both",
    "took",
    "us",
    "war",
    "waren",
    "sind",
    "nahm",
    "nahmen",
    "haben",
    "hat",
    "mit",
    "die",
    "etait",
    "etaient",
    "sont",
    "ont",
    "pris",
    "les",
    "estuvo",
    "estuvieron",
    "fueron",
    "los",
    "las",
    "y",
];
/// Small words of names.
const PARTICLES: [&str; 12] =
    ["de", "da", "di", "del", "della", "van", "von", "der", "den", "la", "le", "bin"];

/// Returns the people of the first sentence of `body` that only says who was there, and its words
/// for that.
pub(super) fn listed_in_sentence(body: &str) -> Option<(String, Vec<String>)> {
    let mut is_code = false;
    for line in body.lines().map(str::trim) {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with(['#', '>', '|']) {
            continue;
        }
        if let Some(found) = sentences(line).into_iter().find_map(people_of) {
            return Some(found);
        }
    }
    None
}

/// Splits a line after points before a space. The point of an initial ends no sentence.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, mark) in line.match_indices(['.', '!', '?']) {
        let word = line[start..at].rsplit(' ').next().unwrap_or_default();
        let is_end = line[at + mark.len()..].starts_with(' ');
        if is_end && word.chars().count() > 1 {
            found.push(&line[start..at]);
            start = at + mark.len();
        }
    }
    found.push(line[start..].trim_end_matches(['.', '!']));
    found
}

/// Returns the people of a sentence that consists of names, and of words that say that they were
/// there: before the names or after them.
fn people_of(sentence: &str) -> Option<(String, Vec<String>)> {
    let sentence = sentence.trim().trim_start_matches(['-', '*', ' ']);
    let ends: Vec<usize> = sentence.match_indices(' ').map(|(at, _)| at).collect();
    if let Some((label, names)) = sentence.split_once(':').filter(|(label, _)| is_label(label)) {
        let names = split_names(names.trim());
        if !names.is_empty() && names.iter().all(|name| is_name(name)) {
            return Some((label.trim().to_owned(), names));
        }
    }
    let before = ends.iter().take(MAX_OTHER_WORDS).rev().map(|at| sentence.split_at(*at));
    let after = ends.iter().rev().take(MAX_OTHER_WORDS).rev().map(|at| {
        let (names, words) = sentence.split_at(*at);
        (words, names)
    });
    before.chain(after).find_map(|(words, names)| {
        let names = split_names(names.trim());
        let is_list = says_there(words) && !names.is_empty() && names.iter().all(|n| is_name(n));
        is_list.then(|| (words.trim_matches([' ', ':']).to_owned(), names))
    })
}

/// Returns whether the words before a colon end with one that says that somebody was there: `Three
/// board members were present`.
fn is_label(text: &str) -> bool {
    let words = folded_words(text);
    words.len() <= MAX_LABEL_WORDS
        && words.last().is_some_and(|word| names_attendance(word) || THERE.contains(&word.as_str()))
        && words.iter().any(|word| OTHERS.contains(&word.as_str()))
        && !words.iter().any(|word| is_negation(word) || names_absence(word) || word == "also")
}

/// Returns whether a text only says that somebody was there.
fn says_there(text: &str) -> bool {
    let words = folded_words(text);
    let is_there = |word: &String| names_attendance(word) || THERE.contains(&word.as_str());
    let is_verb = |word: &String| OTHERS.contains(&word.as_str());
    let is_clear = words.len() > 1 || words.iter().any(|word| word.starts_with("asisti"));
    is_clear
        && words.iter().any(is_there)
        && words.iter().all(|word| is_there(word) || is_verb(word))
}

/// Returns whether a text is a name: a link and nothing else, or capitalised words.
fn is_name(text: &str) -> bool {
    let text = text.trim().trim_matches(['*', '_', ',']);
    if link_in(text).is_some() {
        return text.starts_with('[')
            && text.ends_with([']', ')'])
            && text.matches('[').count() <= 2;
    }
    let mut words = text.split_whitespace();
    let is_word = |word: &str| {
        word.starts_with(char::is_uppercase) || PARTICLES.contains(&word.to_lowercase().as_str())
    };
    words.clone().count() <= MAX_NAME_WORDS
        && text.starts_with(char::is_uppercase)
        && words.all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_of_sentences_are_found_in_four_languages() {
        for (body, words, count) in [
            ("A note.\n\nPresent were [Ann](people/ann) and [Bo](people/bo).", "Present were", 2),
            ("It rained. Attended by [[Ann]], [[bo|Bo]] & Edith Marsh. We ate.", "Attended by", 3),
            ("In attendance were Ann, Bo and J. van Dyk.", "In attendance were", 3),
            ("[[Ann]] and Bo took part.", "took part", 2),
            ("- Ann and Bo were present.", "were present", 2),
            ("Anwesend waren [[Ann]] und [[Bo]].", "Anwesend waren", 2),
            ("Ann und Bo waren dabei.", "waren dabei", 2),
            ("Étaient présents : [[Ann]] et [[Bo]].", "Étaient présents", 2),
            ("Étaient présents Ann et Bo.", "Étaient présents", 2),
            ("Estuvieron presentes Ana y Luis.", "Estuvieron presentes", 2),
            ("Asistieron Ana, Luis y Eva.", "Asistieron", 3),
            (
                "The board met. Three members were present: [[Ann]], [Bo](people/bo), and Cy.",
                "Three members were present",
                3,
            ),
        ] {
            let (found, names) = listed_in_sentence(body).unwrap_or_default();
            assert_eq!((found.as_str(), names.len()), (words, count), "{body}: {names:?}");
        }
    }

    #[test]
    fn other_sentences_list_nobody() {
        for body in [
            "[[Ann]] was ill and sent a note.",
            "Not present were Ann and Bo.",
            "Ann and Bo were not present.",
            "People were kind.",
            "Present Ann with the award.",
            "Present were Ann and two of her friends.",
            "Ann was also present.",
            "Two members were not present: Ann and Bo.",
            "The attendee list was tight: Ann came in with questions.",
            "Ann took part of the cake.",
            "The present was nice. Ann was happy.",
            "```\nPresent were Ann and Bo.\n```",
            "> Present were Ann and Bo.",
            "",
        ] {
            assert_eq!(listed_in_sentence(body), None, "{body}");
        }
    }
}
