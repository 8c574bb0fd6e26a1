//! Reads a field with what it is of: "the lead of Tide", "Tide's lead", "the lead".

use super::fields::{Values, usual_name, values_of};
use super::names::LINK_OPEN;
use super::span::fold;

/// A field in a sentence: "the lead of Tide", "Tide's lead", "the lead".
pub(crate) struct FieldPhrase<'a> {
    pub(crate) field: String,
    /// The words of its subject; none for a field of the page.
    pub(crate) subject: &'a [&'a str],
    /// Whether an article or a possessive says that there is one.
    pub(crate) is_definite: bool,
}

/// Reads a field with its subject.
pub(crate) fn field_phrase<'a>(words: &'a [&'a str]) -> Option<FieldPhrase<'a>> {
    let first = fold(words.first()?);
    let article = usize::from(matches!(first.as_str(), "the" | "a" | "an"));
    let is_definite = first == "the";
    let words = &words[article..];
    let possessive = words.iter().take(5).position(|word| {
        let word = word.trim_end_matches(',');
        word.ends_with("'s") || word.ends_with("s'")
    });
    let name = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| fold(word)).collect();
        usual_name(&words.join(" "))
    };
    if let Some(at) = possessive {
        let field = &words[at + 1..];
        let is_field =
            (1..=3).contains(&field.len()) && !field.iter().any(|word| is_proper_name(word));
        return is_field.then(|| FieldPhrase {
            field: name(field),
            subject: &words[..=at],
            is_definite: true,
        });
    }
    let is_link = |at: &usize| matches!(fold(words[*at]).as_str(), "of" | "for" | "at");
    let splits: Vec<usize> = (1..words.len().min(5)).filter(is_link).collect();
    let is_known = |at: &&usize| values_of(&name(&words[..**at])) == Values::One;
    let at = splits.iter().rev().find(is_known).or(splits.first());
    match at {
        Some(at) if at + 1 < words.len() && *at <= 3 => {
            let field = name(&words[..*at]);
            Some(FieldPhrase { field, subject: &words[at + 1..], is_definite })
        }
        None if words.len() <= 3 => {
            Some(FieldPhrase { field: name(words), subject: &[], is_definite })
        }
        _ => None,
    }
}

/// Returns whether a word is the name of somebody or something; "CEO" is none.
fn is_proper_name(word: &str) -> bool {
    let is_capital = word.starts_with(|c: char| c.is_uppercase() || c == LINK_OPEN);
    is_capital && word.chars().any(|c| c.is_lowercase() || c == LINK_OPEN)
}
