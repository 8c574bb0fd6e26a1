//! A page that an import read from a file.

use brain_files::CommitTimes;
use brain_page::{Frontmatter, NoteDates};
use brain_pages::files::read::{file_times, unread_reason};
use brain_pages::provenance::{IMPORT, has_claims, move_unverified_provenance};
use brain_pages::write_page::{build_new_page, read_document};
use brain_protocol::{ImportFailure, MAX_CONTENT, Slug};
use brain_store::{LineChange, NewPage, Provenance, StoreError};

use super::import_attachments::PageWithFiles;
use super::import_input::ImportInput;
use super::import_scrub::scrub_document;

/// A page to store.
pub(super) struct ImportPage {
    pub(super) path: String,
    pub(super) slug: Slug,
    /// The frontmatter of the file.
    pub(super) frontmatter: Frontmatter,
    /// The same, with unverified provenance keys moved to `received`.
    pub(super) verified_frontmatter: Frontmatter,
    pub(super) page: NewPage,
    /// The paths of files that its body names.
    pub(super) named_files: Vec<String>,
    /// The kinds of the secrets that were removed from its text.
    pub(super) secrets: Vec<&'static str>,
}

impl ImportPage {
    pub(super) fn with_files(&self) -> Option<PageWithFiles> {
        PageWithFiles::of(&self.path, &self.slug, &self.frontmatter, &self.named_files)
    }
}

/// Reads the file at `path` below the input's directory, and builds its page. `commits` are the
/// commits of all files, and `stored_provenance` finds the provenance of the page at a slug.
pub(super) fn read_page(
    input: &ImportInput,
    path: &str,
    slug: &Slug,
    now: i64,
    commits: &CommitTimes,
    stored_provenance: &impl Fn(&Slug) -> Result<Option<Provenance>, StoreError>,
) -> Result<ImportPage, ImportFailure> {
    let file_path = input.dir().join(path);
    let page = || {
        let meta = std::fs::metadata(&file_path).map_err(|e| e.to_string())?;
        let size = meta.len();
        if size > MAX_CONTENT as u64 {
            return Err(format!("it has {size} bytes, more than the limit of {MAX_CONTENT}"));
        }
        let bytes = std::fs::read(&file_path).map_err(|e| e.to_string())?;
        let mut document = read_document(&bytes, "it").map_err(unread_reason)?;
        let secrets = match input.should_scrub {
            true => scrub_document(&mut document)?,
            false => Vec::new(),
        };
        let uri = input.uri(path);
        let previous = match has_claims(&document.frontmatter) {
            true => stored_provenance(slug).map_err(|error| error.to_string())?,
            false => None,
        };
        // All lines get the author of the page.
        let change = (IMPORT.author(uri.clone()), LineChange::ByPageAuthor);
        let provenance =
            input.route.provenance_of_file(&document.frontmatter, uri, now, previous.as_ref());
        let frontmatter = document.frontmatter.clone();
        let named_files = input.named_files(path, &document.body);
        let mut verified_frontmatter = frontmatter.clone();
        move_unverified_provenance(&mut verified_frontmatter, &provenance, None);
        let page = build_new_page(slug, document, provenance, None, change)
            .map_err(|fault| fault.message)?;
        // The times of converted files say nothing.
        let is_converted = input.is_converted();
        let file = (!is_converted).then(|| file_times(&meta));
        let commits = commits.get(path).copied();
        let dates = NoteDates { commits, file, is_converted, ..page.dates };
        let page = NewPage { dates, ..page };
        let (path, slug) = (path.to_owned(), slug.clone());
        Ok(ImportPage { path, slug, frontmatter, verified_frontmatter, page, named_files, secrets })
    };
    page().map_err(|reason| ImportFailure { path: input.name(path).to_owned(), reason })
}
