//! Finds files that a power loss may have torn.
//!
//! The outbox row of a page stays until its file is flushed. So after an unclean end, a torn file
//! of a page with such a row was written by brain. This holds only for the first check after the
//! start. At any other time, an empty file or one with the beginning of its page is a save of
//! another program.

use std::collections::HashSet;

use crate::files::FileService;
use brain_base::caller::Visibility;
use brain_base::home::Home;
use brain_files::is_torn;
use brain_store::{Hash, Store, StoreError};

impl FileService {
    /// Records which files a power loss may have torn, and removes the record of a clean end. Must
    /// run before other code reads the files.
    pub fn begin_recovery(&self) {
        let record = self.home.shutdown_record();
        let is_clean = ended_cleanly(&self.home, &self.store);
        let rows =
            self.store.read(Visibility::All).and_then(|reader| reader.outbox()).unwrap_or_default();
        if !is_clean {
            *self.outbox.recovering.lock() = rows.iter().copied().collect();
        }
        // The record names the state of the store. While the rows stay the same, a power loss could
        // bring the removed record back, and it would match. So its removal is flushed.
        if std::fs::remove_file(&record).is_ok()
            && !rows.is_empty()
            && let Some(dir) = record.parent()
            && let Err(error) = std::fs::File::open(dir).and_then(|dir| dir.sync_all())
        {
            tracing::warn!(%error, "directory run/ not flushed");
        }
    }

    /// Writes the record of a clean end. All files must be flushed before.
    pub fn record_clean_shutdown(&self) {
        let state = store_state(&self.store).map_err(std::io::Error::other);
        if let Err(error) =
            state.and_then(|state| std::fs::write(self.home.shutdown_record(), state))
        {
            // The next start checks every file with a row, as after a crash.
            tracing::debug!(%error, "record of a clean end not written");
        }
    }

    /// Returns the pages whose file was not checked yet after an unclean end.
    pub fn recovering_ids(&self) -> HashSet<u64> {
        self.outbox.recovering.lock().clone()
    }

    /// Returns whether a power loss can have left `bytes` of a text that brain wrote for this page.
    /// `ours` has a digest of each text that the file may have had: it limits the former versions
    /// that are compared.
    pub fn is_torn(&self, id: u64, ours: &[Hash], bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let is_torn_version = || -> Result<bool, StoreError> {
            let reader = self.store.read(Visibility::All)?;
            let Some((_, _, record)) = reader.by_id_including_deleted(id)? else {
                return Ok(false);
            };
            let current = reader.content(&record)?;
            if is_torn(bytes, current.file_text().as_bytes()) {
                return Ok(true);
            }
            for former in reader.versions(id)?.into_iter().take(ours.len()) {
                let Some(version) = reader.version(id, former.version)? else { continue };
                // A version can also have the text of another program.
                if !ours.contains(&version.content.file_hash()) {
                    continue;
                }
                let text = version.content.file_text();
                if is_torn(bytes, text.as_bytes()) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        is_torn_version().unwrap_or_else(|error| {
            tracing::warn!(%error, page = id, "former versions cannot be read");
            false
        })
    }
}

/// Returns whether the last daemon recorded a clean end of this state of the store.
pub fn ended_cleanly(home: &Home, store: &Store) -> bool {
    std::fs::read_to_string(home.shutdown_record())
        .is_ok_and(|recorded| store_state(store).ok() == Some(recorded))
}

/// Returns the state of the store for the record of a clean end. A record of another state is
/// ignored.
fn store_state(store: &Store) -> Result<String, StoreError> {
    let counts = store.read(Visibility::All)?.counts()?;
    Ok(format!("{} {} {}\n", store.id(), counts.seq, counts.outbox))
}
