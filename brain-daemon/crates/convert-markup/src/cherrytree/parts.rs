//! Reads the events of a document's XML, with limits.

use std::io::BufRead;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_convert_base::LimitedReader;
use brain_protocol::MAX_ATTACHMENT;
use quick_xml::events::{BytesStart, Event};

use crate::reference::resolve_reference;

/// Maximum length of an event, in bytes, but for the data of a file.
const MAX_EVENT: usize = 16 * 1024 * 1024;
/// Maximum nesting of elements.
const MAX_DEPTH: usize = 200;

/// The attributes of an element.
pub(super) type Attributes = Vec<(String, String)>;

/// Returns the value with this name; empty if there is none.
pub(super) fn value<'a>(attributes: &'a [(String, String)], name: &str) -> &'a str {
    attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str())
}

/// A part of the document.
pub(super) enum Part {
    /// The start of an element: its name and attributes.
    Start(String, Attributes),
    /// The end of an element.
    End,
    /// A piece of text.
    Text(String),
    /// The end of the document.
    Eof,
}

/// Reads the parts of a document.
pub(super) struct Parts<R> {
    reader: quick_xml::Reader<LimitedReader<R>>,
    buffer: Vec<u8>,
    /// Whether the end of an empty element comes next.
    is_empty: bool,
    depth: usize,
}

impl<R: BufRead> Parts<R> {
    pub(super) fn new(inner: R) -> Self {
        let mut reader = quick_xml::Reader::from_reader(LimitedReader::new(inner, MAX_EVENT));
        reader.config_mut().check_end_names = true;
        reader.config_mut().allow_dangling_amp = true;
        Self { reader, buffer: Vec::new(), is_empty: false, depth: 0 }
    }

    /// Returns the next part.
    ///
    /// # Errors
    /// The reason why the document cannot be read on.
    pub(super) fn next(&mut self) -> Result<Part, String> {
        if std::mem::take(&mut self.is_empty) {
            return Ok(Part::End);
        }
        loop {
            self.buffer.clear();
            self.reader.get_mut().begin_event();
            let at = self.reader.buffer_position();
            let event = self.reader.read_event_into(&mut self.buffer);
            match event.map_err(|error| format!("{error} at byte {at}"))? {
                Event::Start(tag) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(format!("more than {MAX_DEPTH} nodes are nested"));
                    }
                    return Ok(started(&tag));
                }
                Event::Empty(tag) => {
                    self.is_empty = true;
                    return Ok(started(&tag));
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Part::End);
                }
                Event::Text(text) => return Ok(Part::Text(text.xml10_content().into_owned())),
                Event::CData(text) => return Ok(Part::Text(text.xml10_content().into_owned())),
                Event::GeneralRef(name) => {
                    let name = name.xml10_content();
                    let text = resolve_reference(&name).unwrap_or_else(|| format!("&{name};"));
                    return Ok(Part::Text(text));
                }
                Event::Eof if self.depth > 0 => return Err("the file ends too early".to_owned()),
                Event::Eof => return Ok(Part::Eof),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// Reads the base64 of the element that has just begun, up to the next tag. The inner error says
    /// why a page cannot have the file.
    ///
    /// # Errors
    /// The reason why the document cannot be read on.
    pub(super) fn data(&mut self) -> Result<Result<Vec<u8>, String>, String> {
        const MAX_BASE64: usize = MAX_ATTACHMENT / 3 * 4 + 4;
        let mut stream = self.reader.stream();
        let mut base64 = Vec::new();
        let mut is_last = self.is_empty;
        while !is_last {
            stream.get_mut().begin_event();
            let piece = stream.fill_buf().map_err(|error| error.to_string())?;
            let end = piece.iter().position(|byte| *byte == b'<');
            let text = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
            if base64.len() <= MAX_BASE64 {
                base64.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
            }
            is_last = end.is_some() || piece.is_empty();
            let length = text.len();
            stream.consume(length);
        }
        if base64.len() > MAX_BASE64 {
            let max = MAX_ATTACHMENT;
            let reason = format!("it has more than {max} bytes, the limit for a file of a page");
            return Ok(Err(reason));
        }
        Ok(STANDARD.decode(base64).map_err(|_| "its data is damaged".to_owned()))
    }
}

/// Returns the start of an element.
fn started(tag: &BytesStart<'_>) -> Part {
    let mut attributes = Attributes::new();
    for attribute in tag.attributes().with_checks(false).flatten() {
        attributes.push((attribute.key.as_ref().to_owned(), resolved(&attribute.value)));
    }
    Part::Start(tag.name().as_ref().to_owned(), attributes)
}

/// Returns the value of an attribute with its references resolved.
fn resolved(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let text =
            after.split_once(';').and_then(|(name, after)| Some((resolve_reference(name)?, after)));
        rest = match text {
            Some((text, after)) => {
                out.push_str(&text);
                after
            }
            None => {
                out.push('&');
                after
            }
        };
    }
    out.push_str(rest);
    out
}
