//! Lists requests that left the machine, and moves ended ones into the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use brain_base::caller::{Caller, Visibility};
use brain_base::clock::{Clock, rfc3339};
use brain_config::Retention;
use brain_pages::pages::PageService;
use brain_protocol::{Fault, LeftList, LeftPage, LeftReply, LeftRequest};
use brain_store::{LeftRecord, Reader, Store, ledger_time};

use crate::list_filter::ListPart;
use crate::outgoing_file::OutgoingFile;

/// How often ended requests are moved into the store.
const MOVE_EVERY: Duration = Duration::from_secs(60);
/// As [`MOVE_EVERY`], if the store is that of several machines.
const MOVE_EVERY_IF_SHARED: Duration = Duration::from_secs(10 * 60);

/// The service of requests that left the machine.
pub struct LeftService {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    pages: Arc<PageService>,
    file: Arc<OutgoingFile>,
    retention: Retention,
}

impl LeftService {
    /// Creates the service.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        pages: Arc<PageService>,
        file: Arc<OutgoingFile>,
        retention: Retention,
    ) -> Self {
        Self { store, clock, pages, file, retention }
    }

    /// Moves ended requests from the file into the store. If a crash interrupts this, the next call
    /// writes the same rows again.
    ///
    /// # Errors
    /// If the file or the store cannot be written. The requests then stay in the file.
    pub fn store_ended(&self) -> Result<(), Fault> {
        let content = self.file.read().map_err(|error| self.file.fault(error))?;
        let ended = content.ended();
        if ended.is_empty() {
            return Ok(());
        }
        self.store.write(move |transaction| transaction.add_left(&ended))?;
        self.file.remove_ended(&content).map_err(|error| self.file.fault(error))
    }

    /// Returns how often ended requests are to be moved into the store. On several machines, each
    /// move is a write to the log, which all of them read.
    #[must_use]
    pub fn move_every(&self) -> Duration {
        if self.store.is_shared() { MOVE_EVERY_IF_SHARED } else { MOVE_EVERY }
    }

    /// Removes some requests that are older than configured. Returns whether more may remain.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn prune(&self) -> Result<bool, Fault> {
        let Retention::For(time) = self.retention else { return Ok(false) };
        let before = self.clock.now() - time.as_millis() as i64;
        Ok(self.store.write(move |transaction| transaction.forget_left(before))?)
    }

    /// Lists requests, the newest first, including those that are still in the file.
    ///
    /// # Errors
    /// `invalid_request` for an invalid time; `not_found` for an unknown page; the fault of the
    /// store if it cannot be read.
    pub fn list(&self, caller: &Caller, request: &LeftList) -> Result<LeftReply, Fault> {
        let period = (request.since.as_deref(), request.until.as_deref());
        let mut part = ListPart::new(period, request.limit, request.skip)?;
        let page = match &request.page {
            Some(page) => Some(self.pages.page_to_purge(caller, page)?.1.id),
            None => None,
        };
        let matches = |record: &LeftRecord| {
            request.host.as_ref().is_none_or(|host| record.host.eq_ignore_ascii_case(host))
                && page.is_none_or(|page| record.pages.contains(&page))
        };
        // The file is read before the store, so that a request that is moved meanwhile is in one.
        let mut in_file = self.file.read().map_err(|error| self.file.fault(error))?.requests;
        let reader = self.store.read(Visibility::All)?;
        let machine = reader.machine()?;
        in_file.values_mut().for_each(|record| record.machine = machine);
        let mut newest: BTreeMap<u64, LeftRecord> = in_file;
        let mut needs_more = true;
        reader.left_since(part.since(), |id, record| {
            while let Some(entry) = newest.last_entry().filter(|entry| *entry.key() > id) {
                let (id, record) = entry.remove_entry();
                needs_more = needs_more && add(&mut part, id, record, &matches);
            }
            newest.remove(&id);
            needs_more = needs_more && add(&mut part, id, record, &matches);
            needs_more
        })?;
        while needs_more && let Some((id, record)) = newest.pop_last() {
            needs_more = add(&mut part, id, record, &matches);
        }
        let (rows, truncated) = part.end();
        let requests = rows.into_iter().map(|(id, it)| left_request(&reader, id, it));
        let requests = requests.collect::<Result<_, Fault>>()?;
        Ok(LeftReply { requests, truncated, kept: self.retention.to_string() })
    }
}

/// Adds a request that matches. Returns whether further ones are needed.
fn add(
    part: &mut ListPart<(u64, LeftRecord)>,
    id: u64,
    record: LeftRecord,
    matches: &impl Fn(&LeftRecord) -> bool,
) -> bool {
    !part.has_time(ledger_time(id)) || !matches(&record) || part.add((id, record))
}

/// Returns the text of an id.
pub(crate) fn id_text(id: u64) -> String {
    format!("{id:016x}")
}

/// Returns the name of a machine's id.
pub(crate) fn machine_text(machine: Option<u128>) -> Option<String> {
    machine.map(|machine| format!("{machine:032x}"))
}

fn left_request(reader: &Reader, id: u64, record: LeftRecord) -> Result<LeftRequest, Fault> {
    let mut pages = Vec::new();
    let mut purged_pages = 0;
    for page in &record.pages {
        match reader.by_id_including_deleted(*page)? {
            Some((source_id, slug, _)) => pages.push(LeftPage { source_id, slug }),
            None => purged_pages += 1,
        }
    }
    Ok(LeftRequest {
        id: id_text(id),
        call: id_text(record.call),
        at: rfc3339(ledger_time(id)),
        machine: machine_text(record.machine),
        kind: record.kind,
        host: record.host,
        port: record.port,
        method: record.method,
        purpose: record.purpose,
        outcome: record.outcome,
        status: record.status,
        sent: record.sent,
        received: record.received,
        took_ms: record.took_ms,
        pages,
        purged_pages,
    })
}
