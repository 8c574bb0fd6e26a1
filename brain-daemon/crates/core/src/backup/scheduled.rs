//! Backups by schedule: one when it is due, the oldest away, and how it stands.
//!
//! What was made when is told by the files themselves, `brain-<UTC time>.redb`. A file is this
//! brain's own only when its name is exactly such a one and its store has this brain's number:
//! nothing else is counted, and nothing else is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brain_protocol::{Fault, FaultCode};

use crate::{Environment, Silent};
use brain_base::clock::{parse_instant, rfc3339};
use brain_store::{Store, StoreError, store_id, sweep_unfinished};

/// After a failure the next attempt comes this much later, in milliseconds, or at the next time
/// that is due.
const RETRY_MS: i64 = 10 * 60 * 1000;
/// A backup that is this much late is worth a look, in milliseconds.
const GRACE_MS: i64 = 60 * 60 * 1000;

/// What this run of the daemon knows about backups.
pub(crate) struct Schedule {
    /// When the brain was opened, Unix milliseconds.
    opened_at: i64,
    past: Mutex<Past>,
}

#[derive(Default)]
struct Past {
    /// When the newest good one was made, as far as was looked.
    good: Option<i64>,
    /// When the last attempt failed, and why.
    failed: Option<(i64, Fault)>,
}

/// How backups by schedule stand.
pub(crate) enum Standing {
    /// None are wanted.
    Off,
    /// The newest one, if there is one yet, is young enough.
    Good(Option<i64>),
    /// The last attempt failed.
    Failed(i64, Fault),
    /// The newest one is too old.
    Overdue(Option<i64>),
    /// There are only such as were made later than now: the clock was set back since.
    Ahead(i64),
}

impl Schedule {
    /// For a brain that is opened `now`.
    pub(crate) fn new(now: i64) -> Self {
        Self { opened_at: now, past: Mutex::default() }
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Backups and exports.
pub struct BackupService {
    pub(crate) env: Environment,
    pub(crate) store: Arc<Store>,
    pub(crate) schedule: Schedule,
}

impl BackupService {
    /// Creates the service.
    pub(crate) fn new(env: Environment, store: Arc<Store>) -> Self {
        Self { schedule: Schedule::new(env.clock.now()), env, store }
    }

    /// Makes the backup that is due, if one is, and removes the oldest beyond `backup.keep`; its
    /// file. For a timer.
    ///
    /// # Errors
    /// Why there is no backup; nothing was removed then.
    pub fn backup_due(&self) -> Result<Option<PathBuf>, Fault> {
        crate::moved_home::check_home(&self.env.home)?;
        let Some(dir) = self.env.config.backup_dir(&self.env.home) else { return Ok(None) };
        let (now, every) = (self.env.clock.now(), self.env.config.backup_every_ms());
        {
            let past = self.schedule.past();
            let lately = |at: i64, span: i64| (0..span).contains(&(now - at));
            if past.good.is_some_and(|at| lately(at, every))
                || past.failed.as_ref().is_some_and(|(at, _)| lately(*at, RETRY_MS.min(every)))
            {
                return Ok(None);
            }
        }
        let made = self.ready_dir(&dir).and_then(|()| {
            let newest = self.newest_backup(&dir, now)?;
            if let Some(at) = newest.filter(|at| now - at < every) {
                self.schedule.past().good = Some(at);
                return Ok(None);
            }
            // What a kill left of an earlier one has another name.
            sweep_unfinished(&dir, |name| made_at(name).is_some());
            let target = dir.join(file_name(now));
            self.back_up_to(&target, &Silent)?;
            self.thin_out(&dir, &target);
            Ok(Some(target))
        });
        let mut past = self.schedule.past();
        match &made {
            Ok(file) => {
                past.failed = None;
                if file.is_some() {
                    past.good = Some(now);
                }
            }
            // The daemon ends: that is no failure.
            Err(fault) if fault.code == FaultCode::Cancelled => {}
            Err(fault) => past.failed = Some((now, fault.clone())),
        }
        made
    }

    /// How backups by schedule stand.
    pub(crate) fn backup_standing(&self) -> Result<Standing, Fault> {
        let Some(dir) = self.env.config.backup_dir(&self.env.home) else {
            return Ok(Standing::Off);
        };
        if let Some((at, fault)) = self.schedule.past().failed.clone() {
            return Ok(Standing::Failed(at, fault));
        }
        let now = self.env.clock.now();
        let (newest, ahead) = match dir.is_dir() {
            true => {
                let own = self.own_backups(&dir)?;
                let newest = |is_ahead: bool| {
                    own.iter().map(|(at, _)| *at).filter(|at| (*at > now) == is_ahead).max()
                };
                (newest(false), newest(true))
            }
            false => (None, None),
        };
        if let (None, Some(at)) = (newest, ahead) {
            return Ok(Standing::Ahead(at));
        }
        let due =
            newest.map_or(self.schedule.opened_at, |at| at + self.env.config.backup_every_ms());
        // One that became due while the daemon was away is made up after the start.
        if due.max(self.schedule.opened_at) + GRACE_MS < now {
            return Ok(Standing::Overdue(newest));
        }
        Ok(Standing::Good(newest))
    }

    /// A directory in the home is made when it is missing. Another one may be a disk that is not
    /// there at the moment: to make it would put the backups on the wrong one.
    fn ready_dir(&self, dir: &Path) -> Result<(), Fault> {
        if dir.is_dir() {
            return Ok(());
        }
        let shown = dir.display();
        if !dir.starts_with(self.env.home.root()) {
            return Err(Fault::new(
                FaultCode::Io,
                format!("backup.dir: there is no directory {shown}"),
            )
            .hint(format!("mkdir -p {shown}")));
        }
        brain_base::home::create_private_dir(dir)
            .map_err(|e| StoreError::from_io(&e, &shown.to_string()).into())
    }

    /// When the newest of this brain's own backups in `dir` was made; none that is later than now.
    fn newest_backup(&self, dir: &Path, now: i64) -> Result<Option<i64>, Fault> {
        Ok(self.own_backups(dir)?.into_iter().map(|(at, _)| at).filter(|at| *at <= now).max())
    }

    /// This brain's backups in `dir`: when each was made, and its file.
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

    /// Removes this brain's oldest backups until `backup.keep` are left. `newest` was made just now
    /// and stays whatever the clock says.
    fn thin_out(&self, dir: &Path, newest: &Path) {
        let mut others = match self.own_backups(dir) {
            Ok(own) => own,
            Err(fault) => return tracing::warn!(%fault, "old backups stay"),
        };
        others.retain(|(_, file)| file != newest);
        others.sort_unstable_by(|a, b| b.cmp(a));
        for (_, file) in others.into_iter().skip(self.env.config.backup.keep.saturating_sub(1)) {
            match fs::remove_file(&file) {
                Ok(()) => tracing::info!(file = %file.display(), "old backup removed"),
                Err(error) => {
                    tracing::warn!(%error, file = %file.display(), "old backup not removed");
                }
            }
        }
    }
}

/// `brain-20261121T103045Z.redb`.
pub(crate) fn file_name(now: i64) -> String {
    let time = rfc3339(now);
    let digits: String = time.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("brain-{digits}Z.redb")
}

/// The name of one that a person makes: never taken for one by schedule.
pub(crate) fn by_hand(now: i64) -> String {
    file_name(now).replace("brain-", "by-hand-")
}

/// When the backup of this name was made, to the second; `None` when it is not exactly the name of
/// one.
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
    parse_instant(&iso, false).filter(|at| file_name(*at) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_times() {
        let at = parse_instant("2026-11-21T10:30:45.123Z", false).unwrap_or_default();
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
