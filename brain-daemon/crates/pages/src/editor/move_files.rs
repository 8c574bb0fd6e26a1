//! Moves files and directories, with the pages in them, and updates the links to and in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_protocol::{
    Fault, FaultCode, FileMove, OpenDocument, PageRef, Refactor, RefactorReply, Slug, SourceId,
};

use super::files_on_disk::{is_other_file, list_files, not_moved, remove_empty_dirs};
use super::refactor::{Only, OpenPage, changing};
use super::rewrite::SplitText;
use super::stem;
use crate::pages::PageService;
use crate::pages::page_move::{LinkUpdates, kept_target};
use crate::pages::rename::MAX_ATTEMPTS;
use crate::provenance::author_of_change;
use crate::write_page::{build_new_page, link_record, stored_document};
use brain_base::caller::Caller;
use brain_page::{
    Document, LinkTarget, MovedFile, NewTarget, PageLink, RewrittenDocument, distinct_slug,
    is_markdown, normalize_name, plain_slug, retarget_links,
};
use brain_store::{
    Author, LineChange, NewPage, PageEntry, PageRecord, Reader, Resolution, StoreError, Transaction,
};

/// A page that moves.
struct MovedPage {
    /// The page before the move. If its file moved before, and a sync found that: afterwards.
    page: PageEntry,
    old_slug: Slug,
    old_path: String,
    to: Slug,
    to_path: String,
    /// The name for a bare `[[name]]`, if no other page has it.
    name: Option<String>,
    /// Whether a sync has already given the page its new slug.
    is_done: bool,
}

/// The moves of a request.
struct Moves {
    source: SourceId,
    root: PathBuf,
    /// The moved pages, by their ids.
    pages: BTreeMap<u64, MovedPage>,
    /// The moves, as pairs.
    folders: Vec<(String, String)>,
}

/// A move, computed from the pages as they were read.
struct MovePlan {
    moves: Moves,
    /// The texts of the moved pages at their new slugs.
    moved: Vec<(u64, NewPage)>,
    updates: LinkUpdates,
    texts: Vec<OpenDocument>,
    change: (Author, LineChange),
}

/// The records of the written pages.
type Written = Vec<(SourceId, PageRecord)>;

impl PageService {
    /// Moves files and directories of a source.
    pub(super) fn move_files(
        &self,
        caller: &Caller,
        (source, moves): (&SourceId, &[FileMove]),
        request: &Refactor,
    ) -> Result<RefactorReply, Fault> {
        let now = self.clock.now();
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(caller.visibility())?;
            let open = self.open_pages(&reader, &request.open)?;
            let only = self.only(&reader, request)?;
            let planned = self.moves(caller, &reader, (source, moves), &only)?;
            let plan = Arc::new(self.plan_moves(caller, &reader, planned, (&open, &only))?);
            drop(reader);
            if request.is_plan {
                return Ok(plan.reply(Vec::new()));
            }
            for it in plan.moves.pages.values() {
                self.files.read_file_of(source, &it.page.1);
            }
            plan.updates.read_files(&self.files);
            let write = Arc::clone(&plan);
            let written = self.store.write(move |transaction| write.write(transaction, now))?;
            if let Some(written) = written {
                let is_new = only.0.is_none();
                for (from, to) in plan.moves.folders.iter().filter(|_| is_new) {
                    self.move_on_disk(&plan.moves, from, to);
                }
                let mut warnings = self.update_files(&written);
                self.files.remove_former_files(&plan.moves.source, plan.former_paths());
                warnings.extend(not_moved(&plan.moves.root, &plan.moves.folders));
                return Ok(plan.reply(warnings));
            }
        }
        Err(changing())
    }

    /// Finds the pages that move, and their new slugs.
    fn moves(
        &self,
        caller: &Caller,
        reader: &Reader,
        (source, moves): (&SourceId, &[FileMove]),
        only: &Only,
    ) -> Result<Moves, Fault> {
        let source = crate::sources::resolve(caller, reader, Some(source))?.0;
        let root = self.files.file_path_of(&source, "").ok_or_else(|| {
            Fault::new(FaultCode::NotFound, format!("source \"{source}\" is on another machine"))
        })?;
        let mut found = Moves { source, root, pages: BTreeMap::new(), folders: Vec::new() };
        for it in moves {
            let FileMove { from, to } = it;
            check_path(from)?;
            check_path(to)?;
            if it.moved(to).is_some_and(|moved| moved != *to) {
                return Err(invalid(&format!("\"{from}\" cannot move into itself")));
            }
            if only.0.is_some() {
                // A move that was taken back since is not made again.
                found.add(reader, it, true)?;
                found.folders.push((from.clone(), to.clone()));
                continue;
            }
            if found.root.join(from).exists() && is_other_file(&found.root, from, to) {
                return Err(taken(to));
            }
            let (count, file_exists) = (found.pages.len(), |path| found.root.join(path).exists());
            let is_there = file_exists(from) || file_exists(to);
            found.add(reader, it, false)?;
            if !is_there && found.pages.len() == count {
                let message = format!("there is no file or page \"{from}\" any more");
                return Err(Fault::new(FaultCode::NotFound, message));
            }
            found.folders.push((from.clone(), to.clone()));
        }
        let ids: Vec<u64> = found.pages.keys().copied().collect();
        for it in found.pages.values_mut() {
            let name = stem(&it.to_path).to_owned();
            let others = reader.pages_by_name(&found.source, &normalize_name(&name), ids.len() + 2);
            let is_free = others?.iter().all(|page| ids.contains(&page.2.id));
            it.name = (is_free && !name.contains(['#', '|', '[', ']'])).then_some(name);
        }
        Ok(found)
    }

    fn plan_moves(
        &self,
        caller: &Caller,
        reader: &Reader,
        moves: Moves,
        (open, only): (&[OpenPage<'_>], &Only),
    ) -> Result<MovePlan, Fault> {
        let mut linking = match &only.0 {
            Some(pages) => pages.clone(),
            None => moves.linking(reader)?,
        };
        let is_open = |page: &PageEntry| {
            open.iter().any(|it| it.place.page_ref() == PageRef::new(&page.0, &page.1))
        };
        let change = author_of_change(caller);
        let (mut updates, mut moved) = (LinkUpdates::default(), Vec::new());
        for (id, it) in &moves.pages {
            linking.remove(id);
            if !only.has(&it.page) {
                continue;
            }
            let mut document = stored_document(&reader.content(&it.page.2)?)?;
            // The editor may have moved the file already.
            let is_moved = |open: &OpenPage<'_>| open.place.path == it.to_path;
            if !is_open(&it.page) && !open.iter().any(is_moved) {
                let own = (&it.page.0, &it.old_slug, it.old_path.as_str());
                document = updates.add(moves.rewrite(reader, own, &document)?, &it.to);
                if it.is_done {
                    updates.pages.push((it.page.clone(), document));
                    continue;
                }
            }
            let provenance = it.page.2.provenance.clone();
            if !it.is_done {
                let page = build_new_page(&it.to, document, provenance, None, change.clone())?;
                moved.push((*id, page));
            }
        }
        for page in linking.into_values().filter(|page| !is_open(page)) {
            let document = stored_document(&reader.content(&page.2)?)?;
            let own = (&page.0, &page.1, page.2.source_path.as_str());
            let new = moves.rewrite(reader, own, &document)?;
            let is_changed = new.rewritten_count > 0;
            let document = updates.add(new, &page.1);
            if is_changed {
                updates.pages.push((page, document));
            }
        }
        let texts = moves.rewrite_open(reader, open, &mut updates)?;
        Ok(MovePlan { moves, moved, updates, texts, change })
    }

    /// Moves a file, or the files of a directory, unless the editor has done so.
    fn move_on_disk(&self, moves: &Moves, from: &str, to: &str) {
        let old = moves.root.join(from);
        if !old.is_dir() {
            return self.files.move_file(&moves.source, from, to);
        }
        let mut files = Vec::new();
        list_files(&old, from, &mut files);
        for file in &files {
            let rest = file.strip_prefix(from).unwrap_or_default();
            self.files.move_file(&moves.source, file, &format!("{to}{rest}"));
        }
        remove_empty_dirs(&old);
    }
}

impl Moves {
    /// Adds the pages of a file or directory. `is_over` leaves out those that are not moved.
    fn add(&mut self, reader: &Reader, it: &FileMove, is_over: bool) -> Result<(), Fault> {
        let mut found: Vec<(PageEntry, String, String)> = Vec::new();
        let source = self.source.clone();
        let back = FileMove { from: it.to.clone(), to: it.from.clone() };
        let mut visit = |page: PageEntry, path: &str| {
            if let Some(to) = it.moved(path) {
                found.extend((!is_over).then(|| (page, path.to_owned(), to)));
            } else if let Some(from) = back.moved(path) {
                // A sync may have found the move already.
                found.push((page, from, path.to_owned()));
            }
        };
        if is_markdown(Path::new(&it.from)) {
            for path in [&it.from, &it.to] {
                if let Some((slug, record)) = reader.page_at(&source, path)?
                    && record.deleted_at.is_none()
                {
                    visit((source.clone(), slug, record), path);
                    break;
                }
            }
        } else {
            reader.pages_in_order_below(&source, ("", ""), |page| {
                let path = page.2.source_path.clone();
                visit(page, &path);
                Ok(true)
            })?;
        }
        for (page, old_path, to_path) in found {
            let is_done = page.2.source_path == to_path;
            let (old_slug, to) = match is_done {
                true => (plain_slug(&old_path).map_err(|e| invalid(&e.message))?, page.1.clone()),
                false => (page.1.clone(), free_slug(reader, &page, &to_path)?),
            };
            let id = page.2.id;
            let name = None;
            let moved = MovedPage { page, old_slug, old_path, to, to_path, name, is_done };
            // Of several moves of a page, the first one has its oldest name.
            self.pages.entry(id).or_insert(moved);
        }
        Ok(())
    }

    /// Returns the pages that may link to a page that moves.
    fn linking(&self, reader: &Reader) -> Result<BTreeMap<u64, PageEntry>, Fault> {
        let mut linking: BTreeMap<u64, PageEntry> = BTreeMap::new();
        for it in self.pages.values() {
            let former = (it.page.0.clone(), it.old_slug.clone(), it.page.2.clone());
            let mut names = reader.derived(it.page.2.id)?.names;
            names.push(normalize_name(it.old_slug.name()));
            for id in reader.linking_with_names(&former, &names, usize::MAX)? {
                if let Some(page) = reader.by_id(id)? {
                    linking.insert(id, page);
                }
            }
        }
        Ok(linking)
    }

    /// Returns the new texts of the open documents that change.
    fn rewrite_open(
        &self,
        reader: &Reader,
        open: &[OpenPage<'_>],
        updates: &mut LinkUpdates,
    ) -> Result<Vec<OpenDocument>, Fault> {
        let mut texts = Vec::new();
        for OpenPage { place, document } in open {
            let Ok(split) = SplitText::parse(&place.path, &document.text) else {
                updates.not_updated.push(format!("{}: frontmatter", place.path));
                continue;
            };
            let own = (&place.source, &place.slug, place.path.as_str());
            let new = self.rewrite(reader, own, &split.document)?;
            let is_changed = new.rewritten_count > 0;
            let new = updates.add(new, &place.slug);
            if is_changed {
                let text = split.with(&new.frontmatter, &new.body);
                texts.push(OpenDocument { file: document.file.clone(), text });
            }
        }
        Ok(texts)
    }

    /// Rewrites the links in a document, which is at `own` before the move.
    fn rewrite(
        &self,
        reader: &Reader,
        (source, slug, path): (&SourceId, &Slug, &str),
        document: &Document,
    ) -> Result<RewrittenDocument, Fault> {
        let own = self.pages.values().find(|it| it.page.0 == *source && it.old_path == path);
        let new_path = own.map_or(path, |it| it.to_path.as_str());
        let file = MovedFile { old_slug: slug, old_path: path, new_path, folders: &self.folders };
        let exists = |path: &str| {
            let new = self.folders.iter().find_map(|(from, to)| {
                path.strip_prefix(from.as_str()).map(|rest| format!("{to}{rest}"))
            });
            let is_inside = own.is_some() && !path.is_empty() && !path.starts_with("../");
            is_inside
                && (self.root.join(path).exists()
                    || new.is_some_and(|new| self.root.join(new).exists()))
        };
        let mut failure = None;
        let done = retarget_links(document, file, exists, |link| {
            let to = own.map(|it| &it.to);
            self.new_target(reader, (source, slug), to, link).unwrap_or_else(|error| {
                failure = Some(error);
                None
            })
        });
        failure.map_or(Ok(done), |error: StoreError| Err(error.into()))
    }

    /// Returns the new target of a link in the page `own`, which moves to the slug `own_to`.
    fn new_target(
        &self,
        reader: &Reader,
        own: (&SourceId, &Slug),
        own_to: Option<&Slug>,
        link: &PageLink,
    ) -> Result<Option<NewTarget>, StoreError> {
        let found = reader.resolve(&link_record(link.clone()), own)?;
        let moved = match &found {
            Resolution::Page(page) => self.pages.get(&page.2.id).filter(|it| !it.is_done),
            Resolution::Missing => self.pages.values().find(|it| it.is_done && it.was_meant(link)),
            Resolution::Ambiguous => None,
        };
        let Some(moved) = moved else {
            return own_to.map_or(Ok(None), |to| kept_target(reader, own.0, (own.1, to), link));
        };
        if let LinkTarget::Name(name) = &link.target {
            let is_new_name = moved.name.as_deref().map(normalize_name).as_ref() == Some(name);
            // An alias still leads there.
            if is_new_name || !moved.is_file_name(name) {
                return Ok(None);
            }
        }
        let (path, name) = (moved.to_path.clone(), moved.name.clone());
        Ok(Some(NewTarget { old_slug: moved.old_slug.clone(), path, name }))
    }
}

impl MovedPage {
    fn is_file_name(&self, name: &str) -> bool {
        let key = brain_page::file_name_key(name);
        [stem(&self.old_path), self.old_slug.name()].iter().any(|own| {
            let own = normalize_name(own);
            own == name || Some(own) == key
        })
    }

    /// Returns whether a link that leads nowhere named the page before its move.
    fn was_meant(&self, link: &PageLink) -> bool {
        match &link.target {
            LinkTarget::Name(name) => self.is_file_name(name),
            LinkTarget::Slug { slug, alternative, .. } => {
                *slug == self.old_slug || alternative.as_ref() == Some(&self.old_slug)
            }
        }
    }
}

impl LinkUpdates {
    /// Takes the rewritten document, and notes what could not be updated.
    fn add(&mut self, new: RewrittenDocument, slug: &Slug) -> Document {
        self.not_updated.extend(new.not_updated.iter().map(|raw| format!("{slug}: {raw}")));
        new.document
    }
}

impl MovePlan {
    /// Stores the pages. Returns `None` if one of them has changed since it was read.
    fn write(
        &self,
        transaction: &mut Transaction<'_>,
        now: i64,
    ) -> Result<Option<Written>, StoreError> {
        let source = &self.moves.source;
        for it in self.moves.pages.values() {
            let current = transaction.page(source, &it.page.1)?;
            if current.is_none_or(|current| current.seq != it.page.2.seq) {
                return Ok(None);
            }
            let other = transaction.page(source, &it.to)?;
            if other.is_some_and(|other| other.id != it.page.2.id) {
                return Err(taken(&it.to_path).into());
            }
        }
        if !self.updates.are_current(transaction)? {
            return Ok(None);
        }
        let mut written = Written::new();
        for (id, new) in &self.moved {
            let it = &self.moves.pages[id];
            let target = (&it.to, Some(it.to_path.as_str()));
            let record =
                transaction.move_page(source, (&it.page.1, target), &it.page.2, new, now)?;
            written.push((source.clone(), record));
        }
        written.extend(self.updates.write(transaction, &self.change, now)?);
        Ok(Some(written))
    }

    fn former_paths(&self) -> impl Iterator<Item = &str> {
        self.moved.iter().map(|(id, _)| self.moves.pages[id].old_path.as_str())
    }

    fn reply(&self, warnings: Vec<String>) -> RefactorReply {
        let moved = self.moves.pages.values().map(|it| PageRef::new(&it.page.0, &it.to));
        RefactorReply {
            texts: self.texts.clone(),
            pages: moved.chain(self.updates.page_refs()).collect(),
            left: self.updates.not_updated.clone(),
            warnings,
        }
    }
}

/// Returns the slug for the file of `page` at its new path.
fn free_slug(reader: &Reader, page: &PageEntry, to_path: &str) -> Result<Slug, Fault> {
    let slugs = [plain_slug(to_path), distinct_slug(to_path)];
    for slug in slugs {
        let slug = slug.map_err(|e| invalid(&e.message))?;
        let other = reader.page_even_deleted(&page.0, &slug)?;
        if other.is_none_or(|other| other.id == page.2.id) {
            return Ok(slug);
        }
    }
    Err(taken(to_path))
}

/// Refuses a path that leaves the source, or is none.
fn check_path(path: &str) -> Result<(), Fault> {
    let is_valid = path.split('/').all(|part| !["", ".", ".."].contains(&part));
    let message = format!("\"{}\" is not a path in the source", path.escape_debug());
    if is_valid && !path.contains('\0') { Ok(()) } else { Err(invalid(&message)) }
}

fn invalid(message: &str) -> Fault {
    Fault::new(FaultCode::Usage, message.to_owned()).hint("choose another name")
}

fn taken(path: &str) -> Fault {
    Fault::new(FaultCode::Conflict, format!("there is a file or page \"{path}\" already"))
        .hint("choose another name")
}
