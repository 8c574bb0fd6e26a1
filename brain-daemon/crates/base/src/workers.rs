//! The states of the background workers, for `status`, `doctor` and metrics.

use brain_protocol::{WorkerFailure, WorkerState, WorkerStatus};
use parking_lot::{Mutex, MutexGuard};

use crate::clock::rfc3339;

/// The state of each worker. The runner of the workers writes it; every service can read it.
#[derive(Debug, Default)]
pub struct WorkerStates(Mutex<Vec<WorkerStatus>>);

impl WorkerStates {
    fn workers(&self) -> MutexGuard<'_, Vec<WorkerStatus>> {
        self.0.lock()
    }

    /// Sets the state of the worker `name`. Adds the worker if it is new.
    pub fn set(&self, name: &str, state: WorkerState) {
        self.update(name, |worker| worker.state = state);
    }

    /// Records that the worker failed at `now`, in Unix milliseconds, and is going to restart.
    pub fn record_failure(&self, name: &str, message: String, now: i64) {
        self.update(name, |worker| {
            worker.state = WorkerState::Restarting;
            worker.restarts += 1;
            worker.failure = Some(WorkerFailure { message, at: rfc3339(now) });
        });
    }

    /// Forgets the last failure, because the worker has run for a while.
    pub fn clear_failure(&self, name: &str) {
        self.update(name, |worker| worker.failure = None);
    }

    /// Returns all workers, in the order in which they were added.
    #[must_use]
    pub fn list(&self) -> Vec<WorkerStatus> {
        self.workers().clone()
    }

    fn update(&self, name: &str, change: impl FnOnce(&mut WorkerStatus)) {
        let mut workers = self.workers();
        if let Some(worker) = workers.iter_mut().find(|worker| worker.name == name) {
            return change(worker);
        }
        let mut worker = WorkerStatus {
            name: name.to_owned(),
            state: WorkerState::Waiting,
            restarts: 0,
            failure: None,
        };
        change(&mut worker);
        workers.push(worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_until_the_worker_runs_again() {
        let states = WorkerStates::default();
        states.set("sync", WorkerState::Running);
        states.set("ingest", WorkerState::Waiting);
        for now in [0, 86_400_000] {
            states.record_failure("sync", "the disk is full".into(), now);
        }
        let [sync, ingest] = &states.list()[..] else { panic!("{states:?}") };
        assert_eq!(
            (sync.name.as_str(), sync.state, sync.restarts),
            ("sync", WorkerState::Restarting, 2)
        );
        assert_eq!(
            sync.failure.as_ref().map(|it| it.at.as_str()),
            Some("1970-01-02T00:00:00.000Z")
        );
        assert_eq!((ingest.name.as_str(), ingest.restarts), ("ingest", 0));
        states.set("sync", WorkerState::Running);
        states.clear_failure("sync");
        let sync = &states.list()[0];
        assert_eq!((sync.state, sync.restarts, &sync.failure), (WorkerState::Running, 2, &None));
    }
}
