//! Temporary files beside their targets, in which copies of a store are made.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brain_base::durable::flush_dir_of;
use rustix::io::Errno;

use super::StoreError;
use brain_files::swap::publish;

/// Suffix of an incomplete copy.
const UNFINISHED: &str = ".brain-backup";
/// Bytes of the target's name in the name of an incomplete copy. Some file systems allow 143 bytes
/// for a name.
const MAX_TARGET_NAME: usize = 100;

/// Replaces the path of the temporary file in the error by the target's.
pub(super) fn with_target_path(error: StoreError, from: &Path, to: &Path) -> StoreError {
    let shown_path = to.display().to_string();
    let with_target = |text: String| {
        let text = text.replace(&from.display().to_string(), &shown_path);
        // Errors of the disk do not name the file.
        text.strip_prefix("store: ")
            .map(|problem| format!("{shown_path}: {problem}"))
            .unwrap_or(text)
    };
    match error {
        StoreError::Damaged(text) => StoreError::Damaged(with_target(text)),
        StoreError::DiskFull(failure) => StoreError::DiskFull(failure.map_text(with_target)),
        StoreError::SizeLimit(failure) => StoreError::SizeLimit(failure.map_text(with_target)),
        StoreError::ReadOnly(failure) => StoreError::ReadOnly(failure.map_text(with_target)),
        StoreError::Io(failure) => StoreError::Io(failure.map_text(with_target)),
        StoreError::UnequalCopy(shown_path) => StoreError::UnequalCopy(with_target(shown_path)),
        StoreError::Cancelled(path) if path == from => StoreError::Cancelled(to.to_owned()),
        other => other,
    }
}

/// A temporary file beside its target, readable by the owner only. Removed on drop unless it was
/// published.
pub(super) struct TemporaryFile {
    /// Its path until it is published.
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl TemporaryFile {
    /// Creates an empty file beside `target`.
    pub(super) fn new(target: &Path) -> Result<Self, StoreError> {
        let shown_path = target.display().to_string();
        let name = target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| StoreError::NoFileName(shown_path.clone()))?;
        let pid = std::process::id();
        for n in 0..1000 {
            let path = target.with_file_name(format!(".{}.{pid}-{n}{UNFINISHED}", shortened(name)));
            match File::options().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    let dir = target.parent().unwrap_or(target).display().to_string();
                    return Err(StoreError::NoDirectory { path: shown_path, dir });
                }
                Err(e) => return Err(StoreError::from_io(&e, &shown_path)),
            }
        }
        Err(StoreError::Io(format!("{shown_path}: too many unfinished copies beside it").into()))
    }

    /// Renames the file durably to `target`, which must be free.
    pub(super) fn publish(self, target: &Path) -> Result<(), StoreError> {
        let io = |e: &io::Error| StoreError::from_io(e, &target.display().to_string());
        match publish(&self.path, target) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                return Err(StoreError::TargetExists(target.to_owned()));
            }
            other => other.map_err(|e| io(&e))?,
        }
        flush_dir_of(target).map_err(|e| io(&e))
    }

    /// Replaces the file at `target` durably, with this mode.
    pub(super) fn replace(self, target: &Path, mode: fs::Permissions) -> Result<(), StoreError> {
        self.file
            .set_permissions(mode)
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.path, target))
            .and_then(|()| flush_dir_of(target))
            .map_err(|e| StoreError::from_io(&e, &target.display().to_string()))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After the rename there is no file with this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes incomplete copies to `target` that killed processes left.
pub(super) fn sweep(target: &Path) {
    if let (Some(dir), Some(name)) =
        (target.parent(), target.file_name().and_then(|name| name.to_str()))
    {
        sweep_unfinished(dir, |target_name| target_name == shortened(name));
    }
}

/// Returns the part of a target's name that the name of its incomplete copy has.
fn shortened(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_TARGET_NAME)]
}

/// Removes incomplete copies in `dir` that no process writes any more. `is_ours` decides by the
/// file name of the target.
pub fn sweep_unfinished(dir: &Path, is_ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|found| creator_pid(found, &is_ours))
        else {
            continue;
        };
        // In containers, daemons can have equal process ids. So for this process's own id, the lock
        // below decides whether a process writes the file.
        let is_dead = pid == std::process::id().cast_signed()
            || rustix::process::Pid::from_raw(pid)
                .is_none_or(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH))
            || is_zombie(pid);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_dead && is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            match fs::remove_file(entry.path()) {
                Ok(()) => tracing::info!(file = %entry.path().display(), "unfinished copy removed"),
                Err(error) => {
                    tracing::warn!(
                        %error,
                        file = %entry.path().display(),
                        "cannot remove an unfinished copy"
                    );
                }
            }
        }
    }
}

/// Whether a process has ended, but its parent has not asked for its status. In a container, that
/// may never happen.
fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('Z'))
}

/// Returns the process id in the name of the incomplete copy `found`, if `is_ours` accepts the file
/// name of its target.
fn creator_pid(found: &str, is_ours: impl Fn(&str) -> bool) -> Option<i32> {
    let (name, numbers) = found.strip_prefix('.')?.strip_suffix(UNFINISHED)?.rsplit_once('.')?;
    let number =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i32>().ok())?;
    let (pid, n) = numbers.split_once('-')?;
    is_ours(name).then(|| number(n).and(number(pid)))?
}

/// Whether two paths are on the same file system.
pub(super) fn are_on_one_disk(a: &Path, b: &Path) -> bool {
    matches!((fs::metadata(a), fs::metadata(b)), (Ok(a), Ok(b)) if a.dev() == b.dev())
}
