//! How one connection is: what it waits for and since when. The supervisor of the connection reads it, the socket and the
//! request's body write it. Knows no socket and no router.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::head::{begins, names};

/// A body that is on its way for so long gives way to newcomers when there is no room.
const GIVES_WAY: Duration = Duration::from_secs(2);

/// How long a connection may take for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// For the head of a request, from its first byte (of the first request: from the connection's beginning) to its end.
    pub(crate) head: Duration,
    /// For the next bytes of a body, and for a client to take the next bytes of an answer.
    pub(crate) step: Duration,
    /// For a whole body of a size that is usual for a form.
    pub(crate) small: Duration,
    /// For a whole body of any other size.
    pub(crate) body: Duration,
    /// Between two requests.
    pub(crate) idle: Duration,
    /// After an answer that did not wait for the rest of its request: until the client has read it.
    pub(crate) linger: Duration,
    /// For requests that are under way when the daemon ends.
    pub(crate) drain: Duration,
}

impl Times {
    /// With this patience for clients that send nothing, and `idle` between two requests.
    pub(crate) fn new(patience: Duration, idle: Duration) -> Self {
        let linger = Duration::from_secs(2).min(patience);
        let drain = Duration::from_millis(2800);
        Self {
            head: patience,
            step: patience,
            small: patience,
            body: patience * 6,
            idle,
            linger,
            drain,
        }
    }
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing of the next request has come.
    Idle,
    /// A request's head is on its way.
    Head,
    /// A request's body is on its way, and is waited for.
    Body,
    /// A request is being answered.
    Busy,
    /// The last answer was sent.
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

/// What the supervisor is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Look again after this time.
    Wait(Duration),
    /// Its time is over.
    End,
}

/// What a connection is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To go, now.
    ToGo,
    /// To answer what is under way, and then to go.
    ToEnd,
}

/// How one connection is.
pub(crate) struct Pulse {
    began: Instant,
    phase: AtomicU8,
    /// Since when it is in its phase, in milliseconds from its beginning.
    since: AtomicU64,
    /// Since when the client takes nothing of an answer; 0: it does.
    stuck: AtomicU64,
    /// The request's body was not read to its end.
    unread: AtomicBool,
    /// The request's body did not come in time.
    late: AtomicBool,
    /// Bytes of the request's body that came.
    received: AtomicU64,
    /// It was asked to make room.
    leaving: AtomicBool,
    /// It was told that the daemon ends.
    ending: AtomicBool,
    go: Notify,
    /// The beginning of the request as it came, to the limit of a head.
    head: Mutex<Vec<u8>>,
    /// The client, as a hash: its address, or its name once a token has shown it.
    client: AtomicU64,
    /// A token has shown who the client is.
    known: AtomicBool,
    /// Bytes that the request's body takes of the budget for bodies.
    weight: AtomicU64,
    /// The request's body was refused to make room for others.
    evicted: AtomicBool,
    /// Wakes the reader of the request's body.
    reader: Mutex<Option<Waker>>,
}

impl Pulse {
    /// A connection that was just made by the client with this hash.
    pub(crate) fn new(client: u64) -> Self {
        Self {
            began: Instant::now(),
            phase: AtomicU8::new(Phase::Head as u8),
            since: AtomicU64::new(0),
            stuck: AtomicU64::new(0),
            unread: AtomicBool::new(false),
            late: AtomicBool::new(false),
            received: AtomicU64::new(0),
            leaving: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            go: Notify::new(),
            head: Mutex::default(),
            client: AtomicU64::new(client),
            known: AtomicBool::new(false),
            weight: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            reader: Mutex::default(),
        }
    }

    /// The client's hash.
    pub(crate) fn client(&self) -> u64 {
        self.client.load(Ordering::Relaxed)
    }

    /// Sets the address's hash for the request that has just begun.
    pub(crate) fn set_address(&self, client: u64) {
        self.client.store(client, Ordering::Relaxed);
    }

    /// Sets the hash of the client that a token has shown.
    pub(crate) fn set_known(&self, client: u64) {
        self.client.store(client, Ordering::Relaxed);
        self.known.store(true, Ordering::Relaxed);
    }

    /// Whether a token has shown who the client is.
    pub(crate) fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }

    /// Bytes that the request's body takes of the budget for bodies.
    pub(crate) fn weight(&self) -> &AtomicU64 {
        &self.weight
    }

    /// Refuses the request's body to make room for others.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Whether the request's body was refused to make room for others.
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }

    /// Ready once the request's body is refused to make room for others.
    pub(crate) fn poll_evicted(&self, cx: &Context<'_>) -> Poll<()> {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        // Asked for after the waker is there: an eviction in between is not missed.
        if self.is_evicted() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// What it is doing.
    pub(crate) fn phase(&self) -> Phase {
        Phase::from(self.phase.load(Ordering::Acquire))
    }

    fn enter(&self, phase: Phase) {
        self.since.store(self.now(), Ordering::Release);
        self.phase.store(phase as u8, Ordering::Release);
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Bytes came from the client.
    pub(crate) fn read(&self, bytes: &[u8], most: usize) {
        match self.phase() {
            Phase::Idle => self.enter(Phase::Head),
            Phase::Head => {}
            Phase::Body | Phase::Busy | Phase::Closing => return,
        }
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let room = most.saturating_sub(head.len()).min(bytes.len());
        head.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }

    /// The head of a request of this method is there. Gives whether a line of it, as it came, names the field `name` (lower
    /// case); `None` when nobody saw how it came: it was sent before the request before it was answered.
    pub(crate) fn begin(&self, method: &str, name: &[u8]) -> Option<bool> {
        self.enter(Phase::Busy);
        let left = self.unread.swap(false, Ordering::Relaxed);
        self.late.store(false, Ordering::Relaxed);
        self.received.store(0, Ordering::Relaxed);
        self.known.store(false, Ordering::Relaxed);
        self.evicted.store(false, Ordering::Relaxed);
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        // What was left of the last body stands before this head.
        let named = (!left && begins(&head, method)).then(|| names(&head, name));
        head.clear();
        named
    }

    /// The request's body has to be waited for.
    pub(crate) fn wait_for_body(&self) {
        if self.phase() == Phase::Busy {
            self.enter(Phase::Body);
        }
    }

    /// Nobody waits for the request's body any more.
    pub(crate) fn end_body(&self) {
        if self.phase() == Phase::Body {
            self.enter(Phase::Busy);
        }
    }

    /// Since when the request's body is on its way, if that is long enough to give way to others, and it was not asked to.
    pub(crate) fn drags_since(&self) -> Option<Instant> {
        let drags = self.gives_way()
            && self.phase() == Phase::Body
            && !self.leaving.load(Ordering::Acquire);
        drags.then(|| self.in_phase_since())
    }

    /// When its phase began.
    pub(crate) fn in_phase_since(&self) -> Instant {
        self.began + Duration::from_millis(self.since.load(Ordering::Acquire))
    }

    /// Whether it was asked to make room.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// Whether it has nothing under way that may stay.
    fn gives_way(&self) -> bool {
        match self.phase() {
            Phase::Idle | Phase::Head | Phase::Closing => true,
            Phase::Body => {
                let since = self.since.load(Ordering::Acquire);
                u128::from(self.now().saturating_sub(since)) >= GIVES_WAY.as_millis()
            }
            Phase::Busy => false,
        }
    }

    /// The answer was written.
    pub(crate) fn answered(&self) {
        self.enter(Phase::Idle);
    }

    /// The last answer was sent; whether the client may still be sending what nobody reads.
    pub(crate) fn close(&self) -> bool {
        let unread = self.phase() == Phase::Head || self.unread.load(Ordering::Relaxed);
        self.enter(Phase::Closing);
        unread
    }

    /// Whether the client takes what it is sent.
    pub(crate) fn writes(&self, goes_on: bool) {
        if goes_on {
            if self.stuck.load(Ordering::Relaxed) != 0 {
                self.stuck.store(0, Ordering::Relaxed);
            }
        } else if self.stuck.load(Ordering::Relaxed) == 0 {
            self.stuck.store(self.now().max(1), Ordering::Relaxed);
        }
    }

    /// The request's body is left before its end.
    pub(crate) fn leave_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// The rest of the request's body is read after all.
    pub(crate) fn read_on(&self) {
        self.unread.store(false, Ordering::Relaxed);
    }

    /// Whether the request's body was left before its end.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// The request's body did not come in time.
    pub(crate) fn be_late(&self) {
        self.late.store(true, Ordering::Relaxed);
    }

    /// Whether the request's body did not come in time.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    /// Bytes of the request's body came.
    pub(crate) fn receive(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// How many bytes of the request's body came.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Asks the connection to make room, if nothing that it has under way may stay, and it was not asked before.
    pub(crate) fn ask_to_go(&self) -> bool {
        if !self.gives_way() || self.leaving.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.go.notify_one();
        true
    }

    /// Tells the connection that the daemon ends.
    pub(crate) fn ask_to_end(&self) {
        self.ending.store(true, Ordering::Release);
        self.go.notify_one();
    }

    /// Comes back when the connection is asked something. A request may have come in while it was to make room: then it
    /// stays.
    pub(crate) async fn asked(&self) -> Asked {
        loop {
            self.go.notified().await;
            let phase = self.phase();
            if phase == Phase::Idle {
                return Asked::ToGo;
            }
            if self.ending.load(Ordering::Acquire) {
                return Asked::ToEnd;
            }
            if self.gives_way() {
                return Asked::ToGo;
            }
            self.leaving.store(false, Ordering::Release);
        }
    }

    /// What is to be done with it.
    pub(crate) fn verdict(&self, times: &Times) -> Verdict {
        let now = self.now();
        let left = |since: u64, limit: Duration| {
            let limit = limit.as_millis() as u64;
            limit.saturating_sub(now.saturating_sub(since))
        };
        // It may come into a shorter phase right after this look.
        let soon = (times.head.min(times.step).as_millis() as u64 / 2).max(1);
        let since = self.since.load(Ordering::Acquire);
        let mut left_ms = match self.phase() {
            Phase::Idle => {
                left(since, times.idle).min(if left(since, times.idle) == 0 { 0 } else { soon })
            }
            Phase::Head => left(since, times.head),
            // A body has its own times.
            Phase::Body | Phase::Busy => soon,
            Phase::Closing => left(since, times.linger),
        };
        let stuck = self.stuck.load(Ordering::Relaxed);
        if stuck != 0 {
            left_ms = left_ms.min(left(stuck, times.step));
        }
        if left_ms == 0 { Verdict::End } else { Verdict::Wait(Duration::from_millis(left_ms)) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn times() -> Times {
        Times::new(Duration::from_millis(40), Duration::from_millis(400))
    }

    #[test]
    fn a_head_has_less_time_than_a_pause_and_work_has_all_it_needs() {
        let pulse = Pulse::new(0);
        assert!(matches!(pulse.verdict(&times()), Verdict::Wait(wait) if wait <= times().head));
        pulse.begin("GET", b"x");
        std::thread::sleep(Duration::from_millis(60));
        assert!(matches!(pulse.verdict(&times()), Verdict::Wait(_)), "work takes its time");
        pulse.answered();
        std::thread::sleep(Duration::from_millis(60));
        assert!(
            matches!(pulse.verdict(&times()), Verdict::Wait(_)),
            "a pause may be longer than a head"
        );
        pulse.read(b"GET", 100);
        assert_eq!(pulse.phase(), Phase::Head);
        std::thread::sleep(Duration::from_millis(60));
        pulse.read(b" /", 100);
        assert_eq!(pulse.verdict(&times()), Verdict::End, "more bytes are no more time");
    }

    #[test]
    fn a_client_that_takes_nothing_is_given_up() {
        let pulse = Pulse::new(0);
        pulse.begin("GET", b"x");
        pulse.writes(false);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(pulse.verdict(&times()), Verdict::End);
        pulse.writes(true);
        assert!(matches!(pulse.verdict(&times()), Verdict::Wait(_)));
    }

    #[tokio::test]
    async fn only_who_has_nothing_under_way_makes_room() {
        let pulse = Pulse::new(0);
        pulse.begin("GET", b"x");
        assert!(!pulse.ask_to_go());
        pulse.answered();
        assert!(pulse.ask_to_go());
        assert!(!pulse.ask_to_go(), "once is enough");
        assert_eq!(pulse.asked().await, Asked::ToGo);
        pulse.begin("GET", b"x");
        pulse.ask_to_end();
        assert_eq!(pulse.asked().await, Asked::ToEnd);
    }

    /// A connection whose request's body is on its way for so long.
    pub(crate) fn dragging(age: Duration) -> Pulse {
        Pulse {
            began: Instant::now() - age,
            phase: AtomicU8::new(Phase::Body as u8),
            ..Pulse::new(0)
        }
    }

    #[tokio::test]
    async fn a_body_that_drags_on_gives_way_and_its_answer_does_not() {
        let pulse = dragging(GIVES_WAY / 2);
        assert!(!pulse.ask_to_go() && pulse.drags_since().is_none(), "it has only begun");
        let pulse = dragging(GIVES_WAY);
        assert!(pulse.drags_since().is_some() && pulse.ask_to_go());
        assert!(pulse.drags_since().is_none(), "once is enough");
        pulse.end_body();
        assert!(!pulse.ask_to_go());
        let asked = tokio::time::timeout(Duration::from_millis(20), pulse.asked()).await;
        assert!(asked.is_err(), "it has come after all");
        let pulse = dragging(GIVES_WAY);
        assert!(pulse.ask_to_go());
        assert_eq!(pulse.asked().await, Asked::ToGo);
        pulse.answered();
        pulse.end_body();
        assert_eq!(pulse.phase(), Phase::Idle, "an answer may come before the end of the body");
    }

    #[test]
    fn a_head_that_came_before_its_time_was_not_seen() {
        let pulse = Pulse::new(0);
        let head = b"\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
        pulse.read(head, 1000);
        assert_eq!(pulse.begin("POST", b"content-length"), Some(true));
        pulse.read(head, 1000);
        pulse.answered();
        assert_eq!(pulse.begin("POST", b"content-length"), None, "all of it came too early");
        pulse.read(&head[..30], 1000);
        pulse.answered();
        pulse.read(&head[30..], 1000);
        assert_eq!(pulse.begin("POST", b"content-length"), None, "half of it");
        pulse.leave_unread();
        pulse.answered();
        pulse.read(head, 1000);
        assert_eq!(pulse.begin("POST", b"content-length"), None, "it may be a body");
        pulse.answered();
        pulse.read(head, 1000);
        assert_eq!(pulse.begin("POST", b"x"), Some(false));
    }
}
