//! Writes pages, their files, and what was lost, as lines of JSON.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brain_page::ConvertedLine;
use brain_protocol::{MAX_ATTACHMENT, MAX_CONTENT};

use crate::Page;

/// Writes lines of JSON.
pub struct Output<'a> {
    out: &'a mut dyn Write,
    pages: u64,
    /// The path of the last page, if it was written.
    last: Option<String>,
}

impl<'a> Output<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, pages: 0, last: None }
    }

    /// Writes a page. Its files follow with [`Self::file`]. A page that is too large is lost.
    pub fn page(&mut self, page: &Page) -> io::Result<()> {
        let markdown = page.markdown();
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

    /// Writes that a thing is in no page, or only in part. `from` names it as a person knows it.
    /// `reason` is a short sentence without a full stop.
    pub fn lost(&mut self, from: &str, reason: &str) -> io::Result<()> {
        self.line(&ConvertedLine::Lost { from: from.to_owned(), reason: reason.to_owned() })
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
