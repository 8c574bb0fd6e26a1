//! Keeps vectors consistent with the store.
//!
//! A commit hook removes the vectors of deleted or changed pages before the commit is acknowledged.
//! Opening the vectors first catches up with the commits since they were last open, in the
//! background. Searches use vectors only after that.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::state::{CommitHookState, EmbeddingState, MAX_QUESTIONS, OpenVectors, Provider};
use super::{EmbeddingService, default_embedding_model};
use brain_base::caller::Visibility;
use brain_embed::vectors::{Key, Vectors};
use brain_embed::{
    EmbedError, EmbedErrorKind, EmbedSettings, Embedder, EndpointClient, EndpointSettings,
    KeyProvider, LocalModel,
};
use brain_page::WINDOW_RULE_VERSION;
use brain_store::{Change, CommitHook, PageRecord, Reader, StoreError};

/// Maximum number of changes or pages that are compared in one snapshot of the store.
const COMPARE_BATCH: usize = 1000;
/// Windows per call of a local model. Few, so that a question need not wait.
const LOCAL_BATCH: usize = 8;
/// Windows per call of an endpoint. Many, because each call costs a round trip.
const ENDPOINT_BATCH: usize = 64;

/// Returns the key of the text that a page's vectors are made of. The key includes the length,
/// because the content hash ignores line endings.
pub(super) fn key_of(page: &PageRecord) -> Key {
    let mut hash = Sha256::new();
    hash.update(WINDOW_RULE_VERSION.to_le_bytes());
    hash.update(page.content_hash);
    hash.update(page.bytes.to_le_bytes());
    hash.update(page.title.as_bytes());
    Key(hash.finalize().first_chunk().copied().unwrap_or_default())
}

impl EmbeddingState {
    /// Returns the store's commit hook.
    pub fn hook(&self) -> impl Fn(&[Change]) + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move |changes| shared.apply_commit(changes)
    }

    /// Suppresses embedding of synced pages until the guard is dropped. `brain embed` and the next
    /// start embed them.
    pub fn suppress_embedding(&self) -> EmbedSuppression {
        self.shared.suppressions.fetch_add(1, Ordering::AcqRel);
        EmbedSuppression(Arc::clone(&self.shared))
    }
}

/// The guard of [`EmbeddingState::suppress_embedding`].
pub struct EmbedSuppression(Arc<CommitHookState>);

impl Drop for EmbedSuppression {
    fn drop(&mut self) {
        self.0.suppressions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Combines two hooks. The hook for vectors runs first; it only removes vectors.
pub fn combine_hooks(
    vector_hook: impl Fn(&[Change]) + Send + 'static,
    index_hook: CommitHook,
) -> CommitHook {
    Box::new(move |changes| {
        vector_hook(&changes);
        index_hook(changes);
    })
}

impl CommitHookState {
    /// Applies the changes of a commit. Runs on the writer's thread.
    fn apply_commit(&self, changes: &[Change]) {
        self.changes.fetch_add(changes.len() as u64, Ordering::Relaxed);
        self.record_suppressed(changes);
        let (Some(open_vectors), Some(last)) = (self.open_vectors(), changes.last()) else {
            return;
        };
        let _lock = self.apply_lock.lock();
        for change in changes {
            let page = change.page.as_deref();
            remove_stale(&open_vectors.vectors, change.id, || {
                page.map(|page| key_of(&page.record))
            });
        }
        let before = self.applied_seq.swap(last.seq, Ordering::AcqRel);
        self.pending_changes.lock().add(before, last.seq);
        self.wake.notify_one();
    }

    /// Records pages that a sync with suppressed embedding imports, even while no vectors are open.
    /// Forgets pages that another write changes.
    fn record_suppressed(&self, changes: &[Change]) {
        let is_suppressed = self.suppressions.load(Ordering::Acquire) > 0;
        let mut suppressed_pages = self.suppressed_pages.lock();
        if !is_suppressed && suppressed_pages.is_empty() {
            return;
        }
        for change in changes {
            if is_suppressed && change.page.as_ref().is_some_and(|page| page.is_from_file) {
                suppressed_pages.insert(change.id);
            } else {
                suppressed_pages.remove(&change.id);
            }
        }
    }
}

/// Removes a page's vectors unless they have the key `key`.
fn remove_stale(vectors: &Vectors, page: u64, key: impl FnOnce() -> Option<Key>) {
    if let Some(stored_key) = vectors.key(page)
        && key() != Some(stored_key)
    {
        vectors.remove(page);
    }
}

impl EmbeddingService {
    /// Replaces the configured embedder. Call it before the first round; a second call has no
    /// effect.
    pub fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        if self.state.override_embedder.set(embedder).is_err() {
            tracing::warn!("the embedder was set already");
        }
    }

    /// Returns the configured provider. Looks for installed models only if `state.provider` is not
    /// set.
    pub(super) fn embedding_provider(&self) -> Option<Provider> {
        let mut provider = self.state.provider.lock();
        provider.get_or_insert_with(|| self.new_provider()).clone()
    }

    fn new_provider(&self) -> Option<Provider> {
        if let Some(embedder) = self.state.override_embedder.get() {
            let embedder = Ok(Arc::clone(embedder));
            return Some(Provider {
                name: "local",
                model: "set".into(),
                embedder,
                batch_size: LOCAL_BATCH,
            });
        }
        let found = default_embedding_model(&self.env.home);
        let settings =
            EmbedSettings::from_config(&self.env.config, &self.env.home, found.as_deref())?;
        Some(match settings {
            EmbedSettings::Local { directory, threads } => Provider {
                name: "local",
                model: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                embedder: Ok(Arc::new(LocalModel::new(directory, threads))),
                batch_size: LOCAL_BATCH,
            },
            EmbedSettings::Endpoint { base, model, query_prefix, document_prefix, dimensions } => {
                let name = model.clone();
                let settings =
                    EndpointSettings { base, model, query_prefix, document_prefix, dimensions };
                Provider {
                    name: "openai",
                    model: name,
                    embedder: self.endpoint(settings),
                    batch_size: ENDPOINT_BATCH,
                }
            }
        })
    }

    fn endpoint(&self, settings: EndpointSettings) -> Result<Arc<dyn Embedder>, EmbedError> {
        let key = self.key_provider("embedding-api-key", self.env.key_file.clone());
        let (price, ledger) = (brain_embed::price(&self.env.config), Arc::clone(&self.ledger));
        let endpoint = EndpointClient::open(settings, &*self.env.net, key, price, ledger)?;
        Ok(Arc::new(endpoint))
    }

    /// Returns a function that finds the secret `name`, also in `file`.
    pub(super) fn key_provider(&self, name: &'static str, file: Option<PathBuf>) -> KeyProvider {
        let secrets = Arc::clone(&self.env.secrets);
        Box::new(move || match secrets.find(name, file.as_deref()) {
            Ok(found) => Ok(found.map(|found| found.secret)),
            Err(error) => {
                let brain_protocol::Fault { message, hint, .. } = error.into();
                Err(EmbedError { kind: EmbedErrorKind::Refused, message, hint })
            }
        })
    }

    /// Opens the vectors of the provider and catches up with the store. `None` if no provider is
    /// configured.
    ///
    /// # Errors
    /// If the embedder is unusable, or vectors or store cannot be read.
    pub(super) fn open_vectors(&self) -> Result<Option<Arc<OpenVectors>>, EmbedError> {
        let shared = &self.state.shared;
        if let Some(open_vectors) = shared.open_vectors() {
            return Ok(Some(open_vectors));
        }
        let Some(provider) = self.embedding_provider() else {
            shared.set_unavailable();
            return Ok(None);
        };
        match self.open_provider_vectors(provider) {
            Ok(open_vectors) => Ok(Some(open_vectors)),
            Err(fault) => {
                shared.set_unavailable();
                Err(fault)
            }
        }
    }

    fn open_provider_vectors(&self, provider: Provider) -> Result<Arc<OpenVectors>, EmbedError> {
        let embedder = provider.embedder?;
        let space = embedder.space()?;
        let dir = self.env.home.index().join("vectors");
        let store = format!("{:016x}", self.store.id());
        let (vectors, damage) = Vectors::open(&dir, &store, &space.identity, space.dimensions)
            .map_err(|e| transient_fault(&e))?;
        if let Some(damage) = damage {
            tracing::warn!(damage, "damaged vectors are computed again");
        }
        let cosine_scale = super::scale::CosineScale::new().into();
        let batch_size = provider.batch_size;
        let restricted_scales = Mutex::default();
        let questions = Mutex::new(LruCache::new(MAX_QUESTIONS));
        let open_vectors = Arc::new(OpenVectors {
            space,
            embedder,
            batch_size,
            vectors,
            cosine_scale,
            restricted_scales,
            questions,
        });
        self.catch_up(&open_vectors).map_err(|e| transient_fault(&e))?;
        let size = open_vectors.vectors.size();
        tracing::info!(
            model = open_vectors.space.model,
            pages = size.pages,
            windows = size.windows,
            "search by meaning is open"
        );
        if size.pages > 0 {
            // The first search should not wait for the model. A failure shows at that search.
            let _ = open_vectors.embedder.load();
        }
        Ok(open_vectors)
    }

    /// Removes vectors that became stale while closed, then enables the commit hook for them.
    fn catch_up(&self, open_vectors: &Arc<OpenVectors>) -> Result<(), StoreError> {
        let vectors = &open_vectors.vectors;
        let mut seq = vectors.applied_seq();
        let now = self.store.read(Visibility::All)?.counts()?.seq;
        if vectors.size().pages == 0 {
            // Without vectors, nothing can be stale.
            seq = now;
        } else if seq > now {
            // The store was restored from a backup, so its change numbers do not match these
            // vectors.
            seq = now;
            self.compare_all(vectors)?;
        } else {
            while compare(&self.store.read(Visibility::All)?, vectors, &mut seq)? {
                if self.env.stop.is_cancelled() {
                    return Err(StoreError::Closed);
                }
            }
            // Purged pages leave no change behind.
            let active = self.store.read(Visibility::All)?.counts()?.active;
            if vectors.size().pages > active {
                self.compare_all(vectors)?;
            }
        }
        // The last step runs on the writer's thread, where no commit can happen in between.
        let (shared, open_vectors) = (Arc::clone(&self.state.shared), Arc::clone(open_vectors));
        let snapshots = self.store.reader_factory();
        self.store.write(move |_| {
            let mut seq = seq;
            while compare(&snapshots.read(Visibility::All)?, &open_vectors.vectors, &mut seq)? {}
            shared.open(Arc::clone(&open_vectors), seq);
            Ok(())
        })
    }

    /// Removes the stale vectors of all pages.
    fn compare_all(&self, vectors: &Vectors) -> Result<(), StoreError> {
        for pages in vectors.pages().chunks(COMPARE_BATCH) {
            compare_pages(&self.store.read(Visibility::All)?, vectors, pages.iter().copied())?;
        }
        Ok(())
    }
}

/// Removes stale vectors of the pages in one batch of changes after `seq`, and advances `seq` to
/// its last change. Returns whether there were changes.
fn compare(reader: &Reader, vectors: &Vectors, seq: &mut u64) -> Result<bool, StoreError> {
    let changes = reader.change_ids_after(*seq, COMPARE_BATCH)?;
    let Some((last, _)) = changes.last() else { return Ok(false) };
    *seq = *last;
    compare_pages(reader, vectors, changes.into_iter().map(|(_, page)| page))?;
    Ok(true)
}

/// Removes the vectors of `pages` that are stale.
fn compare_pages(
    reader: &Reader,
    vectors: &Vectors,
    pages: impl Iterator<Item = u64>,
) -> Result<(), StoreError> {
    for page in pages {
        if vectors.key(page).is_some() {
            let key = reader.by_id(page)?.map(|(_, _, record)| key_of(&record));
            remove_stale(vectors, page, || key);
        }
    }
    Ok(())
}

/// Converts an error of the store or the file system into a transient fault.
pub(super) fn transient_fault(error: &dyn std::error::Error) -> EmbedError {
    EmbedError { kind: EmbedErrorKind::Retryable(None), message: error.to_string(), hint: None }
}
