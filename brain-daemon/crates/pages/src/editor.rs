//! What an editor asks about the documents that are open in it: where they belong, where their links
//! lead, and renaming.

mod files_on_disk;
mod move_files;
mod refactor;
mod rewrite;

use std::path::{Path, PathBuf};

use brain_protocol::{
    EditorPage, Fault, PageRef, Resolve, ResolveReply, ResolvedLink, Slug, SourceId, TargetStatus,
    WrittenLink,
};

use crate::pages::{PageService, similar_pages};
use crate::write_page::link_record;
use brain_base::caller::Caller;
use brain_page::{
    file_name_key, is_attachment, is_markdown, normalize_name, percent_decode, plain_slug,
    written_link,
};
use brain_store::{PageEntry, PageRecord, Reader, Resolution, StoreError};

/// Maximum number of pages that an ambiguous link may mean.
const MAX_CANDIDATES: usize = 10;

/// The place of a document in a source.
#[derive(Debug, Clone)]
pub struct Place {
    /// The source.
    pub source: SourceId,
    /// The directory of the source.
    pub root: PathBuf,
    /// The path of the document from there.
    pub path: String,
    /// The slug of its page, also before it is stored.
    pub slug: Slug,
    /// The page, if it is stored.
    pub record: Option<PageRecord>,
}

impl Place {
    /// Returns the page as a link in another source names it.
    #[must_use]
    pub fn page_ref(&self) -> PageRef {
        PageRef::new(&self.source, &self.slug)
    }
}

impl PageService {
    /// Returns the place of a file in the innermost visible source. `None` for a file of no source,
    /// and for one that cannot be a page.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn place_of(&self, reader: &Reader, file: &Path) -> Result<Option<Place>, StoreError> {
        if !is_markdown(file) {
            return Ok(None);
        }
        let mut roots: Vec<(SourceId, PathBuf)> = Vec::new();
        for (source, _) in reader.sources()? {
            roots.extend(self.files.file_path_of(&source, "").map(|root| (source, root)));
        }
        roots.sort_by_key(|(_, root)| std::cmp::Reverse(root.as_os_str().len()));
        let real = || {
            let folder = file.parent()?.canonicalize().ok()?;
            Some(folder.join(file.file_name()?))
        };
        let found = place_below(&roots, file).or_else(|| {
            let real_roots = roots
                .iter()
                .filter_map(|(source, root)| Some((source.clone(), root.canonicalize().ok()?)));
            place_below(&real_roots.collect::<Vec<_>>(), &real()?)
        });
        let Some((source, root, path)) = found else { return Ok(None) };
        let stored = reader.page_at(&source, &path)?;
        let stored = stored.filter(|(_, record)| record.deleted_at.is_none());
        let (slug, record) = match stored {
            Some((slug, record)) => (slug, Some(record)),
            None => match plain_slug(&path) {
                Ok(slug) => (slug, None),
                Err(_) => return Ok(None),
            },
        };
        Ok(Some(Place { source, root, path, slug, record }))
    }

    /// Finds the pages to which links of a document lead.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn resolve_links(&self, caller: &Caller, request: &Resolve) -> Result<ResolveReply, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let Some(place) = self.place_of(&reader, Path::new(&request.file))? else {
            return Ok(ResolveReply {
                page: None,
                root: None,
                is_stored: false,
                links: Vec::new(),
            });
        };
        let links = request.links.iter().map(|link| {
            let mut found = self.resolve_link(caller, &reader, &place, link)?;
            if request.suggest && found.status == TargetStatus::Missing && !found.is_former {
                found.pages = self.suggestions(caller, &reader, &place, link)?;
            }
            Ok::<_, Fault>(found)
        });
        let links = links.collect::<Result<_, _>>()?;
        Ok(ResolveReply {
            page: Some(place.page_ref()),
            root: Some(place.root.to_string_lossy().into_owned()),
            is_stored: place.record.is_some(),
            links,
        })
    }

    fn resolve_link(
        &self,
        caller: &Caller,
        reader: &Reader,
        place: &Place,
        link: &WrittenLink,
    ) -> Result<ResolvedLink, Fault> {
        let found = |status, pages| ResolvedLink { status, pages, is_former: false };
        let Some(written) = written_link(&place.slug, &link.target, link.is_wiki) else {
            return Ok(found(TargetStatus::Live, Vec::new()));
        };
        let record = link_record(written);
        Ok(match reader.resolve(&record, (&place.source, &place.slug))? {
            Resolution::Page(page) => {
                let page = self.editor_page(caller, reader, *page)?;
                found(TargetStatus::Live, vec![page])
            }
            Resolution::Ambiguous => {
                let mut pages = Vec::new();
                let name = record.name.unwrap_or_default();
                for name in file_name_key(&name).into_iter().chain([name]) {
                    pages.extend(reader.pages_by_name(&place.source, &name, MAX_CANDIDATES)?);
                }
                let pages = pages.into_iter().map(|page| self.editor_page(caller, reader, page));
                found(TargetStatus::Ambiguous, pages.collect::<Result<_, _>>()?)
            }
            Resolution::Missing if is_file(place, &link.target) => {
                found(TargetStatus::Live, Vec::new())
            }
            Resolution::Missing => {
                let former = self.former_names.lock().find(reader, &record, &place.source)?;
                let pages =
                    former.map(|page| self.editor_page(caller, reader, page)).transpose()?;
                let pages = Vec::from_iter(pages);
                let is_former = !pages.is_empty();
                ResolvedLink { status: TargetStatus::Missing, pages, is_former }
            }
        })
    }

    /// Returns the pages with names like the target of a link.
    fn suggestions(
        &self,
        caller: &Caller,
        reader: &Reader,
        place: &Place,
        link: &WrittenLink,
    ) -> Result<Vec<EditorPage>, Fault> {
        let path = link.target.split('#').next().unwrap_or_default();
        let Ok(slug) = Slug::from_path(&percent_decode(path)) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for similar in similar_pages::find(reader, &place.source, &slug)? {
            if let Some(record) = reader.page(&similar.source, &similar.slug)? {
                let page = (similar.source, similar.slug, record);
                found.push(self.editor_page(caller, reader, page)?);
            }
        }
        Ok(found)
    }

    fn editor_page(
        &self,
        caller: &Caller,
        reader: &Reader,
        page: PageEntry,
    ) -> Result<EditorPage, StoreError> {
        let file = self.files.visible_path(caller, &page.0, &page.2);
        Ok(EditorPage { file, ..page_by_name(reader, page)? })
    }
}

/// Returns a page as an editor shows it, without its file.
///
/// # Errors
/// When the store cannot be read.
pub fn page_by_name(
    reader: &Reader,
    (source, slug, record): PageEntry,
) -> Result<EditorPage, StoreError> {
    let name = normalize_name(stem(&record.source_path));
    Ok(EditorPage {
        page: PageRef::new(&source, &slug),
        is_unique: reader.has_one_page(&source, &name)?,
        file: None,
        title: record.title,
        path: record.source_path,
        alias: None,
    })
}

/// Returns the source, its directory, and the path from there, for the first directory that
/// contains `file`.
fn place_below(roots: &[(SourceId, PathBuf)], file: &Path) -> Option<(SourceId, PathBuf, String)> {
    roots.iter().find_map(|(source, root)| {
        let path = file.strip_prefix(root).ok()?.to_str()?;
        Some((source.clone(), root.clone(), path.to_owned()))
    })
}

/// Returns whether the target of a link without a page is a file that need not be a page.
fn is_file(place: &Place, target: &str) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if is_attachment(path) {
        return true;
    }
    let path = percent_decode(path);
    let folder = Path::new(&place.path).parent().unwrap_or(Path::new(""));
    // A markdown file that exists becomes a page in a moment.
    !path.is_empty()
        && [place.root.join(folder), place.root.clone()]
            .iter()
            .any(|dir| dir.join(path.trim_start_matches('/')).exists())
}

/// Returns the name of a file without the extension of markdown.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if is_markdown(Path::new(name)) => stem,
        _ => name,
    }
}
