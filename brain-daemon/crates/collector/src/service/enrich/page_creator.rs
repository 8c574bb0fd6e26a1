//! Decides which people get a new page, and makes its slug and first content.

use std::collections::HashSet;

use brain_protocol::{Fault, Slug, SourceId};

use super::super::collected_events::{CollectedFiles, PostAuthor};
use super::super::data_fault;
use super::super::notability::NotabilityGate;
use super::posts_by_author::PostSummary;
use crate::JournalEvent;
use brain_page::{Document, Frontmatter};
use brain_store::Reader;

/// The folder of new pages.
const FOLDER: &str = "people/";

/// Applies the notability gate and counts rejections.
pub(super) struct PageCreator<'a> {
    gate: NotabilityGate,
    reader: &'a Reader,
    source: &'a SourceId,
    files: &'a CollectedFiles,
    /// Journal keys of pages created before; loaded when first needed.
    created_keys: Option<HashSet<String>>,
    /// Number of people without a handle or below the gate.
    pub(super) rejected_count: u64,
}

impl<'a> PageCreator<'a> {
    /// Prepares the creation of pages in `source`.
    pub(super) fn new(
        gate: NotabilityGate,
        reader: &'a Reader,
        source: &'a SourceId,
        files: &'a CollectedFiles,
    ) -> Self {
        Self { gate, reader, source, files, created_keys: None, rejected_count: 0 }
    }

    /// Returns the slug of a new page for `author`, who wrote `posts`. `None` if `author` gets no
    /// page. Counts only posts from mentions and searches.
    ///
    /// # Errors
    /// The fault of the store or journal, if it cannot be read.
    pub(super) fn slug(
        &mut self,
        author: &PostAuthor,
        posts: &[&PostSummary],
    ) -> Result<Option<Slug>, Fault> {
        let gate_posts: Vec<&&PostSummary> =
            posts.iter().filter(|post| post.counts_for_gate).collect();
        if author.is_own || !gate_posts.iter().any(|post| post.is_in_span) {
            return Ok(None);
        }
        let times: Vec<i64> = gate_posts.iter().map(|post| post.written_at).collect();
        let is_notable = self.gate.passes(&times, author.is_verified, author.followers);
        if author.handle.is_none() || !is_notable {
            self.rejected_count += 1;
            return Ok(None);
        }
        let created_keys = match &mut self.created_keys {
            Some(keys) => keys,
            none => none.insert(created_page_keys(self.files)?),
        };
        if created_keys.contains(&page_key(author)) {
            Ok(None)
        } else {
            free_slug(self.reader, self.source, author)
        }
    }
}

/// Returns the journal key of the page created for an author.
pub(super) fn page_key(author: &PostAuthor) -> String {
    format!("page {}", author.id)
}

/// Returns the URL of the account.
pub(super) fn profile_url(author: &PostAuthor) -> String {
    match &author.handle {
        Some(handle) => format!("https://x.com/{handle}"),
        None => format!("https://x.com/i/user/{}", author.id),
    }
}

/// Returns the content of the new page. Name and handle are its only text from outside.
pub(super) fn new_page(author: &PostAuthor) -> Document {
    let mut frontmatter = Frontmatter::empty();
    let handle = author.handle.as_deref().unwrap_or(&author.id);
    frontmatter.set("type", "person");
    frontmatter.set("title", author.name.as_deref().unwrap_or(handle));
    frontmatter.set("x", handle);
    frontmatter.set_list("tags", &["social".to_owned()]);
    let body = format!("Known from X, as [@{handle}]({}).\n", profile_url(author));
    Document { frontmatter, body: body.into() }
}

/// Returns the keys of all pages that enrichment ever created, so that a removed page is not
/// created again.
fn created_page_keys(files: &CollectedFiles) -> Result<HashSet<String>, Fault> {
    let all = files.journal.since(i64::MIN).map_err(|fault| data_fault(&fault))?;
    let created_key = |event| match event {
        JournalEvent::Enriched { key } if key.starts_with("page ") => Some(key),
        _ => None,
    };
    Ok(all.into_iter().filter_map(|entry| created_key(entry.event)).collect())
}

/// Returns the first free slug of three: from the name, from name and handle, from the handle.
/// `None` if no slug is free, or a deleted page precedes the free slug.
fn free_slug(
    reader: &Reader,
    source: &SourceId,
    author: &PostAuthor,
) -> Result<Option<Slug>, Fault> {
    let handle = author.handle.as_deref().unwrap_or(&author.id);
    // One segment: separators and dots are removed.
    let name = author.name.as_deref().unwrap_or(handle).replace(['/', '\\', '.'], "-");
    let slug_of = |name: &str| {
        let slug = Slug::from_path(&format!("{FOLDER}{}", name.trim())).ok()?;
        slug.name()
            .contains(char::is_alphanumeric)
            .then_some(slug)
            .filter(|it| it.as_str().starts_with(FOLDER))
    };
    let from_name = slug_of(&name);
    let with_handle = from_name.as_ref().and_then(|_| slug_of(&format!("{name}-{handle}")));
    for slug in [from_name, with_handle, slug_of(handle)].into_iter().flatten() {
        match reader.page_even_deleted(source, &slug)? {
            None => return Ok(Some(slug)),
            Some(record) if record.deleted_at.is_some() => return Ok(None),
            Some(_) => {}
        }
    }
    Ok(None)
}
