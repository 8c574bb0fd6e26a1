//! `capture`: a thought becomes a page under `inbox/`, once.

use brain_protocol::{Capture, Fault, FaultCode, Slug, SourceId, WriteReply, WriteStatus};

use crate::provenance::{CAPTURE_CLI, Door, STAMPS, receive};
use crate::write_page::{
    Wanted, check_origin, check_type, clean_tags, headings, inbox_slug, origin_door, origin_label,
    origin_uri, place, read_document, stored_document, title_of, type_of, written_page,
};
use crate::{Caller, PageService};
use brain_base::clock::{day, rfc3339};
use brain_page::{Document, Frontmatter, content_digest, hex};
use brain_store::{Draft, Hash, NewPage, PageRecord, Provenance, StoreError, WrittenPage};

/// Types that people are expected to use; others are taken with a warning.
const USUAL_TYPES: [&str; 3] = ["note", "idea", "observation"];

/// A capture, worked out as far as it can be without the store.
#[derive(Clone)]
struct Prepared {
    source: SourceId,
    slug: Option<Slug>,
    /// Where the same content went within the last 24 hours.
    known: Option<Slug>,
    /// What the input says, flags merged into its frontmatter, without stamps.
    document: Document,
    /// Whether the flags or the file name a type.
    typed: bool,
    hash: Hash,
    door: &'static Door,
    /// Where the content is from.
    uri: String,
    now: i64,
}

/// A page that only has to be stored.
#[derive(Clone)]
struct Finished {
    slug: Slug,
    page: NewPage,
    captured_at: Option<String>,
    /// The provenance of the page that it replaces.
    known: Option<Provenance>,
}

/// What became of a capture.
pub(crate) struct Outcome {
    pub(crate) slug: Slug,
    pub(crate) applied: WrittenPage,
    pub(crate) captured_at: Option<String>,
}

impl PageService {
    pub(crate) fn capture(&self, caller: &Caller, request: Capture) -> Result<WriteReply, Fault> {
        check_origin(&request.origin)?;
        let uri = origin_uri(&request.origin, caller);
        let door = origin_door(&request.origin, &CAPTURE_CLI);
        self.capture_through(caller, request, door, uri)
    }

    /// A capture through `door` of content that is from `uri`, whatever the request says of its
    /// origin.
    ///
    /// # Errors
    /// As a capture.
    pub(crate) fn capture_through(
        &self,
        caller: &Caller,
        request: Capture,
        door: &'static Door,
        uri: String,
    ) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let label = origin_label(&request.origin);
        let mut warnings = Vec::new();
        if let Some(page_type) = &request.page_type {
            check_type(page_type)?;
            if !USUAL_TYPES.contains(&page_type.as_str()) {
                warnings.push(format!(
                    "\"{page_type}\" is an unusual type; note, idea and observation are the usual ones"
                ));
            }
        }
        let mut document = read_document(&request.content, &label)?;
        if document.body.trim().is_empty() {
            return Err(empty(&document));
        }
        let typed = request.page_type.is_some() || document.frontmatter.page_type().is_some();
        merge_flags(&mut document, &request)?;
        let reader = self.store.read(caller.visibility())?;
        let (source, _) = crate::sources::resolve(caller, &reader, request.source.as_ref())?;
        let hash = content_digest(&document.body);
        let known = if request.slug.is_none() { self.dedup.find(&source, hash, now) } else { None };
        let prepared =
            Prepared { source, slug: request.slug, known, document, typed, hash, door, uri, now };

        // A duplicate costs no write.
        let settled = match &prepared.known {
            Some(slug) => match reader.page(&prepared.source, slug)? {
                Some(record) if record.content_hash == hash => {
                    let mut page = stored_document(&reader.content(&record)?)?;
                    let adds = merge(&prepared, &record, &mut page.frontmatter);
                    (!adds).then(|| unchanged(slug.clone(), record, &page.frontmatter))
                }
                _ => None,
            },
            None => None,
        };
        let replaced = match &prepared.slug {
            Some(slug) => {
                reader.page_even_deleted(&prepared.source, slug)?.map(|record| record.provenance)
            }
            None => None,
        };
        drop(reader);
        let source = prepared.source.clone();
        let automatic = prepared.slug.is_none();
        let outcome = match settled {
            Some(outcome) => outcome,
            None => {
                // Worked out here for the slug that it gets as a rule, so that the one writer has
                // only to store it.
                let slug = match &prepared.slug {
                    Some(slug) => slug.clone(),
                    None => inbox_slug(&day(now), &hash, 0)?,
                };
                let likely = prepared.fresh(slug, replaced)?;
                self.store.write(move |draft| apply(draft, &prepared, &likely))?
            }
        };
        let record = &outcome.applied.record;
        if automatic {
            self.dedup.remember(source.clone(), hash, outcome.slug.clone(), record.content_at);
        }
        Ok(self.written(source, outcome, warnings))
    }

    /// The reply to a write, after the file was brought in line.
    pub(crate) fn written(
        &self,
        source: SourceId,
        outcome: Outcome,
        mut warnings: Vec<String>,
    ) -> WriteReply {
        let Outcome { slug, applied: WrittenPage { status, record }, captured_at } = outcome;
        let (written, path) = if status == WriteStatus::Unchanged {
            let place = self.files.file_place(&source, &record.source_path);
            (!self.files.is_failing(record.id) && place.exists(), place)
        } else {
            let report = self.files.agree(&source, &record);
            warnings.extend(report.warnings());
            (report.written, report.path)
        };
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

/// Flags win over the file; a type and a title are always there.
fn merge_flags(document: &mut Document, request: &Capture) -> Result<(), Fault> {
    if request.title.as_deref().is_some_and(|title| title.trim().is_empty()) {
        return Err(Fault::new(FaultCode::Usage, "the title is empty")
            .hint("leave --title away to take the first line"));
    }
    let headings = headings(document, request.page_type.as_deref(), request.title.as_deref());
    let Document { frontmatter, .. } = document;
    for (key, value) in &headings {
        frontmatter.set(key, value);
    }
    if !request.tags.is_empty() {
        let mut tags = frontmatter.tags();
        add_tags(&mut tags, clean_tags(&request.tags)?);
        frontmatter.set_list("tags", &tags);
    }
    Ok(())
}

/// Adds to the existing page's frontmatter what this capture says beyond it; whether that was
/// anything. The title of a recapture counts only when it was given: the page may have got a better
/// one since.
fn merge(prepared: &Prepared, existing: &PageRecord, page: &mut Frontmatter) -> bool {
    let input = &prepared.document.frontmatter;
    let derived_title = title_of(&Frontmatter::empty(), &prepared.document.body);
    let mut except = vec!["tags"];
    except.extend(STAMPS);
    if input.title().is_none_or(|title| title == derived_title) {
        except.push("title");
    }
    if !prepared.typed || type_of(input) == existing.page_type {
        except.push("type");
    }
    let adopted = page.adopt(input, &except);
    let mut tags = page.tags();
    let tagged = add_tags(&mut tags, input.tags());
    if tagged {
        page.set_list("tags", &tags);
    }
    adopted || tagged
}

/// Adds those that are not there; whether there were any.
fn add_tags(tags: &mut Vec<String>, more: Vec<String>) -> bool {
    let before = tags.len();
    for tag in more {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags.len() > before
}

impl Prepared {
    /// Makes a page of the input alone. `known` is the provenance of the page that it replaces.
    fn fresh(&self, slug: Slug, known: Option<Provenance>) -> Result<Finished, Fault> {
        let mut document = self.document.clone();
        let via = document.frontmatter.get("captured_via");
        if !self.is_owners() && via.is_some_and(|via| via != self.door.kind) {
            // What a program sends does not say itself which way it came.
            receive(&mut document.frontmatter, &["captured_via"]);
        }
        let provenance =
            self.door.of_text(&document.frontmatter, self.uri.clone(), self.now, known.as_ref());
        self.finish(slug, document, provenance, known)
    }

    /// Adds the stamps of this capture to `document` where it has none.
    fn finish(
        &self,
        slug: Slug,
        mut document: Document,
        provenance: Provenance,
        known: Option<Provenance>,
    ) -> Result<Finished, Fault> {
        let now = rfc3339(self.now);
        let mut stamps = vec![("captured_at", now.as_str()), ("captured_via", self.door.kind)];
        // What stands in a page already does not say of the words of others how those came in.
        stamps.retain(|(key, _)| {
            document.frontmatter.get(key).is_none() || (*key == "captured_via" && !self.is_owners())
        });
        document.frontmatter.set_all(&stamps);
        let captured_at = document.frontmatter.get("captured_at");
        let page = written_page(&slug, document, provenance, known.as_ref(), self.slug.is_none())?;
        Ok(Finished { slug, page, captured_at, known })
    }

    /// Whether the owner captures by hand.
    fn is_owners(&self) -> bool {
        self.door.kind == CAPTURE_CLI.kind
    }
}

/// In the writer: finds the capture's place and does what is to do there.
fn apply(
    draft: &mut Draft<'_>,
    prepared: &Prepared,
    likely: &Finished,
) -> Result<Outcome, StoreError> {
    let wanted = Wanted {
        source: &prepared.source,
        slug: prepared.slug.as_ref(),
        known: prepared.known.as_ref(),
        hash: &prepared.hash,
        day: &day(prepared.now),
    };
    let (slug, existing) = place(draft, &wanted)?;
    let finished = match existing {
        Some(record) if record.deleted_at.is_none() && record.content_hash == prepared.hash => {
            let mut page = stored_document(&draft.content(&record)?)?;
            if !merge(prepared, &record, &mut page.frontmatter) {
                return Ok(unchanged(slug, record, &page.frontmatter));
            }
            // The owner adds a tag to a page that came from elsewhere: it stays what it is.
            let provenance = match prepared.is_owners() {
                true => record.provenance.clone(),
                false => prepared.door.provenance(prepared.uri.clone(), prepared.now),
            };
            prepared.finish(slug, page, provenance, Some(record.provenance))?
        }
        existing => {
            let known = existing.map(|record| record.provenance);
            match slug == likely.slug && known == likely.known {
                true => likely.clone(),
                false => prepared.fresh(slug, known)?,
            }
        }
    };
    let Finished { slug, page, captured_at, .. } = finished;
    let applied = draft.write_page(&prepared.source, &slug, page, prepared.now)?;
    Ok(Outcome { slug, applied, captured_at })
}

fn unchanged(slug: Slug, record: PageRecord, frontmatter: &Frontmatter) -> Outcome {
    let applied = WrittenPage { status: WriteStatus::Unchanged, record };
    Outcome { slug, applied, captured_at: frontmatter.get("captured_at") }
}

fn empty(document: &Document) -> Fault {
    let message = if document.frontmatter.is_empty() {
        "there is nothing to capture"
    } else {
        "there is frontmatter but no content below it; nothing was stored"
    };
    Fault::new(FaultCode::EmptyContent, message)
        .hint("give the content as words, with `--file PATH`, or with `--stdin`")
}
