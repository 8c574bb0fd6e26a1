//! Sentence model or reranker that runs in this process, on the CPU.
//!
//! `model_card` reads the files beside the weights, and `weights` the weights. `graph` builds the
//! computation as ONNX (`onnx` writes the format), because the runtime reads ONNX. `text` makes
//! tokens and batches. `probe` tries a tokenizer in a separate process before it is used. `engine`
//! runs a loaded model. `error` describes unusable files.
//!
//! The model is loaded at the first text, and unloaded by [`Embedder::unload_if_idle`]. Errors name
//! the damaged or unsupported file. Safetensors are checked before the runtime reads them; a panic
//! of the runtime becomes an error of the file.

mod engine;
mod error;
mod graph;
mod model_card;
mod onnx;
pub mod probe;
mod text;
mod weights;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};

use super::{EmbedError, Embedder, ModelFacts, Reranker, VectorPurpose, VectorSpace};
use engine::LoadedModel;
pub use model_card::is_reranker;
use model_card::{ModelCard, WeightsKind};

/// Returns `Ok`: this program can run local models. `without_local_models.rs` stands in for this
/// module in a program that cannot.
///
/// # Errors
/// Never here.
pub fn check_built() -> Result<(), EmbedError> {
    Ok(())
}

/// Checks that the model's files are complete and consistent, and returns facts about it. Reads all
/// weights, which takes about a tenth of a second.
///
/// # Errors
/// [`EmbedErrorKind::Model`](super::EmbedErrorKind::Model), with the file's name, when a file is
/// missing, damaged or not supported.
pub fn inspect(directory: &Path) -> Result<ModelFacts, EmbedError> {
    inspect_while(directory, &|| true)
}

/// As [`inspect`], but stops the check of the tokenizer when `should_continue` returns `false`. The
/// result is then not reliable.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_while(
    directory: &Path,
    should_continue: &dyn Fn() -> bool,
) -> Result<ModelFacts, EmbedError> {
    let card = ModelCard::read(directory)?;
    probe::check(&card.tokenizer, should_continue)?;
    text::tokenizer(&card)?;
    facts(&card)
}

/// Checks the weights of a model and returns facts about it. Does not check the tokenizer.
fn facts(card: &ModelCard) -> Result<ModelFacts, EmbedError> {
    let dimensions = match &card.weights {
        WeightsKind::Safetensors(shape) => {
            graph::check(&card.weights_file, shape)?;
            card.dimensions.filter(|_| card.is_reranker).unwrap_or(shape.hidden)
        }
        WeightsKind::Onnx => engine::dimensions(card)?,
    };
    let (bytes, sha256) = digest(&card.weights_file)?;
    Ok(ModelFacts {
        name: card.name.clone(),
        dimensions: u32::try_from(dimensions).unwrap_or(u32::MAX),
        bytes,
        sha256,
        weights: card.weights_file.clone(),
    })
}

/// Returns length and SHA-256 of a file.
fn digest(path: &Path) -> Result<(u64, String), EmbedError> {
    let unreadable = |error: io::Error| error::unreadable(path, &error);
    let (mut file, mut hash) = (File::open(path).map_err(unreadable)?, Sha256::new());
    let (mut part, mut bytes) = (vec![0; 1 << 18], 0);
    loop {
        match file.read(&mut part).map_err(unreadable)? {
            0 => return Ok((bytes, brain_page::hex(&hash.finalize().into()))),
            count => {
                hash.update(part.get(..count).unwrap_or_default());
                bytes += count as u64;
            }
        }
    }
}

/// A model on this machine.
pub struct LocalModel {
    directory: PathBuf,
    threads: usize,
    state: Mutex<LoadState>,
}

/// State of the model.
struct LoadState {
    /// What was last read of the model, after the first request.
    snapshot: Option<Arc<ModelSnapshot>>,
    /// Identity of the space that [`Embedder::space`] returned last.
    reported_identity: Option<String>,
    /// The loaded model, while it is in use and for a while after.
    engine: Option<Arc<LoadedModel>>,
    /// When the model was last used.
    last_use: Instant,
}

/// The model card, the vector space and the stamp of the weights, as last read.
struct ModelSnapshot {
    card: Arc<ModelCard>,
    space: VectorSpace,
    stamp: SizeAndTime,
}

/// Size and modification time, to notice a changed file.
type SizeAndTime = (u64, Option<SystemTime>);

impl LocalModel {
    /// Returns a handle to the model in `directory`. Does not access the directory, which may be
    /// created later.
    #[must_use]
    pub fn new(directory: PathBuf, threads: usize) -> Self {
        let state = LoadState {
            snapshot: None,
            reported_identity: None,
            engine: None,
            last_use: Instant::now(),
        };
        Self { directory, threads: threads.max(1), state: Mutex::new(state) }
    }

    /// Returns whether the model is in memory.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.state().engine.is_some()
    }

    fn state(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock()
    }

    /// Returns the snapshot of the model. Reads the files again when the weights have changed.
    fn current_snapshot(&self, state: &mut LoadState) -> Result<Arc<ModelSnapshot>, EmbedError> {
        if let Some(snapshot) = &state.snapshot
            && stamp(&snapshot.card.weights_file).is_some_and(|now| now == snapshot.stamp)
        {
            return Ok(snapshot.clone());
        }
        state.engine = None;
        state.snapshot = None;
        let card = ModelCard::read(&self.directory)?;
        let stamp = stamp(&card.weights_file).ok_or_else(|| error::missing(&card.weights_file))?;
        probe::check(&card.tokenizer, &|| true)?;
        let facts = facts(&card)?;
        let (_, tokenizer_sha256) = digest(&card.tokenizer)?;
        let space = VectorSpace {
            model: facts.name.clone(),
            identity: format!(
                "local rounded weights={} tokenizer={tokenizer_sha256} pooling={:?} tokens={} \
                 lower={} query={:?} document={:?}",
                facts.sha256,
                card.pooling,
                card.max_tokens,
                card.lower_case,
                card.query_prefix,
                card.document_prefix
            ),
            dimensions: facts.dimensions as usize,
        };
        let snapshot = Arc::new(ModelSnapshot { card: Arc::new(card), space, stamp });
        state.snapshot = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Returns the loaded model; loads it if necessary. `needs_reranker` is the kind of model that
    /// the caller needs: a reranker or a sentence model.
    fn engine(&self, needs_reranker: bool) -> Result<Arc<LoadedModel>, EmbedError> {
        let mut state = self.state();
        let snapshot = self.current_snapshot(&mut state)?;
        check_kind(&snapshot.card, needs_reranker)?;
        if state
            .reported_identity
            .as_ref()
            .is_some_and(|reported| *reported != snapshot.space.identity)
        {
            return Err(error::changed(&snapshot.card.weights_file));
        }
        state.last_use = Instant::now();
        if let Some(engine) = &state.engine {
            return Ok(engine.clone());
        }
        let began = Instant::now();
        let engine =
            Arc::new(LoadedModel::load(&snapshot.card, snapshot.space.dimensions, self.threads)?);
        tracing::debug!(
            model = snapshot.card.name,
            ms = began.elapsed().as_millis(),
            "model loaded"
        );
        state.engine = Some(engine.clone());
        Ok(engine)
    }
}

/// Refuses a reranker where a sentence model is needed, and a sentence model where a reranker is.
fn check_kind(card: &ModelCard, needs_reranker: bool) -> Result<(), EmbedError> {
    match (card.is_reranker, needs_reranker) {
        (true, false) => Err(error::damaged(
            &card.weights_file,
            "is a reranker: it makes no vectors (search.rerank)",
        )),
        (false, true) => Err(error::damaged(&card.weights_file, "is not a reranker")),
        _ => Ok(()),
    }
}

/// Returns size and modification time of a file; `None` when they cannot be read.
fn stamp(path: &Path) -> Option<SizeAndTime> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

impl Embedder for LocalModel {
    fn space(&self) -> Result<VectorSpace, EmbedError> {
        let mut state = self.state();
        let snapshot = self.current_snapshot(&mut state)?;
        check_kind(&snapshot.card, false)?;
        let space = snapshot.space.clone();
        state.reported_identity = Some(space.identity.clone());
        Ok(space)
    }

    fn embed(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = self.engine(false)?.embed(texts, purpose, should_continue);
        self.state().last_use = Instant::now();
        vectors
    }

    fn load(&self) -> Result<(), EmbedError> {
        self.engine(false).map(drop)
    }

    fn coverage(&self, text: &str) -> f32 {
        // Loading a model holds the lock for long, and a search must not wait for it.
        let engine = self.state.try_lock().and_then(|state| state.engine.clone());
        engine.map_or(1.0, |engine| engine.coverage(text))
    }

    fn unload_if_idle(&self, idle: Duration) {
        let mut state = self.state();
        let is_unused = state.engine.as_ref().is_some_and(|engine| Arc::strong_count(engine) == 1);
        if is_unused && state.last_use.elapsed() >= idle {
            state.engine = None;
            tracing::debug!("model unloaded");
        }
    }
}

impl Reranker for LocalModel {
    fn rerank(
        &self,
        question: &str,
        texts: &[String],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = self.engine(true)?.rerank(question, texts, should_continue);
        self.state().last_use = Instant::now();
        // The model's number is a logit; its sigmoid is the score, as in sentence-transformers.
        Ok(numbers?.into_iter().map(|number| 1.0 / (1.0 + (-number).exp())).collect())
    }

    fn unload_if_idle(&self, idle: Duration) {
        Embedder::unload_if_idle(self, idle);
    }
}

impl std::fmt::Debug for LocalModel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LocalModel")
            .field("directory", &self.directory)
            .field("threads", &self.threads)
            .finish()
    }
}
