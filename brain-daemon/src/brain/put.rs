//! `put`: a whole page under a slug that the author chose.

use std::path::Path;

use brain_protocol::{Expect, Fault, FaultCode, Origin, Put, SourceId, WriteStatus, Written};

use super::capture::Outcome;
use super::intake::{
    Door, PUT_PAGE, STAMPS, check_expected, check_origin, new_page, origin_door, origin_label, origin_uri,
    read_document, stamp, stored_document,
};
use super::{Brain, Caller};
use crate::files::digest;
use crate::page::{Frontmatter, file_path};
use crate::store::{Applied, Content, Hash, PageRecord, StoreError};

impl Brain {
    pub(super) fn put(&self, caller: &Caller, request: &Put) -> Result<Written, Fault> {
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        self.put_through(caller, request, origin_door(&request.origin, &PUT_PAGE), uri)
    }

    /// A put through `door` of content that is from `uri`, whatever the request says of its origin: for what the brain writes itself.
    ///
    /// # Errors
    /// As a put.
    pub(super) fn put_through(
        &self,
        caller: &Caller,
        request: &Put,
        door: &'static Door,
        uri: String,
    ) -> Result<Written, Fault> {
        let now = self.clock.now();
        let document = read_document(&request.content, &origin_label(&request.origin))?;
        let empty = document.frontmatter.is_empty() && document.body.trim().is_empty();
        let (source, _) =
            self.source(caller, &self.store.read(caller.view())?, request.page.source.as_ref())?;
        let slug = request.page.slug.clone();
        let provenance = door.provenance(uri, now);
        // Worked out here, so that the one writer has only to store it.
        let mut stamped = document.clone();
        stamp(&mut stamped.frontmatter, door, now);
        let stamped_at = stamped.frontmatter.get("captured_at");
        let mut page = new_page(&slug, stamped, provenance, false)?;
        page.replaces = self.own_file(caller, &source, request)?;
        let place = source.clone();
        let (allow_empty, expect) = (request.allow_empty, request.expect.clone());
        let outcome = self.store.write(move |draft| {
            let existing = draft.page(&source, &slug)?;
            let exists = existing.is_some();
            let effect =
                effect(existing.clone(), |id| draft.content(id), &document.frontmatter, &document.body)?;
            // Who sends again what went through already has what they want, though the page is not what they expected it to
            // be before. Only a change of a certain version has not happened when somebody else wrote the same.
            let done = matches!(effect, Effect::Nothing(_)) && !matches!(expect, Some(Expect::Version(_)));
            if !done {
                check_expected(expect.as_ref(), &slug, existing.as_ref())?;
            }
            if (empty || matches!(effect, Effect::Blanks)) && !allow_empty {
                return Err(refuse_empty(slug.as_str(), exists).into());
            }
            if let Effect::Nothing(record) = effect {
                let stored = stored_document(&draft.content(record.id)?)?;
                let captured_at = stored.frontmatter.get("captured_at");
                let applied = Applied { status: WriteStatus::Unchanged, record: *record };
                return Ok(Outcome { slug: slug.clone(), applied, captured_at });
            }
            let applied = draft.write_page(&source, &slug, page.clone(), now)?;
            Ok(Outcome { slug: slug.clone(), applied, captured_at: stamped_at.clone() })
        })?;
        Ok(self.written(place, outcome, Vec::new()))
    }

    /// The digest of what was put, when it was read from the page's own file: what somebody edited there has come in with it,
    /// and may be overwritten.
    fn own_file(&self, caller: &Caller, source: &SourceId, request: &Put) -> Result<Option<Hash>, Fault> {
        let Origin::File(path) = &request.origin else { return Ok(None) };
        let slug = &request.page.slug;
        let place = match self.store.read(caller.view())?.page_even_deleted(source, slug)? {
            Some(record) => self.file_place(source, &record.source_path),
            None => self.file_place(source, &file_path(slug)),
        };
        let same = place.canonicalize().is_ok_and(|p| Path::new(path).canonicalize().is_ok_and(|q| p == q));
        Ok(same.then(|| digest(&request.content)))
    }
}

/// What writing a page would do to what is there.
pub(super) enum Effect {
    /// Nothing: it says the same already, but for its stamps.
    Nothing(Box<PageRecord>),
    /// Text would be replaced by none.
    Blanks,
    /// This.
    Writes(WriteStatus),
}

/// What writing `frontmatter` and `body` over `existing` would do. `content` fetches the text of the page with an id.
pub(super) fn effect(
    existing: Option<PageRecord>,
    content: impl FnOnce(u64) -> Result<Content, StoreError>,
    frontmatter: &Frontmatter,
    body: &str,
) -> Result<Effect, StoreError> {
    let Some(record) = existing else { return Ok(Effect::Writes(WriteStatus::Created)) };
    if record.deleted_at.is_some() {
        return Ok(Effect::Writes(WriteStatus::Restored));
    }
    let stored = content(record.id)?;
    if stored.body == body && stored_document(&stored)?.frontmatter.same_content(frontmatter, STAMPS) {
        return Ok(Effect::Nothing(Box::new(record)));
    }
    if body.trim().is_empty() && !stored.body.trim().is_empty() {
        return Ok(Effect::Blanks);
    }
    Ok(Effect::Writes(WriteStatus::Updated))
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
