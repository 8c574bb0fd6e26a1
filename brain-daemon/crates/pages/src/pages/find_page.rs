//! Finds the page that a request names, in the sources that its caller can see.
//!
//! A slug without a source means the page of the usual source, else the only page with that slug
//! in other sources. Requests that only read may shorten the slug, as git shortens hashes: to a
//! unique beginning of the slug or of its last part.

use brain_protocol::{Command, Fault, FaultCode, PageRef, Precondition, Put, Slug, SourceId, hint};

use super::similar_pages::{self, SimilarPage};
use crate::pages::PageService;
use crate::preferred_source::preferred;
use brain_base::caller::Caller;
use brain_base::clock::local_minute;
use brain_page as page;
use brain_store::{LastHolder, PageEntry, PageRecord, RECOVERY_MS, Reader};

/// The minimum length of a shortened slug in bytes.
const MIN_BEGINNING: usize = 3;
/// The maximum number of pages that an error lists.
const MAX_LISTED: usize = 10;

/// The sources in which a request's page may be.
struct PageLookup {
    /// The source that is searched first if a request names none.
    usual: SourceId,
    /// The named source, or all visible ones, the usual one first.
    sources: Vec<SourceId>,
    /// Whether the request named the source.
    is_named: bool,
}

impl PageLookup {
    fn of(caller: &Caller, reader: &Reader, page_ref: &PageRef) -> Result<Self, Fault> {
        let visible = reader.sources()?;
        let usual = preferred(&visible);
        if page_ref.source.is_some() {
            let named = crate::sources::resolve(caller, reader, page_ref.source.as_ref())?.0;
            return Ok(Self { usual, sources: vec![named], is_named: true });
        }
        let mut sources: Vec<SourceId> = visible.into_iter().map(|(id, _)| id).collect();
        sources.sort_by_key(|id| *id != usual);
        Ok(Self { usual, sources, is_named: false })
    }

    /// Returns the page's name as the caller can write it.
    fn name(&self, source: &SourceId, slug: &Slug) -> String {
        match *source == self.usual {
            true => slug.to_string(),
            false => format!("{source}:{slug}"),
        }
    }

    /// Returns the page of exactly this slug, deleted or not. A page of the usual source comes
    /// first. Among other sources, deleted pages come first if `prefer_deleted` is set, else active
    /// ones.
    fn exact(
        &self,
        reader: &Reader,
        slug: &Slug,
        prefer_deleted: bool,
    ) -> Result<Option<(SourceId, PageRecord)>, Fault> {
        let (mut first_choice, mut others) = (Vec::new(), Vec::new());
        for source in &self.sources {
            let Some(record) = reader.page_even_deleted(source, slug)? else { continue };
            if self.is_named || *source == self.usual {
                return Ok(Some((source.clone(), record)));
            }
            match record.deleted_at.is_some() == prefer_deleted {
                true => first_choice.push((source.clone(), record)),
                false => others.push((source.clone(), record)),
            }
        }
        let mut found = if first_choice.is_empty() { others } else { first_choice };
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => {
                let names = found.iter().map(|(source, _)| self.name(source, slug)).collect();
                let message = format!("several sources have a page \"{slug}\"");
                Err(ambiguous_fault(&message, names))
            }
        }
    }

    /// Returns the only page whose slug or last part begins with `beginning`. If there are several,
    /// returns the only one whose last part is `beginning`.
    fn shortened(&self, reader: &Reader, beginning: &Slug) -> Result<Option<PageEntry>, Fault> {
        if beginning.as_str().len() < MIN_BEGINNING {
            return Ok(None);
        }
        let mut found: Vec<PageEntry> = Vec::new();
        for source in &self.sources {
            found.extend(reader.beginning_with(source, beginning.as_str(), MAX_LISTED + 1)?);
        }
        let mut same_name = found.iter().filter(|page| page.1.name() == beginning.as_str());
        if let (Some(one), None) = (same_name.next(), same_name.next()) {
            return Ok(Some(one.clone()));
        }
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => {
                let names = found.iter().map(|page| self.name(&page.0, &page.1)).collect();
                let message = format!("several pages begin with \"{beginning}\"");
                Err(ambiguous_fault(&message, names))
            }
        }
    }

    /// Returns the fault of a missing page, with pages that exist and are similar.
    fn missing(&self, reader: &Reader, slug: &Slug, is_read: bool) -> Fault {
        let searched = match self.sources.as_slice() {
            [one] => format!("source \"{one}\""),
            all => {
                let names: Vec<&str> = all.iter().map(SourceId::as_str).collect();
                format!("the sources {}", names.join(", "))
            }
        };
        let message = format!("there is no page \"{slug}\" in {searched}");
        // Without suggestions, the message is still correct.
        let similar = similar_pages::find(reader, &self.usual, slug).unwrap_or_default();
        let names: Vec<String> =
            similar.iter().map(|page| self.name(&page.source, &page.slug)).collect();
        let Some(first) = names.first() else {
            let words = slug.name().replace(['-', '_'], " ");
            return Fault::new(FaultCode::NotFound, message).hint(hint!(
                "look for it: {}",
                Command::Search { words: Some(words.to_string()) }
            ));
        };
        let hint = match is_read {
            true => {
                hint!("to read the first one: {}", Command::Get { page: Some(first.to_string()) })
            }
            false => format!("a change needs the whole slug, for example {first}").into(),
        };
        let message = format!("{message}; similar pages: {}", names.join(", "));
        Fault::new(FaultCode::NotFound, message).hint(hint)
    }
}

impl PageService {
    /// Returns the active page that a reading request names, by its slug or a unique beginning.
    ///
    /// # Errors
    /// `not_found`, with similar pages if the slug does not exist, `ambiguous_slug` with the
    /// candidates, `unknown_source`, or the store cannot be read.
    pub fn find(
        &self,
        caller: &Caller,
        reader: &Reader,
        page_ref: &PageRef,
    ) -> Result<PageEntry, Fault> {
        let lookup = PageLookup::of(caller, reader, page_ref)?;
        let slug = &page_ref.slug;
        if let Some((source, record)) = lookup.exact(reader, slug, false)? {
            let record = check_active(page_ref, record)?;
            return Ok((source, slug.clone(), record));
        }
        check_damage(reader, &lookup, slug)?;
        let found = lookup.shortened(reader, slug)?;
        found.ok_or_else(|| lookup.missing(reader, slug, true))
    }

    /// Returns the active page that a request names by its whole slug. Every change needs it.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn active(
        &self,
        caller: &Caller,
        reader: &Reader,
        page_ref: &PageRef,
    ) -> Result<(SourceId, PageRecord), Fault> {
        let lookup = PageLookup::of(caller, reader, page_ref)?;
        match lookup.exact(reader, &page_ref.slug, false)? {
            Some((source, record)) => Ok((source, check_active(page_ref, record)?)),
            None => {
                check_damage(reader, &lookup, &page_ref.slug)?;
                Err(lookup.missing(reader, &page_ref.slug, false))
            }
        }
    }

    /// Returns the source of a page that a request deletes or restores. With `prefer_deleted`, a
    /// deleted page comes before an active one of another source.
    ///
    /// # Errors
    /// As [`Self::find`], except that a deleted page is no error.
    pub(super) fn source_of(
        &self,
        caller: &Caller,
        page_ref: &PageRef,
        prefer_deleted: bool,
    ) -> Result<SourceId, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let lookup = PageLookup::of(caller, &reader, page_ref)?;
        match lookup.exact(&reader, &page_ref.slug, prefer_deleted)? {
            Some((source, _)) => Ok(source),
            None => {
                check_damage(&reader, &lookup, &page_ref.slug)?;
                Err(lookup.missing(&reader, &page_ref.slug, false))
            }
        }
    }

    /// Returns the sources in which a request's page may be: the named one, or all that the caller
    /// can see, the usual one first.
    ///
    /// # Errors
    /// `unknown_source`, or the store cannot be read.
    pub fn sources_of(
        &self,
        caller: &Caller,
        reader: &Reader,
        page_ref: &PageRef,
    ) -> Result<Vec<SourceId>, Fault> {
        Ok(PageLookup::of(caller, reader, page_ref)?.sources)
    }

    /// Returns the page that a request about the past names by its whole slug: an active one, a
    /// deleted one, or else the one that had this slug last, before it was moved.
    ///
    /// # Errors
    /// As [`Self::find`], except that a deleted page is no error. `purged` if the page was purged.
    pub fn find_past(
        &self,
        caller: &Caller,
        reader: &Reader,
        page_ref: &PageRef,
    ) -> Result<PageEntry, Fault> {
        let lookup = PageLookup::of(caller, reader, page_ref)?;
        let slug = &page_ref.slug;
        if let Some((source, record)) = lookup.exact(reader, slug, false)? {
            return Ok((source, slug.clone(), record));
        }
        for source in &lookup.sources {
            match reader.last_holder(source.as_str(), slug.as_str())? {
                Some(LastHolder::Page(id)) => {
                    if let Some(found) = reader.by_id_including_deleted(id)? {
                        return Ok(found);
                    }
                }
                Some(LastHolder::Purged(at)) => {
                    let message = format!("\"{slug}\" was purged on {}", local_minute(at));
                    return Err(Fault::new(FaultCode::Purged, message)
                        .hint("nothing of its text is left; a backup from before may have it"));
                }
                None => {}
            }
        }
        Err(lookup.missing(reader, slug, false))
    }

    /// Returns the page that a purge names by its whole slug, deleted or not.
    ///
    /// # Errors
    /// As [`Self::find`], except that a deleted page is no error. A purge cannot be undone, so a
    /// deleted and an active page of the slug in two sources are ambiguous, too.
    pub fn page_to_purge(
        &self,
        caller: &Caller,
        page_ref: &PageRef,
    ) -> Result<(SourceId, PageRecord), Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (lookup, slug) = (PageLookup::of(caller, &reader, page_ref)?, &page_ref.slug);
        let active = lookup.exact(&reader, slug, false)?;
        let deleted = lookup.exact(&reader, slug, true)?;
        match (active, deleted) {
            (Some((one, _)), Some((other, _))) if one != other => {
                let names = vec![lookup.name(&one, slug), lookup.name(&other, slug)];
                Err(ambiguous_fault(&format!("several sources have a page \"{slug}\""), names))
            }
            (Some(found), _) => Ok(found),
            (None, _) => {
                check_damage(&reader, &lookup, slug)?;
                Err(lookup.missing(&reader, slug, false))
            }
        }
    }

    /// Returns existing pages that `slug` may mean, the most similar first.
    pub fn similar(&self, caller: &Caller, slug: &Slug) -> Result<Vec<SimilarPage>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let usual = preferred(&reader.sources()?);
        Ok(similar_pages::find(&reader, &usual, slug)?)
    }

    /// Returns a warning if a page was created without naming a source, and another source has a
    /// page with this slug. The caller may have meant that page.
    pub(super) fn same_slug_warning(
        &self,
        caller: &Caller,
        created: &PageRef,
        named_source: Option<&SourceId>,
    ) -> Result<Option<String>, Fault> {
        if named_source.is_some() {
            return Ok(None);
        }
        let reader = self.store.read(caller.visibility())?;
        for (source, _) in reader.sources()? {
            let is_own = created.source.as_ref() == Some(&source);
            if !is_own && reader.page(&source, &created.slug)?.is_some() {
                let other = PageRef::new(&source, &created.slug);
                return Ok(Some(format!(
                    "this is a new page; \"{other}\" has the same slug in another source"
                )));
            }
        }
        Ok(None)
    }
}

/// Returns the source of a put: the named source. Without one, the source of the page that was
/// read, if the put expects a hash or version; else the usual source.
///
/// # Errors
/// `unknown_source`, `ambiguous_slug` if several sources may have the page that was read, or the
/// store cannot be read.
pub(super) fn written_source(
    caller: &Caller,
    reader: &Reader,
    request: &Put,
) -> Result<SourceId, Fault> {
    let PageRef { source, slug } = &request.page;
    let was_read = matches!(request.expect, Some(Precondition::Hash(_) | Precondition::Version(_)));
    if source.is_none() && was_read {
        let lookup = PageLookup::of(caller, reader, &request.page)?;
        if let Some((source, _)) = lookup.exact(reader, slug, false)? {
            return Ok(source);
        }
    }
    Ok(crate::sources::resolve(caller, reader, source.as_ref())?.0)
}

/// Returns the record of an active page, and the fault `not_found` for a deleted one.
fn check_active(page_ref: &PageRef, record: PageRecord) -> Result<PageRecord, Fault> {
    let Some(at) = record.deleted_at else { return Ok(record) };
    let message = format!("the page \"{}\" is deleted", page_ref.slug);
    Err(Fault::new(FaultCode::NotFound, message).hint(hint!(
        "{} brings it back until {}",
        Command::Restore { page: Some(page_ref.to_string()) },
        local_minute(at + RECOVERY_MS)
    )))
}

/// Returns the error of a damaged page. Its slug finds no page, but its file's path does.
fn check_damage(reader: &Reader, lookup: &PageLookup, slug: &Slug) -> Result<(), Fault> {
    for source in &lookup.sources {
        reader.page_at(source, &page::file_path(slug))?;
    }
    Ok(())
}

/// Returns the fault that lists the candidates.
fn ambiguous_fault(message: &str, mut names: Vec<String>) -> Fault {
    let more = if names.len() > MAX_LISTED { ", …" } else { "" };
    names.truncate(MAX_LISTED);
    let message = format!("{message}: {}{more}", names.join(", "));
    Fault::new(FaultCode::AmbiguousSlug, message).hint("name one of them as it is listed")
}
