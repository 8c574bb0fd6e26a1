//! Scheduled backups: makes a backup when one is due, removes the oldest, and reports the state.
//!
//! The file name contains the time: `brain-<UTC time>.redb`. A file counts as a backup of this
//! brain only if its name has this form and its store has this brain's id. No other file is
//! removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_base::home::Home;
use brain_base::leases::{self, LeaseHolder};
use brain_config::BackupConfig;
use brain_protocol::{BackupFile, BackupListReply, Command, Fault, FaultCode, Hint};
use parking_lot::{Mutex, MutexGuard};

use crate::backup::kept_copy_state::KeptCopyState;
use brain_base::clock::{Clock, parse_instant, rfc3339};
use brain_service::NoProgress;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};
use brain_store::{Store, StoreError, store_id, sweep_unfinished};
use tokio_util::sync::CancellationToken;

/// The pause after a failed backup, in milliseconds, unless the next one is due earlier.
const RETRY_MS: i64 = 10 * 60 * 1000;
/// How late a backup may be before it counts as overdue, in milliseconds.
const GRACE_MS: i64 = 60 * 60 * 1000;

/// The schedule of backups, with the attempts since the daemon started.
pub(crate) struct BackupSchedule {
    /// When the brain was opened, Unix milliseconds.
    pub(crate) opened_at: i64,
    attempts: Mutex<BackupAttempts>,
}

#[derive(Default)]
struct BackupAttempts {
    /// The time of the newest known backup, in Unix milliseconds.
    newest_at: Option<i64>,
    /// The time and the fault of the last attempt, if it failed.
    last_failure: Option<(i64, Fault)>,
}

impl BackupSchedule {
    /// Creates the schedule of a brain that is opened at `now`.
    pub(crate) fn new(now: i64) -> Self {
        Self { opened_at: now, attempts: Mutex::default() }
    }

    fn attempts(&self) -> MutexGuard<'_, BackupAttempts> {
        self.attempts.lock()
    }
}

/// Backups, the kept copy, and exports.
pub struct BackupService {
    pub(crate) store: Arc<Store>,
    pub(crate) home: Home,
    pub(crate) config: BackupConfig,
    pub(crate) clock: Arc<dyn Clock>,
    leases: Arc<dyn LeaseHolder>,
    pub(crate) stop: CancellationToken,
    pub(crate) schedule: BackupSchedule,
    pub(crate) kept_copy: KeptCopyState,
}

impl Health for BackupService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("backup", &self, Self::check_backup),
            HealthCheck::new("kept copy", &self, Self::check_kept_copy),
        ]
    }
}

impl BackupService {
    /// Creates the service. Copies end early when `stop` is cancelled.
    pub fn new(
        store: Arc<Store>,
        home: Home,
        config: BackupConfig,
        clock: Arc<dyn Clock>,
        leases: Arc<dyn LeaseHolder>,
        stop: CancellationToken,
    ) -> Self {
        let (schedule, kept_copy) = (BackupSchedule::new(clock.now()), KeptCopyState::default());
        Self { store, home, config, clock, leases, stop, schedule, kept_copy }
    }

    /// Makes a backup if one is due and no other machine makes them, removes the oldest ones beyond
    /// `backup.keep`, and returns the new file. A timer calls this method.
    ///
    /// # Errors
    /// If the home was moved, the directory cannot be used, or the backup fails. No old backup is
    /// removed then.
    pub fn backup_due(&self) -> Result<Option<PathBuf>, Fault> {
        brain_service::moved_home::check_home(&self.home)?;
        let Some(dir) = self.config.directory(&self.home) else { return Ok(None) };
        if !self.leases.holds(leases::BACKUP) {
            return Ok(None);
        }
        let (now, every) = (self.clock.now(), self.config.every_ms());
        {
            let attempts = self.schedule.attempts();
            let is_recent = |at: i64, span: i64| (0..span).contains(&(now - at));
            if attempts.newest_at.is_some_and(|at| is_recent(at, every))
                || attempts
                    .last_failure
                    .as_ref()
                    .is_some_and(|(at, _)| is_recent(*at, RETRY_MS.min(every)))
            {
                return Ok(None);
            }
        }
        let result = self.prepare_dir(&dir).and_then(|()| {
            let newest = self.newest_backup(&dir, now)?;
            if let Some(at) = newest.filter(|at| now - at < every) {
                self.schedule.attempts().newest_at = Some(at);
                return Ok(None);
            }
            // Removes incomplete copies of killed daemons. Backups have other names.
            sweep_unfinished(&dir, |name| made_at(name).is_some());
            let target = dir.join(file_name(now));
            self.back_up_to(&target, &NoProgress)?;
            self.remove_oldest(&dir, &target);
            Ok(Some(target))
        });
        let mut attempts = self.schedule.attempts();
        match &result {
            Ok(file) => {
                attempts.last_failure = None;
                if file.is_some() {
                    attempts.newest_at = Some(now);
                }
            }
            // A backup that ends because the daemon stops has not failed.
            Err(fault) if fault.code == FaultCode::Cancelled => {}
            Err(fault) => attempts.last_failure = Some((now, fault.clone())),
        }
        result
    }

    /// Lists the scheduled backups of this brain, the newest first.
    pub fn list(&self) -> Result<BackupListReply, Fault> {
        let Some(dir) = self.config.directory(&self.home) else {
            return Ok(BackupListReply { dir: None, backups: Vec::new() });
        };
        let mut found = if dir.is_dir() { self.own_backups(&dir)? } else { Vec::new() };
        found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let backup = |(at, path): &(i64, PathBuf)| BackupFile {
            path: path.display().to_string(),
            bytes: fs::metadata(path).map_or(0, |meta| meta.len()),
            made_at: rfc3339(*at),
        };
        let backups = found.iter().map(backup).collect();
        Ok(BackupListReply { dir: Some(dir.display().to_string()), backups })
    }

    /// Checks whether the newest backup is recent enough.
    fn check_backup(&self) -> Finding {
        let Some(dir) = self.config.directory(&self.home) else {
            return ok("none by schedule: backup.dir is not set");
        };
        let now = self.clock.now();
        let manual_command = || {
            let file = dir.join(manual_file_name(now)).display().to_string();
            Hint::from(Command::BackupCreate { file: Some(file) })
        };
        let last_failure = self.schedule.attempts().last_failure.clone();
        if let Some((at, fault)) = last_failure {
            let hint = fault.hint.filter(|_| !dir.is_dir()).unwrap_or_else(manual_command);
            return warn(format!("the backup of {} failed: {}", rfc3339(at), fault.message), hint);
        }
        let own = if dir.is_dir() { self.own_backups(&dir)? } else { Vec::new() };
        let newest = |is_ahead: bool| {
            own.iter().map(|(at, _)| *at).filter(|at| (*at > now) == is_ahead).max()
        };
        let (newest, ahead) = (newest(false), newest(true));
        if let (None, Some(at)) = (newest, ahead) {
            let at = rfc3339(at);
            let problem = format!(
                "the newest backup is of {at}, in the future: the clock was set back, or was ahead"
            );
            return warn(problem, "date -u");
        }
        let due = newest.map_or(self.schedule.opened_at, |at| at + self.config.every_ms());
        let last = newest.map(|at| format!("the last one is of {}", rfc3339(at)));
        // A backup that became due while the daemon was stopped is made after the start.
        if due.max(self.schedule.opened_at) + GRACE_MS < now {
            let last = last.as_deref().unwrap_or("there is no backup");
            return warn(format!("overdue: {last}"), manual_command());
        }
        ok(last.as_deref().unwrap_or("the first one is about to be made"))
    }

    /// Creates the directory if it is missing and in the home. Refuses a missing directory
    /// elsewhere: its disk may not be mounted, and a new directory would be on another disk.
    fn prepare_dir(&self, dir: &Path) -> Result<(), Fault> {
        if dir.is_dir() {
            return Ok(());
        }
        let dir_path = dir.display();
        if !dir.starts_with(self.home.root()) {
            return Err(Fault::new(
                FaultCode::Io,
                format!("backup.dir: there is no directory {dir_path}"),
            )
            .hint(format!("mkdir -p {dir_path}")));
        }
        brain_base::home::create_private_dir(dir)
            .map_err(|e| StoreError::from_io(&e, &dir_path.to_string()).into())
    }

    /// Returns the time of this brain's newest backup in `dir` that is not later than `now`.
    fn newest_backup(&self, dir: &Path, now: i64) -> Result<Option<i64>, Fault> {
        Ok(self.own_backups(dir)?.into_iter().map(|(at, _)| at).filter(|at| *at <= now).max())
    }

    /// Returns the times and files of this brain's backups in `dir`.
    fn own_backups(&self, dir: &Path) -> Result<Vec<(i64, PathBuf)>, Fault> {
        let unreadable =
            |e: std::io::Error| Fault::from(StoreError::from_io(&e, &dir.display().to_string()));
        let mut own = Vec::new();
        for entry in fs::read_dir(dir).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let Some(at) = entry.file_name().to_str().and_then(made_at) else { continue };
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && store_id(&entry.path()).is_ok_and(|id| id == self.store.id()) {
                own.push((at, entry.path()));
            }
        }
        Ok(own)
    }

    /// Removes this brain's oldest backups until `backup.keep` are left. `newest` always stays,
    /// even if the clock was set back.
    fn remove_oldest(&self, dir: &Path, newest: &Path) {
        let mut others = match self.own_backups(dir) {
            Ok(own) => own,
            Err(fault) => return tracing::warn!(%fault, "cannot list old backups to remove them"),
        };
        others.retain(|(_, file)| file != newest);
        others.sort_unstable_by(|a, b| b.cmp(a));
        for (_, file) in others.into_iter().skip(self.config.keep.saturating_sub(1)) {
            match fs::remove_file(&file) {
                Ok(()) => tracing::info!(file = %file.display(), "old backup removed"),
                Err(error) => {
                    tracing::warn!(%error, file = %file.display(), "cannot remove an old backup");
                }
            }
        }
    }
}

/// Returns the name of a scheduled backup, for example `brain-20261121T103045Z.redb`.
pub fn file_name(now: i64) -> String {
    let time = rfc3339(now);
    let digits: String = time.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("brain-{digits}Z.redb")
}

/// Returns a name for a manual backup, which differs from the names of scheduled ones.
pub(crate) fn manual_file_name(now: i64) -> String {
    file_name(now).replace("brain-", "by-hand-")
}

/// Returns the time in the name of a scheduled backup, to the second; `None` for any other name.
fn made_at(name: &str) -> Option<i64> {
    let time = name
        .strip_prefix("brain-")?
        .strip_suffix("Z.redb")
        .filter(|t| t.len() == 15 && t.is_ascii())?;
    let (day, clock) = time.split_once('T')?;
    let iso = format!(
        "{}-{}-{}T{}:{}:{}Z",
        day.get(..4)?,
        day.get(4..6)?,
        day.get(6..)?,
        clock.get(..2)?,
        clock.get(2..4)?,
        clock.get(4..)?
    );
    parse_instant(&iso).filter(|at| file_name(*at) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_contain_their_times() {
        let at = parse_instant("2026-11-21T10:30:45.123Z").unwrap_or_default();
        assert_eq!(file_name(at), "brain-20261121T103045Z.redb");
        assert_eq!(made_at("brain-20261121T103045Z.redb"), Some(at - 123));
        for other in [
            "brain.redb",
            "brain-20261121T103045Z.redb.old",
            "brain-20261121T103045.redb",
            "brain-20261321T103045Z.redb",
            "brain-2026-1121T10304Z.redb",
            "brain-20261121t103045Z.redb",
            "Brain-20261121T103045Z.redb",
            "brain-20261121T10é45Z.redb",
        ] {
            assert_eq!(made_at(other), None, "{other}");
        }
    }
}
