//! Renders a reply as the provider's markup (TwiML). Always well-formed and escaped. No I/O.

use brain_protocol::{VoiceAction, VoiceReply};

/// Maximum length of a sentence in characters. The provider accepts 4096.
const MAX_SENTENCE_CHARS: usize = 1000;
/// Maximum number of sentences in a reply.
const MAX_SENTENCES: usize = 10;
/// How long the provider waits for speech to begin, in seconds.
const SPEECH_TIMEOUT_SECONDS: u32 = 6;
/// Maximum length of a recording in seconds. The provider does not transcribe longer ones.
const MAX_RECORDING_SECONDS: u32 = 120;
/// A recording ends after this many seconds of silence.
const RECORDING_SILENCE_SECONDS: u32 = 5;

/// The language and voice of a reply, and the addresses of the next requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoiceStyle<'a> {
    /// The language; the provider's default when empty.
    pub language: &'a str,
    /// The voice; the provider's default when absent.
    pub voice: Option<&'a str>,
    /// The path of the first turn. Further paths are below it.
    pub base_path: &'a str,
    /// The number of the next turn.
    pub next_turn: u32,
}

/// Renders `reply` as markup.
#[must_use]
pub fn twiml(reply: &VoiceReply, style: &VoiceStyle<'_>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response>");
    let VoiceStyle { base_path, next_turn, .. } = style;
    match &reply.then {
        VoiceAction::Listen { asked, silences } => {
            let mut turn = format!("{base_path}/turn?turn={next_turn}&silences={silences}");
            if let Some(asked) = asked {
                turn += &format!("&asked={asked}");
            }
            let timeout = SPEECH_TIMEOUT_SECONDS.to_string();
            write_start_tag(
                &mut out,
                "Gather",
                &[
                    ("input", "speech dtmf"),
                    ("action", &turn),
                    ("method", "POST"),
                    ("language", style.language),
                    ("timeout", &timeout),
                    ("speechTimeout", "auto"),
                    ("numDigits", "1"),
                ],
            );
            // Speech within <Gather> can be interrupted by the caller.
            say(&mut out, reply, style);
            out.push_str("</Gather>");
            // After a silence, the provider follows this redirect instead of ending the call.
            write_start_tag(&mut out, "Redirect", &[("method", "POST")]);
            write_escaped(&mut out, &turn);
            out.push_str("</Redirect>");
        }
        VoiceAction::Record => {
            say(&mut out, reply, style);
            let max_length = MAX_RECORDING_SECONDS.to_string();
            let silence = RECORDING_SILENCE_SECONDS.to_string();
            write_start_tag(
                &mut out,
                "Record",
                &[
                    ("action", &format!("{base_path}/recording?turn={next_turn}")),
                    ("method", "POST"),
                    ("maxLength", &max_length),
                    ("timeout", &silence),
                    ("playBeep", "true"),
                    ("transcribe", "true"),
                    ("transcribeCallback", &format!("{base_path}/transcription")),
                ],
            );
            // The provider continues here when nothing was recorded.
            out.push_str("</Record><Hangup/>");
        }
        VoiceAction::HangUp => {
            say(&mut out, reply, style);
            out.push_str("<Hangup/>");
        }
        VoiceAction::Nothing => say(&mut out, reply, style),
    }
    out.push_str("</Response>\n");
    out
}

/// Renders the sentences of the reply, within the limits.
fn say(out: &mut String, reply: &VoiceReply, style: &VoiceStyle<'_>) {
    let sentences = reply.say.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    for sentence in sentences.take(MAX_SENTENCES) {
        let mut attributes = vec![("language", style.language)];
        attributes.extend(style.voice.map(|voice| ("voice", voice)));
        write_start_tag(out, "Say", &attributes);
        let end =
            sentence.char_indices().nth(MAX_SENTENCE_CHARS).map_or(sentence.len(), |(at, _)| at);
        write_escaped(out, sentence.get(..end).unwrap_or_default());
        out.push_str("</Say>");
    }
}

/// Writes a start tag. Empty attributes are omitted: the provider ends a call on `language=""`.
fn write_start_tag(out: &mut String, name: &str, attributes: &[(&str, &str)]) {
    out.push('<');
    out.push_str(name);
    for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        write_escaped(out, value);
        out.push('"');
    }
    out.push('>');
}

/// Writes escaped text, without the characters that XML 1.0 forbids (section 2.2).
fn write_escaped(out: &mut String, text: &str) {
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

    const STYLE: VoiceStyle<'static> =
        VoiceStyle { language: "en-US", voice: None, base_path: "/voice", next_turn: 3 };

    fn reply(say: &[&str], then: VoiceAction) -> VoiceReply {
        VoiceReply { say: say.iter().map(|text| (*text).to_owned()).collect(), then }
    }

    /// Returns the verbs with their text and attributes, as an XML parser reads them.
    fn verbs(text: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "Response");
        let describe = |node: roxmltree::Node<'_, '_>| {
            let attributes = node
                .attributes()
                .map(|attribute| format!(" {}={}", attribute.name(), attribute.value()));
            let content = node.text().map(|text| format!(": {text}")).unwrap_or_default();
            let depth = ">".repeat(node.ancestors().count() - 3);
            format!("{depth}{}{}{content}", node.tag_name().name(), attributes.collect::<String>())
        };
        document
            .root_element()
            .descendants()
            .skip(1)
            .filter(roxmltree::Node::is_element)
            .map(describe)
            .collect()
    }

    #[test]
    fn listening_continues_after_silence() {
        let then = VoiceAction::Listen { asked: Some("note".into()), silences: 1 };
        let turn = "/voice/turn?turn=3&silences=1&asked=note";
        assert_eq!(
            verbs(&twiml(&reply(&["What shall I note?"], then), &STYLE)),
            [
                format!(
                    "Gather input=speech dtmf action={turn} method=POST language=en-US timeout=6 \
                        speechTimeout=auto numDigits=1"
                ),
                ">Say language=en-US: What shall I note?".into(),
                format!("Redirect method=POST: {turn}"),
            ]
        );
        let then = VoiceAction::Listen { asked: None, silences: 0 };
        let last = verbs(&twiml(&reply(&[], then), &STYLE)).pop().unwrap();
        assert_eq!(last, "Redirect method=POST: /voice/turn?turn=3&silences=0");
    }

    #[test]
    fn a_call_ends_after_a_recording() {
        let style = VoiceStyle { voice: Some("Polly.Vicki"), language: "de-DE", ..STYLE };
        assert_eq!(
            verbs(&twiml(&reply(&["Bitte."], VoiceAction::Record), &style)),
            [
                "Say language=de-DE voice=Polly.Vicki: Bitte.",
                "Record action=/voice/recording?turn=3 method=POST maxLength=120 timeout=5 \
                 playBeep=true transcribe=true transcribeCallback=/voice/transcription",
                "Hangup",
            ]
        );
        assert_eq!(
            verbs(&twiml(&reply(&["A.", " ", "B."], VoiceAction::HangUp), &STYLE)),
            ["Say language=en-US: A.", "Say language=en-US: B.", "Hangup"]
        );
        assert!(verbs(&twiml(&reply(&[], VoiceAction::Nothing), &STYLE)).is_empty());
    }

    #[test]
    fn spoken_text_is_escaped() {
        let hostile =
            "</Say><Dial>+1900</Dial> & \"'\u{0}\u{b}\u{1b}\u{85}\u{fffe} ]]> <!-- ünï 👋";
        let markup = twiml(&reply(&[hostile], VoiceAction::HangUp), &STYLE);
        assert_eq!(
            verbs(&markup),
            ["Say language=en-US: </Say><Dial>+1900</Dial> & \"'   ]]> <!-- ünï 👋", "Hangup"]
        );
        let style = VoiceStyle { language: "en\"/><Dial>", voice: Some("<&>"), ..STYLE };
        assert_eq!(
            verbs(&twiml(&reply(&["a"], VoiceAction::HangUp), &style)),
            ["Say language=en\"/><Dial> voice=<&>: a", "Hangup"]
        );
    }

    #[test]
    fn an_empty_language_is_omitted() {
        let style = VoiceStyle { language: "", ..STYLE };
        let then = VoiceAction::Listen { asked: None, silences: 0 };
        let verbs = verbs(&twiml(&reply(&["A."], then), &style));
        assert!(verbs.iter().all(|verb| !verb.contains("language")), "{verbs:?}");
    }

    #[test]
    fn sentences_are_limited() {
        let long = "é".repeat(5000);
        let many = vec![long.as_str(); 100];
        let all = verbs(&twiml(&reply(&many, VoiceAction::HangUp), &STYLE));
        assert_eq!(all.len(), MAX_SENTENCES + 1);
        assert_eq!(all[0].matches('é').count(), MAX_SENTENCE_CHARS);
    }

    proptest! {
        #[test]
        fn markup_is_always_well_formed(
            say in proptest::collection::vec("\\PC*|[\\x00-\\x7f]*|(<|&|>|\\]|\"|\u{ffff}){0,9}",
                0..4)) {
            let sentences: Vec<&str> = say.iter().map(String::as_str).collect();
            for then in [VoiceAction::HangUp, VoiceAction::Record,
                VoiceAction::Listen { asked: None, silences: 0 }] {
                verbs(&twiml(&reply(&sentences, then), &STYLE));
            }
        }
    }
}
