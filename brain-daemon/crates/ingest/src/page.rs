//! Builds the page of an ingest job.

use brain_protocol::{Fault, FaultCode, JobId, Slug, SourceId, WriteStatus};

use brain_base::caller;
use brain_base::clock::day;
use brain_pages::provenance::{CAPTURE_CLI, COLLECTOR, VOICE, WEBHOOK};
use brain_pages::write_page::{
    SlugRequest, build_new_page, choose_slug, inbox_slug, stored_document, type_and_title,
};
use brain_store::{Draft, JobRecord, LineChange, NewPage, StoreError, WrittenPage};

/// A job's page, prepared as far as possible outside of the writer.
pub(super) struct PreparedPage {
    pub(super) source: SourceId,
    pub(super) requested: Option<Slug>,
    /// The slug of a page whose content is the same and arrived in the last 24 hours.
    duplicate: Option<Slug>,
    /// The UTC day on which the item arrived.
    day: String,
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
    find_duplicate: impl FnOnce(&SourceId) -> Option<Slug>,
) -> Result<PreparedPage, Fault> {
    let damaged = |message: String| Fault::new(FaultCode::StoreDamaged, message);
    let source = SourceId::parse(record.source.as_str()).map_err(|e| damaged(e.to_string()))?;
    let requested = match &record.options.slug {
        Some(slug) => Some(Slug::parse(slug.as_str()).map_err(|e| damaged(e.to_string()))?),
        None => None,
    };
    let day = day(record.received_at);
    let likely_slug = match &requested {
        Some(slug) => slug.clone(),
        None => inbox_slug(&day, &record.content_hash, 0)?,
    };
    let likely_page = page_of(id, record, &likely_slug)?;
    let duplicate = if requested.is_none() { find_duplicate(&source) } else { None };
    Ok(PreparedPage { source, requested, duplicate, day, likely_slug, likely_page, id, has_waited })
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
    let fields =
        type_and_title(&document, options.page_type.as_deref(), options.title.as_deref(), None);
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(key, value)| (*key, value.as_str())).collect();
    document.frontmatter.set_all(&fields);
    let author = Some(route.author(uri.clone()));
    let provenance = route.provenance(uri, record.received_at);
    let page = build_new_page(slug, document, provenance, None, options.slug.is_none())?;
    // An item is a whole page. Its provenance says that all lines are from outside, so none is
    // marked.
    Ok(NewPage { author, line_change: LineChange::ByPageAuthor, ..page })
}

/// Chooses the slug and writes the page; runs in the writer. Does not change a page that has this
/// content.
pub(super) fn write(
    draft: &mut Draft<'_>,
    record: &JobRecord,
    prepared: &PreparedPage,
    now: i64,
) -> Result<(Slug, WrittenPage), StoreError> {
    let slug_request = SlugRequest {
        source: &prepared.source,
        slug: prepared.requested.as_ref(),
        duplicate: prepared.duplicate.as_ref(),
        hash: &record.content_hash,
        day: &prepared.day,
    };
    let (slug, existing) = choose_slug(draft, &slug_request)?;
    if let Some(present) = existing
        && present.deleted_at.is_none()
        && present.content_hash == record.content_hash
    {
        return Ok((slug, WrittenPage { status: WriteStatus::Unchanged, record: present }));
    }
    // A job that was retried, or waited for the server of a shared brain, must not replace content
    // that arrived for the same page after its item.
    if (record.error.is_some() || prepared.has_waited)
        && let (Some(requested), Some(present)) =
            (&prepared.requested, draft.page(&prepared.source, &slug)?)
        && present.provenance.ingested_at.unwrap_or(present.written_at).max(present.content_at)
            > record.received_at
    {
        return Err(Fault::new(
            FaultCode::Conflict,
            format!("\"{requested}\" has newer content than this item"),
        )
        .into());
    }
    let page = match slug == prepared.likely_slug {
        true => prepared.likely_page.clone(),
        false => page_of(prepared.id, record, &slug)?,
    };
    let written = draft.write_page(&prepared.source, &slug, page, now)?;
    Ok((slug, written))
}
