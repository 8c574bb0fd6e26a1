//! `mv`: gives a page another slug, and updates the links to it.

use std::sync::Arc;

use brain_protocol::{
    Command, Fault, FaultCode, MoveReply, PageChange, Rename, Slug, SourceId, hint,
};

use crate::pages::PageService;
use crate::pages::page_move::{LinkUpdates, PageMove};
use crate::provenance::author_of_change;
use crate::write_page::{build_new_page, names_and_links, stored_document};
use brain_base::caller::Caller;
use brain_page::{Document, file_path};
use brain_store::{Author, LineChange, NewPage, PageRecord, Reader, StoreError, Transaction};

/// The maximum number of attempts to move or merge a page while it, or a page with a link to it,
/// changes.
pub const MAX_ATTEMPTS: usize = 8;

/// A move, computed from the pages as they were read.
struct RenamePlan {
    source: SourceId,
    from: Slug,
    to: Slug,
    to_path: String,
    record: PageRecord,
    /// The content of the page at its new slug.
    new: NewPage,
    link_updates: LinkUpdates,
    /// The author and the line marks of the pages in `link_updates`.
    change: (Author, LineChange),
}

/// The pages that a move or a merge wrote.
pub(crate) type WrittenPages = Vec<(SourceId, PageRecord)>;

/// What the transaction of a move does besides the move. Runs again when the move does.
pub trait AroundMove: Send + Sync {
    /// Runs before the first write, when the move is certain.
    fn before(&self, transaction: &mut Transaction<'_>) -> Result<(), StoreError>;
    /// Runs after the last write. `steps` are the numbers of the changes.
    fn after(&self, transaction: &mut Transaction<'_>, steps: Vec<u64>) -> Result<(), StoreError>;
}

impl PageService {
    /// Gives a page another slug, and turns the links to it.
    pub fn rename(&self, caller: &Caller, request: &Rename) -> Result<MoveReply, Fault> {
        self.rename_around(caller, (request, None), None)
    }

    /// As [`Self::rename`], with more in the same transaction. The file gets the path beside the
    /// request, or that of the slug.
    ///
    /// # Errors
    /// Those of a move, and of `around`.
    pub fn rename_around(
        &self,
        caller: &Caller,
        (request, path): (&Rename, Option<&str>),
        around: Option<&Arc<dyn AroundMove>>,
    ) -> Result<MoveReply, Fault> {
        let now = self.clock.now();
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(caller.visibility())?;
            let plan = Arc::new(self.plan_rename(caller, &reader, (request, path))?);
            drop(reader);
            let (write, around) = (Arc::clone(&plan), around.cloned());
            plan.link_updates.read_files(&self.files);
            let written =
                self.files.write_page((&plan.source, &plan.from), move |transaction| {
                    let RenamePlan { source, from, to, to_path, record, new, .. } = &*write;
                    let RenamePlan { link_updates, change, .. } = &*write;
                    if let Some(taken) = transaction.page(source, to)? {
                        return Err(slug_taken_fault(to, &taken).into());
                    }
                    let is_current =
                        transaction.page(source, from)?.is_some_and(|r| r.seq == record.seq);
                    if !is_current || !link_updates.are_current(transaction)? {
                        return Ok(None);
                    }
                    around.iter().try_for_each(|around| around.before(transaction))?;
                    let to = (to, Some(to_path.as_str()));
                    let moved = transaction.move_page(source, (from, to), record, new, now)?;
                    let others = link_updates.write(transaction, change, now)?;
                    if let Some(around) = &around {
                        let turned = others.iter().map(|(_, record)| record.seq);
                        let steps = std::iter::once(moved.seq).chain(turned).collect();
                        around.after(transaction, steps)?;
                    }
                    Ok::<_, StoreError>(Some((moved, others)))
                })?;
            if let Some((moved, others)) = written {
                return Ok(self.finish_rename(&plan, &moved, &others));
            }
        }
        Err(changing_fault(&request.page.slug))
    }

    fn plan_rename(
        &self,
        caller: &Caller,
        reader: &Reader,
        (request, path): (&Rename, Option<&str>),
    ) -> Result<RenamePlan, Fault> {
        let (source, record) = self.active(caller, reader, &request.page)?;
        let (from, to) = (request.page.slug.clone(), request.to.clone());
        if let Some(taken) = reader.page_even_deleted(&source, &to)? {
            return Err(match from == to {
                true => Fault::new(FaultCode::Usage, format!("the page has the slug \"{to}\""))
                    .hint("give it another one"),
                false => slug_taken_fault(&to, &taken),
            });
        }
        let to_path = path.map_or_else(|| file_path(&to), str::to_owned);
        let full_path = self.files.file_path_of(&source, &to_path);
        if to_path != record.source_path && full_path.is_some_and(|path| path.exists()) {
            let message = format!("there is a file \"{to_path}\" in source \"{source}\" already");
            return Err(Fault::new(FaultCode::Conflict, message)
                .hint(hint!("move it away, or take it in first: {}", Command::Sync)));
        }
        let document = stored_document(&reader.content(&record)?)?;
        let Document { frontmatter, body } = &document;
        let (names, _) = names_and_links(&to, &record.aliases, frontmatter, body);
        let page = (source.clone(), from.clone(), record.clone());
        let moved = PageMove {
            page: &page,
            to: &to,
            to_path: &to_path,
            to_id: record.id,
            to_names: &names,
            files: &self.files,
        };
        let mut link_updates = moved.update_backlinks(reader)?;
        let own = moved.update_own_links(reader, &document)?;
        link_updates.not_updated.extend(own.not_updated.iter().map(|raw| format!("{to}: {raw}")));
        let (provenance, change) = (record.provenance.clone(), author_of_change(caller));
        let new = build_new_page(&to, own.document, provenance, None, change.clone())?;
        Ok(RenamePlan { source, from, to, to_path, record, new, link_updates, change })
    }

    /// Moves the file of the page, writes the files of the linking pages, and returns the reply.
    fn finish_rename(
        &self,
        plan: &RenamePlan,
        moved: &PageRecord,
        others: &WrittenPages,
    ) -> MoveReply {
        self.files.move_file(&plan.source, &plan.record.source_path, &moved.source_path);
        let report = self.files.update_file(&plan.source, moved, None);
        let mut warnings = report.warnings();
        warnings.extend(self.update_files(others));
        let former_path = plan.record.source_path.as_str();
        self.files.remove_former_files(&plan.source, std::iter::once(former_path));
        let former_path = self.files.file_path_of(&plan.source, former_path);
        if let Some(path) = former_path.filter(|path| path.exists())
            && report.path.canonicalize().ok() != path.canonicalize().ok()
        {
            warnings.push(format!("the file {} was not moved", path.display()));
        }
        MoveReply {
            status: PageChange::Renamed,
            slug: plan.to.clone(),
            from: plan.from.clone(),
            source_id: plan.source.clone(),
            version: moved.version,
            written: report.is_written,
            path: report.path.display().to_string(),
            pages: plan.link_updates.page_refs(),
            left: plan.link_updates.not_updated.clone(),
            recoverable_until: None,
            warnings,
        }
    }

    /// Writes the files of pages. Returns warnings about files that were not written.
    pub(crate) fn update_files(&self, pages: &WrittenPages) -> Vec<String> {
        let reports =
            pages.iter().map(|(source, record)| self.files.update_file(source, record, None));
        reports.flat_map(|report| report.warnings()).collect()
    }
}

/// Returns the fault that the page `taken`, active or deleted, has the slug `to`.
fn slug_taken_fault(to: &Slug, taken: &PageRecord) -> Fault {
    if taken.deleted_at.is_some() {
        let message = format!("a deleted page has the slug \"{to}\"");
        return Fault::new(FaultCode::Conflict, message).hint(hint!(
            "choose another slug; {} brings the deleted page back",
            Command::Restore { page: None }
        ));
    }
    Fault::new(FaultCode::Conflict, format!("there is a page \"{to}\" already"))
        .hint(hint!("choose another slug, or join the two pages: {}", Command::Merge))
}

pub(crate) fn changing_fault(slug: &Slug) -> Fault {
    let message = format!("\"{slug}\" or pages that link to it change again and again");
    Fault::new(FaultCode::Busy, message).hint("try again when the import or sync has ended")
}
