//! `diff`: compares two versions of a page.

use brain_protocol::{Diff, DiffReply, Fault, FaultCode};

use super::former_version;
use crate::{Caller, PageService, page_argument};
use brain_page::{file_text, unified_diff};
use brain_store::Content;

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
        Ok(DiffReply { slug, source_id: source, from, to, added, removed, diff: diff.text })
    }
}
