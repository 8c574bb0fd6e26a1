//! A transport of JSON-RPC messages, one per line, with limits.
//!
//! Reads no message while the maximum number of requests is in progress, or of answers unread. Ends
//! an idle stream when other clients wait for a connection.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::MAX_MESSAGE;
use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// Maximum number of requests of one stream that are answered concurrently.
pub(super) const MAX_CONCURRENT: usize = 16;
/// How long a stream may be idle while other clients wait.
const IDLE_TIMEOUT_WHEN_FULL: Duration = Duration::from_secs(1);
/// While other clients wait, a stream may leave its answers unread for this many times
/// [`IDLE_TIMEOUT_WHEN_FULL`].
const UNREAD_TIMEOUT_FACTOR: u32 = 30;

/// The method that opens a session.
const INITIALIZE: &str = "initialize";
/// What is wrong with an `initialize` that cannot be read.
const INITIALIZE_PARAMS: &str = "the params of initialize are an object with \"protocolVersion\", a \
    string, and \"capabilities\" and \"clientInfo\", two objects";
/// The buffer capacity that is kept between two messages, in bytes.
const KEPT_CAPACITY: usize = 16 * 1024;

/// The transport of one stream. rmcp's own reader would keep the capacity of the largest message.
pub(super) struct LineTransport<R: AsyncRead, W: AsyncWrite> {
    read: BufReader<R>,
    /// The beginning of the next message.
    line: Vec<u8>,
    /// Whether the current message is too long. If so, the rest of the message is discarded.
    is_too_long: bool,
    write: AsyncRwTransport<RoleServer, Empty, W>,
    /// Permits for requests in progress.
    permits: Arc<Semaphore>,
    /// Permits for answers that the client has not read yet.
    unread: Arc<Semaphore>,
    /// True while other clients wait for a connection.
    has_waiting_clients: watch::Receiver<bool>,
}

/// The id of an invalid request, for its error response.
#[derive(Deserialize)]
struct RequestHead {
    id: Option<RequestId>,
}

/// Returns the id of an `initialize` whose params are absent or not as required.
fn malformed_initialize(message: &RxJsonRpcMessage<RoleServer>) -> Option<RequestId> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CustomRequest(custom) = &request.request else { return None };
    (custom.method == INITIALIZE).then(|| request.id.clone())
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport that reads messages while `permits` has permits.
    pub(super) fn new(
        read: R,
        write: W,
        permits: Arc<Semaphore>,
        has_waiting_clients: watch::Receiver<bool>,
    ) -> Self {
        let write = AsyncRwTransport::new_server(tokio::io::empty(), write);
        let unread = Arc::new(Semaphore::new(MAX_CONCURRENT));
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            is_too_long: false,
            write,
            permits,
            unread,
            has_waiting_clients,
        }
    }

    /// Returns the next message, or `None` at the end of the stream. Answers invalid messages with
    /// an error. Cancel-safe.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let available = self.read.fill_buf().await.ok()?;
            // An unfinished last line is not a message.
            if available.is_empty() {
                return None;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let consumed = part.len() + usize::from(end.is_some());
            if self.line.len() + part.len() > MAX_MESSAGE {
                (self.line, self.is_too_long) = (Vec::new(), true);
            } else if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            self.read.consume(consumed);
            if end.is_none() {
                continue;
            }
            let is_too_long = std::mem::take(&mut self.is_too_long);
            let parsed = serde_json::from_slice(self.line.trim_ascii());
            let is_blank = self.line.trim_ascii().is_empty();
            let head: Option<RequestHead> = match &parsed {
                Err(error) if error.is_data() => serde_json::from_slice(&self.line).ok(),
                Ok(message) => malformed_initialize(message).map(|id| RequestHead { id: Some(id) }),
                _ => None,
            };
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
            let refusal = match parsed {
                _ if is_too_long => ErrorData::invalid_request(
                    format!("a message has at most {MAX_MESSAGE} bytes"),
                    None,
                ),
                _ if is_blank => continue,
                // rmcp would take it for a request of the newest revision without its metadata.
                Ok(_) if head.is_some() => ErrorData::invalid_params(INITIALIZE_PARAMS, None),
                Ok(message) => return Some(message),
                Err(error) if error.is_data() => {
                    ErrorData::invalid_request("the message is not an MCP message", None)
                }
                Err(_) => ErrorData::parse_error("the message is not JSON", None),
            };
            // In its own task, because this future may be dropped.
            tokio::spawn(self.send(TxJsonRpcMessage::<RoleServer>::error(
                refusal,
                head.and_then(|head| head.id),
            )));
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // The answer is sent even without a permit: the limit on requests also limits answers.
        let permit = Arc::clone(&self.unread).try_acquire_owned();
        let sent = self.write.send(message);
        async move {
            let sent = sent.await;
            drop(permit);
            sent
        }
    }

    /// Returns the next message. `None` at the end, or if another client needs the connection:
    /// `brain mcp` reconnects with the next request.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let (permits, unread) = (Arc::clone(&self.permits), Arc::clone(&self.unread));
        let mut has_waiting_clients = self.has_waiting_clients.clone();
        let next = async {
            // Further requests wait in the client's pipe, not in our memory.
            drop(permits.acquire().await);
            // The same applies while the client does not read its answers.
            drop(unread.acquire().await);
            self.next().await
        };
        let evictable = wait_until_evictable(
            &permits,
            &unread,
            &mut has_waiting_clients,
            IDLE_TIMEOUT_WHEN_FULL,
        );
        tokio::select! {
            biased;
            message = next => message,
            () = evictable => {
                tracing::debug!("closed an idle MCP stream to admit another client");
                None
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.close().await
    }
}

/// Waits until the stream may be closed for other clients.
///
/// No request may be in progress, and the other clients must have waited for the time `idle`. If
/// answers are unread, they must have waited [`UNREAD_TIMEOUT_FACTOR`] times as long, and the
/// client must have read no answer in that time.
async fn wait_until_evictable(
    permits: &Semaphore,
    unread: &Semaphore,
    has_waiting_clients: &mut watch::Receiver<bool>,
    idle: Duration,
) {
    let (mut last_available, mut unread_rounds) = (MAX_CONCURRENT, 0);
    loop {
        if has_waiting_clients.wait_for(|full| *full).await.is_err() {
            return std::future::pending().await;
        }
        let has_free_connection =
            timeout(idle, has_waiting_clients.wait_for(|full| !*full)).await.is_ok();
        let available = unread.available_permits();
        let is_stalled = !has_free_connection && available == last_available;
        unread_rounds = if is_stalled { unread_rounds + 1 } else { 0 };
        last_available = available;
        let is_idle = available == MAX_CONCURRENT || unread_rounds >= UNREAD_TIMEOUT_FACTOR;
        if !has_free_connection && is_idle && permits.available_permits() == MAX_CONCURRENT {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt as _;

    #[tokio::test]
    async fn no_message_is_read_while_too_many_answers_are_unread() {
        let (theirs, ours) = tokio::io::duplex(64);
        let (read, write) = tokio::io::split(ours);
        let (_set_full, has_waiting_clients) = watch::channel(false);
        let mut stream = LineTransport::new(
            read,
            write,
            Arc::new(Semaphore::new(MAX_CONCURRENT)),
            has_waiting_clients,
        );
        let (answers, mut to) = tokio::io::split(theirs);
        let long = "no".repeat(64);
        let refusal = || {
            TxJsonRpcMessage::<RoleServer>::error(ErrorData::parse_error(long.clone(), None), None)
        };
        for _ in 0..MAX_CONCURRENT {
            tokio::spawn(stream.send(refusal()));
        }
        to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
        let mut received = std::pin::pin!(stream.receive());
        assert!(
            timeout(Duration::from_millis(50), &mut received).await.is_err(),
            "the client has not read an answer yet"
        );
        let mut lines = BufReader::new(answers).lines();
        lines.next_line().await.unwrap().unwrap();
        lines.next_line().await.unwrap().unwrap();
        assert!(received.await.is_some());
    }

    #[tokio::test]
    async fn a_full_server_waits_longer_while_an_answer_is_unread() {
        let (permits, unread) = (Semaphore::new(MAX_CONCURRENT), Semaphore::new(MAX_CONCURRENT));
        let (_set_full, mut has_waiting_clients) = watch::channel(true);
        let idle = Duration::from_millis(10);
        wait_until_evictable(&permits, &unread, &mut has_waiting_clients, idle).await;
        let answer = unread.acquire().await.unwrap();
        let mut ends =
            std::pin::pin!(wait_until_evictable(&permits, &unread, &mut has_waiting_clients, idle));
        assert!(
            timeout(idle * (UNREAD_TIMEOUT_FACTOR / 2), &mut ends).await.is_err(),
            "the client may be slow"
        );
        ends.await;
        drop(answer);
    }

    #[tokio::test]
    async fn a_too_large_message_is_refused_and_its_buffer_freed() {
        let (theirs, ours) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(ours);
        let (_set_full, has_waiting_clients) = watch::channel(false);
        let mut stream = LineTransport::new(
            read,
            write,
            Arc::new(Semaphore::new(MAX_CONCURRENT)),
            has_waiting_clients,
        );
        let (answers, mut to) = tokio::io::split(theirs);
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let feeder = tokio::spawn(async move {
            let pad = " ".repeat(MAX_MESSAGE - ping.len());
            to.write_all(
                format!("junk\n{{\"id\":7}}\n\r\n {pad}{ping}\n{pad}{ping}\n{ping}").as_bytes(),
            )
            .await
            .unwrap();
            to.shutdown().await.unwrap();
        });
        assert!(stream.receive().await.is_some());
        assert!(stream.line.capacity() <= KEPT_CAPACITY, "{}", stream.line.capacity());
        feeder.await.unwrap();
        assert!(stream.receive().await.is_none(), "an unfinished line is not a message");
        let mut lines = BufReader::new(answers).lines();
        let mut codes = Vec::new();
        for _ in 0..3 {
            let line = lines.next_line().await.unwrap().unwrap();
            let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
            codes.push((answer["error"]["code"].as_i64().unwrap(), answer["id"].as_i64()));
        }
        codes.sort_unstable();
        // The error for an invalid request has its id.
        assert_eq!(codes, [(-32700, None), (-32600, None), (-32600, Some(7))]);
    }
}
