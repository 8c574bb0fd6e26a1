//! Keeping vectors in step with the store.
//!
//! Every commit is heard of before anybody is told that it happened: a page that is gone, or says something else, loses its vectors there. What was committed while no vectors were
//! open is caught up with when they are opened, which is off the start's path; only then are they searched.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::state::{InUse, Meaning, Provider, Shared, locked};
use super::{Brain, installed};
use crate::config::Config;
use brain_base::caller::Visibility;
use brain_embed::vectors::{Key, Vectors};
use brain_embed::{EmbedFault, EmbedWhy, Embedder, Endpoint, EndpointSettings, Local, Settings};
use brain_page::WINDOWS;
use brain_store::{Change, CommitHook, PageRecord, Reader, StoreError};

/// Changes that are compared with one snapshot.
const BATCH: usize = 1000;
/// Windows that an embedder gets at once: of a model on this machine few, so that a question need not wait; of an endpoint many, because each call costs its way.
const LOCAL: usize = 8;
const ENDPOINT: usize = 64;

/// What a page's vectors are made of. Its text's hash does not tell line ends, of which its length does.
pub(super) fn key_of(page: &PageRecord) -> Key {
    let mut hash = Sha256::new();
    hash.update(WINDOWS.to_le_bytes());
    hash.update(page.content_hash);
    hash.update(page.bytes.to_le_bytes());
    hash.update(page.title.as_bytes());
    Key(hash.finalize().first_chunk().copied().unwrap_or_default())
}

impl Meaning {
    /// What the store calls after each commit.
    pub(crate) fn hook(&self) -> impl Fn(&[Change]) + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move |changes| shared.take_in(changes)
    }

    /// While this is held, what a sync brings gets no vectors. `brain embed`, and the next start, make them.
    pub(crate) fn quietly(&self) -> Quiet {
        self.shared.quiet.fetch_add(1, Ordering::AcqRel);
        Quiet(Arc::clone(&self.shared))
    }
}

/// See [`Meaning::quietly`].
pub(crate) struct Quiet(Arc<Shared>);

impl Drop for Quiet {
    fn drop(&mut self) {
        self.0.quiet.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One hook of two. Vectors go first: they only forget.
pub(crate) fn both(meaning: impl Fn(&[Change]) + Send + 'static, index: CommitHook) -> CommitHook {
    Box::new(move |changes| {
        meaning(&changes);
        index(changes);
    })
}

impl Shared {
    /// Takes in what a commit changed. Runs on the writer's thread.
    fn take_in(&self, changes: &[Change]) {
        self.changes.fetch_add(changes.len() as u64, Ordering::Relaxed);
        self.hold(changes);
        let (Some(in_use), Some(last)) = (self.in_use(), changes.last()) else { return };
        let _gate = locked(&self.gate);
        for change in changes {
            let page = change.page.as_deref();
            forget_other(&in_use.vectors, change.id, || page.map(|page| key_of(&page.record)));
        }
        let before = self.seen.swap(last.seq, Ordering::AcqRel);
        locked(&self.unseen).add(before, last.seq);
        self.bell.notify_one();
    }

    /// Notes which pages come in by a sync that was told to make no vectors, also while none are open.
    fn hold(&self, changes: &[Change]) {
        let quiet = self.quiet.load(Ordering::Acquire) > 0;
        let mut held = locked(&self.held);
        if !quiet && held.is_empty() {
            return;
        }
        for change in changes {
            if quiet && change.page.as_ref().is_some_and(|page| page.is_read) {
                held.insert(change.id);
            } else {
                held.remove(&change.id);
            }
        }
    }
}

/// Forgets a page's vectors if they were made of something else than `key`; without a key, whatever they were made of.
fn forget_other(vectors: &Vectors, page: u64, key: impl FnOnce() -> Option<Key>) {
    if let Some(made_of) = vectors.key(page)
        && key() != Some(made_of)
    {
        vectors.remove(page);
    }
}

impl Brain {
    /// What turns text into vectors instead of what is configured. Once, before the first round of work.
    pub fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        if self.meaning.instead.set(embedder).is_err() {
            tracing::warn!("what makes vectors was set already");
        }
    }

    /// What is configured. Looks for installed models, at most once.
    pub(super) fn embedding_provider(&self) -> Option<Provider> {
        let mut known = locked(&self.meaning.provider);
        known.get_or_insert_with(|| self.new_provider()).clone()
    }

    fn new_provider(&self) -> Option<Provider> {
        if let Some(embedder) = self.meaning.instead.get() {
            let embedder = Ok(Arc::clone(embedder));
            return Some(Provider { name: "local", model: "set".into(), embedder, at_once: LOCAL });
        }
        let found = installed(&self.home);
        let settings = self.config.embedding(&self.home, found.as_deref())?;
        Some(match settings {
            Settings::Local { directory, threads } => Provider {
                name: "local",
                model: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                embedder: Ok(Arc::new(Local::new(directory, threads))),
                at_once: LOCAL,
            },
            Settings::Endpoint { base, model, query_prefix, document_prefix, dimensions } => {
                let name = model.clone();
                let settings =
                    EndpointSettings { base, model, query_prefix, document_prefix, dimensions };
                Provider {
                    name: "openai",
                    model: name,
                    embedder: self.endpoint(settings),
                    at_once: ENDPOINT,
                }
            }
        })
    }

    fn endpoint(&self, settings: EndpointSettings) -> Result<Arc<dyn Embedder>, EmbedFault> {
        let file = Config::embedding_key_file(&self.config, &self.home);
        let secrets = Arc::clone(&self.secrets);
        let key = move || match secrets.find("embedding-api-key", file.as_deref()) {
            Ok(found) => Ok(found.map(|found| found.secret)),
            Err(fault) => {
                Err(EmbedFault { why: EmbedWhy::Refused, message: fault.message, hint: fault.hint })
            }
        };
        let (price, ledger) = (self.config.embedding_price(), Arc::clone(&self.ledger));
        let endpoint = Endpoint::open(settings, &*self.net, Box::new(key), price, ledger)?;
        Ok(Arc::new(endpoint))
    }

    /// Opens the vectors of what is configured, and catches up with the store. `None` when nothing is configured.
    pub(super) fn open_vectors(&self) -> Result<Option<Arc<InUse>>, EmbedFault> {
        let shared = &self.meaning.shared;
        if let Some(in_use) = shared.in_use() {
            return Ok(Some(in_use));
        }
        let Some(provider) = self.embedding_provider() else {
            shared.shut();
            return Ok(None);
        };
        match self.opened(provider) {
            Ok(in_use) => Ok(Some(in_use)),
            Err(fault) => {
                shared.shut();
                Err(fault)
            }
        }
    }

    fn opened(&self, provider: Provider) -> Result<Arc<InUse>, EmbedFault> {
        let embedder = provider.embedder?;
        let space = embedder.space()?;
        let dir = self.home.index().join("vectors");
        let store = format!("{:016x}", self.store.id());
        let (vectors, lost) = Vectors::open(&dir, &store, &space.identity, space.dimensions)
            .map_err(|e| later(&e))?;
        if let Some(lost) = lost {
            tracing::warn!(lost, "some vectors are made anew");
        }
        let scale = super::scale::Scale::new().into();
        let at_once = provider.at_once;
        let scales = Mutex::default();
        let in_use = Arc::new(InUse { space, embedder, at_once, vectors, scale, scales });
        self.catch_up(&in_use).map_err(|e| later(&e))?;
        let size = in_use.vectors.size();
        tracing::info!(
            model = in_use.space.model,
            pages = size.pages,
            windows = size.windows,
            "search by meaning is open"
        );
        Ok(in_use)
    }

    /// Forgets what was changed while these vectors were not open, and lets them hear of every commit from here on.
    fn catch_up(&self, in_use: &Arc<InUse>) -> Result<(), StoreError> {
        let vectors = &in_use.vectors;
        let mut seq = vectors.seen();
        let now = self.store.read(Visibility::All)?.counts()?.seq;
        if vectors.size().pages == 0 {
            // Nothing of it can be out of date.
            seq = now;
        } else if seq > now {
            // The store's file was put back from a copy: what its changes say about is not what these vectors saw.
            seq = now;
            self.compare_all(vectors)?;
        } else {
            while compare(&self.store.read(Visibility::All)?, vectors, &mut seq)? {
                if self.is_stopping() {
                    return Err(StoreError::Closed);
                }
            }
            // Pages that were purged have no change any more that tells of it.
            let active = self.store.read(Visibility::All)?.counts()?.active;
            if vectors.size().pages > active {
                self.compare_all(vectors)?;
            }
        }
        // The last step is taken on the writer's thread, where no commit can come between.
        let (shared, in_use) = (Arc::clone(&self.meaning.shared), Arc::clone(in_use));
        let snapshots = self.store.reader_maker();
        self.store.write(move |_| {
            let mut seq = seq;
            while compare(&snapshots.read(Visibility::All)?, &in_use.vectors, &mut seq)? {}
            shared.open(Arc::clone(&in_use), seq);
            Ok(())
        })
    }

    /// Compares every page that has vectors.
    fn compare_all(&self, vectors: &Vectors) -> Result<(), StoreError> {
        for pages in vectors.pages().chunks(BATCH) {
            compare_pages(&self.store.read(Visibility::All)?, vectors, pages.iter().copied())?;
        }
        Ok(())
    }
}

/// Compares the pages of a batch of changes behind `seq`, moving it along. Whether there were any.
fn compare(reader: &Reader, vectors: &Vectors, seq: &mut u64) -> Result<bool, StoreError> {
    let changes = reader.changed_after(*seq, BATCH)?;
    let Some((last, _)) = changes.last() else { return Ok(false) };
    *seq = *last;
    compare_pages(reader, vectors, changes.into_iter().map(|(_, page)| page))?;
    Ok(true)
}

fn compare_pages(
    reader: &Reader,
    vectors: &Vectors,
    pages: impl Iterator<Item = u64>,
) -> Result<(), StoreError> {
    for page in pages {
        if vectors.key(page).is_some() {
            let key = reader.by_id(page)?.map(|(_, _, record)| key_of(&record));
            forget_other(vectors, page, || key);
        }
    }
    Ok(())
}

/// What keeps the store or the file from being used now. It may be well later.
pub(super) fn later(error: &dyn std::error::Error) -> EmbedFault {
    EmbedFault { why: EmbedWhy::Later(None), message: error.to_string(), hint: None }
}
