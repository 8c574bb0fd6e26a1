//! Turns queued items into pages, and yields to arriving items.
//!
//! Queueing an item takes a few microseconds. Writing its page takes twenty times that, on the same
//! cores and the same writer. So while items arrive, the worker writes small batches, ten times a
//! second. When the queue is half full, the worker stops yielding: clients slow down before they
//! are refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::Fault;

use super::runner::{Next, Worker};
use super::{is_shared_log_unusable, log_failure};
use brain_core::Brain;
use brain_core::ingest::{JobKind, MAX_JOBS_PER_BATCH, QueueLoad};

/// Items a second from which batches are small. One client that sends items one after the other
/// exceeds this on all but the slowest disks.
const STREAM_RATE: u64 = 100;
/// The minimum time over which arrivals are counted.
const MIN_WINDOW: Duration = Duration::from_millis(10);
/// Items a second from which batches are smallest. At this rate, most items wait anyway.
const FLOOD_RATE: u64 = 2000;
/// Maximum number of pages in a batch at [`STREAM_RATE`] or above.
const STREAM_BATCH: usize = 64;
/// Maximum number of pages in a batch at [`FLOOD_RATE`] or above.
const FLOOD_BATCH: usize = 16;
/// The pause after a batch at these rates.
const PAUSE: Duration = Duration::from_millis(100);
/// The pause after a failure of the store.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The pause while the log of a shared brain cannot be used.
const AWAY_DELAY: Duration = Duration::from_secs(5);
/// The longest wait for an item that is due later; the clock may be set meanwhile.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How often expired jobs are removed.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60);

/// Turns queued items into pages. The queue is kept for the next start.
pub(super) struct IngestQueue {
    brain: Arc<Brain>,
    rate: ArrivalRate,
    cleanup_at: Instant,
}

impl IngestQueue {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        let now = Instant::now();
        Self { brain, rate: ArrivalRate::new(now), cleanup_at: now }
    }

    /// Removes a few expired jobs, so that many of them do not delay pages.
    fn remove_expired_jobs(&mut self) {
        let removed = self.brain.ingest.remove_expired_jobs().unwrap_or_else(|fault| {
            log_failure(&fault, "expired ingest jobs not removed");
            0
        });
        if removed == 0 {
            self.cleanup_at = Instant::now() + CLEANUP_INTERVAL;
        }
    }

    /// Writes a batch of pages. Returns when to write the next one.
    ///
    /// # Errors
    /// The fault of the store, if the queue cannot be read or a page cannot be written.
    fn write_batch(&self, batch: BatchSize) -> Result<Next, Fault> {
        if self.brain.ingest.process_queue(batch.max_pages)? > 0 {
            return Ok(Next::After(batch.pause));
        }
        let until_due =
            self.brain.ingest.ms_until_due(JobKind::Text)?.map_or(MAX_WAIT, Duration::from_millis);
        let until_cleanup = self.cleanup_at.saturating_duration_since(Instant::now());
        Ok(Next::AfterOrWakeup(until_due.min(MAX_WAIT).min(until_cleanup)))
    }
}

impl Worker for IngestQueue {
    fn round(&mut self) -> Next {
        let batch = self.rate.batch(Instant::now(), self.brain.ingest.ingest_load());
        if self.cleanup_at <= Instant::now() {
            self.remove_expired_jobs();
        }
        self.write_batch(batch).unwrap_or_else(|fault| after_failure(&fault))
    }

    async fn wakeup(&mut self) {
        self.brain.ingest.wait_for_job(JobKind::Text).await;
    }
}

/// Reads queued documents, one at a time. They have a worker of their own, so that texts do not wait
/// for them.
pub(super) struct DocumentQueue {
    brain: Arc<Brain>,
}

impl DocumentQueue {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { brain }
    }

    fn read_one(&self) -> Result<Next, Fault> {
        let ingest = &self.brain.ingest;
        if ingest.process_document()? {
            return Ok(Next::After(Duration::ZERO));
        }
        // One that is due now is read by another machine, or by the next daemon.
        let until_due = ingest.ms_until_due(JobKind::Document)?.filter(|ms| *ms > 0);
        Ok(Next::AfterOrWakeup(until_due.map_or(MAX_WAIT, Duration::from_millis).min(MAX_WAIT)))
    }
}

impl Worker for DocumentQueue {
    fn round(&mut self) -> Next {
        self.read_one().unwrap_or_else(|fault| after_failure(&fault))
    }

    async fn wakeup(&mut self) {
        self.brain.ingest.wait_for_job(JobKind::Document).await;
    }
}

/// Returns when to try again after a failure of the store.
fn after_failure(fault: &Fault) -> Next {
    log_failure(fault, "ingest queue not processed; trying again");
    match is_shared_log_unusable(fault) {
        // Leaving the shared brain wakes the worker.
        true => Next::AfterOrWakeup(AWAY_DELAY),
        false => Next::After(RETRY_DELAY),
    }
}

/// The size of the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BatchSize {
    max_pages: usize,
    /// The pause after the batch.
    pause: Duration,
}

/// Measures how fast items arrive.
struct ArrivalRate {
    /// When the current window began.
    since: Instant,
    /// The number of items that had arrived at that time.
    arrived: u64,
    /// Items a second in the last window.
    rate: u64,
}

impl ArrivalRate {
    fn new(now: Instant) -> Self {
        Self { since: now, arrived: 0, rate: 0 }
    }

    /// Returns the size of the next batch.
    fn batch(&mut self, now: Instant, load: QueueLoad) -> BatchSize {
        let time = now.saturating_duration_since(self.since);
        if time >= MIN_WINDOW {
            let arrivals = load.arrived.saturating_sub(self.arrived);
            self.rate = (arrivals as f64 / time.as_secs_f64()) as u64;
            (self.since, self.arrived) = (now, load.arrived);
        }
        match self.rate {
            _ if load.waiting >= load.max_waiting / 2 => {
                BatchSize { max_pages: MAX_JOBS_PER_BATCH, pause: Duration::ZERO }
            }
            FLOOD_RATE.. => BatchSize { max_pages: FLOOD_BATCH, pause: PAUSE },
            STREAM_RATE.. => BatchSize { max_pages: STREAM_BATCH, pause: PAUSE },
            _ => BatchSize { max_pages: MAX_JOBS_PER_BATCH, pause: Duration::ZERO },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: BatchSize = BatchSize { max_pages: MAX_JOBS_PER_BATCH, pause: Duration::ZERO };
    const SMALL: BatchSize = BatchSize { max_pages: STREAM_BATCH, pause: PAUSE };

    fn load(arrived: u64, waiting: u64) -> QueueLoad {
        QueueLoad { arrived, waiting, max_waiting: 1000 }
    }

    #[test]
    fn batches_are_small_while_items_stream_in() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut rate = ArrivalRate::new(start);
        assert_eq!(rate.batch(at(5000), load(1, 1)), FULL, "one item after a long silence");
        assert_eq!(rate.batch(at(5004), load(4, 3)), FULL, "too soon to tell");
        assert_eq!(rate.batch(at(5011), load(5, 4)), SMALL, "400 a second");
        assert_eq!(rate.batch(at(5111), load(50, 40)), SMALL);
        assert_eq!(rate.batch(at(5211), load(55, 20)), FULL, "50 a second are below the limit");
    }

    #[test]
    fn batches_are_full_while_few_items_arrive() {
        let start = Instant::now();
        let mut rate = ArrivalRate::new(start);
        let mut arrived = 0;
        for second in 1..5 {
            arrived += 20;
            assert_eq!(rate.batch(start + Duration::from_secs(second), load(arrived, 400)), FULL);
        }
    }

    #[test]
    fn batches_are_full_when_the_queue_is_half_full() {
        let start = Instant::now();
        let mut rate = ArrivalRate::new(start);
        let batch = |rate: &mut ArrivalRate, ms, arrived, waiting| {
            rate.batch(start + Duration::from_millis(ms), load(arrived, waiting))
        };
        assert_eq!(batch(&mut rate, 100, 45, 499), SMALL);
        assert_eq!(batch(&mut rate, 200, 90, 500), FULL);
        assert_eq!(batch(&mut rate, 300, 140, 499), SMALL);
        let smallest = BatchSize { max_pages: FLOOD_BATCH, pause: PAUSE };
        assert_eq!(batch(&mut rate, 400, 640, 499), smallest);
        assert_eq!(batch(&mut rate, 500, 1140, 500), FULL);
    }
}
