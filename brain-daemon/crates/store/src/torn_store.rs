//! Recognises a torn store before it is served: a file that was copied while a daemon wrote it.
//!
//! redb verifies no checksum when it opens a file after an unclean end, so a torn copy can open and
//! lose pages later. After an unclean end, a start therefore compares all pages of the file with
//! their checksums, from the roots down. That reads the file once and changes nothing.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use redb::{Database, DatabaseError, StorageError};

use super::StoreError;
use super::error::with_damage_report;
use super::overlay::FileOverlay;
use super::verify::{CACHE_BYTES, MAGIC, open};

/// The flag of redb's header that is set while the file is open for writing.
const NOT_CLOSED: u8 = 2;

/// Whether the header of the store at `path` says that it was closed. `true` if there is no redb
/// file.
#[must_use]
pub fn is_closed(path: &Path) -> bool {
    let mut head = [0; MAGIC.len() + 1];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_err() || head[..MAGIC.len()] != MAGIC || head[MAGIC.len()] & NOT_CLOSED == 0
}

/// Checks that the store at `path`, which was not closed, is one state of a store, as after a kill
/// or a power loss.
///
/// # Errors
/// [`StoreError::Torn`] when it is not; [`StoreError::Locked`] when a daemon uses it; errors of the
/// disk.
pub fn check_not_torn(path: &Path) -> Result<(), StoreError> {
    let name = path.display().to_string();
    let file = open(path)?;
    let io = |e: &std::io::Error| StoreError::from_read(e, &name);
    let overlay = FileOverlay::new(file).map_err(|e| io(&e))?;
    // redb can panic over damaged bytes.
    let checked = with_damage_report(path, || {
        let checked = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(overlay)
            .and_then(|mut db| db.check_integrity());
        match checked {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::damaged("it does not match its checksums")),
            Err(DatabaseError::Storage(StorageError::Io(e))) => Err(io(&e)),
            // Opening the store reports this.
            Err(DatabaseError::UpgradeRequired(_)) => Ok(()),
            Err(e) => Err(StoreError::damaged(e.to_string())),
        }
    });
    match checked {
        Err(StoreError::Damaged(problem)) => {
            tracing::error!(problem, "torn store");
            Err(StoreError::Torn(name))
        }
        other => other,
    }
}
