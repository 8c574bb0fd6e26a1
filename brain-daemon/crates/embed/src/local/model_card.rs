//! Model card: the description of a model in the small files beside its weights.
//!
//! The layout is that of the sentence-transformers library: `config.json` and `tokenizer.json`;
//! where a model differs from the defaults, `1_Pooling/config.json`, `sentence_bert_config.json`,
//! `tokenizer_config.json`, `config_sentence_transformers.json` and `modules.json`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{damaged, missing, unreadable};
use crate::EmbedError;

/// Maximum size of a settings file, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;
/// Maximum tokens of a text, even if the model allows more: attention costs their square.
const MAX_TOKENS: usize = 2048;
/// Maximum tokens of a text if the model does not specify it.
const DEFAULT_TOKENS: usize = 512;

/// Description of a model.
#[derive(Debug)]
pub(super) struct ModelCard {
    /// Its name, from its directory.
    pub(super) name: String,
    /// The file with the weights.
    pub(super) weights_file: PathBuf,
    /// Kind of the weights.
    pub(super) weights: WeightsKind,
    /// The tokenizer's file, which exists.
    pub(super) tokenizer: PathBuf,
    /// How token vectors become one vector.
    pub(super) pooling: Pooling,
    /// Maximum tokens of a text, including special ones; at least 8.
    pub(super) max_tokens: usize,
    /// Whether text is converted to lower case first.
    pub(super) lower_case: bool,
    /// Prefix of a question.
    pub(super) query_prefix: String,
    /// Prefix of a window of a page.
    pub(super) document_prefix: String,
    /// Length of its vectors, if specified; 1 for a reranker.
    pub(super) dimensions: Option<usize>,
    /// Whether it is a cross-encoder, which reads a question and a text together and returns a
    /// number.
    pub(super) is_reranker: bool,
}

/// Kind of weights.
#[derive(Debug)]
pub(super) enum WeightsKind {
    /// Tensors only; the shape determines the computation.
    Safetensors(Shape),
    /// A graph with its tensors.
    Onnx,
}

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    First,
}

/// Shape of a BERT encoder. The numbers are within bounds and consistent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// Length of a token's vector.
    pub(super) hidden: usize,
    /// Number of layers.
    pub(super) layers: usize,
    /// Attention heads; `hidden` is a multiple of it.
    pub(super) heads: usize,
    /// Inner length of a feed-forward block.
    pub(super) inner: usize,
    /// Size of the vocabulary.
    pub(super) vocabulary: usize,
    /// Rows of the position table.
    pub(super) positions: usize,
    /// Row of the first position.
    pub(super) first_position: usize,
    /// Rows of the token type table, at least 1.
    pub(super) types: usize,
    /// Added in a layer norm to avoid division by zero.
    pub(super) epsilon: f32,
    /// Activation of a feed-forward block.
    pub(super) activation: Activation,
    /// The layers above the encoder of a reranker; `None` for an encoder alone.
    pub(super) head: Option<RerankerHead>,
}

/// The two dense layers above the encoder of a reranker, by the names of their tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RerankerHead {
    /// The square layer, before the hyperbolic tangent.
    pub(super) inner: &'static str,
    /// The layer with one output.
    pub(super) output: &'static str,
}

/// Activation of a feed-forward block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    /// GELU by the error function.
    Gelu,
    /// GELU by the hyperbolic tangent.
    GeluTanh,
    /// The positive part.
    Relu,
}

/// `config.json`.
#[derive(Deserialize)]
struct ModelConfig {
    model_type: Option<String>,
    architectures: Option<Vec<String>>,
    hidden_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<usize>,
    intermediate_size: Option<usize>,
    hidden_act: Option<String>,
    layer_norm_eps: Option<f64>,
    max_position_embeddings: Option<usize>,
    vocab_size: Option<usize>,
    type_vocab_size: Option<usize>,
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
}

impl ModelConfig {
    /// Returns whether the model classifies texts. brain takes such a model for a reranker.
    fn is_classifier(&self) -> bool {
        let names = self.architectures.iter().flatten();
        names.into_iter().any(|name| name.ends_with("ForSequenceClassification"))
    }
}

/// `1_Pooling/config.json`, old and new form.
#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(alias = "embedding_dimension")]
    word_embedding_dimension: Option<usize>,
    pooling_mode: Option<String>,
    #[serde(default = "default_true")]
    include_prompt: bool,
    /// `pooling_mode_cls_token` and similar keys.
    #[serde(flatten)]
    modes: HashMap<String, serde_json::Value>,
}

fn default_true() -> bool {
    true
}

/// `sentence_bert_config.json`.
#[derive(Deserialize, Default)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

/// `tokenizer_config.json`; the number can be very large.
#[derive(Deserialize, Default)]
struct TokenizerConfig {
    model_max_length: Option<f64>,
}

/// `config_sentence_transformers.json`.
#[derive(Deserialize, Default)]
struct PromptConfig {
    prompts: Option<HashMap<String, String>>,
    default_prompt_name: Option<String>,
}

/// An entry of `modules.json`.
#[derive(Deserialize)]
struct Module {
    r#type: String,
}

impl ModelCard {
    /// Reads the model card in a directory and finds the weights.
    pub(super) fn read(directory: &Path) -> Result<Self, EmbedError> {
        let tokenizer = directory.join("tokenizer.json");
        let config_file = directory.join("config.json");
        let config: Option<ModelConfig> = parse_settings(&config_file)?;
        let (weights_file, weights) = match find_weights(directory)? {
            (file, true) => (file, WeightsKind::Onnx),
            (file, false) => {
                let config = config.as_ref().ok_or_else(|| missing(&config_file))?;
                (file, WeightsKind::Safetensors(shape(&config_file, config)?))
            }
        };
        if !tokenizer.is_file() {
            return Err(missing(&tokenizer));
        }
        check_modules(&directory.join("modules.json"))?;

        let sentence: SentenceConfig =
            parse_settings(&directory.join("sentence_bert_config.json"))?.unwrap_or_default();
        let max_positions = match &weights {
            WeightsKind::Safetensors(shape) => Some(shape.positions - shape.first_position),
            WeightsKind::Onnx => config.as_ref().and_then(|config| config.max_position_embeddings),
        };
        let max_tokens = configured_tokens(directory, &sentence)?
            .unwrap_or(DEFAULT_TOKENS)
            .min(max_positions.unwrap_or(DEFAULT_TOKENS));

        let prompts_file = directory.join("config_sentence_transformers.json");
        let prompts: PromptConfig = parse_settings(&prompts_file)?.unwrap_or_default();
        let (query_prefix, document_prefix) =
            (prompts.find(&["query"]), prompts.find(&["document", "passage"]));
        let pooling_file = directory.join("1_Pooling/config.json");
        let pooling: Option<PoolingConfig> = parse_settings(&pooling_file)?;
        if pooling.as_ref().is_some_and(|pooling| !pooling.include_prompt)
            && !(query_prefix.is_empty() && document_prefix.is_empty())
        {
            return Err(damaged(
                &pooling_file,
                "excludes prompts from the vector, which brain does not support",
            ));
        }
        let name = directory.file_name().unwrap_or(directory.as_os_str());
        let is_reranker = config.as_ref().is_some_and(ModelConfig::is_classifier);
        let pooling_dimension =
            pooling.as_ref().and_then(|pooling| pooling.word_embedding_dimension);
        let dimensions = match is_reranker {
            true => Some(1),
            false => pooling_dimension.or(config.as_ref().and_then(|config| config.hidden_size)),
        };
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            weights_file,
            weights,
            tokenizer,
            pooling: pooling.map_or(Ok(Pooling::Mean), |pooling| pooling.mode(&pooling_file))?,
            max_tokens: max_tokens.clamp(8, MAX_TOKENS),
            lower_case: sentence.do_lower_case,
            query_prefix,
            document_prefix,
            dimensions,
            is_reranker,
        })
    }
}

/// Returns whether the model in `directory` is a reranker; `false` if its `config.json` cannot be
/// read.
#[must_use]
pub fn is_reranker(directory: &Path) -> bool {
    let config: Result<Option<ModelConfig>, _> = parse_settings(&directory.join("config.json"));
    config.ok().flatten().is_some_and(|config| config.is_classifier())
}

/// Returns the file with the weights, and whether it is an ONNX graph.
fn find_weights(directory: &Path) -> Result<(PathBuf, bool), EmbedError> {
    let safetensors = directory.join("model.safetensors");
    let candidates = [(safetensors.clone(), false)]
        .into_iter()
        .chain(["model.onnx", "onnx/model.onnx"].map(|name| (directory.join(name), true)));
    candidates.into_iter().find(|(path, _)| path.is_file()).ok_or_else(|| missing(&safetensors))
}

/// Parses a JSON file; `None` when it is missing.
fn parse_settings<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EmbedError> {
    let Some(bytes) = read_bounded_file(path, MAX_SETTINGS_BYTES)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        damaged(path, format_args!("is invalid, at line {}: {}", error.line(), category(&error)))
    })
}

/// Returns the kind of a JSON error, without text of the file.
fn category(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Data => "a value has another type",
        _ => "it is not JSON",
    }
}

/// Reads a file of at most `max_bytes` bytes; `None` when it is missing.
pub(super) fn read_bounded_file(
    path: &Path,
    max_bytes: u64,
) -> Result<Option<Vec<u8>>, EmbedError> {
    match fs::metadata(path) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(path, &error)),
        Ok(found) if !found.is_file() => return Err(damaged(path, "is not a file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(damaged(path, format_args!("is larger than {} MiB", max_bytes >> 20)));
    }
    Ok(Some(bytes))
}

/// Checks that the model consists of encoder, pooling and normalisation only.
fn check_modules(path: &Path) -> Result<(), EmbedError> {
    let modules: Vec<Module> = parse_settings(path)?.unwrap_or_default();
    for module in modules {
        let part = module.r#type.rsplit('.').next().unwrap_or_default();
        if !["Transformer", "Pooling", "Normalize"].contains(&part) {
            return Err(damaged(
                path,
                format_args!("has a module that brain does not support: {part}"),
            ));
        }
    }
    Ok(())
}

/// Returns the maximum tokens of a text that the settings of the model state.
fn configured_tokens(
    directory: &Path,
    sentence: &SentenceConfig,
) -> Result<Option<usize>, EmbedError> {
    let tokenizer: TokenizerConfig =
        parse_settings(&directory.join("tokenizer_config.json"))?.unwrap_or_default();
    let of_tokenizer = tokenizer.model_max_length.map(|max_tokens| max_tokens as usize);
    Ok(sentence.max_seq_length.or(of_tokenizer))
}

/// Returns the activation of the encoder from `config.json`.
fn activation(path: &Path, config: &ModelConfig) -> Result<Activation, EmbedError> {
    match config.hidden_act.as_deref() {
        None | Some("gelu") => Ok(Activation::Gelu),
        Some("gelu_new" | "gelu_pytorch_tanh" | "gelu_fast") => Ok(Activation::GeluTanh),
        Some("relu") => Ok(Activation::Relu),
        Some(other) => Err(damaged(
            path,
            format_args!("has a hidden_act that brain does not support: {other:?}"),
        )),
    }
}

/// Returns the checked shape of the encoder from `config.json`.
fn shape(path: &Path, config: &ModelConfig) -> Result<Shape, EmbedError> {
    let kind = config.model_type.as_deref().unwrap_or_default();
    // RoBERTa and its relatives begin to count positions after the id of the padding token.
    let first_position = match kind {
        "bert" => 0,
        "roberta" | "xlm-roberta" | "camembert" => {
            config.pad_token_id.unwrap_or(1).saturating_add(1)
        }
        _ => {
            let problem = format!(
                "is of a model that brain cannot run: {kind:?} (it runs bert, roberta, xlm-roberta \
                 and camembert)"
            );
            return Err(damaged(path, problem));
        }
    };
    if !matches!(config.position_embedding_type.as_deref(), None | Some("absolute")) {
        return Err(damaged(path, "needs relative positions, which brain does not support"));
    }
    let within = |name: &str, value: Option<usize>, max: usize| match value {
        Some(value) if (1..=max).contains(&value) => Ok(value),
        Some(value) => Err(damaged(path, format_args!("has {name} = {value}, not 1 to {max}"))),
        None => Err(damaged(path, format_args!("has no {name}"))),
    };
    let shape = Shape {
        hidden: within("hidden_size", config.hidden_size, 4096)?,
        layers: within("num_hidden_layers", config.num_hidden_layers, 64)?,
        heads: within("num_attention_heads", config.num_attention_heads, 64)?,
        inner: within("intermediate_size", config.intermediate_size, 16384)?,
        vocabulary: within("vocab_size", config.vocab_size, 2_000_000)?,
        positions: within("max_position_embeddings", config.max_position_embeddings, 65_536)?,
        first_position,
        types: within("type_vocab_size", config.type_vocab_size.or(Some(2)), 16)?,
        epsilon: config.layer_norm_eps.unwrap_or(1e-12) as f32,
        head: config.is_classifier().then_some(match kind {
            "bert" => RerankerHead { inner: "pooler.dense", output: "classifier" },
            _ => RerankerHead { inner: "classifier.dense", output: "classifier.out_proj" },
        }),
        activation: activation(path, config)?,
    };
    if !shape.hidden.is_multiple_of(shape.heads) {
        return Err(damaged(
            path,
            "has a hidden_size that is not a multiple of num_attention_heads",
        ));
    }
    if shape.positions < shape.first_position.saturating_add(8) {
        return Err(damaged(path, "has a max_position_embeddings that is too small for a text"));
    }
    if !(shape.epsilon.is_finite() && shape.epsilon >= 0.0) {
        return Err(damaged(path, "has a layer_norm_eps that is negative or not a number"));
    }
    Ok(shape)
}

impl PoolingConfig {
    /// Returns the pooling of the configuration at `path`; an error if brain does not support it.
    fn mode(&self, path: &Path) -> Result<Pooling, EmbedError> {
        let modes: Vec<&str> = match &self.pooling_mode {
            Some(mode) => vec![mode],
            None => self
                .modes
                .iter()
                .filter(|(_, on)| **on == serde_json::Value::Bool(true))
                .filter_map(|(name, _)| name.strip_prefix("pooling_mode_"))
                .collect(),
        };
        match *modes {
            ["mean" | "mean_tokens"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::First),
            _ => Err(damaged(
                path,
                format_args!("needs a pooling that brain does not support: {modes:?}"),
            )),
        }
    }
}

impl PromptConfig {
    /// Returns the first of these prompts that exists, else the default prompt, else nothing.
    fn find(&self, names: &[&str]) -> String {
        let prompts = self.prompts.as_ref();
        let names = names.iter().copied().chain(self.default_prompt_name.as_deref());
        names.filter_map(|name| prompts?.get(name)).next().cloned().unwrap_or_default()
    }
}
