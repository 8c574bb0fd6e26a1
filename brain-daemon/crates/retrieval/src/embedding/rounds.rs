//! Makes missing vectors in small rounds, newest changes first.
//!
//! Rounds are short and use little memory. In the background they give way to searches, imports and
//! `brain embed`. Before vectors are stored, the page is compared again: a page that changed
//! meanwhile does not get outdated vectors.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::commit_hook::{key_of, transient_fault};
use super::scale::{CosineScale, Windows};
use super::state::{OpenVectors, RoundState};
use super::vector_writer::FLUSH_EVERY;
use super::{EmbeddingService, MeaningStatus, QUERY_DEADLINE, RoundResult};
use brain_base::backoff::Backoff;
use brain_base::caller::Visibility;
use brain_embed::vectors::{Key, VectorError, WindowVector};
use brain_embed::{EmbedError, EmbedErrorKind, VectorPurpose};
use brain_page::windows;
use brain_store::{StoreError, unless_damaged};

/// Number of windows after which a round takes no further page.
const MAX_ROUND_WINDOWS: usize = 128;
/// Bytes of text after which a round takes no further page.
const MAX_ROUND_BYTES: usize = 1_000_000;
/// Maximum number of pages that a round examines.
const MAX_ROUND_PAGES: usize = 2000;
/// Delay when no pages are pending; a wake-up ends it.
const IDLE_DELAY: Duration = Duration::from_secs(60);
/// Delay until the next round while other work goes first.
const YIELD_DELAY: Duration = Duration::from_secs(1);
/// Poll interval within a round while other work goes first.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of queued ingest jobs above which background rounds give way.
const MAX_QUEUED_JOBS: u64 = 64;
/// Delays after failures, unless the embedder requests a longer one.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(600));

/// The text that tests the embedder before all vectors are computed again.
const PROBE_TEXT: &str = "Is anybody there?";

/// A page without current vectors.
struct PendingPage {
    page: u64,
    key: Key,
    windows: Vec<brain_page::Window>,
}

impl EmbeddingService {
    /// Runs one background round and returns the delay until the next one.
    pub fn embed_in_background(&self) -> Duration {
        let state = &self.state;
        if self.env.stop.is_cancelled() || state.waiting_commands.load(Ordering::Acquire) > 0 {
            return YIELD_DELAY;
        }
        let Some(mut round_state) = state.round_state.try_lock() else { return YIELD_DELAY };
        let idle = self.env.config.idle;
        if let Some(delay) = self.delay_before_round(&mut round_state) {
            return delay;
        }
        let open = match self.open_vectors() {
            Ok(Some(open)) => open,
            Ok(None) => return IDLE_DELAY,
            Err(fault) => return self.record_failure(&mut round_state, &fault),
        };
        if self.should_give_way() {
            self.flush_if_due(&mut round_state, &open, false);
            return YIELD_DELAY;
        }
        let should_continue =
            || !self.env.stop.is_cancelled() && !state.needs_reload.load(Ordering::Acquire);
        // Other work also goes first within a round, because a long page takes minutes. A command
        // that waits for the lock ends this wait, so that the round ends soon.
        let wait_until_idle = || {
            while self.should_give_way()
                && should_continue()
                && state.waiting_commands.load(Ordering::Acquire) == 0
            {
                std::thread::sleep(POLL_INTERVAL);
            }
            should_continue()
        };
        match self.embed_pending(&open, &should_continue, &wait_until_idle) {
            Ok(Some(_)) => {
                self.record_success(&mut round_state);
                self.flush_if_due(&mut round_state, &open, false);
                self.measure_scale(&open);
                Duration::ZERO
            }
            Ok(None) => {
                self.flush_if_due(&mut round_state, &open, false);
                self.remove_other_models(&mut round_state, &open);
                let is_flushed = self.is_flushed(&round_state, &open);
                idle.min(if is_flushed { IDLE_DELAY } else { FLUSH_EVERY })
            }
            Err(fault) if fault.kind == EmbedErrorKind::Stopped => YIELD_DELAY,
            Err(fault) => self.record_failure(&mut round_state, &fault),
        }
    }

    /// Reloads models and unloads idle ones. Returns a delay if no round is possible now.
    fn delay_before_round(&self, round_state: &mut RoundState) -> Option<Duration> {
        let (state, idle) = (&self.state, self.env.config.idle);
        if self.env.home.has_moved() {
            return Some(idle.min(IDLE_DELAY));
        }
        self.reload_if_needed(round_state);
        state.reranker.unload_if_idle(idle);
        if let Some(open) = state.shared.open_vectors() {
            open.embedder.unload_if_idle(idle);
        }
        if round_state.has_given_up {
            return Some(idle.min(IDLE_DELAY));
        }
        let delay = round_state.retry_at?.saturating_duration_since(Instant::now());
        (!delay.is_zero()).then(|| delay.min(idle).min(IDLE_DELAY))
    }

    /// Waits until [`EmbeddingService::embed_in_background`] should run early.
    pub async fn embed_wakeup(&self) {
        self.state.shared.wake.notified().await;
    }

    /// Runs one round for `brain embed`, ignoring backoff. With `all`, every vector is computed
    /// again; the former vector stays until then. `should_continue` is as in
    /// [`brain_embed::Embedder::embed`]. A result without pages means that no vector is missing.
    ///
    /// # Errors
    /// If there is no usable model, the embedder fails, or `should_continue` returns `false`.
    pub fn embed_round(
        &self,
        all: bool,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<RoundResult, EmbedError> {
        let state = &self.state;
        state.waiting_commands.fetch_add(1, Ordering::AcqRel);
        let mut round_state = state.round_state.lock();
        state.waiting_commands.fetch_sub(1, Ordering::AcqRel);
        let open = self.open_for_command(&mut round_state)?;
        if all {
            // Nothing is computed again unless the embedder works.
            let text = [PROBE_TEXT.to_owned()];
            if let Err(fault) = open.embedder.embed(&text, VectorPurpose::Document, should_continue)
            {
                if fault.kind != EmbedErrorKind::Stopped {
                    self.record_failure(&mut round_state, &fault);
                }
                return Err(fault);
            }
            *state.shared.outdated_pages.lock() = open.vectors.pages().into_iter().collect();
        }
        if all || !state.shared.suppressed_pages.lock().is_empty() {
            state.shared.mark_all_pending();
        }
        let result = loop {
            match self.embed_pending(&open, should_continue, should_continue) {
                Ok(Some(round)) if round.pages == 0 => {}
                Ok(Some(round)) => break Ok(round),
                Ok(None) => {
                    self.remove_other_models(&mut round_state, &open);
                    break Ok(RoundResult::default());
                }
                Err(fault) => break Err(fault),
            }
            if !should_continue() {
                let message = "cancelled".to_owned();
                break Err(EmbedError { kind: EmbedErrorKind::Stopped, message, hint: None });
            }
        };
        match &result {
            Err(fault) if fault.kind != EmbedErrorKind::Stopped => {
                _ = self.record_failure(&mut round_state, fault);
            }
            Err(_) => {}
            Ok(_) => self.record_success(&mut round_state),
        }
        let is_complete = result.as_ref().is_ok_and(|round| round.pages == 0);
        self.flush_if_due(&mut round_state, &open, is_complete);
        self.measure_scale(&open);
        result
    }

    /// Opens the vectors for `brain embed`, and forgets former failures.
    fn open_for_command(
        &self,
        round_state: &mut RoundState,
    ) -> Result<Arc<OpenVectors>, EmbedError> {
        let state = &self.state;
        self.reload_if_needed(round_state);
        if round_state.has_given_up || round_state.failures > 0 {
            // The cause may be fixed: the model is installed now, or the key is valid.
            *round_state = RoundState {
                flushed_at: round_state.flushed_at,
                flush_failed: round_state.flush_failed,
                ..RoundState::new(Instant::now())
            };
            if state.shared.open_vectors().is_none() {
                *state.provider.lock() = None;
            }
        }
        match self.open_vectors() {
            Ok(Some(open)) => Ok(open),
            Ok(None) => {
                let message = "no embedding model is installed or configured".to_owned();
                Err(EmbedError { kind: EmbedErrorKind::Model, message, hint: None })
            }
            Err(fault) => {
                self.record_failure(round_state, &fault);
                Err(fault)
            }
        }
    }

    /// Requests that the next round reloads the configured and installed models.
    pub fn embedding_changed(&self) {
        self.state.needs_reload.store(true, Ordering::Release);
        self.state.shared.wake.notify_one();
    }

    /// Returns the status for `brain model list`, `brain embed` and doctor. Loads and embeds
    /// nothing, but may wait `QUERY_DEADLINE` for a reload or for opening vectors.
    pub fn meaning_status(&self) -> MeaningStatus {
        let until = Instant::now() + QUERY_DEADLINE;
        // A model was installed or configured just now, so the former status is obsolete.
        while self.state.needs_reload.load(Ordering::Acquire) && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        let Some(provider) = self.embedding_provider() else {
            return MeaningStatus { provider: "none".into(), ..MeaningStatus::default() };
        };
        let open = self.state.shared.wait_for_vectors(until, QUERY_DEADLINE);
        let size = open.as_ref().map(|open| open.vectors.size()).unwrap_or_default();
        let counts = self.store.read(Visibility::All).and_then(|reader| reader.counts());
        let active = counts.map_or(size.pages, |counts| counts.active);
        MeaningStatus {
            provider: provider.name.into(),
            model: Some(open.map_or(provider.model, |open| open.space.model.clone())),
            pages: size.pages.min(active),
            windows: size.windows,
            missing: active.saturating_sub(size.pages),
            problem: self.state.problem(),
        }
    }

    /// Closes the vectors and resets the provider if a reload was requested.
    fn reload_if_needed(&self, round_state: &mut RoundState) {
        let state = &self.state;
        if !state.needs_reload.load(Ordering::Acquire) {
            return;
        }
        let former = state.shared.open_vectors();
        state.shared.set_opening();
        *state.provider.lock() = None;
        state.needs_reload.store(false, Ordering::Release);
        // Reset twice: another thread may have cached the former model in between.
        *state.provider.lock() = None;
        former.iter().for_each(|former| self.flush_open_vectors(former));
        state.set_problem(None);
        *round_state = RoundState::new(Instant::now());
    }

    /// Returns whether an import, queued jobs or a sync should go first.
    fn should_give_way(&self) -> bool {
        let changes = self.state.shared.changes.load(Ordering::Relaxed);
        self.state.background_throttle.lock().is_importing(Instant::now(), changes)
            || self.queue.waiting() > MAX_QUEUED_JOBS
            || self.sync_lock.is_locked()
    }

    /// Embeds some pages. Returns `None` if no changes are pending. `wait_until_idle` blocks until
    /// the next batch may start and returns whether to continue.
    fn embed_pending(
        &self,
        open: &OpenVectors,
        should_continue: &dyn Fn() -> bool,
        wait_until_idle: &dyn Fn() -> bool,
    ) -> Result<Option<RoundResult>, EmbedError> {
        let pending_changes = &self.state.shared.pending_changes;
        let Some((after, up_to)) = pending_changes.lock().take() else { return Ok(None) };
        let found = self.find_pending(open, after, up_to).map_err(|e| transient_fault(&e));
        let result = found.and_then(|(pages, reached)| {
            let round = self.embed_pages(open, &pages, should_continue, wait_until_idle)?;
            Ok((round, reached))
        });
        // Failed pages stay pending; finished ones cost nothing to examine again.
        let up_to = result.as_ref().map_or(up_to, |(_, reached)| *reached);
        pending_changes.lock().add(after, up_to);
        result.map(|(round, _)| Some(round))
    }

    /// Finds pages without current vectors among the changes in `(after, up_to]`, newest first. The
    /// second value is the change up to which the search must continue.
    fn find_pending(
        &self,
        open: &OpenVectors,
        after: u64,
        up_to: u64,
    ) -> Result<(Vec<PendingPage>, u64), StoreError> {
        let reader = self.store.read(Visibility::All)?;
        let (mut pages, mut reached) = (Vec::new(), after);
        let (mut examined, mut count, mut bytes) = (0, 0, 0);
        reader.newest_pages(up_to + 1, |(_, _, record)| {
            if record.seq <= after {
                return Ok(false);
            }
            let key = key_of(&record);
            examined += 1;
            let is_outdated = self.state.shared.outdated_pages.lock().contains(&record.id);
            if (open.vectors.key(record.id) != Some(key) || is_outdated)
                && !self.state.shared.suppressed_pages.lock().contains(&record.id)
                && let Some(content) = unless_damaged(reader.content(&record))?
            {
                let windows = windows(&record.title, &content.body);
                count += windows.len().max(1);
                bytes += windows.iter().map(|window| window.text.len()).sum::<usize>();
                pages.push(PendingPage { page: record.id, key, windows });
            }
            let more =
                examined < MAX_ROUND_PAGES && count < MAX_ROUND_WINDOWS && bytes < MAX_ROUND_BYTES;
            if !more {
                reached = record.seq - 1;
            }
            Ok(more)
        })?;
        Ok((pages, reached))
    }

    /// Embeds these pages and stores their vectors.
    fn embed_pages(
        &self,
        open: &OpenVectors,
        pages: &[PendingPage],
        should_continue: &dyn Fn() -> bool,
        wait_until_idle: &dyn Fn() -> bool,
    ) -> Result<RoundResult, EmbedError> {
        let windows = pages.iter().flat_map(|page| &page.windows);
        let mut texts = windows.map(|window| window.text.clone());
        let mut round = RoundResult::default();
        // Vectors of windows whose page is not stored yet.
        let mut vectors = std::collections::VecDeque::new();
        let mut pages = pages.iter().peekable();
        loop {
            while let Some(page) = pages.next_if(|page| page.windows.len() <= vectors.len()) {
                let vectors = vectors.drain(..page.windows.len());
                if self.store_page_vectors(open, page, vectors)? {
                    round.pages += 1;
                    round.windows += page.windows.len() as u64;
                }
            }
            let batch: Vec<String> = texts.by_ref().take(open.batch_size).collect();
            if batch.is_empty() {
                return Ok(round);
            }
            while wait_until_idle() && self.state.query_embedder.is_busy() {
                std::thread::sleep(Duration::from_millis(5));
            }
            vectors.extend(embed_texts(open, &batch, should_continue)?);
        }
    }

    /// Stores a page's vectors, unless the page changed meanwhile. Returns whether it stored them.
    /// A window whose vector is `None` is skipped.
    fn store_page_vectors(
        &self,
        open: &OpenVectors,
        pending: &PendingPage,
        vectors: impl Iterator<Item = Option<Vec<f32>>>,
    ) -> Result<bool, EmbedError> {
        let window_vectors: Vec<WindowVector> = pending
            .windows
            .iter()
            .zip(vectors)
            .filter_map(|(window, vector)| {
                Some(WindowVector {
                    start: window.start as u32,
                    end: window.end as u32,
                    vector: vector?,
                })
            })
            .collect();
        let _lock = self.state.shared.apply_lock.lock();
        // Not `Store::read`: it may wait for the writer, and the writer may wait for this lock.
        let reader =
            self.store.reader_factory().read(Visibility::All).map_err(|e| transient_fault(&e))?;
        let current_key = reader
            .by_id(pending.page)
            .map_err(|e| transient_fault(&e))?
            .map(|(_, _, record)| key_of(&record));
        if current_key != Some(pending.key) {
            return Ok(false);
        }
        match open.vectors.put(pending.page, pending.key, &window_vectors) {
            Ok(()) => {
                self.state.shared.outdated_pages.lock().remove(&pending.page);
                Ok(true)
            }
            Err(error @ VectorError::Length { .. }) => Err(EmbedError {
                kind: EmbedErrorKind::Model,
                message: error.to_string(),
                hint: None,
            }),
            Err(error) => Err(transient_fault(&error)),
        }
    }

    /// Measures the cosine scale if that is due.
    fn measure_scale(&self, open: &OpenVectors) {
        let windows = Windows::all(&open.vectors);
        let is_due = open.cosine_scale.read().is_due(&open.space.model, &windows);
        if is_due {
            let scale = CosineScale::measure(&windows);
            tracing::debug!(floor = scale.floor, span = scale.span, "measured the cosine scale");
            *open.cosine_scale.write() = scale;
        }
    }

    fn record_success(&self, round_state: &mut RoundState) {
        if !round_state.flush_failed {
            self.state.set_problem(None);
        }
        (round_state.failures, round_state.retry_at) = (0, None);
    }

    /// Records a failure and returns the delay until the next attempt. Requests a reload instead if
    /// the model changed.
    fn record_failure(&self, round_state: &mut RoundState, fault: &EmbedError) -> Duration {
        if fault.kind == EmbedErrorKind::Changed {
            tracing::info!(%fault, "the embedding model changed; reloading it");
            self.embedding_changed();
            return YIELD_DELAY;
        }
        if round_state.failures == 0 {
            tracing::warn!(%fault, "cannot make vectors");
        }
        self.state.set_problem(Some((fault.message.clone(), fault.hint.clone())));
        let delay = match fault.kind {
            EmbedErrorKind::Retryable(seconds) => {
                let requested = Duration::from_secs(seconds.unwrap_or_default());
                BACKOFF.pause(round_state.failures).max(requested)
            }
            _ => {
                round_state.has_given_up = true;
                IDLE_DELAY
            }
        };
        round_state.failures += 1;
        round_state.retry_at = Some(Instant::now() + delay);
        delay.min(IDLE_DELAY)
    }
}

/// Embeds each text; `None` for a text that the model rejects.
fn embed_texts(
    open: &OpenVectors,
    texts: &[String],
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    match open.embedder.embed(texts, VectorPurpose::Document, should_continue) {
        Ok(vectors) if vectors.len() == texts.len() => Ok(vectors.into_iter().map(Some).collect()),
        Ok(vectors) => {
            let message =
                format!("the model made {} vectors of {} texts", vectors.len(), texts.len());
            Err(EmbedError { kind: EmbedErrorKind::Model, message, hint: None })
        }
        Err(fault) if fault.kind == EmbedErrorKind::Text && texts.len() > 1 => {
            let each = texts
                .iter()
                .map(|text| embed_texts(open, std::slice::from_ref(text), should_continue));
            Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        Err(fault) if fault.kind == EmbedErrorKind::Text => {
            tracing::warn!(%fault, "the model rejects a text; it gets no vector");
            Ok(vec![None])
        }
        Err(fault) => Err(fault),
    }
}
