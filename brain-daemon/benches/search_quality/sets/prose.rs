//! Pages and prose for the generated sets.

use super::lexicon::LEXICONS;
use super::phrases::sentence;
use crate::films::Rng;
use crate::set::Doc;

/// The languages of the sets whose questions have words.
pub(super) const LANGUAGES: [&str; 4] = ["en", "de", "fr", "es"];

/// Returns a page.
pub(super) fn page(id: String, title: &str, text: String, frontmatter: &str) -> Doc {
    Doc { id, title: title.to_owned(), text, frontmatter: frontmatter.to_owned(), file: None }
}

/// Returns `count` sentences in the language, which say nothing about the subject of a set.
pub(super) fn prose(language: &str, rng: &mut Rng, count: usize) -> String {
    let lexicon = LEXICONS.iter().find(|lexicon| lexicon.code == language).expect("a language");
    let mut text = String::new();
    for _ in 0..count {
        let sentence = sentence(lexicon, rng);
        let mut letters = sentence.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(letters.as_str());
        text.push_str(lexicon.end);
    }
    text.trim_end().to_owned()
}

/// Returns a random item.
pub(super) fn pick<'a>(rng: &mut Rng, items: &[&'a str]) -> &'a str {
    items[rng.below(items.len())]
}

/// Returns the parts of `text` between `|`.
pub(super) fn parts(text: &'static str) -> Vec<&'static str> {
    text.split('|').collect()
}

/// Returns the last part of a slug for a title: its letters and digits in ASCII, joined by `-`.
pub(super) fn slug(title: &str) -> String {
    let plain = |c: char| match c {
        'ä' | 'á' | 'à' | 'â' => 'a',
        'é' | 'è' | 'ê' => 'e',
        'í' | 'î' => 'i',
        'ö' | 'ó' | 'ô' => 'o',
        'ü' | 'ú' | 'û' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    let mapped: String = title.to_lowercase().chars().map(plain).collect();
    mapped.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
