//! Embeds questions and finds the pages near them.
//!
//! One thread calls the provider with all queued questions. A search waits for its vector until its
//! deadline, so a stalled provider blocks one thread and no search. While the provider is stalled,
//! further searches do not wait.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::scale::{CosineScale, Windows};
use super::state::OpenVectors;
use super::{CallerPages, Degradation, EmbeddingService, QUERY_DEADLINE, VectorResults};
use brain_base::caller::Visibility;
use brain_embed::{EmbedError, EmbedErrorKind, Embedder, Purpose};

/// Maximum number of queued questions.
const MAX_QUEUED: usize = 64;
/// The thread exits after this long without questions.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of a question, in characters. The rest is not embedded.
const MAX_QUESTION_CHARS: usize = 2000;
/// Percentage of pages that may lack vectors before an answer is marked as degraded. New pages are
/// few and found by their words.
const MAX_MISSING_PERCENT: u64 = 2;
/// Maximum number of questions whose vectors are cached: 128, or about 200 KB for a model of 384
/// dimensions.
pub(super) const MAX_QUESTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(127);
/// Maximum number of cached scales for sets of sources.
const MAX_SCALES: usize = 256;

/// Embeds questions on one thread.
#[derive(Default)]
pub(super) struct QueryEmbedder {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
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
    fn embed_question(
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
        let embed = |texts: &[String]| embedder.embed(texts, Purpose::Query, &should_continue);
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

impl EmbeddingService {
    /// Returns whether an embedder is configured.
    pub(crate) fn has_embedding(&self) -> bool {
        self.embedding_provider().is_some()
    }

    /// Returns up to `limit` pages near `question` that `admits` accepts. With `caller_pages`, only
    /// those pages influence the result. Never fails, and waits for the model at most
    /// [`QUERY_DEADLINE`].
    pub(crate) fn near(
        &self,
        question: &str,
        limit: usize,
        admits: &dyn Fn(u64) -> bool,
        caller_pages: Option<&CallerPages>,
    ) -> VectorResults {
        let until = Instant::now() + QUERY_DEADLINE;
        let no_results = |reason: String| VectorResults {
            degradation: Some(Degradation { percent_with_vectors: None, reason: Some(reason) }),
            ..VectorResults::default()
        };
        if !self.has_embedding() {
            return VectorResults::default();
        }
        let Some(open_vectors) = self.state.shared.wait_for_vectors(until, QUERY_DEADLINE) else {
            let problem = self.state.problem().map(|(problem, _)| problem);
            return no_results(problem.unwrap_or_else(|| "the vectors are being opened".into()));
        };
        let windows = match caller_pages {
            None => Windows::all(&open_vectors.vectors),
            Some(caller_pages) => Windows::of(&open_vectors.vectors, &caller_pages.pages),
        };
        let degradation = self.degradation(&windows, caller_pages);
        if windows.windows == 0 {
            return VectorResults { degradation, ..VectorResults::default() };
        }
        let vector = match self.question_vector(&open_vectors, question, until) {
            Ok(vector) if vector.len() == open_vectors.space.dimensions => vector,
            Ok(_) => return no_results("the length of the model's vectors has changed".into()),
            Err(fault) => {
                if fault.kind == EmbedErrorKind::Changed {
                    self.embedding_changed();
                }
                return no_results(fault.message);
            }
        };
        let near = match caller_pages {
            None => open_vectors.vectors.search(&vector, limit, admits),
            Some(caller_pages) => {
                let mut pages = caller_pages.pages.iter().copied().filter(|page| admits(*page));
                open_vectors.vectors.search_among(&vector, limit, &mut pages)
            }
        };
        let scale = match caller_pages {
            None => *open_vectors.cosine_scale.read(),
            Some(caller_pages) => open_vectors.scale_of(caller_pages, &windows),
        };
        let background = CosineScale::background(&windows, &vector).unwrap_or(scale.floor);
        // For an unknown model, the question's own background replaces the floor.
        let floor =
            if scale.is_guess(&open_vectors.space.model) { background } else { scale.floor };
        let coverage = open_vectors.embedder.coverage(question);
        VectorResults { near, floor, background, span: scale.span, coverage, degradation }
    }

    /// Returns the vector of a question, from the cache if the question is recent.
    fn question_vector(
        &self,
        open_vectors: &OpenVectors,
        question: &str,
        until: Instant,
    ) -> Result<Vec<f32>, EmbedError> {
        if let Some(cached) = open_vectors.questions.lock().get(question) {
            return Ok(cached.clone());
        }
        let query_embedder = &self.state.query_embedder;
        let vector = query_embedder.embed_question(&open_vectors.embedder, question, until)?;
        // Long questions are not cached.
        if question.len() <= MAX_QUESTION_CHARS {
            open_vectors.questions.lock().put(question.to_owned(), vector.clone());
        }
        Ok(vector)
    }

    /// Returns the distance of two pages, (1 - cosine) / 2. `None` if either has no vectors, or the
    /// vectors are not open.
    pub(crate) fn distance(&self, first: u64, second: u64) -> Option<f32> {
        let open_vectors = self.state.shared.open_vectors()?;
        open_vectors.vectors.similarity(first, second).map(|cosine| (1.0 - cosine) / 2.0)
    }

    /// Returns why vector results are incomplete, if more than [`MAX_MISSING_PERCENT`] of the pages
    /// lack vectors.
    fn degradation(
        &self,
        windows: &Windows<'_>,
        caller_pages: Option<&CallerPages>,
    ) -> Option<Degradation> {
        let active = match caller_pages {
            Some(caller_pages) => caller_pages.pages.len() as u64,
            None => {
                self.store.read(Visibility::All).and_then(|reader| reader.counts()).ok()?.active
            }
        };
        let pages = windows.pages.min(active);
        let missing = active - pages;
        if missing * 100 <= active * MAX_MISSING_PERCENT {
            return None;
        }
        // A percentage, because not every caller may know the number of pages.
        let percent_with_vectors = Some(pages * 100 / active);
        Some(Degradation {
            percent_with_vectors,
            reason: self.state.problem().map(|(problem, _)| problem),
        })
    }
}

impl OpenVectors {
    /// Returns the scale for a restricted caller. Measures it if that is due.
    fn scale_of(&self, caller_pages: &CallerPages, windows: &Windows<'_>) -> CosineScale {
        let cached = self
            .restricted_scales
            .lock()
            .get(&caller_pages.sources)
            .copied()
            .unwrap_or(CosineScale::new());
        if !cached.is_due(&self.space.model, windows) {
            return cached;
        }
        let scale = CosineScale::measure(windows);
        let mut scales = self.restricted_scales.lock();
        if scales.len() >= MAX_SCALES {
            scales.clear();
        }
        scales.insert(caller_pages.sources.clone(), scale);
        scale
    }
}
