//! Phrases of notes, typed without quotes, in several scripts. The notes share their words and many
//! parts of sentences; some are long.

use crate::films::Rng;
use crate::set::{Doc, Set};
use crate::sets::lexicon::{LEXICONS, Lexicon};

/// Notes of each language.
const NOTES: usize = 160;
/// Maximum notes with a phrase.
const MAX_ANSWERS: usize = 3;
/// Questions of each language.
const QUESTIONS: usize = 100;

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    LEXICONS.iter().map(phrase_set).collect()
}

fn phrase_set(lexicon: &Lexicon) -> Set {
    let mut rng = Rng(20_261_123);
    let docs: Vec<Doc> = (0..NOTES).map(|number| note(lexicon, number, &mut rng)).collect();
    let mut questions = Vec::new();
    while questions.len() < QUESTIONS {
        let text = &docs[rng.below(docs.len())].text;
        let Some(phrase) = phrase(lexicon, text, &mut rng) else { continue };
        let answers = docs.iter().filter(|doc| doc.text.contains(&phrase));
        let answers: Vec<String> = answers.map(|doc| doc.id.clone()).collect();
        // A phrase that is in many notes identifies none of them.
        if answers.len() <= MAX_ANSWERS {
            questions.push((phrase, answers));
        }
    }
    Set::new(&format!("phrase-{}", lexicon.code), docs, &questions)
}

/// Returns four to six words of `text`, or 8 to 24 characters in a script without spaces. `None` if
/// they cross the end of a sentence or a heading, or if the text is too short.
pub(super) fn phrase(lexicon: &Lexicon, text: &str, rng: &mut Rng) -> Option<String> {
    let length = 4 + rng.below(3);
    let pieces: Vec<&str> = match lexicon.space {
        "" => text.split_inclusive(|_| true).collect(),
        _ => text.split(' ').collect(),
    };
    // A word of Thai has about four letters; one of Chinese or Japanese two.
    let length = match (lexicon.space, lexicon.code) {
        ("", "th") => length * 4,
        ("", _) => length * 2,
        _ => length,
    };
    let from = rng.below(pieces.len().saturating_sub(length).max(1));
    let phrase = pieces.get(from..from + length)?.join(lexicon.space);
    (!phrase.contains(['\n', '#', '.', '。'])).then(|| phrase.trim().to_owned())
}

/// Returns a note of random sentences; one in eight is long.
pub(super) fn note(lexicon: &Lexicon, number: usize, rng: &mut Rng) -> Doc {
    let sentences = if number.is_multiple_of(8) { 60 } else { 6 } + rng.below(14);
    let title = random_part(lexicon.objects, rng);
    let mut text = String::new();
    for index in 0..sentences {
        if index % 12 == 11 {
            text.push_str(&format!("\n\n## {}\n\n", random_part(lexicon.places, rng)));
        }
        text.push_str(&sentence(lexicon, rng));
        if rng.below(3) == 0 {
            let conjunction = random_part(lexicon.conjunctions, rng);
            let more = sentence(lexicon, rng);
            text.push_str(&format!("{}{conjunction}{}{more}", lexicon.space, lexicon.space));
        }
        text.push_str(lexicon.end);
    }
    Doc {
        id: format!("notes/{}-{number}", lexicon.code),
        title: format!("{title} {number}"),
        text: text.trim().to_owned(),
        frontmatter: String::new(),
        file: None,
    }
}

/// Returns a sentence without its end.
pub(super) fn sentence(lexicon: &Lexicon, rng: &mut Rng) -> String {
    let parts: Vec<&str> = random_part(lexicon.orders, rng)
        .chars()
        .map(|kind| match kind {
            's' => random_part(lexicon.subjects, rng),
            'v' => random_part(lexicon.verbs, rng),
            'o' => random_part(lexicon.objects, rng),
            'p' => random_part(lexicon.places, rng),
            _ => random_part(lexicon.times, rng),
        })
        .collect();
    parts.join(lexicon.space)
}

/// Returns a random one of `parts`, which `|` separates.
fn random_part(parts: &'static str, rng: &mut Rng) -> &'static str {
    let all: Vec<&str> = parts.split('|').collect();
    all[rng.below(all.len())]
}
