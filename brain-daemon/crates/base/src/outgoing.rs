//! The log of outgoing requests: each is recorded before its first byte leaves the machine.
//!
//! The crates that send use this trait, and know neither the file nor the store behind it.

use std::io;
use std::sync::Arc;

use brain_protocol::{LeftKind, LeftOutcome};

/// Records requests that leave the machine.
pub trait OutgoingLog: Send + Sync {
    /// Records that a request is about to be sent, and returns its id. The record is on the disk
    /// when this returns.
    ///
    /// # Errors
    /// When it cannot be written. The request must not be sent then.
    fn begin(&self, request: &OutgoingRequest<'_>) -> io::Result<u64>;

    /// Records how a request ended. A failure to write is logged only.
    fn end(&self, id: u64, end: OutgoingEnd);
}

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingRequest<'a> {
    /// What is recorded.
    pub kind: LeftKind,
    /// The id of the first request of the same call; `None` for the first one.
    pub call: Option<u64>,
    /// The host, or the name of a program.
    pub host: &'a str,
    /// The port; 0 for a program.
    pub port: u16,
    /// The HTTP method, or an empty text.
    pub method: &'a str,
    /// Why it is sent: a short name such as `embedding`.
    pub purpose: &'a str,
    /// The ids of the pages whose text is in it.
    pub pages: &'a [u64],
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingEnd {
    /// How it ended.
    pub outcome: LeftOutcome,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Bytes sent: of the request's body, or of a whole connection.
    pub sent: u64,
    /// Bytes received: of the answer's body, or of a whole connection.
    pub received: u64,
}

impl OutgoingEnd {
    /// The end of a request that was not sent.
    pub const NOT_SENT: Self =
        Self { outcome: LeftOutcome::NotSent, status: None, sent: 0, received: 0 };
}

/// A log that records nothing: requests are not recorded, by configuration or in tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOutgoingLog;

impl OutgoingLog for NoOutgoingLog {
    fn begin(&self, _: &OutgoingRequest<'_>) -> io::Result<u64> {
        Ok(0)
    }

    fn end(&self, _: u64, _: OutgoingEnd) {}
}

/// A recorded request that has not ended. Dropping it records `end`.
pub struct OpenRequest {
    log: Arc<dyn OutgoingLog>,
    id: u64,
    /// How the request ends if it is dropped now.
    pub end: OutgoingEnd,
}

impl OpenRequest {
    /// Records that a request is about to be sent.
    ///
    /// # Errors
    /// As [`OutgoingLog::begin`].
    pub fn begin(log: &Arc<dyn OutgoingLog>, request: &OutgoingRequest<'_>) -> io::Result<Self> {
        let id = log.begin(request)?;
        Ok(Self { log: Arc::clone(log), id, end: OutgoingEnd::NOT_SENT })
    }

    /// Records that a program starts, which may send by itself. `program` is its path or name. If
    /// it cannot be recorded, the program runs all the same, and the log of this process says so.
    #[must_use]
    pub fn of_program(log: &Arc<dyn OutgoingLog>, program: &str, purpose: &str) -> Option<Self> {
        let name = program.rsplit('/').next().unwrap_or(program);
        let request = OutgoingRequest {
            kind: LeftKind::Program,
            call: None,
            host: name,
            port: 0,
            method: "",
            purpose,
            pages: &[],
        };
        match Self::begin(log, &request) {
            Ok(mut open) => {
                open.end.outcome = LeftOutcome::Ended;
                Some(open)
            }
            Err(error) => {
                tracing::warn!(program = name, %error, "the start of a program is not recorded");
                None
            }
        }
    }

    /// Returns the id of the request.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.log.end(self.id, self.end);
    }
}
