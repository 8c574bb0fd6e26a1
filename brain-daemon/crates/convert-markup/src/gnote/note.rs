//! Reads the XML of a note of Gnote or Tomboy.

use jiff::Timestamp;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::content::Content;
use crate::reference::resolve_reference;

/// Maximum nesting of elements.
const MAX_DEPTH: usize = 200;

/// What a note has besides its content.
#[derive(Debug, Default)]
pub(super) struct Note {
    pub(super) title: String,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    /// Its tags, also those of the program: `system:notebook:River`.
    pub(super) tags: Vec<String>,
    /// Names that the file does not declare.
    pub(super) unknown: Vec<String>,
}

impl Note {
    /// Returns the notebook of the note.
    pub(super) fn notebook(&self) -> Option<&str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix("system:notebook:"))
    }

    /// Returns whether new notes of a notebook begin as this one.
    pub(super) fn is_template(&self) -> bool {
        self.tags.iter().any(|tag| tag == "system:template")
    }
}

/// Reads a note. With `content`, writes its content there.
///
/// # Errors
/// The reason why the XML is not well-formed. What was read before it is kept.
pub(super) fn read(
    xml: &str,
    note: &mut Note,
    mut content: Option<&mut Content<'_>>,
) -> Result<(), String> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    let mut in_content = 0;
    loop {
        let position = reader.buffer_position();
        let event = reader.read_event().map_err(|error| format!("{error} at byte {position}"))?;
        let piece = match event {
            Event::Start(tag) => {
                let name = tag.name().as_ref().to_owned();
                if open.len() == MAX_DEPTH {
                    return Err(format!("more than {MAX_DEPTH} elements are nested"));
                }
                text.clear();
                if in_content > 0 || name == "note-content" {
                    in_content += 1;
                    if let Some(content) = &mut content {
                        content.start(&name);
                    }
                }
                open.push(name);
                continue;
            }
            Event::End(_) => {
                let name = open.pop().unwrap_or_default();
                if in_content > 0 {
                    in_content -= 1;
                    if let Some(content) = &mut content {
                        content.end();
                    }
                } else {
                    note.field(&name, &text);
                }
                text.clear();
                continue;
            }
            Event::Text(piece) => piece.xml10_content().into_owned(),
            Event::CData(piece) => piece.xml10_content().into_owned(),
            Event::GeneralRef(name) => {
                let name = name.xml10_content().into_owned();
                resolve_reference(&name).unwrap_or_else(|| {
                    note.unknown.push(name.clone());
                    format!("&{name};")
                })
            }
            Event::Eof if !open.is_empty() => return Err("the file ends too early".to_owned()),
            Event::Eof => return Ok(()),
            _ => continue,
        };
        match &mut content {
            Some(content) if in_content > 0 => content.text(&piece),
            _ if in_content == 0 => text.push_str(&piece),
            _ => {}
        }
    }
}

impl Note {
    fn field(&mut self, name: &str, text: &str) {
        let text = text.trim();
        match name {
            "title" if self.title.is_empty() => self.title = text.to_owned(),
            "create-date" => self.created = text.parse().ok(),
            "last-change-date" => self.updated = text.parse().ok(),
            "tag" if !text.is_empty() => self.tags.push(text.to_owned()),
            _ => {}
        }
    }
}
