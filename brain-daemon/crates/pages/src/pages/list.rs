//! `list`: lists pages by their last change or by slug, with filters.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use brain_protocol::{Fault, FaultCode, List, PageRow, PageVersion, Pages, Slug, Sort, SourceId};

use crate::pages::PageService;
use crate::preferred_source::preferred;
use crate::provenance::trust_of_row;
use brain_base::caller::Caller;
use brain_base::clock::{end_instant_argument, instant_argument, rfc3339};
use brain_page::{normalize_tag, program_copy};
use brain_service::NumberCipher;
use brain_store::{DateKey, LATEST, PageEntry, PageLabel, RECOVERY_MS, Reader, date_key};

/// The maximum number of pages in one reply.
const MAX_LIMIT: u32 = 1000;
/// The maximum number of pages with a label that are read and sorted by slug. Above it, a scan of
/// all pages in slug order is faster.
const MAX_TO_SORT: usize = 2000;

impl PageService {
    /// Lists pages. Page ids in cursors of restricted callers are encrypted, because a page id
    /// reveals the number of pages in all sources.
    pub fn list(&self, caller: &Caller, request: &List) -> Result<Pages, Fault> {
        let has_id_in_cursor = request.deleted || request.sort == Sort::Updated;
        if caller.sees_all() || !has_id_in_cursor {
            return self.list_from(caller, request);
        }
        let cipher = NumberCipher::of(self.store.number_key());
        let mut request = request.clone();
        if let Some(cursor) = &request.after {
            let key = parse_date_key(cursor).and_then(|(at, id)| Some((at, cipher.decrypt(id)?)));
            request.after = Some(date_key_text(key.ok_or_else(|| bad_cursor(cursor))?));
        }
        let mut pages = self.list_from(caller, &request)?;
        let next = pages.next.take().and_then(|next| parse_date_key(&next));
        pages.next = next.map(|(at, id)| date_key_text((at, cipher.encrypt(id))));
        Ok(pages)
    }

    fn list_from(&self, caller: &Caller, request: &List) -> Result<Pages, Fault> {
        let reader = self.store.read(caller.visibility())?.leaving_out_damage();
        let source = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let tag = request.tag.as_deref().map(normalize_tag);
        let page_type = request.page_type.as_deref().map(|t| t.trim().to_lowercase());
        let since = instant_argument(request.updated_since.as_deref())?;
        let until = end_instant_argument(request.updated_until.as_deref())?;
        // Deleted pages of a removed source are not listed: they return only with their source.
        let sources = if request.deleted { reader.sources()? } else { Vec::new() };
        let is_match = |(source_id, slug, record): &PageEntry| {
            (!request.deleted || sources.iter().any(|(id, _)| id == source_id))
                && source.as_ref().is_none_or(|s| s == source_id)
                && request.prefix.as_ref().is_none_or(|p| slug.as_str().starts_with(p.as_str()))
                && page_type.as_ref().is_none_or(|t| record.page_type == *t)
                && tag.as_ref().is_none_or(|t| record.tags.contains(t))
                && since.is_none_or(|since| record.updated_at >= since)
                && until.is_none_or(|until| record.updated_at <= until)
        };
        // The store has an index of tags and one of types. Usually fewer pages have a tag than a
        // type, so the tag is preferred.
        let label =
            tag.as_deref().map(PageLabel::Tag).or(page_type.as_deref().map(PageLabel::Type));
        let mut found = if request.deleted {
            deleted_pages(&reader, request, limit, is_match)?
        } else if request.sort == Sort::Slug {
            match sorted_by_slug(&reader, request, label, source.as_ref(), limit, is_match)? {
                Some(found) => found,
                None => in_slug_order(&reader, request, source.as_ref(), limit, is_match)?,
            }
        } else if label.is_none() && request.prefix.is_some() {
            latest_by_scan(&reader, request, source.as_ref(), limit, is_match)?
        } else {
            let last = until.map_or(LATEST, |until| (until, u64::MAX));
            let below = cursor_date_key(request)?.min(last);
            latest(&reader, (label, source.as_ref()), (since, below), limit, is_match)?
        };
        let truncated = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| truncated).map(|last| cursor(request, last));
        let pages = found.into_iter().map(|found| self.page_row(caller, found)).collect();
        let default_source = preferred(&reader.sources()?);
        Ok(Pages { pages, truncated, next, default_source, damaged: reader.damaged_pages() })
    }

    /// Returns a page as a row of a list.
    pub(crate) fn page_row(&self, caller: &Caller, found: PageEntry) -> PageRow {
        let path = self.files.visible_path(caller, &found.0, &found.2);
        PageRow { path, ..page_row(found) }
    }
}

/// Returns a page as a row of a list, without the path of its file.
#[must_use]
pub fn page_row(found: PageEntry) -> PageRow {
    let (source, slug, record) = found;
    PageRow {
        path: None,
        page: PageVersion { page: record.id, version: record.version },
        trust: trust_of_row(&record),
        copy_of: program_copy(&record.source_path).map(|copy| copy.original),
        slug,
        source_id: source,
        title: record.title,
        page_type: record.page_type,
        tags: record.tags,
        created_at: rfc3339(record.created_at),
        updated_at: rfc3339(record.updated_at),
        deleted_at: record.deleted_at.map(rfc3339),
        recoverable_until: record.deleted_at.map(|at| rfc3339(at + RECOVERY_MS)),
        source_kind: record.provenance.source_kind,
    }
}

/// Returns up to `limit + 1` matching pages with this label in this source, last changed first.
/// They were changed at or after `since`, in Unix milliseconds, and their keys are below `below`.
fn latest(
    reader: &Reader,
    (label, source): (Option<PageLabel<'_>>, Option<&SourceId>),
    (since, below): (Option<i64>, DateKey),
    limit: usize,
    is_match: impl Fn(&PageEntry) -> bool,
) -> Result<Vec<PageEntry>, Fault> {
    let mut out = Vec::new();
    let visit = |found: PageEntry| {
        if since.is_some_and(|since| found.2.updated_at < since) {
            return Ok(false);
        }
        if is_match(&found) {
            out.push(found);
        }
        Ok(out.len() <= limit)
    };
    match label {
        Some(label) => reader.latest_with_label(label, source, below, visit)?,
        None => reader.latest(source, below, visit)?,
    }
    Ok(out)
}

/// Returns up to `limit + 1` matching pages with a label, in the order of sources and slugs.
/// Returns `None` without a label, and if more than [`MAX_TO_SORT`] pages have it.
fn sorted_by_slug(
    reader: &Reader,
    request: &List,
    label: Option<PageLabel<'_>>,
    source: Option<&SourceId>,
    limit: usize,
    is_match: impl Fn(&PageEntry) -> bool,
) -> Result<Option<Vec<PageEntry>>, Fault> {
    let Some(label) = label else { return Ok(None) };
    let after = cursor_slug(request)?;
    let (mut pages, mut read) = (Vec::new(), 0);
    reader.latest_with_label(label, source, LATEST, |found| {
        if is_match(&found) && (found.0.as_str(), found.1.as_str()) > after {
            pages.push(found);
        }
        read += 1;
        Ok(read <= MAX_TO_SORT)
    })?;
    if read > MAX_TO_SORT {
        return Ok(None);
    }
    pages.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    pages.truncate(limit + 1);
    Ok(Some(pages))
}

/// Returns up to `limit + 1` matching pages with a prefix, last changed first. Reads all pages with
/// the prefix once.
fn latest_by_scan(
    reader: &Reader,
    request: &List,
    source: Option<&SourceId>,
    limit: usize,
    is_match: impl Fn(&PageEntry) -> bool,
) -> Result<Vec<PageEntry>, Fault> {
    let below = cursor_date_key(request)?;
    let mut newest: BinaryHeap<Reverse<(DateKey, String, String)>> = BinaryHeap::new();
    let prefix = request.prefix.as_deref().unwrap_or_default();
    for source in selected_sources(reader, source)? {
        reader.pages_in_order_below(&source, (prefix, ""), |found| {
            let key = date_key(&found);
            if is_match(&found) && key < below {
                newest.push(Reverse((key, found.0.into(), found.1.into())));
                if newest.len() > limit + 1 {
                    newest.pop();
                }
            }
            Ok(true)
        })?;
    }
    let mut out = Vec::with_capacity(newest.len());
    for Reverse((_, source, slug)) in newest.into_sorted_vec() {
        let (Ok(source), Ok(slug)) = (SourceId::parse(source), Slug::parse(slug)) else { continue };
        if let Some(record) = reader.page(&source, &slug)? {
            out.push((source, slug, record));
        }
    }
    Ok(out)
}

/// Returns up to `limit + 1` matching pages in the order of sources and slugs. Reads only pages
/// with the prefix.
fn in_slug_order(
    reader: &Reader,
    request: &List,
    source: Option<&SourceId>,
    limit: usize,
    is_match: impl Fn(&PageEntry) -> bool,
) -> Result<Vec<PageEntry>, Fault> {
    let (after_source, after) = cursor_slug(request)?;
    let prefix = request.prefix.as_deref().unwrap_or_default();
    let mut out = Vec::new();
    for source in selected_sources(reader, source)? {
        let after = match source.as_str().cmp(after_source) {
            Ordering::Less => continue,
            Ordering::Equal => after,
            Ordering::Greater => "",
        };
        reader.pages_in_order_below(&source, (prefix, after), |found| {
            if is_match(&found) {
                out.push(found);
            }
            Ok(out.len() <= limit)
        })?;
        if out.len() > limit {
            break;
        }
    }
    Ok(out)
}

/// Returns the named source, or all that the caller can see, in order.
fn selected_sources(reader: &Reader, source: Option<&SourceId>) -> Result<Vec<SourceId>, Fault> {
    match source {
        Some(source) => Ok(vec![source.clone()]),
        None => Ok(reader.sources()?.into_iter().map(|(source, _)| source).collect()),
    }
}

/// Returns up to `limit + 1` matching deleted pages, last deleted first.
fn deleted_pages(
    reader: &Reader,
    request: &List,
    limit: usize,
    is_match: impl Fn(&PageEntry) -> bool,
) -> Result<Vec<PageEntry>, Fault> {
    let below = cursor_date_key(request)?;
    let mut out = Vec::new();
    reader.deleted(below, |found| {
        if is_match(&found) {
            out.push(found);
        }
        Ok(out.len() <= limit)
    })?;
    Ok(out)
}

/// Returns source and slug of the page before the requested ones; empty without a cursor.
fn cursor_slug(request: &List) -> Result<(&str, &str), Fault> {
    match &request.after {
        None => Ok(("", "")),
        Some(cursor) => cursor.split_once(':').ok_or_else(|| bad_cursor(cursor)),
    }
}

/// Returns the key that the keys of the requested pages are below.
fn cursor_date_key(request: &List) -> Result<DateKey, Fault> {
    match &request.after {
        None => Ok(LATEST),
        Some(cursor) => parse_date_key(cursor).ok_or_else(|| bad_cursor(cursor)),
    }
}

/// Parses a time and a page id. Times before 1970 begin with a hyphen.
fn parse_date_key(cursor: &str) -> Option<DateKey> {
    let (at, id) = cursor.rsplit_once('-')?;
    Some((at.parse().ok()?, id.parse().ok()?))
}

fn date_key_text((at, id): DateKey) -> String {
    format!("{at}-{id}")
}

fn cursor(request: &List, page: &PageEntry) -> String {
    let (source, slug, record) = page;
    match (record.deleted_at, request.sort) {
        (Some(at), _) => date_key_text((at, record.id)),
        (None, Sort::Slug) => format!("{source}:{slug}"),
        (None, Sort::Updated) => date_key_text(date_key(page)),
    }
}

fn bad_cursor(cursor: &str) -> Fault {
    Fault::new(
        FaultCode::Usage,
        format!("\"{}\" is not a cursor of this list", cursor.escape_debug()),
    )
    .hint("pass the `next` of the previous answer to `--after`, with the same order")
}
