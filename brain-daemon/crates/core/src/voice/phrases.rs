//! What is said on the telephone, and the words that are understood, by language. Pure.

/// The sentences and words of one language. All words are in lower case, without marks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Phrases {
    /// The beginning of a language's tag.
    language: &'static str,
    /// What known callers hear first, unless the owner has a greeting.
    pub(super) greeting: &'static str,
    /// What there is to choose.
    pub(super) menu: &'static str,
    /// Asks for a note.
    pub(super) note: &'static str,
    /// Asks for a question.
    pub(super) question: &'static str,
    /// A note was stored.
    pub(super) noted: &'static str,
    /// Whether there is more.
    pub(super) more: &'static str,
    /// Before what was found.
    pub(super) found: &'static str,
    /// Nothing was found.
    pub(super) nothing: &'static str,
    /// What was said or pressed means nothing.
    pub(super) pardon: &'static str,
    /// Nothing was heard.
    pub(super) silence: &'static str,
    /// What unknown callers hear.
    pub(super) message: &'static str,
    /// A message was left.
    pub(super) thanks: &'static str,
    /// The end.
    pub(super) goodbye: &'static str,
    /// Something failed.
    pub(super) sorry: &'static str,
    /// Something failed, but the provider can record it.
    pub(super) record: &'static str,
    /// What a note begins with, the longest first.
    pub(super) notes: &'static [&'static str],
    /// What a question that is announced begins with, the longest first.
    pub(super) asks: &'static [&'static str],
    /// What a bare question begins with.
    pub(super) interrogatives: &'static [&'static str],
    /// Everything that somebody says who wants nothing more.
    pub(super) enough: &'static [&'static str],
    /// Everything that somebody says who wants something more, or something else.
    pub(super) again: &'static [&'static str],
}

static ENGLISH: Phrases = Phrases {
    language: "en",
    greeting: "Hello, this is your brain.",
    menu: "Say note, or press 1, to leave a note. Say question, or press 2, to ask something.",
    note: "What shall I note?",
    question: "What would you like to know?",
    noted: "Noted.",
    more: "Anything else?",
    found: "I found this:",
    nothing: "I found nothing about that. Say note if you want it noted.",
    pardon: "I did not understand that.",
    silence: "I did not hear anything.",
    message: "Hello. Nobody can take your call. Please leave a message after the tone.",
    thanks: "Thank you for your message.",
    goodbye: "Goodbye.",
    sorry: "Sorry, this does not work at the moment. Please try again later.",
    record: "Sorry, I cannot note this at the moment. Please say it once more after the tone, and it is recorded.",
    notes: &[
        "please take a note",
        "take a note",
        "make a note",
        "leave a note",
        "remember that",
        "write down",
        "new note",
        "a note",
        "note that",
        "note",
        "remember",
    ],
    asks: &[
        "i have a question",
        "i've got a question",
        "search for",
        "look up",
        "a question",
        "question",
        "search",
        "find",
        "ask",
    ],
    interrogatives: &[
        "who", "who's", "what", "what's", "where", "where's", "when", "why", "how", "which",
        "whose", "is", "are", "was", "were", "does", "did", "can",
    ],
    enough: &[
        "no",
        "no thanks",
        "no thank you",
        "nothing",
        "nothing else",
        "that's all",
        "that is all",
        "that's it",
        "goodbye",
        "good bye",
        "bye",
        "bye bye",
        "hang up",
        "stop",
        "done",
        "i'm done",
    ],
    again: &["yes", "yes please", "cancel", "never mind", "nevermind", "menu", "back"],
};

static GERMAN: Phrases = Phrases {
    language: "de",
    greeting: "Hallo, hier ist dein Gedächtnis.",
    menu: "Sag Notiz, oder drücke die 1, um etwas zu notieren. Sag Frage, oder drücke die 2, um etwas zu fragen.",
    note: "Was soll ich notieren?",
    question: "Was möchtest du wissen?",
    noted: "Notiert.",
    more: "Noch etwas?",
    found: "Das habe ich gefunden:",
    nothing: "Dazu habe ich nichts gefunden. Sag Notiz, wenn du es notieren möchtest.",
    pardon: "Das habe ich nicht verstanden.",
    silence: "Ich habe nichts gehört.",
    message: "Guten Tag. Gerade ist niemand zu erreichen. Bitte hinterlassen Sie eine Nachricht nach dem Ton.",
    thanks: "Vielen Dank für Ihre Nachricht.",
    goodbye: "Auf Wiederhören.",
    sorry: "Das geht im Moment leider nicht. Bitte versuchen Sie es später noch einmal.",
    record: "Das kann ich im Moment leider nicht notieren. Bitte sag es nach dem Ton noch einmal, dann wird es aufgenommen.",
    notes: &[
        "bitte notiere",
        "neue notiz",
        "eine notiz",
        "merk dir",
        "merke dir",
        "notiere",
        "schreib auf",
        "notiz",
    ],
    asks: &[
        "ich habe eine frage",
        "eine frage",
        "suche nach",
        "such nach",
        "frage",
        "suche",
        "finde",
    ],
    interrogatives: &[
        "wer", "wem", "wen", "wessen", "was", "wo", "wohin", "woher", "wann", "warum", "wieso",
        "weshalb", "wie", "welche", "welcher", "welches", "ist", "sind", "war", "hat", "gibt",
    ],
    enough: &[
        "nein",
        "nein danke",
        "nichts",
        "nichts mehr",
        "das war's",
        "das wars",
        "das war alles",
        "das ist alles",
        "fertig",
        "tschüss",
        "auf wiedersehen",
        "auf wiederhören",
        "auflegen",
        "stopp",
    ],
    again: &["ja", "ja bitte", "abbrechen", "zurück", "menü"],
};

impl Phrases {
    /// Those of a language as the provider names it (`de-DE`); the English ones where there are none.
    pub(super) fn of(language: &str) -> &'static Self {
        let begins = language.split('-').next().unwrap_or_default().to_ascii_lowercase();
        [&GERMAN].into_iter().find(|phrases| phrases.language == begins).unwrap_or(&ENGLISH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_beginning() {
        for (tag, language) in [
            ("de-DE", "de"),
            ("DE", "de"),
            ("de-AT", "de"),
            ("en-GB", "en"),
            ("fr-FR", "en"),
            ("", "en"),
        ] {
            assert_eq!(Phrases::of(tag).language, language, "{tag}");
        }
    }

    #[test]
    fn longer_beginnings_come_before_shorter_ones_that_they_begin_with() {
        for phrases in [&ENGLISH, &GERMAN] {
            for list in [phrases.notes, phrases.asks] {
                for (at, first) in list.iter().enumerate() {
                    let hidden = list
                        .iter()
                        .skip(at + 1)
                        .find(|later| later.starts_with(&format!("{first} ")));
                    assert_eq!(hidden, None, "{first}");
                }
            }
            for text in
                [phrases.notes, phrases.asks, phrases.interrogatives, phrases.enough, phrases.again]
                    .concat()
            {
                assert_eq!(
                    text,
                    super::super::dialogue::words(text),
                    "as what is heard is compared"
                );
            }
        }
    }
}
