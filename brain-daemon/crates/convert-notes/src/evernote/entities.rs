//! Resolves references of XML and the names of HTML. A DTD's own names are never resolved.

use std::cell::RefCell;
use std::collections::HashMap;

use brain_page::{MediaType, payload};
use quick_xml::escape::resolve_xml_entity;

/// Maximum length of a name. The longest one of HTML has 31 characters.
const MAX_NAME: usize = 32;

/// Maximum number of names whose texts are kept. HTML has 2,231.
const MAX_KNOWN: usize = 2500;

thread_local! {
    /// The texts of names that were looked up.
    static KNOWN: RefCell<HashMap<String, Option<String>>> = RefCell::default();
}

/// Returns the text of a reference, given without `&` and `;`, or `None` if its name is unknown.
pub(super) fn resolve(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        let c = char::from_u32(number.ok()?)?;
        return Some(if c.is_control() && !c.is_whitespace() { String::new() } else { c.into() });
    }
    if let Some(text) = resolve_xml_entity(name) {
        return Some(text.to_owned());
    }
    html(name)
}

/// Returns the text of a name of HTML. The converter of HTML knows all names.
fn html(name: &str) -> Option<String> {
    if name == "nbsp" {
        return Some("\u{a0}".to_owned());
    }
    if name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(text) = known.get(name) {
            return text.clone();
        }
        let text = convert(name);
        if known.len() < MAX_KNOWN {
            known.insert(name.to_owned(), text.clone());
        }
        text
    })
}

/// Returns the text of a name of HTML from the converter.
fn convert(name: &str) -> Option<String> {
    let html = format!("<p>x&{name};x</p>");
    let payload = payload(MediaType::Html, html.as_bytes()).ok()?;
    let text = payload.document.body.trim().strip_prefix('x')?.strip_suffix('x')?.to_owned();
    // What stays of an unknown name is its end.
    (!text.ends_with(';') || name == "semi").then(|| unescaped(&text))
}

/// Returns markdown without the backslashes before its signs.
fn unescaped(markdown: &str) -> String {
    let mut chars = markdown.chars();
    std::iter::from_fn(|| match chars.next()? {
        '\\' => chars.next(),
        c => Some(c),
    })
    .collect()
}

/// Returns a text with the references in it resolved, and the unknown names.
pub(super) fn resolve_all(text: &str) -> (String, Vec<String>) {
    let mut out = String::with_capacity(text.len());
    let mut unknown = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(MAX_NAME + 1).position(|byte| byte == b';');
        let name = end.and_then(|end| after.get(..end));
        match name.map(|name| (name, resolve(name))) {
            Some((name, Some(text))) => {
                out.push_str(&text);
                rest = after.get(name.len() + 1..).unwrap_or_default();
            }
            Some((name, None)) => {
                unknown.push(name.to_owned());
                out.push('&');
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    (out, unknown)
}
