//! Raised and lowered text that only a class of a style sheet says, as Google Docs writes it.

use crate::model::{Position, Style};
use crate::xhtml::Looks;

/// Gives each `span` whose class raises or lowers its text a style of its own, which a reader of
/// HTML without style sheets understands.
pub(super) fn with_positions(html: String) -> String {
    let mut looks = Looks::default();
    for sheet in html.split("<style").skip(1) {
        let css = sheet.split_once('>').map_or("", |(_, css)| css);
        looks.add(css.split("</style").next().unwrap_or_default());
    }
    if !looks.has_positions() {
        return html;
    }
    let mut parts = html.split("<span");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("<span");
        let tag = part.split('>').next().unwrap_or_default();
        let style = match looks.look(class_of(tag), "", Style::default()).position {
            Position::Raised => " style=\"vertical-align:super\"",
            Position::Lowered => " style=\"vertical-align:sub\"",
            Position::Normal => "",
        };
        out.push_str(style);
        out.push_str(part);
    }
    out
}

/// Returns the classes in a tag.
fn class_of(tag: &str) -> &str {
    let value = tag.split_once("class=").map_or("", |(_, rest)| rest);
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value.split(quote).nth(1).unwrap_or_default(),
        _ => value.split_whitespace().next().unwrap_or_default(),
    }
}
