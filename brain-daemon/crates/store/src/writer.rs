//! Writer thread: owns the write transaction and commits queued tasks in batches.
//!
//! A task is answered after its commit is on disk. Ingest jobs take a shorter path
//! ([`super::group_commit`]). Tasks that arrive during a flush form the next batch, so one flush
//! serves all of them.
//!
//! A task must check its preconditions before it writes. A task that fails before it writes does
//! not affect the others. If a task fails after it wrote, the transaction is rolled back and the
//! batch runs again without that task.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch_receiver::BatchReceiver;
use super::change::CommitHook;
use super::commit::commit;
use super::compaction::compact_open;
use super::group_commit::GroupCommit;
use super::shared_state::SharedState;
use super::write_task::{BlockingTask, CallbackTask, Wakeup, WriteTask, catch_panic};
use super::{StoreError, Transaction, shared_writer};

/// Maximum queued tasks. Beyond it, [`Writer::call`] waits and [`Writer::submit`] refuses.
const MAX_QUEUED: usize = 1024;

/// Queue and thread of the writer.
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn WriteTask>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(shared: Arc<SharedState>, hook: CommitHook) -> std::io::Result<Self> {
        let (queue, tasks) = sync_channel(MAX_QUEUED);
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run_writer(&shared, &tasks, &hook))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Runs `work` in the next transaction and waits until it is durable.
    pub(super) fn call<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, outcome) = sync_channel(1);
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(Box::new(BlockingTask::new(work, answer))).map_err(|_| StoreError::Closed)?;
        outcome.recv().map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    pub(super) fn wake(&self) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(Box::new(Wakeup)).map_err(|_| StoreError::Closed)
    }

    /// Queues `work` for the next transaction without waiting; `done` receives the result.
    pub(super) fn submit<T, F, D>(&self, work: F, done: D)
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        D: FnOnce(Result<T, StoreError>) + Send + 'static,
    {
        let task: Box<dyn WriteTask> = Box::new(CallbackTask::new(work, done));
        let outcome = match &self.queue {
            Some(queue) => queue.try_send(task),
            None => Err(TrySendError::Disconnected(task)),
        };
        match outcome {
            Ok(()) => {}
            Err(TrySendError::Full(task)) => task.finish(Err(StoreError::QueueFull(MAX_QUEUED))),
            Err(TrySendError::Disconnected(task)) => task.finish(Err(StoreError::Closed)),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run_writer(shared: &SharedState, tasks: &Receiver<Box<dyn WriteTask>>, hook: &CommitHook) {
    let mut group_commit = GroupCommit::new(shared);
    let mut log_spool = None;
    let mut receiver = BatchReceiver::new(tasks);
    while let Some(mut batch) = receiver.batch(None) {
        if shared.leave_read_only() {
            group_commit.reset();
        }
        if shared.is_shared.load(Ordering::Acquire) {
            group_commit.remove_empty_spool();
            let (began, is_wakeup) = (Instant::now(), batch.iter().all(|task| task.is_wakeup()));
            shared_writer::write(shared, &mut log_spool, batch, hook, &mut receiver);
            if !is_wakeup {
                receiver.adapt_wait(began.elapsed());
            }
        } else {
            receiver.adapt_wait(Duration::ZERO);
            let mut recovered = group_commit.recover();
            if recovered.is_ok() && batch.iter().all(|task| task.has_callback()) {
                match group_commit.process(batch, &mut receiver) {
                    Some(rest) => batch = rest,
                    None => continue,
                }
                recovered = group_commit.recover();
            }
            commit(shared, batch, hook, &recovered);
        }
        shared_writer::follow_if_requested(shared, &mut log_spool, hook);
        compact_if_requested(shared, &mut group_commit);
    }
    if !shared.is_shared.load(Ordering::Acquire) {
        group_commit.close();
    }
}

/// Compacts the store for the callers that wait for it.
fn compact_if_requested(shared: &SharedState, group_commit: &mut GroupCommit<'_>) {
    let requests = std::mem::take(&mut *shared.compaction_requests.lock());
    if requests.is_empty() {
        return;
    }
    group_commit.remove_empty_spool();
    let result = catch_panic(|| compact_open(shared));
    for request in requests {
        // The caller may no longer wait.
        let _ = request.send(result.clone());
    }
}
