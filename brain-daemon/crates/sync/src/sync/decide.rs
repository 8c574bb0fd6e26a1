//! Decides what to do with one file. A dry run and the writer use the same rules: the dry run reads
//! a snapshot, the writer reads its transaction.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{Command, Fault, FaultCode, Slug, SourceId, WriteStatus, hint};

use brain_files::{IgnoreRules, RootDir, Stat, stat_of};
use brain_pages::files::read::{FileText, ReadFile};
use brain_pages::provenance::SYNC;
use brain_store::{
    Content, FileRecord, FileState, NewPage, OutboxRow, PageRecord, Reader, StoreError,
    Transaction, unless_damaged,
};

/// The reads that a decision needs.
pub(super) trait View {
    fn page_at(
        &self,
        source: &SourceId,
        path: &str,
    ) -> Result<Option<(Slug, PageRecord)>, StoreError>;
    fn page(&self, source: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError>;
    fn content(&self, record: &PageRecord) -> Result<Content, StoreError>;
    fn file(&self, source: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError>;
    fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError>;
}

macro_rules! view {
    ($type:ty, $page:ident) => {
        impl View for $type {
            fn page_at(
                &self,
                of: &SourceId,
                path: &str,
            ) -> Result<Option<(Slug, PageRecord)>, StoreError> {
                self.page_at(of, path)
            }
            fn page(&self, of: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError> {
                self.$page(of, slug)
            }
            fn content(&self, record: &PageRecord) -> Result<Content, StoreError> {
                self.content(record)
            }
            fn file(&self, of: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError> {
                self.file(of, path)
            }
            fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError> {
                self.outbox_row(id)
            }
        }
    };
}

view!(Transaction<'_>, page);
view!(Reader, page_even_deleted);

/// The values that all decisions about a batch use.
#[derive(Debug, Clone)]
pub(super) struct SyncContext {
    pub(super) source: SourceId,
    /// The registered directory of the source.
    pub(super) registered_path: Option<String>,
    pub(super) root: PathBuf,
    /// The open directory; `None` if it does not exist and no page has a file in it.
    pub(super) files: Option<Arc<RootDir>>,
    pub(super) rules: Arc<IgnoreRules>,
    /// Outbox rows whose file is written already: page id and sequence number.
    pub(super) finished_rows: HashSet<(u64, u64)>,
    /// Pages whose file was not checked yet after an unclean end, so it may be torn.
    pub(super) recovering_pages: HashSet<u64>,
    /// Files that the daemon is about to remove, with the digests of the contents that it removes.
    pub(super) files_to_remove: HashMap<String, Vec<[u8; 32]>>,
    /// For a dry run: slugs that a rename would have freed.
    pub(super) freed_slugs: HashSet<Slug>,
    /// The state of pages and files before the writer began: see [`SyncContext::observe_files`].
    pub(super) observations: Observations,
}

/// The state of pages and files when they were last read.
#[derive(Debug, Clone, Default)]
pub(super) struct Observations {
    /// By path: the page that the file has, or would get.
    pages: HashMap<String, Option<PageState>>,
    /// By path: the state of the file; `None` if there is no file.
    files: HashMap<String, Result<Option<Stat>, io::ErrorKind>>,
}

/// A page's id, its last change, and the change that is not in its file yet. If the state is the
/// same as before, the daemon changed neither the page nor its file.
type PageState = (u64, u64, Option<u64>);

/// The decision about a file.
#[derive(Debug)]
pub(super) enum FileVerdict {
    /// The file has the content of its page.
    Unchanged {
        /// The page.
        id: u64,
        /// The last change of the page when file and page were equal.
        seq: u64,
    },
    /// The daemon is about to write the file, to move it to the trash, or to remove it.
    PendingWrite,
    /// The file is gone.
    Gone,
    /// The file or its page changed after the file was read.
    Changed,
    /// Another program changed the file, and the page has a change that is not in it. Page id; for
    /// [`brain_pages::files::FileService::merge_file`].
    Differing(u64),
    /// The file becomes the content of its page.
    Write {
        /// The effect on the page.
        status: WriteStatus,
        /// The former path of the page's file, if the page had another file.
        former: Option<String>,
    },
    /// The page becomes active again, with its former content.
    Restore(Box<PageRecord>),
    /// The file cannot become a page.
    Refused {
        reason: String,
        /// The page, and its last change when file and page were equal; stored with the reason.
        /// `None` if the reason depends on more than this file: then nothing is stored.
        note: Option<(Option<u64>, u64)>,
    },
}

impl SyncContext {
    /// Fails if the source was removed, or got another directory, since the sync began. Runs in the
    /// writer.
    pub(super) fn check(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        match transaction.source(&self.source)? {
            Some(record) if record.path == self.registered_path => Ok(()),
            _ => {
                let message =
                    format!("the source \"{}\" was removed while it was synchronised", self.source);
                Err(Fault::new(FaultCode::UnknownSource, message)
                    .hint(hint!("see {}", Command::SourcesList))
                    .into())
            }
        }
    }

    /// Returns the outbox row of a page if its file is not written yet.
    pub(super) fn pending(
        &self,
        view: &impl View,
        id: u64,
    ) -> Result<Option<OutboxRow>, StoreError> {
        Ok(view.outbox_row(id)?.filter(|row| !self.finished_rows.contains(&(id, row.seq))))
    }

    /// Returns whether the file of a page must be checked first, because it may be torn.
    fn is_recovering(&self, view: &impl View, id: u64) -> Result<bool, StoreError> {
        Ok(self.recovering_pages.contains(&id) && self.pending(view, id)?.is_some())
    }

    /// Returns whether there is a file at `path`, or may be.
    pub(super) fn has_file(&self, path: &str) -> bool {
        // If the path cannot be read, there may be a file.
        self.stat(path).map_or(true, |stat| stat.is_some())
    }

    /// Returns whether the page with this slug has a file, or gets one. Then another file needs
    /// another slug.
    pub(super) fn has_other_file(&self, view: &impl View, slug: &Slug) -> bool {
        let Ok(Some(page)) = view.page(&self.source, slug) else { return false };
        let pending = self.pending(view, page.id).ok().flatten();
        match pending.map(|row| row.target_state) {
            Some(state) => state == FileState::Present,
            None => self.has_file(&page.source_path),
        }
    }

    /// Returns size and times of a file; `None` if there is none.
    fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        self.files.as_ref().map_or(Ok(None), |root| stat_of(root, path))
    }

    /// Returns whether a sync made this page from a file that the rules leave out now. A page that
    /// brain made itself is never left out.
    pub(super) fn is_left_out(&self, record: &PageRecord) -> bool {
        record.provenance.ingested_via.as_deref() == Some(SYNC.via)
            && self.rules.leave_out(&self.root, &record.source_path, false)
    }

    /// Reads the state of the pages of these files. Returns the paths for
    /// [`SyncContext::observe_files`].
    pub(super) fn observe_pages<'a>(
        &mut self,
        view: &impl View,
        files: impl Iterator<Item = &'a ReadFile>,
    ) -> Result<Vec<String>, StoreError> {
        let mut paths = Vec::new();
        for file in files {
            let page = self.page_of(view, file)?;
            let state = self.page_state(view, page.as_ref())?;
            self.observations.pages.insert(file.path.clone(), state);
            paths.extend(page.map(|page| page.source_path).filter(|path| *path != file.path));
            paths.push(file.path.clone());
        }
        Ok(paths)
    }

    /// Reads the state of the files at these paths. Must not run in the writer, because a disk that
    /// hangs would stop all writes.
    pub(super) fn observe_files(&mut self, paths: impl IntoIterator<Item = String>) {
        for path in paths {
            let stat = self.stat(&path).map_err(|e| e.kind());
            self.observations.files.insert(path, stat);
        }
    }

    /// Returns whether the file at `path` had this state when it was last read.
    pub(super) fn is_as_observed(&self, path: &str, stat: Stat) -> bool {
        self.observations.files.get(path) == Some(&Ok(Some(stat)))
    }

    /// Returns the page at the path of the file, else the page with its slug.
    fn page_of(&self, view: &impl View, file: &ReadFile) -> Result<Option<PageRecord>, StoreError> {
        match view.page_at(&self.source, &file.path)? {
            Some((_, record)) => Ok(Some(record)),
            None => view.page(&self.source, &file.slug),
        }
    }

    fn page_state(
        &self,
        view: &impl View,
        page: Option<&PageRecord>,
    ) -> Result<Option<PageState>, StoreError> {
        let Some(page) = page else { return Ok(None) };
        let pending_change = self.pending(view, page.id)?.map(|row| row.seq);
        Ok(Some((page.id, page.seq, pending_change)))
    }

    /// Decides about a file. Reads no files: [`SyncContext::observe_files`] has read them.
    pub(super) fn decide(
        &self,
        view: &impl View,
        file: &ReadFile,
    ) -> Result<FileVerdict, StoreError> {
        if let FileText::Gone = file.text {
            return Ok(FileVerdict::Gone);
        }
        if let FileText::Unreadable(reason) = &file.text {
            return Ok(FileVerdict::Refused { reason: reason.clone(), note: None });
        }
        let verdict = match view.page_at(&self.source, &file.path)? {
            // Another writer stored the page meanwhile, with another slug. The links of the file
            // were resolved for its own slug.
            Some((slug, _)) if slug != file.slug => FileVerdict::Changed,
            Some((_, record)) if record.deleted_at.is_some() => {
                self.decide_deleted(view, file, record)?
            }
            Some((_, record)) => self.decide_active(view, file, &record)?,
            None => self.decide_without_page(view, file)?,
        };
        if !matches!(verdict, FileVerdict::Write { .. } | FileVerdict::Restore(_)) {
            return Ok(verdict);
        }
        // A change by the daemon since the file was read is newer than the file. Before the
        // observation, the state of the file shows such a change; after it, the state of the page.
        // The next sync sees changes of other programs after the observation, because the stored
        // row has the state of the file when it was read.
        let page_state = self.page_state(view, self.page_of(view, file)?.as_ref())?;
        if self.observations.pages.get(&file.path) != Some(&page_state) {
            return Ok(FileVerdict::Changed);
        }
        Ok(match self.observations.files.get(&file.path) {
            Some(Ok(Some(stat))) if *stat == file.stat => verdict,
            Some(Ok(None)) => FileVerdict::Gone,
            _ => FileVerdict::Changed,
        })
    }

    /// Decides about a file whose page is active.
    fn decide_active(
        &self,
        view: &impl View,
        file: &ReadFile,
        record: &PageRecord,
    ) -> Result<FileVerdict, StoreError> {
        let id = record.id;
        if self.is_recovering(view, id)? {
            return Ok(FileVerdict::PendingWrite);
        }
        let row = view.file(&self.source, &file.path)?.filter(|row| row.page == Some(id));
        let synced_row =
            row.as_ref().filter(|row| row.problem.is_none() && row.digest == file.digest);
        if synced_row.is_some_and(|row| row.seq == record.seq) {
            return Ok(FileVerdict::Unchanged { id, seq: record.seq });
        }
        // The file repairs a damaged page.
        let stored = unless_damaged(view.content(record))?;
        let page_digest = stored.as_ref().map(Content::file_hash);
        let has_same_content = match (&file.text, &stored) {
            (FileText::Page(page), Some(stored)) => page.content == *stored,
            _ => false,
        };
        if page_digest == Some(file.digest) || has_same_content {
            return Ok(FileVerdict::Unchanged { id, seq: record.seq });
        }
        if let Some(row) = synced_row.filter(|_| stored.is_some()) {
            // The page has changed, and its file is not written yet.
            return Ok(FileVerdict::Unchanged { id, seq: row.seq });
        }
        let synced_seq = row.as_ref().map_or(record.seq, |row| row.seq);
        let page = match &file.text {
            FileText::Page(page) => page,
            FileText::Invalid(reason) => return Ok(refuse(reason, Some(id), synced_seq)),
            _ => return Ok(FileVerdict::Changed),
        };
        let pending = self.pending(view, id)?;
        if pending.as_ref().is_some_and(|row| row.own_digests.contains(&file.digest)) {
            return Ok(FileVerdict::PendingWrite);
        }
        let is_damaged = stored.is_none();
        if stored.is_some_and(|stored| would_blank(page, &stored)) {
            return Ok(refuse(&empty_file(file), Some(id), synced_seq));
        }
        if pending.is_some() && !is_damaged {
            return Ok(FileVerdict::Differing(id));
        }
        Ok(FileVerdict::Write { status: WriteStatus::Updated, former: None })
    }

    /// Decides about a file whose page is deleted.
    fn decide_deleted(
        &self,
        view: &impl View,
        file: &ReadFile,
        record: PageRecord,
    ) -> Result<FileVerdict, StoreError> {
        let id = record.id;
        if self.is_recovering(view, id)? {
            return Ok(FileVerdict::PendingWrite);
        }
        let row = view.file(&self.source, &file.path)?.filter(|row| row.page == Some(id));
        let is_synced =
            row.as_ref().is_some_and(|row| row.problem.is_none() && row.digest == file.digest);
        // The daemon is about to move the file to the trash.
        if self
            .pending(view, id)?
            .is_some_and(|row| is_synced || row.own_digests.contains(&file.digest))
        {
            return Ok(FileVerdict::PendingWrite);
        }
        let page = match &file.text {
            FileText::Page(page) => page,
            FileText::Invalid(reason) => {
                return Ok(refuse(reason, Some(id), row.map_or(record.seq, |row| row.seq)));
            }
            _ => return Ok(FileVerdict::Changed),
        };
        if let Some(stored) = unless_damaged(view.content(&record))? {
            if page.content == stored {
                return Ok(FileVerdict::Restore(Box::new(record)));
            }
            if would_blank(page, &stored) {
                return Ok(refuse(&empty_file(file), Some(id), record.seq));
            }
        }
        Ok(FileVerdict::Write { status: WriteStatus::Restored, former: None })
    }

    /// Decides about a file without a page.
    fn decide_without_page(
        &self,
        view: &impl View,
        file: &ReadFile,
    ) -> Result<FileVerdict, StoreError> {
        // The file of a page that was moved while its disk was away.
        let own = self.files_to_remove.get(&file.path);
        if own.is_some_and(|own| own.contains(&file.digest)) {
            return Ok(FileVerdict::PendingWrite);
        }
        let holder =
            view.page(&self.source, &file.slug)?.filter(|_| !self.freed_slugs.contains(&file.slug));
        if let Some(holder) = &holder {
            let is_pending = self
                .pending(view, holder.id)?
                .is_some_and(|row| row.target_state == FileState::Present);
            let Some(own_file) = self.observations.files.get(&holder.source_path) else {
                return Ok(FileVerdict::Changed);
            };
            if is_pending || *own_file != Ok(None) {
                let reason = format!(
                    "it would have the slug \"{}\", which is that of {}",
                    file.slug, holder.source_path
                );
                return Ok(FileVerdict::Refused { reason, note: None });
            }
        }
        let page = match &file.text {
            FileText::Page(page) => page,
            FileText::Invalid(reason) => return Ok(refuse(reason, None, 0)),
            _ => return Ok(FileVerdict::Changed),
        };
        let Some(holder) = holder else {
            return Ok(FileVerdict::Write { status: WriteStatus::Created, former: None });
        };
        // The page's own file is gone, and this file has its slug: `note.md` became `Note.md`.
        if unless_damaged(view.content(&holder))?.is_some_and(|stored| would_blank(page, &stored)) {
            return Ok(refuse(&empty_file(file), None, 0));
        }
        let status =
            if holder.deleted_at.is_some() { WriteStatus::Restored } else { WriteStatus::Updated };
        Ok(FileVerdict::Write { status, former: Some(holder.source_path) })
    }
}

/// Returns why an empty file does not become its page.
fn empty_file(file: &ReadFile) -> String {
    format!(
        "it is empty, and would blank its page, which stays; to write the page there: `{}`; to \
         delete the page: `{}`",
        Command::KeepPage { page: Some(file.slug.to_string()) },
        Command::Delete { page: Some(file.slug.to_string()) }
    )
}

fn refuse(reason: &str, page: Option<u64>, seq: u64) -> FileVerdict {
    FileVerdict::Refused { reason: reason.to_owned(), note: Some((page, seq)) }
}

/// Returns whether the file is empty and the page is not.
fn would_blank(page: &NewPage, stored: &Content) -> bool {
    page.content.frontmatter.is_empty()
        && page.content.body.trim().is_empty()
        && !stored.body.trim().is_empty()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "decide_tests.rs"]
mod tests;
