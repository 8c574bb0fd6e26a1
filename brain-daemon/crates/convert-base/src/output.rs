//! Writes pages, their files, and what was lost, as lines of JSON.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_page::ConvertedLine;
use brain_protocol::{MAX_ATTACHMENT, MAX_CONTENT};

use crate::page::Page;
use crate::paths::Paths;

/// Maximum length of the two ends of a name in the report, in characters.
const MAX_FROM: usize = 80;
/// Maximum length of the two ends of a reason in the report, in characters.
const MAX_REASON: usize = 200;
const SOFT_HYPHEN: char = '\u{ad}';

/// Writes lines of JSON.
pub struct Output<'a> {
    out: &'a mut dyn Write,
    /// Whether others than the owner wrote the texts.
    is_by_others: bool,
    pages: u64,
    /// The path of the last page, if it was written.
    last: Option<String>,
    /// The text of the input that another program read.
    pub(crate) other_text: Option<String>,
}

impl<'a> Output<'a> {
    /// Writes to `out`. `is_by_others` says whether others than the owner wrote the texts.
    pub fn new(out: &'a mut dyn Write, is_by_others: bool) -> Self {
        Self { out, is_by_others, pages: 0, last: None, other_text: None }
    }

    /// Takes the text of the input that another program read, if there is one.
    pub fn take_other_text(&mut self) -> Option<String> {
        self.other_text.take()
    }

    /// Writes a page. Its files follow with [`Self::file`]. A page that is too large is lost.
    pub fn page(&mut self, page: &Page) -> io::Result<()> {
        // A soft hyphen shows where a word may be divided. A search for the word would not find it.
        let markdown = page.markdown(self.is_by_others).replace(SOFT_HYPHEN, "");
        if markdown.len() > MAX_CONTENT {
            self.last = None;
            let size = markdown.len();
            return self.lost(
                &page.from,
                &format!("it has {size} bytes as a page, more than the limit of {MAX_CONTENT}"),
            );
        }
        self.pages += 1;
        self.last = Some(page.path.clone());
        let (from, path) = (page.from.clone(), page.path.clone());
        self.line(&ConvertedLine::Page { from, path, markdown })
    }

    /// Writes a file of the last page. `name` is from [`Page::attach`]. A file that is empty or too
    /// large is lost.
    pub fn file(&mut self, page: &Page, name: &str, bytes: &[u8]) -> io::Result<()> {
        let reason = match bytes.len() {
            _ if self.last.as_ref() != Some(&page.path) => "its note was not imported".to_owned(),
            0 => "the file is empty".to_owned(),
            size if size > MAX_ATTACHMENT => format!(
                "it has {size} bytes, more than {MAX_ATTACHMENT}, the limit for a file of a page"
            ),
            _ => {
                let (page, name) = (page.path.clone(), name.to_owned());
                let base64 = STANDARD.encode(bytes);
                return self.line(&ConvertedLine::File { page, name, base64 });
            }
        };
        self.lost(&format!("{}, {name}", page.from), &reason)
    }

    /// Writes a file of the last page that `read` returns, as [`Self::file`] does. `read` returns
    /// `None` for a file beyond the limit. It is not called if the page was lost.
    pub fn file_from<E: std::fmt::Display>(
        &mut self,
        page: &Page,
        name: &str,
        read: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> io::Result<()> {
        if self.last.as_ref() != Some(&page.path) {
            return self.file(page, name, &[]);
        }
        let reason = match read() {
            Ok(Some(bytes)) => return self.file(page, name, &bytes),
            Ok(None) => {
                format!("it has more than {MAX_ATTACHMENT} bytes, the limit for a file of a page")
            }
            Err(error) => format!("it cannot be read: {error}"),
        };
        self.lost(&format!("{}, {name}", page.from), &reason)
    }

    /// Writes a post of the account with the id `account`, as the platform's API returns it.
    pub fn post(&mut self, account: &str, post: serde_json::Value) -> io::Result<()> {
        self.line(&ConvertedLine::Post { account: account.to_owned(), post })
    }

    /// Writes that a thing is in no page, or only in part. `from` names it as a person knows it.
    /// `reason` is a short sentence without a full stop. Long ones are shortened in the middle.
    pub fn lost(&mut self, from: &str, reason: &str) -> io::Result<()> {
        let (from, reason) = (shortened(from, MAX_FROM), shortened(reason, MAX_REASON));
        self.line(&ConvertedLine::Lost { from, reason })
    }

    /// The number of pages so far.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Reports the paths that have not all of their folders.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn report_cut(&mut self, paths: &Paths) -> io::Result<()> {
        let reason = "it is nested too deeply; its path has only the outer folders";
        paths.cut().iter().try_for_each(|path| self.lost(path, reason))
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.line(&ConvertedLine::End { pages: self.pages })?;
        self.out.flush()
    }

    fn line(&mut self, line: &ConvertedLine) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, line)?;
        self.out.write_all(b"\n")
    }
}

/// Returns a text with at most `max` characters of its beginning and of its end.
fn shortened(text: &str, max: usize) -> String {
    let begin = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth_back(max.saturating_sub(1)).map_or(0, |(at, _)| at);
    match (text.get(..begin), text.get(end..)) {
        (Some(before), Some(after)) if begin < end => format!("{before}…{after}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn long_names_in_the_report_are_shortened() {
        let lost = |from: &str| {
            let mut bytes = Vec::new();
            Output::new(&mut bytes, false).lost(from, "gone").unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert!(lost(&"ä".repeat(160)).contains(&"ä".repeat(160)));
        let long = lost(&format!("notes.enex, note 1 ({}), a.png", "x".repeat(8_000_000)));
        assert!(long.len() < 250, "{}", long.len());
        assert!(long.contains("notes.enex, note 1 (xx") && long.contains("x…x"), "{long}");
        assert!(long.contains("), a.png"), "{long}");
    }

    /// Returns the lines that `write` writes.
    fn lines(write: impl FnOnce(&mut Output<'_>) -> io::Result<()>) -> Vec<ConvertedLine> {
        let mut bytes = Vec::new();
        let mut out = Output::new(&mut bytes, false);
        write(&mut out).unwrap();
        out.end().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn page(name: &str, body: String) -> Page {
        let mut page = Page::default();
        (page.from, page.path, page.body) = (format!("{name}.txt"), name.to_owned(), body);
        page
    }

    fn lost(from: &str, reason: &str) -> ConvertedLine {
        ConvertedLine::Lost { from: from.to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn page_and_its_file_are_lines() {
        let mut note = page("note", "text".to_owned());
        let name = note.attach("a.txt");
        let lines = lines(|out| {
            out.page(&note)?;
            out.file(&note, &name, b"abc")?;
            out.file(&note, "none.txt", b"")
        });
        let markdown = "---\nattachments: [\"a.txt\"]\n---\n\ntext\n".to_owned();
        let expected = [
            ConvertedLine::Page { from: "note.txt".into(), path: "note".into(), markdown },
            ConvertedLine::File { page: "note".into(), name, base64: "YWJj".into() },
            lost("note.txt, none.txt", "the file is empty"),
            ConvertedLine::End { pages: 1 },
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn page_above_the_limit_is_lost_with_its_files() {
        let around_the_body = page("", String::new()).markdown(false).len();
        let largest = page("a", "x".repeat(MAX_CONTENT - around_the_body));
        let larger = page("b", "x".repeat(MAX_CONTENT - around_the_body + 1));
        let lines = lines(|out| {
            out.page(&largest)?;
            out.page(&larger)?;
            out.file(&larger, "f", b"1")
        });
        let reason = "it has 5000001 bytes as a page, more than the limit of 5000000";
        assert!(matches!(&lines[0], ConvertedLine::Page { path, .. } if path == "a"));
        let rest = [
            lost("b.txt", reason),
            lost("b.txt, f", "its note was not imported"),
            ConvertedLine::End { pages: 1 },
        ];
        assert_eq!(lines[1..], rest);
    }

    #[test]
    fn file_above_the_limit_is_lost() {
        let note = page("note", String::new());
        let lines = lines(|out| {
            out.page(&note)?;
            out.file(&note, "largest", &vec![0; MAX_ATTACHMENT])?;
            out.file(&note, "larger", &vec![0; MAX_ATTACHMENT + 1])
        });
        assert!(matches!(&lines[1], ConvertedLine::File { name, .. } if name == "largest"));
        let reason = "it has 16000001 bytes, more than 16000000, the limit for a file of a page";
        assert_eq!(lines[2], lost("note.txt, larger", reason));
    }
}
