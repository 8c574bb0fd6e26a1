//! Renames headings and tags, and updates what names them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use brain_protocol::{
    Fault, FaultCode, OpenDocument, PageRef, Refactor, RefactorReply, Refactoring, Slug, SourceId,
};

use super::Place;
use super::rewrite::SplitText;
use crate::pages::PageService;
use crate::pages::page_move::LinkUpdates;
use crate::pages::rename::MAX_ATTEMPTS;
use crate::provenance::author_of_change;
use crate::write_page::{link_record, stored_document};
use brain_base::caller::Caller;
use brain_page::{
    Document, normalize_tag, rename_tag, renamed_anchor, retarget_anchors, written_link,
};
use brain_store::{LATEST, PageEntry, PageLabel, Reader, Resolution};

/// A document that is open in the editor, with its place.
pub(super) struct OpenPage<'a> {
    pub(super) place: Place,
    pub(super) document: &'a OpenDocument,
}

/// What changes: the pages that the daemon writes, and the texts that the editor changes.
#[derive(Default)]
struct Rewrites {
    updates: LinkUpdates,
    texts: Vec<OpenDocument>,
}

/// The pages that a request is limited to, by their ids; all pages if `None`. Such a request is for
/// a change that was made before.
pub(super) struct Only(pub(super) Option<BTreeMap<u64, PageEntry>>);

impl Only {
    pub(super) fn has(&self, page: &PageEntry) -> bool {
        self.0.as_ref().is_none_or(|pages| pages.contains_key(&page.2.id))
    }
}

/// A change of the text of a page: returns whether it changed the document.
type Rewrite<'a> = dyn FnMut(&mut Document, (&SourceId, &Slug)) -> Result<bool, Fault> + 'a;

impl PageService {
    /// Renames files, headings or a tag, and updates what names them.
    ///
    /// # Errors
    /// `not_found`, `conflict` if a new name is taken, `usage` for an invalid name, `busy` if the
    /// pages change again and again, and those of a write.
    pub fn refactor(&self, caller: &Caller, request: &Refactor) -> Result<RefactorReply, Fault> {
        // The editor must not change its texts for a store that cannot be written.
        if request.is_plan
            && let Some(message) = self.files.read_only_notice()
        {
            return Err(Fault::new(FaultCode::ReadOnly, message));
        }
        if let Refactoring::Files { source, moves } = &request.change {
            return self.move_files(caller, (source, moves), request);
        }
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(caller.visibility())?;
            let open = self.open_pages(&reader, &request.open)?;
            let Rewrites { updates, texts } = self.rewrites(caller, &reader, request, &open)?;
            drop(reader);
            let mut reply = RefactorReply {
                texts,
                pages: updates.page_refs(),
                left: updates.not_updated.clone(),
                warnings: Vec::new(),
            };
            if request.is_plan || updates.pages.is_empty() {
                return Ok(reply);
            }
            updates.read_files(&self.files);
            let (updates, now) = (Arc::new(updates), self.clock.now());
            let change = author_of_change(caller);
            let written =
                self.store.write(move |transaction| match updates.are_current(transaction)? {
                    true => updates.write(transaction, &change, now).map(Some),
                    false => Ok(None),
                })?;
            if let Some(written) = written {
                reply.warnings = self.update_files(&written);
                return Ok(reply);
            }
        }
        Err(changing())
    }

    /// Returns the places of open documents. Documents of no source are left out.
    pub(super) fn open_pages<'a>(
        &self,
        reader: &Reader,
        open: &'a [OpenDocument],
    ) -> Result<Vec<OpenPage<'a>>, Fault> {
        let mut pages = Vec::new();
        for document in open {
            if let Some(place) = self.place_of(reader, Path::new(&document.file))? {
                pages.push(OpenPage { place, document });
            }
        }
        Ok(pages)
    }

    /// Returns the pages that a request is limited to.
    pub(super) fn only(&self, reader: &Reader, request: &Refactor) -> Result<Only, Fault> {
        if request.only.is_empty() {
            return Ok(Only(None));
        }
        let mut pages = BTreeMap::new();
        for file in &request.only {
            let Some(mut place) = self.place_of(reader, Path::new(file))? else { continue };
            // The daemon may have moved the file while its document was open.
            if let (None, Refactoring::Files { moves, .. }) = (&place.record, &request.change)
                && let Some(path) = moves.iter().find_map(|it| it.moved(&place.path))
            {
                let moved = self.place_of(reader, &place.root.join(path))?;
                place = moved.unwrap_or(place);
            }
            if let Some(record) = place.record {
                pages.insert(record.id, (place.source, place.slug, record));
            }
        }
        Ok(Only(Some(pages)))
    }

    fn rewrites(
        &self,
        caller: &Caller,
        reader: &Reader,
        request: &Refactor,
        open: &[OpenPage<'_>],
    ) -> Result<Rewrites, Fault> {
        match &request.change {
            Refactoring::Headings { page, before, after } => {
                // It may have been renamed since.
                let page = self.find_past(caller, reader, page)?;
                let linking = reader.linking(&page, usize::MAX)?.into_iter();
                let linking = linking.map(|id| reader.by_id(id)).collect::<Result<Vec<_>, _>>()?;
                let mut rewrite = |document: &mut Document, own: (&SourceId, &Slug)| {
                    let leads_here = |target: &str, is_wiki| {
                        let link = written_link(own.1, target, is_wiki)?;
                        let found = reader.resolve(&link_record(link), own).ok()?;
                        matches!(found, Resolution::Page(it) if it.2.id == page.2.id).then_some(())
                    };
                    let (body, count) = retarget_anchors(&document.body, |span, anchor| {
                        leads_here(&span.raw, span.is_wiki)?;
                        renamed_anchor(before, after, anchor, span.is_wiki)
                    });
                    if count > 0 {
                        document.body = body.into();
                    }
                    Ok(count > 0)
                };
                let only = self.only(reader, request)?;
                let others = linking.into_iter().flatten();
                let others = others.filter(|it| it.2.id != page.2.id && only.has(it));
                let open = open.iter().filter(|it| it.place.page_ref() != page_ref(&page));
                rewrite_all(reader, others, open, &mut rewrite)
            }
            Refactoring::Tag { from, to } => {
                check_tag(to)?;
                let mut pages: BTreeMap<u64, PageEntry> = BTreeMap::new();
                let (from, below) = (normalize_tag(from), format!("{}/", normalize_tag(from)));
                for (tag, _) in reader.tag_counts(None)? {
                    if tag == from || tag.starts_with(&below) {
                        let label = PageLabel::Tag(&tag);
                        reader.latest_with_label(label, None, LATEST, |page| {
                            pages.insert(page.2.id, page);
                            Ok(true)
                        })?;
                    }
                }
                let mut rewrite = |document: &mut Document, _: (&SourceId, &Slug)| {
                    Ok(rename_tag(document, &from, to))
                };
                let only = self.only(reader, request)?;
                let pages = pages.into_values().filter(|page| only.has(page));
                rewrite_all(reader, pages, open.iter(), &mut rewrite)
            }
            Refactoring::Files { .. } => Ok(Rewrites::default()),
        }
    }
}

/// Rewrites stored pages and open documents. A page that is open is not written.
fn rewrite_all<'a>(
    reader: &Reader,
    pages: impl Iterator<Item = PageEntry>,
    open: impl Iterator<Item = &'a OpenPage<'a>> + Clone,
    rewrite: &mut Rewrite<'_>,
) -> Result<Rewrites, Fault> {
    let mut found = Rewrites::default();
    for page in pages {
        let is_open = |it: &OpenPage<'_>| it.place.page_ref() == page_ref(&page);
        if open.clone().any(is_open) {
            continue;
        }
        let mut document = stored_document(&reader.content(&page.2)?)?;
        if rewrite(&mut document, (&page.0, &page.1))? {
            found.updates.pages.push((page, document));
        }
    }
    for OpenPage { place, document } in open {
        let Ok(split) = SplitText::parse(&place.path, &document.text) else {
            found.updates.not_updated.push(format!("{}: frontmatter", place.path));
            continue;
        };
        let mut new = split.document.clone();
        if rewrite(&mut new, (&place.source, &place.slug))? {
            let text = split.with(&new.frontmatter, &new.body);
            found.texts.push(OpenDocument { file: document.file.clone(), text });
        }
    }
    Ok(found)
}

fn page_ref((source, slug, _): &PageEntry) -> PageRef {
    PageRef::new(source, slug)
}

pub(super) fn changing() -> Fault {
    Fault::new(FaultCode::Busy, "the pages to update change again and again")
        .hint("try again when the import or sync has ended")
}

/// Refuses a text that is no tag.
fn check_tag(tag: &str) -> Result<(), Fault> {
    if brain_page::body_tags(&format!("#{tag}")) == [tag] {
        return Ok(());
    }
    let message = format!("\"{}\" is not a tag", tag.escape_debug());
    Err(Fault::new(FaultCode::Usage, message)
        .hint("a tag has letters, digits, `-`, `_` and `/`, and not only digits"))
}
