//! Footnotes, endnotes and comments of a DOCX. All become notes of the page.

use std::rc::Rc;

use super::body::{PartState, Reader};
use super::fields::Fields;
use crate::label::comment_label;
use crate::model::{Block, Inline};
use crate::xml::Element;

impl Reader<'_> {
    /// Reads the note that a reference names.
    pub(super) fn note(
        &mut self,
        kind: &'static str,
        reference: Element<'_>,
        out: &mut Vec<Inline>,
    ) {
        let id = reference.attribute("w:id").unwrap_or_default().to_owned();
        if let Some(number) = self.noted.get(&(kind, id.clone())) {
            out.push(Inline::Note(*number));
        } else if !self.part.is_note {
            let number = self.draft.add_note();
            self.noted.insert((kind, id.clone()), number);
            out.push(Inline::Note(number));
            let blocks = self.note_blocks(kind, &id);
            self.draft.set_note(number, blocks);
        }
    }

    fn note_blocks(&mut self, kind: &'static str, id: &str) -> Vec<Block> {
        let Some(at) = self.notes.iter().position(|part| part.kind == kind) else {
            return Vec::new();
        };
        let number = self.notes.get(at).and_then(|part| part.ids.get(id)).copied();
        if let Some(number) = number {
            return self.one_note(at, number);
        }
        self.draft.lost(format!("its {kind} {} is not in the file", brain_page::single_line(id)));
        Vec::new()
    }

    /// Reads a note or comment. A comment begins with its author and day.
    fn one_note(&mut self, part: usize, number: u32) -> Vec<Block> {
        let Some(part) = self.notes.get(part) else { return Vec::new() };
        let xml = Rc::clone(&part.xml);
        let state = PartState {
            relationships: Rc::clone(&part.relationships),
            fields: Fields::new(part.has_whole_fields),
            is_note: true,
            ..PartState::default()
        };
        let outer = std::mem::replace(&mut self.part, state);
        let note = xml.element(number);
        let mut blocks = self.blocks(note);
        self.part = outer;
        if note.name() == "w:comment" {
            let author = note.attribute("w:author").unwrap_or_default();
            let day = note.attribute("w:date").unwrap_or_default();
            let label = comment_label(author, day);
            match blocks.first_mut() {
                Some(Block::Paragraph(content)) => {
                    content.splice(0..0, [label, Inline::plain(" ")]);
                }
                _ => blocks.insert(0, Block::Paragraph(vec![label])),
            }
        }
        blocks
    }

    /// Returns the comments that no place of the text has, as quotes.
    pub(super) fn unplaced_comments(&mut self) -> Vec<Block> {
        let mut left = Vec::new();
        for (at, part) in self.notes.iter().enumerate().filter(|(_, it)| it.kind == "comment") {
            let ids = part.ids.iter().filter(|(id, _)| !self.is_noted(part.kind, id));
            left.extend(ids.map(|(_, number)| (at, *number)));
        }
        left.sort_unstable();
        let quote = |(at, number)| Block::Quote(self.one_note(at, number));
        left.into_iter().map(quote).collect()
    }

    fn is_noted(&self, kind: &'static str, id: &str) -> bool {
        self.noted.contains_key(&(kind, id.to_owned()))
    }
}
