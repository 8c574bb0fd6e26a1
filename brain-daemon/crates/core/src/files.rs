//! The outbox: bringing files in line with the store.
//!
//! Every change of a page leaves a row in the same transaction. Whoever made the change brings the
//! file in line before answering; what a crash or a full disk left is done at the next start and by
//! the minute.

pub(crate) mod read_only;
pub(crate) mod recovery;
pub(crate) mod saves;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use brain_protocol::{Fault, SourceId};
use tokio_util::sync::CancellationToken;

use crate::files::saves::KeptSave;
use crate::preferred;
use brain_base::caller::Visibility;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_page as page;
use brain_store::files::{Outcome, OwnContents, Tree};
use brain_store::{Content, FileRecord, FileState, PageRecord, Reader, Store, StoreError};

const STRIPES: usize = 64;

/// Locks by page, so that two changes of one page cannot write its file in the wrong order; and
/// what failed.
pub(crate) struct Outbox {
    stripes: [Mutex<()>; STRIPES],
    failing: Mutex<HashMap<u64, Failure>>,
    /// Pages whose file was not looked at yet after an end without a flush.
    pub(crate) recovering: Mutex<HashSet<u64>>,
    /// Saves of other programs that were kept as versions.
    pub(crate) kept: Mutex<Vec<KeptSave>>,
    /// The default source's directory.
    default_tree: Arc<Tree>,
    /// The other sources' directories, as they were when they were last asked for.
    trees: Mutex<HashMap<String, Arc<Tree>>>,
}

/// Why a page's file is not as the store says.
#[derive(Debug, Clone)]
struct Failure {
    message: String,
    /// Another program's work stands in its place.
    foreign: bool,
}

impl Outbox {
    /// For a brain whose default source is at `pages`.
    pub(crate) fn new(pages: PathBuf) -> Self {
        Self {
            stripes: std::array::from_fn(|_| Mutex::new(())),
            failing: Mutex::default(),
            recovering: Mutex::default(),
            kept: Mutex::default(),
            default_tree: Arc::new(Tree::new(pages)),
            trees: Mutex::default(),
        }
    }
}

/// A page's file after an attempt.
#[derive(Debug, Clone)]
pub(crate) struct FileReport {
    /// Whether it is as it should be.
    pub(crate) written: bool,
    /// Where it is, or would be.
    pub(crate) path: PathBuf,
    /// Why it is not written.
    pub(crate) problem: Option<String>,
}

impl FileReport {
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.problem
            .iter()
            .map(|p| format!("the page is stored, but its file is not: {p}"))
            .collect()
    }
}

/// Writes the files of pages: outbox, saves of other programs, recovery.
pub struct FileService {
    pub(crate) home: Home,
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stop: CancellationToken,
    pub(crate) outbox: Outbox,
    pub(crate) socket: OnceLock<PathBuf>,
}

impl FileService {
    /// Creates the service.
    pub(crate) fn new(
        home: Home,
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            outbox: Outbox::new(home.pages()),
            home,
            store,
            clock,
            stop,
            socket: OnceLock::new(),
        }
    }

    /// Brings the file of a page in line with the store.
    pub(crate) fn agree(&self, source: &SourceId, record: &PageRecord) -> FileReport {
        let mut path = self.file_place(source, &record.source_path);
        let problem = match self.agree_by_id(record.id) {
            Ok(place) => {
                path = place.unwrap_or(path);
                None
            }
            Err(problem) => {
                tracing::warn!(%source, path = record.source_path, problem, "file not written");
                Some(problem)
            }
        };
        FileReport { written: problem.is_none(), path, problem }
    }

    /// Where the file of a page is, or would be.
    pub(crate) fn file_place(&self, source: &SourceId, path: &str) -> PathBuf {
        if source.as_str() == SourceId::DEFAULT {
            return self.outbox.default_tree.place(path);
        }
        let reader = self.store.read(Visibility::All);
        match reader.and_then(|reader| self.tree(&reader, source.as_str())) {
            Ok(Some(tree)) => tree.place(path),
            _ => PathBuf::from(path),
        }
    }

    /// Does what the page's outbox row asks for; the place when it was asked for.
    fn agree_by_id(&self, id: u64) -> Result<Option<PathBuf>, String> {
        let stripe = &self.outbox.stripes[id as usize % STRIPES];
        let _turn = stripe.lock().unwrap_or_else(PoisonError::into_inner);
        let was_foreign = self.failing().get(&id).is_some_and(|failure| failure.foreign);
        let recovering = self.recovering().contains(&id);
        let outcome = self.try_agree(id, was_foreign, recovering);
        // Whose the file is has been decided, unless it could not be looked at.
        if recovering && !matches!(&outcome, Err(failure) if !failure.foreign) {
            self.recovering().remove(&id);
        }
        let mut failing = self.failing();
        match outcome {
            Ok(place) => {
                failing.remove(&id);
                Ok(place)
            }
            Err(failure) => {
                let message = failure.message.clone();
                failing.insert(id, failure);
                Err(message)
            }
        }
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<u64, Failure>> {
        self.outbox.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recovering(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.outbox.recovering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `strict`: the file that is there may never have been ours. `recovering`: it may be torn.
    fn try_agree(
        &self,
        id: u64,
        strict: bool,
        recovering: bool,
    ) -> Result<Option<PathBuf>, Failure> {
        let other = |e: &dyn std::fmt::Display| Failure { message: e.to_string(), foreign: false };
        let reader = self.store.read(Visibility::All).map_err(|e| other(&e))?;
        let Some(row) = reader.outbox_row(id).map_err(|e| other(&e))? else { return Ok(None) };
        let Some(tree) = self.tree(&reader, &row.source).map_err(|e| other(&e))? else {
            // The source was removed: its files are none of our business any more.
            self.store.file_done(id, row.seq);
            return Ok(None);
        };
        // A directory that is gone may be a disk that is not mounted: making it anew would hide
        // that.
        if row.source != SourceId::DEFAULT && !tree.root().is_dir() {
            return Err(other(&format!(
                "the directory of source \"{}\", {}, is not there",
                row.source,
                tree.root().display()
            )));
        }
        if row.source == SourceId::DEFAULT && !self.home.is_here() {
            return Err(other(&crate::moved_home::moved_home(&self.home)));
        }
        let place = tree.place(&row.path);
        let told = |e: std::io::Error| other(&format!("{}: {e}", place.display()));
        let torn = |bytes: &[u8]| self.is_torn(id, &row.ours, bytes);
        let own = OwnContents { digests: &row.ours, torn: &torn, recovering };
        if recovering && matches!(row.want, FileState::Present | FileState::Trashed) {
            let page = reader.by_id_even_deleted(id).map_err(|e| other(&e))?;
            let Some((_, _, record)) = page else { return Ok(None) };
            let content = reader.content(&record).map_err(|e| other(&e))?;
            let text = page::file_text(&content.frontmatter, &content.body);
            tree.recover(&row.path, &text, &own, row.want == FileState::Trashed, id)
                .map_err(told)?;
        }
        let done = match row.want {
            FileState::Present => {
                let page = reader.by_id_even_deleted(id).map_err(|e| other(&e))?;
                let Some((_, _, record)) = page else { return Ok(None) };
                let content = reader.content(&record).map_err(|e| other(&e))?;
                let source = SourceId::parse(row.source.as_str()).map_err(|e| other(&e))?;
                let known = reader.file(&source, &row.path).map_err(|e| other(&e))?;
                // In a source's own `.trash` other programs keep things, too; a new page has
                // nothing there.
                let trashed = source.as_str() == SourceId::DEFAULT
                    || known.as_ref().is_some_and(FileRecord::is_trashed);
                let (synced, trashed) = (known.is_some(), trashed && !row.ours.is_empty());
                drop(reader);
                // Its author's own bytes (CRLF, a byte order mark) are better than ours.
                match synced
                    && tree.keep(&row.path, |bytes| says(bytes, &content)).map_err(|e| other(&e))?
                {
                    true => Ok(Outcome::Done),
                    false => {
                        let text = page::file_text(&content.frontmatter, &content.body);
                        let put = tree.put(&row.path, &text, &own, id);
                        if matches!(put, Ok(Outcome::Done)) && trashed {
                            tree.remove_trashed_copy(&row.path, &text, &own, id).map_err(told)?;
                        }
                        put
                    }
                }
            }
            FileState::Trashed => tree.trash(&row.path, &own, strict),
            FileState::Purged => tree.purge(&row.path, &own, true, id),
            FileState::TrashPurged => tree.purge(&row.path, &own, false, id),
        };
        match done {
            Ok(Outcome::Done) => {
                self.store.file_done(id, row.seq);
                Ok(Some(place))
            }
            // A changed copy in the trash stays there for its author.
            Ok(Outcome::Foreign)
                if matches!(row.want, FileState::Purged | FileState::TrashPurged) =>
            {
                self.store.file_done(id, row.seq);
                Ok(Some(place))
            }
            Ok(Outcome::Foreign) => Err(Failure {
                message: format!(
                    "{0} was written by another program and left as it is; `brain put <slug>{1} --file {0}` takes it in",
                    place.display(),
                    self.source_flag(&row.source)
                ),
                foreign: true,
            }),
            Ok(Outcome::Emptied) => Err(Failure {
                message: format!(
                    "{0} was emptied by another program, which may be about to write it, and was left as it is; \
                     `rm {0}` and `brain doctor --fix` write the page there",
                    place.display()
                ),
                foreign: true,
            }),
            Err(e) => Err(told(e)),
        }
    }

    /// Does everything that is left in the outbox; returns how many files could not be brought in
    /// line.
    pub fn replay_outbox(&self) -> usize {
        let ids = match self.store.read(Visibility::All).and_then(|reader| reader.outbox()) {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "outbox cannot be read");
                return 0;
            }
        };
        // The ids are in order: with very many failures a plain look through them would take
        // minutes.
        self.failing().retain(|id, _| ids.binary_search(id).is_ok());
        self.recovering().retain(|id| ids.binary_search(id).is_ok());
        let mut failed = 0;
        for &id in ids.iter().take_while(|_| !self.stop.is_cancelled()) {
            // One that damage keeps from being read is not to stop the others.
            let agreed = self.store.with_damage_report(|| Ok(self.agree_by_id(id).is_ok()));
            failed += usize::from(!agreed.unwrap_or(false));
        }
        if !ids.is_empty() {
            tracing::info!(files = ids.len(), failed, "outbox replayed");
        }
        failed
    }

    /// Makes written files durable and drops their outbox rows, for a timer: nobody waits for it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn flush_outbox(&self) -> Result<(), Fault> {
        self.keep_saves();
        Ok(self.store.flush_done_files(|| self.sync_files())?)
    }

    /// Puts on the disk itself what was written below the sources' directories.
    fn sync_files(&self) -> std::io::Result<()> {
        if !self.home.is_here() {
            return Err(std::io::Error::other(crate::moved_home::moved_home(&self.home)));
        }
        let reader = self.store.read(Visibility::All).map_err(std::io::Error::other)?;
        for (id, _) in reader.sources().map_err(std::io::Error::other)? {
            let Some(tree) = self.tree(&reader, id.as_str()).map_err(std::io::Error::other)? else {
                continue;
            };
            match tree.sync() {
                // Nothing was written where nothing can be opened.
                Err(e)
                    if e.kind() == std::io::ErrorKind::PermissionDenied
                        && id.as_str() != SourceId::DEFAULT => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Whether any file could not be written when it was last tried.
    pub fn has_failing_files(&self) -> bool {
        !self.failing().is_empty()
    }

    /// Whether the file of this page could not be written when it was last tried.
    pub(crate) fn is_failing(&self, id: u64) -> bool {
        self.failing().contains_key(&id)
    }

    /// The pages whose file could not be written when it was last tried.
    pub(crate) fn failing_ids(&self) -> HashSet<u64> {
        self.failing().keys().copied().collect()
    }

    /// How many files failed, and why one of them did.
    pub(crate) fn failing_files(&self) -> Option<String> {
        let failing = self.failing();
        let (first, others) = (failing.values().next()?, failing.len() - 1);
        let more = if others == 0 { String::new() } else { format!(" (and {others} more)") };
        Some(format!("{}{more}", first.message))
    }

    /// What a command about a page of this source has to say.
    fn source_flag(&self, source: &str) -> String {
        match self.store.read(Visibility::All).and_then(|reader| reader.sources()) {
            Ok(sources) if preferred(&sources).as_str() == source => String::new(),
            _ => format!(" --source {source}"),
        }
    }

    /// Forgets failures of pages that have no row any more.
    pub(crate) fn forget_failures(&self) {
        if let Ok(ids) = self.store.read(Visibility::All).and_then(|reader| reader.outbox()) {
            self.failing().retain(|id, _| ids.binary_search(id).is_ok());
        }
    }

    /// The directories that were written to.
    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        let others = self.outbox.trees.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&self.outbox.default_tree).chain(others.values()).map(Arc::clone).collect()
    }

    /// The directory of a source, if it is registered.
    fn tree(&self, reader: &Reader, source: &str) -> Result<Option<Arc<Tree>>, StoreError> {
        if source == SourceId::DEFAULT {
            return Ok(Some(Arc::clone(&self.outbox.default_tree)));
        }
        let found = reader.sources()?.into_iter().find(|(id, _)| id.as_str() == source);
        let Some(path) = found.and_then(|(_, record)| record.path) else { return Ok(None) };
        let mut trees = self.outbox.trees.lock().unwrap_or_else(PoisonError::into_inner);
        // The same name may have been registered anew, elsewhere.
        match trees.get(source).filter(|tree| tree.root() == Path::new(&path)) {
            Some(tree) => Ok(Some(Arc::clone(tree))),
            None => {
                let tree = Arc::new(Tree::new(path));
                trees.insert(source.to_owned(), Arc::clone(&tree));
                Ok(Some(tree))
            }
        }
    }
}

/// Whether a file with these bytes is read as a page with this text.
fn says(bytes: &[u8], content: &Content) -> bool {
    page::decode_text(bytes).ok().and_then(|text| page::Document::parse(text).ok()).is_some_and(
        |document| {
            document.frontmatter.raw() == content.frontmatter && document.body == content.body
        },
    )
}
