//! `links --broken`: what needs somebody, because it leads nowhere or to several pages.
//!
//! The store keeps counts of broken links by page, so that no page without one is read. After an
//! import, or while the store cannot be written, they may be behind: then the links of many pages
//! are checked first, or all of them are read.

use brain_protocol::{BrokenLink, BrokenLinks, BrokenLinksReply, Fault, Slug, SourceId};

use crate::{Caller, PageService};
use brain_base::caller::Visibility;
use brain_page as page;
use brain_store::{BrokenLinkEntry, LinkRecord, PageEntry, Reader, StoreError};

const MAX_LIMIT: u32 = 1000;
/// How many pages that may be meant are named for each link.
const MAX_CANDIDATES: usize = 10;

impl PageService {
    pub(crate) fn broken_links(
        &self,
        caller: &Caller,
        request: &BrokenLinks,
    ) -> Result<BrokenLinksReply, Fault> {
        let mut reader = self.store.read(caller.visibility())?;
        let only = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut broken = reader.broken_links(only.as_ref(), limit)?;
        if broken.is_none() {
            drop(reader);
            if let Err(error) = self.store.check_links(&|| !self.stop.is_cancelled()) {
                tracing::info!(%error, "links cannot be checked; every page is read instead");
            }
            reader = self.store.read(caller.visibility())?;
            broken = reader.broken_links(only.as_ref(), limit)?;
        }
        let broken = match broken {
            Some(broken) => broken,
            None => reader.broken_links_of_every_page(only.as_ref(), limit)?,
        };
        let (missing, ambiguous) = (broken.missing, broken.ambiguous);
        let links: Vec<BrokenLink> = broken
            .links
            .into_iter()
            .map(|at| broken_link(&reader, at))
            .collect::<Result<_, _>>()?;
        let truncated = missing + ambiguous > links.len() as u64;
        Ok(BrokenLinksReply { links, missing, ambiguous, truncated })
    }

    /// Checks links that many changes may have broken or mended, once nothing has changed since the
    /// call that returned `before`, so that nobody who asks for broken links waits for it. For a
    /// timer; returns what the next call is given.
    #[must_use]
    pub fn check_links_at_rest(&self, before: LinksAtRest) -> LinksAtRest {
        let work = || {
            let reader = self.store.read(Visibility::All)?;
            let seq = reader.counts()?.seq;
            let is_tried = before == LinksAtRest { seq, is_tried: true };
            let is_due = before.seq == seq && !is_tried && !self.store.is_read_only();
            if is_due && reader.broken_links(None, 0)?.is_none() {
                drop(reader);
                self.store.check_links(&|| !self.stop.is_cancelled())?;
            }
            Ok(LinksAtRest { seq, is_tried: is_due || is_tried })
        };
        work().unwrap_or_else(|error: StoreError| {
            tracing::debug!(%error, "links are checked when somebody asks");
            LinksAtRest { is_tried: true, ..before }
        })
    }
}

/// What [`crate::PageService::check_links_at_rest`] saw last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinksAtRest {
    /// The store's last change.
    seq: u64,
    /// Whether links were checked since.
    is_tried: bool,
}

fn broken_link(reader: &Reader, at: BrokenLinkEntry) -> Result<BrokenLink, StoreError> {
    let BrokenLinkEntry { source, slug, link, is_ambiguous } = at;
    Ok(BrokenLink {
        slug,
        candidates: candidates(reader, &source, &link)?,
        source_id: source,
        target: link.raw,
        kind: link.kind,
        status: if is_ambiguous { "ambiguous" } else { "missing" }.into(),
    })
}

/// The pages that are called as the link's target is, wherever they are in the source that it
/// means; else those whose name goes on behind it.
fn candidates(reader: &Reader, own: &SourceId, link: &LinkRecord) -> Result<Vec<Slug>, StoreError> {
    let named = link.source.as_deref().and_then(|source| SourceId::parse(source).ok());
    let source = named.as_ref().unwrap_or(own);
    let ends =
        link.slugs.iter().filter_map(|slug| slug.rsplit('/').next()).map(page::normalize_name);
    let names: Vec<String> =
        link.name.iter().cloned().chain(ends).filter(|name| !name.is_empty()).collect();
    let mut out: Vec<Slug> = Vec::new();
    let mut take = |found: Vec<PageEntry>| {
        for (_, slug, _) in found {
            if out.len() < MAX_CANDIDATES && !out.contains(&slug) {
                out.push(slug);
            }
        }
        out.is_empty()
    };
    let mut none = true;
    for name in &names {
        none = take(reader.named(source, name, MAX_CANDIDATES)?);
    }
    for name in names.iter().filter(|_| none) {
        take(reader.named_longer(source, name, MAX_CANDIDATES)?);
    }
    Ok(out)
}
