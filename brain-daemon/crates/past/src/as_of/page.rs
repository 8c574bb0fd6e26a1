//! A page in the state of one of its steps.

use brain_page::{file_path, file_title};
use brain_pages::write_page::{read_page, stored_document};
use brain_protocol::{Fault, Slug};
use brain_store::{
    NamedAttachment, PageEntry, PageRecord, PastPage, Reader, StepRecord, StoreError, VersionRecord,
};

/// Returns a page as it was after its step `number`; `None` if the text is not kept any more.
///
/// # Errors
/// The store cannot be read, or the text is damaged.
pub(super) fn page_at_step(
    reader: &Reader,
    (source, slug_now, now): &PageEntry,
    number: u64,
    step: StepRecord,
) -> Result<Option<PastPage>, Fault> {
    let Some(VersionRecord { record, content }) = reader.any_version(now.id, step.version)? else {
        return Ok(None);
    };
    let deleted_at = reader.deleted_at_step(&step)?;
    let slug =
        Slug::parse(step.slug).map_err(|e| StoreError::Damaged(format!("step {number}: {e}")))?;
    let attachments = attachments_at(reader, now.id, step.at)?;
    let is_current = record.version == now.version && slug == *slug_now;
    let is_derived = is_current && now.deleted_at.is_none();
    let source_path = match slug == *slug_now {
        true => now.source_path.clone(),
        false => file_path(&slug),
    };
    let mut record = PageRecord {
        seq: number,
        deleted_at,
        source_path,
        // Hashes of texts from before schema 81 were not kept up to date.
        content_hash: content.body.digest(),
        ..record
    };
    let derived = match is_derived {
        true => reader.derived(now.id)?,
        false => {
            let document = stored_document(&content)?;
            let new = read_page(&slug, document, record.provenance.clone(), &record.source_path)?;
            if new.title.is_none() {
                let uri = record.provenance.source_uri.as_deref();
                record.title = file_title(&record.source_path, uri);
            }
            new.derived
        }
    };
    let source = source.clone();
    Ok(Some(PastPage { source, slug, record, content, derived, attachments }))
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
