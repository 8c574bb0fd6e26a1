//! Finds the pages near a question, and the distance of two pages.

use std::time::Instant;

use super::query_embedder::MAX_QUESTION_CHARS;
use super::scale::{CosineScale, Windows};
use super::state::OpenVectors;
use super::{CallerPages, Degradation, EmbeddingService, QUERY_DEADLINE, VectorResults};
use brain_base::caller::Visibility;
use brain_embed::{EmbedError, EmbedErrorKind};

/// Percentage of pages that may lack vectors before an answer is marked as degraded. New pages are
/// few and found by their words.
const MAX_MISSING_PERCENT: u64 = 2;
/// Maximum number of cached scales for sets of sources.
const MAX_SCALES: usize = 256;

impl EmbeddingService {
    /// Returns whether an embedder is configured.
    pub(crate) fn has_embedding(&self) -> bool {
        self.embedding_provider().is_some()
    }

    /// Returns up to `limit` pages near `question` that `admits` accepts. With `caller_pages`, only
    /// those pages influence the result. Never fails, and waits for the model at most
    /// `QUERY_DEADLINE`.
    pub fn near(
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
    pub fn distance(&self, first: u64, second: u64) -> Option<f32> {
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
