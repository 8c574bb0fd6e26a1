//! Collects raised and lowered text until its end, because its form depends on all of it.

use html5gum::{StartTag, Token};

use super::super::super::flow::{Flow, Gap, RaisedForm, RaisedPosition, form};
use super::super::super::parts::Inline;
use super::super::text;
use super::{FlowWriter, attribute};

/// Maximum length of a text that is collected, in bytes. A longer one is prose.
const MAX_BYTES: usize = 400;
/// Maximum number of texts within texts, and of parts of one.
const MAX_PARTS: usize = 16;

/// The open raised and lowered texts, the outermost first.
#[derive(Default)]
pub(super) struct RaisedText {
    open: Vec<OpenText>,
    /// Inline elements that began within, to be ignored at their end.
    inner: Vec<Vec<u8>>,
    /// Inline elements that ended within.
    ended: Vec<Vec<u8>>,
    bytes: usize,
}

/// A text with its parts, and the address of each that is a link.
struct OpenText {
    /// The name of its element.
    element: Vec<u8>,
    position: RaisedPosition,
    parts: Vec<(String, Option<String>)>,
}

impl OpenText {
    /// Returns whether an end tag ends it. `inner` are the elements that began within.
    fn ends_with(&self, name: &[u8], inner: &[Vec<u8>]) -> bool {
        self.element == name && !inner.contains(&self.element)
    }
}

/// Returns the position of the text in an element; `None` if it is on the line. Editors on the web
/// write a style.
fn position_of(tag: &StartTag<()>) -> Option<RaisedPosition> {
    match &**tag.name {
        b"sup" => Some(RaisedPosition::Raised),
        b"sub" => Some(RaisedPosition::Lowered),
        b"span" => {
            let style = attribute(tag, "style")?;
            let rules = style.split(';').filter_map(|rule| rule.split_once(':'));
            let mut rules = rules.filter(|(name, _)| name.trim() == "vertical-align");
            match rules.next_back()?.1.trim() {
                "super" => Some(RaisedPosition::Raised),
                "sub" => Some(RaisedPosition::Lowered),
                _ => None,
            }
        }
        _ => None,
    }
}

impl FlowWriter<'_> {
    /// Reads a token of a raised or lowered text. Returns false for other tokens.
    pub(super) fn raise(&mut self, token: &Token) -> bool {
        if let Token::StartTag(tag) = token
            && let Some(position) = position_of(tag)
            && self.raised.open.len() < MAX_PARTS
        {
            let (element, parts) = (tag.name.to_vec(), vec![(String::new(), None)]);
            self.raised.open.push(OpenText { element, position, parts });
            return true;
        }
        !self.raised.open.is_empty() && self.collect_raised(token)
    }

    /// Adds a token to the innermost raised or lowered text, or ends that. Returns false if the
    /// token is none of such a text, which is then written as it was collected.
    fn collect_raised(&mut self, token: &Token) -> bool {
        let address = match token {
            Token::StartTag(tag) if &**tag.name == b"a" => tag.attributes.get(&b"href"[..]),
            _ => None,
        };
        let address = address.and_then(|href| self.address(&text(&href.value)));
        let Some(open) = self.raised.open.last_mut() else { return false };
        match token {
            Token::String(string) => {
                let string = text(string);
                self.raised.bytes += string.len();
                if let Some((part, _)) = open.parts.last_mut() {
                    part.push_str(&string);
                }
                if self.raised.bytes > MAX_BYTES {
                    self.abandon_raised();
                }
            }
            Token::EndTag(tag) if open.ends_with(&tag.name, &self.raised.inner) => {
                self.end_raised();
            }
            Token::StartTag(tag) if &**tag.name == b"a" => {
                open.parts.push((String::new(), address));
                self.raised.inner.push(b"a".to_vec());
                if open.parts.len() > MAX_PARTS {
                    self.abandon_raised();
                }
            }
            Token::StartTag(tag) if &**tag.name == b"br" => {
                if let Some((part, _)) = open.parts.last_mut() {
                    part.push(' ');
                }
            }
            Token::StartTag(tag) if FlowWriter::is_block(&tag.name) || &**tag.name == b"math" => {
                self.abandon_raised();
                return false;
            }
            Token::StartTag(tag) => {
                if !matches!(&**tag.name, b"img" | b"input" | b"wbr") {
                    self.raised.inner.push(tag.name.to_vec());
                }
                if self.raised.inner.len() > MAX_PARTS {
                    self.abandon_raised();
                }
            }
            Token::EndTag(tag) if FlowWriter::is_block(&tag.name) => {
                self.abandon_raised();
                return false;
            }
            Token::EndTag(tag) => match self.raised.inner.iter().rposition(|n| *n == **tag.name) {
                Some(at) => {
                    self.raised.inner.remove(at);
                    if &**tag.name == b"a" {
                        open.parts.push((String::new(), None));
                    }
                }
                None => self.raised.ended.push(tag.name.to_vec()),
            },
            _ => {}
        }
        true
    }

    /// Ends the innermost raised or lowered text.
    fn end_raised(&mut self) {
        let Some(closed) = self.raised.open.pop() else { return };
        match self.raised.open.last_mut().and_then(|outer| outer.parts.last_mut()) {
            Some((outer, address)) => {
                for (text, inner_address) in closed.parts.into_iter().filter(|(t, _)| !t.is_empty())
                {
                    match form(&text, outer.chars().next_back(), closed.position) {
                        RaisedForm::Plain(text) | RaisedForm::Signed(text) => outer.push_str(&text),
                    }
                    *address = address.take().or(inner_address);
                }
            }
            None => {
                for (text, address) in closed.parts {
                    self.flow.raise(&text, closed.position, address);
                }
                self.end_collection();
            }
        }
    }

    /// Writes what was collected as prose, because it is not a short text.
    pub(super) fn abandon_raised(&mut self) {
        let open = std::mem::take(&mut self.raised.open);
        if open.is_empty() {
            return;
        }
        for (text, address) in open.into_iter().flat_map(|open| open.parts) {
            write_prose(&mut self.flow, &text, address);
        }
        self.end_collection();
    }

    fn end_collection(&mut self) {
        let collected = std::mem::take(&mut self.raised);
        for name in collected.ended {
            self.end(&name);
        }
    }
}

fn write_prose(flow: &mut Flow, text: &str, address: Option<String>) {
    flow.gap(Gap::Words);
    let link = address.map(Inline::Link);
    if let Some(link) = &link {
        flow.open(link.clone());
    }
    flow.text(text);
    if let Some(link) = &link {
        flow.close(link);
    }
    flow.gap(Gap::Words);
}
