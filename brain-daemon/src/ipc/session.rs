//! One client's connection: a greeting each way, then request after request.
//!
//! Nothing that a client sends, leaves out, or sends slowly harms another client: each read has a deadline, each
//! frame a limit, and bytes that are not the protocol end this connection and no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brain_protocol::{
    Answer, Event, Fault, FaultCode, HELLO_LEN, Hello, MAX_FRAME, Reply, Request, decode, encode,
};
use interprocess::local_socket::tokio::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use brain_base::caller::Caller;
use brain_core::{Brain, Progress};
use brain_mcp as mcp;

/// For the greeting.
const GREETING: Duration = Duration::from_secs(2);
/// For the rest of a frame, once it has begun.
const FRAME: Duration = Duration::from_secs(10);
/// Between two requests.
const IDLE: Duration = Duration::from_secs(300);
/// The same while others wait for a place.
const IDLE_IN_A_CROWD: Duration = Duration::from_secs(1);
/// For an answer to be taken.
const ANSWER: Duration = Duration::from_secs(30);
/// Long work says at least this often that it goes on, so that clients can tell it from a hang.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// Serves one connection to its end. `crowded` is true while others wait for a place.
pub(super) async fn run(
    mut stream: Stream,
    caller: Caller,
    brain: Arc<Brain>,
    stop: CancellationToken,
    crowded: watch::Receiver<bool>,
) {
    match talk(&mut stream, &caller, &brain, &stop, crowded.clone()).await {
        Ok(End::Done) => {}
        Ok(End::Mcp) => mcp::over_stream(stream, caller, brain, stop, crowded).await,
        Err(end) => tracing::debug!(caller = caller.name, end, "connection closed"),
    }
}

/// Tells somebody who may not come in why, in the words of the protocol, and hangs up.
pub(super) async fn refuse(mut stream: Stream, fault: Fault) {
    let told = async {
        let mut greeting = [0_u8; HELLO_LEN];
        stream.read_exact(&mut greeting).await?;
        stream.write_all(&Hello::ours(std::process::id()).to_bytes()).await?;
        let _ = answer(&mut stream, &Answer::Fault(fault)).await;
        // What they still send is not looked at, but hanging up on it would take the answer away.
        tokio::io::copy(&mut (&mut stream).take(MAX_FRAME as u64), &mut tokio::io::sink()).await
    };
    let _ = timeout(GREETING, told).await;
}

/// Why a connection is given up.
type Broken = &'static str;

/// How a talk ended.
enum End {
    /// There is nothing more to say.
    Done,
    /// The client goes on in MCP.
    Mcp,
}

async fn talk(
    stream: &mut Stream,
    caller: &Caller,
    brain: &Arc<Brain>,
    stop: &CancellationToken,
    mut crowded: watch::Receiver<bool>,
) -> Result<End, Broken> {
    let mut greeting = [0_u8; HELLO_LEN];
    within(GREETING, stream.read_exact(&mut greeting)).await?;
    let hello = Hello::from_bytes(&greeting).map_err(|_| "not our protocol")?;
    within(GREETING, stream.write_all(&Hello::ours(std::process::id()).to_bytes())).await?;
    if !hello.speaks_ours() {
        return Err("another protocol number");
    }
    loop {
        let payload = match next_frame(stream, stop, &mut crowded).await? {
            Some(Ok(payload)) => payload,
            Some(Err(fault)) => {
                answer(stream, &Answer::Fault(fault)).await?;
                return Err("a frame over the limit");
            }
            None => return Ok(End::Done),
        };
        let request: Request = match decode(&payload) {
            Ok(request) => request,
            Err(error) => {
                let fault =
                    Fault::new(FaultCode::BadFrame, format!("this is not a request: {error}"))
                        .hint(
                            "client and daemon must be of one build: `brain stop`, then try again",
                        );
                answer(stream, &Answer::Fault(fault)).await?;
                return Err("not a request");
            }
        };
        drop(payload);
        let stopping = matches!(request, Request::Stop);
        let reply = work(stream, caller, brain, request).await?;
        let accepted = stopping && matches!(reply, Answer::Reply(Reply::Stopping));
        answer(stream, &reply).await?;
        if accepted {
            stop.cancel();
            return Ok(End::Done);
        }
        if matches!(reply, Answer::Reply(Reply::Mcp)) {
            return Ok(End::Mcp);
        }
    }
}

/// The next request's bytes; `None` when the client is done or the daemon is stopping between two requests.
async fn next_frame(
    stream: &mut Stream,
    stop: &CancellationToken,
    crowded: &mut watch::Receiver<bool>,
) -> Result<Option<Result<Vec<u8>, Fault>>, Broken> {
    let mut head = [0_u8; 4];
    let begun = tokio::select! {
        biased;
        begun = timeout(IDLE, stream.read(&mut head)) => begun,
        () = stop.cancelled() => return Ok(None),
        () = patience(crowded) => return Err("idle while others waited"),
    };
    let got = match begun {
        Err(_) => return Err("idle for too long"),
        Ok(Ok(0)) => return Ok(None),
        Ok(Ok(got)) => got,
        Ok(Err(_)) => return Err("the connection failed"),
    };
    within(FRAME, async {
        stream.read_exact(&mut head[got..]).await?;
        let length = u32::from_be_bytes(head) as usize;
        if length > MAX_FRAME {
            let message = format!("a request of {length} bytes is over the limit of {MAX_FRAME}");
            return Ok(Some(Err(
                Fault::new(FaultCode::TooLarge, message).hint("send less at once")
            )));
        }
        // The length is a claim until the bytes are here: memory grows with what arrives.
        let mut payload = Vec::with_capacity(length.min(64 * 1024));
        let got = (&mut *stream).take(length as u64).read_to_end(&mut payload).await?;
        if got < length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(Ok(payload)))
    })
    .await
}

/// Ends when there has been a crowd for [`IDLE_IN_A_CROWD`].
async fn patience(crowded: &mut watch::Receiver<bool>) {
    loop {
        if crowded.wait_for(|crowd| *crowd).await.is_err() {
            return std::future::pending().await;
        }
        if timeout(IDLE_IN_A_CROWD, crowded.wait_for(|crowd| !*crowd)).await.is_err() {
            return;
        }
    }
}

/// Lets the brain answer on a thread that may block. A client that goes away does not take a write back.
async fn work(
    stream: &mut Stream,
    caller: &Caller,
    brain: &Arc<Brain>,
    request: Request,
) -> Result<Answer, Broken> {
    let (events, mut progress) = mpsc::channel(8);
    let sink = Arc::new(EventSink { events, gone: AtomicBool::new(false) });
    let (brain, caller, hears) = (Arc::clone(brain), caller.clone(), Arc::clone(&sink));
    let mut job = tokio::task::spawn_blocking(move || brain.answer(&caller, request, &*hears));
    let mut last = Event::Progress { done: 0, total: 0 };
    let tell = async |stream: &mut Stream, event: &Event| {
        if answer(stream, &Answer::Event(event.clone())).await.is_err() {
            sink.gone.store(true, Ordering::Relaxed);
        }
    };
    let outcome = loop {
        tokio::select! {
            biased;
            done = &mut job => break done,
            Some(event) = progress.recv() => {
                tell(stream, &event).await;
                // A line is told once; only how far the work is may be told again.
                if matches!(event, Event::Progress { .. }) {
                    last = event;
                }
            }
            () = tokio::time::sleep(HEARTBEAT) => tell(stream, &last).await,
        }
    };
    while let Ok(event) = progress.try_recv() {
        if matches!(event, Event::Line(_) | Event::Text(_)) {
            tell(stream, &event).await;
        }
    }
    if sink.gone.load(Ordering::Relaxed) {
        // Part of an event may be on its way: nothing that follows could be understood.
        return Err("the client took no answer");
    }
    Ok(match outcome {
        Ok(Ok(reply)) => Answer::Reply(reply),
        Ok(Err(fault)) => Answer::Fault(fault),
        Err(_) => Answer::Fault(
            Fault::new(FaultCode::Internal, "a defect in brain ended this request")
                .hint("`brain doctor` says whether the store is whole; the log of the daemon has the place; please report it"),
        ),
    })
}

struct EventSink {
    events: mpsc::Sender<Event>,
    gone: AtomicBool,
}

impl Progress for EventSink {
    fn at(&self, done: u64, total: u64) -> bool {
        // A slow reader misses an event, never stops the work.
        let _ = self.events.try_send(Event::Progress { done, total });
        !self.gone.load(Ordering::Relaxed)
    }

    fn line(&self, line: &str) {
        // Lines are results: they wait for a slow reader, who is given up after a while and then takes none.
        if !self.gone.load(Ordering::Relaxed) {
            let _ = self.events.blocking_send(Event::Line(line.to_owned()));
        }
    }

    fn text(&self, text: &str) {
        if !self.gone.load(Ordering::Relaxed) {
            let _ = self.events.blocking_send(Event::Text(text.to_owned()));
        }
    }
}

async fn answer(stream: &mut Stream, answer: &Answer) -> Result<(), Broken> {
    let bytes = match encode(answer) {
        Ok(bytes) => bytes,
        Err(_) => {
            let fault = Fault::new(
                FaultCode::TooLarge,
                format!("the answer is over the limit of {MAX_FRAME} bytes"),
            )
            .hint("ask for less: `--limit`");
            encode(&Answer::Fault(fault)).map_err(|_| "an answer that cannot be written")?
        }
    };
    let mut frame = Vec::with_capacity(4 + bytes.len());
    frame.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    frame.extend_from_slice(&bytes);
    within(ANSWER, stream.write_all(&frame)).await
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = std::io::Result<T>>,
) -> Result<T, Broken> {
    match timeout(limit, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) => Err("the connection failed"),
        Err(_) => Err("too slow"),
    }
}
