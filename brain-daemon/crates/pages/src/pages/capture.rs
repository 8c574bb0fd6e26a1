//! `capture`: stores text as a page, under `inbox/` unless the request names a slug. Without a
//! slug, content that repeats within 24 hours is not stored again.

use std::sync::Arc;

use brain_protocol::{Capture, Fault, FaultCode, Origin, Slug, SourceId, WriteReply, WriteStatus};

use crate::file_input::read_input;
use crate::pages::PageService;
use crate::pages::capture_input::{CaptureInput, NewCapture};
use crate::pages::queued_capture::can_be_queued;
use crate::provenance::{CAPTURE_CLI, FormerPage, INGEST_KEYS, IngestRoute, write_as_set};
use crate::write_page::{
    SlugRequest, captured_at, check_origin, check_type, choose_slug, clean_tags, inbox_slug,
    origin_route, origin_uri, set_type_and_title, stored_document, type_of,
};
use brain_base::caller::Caller;
use brain_base::clock::day;
use brain_page::{Document, Frontmatter, hex};
use brain_store::{LineChange, PageRecord, Reader, StoreError, Transaction, WrittenPage};

/// Types that cause no warning.
const USUAL_TYPES: [&str; 3] = ["note", "idea", "observation"];

/// The result of a write to one page.
pub(crate) struct PageWrite {
    pub(crate) slug: Slug,
    pub(crate) write: WrittenPage,
    pub(crate) captured_at: Option<String>,
}

impl PageService {
    /// Writes a text as a new page, unless the last 24 hours brought the same text.
    pub fn capture(&self, caller: &Caller, request: Capture) -> Result<WriteReply, Fault> {
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        let route = origin_route(&request.origin, &CAPTURE_CLI);
        self.capture_through(caller, request, route, uri)
    }

    /// Captures content by `route`, with `uri` as its `source_uri`. The origin in the request is
    /// used in messages, and the name of a file for the title of a text without one.
    ///
    /// # Errors
    /// `usage` (type, title or tag), `too_large`, `binary_content`, `invalid_frontmatter`,
    /// `unsupported_content_type` (of a file), `empty_content`, `unknown_source`, `conflict` (no
    /// free slug), or the store fails.
    pub fn capture_through(
        &self,
        caller: &Caller,
        request: Capture,
        route: &'static IngestRoute,
        uri: String,
    ) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let warnings = type_warnings(request.page_type.as_deref())?;
        let mut document = read_input(&request.content, &request.origin)?;
        if document.body.trim().is_empty() {
            return Err(no_content(&document));
        }
        let has_type = request.page_type.is_some() || document.frontmatter.page_type().is_some();
        merge_flags(&mut document, &request)?;
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, request.source.as_ref())?;
        let hash = document.body.digest();
        let duplicate =
            request.slug.is_none().then(|| self.dedup.find_in(&self.store, &source, hash, now));
        let (slug, duplicate) = (request.slug, duplicate.flatten());
        let input =
            CaptureInput { source, slug, duplicate, document, has_type, hash, route, uri, now };

        let unchanged_page = unchanged_duplicate(&reader, &input)?;
        let former = match &input.slug {
            Some(slug) => reader.page_even_deleted(&input.source, slug)?,
            None => None,
        };
        let former = former.as_ref().map(FormerPage::from);
        // Only a text that becomes a new page can wait for the server of a shared brain.
        let is_new_text = input.slug.is_none() && input.duplicate.is_none();
        drop(reader);
        let source = input.source.clone();
        let is_automatic = input.slug.is_none();
        let outcome = match unchanged_page {
            Some(outcome) => outcome,
            None => {
                // The page is built here, for the slug that it usually gets. The writer builds it
                // again only if it chose another slug, or the page there has changed.
                let slug = match &input.slug {
                    Some(slug) => slug.clone(),
                    None => inbox_slug(&day(now), &hash, 0)?,
                };
                let capture = Arc::new((input.new_page(slug, former)?, input));
                let task = Arc::clone(&capture);
                match self
                    .store
                    .write(move |transaction| write_capture(transaction, &task.1, &task.0))
                {
                    Err(StoreError::Away(reason))
                        if is_new_text && can_be_queued(capture.1.route) =>
                    {
                        return self.queue_capture(&capture.1, &capture.0, &reason);
                    }
                    result => result?,
                }
            }
        };
        let record = &outcome.write.record;
        if is_automatic {
            self.dedup.remember(source.clone(), hash, outcome.slug.clone(), record.content_at);
        }
        Ok(self.write_reply(source, outcome, warnings))
    }

    /// Writes the page's file if the write changed the page, and returns the reply to the write.
    pub(crate) fn write_reply(
        &self,
        source: SourceId,
        outcome: PageWrite,
        mut warnings: Vec<String>,
    ) -> WriteReply {
        let PageWrite { slug, write, captured_at } = outcome;
        let (status, record) = (write.status, &write.record);
        let mut merged = None;
        let (written, path) = if status == WriteStatus::Unchanged {
            let file_path = self.files.file_path_of(&source, &record.source_path);
            let exists = file_path.is_some_and(|path| path.exists());
            let shown_path = self.files.shown_path(&source, &record.source_path);
            (!self.files.is_failing(record.id) && exists, shown_path)
        } else {
            let report = self.files.update_file(&source, record, write.content.as_ref());
            warnings.extend(report.warnings());
            merged = report.merged;
            (report.is_written, report.path)
        };
        // Another program saved the file at the same moment, and the page has both texts now.
        let record = merged.map_or(write.record, |merged| *merged);
        WriteReply {
            slug,
            status,
            duplicate: status == WriteStatus::Unchanged,
            chunks: record.chunks,
            content_hash: hex(&record.content_hash),
            written,
            path: path.display().to_string(),
            source_id: source,
            source_kind: record.provenance.source_kind,
            source_uri: record.provenance.source_uri,
            captured_at,
            warnings,
            version: record.version,
        }
    }
}

/// Checks the type that the request names. Returns a warning if it is unusual.
fn type_warnings(page_type: Option<&str>) -> Result<Vec<String>, Fault> {
    let Some(page_type) = page_type else { return Ok(Vec::new()) };
    check_type(page_type)?;
    if USUAL_TYPES.contains(&page_type) {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "\"{page_type}\" is an unusual type; note, idea and observation are the usual ones"
    )])
}

/// Returns the result of a capture whose duplicate needs no write. `None` if there is no duplicate,
/// or its page changes.
fn unchanged_duplicate(
    reader: &Reader,
    input: &CaptureInput,
) -> Result<Option<PageWrite>, StoreError> {
    let Some(slug) = &input.duplicate else { return Ok(None) };
    let record = reader.page(&input.source, slug)?;
    let Some(record) = record.filter(|record| record.content_hash == input.hash) else {
        return Ok(None);
    };
    let mut page = stored_document(&reader.content(&record)?)?;
    let has_changed = merge_frontmatter(input, &record, &mut page.frontmatter);
    Ok((!has_changed).then(|| unchanged_write(slug.clone(), record, &page.frontmatter)))
}

/// Sets the keys that the flags name, and a type and a title if there are none.
fn merge_flags(document: &mut Document, request: &Capture) -> Result<(), Fault> {
    if request.title.as_deref().is_some_and(|title| title.trim().is_empty()) {
        return Err(Fault::new(FaultCode::Usage, "the title is empty")
            .hint("leave --title away to take the first line"));
    }
    let file = match &request.origin {
        Origin::File(path) => Some(path.as_str()),
        _ => None,
    };
    let (page_type, title) = (request.page_type.as_deref(), request.title.as_deref());
    set_type_and_title(document, page_type, title, file);
    let Document { frontmatter, .. } = document;
    if !request.tags.is_empty() {
        let mut tags = frontmatter.tags();
        add_tags(&mut tags, clean_tags(&request.tags)?);
        frontmatter.set_list("tags", &tags);
    }
    Ok(())
}

/// Copies the keys and tags of this capture into the frontmatter of the existing page, except
/// ingest keys. Returns whether that changed the frontmatter.
///
/// A derived title is not copied: the page may have a better one by now.
fn merge_frontmatter(
    capture: &CaptureInput,
    existing: &PageRecord,
    page: &mut Frontmatter,
) -> bool {
    let input = &capture.document.frontmatter;
    let derived_title = capture.document.body.derived_title();
    let mut except = vec!["tags"];
    except.extend(INGEST_KEYS);
    if input.title().is_none_or(|title| title == derived_title) {
        except.push("title");
    }
    if !capture.has_type || type_of(input) == existing.page_type {
        except.push("type");
    }
    let has_new_keys = page.adopt(input, &except);
    let mut tags = page.tags();
    let has_new_tags = add_tags(&mut tags, input.tags());
    if has_new_tags {
        page.set_list("tags", &tags);
    }
    has_new_keys || has_new_tags
}

/// Adds the tags of `more` that `tags` lacks. Returns whether there were any.
fn add_tags(tags: &mut Vec<String>, more: Vec<String>) -> bool {
    let before = tags.len();
    for tag in more {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags.len() > before
}

/// Chooses the slug, and writes the page. Runs in the store's writer.
fn write_capture(
    transaction: &mut Transaction<'_>,
    input: &CaptureInput,
    candidate: &NewCapture,
) -> Result<PageWrite, StoreError> {
    let slug_request = SlugRequest {
        source: &input.source,
        slug: input.slug.as_ref(),
        duplicate: input.duplicate.as_ref(),
        hash: &input.hash,
        day: &day(input.now),
    };
    let (slug, existing) = choose_slug(transaction, &slug_request)?;
    let rebuilt;
    let new_capture = match existing {
        Some(record) if record.deleted_at.is_none() && record.content_hash == input.hash => {
            let mut page = stored_document(&transaction.content(&record)?)?;
            if !merge_frontmatter(input, &record, &mut page.frontmatter) {
                return Ok(unchanged_write(slug, record, &page.frontmatter));
            }
            // Adding a tag or title changes neither the page's author nor the marks of other lines.
            let lines = match input.is_by_hand() {
                true => LineChange::SameMarks,
                false => LineChange::ByOtherAuthor,
            };
            let former = Some(FormerPage::from(&record));
            rebuilt = input.complete_page(slug, page, record.provenance, lines, former)?;
            &rebuilt
        }
        existing => {
            let former = existing.as_ref().map(FormerPage::from);
            match slug == candidate.slug && former == candidate.former {
                true => candidate,
                false => {
                    rebuilt = input.new_page(slug, former)?;
                    &rebuilt
                }
            }
        }
    };
    let NewCapture { slug, page, .. } = new_capture;
    let write = write_as_set(transaction, &input.source, slug, page, input.now)?;
    Ok(PageWrite { slug: slug.clone(), write, captured_at: captured_at(&page.content) })
}

/// Returns the result of a capture that changes nothing.
fn unchanged_write(slug: Slug, record: PageRecord, frontmatter: &Frontmatter) -> PageWrite {
    let captured_at = frontmatter.get("captured_at");
    PageWrite { slug, write: WrittenPage::unchanged(record), captured_at }
}

fn no_content(document: &Document) -> Fault {
    let message = if document.frontmatter.is_empty() {
        "there is nothing to capture"
    } else {
        "there is frontmatter but no content below it; nothing was stored"
    };
    Fault::new(FaultCode::EmptyContent, message)
        .hint("give the content as words, with `--file PATH`, or with `--stdin`")
}
