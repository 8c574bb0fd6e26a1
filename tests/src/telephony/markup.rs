//! A parser of voice markup, as strict as the provider's.

use roxmltree::{Document, Node};

use crate::http::Answer;

/// Verbs, and the attributes of each.
const VERBS: [(&str, &[&str]); 5] = [
    ("Say", &["language", "voice"]),
    ("Gather", &["input", "action", "method", "language", "timeout", "speechTimeout", "numDigits"]),
    (
        "Record",
        &[
            "action",
            "method",
            "maxLength",
            "timeout",
            "playBeep",
            "transcribe",
            "transcribeCallback",
        ],
    ),
    ("Redirect", &["method"]),
    ("Hangup", &[]),
];

/// The parsed response: what the caller hears and how the call continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VoiceResponse {
    /// The spoken sentences, in order.
    pub say: Vec<String>,
    /// The path that receives the caller's speech or keys.
    pub gather_action: Option<String>,
    /// The path that the provider requests next if the caller is silent.
    pub redirect: Option<String>,
    /// The paths that receive a recording and its transcript.
    pub recording_actions: Option<(String, String)>,
    /// Whether the provider ends the call.
    pub ends: bool,
}

impl VoiceResponse {
    /// Parses the markup of an HTTP response.
    #[must_use]
    pub fn read(answer: &Answer) -> Self {
        assert_eq!(answer.header("content-type"), Some("text/xml; charset=utf-8"), "{answer:?}");
        Self::parse(answer.text())
    }

    fn parse(text: &str) -> Self {
        let document = Document::parse(text).unwrap_or_else(|e| panic!("no XML ({e}): {text}"));
        assert_eq!(document.root_element().tag_name().name(), "Response");
        let mut response = Self::default();
        let verbs: Vec<Node<'_, '_>> =
            document.root_element().children().filter(Node::is_element).collect();
        for (index, verb) in verbs.iter().enumerate() {
            check_attributes(*verb);
            let path_attribute = |name: &str| {
                let value = verb.attribute(name).unwrap_or_else(|| panic!("no {name}: {text}"));
                assert!(value.starts_with("/voice"), "{name}={value}");
                value.to_owned()
            };
            match verb.tag_name().name() {
                "Say" => response.say.push(spoken_text(*verb)),
                "Gather" => {
                    response.gather_action = Some(path_attribute("action"));
                    for inner in verb.children().filter(Node::is_element) {
                        check_attributes(inner);
                        assert_eq!(
                            inner.tag_name().name(),
                            "Say",
                            "a <Gather> may only contain <Say>: {text}"
                        );
                        response.say.push(spoken_text(inner));
                    }
                    assert!(
                        index + 1 < verbs.len(),
                        "a <Gather> is the last verb, so silence would end the call: {text}"
                    );
                }
                "Record" => {
                    response.recording_actions =
                        Some((path_attribute("action"), path_attribute("transcribeCallback")));
                }
                "Redirect" => response.redirect = Some(verb.text().unwrap_or_default().to_owned()),
                _ => response.ends = true,
            }
        }
        response
    }

    /// Returns the spoken sentences, joined by spaces.
    #[must_use]
    pub fn text(&self) -> String {
        self.say.join(" ")
    }
}

/// Asserts that the provider has this verb with these attributes.
fn check_attributes(verb: Node<'_, '_>) {
    let name = verb.tag_name().name();
    let known = VERBS.iter().find(|(known, _)| *known == name);
    let (_, attributes) = known.unwrap_or_else(|| panic!("the provider has no <{name}>"));
    for attribute in verb.attributes() {
        assert!(attributes.contains(&attribute.name()), "<{name} {}>", attribute.name());
    }
}

fn spoken_text(verb: Node<'_, '_>) -> String {
    assert!(verb.children().all(|inner| inner.is_text()), "markup in spoken text");
    verb.text().unwrap_or_default().to_owned()
}
