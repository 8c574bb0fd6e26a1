//! A page in the state of one of its steps.

use brain_page::{file_title, title_of};
use brain_pages::write_page::{read_page, stored_document};
use brain_protocol::{Fault, Slug};
use brain_store::{
    Content, NamedAttachment, PageEntry, PageRecord, PastPage, Reader, StepRecord, StoreError,
    VersionRecord,
};

/// A page's slug, record and text.
pub(super) type SimplePage = (Slug, PageRecord, Content);

/// Returns a page as it was after its step `number`; `None` if the text is not kept any more.
///
/// # Errors
/// The store cannot be read, or the text is damaged.
pub(super) fn page_at_step(
    reader: &Reader,
    (_, _, now): &PageEntry,
    number: u64,
    step: &StepRecord,
) -> Result<Option<SimplePage>, Fault> {
    let Some(VersionRecord { record, content }) = reader.any_version(now.id, step.version)? else {
        return Ok(None);
    };
    let slug = Slug::parse(step.slug.clone())
        .map_err(|e| StoreError::Damaged(format!("step {number}: {e}")))?;
    let source_path = step.file_path();
    let document = stored_document(&content)?;
    let title = title_of(&slug, &document.frontmatter, &document.body)
        .unwrap_or_else(|| file_title(&source_path, record.provenance.source_uri.as_deref()));
    let record = PageRecord {
        seq: number,
        deleted_at: reader.deleted_at_step(step)?,
        title,
        source_path,
        // Hashes of texts from before schema 81 were not kept up to date.
        content_hash: content.body.digest(),
        ..record
    };
    Ok(Some((slug, record, content)))
}

/// As [`page_at_step`], with what is derived from the text, and the attached files.
pub(super) fn whole_page_at_step(
    reader: &Reader,
    entry: &PageEntry,
    number: u64,
    step: &StepRecord,
) -> Result<Option<PastPage>, Fault> {
    let Some((slug, record, content)) = page_at_step(reader, entry, number, step)? else {
        return Ok(None);
    };
    let (source, slug_now, now) = entry;
    let is_now = record.version == now.version && slug == *slug_now && now.deleted_at.is_none();
    let derived = match is_now {
        true => reader.derived(now.id)?,
        false => {
            let document = stored_document(&content)?;
            read_page(&slug, document, record.provenance.clone(), &record.source_path)?.derived
        }
    };
    let attachments = attachments_at(reader, now.id, step.at)?;
    Ok(Some(PastPage { source: source.clone(), slug, record, content, derived, attachments }))
}

/// Returns the files that the page had. A file that was replaced under its name is left out: its
/// bytes of that time are gone.
fn attachments_at(reader: &Reader, id: u64, at: i64) -> Result<Vec<NamedAttachment>, StoreError> {
    let mut files = reader.attachments_of(id, true)?;
    files.retain(|(_, file)| file.attached_at <= at && file.removed_at.is_none_or(|end| end > at));
    for (_, file) in &mut files {
        file.removed_at = None;
    }
    Ok(files)
}
