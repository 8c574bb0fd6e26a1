//! The provider's markup: what is said, and what then. Always valid, always escaped. Pure.

use brain_protocol::{Spoken, VoiceThen};

/// The longest sentence, in characters; the provider takes 4096.
const SENTENCE: usize = 1000;
/// The most sentences.
const SENTENCES: usize = 10;
/// How long the provider waits for somebody to begin to speak, in seconds.
const WAITS: u32 = 6;
/// The longest recording, in seconds: the provider writes down no longer ones.
const RECORDING: u32 = 120;
/// After so many seconds of silence a recording ends.
const PAUSE: u32 = 5;

/// How it sounds, and where the provider goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manner<'a> {
    /// The language; the provider's own when empty.
    pub language: &'a str,
    /// The voice.
    pub voice: Option<&'a str>,
    /// The path of the first turn; those of what follows are below it.
    pub base: &'a str,
    /// The number of the next turn.
    pub next: u32,
}

/// What was decided, as markup.
#[must_use]
pub fn twiml(spoken: &Spoken, manner: &Manner<'_>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response>");
    let Manner { base, next, .. } = manner;
    match &spoken.then {
        VoiceThen::Listen { asked, silences } => {
            let mut turn = format!("{base}/turn?turn={next}&silences={silences}");
            if let Some(asked) = asked {
                turn += &format!("&asked={asked}");
            }
            let waits = WAITS.to_string();
            open(
                &mut out,
                "Gather",
                &[
                    ("input", "speech dtmf"),
                    ("action", &turn),
                    ("method", "POST"),
                    ("language", manner.language),
                    ("timeout", &waits),
                    ("speechTimeout", "auto"),
                    ("numDigits", "1"),
                ],
            );
            // What is said while it listens can be interrupted.
            say(&mut out, spoken, manner);
            out.push_str("</Gather>");
            // Nobody said anything: the provider goes on behind it, and would end the call.
            open(&mut out, "Redirect", &[("method", "POST")]);
            text(&mut out, &turn);
            out.push_str("</Redirect>");
        }
        VoiceThen::Record => {
            say(&mut out, spoken, manner);
            let (most, pause) = (RECORDING.to_string(), PAUSE.to_string());
            open(
                &mut out,
                "Record",
                &[
                    ("action", &format!("{base}/recording?turn={next}")),
                    ("method", "POST"),
                    ("maxLength", &most),
                    ("timeout", &pause),
                    ("playBeep", "true"),
                    ("transcribe", "true"),
                    ("transcribeCallback", &format!("{base}/transcription")),
                ],
            );
            // Nothing was recorded.
            out.push_str("</Record><Hangup/>");
        }
        VoiceThen::HangUp => {
            say(&mut out, spoken, manner);
            out.push_str("<Hangup/>");
        }
        VoiceThen::Nothing => say(&mut out, spoken, manner),
    }
    out.push_str("</Response>\n");
    out
}

/// The sentences, each by itself.
fn say(out: &mut String, spoken: &Spoken, manner: &Manner<'_>) {
    let sentences = spoken.say.iter().map(|said| said.trim()).filter(|said| !said.is_empty());
    for said in sentences.take(SENTENCES) {
        let mut attributes = vec![("language", manner.language)];
        attributes.extend(manner.voice.map(|voice| ("voice", voice)));
        open(out, "Say", &attributes);
        let end = said.char_indices().nth(SENTENCE).map_or(said.len(), |(at, _)| at);
        text(out, said.get(..end).unwrap_or_default());
        out.push_str("</Say>");
    }
}

/// A beginning tag. An attribute without a value is left out: the provider ends a call over `language=""`.
fn open(out: &mut String, name: &str, attributes: &[(&str, &str)]) {
    out.push('<');
    out.push_str(name);
    for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        text(out, value);
        out.push('"');
    }
    out.push('>');
}

/// Text that is nothing else, between tags and in an attribute: what XML 1.0 has no character for (section 2.2) is left out.
fn text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if c.is_whitespace() => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MANNER: Manner<'static> =
        Manner { language: "en-US", voice: None, base: "/voice", next: 3 };

    fn spoken(say: &[&str], then: VoiceThen) -> Spoken {
        Spoken { say: say.iter().map(|text| (*text).to_owned()).collect(), then }
    }

    /// The verbs with what they say and their attributes, as a parser of XML reads them.
    fn verbs(text: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "Response");
        let shown = |node: roxmltree::Node<'_, '_>| {
            let attributes = node.attributes().map(|it| format!(" {}={}", it.name(), it.value()));
            let said = node.text().map(|text| format!(": {text}")).unwrap_or_default();
            let depth = ">".repeat(node.ancestors().count() - 3);
            format!("{depth}{}{}{said}", node.tag_name().name(), attributes.collect::<String>())
        };
        document
            .root_element()
            .descendants()
            .skip(1)
            .filter(roxmltree::Node::is_element)
            .map(shown)
            .collect()
    }

    #[test]
    fn listening_always_goes_on() {
        let then = VoiceThen::Listen { asked: Some("note".into()), silences: 1 };
        let turn = "/voice/turn?turn=3&silences=1&asked=note";
        assert_eq!(
            verbs(&twiml(&spoken(&["What shall I note?"], then), &MANNER)),
            [
                format!(
                    "Gather input=speech dtmf action={turn} method=POST language=en-US timeout=6 speechTimeout=auto numDigits=1"
                ),
                ">Say language=en-US: What shall I note?".into(),
                format!("Redirect method=POST: {turn}"),
            ]
        );
        let then = VoiceThen::Listen { asked: None, silences: 0 };
        let last = verbs(&twiml(&spoken(&[], then), &MANNER)).pop().unwrap();
        assert_eq!(last, "Redirect method=POST: /voice/turn?turn=3&silences=0");
    }

    #[test]
    fn a_message_is_recorded_and_then_the_call_ends() {
        let manner = Manner { voice: Some("Polly.Vicki"), language: "de-DE", ..MANNER };
        assert_eq!(
            verbs(&twiml(&spoken(&["Bitte."], VoiceThen::Record), &manner)),
            [
                "Say language=de-DE voice=Polly.Vicki: Bitte.",
                "Record action=/voice/recording?turn=3 method=POST maxLength=120 timeout=5 playBeep=true transcribe=true \
                 transcribeCallback=/voice/transcription",
                "Hangup",
            ]
        );
        assert_eq!(
            verbs(&twiml(&spoken(&["A.", " ", "B."], VoiceThen::HangUp), &MANNER)),
            ["Say language=en-US: A.", "Say language=en-US: B.", "Hangup"]
        );
        assert!(verbs(&twiml(&spoken(&[], VoiceThen::Nothing), &MANNER)).is_empty());
    }

    #[test]
    fn what_is_said_is_nothing_but_text() {
        let hostile =
            "</Say><Dial>+1900</Dial> & \"'\u{0}\u{b}\u{1b}\u{85}\u{fffe} ]]> <!-- ünï 👋";
        let markup = twiml(&spoken(&[hostile], VoiceThen::HangUp), &MANNER);
        assert_eq!(
            verbs(&markup),
            ["Say language=en-US: </Say><Dial>+1900</Dial> & \"'   ]]> <!-- ünï 👋", "Hangup"]
        );
        let manner = Manner { language: "en\"/><Dial>", voice: Some("<&>"), ..MANNER };
        assert_eq!(
            verbs(&twiml(&spoken(&["a"], VoiceThen::HangUp), &manner)),
            ["Say language=en\"/><Dial> voice=<&>: a", "Hangup"]
        );
    }

    #[test]
    fn a_language_that_nobody_set_is_not_said() {
        let manner = Manner { language: "", ..MANNER };
        let then = VoiceThen::Listen { asked: None, silences: 0 };
        let verbs = verbs(&twiml(&spoken(&["A."], then), &manner));
        assert!(verbs.iter().all(|verb| !verb.contains("language")), "{verbs:?}");
    }

    #[test]
    fn nobody_is_talked_to_for_ever() {
        let long = "é".repeat(5000);
        let many = vec![long.as_str(); 100];
        let all = verbs(&twiml(&spoken(&many, VoiceThen::HangUp), &MANNER));
        assert_eq!(all.len(), SENTENCES + 1);
        assert_eq!(all[0].matches('é').count(), SENTENCE);
    }

    proptest! {
        #[test]
        fn markup_is_valid_whatever_is_said(say in proptest::collection::vec("\\PC*|[\\x00-\\x7f]*|(<|&|>|\\]|\"|\u{ffff}){0,9}", 0..4)) {
            let said: Vec<&str> = say.iter().map(String::as_str).collect();
            for then in [VoiceThen::HangUp, VoiceThen::Record, VoiceThen::Listen { asked: None, silences: 0 }] {
                verbs(&twiml(&spoken(&said, then), &MANNER));
            }
        }
    }
}
