//! The log as the store sees it: encrypted, of this brain, and with failures as named states.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use brain_base::clock::Clock;
use brain_base::random::RandomSource;
use brain_commit_log::cipher::{BatchPlace, Keys};
use brain_commit_log::{
    Batch, BatchId, Engine, Error, Fence, Head, NewBatch, Position, ReadLimit, Registration,
};
use brain_protocol::VERSION;
use brain_store::{AppendResult, LogBatch, LogPosition, SharedLog, StoreError};
use parking_lot::Mutex;

use crate::condition::{Condition, Failure, copied, no_lease, other_brain, unusable};
use crate::presence::IdentityLease;
use crate::{Identity, Keyring, LeaseKeeper, SCHEMA, Uptime, payload};

/// A difference from the server's clock above this, in milliseconds, is told, and taken from the
/// times of changes.
pub(crate) const CLOCK_LIMIT_MS: i64 = 2_000;
/// How long an append with an unknown outcome is repeated, from its start.
const UNKNOWN_LIMIT: Duration = Duration::from_secs(10);
/// The pause between its repetitions.
const UNKNOWN_PAUSE: Duration = Duration::from_millis(100);
/// A writer tries the server itself if nothing probed it for this long.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// The log of a shared brain on one machine.
pub struct MachineLog {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) identity: Identity,
    keyring: Keyring,
    pub(crate) leases: Arc<LeaseKeeper>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    uptime: Arc<dyn Uptime>,
    state: Mutex<LogState>,
    /// Whether the brain of the log and the schema were checked since the last failure.
    is_checked: AtomicBool,
    /// Whether another process uses this machine's identity. It stays until a restart.
    is_copied: AtomicBool,
    /// The bytes of batches that were written or read since [`MachineLog::reset_bytes`].
    bytes: AtomicU64,
}

struct LogState {
    condition: Condition,
    /// When the server was called last, by uptime.
    last_call: Duration,
    /// When the store was known to have all batches, by uptime.
    current: Option<Duration>,
    /// The last head, and the clock of this machine when it arrived.
    head: Option<(Head, i64)>,
}

fn position(position: LogPosition) -> Position {
    Position { number: position.number, id: BatchId(position.id.to_be_bytes()) }
}

fn log_position(position: &Position) -> LogPosition {
    LogPosition { number: position.number, id: u128::from_be_bytes(position.id.0) }
}

impl MachineLog {
    /// Creates the log of one machine. It calls the server when it is used.
    #[must_use]
    pub fn new(
        engine: Arc<dyn Engine>,
        identity: Identity,
        keyring: Keyring,
        leases: Arc<LeaseKeeper>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
        uptime: Arc<dyn Uptime>,
    ) -> Self {
        let state = LogState {
            condition: Condition::Starting,
            last_call: Duration::ZERO,
            current: None,
            head: None,
        };
        Self {
            engine,
            identity,
            keyring,
            leases,
            clock,
            random,
            uptime,
            state: Mutex::new(state),
            is_checked: AtomicBool::new(false),
            is_copied: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
        }
    }

    /// Returns the engine, for calls beside reads and appends.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Returns this machine's place in the brain.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the leases that this machine holds or asks for.
    #[must_use]
    pub fn leases(&self) -> &Arc<LeaseKeeper> {
        &self.leases
    }

    /// Returns the keys of batches and snapshots.
    #[must_use]
    pub fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Returns whether the log can be used.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.state.lock().condition.clone()
    }

    /// Returns the last head that the server named, and this machine's clock at its arrival.
    #[must_use]
    pub fn last_head(&self) -> Option<(Head, i64)> {
        self.state.lock().head.clone()
    }

    /// Returns how many changes after a position the server has named.
    pub(crate) fn behind(&self, position: LogPosition) -> u64 {
        let state = self.state.lock();
        let head = state.head.as_ref().map_or(0, |(head, _)| head.position.number);
        head.saturating_sub(position.number)
    }

    /// Returns how long ago the store was known to have all batches; `None` if never.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let current = self.state.lock().current?;
        Some(self.uptime.now().saturating_sub(current))
    }

    /// Records that the store had all batches at a time.
    pub(crate) fn confirm_current(&self, at: Duration) {
        let mut state = self.state.lock();
        state.current = state.current.max(Some(at));
    }

    /// Returns the uptime for [`MachineLog::confirm_current`].
    pub(crate) fn uptime(&self) -> Duration {
        self.uptime.now()
    }

    /// Returns the bytes of batches seen since the last reset.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Starts to count bytes again.
    pub(crate) fn reset_bytes(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Returns the entry of this machine in the registry.
    #[must_use]
    pub fn registration(&self, at: LogPosition) -> Registration {
        Registration {
            name: self.identity.name.clone(),
            id: self.identity.machine,
            version: VERSION.to_owned(),
            position: position(at),
        }
    }

    /// Tries whether the log can be used: reads one batch after a position, opens it, and reports
    /// to the registry. The follower calls it while the log is not ready.
    pub fn probe(&self, after: LogPosition) -> Result<(), StoreError> {
        let limit = ReadLimit { batches: 1, bytes: 1 };
        let result = self.try_read(after, limit).and_then(|_| {
            let engine = &self.engine;
            engine.report(&self.registration(after)).map_err(|e| Failure::of(&e, 0))
        });
        self.set_condition(result.map(|_| self.end_stop()))
    }

    /// Lets a machine start again that had stopped, after a call that shows that it can.
    fn end_stop(&self) {
        let mut state = self.state.lock();
        if matches!(state.condition, Condition::Stopped { .. }) {
            state.condition = Condition::Starting;
        }
    }

    /// Sets the condition by the result of a call of the engine.
    ///
    /// # Errors
    /// The same failure as the store's error.
    pub fn set_condition_of<T>(&self, result: Result<T, Error>) -> Result<T, StoreError> {
        self.set_condition(result.map_err(|error| Failure::of(&error, 0)))
    }

    /// Returns what notices a copy of this machine.
    pub(crate) fn presence(&self) -> IdentityLease {
        let Identity { name, machine, .. } = &self.identity;
        IdentityLease::new(name.clone(), *machine, self.uptime.clone())
    }

    /// Stops this machine until the program is started again: another process has its identity.
    pub(crate) fn stop_as_copied(&self) {
        self.is_copied.store(true, Ordering::Relaxed);
        let _ = self.set_condition::<()>(Err(Failure::Stopped(copied(&self.identity.name))));
    }

    /// Sets the condition by the result of a call.
    fn set_condition<T>(&self, result: Result<T, Failure>) -> Result<T, StoreError> {
        let mut state = self.state.lock();
        state.last_call = self.uptime.now();
        let failure = match result {
            Ok(value) => {
                // A read that began before this machine stopped does not start it again.
                let is_stopped = matches!(state.condition, Condition::Stopped { .. });
                if state.condition != Condition::Ready && !is_stopped {
                    tracing::info!(server = self.engine.address(), "commit log ready");
                    state.condition = Condition::Ready;
                }
                return Ok(value);
            }
            Err(failure) => failure,
        };
        let now = self.clock.now();
        match &failure {
            Failure::Away(reason) => self.set_away(&mut state, reason, now),
            Failure::Unknown(fault) => self.set_away(&mut state, &fault.message, now),
            Failure::Stopped(stop) => {
                self.is_checked.store(false, Ordering::Relaxed);
                let since = match &state.condition {
                    Condition::Stopped { stop: former, since } if former.state == stop.state => {
                        *since
                    }
                    _ => {
                        let fault = &stop.fault;
                        let state = stop.state.as_str();
                        tracing::error!(state, %fault, "this machine stopped");
                        now
                    }
                };
                state.condition = Condition::Stopped { stop: stop.clone(), since };
            }
            Failure::Refused(_) => {}
        }
        Err(failure.into_store_error())
    }

    fn set_away(&self, state: &mut LogState, reason: &str, now: i64) {
        self.is_checked.store(false, Ordering::Relaxed);
        let since = match &state.condition {
            Condition::Away { since, .. } => *since,
            _ => {
                tracing::warn!(reason, "commit log away");
                now
            }
        };
        state.condition = Condition::Away { reason: reason.to_owned(), since };
    }

    /// Fails at once while the server is away or this machine has stopped.
    fn check_condition(&self) -> Result<(), StoreError> {
        let state = self.state.lock();
        let failure = match &state.condition {
            Condition::Starting | Condition::Ready => return Ok(()),
            Condition::Away { reason, .. } => Failure::Away(reason.clone()),
            Condition::Stopped { stop, .. } => Failure::Stopped(stop.clone()),
        };
        if self.uptime.now().saturating_sub(state.last_call) > PROBE_LIMIT {
            return Ok(());
        }
        Err(failure.into_store_error())
    }

    /// Remembers a head, and checks that it is this brain's.
    fn see_head(&self, head: &Head) -> Result<(), Failure> {
        if head.brain != self.identity.brain {
            return Err(Failure::Stopped(other_brain(self.engine.address())));
        }
        self.keyring.note_generation(head.key_generation);
        self.state.lock().head = Some((head.clone(), self.clock.now()));
        Ok(())
    }

    /// Checks the log once after each failure: its brain and its schema.
    fn check_log(&self) -> Result<(), Failure> {
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        if self.is_copied.load(Ordering::Relaxed) {
            return Err(Failure::Stopped(copied(&self.identity.name)));
        }
        let failed = |error: Error| Failure::of(&error, 0);
        let engine = &self.engine;
        let head = engine.head().map_err(failed)?;
        self.see_head(&head)?;
        head.check_reader(SCHEMA).map_err(failed)?;
        self.is_checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Raises the schema of the log before the first batch of a newer program.
    fn raise_schema(&self) -> Result<(), Failure> {
        let mut state = self.state.lock();
        let Some((head, _)) = &mut state.head else { return Ok(()) };
        if head.schema >= SCHEMA {
            return Ok(());
        }
        head.schema = SCHEMA;
        drop(state);
        let engine = &self.engine;
        engine.raise_schema(SCHEMA, SCHEMA).map_err(|e| Failure::of(&e, 0))?;
        tracing::info!(schema = SCHEMA, "schema of the commit log raised; older programs stop");
        Ok(())
    }

    fn keys(&self) -> Result<Option<Arc<Keys>>, Failure> {
        let engine = &self.engine;
        self.keyring.keys(&**engine).map_err(|error| Failure::of(&error, 0))
    }

    fn seal(&self, expected: &Position, id: BatchId, changes: &[u8]) -> Result<Vec<u8>, Failure> {
        let content = payload::encode(changes);
        let Some(keys) = self.keys()? else { return Ok(content) };
        let machine = &self.identity.name;
        let place = BatchPlace { brain: self.identity.brain, predecessor: *expected, id, machine };
        keys.seal_batch(&place, &content, &*self.random).map_err(|e| Failure::of(&e, 0))
    }

    /// Opens a batch. After an unknown key, the keys are read again once.
    fn open(&self, batch: &Batch) -> Result<LogBatch, Failure> {
        let brain = self.identity.brain;
        let failed = |error: Error| Failure::of(&error, 0);
        self.bytes.fetch_add(batch.payload.len() as u64, Ordering::Relaxed);
        let content = match self.keys()? {
            None => batch.payload.clone(),
            Some(keys) => match keys.open_batch(brain, batch) {
                Err(Error::UnknownKey(name)) => {
                    let reloaded = self.keyring.reload(&*self.engine);
                    let keys = reloaded.map_err(failed)?;
                    let keys = keys.ok_or_else(|| failed(Error::UnknownKey(name)))?;
                    // The server has all keys, so a key that is still unknown is none.
                    keys.open_batch(brain, batch).map_err(|error| failed(as_forged(error)))?
                }
                opened => opened.map_err(failed)?,
            },
        };
        let changes = payload::decode(&content)
            .map_err(|problem| Failure::Stopped(unusable(batch.position.number, problem)))?;
        Ok(LogBatch { position: log_position(&batch.position), changes })
    }

    fn open_all(&self, batches: &[Batch]) -> Result<Vec<LogBatch>, Failure> {
        batches.iter().map(|batch| self.open(batch)).collect()
    }

    fn try_read(&self, after: LogPosition, limit: ReadLimit) -> Result<Vec<LogBatch>, Failure> {
        self.check_log()?;
        let begin = self.uptime.now();
        let found = self.engine.read(&position(after), limit);
        let found = found.map_err(|error| Failure::of(&error, 0))?;
        self.see_head(&found.head)?;
        // A replaced key is noticed here, also if nothing was written with it.
        self.keys()?;
        if found.batches.is_empty() && found.head.position.number <= after.number {
            self.confirm_current(begin);
        }
        self.open_all(&found.batches)
    }

    fn try_append(
        &self,
        expected: LogPosition,
        changes: &[u8],
        fence: Option<Fence>,
    ) -> Result<AppendResult, Failure> {
        let started = Instant::now();
        let begin = self.uptime.now();
        let failed = |error: Error| Failure::of(&error, changes.len());
        self.check_log()?;
        self.raise_schema()?;
        let expected = position(expected);
        let id = BatchId::random(&*self.random).map_err(|e| failed(e.into()))?;
        let payload = self.seal(&expected, id, changes)?;
        let size = payload.len() as u64;
        let batch = NewBatch { id, machine: self.identity.name.clone(), payload, fence };
        let mut unknown = None;
        loop {
            let error = match self.engine.append(&expected, &batch) {
                Ok(head) => {
                    // The expected id proves that the log is this brain's.
                    let _ = self.see_head(&head);
                    self.confirm_current(begin);
                    self.bytes.fetch_add(size, Ordering::Relaxed);
                    let number = expected.number + 1;
                    return Ok(AppendResult::Appended(log_position(&Position { number, id })));
                }
                Err(Error::Moved(found)) => {
                    self.see_head(&found.head)?;
                    return Ok(AppendResult::Moved(self.open_all(&found.batches)?));
                }
                Err(error) => error,
            };
            match Failure::of(&error, changes.len()) {
                Failure::Unknown(fault) => unknown = Some(fault),
                // The server looked for an earlier try before it refused this one.
                failure if unknown.is_none() || is_certain(&error) => return Err(failure),
                _ => {}
            }
            if started.elapsed() + UNKNOWN_PAUSE >= UNKNOWN_LIMIT
                && let Some(fault) = unknown
            {
                return Err(Failure::Unknown(fault));
            }
            std::thread::sleep(UNKNOWN_PAUSE);
        }
    }
}

/// Returns the error of a message whose key is not even among the keys that were just read.
pub(crate) fn as_forged(error: Error) -> Error {
    match error {
        Error::UnknownKey(name) => Error::Forged(name),
        error => error,
    }
}

/// Returns whether an earlier try of the same batch cannot be in the log after this error, also
/// not later.
fn is_certain(error: &Error) -> bool {
    matches!(error, Error::Fenced { .. } | Error::NotRegistered { .. } | Error::TooNew { .. })
}

impl SharedLog for MachineLog {
    fn append(
        &self,
        expected: LogPosition,
        changes: &[u8],
        lease: Option<&'static str>,
    ) -> Result<AppendResult, StoreError> {
        self.check_condition()?;
        let fence = match lease {
            None => None,
            Some(name) => {
                Some(self.leases.fence(name).ok_or_else(|| StoreError::Refused(no_lease(name)))?)
            }
        };
        self.set_condition(self.try_append(expected, changes, fence).inspect(|_| self.end_stop()))
    }

    fn read(&self, after: LogPosition) -> Result<Vec<LogBatch>, StoreError> {
        self.check_condition()?;
        self.set_condition(self.try_read(after, ReadLimit::default()))
    }

    fn wait_for_notification(&self, after: LogPosition, limit: Duration) -> bool {
        self.condition() == Condition::Ready
            && self.engine.wait_for_notification(after.number, limit)
    }

    fn clock_ahead(&self) -> i64 {
        let ahead = self.last_head().map_or(0, |(head, seen_at)| seen_at - head.clock_ms);
        if ahead.abs() > CLOCK_LIMIT_MS { ahead } else { 0 }
    }
}
