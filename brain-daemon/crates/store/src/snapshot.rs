//! A snapshot of the whole store.

use std::ops::Deref;
use std::sync::Arc;

use redb::{Database, ReadTransaction};

use super::damage::DamageReport;

/// A read transaction. Keeps its file open, even after the store was reopened.
pub(super) struct ReadView {
    pub(super) txn: ReadTransaction,
    pub(super) _db: Arc<Database>,
    /// Receives damage found in this snapshot.
    pub(super) report: Arc<DamageReport>,
}

impl Deref for ReadView {
    type Target = ReadTransaction;

    fn deref(&self) -> &ReadTransaction {
        &self.txn
    }
}
