//! What lies on top of a page: form fields and links (ISO 32000-1, 12.5 and 12.7).

use brain_convert_base::literal_line;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument, stream};

use super::values::text;

/// Maximum number of annotations of a page that are read.
const MAX_ANNOTATIONS: usize = 5000;
/// Maximum depth of the tree of fields.
const MAX_DEPTH: usize = 32;
/// Maximum length of a value, in bytes.
const MAX_VALUE: usize = 1 << 20;
/// The annotations with a reader's text: notes, and marks of text.
const COMMENTS: [&[u8]; 7] =
    [b"Text", b"FreeText", b"Highlight", b"Underline", b"Squiggly", b"StrikeOut", b"Caret"];
/// Flags of a button (table 226).
const RADIO: i64 = 1 << 15;
const PUSH_BUTTON: i64 = 1 << 16;
/// Flag of a text field: a password, which no program should store.
const PASSWORD: i64 = 1 << 13;

/// The fields and links of a page.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    /// A line of markdown for each field with a value.
    pub(super) fields: Vec<String>,
    /// A block of markdown for each comment of a reader.
    pub(super) comments: Vec<String>,
    /// The addresses of links, each once.
    pub(super) links: Vec<String>,
}

/// Returns whether the document has a form that only a program for XFA can show.
pub(super) fn is_xfa_only(document: &RawDocument) -> bool {
    let form = document.catalog().ok().and_then(|it| dict(document, it, b"AcroForm"));
    form.is_some_and(|form| {
        let fields = form.get(&b"Fields"[..]).and_then(|it| document.resolve(it).as_array());
        form.contains_key(&b"XFA"[..]) && fields.unwrap_or_default().is_empty()
    })
}

/// Reads the annotations of a page.
pub(super) fn read(document: &RawDocument, page: (u32, u16)) -> Annotations {
    let mut found = Annotations::default();
    let array = document.get_dict(page).ok().and_then(|it| it.get(&b"Annots"[..]));
    let array = array.and_then(|it| document.resolve(it).as_array()).unwrap_or_default();
    for annotation in array.iter().take(MAX_ANNOTATIONS) {
        let Some(annotation) = document.resolve(annotation).as_dict() else { continue };
        let new = match name(document, annotation, b"Subtype") {
            Some(b"Widget") => (field(document, annotation), &mut found.fields),
            Some(b"Link") => (link(document, annotation), &mut found.links),
            Some(kind) if COMMENTS.contains(&kind) => {
                (comment(document, annotation), &mut found.comments)
            }
            _ => continue,
        };
        if let (Some(line), lines) = new
            && !lines.contains(&line)
        {
            lines.push(line);
        }
    }
    found
}

/// Returns the address of a link to the web or to a mail address.
fn link(document: &RawDocument, annotation: &PdfDict) -> Option<String> {
    let action = dict(document, annotation, b"A")?;
    let address = document.resolve(action.get(&b"URI"[..])?).as_str_bytes()?;
    let address = text(address);
    let lower = address.to_ascii_lowercase();
    let is_known = ["https://", "http://", "mailto:"].iter().any(|it| lower.starts_with(it));
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '<' | '>');
    (is_known && address.chars().all(is_plain)).then_some(address)
}

/// Returns a comment with its author.
fn comment(document: &RawDocument, annotation: &PdfDict) -> Option<String> {
    let of = |key: &[u8]| annotation.get(key).and_then(|it| string(document, it));
    let author = brain_page::single_line(&of(b"T").unwrap_or_default());
    let author = if author.is_empty() { author } else { format!(" of {}", literal_line(&author)) };
    line_of(&format!("Comment{author}"), &[of(b"Contents")?])
}

/// Returns the line of a field that has a value, or can be ticked.
fn field(document: &RawDocument, widget: &PdfDict) -> Option<String> {
    let chain = chain(document, widget);
    let inherited =
        |key: &[u8]| chain.iter().find_map(|it| it.get(key)).map(|it| document.resolve(it));
    let flags = inherited(b"Ff").and_then(PdfObject::as_i64).unwrap_or_default();
    let label = literal_line(&label(document, &chain));
    match inherited(b"FT")?.as_name()? {
        b"Btn" if flags & PUSH_BUTTON != 0 => None,
        b"Btn" => {
            let state = name(document, widget, b"AS").unwrap_or(b"Off");
            let is_on = state != b"Off";
            if flags & RADIO == 0 {
                return Some(format!("[{}] {label}", if is_on { 'x' } else { ' ' }));
            }
            let state = String::from_utf8_lossy(state);
            is_on.then(|| format!("{label}: {}", literal_line(&state)))
        }
        b"Tx" if flags & PASSWORD != 0 => None,
        b"Tx" => line_of(&label, &[string(document, inherited(b"V")?)?]),
        b"Ch" => {
            let chosen = match inherited(b"V")? {
                PdfObject::Array(values) => {
                    values.iter().filter_map(|it| string(document, it)).collect()
                }
                value => vec![string(document, value)?],
            };
            let options = inherited(b"Opt").and_then(PdfObject::as_array).unwrap_or_default();
            let shown = |value: String| shown_option(document, options, &value).unwrap_or(value);
            line_of(&label, &chosen.into_iter().map(shown).collect::<Vec<_>>())
        }
        _ => None,
    }
}

/// Returns the line of a field with values. Line breaks of a value stay.
fn line_of(label: &str, values: &[String]) -> Option<String> {
    let values: Vec<&str> = values.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
    if values.is_empty() {
        return None;
    }
    let value = values.join(", ").replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = value.lines().map(literal_line).collect();
    Some(format!("{label}: {}", lines.join("  \n")))
}

/// A choice has a value for the program and a text for the reader.
fn shown_option(document: &RawDocument, options: &[PdfObject], value: &str) -> Option<String> {
    let pair = |option: &PdfObject| match document.resolve(option).as_array()? {
        [of_program, of_reader] => {
            let is_chosen = string(document, of_program)? == value;
            is_chosen.then(|| string(document, of_reader)).flatten()
        }
        _ => None,
    };
    options.iter().take(MAX_ANNOTATIONS).find_map(pair)
}

/// Returns the widget and the fields above it.
fn chain<'a>(document: &'a RawDocument, widget: &'a PdfDict) -> Vec<&'a PdfDict> {
    let mut chain = vec![widget];
    let mut current = widget;
    while let Some(parent) = dict(document, current, b"Parent")
        && chain.len() < MAX_DEPTH
    {
        chain.push(parent);
        current = parent;
    }
    chain
}

/// Returns the name of a field for people, else the one for programs: `address.street`.
fn label(document: &RawDocument, chain: &[&PdfDict]) -> String {
    let of = |dict: &PdfDict, key: &[u8]| {
        let text = dict.get(key).and_then(|it| string(document, it));
        text.map(|it| brain_page::single_line(&it)).filter(|it| !it.is_empty())
    };
    chain.iter().find_map(|it| of(it, b"TU")).unwrap_or_else(|| {
        let names: Vec<String> = chain.iter().rev().filter_map(|it| of(it, b"T")).collect();
        names.join(".")
    })
}

/// Returns a text, which may be a stream.
fn string(document: &RawDocument, object: &PdfObject) -> Option<String> {
    let bytes = match document.resolve(object) {
        PdfObject::Stream(value) => stream::decompress(value).ok()?,
        PdfObject::Name(name) => name.clone(),
        value => value.as_str_bytes()?.to_vec(),
    };
    (bytes.len() <= MAX_VALUE).then(|| text(&bytes))
}

fn dict<'a>(document: &'a RawDocument, parent: &'a PdfDict, key: &[u8]) -> Option<&'a PdfDict> {
    document.resolve(parent.get(key)?).as_dict()
}

fn name<'a>(document: &'a RawDocument, parent: &'a PdfDict, key: &[u8]) -> Option<&'a [u8]> {
    document.resolve(parent.get(key)?).as_name()
}
