//! Adds items to the ingest queue: checks them, computes hashes, and detects duplicates.
//!
//! Must handle thousands of items a second: nothing here reads a snapshot, and text without
//! frontmatter is not parsed as YAML.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

use brain_protocol::{Fault, FaultCode, IngestStatus, JobId, JobState, Slug, SourceId};
use sha2::{Digest, Sha256};

use super::{IngestItem, IngestReceipt, ItemType};
use crate::IngestService;
use brain_base::caller::{Caller, Visibility};
use brain_base::permission::{INGEST, permit};
use brain_page::{self as page, MediaType, PayloadError};
use brain_pages::file_input::unread_format;
use brain_pages::pages::dedup::WINDOW_MS;
use brain_pages::preferred_source::preferred;
use brain_pages::write_page::{check_type, frontmatter_fault};
use brain_service::NumberCipher;
use brain_store::{Content, Hash, JobKind, JobOptions, JobRecord, StoreError, Transaction};

/// The writer's decision about an item.
enum EnqueueDecision {
    /// The item was added as job `id`; the queue now has `waiting` jobs.
    Queued { id: u64, waiting: u64 },
    /// The item is a duplicate of job `id`.
    Duplicate { id: u64 },
}

/// What an item has for its page.
struct ItemContent {
    /// SHA-256 of the text, or of the bytes of a document.
    content_hash: Hash,
    /// The text; empty for a document.
    content: Content,
    /// The address that the text states.
    url: Option<String>,
    /// What could not be read as it was written.
    warning: Option<String>,
    /// The bytes of a document.
    file: Option<Vec<u8>>,
}

/// An item that can be queued.
struct PreparedItem {
    record: JobRecord,
    keys: DedupKeys,
    /// What could not be read as it was written.
    warning: Option<String>,
    /// The bytes of a document.
    file: Option<Vec<u8>>,
}

impl EnqueueDecision {
    /// Returns the number of the job, and the status of the reply in one word and in a sentence.
    fn reply(&self) -> (u64, IngestStatus, &'static str) {
        match self {
            Self::Queued { id, .. } => {
                (*id, IngestStatus::Queued, "the item is stored and will become a page shortly")
            }
            Self::Duplicate { id } => (
                *id,
                IngestStatus::Duplicate,
                "the same item was accepted within the last 24 hours; nothing was added",
            ),
        }
    }
}

impl IngestService {
    /// Adds an item to the queue. `done` receives the result: on another thread once the item is
    /// on disk, or on this thread if the item is refused before. `done` must not block.
    ///
    /// Does not wait for the disk, except for a document. A few KB of text take microseconds. HTML
    /// or JSON of a megabyte takes milliseconds, too long for a thread of the async runtime.
    ///
    /// Faults: `forbidden` (scope or source), `unknown_source`, `invalid_request` (type),
    /// `empty_body`, `invalid_encoding`, `invalid_frontmatter`,
    /// `unsupported_content_type`, `conflict` (the key came with another item),
    /// `queue_full`, `busy`, and those of the store.
    pub fn ingest(
        &self,
        caller: &Caller,
        item: IngestItem,
        done: impl FnOnce(Result<IngestReceipt, Fault>) + Send + 'static,
    ) {
        let cipher = self.cipher_for(caller);
        match self.prepare(caller, item) {
            Ok(PreparedItem { record, keys, warning, file: None }) => {
                self.enqueue(record, keys, cipher, warning, done);
            }
            Ok(PreparedItem { record, keys, file: Some(bytes), .. }) => {
                done(self.enqueue_document(record, keys, cipher, &bytes));
            }
            Err(fault) => done(Err(fault)),
        }
    }

    /// Returns what encrypts the ids of jobs for `caller`, if they are encrypted.
    fn cipher_for(&self, caller: &Caller) -> Option<NumberCipher> {
        (!caller.sees_all()).then(|| NumberCipher::of(self.store.number_key()))
    }

    /// Adds a copy of `job` with this content, as if its client sent the item now without an
    /// idempotency key. `done` as in [`IngestService::ingest`].
    pub fn ingest_again(
        &self,
        job: JobRecord,
        content: Content,
        done: impl FnOnce(Result<IngestReceipt, Fault>) + Send + 'static,
    ) {
        let now = self.clock.now();
        let slug = job.options.slug.as_ref();
        let by_content = by_content(&job.client, &job.source, &job.content_hash, slug);
        let record = JobRecord {
            state: JobState::Queued,
            content,
            received_at: now,
            finished_at: None,
            attempts: 0,
            due_at: now,
            slug: None,
            error: None,
            duplicate_keys: vec![by_content],
            ..job
        };
        self.enqueue(record, DedupKeys { by_idempotency_key: None, by_content }, None, None, done);
    }

    /// Passes a prepared job to the writer. `cipher`, if any, encrypts the job's id in the reply.
    /// The reply has the `warning`, too.
    fn enqueue(
        &self,
        record: JobRecord,
        keys: DedupKeys,
        cipher: Option<NumberCipher>,
        warning: Option<String>,
        done: impl FnOnce(Result<IngestReceipt, Fault>) + Send + 'static,
    ) {
        let public_id = move |number| JobId(cipher.map_or(number, |cipher| cipher.encrypt(number)));
        let (content_hash, source_id) = (page::hex(&record.content_hash), record.source.clone());
        let (queue, max_waiting) = (Arc::clone(&self.queue), self.queue.max_waiting);
        let kind = record.kind();
        self.store.write_then(
            move |transaction| decide(transaction, &record, &keys, max_waiting, &public_id),
            move |decision| {
                if let Ok(EnqueueDecision::Queued { waiting, .. }) = decision {
                    queue.arrived.fetch_add(1, Ordering::Relaxed);
                    queue.set_waiting_of(kind, waiting);
                }
                let receipt = |decision: EnqueueDecision| {
                    let (id, status, message) = decision.reply();
                    let warning = warning.map(|warning| format!("; warning: {warning}"));
                    let message = format!("{message}{}", warning.unwrap_or_default());
                    let job_id = public_id(id);
                    IngestReceipt { job_id, content_hash, source_id, status, message }
                };
                done(decision.map(receipt).map_err(Fault::from));
            },
        );
    }

    /// Keeps the file of a document, then adds the document to the queue.
    fn enqueue_document(
        &self,
        record: JobRecord,
        keys: DedupKeys,
        cipher: Option<NumberCipher>,
        bytes: &[u8],
    ) -> Result<IngestReceipt, Fault> {
        let hash = record.content_hash;
        let files_guard = self.store.attachments().block_removal();
        self.store.write_attachment(bytes)?;
        let (sender, answer) = channel();
        self.enqueue(record, keys, cipher, None, move |result| {
            // The receiver waits for it.
            let _ = sender.send(result);
        });
        let store_closed = || Fault::new(FaultCode::Stopping, "the store is being closed");
        let result = answer.recv().unwrap_or_else(|_| Err(store_closed()));
        drop(files_guard);
        if result.as_ref().map_or(true, |receipt| receipt.status == IngestStatus::Duplicate) {
            // No row names the file, unless another item has these bytes.
            if let Err(error) = self.store.purge_attachments(&[hash]) {
                tracing::warn!(%error, "cannot remove the file of a refused document");
            }
        }
        result
    }

    /// Checks an item, and computes its record and the keys that identify duplicates.
    fn prepare(&self, caller: &Caller, item: IngestItem) -> Result<PreparedItem, Fault> {
        permit(caller, INGEST)?;
        let source = self.item_source(caller, item.source)?;
        if let Some(page_type) = &item.page_type {
            check_type(page_type)
                .map_err(|fault| Fault { code: FaultCode::InvalidRequest, ..fault })?;
        }
        let bytes = item.body.len() as u64;
        let ItemContent { content_hash, content, url, warning, file } =
            self.content_of(item.media_type, item.body, item.uri.is_some())?;
        let now = self.clock.now();
        let client = caller.name.clone();
        // The same text with another requested slug is no duplicate.
        let by_content = by_content(&client, &source, &content_hash, item.slug.as_ref());
        let by_idempotency_key =
            item.idempotency_key.map(|name| key(&[b"key", client.as_bytes(), name.as_bytes()]));
        let not_blank = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let record = JobRecord {
            state: JobState::Queued,
            client,
            source,
            content_hash,
            content_type: item.media_type.as_str().to_owned(),
            bytes,
            options: JobOptions {
                slug: item.slug,
                title: not_blank(item.title),
                page_type: item.page_type,
                uri: not_blank(item.uri).or(url),
            },
            content,
            received_at: now,
            finished_at: None,
            attempts: 0,
            due_at: now,
            slug: None,
            error: None,
            duplicate_keys: by_idempotency_key.into_iter().chain([by_content]).collect(),
        };
        let keys = DedupKeys { by_idempotency_key, by_content };
        Ok(PreparedItem { record, keys, warning, file })
    }

    /// Returns the text of an item, or of a document the bytes. `has_uri` tells whether the client
    /// says where the item is from.
    fn content_of(
        &self,
        item_type: ItemType,
        body: Vec<u8>,
        has_uri: bool,
    ) -> Result<ItemContent, Fault> {
        let media_type = match item_type {
            ItemType::Text(media_type) => media_type,
            ItemType::Document(_) => {
                self.documents.check(&body)?;
                return Ok(ItemContent {
                    content_hash: Sha256::digest(&body).into(),
                    content: Content::default(),
                    url: None,
                    warning: None,
                    file: Some(body),
                });
            }
        };
        let mut payload =
            page::payload(media_type, &body).map_err(|error| payload_fault(&error))?;
        if has_uri && media_type == MediaType::Html {
            // The client knows where a document is from better than the document.
            payload.document.frontmatter.remove("url");
        }
        Ok(ItemContent {
            content_hash: payload.document.body.digest(),
            content: payload.document.into(),
            url: payload.url,
            warning: payload.warning,
            file: None,
        })
    }

    /// Returns the source of an item: the named one, else the preferred one, else the first that
    /// the caller can use.
    fn item_source(&self, caller: &Caller, named: Option<SourceId>) -> Result<SourceId, Fault> {
        let sources = self.store.sources()?;
        let is_registered = |id: &SourceId| sources.iter().any(|(known, _)| known == id);
        match named {
            Some(id) if !is_registered(&id) => {
                let usable: Vec<&str> = sources
                    .iter()
                    .map(|(id, _)| id)
                    .filter(|id| caller.may_use(id))
                    .map(SourceId::as_str)
                    .collect();
                Err(Fault::new(
                    FaultCode::UnknownSource,
                    format!("source \"{id}\" is not registered"),
                )
                .hint(format!("omit the source, or name one of: {}", usable.join(", "))))
            }
            Some(id) if !caller.may_use(&id) => {
                let message = format!("\"{}\" may not write to source \"{id}\"", caller.name);
                Err(Fault::new(FaultCode::Forbidden, message)
                    .hint("ask the owner of this brain for a grant with that source"))
            }
            Some(id) => Ok(id),
            None => {
                let first_visible = || match caller.visibility() {
                    Visibility::All => None,
                    Visibility::Only(visible) => visible.into_iter().find(is_registered),
                };
                // Only sources of the caller are considered, so that no other source is revealed.
                let usable: Vec<_> =
                    sources.iter().filter(|(id, _)| caller.may_use(id)).cloned().collect();
                Some(preferred(&usable))
                    .filter(|id| usable.iter().any(|(known, _)| known == id))
                    .or_else(first_visible)
                    .ok_or_else(|| {
                        let message = format!(
                            "none of the sources that \"{}\" may write to is registered",
                            caller.name
                        );
                        Fault::new(FaultCode::Forbidden, message).hint(
                            "ask the owner of this brain for a grant with a registered source",
                        )
                    })
            }
        }
    }
}

/// The keys by which duplicates are found.
struct DedupKeys {
    /// From the client and its idempotency key.
    by_idempotency_key: Option<Hash>,
    /// From the client, the source, the content and the slug.
    by_content: Hash,
}

/// Returns the key that identifies an item by its content.
fn by_content(client: &str, source: &SourceId, content_hash: &Hash, slug: Option<&Slug>) -> Hash {
    key(&[
        b"content",
        client.as_bytes(),
        source.as_str().as_bytes(),
        content_hash.as_slice(),
        slug.map_or("", Slug::as_str).as_bytes(),
    ])
}

/// Returns a digest of several parts, unambiguously delimited.
fn key(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// Adds the job unless it is a duplicate or the queue is full; runs in the writer.
fn decide(
    transaction: &mut Transaction<'_>,
    record: &JobRecord,
    keys: &DedupKeys,
    max_waiting: u64,
    public_id: &dyn Fn(u64) -> JobId,
) -> Result<EnqueueDecision, StoreError> {
    if let Some(key) = &keys.by_idempotency_key
        && let Some((id, first)) = find_duplicate(transaction, key, record.received_at)?
    {
        if (first.content_hash, &first.source) == (record.content_hash, &record.source) {
            return Ok(EnqueueDecision::Duplicate { id });
        }
        return Err(Fault::new(
            FaultCode::Conflict,
            format!(
                "this Idempotency-Key came with another item within the last 24 hours, as {}",
                public_id(id)
            ),
        )
        .hint("use a new key for each item")
        .into());
    }
    if let Some((id, first)) = find_duplicate(transaction, &keys.by_content, record.received_at)?
        && is_still_stored(transaction, &first)?
    {
        return Ok(EnqueueDecision::Duplicate { id });
    }
    if transaction.waiting_jobs() >= max_waiting {
        return Err(Fault::new(
            FaultCode::QueueFull,
            format!("the ingest queue is full: {max_waiting} items wait"),
        )
        .hint("send the item again in a few seconds; nothing of it was stored")
        .into());
    }
    let id = transaction.add_job(record)?;
    Ok(EnqueueDecision::Queued { id, waiting: transaction.waiting_jobs() })
}

/// Returns the job with `key` if its item arrived within the last 24 hours and the job has not
/// failed. `now` is in Unix milliseconds.
fn find_duplicate(
    transaction: &Transaction<'_>,
    key: &Hash,
    now: i64,
) -> Result<Option<(u64, JobRecord)>, StoreError> {
    Ok(transaction.latest_job_with_key(key)?.filter(|(_, job)| match job.state {
        JobState::Failed => false,
        // A waiting job counts even if the clock was set back.
        JobState::Queued | JobState::Processing | JobState::Retrying => {
            now - job.received_at < WINDOW_MS
        }
        JobState::Stored => (0..WINDOW_MS).contains(&(now - job.received_at)),
    }))
}

/// Returns whether the page of a stored job still has the job's content, or its document. Otherwise
/// the same content is no duplicate.
fn is_still_stored(transaction: &Transaction<'_>, job: &JobRecord) -> Result<bool, StoreError> {
    if job.state != JobState::Stored {
        return Ok(true);
    }
    let Some(slug) = &job.slug else { return Ok(false) };
    let Some(page) = transaction.page(&job.source, slug)? else { return Ok(false) };
    if page.deleted_at.is_some() {
        return Ok(false);
    }
    Ok(match job.kind() {
        JobKind::Text => page.content_hash == job.content_hash,
        JobKind::Document => {
            let files = transaction.attachments_of(page.id)?;
            files.iter().any(|(_, it)| it.hash == job.content_hash && it.removed_at.is_none())
        }
    })
}

fn payload_fault(error: &PayloadError) -> Fault {
    match error {
        PayloadError::Empty => Fault::new(FaultCode::EmptyBody, "there is no text in the body")
            .hint("send the content itself as the request's body"),
        PayloadError::Encoding(reason) => {
            Fault::new(FaultCode::InvalidEncoding, format!("the body is not text: {reason}"))
                .hint("send UTF-8, and JSON only as application/json")
        }
        PayloadError::Foreign(format) => unread_format("the body", *format),
        PayloadError::Frontmatter(error) => frontmatter_fault("the body", error),
    }
}
