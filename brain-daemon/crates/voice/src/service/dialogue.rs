//! Interprets a turn of a call and decides on the next action. No I/O.
//!
//! The module has no state: `asked` of each turn says what the previous turn requested from the
//! caller.

use brain_protocol::{VoiceAction, VoiceEvent, VoiceReply, VoiceTurn};

use super::phrases::Phrases;

/// A call ends after this number of consecutive turns that are silent or not understood.
const MAX_SILENCES: u32 = 2;

/// The value of `asked` after a request for a note.
const NOTE: &str = "note";
/// The value of `asked` after a request for a question.
const QUESTION: &str = "question";

/// The action for a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TurnAction {
    /// Only speak.
    Say(VoiceReply),
    /// Save a note.
    Note(String),
    /// Search.
    Search(String),
}

/// Returns the action for a turn. Unknown callers can only leave a message.
pub(super) fn next_action(
    turn: &VoiceTurn,
    is_known: bool,
    greeting: Option<&str>,
    phrases: &Phrases,
) -> TurnAction {
    match &turn.event {
        VoiceEvent::Incoming if is_known => {
            TurnAction::Say(listen(&[greeting.unwrap_or(phrases.greeting), phrases.menu], None, 0))
        }
        VoiceEvent::Incoming => TurnAction::Say(ask_for_message(phrases)),
        VoiceEvent::Speech { .. } | VoiceEvent::Digits(_) if !is_known => {
            TurnAction::Say(ask_for_message(phrases))
        }
        VoiceEvent::Speech { text, .. } => speech(turn, text, phrases),
        VoiceEvent::Digits(keys) => digits(turn, keys, phrases),
        VoiceEvent::Silence if is_known => {
            TurnAction::Say(ask_again(turn, phrases.silence, phrases))
        }
        VoiceEvent::Silence => TurnAction::Say(end(&[phrases.goodbye])),
        VoiceEvent::Recording { .. } => TurnAction::Say(end(&[phrases.thanks, phrases.goodbye])),
        VoiceEvent::Transcription { .. } | VoiceEvent::Ended(_) => {
            TurnAction::Say(VoiceReply { say: Vec::new(), then: VoiceAction::Nothing })
        }
    }
}

/// Returns the reply after a failure. A failed note can be left as a recording; a question can be
/// repeated.
pub(super) fn apology(turn: Option<&VoiceTurn>, phrases: &Phrases) -> VoiceReply {
    let Some(turn) = turn else { return end(&[phrases.sorry, phrases.goodbye]) };
    match turn.event {
        VoiceEvent::Speech { .. } => match next_action(turn, true, None, phrases) {
            TurnAction::Search(_) => ask_for_more(vec![phrases.sorry.into()], phrases),
            TurnAction::Say(_) | TurnAction::Note(_) => {
                VoiceReply { say: vec![phrases.record.into()], then: VoiceAction::Record }
            }
        },
        VoiceEvent::Transcription { .. } | VoiceEvent::Ended(_) => {
            VoiceReply { say: Vec::new(), then: VoiceAction::Nothing }
        }
        _ => end(&[phrases.sorry, phrases.goodbye]),
    }
}

/// Returns a reply that says these sentences and asks for more.
pub(super) fn ask_for_more(mut say: Vec<String>, phrases: &Phrases) -> VoiceReply {
    say.push(phrases.more.into());
    VoiceReply { say, then: VoiceAction::Listen { asked: None, silences: 0 } }
}

/// Returns a reply that says these sentences, then listens. `asked` is the request to the caller.
fn listen(say: &[&str], asked: Option<&str>, silences: u32) -> VoiceReply {
    let then = VoiceAction::Listen { asked: asked.map(Into::into), silences };
    VoiceReply { say: say.iter().map(|text| (*text).to_owned()).collect(), then }
}

/// Returns a reply that says these sentences, then hangs up.
fn end(say: &[&str]) -> VoiceReply {
    VoiceReply {
        say: say.iter().map(|text| (*text).to_owned()).collect(),
        then: VoiceAction::HangUp,
    }
}

fn ask_for_message(phrases: &Phrases) -> VoiceReply {
    VoiceReply { say: vec![phrases.message.into()], then: VoiceAction::Record }
}

/// Returns a reply that gives the reason and asks again, or that ends the call after
/// [`MAX_SILENCES`] turns.
fn ask_again(turn: &VoiceTurn, reason: &str, phrases: &Phrases) -> VoiceReply {
    let silences = turn.silences.saturating_add(1);
    if silences >= MAX_SILENCES {
        return end(&[reason, phrases.goodbye]);
    }
    let (asked, question) = match turn.asked.as_deref() {
        Some(NOTE) => (Some(NOTE), phrases.note),
        Some(QUESTION) => (Some(QUESTION), phrases.question),
        _ => (None, phrases.menu),
    };
    listen(&[reason, question], asked, silences)
}

fn digits(turn: &VoiceTurn, keys: &str, phrases: &Phrases) -> TurnAction {
    TurnAction::Say(match keys {
        "1" => listen(&[phrases.note], Some(NOTE), 0),
        "2" => listen(&[phrases.question], Some(QUESTION), 0),
        "0" | "9" => end(&[phrases.goodbye]),
        _ => ask_again(turn, phrases.not_understood, phrases),
    })
}

fn speech(turn: &VoiceTurn, text: &str, phrases: &Phrases) -> TurnAction {
    let normalized = normalize(text);
    if !text.contains(char::is_alphanumeric) {
        return TurnAction::Say(ask_again(turn, phrases.not_understood, phrases));
    }
    if phrases.end_phrases.contains(&normalized.as_str()) {
        return TurnAction::Say(end(&[phrases.goodbye]));
    }
    if phrases.menu_phrases.contains(&normalized.as_str()) {
        return TurnAction::Say(listen(&[phrases.menu], None, 0));
    }
    match turn.asked.as_deref() {
        Some(NOTE) => return TurnAction::Note(text.trim().into()),
        Some(QUESTION) => return TurnAction::Search(text.trim().into()),
        _ => {}
    }
    if let Some(rest) = text_after_prefix(text, phrases.note_prefixes) {
        return match rest {
            "" => TurnAction::Say(listen(&[phrases.note], Some(NOTE), 0)),
            rest => TurnAction::Note(rest.into()),
        };
    }
    if let Some(rest) = text_after_prefix(text, phrases.question_prefixes) {
        return match rest {
            "" => TurnAction::Say(listen(&[phrases.question], Some(QUESTION), 0)),
            rest => TurnAction::Search(rest.into()),
        };
    }
    let first = normalized.split(' ').next().unwrap_or_default();
    if text.trim_end().ends_with('?') || phrases.interrogatives.contains(&first) {
        return TurnAction::Search(text.trim().into());
    }
    TurnAction::Note(text.trim().into())
}

/// Normalises speech for comparison: lower case, no punctuation, single spaces.
pub(super) fn normalize(text: &str) -> String {
    let plain = text.replace('\u{2019}', "'").to_lowercase();
    let letters = plain.split(|c: char| !c.is_alphanumeric() && c != '\'');
    letters.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the text after the first matching prefix, as it was spoken.
fn text_after_prefix<'a>(text: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    prefixes.iter().find_map(|prefix| {
        let mut rest = text;
        for word in prefix.split(' ') {
            let from = rest.find(char::is_alphanumeric)?;
            let tail = rest.get(from..)?;
            let end = tail.find(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '\u{2019}'));
            let (first, more) = tail.split_at(end.unwrap_or(tail.len()));
            if normalize(first) != word {
                return None;
            }
            rest = more;
        }
        Some(
            rest.trim_start_matches(|c: char| {
                !c.is_alphanumeric() && !matches!(c, '"' | '\'' | '(')
            })
            .trim(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(event: VoiceEvent, asked: Option<&str>, silences: u32) -> VoiceTurn {
        let asked = asked.map(Into::into);
        VoiceTurn { call: "CA1".into(), turn: 1, from: "+1".into(), event, asked, silences }
    }

    fn speech(text: &str) -> VoiceEvent {
        VoiceEvent::Speech { text: text.into(), confidence: None }
    }

    fn english() -> &'static Phrases {
        Phrases::of("en-US")
    }

    /// Formats an action on one line.
    fn describe(found: TurnAction) -> String {
        match found {
            TurnAction::Note(text) => format!("note: {text}"),
            TurnAction::Search(text) => format!("search: {text}"),
            TurnAction::Say(VoiceReply {
                then: VoiceAction::Listen { asked, silences }, ..
            }) => {
                format!("listen {} {silences}", asked.as_deref().unwrap_or("-"))
            }
            TurnAction::Say(reply) => format!("{:?}", reply.then),
        }
    }

    fn action(text: &str, asked: Option<&str>) -> String {
        describe(next_action(&turn(speech(text), asked, 1), true, None, english()))
    }

    #[test]
    fn speech_is_noted_or_searched() {
        for (text, expected) in [
            ("Note.", "listen note 0"),
            ("Take a note", "listen note 0"),
            ("Take a note: buy oat milk.", "note: buy oat milk."),
            ("Note that Ann's boat is called Skua", "note: Ann's boat is called Skua"),
            ("Notes from the meeting are long", "note: Notes from the meeting are long"),
            ("Question", "listen question 0"),
            ("I have a question", "listen question 0"),
            ("Search for the boat of Ann", "search: the boat of Ann"),
            ("What is the name of the boat", "search: What is the name of the boat"),
            ("Ann's boat is called Skua?", "search: Ann's boat is called Skua?"),
            ("what\u{2019}s the code", "search: what\u{2019}s the code"),
            ("Whatever happens, buy milk", "note: Whatever happens, buy milk"),
            ("Buy milk", "note: Buy milk"),
            ("No, thank you.", "HangUp"),
            ("That\u{2019}s all.", "HangUp"),
            ("Goodbye!", "HangUp"),
            ("No milk today", "note: No milk today"),
            ("Yes please.", "listen - 0"),
            ("…", "HangUp"),
        ] {
            assert_eq!(action(text, None), expected, "{text}");
        }
    }

    #[test]
    fn former_request_decides_the_action() {
        assert_eq!(action("What a nice day", Some("note")), "note: What a nice day");
        assert_eq!(action("Buy milk", Some("question")), "search: Buy milk");
        assert_eq!(action("Note that", Some("note")), "note: Note that");
        assert_eq!(action("Never mind.", Some("note")), "listen - 0");
        assert_eq!(action("Goodbye", Some("question")), "HangUp");
        assert_eq!(action("Buy milk", Some("something else")), "note: Buy milk");
    }

    #[test]
    fn keys_select_an_action() {
        let pressed = |keys: &str, silences| {
            describe(next_action(
                &turn(VoiceEvent::Digits(keys.into()), Some("note"), silences),
                true,
                None,
                english(),
            ))
        };
        assert_eq!(pressed("1", 1), "listen note 0");
        assert_eq!(pressed("2", 1), "listen question 0");
        assert_eq!(pressed("0", 0), "HangUp");
        assert_eq!(pressed("7", 0), "listen note 1");
        assert_eq!(pressed("7", 1), "HangUp");
    }

    #[test]
    fn two_silences_end_a_call() {
        let silent = |asked, silences, is_known| {
            describe(next_action(
                &turn(VoiceEvent::Silence, asked, silences),
                is_known,
                None,
                english(),
            ))
        };
        assert_eq!(silent(None, 0, true), "listen - 1");
        assert_eq!(silent(Some("question"), 0, true), "listen question 1");
        assert_eq!(silent(Some("question"), 1, true), "HangUp");
        assert_eq!(silent(None, u32::MAX, true), "HangUp");
        assert_eq!(silent(None, 0, false), "HangUp");
    }

    #[test]
    fn unknown_caller_leaves_a_message() {
        for event in [
            VoiceEvent::Incoming,
            speech("What is the code?"),
            speech("note x"),
            VoiceEvent::Digits("2".into()),
        ] {
            let asked = Some("question");
            assert_eq!(
                describe(next_action(&turn(event, asked, 0), false, Some("Hello you"), english())),
                "Record"
            );
        }
        let recorded =
            VoiceEvent::Recording { id: "RE1".into(), url: "https://x".into(), seconds: 3 };
        assert_eq!(
            describe(next_action(&turn(recorded, None, 0), false, None, english())),
            "HangUp"
        );
    }

    #[test]
    fn call_begins_with_greeting_and_menu() {
        let greeted = |greeting| match next_action(
            &turn(VoiceEvent::Incoming, None, 0),
            true,
            greeting,
            english(),
        ) {
            TurnAction::Say(reply) => reply.say,
            other => panic!("{other:?}"),
        };
        assert_eq!(greeted(Some("Ahoy.")), ["Ahoy.", english().menu]);
        assert_eq!(greeted(None), [english().greeting, english().menu]);
        let german = Phrases::of("de-DE");
        let german_action =
            |text: &str| describe(next_action(&turn(speech(text), None, 0), true, None, german));
        assert_eq!(german_action("Notiere: Milch kaufen"), "note: Milch kaufen");
        assert_eq!(german_action("Wie heißt das Boot"), "search: Wie heißt das Boot");
        assert_eq!(german_action("Auf Wiederhören."), "HangUp");
    }

    #[test]
    fn failed_note_can_be_recorded() {
        let failed = |event, asked| apology(Some(&turn(event, asked, 0)), english());
        assert_eq!(failed(speech("x"), None).then, VoiceAction::Record);
        assert_eq!(failed(speech("What is it?"), Some("note")).then, VoiceAction::Record);
        assert_eq!(failed(VoiceEvent::Incoming, None).then, VoiceAction::HangUp);
        assert_eq!(failed(VoiceEvent::Ended("completed".into()), None).then, VoiceAction::Nothing);
        assert_eq!(apology(None, english()), end(&[english().sorry, english().goodbye]));
        // After a failed question, the caller is not asked for a recording.
        for (question, asked) in [("What is it", None), ("the boat", Some("question"))] {
            let reply = failed(speech(question), asked);
            assert_eq!(reply.say, [english().sorry, english().more]);
            assert_eq!(reply.then, VoiceAction::Listen { asked: None, silences: 0 });
        }
    }
}
