//! The state of one connection: its phase, its deadlines, and whether it was asked to close.
//!
//! The connection's supervisor and the limiter read the state; the socket and the request's body
//! change it. Knows no socket and no router.
//!
//! hyper has one timeout for heads and idle connections, and no layer of tower-http limits how
//! slowly a client sends or reads. The tests in `http_slow` need this module. They send heads and
//! bodies slowly, pause in a short body, keep a connection idle, and read no answer.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::head::{begins_request, has_field};

/// After this time an unfinished body counts as slow, and its connection can be evicted.
const SLOW_BODY: Duration = Duration::from_secs(2);

/// The timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpTimeouts {
    /// From the first byte of a request's head to its end. For the first request, from the
    /// beginning of the connection.
    pub(crate) head: Duration,
    /// Maximum time between two reads of a body, or two writes of a response.
    pub(crate) step: Duration,
    /// Time limit of a whole body of up to [`super::body_budget::SMALL_BODY`] bytes.
    pub(crate) small: Duration,
    /// Time limit of a whole body of any other size.
    pub(crate) body: Duration,
    /// Maximum time between two requests.
    pub(crate) idle: Duration,
    /// From the last response until the client has read it, when part of its request is unread.
    pub(crate) linger: Duration,
    /// For requests in progress when the daemon stops.
    pub(crate) drain: Duration,
}

impl HttpTimeouts {
    /// Creates timeouts from `http.timeout` (`timeout`) and `http.idle_timeout` (`idle`).
    pub(crate) fn new(timeout: Duration, idle: Duration) -> Self {
        let linger = Duration::from_secs(2).min(timeout);
        let drain = Duration::from_millis(2800);
        Self {
            head: timeout,
            step: timeout,
            small: timeout,
            body: timeout * 6,
            idle,
            linger,
            drain,
        }
    }
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No byte of the next request has arrived.
    Idle,
    /// The head of a request is arriving.
    Head,
    /// A handler waits for the request's body.
    Body,
    /// A request is being answered.
    Busy,
    /// The last response was sent.
    Closing,
}

impl Phase {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Idle,
            1 => Self::Head,
            2 => Self::Body,
            3 => Self::Busy,
            _ => Self::Closing,
        }
    }
}

/// Whether a timeout of the connection has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// Not yet; check again after this time.
    Pending(Duration),
    /// The connection must be closed.
    Expired,
}

/// How a connection was asked to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseRequest {
    /// At once: to admit another connection, or because the daemon stops during no request.
    Immediately,
    /// After the response in progress, or after the next one if the client may be sending a
    /// request: the daemon stops.
    AfterResponse,
}

/// A client that was answered within this time may be sending its next request.
const RECENT_USE: Duration = Duration::from_secs(1);

pub(crate) struct ConnectionState {
    began: Instant,
    phase: AtomicU8,
    /// When its phase began, in milliseconds after `began`.
    phase_began: AtomicU64,
    /// When the client stopped reading the response, in milliseconds after `began`; 0 if it reads.
    write_blocked: AtomicU64,
    /// Whether part of the request's body is unread.
    unread: AtomicBool,
    /// Whether the request's body timed out.
    timed_out: AtomicBool,
    /// Bytes of the request's body that arrived.
    body_bytes: AtomicU64,
    /// Whether it was asked to close, so that another connection can be admitted.
    close_requested: AtomicBool,
    /// Whether it was told that the daemon stops.
    shutting_down: AtomicBool,
    close: Notify,
    /// The raw beginning of the request, up to the size limit of a head.
    head: Mutex<Vec<u8>>,
    /// A hash of the client's address, or of its name once it is authenticated.
    client: AtomicU64,
    /// Whether the client is authenticated.
    authenticated: AtomicBool,
    /// Bytes of the body budget that the request's body uses.
    weight: AtomicU64,
    /// Whether the request's body was evicted to free budget.
    evicted: AtomicBool,
    /// Wakes the reader of the request's body.
    reader: Mutex<Option<Waker>>,
}

impl ConnectionState {
    /// Creates the state of a new connection; `client` is the hash of its address.
    pub(crate) fn new(client: u64) -> Self {
        Self {
            began: Instant::now(),
            phase: AtomicU8::new(Phase::Head as u8),
            phase_began: AtomicU64::new(0),
            write_blocked: AtomicU64::new(0),
            unread: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            body_bytes: AtomicU64::new(0),
            close_requested: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
            close: Notify::new(),
            head: Mutex::default(),
            client: AtomicU64::new(client),
            authenticated: AtomicBool::new(false),
            weight: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            reader: Mutex::default(),
        }
    }

    /// Returns the client's hash.
    pub(crate) fn client(&self) -> u64 {
        self.client.load(Ordering::Relaxed)
    }

    /// Sets the hash of the client's address for the current request.
    pub(crate) fn set_address(&self, client: u64) {
        self.client.store(client, Ordering::Relaxed);
    }

    /// Sets the hash of the authenticated client.
    pub(crate) fn set_authenticated(&self, client: u64) {
        self.client.store(client, Ordering::Relaxed);
        self.authenticated.store(true, Ordering::Relaxed);
    }

    /// Returns whether the client is authenticated.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the body budget that the request's body uses.
    pub(crate) fn body_charge(&self) -> &AtomicU64 {
        &self.weight
    }

    /// Evicts the request's body to free budget.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        let reader = self.reader.lock().take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Returns whether the request's body was evicted.
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }

    /// Polls for the eviction of the request's body.
    pub(crate) fn poll_evicted(&self, cx: &Context<'_>) -> Poll<()> {
        *self.reader.lock() = Some(cx.waker().clone());
        // Read after the waker is stored, so an eviction in between is not missed.
        if self.is_evicted() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns the current phase.
    pub(crate) fn phase(&self) -> Phase {
        Phase::from(self.phase.load(Ordering::Acquire))
    }

    /// Begins a phase.
    fn enter(&self, phase: Phase) {
        self.phase_began.store(self.now(), Ordering::Release);
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Returns the milliseconds since `began`.
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Records bytes from the client. Stores up to `max_head` bytes of a head.
    pub(crate) fn record_read(&self, bytes: &[u8], max_head: usize) {
        match self.phase() {
            Phase::Idle => self.enter(Phase::Head),
            Phase::Head => {}
            Phase::Body | Phase::Busy | Phase::Closing => return,
        }
        let mut head = self.head.lock();
        let count = max_head.saturating_sub(head.len()).min(bytes.len());
        head.extend_from_slice(bytes.get(..count).unwrap_or_default());
    }

    /// Begins a request of `method`. Returns whether its raw head has a line for the field `name`
    /// (lower case).
    ///
    /// Returns `None` if the head is unknown, because the client sent it before the response to the
    /// previous request.
    pub(crate) fn begin_request(&self, method: &str, name: &[u8]) -> Option<bool> {
        self.enter(Phase::Busy);
        let unread = self.unread.swap(false, Ordering::Relaxed);
        self.timed_out.store(false, Ordering::Relaxed);
        self.body_bytes.store(0, Ordering::Relaxed);
        self.authenticated.store(false, Ordering::Relaxed);
        self.evicted.store(false, Ordering::Relaxed);
        let mut head = self.head.lock();
        // The unread part of the last body precedes this head.
        let has_name = (!unread && begins_request(&head, method)).then(|| has_field(&head, name));
        head.clear();
        has_name
    }

    /// Records that a handler waits for the request's body.
    pub(crate) fn wait_for_body(&self) {
        if self.phase() == Phase::Busy {
            self.enter(Phase::Body);
        }
    }

    /// Records that no handler waits for the request's body any more.
    pub(crate) fn end_body(&self) {
        if self.phase() == Phase::Body {
            self.enter(Phase::Busy);
        }
    }

    /// Returns when a slow body began. `None` if there is none, or the connection was already
    /// asked to close.
    pub(crate) fn slow_body_since(&self) -> Option<Instant> {
        let is_slow =
            self.is_evictable() && self.phase() == Phase::Body && !self.is_close_requested();
        is_slow.then(|| self.in_phase_since())
    }

    /// Returns when the current phase began.
    pub(crate) fn in_phase_since(&self) -> Instant {
        self.began + Duration::from_millis(self.phase_began.load(Ordering::Acquire))
    }

    /// Returns whether the connection was asked to close, so that another can be admitted.
    pub(crate) fn is_close_requested(&self) -> bool {
        self.close_requested.load(Ordering::Acquire)
    }

    /// Returns whether the connection serves no request, or waits for a slow body.
    fn is_evictable(&self) -> bool {
        match self.phase() {
            Phase::Idle | Phase::Head | Phase::Closing => true,
            Phase::Body => {
                let since = self.phase_began.load(Ordering::Acquire);
                u128::from(self.now().saturating_sub(since)) >= SLOW_BODY.as_millis()
            }
            Phase::Busy => false,
        }
    }

    /// Records that the response was written.
    pub(crate) fn finish_request(&self) {
        self.enter(Phase::Idle);
    }

    /// Records that the last response was sent. Returns whether the client may still be sending
    /// bytes that are not read.
    pub(crate) fn finish_connection(&self) -> bool {
        let unread = self.phase() == Phase::Head || self.unread.load(Ordering::Relaxed);
        self.enter(Phase::Closing);
        unread
    }

    /// Records whether the socket accepted bytes of the response.
    pub(crate) fn record_write(&self, has_progress: bool) {
        if has_progress {
            if self.write_blocked.load(Ordering::Relaxed) != 0 {
                self.write_blocked.store(0, Ordering::Relaxed);
            }
        } else if self.write_blocked.load(Ordering::Relaxed) == 0 {
            self.write_blocked.store(self.now().max(1), Ordering::Relaxed);
        }
    }

    /// Records that part of the request's body is unread.
    pub(crate) fn mark_unread_body(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// Records that the unread part of the request's body is being read.
    pub(crate) fn unmark_unread_body(&self) {
        self.unread.store(false, Ordering::Relaxed);
    }

    /// Returns whether part of the request's body is unread.
    pub(crate) fn has_unread_body(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Records that the request's body timed out.
    pub(crate) fn mark_timed_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    /// Returns whether the request's body timed out.
    pub(crate) fn is_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Records that bytes of the request's body arrived.
    pub(crate) fn record_body_bytes(&self, bytes: usize) {
        self.body_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns how many bytes of the request's body arrived.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes.load(Ordering::Relaxed)
    }

    /// Asks the connection to close, so that another can be admitted. Returns `false` if it serves
    /// a request or was asked before.
    pub(crate) fn request_close(&self) -> bool {
        if !self.is_evictable() || self.close_requested.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.close.notify_one();
        true
    }

    /// Tells the connection that the daemon stops.
    pub(crate) fn request_shutdown(&self) {
        self.shutting_down.store(true, Ordering::Release);
        self.close.notify_one();
    }

    /// Returns whether the daemon stops.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::Acquire)
    }

    /// Waits until the connection has to close. A connection that got a request since
    /// [`ConnectionState::request_close`] stays open.
    pub(crate) async fn wait_for_close_request(&self) -> CloseRequest {
        loop {
            self.close.notified().await;
            let phase = self.phase();
            if phase == Phase::Idle {
                let is_in_use = self.in_phase_since().elapsed() < RECENT_USE;
                return match is_in_use && self.is_shutting_down() {
                    true => CloseRequest::AfterResponse,
                    false => CloseRequest::Immediately,
                };
            }
            if self.is_shutting_down() {
                return CloseRequest::AfterResponse;
            }
            if self.is_evictable() {
                return CloseRequest::Immediately;
            }
            self.close_requested.store(false, Ordering::Release);
        }
    }

    /// Checks the timeouts of the current phase.
    pub(crate) fn check_deadline(&self, timeouts: &HttpTimeouts) -> Deadline {
        let now = self.now();
        let left = |since: u64, limit: Duration| {
            let limit = limit.as_millis() as u64;
            limit.saturating_sub(now.saturating_sub(since))
        };
        // The next phase may have a shorter timeout, so the check is repeated soon.
        let recheck_ms = (timeouts.head.min(timeouts.step).as_millis() as u64 / 2).max(1);
        let since = self.phase_began.load(Ordering::Acquire);
        let mut left_ms = match self.phase() {
            Phase::Idle => {
                let idle_ms = left(since, timeouts.idle);
                idle_ms.min(if idle_ms == 0 { 0 } else { recheck_ms })
            }
            Phase::Head => left(since, timeouts.head),
            // The body checks its own timeouts.
            Phase::Body | Phase::Busy => recheck_ms,
            Phase::Closing => left(since, timeouts.linger),
        };
        let write_blocked = self.write_blocked.load(Ordering::Relaxed);
        if write_blocked != 0 {
            left_ms = left_ms.min(left(write_blocked, timeouts.step));
        }
        if left_ms == 0 {
            Deadline::Expired
        } else {
            Deadline::Pending(Duration::from_millis(left_ms))
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
