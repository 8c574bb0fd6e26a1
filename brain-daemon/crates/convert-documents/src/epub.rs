//! Reads books (EPUB 2 and 3).

mod package;
mod toc;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashSet;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample};
use brain_page::MediaType;

use crate::container::{Container, target};
use crate::decode::{html_text, xml_text};
use crate::draft::Draft;
use crate::locked;
use crate::model::{Block, Inline};
use crate::xhtml::{self, Chapter, Looks, Notes};
use crate::xml::{Element, MAX_XML, Xml};
use package::{CONTAINER, Package};
use toc::Toc;

pub(crate) const FORMAT: Format =
    Format { name: "epub", title: "a book (EPUB)", is_by_others: true, recognise, convert };

/// Maximum size of all chapters, in bytes.
const MAX_TEXT: usize = 128 * 1024 * 1024;
/// Maximum size of a stylesheet, in bytes, and number of them.
const MAX_CSS: usize = 1024 * 1024;
const MAX_STYLES: usize = 200;

fn recognise(sample: &Sample) -> bool {
    match sample.tree() {
        Some(tree) if !tree.is_archive() => false,
        Some(tree) => {
            let media_type = tree.entry("mimetype").and_then(|it| tree.head(it, 256).ok());
            let is_named = media_type.is_some_and(|it| it.starts_with(b"application/epub+zip"));
            is_named || tree.entry(CONTAINER).is_some_and(|_| is_epub_name(sample))
        }
        None => is_epub_name(sample) && locked::is_zip(sample),
    }
}

fn is_epub_name(sample: &Sample) -> bool {
    locked::has_extension(sample.path(), &["epub"])
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut draft = Draft::new(path);
    let from = draft.page.from.clone();
    let malformed = |reason: String| ConvertError::Malformed { from: from.clone(), reason };
    let container = Container::open(path)?;
    let package = Package::read(&container, &mut draft).map_err(malformed)?;
    if package::is_locked(&container, &package) {
        return Err(malformed("it is locked (DRM); only its shop's program reads it".to_owned()));
    }
    draft.keep_original();
    let toc = Toc::read(&container, &package);
    let mut blocks = Vec::new();
    let notes = notes(&container, &package.chapters);
    let styles = Styles::default();
    let mut book = Book { container: &container, toc, rest: MAX_TEXT, styles, notes };
    for chapter in &package.chapters {
        match book.chapter(chapter, &mut draft) {
            Ok(chapter) => blocks.extend(chapter),
            Err(reason) => draft.lost(format!("a chapter is missing: {reason}")),
        }
    }
    draft.write(path, Some(&container), &blocks, out)
}

/// What the chapters of a book share.
struct Book<'a> {
    container: &'a Container,
    toc: Toc,
    /// How many bytes of chapters can still be read.
    rest: usize,
    styles: Styles,
    notes: Notes,
}

/// Returns the notes of all chapters: a place can be in a chapter before its note.
fn notes(container: &Container, chapters: &[String]) -> Notes {
    let (mut notes, mut rest) = (Notes::default(), MAX_TEXT);
    for path in chapters {
        // What cannot be read is reported when its text is read.
        let bytes = container.read(path, rest.min(MAX_XML)).unwrap_or_default();
        rest -= bytes.len();
        let text = xml_text(&bytes);
        // The types and classes of all notes contain this word.
        if !text.contains("note") {
            continue;
        }
        let xml = Xml::parse(&text);
        if xml.error.is_none() {
            notes.add(path, &xml);
        }
    }
    notes
}

/// The stylesheets of a book.
#[derive(Default)]
struct Styles {
    looks: Looks,
    /// The paths of those that were read.
    seen: HashSet<String>,
}

impl Book<'_> {
    /// Reads a chapter. One that is not well-formed goes to the converter of HTML.
    fn chapter(&mut self, path: &str, draft: &mut Draft) -> Result<Vec<Block>, String> {
        let bytes = self.container.read(path, self.rest.min(MAX_XML))?;
        self.rest -= bytes.len();
        let xml = Xml::parse(&xml_text(&bytes));
        if xml.error.is_some() {
            return html_blocks(path, &bytes, self.toc.title(path), draft);
        }
        self.read_styles(path, &xml);
        let chapter = Chapter {
            container: self.container,
            path,
            toc: self.toc.places(path),
            title: self.toc.title(path),
            looks: &self.styles.looks,
        };
        let blocks = xhtml::blocks(&xml, &chapter, &mut self.notes, draft);
        draft.report_xml(&xml);
        Ok(blocks)
    }

    /// Reads the stylesheets of a chapter.
    fn read_styles(&mut self, path: &str, xml: &Xml) {
        for element in xml.root().child("head").into_iter().flat_map(Element::children) {
            match element.name() {
                "style" => self.styles.looks.add(&element.text()),
                "link" => {
                    let (file, _) = target(path, element.attribute("href").unwrap_or_default());
                    if self.styles.seen.len() < MAX_STYLES && self.styles.seen.insert(file.clone())
                    {
                        // Without it, the text only looks plainer.
                        let css = self.container.read(&file, MAX_CSS).unwrap_or_default();
                        self.styles.looks.add(&html_text(&css));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Reads a chapter that is no XML.
fn html_blocks(
    path: &str,
    bytes: &[u8],
    title: Option<&str>,
    draft: &mut Draft,
) -> Result<Vec<Block>, String> {
    let html = html_text(bytes).replace('\0', "");
    let body = match brain_page::payload(MediaType::Html, html.as_bytes()) {
        Ok(payload) => {
            draft.hide(payload.hidden_words);
            payload.document.body.to_string()
        }
        Err(brain_page::PayloadError::Empty) => String::new(),
        Err(error) => return Err(format!("{path}: {error}")),
    };
    if html.contains("<img") {
        draft.lost(format!("{path} is not well-formed; its pictures are only in the kept file"));
    }
    let mut blocks = Vec::new();
    if let Some(title) = title.filter(|_| brain_page::headings(&body).is_empty()) {
        blocks.push(Block::Heading(1, vec![Inline::plain(title)]));
    }
    blocks.push(Block::Markdown(body));
    Ok(blocks)
}
