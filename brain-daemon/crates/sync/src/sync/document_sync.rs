//! Documents of a source: those that its rules name become pages, which a sync keeps in step.
//!
//! A page knows its document by its `source_uri`. A document is converted when it is new or has
//! changed; what it became is written as an import writes it. So a page that somebody changed in
//! brain stays.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;

use brain_base::caller::{Caller, Visibility};
use brain_files::{MarkdownFile, RootDir, Stat, stat_of};
use brain_pages::files::read::uri;
use brain_pages::provenance::{IMPORT, SYNC_OF_DOCUMENTS};
use brain_protocol::{Delete, Fault, MAX_ATTACHMENT, PageRef, Precondition, Slug, SourceId};
use brain_service::Progress;
use brain_store::{Hash, PageRecord, Provenance, Reader};

use super::compare::covers;
use super::fault_scope::is_of_one_page;
use super::import_documents::Document;
use super::import_effect::has_text_of_import;
use super::import_run::{ImportMode, ImportRun, KEPT};
use super::tally::Tally;
use super::{SyncOptions, SyncService};

/// What this daemon knows of a document.
#[derive(Debug, Clone)]
pub(super) enum SeenDocument {
    Read {
        size: u64,
        mtime_ns: i64,
        /// Why it could not be read.
        failure: Option<String>,
    },
    /// It was gone, so a sync deleted its pages.
    Gone,
}

impl SeenDocument {
    /// Returns whether it was read with this size and time.
    fn is_at(&self, stat: Stat) -> bool {
        match self {
            Self::Read { size, mtime_ns, .. } => (*size, *mtime_ns) == (stat.size, stat.mtime_ns),
            Self::Gone => false,
        }
    }
}

/// The documents that this daemon has read, by source and path. After a start, the bytes of a
/// document are compared with the file of its page.
pub(super) type SeenDocuments = HashMap<(SourceId, String), SeenDocument>;

/// The sync of the documents of one source.
pub(super) struct DocumentSync<'a> {
    pub(super) service: &'a SyncService,
    pub(super) source: &'a SourceId,
    pub(super) files: &'a RootDir,
    pub(super) options: SyncOptions<'a>,
    pub(super) progress: &'a dyn Progress,
}

/// The pages of a source.
#[derive(Default)]
struct SourcePages {
    /// The pages of each document, by the document's path.
    of_documents: HashMap<String, Vec<(Slug, PageRecord)>>,
    /// The deleted pages of each document.
    deleted: HashMap<String, Vec<PageRecord>>,
    /// The paths of all other active pages.
    others: Vec<String>,
}

/// A page whose document is gone.
pub(super) struct MissingDocument {
    path: String,
    slug: Slug,
    page: PageRecord,
}

impl DocumentSync<'_> {
    /// Brings the pages of these documents up to date. Returns those whose document is gone.
    ///
    /// # Errors
    /// `cancelled`, or the store or the disk fails.
    pub(super) fn update(
        &self,
        found: &[String],
        tally: &mut Tally,
    ) -> Result<Vec<MissingDocument>, Fault> {
        let pages = self.source_pages()?;
        tally.report.files += found.len() as u64;
        let changed = self.changed(found, &pages, tally)?;
        self.store(found, changed, &pages, tally)?;
        Ok(self.missing(found, pages))
    }

    fn source_pages(&self) -> Result<SourcePages, Fault> {
        let reader = self.service.store.read(Visibility::All)?;
        let root = format!("{}/", uri(self.files.path()));
        let mut pages = SourcePages::default();
        reader.pages_in_order_below(self.source, ("", ""), |(_, slug, record)| {
            match document_of(&record.provenance, &root) {
                Some(path) => {
                    pages.of_documents.entry(path).or_default().push((slug, record));
                }
                None => pages.others.push(record.source_path),
            }
            Ok(true)
        })?;
        reader.deleted((i64::MAX, 0), |(source, _, record)| {
            if source == *self.source
                && let Some(path) = document_of(&record.provenance, &root)
            {
                pages.deleted.entry(path).or_default().push(record);
            }
            Ok(true)
        })?;
        Ok(pages)
    }

    /// Returns the documents that must be read, with their state before that. Counts the others.
    fn changed(
        &self,
        found: &[String],
        pages: &SourcePages,
        tally: &mut Tally,
    ) -> Result<Vec<(String, Stat)>, Fault> {
        let reader = self.service.store.read(Visibility::All)?;
        let mut changed = Vec::new();
        for path in found {
            let Ok(Some(stat)) = stat_of(self.files, path) else { continue };
            let key = (self.source.clone(), path.clone());
            let seen = self.service.seen_documents.lock().get(&key).cloned();
            let is_back = matches!(seen, Some(SeenDocument::Gone));
            match seen.filter(|seen| seen.is_at(stat) && !self.options.full) {
                Some(SeenDocument::Read { failure: Some(reason), .. }) => {
                    tally.fail(path.as_str(), reason);
                }
                Some(_) => tally.report.unchanged += 1,
                None if self.is_unchanged(&reader, (path, stat), is_back, pages)? => {
                    tally.report.unchanged += 1;
                    self.remember(path, stat, None);
                }
                None => changed.push((path.clone(), stat)),
            }
        }
        Ok(changed)
    }

    /// Returns whether a page has the bytes of this document, or a page that somebody deleted in
    /// brain had them: that stays deleted. `is_back` is whether a sync deleted the pages.
    fn is_unchanged(
        &self,
        reader: &Reader,
        (path, stat): (&str, Stat),
        is_back: bool,
        pages: &SourcePages,
    ) -> Result<bool, Fault> {
        match pages.of_documents.get(path) {
            Some(_) if self.options.full => Ok(false),
            Some(own) => self.has_file(reader, path, own.iter().map(|(_, page)| page)),
            None if is_back => Ok(false),
            None => {
                let deleted = pages.deleted.get(path).into_iter().flatten();
                self.has_file(reader, path, deleted.filter(|page| was_there(page.deleted_at, stat)))
            }
        }
    }

    /// Returns whether one of these pages has the bytes of this document.
    fn has_file<'p>(
        &self,
        reader: &Reader,
        path: &str,
        pages: impl Iterator<Item = &'p PageRecord>,
    ) -> Result<bool, Fault> {
        let mut digest: Option<Option<Hash>> = None;
        for record in pages {
            for (_, file) in reader.attachments_of(record.id, false)? {
                let digest = digest.get_or_insert_with(|| digest_of(self.files, path));
                if Some(file.hash) == *digest {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Converts the changed documents and stores their pages.
    fn store(
        &self,
        found: &[String],
        changed: Vec<(String, Stat)>,
        pages: &SourcePages,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        if changed.is_empty() {
            return Ok(());
        }
        let mode = match self.options.dry_run {
            true => ImportMode::DryRun,
            false => ImportMode::Sync,
        };
        let caller = owner();
        let documents = self.places(found, &changed, pages);
        let total = documents.len() as u64;
        let mut run =
            ImportRun::new(self.service, &caller, self.progress, self.source, mode, total);
        let unread = run.store_documents(self.files.path(), &documents)?;
        let result = run.tally;
        tally.report.added += result.created;
        tally.report.updated += result.updated;
        tally.report.restored += result.restored;
        tally.report.unchanged += result.unchanged;
        let mut failures: HashMap<String, String> = HashMap::new();
        failures.extend(result.failures.named.into_iter().map(|it| (it.path, it.reason)));
        let unknown = "it is in no format that brain reads".to_owned();
        failures.extend(unread.into_iter().map(|path| (path, unknown.clone())));
        for (path, stat) in changed {
            let mut failure = failures.remove(&path);
            match &failure {
                // That is no failure: it stays so.
                Some(reason) if reason == KEPT => {
                    tally.warn(format!("{path} changed; {reason}"));
                    failure = None;
                }
                Some(reason) => tally.fail(path.as_str(), reason.as_str()),
                None => {}
            }
            if !self.options.dry_run {
                self.remember(&path, stat, failure);
            }
        }
        for (path, reason) in failures {
            tally.fail(path, reason);
        }
        result.warnings.into_iter().for_each(|warning| tally.warn(warning));
        for lost in result.lost.named {
            tally.warn(format!("{}: {}", lost.path, lost.reason));
        }
        Ok(())
    }

    /// Returns the changed documents with the places of their pages.
    fn places(
        &self,
        found: &[String],
        changed: &[(String, Stat)],
        pages: &SourcePages,
    ) -> Vec<Document> {
        // All documents take part, so that a name does not depend on what changed.
        let all: HashSet<&String> = found.iter().chain(pages.of_documents.keys()).collect();
        let all = all.into_iter().cloned().collect();
        let markdown = |path: &String| MarkdownFile {
            path: path.clone(),
            stat: Stat { size: 0, mtime_ns: 0, ctime_ns: 0 },
        };
        let others: Vec<MarkdownFile> = pages.others.iter().map(markdown).collect();
        let changed: HashSet<&String> = changed.iter().map(|(path, _)| path).collect();
        let mut documents =
            Document::list(all, &others, |path| self.service.env.converters.split_path(path));
        documents.retain(|document| changed.contains(&document.path));
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        for document in &mut documents {
            let own = pages.of_documents.get(&document.path).into_iter().flatten();
            let first = own.map(|(_, page)| page.source_path.as_str()).min_by_key(|it| it.len());
            if let Some(place) = first.and_then(|path| path.strip_suffix(".md")) {
                document.stay_at(place);
            }
        }
        documents
    }

    /// Returns the pages that a sync made of documents that are gone.
    fn missing(&self, found: &[String], pages: SourcePages) -> Vec<MissingDocument> {
        let found: HashSet<&String> = found.iter().collect();
        let paths = self.options.watched.unwrap_or(self.options.scope);
        let is_looked_at = |path: &str| paths.iter().any(|part| covers(part, path));
        // A document that the rules do not name any more keeps its page.
        let is_gone = |path: &String| {
            !found.contains(path)
                && is_looked_at(path)
                && matches!(stat_of(self.files, path), Ok(None))
        };
        let gone = pages.of_documents.into_iter().filter(|(path, _)| is_gone(path));
        let pages = gone.flat_map(|(path, pages)| {
            let missing = move |(slug, page)| MissingDocument { path: path.clone(), slug, page };
            pages.into_iter().map(missing)
        });
        pages.filter(|missing| is_of_sync(&missing.page.provenance)).collect()
    }

    /// Deletes the pages of documents that are gone, and returns their number. Pages that somebody
    /// changed stay.
    ///
    /// # Errors
    /// The store fails.
    pub(super) fn delete(&self, gone: &[MissingDocument], tally: &mut Tally) -> Result<u64, Fault> {
        let mut removed = 0;
        for missing in gone {
            let is_removed = self.delete_page(missing, tally)?;
            removed += u64::from(is_removed);
            if is_removed && !self.options.dry_run {
                let key = (self.source.clone(), missing.path.clone());
                self.service.seen_documents.lock().insert(key, SeenDocument::Gone);
            }
        }
        Ok(removed)
    }

    /// Deletes the page of a document that is gone. Returns `false` if it stays.
    fn delete_page(&self, missing: &MissingDocument, tally: &mut Tally) -> Result<bool, Fault> {
        let MissingDocument { slug, page: record, .. } = missing;
        if !has_text_of_import(record, &self.service.store.read(Visibility::All)?)? {
            tally.warn(format!("the document of {slug} is gone; its page was changed, and stays"));
            return Ok(false);
        }
        if self.options.dry_run {
            return Ok(true);
        }
        let page = PageRef::new(self.source, slug);
        let expect = Some(Precondition::Version(record.version));
        match self.service.pages.delete(&owner(), &Delete { page, expect }) {
            Ok(_) => Ok(true),
            Err(fault) if is_of_one_page(fault.code) => {
                tally.fail(record.source_path.as_str(), fault.message);
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    fn remember(&self, path: &str, stat: Stat, failure: Option<String>) {
        let seen = SeenDocument::Read { size: stat.size, mtime_ns: stat.mtime_ns, failure };
        let key = (self.source.clone(), path.to_owned());
        self.service.seen_documents.lock().insert(key, seen);
    }
}

/// The caller that the daemon itself is.
fn owner() -> Caller {
    Caller::local(rustix::process::geteuid().as_raw())
}

/// Returns whether a document was at its place when its page was deleted, so that somebody deleted
/// the page in brain. A file that comes back has a later change of its status.
fn was_there(deleted_at: Option<i64>, document: Stat) -> bool {
    deleted_at.is_some_and(|at| document.ctime_ns / 1_000_000 <= at)
}

/// Returns whether a sync made the page of its document. An import of the owner stays when its file
/// goes.
fn is_of_sync(page: &Provenance) -> bool {
    page.ingested_via.as_deref() == Some(SYNC_OF_DOCUMENTS.via)
}

/// Returns the path of the document of which a page was made; `root` is the address of the source.
fn document_of(page: &Provenance, root: &str) -> Option<String> {
    let kind = page.source_kind.as_deref()?;
    let path = page.source_uri.as_deref()?.strip_prefix(root)?;
    // The address of a page of an export names the export and, after a `#`, the entry in it.
    let is_of_export = !is_of_sync(page) && path.contains('#');
    (kind.starts_with(IMPORT.kind) && !is_of_export && !brain_page::is_markdown(Path::new(path)))
        .then(|| path.to_owned())
}

/// Returns the digest of a file that a page can have; `None` for a larger one.
fn digest_of(files: &RootDir, path: &str) -> Option<Hash> {
    let mut bytes = Vec::new();
    let file = files.open_file(Path::new(path)).ok()?;
    file.take(MAX_ATTACHMENT as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MAX_ATTACHMENT).then(|| brain_files::digest(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "file:///notes/";

    #[test]
    fn only_pages_that_a_sync_made_go_with_their_document() {
        let of_sync = |uri: &str| SYNC_OF_DOCUMENTS.provenance(format!("{ROOT}{uri}"), 0);
        let of_import = |uri: &str| IMPORT.provenance(format!("{ROOT}{uri}"), 0);
        assert!(is_of_sync(&of_sync("a.pdf")) && !is_of_sync(&of_import("a.pdf")));
        for (page, expected) in [
            (of_sync("a.pdf"), Some("a.pdf")),
            (of_sync("C# for beginners.pdf"), Some("C# for beginners.pdf")),
            (of_import("sub/a.pdf"), Some("sub/a.pdf")),
            (of_import("report.pdf#report.pdf"), None),
            (of_import("Recipes.enex#Soup"), None),
            (of_sync("a.md"), None),
        ] {
            assert_eq!(document_of(&page, ROOT).as_deref(), expected, "{page:?}");
        }
        let elsewhere = SYNC_OF_DOCUMENTS.provenance("file:///other/a.pdf".to_owned(), 0);
        assert_eq!(document_of(&elsewhere, ROOT), None);
    }

    #[test]
    fn a_document_that_is_gone_was_not_read() {
        let stat = Stat { size: 1, mtime_ns: 2, ctime_ns: 3 };
        let read = SeenDocument::Read { size: 1, mtime_ns: 2, failure: None };
        assert!(read.is_at(stat) && !read.is_at(Stat { mtime_ns: 3, ..stat }));
        assert!(!SeenDocument::Gone.is_at(stat));
    }

    #[test]
    fn a_document_that_comes_back_is_later_than_the_deletion() {
        let at = |ms: i64| Stat { size: 1, mtime_ns: 0, ctime_ns: ms * 1_000_000 };
        assert!(was_there(Some(5_000), at(4_000)));
        assert!(!was_there(Some(5_000), at(6_000)));
        assert!(!was_there(None, at(4_000)), "an active page");
    }
}
