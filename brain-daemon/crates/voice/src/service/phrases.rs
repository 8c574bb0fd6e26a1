//! Spoken phrases and recognised words by language. No I/O.

/// Phrases that are spoken in one language, and lists of phrases that are recognised. The lists are
/// normalised: lower case, apostrophes as the only punctuation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Phrases {
    /// The first part of the language tag, in lower case.
    language: &'static str,
    /// Greeting for known callers, unless the owner configured one.
    pub(super) greeting: &'static str,
    /// Offers a note or a question.
    pub(super) menu: &'static str,
    /// Asks for a note.
    pub(super) note: &'static str,
    /// Asks for a question.
    pub(super) question: &'static str,
    /// Says that a note was saved.
    pub(super) note_saved: &'static str,
    /// Asks whether there is more.
    pub(super) more: &'static str,
    /// Introduces a result.
    pub(super) result_intro: &'static str,
    /// Says that nothing was found.
    pub(super) no_result: &'static str,
    /// Says that the input was not understood.
    pub(super) not_understood: &'static str,
    /// Says that nothing was heard.
    pub(super) silence: &'static str,
    /// Greets unknown callers and asks for a message.
    pub(super) message: &'static str,
    /// Thanks for a message.
    pub(super) thanks: &'static str,
    /// Ends the call.
    pub(super) goodbye: &'static str,
    /// Apologises for a failure.
    pub(super) sorry: &'static str,
    /// Apologises for a failure, and asks for the note again: the provider records it.
    pub(super) record: &'static str,
    /// Prefixes of a note. A prefix comes before every shorter one that it begins with.
    pub(super) note_prefixes: &'static [&'static str],
    /// Prefixes of an announced question, in the same order as `note_prefixes`.
    pub(super) question_prefixes: &'static [&'static str],
    /// First words of a question.
    pub(super) interrogatives: &'static [&'static str],
    /// Complete utterances of callers who are finished.
    pub(super) end_phrases: &'static [&'static str],
    /// Complete utterances of callers who want more or something else.
    pub(super) menu_phrases: &'static [&'static str],
}

static ENGLISH: Phrases = Phrases {
    language: "en",
    greeting: "Hello, this is your brain.",
    menu: "Say note, or press 1, to leave a note. Say question, or press 2, to ask something.",
    note: "What shall I note?",
    question: "What would you like to know?",
    note_saved: "Noted.",
    more: "Anything else?",
    result_intro: "I found this:",
    no_result: "I found nothing about that. Say note if you want it noted.",
    not_understood: "I did not understand that.",
    silence: "I did not hear anything.",
    message: "Hello. Nobody can take your call. Please leave a message after the tone.",
    thanks: "Thank you for your message.",
    goodbye: "Goodbye.",
    sorry: "Sorry, this does not work at the moment. Please try again later.",
    record: "Sorry, I cannot note this at the moment. Please say it once more after the tone, and \
             it is recorded.",
    note_prefixes: &[
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
    question_prefixes: &[
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
    end_phrases: &[
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
    menu_phrases: &["yes", "yes please", "cancel", "never mind", "nevermind", "menu", "back"],
};

static GERMAN: Phrases = Phrases {
    language: "de",
    greeting: "Hallo, hier ist dein Gedächtnis.",
    menu: "Sag Notiz, oder drücke die 1, um etwas zu notieren. Sag Frage, oder drücke die 2, um \
           etwas zu fragen.",
    note: "Was soll ich notieren?",
    question: "Was möchtest du wissen?",
    note_saved: "Notiert.",
    more: "Noch etwas?",
    result_intro: "Das habe ich gefunden:",
    no_result: "Dazu habe ich nichts gefunden. Sag Notiz, wenn du es notieren möchtest.",
    not_understood: "Das habe ich nicht verstanden.",
    silence: "Ich habe nichts gehört.",
    message: "Guten Tag. Gerade ist niemand zu erreichen. Bitte hinterlassen Sie eine Nachricht \
              nach dem Ton.",
    thanks: "Vielen Dank für Ihre Nachricht.",
    goodbye: "Auf Wiederhören.",
    sorry: "Das geht im Moment leider nicht. Bitte versuchen Sie es später noch einmal.",
    record: "Das kann ich im Moment leider nicht notieren. Bitte sag es nach dem Ton noch einmal, \
             dann wird es aufgenommen.",
    note_prefixes: &[
        "bitte notiere",
        "neue notiz",
        "eine notiz",
        "merk dir",
        "merke dir",
        "notiere",
        "schreib auf",
        "notiz",
    ],
    question_prefixes: &[
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
    end_phrases: &[
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
    menu_phrases: &["ja", "ja bitte", "abbrechen", "zurück", "menü"],
};

impl Phrases {
    /// Returns the phrases of a provider's language tag (`de-DE`); English if there are none.
    pub(super) fn of(language: &str) -> &'static Self {
        let prefix = language.split('-').next().unwrap_or_default().to_ascii_lowercase();
        [&GERMAN].into_iter().find(|phrases| phrases.language == prefix).unwrap_or(&ENGLISH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_matches_by_prefix() {
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
    fn lists_are_normalised_and_longer_prefixes_come_first() {
        for phrases in [&ENGLISH, &GERMAN] {
            for list in [phrases.note_prefixes, phrases.question_prefixes] {
                for (at, first) in list.iter().enumerate() {
                    let unreachable = list
                        .iter()
                        .skip(at + 1)
                        .find(|later| later.starts_with(&format!("{first} ")));
                    assert_eq!(unreachable, None, "{first}");
                }
            }
            for text in [
                phrases.note_prefixes,
                phrases.question_prefixes,
                phrases.interrogatives,
                phrases.end_phrases,
                phrases.menu_phrases,
            ]
            .concat()
            {
                assert_eq!(text, super::super::dialogue::normalize(text), "lists are normalised");
            }
        }
    }
}
