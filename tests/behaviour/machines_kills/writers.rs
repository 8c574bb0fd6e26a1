//! Clients that write to one machine of a shared brain until the end, through all faults.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_protocol::{
    Fault, FaultCode, Origin, PageRef, Put, Reply, Request, Slug, Status, WriteStatus,
};
use brain_tests::{Client, TEST_TIMEOUT, TestHome, capture};

use crate::crash::{Rng, rare_word};
use crate::ingest_crash::read_answer;

/// A write that was sent. No other write has its text.
#[derive(Debug)]
pub(crate) struct Write {
    /// The first word of the text.
    pub(crate) word: String,
    pub(crate) text: String,
    /// What acknowledged it; `None` if nothing did.
    pub(crate) answer: Option<Answer>,
}

/// What acknowledged a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Stored,
    /// The machine keeps the text until the server answers.
    Queued,
    /// `POST /ingest` answered 202.
    Accepted,
}

/// A client. One in four posts over HTTP, one in four puts, and the others capture.
pub(crate) struct Writer {
    pub(crate) number: usize,
    rng: Rng,
    /// The longest pause between two writes, in milliseconds.
    max_pause_ms: u64,
    pub(crate) writes: Vec<Write>,
    /// When writes were answered as stored.
    pub(crate) stored_at: Vec<Instant>,
    /// Refusals by their code.
    pub(crate) refusals: std::collections::BTreeMap<String, u64>,
}

impl Writer {
    pub(crate) fn new(number: usize, rng: Rng, max_pause_ms: u64) -> Self {
        let (writes, stored_at) = (Vec::new(), Vec::new());
        Self { number, rng, max_pause_ms, writes, stored_at, refusals: Default::default() }
    }

    /// Writes to the daemon of a home, which may be killed, until the end.
    pub(crate) fn write_until(&mut self, is_over: &AtomicBool, home: &TestHome, token: &str) {
        let (mut client, mut address) = (None, None);
        while !is_over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(self.rng.below(self.max_pause_ms)));
            if self.number.is_multiple_of(4) {
                if address.is_none() {
                    address = http_address(home);
                }
                let Some(at) = address else { continue };
                if self.post(at, token).is_none() {
                    address = None;
                }
            } else {
                if client.is_none() {
                    client = home.connect();
                }
                let Some(open) = &mut client else { continue };
                if self.ask(open).is_none() {
                    client = None;
                }
            }
        }
    }

    /// Adds a write that nothing acknowledged yet.
    fn add(&mut self) -> String {
        let count = self.writes.len();
        let word = rare_word(self.number % 16, count * 4 + self.number / 16);
        let sentence = "The tide tables of the harbour were printed once more. ";
        let times = if self.rng.one_in(30) { 300 } else { self.rng.below(20) };
        let text =
            format!("{word} of writer {}.\n\n{}", self.number, sentence.repeat(times as usize));
        let text = text.trim_end().to_owned();
        self.writes.push(Write { word, text: text.clone(), answer: None });
        text
    }

    fn acknowledge(&mut self, answer: Answer) {
        if answer == Answer::Stored {
            self.stored_at.push(Instant::now());
        }
        self.writes.last_mut().unwrap().answer = Some(answer);
    }

    fn refused(&mut self, code: &str) {
        *self.refusals.entry(code.to_owned()).or_default() += 1;
    }

    /// Writes over the socket. Returns `None` if the connection ended.
    fn ask(&mut self, client: &mut Client) -> Option<()> {
        let text = self.add();
        let request = match self.number % 4 {
            1 => {
                let slug = format!("w{}/page-{}", self.number, self.writes.len());
                Request::Put(Put {
                    page: PageRef { source: None, slug: Slug::parse(slug).unwrap() },
                    content: text.into_bytes(),
                    origin: Origin::Stdin,
                    allow_empty: false,
                    expect: None,
                })
            }
            _ => capture(text),
        };
        match client.try_ask(&request)? {
            Ok(Reply::Write(reply)) if reply.status == WriteStatus::Queued => {
                self.acknowledge(Answer::Queued);
            }
            Ok(Reply::Write(reply)) => {
                assert_eq!(reply.status, WriteStatus::Created, "{reply:?}");
                self.acknowledge(Answer::Stored);
            }
            Ok(other) => panic!("{other:?}"),
            Err(fault) => {
                assert!(is_expected(&fault), "{fault:?}");
                self.refused(fault.code.as_str());
            }
        }
        Some(())
    }

    /// Posts over HTTP. Returns `None` if the daemon did not answer.
    fn post(&mut self, address: SocketAddr, token: &str) -> Option<()> {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let text = self.add();
        let request = format!(
            "POST /ingest HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let (status, body) = read_answer(&mut BufReader::new(stream))?;
        match status {
            202 => self.acknowledge(Answer::Accepted),
            500 | 503 => {
                let body: serde_json::Value = serde_json::from_str(&body).unwrap();
                let code = body["error"].as_str().unwrap();
                assert!(EXPECTED.iter().any(|known| known.as_str() == code), "{status} {body}");
                self.refused(&format!("http {status} {code}"));
            }
            _ => panic!("{status} {body}"),
        }
        Some(())
    }
}

/// Faults of a write that say the truth while parts are killed.
const EXPECTED: [FaultCode; 5] = [
    FaultCode::ServerAway,
    FaultCode::OutcomeUnknown,
    FaultCode::Stopping,
    FaultCode::Cancelled,
    FaultCode::Busy,
];

fn is_expected(fault: &Fault) -> bool {
    EXPECTED.contains(&fault.code)
}

/// Returns the address of a daemon's local listener, if the daemon runs.
fn http_address(home: &TestHome) -> Option<SocketAddr> {
    match home.connect()?.try_ask(&Request::Status(Status))? {
        Ok(Reply::Status(status)) => status.http_local?.parse().ok(),
        _ => None,
    }
}

/// Ends the writers when it is dropped.
pub(crate) struct EndOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Numbers of writes by their answers.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: usize,
    pub(crate) acknowledged: usize,
    pub(crate) stored: usize,
    pub(crate) queued: usize,
    pub(crate) accepted: usize,
    pub(crate) refusals: std::collections::BTreeMap<String, u64>,
}

impl Counts {
    pub(crate) fn of(writers: &[Writer]) -> Self {
        let mut counts = Self::default();
        for writer in writers {
            for write in &writer.writes {
                counts.sent += 1;
                counts.acknowledged += usize::from(write.answer.is_some());
                match write.answer {
                    Some(Answer::Stored) => counts.stored += 1,
                    Some(Answer::Queued) => counts.queued += 1,
                    Some(Answer::Accepted) => counts.accepted += 1,
                    None => {}
                }
            }
            for (code, count) in &writer.refusals {
                *counts.refusals.entry(code.clone()).or_default() += count;
            }
        }
        counts
    }
}
