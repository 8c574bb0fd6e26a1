//! The notes of a book, which their types name (EPUB 3, `epub:type` and `role`), or the classes of
//! pandoc (EPUB 2). They can be in another chapter than their places.

use std::collections::HashMap;

use crate::container::target;
use crate::draft::Draft;
use crate::xml::{Element, Xml};

/// The notes of a book.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// By chapter and id: the numbers of notes whose place was read; `None` for others.
    numbers: HashMap<(String, String), Option<usize>>,
}

impl Notes {
    /// Adds the notes of the chapter at `path`.
    pub(crate) fn add(&mut self, path: &str, chapter: &Xml) {
        let all = || chapter.root().descendants();
        let lists = all().filter(|it| has_class(*it, "footnotes"));
        let items = lists.flat_map(Element::descendants).filter(|it| it.name() == "li");
        let notes = all().filter(|it| has_type(*it, &NOTES)).chain(items);
        let ids = notes.filter_map(|it| it.attribute("id"));
        self.numbers.extend(ids.map(|id| ((path.to_owned(), id.to_owned()), None)));
    }

    /// Returns the number of the note that a link in the chapter at `path` refers to, or `None` if
    /// it is another link.
    pub(super) fn reference(
        &mut self,
        link: Element<'_>,
        (path, href): (&str, &str),
        draft: &mut Draft,
    ) -> Option<usize> {
        let number = self.numbers.get_mut(&target(path, href)).filter(|_| is_reference(link))?;
        Some(*number.get_or_insert_with(|| draft.add_note()))
    }

    /// Returns the number of a note whose place was read.
    pub(super) fn number_of(&self, path: &str, element: Element<'_>) -> Option<usize> {
        self.numbers.get(&key(path, element)?).copied().flatten()
    }

    /// Returns the number of an element that is read now. A note that is read before its place is
    /// text of its chapter.
    pub(super) fn take_number(&mut self, path: &str, element: Element<'_>) -> Option<usize> {
        let key = key(path, element)?;
        let number = self.numbers.get(&key).copied().flatten();
        if number.is_none() {
            self.numbers.remove(&key);
        }
        number
    }

    /// Returns whether a link only leads from a note back to its place.
    pub(super) fn is_back_link(&self, link: Element<'_>) -> bool {
        has_type(link, &["backlink", "doc-backlink"]) || has_class(link, "footnote-back")
    }
}

fn key(path: &str, element: Element<'_>) -> Option<(String, String)> {
    Some((path.to_owned(), element.attribute("id")?.to_owned()))
}

/// Returns whether a link is the mark of a note.
pub(super) fn is_reference(link: Element<'_>) -> bool {
    has_type(link, &["noteref", "doc-noteref"]) || has_class(link, "footnote-ref")
}

fn has_class(element: Element<'_>, class: &str) -> bool {
    element.attribute("class").is_some_and(|it| it.split_whitespace().any(|it| it == class))
}

const NOTES: [&str; 7] =
    ["footnote", "endnote", "rearnote", "note", "doc-footnote", "doc-endnote", "doc-rearnote"];

fn has_type(element: Element<'_>, types: &[&str]) -> bool {
    ["epub:type", "role"].iter().any(|name| {
        let value = element.attribute(name).unwrap_or_default();
        value.split_whitespace().any(|it| types.contains(&it))
    })
}
