//! Questions for the people at an event: `who attended the spring review`, `wer war beim Kickoff`.
//! No I/O.

use brain_search::{QuestionTerms, QuestionWord};

use super::forms::{COUNT, WHO};
use super::function_words::{begins_with, is_function_word, names_absence};
use super::order_words::is_order;
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
/// Prepositions between a noun for people and an event: `attendees of the review`.
const OF: [&str; 12] =
    ["of", "for", "von", "vom", "der", "des", "de", "du", "d", "del", "en", "from"];
/// Beginnings of nouns for the people at an event. The verb `attend` at the end of a question asks
/// for events.
const PEOPLE_AT_EVENT: [&str; 9] = [
    "attendee",
    "attendance",
    "participant",
    "teilnehmer",
    "asistente",
    "guest",
    "gaste",
    "invite",
    "invitado",
];
/// Words between a noun and an article: `the attendees were`.
const LIST: [&str; 7] = ["list", "liste", "lista", "names", "namen", "noms", "nombres"];
/// Words that ask for something else about people, unless a word of [`COUNT`] follows.
const HOW: [&str; 13] = [
    "how", "why", "when", "where", "wie", "wann", "wo", "comment", "quand", "ou", "como", "cuando",
    "donde",
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
    let attends = |at: &usize| names_relation(word(*at), ATTENDANCE) || is_joined(word(*at));
    let verb = match asks {
        true => (0..words.len()).find(|at| attends(at)).or_else(|| {
            let is_at = |next: usize| AT.contains(&word(next));
            (0..words.len()).find(|&at| BE.contains(&word(at)) && (is_at(at + 1) || is_at(at + 2)))
        }),
        false => noun_for_people(words),
    }?;
    let is_event = |at: &usize| {
        *at != verb
            && !is_function_word(&words[*at])
            && !attends(at)
            && !PEOPLE.contains(&word(*at))
            && !LIST.contains(&word(*at))
            && !["part", "teil", "took", "present", "presents", "dabei", "mit"].contains(&word(*at))
            && !is_order(words, *at)
    };
    let event: Vec<usize> = (0..words.len()).filter(is_event).collect();
    (!event.is_empty()).then_some(event)
}

/// Returns the noun for people in `attendees of the review` or `the review's attendees`.
fn noun_for_people(words: &[QuestionWord]) -> Option<usize> {
    let is_noun = |at: &usize| begins_with(&words[*at].text, &PEOPLE_AT_EVENT);
    let noun = (0..words.len()).find(is_noun)?;
    let is_filler =
        |word: &QuestionWord| is_function_word(word) || LIST.contains(&word.text.as_str());
    let leads = words
        .get(noun + 1)
        .is_some_and(|next| OF.contains(&next.text.as_str()) || AT.contains(&next.text.as_str()));
    let asks_how = words.first().is_some_and(|word| HOW.contains(&word.text.as_str()))
        && !words.get(1).is_some_and(|word| COUNT.contains(&word.text.as_str()));
    if asks_how {
        return None;
    }
    let is_first = words[..noun].iter().all(is_filler);
    let is_last = words[noun + 1..].iter().all(is_filler);
    ((is_first && leads) || (is_last && !is_first)).then_some(noun)
}

/// Returns whether the word means attendance in a question for the events of a person: `which
/// meetings did Ann go to`.
pub fn means_attendance(word: &str) -> bool {
    names_relation(word, ATTENDANCE)
        || is_joined(word)
        || BE.contains(&word)
        || ["go", "come", "join"].contains(&word)
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
            ("attendees of the spring review", "spring review"),
            ("show the list of participants in the spring review", "spring review"),
            ("guests at the spring party?", "spring party"),
            ("the spring review's attendees", "spring review"),
            ("spring review participants", "spring review"),
            ("Teilnehmer der Frühlingsrunde", "fruhlingsrunde"),
            ("die Teilnehmerinnen vom Kickoff Nachtboot", "kickoff nachtboot"),
            ("les participants à la réunion Bateau", "reunion bateau"),
            ("asistentes de la reunión Barco", "reunion barco"),
        ] {
            assert_eq!(event(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "who founded Acme",
            "what was at the door",
            "who was it",
            "who",
            "who was absent at the review",
            "attendees",
            "notes about participants of the study",
            "guest room",
            "which reviews did Ann attend",
            "how do attendees of a review prepare",
        ] {
            assert_eq!(event(text), None, "{text}");
        }
    }
}
