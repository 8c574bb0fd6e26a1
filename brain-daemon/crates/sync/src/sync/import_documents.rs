//! Documents in an imported directory: each is converted by a process of its own.
//!
//! So a document that a parser cannot read, or that ends the parser, is a failure of its own, and
//! the others are imported.

use std::collections::HashMap;
use std::path::Path;

use brain_config::Processor;
use brain_files::MarkdownFile;
use brain_page::ConvertedLine;
use brain_protocol::{Fault, FaultCode};
use brain_service::batch::map_in_parallel;
use parking_lot::Mutex;

use super::SyncService;
use super::convert::ConvertedPages;
use super::converter::{Ending, convert};
use super::document_places::DocumentPlaces;

/// How many documents are converted before their pages are stored. Their files are on the disk
/// until then.
pub(super) const BATCH: usize = 32;
/// The names of files that `brain-convert` may be able to read as a document. Its content decides.
const EXTENSIONS: [&str; 21] = [
    "csv", "ctb", "ctd", "ctx", "ctz", "docx", "eml", "enex", "epub", "htm", "html", "ics", "mbox",
    "note", "odt", "org", "pdf", "tid", "txt", "vcf", "xhtml",
];

/// Those of them that become one page, beside which a long one has further parts. The others become
/// a folder of pages.
const ONE_PAGE: [&str; 10] =
    ["csv", "docx", "eml", "epub", "htm", "html", "odt", "pdf", "txt", "xhtml"];

/// What became of a document.
pub(super) enum DocumentResult {
    Converted,
    /// `brain-convert` does not know its format.
    UnknownFormat,
    /// It could not be read, or not whole, for this reason.
    Failed(String),
}

/// A document, and where its pages are stored.
pub(super) struct Document {
    /// Its path below the imported directory.
    pub(super) path: String,
    /// The path of its page, or the folder of its pages.
    place: String,
    /// Whether it is one page.
    is_one_page: bool,
}

impl Document {
    /// Returns the documents at `paths`. If a page of `markdown` or another document has the name of
    /// a document, its extension tells it apart.
    /// `split` separates a path and its extension.
    pub(super) fn list(
        paths: Vec<String>,
        markdown: &[MarkdownFile],
        split: impl for<'p> Fn(&'p str) -> (&'p str, &'p str),
    ) -> Vec<Self> {
        let name = |path: &str| split(path).0.to_lowercase();
        let mut names: HashMap<String, usize> = HashMap::new();
        for path in paths.iter().chain(markdown.iter().map(|file| &file.path)) {
            *names.entry(name(path)).or_default() += 1;
        }
        let document = |path: String| {
            let (stem, extension) = split(&path);
            let is_unique = names.get(&name(&path)) == Some(&1);
            let place = match is_unique {
                true => stem.to_owned(),
                false => format!("{stem} ({extension})"),
            };
            let is_one_page = ONE_PAGE.contains(&extension.to_lowercase().as_str());
            Self { path, place, is_one_page }
        };
        paths.into_iter().map(document).collect()
    }

    /// Returns its path and the path of its page, if it becomes one page.
    pub(super) fn one_page(&self) -> Option<(&str, &str)> {
        self.is_one_page.then_some((self.path.as_str(), self.place.as_str()))
    }

    /// Returns the line with the paths below the imported directory. `first` is the path of the
    /// document's first page, as the program names it. Links to other documents lead to their pages.
    fn locate(
        &self,
        line: ConvertedLine,
        first: &mut Option<String>,
        places: &DocumentPlaces,
    ) -> ConvertedLine {
        let mut place = |path: &str| {
            let is_first = first.get_or_insert_with(|| path.to_owned()) == path;
            match self.is_one_page && is_first {
                true => self.place.clone(),
                false => format!("{}/{path}", self.place),
            }
        };
        match line {
            ConvertedLine::Page { path, markdown, .. } => {
                let path = place(&path);
                let markdown = places.with_links(&self.path, &path, markdown);
                ConvertedLine::Page { from: self.path.clone(), path, markdown }
            }
            ConvertedLine::File { page, name, base64 } => {
                ConvertedLine::File { page: place(&page), name, base64 }
            }
            ConvertedLine::Lost { from, reason } => {
                let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let is_root = folder.is_empty();
                let from = if is_root { from } else { format!("{folder}/{from}") };
                ConvertedLine::Lost { from, reason }
            }
            other => other,
        }
    }
}

/// Returns the path without the extension, and the extension.
fn split_extension(path: &str) -> (&str, &str) {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    match path[name_at..].rfind('.') {
        Some(dot) if dot > 0 => (&path[..name_at + dot], &path[name_at + dot + 1..]),
        _ => (path, ""),
    }
}

impl SyncService {
    /// Returns whether a file of an imported directory may be a document that can be read.
    pub(super) fn is_document(&self, path: &str, has_converter: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = split_extension(path).1.to_lowercase();
        let is_known = has_converter && EXTENSIONS.contains(&extension.as_str());
        let is_known = is_known || self.processor(path).is_some();
        // macOS leaves files `._NAME` on other systems' disks.
        is_known && !name.starts_with('.')
    }

    /// Returns the owner's program for a document: of two, the one with the longer extension.
    fn processor(&self, path: &str) -> Option<&Processor> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let has_extension = |processor: &&Processor| {
            let stem = name.strip_suffix(&processor.extension).and_then(|it| it.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        let fitting = self.env.processors.iter().filter(has_extension);
        fitting.max_by_key(|processor| processor.extension.len())
    }

    /// Returns the path of a document without its extension, and the extension.
    pub(super) fn split_path<'p>(&self, path: &'p str) -> (&'p str, &'p str) {
        let split = self.processor(path).and_then(|processor| {
            let at = path.len().checked_sub(processor.extension.len())?;
            Some((path.get(..at)?.strip_suffix('.')?, path.get(at..)?))
        });
        split.unwrap_or_else(|| split_extension(path))
    }

    /// Converts documents of the directory `root` into `pages`.
    ///
    /// # Errors
    /// `cancelled`, or a fault of the disk.
    pub(super) fn convert_documents(
        &self,
        root: &Path,
        documents: &[Document],
        pages: &mut ConvertedPages,
        places: &DocumentPlaces,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<DocumentResult>, Fault> {
        let pages = Mutex::new(pages);
        let converter = self.converter_command();
        let results = map_in_parallel(documents, |document| {
            let processor = self.processor(&document.path);
            let program = processor.map_or(&converter, |processor| &processor.program);
            let path = root.join(&document.path);
            let mut first = None;
            let ending = convert(program, &path, should_continue, &mut |line| {
                let line = document.locate(line, &mut first, places);
                pages.lock().accept(line)
            });
            match ending {
                Ok(Ending::Whole) => Ok(DocumentResult::Converted),
                Ok(Ending::UnknownFormat) => Ok(DocumentResult::UnknownFormat),
                Ok(Ending::Usage(reason) | Ending::Failed(reason)) => {
                    Ok(DocumentResult::Failed(reason))
                }
                Err(fault) if fault.code == FaultCode::Io => {
                    Ok(DocumentResult::Failed(fault.message))
                }
                Err(fault) => Err(fault),
            }
        });
        results.into_iter().collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn places(paths: &[&str]) -> Vec<String> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let documents = Document::list(paths, &[], split_extension);
        let page = |document: &Document| {
            let page = ConvertedLine::Page {
                from: "x".to_owned(),
                path: "Title".to_owned(),
                markdown: String::new(),
            };
            match document.locate(page, &mut None, &DocumentPlaces::of([])) {
                ConvertedLine::Page { from, path, .. } => format!("{from}: {path}"),
                _ => unreachable!(),
            }
        };
        documents.iter().map(page).collect()
    }

    #[test]
    fn a_page_is_beside_its_document() {
        assert_eq!(places(&["a/Report.PDF"]), ["a/Report.PDF: a/Report"]);
        assert_eq!(places(&["a/Notes.enex"]), ["a/Notes.enex: a/Notes/Title"]);
    }

    #[test]
    fn documents_of_one_name_are_told_apart() {
        let two = places(&["a/Report.pdf", "a/report.docx", "b/report.pdf"]);
        assert_eq!(two[0], "a/Report.pdf: a/Report (pdf)");
        assert_eq!(two[1], "a/report.docx: a/report (docx)");
        assert_eq!(two[2], "b/report.pdf: b/report");
    }
}
