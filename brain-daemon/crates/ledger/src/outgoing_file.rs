//! The file of requests that are about to leave: JSON lines in the home of this machine.
//!
//! A request to another host is flushed to the disk before it is sent. A request to this machine
//! is only written, because nothing leaves. The line of the end is not flushed: without it, the
//! request counts as one whose end is not known.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use brain_base::clock::Clock;
use brain_base::durable;
use brain_base::json_lines;
use brain_base::outgoing::{OutgoingEnd, OutgoingLog, OutgoingRequest};
use brain_base::write_fault;
use brain_protocol::{Fault, LeftKind, LeftOutcome};
use brain_store::{LeftRecord, ledger_id};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// A line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Line {
    /// A request is about to be sent.
    Begin {
        id: u64,
        call: u64,
        kind: LeftKind,
        host: String,
        port: u16,
        method: String,
        purpose: String,
        pages: Vec<u64>,
    },
    /// A request has ended.
    End {
        id: u64,
        outcome: LeftOutcome,
        status: Option<u16>,
        sent: u64,
        received: u64,
        took_ms: u64,
    },
}

/// The lines of the file up to a point, and what they say.
pub(crate) struct FileContent {
    /// Their length in bytes.
    length: u64,
    /// The requests by their ids.
    pub(crate) requests: BTreeMap<u64, LeftRecord>,
}

impl FileContent {
    /// Returns the requests that have ended, or whose end will never be known.
    pub(crate) fn ended(&self) -> Vec<(u64, LeftRecord)> {
        let ended = self.requests.iter().filter(|(_, it)| it.outcome != LeftOutcome::Open);
        ended.map(|(id, record)| (*id, record.clone())).collect()
    }
}

/// The log of outgoing requests in a file.
pub struct OutgoingFile {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    /// Distinguishes requests of the same millisecond.
    next_number: AtomicU64,
    /// Whether requests are recorded.
    is_on: bool,
    /// The requests of this process that have not ended, with their beginnings. Held while the file
    /// is written.
    open: Mutex<HashMap<u64, Instant>>,
}

impl OutgoingFile {
    /// Creates the log at `path`. `first_number` is random. No I/O.
    #[must_use]
    pub fn new(path: PathBuf, clock: Arc<dyn Clock>, first_number: u64, is_on: bool) -> Self {
        Self { path, clock, next_number: first_number.into(), is_on, open: Mutex::default() }
    }

    /// Returns the fault of the file.
    pub(crate) fn fault(&self, error: io::Error) -> Fault {
        write_fault(&self.path, error)
    }

    /// Reads the file. A damaged line is skipped.
    ///
    /// # Errors
    /// When the file exists and cannot be read.
    pub(crate) fn read(&self) -> io::Result<FileContent> {
        let (mut bytes, open): (Vec<u8>, Vec<u64>) = {
            let open = self.open.lock();
            let bytes = match std::fs::read(&self.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                other => other?,
            };
            (bytes, open.keys().copied().collect())
        };
        let length = bytes.len() as u64;
        bytes.retain(|byte| *byte != 0);
        let mut requests = BTreeMap::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice(line) {
                apply(line, &mut requests);
            }
        }
        for (id, record) in &mut requests {
            if record.outcome == LeftOutcome::Open && !open.contains(id) {
                record.outcome = LeftOutcome::Unknown;
            }
        }
        Ok(FileContent { length, requests })
    }

    /// Removes the requests of `content` that have ended. Lines that were added later stay.
    ///
    /// # Errors
    /// When the file cannot be read or replaced. It is then unchanged.
    pub(crate) fn remove_ended(&self, content: &FileContent) -> io::Result<()> {
        let _writing = self.open.lock();
        let mut lines = Vec::new();
        for (id, record) in &content.requests {
            if record.outcome == LeftOutcome::Open {
                lines.extend_from_slice(to_json(&begin_line(*id, record)).as_bytes());
            }
        }
        let mut later = Vec::new();
        File::open(&self.path)?.read_to_end(&mut later)?;
        lines.extend_from_slice(later.get(content.length as usize..).unwrap_or_default());
        durable::replace(&self.path, &lines)
    }
}

impl OutgoingLog for OutgoingFile {
    fn begin(&self, request: &OutgoingRequest<'_>) -> io::Result<u64> {
        let id = ledger_id(self.clock.now(), self.next_number.fetch_add(1, Ordering::Relaxed));
        if !self.is_on {
            return Ok(id);
        }
        let record = LeftRecord {
            call: request.call.unwrap_or(id),
            machine: None,
            kind: request.kind,
            host: request.host.to_owned(),
            port: request.port,
            method: request.method.to_owned(),
            purpose: request.purpose.to_owned(),
            pages: request.pages.to_vec(),
            outcome: LeftOutcome::Open,
            status: None,
            sent: 0,
            received: 0,
            took_ms: None,
        };
        let leaves = request.kind == LeftKind::Program || !is_this_machine(request.host);
        let mut open = self.open.lock();
        json_lines::append(&self.path, leaves, |_| to_json(&begin_line(id, &record)))?;
        open.insert(id, Instant::now());
        Ok(id)
    }

    fn end(&self, id: u64, end: OutgoingEnd) {
        let mut open = self.open.lock();
        let Some(began) = open.remove(&id) else { return };
        let OutgoingEnd { outcome, status, sent, received } = end;
        let took_ms = began.elapsed().as_millis() as u64;
        let line = Line::End { id, outcome, status, sent, received, took_ms };
        if let Err(error) = json_lines::append(&self.path, false, |_| to_json(&line)) {
            tracing::warn!(
                path = %self.path.display(),
                %error,
                "cannot record the end of a request; it counts as not known"
            );
        }
    }
}

/// Applies a line to the requests before it.
fn apply(line: Line, requests: &mut BTreeMap<u64, LeftRecord>) {
    match line {
        Line::Begin { id, call, kind, host, port, method, purpose, pages } => {
            let record = LeftRecord {
                call,
                machine: None,
                kind,
                host,
                port,
                method,
                purpose,
                pages,
                outcome: LeftOutcome::Open,
                status: None,
                sent: 0,
                received: 0,
                took_ms: None,
            };
            requests.insert(id, record);
        }
        Line::End { id, outcome, status, sent, received, took_ms } => {
            if let Some(record) = requests.get_mut(&id) {
                (record.outcome, record.status) = (outcome, status);
                (record.sent, record.received) = (sent, received);
                record.took_ms = Some(took_ms);
            }
        }
    }
}

fn begin_line(id: u64, record: &LeftRecord) -> Line {
    let LeftRecord { call, kind, host, port, method, purpose, pages, .. } = record.clone();
    Line::Begin { id, call, kind, host, port, method, purpose, pages }
}

fn to_json(line: &Line) -> String {
    // Serialising numbers and strings cannot fail.
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns whether a host is this machine.
fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().map_or(host == "localhost", |address| address.is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use brain_base::clock::SystemClock;

    use super::*;

    fn request(host: &str) -> OutgoingRequest<'_> {
        OutgoingRequest {
            kind: LeftKind::Request,
            call: None,
            host,
            port: 443,
            method: "POST",
            purpose: "embedding",
            pages: &[3, 4],
        }
    }

    fn answered(sent: u64) -> OutgoingEnd {
        let outcome = LeftOutcome::Answered;
        OutgoingEnd { outcome, status: Some(200), sent, received: 7 }
    }

    fn log(path: &std::path::Path) -> OutgoingFile {
        OutgoingFile::new(path.to_owned(), Arc::new(SystemClock), 5, true)
    }

    fn outcomes(log: &OutgoingFile) -> Vec<(String, LeftOutcome)> {
        let content = log.read().unwrap();
        content.requests.into_values().map(|it| (it.host, it.outcome)).collect()
    }

    #[test]
    fn a_request_is_in_the_file_before_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("left.jsonl");
        let file = log(&path);
        assert!(outcomes(&file).is_empty());
        let (first, second) = (
            file.begin(&request("a.example")).unwrap(),
            file.begin(&request("b.example")).unwrap(),
        );
        assert!(fs::read_to_string(&path).unwrap().contains("b.example"));
        file.end(first, answered(10));
        let expected = [("a.example", LeftOutcome::Answered), ("b.example", LeftOutcome::Open)];
        assert_eq!(outcomes(&file), expected.map(|(host, it)| (host.to_owned(), it)));
        // A process that died leaves requests whose end is not known.
        let restarted = log(&path);
        let expected = [("a.example", LeftOutcome::Answered), ("b.example", LeftOutcome::Unknown)];
        assert_eq!(outcomes(&restarted), expected.map(|(host, it)| (host.to_owned(), it)));
        file.end(second, OutgoingEnd::NOT_SENT);
        file.end(second, answered(1));
        assert_eq!(outcomes(&file)[1].1, LeftOutcome::NotSent, "the first end counts");
    }

    #[test]
    fn ended_requests_are_removed_and_later_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("left.jsonl");
        let file = log(&path);
        let ended = file.begin(&request("ended.example")).unwrap();
        let open = file.begin(&request("open.example")).unwrap();
        file.end(ended, answered(10));
        let content = file.read().unwrap();
        assert_eq!(content.ended().len(), 1);
        assert_eq!((content.ended()[0].1.sent, content.ended()[0].1.pages.len()), (10, 2));
        let later = file.begin(&request("later.example")).unwrap();
        file.end(open, answered(1));
        file.remove_ended(&content).unwrap();
        let expected =
            [("open.example", LeftOutcome::Answered), ("later.example", LeftOutcome::Open)];
        assert_eq!(outcomes(&file), expected.map(|(host, it)| (host.to_owned(), it)));
        file.end(later, answered(1));
        file.remove_ended(&file.read().unwrap()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_cut_line_hides_no_other_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("left.jsonl");
        let file = log(&path);
        file.begin(&request("a.example")).unwrap();
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"step\":\"begin\",\"id\":");
        fs::write(&path, text).unwrap();
        file.begin(&request("b.example")).unwrap();
        assert_eq!(outcomes(&file).len(), 2);
    }

    #[test]
    fn a_request_that_cannot_be_recorded_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("left.jsonl");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        assert!(log(&path).begin(&request("a.example")).is_err());
        let off = OutgoingFile::new(path, Arc::new(SystemClock), 5, false);
        assert!(off.begin(&request("a.example")).is_ok());
    }

    #[test]
    fn this_machine_is_recognised() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "example.org", "[2001:db8::1]"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
