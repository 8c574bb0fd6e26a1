//! `merge`: appends one page to another, updates the links to it, and soft-deletes it.

use std::sync::Arc;

use brain_base::clock::rfc3339;
use brain_protocol::{
    Command, Fault, FaultCode, Merge, MoveReply, PageChange, PageRef, Slug, SourceId, hint,
};

use crate::pages::PageService;
use crate::pages::append::check_size;
use crate::pages::attachments::check_mergeable;
use crate::pages::page_move::{LinkUpdates, PageMove, without_links_to};
use crate::pages::rename::{MAX_ATTEMPTS, changing_fault};
use crate::provenance::{author_of_change, is_from_outside};
use crate::write_page::{build_new_page, names_and_links, stored_document};
use brain_base::caller::Caller;
use brain_page::{self as page, ATTACHMENTS, Document};
use brain_store::{
    Author, LineChange, NewPage, Origin, PageRecord, RECOVERY_MS, Reader, StoreError,
};

/// A merge, computed from the pages as they were read.
struct MergePlan {
    source: SourceId,
    from: (Slug, PageRecord),
    into: (Slug, PageRecord),
    /// The content of `into` after the merge.
    new: NewPage,
    link_updates: LinkUpdates,
    /// The author and the line marks of the pages in `link_updates`.
    change: (Author, LineChange),
}

impl PageService {
    /// Appends a page to another one, turns the links to it, and deletes it.
    pub fn merge(&self, caller: &Caller, request: &Merge) -> Result<MoveReply, Fault> {
        let now = self.clock.now();
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(caller.visibility())?;
            let plan = Arc::new(self.plan_merge(caller, &reader, request)?);
            drop(reader);
            let write = Arc::clone(&plan);
            plan.link_updates.read_files(&self.files);
            self.files.read_file_of(&plan.source, &plan.from.0);
            let written =
                self.files.write_page((&plan.source, &plan.into.0), move |transaction| {
                    let MergePlan { source, from, into, new, link_updates, change } = &*write;
                    for (slug, record) in [from, into] {
                        if transaction
                            .page(source, slug)?
                            .is_none_or(|current| current.seq != record.seq)
                        {
                            return Ok(None);
                        }
                    }
                    if !link_updates.are_current(transaction)? {
                        return Ok(None);
                    }
                    transaction.adopt_versions(source, &into.0, &into.1, &from.1)?;
                    transaction.adopt_attachments(from.1.id, into.1.id, now)?;
                    let origin = Origin::Page { id: from.1.id, version: from.1.version };
                    transaction.set_origins(vec![origin]);
                    let merged = transaction.write_page(source, &into.0, new, now)?.record;
                    transaction.set_origins(Vec::new());
                    let deleted = transaction.soft_delete(source, &from.0, from.1.clone(), now)?;
                    let others = link_updates.write(transaction, change, now)?;
                    Ok::<_, StoreError>(Some((merged, deleted, others)))
                })?;
            let Some((merged, deleted, others)) = written else { continue };
            let report = self.files.update_file(&plan.source, &merged, None);
            let mut warnings = report.warnings();
            warnings.extend(self.files.update_file(&plan.source, &deleted, None).warnings());
            warnings.extend(self.update_files(&others));
            return Ok(MoveReply {
                status: PageChange::Merged,
                slug: plan.into.0.clone(),
                from: plan.from.0.clone(),
                source_id: plan.source.clone(),
                version: merged.version,
                written: report.is_written,
                path: report.path.display().to_string(),
                pages: plan.link_updates.page_refs(),
                left: plan.link_updates.not_updated.clone(),
                recoverable_until: Some(rfc3339(now + RECOVERY_MS)),
                warnings,
            });
        }
        Err(changing_fault(&request.page.slug))
    }

    fn plan_merge(
        &self,
        caller: &Caller,
        reader: &Reader,
        request: &Merge,
    ) -> Result<MergePlan, Fault> {
        let (source, from) = self.active(caller, reader, &request.page)?;
        let into_ref = PageRef { source: Some(source.clone()), slug: request.into.clone() };
        let (_, into) = self.active(caller, reader, &into_ref)?;
        if from.id == into.id {
            return Err(Fault::new(FaultCode::Usage, "a page cannot be merged with itself")
                .hint(hint!("name two pages: {}", Command::Merge)));
        }
        let (from_slug, into_slug) = (request.page.slug.clone(), request.into.clone());
        let from_page = (source.clone(), from_slug.clone(), from.clone());
        let into_page = (source.clone(), into_slug.clone(), into.clone());
        let [from_text, merged] =
            [(&from_page, &into_page), (&into_page, &from_page)].map(|(own, other)| {
                let document = stored_document(&reader.content(&own.2)?)?;
                without_links_to(reader, own, other, document)
            });
        let (from_text, mut merged) = (from_text?, merged?);
        let (tags, aliases) = (merged.frontmatter.tags(), merged.frontmatter.aliases());
        add_to_list(&mut merged, "tags", tags, from_text.frontmatter.tags());
        add_to_list(&mut merged, "aliases", aliases, from_text.frontmatter.aliases());
        let files = check_mergeable(reader, &from_page, &into_page, &merged)?;
        let attachments = merged.frontmatter.list(ATTACHMENTS);
        add_to_list(&mut merged, ATTACHMENTS, attachments, files);
        let aliases = merged.frontmatter.aliases();
        let Document { frontmatter, body } = &merged;
        let (names, _) = names_and_links(&into_slug, &aliases, frontmatter, body);
        let moved = PageMove {
            page: &from_page,
            to: &into_slug,
            to_path: &into.source_path,
            to_id: into.id,
            to_names: &names,
            files: &self.files,
        };
        let mut link_updates = moved.update_backlinks(reader)?;
        let appended = moved.update_own_links(reader, &from_text)?;
        let updated = moved.update_links(reader, &into_page, &merged)?;
        let not_updated = appended.not_updated.iter().chain(&updated.not_updated);
        link_updates.not_updated.extend(not_updated.map(|raw| format!("{into_slug}: {raw}")));
        let mut merged = updated.document;
        if !appended.document.body.trim().is_empty() {
            merged.body = page::append(&merged.body, None, &appended.document.body)
                .map_err(|error| Fault::new(FaultCode::InvalidRequest, error.to_string()))?
                .into();
        }
        check_size(merged.body.len(), into_slug.as_str())?;
        let change = author_of_change(caller);
        // If any line of the appended page is from outside, all its lines are marked as being from
        // outside.
        let appended_by = match outside_author(&from) {
            Some(author) => (author, LineChange::ByOtherAuthor),
            None => change.clone(),
        };
        let own = into.provenance.clone();
        let new = build_new_page(&into_slug, merged, own, Some(&into.provenance), appended_by)?;
        let (from, into) = ((from_slug, from), (into_slug, into));
        Ok(MergePlan { source, from, into, new, link_updates, change })
    }
}

/// Returns the author of a page from outside. For a page of the owner's, returns the author of its
/// first marked lines, if it has any.
fn outside_author(page: &PageRecord) -> Option<Author> {
    match is_from_outside(page.provenance.source_kind.as_deref()) {
        true => Some(Author {
            kind: page.provenance.source_kind.clone()?,
            uri: page.provenance.source_uri.clone().unwrap_or_default(),
        }),
        false => page.marks.first().map(|mark| mark.author.clone()),
    }
}

/// Adds the values of `more` that `present`, the list under `key`, lacks. A key with more than a
/// list of words stays as it is.
fn add_to_list(document: &mut Document, key: &str, present: Vec<String>, more: Vec<String>) {
    let before = present.len();
    let mut all = present;
    for value in more {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    if all.len() > before && document.frontmatter.is_plain(key) {
        document.frontmatter.set_list(key, &all);
    }
}
