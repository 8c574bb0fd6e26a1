//! Writes XHTML so that a reader of HTML understands it.
//!
//! In HTML, `<title/>` and `<a id="x"/>` have no end, and swallow what follows.

use crate::xml::Xml;

/// Elements that are empty in HTML, too.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Returns a page with an end for each element, if it is XML. Other pages stay as they are.
pub(super) fn with_ends(html: String) -> String {
    let is_xml = html.trim_start().starts_with("<?xml") || html.contains("//DTD XHTML");
    if !is_xml || !html.contains("/>") || Xml::parse(&html).error.is_some() {
        return html;
    }
    let mut out = String::with_capacity(html.len() + 256);
    let mut rest = html.as_str();
    while let Some((before, after)) = rest.split_once("/>") {
        out.push_str(before);
        let tag = before.rsplit('<').next().unwrap_or_default();
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if name.is_empty() || VOID.contains(&name) || tag.contains('>') {
            out.push_str("/>");
        } else {
            out.push_str(&format!("></{name}>"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
