//! Hands what the writer answers to the requests that wait for it. A commit answers many items at once, from the store's
//! own thread; waking each request from there would be a system call each, on the thread that everybody waits for. So
//! the answers go through one queue to a task of the runtime, which wakes the requests at home.

use brain_protocol::Fault;
use tokio::sync::{mpsc, oneshot};

use brain_core::ingest::Accepted;

type Outcome = Result<Accepted, Fault>;

/// How many answers are handed over in one go.
const AT_ONCE: usize = 256;

/// Where answers are given in. Unbounded, and holds no more than there are requests.
#[derive(Clone)]
pub(crate) struct Answers(mpsc::UnboundedSender<(oneshot::Sender<Outcome>, Outcome)>);

impl Answers {
    /// Begins to hand answers over; to be called in the runtime. Ends with the last clone.
    pub(crate) fn begin() -> Self {
        let (give, mut taken) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut some: Vec<(oneshot::Sender<Outcome>, Outcome)> = Vec::with_capacity(AT_ONCE);
            while taken.recv_many(&mut some, AT_ONCE).await > 0 {
                for (to, outcome) in some.drain(..) {
                    // Whoever asked may have gone meanwhile.
                    drop(to.send(outcome));
                }
            }
        });
        Self(give)
    }

    /// For one item: what is to be called with its outcome, and where that arrives.
    pub(crate) fn expect(
        &self,
    ) -> (impl FnOnce(Outcome) + Send + 'static, oneshot::Receiver<Outcome>) {
        let (to, arrives) = oneshot::channel();
        let give = self.0.clone();
        // A runtime that ends takes its requests with it.
        (move |outcome| drop(give.send((to, outcome))), arrives)
    }
}
