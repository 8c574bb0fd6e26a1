//! `links --broken`: what needs somebody, because it leads nowhere or to several pages.

use brain_protocol::{BrokenLink, BrokenLinks, BrokenLinksReply, Fault, Slug, SourceId};

use super::{Brain, Caller};
use brain_page as page;
use brain_store::{Found, LinkRecord, Reader, Resolution, StoreError};

const MAX_LIMIT: u32 = 1000;
/// How many pages that may be meant are named for each link.
const MAX_CANDIDATES: usize = 10;

impl Brain {
    pub(super) fn broken_links(
        &self,
        caller: &Caller,
        request: &BrokenLinks,
    ) -> Result<BrokenLinksReply, Fault> {
        let reader = self.store.read(caller.view())?;
        let only = match &request.source {
            Some(_) => Some(self.source(caller, &reader, request.source.as_ref())?.0),
            None => None,
        };
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let (mut links, mut missing, mut ambiguous) = (Vec::new(), 0, 0);
        reader.in_order((only.as_ref().map_or("", SourceId::as_str), ""), |(source, slug, record)| {
            if only.as_ref().is_some_and(|only| *only != source) {
                return Ok(false);
            }
            for link in reader.derived(record.id)?.links {
                let (status, count) = match reader.resolve(&link, &source)? {
                    Resolution::Page(_) => continue,
                    Resolution::Missing if page::is_attachment(&link.raw) => continue,
                    Resolution::Missing => ("missing", &mut missing),
                    Resolution::Ambiguous => ("ambiguous", &mut ambiguous),
                };
                *count += 1;
                if links.len() < limit {
                    links.push(BrokenLink {
                        slug: slug.clone(),
                        source_id: source.clone(),
                        candidates: candidates(&reader, &source, &link)?,
                        target: link.raw,
                        kind: link.kind,
                        status: status.into(),
                    });
                }
            }
            Ok(true)
        })?;
        let truncated = missing + ambiguous > links.len() as u64;
        Ok(BrokenLinksReply { links, missing, ambiguous, truncated })
    }
}

/// The pages that are called as the link's target is, wherever they are in the source that it means; else those whose name
/// goes on behind it.
fn candidates(reader: &Reader, own: &SourceId, link: &LinkRecord) -> Result<Vec<Slug>, StoreError> {
    let named = link.source.as_deref().and_then(|source| SourceId::parse(source).ok());
    let source = named.as_ref().unwrap_or(own);
    let ends = link.slugs.iter().filter_map(|slug| slug.rsplit('/').next()).map(page::normal_name);
    let names: Vec<String> = link.name.iter().cloned().chain(ends).filter(|name| !name.is_empty()).collect();
    let mut out: Vec<Slug> = Vec::new();
    let mut take = |found: Vec<Found>| {
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
