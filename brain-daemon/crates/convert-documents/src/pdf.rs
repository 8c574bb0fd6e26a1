//! PDF files. A file is a page, and each of its sheets a section with the number that it shows.
//!
//! The library `unpdf` reads the objects and the fonts of the file. It gives the pieces of text
//! of a sheet in the order in which they are drawn; [`lines`] makes lines of them, and
//! [`paragraphs`] markdown. A panic of the library costs one sheet, or the file. If `pdftotext` could
//! read the file before, its text stands for that of the library ([`other_text`]).

mod annotations;
mod characters;
mod fonts_in_use;
mod labels;
mod lam_alef;
mod lines;
mod losses;
mod metadata;
mod other_text;
mod paragraphs;
mod right_to_left;
mod sheet;
mod upright;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Page, Paths, Sample, Value, literal_line};
use brain_protocol::MAX_ATTACHMENT;
use unpdf::parser::LayoutAnalyzer;
use unpdf::parser::backend::{PdfBackend as _, RawBackend, RawOutlineItem};
use unpdf::parser::raw::RawDocument;

use annotations::Annotations;
use losses::Losses;
use metadata::Metadata;
use paragraphs::{Bookmark, Words};
use sheet::Sheet;
use upright::Upright;

/// The format.
pub(crate) const FORMAT: Format =
    Format { name: "pdf", title: "a PDF file", is_by_others: true, recognise, convert };

/// Maximum size of a file, in bytes. The process holds it twice, and may have 1 GiB.
const MAX_FILE: u64 = 256 << 20;
/// Maximum length of a page's text, in bytes. A longer document becomes several pages. Below
/// `MAX_CONTENT`, as the frontmatter and one more sheet are added.
const MAX_PART: usize = 4 << 20;

fn recognise(sample: &Sample) -> bool {
    sample.head().starts_with(b"%PDF-")
}

/// What the library reads of a document.
#[derive(Default)]
struct Document {
    facts: Facts,
    sheets: Vec<Sheet>,
    /// The names of the fonts whose characters are not known.
    fonts: BTreeSet<String>,
}

impl Document {
    /// Returns a document of which only the text is known.
    fn of_text(sheets: Vec<Sheet>) -> Self {
        let labels = (1..=sheets.len()).map(|number| number.to_string()).collect();
        Self { facts: Facts { labels, ..Facts::default() }, sheets, ..Self::default() }
    }
}

/// What is known about a document without its text.
#[derive(Default)]
struct Facts {
    metadata: Metadata,
    /// The number of each sheet, as the reader sees it.
    labels: Vec<String>,
    annotations: Vec<Annotations>,
    is_xfa_only: bool,
    /// How many sheets the document should have more.
    missing: u32,
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let malformed = |reason: String| ConvertError::Malformed { from: name.clone(), reason };
    let size = fs::metadata(path).map_err(ConvertError::read(path))?.len();
    if size > MAX_FILE {
        return Err(malformed(format!("it has {size} bytes, more than the limit of {MAX_FILE}")));
    }
    let bytes = fs::read(path).map_err(ConvertError::read(path))?;
    let others = other_text::sheets(&out.take_other_text().unwrap_or_default());
    let document = match guarded(|| read(&bytes)) {
        Ok(mut document) => {
            other_text::replace(&mut document.sheets, others);
            document
        }
        Err(reason) if others.iter().any(Sheet::has_text) => {
            out.lost(&name, &format!("only its text is read, by pdftotext: {reason}"))?;
            Document::of_text(others)
        }
        Err(reason) => return Err(malformed(reason)),
    };
    report(&name, &document, out)?;
    write(&name, &bytes, &document.facts, &document.sheets, out)
}

/// Reports what is not read of a document.
fn report(name: &str, document: &Document, out: &mut Output<'_>) -> io::Result<()> {
    let Document { facts, sheets, fonts } = document;
    if facts.is_xfa_only {
        out.lost(name, "its form is in XFA, which is not read")?;
    }
    if facts.missing > 0 {
        out.lost(name, &format!("{} of its pages are missing; it is damaged", facts.missing))?;
    }
    let mut losses = Losses::new(&facts.labels, fonts);
    for (index, sheet) in sheets.iter().enumerate() {
        if let Some(reason) = &sheet.error {
            losses.add_error(index, reason.clone());
        }
        let has_fields = facts.annotations.get(index).is_some_and(|it| !it.fields.is_empty());
        let has_text = sheet.has_text() || has_fields;
        let (has_image, unreadable) = (sheet.has_image, sheet.unreadable);
        losses.add(index, &losses::Found { has_text, has_image, unreadable });
    }
    losses.report(name, out)
}

/// Calls the library. Its errors and panics become a reason.
fn guarded<T>(read: impl FnOnce() -> Result<T, unpdf::Error>) -> Result<T, String> {
    let hook = panic::take_hook();
    // The panic becomes an error, which is reported.
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    panic::set_hook(hook);
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(unpdf::Error::Encrypted | unpdf::Error::InvalidPassword)) => {
            Err("it is locked with a password; save it without one, and import that".to_owned())
        }
        Ok(Err(error)) => Err(format!("the PDF is damaged: {error}")),
        Err(_) => Err("the PDF cannot be read: the library for PDF failed".to_owned()),
    }
}

fn read(bytes: &[u8]) -> Result<Document, unpdf::Error> {
    let mut document = Document { facts: read_facts(bytes)?, ..Document::default() };
    read_sheets(bytes, &mut document)?;
    Ok(document)
}

fn read_facts(bytes: &[u8]) -> Result<Facts, unpdf::Error> {
    let document = RawDocument::load(bytes)?;
    let pages: Vec<(u32, u16)> = document.pages().into_values().collect();
    if pages.is_empty() {
        return Err(unpdf::Error::Corrupted("it has no pages".to_owned()));
    }
    let mut metadata = Metadata::default();
    metadata.add_xmp(&document);
    Ok(Facts {
        metadata,
        labels: labels::read(&document, pages.len()),
        annotations: pages.iter().map(|page| annotations::read(&document, *page)).collect(),
        is_xfa_only: annotations::is_xfa_only(&document),
        missing: document
            .declared_page_count()
            .unwrap_or_default()
            .saturating_sub(u32::try_from(pages.len()).unwrap_or(u32::MAX)),
    })
}

/// Reads the text of all sheets.
fn read_sheets(bytes: &[u8], document: &mut Document) -> Result<(), unpdf::Error> {
    let backend = Upright::new(RawBackend::load_bytes(bytes)?);
    document.facts.metadata.add_info(&backend.metadata());
    let mut bookmarks = BTreeMap::new();
    collect_bookmarks(&backend.outline().unwrap_or_default(), 1, &mut bookmarks);
    let analyzer = LayoutAnalyzer::new(&backend).with_ocr_suppression(false);
    for number in backend.pages().into_keys() {
        let bookmarks = bookmarks.remove(&number).unwrap_or_default();
        let mut sheet = Sheet { bookmarks, ..Sheet::default() };
        match guarded(|| analyzer.extract_page_spans(number)) {
            Ok(spans) => {
                sheet.unreadable = analyzer.suppressed_text_runs();
                sheet.has_image = analyzer.page_op_counts().image > 0;
                // A subset of a font has six letters and `+` before its name.
                let fonts = analyzer.unreadable_fonts();
                let names = fonts.iter().map(|it| it.name.rsplit('+').next().unwrap_or(&it.name));
                document.fonts.extend(names.map(str::to_owned));
                for line in lines::lines(spans) {
                    let (line, count) = characters::clean(&line);
                    sheet.unreadable += count;
                    if !line.is_empty() {
                        sheet.lines.push(line);
                    }
                }
                if analyzer.undecodable_content_streams() > 0 {
                    sheet.error = Some("a part of it is damaged".to_owned());
                }
            }
            Err(reason) => sheet.error = Some(reason),
        }
        document.sheets.push(sheet);
    }
    Ok(())
}

/// Collects the bookmarks of each sheet. The library limits their depth.
fn collect_bookmarks(
    items: &[RawOutlineItem],
    level: usize,
    bookmarks: &mut BTreeMap<u32, Vec<Bookmark>>,
) {
    for item in items {
        let (title, _) = characters::clean(&brain_page::single_line(&item.title));
        if let Some(page) = item.page {
            bookmarks.entry(page).or_default().push(Bookmark { title, level });
        }
        collect_bookmarks(&item.children, level + 1, bookmarks);
    }
}

/// Writes the pages, and the file itself as an attachment of the first one.
fn write(
    name: &str,
    bytes: &[u8],
    facts: &Facts,
    sheets: &[Sheet],
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let parts = parts(facts, sheets);
    let count = parts.len();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let title = facts.metadata.title.clone().unwrap_or_else(|| stem.clone());
    let mut paths = Paths::default();
    for (index, body) in parts.into_iter().enumerate() {
        let numbered = |name: &str| match index {
            0 => name.to_owned(),
            index => format!("{name} (part {})", index + 1),
        };
        let mut page = Page::default();
        page.from =
            if count == 1 { name.to_owned() } else { format!("{name}, part {}", index + 1) };
        // Several files can have one title.
        page.path = paths.add([], &numbered(&stem));
        page.title = numbered(&title);
        page.body = body;
        add_metadata(&mut page, &facts.metadata);
        if index > 0 {
            out.page(&page)?;
        } else if bytes.len() > MAX_ATTACHMENT {
            out.page(&page)?;
            let reason = format!(
                "the file has {} bytes, more than {MAX_ATTACHMENT}, the limit for a file of a \
                 page; its text is imported",
                bytes.len()
            );
            out.lost(name, &reason)?;
        } else {
            let attachment = page.attach(name);
            page.body = format!("[[{attachment}]]\n\n{}", page.body);
            out.page(&page)?;
            out.file(&page, &attachment, bytes)?;
        }
    }
    Ok(())
}

fn add_metadata(page: &mut Page, metadata: &Metadata) {
    page.created = metadata.created;
    page.updated = metadata.updated;
    page.tags.clone_from(&metadata.keywords);
    let author = match metadata.authors.as_slice() {
        [] => None,
        [author] => Some(Value::Text(author.clone())),
        authors => Some(Value::List(authors.to_vec())),
    };
    page.fields.extend(author.map(|author| ("author".to_owned(), author)));
    if !metadata.subject.is_empty() {
        page.fields.push(("subject".to_owned(), Value::Text(metadata.subject.clone())));
    }
}

/// Returns the text of each page: one, or several for a long document.
fn parts(facts: &Facts, sheets: &[Sheet]) -> Vec<String> {
    let mut words = Words::default();
    sheets.iter().flat_map(|sheet| &sheet.lines).for_each(|line| words.add(line));
    let mut parts = vec![String::new()];
    for (index, sheet) in sheets.iter().enumerate() {
        let text = paragraphs::markdown(&sheet.lines, &sheet.bookmarks, &words);
        let extra = facts.annotations.get(index).map(|it| annotation_text(it, &text));
        let blocks = [text, extra.unwrap_or_default()];
        let blocks: Vec<&str> =
            blocks.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
        if blocks.is_empty() {
            continue;
        }
        let label = facts.labels.get(index).map(|it| literal_line(it)).unwrap_or_default();
        let section = format!("## Page {label}\n\n{}\n\n", blocks.join("\n\n"));
        match parts.last_mut() {
            Some(part) if part.is_empty() || part.len() + section.len() <= MAX_PART => {
                part.push_str(&section);
            }
            _ => parts.push(section),
        }
    }
    parts
}

/// Returns the fields and comments of a sheet, and the addresses that its text does not show.
fn annotation_text(annotations: &Annotations, text: &str) -> String {
    let mut blocks = [annotations.fields.as_slice(), &annotations.comments].concat();
    let is_shown = |link: &&String| text.contains(link.as_str());
    let links: Vec<String> = annotations
        .links
        .iter()
        .filter(|link| !is_shown(link))
        .map(|link| format!("<{link}>"))
        .collect();
    if !links.is_empty() {
        blocks.push(format!("Links: {}", links.join(" ")));
    }
    blocks.join("\n\n")
}

#[cfg(test)]
mod tests;
