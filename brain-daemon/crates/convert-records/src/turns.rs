//! What the exports of conversations share: paths of pages, titles, headings of turns.

use std::collections::HashMap;

use brain_convert_base::{ConvertError, Paths};
use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::export::Export;
use crate::json::{fields, value};
use crate::json_array::{Element, MAX_ELEMENT};
use crate::time::shown;

/// Maximum length of a title that is made from a text, in characters.
const MAX_TITLE: usize = 80;

/// What tells where the page of a conversation is.
pub(crate) struct Head {
    /// Its title.
    pub(crate) title: String,
    /// When it began.
    pub(crate) created: Option<Timestamp>,
    /// When it was last changed.
    pub(crate) updated: Option<Timestamp>,
    /// Its id; empty if it has none.
    pub(crate) id: String,
}

/// Where the page of a conversation is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// The conversation cannot be read.
    #[default]
    Nowhere,
    /// The path of its page.
    Path(String),
    /// A later state of the conversation is in the export, which has the page.
    Repeated,
}

/// Why a conversation is left out.
pub(crate) const REPEATED: &str = "it is in the export more than once; the latest state counts";

/// Returns the places of the pages of all conversations in `folder`: those of each part of the
/// export, in order. Conversations that began earlier get their path first, so that a newer export
/// does not change it. A directory can have several exports: of the states of a conversation, the
/// latest counts. `inner` is the field with the messages.
///
/// # Errors
/// Errors of reading. Parts that end early are no error here, because they are read again.
pub(crate) fn paths_of(
    export: &Export,
    folder: &str,
    paths: &mut Paths,
    inner: &str,
    head: impl Fn(&Conversation<'_>) -> Head,
) -> Result<Vec<Vec<Place>>, ConvertError> {
    let mut heads = Vec::new();
    let mut found: Vec<Vec<Place>> = Vec::new();
    for (part_number, part) in export.parts().iter().enumerate() {
        let mut count = 0;
        let read = export.for_each(part, &mut |element| {
            if let Ok(conversation) = Conversation::parse(&element, inner) {
                heads.push((head(&conversation), (part_number, count)));
            }
            count += 1;
            Ok(())
        });
        match read {
            Ok(()) | Err(ConvertError::Malformed { .. }) => {}
            Err(error) => return Err(error),
        }
        found.push(vec![Place::Nowhere; count]);
    }
    let mut latest: HashMap<&str, (Option<Timestamp>, (usize, usize))> = HashMap::new();
    for (head, at) in &heads {
        let known = latest.entry(&head.id).or_insert((head.updated, *at));
        *known = (*known).max((head.updated, *at));
    }
    let is_repeated: Vec<bool> = heads
        .iter()
        .map(|(head, at)| {
            !head.id.is_empty() && latest.get(&*head.id).is_some_and(|it| it.1 != *at)
        })
        .collect();
    let mut heads: Vec<_> = heads.into_iter().zip(is_repeated).collect();
    heads.sort_by(|((a, at), _), ((b, other), _)| (a.created, at).cmp(&(b.created, other)));
    for ((head, (part, number)), is_repeated) in heads {
        if let Some(place) = found.get_mut(part).and_then(|it| it.get_mut(number)) {
            *place = match is_repeated {
                true => Place::Repeated,
                false => Place::Path(paths.add([folder], &head.title)),
            };
        }
    }
    Ok(found)
}

/// A conversation whose messages are not parsed.
pub(crate) struct Conversation<'a> {
    /// All fields but the one with the messages.
    pub(crate) head: Value,
    /// The field with the messages.
    pub(crate) messages: Option<&'a RawValue>,
}

impl<'a> Conversation<'a> {
    /// Parses a conversation with its messages in the field `inner`. The error is a reason why it
    /// is lost.
    pub(crate) fn parse(element: &Element<'a>, inner: &str) -> Result<Self, String> {
        let Element::Whole(bytes) = *element else { return Err(too_large()) };
        let mut fields = fields(bytes).map_err(|error| unreadable(&error))?;
        let messages = fields.remove(inner);
        let head = fields.into_iter().map(|(key, raw)| (key, value(raw))).collect();
        Ok(Self { head: Value::Object(head), messages })
    }
}

fn too_large() -> String {
    format!("it has more than {MAX_ELEMENT} bytes, the limit for an entry")
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("it is no readable JSON: {error}")
}

/// Parses a whole element. The error is a reason why it is lost.
pub(crate) fn parse(element: &Element<'_>) -> Result<Value, String> {
    match element {
        Element::Whole(bytes) => serde_json::from_slice(bytes).map_err(|error| unreadable(&error)),
        Element::TooLarge(_) => Err(too_large()),
    }
}

/// Returns the name of an element that cannot be read: `from`, and the text of its field `key` if
/// that can be found.
pub(crate) fn named(from: &str, key: &str, element: &Element<'_>) -> String {
    let (Element::Whole(bytes) | Element::TooLarge(bytes)) = element;
    let head = String::from_utf8_lossy(bytes);
    let title = head.split_once(&format!("\"{key}\"")).and_then(|(_, it)| it.split('"').nth(1));
    title.map_or_else(|| from.to_owned(), |title| format!("{from}, {title}"))
}

/// Returns a title from the beginning of a text; empty if it has no words.
pub(crate) fn title_of(text: &str) -> String {
    let line = text.lines().map(brain_page::single_line).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(MAX_TITLE) {
        None => line,
        Some((end, _)) => {
            let cut = line.get(..end).unwrap_or_default();
            let cut = cut.rsplit_once(' ').map_or(cut, |(words, _)| words);
            format!("{cut}…")
        }
    }
}

/// Returns the heading of a turn.
pub(crate) fn turn_heading(level: usize, who: &str, time: Option<Timestamp>) -> String {
    let time = time.map(|time| format!(", {}", shown(time))).unwrap_or_default();
    format!("{} {who}{time}", "#".repeat(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_in_words() {
        assert_eq!(title_of("\n  Bring  rope\nmore"), "Bring rope");
        assert_eq!(title_of(" \n"), "");
        let long = title_of(&"word ".repeat(40));
        assert!(long.ends_with("word…") && long.chars().count() <= MAX_TITLE + 1, "{long}");
    }
}
