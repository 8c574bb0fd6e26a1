//! Builds the page of an ingest job.

use brain_protocol::{Fault, FaultCode, JobId, Slug};

use brain_base::caller;
use brain_base::clock::day;
use brain_page::NoteDates;
use brain_pages::provenance::{CAPTURE_CLI, COLLECTOR, VOICE, WEBHOOK};
use brain_pages::write_page::{
    SlugRequest, build_new_page, choose_slug, inbox_slug, set_type_and_title, stored_document,
};
use brain_store::{JobKind, JobRecord, LineChange, NewPage, StoreError, Transaction, WrittenPage};

/// A job's page, prepared as far as possible outside of the writer.
pub(super) struct PreparedPage {
    /// The slug of a page whose content is the same and arrived in the last 24 hours.
    duplicate: Option<Slug>,
    /// The slug that the page gets if no other page has it.
    likely_slug: Slug,
    /// The page for `likely_slug`.
    likely_page: NewPage,
    /// The public id of the job.
    id: JobId,
    /// Whether the job waited for the server of a shared brain.
    has_waited: bool,
}

/// Prepares the page of a job. `id` is the job's public id, `has_waited` tells whether it waited
/// for the server of a shared brain. `find_duplicate` finds a page whose content is the same and
/// arrived in the last 24 hours.
pub(super) fn prepare(
    id: JobId,
    has_waited: bool,
    record: &JobRecord,
    find_duplicate: impl FnOnce() -> Option<Slug>,
) -> Result<PreparedPage, Fault> {
    let (likely_slug, duplicate) = match &record.options.slug {
        Some(slug) => (slug.clone(), None),
        None => (inbox_slug(&day(record.received_at), &record.content_hash, 0)?, find_duplicate()),
    };
    let likely_page = page_of(id, record, &likely_slug)?;
    Ok(PreparedPage { duplicate, likely_slug, likely_page, id, has_waited })
}

/// Returns the job's page for `slug`. Title and type of the request override those of the item's
/// text.
fn page_of(id: JobId, record: &JobRecord, slug: &Slug) -> Result<NewPage, Fault> {
    let JobRecord { options, .. } = record;
    let route = match record.client.as_str() {
        caller::COLLECTOR => &COLLECTOR,
        caller::CAPTURE => &CAPTURE_CLI,
        caller::VOICE => &VOICE,
        _ => &WEBHOOK,
    };
    let mut document = stored_document(&record.content)?;
    let uri = options.uri.clone().unwrap_or_else(|| format!("webhook:{}:{id}", record.client));
    let (page_type, title) = (options.page_type.as_deref(), options.title.as_deref());
    set_type_and_title(&mut document, page_type, title, None);
    // An item is a whole page. Its provenance says that all lines are from outside, so none is
    // marked.
    let change = (route.author(uri.clone()), LineChange::ByPageAuthor);
    let provenance = route.provenance(uri, record.received_at);
    let page = build_new_page(slug, document, provenance, None, change)?;
    // The times of a document are those that it states.
    let is_converted = record.kind() == JobKind::Document;
    let dates = NoteDates { is_converted, ..page.dates };
    Ok(NewPage { is_capture: options.slug.is_none(), dates, ..page })
}

/// Chooses the slug and writes the page; runs in the writer. Does not change a page that has this
/// content.
pub(super) fn write(
    transaction: &mut Transaction<'_>,
    record: &JobRecord,
    prepared: &PreparedPage,
    now: i64,
) -> Result<(Slug, WrittenPage), StoreError> {
    let (source, requested) = (&record.source, record.options.slug.as_ref());
    let slug_request = SlugRequest {
        source,
        slug: requested,
        duplicate: prepared.duplicate.as_ref(),
        hash: &record.content_hash,
        day: &day(record.received_at),
    };
    let (slug, existing) = choose_slug(transaction, &slug_request)?;
    if let Some(present) = existing
        && present.deleted_at.is_none()
        && present.content_hash == record.content_hash
    {
        return Ok((slug, WrittenPage::unchanged(present)));
    }
    // A job that was retried, or waited for the server of a shared brain, must not replace content
    // that arrived for the same page after its item.
    if (record.error.is_some() || prepared.has_waited)
        && let (Some(requested), Some(present)) = (requested, transaction.page(source, &slug)?)
        && present.provenance.ingested_at.unwrap_or(present.written_at).max(present.content_at)
            > record.received_at
    {
        return Err(Fault::new(
            FaultCode::Conflict,
            format!("\"{requested}\" has newer content than this item"),
        )
        .into());
    }
    let written = match slug == prepared.likely_slug {
        true => transaction.write_page(source, &slug, &prepared.likely_page, now)?,
        false => {
            let page = page_of(prepared.id, record, &slug)?;
            transaction.write_page(source, &slug, &page, now)?
        }
    };
    Ok((slug, written))
}
