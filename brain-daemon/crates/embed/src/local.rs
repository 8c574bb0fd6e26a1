//! Sentence model or reranker that runs in this process, on the CPU.
//!
//! `model_card` reads the files beside the weights, and `weights` the weights. `graph` builds the
//! computation as ONNX (`onnx` writes the format), because the runtime takes that. `text` makes
//! tokens and batches. `probe` loads a tokenizer in a separate process first. `engine` runs a
//! loaded model. `error` describes unusable files.
//!
//! The model is loaded at the first text, and unloaded by [`Embedder::unload_if_idle`]. Damaged or
//! unsupported files are refused by name: they are checked before the runtime, which may panic,
//! reads them.

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

use super::{EmbedError, Embedder, Purpose, Reranker, VectorSpace};
use engine::Engine;
pub use model_card::is_reranker;
use model_card::{ModelCard, Weights};

/// Facts about an installed model, known without running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name, from its directory.
    pub name: String,
    /// Length of its vectors; 1 for a reranker, which makes a number.
    pub dimensions: u32,
    /// Size of its weights in bytes.
    pub bytes: u64,
    /// SHA-256 of its weights, in hexadecimal digits.
    pub sha256: String,
    /// The file with the weights.
    pub weights: PathBuf,
}

/// Checks that the model's files are complete and consistent, and returns facts about it. Reads all
/// weights, which takes about a tenth of a second.
///
/// # Errors
/// [`EmbedErrorKind::Model`](super::EmbedErrorKind::Model) with the file's name.
pub fn inspect(directory: &Path) -> Result<ModelFacts, EmbedError> {
    inspect_while(directory, &|| true)
}

/// As [`inspect`], until `should_continue` returns `false`. The result is then not reliable.
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

/// As [`inspect`], for a parsed model card.
fn facts(card: &ModelCard) -> Result<ModelFacts, EmbedError> {
    let dimensions = match &card.weights {
        Weights::Safetensors(shape) => {
            graph::check(&card.file, shape)?;
            card.dimensions.filter(|_| card.is_reranker).unwrap_or(shape.hidden)
        }
        Weights::Onnx => engine::dimensions(card)?,
    };
    let (bytes, sha256) = digest(&card.file)?;
    Ok(ModelFacts {
        name: card.name.clone(),
        dimensions: u32::try_from(dimensions).unwrap_or(u32::MAX),
        bytes,
        sha256,
        weights: card.file.clone(),
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
            many => {
                hash.update(part.get(..many).unwrap_or_default());
                bytes += many as u64;
            }
        }
    }
}

/// A model on this machine.
pub struct Local {
    directory: PathBuf,
    threads: usize,
    state: Mutex<LoadState>,
}

/// State of the model.
struct LoadState {
    /// Facts about the model, once requested.
    known: Option<Arc<ModelInfo>>,
    /// Identity of the space that was returned last.
    reported: Option<String>,
    /// The loaded model, while it is in use and for a while after.
    engine: Option<Arc<Engine>>,
    /// When it was last used.
    used: Instant,
}

/// Facts about the model's files at one time.
struct ModelInfo {
    card: Arc<ModelCard>,
    space: VectorSpace,
    stamp: FileStamp,
}

/// Size and modification time, to notice a changed file.
type FileStamp = (u64, Option<SystemTime>);

impl Local {
    /// Creates the model in `directory`, which need not exist yet. Reads nothing.
    #[must_use]
    pub fn new(directory: PathBuf, threads: usize) -> Self {
        let state = LoadState { known: None, reported: None, engine: None, used: Instant::now() };
        Self { directory, threads: threads.max(1), state: Mutex::new(state) }
    }

    /// Whether the model is in memory.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.state().engine.is_some()
    }

    fn state(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock()
    }

    /// Returns facts about the model. Reads them again when its weights have changed.
    fn known(&self, state: &mut LoadState) -> Result<Arc<ModelInfo>, EmbedError> {
        if let Some(known) = &state.known
            && stamp(&known.card.file).is_some_and(|now| now == known.stamp)
        {
            return Ok(known.clone());
        }
        state.engine = None;
        state.known = None;
        let card = ModelCard::read(&self.directory)?;
        let stamp = stamp(&card.file).ok_or_else(|| error::missing(&card.file))?;
        probe::check(&card.tokenizer, &|| true)?;
        let facts = facts(&card)?;
        let (_, words) = digest(&card.tokenizer)?;
        let space = VectorSpace {
            model: facts.name.clone(),
            identity: format!(
                "local weights={} tokenizer={words} pooling={:?} tokens={} lower={} query={:?} \
                 document={:?}",
                facts.sha256,
                card.pooling,
                card.max_tokens,
                card.lower_case,
                card.query,
                card.document
            ),
            dimensions: facts.dimensions as usize,
        };
        let known = Arc::new(ModelInfo { card: Arc::new(card), space, stamp });
        state.known = Some(known.clone());
        Ok(known)
    }

    /// Returns the loaded model, which must be a reranker or must be none.
    fn engine(&self, is_reranker: bool) -> Result<Arc<Engine>, EmbedError> {
        let mut state = self.state();
        let known = self.known(&mut state)?;
        check_kind(&known.card, is_reranker)?;
        if state.reported.as_ref().is_some_and(|reported| *reported != known.space.identity) {
            return Err(error::changed(&known.card.file));
        }
        state.used = Instant::now();
        if let Some(engine) = &state.engine {
            return Ok(engine.clone());
        }
        let began = Instant::now();
        let engine = Arc::new(Engine::load(&known.card, known.space.dimensions, self.threads)?);
        tracing::debug!(
            model = known.card.name,
            ms = began.elapsed().as_millis(),
            "loaded a sentence model"
        );
        state.engine = Some(engine.clone());
        Ok(engine)
    }
}

/// Refuses a reranker where a sentence model is needed, and the other way round.
fn check_kind(card: &ModelCard, is_reranker: bool) -> Result<(), EmbedError> {
    match (card.is_reranker, is_reranker) {
        (true, false) => {
            Err(error::damaged(&card.file, "is a reranker: it makes no vectors (search.rerank)"))
        }
        (false, true) => Err(error::damaged(&card.file, "is no reranker")),
        _ => Ok(()),
    }
}

/// Returns size and time of a file; `None` when it is missing.
fn stamp(path: &Path) -> Option<FileStamp> {
    let found = fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()))
}

impl Embedder for Local {
    fn space(&self) -> Result<VectorSpace, EmbedError> {
        let mut state = self.state();
        let known = self.known(&mut state)?;
        check_kind(&known.card, false)?;
        let space = known.space.clone();
        state.reported = Some(space.identity.clone());
        Ok(space)
    }

    fn embed(
        &self,
        texts: &[String],
        purpose: Purpose,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = self.engine(false)?.embed(texts, purpose, should_continue);
        self.state().used = Instant::now();
        vectors
    }

    fn coverage(&self, text: &str) -> f32 {
        // Loading holds the lock for long, and this must not wait.
        let engine = self.state.try_lock().and_then(|state| state.engine.clone());
        engine.map_or(1.0, |engine| engine.coverage(text))
    }

    fn unload_if_idle(&self, idle: Duration) {
        let mut state = self.state();
        let unused = state.engine.as_ref().is_some_and(|engine| Arc::strong_count(engine) == 1);
        if unused && state.used.elapsed() >= idle {
            state.engine = None;
            tracing::debug!("unloaded the sentence model");
        }
    }
}

impl Reranker for Local {
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
        self.state().used = Instant::now();
        // The model's number is a logit, as in the library that trains these models.
        Ok(numbers?.into_iter().map(|number| 1.0 / (1.0 + (-number).exp())).collect())
    }

    fn unload_if_idle(&self, idle: Duration) {
        Embedder::unload_if_idle(self, idle);
    }
}

impl std::fmt::Debug for Local {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Local")
            .field("directory", &self.directory)
            .field("threads", &self.threads)
            .finish()
    }
}
