//! Search by meaning: the configured embedder, page vectors, and pages near a question.
//!
//! The store's commit hook removes the vectors of changed and deleted pages before the commit is
//! acknowledged. A worker makes new vectors. After a start, it compares the key of each page with
//! the key of its stored vectors to find pages without current vectors.

mod background_throttle;
mod commit_hook;
mod embed_command;
mod estimate;
mod forecast;
mod install;
mod installed_models;
mod models;
mod pending_changes;
mod query;
mod query_embedder;
mod reranker;
mod round_pages;
mod rounds;
mod scale;
mod state;
mod vector_writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Doctor, Hint, Operation as _, SourceId};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use brain_base::caller::Caller;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::permission::permit;
use brain_base::secrets::Secrets;
use brain_config::{EmbeddingConfig, SearchConfig};
use brain_costs::Ledger;
use brain_ingest::Queue;
use brain_net::HttpClient;
use brain_service::Progress;
use brain_store::Store;

pub use commit_hook::combine_hooks;
pub(crate) use installed_models::default_embedding_model;
pub use state::EmbeddingState;

/// Maximum time that a search waits for the vectors of its question, and for the reranker.
pub(super) const QUERY_DEADLINE: Duration = Duration::from_secs(2);

/// The pages of a caller with access to some sources only.
#[derive(Debug)]
pub struct CallerPages {
    /// The visible sources.
    pub(super) sources: Vec<SourceId>,
    /// The ids of the pages in these sources, ascending.
    pub(super) pages: Vec<u64>,
}

/// The vector results for a question.
#[derive(Debug, Default)]
pub struct VectorResults {
    /// Near pages, nearest first.
    pub near: Vec<brain_embed::vectors::NearPage>,
    /// The cosine of unrelated windows in this space.
    pub floor: f32,
    /// The cosine of this question with random windows. Higher than `floor` if the model barely
    /// distinguishes texts of its script or language.
    pub(super) background: f32,
    /// The usual cosine of the best matches, minus `floor`.
    pub span: f32,
    /// The share of the question that the model can read, 0 to 1:
    /// [`brain_embed::Embedder::coverage`].
    pub coverage: f32,
    /// Why results are missing or incomplete, for `degraded`. `None` without a configured provider.
    pub degradation: Option<Degradation>,
}

/// Why vector results are incomplete.
#[derive(Debug, PartialEq, Eq)]
pub struct Degradation {
    /// Percentage of pages with vectors. `None` if no vectors can be searched.
    pub percent_with_vectors: Option<u64>,
    /// The problem in words. May contain local paths and addresses.
    pub reason: Option<String>,
}

impl Degradation {
    /// Formats the degradation as one line. Only callers that may run `doctor` see `reason`.
    pub fn text(&self, caller: &Caller) -> String {
        let reason = self.reason.as_deref().filter(|_| permit(caller, Doctor::INFO).is_ok());
        match (self.percent_with_vectors, reason) {
            (Some(percent), Some(reason)) => {
                format!("search by meaning: {percent} % of the pages have their vectors: {reason}")
            }
            (Some(percent), None) => {
                format!("search by meaning: {percent} % of the pages have their vectors")
            }
            (None, reason) => {
                format!(
                    "search by meaning: {}",
                    reason.unwrap_or("the embedding model is not available now")
                )
            }
        }
    }
}

/// The status of search by meaning.
#[derive(Debug, Clone, Default)]
pub struct MeaningStatus {
    /// The source of vectors: `none`, `local` or `openai`.
    pub provider: String,
    /// The model in use.
    pub model: Option<String>,
    /// Pages with vectors.
    pub pages: u64,
    /// Windows with vectors.
    pub(super) windows: u64,
    /// Pages without vectors.
    pub missing: u64,
    /// Pages of which only some windows have vectors. They are among `pages`.
    pub incomplete: u64,
    /// The estimated time until all vectors are made, in seconds; `None` if none is missing, or it
    /// is not known.
    pub seconds_left: Option<u64>,
    /// What prevents embedding or queries, with a hint.
    pub problem: Option<(String, Option<Hint>)>,
}

/// The result of an embedding round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundResult {
    /// Pages whose vectors are complete now.
    pub pages: u64,
    /// Windows that got vectors.
    pub(super) windows: u64,
}

/// What [`EmbeddingService`] uses besides other services.
pub struct EmbeddingEnvironment {
    /// The home directory.
    pub home: Home,
    /// The section `[embedding]`.
    pub config: EmbeddingConfig,
    /// The section `[search]`, for the reranker.
    pub search: SearchConfig,
    /// The configured file with the key of the embedding endpoint.
    pub key_file: Option<PathBuf>,
    /// The configured file with the key of the reranker's endpoint.
    pub rerank_key_file: Option<PathBuf>,
    /// Below this free space in MB, no vectors are written.
    pub min_free_mb: u64,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The secrets.
    pub secrets: Arc<Secrets>,
    /// The client for endpoints and downloads.
    pub net: Arc<dyn HttpClient>,
    /// Cancelled when long work should end.
    pub stop: CancellationToken,
}

/// Vectors of pages, and search in them.
pub struct EmbeddingService {
    pub(crate) env: EmbeddingEnvironment,
    pub(crate) store: Arc<Store>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) queue: Arc<Queue>,
    /// Held while a source is synced; embedding in the background then waits.
    pub sync_lock: Arc<Mutex<()>>,
    /// Vectors and pending changes.
    pub state: EmbeddingState,
}

impl EmbeddingService {
    /// Creates the service.
    pub fn new(
        env: EmbeddingEnvironment,
        store: Arc<Store>,
        ledger: Arc<Ledger>,
        queue: Arc<Queue>,
        sync_lock: Arc<Mutex<()>>,
        state: EmbeddingState,
    ) -> Self {
        Self { env, store, ledger, queue, sync_lock, state }
    }
}
