//! Finds pages without vectors, embeds their windows and stores the vectors.
//!
//! First each page gets the vector of its first window, newest changes first; then the other
//! windows follow. No vector is computed twice: the rest of a page is added to its first vector,
//! and a page that is too long for one round continues in the next, also after a restart.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::commit_hook::{key_of, transient_fault};
use super::pending_changes::{Pass, PendingRange};
use super::state::OpenVectors;
use super::{EmbeddingService, RoundResult};
use brain_base::caller::Visibility;
use brain_embed::vectors::{Key, VectorError, WindowVector};
use brain_embed::{EmbedError, EmbedErrorKind, VectorPurpose};
use brain_page::{Window, windows};
use brain_store::{PageRecord, StoreError, unless_damaged};

/// Number of windows after which a round takes no further page.
const MAX_ROUND_WINDOWS: usize = 128;
/// Bytes of text after which a round takes no further page.
const MAX_ROUND_BYTES: usize = 1_000_000;
/// Maximum number of pages that a round examines.
const MAX_ROUND_PAGES: usize = 2000;
/// Poll interval while questions are embedded.
const QUESTION_POLL: Duration = Duration::from_millis(5);

/// The pages of a round.
#[derive(Default)]
struct FoundPages {
    pages: Vec<PendingPage>,
    /// The change up to which the search for pages must continue.
    reached: u64,
    /// Whether pages need vectors of further windows.
    has_rest: bool,
    /// Number of windows in `pages`; a page without windows counts as one.
    windows: usize,
    /// Bytes of text in `pages`.
    bytes: usize,
}

/// A page, and those of its windows that a round embeds.
struct PendingPage {
    page: u64,
    key: Key,
    windows: Vec<Window>,
    /// Start of the first window after these; `None` if they complete the page.
    next: Option<u32>,
    /// Whether the new vectors replace those of the same text.
    replaces: bool,
}

/// The current vectors of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// None, or those of another text.
    Nothing,
    /// Those of the windows before this position in the body.
    Until(u32),
    /// All, but they must be computed again.
    Outdated,
    Complete,
}

impl EmbeddingService {
    /// Embeds some pages. Returns `None` if no changes are pending. `wait_until_idle` blocks until
    /// the next batch may start and returns whether to continue.
    pub(super) fn embed_pending(
        &self,
        open: &OpenVectors,
        should_continue: &dyn Fn() -> bool,
        wait_until_idle: &dyn Fn() -> bool,
    ) -> Result<Option<RoundResult>, EmbedError> {
        let pending_changes = &self.state.shared.pending_changes;
        let Some(range) = pending_changes.lock().take() else { return Ok(None) };
        let found = self.find_pending(open, range).map_err(|e| transient_fault(&e));
        let result = found.and_then(|found| {
            let round = self.embed_pages(open, &found.pages, should_continue, wait_until_idle)?;
            Ok((round, found.reached, found.has_rest))
        });
        // Failed pages stay pending; finished ones cost nothing to examine again.
        let (reached, has_rest) = match &result {
            Ok((_, reached, has_rest)) => (*reached, *has_rest),
            Err(_) => (range.up_to, false),
        };
        pending_changes.lock().put_back(range, reached, has_rest);
        result.map(|(round, ..)| Some(round))
    }

    /// Finds pages without current vectors among the changes in `range`, newest first.
    fn find_pending(
        &self,
        open: &OpenVectors,
        range: PendingRange,
    ) -> Result<FoundPages, StoreError> {
        let reader = self.store.read(Visibility::All)?;
        let mut found = FoundPages { reached: range.after, ..FoundPages::default() };
        let mut examined = 0;
        reader.newest_pages(range.up_to + 1, |(_, _, record)| {
            if record.seq <= range.after {
                return Ok(false);
            }
            examined += 1;
            let key = key_of(&record);
            let progress = self.progress(open, &record, key);
            let is_for_rest =
                range.pass == Pass::Beginnings && !matches!(progress, Progress::Nothing);
            let needs_vectors = progress != Progress::Complete
                && !self.state.shared.suppressed_pages.lock().contains(&record.id);
            if needs_vectors && is_for_rest {
                found.has_rest = true;
            } else if needs_vectors && let Some(content) = unless_damaged(reader.content(&record))?
            {
                let windows = windows(&record.title, &content.body);
                if progress == Progress::Nothing {
                    self.state.forecast.lock().record_page(&record, &windows);
                }
                found.add(PendingPage::new(&record, key, windows, progress), range.pass);
            }
            let is_cut = found.pages.last().is_some_and(|page| {
                range.pass == Pass::Rest && page.page == record.id && page.next.is_some()
            });
            let more = !is_cut
                && examined < MAX_ROUND_PAGES
                && found.windows < MAX_ROUND_WINDOWS
                && found.bytes < MAX_ROUND_BYTES;
            if !more {
                // The next round continues a page that was cut.
                found.reached = if is_cut { record.seq } else { record.seq - 1 };
            }
            Ok(more)
        })?;
        Ok(found)
    }

    fn progress(&self, open: &OpenVectors, record: &PageRecord, key: Key) -> Progress {
        if open.vectors.key(record.id) != Some(key) {
            return Progress::Nothing;
        }
        if self.state.shared.outdated_pages.lock().contains(&record.id) {
            return Progress::Outdated;
        }
        open.vectors.next(record.id).map_or(Progress::Complete, Progress::Until)
    }

    /// Embeds the windows of these pages and stores their vectors.
    fn embed_pages(
        &self,
        open: &OpenVectors,
        pages: &[PendingPage],
        should_continue: &dyn Fn() -> bool,
        wait_until_idle: &dyn Fn() -> bool,
    ) -> Result<RoundResult, EmbedError> {
        let windows =
            pages.iter().flat_map(|page| page.windows.iter().map(|window| (window, page.page)));
        let mut texts = windows.map(|(window, page)| (window.text.clone(), page));
        let mut round = RoundResult::default();
        // Vectors of windows whose page is not stored yet.
        let mut vectors = VecDeque::new();
        let mut pages = pages.iter().peekable();
        loop {
            while let Some(page) = pages.next_if(|page| page.windows.len() <= vectors.len()) {
                let vectors = vectors.drain(..page.windows.len());
                if self.store_page_vectors(open, page, vectors)? {
                    round.pages += u64::from(page.next.is_none());
                    round.windows += page.windows.len() as u64;
                }
            }
            let (batch, pages_of_batch): (Vec<String>, Vec<u64>) =
                texts.by_ref().take(open.batch_size).unzip();
            if batch.is_empty() {
                return Ok(round);
            }
            while wait_until_idle() && self.state.query_embedder.is_busy() {
                std::thread::sleep(QUESTION_POLL);
            }
            let began = Instant::now();
            vectors.extend(embed_texts(open, (&batch, &pages_of_batch), should_continue)?);
            self.state.forecast.lock().record_batch(&batch, began.elapsed());
        }
    }

    /// Stores vectors of a page, unless the page changed meanwhile. Returns whether it stored them.
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
        let stored = match pending.replaces {
            true => open.vectors.put(pending.page, pending.key, &window_vectors),
            false => open.vectors.add(pending.page, pending.key, &window_vectors, pending.next),
        };
        match stored {
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
}

impl FoundPages {
    /// Adds a page with as many of its windows as the pass and the round allow.
    fn add(&mut self, mut page: PendingPage, pass: Pass) {
        match pass {
            Pass::Beginnings => page.cut(1),
            // Incomplete vectors would replace complete ones.
            Pass::Rest if page.replaces => {}
            Pass::Rest => page.cut(MAX_ROUND_WINDOWS.saturating_sub(self.windows).max(1)),
        }
        self.has_rest |= page.next.is_some();
        self.windows += page.windows.len().max(1);
        self.bytes += page.windows.iter().map(|window| window.text.len()).sum::<usize>();
        self.pages.push(page);
    }
}

impl PendingPage {
    /// Creates a page with all windows that still need a vector.
    fn new(record: &PageRecord, key: Key, mut windows: Vec<Window>, progress: Progress) -> Self {
        if let Progress::Until(next) = progress {
            windows.retain(|window| window.start >= next as usize);
        }
        let replaces = progress == Progress::Outdated;
        Self { page: record.id, key, windows, next: None, replaces }
    }

    /// Leaves all windows after the first `count` for a later round.
    fn cut(&mut self, count: usize) {
        if let Some(first_left) = self.windows.get(count) {
            self.next = Some(first_left.start as u32);
            self.windows.truncate(count);
        }
    }
}

/// Embeds each text, with the id of its page; `None` for a text that the model rejects.
fn embed_texts(
    open: &OpenVectors,
    (texts, pages): (&[String], &[u64]),
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    match open.embedder.embed_pages(texts, VectorPurpose::Document, pages, should_continue) {
        Ok(vectors) if vectors.len() == texts.len() => Ok(vectors.into_iter().map(Some).collect()),
        Ok(vectors) => {
            let message =
                format!("the model made {} vectors of {} texts", vectors.len(), texts.len());
            Err(EmbedError { kind: EmbedErrorKind::Model, message, hint: None })
        }
        Err(fault) if fault.kind == EmbedErrorKind::Text && texts.len() > 1 => {
            let each = texts.chunks(1).zip(pages.chunks(1));
            let each = each.map(|one| embed_texts(open, one, should_continue));
            Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        Err(fault) if fault.kind == EmbedErrorKind::Text => {
            tracing::warn!(%fault, "the model rejects a text; it gets no vector");
            Ok(vec![None])
        }
        Err(fault) => Err(fault),
    }
}
