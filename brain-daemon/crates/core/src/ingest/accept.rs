//! Taking an item in: the checks, what it is worked out to, and the decision in the writer whether it is a duplicate.
//!
//! Thousands of items a second may come in, so nothing here reads a snapshot, and text that has no frontmatter sees no YAML.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use brain_protocol::{Fault, FaultCode, JobId, JobState, Slug, SourceId};
use sha2::{Digest, Sha256};

use super::super::dedup::WINDOW_MS;
use super::super::intake::check_type;
use super::super::sealed::Seal;
use super::super::{Brain, preferred};
use super::{Accepted, Item};
use brain_base::caller::Visibility;
use brain_base::caller::{Caller, Scope};
use brain_page::{self as page, PayloadError};
use brain_store::{Content, Draft, Hash, JobOptions, JobRecord, StoreError};

/// What the writer made of an item.
enum Taken {
    /// It waits; so many do.
    Queued { id: u64, waiting: u64 },
    /// It is there already.
    Duplicate { id: u64 },
}

impl Brain {
    /// Takes an item in. `done` hears of it: from another thread after the item is on disk, from this one when it is refused
    /// before that. It must not block.
    ///
    /// Does not wait for the disk. A few KB of text take microseconds; HTML or JSON of a megabyte takes milliseconds, which is
    /// too long for a thread that serves others.
    ///
    /// It is refused with `forbidden` (the scope, or a source outside the caller's grant), `unknown_source`,
    /// `invalid_request` (the type), `empty_body`, `invalid_encoding`, `conflict` (the idempotency key has come with other
    /// content), `queue_full`, `busy`, and for what the disk says.
    pub fn ingest(
        &self,
        caller: &Caller,
        item: Item,
        done: impl FnOnce(Result<Accepted, Fault>) + Send + 'static,
    ) {
        match self.work_out(caller, item) {
            Ok((record, keys)) => {
                let seal = (!caller.sees_all()).then(|| Seal::of(self.store.id()));
                self.queue_up(record, keys, seal, done);
            }
            Err(fault) => done(Err(fault)),
        }
    }

    /// Takes the item of a job in once more, with this content, as if its sender had sent it now without a name for it. `done` as in
    /// [`Brain::ingest`].
    pub(crate) fn ingest_again(
        &self,
        job: JobRecord,
        content: Content,
        done: impl FnOnce(Result<Accepted, Fault>) + Send + 'static,
    ) {
        let now = self.clock.now();
        let slug = job.wishes.slug.as_deref().unwrap_or_default();
        let by_content = by_content(&job.client, job.source.as_str(), &job.content_hash, slug);
        let record = JobRecord {
            state: JobState::Queued,
            content,
            received_at: now,
            finished_at: None,
            attempts: 0,
            due_at: now,
            slug: None,
            error: None,
            seen: vec![by_content],
            ..job
        };
        self.queue_up(record, Keys { by_name: None, by_content }, None, done);
    }

    /// Gives what was worked out to the writer. `seal` is for the ids of jobs in the answer.
    fn queue_up(
        &self,
        record: JobRecord,
        keys: Keys,
        seal: Option<Seal>,
        done: impl FnOnce(Result<Accepted, Fault>) + Send + 'static,
    ) {
        let shown = move |number| JobId(seal.map_or(number, |seal| seal.close(number)));
        let answer =
            Answer { content_hash: page::hex(&record.content_hash), source: record.source.clone() };
        let (queue, bound) = (Arc::clone(&self.queue), self.queue.bound);
        self.store.write_then(
            move |draft| take(draft, &record, &keys, bound, &shown),
            move |taken| {
                if let Ok(Taken::Queued { waiting, .. }) = taken {
                    queue.arrived.fetch_add(1, Ordering::Relaxed);
                    queue.more(waiting);
                }
                done(taken.map_err(Fault::from).and_then(|taken| answer.to(&taken, &shown)));
            },
        );
    }

    /// The item as the store keeps it, and what makes another one the same.
    fn work_out(&self, caller: &Caller, item: Item) -> Result<(JobRecord, Keys), Fault> {
        caller.require(Scope::Write, "ingest")?;
        let source = self.target(caller, item.source)?;
        if let Some(page_type) = &item.page_type {
            check_type(page_type)
                .map_err(|fault| Fault { code: FaultCode::InvalidRequest, ..fault })?;
        }
        let payload =
            page::payload(item.media_type, &item.body).map_err(|error| payload_fault(&error))?;
        let content_hash = page::content_digest(&payload.document.body);
        let now = self.clock.now();
        let client = caller.name.clone();
        // Whoever names the page wants it there, wherever the same text is otherwise.
        let slug = item.slug.as_ref().map_or("", Slug::as_str);
        let by_content = by_content(&client, source.as_str(), &content_hash, slug);
        let by_name =
            item.idempotency_key.map(|name| key(&[b"key", client.as_bytes(), name.as_bytes()]));
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let record = JobRecord {
            state: JobState::Queued,
            client,
            source: source.into(),
            content_hash,
            content_type: item.media_type.as_str().to_owned(),
            bytes: item.body.len() as u64,
            wishes: JobOptions {
                slug: item.slug.map(String::from),
                title: filled(item.title),
                page_type: item.page_type,
                uri: filled(item.uri).or(payload.url),
            },
            content: Content {
                frontmatter: payload.document.frontmatter.raw().to_owned(),
                body: payload.document.body,
            },
            received_at: now,
            finished_at: None,
            attempts: 0,
            due_at: now,
            slug: None,
            error: None,
            seen: by_name.into_iter().chain([by_content]).collect(),
        };
        Ok((record, Keys { by_name, by_content }))
    }

    /// Where an item goes: to the source that it names, else to the preferred one, else to the first of the caller's own.
    fn target(&self, caller: &Caller, named: Option<SourceId>) -> Result<SourceId, Fault> {
        let sources = self.store.sources()?;
        let known = |id: &SourceId| sources.iter().any(|(known, _)| known == id);
        match named {
            Some(id) if !known(&id) => {
                let own: Vec<&str> = sources
                    .iter()
                    .map(|(id, _)| id)
                    .filter(|id| caller.may_use(id))
                    .map(SourceId::as_str)
                    .collect();
                Err(Fault::new(
                    FaultCode::UnknownSource,
                    format!("source \"{id}\" is not registered"),
                )
                .hint(format!("leave the source away, or name one of: {}", own.join(", "))))
            }
            Some(id) if !caller.may_use(&id) => {
                let message = format!(
                    "source \"{id}\" is not among those that \"{}\" may write to",
                    caller.name
                );
                Err(Fault::new(FaultCode::Forbidden, message)
                    .hint("ask the owner of this brain for a grant with that source"))
            }
            Some(id) => Ok(id),
            None => {
                let first = || match caller.visibility() {
                    Visibility::All => None,
                    Visibility::Only(own) => own.into_iter().find(known),
                };
                // Of theirs alone: which of the others is preferred is nothing for this caller.
                let own: Vec<_> =
                    sources.iter().filter(|(id, _)| caller.may_use(id)).cloned().collect();
                Some(preferred(&own))
                    .filter(|id| own.iter().any(|(known, _)| known == id))
                    .or_else(first)
                    .ok_or_else(|| {
                        let message = format!(
                            "none of the sources that \"{}\" may write to is registered",
                            caller.name
                        );
                        Fault::new(FaultCode::Forbidden, message).hint(
                            "ask the owner of this brain for a grant with a source that there is",
                        )
                    })
            }
        }
    }
}

/// What makes another item the same one.
struct Keys {
    /// The sender's own name for it.
    by_name: Option<Hash>,
    /// Who sent it, where it goes, what it says.
    by_content: Hash,
}

/// What makes two items one whose sender has no name for them.
fn by_content(client: &str, source: &str, content_hash: &Hash, slug: &str) -> Hash {
    key(&[
        b"content",
        client.as_bytes(),
        source.as_bytes(),
        content_hash.as_slice(),
        slug.as_bytes(),
    ])
}

/// One digest of several parts, which cannot be cut otherwise.
fn key(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// In the writer: what is there already, whether there is room, and if so the item.
fn take(
    draft: &mut Draft<'_>,
    record: &JobRecord,
    keys: &Keys,
    bound: u64,
    shown: &dyn Fn(u64) -> JobId,
) -> Result<Taken, StoreError> {
    if let Some(by_name) = &keys.by_name
        && let Some((id, first)) = counting(draft, by_name, record.received_at)?
    {
        if (first.content_hash, &first.source) == (record.content_hash, &record.source) {
            return Ok(Taken::Duplicate { id });
        }
        return Err(Fault::new(
            FaultCode::Conflict,
            format!(
                "this Idempotency-Key came with other content within the last 24 hours, as {}",
                shown(id)
            ),
        )
        .hint("use a new key for each item")
        .into());
    }
    if let Some((id, first)) = counting(draft, &keys.by_content, record.received_at)?
        && stands(draft, &first)?
    {
        return Ok(Taken::Duplicate { id });
    }
    if draft.waiting_jobs() >= bound {
        return Err(Fault::new(
            FaultCode::QueueFull,
            format!("{bound} items wait already to be made pages"),
        )
        .hint("send it again in a few seconds; nothing of it was stored")
        .into());
    }
    let id = draft.add_job(record)?;
    Ok(Taken::Queued { id, waiting: draft.waiting_jobs() })
}

/// The job that was seen under `key`, if it waits, or became a page of what came in within the last 24 hours.
fn counting(
    draft: &Draft<'_>,
    key: &Hash,
    now: i64,
) -> Result<Option<(u64, JobRecord)>, StoreError> {
    Ok(draft.seen_job(key)?.filter(|(_, job)| match job.state {
        JobState::Failed => false,
        // A clock that was set back does not send a waiting one away.
        JobState::Queued | JobState::Processing | JobState::Retrying => {
            now - job.received_at < WINDOW_MS
        }
        JobState::Stored => (0..WINDOW_MS).contains(&(now - job.received_at)),
    }))
}

/// Whether the job's content is where it went: a page that was deleted or changed since is no reason to refuse the same again.
fn stands(draft: &Draft<'_>, job: &JobRecord) -> Result<bool, StoreError> {
    if job.state != JobState::Stored {
        return Ok(true);
    }
    let place = SourceId::parse(job.source.as_str()).ok().zip(job.slug.as_deref());
    let Some((source, slug)) =
        place.and_then(|(source, slug)| Some((source, Slug::parse(slug).ok()?)))
    else {
        return Ok(false);
    };
    let page = draft.page(&source, &slug)?;
    Ok(page.is_some_and(|page| page.deleted_at.is_none() && page.content_hash == job.content_hash))
}

/// What does not depend on the writer's decision.
struct Answer {
    content_hash: String,
    source: String,
}

impl Answer {
    fn to(self, taken: &Taken, shown: &dyn Fn(u64) -> JobId) -> Result<Accepted, Fault> {
        let (id, status, message) = match taken {
            Taken::Queued { id, .. } => {
                (*id, "queued", "it is safe, and will be a page in a moment")
            }
            Taken::Duplicate { id } => {
                (*id, "duplicate", "the same came in within the last 24 hours; nothing was added")
            }
        };
        let source_id = SourceId::parse(self.source)
            .map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        Ok(Accepted {
            job_id: shown(id),
            content_hash: self.content_hash,
            source_id,
            status: status.into(),
            message: message.into(),
        })
    }
}

fn payload_fault(error: &PayloadError) -> Fault {
    match error {
        PayloadError::Empty => Fault::new(FaultCode::EmptyBody, "there is no text in the body")
            .hint("send the content itself as the request's body"),
        PayloadError::Encoding(what) => {
            Fault::new(FaultCode::InvalidEncoding, format!("the body is not text: {what}"))
                .hint("send UTF-8, and JSON only as application/json")
        }
    }
}
