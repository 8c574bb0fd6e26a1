//! Makes missing vectors in small rounds, newest changes first.
//!
//! Rounds are short and use little memory. In the background they give way to searches, imports and
//! `brain embed`. Before vectors are stored, the page is compared again, so a page that changed
//! meanwhile gets none.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::commit_hook::{key_of, transient_fault};
use super::scale::{CosineScale, Windows};
use super::state::{OpenVectors, RoundState};
use super::vector_writer::FLUSH_EVERY;
use super::{EmbeddingService, MeaningStatus, QUERY_DEADLINE, RoundResult};
use brain_base::caller::Visibility;
use brain_embed::vectors::{Key, VectorError, WindowVector};
use brain_embed::{EmbedError, EmbedErrorKind, Purpose};
use brain_page::windows;
use brain_store::{StoreError, unless_damaged};

/// Maximum windows, approximate bytes of text, and examined pages per round.
const MAX_ROUND_WINDOWS: usize = 128;
const MAX_ROUND_BYTES: usize = 1_000_000;
const MAX_ROUND_PAGES: usize = 2000;
/// Delay when no pages are pending; a wake-up ends it.
const IDLE_DELAY: Duration = Duration::from_secs(60);
/// Delay while other work goes first, and poll interval within a round.
const YIELD_DELAY: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Queued ingest jobs above which the background gives way.
const MAX_QUEUED_JOBS: u64 = 64;
/// First and maximum delay after failures; doubles with each one.
const MIN_BACKOFF: Duration = Duration::from_secs(5);
const MAX_BACKOFF: Duration = Duration::from_secs(600);

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
        let meaning = &self.state;
        if self.env.stop.is_cancelled() || meaning.waiting_commands.load(Ordering::Acquire) > 0 {
            return YIELD_DELAY;
        }
        let Some(mut work) = meaning.round_state.try_lock() else { return YIELD_DELAY };
        let idle = self.env.config.embedding.idle;
        if self.env.home.has_moved() {
            return idle.min(IDLE_DELAY);
        }
        self.reload_if_needed(&mut work);
        meaning.reranker.unload_if_idle(idle);
        if let Some(open) = meaning.shared.open_vectors() {
            open.embedder.unload_if_idle(idle);
        }
        if work.has_given_up {
            return idle.min(IDLE_DELAY);
        }
        let now = Instant::now();
        if let Some(rest) = work.retry_at.map(|until| until.saturating_duration_since(now))
            && !rest.is_zero()
        {
            return rest.min(idle).min(IDLE_DELAY);
        }
        let open = match self.open_vectors() {
            Ok(Some(open)) => open,
            Ok(None) => return IDLE_DELAY,
            Err(fault) => return self.record_failure(&mut work, &fault),
        };
        if self.should_give_way() {
            self.flush_if_due(&mut work, &open, false);
            return YIELD_DELAY;
        }
        let should_continue =
            || !self.env.stop.is_cancelled() && !meaning.needs_reload.load(Ordering::Acquire);
        // Other work also goes first within a round, because a long page takes minutes. But a
        // command that waits for the lock goes before it.
        let wait_until_idle = || {
            while self.should_give_way()
                && should_continue()
                && meaning.waiting_commands.load(Ordering::Acquire) == 0
            {
                std::thread::sleep(POLL_INTERVAL);
            }
            should_continue()
        };
        match self.embed_pending(&open, &should_continue, &wait_until_idle) {
            Ok(Some(_)) => {
                self.record_success(&mut work);
                self.flush_if_due(&mut work, &open, false);
                self.measure_scale(&open);
                Duration::ZERO
            }
            Ok(None) => {
                self.flush_if_due(&mut work, &open, false);
                self.remove_other_models(&mut work, &open);
                idle.min(if self.is_flushed(&work, &open) { IDLE_DELAY } else { FLUSH_EVERY })
            }
            Err(fault) if fault.kind == EmbedErrorKind::Stopped => YIELD_DELAY,
            Err(fault) => self.record_failure(&mut work, &fault),
        }
    }

    /// Waits until [`EmbeddingService::embed_in_background`] should run early.
    pub async fn embed_wakeup(&self) {
        self.state.shared.wake.notified().await;
    }

    /// Runs one round for `brain embed`, ignoring backoff. With `all`, every vector is computed
    /// again; the former one stays until then. `should_continue` is as in
    /// [`brain_embed::Embedder::embed`]. A round without pages means that nothing is missing.
    pub(super) fn embed_round(
        &self,
        all: bool,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<RoundResult, EmbedError> {
        let meaning = &self.state;
        meaning.waiting_commands.fetch_add(1, Ordering::AcqRel);
        let mut work = meaning.round_state.lock();
        meaning.waiting_commands.fetch_sub(1, Ordering::AcqRel);
        self.reload_if_needed(&mut work);
        if work.has_given_up || work.failures > 0 {
            // The cause may be fixed: the model is installed now, or the key is valid.
            *work = RoundState {
                flushed_at: work.flushed_at,
                flush_failed: work.flush_failed,
                ..RoundState::new(Instant::now())
            };
            if meaning.shared.open_vectors().is_none() {
                *meaning.provider.lock() = None;
            }
        }
        let open = match self.open_vectors() {
            Ok(Some(open)) => open,
            Ok(None) => {
                let message = "no embedding model is installed or configured".to_owned();
                return Err(EmbedError { kind: EmbedErrorKind::Model, message, hint: None });
            }
            Err(fault) => {
                self.record_failure(&mut work, &fault);
                return Err(fault);
            }
        };
        if all {
            // Nothing is computed again unless the embedder works.
            if let Err(fault) =
                open.embedder.embed(&[PROBE_TEXT.to_owned()], Purpose::Document, should_continue)
            {
                if fault.kind != EmbedErrorKind::Stopped {
                    self.record_failure(&mut work, &fault);
                }
                return Err(fault);
            }
            *meaning.shared.outdated_pages.lock() = open.vectors.pages().into_iter().collect();
        }
        if all || !meaning.shared.suppressed_pages.lock().is_empty() {
            meaning.shared.mark_all_pending();
        }
        let result = loop {
            match self.embed_pending(&open, should_continue, should_continue) {
                Ok(Some(round)) if round.pages == 0 => {}
                Ok(Some(round)) => break Ok(round),
                Ok(None) => {
                    self.remove_other_models(&mut work, &open);
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
                _ = self.record_failure(&mut work, fault);
            }
            Err(_) => {}
            Ok(_) => self.record_success(&mut work),
        }
        self.flush_if_due(&mut work, &open, result.as_ref().is_ok_and(|round| round.pages == 0));
        self.measure_scale(&open);
        result
    }

    /// Reloads the configured and installed models without a restart.
    pub(super) fn embedding_changed(&self) {
        self.state.needs_reload.store(true, Ordering::Release);
        self.state.shared.wake.notify_one();
    }

    /// Returns the status for `brain model list`, `brain embed` and doctor. Loads and embeds
    /// nothing.
    pub(crate) fn meaning_status(&self) -> MeaningStatus {
        let until = Instant::now() + QUERY_DEADLINE;
        // A model installed just now is about to be used; the former status is obsolete.
        while self.state.needs_reload.load(Ordering::Acquire) && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        let Some(provider) = self.embedding_provider() else {
            return MeaningStatus { provider: "none".into(), ..MeaningStatus::default() };
        };
        let open = self.state.shared.wait(until, QUERY_DEADLINE);
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
    fn reload_if_needed(&self, work: &mut RoundState) {
        let meaning = &self.state;
        if !meaning.needs_reload.load(Ordering::Acquire) {
            return;
        }
        let former = meaning.shared.open_vectors();
        meaning.shared.set_opening();
        *meaning.provider.lock() = None;
        meaning.needs_reload.store(false, Ordering::Release);
        // Reset twice: another thread may have cached the former model in between.
        *meaning.provider.lock() = None;
        former.iter().for_each(|former| self.flush_open_vectors(former));
        meaning.set_problem(None);
        *work = RoundState::new(Instant::now());
    }

    /// Returns whether an import, queued jobs or a sync should go first.
    fn should_give_way(&self) -> bool {
        let changes = self.state.shared.changes.load(Ordering::Relaxed);
        self.state.background_throttle.lock().is_importing(Instant::now(), changes)
            || self.queue.waiting() > MAX_QUEUED_JOBS
            || self.syncing.is_locked()
    }

    /// Embeds some pages; `None` if no changes are pending. `wait_until_idle` blocks until the next
    /// batch may start and returns whether to continue.
    fn embed_pending(
        &self,
        open: &OpenVectors,
        should_continue: &dyn Fn() -> bool,
        wait_until_idle: &dyn Fn() -> bool,
    ) -> Result<Option<RoundResult>, EmbedError> {
        let pending_changes = &self.state.shared.pending_changes;
        let Some((after, up_to)) = pending_changes.lock().take() else { return Ok(None) };
        let made = self.find_pending(open, after, up_to).map_err(|e| transient_fault(&e)).and_then(
            |(due, reached)| {
                let round = self.embed_pages(open, &due, should_continue, wait_until_idle)?;
                Ok((round, reached))
            },
        );
        // Failed pages stay pending; finished ones cost nothing to examine again.
        let up_to = made.as_ref().map_or(up_to, |(_, reached)| *reached);
        pending_changes.lock().add(after, up_to);
        made.map(|(round, _)| Some(round))
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
        let (mut due, mut reached) = (Vec::new(), after);
        let (mut examined, mut count, mut bytes) = (0, 0, 0);
        reader.newest(up_to + 1, |(_, _, record)| {
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
                due.push(PendingPage { page: record.id, key, windows });
            }
            let more =
                examined < MAX_ROUND_PAGES && count < MAX_ROUND_WINDOWS && bytes < MAX_ROUND_BYTES;
            if !more {
                reached = record.seq - 1;
            }
            Ok(more)
        })?;
        Ok((due, reached))
    }

    /// Embeds and stores these pages.
    fn embed_pages(
        &self,
        open: &OpenVectors,
        due: &[PendingPage],
        should_continue: &dyn Fn() -> bool,
        wait_until_idle: &dyn Fn() -> bool,
    ) -> Result<RoundResult, EmbedError> {
        let mut texts = due.iter().flat_map(|due| &due.windows).map(|window| window.text.clone());
        let (mut ready, mut round) = (std::collections::VecDeque::new(), RoundResult::default());
        let mut due = due.iter().peekable();
        loop {
            while let Some(page) = due.next_if(|page| page.windows.len() <= ready.len()) {
                let vectors = ready.drain(..page.windows.len());
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
            ready.extend(embed_texts(open, &batch, should_continue)?);
        }
    }

    /// Stores a page's vectors if the page is unchanged.
    fn store_page_vectors(
        &self,
        open: &OpenVectors,
        due: &PendingPage,
        vectors: impl Iterator<Item = Option<Vec<f32>>>,
    ) -> Result<bool, EmbedError> {
        let windowed: Vec<WindowVector> = due
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
        let _gate = self.state.shared.apply_lock.lock();
        // `Store::read` may wait for the writer, and the writer may wait for this lock.
        let reader =
            self.store.reader_factory().read(Visibility::All).map_err(|e| transient_fault(&e))?;
        let now = reader
            .by_id(due.page)
            .map_err(|e| transient_fault(&e))?
            .map(|(_, _, record)| key_of(&record));
        if now != Some(due.key) {
            return Ok(false);
        }
        match open.vectors.put(due.page, due.key, &windowed) {
            Ok(()) => {
                self.state.shared.outdated_pages.lock().remove(&due.page);
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

    fn measure_scale(&self, open: &OpenVectors) {
        let windows = Windows::all(&open.vectors);
        let is_due = open.cosine_scale.read().is_due(&open.space.model, &windows);
        if is_due {
            let scale = CosineScale::measure(&windows);
            tracing::debug!(floor = scale.floor, span = scale.span, "measured the cosine scale");
            *open.cosine_scale.write() = scale;
        }
    }

    fn record_success(&self, work: &mut RoundState) {
        if !work.flush_failed {
            self.state.set_problem(None);
        }
        (work.failures, work.retry_at) = (0, None);
    }

    /// Records a failure and returns the delay.
    fn record_failure(&self, work: &mut RoundState, fault: &EmbedError) -> Duration {
        if fault.kind == EmbedErrorKind::Changed {
            tracing::info!(%fault, "the embedding model changed; reloading it");
            self.embedding_changed();
            return YIELD_DELAY;
        }
        if work.failures == 0 {
            tracing::warn!(%fault, "cannot make vectors");
        }
        self.state.set_problem(Some((fault.message.clone(), fault.hint.clone())));
        let delay = match fault.kind {
            EmbedErrorKind::Retryable(seconds) => {
                let backoff =
                    MIN_BACKOFF.saturating_mul(1 << work.failures.min(10)).min(MAX_BACKOFF);
                backoff.max(Duration::from_secs(seconds.unwrap_or_default()))
            }
            _ => {
                work.has_given_up = true;
                IDLE_DELAY
            }
        };
        work.failures += 1;
        work.retry_at = Some(Instant::now() + delay);
        delay.min(IDLE_DELAY)
    }
}

/// Embeds each text; `None` for a text that the model rejects.
fn embed_texts(
    open: &OpenVectors,
    texts: &[String],
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    match open.embedder.embed(texts, Purpose::Document, should_continue) {
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
