//! Serves one client's connection: the greeting, then requests one after the other.
//!
//! Each read has a timeout, each frame has a size limit. Invalid bytes end only this connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_protocol::{
    Answer, Command, Event, Fault, FaultCode, HELLO_LEN, Hello, MAX_FRAME, Reply, Request, decode,
    encode, hint,
};
use interprocess::local_socket::tokio::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use brain_base::caller::Caller;
use brain_core::{Door, Progress};
use brain_mcp as mcp;

/// Maximum time for the greeting.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for the rest of a frame, once it has begun.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time between two requests.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum time between two requests while new clients wait for a free connection.
const IDLE_TIMEOUT_WHEN_FULL: Duration = Duration::from_secs(1);
/// Maximum time for the client to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which a long request repeats its progress, so that clients can tell it from a hang.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// Serves one connection to its end. `has_waiting_clients` is true while new clients wait for a
/// connection.
pub(super) async fn run(
    mut stream: Stream,
    caller: Caller,
    brain: Door,
    stop: CancellationToken,
    has_waiting_clients: watch::Receiver<bool>,
) {
    match serve_requests(&mut stream, &caller, &brain, &stop, has_waiting_clients.clone()).await {
        Ok(SessionEnd::Done) => {}
        Ok(SessionEnd::Mcp) => {
            mcp::serve_stream(stream, caller, brain, stop, has_waiting_clients).await;
        }
        Err(reason) => tracing::debug!(caller = caller.name, reason, "connection closed"),
    }
}

/// Sends a client without access the reason, and closes the connection.
pub(super) async fn refuse(mut stream: Stream, fault: Fault) {
    let exchange = async {
        let mut greeting = [0_u8; HELLO_LEN];
        stream.read_exact(&mut greeting).await?;
        stream.write_all(&Hello::of_this_build(std::process::id()).to_bytes()).await?;
        let _ = send(&mut stream, &Answer::Fault(fault)).await;
        // Unread bytes would reset the connection, and the client would lose the answer.
        tokio::io::copy(&mut (&mut stream).take(MAX_FRAME as u64), &mut tokio::io::sink()).await
    };
    let _ = timeout(GREETING_TIMEOUT, exchange).await;
}

/// Why a connection is closed.
type CloseReason = &'static str;

/// How a session ended.
enum SessionEnd {
    /// The client disconnected, or the daemon stops.
    Done,
    /// The client switched to MCP.
    Mcp,
}

async fn serve_requests(
    stream: &mut Stream,
    caller: &Caller,
    brain: &Door,
    stop: &CancellationToken,
    mut has_waiting_clients: watch::Receiver<bool>,
) -> Result<SessionEnd, CloseReason> {
    let mut greeting = [0_u8; HELLO_LEN];
    within(GREETING_TIMEOUT, stream.read_exact(&mut greeting)).await?;
    let hello = Hello::from_bytes(&greeting).map_err(|_| "not our protocol")?;
    within(
        GREETING_TIMEOUT,
        stream.write_all(&Hello::of_this_build(std::process::id()).to_bytes()),
    )
    .await?;
    if !hello.has_same_protocol() {
        return Err("another protocol number");
    }
    loop {
        let payload = match next_frame(stream, stop, &mut has_waiting_clients).await? {
            Some(Ok(payload)) => payload,
            Some(Err(fault)) => {
                send(stream, &Answer::Fault(fault)).await?;
                return Err("a frame over the limit");
            }
            None => return Ok(SessionEnd::Done),
        };
        let request: Request = match decode(&payload) {
            Ok(request) => request,
            Err(error) => {
                let fault =
                    Fault::new(FaultCode::BadFrame, format!("this is not a request: {error}"))
                        .hint(hint!(
                            "client and daemon must be of the same build: {}, then try again",
                            Command::Stop
                        ));
                send(stream, &Answer::Fault(fault)).await?;
                return Err("not a request");
            }
        };
        drop(payload);
        let is_stop = matches!(request, Request::Stop(_));
        let reply = execute(stream, caller, brain, request).await?;
        let is_accepted_stop = is_stop && matches!(reply, Answer::Reply(Reply::Stopping(_)));
        send(stream, &reply).await?;
        if is_accepted_stop {
            stop.cancel();
            return Ok(SessionEnd::Done);
        }
        if matches!(reply, Answer::Reply(Reply::Mcp(_))) {
            return Ok(SessionEnd::Mcp);
        }
    }
}

/// Reads the payload of the next request. Returns `None` when the client disconnected or the daemon
/// stops, and a fault if the request is too large.
async fn next_frame(
    stream: &mut Stream,
    stop: &CancellationToken,
    has_waiting_clients: &mut watch::Receiver<bool>,
) -> Result<Option<Result<Vec<u8>, Fault>>, CloseReason> {
    let mut head = [0_u8; 4];
    let first_read = tokio::select! {
        biased;
        first_read = timeout(IDLE_TIMEOUT, stream.read(&mut head)) => first_read,
        () = stop.cancelled() => return Ok(None),
        () = idle_while_full(has_waiting_clients) => return Err("idle while others waited"),
    };
    let received = match first_read {
        Err(_) => return Err("idle for too long"),
        Ok(Ok(0)) => return Ok(None),
        Ok(Ok(received)) => received,
        Ok(Err(_)) => return Err("the connection failed"),
    };
    within(FRAME_TIMEOUT, async {
        stream.read_exact(&mut head[received..]).await?;
        let length = u32::from_be_bytes(head) as usize;
        if length > MAX_FRAME {
            let message = format!("a request of {length} bytes is over the limit of {MAX_FRAME}");
            return Ok(Some(Err(
                Fault::new(FaultCode::TooLarge, message).hint("send less at once")
            )));
        }
        // The length is unverified, so memory grows with the bytes that arrive.
        let mut payload = Vec::with_capacity(length.min(64 * 1024));
        let bytes_read = (&mut *stream).take(length as u64).read_to_end(&mut payload).await?;
        if bytes_read < length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(Ok(payload)))
    })
    .await
}

/// Returns when clients have been waiting for a connection for [`IDLE_TIMEOUT_WHEN_FULL`].
async fn idle_while_full(has_waiting_clients: &mut watch::Receiver<bool>) {
    loop {
        if has_waiting_clients.wait_for(|full| *full).await.is_err() {
            return std::future::pending().await;
        }
        if timeout(IDLE_TIMEOUT_WHEN_FULL, has_waiting_clients.wait_for(|full| !*full))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// Executes a request on a thread that may block, and sends its events. A write completes even if
/// the client disconnects.
async fn execute(
    stream: &mut Stream,
    caller: &Caller,
    brain: &Door,
    request: Request,
) -> Result<Answer, CloseReason> {
    let (events, mut progress) = mpsc::channel(8);
    let sink = Arc::new(EventSink { events, disconnected: AtomicBool::new(false) });
    let (brain, caller, progress_sink) = (brain.clone(), caller.clone(), Arc::clone(&sink));
    let mut job =
        tokio::task::spawn_blocking(move || brain.answer(&caller, request, &*progress_sink));
    let mut last_progress = Event::Progress { done: 0, total: 0 };
    let send_event = async |stream: &mut Stream, event: &Event| {
        if send(stream, &Answer::Event(event.clone())).await.is_err() {
            sink.disconnected.store(true, Ordering::Relaxed);
        }
    };
    let outcome = loop {
        tokio::select! {
            biased;
            done = &mut job => break done,
            Some(event) = progress.recv() => {
                send_event(stream, &event).await;
                // Only progress may be repeated as a heartbeat.
                if matches!(event, Event::Progress { .. }) {
                    last_progress = event;
                }
            }
            () = tokio::time::sleep(HEARTBEAT) => send_event(stream, &last_progress).await,
        }
    };
    while let Ok(event) = progress.try_recv() {
        if matches!(event, Event::Line(_) | Event::Text(_)) {
            send_event(stream, &event).await;
        }
    }
    if sink.disconnected.load(Ordering::Relaxed) {
        // Part of an event may have been sent, so the client could not decode what follows.
        return Err("the client read no answer");
    }
    Ok(match outcome {
        Ok(Ok(reply)) => Answer::Reply(reply),
        Ok(Err(fault)) => Answer::Fault(fault),
        Err(_) => Answer::Fault(
            Fault::new(FaultCode::Internal, "a defect in brain ended this request").hint(hint!(
                "{} checks the store; the daemon's log has the details; please report them",
                Command::Doctor
            )),
        ),
    })
}

/// Passes the events of a request to its connection.
struct EventSink {
    events: mpsc::Sender<Event>,
    disconnected: AtomicBool,
}

impl Progress for EventSink {
    fn at(&self, done: u64, total: u64) -> bool {
        // A slow client misses progress events instead of delaying the work.
        let _ = self.events.try_send(Event::Progress { done, total });
        !self.disconnected.load(Ordering::Relaxed)
    }

    fn line(&self, line: &str) {
        // Lines are results, so they wait for a slow client until its timeout.
        if !self.disconnected.load(Ordering::Relaxed) {
            let _ = self.events.blocking_send(Event::Line(line.to_owned()));
        }
    }

    fn text(&self, text: &str) {
        if !self.disconnected.load(Ordering::Relaxed) {
            let _ = self.events.blocking_send(Event::Text(text.to_owned()));
        }
    }
}

/// Sends an answer; a fault instead if the answer is too large.
async fn send(stream: &mut Stream, answer: &Answer) -> Result<(), CloseReason> {
    let bytes = match encode(answer) {
        Ok(bytes) => bytes,
        Err(_) => {
            let fault = Fault::new(
                FaultCode::TooLarge,
                format!("the answer is over the limit of {MAX_FRAME} bytes"),
            )
            .hint("ask for less: `--limit`");
            encode(&Answer::Fault(fault)).map_err(|_| "an answer that cannot be encoded")?
        }
    };
    let mut frame = Vec::with_capacity(4 + bytes.len());
    frame.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    frame.extend_from_slice(&bytes);
    within(WRITE_TIMEOUT, stream.write_all(&frame)).await
}

/// Does I/O on the connection within a time limit.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = std::io::Result<T>>,
) -> Result<T, CloseReason> {
    match timeout(limit, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) => Err("the connection failed"),
        Err(_) => Err("too slow"),
    }
}
