//! Remembers which file the store is. A store that is another file than the last daemon had was
//! copied with its home, restored, or put there by hand. Then the index may be torn, and `pages/`
//! may have files that the store does not know.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use brain_base::home::Home;
use brain_store::Store;

use brain_pages::files::recovery::ended_cleanly;

fn record_path(home: &Home) -> PathBuf {
    home.run().join("store")
}

/// Returns inode and creation time of the store's file, which no copy has. The number of the device
/// can change when the machine starts.
fn identity(home: &Home) -> Option<String> {
    let created = |found: &Metadata| found.created().ok()?.duration_since(UNIX_EPOCH).ok();
    let found = std::fs::metadata(home.store()).ok()?;
    let nanoseconds = created(&found).map_or(0, |at| at.as_nanos());
    Some(format!("{} {nanoseconds}\n", found.ino()))
}

/// Whether the home has a store, and not the file that the last daemon recorded. Without a record it
/// counts as another file: some programs do not copy `run/`. Must be called before the store is
/// opened, because a compaction replaces the file.
pub(crate) fn is_other_file(home: &Home) -> bool {
    let Some(identity) = identity(home).filter(|_| !home.is_read_only()) else { return false };
    std::fs::read_to_string(record_path(home)).ok() != Some(identity)
}

/// Records the store's file, after it was opened, or replaced by this daemon.
pub(crate) fn record(home: &Home) {
    let Some(identity) = identity(home).filter(|_| !home.is_read_only()) else { return };
    if let Err(error) = std::fs::write(record_path(home), identity) {
        tracing::debug!(%error, "identity of the store not recorded");
    }
}

/// Makes the next start treat the store as another file.
pub(crate) fn record_restore(home: &Home) {
    if let Err(error) = std::fs::write(record_path(home), "restored\n") {
        tracing::debug!(%error, "restore of the store not recorded");
    }
}

/// Removes the index of a store that is another file, unless the home was copied after a clean end.
/// Returns whether the files of pages must be compared with the store.
pub(crate) fn discard_torn_index(home: &Home, store: &Store) -> bool {
    if ended_cleanly(home, store) {
        return false;
    }
    tracing::warn!(
        store = %home.store().display(),
        "the store is another file than before: the index is rebuilt, and the files in pages/ are \
         compared with it"
    );
    match std::fs::remove_dir_all(home.index()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "the former index cannot be removed");
        }
        _ => {}
    }
    true
}
