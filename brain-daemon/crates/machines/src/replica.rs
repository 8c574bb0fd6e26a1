//! The background work of a shared brain: it follows the log, reports to the registry, renews
//! leases and writes snapshots.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_base::random::RandomSource;
use brain_commit_log::{BatchId, BrainSnapshot, Delivery, Error, Position, SnapshotId};
use brain_store::{LogPosition, Store, StoreError};
use parking_lot::Mutex;

use crate::presence::IdentityLease;
use crate::{
    Condition, LeaseKeeper, MAX_SILENCE, MachineLog, SnapshotFile, newest, schema, upload, verify,
};

/// The time between two requests for the head.
const POLL: Duration = Duration::from_secs(1);
/// The time between two tries while this machine has stopped.
const STOPPED_PAUSE: Duration = Duration::from_secs(5);
/// How often the store's position is compared with the log, also if the number did not change.
const CHECK: Duration = Duration::from_secs(5);
/// The time between two reports of a changed position, and of an unchanged one.
const REPORT: Duration = Duration::from_secs(5);
const UNCHANGED_REPORT: Duration = Duration::from_secs(30);
/// How long the server may name changes and return none of them.
const STALL: Duration = Duration::from_secs(10);
/// A snapshot is due after this many batches, or this many bytes of batches.
const SNAPSHOT_BATCHES: u64 = 10_000;
const SNAPSHOT_BYTES: u64 = 256 << 20;
/// The age at which an incomplete snapshot of another machine is deleted, in milliseconds.
const INCOMPLETE_MS: i64 = 24 * 60 * 60 * 1000;
/// How many complete snapshots are kept.
const KEPT: usize = 2;

/// The result of [`Replica::follow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// How many batches were applied.
    pub batches: u64,
    /// When to begin the next round.
    pub pause: Duration,
}

/// A store that follows the log of its brain.
pub struct Replica {
    store: Arc<Store>,
    log: Arc<MachineLog>,
    leases: Arc<LeaseKeeper>,
    random: Arc<dyn RandomSource>,
    timing: Mutex<Timing>,
    /// See [`Replica::problem`].
    problem: Mutex<Option<String>>,
    presence: IdentityLease,
    /// The newest snapshot and its schema, as far as this program read it.
    snapshot_schema: Mutex<Option<(SnapshotId, u32)>>,
    is_stopping: AtomicBool,
}

/// When things were done last, by uptime.
#[derive(Default)]
struct Timing {
    checked: Option<Duration>,
    reported: Option<(Duration, LogPosition)>,
    /// Since when the store lacks changes that the server has named, and its position then.
    lagging: Option<(Duration, LogPosition)>,
}

impl Replica {
    /// Creates the background work of a shared store.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        log: Arc<MachineLog>,
        leases: Arc<LeaseKeeper>,
        random: Arc<dyn RandomSource>,
    ) -> Self {
        let is_stopping = AtomicBool::new(false);
        let (timing, snapshot_schema) = (Mutex::default(), Mutex::default());
        let presence = log.presence();
        let problem = Mutex::default();
        Self { store, log, leases, random, timing, problem, presence, snapshot_schema, is_stopping }
    }

    /// Returns the log that the store's writer calls.
    #[must_use]
    pub fn log(&self) -> &Arc<MachineLog> {
        &self.log
    }

    /// Returns the leases, which [`Replica::renew_leases`] renews.
    #[must_use]
    pub fn leases(&self) -> &Arc<LeaseKeeper> {
        &self.leases
    }

    /// Returns why the store could not apply the batches of other machines in the last round.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Ends a round of [`Replica::follow`] that waits.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.log.engine().interrupt();
    }

    /// Does one round: waits for new batches, for about a second, and applies them. With polling
    /// it does not wait: the caller waits for the returned pause.
    pub fn follow(&self) -> Round {
        let followed = self.try_follow();
        let is_ready = self.log.condition() == Condition::Ready;
        // The log has its own failures; this is one of the store, such as a full disk.
        let failed = followed.as_ref().err().filter(|_| is_ready).map(ToString::to_string);
        let problem = failed.or_else(|| self.stall(followed.is_ok()));
        if let Some(problem) = &problem
            && self.problem().as_ref() != Some(problem)
        {
            tracing::warn!(problem, "changes of other machines not applied");
        }
        *self.problem.lock() = problem;
        match followed {
            Ok(batches) => {
                let is_polling = self.log.engine().delivery() == Delivery::Polling;
                let pause = if is_polling && batches == 0 { POLL } else { Duration::ZERO };
                Round { batches, pause }
            }
            Err(error) => {
                let is_stopped = matches!(self.log.condition(), Condition::Stopped { .. });
                // The log writes its own failures to the daemon's log when they begin.
                tracing::debug!(%error, "cannot follow the commit log");
                Round { batches: 0, pause: if is_stopped { STOPPED_PAUSE } else { POLL } }
            }
        }
    }

    /// Describes a server that names changes and returns none of them for [`STALL`].
    fn stall(&self, has_followed: bool) -> Option<String> {
        let position = self.store.log_position().ok()??;
        let behind = self.log.behind(position);
        let (mut timing, now) = (self.timing.lock(), self.log.uptime());
        if behind == 0 || !has_followed {
            timing.lagging = None;
            return None;
        }
        let former = timing.lagging.filter(|(_, former)| *former == position);
        let (since, _) = *timing.lagging.insert(former.unwrap_or((now, position)));
        (now >= since + STALL).then(|| {
            format!(
                "the server names {behind} changes that it does not return; a pooler that keeps \
                 results of queries can be the cause: turn its cache off"
            )
        })
    }

    fn try_follow(&self) -> Result<u64, StoreError> {
        let Some(position) = self.store.log_position()? else { return Ok(0) };
        if self.log.condition() != Condition::Ready {
            self.log.probe(position)?;
            self.timing.lock().checked = None;
        }
        let begin = self.log.uptime();
        let is_check_due =
            self.timing.lock().checked.is_none_or(|checked| begin >= checked + CHECK);
        let has_jobs = self.store.jobs_for_log() > 0;
        let is_notified = self.log.engine().delivery() == Delivery::Notified;
        let limit = match is_notified && !is_check_due && !has_jobs {
            true => POLL,
            false => Duration::ZERO,
        };
        let must_read = is_check_due || has_jobs;
        let newest = if must_read {
            None
        } else {
            let engine = self.log.engine();
            self.log.set_condition_of(engine.wait(position.number, limit))?
        };
        if self.is_stopping.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let mut batches = 0;
        let mut position = position;
        if must_read || newest.is_some() {
            // A smaller number than the store's is no position of this log, which a read notices.
            let followed = match newest.filter(|newest| *newest > position.number) {
                Some(newest) => self.store.follow_to(newest)?,
                None => self.store.follow()?,
            };
            (batches, position) = (followed.batches, followed.position);
            if must_read || batches > 0 {
                self.timing.lock().checked = Some(begin);
            }
        }
        // `follow` ends when the log has no further batch, and `wait` when the head is the same.
        // After `follow_to`, the store has the last batch of a notification. A lost notification is
        // made up for by the next look at the head: after a second without any, or after `CHECK`.
        if self.log.behind(position) == 0 {
            self.log.confirm_current(begin);
        }
        self.report(position)?;
        Ok(batches)
    }

    /// Reports the position to the registry, if it is time.
    fn report(&self, position: LogPosition) -> Result<(), StoreError> {
        let now = self.log.uptime();
        let is_due = match self.timing.lock().reported {
            None => true,
            Some((at, reported)) => {
                let interval = if reported == position { UNCHANGED_REPORT } else { REPORT };
                now >= at + interval
            }
        };
        if is_due {
            let engine = self.log.engine();
            self.log.set_condition_of(engine.report(&self.log.registration(position)))?;
            self.timing.lock().reported = Some((now, position));
        }
        Ok(())
    }

    /// Takes and renews the leases of this machine, if the server answers. Stops this machine if
    /// another process has its identity.
    pub fn renew_leases(&self) {
        if matches!(self.log.condition(), Condition::Away { .. } | Condition::Stopped { .. }) {
            return;
        }
        let engine = self.log.engine();
        let renewed = match self.presence.confirm(&**engine) {
            Ok(true) => self.leases.renew(&**engine),
            Ok(false) => return self.log.stop_as_copied(),
            Err(error) => Err(error),
        };
        if let Err(error) = self.log.set_condition_of(renewed) {
            tracing::debug!(%error, "leases not renewed");
        }
    }

    /// Ends the leases of this machine, so that another machine takes them at once.
    pub fn release_leases(&self) {
        if self.log.condition() == Condition::Ready {
            self.leases.release_all(&**self.log.engine());
        }
    }

    /// Returns whether a snapshot is due: there is none, the log has grown since the newest, or a
    /// newer program raised the schema of the log since then: nobody could join from it.
    pub fn is_snapshot_due(&self) -> Result<bool, Error> {
        let engine = self.log.engine();
        let newest = match newest(&**engine) {
            Ok(newest) => newest,
            Err(Error::NotFound(_)) => return Ok(true),
            Err(error) => return Err(error),
        };
        let head = engine.head()?;
        let batches = head.position.number.saturating_sub(newest.contains.number);
        let is_large = self.log.bytes() >= SNAPSHOT_BYTES && batches > 0;
        Ok(batches >= SNAPSHOT_BATCHES || is_large || self.schema_of(&newest)? < head.schema)
    }

    /// Returns the schema of a snapshot. Reads it once.
    fn schema_of(&self, snapshot: &BrainSnapshot) -> Result<u32, Error> {
        if let Some((id, known)) = *self.snapshot_schema.lock()
            && id == snapshot.id
        {
            return Ok(known);
        }
        let (engine, keyring) = (self.log.engine(), self.log.keyring());
        let found = schema(&**engine, keyring, self.log.identity().brain, snapshot)?;
        *self.snapshot_schema.lock() = Some((snapshot.id, found));
        Ok(found)
    }

    /// Writes a snapshot: a backup of the store at `file`, which must not exist and is removed
    /// afterwards. Reads the snapshot back, deletes older ones, and compacts the log.
    ///
    /// # Errors
    /// Errors of the store and of the engine. Nothing is deleted before the new snapshot is
    /// verified.
    pub fn write_snapshot(
        &self,
        file: &Path,
        now: i64,
        progress: &dyn Fn(u64, u64) -> bool,
    ) -> Result<BrainSnapshot, StoreError> {
        let failed = |error: Error| StoreError::Refused(crate::fault(&error));
        let snapshot = self.upload_snapshot(file, now, progress)?;
        let engine = self.log.engine();
        let (keyring, brain) = (self.log.keyring(), self.log.identity().brain);
        verify(&**engine, keyring, brain, &snapshot, progress).map_err(failed)?;
        self.log.reset_bytes();
        self.delete_old_snapshots().map_err(failed)?;
        let compaction = engine.compact(snapshot.id, MAX_SILENCE).map_err(failed)?;
        tracing::info!(
            batch = snapshot.contains.number,
            bytes = snapshot.bytes,
            deleted_batches = compaction.batches,
            "snapshot written"
        );
        Ok(snapshot)
    }

    /// Makes a backup of the store at `file` and uploads it. Removes the file.
    pub fn upload_snapshot(
        &self,
        file: &Path,
        now: i64,
        progress: &dyn Fn(u64, u64) -> bool,
    ) -> Result<BrainSnapshot, StoreError> {
        let _ = std::fs::remove_file(file);
        // The backup has this position or a later one.
        let position = self.store.log_position()?.unwrap_or_default();
        let contains = Position { number: position.number, id: BatchId(position.id.to_be_bytes()) };
        let uploaded = self.store.back_up(file, now, &|done, total| progress(done, total));
        let uploaded = uploaded.and_then(|_| {
            let identity = self.log.identity();
            let (machine, brain) = (identity.name.as_str(), identity.brain);
            let snapshot = SnapshotFile { path: file, contains, machine, brain };
            let (engine, keyring) = (self.log.engine(), self.log.keyring());
            upload(&**engine, keyring, &snapshot, &*self.random, progress)
                .map_err(|error| StoreError::Refused(crate::fault(&error)))
        });
        let _ = std::fs::remove_file(file);
        uploaded
    }

    fn delete_old_snapshots(&self) -> Result<(), Error> {
        let engine = self.log.engine();
        let clock_ms = engine.head()?.clock_ms;
        let snapshots = engine.snapshots()?;
        let old = snapshots.iter().filter(|snapshot| snapshot.complete).skip(KEPT);
        let abandoned = snapshots.iter().filter(|snapshot| {
            let is_own = snapshot.machine == self.log.identity().name;
            !snapshot.complete && (is_own || snapshot.time_ms + INCOMPLETE_MS < clock_ms)
        });
        for snapshot in old.chain(abandoned) {
            engine.delete_snapshot(snapshot.id)?;
        }
        Ok(())
    }
}
