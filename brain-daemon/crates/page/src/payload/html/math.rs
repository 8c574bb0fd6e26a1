//! Formulas in MathML: their TeX if they have one, else their text in reading order.

use html5gum::{StartTag, Token};

use super::super::flow::{RaisedForm, RaisedPosition, form};
use super::{class_has, is_one_of, text};

/// Maximum nesting that is read. Deeper elements are read as if they had no tags.
const MAX_DEPTH: usize = 32;
/// Maximum number of children of an element that are read as such.
const MAX_CHILDREN: usize = 500;
/// Maximum length of a formula in TeX, in bytes.
const MAX_TEX: usize = 4096;
/// Operators that are written between blanks.
const SPACED: &str = "=+−-<>≤≥≠≈≡→←↔⇒⇔∈∉⊂⊆∪∩∧∨±×·÷∼∝";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// In TeX.
    Tex(String),
    /// As text.
    Text(String),
}

/// Reads the elements of one `<math>`.
pub(super) struct Math {
    /// Whether it has a line of its own.
    pub(super) is_display: bool,
    /// The text that stands for the formula, if it is TeX.
    alternative: Option<String>,
    /// The annotation in TeX.
    tex: Option<String>,
    open: Vec<Element>,
    /// Number of open elements beyond [`MAX_DEPTH`].
    beyond: usize,
}

/// An open element, with its children as text.
struct Element {
    name: Vec<u8>,
    children: Vec<String>,
    /// Whether it contains TeX.
    is_tex: bool,
}

impl Element {
    fn push(&mut self, text: String) {
        let is_full = self.children.len() >= MAX_CHILDREN;
        match self.children.last_mut() {
            Some(last) if is_full => {
                last.push(' ');
                last.push_str(&text);
            }
            _ => self.children.push(text),
        }
    }
}

impl Math {
    /// Begins a formula.
    pub(super) fn new(tag: &StartTag<()>) -> Self {
        let attribute =
            |name: &str| tag.attributes.get(name.as_bytes()).map(|v| text(&v.value).into_owned());
        let alternative = attribute("alttext").filter(|alt| alt.contains(['\\', '^', '_', '{']));
        Self {
            is_display: attribute("display").is_some_and(|d| d.eq_ignore_ascii_case("block"))
                || attribute("mode").is_some_and(|d| d.eq_ignore_ascii_case("display")),
            alternative,
            tex: None,
            open: vec![Element { name: b"math".to_vec(), children: Vec::new(), is_tex: false }],
            beyond: 0,
        }
    }

    /// Reads a token of the formula.
    pub(super) fn token(&mut self, token: &Token) {
        match token {
            Token::String(string) => self.add(&text(string)),
            Token::StartTag(tag) if self.open.len() >= MAX_DEPTH => {
                self.beyond += usize::from(!tag.self_closing);
            }
            Token::StartTag(tag) if tag.self_closing => {
                self.add(if &**tag.name == b"mspace" { " " } else { "" });
            }
            Token::StartTag(tag) => {
                let kind = tag.attributes.get(&b"encoding"[..]).map(|v| text(&v.value));
                let is_tex = &**tag.name == b"annotation"
                    && kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("tex"));
                self.open.push(Element { name: tag.name.to_vec(), children: Vec::new(), is_tex });
            }
            Token::EndTag(_) if self.beyond > 0 => self.beyond -= 1,
            Token::EndTag(tag) => {
                if let Some(at) = self.open.iter().skip(1).rposition(|o| o.name == **tag.name) {
                    while self.open.len() > at + 1 {
                        self.close();
                    }
                }
            }
            _ => {}
        }
    }

    /// Ends the formula. `None` when it has no text.
    pub(super) fn finish(mut self) -> Option<Formula> {
        while self.open.len() > 1 {
            self.close();
        }
        if let Some(tex) = self.tex.as_deref().and_then(tex) {
            return Some(Formula::Tex(tex));
        }
        if let Some(tex) = self.alternative.as_deref().and_then(tex) {
            return Some(Formula::Tex(tex));
        }
        let children = self.open.pop().map(|open| open.children).unwrap_or_default();
        let words: Vec<String> = row(&children).split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then(|| Formula::Text(words.join(" ")))
    }

    fn add(&mut self, text: &str) {
        let Some(open) = self.open.last_mut() else { return };
        if open.is_tex {
            open.push(text.to_owned());
            return;
        }
        // White space between the elements has no meaning.
        let is_leaf = matches!(&*open.name, b"mi" | b"mn" | b"mo" | b"mtext" | b"ms");
        let text: String =
            text.chars().filter(|c| !('\u{2061}'..='\u{2064}').contains(c)).collect();
        if is_leaf || !text.trim().is_empty() || text == " " && open.name == b"math" {
            open.push(text);
        }
    }

    fn close(&mut self) {
        let Some(Element { name, children, is_tex }) = self.open.pop() else { return };
        if is_tex {
            self.tex.get_or_insert_with(|| children.concat());
            return;
        }
        if name.starts_with(b"annotation") {
            return;
        }
        let text = element(&name, &children);
        if let Some(parent) = self.open.last_mut() {
            parent.push(text);
        }
    }
}

/// Returns the text of an element.
fn element(name: &[u8], children: &[String]) -> String {
    let child = |n: usize| children.get(n).map_or("", String::as_str);
    let with = |base: &str, text: &str, position| {
        let raised = match form(text.trim(), base.chars().next_back(), position) {
            _ if text.trim().is_empty() => String::new(),
            RaisedForm::Plain(text) | RaisedForm::Signed(text) => text,
        };
        format!("{base}{raised}")
    };
    match name {
        b"mfrac" => format!("{}/{}", group(child(0)), group(child(1))),
        b"msup" | b"mover" => with(&group(child(0)), child(1), RaisedPosition::Raised),
        b"msub" | b"munder" => with(&group(child(0)), child(1), RaisedPosition::Lowered),
        b"msubsup" | b"munderover" => {
            let lowered = with(&group(child(0)), child(1), RaisedPosition::Lowered);
            with(&lowered, child(2), RaisedPosition::Raised)
        }
        b"msqrt" => format!("√({})", row(children).trim()),
        b"mroot" => format!("√[{}]({})", child(1).trim(), child(0).trim()),
        b"mfenced" => format!("({})", children.join(", ")),
        b"mtable" => children.join("; "),
        b"mtr" | b"mlabeledtr" => children.join(", "),
        b"semantics" => child(0).to_owned(),
        b"mo" => match children.concat().trim() {
            sign if !sign.is_empty() && SPACED.contains(sign) => format!(" {sign} "),
            "," => ", ".into(),
            sign => sign.to_owned(),
        },
        b"mi" | b"mn" | b"mtext" | b"ms" => children.concat(),
        _ => row(children),
    }
}

/// Joins texts. Two words or numbers get a blank between them.
fn row(children: &[String]) -> String {
    let mut out = String::new();
    for child in children {
        if out.ends_with(char::is_alphanumeric) && child.starts_with(char::is_alphanumeric) {
            out.push(' ');
        }
        out.push_str(child);
    }
    out
}

/// Returns a text as one operand.
fn group(text: &str) -> String {
    let text = text.trim();
    let is_one = text.chars().count() <= 1 || text.chars().all(|c| c.is_alphanumeric() || c == '.');
    if is_one { text.to_owned() } else { format!("({text})") }
}

/// Returns a formula in TeX on one line, if it can stand between dollar signs.
pub(super) fn tex(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let inner = text.strip_prefix("{\\displaystyle ").and_then(|tex| tex.strip_suffix('}'));
    let inner = inner.unwrap_or(&text).trim().to_owned();
    let has_dollar = inner.match_indices('$').any(|(at, _)| !inner[..at].ends_with('\\'));
    let is_usable = !inner.is_empty() && inner.len() <= MAX_TEX && !has_dollar;
    (is_usable && !inner.ends_with('\\')).then_some(inner)
}

/// Returns whether an element shows a formula that another element states, too: MathJax and KaTeX
/// write each formula twice. `follows_math` says that a formula is just before the element.
pub(super) fn is_copy(tag: &StartTag<()>, follows_math: bool) -> bool {
    let hidden = tag.attributes.get(&b"aria-hidden"[..]).is_some_and(|v| &**v.value == b"true");
    (follows_math && class_has(tag, &["katex-html"]))
        || class_has(tag, &["MathJax_Preview"])
        || (hidden && is_one_of(&tag.name, &["nobr", "mjx-math"]))
}
