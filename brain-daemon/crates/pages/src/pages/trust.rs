//! `trust`: makes all lines of a page the owner's.

use brain_protocol::{Fault, Trust, WriteReply};

use crate::pages::capture::PageWrite;
use crate::pages::{PageService, no_page};
use crate::provenance::{PUT_PAGE, is_from_outside};
use crate::write_page::{build_new_page, stored_document};
use brain_base::caller::Caller;
use brain_store::{LineChange, Provenance, StoreError, WrittenPage};

/// The uri of the author of a version that `brain trust` wrote.
const TRUST_URI: &str = "cli:trust";

impl PageService {
    /// Makes a page and all its lines the owner's. The text stays; the former version keeps its
    /// marks.
    pub fn trust(&self, caller: &Caller, request: &Trust) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = self.active(caller, &reader, &request.page)?;
        drop(reader);
        let (target, slug) = (source.clone(), request.page.slug.clone());
        let outcome = self.files.write_page((&target, &request.page.slug), move |transaction| {
            let record =
                transaction.page(&source, &slug)?.filter(|record| record.deleted_at.is_none());
            let record = record.ok_or_else(|| StoreError::from(no_page(&source, &slug)))?;
            let document = stored_document(&transaction.content(&record)?)?;
            let captured_at = document.frontmatter.get("captured_at");
            let is_outside = is_from_outside(record.provenance.source_kind.as_deref());
            if !is_outside && record.marks.is_empty() {
                let write = WrittenPage::unchanged(record);
                return Ok(PageWrite { slug: slug.clone(), write, captured_at });
            }
            let previous = record.provenance;
            let provenance = match is_outside {
                true => Provenance {
                    source_uri: previous.source_uri.clone(),
                    ..PUT_PAGE.provenance(TRUST_URI.into(), now)
                },
                false => previous.clone(),
            };
            let change = (PUT_PAGE.author(TRUST_URI.into()), LineChange::ByPageAuthor);
            let page = build_new_page(&slug, document, provenance, Some(&previous), change)?;
            let write = transaction.write_page(&source, &slug, &page, now)?;
            Ok(PageWrite { slug: slug.clone(), write, captured_at })
        })?;
        Ok(self.write_reply(target, outcome, Vec::new()))
    }
}
