//! Elements that a document hides: `hidden`, `display: none` and `visibility: hidden` in `style`.
//! Style sheets are not read.

use html5gum::{HtmlString, StartTag, Token};

use super::{is_one_of, text};

/// Maximum number of open elements in a hidden one. Beyond, the text counts as shown.
const MAX_INNER: usize = 512;
/// Elements without content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that scripts show when the page is complete.
const WHOLE: [&str; 3] = ["html", "head", "body"];
/// Elements that end an open paragraph when they begin.
const AFTER_PARAGRAPH: [&str; 36] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "ul",
];

/// What becomes of hidden text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenText {
    Read,
    LeftOut,
}

/// The parts of a document that it hides.
pub(super) struct HiddenParts {
    hidden_text: HiddenText,
    open: Option<HiddenElement>,
    /// Whether a formula is open in the hidden element. Pages hide formulas beside their pictures.
    in_formula: bool,
    /// Number of words in the parts that are left out.
    pub(super) words: usize,
}

impl HiddenParts {
    pub(super) fn new(hidden_text: HiddenText) -> Self {
        Self { hidden_text, open: None, in_formula: false, words: 0 }
    }

    /// Returns whether the next token is in a hidden part that is left out. `is_dropped` says that
    /// the token begins an element that is no text in any case.
    pub(super) fn contains(&mut self, token: &Token, is_dropped: bool) -> bool {
        if let Some(element) = &mut self.open {
            let place = element.token(token);
            if place != Place::Inside {
                (self.open, self.in_formula) = (None, false);
            }
            match token {
                Token::StartTag(tag) if &**tag.name == b"math" => {
                    self.in_formula = self.open.is_some();
                    return false;
                }
                Token::EndTag(tag) if &**tag.name == b"math" && self.in_formula => {
                    self.in_formula = false;
                    return false;
                }
                // It can have data about the document.
                Token::StartTag(tag) if &**tag.name == b"script" => return false,
                _ if self.in_formula => return false,
                _ if place == Place::After => {}
                Token::String(string) => {
                    self.words += count_words(&text(string));
                    return true;
                }
                _ => return true,
            }
        }
        if let Token::StartTag(tag) = token
            && self.hidden_text == HiddenText::LeftOut
            && !is_dropped
            && &**tag.name != b"math"
        {
            self.open = HiddenElement::of(tag);
        }
        self.open.is_some()
    }
}

/// What a token within a hidden element is.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A part of the element.
    Inside,
    /// The end of the element.
    Last,
    /// No part: the element ended before it.
    After,
}

/// The open hidden element.
struct HiddenElement {
    name: HtmlString,
    /// Whether only its boxes are hidden, so that inner elements can be visible.
    is_invisible: bool,
    /// The names of the open elements in it.
    inner: Vec<HtmlString>,
}

impl HiddenElement {
    /// Begins an element, if the document hides it.
    fn of(tag: &StartTag<()>) -> Option<Self> {
        if tag.self_closing || is_one_of(&tag.name, &VOID) || is_one_of(&tag.name, &WHOLE) {
            return None;
        }
        let attribute = |name: &str| tag.attributes.get(name.as_bytes()).map(|it| text(&it.value));
        let (hidden, style) = (attribute("hidden"), attribute("style").unwrap_or_default());
        let is_gone =
            hidden.is_some() || property(&style.to_lowercase(), "display") == Some("none");
        is_hidden_html(hidden.as_deref(), &style).then(|| Self {
            name: tag.name.clone(),
            is_invisible: !is_gone,
            inner: Vec::new(),
        })
    }

    /// Reads the next token. End tags can be missing, so other elements end this one, too. In doubt
    /// it ends early, because text that is shown may not be lost.
    fn token(&mut self, token: &Token) -> Place {
        match token {
            Token::StartTag(tag) if self.ends_before(tag) => Place::After,
            Token::StartTag(tag) => {
                if !tag.self_closing && !is_one_of(&tag.name, &VOID) {
                    self.inner.push(tag.name.clone());
                }
                Place::Inside
            }
            Token::EndTag(tag) => match self.inner.iter().rposition(|name| *name == tag.name) {
                Some(at) => {
                    self.inner.truncate(at);
                    Place::Inside
                }
                None if tag.name == self.name => Place::Last,
                None => Place::After,
            },
            _ => Place::Inside,
        }
    }

    fn ends_before(&self, tag: &StartTag<()>) -> bool {
        let style = tag.attributes.get(&b"style"[..]).map(|it| text(&it.value).to_lowercase());
        let is_visible = style.is_some_and(|it| property(&it, "visibility") == Some("visible"));
        if self.inner.len() >= MAX_INNER || (self.is_invisible && is_visible) {
            return true;
        }
        let has = |names: &[&str]| self.inner.iter().any(|name| is_one_of(name, names));
        let begins = |names: &[&str]| is_one_of(&tag.name, names);
        match &**self.name {
            b"p" => begins(&AFTER_PARAGRAPH),
            b"li" => begins(&["li"]) && !has(&["ul", "ol", "menu", "dir"]),
            b"dt" | b"dd" => begins(&["dt", "dd"]) && !has(&["dl"]),
            b"td" | b"th" => {
                begins(&["td", "th", "tr", "tbody", "tfoot", "thead"]) && !has(&["table"])
            }
            b"tr" => begins(&["tr", "tbody", "tfoot", "thead"]) && !has(&["table"]),
            b"tbody" | b"thead" | b"tfoot" => {
                begins(&["tbody", "tfoot", "thead"]) && !has(&["table"])
            }
            _ => false,
        }
    }
}

/// Returns the number of words in a text. Signs alone are no words.
pub fn count_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Returns whether HTML hides an element with these values of its attributes `hidden` and `style`.
pub fn is_hidden_html(hidden: Option<&str>, style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    // A search of the browser shows `until-found`.
    hidden.is_some_and(|it| it != "until-found")
        || property(&style, "display") == Some("none")
        || matches!(property(&style, "visibility"), Some("hidden" | "collapse"))
}

/// Returns the last value of a property in a style of lower case.
fn property<'a>(style: &'a str, name: &str) -> Option<&'a str> {
    let mut rules = style.split(';').filter_map(|rule| rule.split_once(':'));
    let value = rules.rfind(|(key, _)| key.trim() == name)?.1;
    Some(value.trim_end().trim_end_matches("!important").trim())
}
