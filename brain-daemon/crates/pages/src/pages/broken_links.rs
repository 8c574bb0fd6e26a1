//! `links --broken`: links to no page, and links that could mean several pages.
//!
//! The store counts the broken links of each page, so only pages with such links are read. After an
//! import the counts may be outdated: then the outdated links are checked first. If they cannot be
//! checked, for example while the store is read-only, every page is read instead.

use brain_protocol::{
    BrokenLink, BrokenLinks, BrokenLinksReply, Fault, Slug, SourceId, TargetStatus,
};

use crate::pages::PageService;
use brain_base::caller::{Caller, Visibility};
use brain_page as page;
use brain_store::{BrokenLinkEntry, LinkRecord, PageEntry, Reader, StoreError};

/// The maximum number of links in a reply.
const MAX_LIMIT: u32 = 1000;
/// The maximum number of candidate pages for each link.
const MAX_CANDIDATES: usize = 10;

impl PageService {
    /// Lists links that lead to no page, or to an alias of several pages.
    pub fn broken_links(
        &self,
        caller: &Caller,
        request: &BrokenLinks,
    ) -> Result<BrokenLinksReply, Fault> {
        let mut reader = self.store.read(caller.visibility())?;
        let only_source = match &request.source {
            Some(_) => Some(crate::sources::resolve(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut broken = reader.broken_links(only_source.as_ref(), limit)?;
        if broken.is_none() {
            drop(reader);
            if let Err(error) = self.store.check_links(&|| !self.stop.is_cancelled()) {
                tracing::info!(%error, "links cannot be checked; every page is read instead");
            }
            reader = self.store.read(caller.visibility())?;
            broken = reader.broken_links(only_source.as_ref(), limit)?;
        }
        let broken = match broken {
            Some(broken) => broken,
            None => reader.broken_links_of_every_page(only_source.as_ref(), limit)?,
        };
        let (missing, ambiguous) = (broken.missing, broken.ambiguous);
        let links: Vec<BrokenLink> = broken
            .links
            .into_iter()
            .map(|entry| broken_link(&reader, entry))
            .collect::<Result<_, _>>()?;
        let truncated = missing + ambiguous > links.len() as u64;
        Ok(BrokenLinksReply { links, missing, ambiguous, truncated })
    }

    /// Checks outdated links if the store has not changed since the call that returned `before`, so
    /// that later requests for broken links need not wait. A timer calls this method, and passes
    /// the result to its next call.
    #[must_use]
    pub fn check_links_when_idle(&self, before: IdleLinkCheck) -> IdleLinkCheck {
        let check = || {
            let reader = self.store.read(Visibility::All)?;
            let seq = reader.counts()?.seq;
            let is_tried = before == IdleLinkCheck { seq, is_tried: true };
            let is_due = before.seq == seq && !is_tried && !self.store.is_read_only();
            if is_due && reader.broken_links(None, 0)?.is_none() {
                drop(reader);
                self.store.check_links(&|| !self.stop.is_cancelled())?;
            }
            Ok(IdleLinkCheck { seq, is_tried: is_due || is_tried })
        };
        check().unwrap_or_else(|error: StoreError| {
            tracing::debug!(%error, "cannot check links; the next request checks them");
            IdleLinkCheck { is_tried: true, ..before }
        })
    }
}

/// The state of the store at the last call of [`crate::pages::PageService::check_links_when_idle`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdleLinkCheck {
    /// The sequence number of the store's last change.
    seq: u64,
    /// Whether a check was tried, or not needed, after that change.
    is_tried: bool,
}

fn broken_link(reader: &Reader, entry: BrokenLinkEntry) -> Result<BrokenLink, StoreError> {
    let BrokenLinkEntry { source, slug, link, is_ambiguous } = entry;
    Ok(BrokenLink {
        slug,
        candidates: candidates(reader, &source, &link)?,
        source_id: source,
        target: link.raw,
        kind: link.kind,
        status: if is_ambiguous { TargetStatus::Ambiguous } else { TargetStatus::Missing },
    })
}

/// Returns at most [`MAX_CANDIDATES`] pages that a link may mean: pages of the target's source with
/// the target's name, else pages whose name begins with it. `own` is the source of the link's page.
fn candidates(reader: &Reader, own: &SourceId, link: &LinkRecord) -> Result<Vec<Slug>, StoreError> {
    let named_source = link.source.as_deref().and_then(|source| SourceId::parse(source).ok());
    let source = named_source.as_ref().unwrap_or(own);
    let last_segments =
        link.slugs.iter().filter_map(|slug| slug.rsplit('/').next()).map(page::normalize_name);
    let names: Vec<String> =
        link.name.iter().cloned().chain(last_segments).filter(|name| !name.is_empty()).collect();
    let mut out: Vec<Slug> = Vec::new();
    let mut add = |found: Vec<PageEntry>| {
        for (_, slug, _) in found {
            if out.len() < MAX_CANDIDATES && !out.contains(&slug) {
                out.push(slug);
            }
        }
        out.is_empty()
    };
    let mut is_empty = true;
    for name in &names {
        is_empty = add(reader.pages_by_name(source, name, MAX_CANDIDATES)?);
    }
    for name in names.iter().filter(|_| is_empty) {
        add(reader.named_longer(source, name, MAX_CANDIDATES)?);
    }
    Ok(out)
}
