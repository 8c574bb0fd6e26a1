//! Keeps a whole, recent copy of the store in the home, for backup programs that copy the home
//! while the daemon writes.

use std::thread;
use std::time::{Duration, Instant};

use brain_base::clock::rfc3339;
use brain_base::home::create_private_dir;
use brain_base::threads::lower_priority;
use brain_protocol::{Command, Fault, FaultCode, hint};
use brain_store::{StoreError, read_kept_copy, sweep_unfinished};

use super::target_fault;
use crate::backup::scheduled_backup::BackupService;
use brain_service::health::{Finding, ok, warn};

/// The pause after a copy that took more than [`SHORT_COPY`] is at least this many times as long as
/// the rest of its time, so that a large store is not copied all the time.
const PAUSE_FACTOR: u32 = 100;
/// A copy that takes no longer than this causes no pause.
const SHORT_COPY: Duration = Duration::from_secs(1);
/// The pause after a failed attempt.
const RETRY: Duration = Duration::from_secs(5 * 60);
/// The age of a copy above which `doctor` warns, as a multiple of the configured age.
const MAX_LATENESS: i64 = 6;

impl BackupService {
    /// Makes the kept copy if the store has changed and the copy is old enough. Returns whether it
    /// made one. A timer calls this method.
    ///
    /// # Errors
    /// If the home was moved, the copy cannot be written, or the disk has too little free space.
    /// The former copy stays.
    pub fn keep_copy_if_due(&self) -> Result<bool, Fault> {
        let Some(max_mb) = self.config.kept_max_mb else { return Ok(false) };
        let mut known = self.kept_copy.known.lock();
        let is_early = known.not_before.is_some_and(|at| Instant::now() < at);
        if is_early
            || self.home.has_moved()
            || self.store.is_read_only()
            || self.store.bytes_on_disk()? > max_mb.saturating_mul(1_000_000)
        {
            return Ok(false);
        }
        let (target, now) = (self.home.kept_copy(), self.clock.now());
        if known.copy.is_none() {
            // A copy that cannot be read is replaced.
            let found = read_kept_copy(&target).ok().flatten();
            known.copy = found.map(|copy| (copy.state, copy.made_at));
        }
        let every = self.config.kept_every_ms();
        let state = self.store.state()?;
        if let Some((copied, made_at)) = &known.copy
            && (*copied == state || (0..every).contains(&(now - made_at)))
        {
            return Ok(false);
        }
        let began = Instant::now();
        let made = self.make_kept_copy(now);
        match &made {
            Ok(()) => {
                known.copy = Some((state, now));
                *self.kept_copy.failure.lock() = None;
                let pause = began.elapsed().saturating_sub(SHORT_COPY) * PAUSE_FACTOR;
                known.not_before = Some(Instant::now() + pause);
            }
            // A copy that ends because the daemon stops has not failed.
            Err(fault) if fault.code == FaultCode::Cancelled => return Ok(false),
            Err(fault) => {
                *self.kept_copy.failure.lock() = Some(fault.clone());
                known.not_before = Some(Instant::now() + RETRY);
            }
        }
        made.map(|()| true)
    }

    /// Replaces a kept copy at once, because it has text that was purged.
    pub fn replace_kept_copy(&self) -> Result<(), Fault> {
        let mut known = self.kept_copy.known.lock();
        let path = self.home.kept_copy();
        if path.symlink_metadata().is_err() {
            // A kill may have left an unfinished copy.
            if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
                sweep_unfinished(dir, |target| name == target);
            }
            return Ok(());
        }
        let (state, now) = (self.store.state()?, self.clock.now());
        self.make_kept_copy(now)?;
        known.copy = Some((state, now));
        Ok(())
    }

    /// Makes the kept copy on a thread of low priority, so that requests are answered first.
    fn make_kept_copy(&self, now: i64) -> Result<(), Fault> {
        let target = self.home.kept_copy();
        if let Some(dir) = target.parent() {
            create_private_dir(dir)
                .map_err(|e| Fault::from(StoreError::from_io(&e, &dir.display().to_string())))?;
        }
        let began = Instant::now();
        let make = || {
            lower_priority();
            self.store.keep_copy(&target, now, &|_, _| !self.stop.is_cancelled())
        };
        let made = thread::scope(|scope| scope.spawn(make).join());
        let report = made
            .map_err(|_| Fault::new(FaultCode::Internal, "a defect in brain ended the copy"))?
            .map_err(target_fault)?;
        let (pages, bytes, ms) = (report.pages, report.bytes, began.elapsed().as_millis());
        tracing::info!(pages, bytes, ms, "copy of the store kept");
        Ok(())
    }

    /// Checks whether the kept copy is there and recent.
    pub(crate) fn check_kept_copy(&self) -> Finding {
        let target = self.home.kept_copy();
        let hint = hint!(
            "exclude brain.redb from backups of the home, and back up with {} instead; see \
             docs/backup.md",
            Command::BackupCreate { file: None }
        );
        let Some(max_mb) = self.config.kept_max_mb else {
            return ok("off: backup.kept_max_mb is 0");
        };
        let size = self.store.bytes_on_disk()?;
        if size > max_mb.saturating_mul(1_000_000) {
            let message = format!(
                "none is made: the store has {} MB, and backup.kept_max_mb is {max_mb}",
                size / 1_000_000
            );
            return warn(message, hint);
        }
        if let Some(fault) = self.kept_copy.failure.lock().clone() {
            return warn(format!("not made: {}", fault.message), fault.hint.unwrap_or_default());
        }
        let Some(copy) = read_kept_copy(&target)? else {
            return ok("the first one is about to be made");
        };
        let made_at = rfc3339(copy.made_at);
        let age = self.clock.now() - copy.made_at;
        let limit = self.config.kept_every_ms().saturating_mul(MAX_LATENESS);
        let opened_at = self.schedule.opened_at;
        let is_late = age > limit && self.clock.now() - opened_at > limit;
        if is_late && self.store.state()? != copy.state {
            return warn(format!("old: it was made at {made_at}"), Command::Restart);
        }
        ok(format!("{}: made at {made_at}, {} pages", target.display(), copy.pages))
    }
}
