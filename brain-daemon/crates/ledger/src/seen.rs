//! Records what AI clients were given, lists it, and renders answers again.

use std::sync::{Arc, OnceLock};

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::{Clock, rfc3339, zone_minutes};
use brain_config::Retention;
use brain_page::hex;
use brain_pages::pages::PageService;
use brain_protocol::{
    Fault, FaultCode, SeenCall, SeenList, SeenOutcome, SeenPage, SeenReplay, SeenReplayReply,
    SeenReply, Slug, SourceId,
};
use brain_store::{Reader, SeenPageRecord, SeenRecord, Store, ledger_id, ledger_time};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::left::{id_text, machine_text};
use crate::list_filter::ListPart;
use crate::recording::{self, AnsweredCall};
use crate::replay::{Renderer, recorded_call, refused};

/// Maximum number of calls that wait to be written. Beyond it, the oldest ones are dropped.
const MAX_BUFFERED: usize = 10_000;

/// The service that records what AI clients were given.
pub struct SeenService {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    pages: Arc<PageService>,
    retention: Retention,
    /// Distinguishes calls of the same millisecond.
    numbers: Mutex<u64>,
    /// Calls that are not written yet, with their ids.
    buffer: Mutex<Vec<(u64, AnsweredCall)>>,
    /// Held while calls are being written, so that a list does not miss them.
    write_lock: Mutex<()>,
    renderer: OnceLock<Arc<dyn Renderer>>,
}

impl SeenService {
    /// Creates the service. `first_number` is random.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        pages: Arc<PageService>,
        retention: Retention,
        first_number: u64,
    ) -> Self {
        Self {
            store,
            clock,
            pages,
            retention,
            numbers: Mutex::new(first_number),
            buffer: Mutex::default(),
            write_lock: Mutex::default(),
            renderer: OnceLock::new(),
        }
    }

    /// Sets what renders recorded calls again. The first one stays.
    pub fn set_renderer(&self, renderer: Arc<dyn Renderer>) {
        let _ = self.renderer.set(renderer);
    }

    /// Returns whether calls are recorded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.retention != Retention::Off
    }

    fn next_number(&self) -> u64 {
        let mut numbers = self.numbers.lock();
        *numbers = numbers.wrapping_add(1);
        *numbers
    }

    /// Adds a call to the buffer. Does not wait for the disk.
    pub fn record(&self, call: AnsweredCall) {
        if !self.is_on() {
            return;
        }
        let number = self.next_number();
        let mut buffer = self.buffer.lock();
        if buffer.len() >= MAX_BUFFERED {
            buffer.remove(0);
        }
        buffer.push((ledger_id(self.clock.now(), number), call));
    }

    /// Records a call over HTTP that was refused with this status before it was read.
    pub fn record_refused(&self, client: &str, status: u16) {
        self.record(AnsweredCall {
            client: client.to_owned(),
            tool: String::new(),
            request: None,
            outcome: SeenOutcome::HttpRefused,
            code: status.to_string(),
            form: 0,
            hash: [0; 16],
            bytes: 0,
            default_source: None,
            local_address: None,
            age: None,
            replies: Vec::new(),
        });
    }

    /// Returns whether calls wait to be written.
    #[must_use]
    pub fn has_buffered(&self) -> bool {
        !self.buffer.lock().is_empty()
    }

    /// Writes the buffered calls.
    ///
    /// # Errors
    /// If the store cannot be written. The calls then stay in the buffer.
    pub fn write(&self) -> Result<(), Fault> {
        let _writing = self.write_lock.lock();
        let calls = std::mem::take(&mut *self.buffer.lock());
        if calls.is_empty() {
            return Ok(());
        }
        let reader = self.store.read(Visibility::All)?;
        let find = |source: &str, slug: &str| find(&reader, source, slug);
        let rows: Vec<(u64, SeenRecord)> = calls
            .iter()
            .map(|(id, call)| {
                (*id, recording::record(call.clone(), zone_minutes(ledger_time(*id)), find))
            })
            .collect();
        drop(reader);
        let now = self.clock.now();
        let written = self.store.write(move |transaction| transaction.add_seen(&rows, now));
        if written.is_err() {
            let mut buffer = self.buffer.lock();
            let later = std::mem::replace(&mut *buffer, calls);
            buffer.extend(later);
        }
        Ok(written?)
    }

    /// Removes some calls that are older than configured. Returns whether more may remain.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn prune(&self) -> Result<bool, Fault> {
        let Retention::For(time) = self.retention else { return Ok(false) };
        let before = self.clock.now() - time.as_millis() as i64;
        Ok(self.store.write(move |transaction| transaction.forget_seen(before))?)
    }

    /// Lists calls, the newest first.
    ///
    /// # Errors
    /// `invalid_request` for an invalid time; `not_found` for an unknown page; the fault of the
    /// store if it cannot be read.
    pub fn list(&self, caller: &Caller, request: &SeenList) -> Result<SeenReply, Fault> {
        // Calls that cannot be written now are listed later.
        let _ = self.write();
        let period = (request.since.as_deref(), request.until.as_deref());
        let mut part = ListPart::new(period, request.limit, request.skip)?;
        let page = match &request.page {
            Some(page) => Some(self.pages.page_to_purge(caller, page)?.1.id),
            None => None,
        };
        let reader = self.store.read(Visibility::All)?;
        reader.seen_since(part.since(), |id, record| {
            let matches = part.has_time(ledger_time(id))
                && request.client.as_ref().is_none_or(|client| *client == record.client)
                && (!request.failed || record.outcome != SeenOutcome::Answered)
                && page.is_none_or(|page| was_given(&record, page));
            !matches || part.add((id, record))
        })?;
        let (rows, truncated) = part.end();
        let calls = rows.into_iter().map(|(id, record)| seen_call(&reader, id, record));
        let calls = calls.collect::<Result<_, Fault>>()?;
        Ok(SeenReply { calls, truncated, kept: self.retention.to_string() })
    }

    /// Renders an answer again from the versions that it was made from.
    ///
    /// # Errors
    /// `not_found` for an unknown call; `not_replayable` with the cause.
    pub fn replay(&self, request: &SeenReplay) -> Result<SeenReplayReply, Fault> {
        let _ = self.write();
        let id = u64::from_str_radix(request.id.trim(), 16).ok();
        let reader = self.store.read(Visibility::All)?.with_step_times(self.clock.now())?;
        let found = id.map(|id| reader.seen(id)).transpose()?.flatten();
        let (Some(id), Some(record)) = (id, found) else {
            let shown: String = request.id.chars().take(40).flat_map(char::escape_debug).collect();
            let message = format!("there is no recorded call \"{shown}\"");
            return Err(Fault::new(FaultCode::NotFound, message)
                .hint("it may be older than history.seen keeps calls"));
        };
        let Some(renderer) = self.renderer.get() else {
            return Err(refused("this process does not answer AI clients"));
        };
        if record.texts.is_some() && record.form != renderer.form() {
            let why = format!(
                "it has form {} of answers, and this program renders form {}",
                record.form,
                renderer.form()
            );
            return Err(refused(&why));
        }
        let call = recorded_call(&reader, &record, ledger_time(id))
            .map_err(|fault| dated(fault, &record))?;
        let answer = renderer.render(&call)?;
        let expected = record.texts.as_ref().map(|texts| texts.hash);
        if expected != Some(answer_hash(&answer)) {
            return Err(refused("the record of a page has changed since, without a new version"));
        }
        let answer = String::from_utf8(answer).map_err(|_| refused("the answer is not text"))?;
        Ok(SeenReplayReply { call: seen_call(&reader, id, record)?, answer })
    }
}

/// Returns the first half of the SHA-256 of an answer.
#[must_use]
pub fn answer_hash(answer: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Sha256::digest(answer)[..16]);
    half
}

/// Adds the day of the purge to a refusal.
fn dated(fault: Fault, record: &SeenRecord) -> Fault {
    match record.purged_at {
        Some(at) => Fault { message: format!("{} ({})", fault.message, rfc3339(at)), ..fault },
        None => fault,
    }
}

fn find(reader: &Reader, source: &str, slug: &str) -> Option<SeenPageRecord> {
    let (source, slug) = (SourceId::parse(source).ok()?, Slug::parse(slug).ok()?);
    let record = reader.page_even_deleted(&source, &slug).ok()??;
    let trust = brain_pages::provenance::trust_of(&record);
    Some(SeenPageRecord { page: record.id, version: record.version, trust })
}

fn was_given(record: &SeenRecord, id: u64) -> bool {
    let mut found = false;
    for reply in record.texts.iter().flat_map(|texts| &texts.replies) {
        reply.given(|page, _| found |= page.page == id);
    }
    found
}

fn seen_call(reader: &Reader, id: u64, record: SeenRecord) -> Result<SeenCall, Fault> {
    let mut given: Vec<(SeenPageRecord, Option<i64>)> = Vec::new();
    for reply in record.texts.iter().flat_map(|texts| &texts.replies) {
        reply.given(|page, score| {
            let is_known =
                given.iter().any(|(it, _)| (it.page, it.version) == (page.page, page.version));
            if !is_known {
                given.push((page, score));
            }
        });
    }
    let (mut pages, mut purged_pages) = (Vec::new(), record.purged_pages);
    for (page, score) in given {
        let Some((source_id, slug, _)) = reader.by_id_including_deleted(page.page)? else {
            purged_pages += 1;
            continue;
        };
        // As JSON writes it, which is what the client saw.
        let score = score.map(|it| serde_json::Value::from(it as f64 / 100.0).to_string());
        let (version, trust) = (page.version, page.trust);
        pages.push(SeenPage { source_id, slug, version, score, trust });
    }
    let texts = record.texts;
    Ok(SeenCall {
        id: id_text(id),
        at: rfc3339(ledger_time(id)),
        machine: machine_text(record.machine),
        client: record.client,
        tool: record.tool,
        request: texts.as_ref().and_then(|texts| texts.request.clone()),
        outcome: record.outcome,
        code: record.code,
        pages,
        purged_pages,
        purged_at: record.purged_at.map(rfc3339),
        zone_minutes: record.zone_minutes,
        form: record.form,
        hash: texts.map(|texts| hex_of_half(&texts.hash)).unwrap_or_default(),
        bytes: record.bytes,
    })
}

fn hex_of_half(hash: &[u8; 16]) -> String {
    let mut whole = [0; 32];
    whole[..16].copy_from_slice(hash);
    hex(&whole)[..32].to_owned()
}
