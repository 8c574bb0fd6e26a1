//! `GET /web/events`: reports changes that happen elsewhere to an open screen, by server-sent
//! events.
//!
//! A stream reports that something changed, the version of the page that the screen shows, and the
//! progress of work. It never carries text of a page. It ends when the session or the daemon ends,
//! or when the session opens too many streams, and its last event says why. The HTTP server closes
//! a stream whose client does not read.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use brain_core::{Door, Progress};
use brain_protocol::{FaultCode, Get, PageRef};
use serde::Serialize;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::layout;
use crate::origin::is_cross_site;
use crate::page_path::parse_page_name;
use crate::session::Session;

/// The path of the stream.
pub(crate) const PATH: &str = "/web/events";
/// Maximum number of streams of one session. A further one ends the oldest. Browsers open at most
/// six connections to a host.
const MAX_STREAMS: usize = 4;
/// The shortest time between two events of changes.
const MIN_CHANGE_INTERVAL: Duration = Duration::from_millis(400);
/// How often an idle stream is checked, which also shows whether its client is still connected.
const CHECK: Duration = Duration::from_secs(15);
/// The shortest time between two reports of progress, except the last.
const MIN_PROGRESS_INTERVAL_MS: u64 = 200;
/// How long a browser waits before it connects again.
const RETRY: Duration = Duration::from_secs(2);

/// The open streams, and the work whose progress they show.
pub(crate) struct LiveStreams {
    /// Oldest first.
    open: Mutex<Vec<OpenStream>>,
    next_number: AtomicU64,
    work: watch::Sender<Option<Work>>,
}

struct OpenStream {
    number: u64,
    /// The id of the session.
    session: String,
    /// Dropped to end the stream.
    _closer: oneshot::Sender<()>,
}

/// Work in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Work {
    name: &'static str,
    done: u64,
    /// 0 while the total is unknown.
    total: u64,
}

impl LiveStreams {
    pub(crate) fn new() -> Arc<Self> {
        let work = watch::Sender::new(None);
        Arc::new(Self { open: Mutex::default(), next_number: AtomicU64::new(0), work })
    }

    /// Returns a listener that shows the progress of work on all screens until it is dropped.
    pub(crate) fn show_progress(self: &Arc<Self>, name: &'static str) -> WorkProgress {
        self.work.send_replace(Some(Work { name, done: 0, total: 0 }));
        let (began, shown_ms) = (Instant::now(), AtomicU64::new(0));
        WorkProgress { streams: Arc::clone(self), name, began, shown_ms }
    }

    fn open(&self) -> MutexGuard<'_, Vec<OpenStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a stream of a session. Ends its oldest one if it has [`MAX_STREAMS`] already.
    fn register(self: &Arc<Self>, session: &Session) -> (StreamGuard, oneshot::Receiver<()>) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let (closer, closed) = oneshot::channel();
        let session = session.id.expose().to_owned();
        let mut open = self.open();
        let mut own = open.iter().enumerate().filter(|(_, it)| it.session == session);
        let (oldest, count) = (own.next().map(|(at, _)| at), 1 + own.count());
        if let Some(oldest) = oldest
            && count >= MAX_STREAMS
        {
            open.remove(oldest);
        }
        open.push(OpenStream { number, session, _closer: closer });
        (StreamGuard { streams: Arc::clone(self), number }, closed)
    }
}

/// Removes a stream from the open ones when it is dropped.
struct StreamGuard {
    streams: Arc<LiveStreams>,
    number: u64,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.streams.open().retain(|it| it.number != self.number);
    }
}

/// Sends the progress of an operation to all streams.
pub(crate) struct WorkProgress {
    streams: Arc<LiveStreams>,
    name: &'static str,
    began: Instant,
    shown_ms: AtomicU64,
}

impl Progress for WorkProgress {
    fn at(&self, done: u64, total: u64) -> bool {
        let now = self.began.elapsed().as_millis() as u64;
        if now >= self.shown_ms.load(Ordering::Relaxed) + MIN_PROGRESS_INTERVAL_MS || done == total
        {
            self.shown_ms.store(now, Ordering::Relaxed);
            self.streams.work.send_replace(Some(Work { name: self.name, done, total }));
        }
        true
    }
}

impl Drop for WorkProgress {
    fn drop(&mut self) {
        self.streams.work.send_replace(None);
    }
}

/// `GET /web/events?page=NAME`
pub(crate) async fn events(
    State(brain): State<Door>,
    Extension(streams): Extension<Arc<LiveStreams>>,
    headers: HeaderMap,
    uri: Uri,
    session: Session,
) -> Response {
    if is_cross_site(&headers) {
        let message = "this did not come from a page of this brain";
        return layout::plain(StatusCode::FORBIDDEN, "Refused", message);
    }
    let query = uri.query().unwrap_or_default();
    let page = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "page");
    let page = page.and_then(|(_, name)| parse_page_name(&name).ok());
    let stream = LiveStream::open(&brain, &streams, session, page);
    let events = futures_util::stream::unfold(stream, |mut stream| async {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    Sse::new(events).into_response()
}

/// Why a stream ends, as the browser receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    /// The daemon stops.
    Stop,
    /// The session ended.
    SignedOut,
    /// The session opened too many streams.
    Replaced,
}

impl StreamEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::SignedOut => "signed-out",
            Self::Replaced => "replaced",
        }
    }
}

/// Why a stream stops waiting.
enum Wake {
    End(StreamEnd),
    Change,
    Progress,
    Check,
}

struct LiveStream {
    brain: Door,
    session: Session,
    /// The page that the screen shows.
    page: Option<PageRef>,
    changes: watch::Receiver<u64>,
    sessions: watch::Receiver<()>,
    work: watch::Receiver<Option<Work>>,
    closed: oneshot::Receiver<()>,
    /// When the next change can be sent.
    next_change: Instant,
    has_begun: bool,
    has_ended: bool,
    _registration: StreamGuard,
}

/// The first event. Both values can differ from those in the screen.
#[derive(Serialize)]
struct HelloEvent<'a> {
    /// The session's CSRF token.
    csrf: &'a str,
    /// The number of changes so far.
    seen: u64,
}

/// The event of a change.
#[derive(Serialize)]
struct ChangeEvent {
    /// The number of changes so far.
    seen: u64,
    /// The version of the screen's page; 0 if the page does not exist now. `None` if the screen
    /// shows no page, or the page cannot be read.
    version: Option<u32>,
}

impl LiveStream {
    fn open(
        brain: &Door,
        streams: &Arc<LiveStreams>,
        session: Session,
        page: Option<PageRef>,
    ) -> Self {
        let (registration, closed) = streams.register(&session);
        let mut changes = brain.changes().subscribe();
        // The page may have changed since the screen was rendered.
        changes.mark_changed();
        let mut work = streams.work.subscribe();
        if work.borrow().is_some() {
            work.mark_changed();
        }
        Self {
            brain: brain.clone(),
            session,
            page,
            changes,
            sessions: brain.access().browser_sessions_ended(),
            work,
            closed,
            next_change: Instant::now(),
            has_begun: false,
            has_ended: false,
            _registration: registration,
        }
    }

    /// Returns the next event; `None` at the end.
    async fn next(&mut self) -> Option<Event> {
        if self.has_ended {
            return None;
        }
        if !self.has_begun {
            self.has_begun = true;
            let csrf = self.session.csrf_token.expose();
            let hello = HelloEvent { csrf, seen: self.brain.changes().current() };
            return Some(json("hello", &hello).retry(RETRY));
        }
        let event = match self.wait().await {
            Wake::End(end) => {
                self.has_ended = true;
                Event::default().event("end").data(end.as_str())
            }
            Wake::Change => {
                self.next_change = Instant::now() + MIN_CHANGE_INTERVAL;
                self.change().await
            }
            Wake::Progress => json("work", &*self.work.borrow_and_update()),
            Wake::Check => Event::default().comment(""),
        };
        Some(event)
    }

    /// Waits for the next event.
    async fn wait(&mut self) -> Wake {
        let check = Instant::now() + CHECK;
        loop {
            let Self { changes, sessions, work, closed, next_change, .. } = self;
            tokio::select! {
                biased;
                () = self.brain.stopping().cancelled() => return Wake::End(StreamEnd::Stop),
                _ = closed => return Wake::End(StreamEnd::Replaced),
                _ = sessions.changed() => if !self.has_session() {
                    return Wake::End(StreamEnd::SignedOut);
                },
                _ = async {
                    tokio::time::sleep_until(*next_change).await;
                    changes.changed().await
                } => return Wake::Change,
                _ = work.changed() => return Wake::Progress,
                () = tokio::time::sleep_until(check) => return match self.has_session() {
                    true => Wake::Check,
                    false => Wake::End(StreamEnd::SignedOut),
                },
            }
        }
    }

    fn has_session(&self) -> bool {
        self.brain.access().browser_session(self.session.id.expose()).is_some()
    }

    /// Returns the event of a change, with the version of the screen's page.
    async fn change(&mut self) -> Event {
        let seen = *self.changes.borrow_and_update();
        let version = match self.page.clone() {
            Some(page) => match self.session.run(&self.brain, Get { page, version: None }).await {
                Ok(page) => Some(page.version),
                Err(fault) if fault.code == FaultCode::NotFound => Some(0),
                // The next change reads the page again.
                Err(_) => None,
            },
            None => None,
        };
        json("change", &ChangeEvent { seen, version })
    }
}

fn json(name: &str, data: &impl Serialize) -> Event {
    let event = Event::default().event(name);
    // Numbers, strings and `None` can always be serialized.
    event.json_data(data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use brain_base::caller::Caller;
    use brain_protocol::Secret;

    use super::*;

    fn session(id: &str) -> Session {
        Session {
            caller: Caller::browser(),
            csrf_token: Secret::new("c"),
            id: Secret::new(id),
            change_count: 0,
        }
    }

    #[test]
    fn one_stream_too_many_ends_the_oldest_of_its_session() {
        let streams = LiveStreams::new();
        let other = streams.register(&session("b"));
        let mut all: Vec<_> = (0..=MAX_STREAMS).map(|_| streams.register(&session("a"))).collect();
        let is_closed = |stream: &mut oneshot::Receiver<()>| {
            stream.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
        };
        let closed: Vec<bool> = all.iter_mut().map(|(_, stream)| is_closed(stream)).collect();
        assert_eq!(closed, [true, false, false, false, false]);
        drop(all);
        assert_eq!(streams.open().len(), 1);
        drop(other);
        assert!(streams.open().is_empty());
    }

    #[test]
    fn progress_ends_with_the_work() {
        let streams = LiveStreams::new();
        let progress = streams.show_progress("Test");
        assert!(progress.at(3, 3));
        assert_eq!(*streams.work.borrow(), Some(Work { name: "Test", done: 3, total: 3 }));
        drop(progress);
        assert_eq!(*streams.work.borrow(), None);
    }
}
