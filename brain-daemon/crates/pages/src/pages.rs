//! Operations on single pages. This file: reading a page or a version, and reverting to one.

pub mod append;
pub mod attachments;
pub mod broken_links;
pub mod capture;
mod capture_input;
pub mod dedup;
pub mod diff;
pub mod fields;
pub(crate) mod find_page;
pub mod history;
pub mod hit;
pub mod keep;
pub mod links;
pub mod list;
pub mod merge;
pub mod moved_pages;
pub mod orphans;
pub(crate) mod page_move;
pub mod put;
mod queued_capture;
pub(crate) mod random_page;
pub mod remove;
pub mod rename;
pub mod similar_pages;
pub mod surroundings;
pub mod timeline;
pub mod today;
pub mod todos;
pub mod trust;

use std::sync::Arc;

use brain_protocol::{
    Command, Fault, FaultCode, Get, Page, PageRef, Revert, Slug, SourceId, VersionRow, WriteReply,
    hint,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::files::FileService;
use crate::pages::capture::PageWrite;
use crate::pages::dedup::Dedup;
use crate::provenance::{author_name, author_of, author_of_change, marked_lines, trust_of};
use crate::write_page::{build_new_page, check_expected, stored_document};
use brain_base::caller::Caller;
use brain_base::clock::{Clock, rfc3339};
use brain_base::leases::LeaseHolder;
use brain_base::random::RandomSource;
use brain_config::PagesConfig;
use brain_page::{self as page, hex};
use brain_store::{
    Content, FormerNames, LineChange, PageRecord, Reader, Store, VersionRecord, WrittenPage,
    unless_damaged,
};

/// The operations on single pages.
pub struct PageService {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The files of pages.
    pub files: Arc<FileService>,
    /// Captures of the last 24 hours.
    pub dedup: Arc<Dedup>,
    pub(crate) stop: CancellationToken,
    pub(crate) leases: Arc<dyn LeaseHolder>,
    pub(crate) random: Arc<dyn RandomSource>,
    /// The settings of pages.
    pub config: PagesConfig,
    pub(crate) former_names: Mutex<FormerNames>,
}

impl PageService {
    /// Creates the service. It has the clock and the stop token of `files`.
    pub fn new(
        store: Arc<Store>,
        files: Arc<FileService>,
        dedup: Arc<Dedup>,
        leases: Arc<dyn LeaseHolder>,
        random: Arc<dyn RandomSource>,
        config: PagesConfig,
    ) -> Self {
        let (clock, stop) = (files.clock.clone(), files.stop.clone());
        let former_names = Mutex::default();
        Self { store, clock, files, dedup, stop, leases, random, config, former_names }
    }

    /// Returns a page, or one of its versions.
    ///
    /// # Errors
    /// `not_found` with names of similar pages.
    pub fn get(&self, caller: &Caller, request: &Get) -> Result<Page, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, slug, record) = self.find(caller, &reader, &request.page)?;
        match request.version {
            Some(number) if number != record.version => {
                let page_ref = PageRef { source: request.page.source.clone(), slug: slug.clone() };
                let former = former_version(&reader, &record, &page_ref, number)?;
                Ok(page_reply(source, slug, former.record, former.content))
            }
            _ => {
                let content = reader.content(&record)?;
                Ok(page_reply(source, slug, record, content))
            }
        }
    }

    /// Writes a former version of a page as its newest one.
    pub fn revert(&self, caller: &Caller, request: Revert) -> Result<WriteReply, Fault> {
        let now = self.clock.now();
        let reader = self.store.read(caller.visibility())?;
        let (source, record) = self.active(caller, &reader, &request.page)?;
        let page_ref = request.page;
        let (slug, read_slug) = (page_ref.slug.clone(), page_ref.slug.clone());
        if record.version == request.version {
            let message = format!("version {} of \"{slug}\" is the current one", request.version);
            return Err(Fault::new(FaultCode::Conflict, message)
                .hint(hint!("see {}", Command::History { page: Some(page_ref.to_string()) })));
        }
        // Fails early if there is no such version. The writer checks again.
        former_version(&reader, &record, &page_ref, request.version)?;
        drop(reader);
        let (source_id, number, expect) = (source.clone(), request.version, request.expect);
        let (author, _) = author_of_change(caller);
        let outcome = self.files.write_page((&source_id, &read_slug), move |transaction| {
            let record = transaction.page(&source, &slug)?.filter(|r| r.deleted_at.is_none());
            let record = record.ok_or_else(|| no_page(&source, &slug))?;
            check_expected(expect.as_ref(), &slug, Some(&record))?;
            let former = transaction
                .version(record.id, number)?
                .ok_or_else(|| no_version(&record, &page_ref, number))?;
            let document = stored_document(&former.content)?;
            let captured_at = document.frontmatter.get("captured_at");
            let current = unless_damaged(transaction.content(&record))?;
            if current.is_some_and(|current| current == former.content)
                && former.record.provenance == record.provenance
                && former.record.marks == record.marks
            {
                let write = WrittenPage::unchanged(record);
                return Ok(PageWrite { slug: slug.clone(), write, captured_at });
            }
            let PageRecord { provenance, marks, has_outside_title, .. } = former.record;
            let change = (author.clone(), LineChange::OfVersion { marks, has_outside_title });
            let page = build_new_page(&slug, document, provenance, None, change)?;
            let write = transaction.write_page(&source, &slug, &page, now)?;
            Ok(PageWrite { slug: slug.clone(), write, captured_at })
        })?;
        Ok(self.write_reply(source_id, outcome, Vec::new()))
    }
}

/// Returns a former version of a page.
///
/// # Errors
/// `unknown_version` if the page has no former version with this number.
pub(crate) fn former_version(
    reader: &Reader,
    record: &PageRecord,
    page_ref: &PageRef,
    number: u32,
) -> Result<VersionRecord, Fault> {
    reader.version(record.id, number)?.ok_or_else(|| no_version(record, page_ref, number))
}

fn no_version(record: &PageRecord, page_ref: &PageRef, number: u32) -> Fault {
    let message = format!(
        "\"{}\" has no version {number}; its current version is {}",
        page_ref.slug, record.version
    );
    Fault::new(FaultCode::UnknownVersion, message)
        .hint(hint!("see {}", Command::History { page: Some(page_ref.to_string()) }))
}

/// Returns a version of a page as the reply of `get`.
#[must_use]
pub fn page_reply(source: SourceId, slug: Slug, record: PageRecord, content: Content) -> Page {
    let (trust, outside_lines) = (trust_of(&record), marked_lines(&record.marks));
    Page {
        id: record.id,
        copy_of: page::program_copy(&record.source_path).map(|copy| copy.original),
        slug,
        source_id: source,
        page_type: record.page_type,
        title: record.title,
        tags: record.tags,
        aliases: record.aliases,
        content: content.file_text(),
        frontmatter: content.frontmatter.into(),
        body: content.body.into(),
        content_hash: hex(&record.content_hash),
        chunks: record.chunks,
        created_at: rfc3339(record.created_at),
        updated_at: rfc3339(record.updated_at),
        source_path: Some(record.source_path),
        source_kind: record.provenance.source_kind,
        source_uri: record.provenance.source_uri,
        ingested_via: record.provenance.ingested_via,
        ingested_at: record.provenance.ingested_at.map(rfc3339),
        version: record.version,
        trust,
        outside_lines,
    }
}

/// Returns a version as a row of a history. The numbers of added and removed lines are `None`.
fn version_row(record: &PageRecord, current: bool) -> VersionRow {
    let author = author_of(record);
    VersionRow {
        version: record.version,
        current,
        written_at: rfc3339(record.written_at),
        title: record.title.clone(),
        page_type: record.page_type.clone(),
        content_hash: hex(&record.content_hash),
        bytes: record.bytes,
        written_via: author.as_ref().map(|author| author.kind.clone()),
        written_by: author.as_ref().map(author_name),
        trust: trust_of(record),
        outside_lines: marked_lines(&record.marks),
        lines_added: None,
        lines_removed: None,
    }
}

/// Returns the fault for a missing page, with a hint how to search for it.
pub fn no_page(source: &SourceId, slug: &Slug) -> Fault {
    let message = format!("there is no page \"{slug}\" in source \"{source}\"");
    let words = slug.name().replace(['-', '_'], " ");
    let hint = hint!("look for it: {}", Command::Search { words: Some(words.to_string()) });
    Fault::new(FaultCode::NotFound, message).hint(hint)
}
