//! `put`: writes a whole page at a slug that the caller chose.

use std::path::Path;

use brain_protocol::{
    Command, Fault, FaultCode, Origin, PageRef, Precondition, Put, Slug, SourceId, WriteReply,
    WriteStatus, hint,
};

use crate::file_input::read_input;
use crate::pages::PageService;
use crate::pages::capture::PageWrite;
use crate::pages::find_page::written_source;
use crate::provenance::{
    FormerPage, INGEST_KEYS, IngestRoute, PUT_PAGE, is_from_outside, move_unverified_provenance,
    write_as_set,
};
use crate::write_page::{
    build_new_page, captured_at, check_expected, check_origin, origin_route, origin_uri,
    stored_document,
};
use brain_base::caller::Caller;
use brain_files::digest;
use brain_page::{Document, Frontmatter, file_path};
use brain_store::{
    Content, Hash, LineChange, NewPage, PageRecord, StoreError, Transaction, WrittenPage,
    unless_damaged,
};

/// The page of a put, ready to be stored.
struct PreparedPut {
    /// The page that it replaces.
    former: Option<FormerPage>,
    /// The frontmatter of the text, with unverified provenance keys moved to `received`, before
    /// brain adds its own.
    frontmatter: Frontmatter,
    page: NewPage,
}

/// The text of a put, and how it arrived.
struct PutText {
    slug: Slug,
    document: Document,
    route: &'static IngestRoute,
    uri: String,
    /// Whether a person edited the page.
    is_edit: bool,
    /// The digest of the file that the put may overwrite.
    replaces: Option<Hash>,
    now: i64,
}

impl PutText {
    /// Builds the page that replaces `former`.
    fn build_page(&self, former: Option<FormerPage>) -> Result<PreparedPut, Fault> {
        let (route, uri) = (self.route, &self.uri);
        let Document { mut frontmatter, body } = self.document.clone();
        let previous = former.as_ref().map(|former| &former.provenance);
        // An edit of the owner's own page leaves its provenance as it is, so that a note from a
        // directory gets no new lines.
        let own = previous.filter(|own| !is_from_outside(own.source_kind.as_deref()));
        let provenance = match own.filter(|_| self.is_edit) {
            Some(own) => own.clone(),
            None => route.provenance_of_edit(&frontmatter, uri.clone(), self.now, former.as_ref()),
        };
        move_unverified_provenance(&mut frontmatter, &provenance, previous);
        let document = Document { frontmatter: frontmatter.clone(), body };
        // In an editor the owner sees single lines of others, and changes other ones: the marks
        // stay. `brain trust` is the way to make all lines the owner's.
        let line_change = if self.is_edit { LineChange::SameMarks } else { route.line_change() };
        let change = (route.author(uri.clone()), line_change);
        let page = build_new_page(&self.slug, document, provenance, previous, change)?;
        let page = NewPage { replaces: self.replaces, ..page };
        Ok(PreparedPut { former, frontmatter, page })
    }

    fn is_empty(&self) -> bool {
        self.document.frontmatter.is_empty() && self.document.body.trim().is_empty()
    }
}

/// A put in the writer.
struct PutWrite {
    text: PutText,
    /// The page for the state of the store before the writer began.
    candidate: PreparedPut,
    source: SourceId,
    allow_empty: bool,
    expect: Option<Precondition>,
}

impl PutWrite {
    /// Writes the page, unless it is unchanged.
    fn write(&self, transaction: &mut Transaction<'_>) -> Result<PageWrite, StoreError> {
        let Self { text, candidate, source, .. } = self;
        let slug = &text.slug;
        let existing = transaction.page(source, slug)?;
        let exists = existing.is_some();
        let former = existing.as_ref().map(FormerPage::from);
        let rebuilt = match former == candidate.former {
            true => None,
            false => Some(text.build_page(former)?),
        };
        let PreparedPut { former, frontmatter, page } = rebuilt.as_ref().unwrap_or(candidate);
        let effect = write_effect(
            existing.clone(),
            |page| transaction.content(page),
            &[&text.document.frontmatter, frontmatter],
            &text.document.body,
        )?;
        self.check_precondition(&effect, existing.as_ref())?;
        if (text.is_empty() || matches!(effect, WriteEffect::Blank)) && !self.allow_empty {
            return Err(refuse_empty(slug.as_str(), exists).into());
        }
        // If the owner puts a page with marked lines unchanged, these lines become the owner's.
        let becomes_owners =
            !text.is_edit && former.as_ref().is_some_and(|it| it.would_become_owners(text.route));
        if let (WriteEffect::Unchanged(record), false) = (effect, becomes_owners) {
            let captured_at = captured_at(&transaction.content(&record)?);
            let write = WrittenPage::unchanged(*record);
            return Ok(PageWrite { slug: slug.clone(), write, captured_at });
        }
        let write = write_as_set(transaction, source, slug, page, text.now)?;
        Ok(PageWrite { slug: slug.clone(), write, captured_at: captured_at(&page.content) })
    }

    /// Checks the precondition. A client may repeat a put whose reply it did not get: the page then
    /// has the content already, and the precondition need not hold any more. A precondition on the
    /// version is always checked, because another client may have written the same content.
    fn check_precondition(
        &self,
        effect: &WriteEffect,
        existing: Option<&PageRecord>,
    ) -> Result<(), StoreError> {
        let is_repeated = matches!(effect, WriteEffect::Unchanged(_))
            && !matches!(self.expect, Some(Precondition::Version(_)));
        if !is_repeated {
            check_expected(self.expect.as_ref(), &self.text.slug, existing)?;
        }
        Ok(())
    }
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
        self.put_with(caller, request, (route, uri), |_, _| Ok(()))
    }

    /// As [`Self::put_with_provenance`]. `also` runs in the same transaction, with the page.
    ///
    /// # Errors
    /// As [`Self::put_with_provenance`], and those of `also`.
    pub(crate) fn put_with(
        &self,
        caller: &Caller,
        request: &Put,
        (route, uri): (&'static IngestRoute, String),
        also: impl Fn(&mut Transaction<'_>, &PageRecord) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let document = read_input(&request.content, &request.origin)?;
        let reader = self.store.read(caller.visibility())?;
        let source = written_source(caller, &reader, request)?;
        let slug = request.page.slug.clone();
        let former =
            reader.page_even_deleted(&source, &slug)?.map(|record| FormerPage::from(&record));
        drop(reader);
        let replaces = self.digest_of_own_file(caller, &source, request)?;
        let is_edit = matches!(request.origin, Origin::Editor | Origin::Browser);
        let text = PutText { slug, document, route, uri, is_edit, replaces, now };
        // The page is built here. The writer builds it again only if the page has changed.
        let candidate = text.build_page(former)?;
        let target = source.clone();
        let (allow_empty, expect) = (request.allow_empty, request.expect.clone());
        let put = PutWrite { text, candidate, source, allow_empty, expect };
        let outcome = self.store.write(move |transaction| {
            let outcome = put.write(transaction)?;
            also(transaction, &outcome.write.record)?;
            Ok(outcome)
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
pub enum WriteEffect {
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
) -> Result<WriteEffect, StoreError> {
    let Some(record) = existing else { return Ok(WriteEffect::Write(WriteStatus::Created)) };
    if record.deleted_at.is_some() {
        return Ok(WriteEffect::Write(WriteStatus::Restored));
    }
    // A write repairs a damaged page.
    let Some(stored) = unless_damaged(content(&record))? else {
        return Ok(WriteEffect::Write(WriteStatus::Updated));
    };
    // `brain get` adds a line end after a page that has none.
    let without_end = body.strip_suffix('\n').filter(|text| !text.ends_with('\n'));
    if stored.body == body || without_end == Some(stored.body.as_str()) {
        let present = stored_document(&stored)?.frontmatter;
        if frontmatters.iter().any(|frontmatter| present.has_same_content(frontmatter, INGEST_KEYS))
        {
            return Ok(WriteEffect::Unchanged(Box::new(record)));
        }
    }
    if body.trim().is_empty() && !stored.body.trim().is_empty() {
        return Ok(WriteEffect::Blank);
    }
    Ok(WriteEffect::Write(WriteStatus::Updated))
}

fn refuse_empty(slug: &str, exists: bool) -> Fault {
    let (message, hint) = if exists {
        (
            format!("empty content would blank the page \"{slug}\"; it was left as it is"),
            hint!(
                "`--allow-empty` does it (the present version is kept); {} removes the page",
                Command::Delete { page: Some(slug.to_owned()) }
            ),
        )
    } else {
        (
            format!("there is nothing to put under \"{slug}\""),
            "give the page on standard input or with `--file PATH`".into(),
        )
    };
    Fault::new(FaultCode::EmptyContent, message).hint(hint)
}
