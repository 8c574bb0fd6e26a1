//! Files after an end without a flush: a power loss may have torn them.
//!
//! A page's outbox row stays until its file has been flushed, so the row is the witness: what is
//! torn in the file of a page with such a row was written by brain. That holds for the first look
//! after an unclean end only. At any other time a file that holds the beginning of its page, or
//! nothing, is somebody's save.

use std::collections::HashSet;
use std::sync::PoisonError;

use crate::FileService;
use brain_base::caller::Visibility;
use brain_page::file_text;
use brain_store::files::is_torn;
use brain_store::{Hash, Store, StoreError};

impl FileService {
    /// Notes which files a power loss may have torn, and forgets how the last daemon ended. Before
    /// anything else looks at the files.
    pub(crate) fn begin_recovery(&self) {
        let mark = self.home.flushed();
        let clean = std::fs::read_to_string(&mark)
            .is_ok_and(|noted| state(&self.store).ok() == Some(noted));
        let rows =
            self.store.read(Visibility::All).and_then(|reader| reader.outbox()).unwrap_or_default();
        if !clean {
            *self.outbox.recovering.lock().unwrap_or_else(PoisonError::into_inner) =
                rows.iter().copied().collect();
        }
        // The mark is only good for the state that it names. Where rows stay as they are, a mark
        // that a power loss brings back would be good again.
        if std::fs::remove_file(&mark).is_ok()
            && !rows.is_empty()
            && let Some(dir) = mark.parent()
            && let Err(error) = std::fs::File::open(dir).and_then(|dir| dir.sync_all())
        {
            tracing::warn!(%error, "run/ cannot be flushed");
        }
    }

    /// Notes that every file is on the disk.
    pub(crate) fn note_flushed(&self) {
        let noted = state(&self.store).map_err(std::io::Error::other);
        if let Err(error) = noted.and_then(|state| std::fs::write(self.home.flushed(), state)) {
            // The next start looks at every file with a row as after a crash.
            tracing::debug!(%error, "the clean end is not noted");
        }
    }

    /// The pages whose file was not looked at yet after an end without a flush.
    pub(crate) fn recovering_ids(&self) -> HashSet<u64> {
        self.outbox.recovering.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether bytes are what a power loss leaves of a text that the page has, or had, and whose
    /// digest is among `ours`.
    pub(crate) fn is_torn(&self, id: u64, ours: &[Hash], bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let torn = || -> Result<bool, StoreError> {
            let reader = self.store.read(Visibility::All)?;
            let Some((_, _, record)) = reader.by_id_even_deleted(id)? else { return Ok(false) };
            let now = reader.content(&record)?;
            if is_torn(bytes, file_text(&now.frontmatter, &now.body).as_bytes()) {
                return Ok(true);
            }
            for former in reader.versions(id)?.into_iter().take(ours.len()) {
                let Some(version) = reader.version(id, former.version)? else { continue };
                let text = file_text(&version.content.frontmatter, &version.content.body);
                if is_torn(bytes, text.as_bytes()) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        torn().unwrap_or_else(|error| {
            tracing::warn!(%error, page = id, "former versions cannot be read");
            false
        })
    }
}

/// What the store is like: of another state no mark is good.
fn state(store: &Store) -> Result<String, StoreError> {
    let counts = store.read(Visibility::All)?.counts()?;
    Ok(format!("{} {} {}\n", store.id(), counts.seq, counts.outbox))
}
