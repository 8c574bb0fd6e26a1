//! `orphans`: lists pages that no link connects with another page.

use brain_protocol::{Fault, FaultCode, Orphans, Pages};

use crate::pages::PageService;
use crate::preferred_source::preferred;
use brain_base::caller::Caller;
use brain_store::{PageEntry, Reader, Resolution, StoreError};

const MAX_LIMIT: u32 = 1000;

impl PageService {
    /// Lists pages without links to or from another page.
    pub fn orphans(&self, caller: &Caller, request: &Orphans) -> Result<Pages, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = crate::sources::resolve_named(caller, &reader, request.source.as_ref())?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut to_skip = request.skip;
        let mut found: Vec<PageEntry> = Vec::new();
        reader.pages_in_order(("", ""), |page| {
            let is_in_source = source.as_ref().is_none_or(|source| *source == page.0);
            if is_in_source && is_orphan(&reader, &page)? {
                match to_skip {
                    0 => found.push(page),
                    _ => to_skip -= 1,
                }
            }
            Ok(found.len() <= limit && !self.stop.is_cancelled())
        })?;
        let truncated = found.len() > limit;
        if !truncated && self.stop.is_cancelled() {
            return Err(Fault::new(FaultCode::Stopping, "the daemon is stopping"));
        }
        found.truncate(limit);
        let pages = found.into_iter().map(|found| self.page_row(caller, found)).collect();
        let default_source = preferred(&reader.sources()?);
        Ok(Pages { pages, truncated, next: None, default_source, damaged: Vec::new() })
    }
}

/// Returns whether no link leads from the page to another page, and none from another page to it.
fn is_orphan(reader: &Reader, page: &PageEntry) -> Result<bool, StoreError> {
    let (source, slug, record) = page;
    for link in reader.derived(record.id)?.links {
        if let Resolution::Page(target) = reader.resolve(&link, (source, slug))?
            && target.2.id != record.id
        {
            return Ok(false);
        }
    }
    Ok(reader.backlinks(page)?.iter().all(|(from, _)| from.2.id == record.id))
}
