//! Queued write tasks, and how they are answered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;

use super::{StoreError, Transaction};

/// A queued write. Object-safe, so that one queue carries tasks with different results.
pub(super) trait WriteTask: Send {
    /// Runs the task in `transaction`. May run again on a fresh transaction.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError>;
    /// Reports the result to the caller.
    fn finish(self: Box<Self>, result: Result<(), StoreError>);
    /// Whether the task reports to a callback and blocks no thread. Its callback runs when the
    /// write is durable, perhaps before a snapshot shows it.
    fn has_callback(&self) -> bool {
        false
    }
    /// Whether the task does nothing but wake the writer.
    fn is_wakeup(&self) -> bool {
        false
    }
}

/// Wakes the writer, which looks at the requests after each batch.
pub(super) struct Wakeup;

impl WriteTask for Wakeup {
    fn run(&mut self, _: &mut Transaction<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn finish(self: Box<Self>, _: Result<(), StoreError>) {}

    fn is_wakeup(&self) -> bool {
        true
    }
}

/// A task whose caller waits.
pub(super) struct BlockingTask<T, F> {
    work: F,
    output: Option<T>,
    answer: SyncSender<Result<T, StoreError>>,
}

impl<T, F> BlockingTask<T, F> {
    pub(super) fn new(work: F, answer: SyncSender<Result<T, StoreError>>) -> Self {
        Self { work, output: None, answer }
    }
}

impl<T, F> WriteTask for BlockingTask<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.output = Some((self.work)(transaction)?);
        Ok(())
    }

    fn finish(self: Box<Self>, result: Result<(), StoreError>) {
        let Self { output, answer, .. } = *self;
        // The page is stored even if the caller no longer waits.
        let _ = answer.send(result.and_then(|()| output.ok_or(StoreError::Closed)));
    }
}

/// A task that reports to a callback.
pub(super) struct CallbackTask<T, F, D> {
    work: F,
    output: Option<T>,
    done: D,
}

impl<T, F, D> CallbackTask<T, F, D> {
    pub(super) fn new(work: F, done: D) -> Self {
        Self { work, output: None, done }
    }
}

impl<T, F, D> WriteTask for CallbackTask<T, F, D>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send,
    D: FnOnce(Result<T, StoreError>) + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.output = Some((self.work)(transaction)?);
        Ok(())
    }

    fn finish(self: Box<Self>, result: Result<(), StoreError>) {
        let Self { output, done, .. } = *self;
        let result = result.and_then(|()| output.ok_or(StoreError::Closed));
        // A panic in one callback must not keep the other tasks from being answered.
        if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
            tracing::error!("panic in the callback of a write");
        }
    }

    fn has_callback(&self) -> bool {
        true
    }
}

/// The tasks of a transaction.
pub(super) type TaskBatch = Vec<Box<dyn WriteTask>>;

/// For each task of a batch, the error with which it was refused.
pub(super) type TaskErrors = Vec<Option<StoreError>>;

/// Reports each task's result.
pub(super) fn answer(batch: TaskBatch, refusals: TaskErrors) {
    for (task, refusal) in batch.into_iter().zip(refusals) {
        task.finish(refusal.map_or(Ok(()), Err));
    }
}

/// Reports `error` to all tasks.
pub(super) fn refuse(batch: TaskBatch, error: &StoreError) {
    for task in batch {
        task.finish(Err(error.clone()));
    }
}

/// Converts a panic to an I/O error: the transaction's state is unknown.
pub(super) fn catch_panic<T, E: From<StoreError>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::Io("a defect stopped the commit".into()).into()))
}
