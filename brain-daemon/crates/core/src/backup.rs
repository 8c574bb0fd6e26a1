//! `backup`: a copy of the store while everything goes on, and reading such a copy back.

pub(crate) mod export;
pub(crate) mod restore;
pub(crate) mod scheduled;

use std::path::{Path, PathBuf};

use brain_protocol::{Backup, BackupReply, BackupVerify, Fault, FaultCode};

use crate::{BackupService, Caller, Progress};
use brain_base::clock::rfc3339;
use brain_store::{SCHEMA, StoreError, VerifyReport, verify};

impl BackupService {
    pub(crate) fn backup(
        &self,
        _caller: &Caller,
        request: &Backup,
        progress: &dyn Progress,
    ) -> Result<BackupReply, Fault> {
        let target = absolute(&request.path)?;
        let sound = self.back_up_to(&target, progress)?;
        Ok(reply("written", &target, &sound))
    }

    /// Copies the store to `target` and reads the copy back.
    pub(crate) fn back_up_to(
        &self,
        target: &Path,
        progress: &dyn Progress,
    ) -> Result<VerifyReport, Fault> {
        let heard = |done, total| progress.at(done, total) && !self.env.stop.is_cancelled();
        let sound =
            self.store.back_up(target, self.env.clock.now(), &heard).map_err(target_fault)?;
        tracing::info!(file = %target.display(), pages = sound.pages, bytes = sound.bytes, "backup written");
        Ok(sound)
    }

    pub(crate) fn backup_verify(
        &self,
        _caller: &Caller,
        request: &BackupVerify,
        progress: &dyn Progress,
    ) -> Result<BackupReply, Fault> {
        let path = absolute(&request.path)?;
        let heard = |done, total| progress.at(done, total) && !self.env.stop.is_cancelled();
        let sound = verify(&path, &heard).map_err(backup_fault)?;
        Ok(reply("sound", &path, &sound))
    }
}

/// Reads the backup `file` back, without a brain: what is in it, and its sources with a directory
/// outside of the home.
///
/// # Errors
/// Why it is no sound backup.
pub fn verify_backup(file: &Path) -> Result<(BackupReply, Vec<(String, String)>), Fault> {
    let sound = verify(file, &|_, _| true).map_err(backup_fault)?;
    Ok((reply("sound", file, &sound), sound.directories))
}

/// The answer about a file that was read back.
pub(crate) fn reply(status: &str, path: &Path, sound: &VerifyReport) -> BackupReply {
    let mut warnings = Vec::new();
    if sound.schema < SCHEMA {
        warnings.push(format!(
            "it has schema {}, older than this program's {SCHEMA}: it is migrated when it is restored",
            sound.schema
        ));
    }
    BackupReply {
        status: status.into(),
        path: path.display().to_string(),
        bytes: sound.bytes,
        schema: sound.schema as u32,
        pages: sound.pages,
        deleted: sound.deleted,
        versions: sound.versions,
        made_at: sound.made_at.map(rfc3339),
        warnings,
    }
}

/// A failure of a file that is meant as a backup: the brain itself is well.
pub(crate) fn backup_fault(error: StoreError) -> Fault {
    match error {
        StoreError::Damaged(what) => {
            Fault::new(FaultCode::StoreDamaged, format!("no sound backup: {what}")).hint(
                "this file cannot be restored; look at another one: `brain backup verify FILE`",
            )
        }
        StoreError::Locked(place) => {
            Fault::new(FaultCode::StoreLocked, format!("{place} is the store of a running brain"))
                .hint("`brain backup FILE` makes a copy of it to look at")
        }
        other => Fault::from(other),
    }
}

/// A failure to write a file that the caller named.
pub(crate) fn target_fault(error: StoreError) -> Fault {
    match error {
        StoreError::ReadOnly(_) => Fault::from(error)
            .hint("choose a place that the daemon can write, or change its owner or mode"),
        StoreError::DiskFull(_) => Fault::from(error)
            .hint("nothing was left behind; make room on that disk, or choose another one"),
        other => Fault::from(other),
    }
}

/// The path as it was sent: from the root.
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
