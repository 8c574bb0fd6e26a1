//! The fields of a DOCX: an instruction, and the text that it gave.

use std::rc::Rc;

use crate::model::Link;
use crate::xml::Xml;

/// The open fields. A field lies between marks, also over paragraphs.
#[derive(Debug, Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    /// Whether each field has an end. If not, nothing is hidden.
    is_whole: bool,
}

#[derive(Debug, Default)]
struct Field {
    instruction: String,
    has_result: bool,
    link: Option<Link>,
}

impl Fields {
    /// Prepares for a part, which is whole if [`is_whole`] says so.
    pub(super) fn new(is_whole: bool) -> Self {
        Self { open: Vec::new(), is_whole }
    }

    /// Reads a mark.
    pub(super) fn mark(&mut self, kind: &str) {
        match kind {
            "begin" => self.open.push(Field::default()),
            "separate" => {
                if let Some(field) = self.open.last_mut() {
                    field.has_result = true;
                    field.link = link(&field.instruction);
                }
            }
            "end" => _ = self.open.pop(),
            _ => {}
        }
    }

    /// Reads a part of an instruction.
    pub(super) fn instruction(&mut self, text: &str) {
        if let Some(field) = self.open.last_mut() {
            field.instruction.push_str(text);
        }
    }

    /// Returns whether text is shown here, not a part of an instruction.
    pub(super) fn is_shown(&self) -> bool {
        !self.is_whole || self.open.iter().all(|field| field.has_result)
    }

    /// Returns the link that the text here is.
    pub(super) fn link(&self) -> Option<&Link> {
        self.open.iter().rev().find_map(|field| field.link.as_ref())
    }
}

/// Returns whether each field of a part has an end.
pub(super) fn is_whole(part: &Xml) -> bool {
    let mut depth = 0_i64;
    for mark in part.elements().filter(|it| it.name() == "w:fldChar") {
        match mark.attribute("w:fldCharType") {
            Some("begin") => depth += 1,
            Some("end") => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Returns the link that an instruction makes: `HYPERLINK "address" \l "place"`.
pub(super) fn link(instruction: &str) -> Option<Link> {
    let rest = instruction.trim().strip_prefix("HYPERLINK")?;
    let mut parts = rest.split('"');
    let (before, first) = (parts.next()?, parts.next()?);
    if before.contains("\\l") {
        return Some(Link::Place(first.into()));
    }
    let place = rest.split("\\l").nth(1).and_then(|it| it.split('"').nth(1));
    let address: Rc<str> = match place {
        Some(place) if !first.contains('#') => format!("{first}#{place}").into(),
        _ => first.into(),
    };
    Some(Link::Address(address))
}
