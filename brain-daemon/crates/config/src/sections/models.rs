//! `[llm]`, `[embedding]` and `[search]`.

use std::time::Duration;

use url::Url;

use crate::rules::{
    boolean, dollars, endpoint, limit, number, optional, path, rate, span, text, word,
};
use crate::values::{Dollars, HomePath, Rate};

/// The API of the language models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmProvider {
    /// OpenAI, or any endpoint with its API.
    OpenAi,
    /// Anthropic.
    Anthropic,
}

/// The source of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingProvider {
    /// The local model, if one is installed.
    Auto,
    /// No vectors.
    None,
    /// The local model.
    Local,
    /// OpenAI, or any endpoint with its API.
    OpenAi,
}

section! {
    /// Language models.
    LlmConfig [llm]

    provider: Option<LlmProvider> = word(&[
            ("none", None),
            ("openai", Some(LlmProvider::OpenAi)),
            ("anthropic", Some(LlmProvider::Anthropic)),
        ]), "none",
        "API of the language model: openai (any compatible endpoint), anthropic, or none";
    base_url: Option<Url> = endpoint(), "",
        "base URL with its path, for example http://127.0.0.1:11434/v1; empty: the provider's own";
    model: Option<String> = optional(), "",
        "name of the model";
    vision_model: Option<String> = optional(), "",
        "name of the model that reads pictures; empty: none";
    api_key_file: Option<HomePath> = path(), "",
        "file with the key: absolute, below ~/, or in brain's home; empty: secrets/llm-api-key";
    judge_model: Option<String> = optional(), "",
        "name of the model that judges ideas; empty: llm.model";
    silence: Duration = span(1, 60 * 60), "3m",
        "how long a pause in an answer can be before the call is aborted";
    price_in: Dollars = dollars(), "0",
        "price of a million input tokens in US dollars; 0 for your own model";
    price_out: Dollars = dollars(), "0",
        "price of a million output tokens in US dollars";
    max_cost: Dollars = dollars(), "1",
        "default cost limit of one ask, brainstorm or lsd, in US dollars";
}

section! {
    /// The model that turns text into vectors.
    EmbeddingConfig [embedding]

    provider: EmbeddingProvider = word(&[
            ("auto", EmbeddingProvider::Auto),
            ("none", EmbeddingProvider::None),
            ("local", EmbeddingProvider::Local),
            ("openai", EmbeddingProvider::OpenAi),
        ]), "auto",
        "where vectors come from: auto (local if a model is installed), local, openai (any \
         compatible endpoint), or none";
    model: Option<String> = optional(), "",
        "name of an installed model, or of the endpoint's model; empty: the last installed one";
    base_url: Option<Url> = endpoint(), "",
        "the endpoint, for example http://127.0.0.1:11434/v1; empty: the provider's own";
    api_key_file: Option<HomePath> = path(), "",
        "file with the key: absolute, below ~/, or in brain's home; empty: \
         secrets/embedding-api-key";
    dimensions: Option<u32> = limit(8192), "0",
        "length of the endpoint's vectors; 0: the model's default";
    query_prefix: String = text(), "",
        "prefix that the endpoint's model needs before a question";
    document_prefix: String = text(), "",
        "prefix that the endpoint's model needs before a text";
    price: Dollars = dollars(), "0",
        "price of a million tokens at the endpoint, in US dollars";
    threads: usize = number(1, 64), "2",
        "maximum threads of the local model";
    idle: Duration = span(10, 24 * 60 * 60), "10m",
        "idle time after which the local model is unloaded";
}

/// The place where the first results of a search are reranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerankProvider {
    /// An endpoint.
    Endpoint,
    /// The local model.
    Local,
}

section! {
    /// Search.
    SearchConfig [search]

    language: String = text(), "en",
        "ISO 639-1 language of pages that are too short to detect";
    rate: Option<Rate> = rate(), "6000/10s",
        "maximum reading calls of one client over HTTP, and messages to /mcp, in a period, or \
         \"off\"";
    rerank: Option<RerankProvider> = word(&[
            ("off", None),
            ("endpoint", Some(RerankProvider::Endpoint)),
            ("local", Some(RerankProvider::Local)),
        ]), "off",
        "whether a second model orders the first results: endpoint (passages are sent to it), \
         local (an installed reranker), or off";
    rerank_model: Option<String> = optional(), "",
        "name of an installed reranker, or of the endpoint's model; empty: the last installed one";
    rerank_base_url: Option<Url> = endpoint(), "",
        "the endpoint that reranks, for example https://api.jina.ai/v1";
    rerank_api_key_file: Option<HomePath> = path(), "",
        "file with the key: absolute, below ~/, or in brain's home; empty: secrets/rerank-api-key";
    rerank_price: Dollars = dollars(), "0",
        "price of a million tokens at the endpoint, in US dollars";
    remember: bool = boolean(), "false",
        "whether your searches may be kept with the page that you opened for each, to test the \
         search with them; they stay in the store";
}
