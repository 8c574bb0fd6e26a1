//! Reads one tiddler of a file.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::tiddler::{Tiddler, is_binary};

/// Maximum size of an entry or a file, in bytes: a file of the maximum size of an attachment in
/// base64, and its fields.
pub(super) const MAX_ENTRY: u64 = 32 * 1024 * 1024;
/// The types of files without a `.meta`, by their extensions (`TiddlyWiki` 5.4.1, boot.js).
const TYPES: [(&str, &str); 22] = [
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("txt", "text/plain"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("json", "application/json"),
    ("js", "application/javascript"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("ico", "image/x-icon"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("mp3", "audio/mp3"),
    ("ogg", "audio/ogg"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// The place of a tiddler.
#[derive(Debug, Clone)]
pub(super) struct Location {
    pub(super) file: Rc<PathBuf>,
    pub(super) part: Part,
}

/// The part of a file that is a tiddler.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// A `.tid` file.
    Tid,
    /// A file with or without a `.meta` beside it.
    Whole { has_meta: bool },
    /// A JSON object: its offset and length in bytes.
    Object(u64, u64),
    /// A `<div>` of a store: its offset and length in bytes.
    Div(u64, u64),
}

/// What a scan finds.
pub(super) trait Found {
    /// A tiddler. `name` is the file's, relative to the given path.
    fn tiddler(&mut self, name: &str, location: Location, tiddler: &Tiddler);
    /// Something that is not read, and why.
    fn lost(&mut self, name: String, reason: &str);
    /// The wiki makes links of words such as `CamelCase`.
    fn wiki_words(&mut self);
}

/// Returns the extension of a name, in lower case; empty if it has none.
pub(super) fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, it)| it.to_ascii_lowercase())
}

/// Reads a tiddler again.
///
/// # Errors
/// Why it cannot be read, as a sentence.
pub(super) fn load(location: &Location) -> Result<Tiddler, String> {
    let (offset, length) = match location.part {
        Part::Object(offset, length) | Part::Div(offset, length) => (offset, length),
        Part::Tid | Part::Whole { .. } => (0, MAX_ENTRY + 1),
    };
    let bytes = bytes(&location.file, offset, length).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_ENTRY {
        return Err(format!("it is larger than {MAX_ENTRY} bytes"));
    }
    match location.part {
        Part::Tid => {
            let mut tiddler = Tiddler::of_tid(&text(&bytes)?);
            decode(&mut tiddler);
            Ok(tiddler)
        }
        Part::Object(..) => object(&bytes),
        Part::Div(..) => {
            let mut tiddler = div_tiddler(&text(&bytes)?).ok_or("it has no title")?;
            decode(&mut tiddler);
            Ok(tiddler)
        }
        Part::Whole { has_meta } => whole(&location.file, bytes, has_meta),
    }
}

fn whole(path: &Path, content: Vec<u8>, has_meta: bool) -> Result<Tiddler, String> {
    let mut tiddler = Tiddler::default();
    if has_meta {
        let mut meta = path.as_os_str().to_owned();
        meta.push(".meta");
        let meta = bytes(Path::new(&meta), 0, MAX_ENTRY).map_err(|error| error.to_string())?;
        tiddler = Tiddler::of_tid(&text(&meta)?);
        tiddler.text.clear();
    }
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = extension(&name);
    if !tiddler.fields.contains_key("type") {
        let known = TYPES.iter().find(|(known, _)| *known == extension);
        let media_type = known.map_or("application/octet-stream", |(_, it)| it);
        tiddler.fields.insert("type".to_owned(), media_type.to_owned());
    }
    tiddler.fields.entry("title".to_owned()).or_insert(name);
    if is_binary(&tiddler.media_type()) {
        tiddler.bytes = Some(content);
    } else {
        tiddler.text = text(&content)?;
    }
    Ok(tiddler)
}

/// Reads an object of JSON.
pub(super) fn object(bytes: &[u8]) -> Result<Tiddler, String> {
    let object =
        serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    let mut tiddler = Tiddler::of_json(object).ok_or("it has no title")?;
    tiddler.text = tiddler.text.replace("\r\n", "\n");
    decode(&mut tiddler);
    Ok(tiddler)
}

/// Decodes the base64 of a file.
fn decode(tiddler: &mut Tiddler) {
    if is_binary(&tiddler.media_type()) {
        let text = std::mem::take(&mut tiddler.text);
        let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        tiddler.bytes = STANDARD.decode(packed).ok();
    }
}

fn text(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))?;
    Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text).replace("\r\n", "\n"))
}

fn bytes(path: &Path, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() && offset == 0 && length > MAX_ENTRY {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads `<div title="…" …><pre>…</pre></div>`.
fn div_tiddler(source: &str) -> Option<Tiddler> {
    let (tag, rest) = source.strip_prefix("<div")?.split_once('>')?;
    let mut tiddler = Tiddler::default();
    let mut attributes = tag;
    while let Some((name, after)) = attributes.split_once("=\"") {
        let (value, after) = after.split_once('"')?;
        tiddler.fields.insert(name.trim().to_owned(), decoded(value));
        attributes = after;
    }
    let text = rest.split_once("<pre>").and_then(|(_, text)| text.rsplit_once("</pre>"));
    tiddler.text = text.map(|(text, _)| decoded(text)).unwrap_or_default();
    tiddler.fields.contains_key("title").then_some(tiddler)
}

/// Decodes the four references that the program writes (`htmlEncode` in boot.js).
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let known = [("lt;", '<'), ("gt;", '>'), ("quot;", '"'), ("amp;", '&'), ("#39;", '\'')];
        let reference = known.iter().find(|(name, _)| after.starts_with(name));
        out.push(reference.map_or('&', |(_, c)| *c));
        rest = reference.map_or(after, |(name, _)| after.get(name.len()..).unwrap_or_default());
    }
    out.push_str(rest);
    out
}
