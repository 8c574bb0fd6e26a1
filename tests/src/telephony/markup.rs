//! What the provider makes of an answer.

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

/// What a caller hears, and how the call goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Sentences.
    pub say: Vec<String>,
    /// Where what the caller says or presses goes.
    pub listens: Option<String>,
    /// Where a caller goes who says nothing.
    pub redirect: Option<String>,
    /// Where a recording goes, and what is made out of it.
    pub records: Option<(String, String)>,
    /// Whether the call ends.
    pub ends: bool,
}

impl Heard {
    /// Reads an answer.
    #[must_use]
    pub fn read(answer: &Answer) -> Self {
        assert_eq!(answer.header("content-type"), Some("text/xml; charset=utf-8"), "{answer:?}");
        Self::parse(answer.text())
    }

    fn parse(text: &str) -> Self {
        let document = Document::parse(text).unwrap_or_else(|e| panic!("no XML ({e}): {text}"));
        assert_eq!(document.root_element().tag_name().name(), "Response");
        let mut heard = Self::default();
        let verbs: Vec<Node<'_, '_>> =
            document.root_element().children().filter(Node::is_element).collect();
        for (at, verb) in verbs.iter().enumerate() {
            check(*verb);
            let attribute = |name: &str| {
                let value = verb.attribute(name).unwrap_or_else(|| panic!("no {name}: {text}"));
                assert!(value.starts_with("/voice"), "{name}={value}");
                value.to_owned()
            };
            match verb.tag_name().name() {
                "Say" => heard.say.push(said(*verb)),
                "Gather" => {
                    heard.listens = Some(attribute("action"));
                    for inner in verb.children().filter(Node::is_element) {
                        check(inner);
                        assert_eq!(inner.tag_name().name(), "Say", "in a Gather: {text}");
                        heard.say.push(said(inner));
                    }
                    assert!(at + 1 < verbs.len(), "nothing behind a Gather ends the call: {text}");
                }
                "Record" => {
                    heard.records = Some((attribute("action"), attribute("transcribeCallback")));
                }
                "Redirect" => heard.redirect = Some(verb.text().unwrap_or_default().to_owned()),
                _ => heard.ends = true,
            }
        }
        heard
    }

    /// Everything that is said.
    #[must_use]
    pub fn text(&self) -> String {
        self.say.join(" ")
    }
}

fn check(verb: Node<'_, '_>) {
    let name = verb.tag_name().name();
    let known = VERBS.iter().find(|(known, _)| *known == name);
    let (_, attributes) = known.unwrap_or_else(|| panic!("the provider has no <{name}>"));
    for attribute in verb.attributes() {
        assert!(attributes.contains(&attribute.name()), "<{name} {}>", attribute.name());
    }
}

fn said(verb: Node<'_, '_>) -> String {
    assert!(verb.children().all(|inner| inner.is_text()), "markup in what is said");
    verb.text().unwrap_or_default().to_owned()
}
