//! Processes an outbox row: writes, moves or removes the file of a page.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{Command, SourceId, hint};

use crate::files::FileService;
use crate::files::outbox::FileFailure;
use crate::presence::{away_hint, away_reason};
use brain_base::caller::Visibility;
use brain_files::{FileOutcome, OwnContents, Tree, refusal};
use brain_page as page;
use brain_store::{Content, FileRecord, FileState, OutboxRow, Reader};

/// The text that a change of a page stored, with the sequence number of the change.
pub(super) type TextOfChange<'a> = (u64, &'a Content);

impl FileService {
    /// Processes the outbox row of a page. Reads the text from the store, unless the row belongs to
    /// the change of `text`. Set `strict` if brain possibly never wrote the file at
    /// the page's path, and `is_recovering` if a power loss may have left that file incomplete.
    pub(super) fn try_update_file(
        &self,
        id: u64,
        text: Option<TextOfChange<'_>>,
        strict: bool,
        is_recovering: bool,
    ) -> Result<Option<PathBuf>, FileFailure> {
        let reader = self.store.read(Visibility::All).map_err(|e| failure(&e))?;
        let Some(row) = reader.outbox_row(id).map_err(|e| failure(&e))? else { return Ok(None) };
        let Some(tree) = self.tree(&reader, &row.source).map_err(|e| failure(&e))? else {
            // The source was removed, so brain does not touch its files any more.
            self.store.mark_file_written(id, row.seq);
            return Ok(None);
        };
        self.check_root(&tree, &row)?;
        let file_path = tree.path_of(&row.path);
        let content = text.filter(|(seq, _)| *seq == row.seq).map(|(_, content)| content);
        let update = FileUpdate { service: self, id, row, content, tree, file_path };
        let Some(outcome) = update.run(reader, strict, is_recovering)? else { return Ok(None) };
        update.finish(&outcome)
    }

    /// Refuses a directory that is away: its disk may be mounted later.
    fn check_root(&self, tree: &Tree, row: &OutboxRow) -> Result<(), FileFailure> {
        if let Err(e) = tree.open_root()
            && let Some(reason) = away_reason(&e)
        {
            let source = SourceId::parse(row.source.as_str()).map_err(|e| failure(&e))?;
            return Err(FileFailure {
                message: format!("the source \"{source}\" is away: {reason}"),
                hint: Some(away_hint(&source, tree.root())),
                is_foreign: false,
            });
        }
        if row.source == SourceId::DEFAULT && self.home.has_moved() {
            return Err(failure(&brain_service::moved_home::moved_home_message(&self.home)));
        }
        Ok(())
    }
}

/// An outbox row in progress.
struct FileUpdate<'a> {
    service: &'a FileService,
    /// The id of the page.
    id: u64,
    row: OutboxRow,
    /// The text of the page, if the caller has it.
    content: Option<&'a Content>,
    tree: Arc<Tree>,
    file_path: PathBuf,
}

impl FileUpdate<'_> {
    /// Writes, moves or removes the file. Returns `None` if the page does not exist any more.
    fn run(
        &self,
        reader: Reader,
        strict: bool,
        is_recovering: bool,
    ) -> Result<Option<FileOutcome>, FileFailure> {
        let (row, path, id) = (&self.row, &self.row.path, self.id);
        let torn = |bytes: &[u8]| self.service.is_torn(id, &row.own_digests, bytes);
        let own = OwnContents { digests: &row.own_digests, is_torn: &torn, is_recovering };
        if is_recovering && matches!(row.target_state, FileState::Present | FileState::Trashed) {
            let Some(content) = self.content(&reader)? else { return Ok(None) };
            let text = content.file_text();
            let is_trashed = row.target_state == FileState::Trashed;
            self.tree
                .recover(path, &text, &own, is_trashed, id)
                .map_err(|e| self.io_failure(&e))?;
        }
        let result = match row.target_state {
            FileState::Present => return self.put(reader, &own),
            FileState::Trashed => self.tree.trash(path, &own, strict, id),
            // A page that moved away and back again has its former path now.
            FileState::Purged if self.is_of_another_page(&reader)? => Ok(FileOutcome::Done),
            FileState::Purged => self.tree.purge(path, &own, true, id),
            FileState::TrashPurged => self.tree.purge(path, &own, false, id),
        };
        result.map(Some).map_err(|e| self.io_failure(&e))
    }

    /// Returns whether the path is that of an active page with another id.
    fn is_of_another_page(&self, reader: &Reader) -> Result<bool, FileFailure> {
        let Ok(source) = SourceId::parse(self.row.source.as_str()) else { return Ok(false) };
        let page = reader.page_at(&source, &self.row.path).map_err(|e| failure(&e))?;
        Ok(page.is_some_and(|(_, page)| page.id != self.id && page.deleted_at.is_none()))
    }

    /// Returns the content of the page, if it exists.
    fn content(&self, reader: &Reader) -> Result<Option<Content>, FileFailure> {
        if let Some(content) = self.content {
            return Ok(Some(content.clone()));
        }
        let page = reader.by_id_including_deleted(self.id).map_err(|e| failure(&e))?;
        let Some((_, _, record)) = page else { return Ok(None) };
        reader.content(&record).map(Some).map_err(|e| failure(&e))
    }

    /// Writes the file, or moves it back from the trash.
    fn put(
        &self,
        reader: Reader,
        own: &OwnContents<'_>,
    ) -> Result<Option<FileOutcome>, FileFailure> {
        let (row, path, tree) = (&self.row, &self.row.path, &self.tree);
        let Some(content) = self.content(&reader)? else { return Ok(None) };
        let source = SourceId::parse(row.source.as_str()).map_err(|e| failure(&e))?;
        let file_record = reader.file(&source, path).map_err(|e| failure(&e))?;
        // Other programs also use the `.trash` of a source, and a new page has no file in it.
        let may_be_trashed = source.as_str() == SourceId::DEFAULT
            || file_record.as_ref().is_some_and(FileRecord::is_trashed);
        let is_synced = file_record.is_some();
        let may_be_trashed = may_be_trashed && !row.own_digests.is_empty();
        drop(reader);
        // A file with the same text may have other bytes (CRLF, a byte order mark). The author's
        // bytes stay. A restored file keeps its mode.
        let is_there = (is_synced || may_be_trashed)
            && tree
                .restore_if_missing(path, |bytes| has_text(bytes, &content))
                .map_err(|e| failure(&e))?;
        let text = content.file_text();
        let outcome = match is_there {
            true => FileOutcome::Done,
            false => tree.put(path, &text, own, self.id).map_err(|e| self.io_failure(&e))?,
        };
        // Also beside a file that was there: a kill may have left the copy after it was written.
        if matches!(outcome, FileOutcome::Done) && may_be_trashed {
            tree.remove_trashed_copy(path, &text, own, self.id).map_err(|e| self.io_failure(&e))?;
        }
        Ok(Some(outcome))
    }

    /// Marks the row as processed, or returns why the file was left as it is.
    fn finish(self, outcome: &FileOutcome) -> Result<Option<PathBuf>, FileFailure> {
        let path = self.file_path.display();
        match outcome {
            FileOutcome::Done => {}
            // A changed copy in the trash stays there for its author.
            FileOutcome::Foreign
                if matches!(self.row.target_state, FileState::Purged | FileState::TrashPurged) => {}
            FileOutcome::Foreign => {
                return Err(FileFailure {
                    message: format!(
                        "{path} was written by another program, so brain did not replace it"
                    ),
                    hint: Some(self.service.keep_hint(self.id)),
                    is_foreign: true,
                });
            }
            FileOutcome::Emptied => {
                return Err(FileFailure {
                    message: format!(
                        "{path} was emptied by another program, which may be about to write it, so \
                         brain did not replace it"
                    ),
                    hint: Some(hint!(
                        "to write the page there: {}",
                        Command::KeepPage { page: self.service.page_argument(self.id) }
                    )),
                    is_foreign: true,
                });
            }
        }
        self.service.store.mark_file_written(self.id, self.row.seq);
        Ok(Some(self.file_path))
    }

    fn io_failure(&self, error: &std::io::Error) -> FileFailure {
        let path = &self.file_path;
        failure(&format!("{}: {}", path.display(), refusal(error, path)))
    }
}

fn failure(error: &dyn Display) -> FileFailure {
    FileFailure { message: error.to_string(), hint: None, is_foreign: false }
}

/// Returns whether a file with these bytes has the content of this page.
fn has_text(bytes: &[u8], content: &Content) -> bool {
    let document = page::decode_text(bytes).ok().and_then(|text| page::Document::parse(text).ok());
    document.is_some_and(|document| Content::from(document) == *content)
}
