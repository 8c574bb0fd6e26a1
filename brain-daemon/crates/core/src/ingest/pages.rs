//! From an item to its page.

use brain_protocol::{Fault, FaultCode, JobId, Slug, SourceId, WriteStatus};

use super::super::intake::{Wanted, headings, inbox_slug, place, stored_document, written_page};
use super::super::provenance::{COLLECTOR, WEBHOOK};
use brain_base::caller;
use brain_base::clock::day;
use brain_store::{Draft, JobRecord, NewPage, StoreError, WrittenPage};

/// An item, worked out as far as it can be without the writer.
pub(super) struct Ready {
    pub(super) source: SourceId,
    /// The slug that was asked for.
    pub(super) asked: Option<Slug>,
    /// Where the same content went within the last 24 hours.
    known: Option<Slug>,
    day: String,
    /// The slug that it gets as a rule, and the page for it.
    likely: (Slug, NewPage),
    id: JobId,
}

/// Works an item out. `id` is the job's, as everybody may read it; `known` finds where the same content went within the last 24 hours.
pub(super) fn ready(
    id: JobId,
    record: &JobRecord,
    known: impl FnOnce(&SourceId) -> Option<Slug>,
) -> Result<Ready, Fault> {
    let broken = |what: String| Fault::new(FaultCode::StoreDamaged, what);
    let source = SourceId::parse(record.source.as_str()).map_err(|e| broken(e.to_string()))?;
    let asked = match &record.wishes.slug {
        Some(slug) => Some(Slug::parse(slug.as_str()).map_err(|e| broken(e.to_string()))?),
        None => None,
    };
    let day = day(record.received_at);
    let slug = match &asked {
        Some(slug) => slug.clone(),
        None => inbox_slug(&day, &record.content_hash, 0)?,
    };
    let page = page_of(id, record, &slug)?;
    let known = if asked.is_none() { known(&source) } else { None };
    Ok(Ready { source, asked, known, day, likely: (slug, page), id })
}

/// The item's page under `slug`: what its sender wishes before what its text says, and the stamps of how it came in.
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

/// In the writer: finds the page's place and writes it there. A page that has this content already stays as it is.
pub(super) fn write(
    draft: &mut Draft<'_>,
    record: &JobRecord,
    ready: &Ready,
    now: i64,
) -> Result<(Slug, WrittenPage), StoreError> {
    let wanted = Wanted {
        source: &ready.source,
        slug: ready.asked.as_ref(),
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
    // An item that is tried again has waited, and what came meanwhile for the same page is newer.
    if record.error.is_some()
        && let (Some(asked), Some(there)) = (&ready.asked, draft.page(&ready.source, &slug)?)
        && there.provenance.ingested_at.unwrap_or(there.updated_at).max(there.content_at)
            > record.received_at
    {
        return Err(Fault::new(
            FaultCode::Conflict,
            format!("\"{asked}\" has newer content than this item"),
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
