//! What a home still has if its store cannot be used: the kept copy, and the files of pages.

use std::path::PathBuf;

use brain_base::clock::rfc3339;
use brain_base::home::Home;
use brain_base::mount_points::absent_mount_point;
use brain_files::{IgnoreRules, markdown_files};
use brain_protocol::{Command, Fault, FaultCode, Hint, hint};
use brain_store::{KeptCopy, StoreError, check_not_torn, is_closed, read_kept_copy};

/// The kept copy and the files of pages in a home.
pub struct HomeRemains {
    /// The path of the kept copy.
    pub kept_path: PathBuf,
    /// The kept copy, if it is there and can be read.
    pub kept: Option<KeptCopy>,
    /// The paths of the markdown files in `pages/`.
    pub files: Vec<String>,
}

impl HomeRemains {
    /// Looks for the kept copy and the files of pages. Verifies neither.
    pub fn of(home: &Home) -> Self {
        let kept_path = home.kept_copy();
        let kept = read_kept_copy(&kept_path).unwrap_or_else(|error| {
            tracing::warn!(%error, "the kept copy cannot be read");
            None
        });
        let found = markdown_files(&home.pages(), "", &IgnoreRules::off(), None).files;
        Self { kept_path, kept, files: found.into_iter().map(|file| file.path).collect() }
    }

    /// Returns what the owner can do with it; `None` if nothing is there.
    fn offer(&self, home: &Home) -> Option<Hint> {
        let (pages, files) = (home.pages().display().to_string(), self.files.len());
        let result = match &self.kept {
            Some(kept) => format!(
                "restores the copy of {} with {} pages, which the daemon kept in {}, and what the \
                 {files} files in {pages} have since",
                rfc3339(kept.made_at),
                kept.pages,
                self.kept_path.display(),
            ),
            None if files > 0 => format!(
                "makes a new store from the {files} files in {pages}; former versions are only in \
                 a backup"
            ),
            None => return None,
        };
        Some(hint!("{} {}", Command::BackupRestoreFromHome, result))
    }
}

/// Checks the store of `home` before it is opened: that a store that was not closed is not torn,
/// and that a home with a kept copy has a store.
///
/// # Errors
/// [`FaultCode::StoreDamaged`] with what the owner can do; faults of the disk.
pub fn check_store(home: &Home) -> Result<(), Fault> {
    let path = home.store();
    if std::fs::symlink_metadata(&path).is_err() {
        let remains = HomeRemains::of(home);
        let Some(offer) = remains.offer(home).filter(|_| remains.kept.is_some()) else {
            return Ok(());
        };
        let message = format!("{} is not there, but a copy of it is", path.display());
        return Err(Fault::new(FaultCode::StoreDamaged, message).hint(hint!(
            "{}; or move the store back; for a new, empty brain, set BRAIN_HOME to another \
             directory",
            offer
        )));
    }
    // A copy of the home may have begun before the daemon started, and ended after that.
    if is_closed(&path) && home.shutdown_record().exists() {
        return Ok(());
    }
    check_not_torn(&path).map_err(|error| store_fault(home, error))
}

/// Refuses to make a new home where `/etc/fstab` mounts a disk that is not mounted, unless the home
/// has a configuration.
///
/// # Errors
/// [`FaultCode::Io`] with the mount point.
pub fn check_new_home(home: &Home) -> Result<(), Fault> {
    if home.store().symlink_metadata().is_ok() || home.config().exists() {
        return Ok(());
    }
    let Some(point) = absent_mount_point(home.root()) else { return Ok(()) };
    let (point, root) = (point.display(), home.root().display());
    let message = format!(
        "no brain is in {root}, and the disk that /etc/fstab mounts on {point} is not mounted"
    );
    Err(Fault::new(FaultCode::Io, message).hint(format!(
        "mount it: `mount {point}`; for a new brain in {root} nevertheless: `mkdir -p {root}`, \
         then `touch {root}/config.toml`"
    )))
}

/// Converts an error of opening the store. For a damaged or torn store, the hint says what the home
/// still has.
pub fn store_fault(home: &Home, error: StoreError) -> Fault {
    let is_whole_file = matches!(error, StoreError::Damaged(_) | StoreError::Torn(_));
    let fault = Fault::from(error);
    if !is_whole_file || home.machines().exists() {
        return fault;
    }
    let Some(offer) = HomeRemains::of(home).offer(home) else { return fault };
    let store = home.store();
    let hint = hint!(
        "{}; {} is set aside, and nothing is removed; or move it away and restore a backup: {}",
        offer,
        store.display().to_string(),
        Command::BackupRestore { file: None }
    );
    fault.hint(hint)
}
