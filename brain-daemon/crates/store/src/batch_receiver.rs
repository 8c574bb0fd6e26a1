//! Collects queued write tasks into batches.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::write_task::{TaskBatch, WriteTask};

/// Maximum blocking tasks in a batch: large enough that a flush serves many tasks, and small
/// enough that some writers commit while others still write their files.
const MAX_BATCH: usize = 32;

/// Maximum tasks in a batch of tasks with callbacks. No page files follow them, so a flush of many
/// costs hardly more than a flush of a few.
const MAX_CALLBACK_BATCH: usize = 256;

/// Maximum time that a batch waits for the callers of the previous batch to return.
const MAX_BATCH_WAIT: Duration = Duration::from_millis(1);

/// The same in a shared brain, whose batches take longer: a quarter of the last batch's time, at
/// most this. Those who miss a batch wait for the server twice.
const MAX_SHARED_WAIT: Duration = Duration::from_millis(10);

/// Collects queued tasks into batches.
pub(super) struct BatchReceiver<'q> {
    tasks: &'q Receiver<Box<dyn WriteTask>>,
    /// Number of tasks in the previous batch.
    last_len: usize,
    /// Maximum time for as many tasks to arrive.
    max_wait: Duration,
}

impl<'q> BatchReceiver<'q> {
    pub(super) fn new(tasks: &'q Receiver<Box<dyn WriteTask>>) -> Self {
        Self { tasks, last_len: 1, max_wait: MAX_BATCH_WAIT }
    }

    /// Sets how long the next batches wait, after a batch of a shared brain that took this long.
    pub(super) fn adapt_wait(&mut self, took: Duration) {
        self.max_wait = (took / 4).clamp(MAX_BATCH_WAIT, MAX_SHARED_WAIT);
    }

    /// Returns the next batch; `None` when the queue is closed or `timeout` has passed.
    pub(super) fn batch(&mut self, timeout: Option<Duration>) -> Option<TaskBatch> {
        let first = match timeout {
            Some(timeout) => self.tasks.recv_timeout(timeout).ok()?,
            None => self.tasks.recv().ok()?,
        };
        let mut batch = vec![first];
        // Callers of the previous batch are likely to return soon; a single caller never waits.
        // Tasks with callbacks do not wait for each other: more arrive during the flush.
        self.fill(&mut batch, Instant::now() + self.max_wait);
        Some(batch)
    }

    /// Adds the tasks that have arrived meanwhile. Does not wait.
    pub(super) fn add_arrived(&mut self, batch: &mut TaskBatch) {
        self.fill(batch, Instant::now());
        batch.retain(|task| !task.is_wakeup());
    }

    /// Adds all waiting tasks to a batch. Then waits until it is as large as the previous one, at
    /// most until `deadline`.
    fn fill(&mut self, batch: &mut TaskBatch, deadline: Instant) {
        let blocks = |task: &dyn WriteTask| !task.has_callback() && !task.is_wakeup();
        let mut blocking = batch.iter().filter(|task| blocks(&***task)).count();
        while blocking < MAX_BATCH && batch.len() < MAX_CALLBACK_BATCH {
            let next = match self.tasks.try_recv() {
                Ok(task) => Ok(task),
                Err(_) if blocking > 0 && batch.len() < self.last_len => {
                    self.tasks.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
                Err(_) => break,
            };
            match next {
                Ok(task) => {
                    blocking += usize::from(blocks(&*task));
                    batch.push(task);
                }
                Err(_) => break,
            }
        }
        let count = batch.iter().filter(|task| !task.is_wakeup()).count();
        if count > 0 {
            self.last_len = count;
        }
    }
}
