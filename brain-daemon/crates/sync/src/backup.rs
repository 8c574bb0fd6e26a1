//! `backup`: copies the store while the daemon works, and verifies such copies.

pub mod export;
pub mod home_remains;
pub mod kept_copy;
pub(crate) mod kept_copy_state;
pub mod scheduled_backup;
pub mod unknown_attachments;

use std::path::{Path, PathBuf};

use brain_protocol::{
    Backup, BackupReply, BackupStatus, BackupVerify, Command, Fault, FaultCode, hint,
};

use crate::backup::scheduled_backup::BackupService;
use brain_base::caller::Caller;
use brain_base::clock::rfc3339;
use brain_service::Progress;
use brain_store::{SCHEMA, StoreError, VerifyReport, verify};

impl BackupService {
    /// Copies the store to a file, and verifies the copy.
    pub fn backup(
        &self,
        _caller: &Caller,
        request: &Backup,
        progress: &dyn Progress,
    ) -> Result<BackupReply, Fault> {
        let target = absolute(&request.path)?;
        let report = self.back_up_to(&target, progress)?;
        Ok(reply(BackupStatus::Written, &target, &report))
    }

    /// Copies the store to `target` and reads the copy back.
    pub(crate) fn back_up_to(
        &self,
        target: &Path,
        progress: &dyn Progress,
    ) -> Result<VerifyReport, Fault> {
        let on_progress = |done, total| progress.at(done, total) && !self.stop.is_cancelled();
        let report =
            self.store.back_up(target, self.clock.now(), &on_progress).map_err(target_fault)?;
        let (pages, bytes) = (report.pages, report.bytes);
        tracing::info!(file = %target.display(), pages, bytes, "backup written");
        Ok(report)
    }

    /// Verifies a copy of the store.
    pub fn backup_verify(
        &self,
        _caller: &Caller,
        request: &BackupVerify,
        progress: &dyn Progress,
    ) -> Result<BackupReply, Fault> {
        let path = absolute(&request.path)?;
        let on_progress = |done, total| progress.at(done, total) && !self.stop.is_cancelled();
        let report = verify(&path, &on_progress).map_err(backup_fault)?;
        Ok(reply(BackupStatus::Sound, &path, &report))
    }
}

/// Verifies the backup `file`, without a brain. Returns the reply, and the ids and directories of
/// sources with a directory outside of the home.
///
/// # Errors
/// The reason why the file is not a valid backup.
pub fn verify_backup(file: &Path) -> Result<(BackupReply, Vec<(String, String)>), Fault> {
    let report = verify(file, &|_, _| true).map_err(backup_fault)?;
    Ok((reply(BackupStatus::Sound, file, &report), report.directories))
}

/// Builds the reply about a backup.
pub fn reply(status: BackupStatus, path: &Path, report: &VerifyReport) -> BackupReply {
    let mut warnings = Vec::new();
    if report.schema < SCHEMA {
        warnings.push(format!(
            "the backup has schema {}, older than this program's {SCHEMA}: \
             it is migrated when it is restored",
            report.schema
        ));
    }
    if report.missing_attachments > 0 {
        warnings.push(format!(
            "{} files of pages are not in the backup: they were missing or damaged when it was \
             made; `{}` names them",
            report.missing_attachments,
            Command::Doctor
        ));
    }
    BackupReply {
        status,
        path: path.display().to_string(),
        bytes: report.bytes,
        schema: report.schema as u32,
        pages: report.pages,
        deleted: report.deleted,
        versions: report.versions,
        made_at: report.made_at.map(rfc3339),
        warnings,
        attachments: report.attachments,
    }
}

/// Turns a failure to read a backup into a fault. The store of the brain is not affected.
pub fn backup_fault(error: StoreError) -> Fault {
    match error {
        StoreError::Damaged(reason) => {
            Fault::new(FaultCode::StoreDamaged, format!("not a valid backup: {reason}")).hint(
                hint!(
                    "this file cannot be restored; look at another one: {}",
                    Command::BackupVerify
                ),
            )
        }
        StoreError::Locked(file_path) => Fault::new(
            FaultCode::StoreLocked,
            format!("{file_path} is the store of a running brain"),
        )
        .hint(hint!("{} makes a copy of this store", Command::BackupCreate { file: None })),
        other => Fault::from(other),
    }
}

/// Turns a failure to write a backup or an export into a fault.
pub(crate) fn target_fault(error: StoreError) -> Fault {
    match error {
        StoreError::ReadOnly(_) => Fault::from(error)
            .hint("choose a directory that the daemon can write, or change its owner or mode"),
        StoreError::DiskFull(_) => Fault::from(error)
            .hint("nothing was left behind; make room on that disk, or choose another one"),
        other => Fault::from(other),
    }
}

/// Returns the path of a request. Refuses a relative path with `usage`.
pub(crate) fn absolute(path: &str) -> Result<PathBuf, Fault> {
    let path = PathBuf::from(path);
    match path.is_absolute() {
        true => Ok(path),
        false => Err(Fault::new(
            FaultCode::Usage,
            format!("\"{}\" is not an absolute path", path.display()),
        )
        .hint("begin it with a slash")),
    }
}
