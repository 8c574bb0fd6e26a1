//! Sends the progress and text of long work to a browser as server-sent events, and stops the work
//! if the browser disconnects.
//!
//! The events are `status` (HTML about the work), `progress` (`[done, total]`), `text` (a piece of
//! an answer) and `done` (the HTML of the result). The data of each is JSON on one line.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use brain_core::{Door, Progress};
use brain_protocol::{Fault, Operation};
use futures_util::Stream;
use maud::Markup;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::session::{Session, block};

/// Maximum number of events that wait for the browser. Beyond it, `progress` events are dropped,
/// and others block the work.
const MAX_WAITING: usize = 64;
/// Interval of comments on an idle stream, which show whether the browser is still connected.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Sends the events of long work to a browser.
pub(crate) struct EventSender(mpsc::Sender<Event>);

impl EventSender {
    /// Sends HTML about the work. Blocks while the browser does not read.
    pub(crate) fn status(&self, part: &Markup) {
        self.send("status", &part.0);
    }

    fn send(&self, name: &str, data: &impl Serialize) {
        // A string or a pair of numbers is always valid JSON, and a closed channel is noticed by
        // `at`.
        if let Ok(event) = Event::default().event(name).json_data(data) {
            let _ = self.0.blocking_send(event);
        }
    }
}

impl Progress for EventSender {
    fn at(&self, done: u64, total: u64) -> bool {
        // A slow browser misses `progress` events instead of delaying the work.
        if total > 0
            && let Ok(event) = Event::default().event("progress").json_data([done, total])
        {
            let _ = self.0.try_send(event);
        }
        !self.0.is_closed()
    }

    fn text(&self, text: &str) {
        self.send("text", &text);
    }
}

/// The events of a response.
struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

/// Runs `work` on a thread that may block, and streams its events. The HTML that it returns is the
/// last event; a stream without it has failed.
pub(crate) fn respond(
    brain: &Door,
    work: impl FnOnce(&Door, &EventSender) -> Markup + Send + 'static,
) -> Response {
    let (events, receiver) = mpsc::channel(MAX_WAITING);
    let brain = brain.clone();
    tokio::task::spawn_blocking(move || {
        let sender = EventSender(events);
        let result = work(&brain, &sender);
        sender.send("done", &result.0);
    });
    let stream = Sse::new(Events(receiver));
    let headers = [(CACHE_CONTROL, "no-store"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, stream.keep_alive(KeepAlive::new().interval(HEARTBEAT))).into_response()
}

/// Sets a flag when the request ends: it is dropped with the answer, or when the browser
/// disconnects.
struct EndedGuard(Arc<AtomicBool>);

impl Drop for EndedGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Stops work whose browser disconnected.
struct StopWhenEnded(Arc<AtomicBool>);

impl Progress for StopWhenEnded {
    fn at(&self, _: u64, _: u64) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Runs an operation that a form without JavaScript started. It stops at its next safe point if the
/// browser disconnects.
///
/// # Errors
/// The fault of the operation; `internal` if it panics.
pub(crate) async fn run<O: Operation + Send + 'static>(
    brain: &Door,
    session: &Session,
    operation: O,
) -> Result<O::Reply, Fault>
where
    O::Reply: Send + 'static,
{
    let has_ended = Arc::new(AtomicBool::new(false));
    let _ended = EndedGuard(Arc::clone(&has_ended));
    let caller = session.caller.clone();
    block(brain, move |brain| brain.run(&caller, operation, &StopWhenEnded(has_ended))).await?
}
