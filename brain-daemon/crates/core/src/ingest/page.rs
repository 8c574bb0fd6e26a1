//! Builds the page of an ingest job.

use brain_protocol::{Fault, FaultCode, JobId, Slug, SourceId, WriteStatus};

use crate::provenance::{COLLECTOR, WEBHOOK};
use crate::write_page::{Wanted, headings, inbox_slug, place, stored_document, written_page};
use brain_base::caller;
use brain_base::clock::day;
use brain_store::{Draft, JobRecord, NewPage, StoreError, WrittenPage};

/// A job's page, prepared as far as possible outside of the writer.
pub(super) struct PreparedPage {
    pub(super) source: SourceId,
    /// The requested slug.
    pub(super) requested: Option<Slug>,
    /// The slug of a page with the same content within the last 24 hours.
    known: Option<Slug>,
    day: String,
    /// The slug that it gets unless that is taken, and its page.
    likely: (Slug, NewPage),
    id: JobId,
}

/// Prepares the page of a job. `id` is the job's public id. `known` finds a page with the same
/// content within the last 24 hours.
pub(super) fn prepare(
    id: JobId,
    record: &JobRecord,
    known: impl FnOnce(&SourceId) -> Option<Slug>,
) -> Result<PreparedPage, Fault> {
    let broken = |what: String| Fault::new(FaultCode::StoreDamaged, what);
    let source = SourceId::parse(record.source.as_str()).map_err(|e| broken(e.to_string()))?;
    let requested = match &record.wishes.slug {
        Some(slug) => Some(Slug::parse(slug.as_str()).map_err(|e| broken(e.to_string()))?),
        None => None,
    };
    let day = day(record.received_at);
    let slug = match &requested {
        Some(slug) => slug.clone(),
        None => inbox_slug(&day, &record.content_hash, 0)?,
    };
    let page = page_of(id, record, &slug)?;
    let known = if requested.is_none() { known(&source) } else { None };
    Ok(PreparedPage { source, requested, known, day, likely: (slug, page), id })
}

/// Returns the job's page for `slug`. Title and type of the request override those of the text.
fn page_of(id: JobId, record: &JobRecord, slug: &Slug) -> Result<NewPage, Fault> {
    let JobRecord { wishes, .. } = record;
    let door = if record.client == caller::COLLECTOR { &COLLECTOR } else { &WEBHOOK };
    let mut document = stored_document(&record.content)?;
    let uri = wishes.uri.clone().unwrap_or_else(|| format!("webhook:{}:{id}", record.client));
    let headings = headings(&document, wishes.page_type.as_deref(), wishes.title.as_deref());
    let lines: Vec<(&str, &str)> =
        headings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    document.frontmatter.set_all(&lines);
    let provenance = door.provenance(uri, record.received_at);
    written_page(slug, document, provenance, None, wishes.slug.is_none())
}

/// Finds the slug and writes the page; runs in the writer. A page with this content is left as is.
pub(super) fn write(
    draft: &mut Draft<'_>,
    record: &JobRecord,
    ready: &PreparedPage,
    now: i64,
) -> Result<(Slug, WrittenPage), StoreError> {
    let wanted = Wanted {
        source: &ready.source,
        slug: ready.requested.as_ref(),
        known: ready.known.as_ref(),
        hash: &record.content_hash,
        day: &ready.day,
    };
    let (slug, existing) = place(draft, &wanted)?;
    if let Some(there) = existing
        && there.deleted_at.is_none()
        && there.content_hash == record.content_hash
    {
        return Ok((slug, WrittenPage { status: WriteStatus::Unchanged, record: there }));
    }
    // A retried job is older than content that arrived for the same page meanwhile.
    if record.error.is_some()
        && let (Some(requested), Some(there)) =
            (&ready.requested, draft.page(&ready.source, &slug)?)
        && there.provenance.ingested_at.unwrap_or(there.updated_at).max(there.content_at)
            > record.received_at
    {
        return Err(Fault::new(
            FaultCode::Conflict,
            format!("\"{requested}\" has newer content than this item"),
        )
        .into());
    }
    let page = match slug == ready.likely.0 {
        true => ready.likely.1.clone(),
        false => page_of(ready.id, record, &slug)?,
    };
    let applied = draft.write_page(&ready.source, &slug, page, now)?;
    Ok((slug, applied))
}
