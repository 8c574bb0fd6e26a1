//! `put`: writes a whole page at a slug that the caller chose.

use std::path::Path;

use brain_protocol::{
    Fault, FaultCode, Origin, PageRef, Precondition, Put, SourceId, WriteReply, WriteStatus,
};

use crate::file_input::read_input;
use crate::pages::PageService;
use crate::pages::capture::PageWrite;
use crate::pages::find_page::written_source;
use crate::provenance::{
    FormerPage, INGEST_KEYS, IngestRoute, PUT_PAGE, is_from_outside, move_unverified_provenance,
    without_provenance_keys,
};
use crate::write_page::{
    build_new_page, check_expected, check_origin, origin_route, origin_uri, stored_document,
};
use brain_base::caller::Caller;
use brain_files::digest;
use brain_page::{Document, Frontmatter, file_path};
use brain_store::{
    Content, Hash, LineChange, NewPage, PageRecord, StoreError, WrittenPage, unless_damaged,
};

/// The page of a put, ready to be stored.
struct PutPage {
    /// The page that it replaces.
    former: Option<FormerPage>,
    /// The frontmatter of the text, with unverified provenance keys moved to `received`, before
    /// brain adds its own.
    frontmatter: Frontmatter,
    page: NewPage,
    captured_at: Option<String>,
}

impl PageService {
    /// Creates or replaces the page at a slug.
    pub fn put(&self, caller: &Caller, request: &Put) -> Result<WriteReply, Fault> {
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        self.put_with_provenance(caller, request, origin_route(&request.origin, &PUT_PAGE), uri)
    }

    /// Puts content by `route`, with `uri` as its `source_uri`: they replace those of the origin in
    /// the request.
    ///
    /// # Errors
    /// `too_large`, `binary_content`, `invalid_frontmatter`, `unsupported_content_type` (of a
    /// file), `unknown_source`, `ambiguous_slug`,
    /// `conflict` with the precondition, `empty_content`, or the store fails.
    pub fn put_with_provenance(
        &self,
        caller: &Caller,
        request: &Put,
        route: &'static IngestRoute,
        uri: String,
    ) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let document = read_input(&request.content, &request.origin)?;
        let is_empty = document.frontmatter.is_empty() && document.body.trim().is_empty();
        let reader = self.store.read(caller.visibility())?;
        let source = written_source(caller, &reader, request)?;
        let slug = request.page.slug.clone();
        let former =
            reader.page_even_deleted(&source, &slug)?.map(|record| FormerPage::from(&record));
        drop(reader);
        let page_slug = slug.clone();
        let replaces = self.digest_of_own_file(caller, &source, request)?;
        let (Document { frontmatter: sent_frontmatter, body }, text) = (document.clone(), document);
        let is_edit = matches!(request.origin, Origin::Editor | Origin::Browser);
        let build_page = move |former: Option<FormerPage>| {
            let Document { mut frontmatter, body } = text.clone();
            let previous = former.as_ref().map(|former| &former.provenance);
            // An edit of the owner's own page leaves its provenance as it is, so that a note from a
            // directory gets no new lines.
            let own = previous.filter(|own| !is_from_outside(own.source_kind.as_deref()));
            let provenance = match own.filter(|_| is_edit) {
                Some(own) => own.clone(),
                None => route.provenance_of_edit(&frontmatter, uri.clone(), now, former.as_ref()),
            };
            move_unverified_provenance(&mut frontmatter, &provenance, previous);
            let document = Document { frontmatter: frontmatter.clone(), body };
            let captured_at = frontmatter.get("captured_at");
            let page = build_new_page(&page_slug, document, provenance, previous, false)?;
            let author = Some(route.author(uri.clone()));
            // In an editor the owner sees single lines of others, and changes other ones: the marks
            // stay. `brain trust` is the way to make all lines the owner's.
            let line_change = if is_edit { LineChange::SameMarks } else { route.line_change() };
            let page = NewPage { replaces, author, line_change, ..page };
            Ok::<_, Fault>(PutPage { former, frontmatter, page, captured_at })
        };
        // The page is built here. The writer builds it again only if the page has changed.
        let candidate = build_page(former)?;
        let target = source.clone();
        let (allow_empty, expect) = (request.allow_empty, request.expect.clone());
        let outcome = self.store.write(move |draft| {
            let existing = draft.page(&source, &slug)?;
            let exists = existing.is_some();
            let former = existing.as_ref().map(FormerPage::from);
            let rebuilt = match former == candidate.former {
                true => None,
                false => Some(build_page(former)?),
            };
            let PutPage { former, frontmatter, page, captured_at } =
                rebuilt.as_ref().unwrap_or(&candidate);
            let effect = write_effect(
                existing.clone(),
                |page| draft.content(page),
                &[&sent_frontmatter, frontmatter],
                &body,
            )?;
            // A client may repeat a put whose reply it did not get. The page then has the content
            // already, and the precondition need not hold any more. A precondition on the version
            // is always checked, because another client may have written the same content.
            let is_repeated = matches!(effect, Effect::Unchanged(_))
                && !matches!(expect, Some(Precondition::Version(_)));
            if !is_repeated {
                check_expected(expect.as_ref(), &slug, existing.as_ref())?;
            }
            if (is_empty || matches!(effect, Effect::Blank)) && !allow_empty {
                return Err(refuse_empty(slug.as_str(), exists).into());
            }
            // If the owner puts a page with marked lines unchanged, these lines become the owner's.
            let becomes_owners =
                !is_edit && former.as_ref().is_some_and(|it| it.would_become_owners(route));
            if let (Effect::Unchanged(record), false) = (effect, becomes_owners) {
                let stored = stored_document(&draft.content(&record)?)?;
                let captured_at = stored.frontmatter.get("captured_at");
                let write = WrittenPage { status: WriteStatus::Unchanged, record: *record };
                return Ok(PageWrite { slug: slug.clone(), write, captured_at });
            }
            let mut page = page.clone();
            if draft.source_settings(&source)?.without_provenance {
                page = without_provenance_keys(page);
            }
            let write = draft.write_page(&source, &slug, page, now)?;
            Ok(PageWrite { slug: slug.clone(), write, captured_at: captured_at.clone() })
        })?;
        let mut warnings = Vec::new();
        if outcome.write.status == WriteStatus::Created {
            let created = PageRef::new(&target, &request.page.slug);
            let named_source = request.page.source.as_ref();
            // The page is stored, whether or not there is a warning.
            let warning = self.same_slug_warning(caller, &created, named_source);
            warnings.extend(warning.unwrap_or_default());
        }
        Ok(self.write_reply(target, outcome, warnings))
    }

    /// Returns the digest of the content if the client read it from the page's own file. Edits in
    /// that file are part of the content then, so brain may overwrite the file.
    fn digest_of_own_file(
        &self,
        caller: &Caller,
        source: &SourceId,
        request: &Put,
    ) -> Result<Option<Hash>, Fault> {
        let Origin::File(path) = &request.origin else { return Ok(None) };
        let slug = &request.page.slug;
        let file = match self.store.read(caller.visibility())?.page_even_deleted(source, slug)? {
            Some(record) => self.files.file_path_of(source, &record.source_path),
            None => self.files.file_path_of(source, &file_path(slug)),
        };
        let Some(file) = file else { return Ok(None) };
        let is_own_file =
            file.canonicalize().is_ok_and(|p| Path::new(path).canonicalize().is_ok_and(|q| p == q));
        Ok(is_own_file.then(|| digest(&request.content)))
    }
}

/// The effect that a write would have on a page.
pub enum Effect {
    /// No effect: the page differs at most in its ingest keys and a line end.
    Unchanged(Box<PageRecord>),
    /// The body would become empty.
    Blank,
    /// The page would be written, with this status.
    Write(WriteStatus),
}

/// Returns the effect of writing `body` over `existing`. The frontmatters are variants of the same
/// one; the page is unchanged if it has any of them. `content` fetches the text of a page.
pub fn write_effect(
    existing: Option<PageRecord>,
    content: impl FnOnce(&PageRecord) -> Result<Content, StoreError>,
    frontmatters: &[&Frontmatter],
    body: &str,
) -> Result<Effect, StoreError> {
    let Some(record) = existing else { return Ok(Effect::Write(WriteStatus::Created)) };
    if record.deleted_at.is_some() {
        return Ok(Effect::Write(WriteStatus::Restored));
    }
    // A write repairs a damaged page.
    let Some(stored) = unless_damaged(content(&record))? else {
        return Ok(Effect::Write(WriteStatus::Updated));
    };
    // `brain get` adds a line end after a page that has none.
    let without_end = body.strip_suffix('\n').filter(|text| !text.ends_with('\n'));
    if stored.body == body || without_end == Some(stored.body.as_str()) {
        let present = stored_document(&stored)?.frontmatter;
        if frontmatters.iter().any(|frontmatter| present.has_same_content(frontmatter, INGEST_KEYS))
        {
            return Ok(Effect::Unchanged(Box::new(record)));
        }
    }
    if body.trim().is_empty() && !stored.body.trim().is_empty() {
        return Ok(Effect::Blank);
    }
    Ok(Effect::Write(WriteStatus::Updated))
}

fn refuse_empty(slug: &str, exists: bool) -> Fault {
    let (message, hint) = if exists {
        (
            format!("empty content would blank the page \"{slug}\"; it was left as it is"),
            "`--allow-empty` does it (the present version is kept); `brain delete` removes the \
             page",
        )
    } else {
        (
            format!("there is nothing to put under \"{slug}\""),
            "give the page on standard input or with `--file PATH`",
        )
    };
    Fault::new(FaultCode::EmptyContent, message).hint(hint)
}
