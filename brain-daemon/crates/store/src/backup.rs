//! Backups: copies the store while writes continue.
//!
//! A backup copies all tables row by row from one read transaction into a new file, which therefore
//! has no gaps. Writers continue meanwhile, but redb cannot reuse the space that they free. The
//! copy is written to a temporary file, flushed, read back, and renamed without replacing a file.

use std::fs;
use std::path::Path;

use super::copy_store::{CopyPlan, copy_whole};
use super::error::with_damage_report;
use super::temporary_file::{TemporaryFile, sweep};
use super::verify::{RowProgress, VerifyReport};
use super::{Store, StoreError, tables as t};
use brain_files::AttachmentFiles;

impl Store {
    /// Copies the store as of now to `target`, which must not exist, and reads the copy back.
    ///
    /// # Errors
    /// [`StoreError::TargetExists`] when `target` exists; [`StoreError::NoDirectory`] when its
    /// directory does not; [`StoreError::Cancelled`] when `progress` returns `false`;
    /// [`StoreError::Damaged`] when the store or the copy is damaged; errors of the disk, with the
    /// path. No file is left then.
    pub fn back_up(
        &self,
        target: &Path,
        now: i64,
        progress: RowProgress<'_>,
    ) -> Result<VerifyReport, StoreError> {
        self.back_up_with_hook(target, now, progress, &|_| ())
    }

    /// As [`Store::back_up`]. Tests change the copy in `between`, before it is read back.
    pub(super) fn back_up_with_hook(
        &self,
        target: &Path,
        now: i64,
        progress: RowProgress<'_>,
        between: &dyn Fn(&Path),
    ) -> Result<VerifyReport, StoreError> {
        if fs::symlink_metadata(target).is_ok() {
            return Err(StoreError::TargetExists(target.to_owned()));
        }
        let attachments = Some(self.attachments());
        let (copy, report) = self.copy_beside(target, now, attachments, progress, between)?;
        copy.publish(target)?;
        Ok(report)
    }

    /// Copies the store as of now to a temporary file beside `target`, and reads the copy back.
    pub(super) fn copy_beside(
        &self,
        target: &Path,
        now: i64,
        attachments: Option<&AttachmentFiles>,
        progress: RowProgress<'_>,
        between: &dyn Fn(&Path),
    ) -> Result<(TemporaryFile, VerifyReport), StoreError> {
        sweep(target);
        // Writes only when jobs are in the spool, so a read-only home can be backed up. An error
        // here is one of the store, not of the target.
        with_damage_report(self.path(), || self.read_queue().map(drop))
            .map_err(|e| StoreError::BackupSource(Box::new(e)))?;
        let check_space = || self.check_free_space_for(target);
        let plan = CopyPlan {
            store: self.path(),
            target,
            metadata: &[(t::META_MADE_AT, now.unsigned_abs())],
            attachments,
            progress,
            check_space: &check_space,
        };
        copy_whole(self.snapshot()?, &plan, between)
    }
}
