//! Remembered phrases with one word left out, added, exchanged with its neighbour, or replaced.

use super::lexicon::{LEXICONS, Lexicon};
use super::phrases::{note, phrase};
use super::prose::LANGUAGES;
use crate::films::Rng;
use crate::set::{Doc, Set};

/// Notes of each language.
const NOTES: usize = 160;

/// Returns a set for each language.
pub(crate) fn sets() -> Vec<Set> {
    let lexicons = LEXICONS.iter().filter(|lexicon| LANGUAGES.contains(&lexicon.code));
    lexicons.map(gap_set).collect()
}

fn gap_set(lexicon: &Lexicon) -> Set {
    let mut rng = Rng(20_261_320);
    let docs: Vec<Doc> = (0..NOTES).map(|number| note(lexicon, number, &mut rng)).collect();
    let mut questions = Vec::new();
    while questions.len() < 100 {
        let text = &docs[rng.below(docs.len())].text;
        let Some(first) = phrase(lexicon, text, &mut rng) else { continue };
        let Some(at) = text.find(&first) else { continue };
        // Seven words or more: a shorter phrase with a gap is in many notes.
        let words: Vec<&str> = text[at..].split(' ').take(7 + rng.below(3)).collect();
        let phrase = words.join(" ");
        if phrase.contains(['\n', '#', '.']) || words.len() < 7 {
            continue;
        }
        let at = 2 + rng.below(words.len() - 4);
        // A note with both sides of the change could be meant, too.
        let sides = [words[..at].join(" "), words[at + 2..].join(" ")];
        let has_sides = |doc: &&Doc| sides.iter().all(|side| doc.text.contains(side));
        let answers: Vec<String> = docs.iter().filter(has_sides).map(|d| d.id.clone()).collect();
        if answers.len() == 1 {
            let changed = changed(&words, at, questions.len() % 4, lexicon, &mut rng);
            questions.push((changed, answers));
        }
    }
    Set::new(&format!("phrase-with-gap-{}", lexicon.code), docs, &questions)
}

/// Returns the words with the one at `at` left out, exchanged, replaced, or with one before it.
fn changed(words: &[&str], at: usize, way: usize, lexicon: &Lexicon, rng: &mut Rng) -> String {
    let mut words: Vec<&str> = words.to_vec();
    let others: Vec<&str> = lexicon.objects.split(['|', ' ']).collect();
    let other = others[rng.below(others.len())];
    match way {
        0 | 1 => _ = words.remove(at),
        2 => words.swap(at, at + 1),
        _ if rng.below(2) == 0 => words[at] = other,
        _ => words.insert(at, other),
    }
    words.join(" ")
}
