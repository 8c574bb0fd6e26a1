//! Takes in what another program saved to the file of a page, before brain writes the page or its
//! file.
//!
//! A command that changes a part of a page, such as `append`, first makes the text of the file the
//! page, as a sync does ([`FileService::write_page`]). A command that brings a whole text, such as
//! `put`, does not: the text is a change of the page as it was read. If the page has a change that
//! is not in the file yet, both texts are joined line by line. If both changed the same lines,
//! neither is replaced: that is a conflict, which lasts until one of them is edited or chosen
//! (`brain keep`). Nothing has to record it: the outbox row of the page stays, and the file has
//! other contents than those of brain.

use std::path::PathBuf;

use brain_protocol::{Command, Fault, FaultCode, Hint, MAX_CONTENT, Slug, SourceId, hint};

use super::outbox::FileFailure;
use super::overwritten_edits::version_with;
use crate::files::FileService;
use crate::files::read::{FileText, FileToRead, PageOfFile, ReadFile, is_as_recorded, read_file};
use crate::files::update::TextOfChange;
use crate::write_page::build_new_page;
use brain_base::caller::Visibility;
use brain_files::{CommitTimes, stat_of};
use brain_page::{Document, merge};
use brain_store::{
    Content, LineChange, NewPage, OutboxRow, PageRecord, Reader, StoreError, Transaction,
    unless_damaged,
};

/// Attempts to join texts while the page changes, and to write a file that is saved meanwhile.
pub(super) const MAX_ATTEMPTS: usize = 8;

/// The result of [`FileService::merge_file`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileMerge {
    /// The file has the text of the page, or an earlier one that the outbox replaces; or there is
    /// no file.
    Same,
    /// The page has the text of the file now, or both texts joined.
    Changed(Box<PageRecord>),
    /// Page and file changed the same lines. The version with the text of the file.
    Conflict(u32),
    /// The file cannot become the page; the reason, unless it is that the file is empty.
    Unusable(Option<String>),
}

/// The path of the file, or why it was not written; and the page, if a save was taken in.
type WriteResult = (Result<Option<PathBuf>, String>, Option<Box<PageRecord>>);

/// A page and its file, which has a text that brain did not write.
pub(super) struct DifferingFile {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    pub(super) record: PageRecord,
    /// The text of the page.
    pub(super) content: Content,
    pub(super) file: ReadFile,
    /// The outbox row, if the file lacks a change of the page.
    row: Option<OutboxRow>,
}

impl FileService {
    /// Runs a write of the page `slug`, if it exists, after [`Self::merge_file`]. So the write
    /// changes what is in the file now.
    ///
    /// # Errors
    /// As the write. A file that cannot be read is left to it.
    pub fn write_page<T: Send + 'static>(
        &self,
        (source, slug): (&SourceId, &Slug),
        write: impl FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_file_of(source, slug);
        self.store.write(write)
    }

    /// Calls [`Self::merge_file`] for a page if its file is not as it was last read.
    pub fn read_file_of(&self, source: &SourceId, slug: &Slug) {
        let has_changed = || -> Result<Option<u64>, StoreError> {
            let reader = self.store.read(Visibility::All)?;
            let Some(record) = reader.page(source, slug)? else { return Ok(None) };
            let Some(tree) = self.tree(&reader, source.as_str())? else { return Ok(None) };
            // A file that cannot be read has nothing to take in.
            let stat = tree.open_root().and_then(|root| stat_of(&root, &record.source_path));
            let Ok(Some(stat)) = stat else { return Ok(None) };
            let row = reader.file(source, &record.source_path)?;
            let is_read = row.is_some_and(|row| {
                row.page == Some(record.id) && row.seq == record.seq && is_as_recorded(&row, stat)
            });
            Ok((!is_read).then_some(record.id))
        };
        let merged = has_changed().map_err(Fault::from).and_then(|id| match id {
            Some(id) => self.merge_file(id),
            None => Ok(FileMerge::Same),
        });
        if let Err(fault) = merged {
            tracing::warn!(%source, %slug, %fault, "file of a page not read before a write");
        }
    }

    /// Processes the outbox row of a page. If another program saved its file, takes that in first;
    /// then also returns the page.
    pub(super) fn write_file(&self, id: u64, text: Option<TextOfChange<'_>>) -> WriteResult {
        let (mut result, mut merged) = (self.update_file_by_id(id, text), None);
        for _ in 0..MAX_ATTEMPTS {
            if result.is_ok() || !self.failing().get(&id).is_some_and(|it| it.is_foreign) {
                break;
            }
            match self.merge_file(id) {
                Ok(FileMerge::Changed(record)) => {
                    merged = Some(record);
                    result = self.update_file_by_id(id, text);
                }
                // The other program has changed the file back; or it is no regular file.
                Ok(FileMerge::Same) => {
                    result = self.update_file_by_id(id, text);
                    break;
                }
                Ok(FileMerge::Conflict(version)) => {
                    let message = format!(
                        "another program changed the same lines as the page, so brain replaced \
                         neither; the text of the file is version {version} of the page"
                    );
                    result = Err(self.explain(id, &message, self.keep_hint(id)));
                    break;
                }
                // The failure says already that the file is empty.
                Ok(FileMerge::Unusable(None)) => break,
                Ok(FileMerge::Unusable(Some(reason))) => {
                    let message = format!(
                        "another program changed it, and it cannot become the page: {reason}"
                    );
                    let hint = hint!(
                        "correct the file; or to write the page there: {}",
                        Command::KeepPage { page: self.page_argument(id) }
                    );
                    result = Err(self.explain(id, &message, hint));
                    break;
                }
                Err(fault) => {
                    tracing::warn!(page = id, %fault, "saved file not taken in");
                    break;
                }
            }
        }
        (result, merged)
    }

    /// Takes in a file that another program changed, and writes it if both texts were joined.
    ///
    /// # Errors
    /// As [`Self::merge_file`].
    pub fn merge_and_write(&self, id: u64) -> Result<FileMerge, Fault> {
        let merged = self.merge_file(id)?;
        if matches!(merged, FileMerge::Changed(_)) {
            // A file that cannot be written is reported with the other failures.
            let _ = self.write_file(id, None);
        }
        Ok(merged)
    }

    /// Returns how to settle a difference between a page and its file.
    pub(super) fn keep_hint(&self, id: u64) -> Hint {
        let page = self.page_argument(id);
        hint!(
            "compare them: {}; then keep one, the other becomes a version: {} or {}",
            Command::DiffFile { page: page.clone() },
            Command::KeepPage { page: page.clone() },
            Command::KeepFile { page }
        )
    }

    /// Replaces message and hint of a failed write. Returns both as one text.
    fn explain(&self, id: u64, message: &str, hint: Hint) -> String {
        let page = self.store.read(Visibility::All).and_then(|reader| reader.by_id(id));
        let file_path = page.ok().flatten().map(|(source, _, record)| {
            self.shown_path(&source, &record.source_path).display().to_string()
        });
        let message = format!("{}: {message}", file_path.as_deref().unwrap_or("its file"));
        let failure = FileFailure { message, hint: Some(hint), is_foreign: true };
        let text = failure.text();
        self.failing().insert(id, failure);
        text
    }

    /// Takes in the file of an active page if another program changed it. Does not write the file.
    ///
    /// # Errors
    /// `busy` if the page changes again and again, or the store fails.
    pub fn merge_file(&self, id: u64) -> Result<FileMerge, Fault> {
        for _ in 0..MAX_ATTEMPTS {
            let reader = self.store.read(Visibility::All)?;
            let Some(mut differing) = self.differing_file(&reader, id)? else {
                return Ok(FileMerge::Same);
            };
            let page = match std::mem::replace(&mut differing.file.text, FileText::AsRecorded) {
                FileText::Page(page)
                    if page.content.body.trim().is_empty()
                        && page.content.frontmatter.is_empty()
                        && !differing.content.body.trim().is_empty() =>
                {
                    return Ok(FileMerge::Unusable(None));
                }
                FileText::Page(page) => page,
                FileText::Invalid(reason) | FileText::Unreadable(reason) => {
                    return Ok(FileMerge::Unusable(Some(reason)));
                }
                FileText::AsRecorded | FileText::Gone => return Ok(FileMerge::Same),
            };
            let joined = match &differing.row {
                None => None,
                Some(row) => match self.join(&reader, &differing, row, &page.content)? {
                    // The file has the changes of the page already.
                    Some(joined) if joined.render() == page.content.file_text() => None,
                    Some(joined) => Some(joined),
                    None => {
                        let version = self.keep_text_of_file(&reader, &differing, &page)?;
                        return Ok(version.map_or(FileMerge::Same, FileMerge::Conflict));
                    }
                },
            };
            drop(reader);
            let record = match joined {
                None => self.take_in(differing, *page)?,
                Some(joined) => self.write_joined(differing, joined, &page)?,
            };
            if let Some(record) = record {
                return Ok(FileMerge::Changed(Box::new(record)));
            }
        }
        Err(Fault::new(FaultCode::Busy, "the page or its file changes again and again")
            .hint("try again when the other program has ended"))
    }

    /// Reads the file of an active page. `None` if it has a text of brain's, or is missing.
    pub(super) fn differing_file(
        &self,
        reader: &Reader,
        id: u64,
    ) -> Result<Option<DifferingFile>, Fault> {
        let Some((source, slug, record)) = reader.by_id(id)? else { return Ok(None) };
        let Some(tree) = self.tree(reader, source.as_str())? else { return Ok(None) };
        if self.recovering().contains(&id) {
            return Ok(None);
        }
        // A file repairs a damaged page, but only a sync decides that.
        let Some(content) = unless_damaged(reader.content(&record))? else { return Ok(None) };
        // Asked before the file is read: a row that is finished later says nothing about the bytes.
        let row = reader.outbox_row(id)?.filter(|row| !self.store.is_file_written(id, row.seq));
        let page = PageOfFile {
            synced_digest: Some(content.file_hash()),
            provenance: record.provenance.clone(),
        };
        let (path, page) = (record.source_path.clone(), Some(Box::new(page)));
        let to_read = FileToRead::new(path, 0, slug.clone(), page);
        // The file of a source that is away is read when it is back.
        let Ok(root) = tree.open_root() else { return Ok(None) };
        let read = read_file(&root, &to_read, &CommitTimes::new(), self.clock.now());
        let Ok(file) = read else { return Ok(None) };
        let has_page_text = match &file.text {
            FileText::Gone | FileText::AsRecorded => true,
            FileText::Page(page) => page.content == content,
            _ => false,
        };
        let is_own = row.as_ref().is_some_and(|row| row.own_digests.contains(&file.digest));
        let synced = reader.file(&source, &file.path)?.filter(|synced| {
            synced.page == Some(id) && synced.problem.is_none() && synced.digest == file.digest
        });
        let is_synced = synced.is_some_and(|synced| synced.seq == record.seq || row.is_some());
        if has_page_text || is_own || is_synced {
            return Ok(None);
        }
        Ok(Some(DifferingFile { source, slug, record, content, file, row }))
    }

    /// Joins the texts of a page and its file. `None` if both changed the same lines, or the result
    /// is no page.
    fn join(
        &self,
        reader: &Reader,
        differing: &DifferingFile,
        row: &OutboxRow,
        theirs: &Content,
    ) -> Result<Option<Document>, Fault> {
        let base = self.last_written(reader, differing, row)?;
        let joined = base
            .and_then(|base| {
                merge(&base.file_text(), &differing.content.file_text(), &theirs.file_text())
            })
            .filter(|joined| joined.len() <= MAX_CONTENT);
        Ok(joined.and_then(|joined| Document::parse(&joined).ok()))
    }

    /// Returns the text that the file had when another program changed it. If that is not known,
    /// returns the oldest one that it may have had: what was written since is then a change on both
    /// sides, and no change of the page seems to be undone by the file.
    fn last_written(
        &self,
        reader: &Reader,
        differing: &DifferingFile,
        row: &OutboxRow,
    ) -> Result<Option<Content>, StoreError> {
        let DifferingFile { record, content, .. } = differing;
        let finished = self.store.finished_outbox_rows().into_iter();
        let written = finished.filter(|(page, _)| *page == record.id).map(|(_, seq)| seq).max();
        let is_own = |content: &Content| row.own_digests.contains(&content.file_hash());
        let mut base = is_own(content).then(|| content.clone());
        for former in reader.versions(record.id)? {
            let Some(version) = reader.version(record.id, former.version)? else { continue };
            if written == Some(former.seq) {
                return Ok(Some(version.content));
            }
            if is_own(&version.content) {
                base = Some(version.content);
            }
        }
        Ok(base)
    }

    /// Makes the text of the file the page, as a sync does. Returns `None` if the page has changed
    /// since it was read.
    pub(super) fn take_in(
        &self,
        differing: DifferingFile,
        page: NewPage,
    ) -> Result<Option<PageRecord>, StoreError> {
        let now = self.clock.now();
        let DifferingFile { source, slug, record, file, .. } = differing;
        self.store.write(move |transaction| {
            if !is_current(transaction, &source, &slug, &record)? {
                return Ok(None);
            }
            let written = transaction.write_page(&source, &slug, &page, now)?.record;
            transaction.put_file(
                &source,
                &file.path,
                &file.row(Some(written.id), written.seq, None),
            )?;
            Ok(Some(written))
        })
    }

    /// Stores the joined text as the page. The outbox then replaces the file. Returns `None` if the
    /// page has changed since it was read.
    fn write_joined(
        &self,
        differing: DifferingFile,
        joined: Document,
        from_file: &NewPage,
    ) -> Result<Option<PageRecord>, Fault> {
        let now = self.clock.now();
        let DifferingFile { source, slug, record, file, .. } = differing;
        let provenance = record.provenance.clone();
        let change = (from_file.author.clone(), LineChange::SameMarks);
        let page = build_new_page(&slug, joined, provenance.clone(), Some(&provenance), change)?;
        let page = NewPage { replaces: Some(file.digest), ..page };
        Ok(self.store.write(move |transaction| {
            if !is_current(transaction, &source, &slug, &record)? {
                return Ok(None);
            }
            Ok(Some(transaction.write_page(&source, &slug, &page, now)?.record))
        })?)
    }

    /// Keeps the text of a file as a version of its page, and returns its number. `None` if the
    /// page has changed since it was read.
    pub(super) fn keep_text_of_file(
        &self,
        reader: &Reader,
        differing: &DifferingFile,
        page: &NewPage,
    ) -> Result<Option<u32>, StoreError> {
        let DifferingFile { source, slug, record, .. } = differing;
        if let Some(version) = version_with(reader, record.id, page)? {
            return Ok(Some(version));
        }
        let now = self.clock.now();
        let (source, slug, id) = (source.clone(), slug.clone(), record.id);
        let page = page.clone();
        self.store.write(move |transaction| {
            let current = transaction.page(&source, &slug)?.filter(|current| current.id == id);
            match current.filter(|current| current.deleted_at.is_none()) {
                Some(current) => {
                    transaction.store_version(&source, &slug, current, &page, now).map(Some)
                }
                None => Ok(None),
            }
        })
    }
}

/// Returns whether the page is as it was read. Runs in the writer.
fn is_current(
    transaction: &Transaction<'_>,
    source: &SourceId,
    slug: &Slug,
    read: &PageRecord,
) -> Result<bool, StoreError> {
    let current = transaction.page(source, slug)?;
    Ok(current.is_some_and(|current| current.id == read.id && current.seq == read.seq))
}
