//! Reads the events of an ENEX file, with limits, and its base64 data in pieces.

use std::io::BufRead;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use brain_convert_base::LimitedReader;
use md5::{Digest as _, Md5};
use quick_xml::Reader;
use quick_xml::events::Event;

use super::entities;

/// Maximum length of an event, in bytes: above all, of the content of a note. Evernote's own limit
/// for a content is 5 MB (`EDAM_NOTE_CONTENT_LEN_MAX` of its API, not measured).
const MAX_EVENT: usize = 32 * 1024 * 1024;
/// Minimum number of characters of base64 that are decoded at once.
const MIN_BASE64: usize = 64 * 1024;
/// The decoder. Padding may be missing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A part of an ENEX file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The start of an element: its name.
    Start(String),
    /// The end of an element.
    End,
    /// A piece of text, with resolved references.
    Text(String),
    /// A reference of an unknown name. It is never expanded, whatever the DTD says.
    Unknown(String),
    /// The end of the file.
    Eof,
}

/// The decoded data of a file of a note.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// MD5 of the data, in lower case hexadecimal digits.
    pub(super) hash: String,
    /// Length in bytes.
    pub(super) size: usize,
    /// The first bytes, up to the number asked for.
    pub(super) bytes: Vec<u8>,
    /// Whether the base64 is damaged.
    pub(super) is_damaged: bool,
}

/// Reads an ENEX file.
pub(super) struct Input<R> {
    reader: Reader<LimitedReader<R>>,
    buffer: Vec<u8>,
    /// Whether the end of an empty element comes next.
    is_empty: bool,
    /// The open elements.
    depth: usize,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(inner: R) -> Self {
        let mut reader = Reader::from_reader(LimitedReader::new(inner, MAX_EVENT));
        reader.config_mut().check_end_names = true;
        Self { reader, buffer: Vec::new(), is_empty: false, depth: 0 }
    }

    /// The number of bytes that were read. Before an element's start, the place of its `<`.
    pub(super) fn position(&self) -> u64 {
        self.reader.buffer_position()
    }

    /// Returns the next part.
    ///
    /// # Errors
    /// The reason why the file is not well-formed or cannot be read.
    pub(super) fn next(&mut self) -> Result<Part, String> {
        if std::mem::take(&mut self.is_empty) {
            return Ok(Part::End);
        }
        loop {
            self.buffer.clear();
            // One long event must not keep its memory.
            self.buffer.shrink_to(MAX_EVENT / 32);
            self.reader.get_mut().begin_event();
            let event = self.reader.read_event_into(&mut self.buffer);
            match event.map_err(|error| error.to_string())? {
                Event::Start(tag) => {
                    self.depth += 1;
                    return Ok(Part::Start(tag.name().as_ref().to_owned()));
                }
                Event::Empty(tag) => {
                    self.is_empty = true;
                    return Ok(Part::Start(tag.name().as_ref().to_owned()));
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Part::End);
                }
                Event::Text(text) => return Ok(Part::Text(text.xml10_content().into_owned())),
                Event::CData(text) => return Ok(Part::Text(text.xml10_content().into_owned())),
                Event::GeneralRef(name) => {
                    return Ok(match entities::resolve(&name.xml10_content()) {
                        Some(text) => Part::Text(text),
                        None => Part::Unknown(name.xml10_content().into_owned()),
                    });
                }
                Event::Eof if self.depth > 0 => {
                    return Err("the file ends before the end of the export".to_owned());
                }
                Event::Eof => return Ok(Part::Eof),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// Reads the text of the element that has just begun into `data`, up to the next tag. A CDATA
    /// section comes as a [`Part::Text`].
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    pub(super) fn data(&mut self, data: &mut Decoder) -> Result<(), String> {
        let mut stream = self.reader.stream();
        // An empty element has no text. Its end comes next.
        let mut is_last = self.is_empty;
        while !is_last {
            stream.get_mut().begin_event();
            let piece = stream.fill_buf().map_err(|error| error.to_string())?;
            let end = piece.iter().position(|byte| *byte == b'<');
            let text = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
            let len = text.len();
            is_last = end.is_some() || piece.is_empty();
            data.push(text);
            stream.consume(len);
        }
        Ok(())
    }
}

/// Decodes the base64 of a file in pieces.
#[derive(Default)]
pub(super) struct Decoder {
    /// How many bytes are kept. With `None`, nothing is decoded.
    max: Option<usize>,
    data: Data,
    hash: Md5,
    pending: Vec<u8>,
}

impl Decoder {
    pub(super) fn new(max: Option<usize>) -> Self {
        Self { max, ..Self::default() }
    }

    /// Takes a piece of base64.
    pub(super) fn push(&mut self, text: &[u8]) {
        if self.max.is_none() {
            return;
        }
        self.pending.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
        if self.pending.len() >= MIN_BASE64 {
            let rest = self.pending.split_off(self.pending.len() / 4 * 4);
            let whole = std::mem::replace(&mut self.pending, rest);
            self.decode(&whole);
        }
    }

    /// Returns what was decoded.
    pub(super) fn finish(mut self) -> Data {
        let rest = std::mem::take(&mut self.pending);
        self.decode(&rest);
        self.data.hash = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.data
    }

    fn decode(&mut self, base64: &[u8]) {
        match BASE64.decode(base64) {
            Ok(bytes) => {
                self.hash.update(&bytes);
                let data = &mut self.data;
                data.size = data.size.saturating_add(bytes.len());
                let max = self.max.unwrap_or_default();
                let room = max.saturating_sub(data.bytes.len()).min(bytes.len());
                data.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
            }
            Err(_) => self.data.is_damaged = true,
        }
    }
}
