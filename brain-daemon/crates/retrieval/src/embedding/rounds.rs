//! Makes missing vectors in small rounds, in the background and for `brain embed`.
//!
//! Rounds are short and use little memory. In the background they give way to searches, imports and
//! `brain embed`. `round_pages` has the pages of a round.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::scale::{CosineScale, Windows};
use super::state::{OpenVectors, RoundState};
use super::vector_writer::FLUSH_EVERY;
use super::{EmbeddingService, MeaningStatus, QUERY_DEADLINE, RoundResult};
use brain_base::backoff::Backoff;
use brain_base::caller::Visibility;
use brain_embed::{EmbedError, EmbedErrorKind, VectorPurpose};

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
    /// [`brain_embed::Embedder::embed`]. An empty result means that no vector is missing.
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
                Ok(Some(round)) if round == RoundResult::default() => {}
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
        let is_complete = result.as_ref().is_ok_and(|round| *round == RoundResult::default());
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
        let missing = active.saturating_sub(size.pages);
        let is_complete = missing == 0 && size.incomplete == 0;
        MeaningStatus {
            provider: provider.name.into(),
            seconds_left: if is_complete { None } else { self.seconds_left() },
            model: Some(open.map_or(provider.model, |open| open.space.model.clone())),
            pages: size.pages.min(active),
            windows: size.windows,
            missing,
            incomplete: size.incomplete,
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
        state.forecast.lock().forget_speed();
        *round_state = RoundState::new(Instant::now());
    }

    /// Returns whether an import, queued jobs or a sync should go first.
    fn should_give_way(&self) -> bool {
        let changes = self.state.shared.changes.load(Ordering::Relaxed);
        self.state.background_throttle.lock().is_importing(Instant::now(), changes)
            || self.queue.waiting() > MAX_QUEUED_JOBS
            || self.sync_lock.is_locked()
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
