//! Attaches the files that an export wrote beside its pages.
//!
//! The frontmatter of an exported page names its files. Each is beside the page, or, if another
//! file has its name there, in the directory that [`export_dir`] returns. Files that no list names
//! are not touched.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use brain_protocol::{Attach, Fault, PageRef, Slug, SourceId};

use super::SyncService;
use super::import_input::ImportInput;
use brain_base::caller::Caller;
use brain_page::{ATTACHMENTS, Frontmatter, attachment_name, listed_name, lists_attachment};
use brain_service::batch::Failures;

/// A page whose frontmatter names files.
pub(super) struct PageWithFiles {
    /// The path of its file, relative to the imported directory.
    path: String,
    slug: Slug,
    names: Vec<String>,
}

impl PageWithFiles {
    /// Returns the page if its frontmatter names files.
    pub(super) fn of(path: &str, slug: &Slug, frontmatter: &Frontmatter) -> Option<Self> {
        let names = frontmatter.list(ATTACHMENTS).into_iter();
        let names = names.filter_map(|value| attachment_name(&listed_name(&value)).ok());
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| Self { path: path.to_owned(), slug: slug.clone(), names })
    }
}

/// Returns the directory for a file of the page at `page_path` if another file has its name beside
/// the page.
pub(crate) fn export_dir(page_path: &Path) -> PathBuf {
    Path::new("attachments").join(page_path.with_extension(""))
}

impl SyncService {
    /// Attaches the files of imported pages. A file that cannot be attached is a failure.
    pub(super) fn attach_exported(
        &self,
        caller: &Caller,
        input: &ImportInput<'_>,
        source: &SourceId,
        pages: &[PageWithFiles],
        failures: &mut Failures,
    ) -> Result<(), Fault> {
        let dir = input.dir();
        for page in pages {
            for name in &page.names {
                let Some(file) = find_file(dir, Path::new(&page.path), name) else { continue };
                if !self.is_listed(caller, source, &page.slug, name)? {
                    continue;
                }
                if let Err(reason) = self.attach_file(caller, source, page, name, &file) {
                    failures.add(input.name(&page.path), format!("{name}: {reason}"));
                }
            }
        }
        Ok(())
    }

    /// Returns whether the stored page lists the file. It does not if the import refused the text.
    fn is_listed(
        &self,
        caller: &Caller,
        source: &SourceId,
        slug: &Slug,
        name: &str,
    ) -> Result<bool, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let Some(record) = reader.page(source, slug)? else { return Ok(false) };
        let content = reader.content(&record)?;
        let frontmatter = Frontmatter::parse(&content.frontmatter);
        Ok(frontmatter.is_ok_and(|frontmatter| lists_attachment(&frontmatter, name)))
    }

    fn attach_file(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: &PageWithFiles,
        name: &str,
        file: &Path,
    ) -> Result<(), String> {
        let max = self.pages.config.max_attachment_mb * 1_000_000;
        let mut content = Vec::new();
        let opened = File::open(file).map_err(|error| error.to_string())?;
        // One more byte, so that a file that is too large is refused by its length.
        opened.take(max as u64 + 1).read_to_end(&mut content).map_err(|error| error.to_string())?;
        if content.len() > max {
            return Err(format!("it has more than {max} bytes, the limit for a file of a page"));
        }
        let page = PageRef::new(source, &page.slug);
        let request = Attach { page, name: name.to_owned(), content };
        self.pages.attach(caller, request).map(|_| ()).map_err(|fault| fault.message)
    }
}

/// Returns the path of the file `name` of the page at `page_path`, which is relative to `dir`.
/// Returns `None` for a symbolic link, and for a path that leads out of `dir`.
fn find_file(dir: &Path, page_path: &Path, name: &str) -> Option<PathBuf> {
    // An export of several sources has a directory for each; the import may begin above it.
    let in_export_dir = page_path.ancestors().skip(1).filter_map(|above| {
        let below = page_path.strip_prefix(above).ok()?;
        Some(above.join(export_dir(below)))
    });
    let beside = page_path.parent().map(Path::to_owned);
    let paths = in_export_dir.chain(beside).map(|folder| dir.join(folder).join(name));
    let is_inside = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
            && path.canonicalize().is_ok_and(|real| real.starts_with(dir))
    };
    { paths }.find(is_inside)
}
