//! Documents in an imported directory: each is converted by a process of its own.
//!
//! So a document that a parser cannot read, or that ends the parser, is a failure of its own, and
//! the others are imported.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use brain_base::outgoing::OpenRequest;
use brain_converter::{Ending, convert};
use brain_files::MarkdownFile;
use brain_page::ConvertedLine;
use brain_protocol::{Fault, FaultCode};
use brain_service::batch::map_in_parallel;
use parking_lot::Mutex;

use super::SyncService;
use super::convert::ConvertedPages;
use super::document_places::DocumentPlaces;

/// How many documents are converted before their pages are stored. Their files are on the disk
/// until then.
pub(super) const BATCH: usize = 32;
/// The extensions of documents that become one page, beside which a long one has further parts. The
/// others become a folder of pages.
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

    /// Gives the page the place that it has already. A document of several pages keeps its folder.
    pub(super) fn stay_at(&mut self, place: &str) {
        if self.is_one_page {
            place.clone_into(&mut self.place);
        }
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

impl SyncService {
    /// Records the programs that read these documents, which may send by themselves: one line for
    /// each program, until the result is dropped.
    fn record_programs(&self, documents: &[Document]) -> Vec<OpenRequest> {
        let command = |document: &Document| self.env.converters.command(&document.path);
        let names = documents.iter().filter_map(|it| command(it).into_iter().next());
        let names: BTreeSet<String> = names.collect();
        let log = &self.env.outgoing;
        names.iter().filter_map(|name| OpenRequest::of_program(log, name, "import")).collect()
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
        let _programs = self.record_programs(documents);
        let results = map_in_parallel(documents, |document| {
            let program = self.env.converters.command(&document.path);
            let path = root.join(&document.path);
            let mut first = None;
            let ending = convert(&program, &path, should_continue, &mut |line| {
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
    use brain_converter::split_extension;

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
