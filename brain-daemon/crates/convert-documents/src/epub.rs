//! Reads books (EPUB 2 and 3).

mod package;
mod toc;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Sample};
use brain_page::MediaType;

use crate::container::Container;
use crate::decode::html_text;
use crate::draft::Draft;
use crate::locked;
use crate::model::{Block, Inline};
use crate::xhtml::{self, Chapter};
use crate::xml::MAX_XML;
use package::{CONTAINER, Package};
use toc::Toc;

pub(crate) const FORMAT: Format =
    Format { name: "epub", title: "a book (EPUB)", recognise, convert };

/// Maximum size of all chapters, in bytes.
const MAX_TEXT: usize = 128 * 1024 * 1024;

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
    let mut rest = MAX_TEXT;
    for chapter in &package.chapters {
        match chapter_blocks(&container, chapter, &toc, &mut rest, &mut draft) {
            Ok(chapter) => blocks.extend(chapter),
            Err(reason) => draft.lost(format!("a chapter is missing: {reason}")),
        }
    }
    draft.write(path, Some(&container), &blocks, out)
}

/// Reads a chapter. One that is not well-formed goes to the converter of HTML.
fn chapter_blocks(
    container: &Container,
    path: &str,
    toc: &Toc,
    rest: &mut usize,
    draft: &mut Draft,
) -> Result<Vec<Block>, String> {
    let bytes = container.read(path, (*rest).min(MAX_XML))?;
    *rest -= bytes.len();
    let xml = crate::xml::Xml::parse(&crate::decode::xml_text(&bytes));
    let title = toc.title(path);
    if xml.error.is_none() {
        let chapter = Chapter { container, path, toc: toc.places(path), title };
        let blocks = xhtml::blocks(&xml, &chapter, draft);
        draft.report_xml(&xml);
        return Ok(blocks);
    }
    let html = html_text(&bytes).replace('\0', "");
    let body = match brain_page::payload(MediaType::Html, html.as_bytes()) {
        Ok(payload) => payload.document.body.to_string(),
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
