//! Making pages of what waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use brain_protocol::{Fault, FaultCode, JobId, JobState, Slug, SourceId, WriteStatus};

use super::super::Brain;
use super::super::batch::on_all_cores;
use super::super::sealed::Seal;
use super::Queue;
use super::pages::{Ready, ready, write};
use brain_store::{Content, Draft, JobRecord, PageRecord, StoreError};

/// The most items that are made pages in one turn. Enough that their commit costs little; few enough that it holds the writer
/// for milliseconds only.
pub const CHUNK: usize = 128;
/// About how many bytes of text are made pages in one turn: bounds the memory.
const CHUNK_BYTES: usize = 4_000_000;
/// How often an item is tried before it has failed for good.
const TRIES: u32 = 3;
/// The time before the second try, in milliseconds; before each further one it is twice as long.
const RETRY_MS: i64 = 1000;
/// How many jobs are forgotten in one transaction: keeps other writers from waiting.
const FORGET: usize = 200;

/// An item and what it was worked out to.
type Try = (u64, JobRecord, Result<Ready, Fault>);

/// What became of an item that is a page now.
struct Stored {
    source: SourceId,
    slug: Slug,
    /// Whether the slug was made from the content.
    automatic: bool,
    /// Whether the page has changed, and its file is to follow.
    changed: bool,
    page: PageRecord,
}

impl Brain {
    /// Makes pages of the items that are due, up to `most` of them; how many were dealt with: 0 when none is due. Blocks.
    ///
    /// # Errors
    /// When the store fails; the items wait on.
    pub fn work_off(&self, most: usize) -> Result<usize, Fault> {
        let _turn = self.queue.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let due = self.store.read_queue()?.due_jobs(self.clock.now(), most, CHUNK_BYTES)?;
        if due.is_empty() {
            return Ok(0);
        }
        let _marked = AtWork::new(&self.queue, &due);
        let _permit = self.text.take(due.iter().map(|(_, record)| record.content.body.len()).sum());
        let worked_out = on_all_cores(&due, |(id, record)| self.work_out_page(*id, record));
        let tries: Vec<Try> = due
            .into_iter()
            .zip(worked_out)
            .map(|((id, record), ready)| (id, record, ready))
            .collect();
        let count = tries.len();
        let stored = self.store_pages(&Arc::new(tries))?;
        for Stored { source, slug, page, .. } in stored.iter().filter(|stored| stored.automatic) {
            self.dedup.remember(source.clone(), page.content_hash, slug.clone(), page.content_at);
        }
        let changed: Vec<&Stored> = stored.iter().filter(|stored| stored.changed).collect();
        on_all_cores(&changed, |stored| self.agree(&stored.source, &stored.page));
        // Their senders may know already that they are stored. A search would have to take apart all that the index has
        // not come to.
        self.index.settle();
        self.index.wait();
        Ok(count)
    }

    /// How long until an item is due, in milliseconds; `None` when none waits. Blocks.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn until_due(&self) -> Result<Option<u64>, Fault> {
        let now = self.clock.now();
        let next = self.store.read_queue()?.next_due_job(now)?;
        Ok(next.map(|at| u64::try_from(at - now).unwrap_or_default()))
    }

    /// Forgets some of the items whose time is over: 24 hours after they became pages, 7 days after they failed; how many, 0 when
    /// there are no more. Blocks.
    ///
    /// # Errors
    /// When the store fails.
    pub fn forget_items(&self) -> Result<usize, Fault> {
        let now = self.clock.now();
        Ok(self.store.write(move |draft| draft.forget_jobs(now, FORGET))?)
    }

    /// Works one item out. Whatever it does to brain, it does to itself alone.
    fn work_out_page(&self, id: u64, record: &JobRecord) -> Result<Ready, Fault> {
        let known =
            |source: &SourceId| self.dedup.find(source, record.content_hash, record.received_at);
        // The page's origin names the job; who reads it may not know how many there are.
        let shown = JobId(Seal::of(self.store.id()).close(id));
        let ready = catch_unwind(AssertUnwindSafe(|| ready(shown, record, known))).unwrap_or_else(
            |_| {
                Err(Fault::new(
                    FaultCode::Internal,
                    "a defect in brain: no page could be made of this item",
                ))
            },
        )?;
        // Looked at here, where it costs the others nothing.
        match self.store.sources()?.iter().any(|(known, _)| *known == ready.source) {
            true => Ok(ready),
            false => Err(Fault::new(
                FaultCode::UnknownSource,
                format!("source \"{}\" is not registered any more", ready.source),
            )),
        }
    }

    /// Stores pages and the new states of their items, all in one transaction; each on its own when one of them spoils that.
    fn store_pages(&self, tries: &Arc<Vec<Try>>) -> Result<Vec<Stored>, Fault> {
        match self.store_some(tries, 0..tries.len()) {
            Err(error) if is_one_items(&error) => {
                tracing::warn!(%error, items = tries.len(), "made pages one by one");
            }
            result => return Ok(result?),
        }
        let mut stored = Vec::new();
        for index in 0..tries.len() {
            match self.store_some(tries, index..index + 1) {
                Ok(some) => stored.extend(some),
                Err(error) if is_one_items(&error) => {
                    let (now, tries) = (self.clock.now(), Arc::clone(tries));
                    let fault = Fault::from(error);
                    self.store.write(move |draft| {
                        let (id, record, _) = &tries[index];
                        note_failure(draft, *id, record, &fault, now)
                    })?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(stored)
    }

    fn store_some(
        &self,
        tries: &Arc<Vec<Try>>,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<Stored>, StoreError> {
        let (now, tries) = (self.clock.now(), Arc::clone(tries));
        let (stored, waiting) = self.store.write(move |draft| {
            let mut stored = Vec::with_capacity(range.len());
            for (id, record, ready) in &tries[range.clone()] {
                match ready {
                    Ok(ready) => stored.extend(store_one(draft, *id, record, ready, now)?),
                    Err(fault) => note_failure(draft, *id, record, fault, now)?,
                }
            }
            Ok((stored, draft.waiting_jobs()))
        })?;
        self.queue.waiting.store(waiting, Ordering::Relaxed);
        Ok(stored)
    }
}

/// Whether one item is the reason, rather than the store.
fn is_one_items(error: &StoreError) -> bool {
    matches!(error, StoreError::Refused(_) | StoreError::Damaged(_))
}

/// The page and the end of its item. Nothing when the item does not wait any more.
fn store_one(
    draft: &mut Draft<'_>,
    id: u64,
    record: &JobRecord,
    ready: &Ready,
    now: i64,
) -> Result<Option<Stored>, StoreError> {
    if !draft.job_waits(id, record.due_at)? {
        return Ok(None);
    }
    let (slug, applied) = write(draft, record, ready, now)?;
    let ended = JobRecord {
        state: JobState::Stored,
        content: Content { frontmatter: String::new(), body: String::new() },
        finished_at: Some(now),
        attempts: record.attempts + 1,
        slug: Some(slug.to_string()),
        error: None,
        ..record.clone()
    };
    draft.change_job(id, record, &ended)?;
    Ok(Some(Stored {
        source: ready.source.clone(),
        slug,
        automatic: ready.asked.is_none(),
        changed: applied.status != WriteStatus::Unchanged,
        page: applied.record,
    }))
}

/// Notes that an item could not be made a page: it is tried again, or has failed for good.
fn note_failure(
    draft: &mut Draft<'_>,
    id: u64,
    record: &JobRecord,
    fault: &Fault,
    now: i64,
) -> Result<(), StoreError> {
    if !draft.job_waits(id, record.due_at)? {
        return Ok(());
    }
    let mut failed = record.clone();
    failed.attempts += 1;
    failed.error = Some((fault.code.as_str().to_owned(), fault.message.clone()));
    if failed.attempts < TRIES {
        failed.state = JobState::Retrying;
        failed.due_at = now + (RETRY_MS << (failed.attempts - 1));
    } else {
        failed.state = JobState::Failed;
        failed.finished_at = Some(now);
    }
    tracing::warn!(job = %JobId(id), attempts = failed.attempts, %fault, "an item could not be made a page");
    draft.change_job(id, record, &failed)
}

/// Marks items as being at work, for as long as it lives.
struct AtWork<'a> {
    queue: &'a Queue,
    ids: Vec<u64>,
}

impl<'a> AtWork<'a> {
    fn new(queue: &'a Queue, due: &[(u64, JobRecord)]) -> Self {
        let ids: Vec<u64> = due.iter().map(|(id, _)| *id).collect();
        queue.at_work().extend(&ids);
        Self { queue, ids }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut at_work = self.queue.at_work();
        self.ids.iter().for_each(|id| _ = at_work.remove(id));
    }
}
