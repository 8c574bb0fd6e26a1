//! Converts HTML to markdown.
//!
//! A tokenizer reads the HTML, and [`Flow`] writes the parts that have a form in markdown as plain,
//! well nested HTML for the converter. The converter builds a tree and walks it by recursion,
//! copies a text once a level, and pads tables. Untrusted HTML could make it run for hours or
//! crash; the output of `Flow` cannot.

mod converter;
mod hidden;
mod math;
mod metadata;
mod reader;
mod survey;
mod tables;
mod writer;

use html5gum::StartTag;

use super::fields::PayloadFields;
use super::flow::{Flow, Joint};
use crate::title;
use converter::{convert, join};
use hidden::HiddenText;
pub use hidden::{count_words, is_hidden_html};
use reader::read;
use survey::DocumentFacts;
use writer::FlowWriter;

/// Maximum nesting of lists, quotes and tables. Deeper ones become paragraphs.
const MAX_DEPTH: usize = 12;
/// Maximum number of open lists, and of open tables, whose facts are kept.
const MAX_OPEN: usize = 64;
/// Maximum length of an address, in bytes.
const MAX_ADDRESS: usize = 4096;
/// Allowed schemes of a link. Others can run a program where the page is shown.
const SCHEMES: [&str; 10] =
    ["http", "https", "mailto", "tel", "sms", "ftp", "geo", "magnet", "xmpp", "cid"];

/// A converted document.
pub(super) struct Converted {
    pub(super) fields: PayloadFields,
    pub(super) text: String,
    /// Number of words that the document hides, and that are left out.
    pub(super) hidden_words: usize,
}

/// Returns the fields and the text of an HTML document, in time linear to its length. Text that the
/// document hides is left out, unless that is all of its text: then a script would show it.
pub(super) fn markdown(html: &str) -> Converted {
    let converted = convert_with(html, HiddenText::LeftOut);
    match converted.hidden_words > 0 && converted.text.trim().is_empty() {
        true => convert_with(html, HiddenText::Read),
        false => converted,
    }
}

fn convert_with(html: &str, hidden_text: HiddenText) -> Converted {
    let mut survey = DocumentFacts::default();
    let hidden_words = read(html, hidden_text, |piece| survey.piece(&piece));
    survey.finish();
    let title = title::shorten_line(&survey.title, title::MAX_TITLE);
    let base = survey.metadata.base();
    let write = |max_depth| {
        let mut page = FlowWriter::new(Flow::new(max_depth, 2 * html.len()), &survey, base.clone());
        let (mut out, mut joint) = (String::new(), Joint::Block);
        read(html, hidden_text, |piece| {
            page.piece(&piece);
            if let Some((part, next)) = page.take_part() {
                join(&mut out, &convert(&part), joint);
                joint = next;
            }
        });
        let last = convert(&page.finish());
        if out.is_empty() {
            last
        } else {
            join(&mut out, &last, joint);
            out
        }
    };
    let text = write(MAX_DEPTH);
    // Every line repeats the prefixes of its containers. HTML nested to inflate the text becomes
    // paragraphs.
    let text = if text.len() > 3 * html.len() + 4096 { write(0) } else { text };
    Converted { fields: survey.metadata.fields(title), text, hidden_words }
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|n| n.as_bytes() == name)
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Returns whether an element has one of these classes.
fn class_has(tag: &StartTag<()>, names: &[&str]) -> bool {
    let class = tag.attributes.get(&b"class"[..]).map(|value| text(&value.value));
    class.is_some_and(|class| class.split_ascii_whitespace().any(|c| names.contains(&c)))
}

/// Returns an address that is allowed in a page: a relative one, or one with an allowed scheme.
fn address(url: &str) -> Option<String> {
    let url: String = url.trim().chars().filter(|c| !c.is_control()).collect();
    let head = url.split(['/', '?', '#']).next().unwrap_or_default();
    let is_allowed = match head.split_once(':') {
        Some((scheme, _)) => SCHEMES.iter().any(|s| scheme.eq_ignore_ascii_case(s)),
        None => true,
    };
    if !is_allowed || url.is_empty() || url.len() > MAX_ADDRESS {
        return None;
    }
    let mut out = String::with_capacity(url.len());
    for c in url.chars() {
        match c {
            ' ' | '<' | '>' | '"' | '\\' | '`' | '|' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    Some(out)
}
