//! The one writer: a thread that owns the write transaction and lets everybody who waits share one commit.
//!
//! A job is answered only after the commit that holds it is on disk; items that come in have a shorter way
//! ([`super::intake`]). While one commit is being flushed the next jobs gather, so that the cost of a flush is divided by
//! however many wait. A job looks before it writes: one that refuses without having written costs the others nothing; one
//! that fails after it wrote takes the whole transaction back, and the batch runs again without it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brain_protocol::{Fault, FaultCode, Slug, SourceId};

use super::intake::Intake;
use super::open::Shared;
use super::record::{Content, PageRecord};
use super::{Draft, StoreError};

/// The most jobs that share one commit. Enough to pay for a flush; and few enough that of many writers some are
/// committed while the files of the others are written.
const MAX_BATCH: usize = 32;

/// The most jobs in one batch when nobody's thread waits for them. No files follow them, and a flush of many small ones costs
/// hardly more than one of a few.
const MAX_LIGHT: usize = 256;

/// How long a commit waits for writers who shared the one before.
const GATHER: Duration = Duration::from_millis(1);

/// How many jobs may wait before a caller has to wait for room.
const QUEUE: usize = 1024;

/// A page after a committed change, for those who derive something from pages.
#[derive(Debug)]
pub struct ChangedPage {
    /// The page's source.
    pub source: SourceId,
    /// The page's slug.
    pub slug: Slug,
    /// The page.
    pub record: PageRecord,
    /// Its text.
    pub content: Content,
    /// Whether this change read it from its file, rather than wrote it.
    pub is_read: bool,
}

/// One committed change.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its place in the sequence.
    pub seq: u64,
    /// The page's id.
    pub id: u64,
    /// The page now; `None` when it is deleted or purged.
    pub page: Option<Arc<ChangedPage>>,
    /// Whether it is one of many of which nobody is told yet; see [`Draft::in_bulk`].
    pub bulk: bool,
}

/// Called with the changes of each commit, in order, after it is durable and before anybody who made one is answered.
pub type CommitHook = Box<dyn Fn(Vec<Change>) + Send>;

/// Work in the queue. Object-safe, so that one queue carries every kind of answer.
pub(super) trait Job: Send {
    /// Does the work in the draft. May be called again with a fresh draft.
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError>;
    /// Tells the waiter how it ended.
    fn end(self: Box<Self>, result: Result<(), StoreError>);
    /// Whether no thread waits for it: it is answered when it is on disk, perhaps before a reader sees it.
    fn is_light(&self) -> bool {
        false
    }
}

struct Call<T, F> {
    work: F,
    output: Option<T>,
    answer: SyncSender<Result<T, StoreError>>,
}

impl<T, F> Job for Call<T, F>
where
    T: Send,
    F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        self.output = Some((self.work)(draft)?);
        Ok(())
    }

    fn end(self: Box<Self>, result: Result<(), StoreError>) {
        let Self { output, answer, .. } = *self;
        // A waiter that went away has its page all the same.
        let _ = answer.send(result.and_then(|()| output.ok_or(StoreError::Closed)));
    }
}

struct Light<T, F, D> {
    work: F,
    output: Option<T>,
    done: D,
}

impl<T, F, D> Job for Light<T, F, D>
where
    T: Send,
    F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send,
    D: FnOnce(Result<T, StoreError>) + Send,
{
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        self.output = Some((self.work)(draft)?);
        Ok(())
    }

    fn end(self: Box<Self>, result: Result<(), StoreError>) {
        let Self { output, done, .. } = *self;
        let result = result.and_then(|()| output.ok_or(StoreError::Closed));
        // Others wait to hear how theirs ended.
        if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
            tracing::error!("a defect in what follows a write");
        }
    }

    fn is_light(&self) -> bool {
        true
    }
}

/// The queue in front of the writer thread.
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(shared: Arc<Shared>, hook: CommitHook) -> std::io::Result<Self> {
        let (queue, jobs) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || serve(&shared, &jobs, &hook))?;
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
            .send(Box::new(Call { work, output: None, answer }))
            .map_err(|_| StoreError::Closed)?;
        outcome.recv().map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    /// Lets `work` run in the next transaction and `done` hear when it is on disk, without waiting for anything.
    pub(super) fn call_then<T, F, D>(&self, work: F, done: D)
    where
        T: Send + 'static,
        F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send + 'static,
        D: FnOnce(Result<T, StoreError>) + Send + 'static,
    {
        let job: Box<dyn Job> = Box::new(Light { work, output: None, done });
        let refused = match &self.queue {
            Some(queue) => queue.try_send(job),
            None => Err(TrySendError::Disconnected(job)),
        };
        match refused {
            Ok(()) => {}
            Err(TrySendError::Full(job)) => job.end(Err(too_many())),
            Err(TrySendError::Disconnected(job)) => job.end(Err(StoreError::Closed)),
        }
    }
}

fn too_many() -> StoreError {
    Fault::new(FaultCode::Busy, format!("{QUEUE} writes wait already; nothing was stored"))
        .hint("try again in a moment")
        .into()
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(super) type Batch = Vec<Box<dyn Job>>;

fn serve(shared: &Shared, jobs: &Receiver<Box<dyn Job>>, hook: &CommitHook) {
    let mut intake = Intake::new(shared);
    let mut gather = Gather { jobs, last: 1 };
    while let Some(mut batch) = gather.batch(None) {
        if shared.leave_read_only() {
            intake.begin_anew();
        }
        let mut ready = intake.ready();
        if ready.is_ok() && batch.iter().all(|job| job.is_light()) {
            match intake.take(batch, &mut gather) {
                Some(rest) => batch = rest,
                None => continue,
            }
            ready = intake.ready();
        }
        commit(shared, batch, hook, &ready);
    }
    intake.end();
}

/// Tells everybody how theirs ended.
pub(super) fn answer(batch: Batch, refusals: Refusals) {
    for (job, refusal) in batch.into_iter().zip(refusals) {
        job.end(refusal.map_or(Ok(()), Err));
    }
}

/// Tells everybody the same.
pub(super) fn refuse(batch: Batch, error: &StoreError) {
    for job in batch {
        job.end(Err(error.again()));
    }
}

/// Makes batches of what is in the queue.
pub(super) struct Gather<'q> {
    jobs: &'q Receiver<Box<dyn Job>>,
    last: usize,
}

impl Gather<'_> {
    /// The next batch. `None` when nobody can come any more, or nobody came in time.
    pub(super) fn batch(&mut self, patience: Option<Duration>) -> Option<Batch> {
        let first = match patience {
            Some(patience) => self.jobs.recv_timeout(patience).ok()?,
            None => self.jobs.recv().ok()?,
        };
        let mut heavy = usize::from(!first.is_light());
        let mut batch = vec![first];
        // Whoever shared the last commit is likely to be back in a moment; somebody alone never waits. Light jobs do not wait
        // for each other: while some are being flushed, the next ones come.
        let gathered_by = Instant::now() + GATHER;
        while heavy < MAX_BATCH && batch.len() < MAX_LIGHT {
            let next = match self.jobs.try_recv() {
                Ok(job) => Ok(job),
                Err(_) if heavy > 0 && batch.len() < self.last => {
                    self.jobs.recv_timeout(gathered_by.saturating_duration_since(Instant::now()))
                }
                Err(_) => break,
            };
            match next {
                Ok(job) => {
                    heavy += usize::from(!job.is_light());
                    batch.push(job);
                }
                Err(_) => break,
            }
        }
        self.last = batch.len();
        Some(batch)
    }
}

/// Turns a panic into a failure of the disk: nobody knows how far it came.
pub(super) fn or_defect<T, E: From<StoreError>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::Io("a defect stopped the commit".into()).into()))
}

/// Whether the store has every item that was answered, and why not.
type Ready = Result<(), StoreError>;

/// Runs a batch in one transaction, again without the job that spoiled it if one does, and answers everybody.
fn commit(shared: &Shared, batch: Batch, hook: &CommitHook, ready: &Ready) {
    let mut waiting = batch;
    loop {
        let tried = or_defect(|| attempt(shared, &mut waiting, ready));
        if tried.is_err() {
            shared.waiting_jobs.forget();
        }
        match tried {
            Ok((changes, refusals)) => {
                if !changes.is_empty() {
                    hook(changes);
                }
                answer(waiting, refusals);
                return;
            }
            Err(Spoiled { by: Blame::Job(index), error }) => waiting.remove(index).end(Err(error)),
            Err(Spoiled { by: Blame::Room(writers), error }) => {
                tracing::warn!(%error, jobs = writers.len(), "writes refused");
                for index in writers.into_iter().rev() {
                    waiting.remove(index).end(Err(error.again()));
                }
            }
            Err(Spoiled { by: Blame::Disk, error }) => {
                tracing::error!(%error, jobs = waiting.len(), "commit failed");
                shared.recover();
                refuse(waiting, &error);
                return;
            }
        }
        if waiting.is_empty() {
            return;
        }
    }
}

/// Why a transaction may not be committed.
pub(super) struct Spoiled {
    pub(super) by: Blame,
    pub(super) error: StoreError,
}

#[derive(Debug)]
pub(super) enum Blame {
    /// The job at this place of the batch; the others run again.
    Job(usize),
    /// There is too little room for what the jobs at these places wrote, or the store is not ready for them; the others run
    /// again.
    Room(Vec<usize>),
    /// The file could not be read or written.
    Disk,
}

impl From<StoreError> for Spoiled {
    fn from(error: StoreError) -> Self {
        Self { by: Blame::Disk, error }
    }
}

pub(super) type Refusals = Vec<Option<StoreError>>;

fn attempt(
    shared: &Shared,
    jobs: &mut [Box<dyn Job>],
    ready: &Ready,
) -> Result<(Vec<Change>, Refusals), Spoiled> {
    let txn = shared.begin_write()?;
    let mut draft = Draft::open(&txn, &shared.waiting_jobs)?;
    let refusals = run(shared, &mut draft, jobs, ready)?;
    // A file that is on disk does not deserve a commit of its own: its outbox row goes with the next one.
    let takes_files = ready.is_ok() && !shared.is_read_only() && (draft.dirty > 0 || draft.flush);
    let files = if takes_files { shared.take_synced_files() } else { Vec::new() };
    for &(id, seq) in &files {
        if let Err(error) = draft.file_done(id, seq) {
            shared.put_back_synced_files(files);
            return Err(error.into());
        }
    }
    if draft.dirty == 0 {
        return Ok((Vec::new(), refusals));
    }
    let committed = draft.finish().and_then(|finished| shared.commit(txn, finished));
    if committed.is_err() {
        shared.put_back_synced_files(files);
    }
    Ok((committed?, refusals))
}

/// Runs the jobs in the draft; what they were refused.
pub(super) fn run(
    shared: &Shared,
    draft: &mut Draft<'_>,
    jobs: &mut [Box<dyn Job>],
    ready: &Ready,
) -> Result<Refusals, Spoiled> {
    let mut refusals = Vec::with_capacity(jobs.len());
    let (mut writers, mut early, mut dirty) = (Vec::new(), Vec::new(), Vec::new());
    for (index, job) in jobs.iter_mut().enumerate() {
        let before = draft.dirty;
        (draft.frees_room, draft.wants_items, draft.bulk) = (false, false, false);
        let result = catch_unwind(AssertUnwindSafe(|| job.run(draft))).unwrap_or_else(|_| {
            Err(Fault::new(
                FaultCode::Internal,
                "a defect in brain stopped this write; nothing was changed",
            )
            .hint("the log of the daemon has the place; please report it")
            .into())
        });
        match result {
            Ok(()) => {
                refusals.push(None);
                if draft.dirty > before {
                    dirty.push(index);
                }
                if draft.dirty > before && !draft.frees_room {
                    writers.push(index);
                }
                if draft.dirty > before || draft.wants_items {
                    early.push(index);
                }
            }
            Err(error) if error.is_the_disk() => return Err(error.into()),
            Err(error) if draft.dirty == before => refusals.push(Some(error)),
            Err(error) => return Err(Spoiled { by: Blame::Job(index), error }),
        }
    }
    if !early.is_empty()
        && let Err(error) = ready
    {
        return Err(Spoiled { by: Blame::Room(early), error: error.again() });
    }
    if !early.is_empty()
        && let Err(error) = shared.check_place()
    {
        return Err(Spoiled { by: Blame::Room(early), error });
    }
    if !dirty.is_empty()
        && let Err(error) = shared.check_writable()
    {
        return Err(Spoiled { by: Blame::Room(dirty), error });
    }
    if !writers.is_empty()
        && let Err(error) = shared.check_room()
    {
        return Err(Spoiled { by: Blame::Room(writers), error });
    }
    Ok(refusals)
}
