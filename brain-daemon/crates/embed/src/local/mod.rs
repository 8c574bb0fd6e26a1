//! A sentence model that runs in this process, on the processor. Knows of the machine its directory and how many threads it may use,
//! and of texts nothing but that they are text.
//!
//! `card` reads what is written about a model beside its weights, `weights` the weights themselves, `graph` says what is computed with
//! them, in the words of ONNX (`onnx`, a writer of its wire format), because that is what the runtime takes. `text` makes tokens and
//! batches, `probe` loads a tokenizer elsewhere first, `engine` has a loaded model and runs it. `fault` says what is wrong with a file.
//!
//! The model is loaded at the first text, and let go of by [`Embedder::rest`]. Files that are damaged or odd are refused with their name:
//! whatever is in them is looked at before the runtime, which may panic, gets it.

mod card;
mod engine;
mod fault;
mod graph;
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest, Sha256};

use super::{EmbedFault, Embedder, Purpose, Space};
use card::{Card, Weights};
use engine::Engine;

/// What there is to know of an installed model without running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name: its directory's.
    pub name: String,
    /// Length of its vectors.
    pub dimensions: u32,
    /// Bytes of its weights.
    pub bytes: u64,
    /// SHA-256 of its weights, in hexadecimal digits.
    pub sha256: String,
    /// The file with its weights.
    pub weights: PathBuf,
}

/// Looks at the model in a directory: whether every file that it needs is there and fits the others, and what it is. Reads all of the
/// weights, a tenth of a second or so.
///
/// # Errors
/// [`EmbedWhy::Model`](super::EmbedWhy::Model), with the file's name.
pub fn inspect(directory: &Path) -> Result<ModelFacts, EmbedFault> {
    inspect_while(directory, &|| true)
}

/// [`inspect`], until `goes_on` says no. What is told then is not to be relied on.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_while(
    directory: &Path,
    goes_on: &dyn Fn() -> bool,
) -> Result<ModelFacts, EmbedFault> {
    let card = Card::read(directory)?;
    probe::check(&card.tokenizer, goes_on)?;
    text::tokenizer(&card)?;
    facts(&card)
}

/// [`inspect`] of a model whose card was read.
fn facts(card: &Card) -> Result<ModelFacts, EmbedFault> {
    let dimensions = match &card.weights {
        Weights::Safetensors(shape) => {
            graph::check(&card.file, shape)?;
            shape.hidden
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

/// How long a file is, and its SHA-256.
fn digest(path: &Path) -> Result<(u64, String), EmbedFault> {
    let unread = |error: io::Error| fault::unread(path, &error);
    let (mut file, mut hash) = (File::open(path).map_err(unread)?, Sha256::new());
    let (mut part, mut bytes) = (vec![0; 1 << 18], 0);
    loop {
        match file.read(&mut part).map_err(unread)? {
            0 => return Ok((bytes, brain_page::hex(&hash.finalize().into()))),
            many => {
                hash.update(part.get(..many).unwrap_or_default());
                bytes += many as u64;
            }
        }
    }
}

/// Makes vectors with a model on this machine.
pub struct Local {
    directory: PathBuf,
    threads: usize,
    held: Mutex<Held>,
}

/// What is held of the model.
struct Held {
    /// What it is, once somebody asked.
    known: Option<Arc<Known>>,
    /// What vectors can be compared with, as it was told last.
    told: Option<String>,
    /// The model itself, while it is in use and for a while after.
    engine: Option<Arc<Engine>>,
    /// When it was last used.
    used: Instant,
}

/// What a model is, and when.
struct Known {
    card: Arc<Card>,
    space: Space,
    stamp: Stamp,
}

/// By what a file is known to be the same as before.
type Stamp = (u64, Option<SystemTime>);

impl Local {
    /// The model in `directory`, which need not exist yet, on so many threads. Reads nothing.
    #[must_use]
    pub fn new(directory: PathBuf, threads: usize) -> Self {
        let held = Held { known: None, told: None, engine: None, used: Instant::now() };
        Self { directory, threads: threads.max(1), held: Mutex::new(held) }
    }

    /// Whether the model is in memory.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.held().engine.is_some()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model is; looked up again when its weights are others than before.
    fn known(&self, held: &mut Held) -> Result<Arc<Known>, EmbedFault> {
        if let Some(known) = &held.known
            && stamp(&known.card.file).is_some_and(|now| now == known.stamp)
        {
            return Ok(known.clone());
        }
        held.engine = None;
        held.known = None;
        let card = Card::read(&self.directory)?;
        let stamp = stamp(&card.file).ok_or_else(|| fault::missing(&card.file))?;
        probe::check(&card.tokenizer, &|| true)?;
        let facts = facts(&card)?;
        let (_, words) = digest(&card.tokenizer)?;
        let space = Space {
            model: facts.name.clone(),
            identity: format!(
                "local weights={} tokenizer={words} pooling={:?} tokens={} lower={} query={:?} document={:?}",
                facts.sha256,
                card.pooling,
                card.max_tokens,
                card.lower_case,
                card.query,
                card.document
            ),
            dimensions: facts.dimensions as usize,
        };
        let known = Arc::new(Known { card: Arc::new(card), space, stamp });
        held.known = Some(known.clone());
        Ok(known)
    }

    /// The model, loaded.
    fn engine(&self) -> Result<Arc<Engine>, EmbedFault> {
        let mut held = self.held();
        let known = self.known(&mut held)?;
        if held.told.as_ref().is_some_and(|told| *told != known.space.identity) {
            return Err(fault::changed(&known.card.file));
        }
        held.used = Instant::now();
        if let Some(engine) = &held.engine {
            return Ok(engine.clone());
        }
        let began = Instant::now();
        let engine = Arc::new(Engine::load(&known.card, known.space.dimensions, self.threads)?);
        tracing::debug!(
            model = known.card.name,
            ms = began.elapsed().as_millis(),
            "loaded a sentence model"
        );
        held.engine = Some(engine.clone());
        Ok(engine)
    }
}

/// What a file is like at the moment; `None` when it is not there.
fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()))
}

impl Embedder for Local {
    fn space(&self) -> Result<Space, EmbedFault> {
        let mut held = self.held();
        let space = self.known(&mut held)?.space.clone();
        held.told = Some(space.identity.clone());
        Ok(space)
    }

    fn embed(
        &self,
        texts: &[String],
        purpose: Purpose,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedFault> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = self.engine()?.embed(texts, purpose, goes_on);
        self.held().used = Instant::now();
        vectors
    }

    fn reads(&self, text: &str) -> f32 {
        // Whoever loads a model holds it for long, and nobody waits for this.
        let engine = self.held.try_lock().ok().and_then(|held| held.engine.clone());
        engine.map_or(1.0, |engine| engine.reads(text))
    }

    fn rest(&self, idle: Duration) {
        let mut held = self.held();
        let unused = held.engine.as_ref().is_some_and(|engine| Arc::strong_count(engine) == 1);
        if unused && held.used.elapsed() >= idle {
            held.engine = None;
            tracing::debug!("let go of the sentence model");
        }
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
