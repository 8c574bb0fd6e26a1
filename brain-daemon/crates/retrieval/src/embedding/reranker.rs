//! The configured reranker, and its calls within the time of a search.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use brain_protocol::{Command, Doctor, Operation as _, hint};
use parking_lot::Mutex;

use super::installed_models::installed_reranker;
use super::{Caller, EmbeddingService, QUERY_DEADLINE};
use brain_base::permission::permit;
use brain_config::RerankProvider;
use brain_embed::{EmbedError, EmbedErrorKind, LocalModel, RerankEndpoint, Reranker, rerank_price};

/// Maximum number of concurrent calls. A call that takes too long continues in the background.
const MAX_CALLS: usize = 4;

/// The reranker of this process.
#[derive(Default)]
pub(super) struct RerankerState {
    /// The reranker and its directory, which is empty for an endpoint. A newly installed model has
    /// another directory or other files, which [`LocalModel`] notices.
    loaded: Mutex<Option<(PathBuf, Arc<dyn Reranker>)>>,
    /// Counts concurrent calls: each one holds a reference.
    calls: Arc<()>,
}

impl RerankerState {
    /// Frees the model if it was not used for `idle`.
    pub(super) fn unload_if_idle(&self, idle: Duration) {
        if let Some((_, reranker)) = &*self.loaded.lock() {
            reranker.unload_if_idle(idle);
        }
    }
}

impl EmbeddingService {
    /// Returns whether the configuration asks for a reranker.
    pub(crate) fn has_reranker(&self) -> bool {
        self.env.search.rerank.is_some()
    }

    /// Returns a score for each text, higher for a better answer to `question`; with the texts, the
    /// ids of their pages. Waits at most
    /// [`QUERY_DEADLINE`].
    ///
    /// # Errors
    /// The reason for `degraded`, unless every text has a score.
    pub(crate) fn rerank(
        &self,
        caller: &Caller,
        question: &str,
        texts: (Vec<String>, Vec<u64>),
    ) -> Result<Vec<f32>, String> {
        // The reason can contain local paths and addresses, so only some callers see it.
        self.rerank_in_time(question, texts).map_err(|error| {
            match permit(caller, Doctor::INFO).is_ok() {
                true => format!("reranking: {}", error.message),
                false => "reranking: the reranker is not available now".into(),
            }
        })
    }

    /// Returns the scores, or the reason why there are none.
    fn rerank_in_time(
        &self,
        question: &str,
        (texts, pages): (Vec<String>, Vec<u64>),
    ) -> Result<Vec<f32>, EmbedError> {
        let deadline = Instant::now() + QUERY_DEADLINE;
        let reranker = self.reranker()?;
        let call = Arc::clone(&self.state.reranker.calls);
        if Arc::strong_count(&call) > MAX_CALLS + 1 {
            return Err(transient_error("is busy"));
        }
        let (sender, receiver) = sync_channel(1);
        let question = question.to_owned();
        let work = move || {
            let scores =
                reranker.rerank_pages(&question, &texts, &pages, &|| Instant::now() < deadline);
            drop(call);
            // The search may have continued without the scores.
            let _ = sender.send(scores.map(|scores| (texts.len(), scores)));
        };
        let spawned = std::thread::Builder::new().name("rerank".into()).spawn(work);
        spawned.map_err(|error| transient_error(&format!("could not start a thread: {error}")))?;
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok((count, scores))) if scores.len() == count => Ok(scores),
            Ok(Ok(_)) => Err(transient_error("did not score every text")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(transient_error(&format!(
                "did not answer within {} s",
                QUERY_DEADLINE.as_secs()
            ))),
        }
    }

    /// Returns the configured reranker. Loads no model and sends nothing.
    fn reranker(&self) -> Result<Arc<dyn Reranker>, EmbedError> {
        let config = &self.env.search;
        let directory = match (config.rerank, &config.rerank_model) {
            (Some(RerankProvider::Endpoint), _) => PathBuf::new(),
            (_, Some(name)) => self.env.home.models().join(name),
            (_, None) => installed_reranker(&self.env.home).ok_or_else(|| EmbedError {
                kind: EmbedErrorKind::Model,
                message: "no reranker is installed".into(),
                hint: Some(hint!(
                    "{}, or search.rerank = \"off\"",
                    Command::ModelInstall { model: None }
                )),
            })?,
        };
        let mut loaded = self.state.reranker.loaded.lock();
        if let Some((loaded_directory, reranker)) = &*loaded
            && *loaded_directory == directory
        {
            return Ok(Arc::clone(reranker));
        }
        let reranker: Arc<dyn Reranker> = match directory == Path::new("") {
            true => Arc::new(self.rerank_endpoint()?),
            false => Arc::new(LocalModel::new(directory.clone(), self.env.config.threads)),
        };
        *loaded = Some((directory, Arc::clone(&reranker)));
        Ok(reranker)
    }

    fn rerank_endpoint(&self) -> Result<RerankEndpoint, EmbedError> {
        let config = &self.env.search;
        RerankEndpoint::open(
            config.rerank_base_url.as_ref(),
            config.rerank_model.clone().unwrap_or_default(),
            &*self.env.net,
            self.key_provider("rerank-api-key", self.env.rerank_key_file.clone()),
            rerank_price(config),
            Arc::clone(&self.ledger),
        )
    }
}

/// Returns the error of a call that failed this time. `problem` continues "the reranker".
fn transient_error(problem: &str) -> EmbedError {
    let message = format!("the reranker {problem}");
    EmbedError { kind: EmbedErrorKind::Retryable(None), message, hint: None }
}
