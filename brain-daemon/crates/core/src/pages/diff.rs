//! `diff`: compares two versions of a page, or a page with its file.

use brain_protocol::{Diff, DiffOther, DiffReply, Fault, FaultCode};

use super::former_version;
use crate::{Caller, PageService, page_argument};
use brain_page::{file_text, unified_diff};
use brain_store::{Content, PageEntry, Reader};

impl PageService {
    pub(crate) fn diff(&self, caller: &Caller, request: &Diff) -> Result<DiffReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, record) = self.find(caller, &reader, &request.page)?;
        let text = |number: u32| -> Result<String, Fault> {
            let Content { frontmatter, body } = match number {
                0 => return Ok(String::new()),
                number if number == record.version => reader.content(&record)?,
                number => former_version(&reader, &record, &request.page, number)?.content,
            };
            Ok(file_text(&frontmatter, &body))
        };
        if let Some(other) = request.other {
            return self.diff_with(&reader, (source, slug, record), other);
        }
        let to = request.to.unwrap_or(record.version);
        let from = match request.from {
            Some(from) => from,
            // Purged versions leave gaps, so the former version need not be `to - 1`.
            None => {
                let former = reader.versions(record.id)?;
                former.iter().map(|record| record.version).filter(|n| *n < to).max().unwrap_or(0)
            }
        };
        let names = (format!("{slug}@{from}"), format!("{slug}@{to}"));
        let diff = unified_diff(&text(from)?, &text(to)?, (&names.0, &names.1));
        let diff = diff.ok_or_else(|| {
            let message =
                format!("versions {from} and {to} of \"{slug}\" differ in too many lines");
            let argument = page_argument(&request.page);
            Fault::new(FaultCode::TooLarge, message).hint(format!(
                "compare them with another program: `brain get {argument} --version {from}`"
            ))
        })?;
        let (added, removed) = (diff.added, diff.removed);
        let diff = diff.text;
        Ok(DiffReply { slug, source_id: source, from, to, added, removed, diff, other: None })
    }

    /// Compares the text of a page with that of its file.
    fn diff_with(
        &self,
        reader: &Reader,
        (source, slug, record): PageEntry,
        other: DiffOther,
    ) -> Result<DiffReply, Fault> {
        let DiffOther::File = other else {
            return Err(Fault::new(FaultCode::NotFound, format!("\"{slug}\" is no copy")));
        };
        let Content { frontmatter, body } = reader.content(&record)?;
        let path = self.files.shown_path(&source, &record.source_path).display().to_string();
        let text = self.files.text_of_file(reader, &source, &record).ok_or_else(|| {
            let message = format!("{path} cannot be read as text, or is not there");
            Fault::new(FaultCode::NotFound, message)
                .hint(format!("to write the page there: `brain keep {slug} page`"))
        })?;
        let name = format!("{slug}@{}", record.version);
        let page = file_text(&frontmatter, &body);
        let diff = unified_diff(&page, &text, (&name, &record.source_path)).ok_or_else(|| {
            let message = format!("\"{slug}\" and its file differ in too many lines");
            Fault::new(FaultCode::TooLarge, message)
                .hint(format!("compare {path} with another program"))
        })?;
        Ok(DiffReply {
            slug,
            source_id: source,
            from: record.version,
            to: record.version,
            added: diff.added,
            removed: diff.removed,
            diff: diff.text,
            other: Some(record.source_path),
        })
    }
}
