//! Processes the ingest queue: turns jobs into pages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode, JobId, JobState, Slug, SourceId, WriteStatus};

use super::Queue;
use super::page::{PreparedPage, prepare, write};
use crate::IngestService;
use brain_base::backoff::Backoff;
use brain_base::caller;
use brain_service::NumberCipher;
use brain_service::batch::map_in_parallel;
use brain_store::{
    Actor, Content, JobKind, JobRecord, StoreError, Transaction, WrittenPage, waited_for_log,
};

/// Maximum number of jobs in one transaction. Large enough for cheap commits, small enough to
/// occupy the writer for milliseconds only.
pub const MAX_JOBS_PER_BATCH: usize = 128;
/// Bytes of text after which a transaction takes no more jobs, to limit memory.
const MAX_BYTES_PER_BATCH: usize = 4_000_000;
/// Maximum number of attempts to store a job's page.
const MAX_ATTEMPTS: u32 = 3;
/// Pauses before further attempts.
const RETRY: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// Maximum number of expired jobs that one transaction removes.
const CLEANUP_BATCH: usize = 200;

/// A job's number and record, and its page or the reason why there is none.
type Attempt = (u64, JobRecord, Result<PreparedPage, Fault>);

/// A job whose page was stored.
pub(super) struct StoredJob {
    pub(super) source: SourceId,
    pub(super) slug: Slug,
    /// Whether the slug was derived from the content.
    pub(super) is_automatic: bool,
    pub(super) page: WrittenPage,
}

impl IngestService {
    /// Turns up to `max` due items into pages. Returns the number of processed items, including
    /// those that failed. Blocks.
    ///
    /// # Errors
    /// If the store fails. Items that were not stored stay in the queue.
    pub fn process_queue(&self, max: usize) -> Result<usize, Fault> {
        let _processing = self.queue.processing.lock();
        let reader = self.store.read_queue()?;
        let due = reader.due_jobs(JobKind::Text, self.clock.now(), max, MAX_BYTES_PER_BATCH)?;
        drop(reader);
        if due.is_empty() {
            return Ok(0);
        }
        let ids = due.iter().map(|(id, _)| *id).collect();
        let _in_progress = InProgressGuard::new(&self.queue, ids);
        let _permit = self.text.take(due.iter().map(|(_, record)| record.content.body.len()).sum());
        let prepared = map_in_parallel(&due, |(id, record)| self.prepare_page(*id, record));
        let attempts: Vec<Attempt> = due
            .into_iter()
            .zip(prepared)
            .map(|((id, record), prepared_page)| (id, record, prepared_page))
            .collect();
        let count = attempts.len();
        let stored = self.store_pages(&Arc::new(attempts))?;
        self.publish(&stored);
        Ok(count)
    }

    /// Writes the files of stored pages, and shows the pages to searches.
    pub(super) fn publish(&self, stored: &[StoredJob]) {
        for job in stored.iter().filter(|stored| stored.is_automatic) {
            let StoredJob { source, slug, page: WrittenPage { record, .. }, .. } = job;
            let (hash, at) = (record.content_hash, record.content_at);
            self.dedup.remember(source.clone(), hash, slug.clone(), at);
        }
        let is_changed = |stored: &&StoredJob| stored.page.status != WriteStatus::Unchanged;
        let changed: Vec<&StoredJob> = stored.iter().filter(is_changed).collect();
        map_in_parallel(&changed, |StoredJob { source, page, .. }| {
            self.files.update_file(source, &page.record, page.content.as_ref())
        });
        // Clients may already see the jobs as stored. Without this call, their next search would
        // tokenize all pages that are not indexed yet.
        self.index.refresh();
        self.index.wait_for_backlog();
    }

    /// Returns the time until a job of this kind is due, in milliseconds: 0 if one is due now,
    /// `None` if none waits. Blocks.
    pub fn ms_until_due(&self, kind: JobKind) -> Result<Option<u64>, Fault> {
        let now = self.clock.now();
        let next = || Ok(self.store.read_queue()?.next_due_job(kind, now)?);
        let next = match kind {
            JobKind::Text => next()?,
            JobKind::Document => self.look_for_document(next)?,
        };
        Ok(next.map(|at| u64::try_from(at - now).unwrap_or_default()))
    }

    /// Removes a batch of expired jobs, and returns their number. Jobs expire 24 hours after they
    /// became pages, or 7 days after they failed. Blocks.
    pub fn remove_expired_jobs(&self) -> Result<usize, Fault> {
        let now = self.clock.now();
        Ok(self.store.write(move |transaction| transaction.forget_jobs(now, CLEANUP_BATCH))?)
    }

    /// Prepares the page of one job. A panic fails this job only.
    fn prepare_page(&self, id: u64, record: &JobRecord) -> Result<PreparedPage, Fault> {
        let JobRecord { source, content_hash, received_at, .. } = record;
        let find_duplicate =
            || self.dedup.find_in(&self.store, source, *content_hash, *received_at);
        // Readers of the page see the job's id, which must not reveal the number of jobs.
        let public_id = JobId(NumberCipher::of(self.store.number_key()).encrypt(id));
        let prepare_job =
            AssertUnwindSafe(|| prepare(public_id, waited_for_log(id), record, find_duplicate));
        let prepared_page = catch_unwind(prepare_job).unwrap_or_else(|_| {
            Err(Fault::new(
                FaultCode::Internal,
                "a defect in brain: this item could not be turned into a page",
            ))
        })?;
        // Checked here, so that an unknown source does not fail the whole transaction.
        match self.store.sources()?.iter().any(|(known, _)| known == source) {
            true => Ok(prepared_page),
            false => Err(Fault::new(
                FaultCode::UnknownSource,
                format!("source \"{source}\" is not registered any more"),
            )),
        }
    }

    /// Stores pages and the new states of their jobs in one transaction. If a job makes this
    /// transaction fail, each job gets its own.
    fn store_pages(&self, attempts: &Arc<Vec<Attempt>>) -> Result<Vec<StoredJob>, Fault> {
        match self.store_range(attempts, 0..attempts.len()) {
            Err(error) if !error.is_store_wide() => {
                tracing::warn!(%error, jobs = attempts.len(), "storing jobs one by one");
            }
            result => return Ok(result?),
        }
        let mut stored = Vec::new();
        for index in 0..attempts.len() {
            match self.store_range(attempts, index..index + 1) {
                Ok(jobs) => stored.extend(jobs),
                Err(error) if !error.is_store_wide() => {
                    let (now, attempts) = (self.clock.now(), Arc::clone(attempts));
                    let fault = Fault::from(error);
                    self.store.write(move |transaction| {
                        let (id, record, _) = &attempts[index];
                        record_failure(transaction, *id, record, &fault, now)
                    })?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(stored)
    }

    /// Stores the pages and the new states of the jobs in `range`, in one transaction.
    fn store_range(
        &self,
        attempts: &Arc<Vec<Attempt>>,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let (now, attempts) = (self.clock.now(), Arc::clone(attempts));
        let (stored, waiting) = self.store.write(move |transaction| {
            let mut stored = Vec::with_capacity(range.len());
            for (id, record, prepared_page) in &attempts[range.clone()] {
                match prepared_page {
                    Ok(page) => stored.extend(store_one(transaction, *id, record, page, now)?),
                    Err(fault) => record_failure(transaction, *id, record, fault, now)?,
                }
            }
            Ok((stored, transaction.waiting_jobs()))
        })?;
        self.queue.record_processed(waiting);
        Ok(stored)
    }
}

/// Writes the page and finishes its job. Returns `None` if the job does not wait any more.
fn store_one(
    transaction: &mut Transaction<'_>,
    id: u64,
    record: &JobRecord,
    prepared_page: &PreparedPage,
    now: i64,
) -> Result<Option<StoredJob>, StoreError> {
    if !transaction.job_waits(id, record.due_at)? {
        return Ok(None);
    }
    transaction.set_actor(actor(&record.client));
    let (slug, written) = write(transaction, record, prepared_page, now)?;
    transaction.change_job(id, record, &finished(record, &slug, now))?;
    Ok(Some(StoredJob {
        source: record.source.clone(),
        slug,
        is_automatic: record.options.slug.is_none(),
        page: written,
    }))
}

/// Returns who writes the page of a job: the client that sent it.
pub(super) fn actor(client: &str) -> Actor {
    let door = match client {
        caller::CAPTURE => "cli",
        caller::VOICE => "voice",
        caller::COLLECTOR => "collector",
        _ => "http",
    };
    Actor { door: door.into(), client: client.to_owned(), run: None }
}

/// Returns the record of a job whose page is stored at `slug`.
pub(super) fn finished(record: &JobRecord, slug: &Slug, now: i64) -> JobRecord {
    JobRecord {
        state: JobState::Stored,
        content: Content::default(),
        finished_at: Some(now),
        attempts: record.attempts + 1,
        slug: Some(slug.clone()),
        error: None,
        ..record.clone()
    }
}

/// Records a failed attempt. After [`MAX_ATTEMPTS`] attempts, the job has failed. A document that
/// cannot be read has failed at once.
pub(super) fn record_failure(
    transaction: &mut Transaction<'_>,
    id: u64,
    record: &JobRecord,
    fault: &Fault,
    now: i64,
) -> Result<(), StoreError> {
    if !transaction.job_waits(id, record.due_at)? {
        return Ok(());
    }
    let mut failed = record.clone();
    failed.attempts += 1;
    failed.error = Some((fault.code.as_str().to_owned(), fault.message.clone()));
    let is_final = fault.code == FaultCode::UnsupportedContentType;
    if failed.attempts < MAX_ATTEMPTS && !is_final {
        failed.state = JobState::Retrying;
        failed.due_at = now + RETRY.pause_ms(failed.attempts - 1);
    } else {
        failed.state = JobState::Failed;
        failed.finished_at = Some(now);
    }
    tracing::warn!(job = %JobId(id), attempts = failed.attempts, %fault, "ingest job failed");
    transaction.change_job(id, record, &failed)
}

/// Marks jobs as in progress until the guard is dropped.
pub(super) struct InProgressGuard<'a> {
    queue: &'a Queue,
    ids: Vec<u64>,
}

impl<'a> InProgressGuard<'a> {
    pub(super) fn new(queue: &'a Queue, ids: Vec<u64>) -> Self {
        queue.in_progress().extend(&ids);
        Self { queue, ids }
    }
}

impl Drop for InProgressGuard<'_> {
    fn drop(&mut self) {
        let mut in_progress = self.queue.in_progress();
        self.ids.iter().for_each(|id| _ = in_progress.remove(id));
    }
}
