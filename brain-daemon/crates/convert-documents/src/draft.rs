//! The page of a document while it is made.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::Path;

use brain_convert_base::{ConvertError, Output, Page, Paths, hidden_text};
use brain_protocol::{MAX_ATTACHMENT, MAX_CONTENT};

use crate::container::{Container, file_name};
use crate::facts::Facts;
use crate::flow::first_heading;
use crate::markdown::Writer;
use crate::model::{Block, Inline};
use crate::xml::{MAX_DEPTH, Xml};

/// Space of a page for its frontmatter, in bytes.
const FRONTMATTER: usize = 128 * 1024;
/// Maximum size of the text of a page, in bytes.
pub(crate) const MAX_BODY: usize = MAX_CONTENT - FRONTMATTER - 2;
/// Maximum length of a line that is left out as a whole, in bytes.
const MAX_LAST_LINE: usize = 64 * 1024;
/// Maximum size of the pictures of a small document, in bytes. A large one can have this and three
/// times its own size: pictures are compressed already, and only a bomb unpacks to more.
const MAX_PICTURES: u64 = 64 * 1024 * 1024;
/// Maximum number of empty cells for merged ones.
const MAX_COVERED: usize = 500_000;
/// Maximum number of reasons in the report.
const MAX_LOST: usize = 200;

/// The page of a document, its notes and files.
pub(crate) struct Draft {
    pub(crate) page: Page,
    pub(crate) facts: Facts,
    /// The name of the original file.
    original: Option<String>,
    notes: Vec<Vec<Block>>,
    /// The headings by the ids of places.
    headings: HashMap<String, String>,
    /// The path of each picture in the document, and its name.
    pictures: Vec<(String, String)>,
    names: HashMap<String, Option<usize>>,
    /// Other files: name and bytes.
    files: Vec<(String, Vec<u8>)>,
    lost: Vec<String>,
    /// Number of words that the document hides.
    hidden_words: usize,
    /// Number of empty cells for merged ones.
    covered: usize,
}

impl Draft {
    /// Begins the page of a file. The name of the file is the path of the page and, until another
    /// one is found, its title.
    pub(crate) fn new(path: &Path) -> Self {
        let name = file_name(path);
        let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        let mut page = Page::default();
        page.from = name;
        page.path = Paths::default().add([], &stem);
        page.title = brain_page::single_line(&stem);
        Self {
            page,
            facts: Facts::default(),
            original: None,
            notes: Vec::new(),
            headings: HashMap::new(),
            pictures: Vec::new(),
            names: HashMap::new(),
            files: Vec::new(),
            lost: Vec::new(),
            hidden_words: 0,
            covered: 0,
        }
    }

    /// Keeps the original file as a file of the page.
    pub(crate) fn keep_original(&mut self) {
        let name = self.page.from.clone();
        self.original = Some(self.page.attach(&name));
    }

    /// Remembers a reason for the report, once.
    pub(crate) fn lost(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if self.lost.len() < MAX_LOST && !self.lost.contains(&reason) {
            self.lost.push(reason);
        }
    }

    /// Remembers that the document hides so many words, which are left out.
    pub(crate) fn hide(&mut self, words: usize) {
        self.hidden_words = self.hidden_words.saturating_add(words);
    }

    /// Reports what a part of XML has that is not read.
    pub(crate) fn report_xml(&mut self, xml: &Xml) {
        for name in &xml.unknown {
            self.lost(format!("its entity &{name}; is unknown, and stays as it is"));
        }
        if xml.is_too_deep {
            self.lost(format!(
                "text in more than {MAX_DEPTH} elements is only in the kept file, or is plain"
            ));
        }
    }

    /// Returns how many empty cells stand for a merged one. A small file could ask for any number.
    pub(crate) fn cover(&mut self, wish: usize) -> usize {
        let count = wish.min(MAX_COVERED - self.covered);
        self.covered += count;
        if count < wish {
            self.lost("some merged cells have no empty cells beside them");
        }
        count
    }

    /// Returns the beginning of a text that fits into a page. Reports the rest.
    pub(crate) fn fitted(&mut self, mut text: String) -> String {
        if text.len() > MAX_BODY {
            let size = text.len();
            text.truncate(last_end(&text, MAX_BODY));
            let kept = text.len();
            self.lost(format!(
                "only the first {kept} of {size} bytes of its text are in the page, which can have \
                 {MAX_CONTENT} bytes"
            ));
        }
        text
    }

    /// Takes a number for a note, whose blocks follow with [`Self::set_note`].
    pub(crate) fn add_note(&mut self) -> usize {
        self.notes.push(Vec::new());
        self.notes.len() - 1
    }

    /// Sets the blocks of a note.
    pub(crate) fn set_note(&mut self, number: usize, blocks: Vec<Block>) {
        if let Some(note) = self.notes.get_mut(number) {
            *note = blocks;
        }
    }

    /// Remembers the heading at a place.
    pub(crate) fn add_place(&mut self, id: &str, heading: &str) {
        self.headings.entry(id.to_owned()).or_insert_with(|| heading.to_owned());
    }

    /// Sets files whose names are from [`Page::attach`].
    pub(crate) fn set_files(&mut self, files: Vec<(String, Vec<u8>)>) {
        self.files = files;
    }

    /// Returns a picture at a path of the document, or `None` if it is not there.
    pub(crate) fn picture(
        &mut self,
        container: &Container,
        path: &str,
        description: &str,
    ) -> Option<Inline> {
        let description = description.to_owned();
        if let Some(known) = self.names.get(path) {
            let (_, name) = self.pictures.get((*known)?)?;
            return Some(Inline::Picture { name: name.clone(), description });
        }
        let Some(entry) = container.entry(path) else {
            self.names.insert(path.to_owned(), None);
            self.lost(format!("its picture {path} is not in the file"));
            return None;
        };
        self.names.insert(path.to_owned(), Some(self.pictures.len()));
        let name = self.page.attach(entry.name());
        self.pictures.push((entry.path.clone(), name.clone()));
        Some(Inline::Picture { name, description })
    }

    /// Writes the page and its files.
    ///
    /// # Errors
    /// If the original cannot be read, or the output cannot be written.
    pub(crate) fn write(
        mut self,
        path: &Path,
        container: Option<&Container>,
        blocks: &[Block],
        out: &mut Output<'_>,
    ) -> Result<(), ConvertError> {
        let title = first_heading(blocks);
        std::mem::take(&mut self.facts).write(&mut self.page, title);
        let headings = std::mem::take(&mut self.headings);
        let writer = Writer { headings };
        let written = writer.document(blocks, &self.notes, MAX_CONTENT - FRONTMATTER);
        self.page.body = written.markdown;
        if written.blocks_omitted > 0 {
            let (omitted, all) = (written.blocks_omitted, blocks.len());
            self.lost(format!(
                "its last {omitted} of {all} paragraphs and tables are not in the page, which can \
                 have {MAX_CONTENT} bytes"
            ));
        }
        if written.rows_omitted > 0 {
            let omitted = written.rows_omitted;
            self.lost(format!(
                "the last {omitted} rows of a table are not in the page, which can have \
                 {MAX_CONTENT} bytes"
            ));
        }
        out.page(&self.page)?;
        if let Some(name) = &self.original {
            write_original(path, &self.page, name, out)?;
        }
        if let Some(container) = container {
            let size = std::fs::metadata(path).map_or(0, |it| it.len());
            let max = MAX_PICTURES.saturating_add(size.saturating_mul(3));
            self.write_pictures(container, max, out)?;
        }
        for (name, bytes) in &self.files {
            out.file(&self.page, name, bytes)?;
        }
        for reason in self.lost.iter().chain(&hidden_text(self.hidden_words)) {
            out.lost(&self.page.from, reason)?;
        }
        Ok(())
    }

    fn write_pictures(
        &mut self,
        container: &Container,
        max: u64,
        out: &mut Output<'_>,
    ) -> io::Result<()> {
        let mut rest = usize::try_from(max).unwrap_or(usize::MAX);
        for (path, name) in std::mem::take(&mut self.pictures) {
            match container.read(&path, rest.min(MAX_ATTACHMENT)) {
                Ok(bytes) => {
                    rest -= bytes.len();
                    out.file(&self.page, &name, &bytes)?;
                }
                Err(reason) => self.lost(format!("a picture is not kept: {reason}")),
            }
        }
        Ok(())
    }
}

/// Returns where a text of at most `max` bytes ends: after a line, if its end is near, or after a
/// word, or after a character.
fn last_end(text: &str, max: usize) -> usize {
    let max = text.floor_char_boundary(max);
    let near = text.floor_char_boundary(max.saturating_sub(MAX_LAST_LINE));
    let found = ['\n', ' '].into_iter().find_map(|end| Some(near + text[near..max].rfind(end)?));
    let before = &text[..found.unwrap_or(max)];
    // A backslash without its character would be shown.
    before.trim_end_matches('\\').len()
}

/// Writes the original file as a file of the page.
fn write_original(
    path: &Path,
    page: &Page,
    name: &str,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let read = ConvertError::read(path);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).and_then(|file| {
        let size = file.metadata()?.len();
        // A larger one is not read, but reported with its size.
        let max = MAX_ATTACHMENT as u64 + 1;
        if size < max {
            file.take(max).read_to_end(&mut bytes)?;
        }
        Ok(size)
    });
    let size = file.map_err(read)?;
    if bytes.is_empty() && size > 0 {
        let reason = format!(
            "the file itself is not kept, because it has {size} bytes, more than {MAX_ATTACHMENT}"
        );
        return Ok(out.lost(&page.from, &reason)?);
    }
    Ok(out.file(page, name, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_does_not_fit_ends_with_a_line() {
        let mut draft = Draft::new(Path::new("a.txt"));
        assert_eq!(draft.fitted("short".to_owned()), "short");
        assert!(draft.lost.is_empty());
        let text = draft.fitted("0123456789 ü\n".repeat(MAX_CONTENT / 14 + 1));
        assert!(text.ends_with("789 ü") && text.len() > MAX_CONTENT - FRONTMATTER - 30);
        assert_eq!(draft.lost.len(), 1);
    }

    #[test]
    fn a_long_line_that_does_not_fit_ends_with_a_word() {
        for (text, end) in [
            ("word ".repeat(MAX_CONTENT / 5 + 1), "word word"),
            (format!("first\n{}", "word ".repeat(MAX_CONTENT / 5)), "word word"),
            ("ü".repeat(MAX_CONTENT / 2 + 1), "üü"),
            (format!("a{}", "ü".repeat(MAX_CONTENT / 2 + 1)), "üü"),
            ("\\*".repeat(MAX_CONTENT / 2 + 1), "*"),
            (format!("a{}", "\\*".repeat(MAX_CONTENT / 2 + 1)), "*"),
        ] {
            let mut draft = Draft::new(Path::new("a.txt"));
            let fitted = draft.fitted(text);
            assert!(fitted.ends_with(end), "{:?}", fitted.get(fitted.len() - 10..));
            assert!(fitted.len() > MAX_BODY - 10, "{}", fitted.len());
            assert_eq!(draft.lost.len(), 1);
        }
    }

    #[test]
    fn covered_cells_have_a_limit() {
        let mut draft = Draft::new(Path::new("a.docx"));
        assert_eq!(draft.cover(MAX_COVERED - 1), MAX_COVERED - 1);
        assert_eq!((draft.cover(100), draft.cover(100)), (1, 0));
        assert_eq!(draft.lost.len(), 1);
    }
}
