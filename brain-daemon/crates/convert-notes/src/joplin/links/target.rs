//! Reads and writes the addresses of links.

use super::super::item;
use super::Target;

/// What may stand before an id. The second one is for links from other programs.
const PREFIXES: [&str; 2] = [":/", "joplin://x-callback-url/openNote?id="];
/// What stands before the id in HTML that goes through the converter, which drops `:/`.
const MARK: &str = "joplin-item/";
/// Maximum length of an address with its title, in bytes.
const MAX_ADDRESS: usize = 1000;

/// What stands in the parentheses of a link.
pub(super) struct Destination<'a> {
    pub(super) id: u128,
    pub(super) heading: &'a str,
    pub(super) title: &'a str,
    /// Its length with the closing parenthesis, in bytes.
    pub(super) length: usize,
}

/// Returns the id and the heading of an address in Joplin.
pub(super) fn address(url: &str) -> Option<(u128, &str)> {
    let rest = PREFIXES.iter().find_map(|prefix| url.strip_prefix(prefix))?;
    let (id, rest) = rest.split_at_checked(32)?;
    let is_end = rest.is_empty() || rest.starts_with(['#', '?', '&']);
    let heading = rest.split_once('#').map_or("", |(_, heading)| heading);
    Some((item::id(id).filter(|_| is_end)?, heading))
}

/// Returns whether a text begins with an address in Joplin, maybe in angle brackets.
fn may_begin(text: &str) -> bool {
    let text = text.strip_prefix('<').unwrap_or(text);
    PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// Returns the destination at the beginning of `rest`, which follows the opening parenthesis.
pub(super) fn destination(rest: &str) -> Option<Destination<'_>> {
    let window = window(rest);
    let text = window.trim_start();
    if !may_begin(text) {
        return None;
    }
    let (url, after) = split_url(text)?;
    let (id, heading) = address(url)?;
    let after = after.trim_start();
    let (title, after) = match after.chars().next()? {
        quote @ ('"' | '\'') => after.get(1..)?.split_once(quote)?,
        _ => ("", after),
    };
    let after = after.trim_start().strip_prefix(')')?;
    Some(Destination { id, heading, title, length: window.len() - after.len() })
}

/// Returns the address at the beginning of a reference definition, and its length in bytes.
/// `rest` follows the colon.
pub(super) fn definition(rest: &str) -> Option<(u128, &str, usize)> {
    let window = window(rest);
    let text = window.trim_start_matches([' ', '\t']);
    if !may_begin(text) {
        return None;
    }
    let (url, after) = split_url(text).unwrap_or((text, ""));
    let (id, heading) = address(url)?;
    Some((id, heading, window.len() - after.len()))
}

/// Splits a text after its address. The address is without angle brackets.
fn split_url(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('<') {
        Some(text) => text.split_once('>'),
        None => text.split_at_checked(text.find(|c: char| c.is_whitespace() || c == ')')?),
    }
}

fn window(text: &str) -> &str {
    let end = (0..=text.len().min(MAX_ADDRESS)).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Returns the place of an attribute's value in a tag.
pub(super) fn attribute(tag: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let lower = tag.to_ascii_lowercase();
    let key = format!("{name}=");
    let is_begin = |at: usize| {
        lower.get(..at).is_some_and(|it| it.ends_with(|c: char| c.is_whitespace() || c == '"'))
    };
    let at = lower.match_indices(&key).map(|(at, _)| at).find(|at| is_begin(*at))? + key.len();
    let value = tag.get(at..)?;
    match value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        Some(quote) => {
            let length = value.get(1..)?.find(quote)?;
            Some(at + 1..at + 1 + length)
        }
        None => {
            let length = value.find(|c: char| c.is_whitespace() || c == '>')?;
            Some(at..at + length)
        }
    }
}

/// Returns a name or path as the address of a link.
pub(super) fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            ' ' | '(' | ')' | '%' | '<' | '>' | '"' | '\'' | '#' | '?' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns the address of a target for a reference definition or an attribute.
pub(super) fn plain_address(target: &Target, heading: &str) -> String {
    match target {
        Target::Page(path) if heading.is_empty() => format!("{}.md", encoded(path)),
        Target::Page(path) => format!("{}.md#{heading}", encoded(path)),
        Target::File { name, .. } => encoded(name),
    }
}

/// Marks the addresses in HTML, so that they are kept by the converter.
pub(in super::super) fn mark_html(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['"', '\'', '=']) {
        let (before, after) = rest.split_at_checked(at + 1).unwrap_or((rest, ""));
        out.push_str(before);
        rest = after;
        for prefix in PREFIXES {
            if let Some(id) = rest.strip_prefix(prefix)
                && id.get(..32).and_then(item::id).is_some()
            {
                out.push_str(MARK);
                rest = id;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns the markdown of marked HTML, with the addresses of Joplin.
pub(in super::super) fn without_marks(markdown: &str) -> String {
    let mut pieces = markdown.split(MARK);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_id = piece.get(..32).and_then(item::id).is_some();
        out.push_str(if is_id { ":/" } else { MARK });
        out.push_str(piece);
    }
    out
}
