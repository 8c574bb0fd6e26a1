//! The numbers of a store that writes change.

use redb::ReadableTable;

use super::row_table::RowTable;
use super::{StoreError, tables as t};

/// Numbers of [`t::META`] that writes change.
pub(super) struct StoreCounters {
    /// Number of the next ingest job.
    pub(super) next_job: u64,
    /// Number of waiting ingest jobs.
    pub(super) waiting: u64,
    /// Number of failed ingest jobs.
    pub(super) failed: u64,
    /// Id of the next page.
    pub(super) next_id: u64,
    /// Sequence number of the last change.
    pub(super) seq: u64,
    /// Number of active pages.
    pub(super) active: u64,
    /// Time of this machine's last step, Unix milliseconds.
    pub(super) step_at: u64,
}

impl StoreCounters {
    pub(super) fn read(meta: &impl ReadableTable<&'static str, u64>) -> Result<Self, StoreError> {
        let number = |key: &str, default: u64| -> Result<u64, StoreError> {
            Ok(meta.get(key)?.map_or(default, |guard| guard.value()))
        };
        Ok(Self {
            next_job: number(t::META_NEXT_JOB, 1)?,
            waiting: number(t::META_WAITING, 0)?,
            failed: number(t::META_FAILED, 0)?,
            next_id: number(t::META_NEXT_ID, 1)?,
            seq: number(t::META_SEQ, 0)?,
            active: number(t::META_ACTIVE, 0)?,
            step_at: number(t::META_STEP_AT, 0)?,
        })
    }

    /// Writes the changed numbers only: a shared store sends each inserted row to the log.
    pub(super) fn write(
        &self,
        meta: &mut RowTable<'_, &'static str, u64>,
    ) -> Result<(), StoreError> {
        for (key, number) in [
            (t::META_NEXT_ID, self.next_id),
            (t::META_SEQ, self.seq),
            (t::META_ACTIVE, self.active),
            (t::META_NEXT_JOB, self.next_job),
            (t::META_WAITING, self.waiting),
            (t::META_FAILED, self.failed),
        ] {
            if meta.get(key)?.map(|guard| guard.value()) != Some(number) {
                meta.insert(key, number)?;
            }
        }
        meta.insert_unrecorded(t::META_STEP_AT, self.step_at)?;
        Ok(())
    }
}
