//! The audit log: records of calls over the network, kept for 90 days.
//!
//! Records contain no values of parameters and no secrets. Calls are buffered in memory and
//! written once a second, so a crash can lose the last second. Of unknown callers, only some calls
//! a minute are recorded, so that they cannot fill the disk.

mod buffer;

use std::sync::Arc;

use brain_protocol::{AuditCall, AuditList, Fault, FaultCode};
use parking_lot::{Mutex, MutexGuard};

use brain_base::caller::Visibility;
use brain_base::clock::{Clock, parse_end_instant, parse_instant, rfc3339};
use brain_store::{AuditRecord, Store};
use buffer::CallBuffer;

/// How long records are kept: 90 days.
const RETENTION_MS: i64 = 90 * 24 * 60 * 60 * 1000;
/// Maximum number of records in one reply.
const MAX_LIMIT: u32 = 1000;

/// The service that records calls over the network.
pub struct AuditLog {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    /// Calls that are not written yet.
    buffer: Mutex<CallBuffer>,
    /// Held while calls are being written, so that a list does not miss them.
    write_lock: Mutex<()>,
}

/// The criteria of a list request. Times are in Unix milliseconds, both inclusive.
struct AuditFilter<'a> {
    since: i64,
    until: i64,
    client: Option<&'a str>,
    only_failed: bool,
}

impl AuditFilter<'_> {
    fn matches(&self, call: &AuditRecord) -> bool {
        (self.since..=self.until).contains(&call.at)
            && self.client.is_none_or(|client| client == call.client)
            && (!self.only_failed || call.status >= 400)
    }
}

impl AuditLog {
    /// Creates the service with an empty buffer.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, buffer: Mutex::default(), write_lock: Mutex::default() }
    }

    fn buffer(&self) -> MutexGuard<'_, CallBuffer> {
        self.buffer.lock()
    }

    /// Adds a call to the buffer. Does not wait for the disk.
    pub fn record(&self, call: AuditRecord) {
        self.buffer().record(self.clock.now(), call);
    }

    /// Returns whether calls wait to be written.
    #[must_use]
    pub fn has_buffered(&self) -> bool {
        let mut buffer = self.buffer();
        buffer.advance(self.clock.now());
        !buffer.calls.is_empty()
    }

    /// Writes the buffered calls.
    ///
    /// # Errors
    /// If the store cannot be written. The calls then stay in the buffer.
    pub fn write(&self) -> Result<(), Fault> {
        let _write_guard = self.write_lock.lock();
        let now = self.clock.now();
        let (calls, dropped) = {
            let mut buffer = self.buffer();
            buffer.advance(now);
            (buffer.take(), buffer.take_dropped())
        };
        if dropped > 0 {
            tracing::warn!(dropped, "audit buffer full; oldest calls dropped");
        }
        if calls.is_empty() {
            return Ok(());
        }
        let calls = Arc::new(calls);
        let written = Arc::clone(&calls);
        let result = self.store.write(move |transaction| transaction.add_calls(now, &written));
        if result.is_err() {
            // The writer has dropped its reference, so nothing is copied.
            self.buffer().put_back(Arc::unwrap_or_clone(calls));
        }
        Ok(result?)
    }

    /// Writes the buffered calls for the last time, and a summary of the current minute's
    /// unrecorded calls of unknown callers.
    ///
    /// # Errors
    /// The same as for [`AuditLog::write`].
    pub fn close(&self) -> Result<(), Fault> {
        {
            let mut buffer = self.buffer();
            buffer.advance(self.clock.now());
            buffer.summarize_unknown();
        }
        self.write()
    }

    /// Removes a batch of records that are older than 90 days. Returns whether more may remain.
    pub fn purge(&self) -> Result<bool, Fault> {
        let before = self.clock.now() - RETENTION_MS;
        Ok(self.store.write(move |transaction| transaction.forget_calls(before))?)
    }

    /// Lists recorded calls, the newest first, including those that are not written yet.
    ///
    /// # Errors
    /// [`FaultCode::InvalidRequest`] if `since` or `until` is not a time; the fault of the store if
    /// it cannot be read.
    pub fn list(&self, request: &AuditList) -> Result<brain_protocol::Audit, Fault> {
        let instant = |text: &Option<String>, parse: fn(&str) -> Option<i64>, default| match text {
            Some(text) => parse(text).ok_or_else(|| not_a_time(text)),
            None => Ok(default),
        };
        let filter = AuditFilter {
            since: instant(&request.since, parse_instant, i64::MIN)?,
            until: instant(&request.until, parse_end_instant, i64::MAX)?,
            client: request.client.as_deref(),
            only_failed: request.failed,
        };
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let mut to_skip = request.skip;
        let mut found: Vec<AuditRecord> = Vec::new();
        // Adds the call if it is part of the reply, and returns whether the next one is needed.
        let mut add = |call: AuditRecord| {
            match (filter.matches(&call), to_skip) {
                (false, _) => {}
                (true, 0) => found.push(call),
                (true, _) => to_skip -= 1,
            }
            found.len() <= limit
        };
        let (needs_more, reader) = {
            let _write_guard = self.write_lock.lock();
            let needs_more = self.buffer().calls.iter().rev().cloned().all(&mut add);
            (needs_more, self.store.read(Visibility::All)?)
        };
        if needs_more {
            reader.calls_since(filter.since, add)?;
        }
        let truncated = found.len() > limit;
        found.truncate(limit);
        Ok(brain_protocol::Audit { calls: found.into_iter().map(audit_call).collect(), truncated })
    }
}

fn not_a_time(text: &str) -> Fault {
    let text: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    Fault::new(FaultCode::InvalidRequest, format!("\"{text}\" is neither a day nor an instant"))
        .hint("for example 2026-11-21 or 2026-11-21T10:30:00Z")
}

fn audit_call(call: AuditRecord) -> AuditCall {
    AuditCall {
        at: rfc3339(call.at),
        client: call.client,
        operation: call.operation,
        status: call.status,
        took_us: call.took_us,
        parameters: call
            .parameters
            .into_iter()
            .map(|(name, bytes)| format!("{name}:{bytes}"))
            .collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::buffer::MINUTE_MS;
    use super::*;
    use brain_store::StoreOptions;

    /// 2026-11-21T10:30:00Z.
    const NOW: i64 = 1_795_257_000_000;
    const DAY: i64 = 24 * 60 * 60 * 1000;

    #[derive(Clone)]
    struct MockClock(Arc<AtomicI64>);

    impl Clock for MockClock {
        fn now(&self) -> i64 {
            self.0.load(Ordering::SeqCst)
        }
    }

    fn open(dir: &Path, clock: &MockClock) -> AuditLog {
        open_on_disk(dir, clock, 0)
    }

    /// Opens the audit log on a disk that counts as full if fewer bytes are free.
    fn open_on_disk(dir: &Path, clock: &MockClock, min_free_bytes: u64) -> AuditLog {
        let options = StoreOptions {
            cache_bytes: 4 << 20,
            min_free_bytes,
            now: clock.now(),
            new_store_id: 7,
            min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
        };
        let store = Store::open(&dir.join("store"), &options, Box::new(|_| {})).unwrap();
        AuditLog::new(Arc::new(store), Arc::new(clock.clone()))
    }

    fn call(at: i64, client: &str, status: u16) -> AuditRecord {
        let operation = "POST /ingest".into();
        let parameters = vec![("title".into(), 12), ("body".into(), 2048)];
        AuditRecord { at, client: client.into(), operation, status, took_us: 5, parameters }
    }

    fn everything() -> AuditList {
        AuditList { limit: 1000, ..AuditList::default() }
    }

    fn clients(audit: &AuditLog, request: &AuditList) -> Vec<String> {
        audit.list(request).unwrap().calls.into_iter().map(|call| call.client).collect()
    }

    #[test]
    fn written_and_buffered_calls_are_listed_newest_first() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), MockClock(Arc::new(AtomicI64::new(NOW))));
        let audit = open(dir.path(), &clock);
        audit.record(call(NOW, "a", 202));
        audit.record(call(NOW, "b", 401));
        assert!(audit.has_buffered());
        audit.write().unwrap();
        assert!(!audit.has_buffered());
        audit.record(call(NOW, "c", 202));
        audit.write().unwrap();
        audit.record(call(NOW + 5, "d", 503));
        assert_eq!(clients(&audit, &everything()), ["d", "c", "b", "a"]);
        let listed = audit.list(&everything()).unwrap();
        assert_eq!(listed.calls[0].at, "2026-11-21T10:30:00.005Z");
        assert_eq!(listed.calls[3].parameters, ["title:12", "body:2048"]);
        assert!(!listed.truncated);
        let few = audit.list(&AuditList { limit: 2, ..AuditList::default() }).unwrap();
        assert!(few.truncated && few.calls.len() == 2);
        assert!(!audit.list(&AuditList { limit: 4, ..AuditList::default() }).unwrap().truncated);
        // Written calls survive a crash; `close` writes the buffered ones.
        drop(audit);
        let audit = open(dir.path(), &clock);
        assert_eq!(clients(&audit, &everything()), ["c", "b", "a"]);
        audit.record(call(NOW, "e", 200));
        audit.close().unwrap();
        drop(audit);
        assert_eq!(clients(&open(dir.path(), &clock), &everything())[0], "e");
    }

    #[test]
    fn a_list_is_filtered_by_time_client_and_status() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), MockClock(Arc::new(AtomicI64::new(NOW))));
        let audit = open(dir.path(), &clock);
        for (days, client, status) in [(0, "a", 202), (1, "b", 400), (2, "a", 503), (3, "b", 202)] {
            clock.0.store(NOW + days * DAY, Ordering::SeqCst);
            audit.record(call(NOW + days * DAY, client, status));
            if days < 3 {
                audit.write().unwrap();
            }
        }
        let listed = |request: AuditList| -> Vec<String> {
            let calls = audit.list(&AuditList { limit: 10, ..request }).unwrap().calls;
            calls.into_iter().map(|call| call.at[8..10].to_owned()).collect()
        };
        let since = Some("2026-11-22".to_owned());
        let until = Some("2026-11-23".to_owned());
        assert_eq!(
            listed(AuditList { client: Some("a".into()), ..AuditList::default() }),
            ["23", "21"]
        );
        assert_eq!(listed(AuditList { failed: true, ..AuditList::default() }), ["23", "22"]);
        assert_eq!(
            listed(AuditList { since: since.clone(), ..AuditList::default() }),
            ["24", "23", "22"]
        );
        assert_eq!(
            listed(AuditList { until: until.clone(), ..AuditList::default() }),
            ["23", "22", "21"]
        );
        assert_eq!(
            listed(AuditList { since, until, failed: true, ..AuditList::default() }),
            ["23", "22"]
        );
        let wrong = AuditList { since: Some("yesterday".into()), ..everything() };
        assert_eq!(audit.list(&wrong).unwrap_err().code, FaultCode::InvalidRequest);
    }

    #[test]
    fn calls_stay_in_the_buffer_while_the_disk_is_full() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), MockClock(Arc::new(AtomicI64::new(NOW))));
        let audit = open_on_disk(dir.path(), &clock, u64::MAX / 2);
        for client in ["a", "b"] {
            audit.record(call(NOW, client, 200));
        }
        assert_eq!(audit.write().unwrap_err().code, FaultCode::DiskFull);
        audit.record(call(NOW, "c", 200));
        assert!(audit.has_buffered());
        assert_eq!(clients(&audit, &everything()), ["c", "b", "a"]);
    }

    #[test]
    fn calls_are_kept_for_90_days() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), MockClock(Arc::new(AtomicI64::new(NOW))));
        let audit = open(dir.path(), &clock);
        for client in ["old", "new"] {
            audit.record(call(clock.now(), client, 200));
            audit.write().unwrap();
            clock.0.fetch_add(1000, Ordering::SeqCst);
        }
        clock.0.store(NOW + RETENTION_MS, Ordering::SeqCst);
        audit.purge().unwrap();
        assert_eq!(clients(&audit, &everything()), ["new", "old"]);
        clock.0.fetch_add(1, Ordering::SeqCst);
        audit.purge().unwrap();
        assert_eq!(clients(&audit, &everything()), ["new"]);
    }

    #[test]
    fn calls_of_unknown_callers_are_limited_per_minute() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), MockClock(Arc::new(AtomicI64::new(NOW))));
        let audit = open(dir.path(), &clock);
        for n in 0..100 {
            audit.record(call(NOW, AuditRecord::UNKNOWN, if n == 80 { 404 } else { 200 }));
            audit.record(call(NOW, "a", 200));
        }
        audit.write().unwrap();
        let counted = |client: &str| {
            clients(&audit, &everything()).iter().filter(|name| *name == client).count()
        };
        assert_eq!(
            (counted(AuditRecord::UNKNOWN), counted("a")),
            (60, 100),
            "all calls of a known client are recorded"
        );
        assert!(!audit.has_buffered());
        clock.0.fetch_add(MINUTE_MS, Ordering::SeqCst);
        assert!(
            audit.has_buffered(),
            "the summary of the past minute waits to be written, without another call"
        );
        audit.write().unwrap();
        let newest = audit.list(&everything()).unwrap().calls.swap_remove(0);
        assert_eq!(newest.operation, "(40 more calls of unknown callers)");
        assert_eq!((&*newest.client, newest.status, newest.parameters.len()), ("-", 404, 0));
        audit.record(call(NOW + MINUTE_MS, AuditRecord::UNKNOWN, 200));
        assert_eq!(counted(AuditRecord::UNKNOWN), 62, "the limit applies to each minute");
        clock.0.fetch_add(MINUTE_MS, Ordering::SeqCst);
        audit.write().unwrap();
        assert_eq!(
            counted(AuditRecord::UNKNOWN),
            62,
            "a minute without omitted calls has no summary"
        );
    }
}
