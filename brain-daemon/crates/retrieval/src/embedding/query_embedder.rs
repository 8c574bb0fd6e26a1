//! Embeds questions on one thread.
//!
//! The thread calls the provider with all queued questions. A search waits for its vector until its
//! deadline, so a stalled provider blocks one thread and no search. While the provider is stalled,
//! further searches do not wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::QUERY_DEADLINE;
use brain_embed::{EmbedError, EmbedErrorKind, Embedder, VectorPurpose};

/// Maximum number of queued questions.
const MAX_QUEUED: usize = 64;
/// The thread exits after this long without questions.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of a question, in characters. The rest is not embedded.
pub(super) const MAX_QUESTION_CHARS: usize = 2000;

/// Embeds questions on one thread.
#[derive(Default)]
pub(super) struct QueryEmbedder {
    state: Mutex<QuestionQueue>,
    wake: Condvar,
}

#[derive(Default)]
struct QuestionQueue {
    queue: VecDeque<QueuedQuestion>,
    has_thread: bool,
    /// When the current provider call began.
    call_began: Option<Instant>,
}

struct QueuedQuestion {
    embedder: Arc<dyn Embedder>,
    question: String,
    until: Instant,
    sender: SyncSender<Result<Vec<f32>, EmbedError>>,
}

impl QueryEmbedder {
    /// Returns whether a question is queued or in progress.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.call_began.is_some() || !state.queue.is_empty()
    }

    /// Returns the vector of `question`. Waits for it until `until` at most.
    pub(super) fn embed_question(
        self: &Arc<Self>,
        embedder: &Arc<dyn Embedder>,
        question: &str,
        until: Instant,
    ) -> Result<Vec<f32>, EmbedError> {
        let (sender, receiver) = sync_channel(1);
        let question = question.chars().take(MAX_QUESTION_CHARS).collect();
        {
            let mut state = self.state.lock();
            let is_stalled = state.call_began.is_some_and(|since| since.elapsed() > QUERY_DEADLINE);
            if is_stalled || state.queue.len() >= MAX_QUEUED {
                return Err(timeout_error());
            }
            state.queue.push_back(QueuedQuestion {
                embedder: Arc::clone(embedder),
                question,
                until,
                sender,
            });
            if !state.has_thread {
                let query_embedder = Arc::clone(self);
                std::thread::Builder::new()
                    .name("questions".into())
                    .spawn(move || query_embedder.run_thread())
                    .map_err(|e| EmbedError {
                        message: format!("cannot start the thread for questions: {e}"),
                        ..timeout_error()
                    })?;
                state.has_thread = true;
            }
        }
        self.wake.notify_one();
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(timeout_error()),
        }
    }

    /// Processes queued questions until there are none for [`IDLE_TIMEOUT`].
    fn run_thread(&self) {
        loop {
            let mut state = self.state.lock();
            while state.queue.is_empty() {
                let wait = self.wake.wait_for(&mut state, IDLE_TIMEOUT);
                if wait.timed_out() && state.queue.is_empty() {
                    state.has_thread = false;
                    return;
                }
            }
            let now = Instant::now();
            let questions: Vec<QueuedQuestion> =
                state.queue.drain(..).filter(|queued| queued.until > now).collect();
            state.call_began = Some(now);
            drop(state);
            // If the provider panics, later questions still need this thread.
            let embed_all = std::panic::AssertUnwindSafe(|| embed_questions(questions));
            let result = std::panic::catch_unwind(embed_all);
            if result.is_err() {
                tracing::error!("the embedder panicked on a question");
            }
            self.state.lock().call_began = None;
        }
    }
}

/// Embeds the questions of each embedder in one call, and sends each its vector.
fn embed_questions(mut questions: Vec<QueuedQuestion>) {
    while let Some(first) = questions.first() {
        let embedder = Arc::clone(&first.embedder);
        let (batch, others): (Vec<_>, Vec<_>) =
            questions.into_iter().partition(|queued| Arc::ptr_eq(&queued.embedder, &embedder));
        questions = others;
        let texts: Vec<String> = batch.iter().map(|queued| queued.question.clone()).collect();
        let until = batch.iter().map(|queued| queued.until).max();
        let should_continue = || until.is_some_and(|until| Instant::now() < until);
        let embed =
            |texts: &[String]| embedder.embed(texts, VectorPurpose::Query, &should_continue);
        let call = |texts: &[String]| match embed(texts) {
            Ok(vectors) if vectors.len() == texts.len() => Ok(vectors),
            Ok(_) => Err(EmbedError {
                message: "not every question got a vector".into(),
                ..timeout_error()
            }),
            Err(fault) => Err(fault),
        };
        match call(&texts) {
            Ok(vectors) => {
                for (queued, vector) in batch.into_iter().zip(vectors) {
                    // The receiver may have timed out.
                    let _ = queued.sender.send(Ok(vector));
                }
            }
            // One rejected question must not fail the others.
            Err(fault) if fault.kind == EmbedErrorKind::Text && batch.len() > 1 => {
                for queued in batch {
                    let result = call(std::slice::from_ref(&queued.question));
                    let vector = result
                        .and_then(|vectors| vectors.into_iter().next().ok_or_else(timeout_error));
                    let _ = queued.sender.send(vector);
                }
            }
            Err(fault) => {
                for queued in batch {
                    let _ = queued.sender.send(Err(fault.clone()));
                }
            }
        }
    }
}

fn timeout_error() -> EmbedError {
    let message =
        format!("the embedding model did not answer within {} s", QUERY_DEADLINE.as_secs());
    EmbedError { kind: EmbedErrorKind::Retryable(None), message, hint: None }
}
