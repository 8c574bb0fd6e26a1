//! `random`: reads a random page.

use brain_protocol::{Command, Fault, FaultCode, Get, Page, PageRef, Random, hint};

use crate::pages::PageService;
use brain_base::caller::Caller;
use brain_page as page;

impl PageService {
    /// Reads a random page among those that match the filters.
    pub fn random(&self, caller: &Caller, request: &Random) -> Result<Page, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let source = crate::sources::resolve_named(caller, &reader, request.source.as_ref())?;
        let tag = request.tag.as_deref().map(page::normalize_tag);
        let page_type = request.page_type.as_deref().map(|t| t.trim().to_lowercase());
        let mut ids = Vec::new();
        reader.pages_in_order(("", ""), |(of, _, record)| {
            let is_match = source.as_ref().is_none_or(|source| *source == of)
                && page_type.as_ref().is_none_or(|t| record.page_type == *t)
                && tag.as_ref().is_none_or(|tag| record.tags.contains(tag));
            ids.extend(is_match.then_some(record.id));
            Ok(true)
        })?;
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes).map_err(|error| {
            Fault::new(FaultCode::Internal, format!("no page can be drawn: {error}"))
        })?;
        let index = (u64::from_le_bytes(bytes) % (ids.len() as u64).max(1)) as usize;
        let page = match ids.get(index) {
            Some(&id) => reader.by_id(id)?,
            None => None,
        };
        let Some((source, slug, _)) = page else {
            return Err(Fault::new(FaultCode::NotFound, "no page matches").hint(hint!(
                "list pages: {}; list tags: {}",
                Command::List,
                Command::Tags
            )));
        };
        let page = PageRef { source: Some(source), slug };
        self.get(caller, &Get { page, version: None })
    }
}
