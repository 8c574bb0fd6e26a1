//! The check of the store's size.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::{Command, Fault, hint};
use brain_service::health::{Finding, ok, warn};
use brain_store::{SpaceCount, SpaceUsage, Store, StoreOptions};
use parking_lot::{Condvar, Mutex};

/// Maximum time that a check waits for the count of the part in use.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// Time for which a count that took longer than [`MAX_WAIT`] is used again.
const RECOUNT_AFTER: Duration = Duration::from_secs(600);
/// Size of a store above which its used part is not counted, because that reads the whole store.
const MAX_COUNTED_BYTES: u64 = 4_000_000_000;

/// The size of a store and its part in use. A thread counts that part, because it reads the whole
/// store. A check that does not wait for it shows the former count.
pub(crate) struct StoreSize {
    store: Arc<Store>,
    count: Arc<Count>,
}

/// A count of the part in use, and the last result.
#[derive(Default)]
struct Count {
    state: Mutex<CountState>,
    done: Condvar,
}

#[derive(Default)]
struct CountState {
    is_running: bool,
    last: Option<CountResult>,
}

#[derive(Clone)]
struct CountResult {
    in_use: Result<u64, Fault>,
    took: Duration,
    at: Instant,
}

impl StoreSize {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, count: Arc::default() }
    }

    /// Warns if much of the store is unused and a start cannot return it to the file system.
    pub(crate) fn finding(&self) -> Finding {
        let on_disk = self.store.bytes_on_disk()?;
        let shown = format!("{} MB on the disk", on_disk / 1_000_000);
        if on_disk > MAX_COUNTED_BYTES {
            return ok(format!(
                "{shown}; the part in use is not counted above {} GB",
                MAX_COUNTED_BYTES / 1_000_000_000
            ));
        }
        let Some(in_use) = self.count.in_use(&self.store)? else {
            return ok(format!("{shown}; the part in use is being counted"));
        };
        let min_returned_bytes = StoreOptions::MIN_RETURNED_BYTES;
        let usage = SpaceUsage { on_disk, in_use, min_returned_bytes };
        let shown =
            format!("{shown}, {} MB in use; the rest is reusable", usage.in_use / 1_000_000);
        if usage.is_due() {
            return ok(format!("{shown}; the next start returns it to the file system"));
        }
        if usage.is_wasteful() {
            let hint = hint!(
                "{}, then {} into an empty home: a copy has no gaps",
                Command::BackupCreate { file: None },
                Command::BackupRestore { file: None }
            );
            return warn(format!("{shown}, but a start cannot return that much"), hint);
        }
        ok(shown)
    }
}

impl Count {
    /// Returns the part in use, in bytes. Counts it, unless a long count has just ended. `None` if
    /// the first count takes longer than [`MAX_WAIT`].
    fn in_use(self: &Arc<Self>, store: &Store) -> Result<Option<u64>, Fault> {
        let mut state = self.state.lock();
        let is_known = state
            .last
            .as_ref()
            .is_some_and(|last| last.took > MAX_WAIT && last.at.elapsed() < RECOUNT_AFTER);
        if !state.is_running && !is_known {
            let (space, count) = (store.count_space()?, Arc::clone(self));
            let thread = std::thread::Builder::new().name("doctor".into());
            state.is_running = thread.spawn(move || count.run(space)).is_ok();
        }
        let until = Instant::now() + MAX_WAIT;
        while state.is_running && !self.done.wait_until(&mut state, until).timed_out() {}
        state.last.as_ref().map(|last| last.in_use.clone()).transpose()
    }

    /// Counts. Does not keep the store open, because a count can outlast the daemon's end.
    fn run(&self, space: SpaceCount) {
        let began = Instant::now();
        let in_use = space.bytes_in_use().map_err(Fault::from);
        let last = CountResult { in_use, took: began.elapsed(), at: Instant::now() };
        let mut state = self.state.lock();
        (state.is_running, state.last) = (false, Some(last));
        drop(state);
        self.done.notify_all();
    }
}
