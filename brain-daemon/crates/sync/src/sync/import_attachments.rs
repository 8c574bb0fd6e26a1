//! Attaches the files of imported pages.
//!
//! The frontmatter of an exported page names its files. Each is beside the page, or, if another
//! file has its name there, in the directory that [`export_dir()`] returns. The body of a note names
//! files that it shows or links to, anywhere in the imported directory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use brain_protocol::{Attach, Fault, PageRef, Slug, SourceId};
use rustix::fs::OFlags;

use super::SyncService;
use super::export_dir::export_dir;
use super::fault_scope::is_of_one_page;
use super::import_input::ImportInput;
use super::import_tally::ImportTally;
use brain_base::caller::Caller;
use brain_page::{
    ATTACHMENTS, Body, Frontmatter, attachment_name, listed_name, lists_attachment,
    names_attachment,
};

/// A page whose frontmatter or body names files.
pub(super) struct PageWithFiles {
    /// The path of its file, relative to the imported directory.
    path: String,
    slug: Slug,
    names: Vec<String>,
    /// The paths of files that its body names, relative to the imported directory.
    pub(super) named_files: Vec<String>,
}

impl PageWithFiles {
    /// Returns the page if its frontmatter or its body names files.
    pub(super) fn of(
        path: &str,
        slug: &Slug,
        frontmatter: &Frontmatter,
        named_files: &[String],
    ) -> Option<Self> {
        let names = frontmatter.list(ATTACHMENTS).into_iter();
        let names = names.filter_map(|value| attachment_name(&listed_name(&value)).ok());
        let names: Vec<String> = names.collect();
        let is_any = !names.is_empty() || !named_files.is_empty();
        let named_files = named_files.to_vec();
        is_any.then(|| Self { path: path.to_owned(), slug: slug.clone(), names, named_files })
    }
}

impl SyncService {
    /// Attaches the files of an imported page. A file that the frontmatter lists and that cannot be
    /// attached is a failure; one that only the body names is left out.
    ///
    /// # Errors
    /// If the disk or the store fails.
    pub(super) fn attach_files(
        &self,
        caller: &Caller,
        input: &ImportInput,
        source: &SourceId,
        page: &PageWithFiles,
        tally: &mut ImportTally,
    ) -> Result<(), Fault> {
        let dir = input.dir();
        let Some((frontmatter, body)) = self.stored_text(caller, source, &page.slug)? else {
            return Ok(());
        };
        for name in &page.names {
            let Some(file) = find_file(dir, Path::new(&page.path), name) else { continue };
            // The import may have refused the text.
            if !lists_attachment(&frontmatter, name) {
                continue;
            }
            if let Some(reason) = self.attach_file(caller, source, page, name, &file)? {
                tally.failures.add(input.name(&page.path), format!("{name}: {reason}"));
            }
        }
        for path in &page.named_files {
            let Ok(name) = attachment_name(&listed_name(path)) else { continue };
            if !names_attachment(&frontmatter, &body, &name) {
                continue;
            }
            let refused = self.attach_file(caller, source, page, &name, &dir.join(path))?;
            if let Some(reason) = refused {
                tally.lose_named_file(&page.path, path, &reason);
            }
        }
        Ok(())
    }

    /// Returns the text of a stored page; `None` if it is not there or has no valid frontmatter.
    fn stored_text(
        &self,
        caller: &Caller,
        source: &SourceId,
        slug: &Slug,
    ) -> Result<Option<(Frontmatter, Body)>, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let Some(record) = reader.page(source, slug)? else { return Ok(None) };
        let content = reader.content(&record)?;
        let frontmatter = Frontmatter::parse(&content.frontmatter);
        Ok(frontmatter.ok().map(|frontmatter| (frontmatter, content.body)))
    }

    /// Attaches a file that the text of a page names. Returns the reason if that is refused.
    fn attach_file(
        &self,
        caller: &Caller,
        source: &SourceId,
        page: &PageWithFiles,
        name: &str,
        file: &Path,
    ) -> Result<Option<String>, Fault> {
        let max = self.pages.config.max_attachment_mb * 1_000_000;
        let mut content = Vec::new();
        // One more byte, so that a file that is too large is refused by its length.
        let read = open_file(file)
            .and_then(|opened| opened.take(max as u64 + 1).read_to_end(&mut content));
        if let Err(error) = read {
            return Ok(Some(error.to_string()));
        }
        if content.len() > max {
            let reason = format!("it has more than {max} bytes, the limit for a file of a page");
            return Ok(Some(reason));
        }
        let page = PageRef::new(source, &page.slug);
        let request = Attach { page, name: name.to_owned(), content };
        match self.pages.attach_named(caller, request) {
            Ok(_) => Ok(None),
            Err(fault) if is_of_one_page(fault.code) => Ok(Some(fault.message)),
            Err(fault) => Err(fault),
        }
    }
}

impl PageWithFiles {
    /// Returns the path of its file, relative to the imported directory.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the paths of the files that the frontmatter lists, relative to `dir`.
    pub(super) fn listed_files(&self, dir: &Path) -> Vec<String> {
        let file = |name: &String| {
            let file = find_file(dir, Path::new(&self.path), name)?;
            Some(file.strip_prefix(dir).ok()?.to_string_lossy().into_owned())
        };
        self.names.iter().filter_map(file).collect()
    }
}

/// Opens a file, and no link in its place.
fn open_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
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
