//! The run of an import: reads files, stores their pages in batches, and attaches their files.

use std::collections::HashSet;
use std::path::Path;
use std::thread::ScopedJoinHandle;

use brain_base::caller::{Caller, Visibility};
use brain_files::{CommitTimes, MarkdownFile, ScanReport};
use brain_page::assign_slugs;
use brain_pages::files::read::uri;
use brain_pages::provenance::{IMPORT, IngestRoute, SYNC_OF_DOCUMENTS};
use brain_protocol::{Fault, FaultCode, ImportFailure, ImportedPosts, Slug, SourceId, WriteStatus};
use brain_service::Progress;
use brain_service::batch::in_batches;
use brain_store::{
    Content, PageRecord, Reader, StoreError, Transaction, VersionRecord, WrittenPage,
};

use super::SyncService;
use super::document_places::DocumentPlaces;
use super::import_attachments::PageWithFiles;
use super::import_documents::{self, Document, DocumentResult};
use super::import_effect::{ImportEffect, StoredTexts};
use super::import_input::{ImportInput, InputKind};
use super::import_page::{ImportPage, read_page};
use super::import_posts::{PostImport, PostKeeper};
use super::import_record::ImportRecord;
use super::import_tally::ImportTally;

/// Why a page is not written.
pub(super) const BLANK: &str = "it is empty, and would blank the page of that slug";
pub(super) const KEPT: &str = "its page was written or changed in brain, so that is kept";

/// The texts that a transaction sees.
struct InTransaction<'a, 'b>(&'a Transaction<'b>);

impl StoredTexts for InTransaction<'_, '_> {
    fn text(&self, page: &PageRecord) -> Result<Content, StoreError> {
        self.0.content(page)
    }

    fn former(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        self.0.version(id, version)
    }
}

impl StoredTexts for Reader {
    fn text(&self, page: &PageRecord) -> Result<Content, StoreError> {
        self.content(page)
    }

    fn former(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        self.version(id, version)
    }
}

/// A file to import, and its slug.
type FileWithSlug = (MarkdownFile, Slug);

/// What an import writes.
#[derive(Clone)]
pub(super) enum ImportMode {
    /// Nothing.
    DryRun,
    /// Pages, and a record of them, by which the import can be undone.
    Recorded(ImportRecord),
    /// Pages: the next sync of their source can bring them again.
    Sync,
}

impl ImportMode {
    /// Returns the route by which its pages are added.
    fn route(&self) -> &'static IngestRoute {
        match self {
            Self::Sync => &SYNC_OF_DOCUMENTS,
            Self::DryRun | Self::Recorded(_) => &IMPORT,
        }
    }

    /// Returns the record of the import.
    pub(super) fn record(&self) -> Option<&ImportRecord> {
        match self {
            Self::Recorded(record) => Some(record),
            Self::DryRun | Self::Sync => None,
        }
    }
}

/// An import in progress.
pub(super) struct ImportRun<'a> {
    pub(super) service: &'a SyncService,
    pub(super) caller: &'a Caller,
    pub(super) progress: &'a dyn Progress,
    pub(super) source: &'a SourceId,
    /// Only pages that changed at this time or later, in Unix milliseconds.
    pub(super) since: Option<i64>,
    /// Whether secrets are removed from the texts.
    pub(super) should_scrub: bool,
    pub(super) mode: ImportMode,
    pub(super) tally: ImportTally,
    /// The slugs of the pages so far. No two files of an import become one page.
    slugs: HashSet<Slug>,
    /// The number of files that are done.
    done: u64,
    /// The number of all files.
    pub(super) total: u64,
}

impl<'a> ImportRun<'a> {
    /// Begins the import of `total` files into a source.
    pub(super) fn new(
        service: &'a SyncService,
        caller: &'a Caller,
        progress: &'a dyn Progress,
        source: &'a SourceId,
        mode: ImportMode,
        total: u64,
    ) -> Self {
        Self {
            service,
            caller,
            progress,
            source,
            since: None,
            should_scrub: false,
            mode,
            tally: ImportTally::default(),
            slugs: HashSet::new(),
            done: 0,
            total,
        }
    }

    /// Reads the files and stores their pages, in batches, then their attachments. While one batch
    /// is stored, the next one is read, and the files of the previous one are written.
    fn store_files(&mut self, input: &ImportInput, files: Vec<MarkdownFile>) -> Result<(), Fault> {
        let count = files.len() as u64;
        let files = self.with_slugs(files, input);
        self.done += count - files.len() as u64;
        let (service, source, caller) = (self.service, self.source, self.caller);
        let commits = match input.is_converted() {
            true => CommitTimes::default(),
            false => {
                let dir = input.dir();
                service.git_history.commit_times(dir, None, &|| self.should_continue())
            }
        };
        let now = service.env.clock.now();
        let stored_provenance = |slug: &Slug| {
            let page = service.store.read(Visibility::All)?.page_even_deleted(source, slug)?;
            Ok(page.map(|record| record.provenance))
        };
        let read = |(file, slug): &FileWithSlug| {
            read_page(input, &file.path, slug, now, &commits, &stored_provenance)
        };
        let mut with_files: Vec<PageWithFiles> = Vec::new();
        std::thread::scope(|scope| -> Result<(), Fault> {
            let mut writer: Option<ScopedJoinHandle<'_, Vec<String>>> = None;
            in_batches(
                &files,
                |(file, _)| file.stat.size,
                read,
                |batch| {
                    let count = batch.len() as u64;
                    let (changed, attached) = self.accept_batch(input, batch)?;
                    with_files.extend(attached);
                    let former_writer =
                        writer.replace(scope.spawn(move || service.write_files(source, &changed)));
                    self.tally.warn(former_writer);
                    service.index.wait_for_backlog();
                    self.done += count;
                    Ok(())
                },
            )?;
            self.tally.warn(writer);
            Ok(())
        })?;
        let listed = with_files.iter().flat_map(|page| page.listed_files(input.dir()));
        self.tally.listed_files.extend(listed);
        for page in with_files {
            if !matches!(self.mode, ImportMode::DryRun) {
                if !self.should_continue() {
                    return Err(self.cancelled());
                }
                service.attach_files(caller, input, source, &page, &mut self.tally)?;
                // Its page is indexed again.
                service.index.wait_for_backlog();
            }
            self.tally.named_files.extend(page.named_files);
        }
        Ok(())
    }

    /// Returns the files with their slugs.
    fn with_slugs(&mut self, files: Vec<MarkdownFile>, input: &ImportInput) -> Vec<FileWithSlug> {
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let slugs = assign_slugs(&paths, |slug| self.slugs.contains(slug));
        let mut with_slugs = Vec::with_capacity(files.len());
        for (file, slug) in files.into_iter().zip(slugs) {
            match slug {
                Ok(slug) => {
                    self.slugs.insert(slug.clone());
                    with_slugs.push((file, slug));
                }
                Err(error) => {
                    self.tally.failures.add(input.name(&file.path), error.to_string());
                }
            }
        }
        with_slugs
    }

    fn cancelled(&self) -> Fault {
        let (done, total) = (self.done, self.total);
        let message = format!("the import ended early, after {done} of {total} files");
        Fault::new(FaultCode::Cancelled, message)
            .hint("imported pages stay; import the directory again to continue")
    }

    /// Converts documents and stores their pages, a batch at a time. Returns the paths of those in
    /// no format that is read.
    pub(super) fn store_documents(
        &mut self,
        root: &Path,
        documents: &[Document],
    ) -> Result<Vec<String>, Fault> {
        let mut unread = Vec::new();
        let places = DocumentPlaces::of(documents.iter().filter_map(Document::one_page));
        for batch in documents.chunks(import_documents::BATCH) {
            let mut pages = self.service.converted_pages(self.should_scrub)?;
            let results = {
                let should_continue = || self.should_continue();
                self.service.convert_documents(
                    root,
                    batch,
                    &mut pages,
                    &places,
                    &should_continue,
                )?
            };
            for (document, result) in batch.iter().zip(results) {
                match result {
                    DocumentResult::Converted => {}
                    DocumentResult::UnknownFormat => unread.push(document.path.clone()),
                    DocumentResult::Failed(reason) => {
                        self.tally.failures.add(document.path.as_str(), reason);
                    }
                }
            }
            self.tally.lost.merge(std::mem::take(&mut pages.lost));
            let input = ImportInput {
                path: root.to_owned(),
                address: uri(root),
                kind: InputKind::Documents(pages),
                route: self.mode.route(),
                warning: None,
                should_scrub: self.should_scrub,
            };
            let files = self.service.import_files(&input, root)?.files;
            let (done, total) = (self.done + batch.len() as u64, self.total);
            // A document can become several pages.
            self.total = total.max(self.done + files.len() as u64);
            self.store_files(&input, files)?;
            (self.done, self.total) = (done, total);
        }
        Ok(unread)
    }

    /// Stores the markdown files, then the documents that are not attached to them.
    pub(super) fn store_all(
        &mut self,
        input: &ImportInput,
        found: &mut ScanReport,
        documents: Vec<Document>,
    ) -> Result<(), Fault> {
        self.store_files(input, std::mem::take(&mut found.files))?;
        let is_attached = |document: &Document| self.tally.listed_files.contains(&document.path);
        let (attached, documents): (Vec<_>, Vec<_>) = documents.into_iter().partition(is_attached);
        self.total -= attached.len() as u64;
        let unread = self.store_documents(&input.path, &documents)?;
        found.other_files += unread.len() as u64;
        found.other_paths.extend(unread);
        Ok(())
    }

    /// Hands the posts of an export to `keeper`.
    pub(super) fn hand_over_posts(
        &mut self,
        input: &mut ImportInput,
        keeper: &dyn PostKeeper,
    ) -> Result<Option<ImportedPosts>, Fault> {
        let InputKind::Export(export) = &mut input.kind else { return Ok(None) };
        let Some(posts) = export.pages.posts.take() else { return Ok(None) };
        let record = self.mode.record().cloned();
        let posts_import = PostImport { keeper, since: self.since, record: record.as_ref() };
        let mut tally = std::mem::take(&mut self.tally);
        let imported = posts_import.run(posts, &mut tally, &|| self.should_continue());
        self.tally = tally;
        imported
    }

    /// Reports the progress. Returns whether the import should continue.
    fn should_continue(&self) -> bool {
        self.progress.at(self.done, self.total) && !self.service.env.stop.is_cancelled()
    }

    /// Stores a batch of files that were read. Returns the pages whose files must be written, and
    /// those with attachments.
    fn accept_batch(
        &mut self,
        input: &ImportInput,
        batch: Vec<Result<ImportPage, ImportFailure>>,
    ) -> Result<(Vec<WrittenPage>, Vec<PageWithFiles>), Fault> {
        let (done, total) = (self.done, self.total);
        if !self.should_continue() {
            return Err(self.cancelled());
        }
        let mut pages = Vec::with_capacity(batch.len());
        for file in batch {
            let page = match file {
                Ok(page) => page,
                Err(ImportFailure { path, reason }) => {
                    self.tally.failures.add(path, reason);
                    continue;
                }
            };
            let updated = page.page.dates.resolve(None, i64::MAX).1;
            match self.since {
                Some(since) if updated < since => {
                    self.tally.older += 1;
                    self.tally.named_files.extend(page.named_files);
                }
                _ => {
                    self.tally.count_secrets(input.name(&page.path), &page.secrets);
                    pages.push(page);
                }
            }
        }
        let mut with_files: Vec<PageWithFiles> =
            pages.iter().filter_map(ImportPage::with_files).collect();
        let mut kept = HashSet::new();
        let stored = self.store_batch(input, pages, &mut kept).map_err(|fault| Fault {
            message: format!(
                "{}; {done} of {total} files were imported before that",
                fault.message
            ),
            ..fault
        })?;
        with_files.retain(|page| !kept.contains(page.path()));
        Ok((stored, with_files))
    }

    /// Stores a batch in one commit. Returns the pages whose files must be written.
    fn store_batch(
        &mut self,
        input: &ImportInput,
        pages: Vec<ImportPage>,
        kept: &mut HashSet<String>,
    ) -> Result<Vec<WrittenPage>, Fault> {
        let (service, tally) = (self.service, &mut self.tally);
        if matches!(self.mode, ImportMode::DryRun) {
            return service.compare(self.source, input, &pages, tally).map(|()| Vec::new());
        }
        let mode = self.mode.clone();
        let now = service.env.clock.now();
        let id = self.source.clone();
        let paths: Vec<String> = pages.iter().map(|r| r.path.clone()).collect();
        let applied = service.store.write(move |transaction| {
            transaction.mark_as_bulk();
            let mut effects = Vec::with_capacity(pages.len());
            let (mut written, mut unchanged) = (Vec::new(), Vec::new());
            for page in &pages {
                let existing = transaction.page(&id, &page.slug)?;
                let effect = ImportEffect::of(page, existing, &InTransaction(transaction))?;
                match effect {
                    ImportEffect::Write(_) => written.push(page.slug.clone()),
                    ImportEffect::Unchanged(_) => unchanged.push(page.slug.clone()),
                    ImportEffect::Blank | ImportEffect::Keep => {}
                }
                effects.push(effect);
            }
            if let Some(record) = mode.record() {
                record.add_pages(now, written, unchanged)?;
            }
            let mut out = Vec::with_capacity(pages.len());
            for (ImportPage { slug, page, .. }, effect) in pages.iter().zip(effects) {
                out.push(match effect {
                    ImportEffect::Unchanged(record) => Ok(WrittenPage::unchanged(*record)),
                    ImportEffect::Blank => Err(BLANK),
                    ImportEffect::Keep => Err(KEPT),
                    ImportEffect::Write(_) => Ok(transaction.write_page(&id, slug, page, now)?),
                });
            }
            Ok(out)
        })?;
        let mut changed = Vec::with_capacity(applied.len());
        for (path, applied) in paths.into_iter().zip(applied) {
            match applied {
                Ok(WrittenPage { status: WriteStatus::Unchanged, .. }) => {
                    tally.count(WriteStatus::Unchanged);
                }
                Ok(page) => {
                    tally.count(page.status);
                    changed.push(page);
                }
                Err(reason) => {
                    kept.insert(path.clone());
                    tally.failures.add(input.name(&path), reason);
                }
            }
        }
        Ok(changed)
    }
}
