//! A loaded model, which computes vectors or scores of texts.
//!
//! Several batches run in parallel, each on one thread. That is faster than one batch on several
//! threads, because much of an encoder's work is too small to share. A long single batch uses all
//! threads; a short one, such as a question, gains nothing from a second thread, and on a busy
//! machine it would wait for it at every step.
//!
//! Pages are embedded on threads of low priority, so that a question goes first on every core.
//!
//! The runtime may panic over an unusual graph; the panic becomes an error of the file.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rten::{
    Dimension, Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView, ValueView,
};
use rten_tensor::Layout;
use rustix::process::nice;
use tokenizers::Tokenizer;

use super::error::{damaged, missing};
use super::graph;
use super::model_card::{ModelCard, Pooling, WeightsKind, read_bounded_file};
use super::text::{self, LeadingText, TextTokens};
use crate::{EmbedError, EmbedErrorKind, VectorPurpose};

/// Maximum time between two calls of `should_continue` while batches run.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How much lower the priority of threads that embed pages is; see `nice(2)`.
const PAGE_NICENESS: i32 = 10;
/// Maximum tokens of a single batch that runs on one thread.
const MAX_SINGLE_TOKENS: usize = 64;
/// Texts tokenized between two calls of `should_continue`.
const TOKENIZE_BATCH: usize = 256;
/// Maximum size of a graph file, in bytes.
const MAX_GRAPH_BYTES: u64 = 2 << 30;
/// Preferred output names, in order: brain's own graph, then token vectors and text vectors of ONNX
/// files.
const OUTPUTS: [&str; 3] = [graph::OUTPUT, "token_embeddings", "sentence_embedding"];

/// A model in memory.
pub(super) struct LoadedModel {
    card: Arc<ModelCard>,
    tokenizer: Tokenizer,
    runner: GraphRunner,
    /// Length of the model's vectors.
    dimensions: usize,
    /// Pool of all threads, for a single batch.
    shared_pool: Arc<ThreadPool>,
    /// Pools of one thread each, for parallel batches that a search waits for.
    single_pools: Vec<Arc<ThreadPool>>,
    /// As `single_pools`, with low priority, for pages.
    page_pools: Vec<Arc<ThreadPool>>,
}

/// What texts are embedded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    /// A search waits for them.
    Search,
    /// Pages get their vectors in the background.
    Pages,
}

/// A loaded graph and its inputs.
struct GraphRunner {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    /// Size of the vocabulary, if known.
    vocabulary: Option<usize>,
    /// Maximum number of texts of a batch.
    max_texts: usize,
}

/// An input of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// Token ids.
    Tokens,
    /// 1 where there is a token, 0 where there is padding.
    Mask,
    /// The type of each token.
    Types,
    /// Position of each token, the same for all texts.
    Positions,
    /// Position of each token, for each text.
    PositionsByText,
}

/// Vectors of one batch with the indexes of their texts.
type IndexedVectors = Vec<(usize, Vec<f32>)>;

/// Returns the length of the vectors of an ONNX model.
pub(super) fn dimensions(card: &ModelCard) -> Result<usize, EmbedError> {
    let runner = GraphRunner::load(card)?;
    let shape = runner.model.node_info(runner.output).and_then(|output| output.shape());
    match shape.as_deref().and_then(<[Dimension]>::last) {
        Some(Dimension::Fixed(dimensions)) => Ok(*dimensions),
        _ => card.dimensions.ok_or_else(|| {
            damaged(
                &card.weights_file,
                "does not give the length of its vectors, and no config.json gives it",
            )
        }),
    }
}

impl LoadedModel {
    /// Loads a model with vectors of this length.
    pub(super) fn load(
        card: &Arc<ModelCard>,
        dimensions: usize,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        let single_pools = || -> Vec<_> {
            (0..threads).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect()
        };
        let page_pools = single_pools();
        for pool in &page_pools {
            // Without a lower priority, pages only cost searches more time.
            let _ = pool.run(|| nice(PAGE_NICENESS));
        }
        Ok(Self {
            tokenizer: text::tokenizer(card)?,
            runner: GraphRunner::load(card)?,
            card: card.clone(),
            dimensions,
            shared_pool: Arc::new(ThreadPool::with_num_threads(threads)),
            single_pools: single_pools(),
            page_pools,
        })
    }

    /// Returns the vectors of `texts`; see [`Embedder::embed`](crate::Embedder::embed).
    pub(super) fn embed(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (prefix, urgency) = match purpose {
            VectorPurpose::Query => (&self.card.query_prefix, Urgency::Search),
            VectorPurpose::Document => (&self.card.document_prefix, Urgency::Pages),
        };
        self.vectors(LeadingText::Prefix(prefix), texts, urgency, should_continue)
    }

    /// Returns a score for each text, higher for a better answer to the question; see
    /// [`Reranker::rerank`](crate::Reranker::rerank).
    pub(super) fn rerank(
        &self,
        question: &str,
        texts: &[String],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError> {
        let leading = LeadingText::Question(question);
        let scores = self.vectors(leading, texts, Urgency::Search, should_continue)?;
        let scores: Vec<f32> = scores.into_iter().flatten().collect();
        match scores.len() == texts.len() && scores.iter().all(|score| score.is_finite()) {
            true => Ok(scores),
            false => {
                Err(damaged(&self.card.weights_file, "is damaged: it makes no score for a text"))
            }
        }
    }

    /// Returns the model's output for each text with its leading text.
    fn vectors(
        &self,
        leading: LeadingText<'_>,
        texts: &[String],
        urgency: Urgency,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut tokens = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            if at % TOKENIZE_BATCH == 0 && !should_continue() {
                return Err(stopped());
            }
            let vocabulary = self.runner.vocabulary;
            tokens.push(text::tokens(
                &self.tokenizer,
                &self.card,
                leading,
                (at, text),
                vocabulary,
            )?);
        }
        let batches = text::batches(&mut tokens, self.runner.max_texts);
        let mut vectors = vec![Vec::new(); texts.len()];
        self.run(&tokens, &batches, urgency, should_continue, |batch| {
            for (index, vector) in batch {
                if let Some(slot) = vectors.get_mut(index) {
                    *slot = vector;
                }
            }
        })?;
        Ok(vectors)
    }

    /// See [`Embedder::coverage`](crate::Embedder::coverage).
    pub(super) fn coverage(&self, text: &str) -> f32 {
        text::coverage(&self.tokenizer, &text::prepare(&self.card, "", text))
    }

    /// Runs batches in parallel and passes their vectors to `on_batch`.
    fn run(
        &self,
        tokens: &[TextTokens],
        batches: &[Range<usize>],
        urgency: Urgency,
        should_continue: &dyn Fn() -> bool,
        mut on_batch: impl FnMut(IndexedVectors),
    ) -> Result<(), EmbedError> {
        let token_count = || tokens.iter().map(|text| text.ids.len()).sum::<usize>();
        let pools = match urgency {
            Urgency::Pages => &self.page_pools,
            Urgency::Search if batches.len() == 1 && token_count() > MAX_SINGLE_TOKENS => {
                std::slice::from_ref(&self.shared_pool)
            }
            Urgency::Search => &self.single_pools,
        };
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (send, receive) = mpsc::channel();
        let (next, stop) = (&next, &stop);
        thread::scope(|scope| {
            for pool in pools.iter().take(batches.len()) {
                let send = send.clone();
                let work = move || self.work(tokens, batches, pool, next, stop, &send);
                if let Err(error) =
                    thread::Builder::new().name("embed".into()).spawn_scoped(scope, work)
                {
                    stop.store(true, Ordering::Relaxed);
                    return Err(no_thread(&error));
                }
            }
            drop(send);
            let end = loop {
                match receive.recv_timeout(CHECK_INTERVAL) {
                    Ok(Ok(vectors)) => on_batch(vectors),
                    Ok(Err(fault)) => break Err(fault),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break Ok(()),
                }
                if !should_continue() {
                    break Err(stopped());
                }
            };
            stop.store(true, Ordering::Relaxed);
            end
        })
    }

    /// Runs batches from `batches`, at the index `next`, until none is left or `stop` is set.
    fn work(
        &self,
        tokens: &[TextTokens],
        batches: &[Range<usize>],
        pool: &Arc<ThreadPool>,
        next: &AtomicUsize,
        stop: &AtomicBool,
        send: &Sender<Result<IndexedVectors, EmbedError>>,
    ) {
        while !stop.load(Ordering::Relaxed) {
            let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let result = self.batch(tokens.get(batch.clone()).unwrap_or_default(), pool);
            let failed = result.is_err();
            // Without a receiver, the work was stopped.
            if send.send(result).is_err() || failed {
                return;
            }
        }
    }

    /// Returns the vectors of one batch.
    fn batch(
        &self,
        texts: &[TextTokens],
        pool: &Arc<ThreadPool>,
    ) -> Result<IndexedVectors, EmbedError> {
        let width = texts.iter().map(|text| text.ids.len()).max().unwrap_or_default();
        let (shape, numbers) = self.runner.run(&self.card, texts, width, pool)?;
        let wrong_shape = || {
            damaged(
                &self.card.weights_file,
                format_args!("gives vectors of the wrong shape: {shape:?}"),
            )
        };
        // One vector per text, or one per token.
        let tokens = match *shape.as_slice() {
            [count, length] if count == texts.len() && length == self.dimensions => 1,
            [count, tokens, length]
                if count == texts.len() && tokens == width && length == self.dimensions =>
            {
                tokens
            }
            _ => return Err(wrong_shape()),
        };
        let rows = numbers.chunks_exact((tokens * self.dimensions).max(1));
        let mut vectors = IndexedVectors::with_capacity(texts.len());
        for (text, rows) in texts.iter().zip(rows) {
            if self.card.is_reranker {
                vectors.push((text.text_index, rows.to_vec()));
                continue;
            }
            let count = match self.card.pooling {
                Pooling::Mean => text.ids.len().min(tokens),
                Pooling::First => 1,
            };
            let vector = pool_rows(rows, count, self.dimensions).ok_or_else(|| {
                damaged(&self.card.weights_file, "is damaged: it makes no vector for a text")
            })?;
            vectors.push((text.text_index, vector));
        }
        Ok(vectors)
    }
}

/// Returns the mean of the first `count` rows, scaled to length one; `None` when it is zero or not
/// finite.
fn pool_rows(rows: &[f32], count: usize, dimensions: usize) -> Option<Vec<f32>> {
    let mut vector = vec![0.0_f32; dimensions];
    for row in rows.chunks_exact(dimensions).take(count) {
        vector.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
    }
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return None;
    }
    vector.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
    Some(vector)
}

impl GraphRunner {
    /// Loads a model into the runtime.
    fn load(card: &ModelCard) -> Result<Self, EmbedError> {
        let load_error =
            |error| damaged(&card.weights_file, format_args!("cannot be loaded: {error}"));
        let (model, vocabulary, max_texts) = match &card.weights {
            WeightsKind::Safetensors(shape) => {
                let graph::BuiltGraph { graph, memory } = graph::build(&card.weights_file, shape)?;
                let load = || {
                    // Otherwise each run packs them again: half of the time of a question.
                    ModelOptions::with_all_ops()
                        .prepack_weights(true)
                        .external_data(graph::MEMORY, memory)
                        .load(graph)
                };
                let max_texts = if graph::is_rounded(shape) { 1 } else { text::MAX_BATCH_TEXTS };
                (catch_panic(card, load)?.map_err(load_error)?, Some(shape.vocabulary), max_texts)
            }
            WeightsKind::Onnx => {
                // Loaded from memory, so that the graph cannot refer to other files.
                let bytes = read_bounded_file(&card.weights_file, MAX_GRAPH_BYTES)?
                    .ok_or_else(|| missing(&card.weights_file))?;
                let load = || ModelOptions::with_all_ops().load(bytes);
                (catch_panic(card, load)?.map_err(load_error)?, None, text::MAX_BATCH_TEXTS)
            }
        };
        let name_of =
            |id: &NodeId| model.node_info(*id).and_then(|node| node.name()).unwrap_or_default();
        let mut inputs = Vec::new();
        for id in model.input_ids() {
            let input = match name_of(id) {
                graph::TOKENS => Input::Tokens,
                graph::MASK => Input::Mask,
                graph::POSITIONS => Input::Positions,
                graph::TYPES => Input::Types,
                "position_ids" => Input::PositionsByText,
                other => {
                    return Err(damaged(
                        &card.weights_file,
                        format_args!("has an input that brain does not support: {other}"),
                    ));
                }
            };
            inputs.push((*id, input));
        }
        let outputs = model.output_ids();
        let preferred =
            OUTPUTS.iter().find_map(|name| outputs.iter().find(|id| name_of(id) == *name));
        let output = *preferred.or(outputs.first()).ok_or_else(|| {
            damaged(&card.weights_file, "has no output: it is not a text encoder")
        })?;
        Ok(Self { model, inputs, output, vocabulary, max_texts })
    }

    /// Runs the graph on one batch; returns the output's shape and its numbers by row.
    fn run(
        &self,
        card: &ModelCard,
        texts: &[TextTokens],
        width: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<(Vec<usize>, Vec<f32>), EmbedError> {
        let padded = |value: fn(usize, &TextTokens) -> i32| -> Vec<i32> {
            texts.iter().flat_map(|text| (0..width).map(move |at| value(at, text))).collect()
        };
        let data: Vec<(NodeId, Vec<usize>, Vec<i32>)> = self
            .inputs
            .iter()
            .map(|(id, input)| {
                let shape = vec![texts.len(), width];
                match input {
                    Input::Tokens => (*id, shape, padded(|at, text| padded_at(&text.ids, at))),
                    Input::Mask => (*id, shape, padded(|at, text| i32::from(at < text.ids.len()))),
                    Input::Types => (*id, shape, padded(|at, text| padded_at(&text.types, at))),
                    Input::PositionsByText => {
                        (*id, shape, padded(|at, _| i32::try_from(at).unwrap_or_default()))
                    }
                    Input::Positions => {
                        (*id, vec![width], (0..width).filter_map(|at| at.try_into().ok()).collect())
                    }
                }
            })
            .collect();
        let run_error = |error: &dyn std::fmt::Display| {
            damaged(&card.weights_file, format_args!("cannot be run: {error}"))
        };
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = Vec::with_capacity(data.len());
        for (id, shape, numbers) in &data {
            let view = ValueView::from_shape(shape, numbers).map_err(|error| run_error(&error))?;
            inputs.push((*id, view.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(pool.clone()));
        let [output] =
            catch_panic(card, || self.model.run_n(inputs, [self.output], Some(options)))?
                .map_err(|error| run_error(&error))?;
        let shape = output.shape().to_vec();
        let numbers = match output {
            Value::FloatTensor(tensor) => tensor.into_data(),
            _ => return Err(damaged(&card.weights_file, "has an output that is not numbers")),
        };
        Ok((shape, numbers))
    }
}

/// Returns the number at `at`, or 0 (padding) after the last one.
fn padded_at(numbers: &[i32], at: usize) -> i32 {
    numbers.get(at).copied().unwrap_or_default()
}

/// Runs `work` and converts a panic of the runtime to an error of the file.
fn catch_panic<T>(card: &ModelCard, work: impl FnOnce() -> T) -> Result<T, EmbedError> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| damaged(&card.weights_file, "makes the runtime panic: it is damaged"))
}

fn stopped() -> EmbedError {
    EmbedError { kind: EmbedErrorKind::Stopped, message: "the work was stopped".into(), hint: None }
}

fn no_thread(error: &std::io::Error) -> EmbedError {
    EmbedError {
        kind: EmbedErrorKind::Retryable(None),
        message: format!("cannot start a thread for the model: {error}"),
        hint: None,
    }
}
