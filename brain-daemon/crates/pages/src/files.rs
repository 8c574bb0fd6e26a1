//! Writes the files of pages, in the order of the outbox.
//!
//! Every change of a page adds an outbox row in the same transaction. The file is written before
//! the client gets its reply. Rows that a crash or a full disk left are processed at the next start
//! and every minute.

mod health;
mod keep_side;
pub mod merge_file;
mod outbox;
pub(crate) mod overwritten_edits;
pub mod read;
pub mod read_only;
pub mod recovery;
mod remote_changes;
mod update;

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use brain_protocol::{Fault, Hint, MAX_CONTENT, Scope, SourceId, page_name};
use parking_lot::MutexGuard;
use tokio_util::sync::CancellationToken;

use crate::files::outbox::{FileFailure, Outbox, STRIPES};
use crate::files::update::TextOfChange;
use crate::preferred_source::preferred;
use crate::presence::{CheckDepth, Presence, SourceRoot};
use brain_base::caller::{Caller, Visibility};
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_files::{Tree, is_away};
use brain_store::{Content, FileState, PageRecord, Reader, Store, StoreError};

/// Why the directory of a source cannot be used, if another machine of a shared brain has it.
pub const OF_ANOTHER_MACHINE: &str =
    "its directory is on another machine of this brain; its pages are here, its files are not";

/// The result of an attempt to write the file of a page.
#[derive(Debug, Clone)]
pub struct FileReport {
    /// Whether the file has the content of the page.
    pub(crate) is_written: bool,
    /// The path of the file, even if it was not written.
    pub(crate) path: PathBuf,
    /// The reason why the file was not written.
    pub problem: Option<String>,
    /// The page, if another program's save was taken in.
    pub(crate) merged: Option<Box<PageRecord>>,
}

impl FileReport {
    /// Returns the problem as a warning for the client.
    pub fn warnings(&self) -> Vec<String> {
        self.problem
            .iter()
            .map(|p| format!("the page is stored, but its file is not: {p}"))
            .collect()
    }
}

/// Writes the files of pages. Also preserves edits of other programs, and recovers torn files.
pub struct FileService {
    pub(crate) home: Home,
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stop: CancellationToken,
    /// Files that are to be written.
    pub outbox: Outbox,
    /// The check of the directories of sources.
    pub presence: Arc<Presence>,
    pub(crate) socket: OnceLock<PathBuf>,
}

impl FileService {
    /// Creates the service.
    pub fn new(
        home: Home,
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Self {
        let presence = Arc::new(Presence::new(home.clone(), Arc::clone(&store)));
        let root = source_root(&presence, SourceId::default());
        Self {
            outbox: Outbox::new(Tree::new(home.pages()).opened_by(root)),
            presence,
            home,
            store,
            clock,
            stop,
            socket: OnceLock::new(),
        }
    }

    /// Writes, moves or removes the file of a page, as its outbox row says. Takes in what another
    /// program saved there. The text is read from the store, unless it is `content`, which the
    /// change of `record` stored.
    pub fn update_file(
        &self,
        source: &SourceId,
        record: &PageRecord,
        content: Option<&Content>,
    ) -> FileReport {
        let mut path = self.shown_path(source, &record.source_path);
        let (result, merged) =
            self.write_file(record.id, content.map(|content| (record.seq, content)));
        let problem = match result {
            Ok(written) => {
                path = written.unwrap_or(path);
                None
            }
            Err(problem) => {
                tracing::warn!(%source, path = record.source_path, problem, "file not written");
                Some(problem)
            }
        };
        let problem =
            problem.or_else(|| (!self.has_files_of(source)).then(|| OF_ANOTHER_MACHINE.to_owned()));
        FileReport { is_written: problem.is_none(), path, problem, merged }
    }

    /// Returns the path of the file of a page, if the caller has the scope `admin`.
    pub fn visible_path(
        &self,
        caller: &Caller,
        source: &SourceId,
        record: &PageRecord,
    ) -> Option<String> {
        let is_admin = caller.scopes().highest() == Scope::Admin;
        let path = is_admin.then(|| self.file_path_of(source, &record.source_path)).flatten();
        path.map(|path| path.to_string_lossy().into_owned())
    }

    /// Moves the file of a page that got another path, so that it keeps its mode and owner. If that
    /// fails, the outbox writes a new file and removes the former one.
    pub(crate) fn move_file(&self, source: &SourceId, from: &str, to: &str) {
        if from == to || self.home.has_moved() {
            return;
        }
        let reader = self.store.read(Visibility::All);
        if let Ok(Some(tree)) = reader.and_then(|reader| self.tree(&reader, source.as_str()))
            && let Err(error) = tree.rename(from, to)
        {
            tracing::warn!(%source, from, to, %error, "the file of a page was not moved");
        }
    }

    /// Returns whether the files of a source are on this machine, as far as that can be read.
    pub fn has_files_of(&self, source: &SourceId) -> bool {
        let reader = self.store.read(Visibility::All);
        reader.and_then(|reader| reader.has_files_of(source)).unwrap_or(true)
    }

    /// Returns the path of the file of a page, even if there is no file. `None` if the directory
    /// of the source is on another machine.
    pub fn file_path_of(&self, source: &SourceId, path: &str) -> Option<PathBuf> {
        if source.as_str() == SourceId::DEFAULT {
            return Some(self.outbox.default_tree.path_of(path));
        }
        let reader = self.store.read(Visibility::All);
        let tree = reader.and_then(|reader| self.tree(&reader, source.as_str())).ok().flatten();
        tree.map(|tree| tree.path_of(path))
    }

    /// Returns the path of the file of a page for people: in the source, if its directory is on
    /// another machine.
    pub(crate) fn shown_path(&self, source: &SourceId, path: &str) -> PathBuf {
        self.file_path_of(source, path).unwrap_or_else(|| PathBuf::from(path))
    }

    /// Returns the text that the file of a page has now, cut at the size limit of a page. `None` if
    /// the file cannot be read or is not UTF-8.
    pub(crate) fn text_of_file(
        &self,
        reader: &Reader,
        source: &SourceId,
        record: &PageRecord,
    ) -> Option<String> {
        let tree = self.tree(reader, source.as_str()).ok().flatten()?;
        let root = tree.open_root().ok()?;
        let file = root.open_file(Path::new(&record.source_path)).ok()?;
        file.metadata().ok().filter(Metadata::is_file)?;
        let mut text = String::new();
        file.take(MAX_CONTENT as u64).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Processes the outbox row of a page once; see [`Self::write_file`]. Returns the path of its
    /// file, or `None` without a row.
    fn update_file_by_id(
        &self,
        id: u64,
        text: Option<TextOfChange<'_>>,
    ) -> Result<Option<PathBuf>, String> {
        let stripe = &self.outbox.stripes[id as usize % STRIPES];
        let _lock = stripe.lock();
        let was_foreign = self.failing().get(&id).is_some_and(|failure| failure.is_foreign);
        let is_recovering = self.recovering().contains(&id);
        let outcome = self.try_update_file(id, text, was_foreign, is_recovering);
        // The check after an unclean end is done, unless the file could not be read.
        if is_recovering && !matches!(&outcome, Err(failure) if !failure.is_foreign) {
            self.recovering().remove(&id);
        }
        let mut failing = self.failing();
        match outcome {
            Ok(file_path) => {
                failing.remove(&id);
                Ok(file_path)
            }
            Err(failure) => {
                let text = failure.text();
                failing.insert(id, failure);
                Err(text)
            }
        }
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<u64, FileFailure>> {
        self.outbox.failing.lock()
    }

    fn recovering(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.outbox.recovering.lock()
    }

    /// Processes all outbox rows, until the daemon stops. Returns the number of rows that failed; 0
    /// if the outbox cannot be read.
    pub fn replay_outbox(&self) -> usize {
        let ids = match self.store.read(Visibility::All).and_then(|reader| reader.outbox()) {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "outbox cannot be read");
                return 0;
            }
        };
        // The ids are sorted. A linear search would take minutes with very many failures.
        self.failing().retain(|id, _| ids.binary_search(id).is_ok());
        self.recovering().retain(|id| ids.binary_search(id).is_ok());
        let mut failed = 0;
        for &id in ids.iter().take_while(|_| !self.stop.is_cancelled()) {
            // A page that cannot be read because of damage must not stop the others.
            let updated = self.store.with_damage_report(|| Ok(self.write_file(id, None).0.is_ok()));
            failed += usize::from(!updated.unwrap_or(false));
        }
        if !ids.is_empty() {
            tracing::info!(files = ids.len(), failed, "outbox replayed");
        }
        failed
    }

    /// Processes the outbox rows that remove the files at the former paths of moved pages, which
    /// are there only if they could not be moved. A row that waited would remove a file that comes
    /// back to such a path. Rows that are not processed are tried at the next start.
    pub(crate) fn remove_former_files<'a>(
        &self,
        source: &SourceId,
        former_paths: impl Iterator<Item = &'a str>,
    ) {
        let removed = self.removal_rows(source, former_paths.collect()).map(|ids| {
            // A failure is tried again with those of other files.
            ids.into_iter().for_each(|id| drop(self.update_file_by_id(id, None)));
        });
        if let Err(error) = removed {
            tracing::warn!(%error, %source, "former paths of moved pages not checked");
        }
    }

    /// Returns the latest outbox row that removes a file, of each of these paths.
    fn removal_rows(
        &self,
        source: &SourceId,
        mut paths: HashSet<&str>,
    ) -> Result<Vec<u64>, StoreError> {
        let reader = self.store.read(Visibility::All)?;
        let mut found = Vec::with_capacity(paths.len());
        // The rows of the latest moves have the highest ids.
        for id in reader.outbox()?.into_iter().rev() {
            if paths.is_empty() {
                break;
            }
            let row = reader.outbox_row(id)?.filter(|row| {
                row.target_state == FileState::Purged && row.source == source.as_str()
            });
            if row.is_some_and(|row| paths.remove(row.path.as_str())) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Flushes written files to disk, and drops their outbox rows. Before that, preserves
    /// overwritten edits. For a timer.
    ///
    /// # Errors
    /// A fault if files cannot be flushed or rows cannot be dropped.
    pub fn flush_outbox(&self) -> Result<(), Fault> {
        self.preserve_edits();
        if !self.store.finished_outbox_rows().is_empty() {
            self.notice_away_sources()?;
        }
        Ok(self.store.flush_done_files(|| self.sync_files())?)
    }

    /// Notices sources that are away before their files are flushed: those that were not flushed
    /// before are written again.
    fn notice_away_sources(&self) -> Result<(), Fault> {
        let reader = self.store.read(Visibility::All)?;
        for (id, _) in reader.sources()? {
            if let Some(tree) = self.tree(&reader, id.as_str())? {
                // The result is remembered; other errors are those of the flush.
                let _ = self.presence.open(&id, tree.root(), CheckDepth::Usual);
            }
        }
        Ok(())
    }

    /// Flushes the files below the directories of all sources.
    fn sync_files(&self) -> std::io::Result<()> {
        if self.home.has_moved() {
            return Err(std::io::Error::other(brain_service::moved_home::moved_home_message(
                &self.home,
            )));
        }
        let reader = self.store.read(Visibility::All).map_err(std::io::Error::other)?;
        for (id, _) in reader.sources().map_err(std::io::Error::other)? {
            let Some(tree) = self.tree(&reader, id.as_str()).map_err(std::io::Error::other)? else {
                continue;
            };
            match tree.sync() {
                // A source that is away has no new files.
                Err(e) if is_away(&e) => {}
                // A directory that cannot be opened has no new files.
                Err(e)
                    if e.kind() == std::io::ErrorKind::PermissionDenied
                        && id.as_str() != SourceId::DEFAULT => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Returns whether there is a page for which the last attempt to write its file failed.
    pub fn has_failing_files(&self) -> bool {
        !self.failing().is_empty()
    }

    /// Returns whether the last attempt to write the file of this page failed.
    pub(crate) fn is_failing(&self, id: u64) -> bool {
        self.failing().contains_key(&id)
    }

    /// Returns the pages for which the last attempt to write their file failed.
    pub(crate) fn failing_ids(&self) -> HashSet<u64> {
        self.failing().keys().copied().collect()
    }

    /// Returns the message of one failure, with the number of other failures, and the hint.
    pub fn failing_files(&self) -> Option<(String, Option<Hint>)> {
        let failing = self.failing();
        let (first, others) = (failing.values().next()?, failing.len() - 1);
        let more = if others == 0 { String::new() } else { format!(" (and {others} more)") };
        Some((format!("{}{more}", first.message), first.hint.clone()))
    }

    /// Returns the argument that names a page in a command.
    fn page_argument(&self, id: u64) -> Option<String> {
        let reader = self.store.read(Visibility::All).ok()?;
        let (source, slug, _) = reader.by_id_including_deleted(id).ok()??;
        let default_source = preferred(&reader.sources().ok()?);
        Some(page_name(default_source.as_str(), &source, &slug))
    }

    /// Forgets failures of pages without an outbox row.
    pub fn forget_failures(&self) {
        if let Ok(ids) = self.store.read(Visibility::All).and_then(|reader| reader.outbox()) {
            self.failing().retain(|id, _| ids.binary_search(id).is_ok());
        }
    }

    /// Returns the directories of sources that were used since the start.
    pub fn trees(&self) -> Vec<Arc<Tree>> {
        let others = self.outbox.trees.lock();
        std::iter::once(&self.outbox.default_tree).chain(others.values()).map(Arc::clone).collect()
    }

    /// Returns the directory of a source, if it is registered and on this machine.
    fn tree(&self, reader: &Reader, source: &str) -> Result<Option<Arc<Tree>>, StoreError> {
        if source == SourceId::DEFAULT {
            return Ok(Some(Arc::clone(&self.outbox.default_tree)));
        }
        let found = reader.sources()?.into_iter().find(|(id, _)| id.as_str() == source);
        let Some((id, record)) = found else { return Ok(None) };
        let Some(path) = record.path else { return Ok(None) };
        if !reader.has_files_of(&id)? {
            return Ok(None);
        }
        let mut trees = self.outbox.trees.lock();
        // The same name may have been registered again with another directory.
        match trees.get(source).filter(|tree| tree.root() == Path::new(&path)) {
            Some(tree) => Ok(Some(Arc::clone(tree))),
            None => {
                let root = source_root(&self.presence, id);
                let tree = Arc::new(Tree::of_owner(path).opened_by(root));
                trees.insert(source.to_owned(), Arc::clone(&tree));
                Ok(Some(tree))
            }
        }
    }
}

/// Returns what opens the directory of a source.
fn source_root(presence: &Arc<Presence>, source: SourceId) -> Box<SourceRoot> {
    Box::new(SourceRoot { presence: Arc::clone(presence), source })
}
