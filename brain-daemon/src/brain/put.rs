//! `put`: a whole page under a slug that the author chose.

use brain_protocol::{Fault, FaultCode, Put, WriteStatus, Written};

use super::capture::Outcome;
use super::intake::{
    PUT_PAGE, STAMPS, new_page, origin_label, origin_uri, read_document, stamp, stored_document,
};
use super::{Brain, Caller};
use crate::page::Frontmatter;
use crate::store::{Applied, Content, Draft, StoreError};

impl Brain {
    pub(super) fn put(&self, caller: &Caller, request: &Put) -> Result<Written, Fault> {
        let now = self.clock.now();
        let document = read_document(&request.content, &origin_label(&request.origin))?;
        let empty = document.frontmatter.is_empty() && document.body.trim().is_empty();
        let (source, _) =
            self.source(caller, &self.store.read(caller.view())?, request.page.source.as_ref())?;
        let slug = request.page.slug.clone();
        let provenance = PUT_PAGE.provenance(origin_uri(&request.origin), now);
        // Worked out here, so that the one writer has only to store it.
        let mut stamped = document.clone();
        stamp(&mut stamped.frontmatter, &PUT_PAGE, now);
        let stamped_at = stamped.frontmatter.get("captured_at");
        let page = new_page(&slug, stamped, provenance, false)?;
        let place = source.clone();
        let allow_empty = request.allow_empty;
        let outcome = self.store.write(move |draft| {
            let existing = draft.page(&source, &slug)?;
            if empty && !allow_empty {
                return Err(refuse_empty(slug.as_str(), existing.is_some()).into());
            }
            if let Some(record) = &existing
                && record.deleted_at.is_none()
                && same_page(draft, record.id, &document.frontmatter, &document.body)?
            {
                let stored = stored_document(&draft.content(record.id)?)?;
                let captured_at = stored.frontmatter.get("captured_at");
                let applied = Applied { status: WriteStatus::Unchanged, record: record.clone() };
                return Ok(Outcome { slug: slug.clone(), applied, captured_at });
            }
            let applied = draft.write_page(&source, &slug, page.clone(), now)?;
            Ok(Outcome { slug: slug.clone(), applied, captured_at: stamped_at.clone() })
        })?;
        Ok(self.written(place, outcome, Vec::new()))
    }
}

/// Whether the stored page says the same: body to the letter, frontmatter but for its stamps.
pub(super) fn same_page(
    draft: &Draft<'_>,
    id: u64,
    frontmatter: &Frontmatter,
    body: &str,
) -> Result<bool, StoreError> {
    Ok(says_the_same(&draft.content(id)?, frontmatter, body)?)
}

/// Whether a stored page and a new one differ in their stamps at most.
pub(super) fn says_the_same(stored: &Content, frontmatter: &Frontmatter, body: &str) -> Result<bool, Fault> {
    if stored.body != body {
        return Ok(false);
    }
    Ok(stored_document(stored)?.frontmatter.same_content(frontmatter, STAMPS))
}

fn refuse_empty(slug: &str, exists: bool) -> Fault {
    let (message, hint) = if exists {
        (
            format!("empty content would blank the page \"{slug}\"; it was left as it is"),
            "`--allow-empty` does it (the present version is kept); `brain delete` removes the page",
        )
    } else {
        (
            format!("there is nothing to put under \"{slug}\""),
            "give the page on standard input or with `--file PATH`",
        )
    };
    Fault::new(FaultCode::EmptyContent, message).hint(hint)
}
