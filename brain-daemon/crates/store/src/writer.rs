//! Writer thread: owns the write transaction and commits queued tasks in batches.
//!
//! A task is answered after its commit is on disk. Ingest jobs take a shorter path
//! ([`super::group_commit`]). Tasks that arrive during a flush form the next batch, so one flush
//! serves all of them.
//!
//! A task must check its preconditions before it writes. A task that fails before it writes does
//! not affect the others. If a task fails after it wrote, the transaction is rolled back and the
//! batch runs again without that task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brain_protocol::{Slug, SourceId};

use super::batch_receiver::BatchReceiver;
use super::compaction::compact_open;
use super::group_commit::GroupCommit;
use super::record::{Content, PageRecord};
use super::shared_log::LogBatch;
use super::shared_state::SharedState;
use super::{Draft, StoreError, shared_writer};

/// Maximum queued tasks. Beyond it, [`Writer::call`] waits and [`Writer::submit`] refuses.
const MAX_QUEUED: usize = 1024;

/// A page after a committed change, for consumers that derive data from pages.
#[derive(Debug)]
pub struct ChangedPage {
    /// The page's source.
    pub source: SourceId,
    /// The page's slug.
    pub slug: Slug,
    /// The page's record.
    pub record: PageRecord,
    /// The page's text.
    pub content: Content,
    /// Whether the page was read from its file, rather than written to it.
    pub is_from_file: bool,
}

/// One committed change.
#[derive(Debug, Clone)]
pub struct Change {
    /// The change's sequence number.
    pub seq: u64,
    /// The page's id.
    pub id: u64,
    /// The page after the change; `None` when it is deleted or purged.
    pub page: Option<Arc<ChangedPage>>,
    /// Whether the change belongs to a bulk write that is not acknowledged yet; see
    /// [`Draft::mark_as_bulk`].
    pub is_bulk: bool,
}

/// Receives the changes of each commit, in order: after the commit is durable, before its writers
/// are answered.
pub type CommitHook = Box<dyn Fn(Vec<Change>) + Send>;

/// A queued write. Object-safe, so that one queue carries tasks with different results.
pub(super) trait WriteTask: Send {
    /// Runs the task in `draft`. May run again on a fresh draft.
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError>;
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
struct Wakeup;

impl WriteTask for Wakeup {
    fn run(&mut self, _: &mut Draft<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn finish(self: Box<Self>, _: Result<(), StoreError>) {}

    fn is_wakeup(&self) -> bool {
        true
    }
}

struct BlockingTask<T, F> {
    work: F,
    output: Option<T>,
    answer: SyncSender<Result<T, StoreError>>,
}

impl<T, F> WriteTask for BlockingTask<T, F>
where
    T: Send,
    F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        self.output = Some((self.work)(draft)?);
        Ok(())
    }

    fn finish(self: Box<Self>, result: Result<(), StoreError>) {
        let Self { output, answer, .. } = *self;
        // The page is stored even if the caller no longer waits.
        let _ = answer.send(result.and_then(|()| output.ok_or(StoreError::Closed)));
    }
}

struct CallbackTask<T, F, D> {
    work: F,
    output: Option<T>,
    done: D,
}

impl<T, F, D> WriteTask for CallbackTask<T, F, D>
where
    T: Send,
    F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send,
    D: FnOnce(Result<T, StoreError>) + Send,
{
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        self.output = Some((self.work)(draft)?);
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
        F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, outcome) = sync_channel(1);
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue
            .send(Box::new(BlockingTask { work, output: None, answer }))
            .map_err(|_| StoreError::Closed)?;
        outcome.recv().map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    /// Wakes the writer.
    pub(super) fn wake(&self) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(Box::new(Wakeup)).map_err(|_| StoreError::Closed)
    }

    /// Queues `work` for the next transaction without waiting; `done` receives the result.
    pub(super) fn submit<T, F, D>(&self, work: F, done: D)
    where
        T: Send + 'static,
        F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send + 'static,
        D: FnOnce(Result<T, StoreError>) + Send + 'static,
    {
        let task: Box<dyn WriteTask> = Box::new(CallbackTask { work, output: None, done });
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

pub(super) type Batch = Vec<Box<dyn WriteTask>>;

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

/// Reports each task's result.
pub(super) fn answer(batch: Batch, refusals: TaskErrors) {
    for (task, refusal) in batch.into_iter().zip(refusals) {
        task.finish(refusal.map_or(Ok(()), Err));
    }
}

/// Reports `error` to all tasks.
pub(super) fn refuse(batch: Batch, error: &StoreError) {
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

/// Whether the store has all acknowledged jobs, or why not.
pub(super) type RecoveryResult = Result<(), StoreError>;

/// Runs a batch in one transaction and reports the results. Runs it again without the failed tasks.
/// If the log of a shared brain is away, returns the tasks with callbacks, whose jobs can wait for
/// it, and refuses the others.
pub(super) fn commit(
    shared: &SharedState,
    batch: Batch,
    hook: &CommitHook,
    recovered: &RecoveryResult,
) -> Batch {
    commit_after(shared, Vec::new(), batch, hook, recovered, None)
}

/// As [`commit`], but the transaction first applies the `missing` batches of other machines. If yet
/// another batch came first, the tasks run again after it, together with those that have arrived at
/// `receiver`.
pub(super) fn commit_after(
    shared: &SharedState,
    mut missing: Vec<LogBatch>,
    batch: Batch,
    hook: &CommitHook,
    recovered: &RecoveryResult,
    mut receiver: Option<&mut BatchReceiver<'_>>,
) -> Batch {
    let mut waiting = batch;
    while !waiting.is_empty() {
        let result = catch_panic(|| attempt(shared, &mut waiting, &missing, recovered));
        if result.is_err() {
            shared.waiting_jobs.forget();
        }
        match result {
            Ok((changes, refusals)) => {
                if !changes.is_empty() {
                    hook(changes);
                }
                answer(waiting, refusals);
                return Vec::new();
            }
            Err(CommitError { cause: Cause::Task(index), error }) => {
                waiting.remove(index).finish(Err(error));
            }
            Err(CommitError { cause: Cause::Refused(indexes), error }) => {
                tracing::warn!(%error, jobs = indexes.len(), "writes refused");
                for index in indexes.into_iter().rev() {
                    waiting.remove(index).finish(Err(error.clone()));
                }
            }
            Err(CommitError { cause: Cause::Moved(batches), .. }) => {
                let added = shared_writer::add_missing(shared, &mut missing, batches, hook);
                if let Err(error) = added {
                    return shared_writer::refuse_without_log(waiting, &error);
                }
                if let Some(receiver) = &mut receiver {
                    receiver.add_arrived(&mut waiting);
                }
            }
            Err(CommitError { cause: Cause::Log, error }) => {
                return shared_writer::refuse_without_log(waiting, &error);
            }
            Err(CommitError { cause: Cause::Disk, error }) => {
                tracing::error!(%error, jobs = waiting.len(), "commit failed");
                shared.recover();
                refuse(waiting, &error);
                return Vec::new();
            }
        }
    }
    Vec::new()
}

/// Why a transaction cannot be committed.
pub(super) struct CommitError {
    pub(super) cause: Cause,
    pub(super) error: StoreError,
}

#[derive(Debug)]
pub(super) enum Cause {
    /// The task at this index failed after writing; the others run again.
    Task(usize),
    /// The tasks at these indexes are refused, for example for lack of disk space; the others run
    /// again.
    Refused(Vec<usize>),
    /// The log of a shared brain has other batches, the first of which are these.
    Moved(Vec<LogBatch>),
    /// The log of a shared brain refused the batch or is away.
    Log,
    /// The file cannot be read or written.
    Disk,
}

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> Self {
        Self { cause: Cause::Disk, error }
    }
}

/// For each task of a batch, the error with which it was refused.
pub(super) type TaskErrors = Vec<Option<StoreError>>;

fn attempt(
    shared: &SharedState,
    tasks: &mut [Box<dyn WriteTask>],
    missing: &[LogBatch],
    recovered: &RecoveryResult,
) -> Result<(Vec<Change>, TaskErrors), CommitError> {
    if !missing.is_empty() {
        let refused = |error| CommitError { cause: Cause::Log, error };
        shared_writer::check_writable(shared).map_err(refused)?;
    }
    let txn = shared.begin_write()?;
    // Until rows name the files of applied attachments.
    let _files = (!missing.is_empty()).then(|| shared.attachments.block_removal_in_writer());
    let effects = match missing {
        [] => None,
        missing => Some(shared_writer::apply_to(shared, &txn, missing).map_err(|error| {
            let cause = if error.is_disk_error() { Cause::Disk } else { Cause::Log };
            CommitError { cause, error }
        })?),
    };
    let mut draft = Draft::open(&txn, &shared.waiting_jobs)?;
    let refusals = run(shared, &mut draft, tasks, recovered)?;
    // A finished file does not cause a commit; its outbox row is removed with the next one.
    let takes_files =
        recovered.is_ok() && !shared.is_read_only() && (draft.write_count > 0 || draft.must_flush);
    let files = if takes_files { shared.take_synced_files() } else { Vec::new() };
    for &(id, seq) in &files {
        if let Err(error) = draft.remove_outbox_row(id, seq) {
            shared.put_back_synced_files(files);
            return Err(error.into());
        }
    }
    // The answers of the tasks can depend on the applied batches.
    if draft.write_count == 0 && effects.is_none() {
        return Ok((Vec::new(), refusals));
    }
    let committed = draft.finish().map_err(CommitError::from).and_then(|mut finished| {
        shared_writer::send(shared, &txn, &mut finished)?;
        Ok(shared.commit(txn, finished)?)
    });
    if committed.is_err() {
        shared.put_back_synced_files(files);
    }
    let own_changes = committed?;
    let mut changes =
        effects.map_or_else(Vec::new, |effects| shared_writer::publish(shared, effects));
    changes.extend(own_changes);
    Ok((changes, refusals))
}

/// Runs the tasks in the draft. Returns for each task the error with which it was refused, if any.
pub(super) fn run(
    shared: &SharedState,
    draft: &mut Draft<'_>,
    tasks: &mut [Box<dyn WriteTask>],
    recovered: &RecoveryResult,
) -> Result<TaskErrors, CommitError> {
    let mut refusals = Vec::with_capacity(tasks.len());
    // Indexes of tasks that need free space, an imported spool, and a writable file.
    let (mut space_users, mut spool_users, mut writers) = (Vec::new(), Vec::new(), Vec::new());
    for (index, task) in tasks.iter_mut().enumerate() {
        let before = draft.write_count;
        (draft.frees_space, draft.needs_spooled_jobs, draft.is_bulk) = (false, false, false);
        let lease_before = draft.lease.take();
        let result =
            catch_unwind(AssertUnwindSafe(|| task.run(draft))).unwrap_or(Err(StoreError::Defect));
        match draft.lease {
            Some(_) => draft.leased_tasks.push(index),
            None => draft.lease = lease_before,
        }
        match result {
            Ok(()) => {
                refusals.push(None);
                if draft.write_count > before {
                    writers.push(index);
                }
                if draft.write_count > before && !draft.frees_space {
                    space_users.push(index);
                }
                if draft.write_count > before || draft.needs_spooled_jobs {
                    spool_users.push(index);
                }
            }
            Err(error) if error.is_disk_error() => return Err(error.into()),
            Err(error) if draft.write_count == before => refusals.push(Some(error)),
            Err(error) => return Err(CommitError { cause: Cause::Task(index), error }),
        }
    }
    if !spool_users.is_empty()
        && let Err(error) = recovered
    {
        return Err(CommitError { cause: Cause::Refused(spool_users), error: error.clone() });
    }
    if !spool_users.is_empty()
        && let Err(error) = shared.check_file_identity()
    {
        return Err(CommitError { cause: Cause::Refused(spool_users), error });
    }
    if !writers.is_empty()
        && let Err(error) = shared.check_writable()
    {
        return Err(CommitError { cause: Cause::Refused(writers), error });
    }
    if !space_users.is_empty()
        && let Err(error) = shared.check_free_space()
    {
        return Err(CommitError { cause: Cause::Refused(space_users), error });
    }
    Ok(refusals)
}
