//! Updates links when a page gets another slug: in other pages, and in the page itself.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use brain_protocol::{Fault, PageRef, Slug, SourceId};

use crate::files::FileService;
use crate::write_page::{build_new_page, link_record, stored_document};
use brain_page::{
    self as page, Document, LinkTarget, MovedFile, NewTarget, PageLink, RewrittenDocument,
    normalize_name, retarget_links,
};
use brain_store::{
    Author, LineChange, LinkRecord, PageEntry, PageRecord, Reader, Resolution, StoreError,
    Transaction,
};

/// A move of a page to another slug. Links to the page must lead to that slug afterwards.
pub(crate) struct PageMove<'a> {
    /// The page before the move.
    pub(crate) page: &'a PageEntry,
    pub(crate) to: &'a Slug,
    /// The file of that page afterwards, from the source's root.
    pub(crate) to_path: &'a str,
    /// The files of pages.
    pub(crate) files: &'a FileService,
    /// The id of the page that has the new slug afterwards.
    pub(crate) to_id: u64,
    /// The normalised names of that page afterwards.
    pub(crate) to_names: &'a [String],
}

/// The pages with links to rewrite: each as it was read, with its rewritten document.
#[derive(Default)]
pub(crate) struct LinkUpdates {
    pub(crate) pages: Vec<(PageEntry, Document)>,
    /// Links that could not be rewritten, as `page: target`, the target as written.
    pub(crate) not_updated: Vec<String>,
}

impl PageMove<'_> {
    /// Rewrites the links in other pages that the reader shows. A link that still finds the page by
    /// its name stays.
    pub(crate) fn update_backlinks(&self, reader: &Reader) -> Result<LinkUpdates, Fault> {
        let mut linking: BTreeMap<u64, (PageEntry, Vec<LinkRecord>)> = BTreeMap::new();
        for (page, link) in reader.backlinks(self.page)? {
            if ![self.page.2.id, self.to_id].contains(&page.2.id)
                && !self.is_found_by_name(reader, &page.0, &link)?
            {
                linking.entry(page.2.id).or_insert_with(|| (page, Vec::new())).1.push(link);
            }
        }
        let mut updates = LinkUpdates::default();
        for (page, links) in linking.into_values() {
            let document = stored_document(&reader.content(&page.2)?)?;
            let done = self.retarget(reader, &document, &page, &links)?;
            let not_updated = done.not_updated.iter().map(|raw| format!("{}: {raw}", page.1));
            updates.not_updated.extend(not_updated);
            if done.rewritten_count > 0 {
                updates.pages.push((page, done.document));
            }
        }
        Ok(updates)
    }

    /// Rewrites the links to the moved page in `document`, the text of the page `own`.
    pub(crate) fn update_links(
        &self,
        reader: &Reader,
        own: &PageEntry,
        document: &Document,
    ) -> Result<RewrittenDocument, Fault> {
        let links = self.links_from(reader, own)?;
        self.retarget(reader, document, own, &links)
    }

    /// Rewrites links in the moved page: those to itself, and those that depend on its folder.
    pub(crate) fn update_own_links(
        &self,
        reader: &Reader,
        document: &Document,
    ) -> Result<RewrittenDocument, Fault> {
        let links = self.links_from(reader, self.page)?;
        self.retarget(reader, document, self.page, &links)
    }

    /// Returns the links of `from` to the moved page.
    fn links_from(&self, reader: &Reader, from: &PageEntry) -> Result<Vec<LinkRecord>, Fault> {
        let names = reader.derived(self.page.2.id)?.names;
        Ok(reader.links_between(from, self.page, &names)?)
    }

    /// Rewrites the links in `links`, those of the page `own`, so that they lead to the new slug. If
    /// `own` is the moved page, also rewrites links that depend on its folder.
    fn retarget(
        &self,
        reader: &Reader,
        document: &Document,
        own: &PageEntry,
        links: &[LinkRecord],
    ) -> Result<RewrittenDocument, Fault> {
        let link_keys: HashSet<LinkKey> = links.iter().map(link_key).collect();
        let (source, slug) = (&self.page.0, &self.page.1);
        let is_moved = own.2.id == self.page.2.id;
        let (from, at) = (&own.1, if is_moved { self.to } else { &own.1 });
        let old_path = own.2.source_path.as_str();
        let new_path = if is_moved { self.to_path } else { old_path };
        let file = MovedFile { old_slug: from, old_path, new_path, folders: &[] };
        let root = if is_moved { self.files.file_path_of(source, "") } else { None };
        let exists = |path: &str| {
            let root = root.as_ref().filter(|_| !path.is_empty() && !path.starts_with("../"));
            root.is_some_and(|root| root.join(path).exists())
        };
        let name = free_name(reader, source, self.to_path, &[self.page.2.id, self.to_id])?;
        let mut failure = None;
        let done = retarget_links(document, file, exists, |link| {
            if link_keys.contains(&link_key(&link_record(link.clone()))) {
                let name = name.clone();
                return Some(NewTarget {
                    old_slug: slug.clone(),
                    path: self.to_path.to_owned(),
                    name,
                });
            }
            if from == at {
                return None;
            }
            kept_target(reader, source, (from, at), link).unwrap_or_else(|error| {
                failure = Some(error);
                None
            })
        });
        failure.map_or(Ok(done), |error: StoreError| Err(error.into()))
    }

    /// Returns whether the link names the page by a name or alias that this page, and no other, has
    /// after the move.
    fn is_found_by_name(
        &self,
        reader: &Reader,
        from: &SourceId,
        link: &LinkRecord,
    ) -> Result<bool, StoreError> {
        // The path of a file also finds a page of that name elsewhere, but only here: other
        // programs need the path.
        let written = link.raw.split(['#', '|']).next().unwrap_or_default();
        let is_name = |name: &&String| normalize_name(written) == **name;
        let Some(name) = link.name.as_ref().filter(is_name) else { return Ok(false) };
        let names = page::file_name_key(name).into_iter().chain([name.clone()]);
        for name in names.filter(|name| self.to_names.contains(name)) {
            let own = [self.page.2.id, self.to_id];
            if *from == self.page.0 && is_free(reader, from, &name, &own)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the name of the file at `path` if no page besides `own` has that name.
pub(crate) fn free_name(
    reader: &Reader,
    source: &SourceId,
    path: &str,
    own: &[u64],
) -> Result<Option<String>, StoreError> {
    let name = Path::new(path).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    Ok(is_free(reader, source, &normalize_name(name), own)?.then(|| name.to_owned()))
}

/// Returns whether no page besides `own` has this normalised name.
fn is_free(
    reader: &Reader,
    source: &SourceId,
    name: &str,
    own: &[u64],
) -> Result<bool, StoreError> {
    // Of more pages with the name than `own` has, one is another page.
    let pages = reader.pages_by_name(source, name, own.len() + 1)?;
    Ok(pages.iter().all(|page| own.contains(&page.2.id)))
}

/// Returns the text of the page `own` without links to the page `other`: they become what they show.
/// After a merge of both pages, they would lead to the page itself.
pub(crate) fn without_links_to(
    reader: &Reader,
    own: &PageEntry,
    other: &PageEntry,
    document: Document,
) -> Result<Document, Fault> {
    let names = reader.derived(other.2.id)?.names;
    let links = reader.links_between(own, other, &names)?;
    let keys: HashSet<LinkKey> = links.iter().map(link_key).collect();
    if keys.is_empty() {
        return Ok(document);
    }
    let is_it = |link: &PageLink| keys.contains(&link_key(&link_record(link.clone())));
    let body = page::unlink(&document.body, &own.1, is_it).into();
    Ok(Document { body, ..document })
}

/// Kind, source, slugs and name of a link. Equal for links to the same target, however written.
type LinkKey = (String, Option<String>, Vec<String>, Option<String>);

/// Returns the key of a link. A page has one record for several links to the same target.
fn link_key(link: &LinkRecord) -> LinkKey {
    let LinkRecord { source, slugs, name, kind, .. } = link;
    let name = name.clone().filter(|_| slugs.is_empty());
    (kind.clone(), source.clone(), slugs.clone(), name)
}

/// Returns the present target of a link that would lead elsewhere after its page moved from the
/// slug `from` to `at`, and so to another folder. `None` if the link can stay as it is written.
pub(crate) fn kept_target(
    reader: &Reader,
    source: &SourceId,
    (from, at): (&Slug, &Slug),
    link: &PageLink,
) -> Result<Option<NewTarget>, StoreError> {
    let alternative = match &link.target {
        LinkTarget::Slug { source: Some(_), .. } => return Ok(None),
        LinkTarget::Slug { alternative, .. } => alternative.clone(),
        LinkTarget::Name(_) => None,
    };
    let record = link_record(link.clone());
    let Resolution::Page(before) = reader.resolve(&record, (source, from))? else {
        return Ok(None);
    };
    if before.0 != *source {
        return Ok(None);
    }
    // A path relative to the former folder must be rewritten, even if a page name also leads to the
    // target.
    let is_by_folder = link.raw.starts_with("./")
        || link.raw.starts_with("../")
        || alternative.is_some_and(|alternative| alternative == before.1);
    let stays = !is_by_folder
        && match reader.resolve(&record, (source, at))? {
            Resolution::Page(after) => after.2.id == before.2.id,
            _ => false,
        };
    let (_, old_slug, page) = *before;
    Ok((!stays).then_some(NewTarget { old_slug, path: page.source_path, name: None }))
}

impl LinkUpdates {
    /// Takes in the files of the pages, if other programs changed them.
    pub(crate) fn read_files(&self, files: &FileService) {
        for ((source, slug, _), _) in &self.pages {
            files.read_file_of(source, slug);
        }
    }

    /// Returns whether all pages are as they were read. Runs in the writer, before any write.
    pub(crate) fn are_current(&self, transaction: &Transaction<'_>) -> Result<bool, StoreError> {
        for ((source, slug, record), _) in &self.pages {
            if transaction.page(source, slug)?.is_none_or(|current| current.seq != record.seq) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stores the pages. Runs in the store's writer.
    pub(crate) fn write(
        &self,
        transaction: &mut Transaction<'_>,
        change: &(Author, LineChange),
        now: i64,
    ) -> Result<Vec<(SourceId, PageRecord)>, StoreError> {
        let mut written = Vec::with_capacity(self.pages.len());
        for ((source, slug, record), document) in &self.pages {
            let provenance = record.provenance.clone();
            let page = build_new_page(slug, document.clone(), provenance, None, change.clone())?;
            written
                .push((source.clone(), transaction.write_page(source, slug, &page, now)?.record));
        }
        Ok(written)
    }

    /// Returns the names of the pages.
    pub(crate) fn page_refs(&self) -> Vec<PageRef> {
        let names = self.pages.iter().map(|((source, slug, _), _)| PageRef {
            source: Some(source.clone()),
            slug: slug.clone(),
        });
        names.collect()
    }
}
