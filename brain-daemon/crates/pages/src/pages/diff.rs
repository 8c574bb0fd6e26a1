//! `diff`: compares two versions of a page, a page with its file, or a copy with its original.

use brain_protocol::{Command, Diff, DiffOther, DiffReply, Fault, FaultCode, Slug, SourceId, hint};

use super::former_version;
use crate::pages::PageService;
use brain_base::caller::Caller;
use brain_page::{UnifiedDiff, program_copy, unified_diff};
use brain_store::{PageEntry, PageRecord, Reader, StoreError};

impl PageService {
    /// Returns the difference between two versions of a page.
    pub fn diff(&self, caller: &Caller, request: &Diff) -> Result<DiffReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, record) = self.find(caller, &reader, &request.page)?;
        let text = |number: u32| -> Result<String, Fault> {
            Ok(match number {
                0 => String::new(),
                number if number == record.version => reader.content(&record)?.file_text(),
                number => {
                    former_version(&reader, &record, &request.page, number)?.content.file_text()
                }
            })
        };
        let is_plain = request.from.is_none() && request.to.is_none();
        let copy = program_copy(&record.source_path).filter(|_| is_plain);
        match (request.other, copy) {
            (Some(DiffOther::File), _) => {
                return self.diff_with_file(&reader, (source, slug, record));
            }
            (other, Some(copy)) => {
                let original = reader.page_at(&source, &copy.original)?;
                let original = original.filter(|(_, found)| found.deleted_at.is_none());
                if let Some(original) = original {
                    return diff_with_original(&reader, (source, slug, record), &original);
                }
                if other.is_some() {
                    return Err(Fault::new(
                        FaultCode::NotFound,
                        format!("there is no page of {}, the original of this copy", copy.original),
                    ));
                }
            }
            (Some(DiffOther::Original), None) => {
                return Err(Fault::new(FaultCode::NotFound, format!("\"{slug}\" is no copy")));
            }
            (None, None) => {}
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
            let argument = request.page.to_string();
            Fault::new(FaultCode::TooLarge, message).hint(hint!(
                "compare them with another program: {}",
                Command::GetVersion {
                    page: Some(argument.clone()),
                    version: Some(from.to_string())
                }
            ))
        })?;
        let (added, removed) = (diff.added, diff.removed);
        let diff = diff.text;
        Ok(DiffReply { slug, source_id: source, from, to, added, removed, diff, other: None })
    }

    /// Compares the text of a page with that of its file.
    fn diff_with_file(
        &self,
        reader: &Reader,
        (source, slug, record): PageEntry,
    ) -> Result<DiffReply, Fault> {
        let page = reader.content(&record)?.file_text();
        let path = self.files.shown_path(&source, &record.source_path).display().to_string();
        let text = self.files.text_of_file(reader, &source, &record).ok_or_else(|| {
            let message = format!("{path} cannot be read as text, or is not there");
            Fault::new(FaultCode::NotFound, message).hint(hint!(
                "to write the page there: {}",
                Command::KeepPage { page: Some(slug.to_string()) }
            ))
        })?;
        let name = format!("{slug}@{}", record.version);
        let diff = unified_diff(&page, &text, (&name, &record.source_path)).ok_or_else(|| {
            let message = format!("\"{slug}\" and its file differ in too many lines");
            Fault::new(FaultCode::TooLarge, message)
                .hint(format!("compare {path} with another program"))
        })?;
        Ok(diff_reply((source, slug, record.version), diff, record.source_path))
    }
}

/// Compares the page that another program made as a copy with its original.
fn diff_with_original(
    reader: &Reader,
    (source, slug, record): PageEntry,
    (original, original_record): &(Slug, PageRecord),
) -> Result<DiffReply, Fault> {
    let text = |record: &PageRecord| Ok::<_, StoreError>(reader.content(record)?.file_text());
    let names = (slug.to_string(), original.to_string());
    let texts = (text(&record)?, text(original_record)?);
    let diff = unified_diff(&texts.0, &texts.1, (&names.0, &names.1)).ok_or_else(|| {
        Fault::new(
            FaultCode::TooLarge,
            format!("\"{slug}\" and \"{original}\" differ in too many lines"),
        )
        .hint("compare their files with another program")
    })?;
    Ok(diff_reply((source, slug, record.version), diff, names.1))
}

/// Returns the reply about the current version of a page and the text called `other`.
fn diff_reply(
    (source_id, slug, version): (SourceId, Slug, u32),
    diff: UnifiedDiff,
    other: String,
) -> DiffReply {
    let UnifiedDiff { text, added, removed } = diff;
    let other = Some(other);
    DiffReply { slug, source_id, from: version, to: version, added, removed, diff: text, other }
}
