//! Records requests in the log of outgoing requests.

use std::sync::{Arc, OnceLock};

use brain_base::outgoing::{NoOutgoingLog, OpenRequest, OutgoingEnd, OutgoingLog, OutgoingRequest};
use brain_protocol::{LeftKind, LeftOutcome};
use reqwest::Response;
use url::Url;

use super::error::system_message;
use super::{Error, HttpRequest, Reason};

/// The log, once it is set.
#[derive(Clone, Default)]
pub(super) struct Recorder(Arc<OnceLock<Arc<dyn OutgoingLog>>>);

impl Recorder {
    /// Sets the log. The first one stays.
    pub(super) fn set(&self, log: Arc<dyn OutgoingLog>) {
        let _ = self.0.set(log);
    }

    /// Records that the request `call` is about to be sent to `url`.
    ///
    /// # Errors
    /// [`Error::Setup`] when it cannot be recorded. The request must not be sent then.
    pub(super) fn begin(&self, call: &HttpRequest<'_>, url: &Url) -> Result<OpenExchange, Error> {
        let method = if call.body.is_some() { "POST" } else { "GET" };
        let reason: &Reason = call.reason;
        let request = OutgoingRequest {
            kind: LeftKind::Request,
            call: reason.first(),
            host: url.host_str().unwrap_or_default(),
            port: url.port_or_known_default().unwrap_or_default(),
            method,
            purpose: reason.purpose(),
            pages: reason.pages(),
        };
        let log = self.0.get().cloned().unwrap_or_else(|| Arc::new(NoOutgoingLog));
        let open = OpenRequest::begin(&log, &request).map_err(|error| {
            Error::Setup(format!("it cannot be recorded: {}", system_message(&error)))
        })?;
        reason.record(open.id());
        Ok(OpenExchange { open, body_bytes: call.body.map_or(0, <[u8]>::len) as u64 })
    }
}

/// A request that is recorded and has not ended.
pub(super) struct OpenExchange {
    open: OpenRequest,
    body_bytes: u64,
}

impl OpenExchange {
    /// Notes that the request was sent, or may have been.
    pub(super) fn note_sent(&mut self) {
        (self.open.end.outcome, self.open.end.sent) = (LeftOutcome::Failed, self.body_bytes);
    }

    /// Notes that the request failed.
    pub(super) fn note_failure(&mut self, error: &reqwest::Error) {
        if error.is_connect() || error.is_builder() {
            self.open.end = OutgoingEnd::NOT_SENT;
        }
    }

    /// Notes the head of the answer. The answer counts as failed until [`Self::finish`].
    pub(super) fn note_head(&mut self, response: &Response) {
        self.note_sent();
        self.open.end.status = Some(response.status().as_u16());
    }

    /// Notes bytes of the answer's body.
    pub(super) fn note_received(&mut self, bytes: usize) {
        self.open.end.received += bytes as u64;
    }

    /// Ends the request: as much of the answer was read as was wanted.
    pub(super) fn finish(mut self) {
        self.open.end.outcome = LeftOutcome::Answered;
    }
}
