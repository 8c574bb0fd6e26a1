//! `put`: a whole page under a slug that the author chose.

use std::path::Path;

use brain_protocol::{
    Fault, FaultCode, Origin, Precondition, Put, SourceId, WriteReply, WriteStatus,
};

use crate::pages::capture::Outcome;
use crate::provenance::{Door, PUT_PAGE, STAMPS, receive_claims};
use crate::write_page::{
    check_expected, check_origin, origin_door, origin_label, origin_uri, read_document,
    stored_document, written_page,
};
use crate::{Caller, PageService};
use brain_page::{Document, Frontmatter, file_path};
use brain_store::files::digest;
use brain_store::{
    Content, Hash, NewPage, PageRecord, Provenance, StoreError, WrittenPage, unless_damaged,
};

/// A put, worked out for what it replaces.
struct Prepared {
    /// The provenance of the page that it replaces.
    known: Option<Provenance>,
    /// What the text says, without claims that are not so and without stamps.
    frontmatter: Frontmatter,
    page: NewPage,
    captured_at: Option<String>,
}

impl PageService {
    pub(crate) fn put(&self, caller: &Caller, request: &Put) -> Result<WriteReply, Fault> {
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        self.put_through(caller, request, origin_door(&request.origin, &PUT_PAGE), uri)
    }

    /// A put through `door` of content that is from `uri`, whatever the request says of its origin:
    /// for what the brain writes itself.
    ///
    /// # Errors
    /// As a put.
    pub(crate) fn put_through(
        &self,
        caller: &Caller,
        request: &Put,
        door: &'static Door,
        uri: String,
    ) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let document = read_document(&request.content, &origin_label(&request.origin))?;
        let empty = document.frontmatter.is_empty() && document.body.trim().is_empty();
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, request.page.source.as_ref())?;
        let slug = request.page.slug.clone();
        let known = reader.page_even_deleted(&source, &slug)?.map(|record| record.provenance);
        drop(reader);
        let (named, replaces) = (slug.clone(), self.own_file(caller, &source, request)?);
        let (Document { frontmatter: given, body }, text) = (document.clone(), document);
        let prepare = move |known: Option<Provenance>| {
            let Document { mut frontmatter, body } = text.clone();
            let provenance = door.of_text(&frontmatter, uri.clone(), now, known.as_ref());
            receive_claims(&mut frontmatter, &provenance, known.as_ref());
            let document = Document { frontmatter: frontmatter.clone(), body };
            let captured_at = frontmatter.get("captured_at");
            let page = written_page(&named, document, provenance, known.as_ref(), false)?;
            let page = NewPage { replaces, ..page };
            Ok::<_, Fault>(Prepared { known, frontmatter, page, captured_at })
        };
        // Worked out here, so that the one writer has only to store it.
        let likely = prepare(known)?;
        let place = source.clone();
        let (allow_empty, expect) = (request.allow_empty, request.expect.clone());
        let outcome = self.store.write(move |draft| {
            let existing = draft.page(&source, &slug)?;
            let exists = existing.is_some();
            let known = existing.as_ref().map(|record| &record.provenance);
            let anew = match known == likely.known.as_ref() {
                true => None,
                false => Some(prepare(known.cloned())?),
            };
            let Prepared { frontmatter, page, captured_at, .. } = anew.as_ref().unwrap_or(&likely);
            let effect = effect(
                existing.clone(),
                |page| draft.content(page),
                &[&given, frontmatter],
                &body,
            )?;
            // Who sends again what went through already has what they want, though the page is not
            // what they expected it to be before. Only a change of a certain version has not
            // happened when somebody else wrote the same.
            let done = matches!(effect, Effect::Nothing(_))
                && !matches!(expect, Some(Precondition::Version(_)));
            if !done {
                check_expected(expect.as_ref(), &slug, existing.as_ref())?;
            }
            if (empty || matches!(effect, Effect::Blanks)) && !allow_empty {
                return Err(refuse_empty(slug.as_str(), exists).into());
            }
            if let Effect::Nothing(record) = effect {
                let stored = stored_document(&draft.content(&record)?)?;
                let captured_at = stored.frontmatter.get("captured_at");
                let applied = WrittenPage { status: WriteStatus::Unchanged, record: *record };
                return Ok(Outcome { slug: slug.clone(), applied, captured_at });
            }
            let applied = draft.write_page(&source, &slug, page.clone(), now)?;
            Ok(Outcome { slug: slug.clone(), applied, captured_at: captured_at.clone() })
        })?;
        Ok(self.written(place, outcome, Vec::new()))
    }

    /// The digest of what was put, when it was read from the page's own file: what somebody edited
    /// there has come in with it, and may be overwritten.
    fn own_file(
        &self,
        caller: &Caller,
        source: &SourceId,
        request: &Put,
    ) -> Result<Option<Hash>, Fault> {
        let Origin::File(path) = &request.origin else { return Ok(None) };
        let slug = &request.page.slug;
        let place = match self.store.read(caller.visibility())?.page_even_deleted(source, slug)? {
            Some(record) => self.files.file_place(source, &record.source_path),
            None => self.files.file_place(source, &file_path(slug)),
        };
        let same = place
            .canonicalize()
            .is_ok_and(|p| Path::new(path).canonicalize().is_ok_and(|q| p == q));
        Ok(same.then(|| digest(&request.content)))
    }
}

/// What writing a page would do to what is there.
pub(crate) enum Effect {
    /// Nothing: it says the same already, but for its stamps.
    Nothing(Box<PageRecord>),
    /// Text would be replaced by none.
    Blanks,
    /// This.
    Writes(WriteStatus),
}

/// What writing `body` with one of these frontmatters, which mean the same, over `existing` would
/// do. `content` fetches the text of a page.
pub(crate) fn effect(
    existing: Option<PageRecord>,
    content: impl FnOnce(&PageRecord) -> Result<Content, StoreError>,
    frontmatters: &[&Frontmatter],
    body: &str,
) -> Result<Effect, StoreError> {
    let Some(record) = existing else { return Ok(Effect::Writes(WriteStatus::Created)) };
    if record.deleted_at.is_some() {
        return Ok(Effect::Writes(WriteStatus::Restored));
    }
    // What is damaged is made whole by it.
    let Some(stored) = unless_damaged(content(&record))? else {
        return Ok(Effect::Writes(WriteStatus::Updated));
    };
    if stored.body == body {
        let there = stored_document(&stored)?.frontmatter;
        if frontmatters.iter().any(|frontmatter| there.same_content(frontmatter, STAMPS)) {
            return Ok(Effect::Nothing(Box::new(record)));
        }
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
