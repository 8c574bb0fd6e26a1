//! Delivers results of the store's writer to the requests that wait for them.
//!
//! A commit completes many jobs at once, on the writer's thread. Waking each request from there
//! would cost that thread a system call each. So results go through one queue to a task of the
//! runtime, which wakes the requests. The queue only improves the throughput of ingest.

use brain_protocol::Fault;
use tokio::sync::{mpsc, oneshot};

use brain_core::ingest::IngestReceipt;

/// The result of a job.
type JobResult = Result<IngestReceipt, Fault>;

/// Maximum number of results that are delivered in one batch.
const BATCH: usize = 256;

/// The sending end of the queue. Unbounded, but holds at most one result for each request.
#[derive(Clone)]
pub(crate) struct CompletionQueue(mpsc::UnboundedSender<(oneshot::Sender<JobResult>, JobResult)>);

impl CompletionQueue {
    /// Starts the task that delivers results. Must be called in the runtime. The task ends when
    /// the last clone is dropped.
    pub(crate) fn start() -> Self {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut batch: Vec<(oneshot::Sender<JobResult>, JobResult)> = Vec::with_capacity(BATCH);
            while receiver.recv_many(&mut batch, BATCH).await > 0 {
                for (request, outcome) in batch.drain(..) {
                    // The client may have disconnected meanwhile.
                    drop(request.send(outcome));
                }
            }
        });
        Self(sender)
    }

    /// Returns a callback for the outcome of a job, and the receiver of that outcome.
    pub(crate) fn outcome_channel(
        &self,
    ) -> (impl FnOnce(JobResult) + Send + 'static, oneshot::Receiver<JobResult>) {
        let (request, receiver) = oneshot::channel();
        let sender = self.0.clone();
        // Sending fails only after the runtime has ended, and with it the request.
        (move |outcome| drop(sender.send((request, outcome))), receiver)
    }
}
