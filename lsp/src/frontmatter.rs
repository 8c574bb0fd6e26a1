//! Completion of the frontmatter: keys, and values of some of them.

use brain_page::LINK_KEYS;
use brain_protocol::{CompletionKind, CompletionValue};

use crate::text::Text;

/// Keys that brain reads, besides those of links.
const KEYS: [(&str, &str); 6] = [
    ("title", "the title"),
    ("type", "the type of the page"),
    ("tags", "a list of tags"),
    ("aliases", "other names of the page"),
    ("created", "the day it was written"),
    ("updated", "the day of the last change"),
];

/// What is being typed in the frontmatter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Typing {
    /// The first byte.
    pub(crate) start: usize,
    /// The kind of the value; `None` for a key.
    pub(crate) kind: Option<CompletionKind>,
    /// What follows.
    pub(crate) close: &'static str,
}

/// Returns what is being typed at the cursor; `None` outside of the frontmatter, and for values of
/// other keys.
pub(crate) fn typing(text: &Text, cursor: usize) -> Option<Typing> {
    let whole = text.as_str();
    let (number, line) = text.line_at(cursor);
    if number == 0 || text.line(0).len() != 3 || !whole.starts_with("---") {
        return None;
    }
    let lines = whole[..line.start].lines().skip(1);
    if lines.clone().any(|line| ["---", "..."].contains(&line.trim_end())) {
        return None;
    }
    let before = &whole[line.start..cursor];
    let value = |key: &str, start: usize| {
        let kind = match key.trim().to_lowercase().as_str() {
            "type" => CompletionKind::Type,
            "tags" | "tag" => CompletionKind::Tag,
            _ => return None,
        };
        Some(Typing { start: line.start + start, kind: Some(kind), close: "" })
    };
    let word = before.rfind([' ', ',', '[', '"', '\'', '#']).map_or(0, |at| at + 1);
    if let Some((key, _)) = before.split_once(':') {
        return value(key, word.max(key.len() + 1));
    }
    if before.trim_start().starts_with('-') {
        let key = lines.filter(|line| !line.trim_start().starts_with('-')).last()?;
        return value(key.split(':').next().unwrap_or_default(), word);
    }
    let is_key = before.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    is_key.then_some(Typing { start: line.start, kind: None, close: ": " })
}

/// Returns the keys that the frontmatter does not have yet.
pub(crate) fn keys(text: &str) -> Vec<CompletionValue> {
    let links = LINK_KEYS.iter().map(|key| (*key, "links to pages"));
    let is_new = |(key, _): &(&str, &str)| !text.contains(&format!("\n{key}:"));
    let value = |(key, description): (&str, &str)| CompletionValue {
        value: key.to_owned(),
        description: description.to_owned(),
    };
    KEYS.into_iter().chain(links).filter(is_new).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Encoding;

    #[test]
    fn keys_and_values_are_recognised() {
        let typing = |text: &str| {
            let text = Text::new(text.to_owned(), Encoding::Utf16);
            typing(&text, text.as_str().len()).map(|found| (found.start, found.kind))
        };
        assert_eq!(typing("---\nti"), Some((4, None)));
        assert_eq!(typing("---\ntype: no"), Some((10, Some(CompletionKind::Type))));
        assert_eq!(typing("---\ntags: [a, b"), Some((14, Some(CompletionKind::Tag))));
        assert_eq!(typing("---\ntags:\n  - a\n  - b"), Some((20, Some(CompletionKind::Tag))));
        assert_eq!(typing("---\nmood: x"), None);
        assert_eq!(typing("---\na: b\n---\nti"), None);
        assert_eq!(typing("ti"), None);
    }
}
