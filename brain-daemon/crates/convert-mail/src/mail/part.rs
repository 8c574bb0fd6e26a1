//! The parts of a message (RFC 2045, RFC 2046): its texts and its files.

use std::ops::Range;

use brain_convert_base::count_words;
use memchr::memmem;

use super::embedded::without_files;
use super::header::Header;
use super::html;
use super::params::Params;
use super::plain;
use crate::codec;

/// Maximum depth of parts in parts. Deeper ones are kept as files.
const MAX_DEPTH: usize = 30;
/// Maximum number of parts. Further ones are kept in the last file.
const MAX_PARTS: usize = 2000;

/// Why the text of a message is not in its page.
const ENCRYPTED: &str = "its text is encrypted, and is kept as a file";
/// What the file `winmail.dat` is.
pub(super) const CONTAINER: &str = "Outlook's container; its files are in it";

/// What a message contains.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) texts: Vec<Text>,
    pub(super) files: Vec<FilePart>,
    /// What cannot be read, and why.
    pub(super) lost: Vec<String>,
}

/// A text of a message.
#[derive(Debug)]
pub(super) enum Text {
    /// Plain text.
    Plain(String),
    /// HTML.
    Html(String),
    /// Begins a message in the message.
    Message(Box<Header>),
    /// Ends it.
    EndOfMessage,
}

/// A file of a message.
#[derive(Debug)]
pub(super) struct FilePart {
    /// Its name; empty if it has none.
    pub(super) name: String,
    /// Its media type, without parameters.
    pub(super) media_type: String,
    /// The id by which the HTML of the message shows it; empty if it has none.
    pub(super) content_id: String,
    /// Where its encoded bytes are in the message.
    range: Range<usize>,
    encoding: Encoding,
    /// Its bytes, if it was written into a text.
    embedded: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Plain,
    Base64,
    QuotedPrintable,
}

impl Encoding {
    fn of(header: &Header) -> Self {
        match header.raw("content-transfer-encoding").trim().to_ascii_lowercase().as_str() {
            "base64" => Self::Base64,
            "quoted-printable" => Self::QuotedPrintable,
            _ => Self::Plain,
        }
    }

    fn decode(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Plain => bytes.to_vec(),
            Self::Base64 => codec::base64(bytes),
            Self::QuotedPrintable => codec::quoted_printable(bytes),
        }
    }
}

impl FilePart {
    /// Returns the bytes of the file. `message` is the message that contains it.
    pub(super) fn bytes(&self, message: &[u8]) -> Vec<u8> {
        match self.embedded.is_empty() {
            true => self.encoding.decode(self.encoded(message)),
            false => self.embedded.clone(),
        }
    }

    /// Returns its bytes as they are in the message.
    fn encoded<'a>(&self, message: &'a [u8]) -> &'a [u8] {
        message.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns whether the file contains files and formatting in Outlook's own format (TNEF). Some
    /// servers replace its media type, but not its name.
    pub(super) fn is_container(&self) -> bool {
        matches!(self.media_type.as_str(), "application/ms-tnef" | "application/vnd.ms-tnef")
            || self.name.eq_ignore_ascii_case("winmail.dat")
    }

    /// Returns what shows that two files are equal.
    pub(super) fn key<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        match self.embedded.is_empty() {
            true => self.encoded(message).trim_ascii(),
            false => &self.embedded,
        }
    }
}

/// Returns what a message contains, without its own header.
pub(super) fn content(message: &[u8]) -> Content {
    let mut reader = Reader { message, parts: 0 };
    reader.part(0..message.len(), 0, false)
}

struct Reader<'a> {
    message: &'a [u8],
    parts: usize,
}

/// A part whose header is known.
struct Part<'a> {
    header: &'a Header,
    kind: Params,
    disposition: Params,
    body: Range<usize>,
}

impl Part<'_> {
    /// Returns its name as a file.
    fn name(&self) -> Option<String> {
        let name = self.disposition.get("filename").or_else(|| self.kind.get("name"));
        name.map(brain_page::single_line)
    }

    fn file(&self) -> FilePart {
        let id = self.header.raw("content-id").trim();
        FilePart {
            name: self.name().unwrap_or_default(),
            media_type: self.kind.value.clone(),
            content_id: id.trim_start_matches('<').trim_end_matches('>').to_owned(),
            range: self.body.clone(),
            encoding: Encoding::of(self.header),
            embedded: Vec::new(),
        }
    }

    fn is_attachment(&self) -> bool {
        self.disposition.value == "attachment" || self.name().is_some()
    }
}

impl Reader<'_> {
    fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.message.get(range.clone()).unwrap_or_default()
    }

    /// Reads a part. `is_digest`: parts without a type are messages.
    fn part(&mut self, range: Range<usize>, depth: usize, is_digest: bool) -> Content {
        self.parts += 1;
        let (header, body) = Header::parse(self.slice(&range));
        let mut kind = header.params("content-type");
        if !kind.value.contains('/') {
            kind.value = if is_digest { "message/rfc822" } else { "text/plain" }.to_owned();
        }
        let disposition = header.params("content-disposition");
        let part = Part { header: &header, kind, disposition, body: range.start + body..range.end };
        let is_deep = depth >= MAX_DEPTH || self.parts > MAX_PARTS;
        match part.kind.value.as_str() {
            "message/rfc822" | "message/global"
                if Encoding::of(&header) == Encoding::Plain && !is_deep =>
            {
                self.message(part.body, depth)
            }
            kind if kind.starts_with("multipart/") => match part.kind.get("boundary") {
                Some(boundary) if !is_deep => {
                    let ranges = self.ranges(&part.body, boundary);
                    self.multipart(&part, ranges, depth)
                }
                _ if is_deep => file(&part),
                _ => self.text(&part),
            },
            "text/plain"
            | "text/html"
            | "message/delivery-status"
            | "text/enriched"
            | "text/rfc822-headers"
            | "message/disposition-notification"
                if !part.is_attachment() =>
            {
                self.text(&part)
            }
            kind if is_signature(kind) => Content::default(),
            _ => encrypted_or_file(&part),
        }
    }

    /// Reads a message in the message.
    fn message(&mut self, body: Range<usize>, depth: usize) -> Content {
        let (header, _) = Header::parse(self.slice(&body));
        let mut content = self.part(body, depth + 1, false);
        content.texts.insert(0, Text::Message(Box::new(header)));
        content.texts.push(Text::EndOfMessage);
        content
    }

    fn multipart(&mut self, part: &Part<'_>, ranges: Vec<Range<usize>>, depth: usize) -> Content {
        let is_digest = part.kind.value == "multipart/digest";
        let contents: Vec<Content> =
            ranges.into_iter().map(|range| self.part(range, depth + 1, is_digest)).collect();
        let mut all = Content::default();
        let chosen = match part.kind.value.as_str() {
            "multipart/alternative" => chosen(&contents),
            _ => None,
        };
        for (n, content) in contents.into_iter().enumerate() {
            if chosen.is_none_or(|chosen| chosen == n) {
                all.texts.extend(content.texts);
            }
            all.files.extend(content.files);
            all.lost.extend(content.lost);
        }
        if part.kind.value == "multipart/encrypted" {
            all.lost.push(ENCRYPTED.to_owned());
        }
        all
    }

    /// Returns where the parts between the lines of a boundary are.
    fn ranges(&self, body: &Range<usize>, boundary: &str) -> Vec<Range<usize>> {
        let bytes = self.slice(body);
        let mark = format!("--{boundary}");
        let mut ranges = Vec::new();
        let mut start = None;
        for at in memmem::find_iter(bytes, mark.as_bytes()) {
            let after = &bytes[at + mark.len()..];
            let line = after.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let rest = line.trim_ascii();
            // A longer boundary begins with the same characters.
            if at > 0 && bytes[at - 1] != b'\n' || !rest.is_empty() && rest != b"--" {
                continue;
            }
            if let Some(start) = start {
                // The line end before a boundary belongs to the boundary.
                let end = bytes[..at].strip_suffix(b"\n").map_or(at, <[u8]>::len);
                let end = bytes[..end].strip_suffix(b"\r").map_or(end, <[u8]>::len);
                ranges.push(body.start + start..body.start + end.max(start));
            }
            start = (rest != b"--").then_some((at + mark.len() + line.len() + 1).min(bytes.len()));
            if start.is_none() || ranges.len() > MAX_PARTS {
                break;
            }
        }
        // The last boundary of a cut message is missing.
        ranges.extend(start.map(|start| body.start + start..body.end));
        ranges
    }

    fn text(&self, part: &Part<'_>) -> Content {
        let bytes = Encoding::of(part.header).decode(self.slice(&part.body));
        let text = codec::text(&bytes, part.kind.get("charset"));
        let text = match part.kind.value.as_str() {
            "text/html" => Text::Html(text),
            _ if part.kind.get("format").is_some_and(|it| it.eq_ignore_ascii_case("flowed")) => {
                let deletes_blank = part.kind.get("delsp").is_some_and(|it| it == "yes");
                Text::Plain(plain::unflowed(&text, deletes_blank))
            }
            _ => Text::Plain(text),
        };
        with_embedded(text)
    }
}

/// Returns a text, with the files in it as files.
fn with_embedded(text: Text) -> Content {
    let mut content = Content::default();
    content.texts.push(match text {
        Text::Plain(text) => {
            let (text, files) = without_files(&text);
            for file in files {
                if file.is_encrypted {
                    content.lost.push(ENCRYPTED.to_owned());
                }
                content.files.push(FilePart {
                    name: file.name,
                    media_type: String::new(),
                    content_id: String::new(),
                    range: 0..0,
                    encoding: Encoding::Plain,
                    embedded: file.bytes,
                });
            }
            Text::Plain(text)
        }
        text => text,
    });
    content
}

/// Returns whether a part only proves who wrote the message.
fn is_signature(kind: &str) -> bool {
    matches!(
        kind,
        "application/pgp-signature"
            | "application/pkcs7-signature"
            | "application/x-pkcs7-signature"
    )
}

fn file(part: &Part<'_>) -> Content {
    let file = part.file();
    let lost = match file.is_container() {
        true => vec![format!("its winmail.dat is kept as it is: {CONTAINER}")],
        false => vec![],
    };
    Content { files: vec![file], lost, ..Content::default() }
}

fn encrypted_or_file(part: &Part<'_>) -> Content {
    let mut content = file(part);
    let is_container =
        matches!(part.kind.value.as_str(), "application/pkcs7-mime" | "application/x-pkcs7-mime");
    match part.kind.value.as_str() {
        // The version number beside an encrypted text.
        "application/pgp-encrypted" => content.files.clear(),
        _ if is_container => {
            content.lost.push("its text is encrypted or signed, and is kept as a file".to_owned());
        }
        _ => {}
    }
    content
}

/// Returns which of several forms of a text is used: the plain one, unless the HTML says much more.
/// Plain text is exact; but newsletters have a stub of it.
fn chosen(contents: &[Content]) -> Option<usize> {
    let (mut plain, mut rich) = (None, None);
    for (n, content) in contents.iter().enumerate() {
        let is_rich = content.texts.iter().any(|text| matches!(text, Text::Html(_)));
        match content.texts.is_empty() {
            true => {}
            false if is_rich => rich = Some(n),
            false => plain = plain.or(Some(n)),
        }
    }
    let words = |n: usize| contents.get(n).map_or(0, |it| it.texts.iter().map(words_of).sum());
    match (plain, rich) {
        (Some(plain), Some(rich)) if 2 * words(plain) < words(rich) => Some(rich),
        (Some(plain), Some(_)) => Some(plain),
        // No forms of one text, but several texts.
        _ => None,
    }
}

fn words_of(text: &Text) -> usize {
    match text {
        Text::Plain(text) => count_words(text),
        Text::Html(text) => html::words(text),
        Text::Message(_) | Text::EndOfMessage => 0,
    }
}
