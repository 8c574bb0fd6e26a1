//! Counts the space of the tables beside other work.

use std::path::PathBuf;

use redb::ReadTransaction;

use super::error::with_damage_report;
use super::{Store, StoreError, compaction};

/// A count of the space that the tables occupy. It reads all of them, and does not keep the store
/// open: otherwise a daemon that ends during the count would leave a file that was not closed.
pub struct SpaceCount {
    txn: ReadTransaction,
    path: PathBuf,
}

impl Store {
    /// Begins a count.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn count_space(&self) -> Result<SpaceCount, StoreError> {
        let view = self.shared.begin_read()?;
        Ok(SpaceCount { txn: view.txn, path: self.path().to_owned() })
    }
}

impl SpaceCount {
    /// Returns the space in bytes.
    ///
    /// # Errors
    /// When the file cannot be read, or the store was closed meanwhile.
    pub fn bytes_in_use(self) -> Result<u64, StoreError> {
        with_damage_report(&self.path, || compaction::bytes_in_use(&self.txn))
    }
}
