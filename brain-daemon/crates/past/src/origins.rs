//! What a caller says that its text is made from.

use brain_base::caller::Caller;
use brain_protocol::{Fault, FaultCode, PageRef, Slug, SourceId};
use brain_store::Origin;

use crate::PastService;

/// Maximum number of origins of a text.
const MAX_ORIGINS: usize = 50;
/// Maximum length of an address in bytes.
const MAX_ADDRESS: usize = 1024;

impl PastService {
    /// Returns the pages, in their present versions, and the addresses that the caller names.
    ///
    /// # Errors
    /// `invalid_request` for too many or too long names; otherwise as for `get`.
    pub fn origins(&self, caller: &Caller) -> Result<Vec<Origin>, Fault> {
        let names = caller.origins();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        if names.len() > MAX_ORIGINS || names.iter().any(|name| name.len() > MAX_ADDRESS) {
            let message = format!(
                "a text can be made from {MAX_ORIGINS} pages and addresses of {MAX_ADDRESS} bytes"
            );
            return Err(Fault::new(FaultCode::InvalidRequest, message)
                .hint("name those that it depends on most"));
        }
        let reader = self.store.read(caller.visibility())?;
        names
            .iter()
            .map(|name| {
                if name.contains("://") || name.starts_with("mailto:") || name.starts_with("tel:") {
                    return Ok(Origin::Address(name.clone()));
                }
                let page = page(name)?;
                let (_, _, record) = self.pages.find(caller, &reader, &page)?;
                Ok(Origin::Page { id: record.id, version: record.version })
            })
            .collect()
    }
}

/// Parses `slug` or `source:slug`.
fn page(name: &str) -> Result<PageRef, Fault> {
    let (source, slug) = match name.split_once(':') {
        Some((source, slug)) => (Some(source), slug),
        None => (None, name),
    };
    let source = source.map(|source| SourceId::parse(source.to_owned())).transpose();
    let source = source.map_err(|e| Fault::new(FaultCode::InvalidSource, e.to_string()))?;
    let slug = Slug::parse(slug).map_err(|e| Fault::new(FaultCode::InvalidSlug, e.to_string()))?;
    Ok(PageRef { source, slug })
}
