//! Questions for the people at an event: `who attended the spring review`, `wer war beim Kickoff`.
//! No I/O.

use brain_search::QuestionTerms;

use super::forms::{COUNT, WHO};
use super::function_words::{is_function_word, names_absence};
use super::relation_words::{ATTENDANCE, names_relation};

/// Verbs that mean attendance before a word of [`AT`].
const BE: [&str; 23] = [
    "was",
    "were",
    "came",
    "went",
    "joined",
    "present",
    "took",
    "war",
    "waren",
    "kam",
    "kamen",
    "nahm",
    "nahmen",
    "anwesend",
    "etait",
    "etaient",
    "venu",
    "presents",
    "estuvo",
    "estuvieron",
    "fue",
    "fueron",
    "vino",
];
/// Prepositions before an event.
const AT: [&str; 17] = [
    "at", "to", "in", "part", "bei", "beim", "auf", "zu", "zum", "zur", "an", "am", "a", "au",
    "aux", "en", "al",
];
/// Words for people in a count: `how many people attended`.
const PEOPLE: [&str; 9] = [
    "people",
    "persons",
    "guests",
    "personen",
    "leute",
    "menschen",
    "personnes",
    "personas",
    "gente",
];

/// Returns the words that describe the event in a question for the people at it, as indices of
/// [`QuestionTerms::words`]; `None` for any other question.
pub fn attended_event(terms: &QuestionTerms) -> Option<Vec<usize>> {
    let words = &terms.words;
    if words.iter().any(|word| names_absence(&word.text)) {
        return None;
    }
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let asks = (0..words.len().min(3)).any(|at| {
        WHO.contains(&word(at)) || (COUNT.contains(&word(at)) && PEOPLE.contains(&word(at + 1)))
    });
    if !asks {
        return None;
    }
    let attends = |at: &usize| names_relation(word(*at), ATTENDANCE) || is_joined(word(*at));
    let verb = (0..words.len()).find(|at| attends(at)).or_else(|| {
        (0..words.len())
            .find(|&at| BE.contains(&word(at)) && (1..=2).any(|next| AT.contains(&word(at + next))))
    })?;
    let is_event = |at: &usize| {
        *at != verb
            && !is_function_word(&words[*at])
            && !attends(at)
            && !PEOPLE.contains(&word(*at))
            && !["part", "teil", "took", "present", "presents", "dabei", "mit"].contains(&word(*at))
            && !super::times::is_order_word(word(*at))
    };
    let event: Vec<usize> = (0..words.len()).filter(is_event).collect();
    (!event.is_empty()).then_some(event)
}

/// Returns whether the verb alone means attendance.
fn is_joined(word: &str) -> bool {
    ["joined", "assiste", "assistait"].contains(&word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    fn event(text: &str) -> Option<String> {
        let terms = terms(text);
        let words: Vec<String> =
            attended_event(&terms)?.into_iter().map(|at| terms.words[at].text.clone()).collect();
        Some(words.join(" "))
    }

    #[test]
    fn the_event_is_read_in_four_languages() {
        for (text, expected) in [
            ("who attended the spring review?", "spring review"),
            ("Who was at the kickoff of Night Ferry", "kickoff night ferry"),
            ("who were in the planning session", "planning session"),
            ("who took part in the spring review", "spring review"),
            ("who came to the spring review", "spring review"),
            ("how many people attended the spring review", "spring review"),
            ("who attended the last spring review", "spring review"),
            ("wer war beim Kickoff von Nachtboot?", "kickoff nachtboot"),
            ("Wer hat an der Besprechung teilgenommen?", "besprechung"),
            ("wer nahm an der Besprechung teil", "besprechung"),
            ("qui a participé à la réunion Bateau ?", "reunion bateau"),
            ("qui était à la réunion Bateau", "reunion bateau"),
            ("¿quién asistió a la reunión Barco?", "reunion barco"),
            ("quién estuvo en la reunión Barco", "reunion barco"),
        ] {
            assert_eq!(event(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "who founded Acme",
            "what was at the door",
            "who was it",
            "who",
            "who was absent at the review",
        ] {
            assert_eq!(event(text), None, "{text}");
        }
    }
}
