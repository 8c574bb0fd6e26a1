//! The notes of a chapter, which their types name (EPUB 3, `epub:type` and `role`).

use std::collections::HashMap;

use crate::draft::Draft;
use crate::xml::Element;

/// The notes of a chapter by their ids.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The numbers of notes whose place was read; `None` for others.
    by_id: HashMap<String, Option<usize>>,
}

impl Notes {
    pub(super) fn of(body: Element<'_>) -> Self {
        let notes = body.descendants().filter(|it| has_type(*it, &NOTES));
        let ids = notes.filter_map(|it| it.attribute("id"));
        Self { by_id: ids.map(|id| (id.to_owned(), None)).collect() }
    }

    /// Returns the number of the note that a link refers to, or `None` if it is another link.
    pub(super) fn reference(
        &mut self,
        link: Element<'_>,
        href: &str,
        draft: &mut Draft,
    ) -> Option<usize> {
        let id = href.split_once('#').filter(|_| is_reference(link))?.1;
        let number = self.by_id.get_mut(id)?;
        Some(*number.get_or_insert_with(|| draft.add_note()))
    }

    /// Returns the number of a note whose place was read.
    pub(super) fn number_of(&self, element: Element<'_>) -> Option<usize> {
        self.by_id.get(element.attribute("id")?).copied().flatten()
    }

    /// Returns whether a link only leads from a note back to its place.
    pub(super) fn is_back_link(&self, link: Element<'_>) -> bool {
        has_type(link, &["backlink", "doc-backlink"])
            || link.attribute("class") == Some("footnote-back")
    }
}

/// Returns whether a link is the mark of a note.
pub(super) fn is_reference(link: Element<'_>) -> bool {
    has_type(link, &["noteref", "doc-noteref"])
}

const NOTES: [&str; 7] =
    ["footnote", "endnote", "rearnote", "note", "doc-footnote", "doc-endnote", "doc-rearnote"];

fn has_type(element: Element<'_>, types: &[&str]) -> bool {
    ["epub:type", "role"].iter().any(|name| {
        let value = element.attribute(name).unwrap_or_default();
        value.split_whitespace().any(|it| types.contains(&it))
    })
}
