//! A stream of lines that gives way: it takes no more than it can work off, and its place to others when it has nothing to do.

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::MAX_MESSAGE;
use rmcp::model::RequestId;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// How many requests of one stream are worked on at once.
pub(super) const MAX_CONCURRENT: usize = 16;
/// How long a stream may have nothing to do while others wait for a place.
const IDLE_TIMEOUT_WHEN_FULL: Duration = Duration::from_secs(1);
/// How many times as long it may leave its answers lying then.
const UNREAD_TIMEOUT_FACTOR: u32 = 30;

/// What is kept of the room for a message when the next one is waited for, in bytes.
const KEPT_CAPACITY: usize = 16 * 1024;

/// What carries the messages of one stream. rmcp writes them; it would keep the room of the largest one ever read.
pub(super) struct LineTransport<R: AsyncRead, W: AsyncWrite> {
    read: BufReader<R>,
    /// The beginning of a message.
    line: Vec<u8>,
    /// The message is too long: what follows of it is thrown away.
    too_long: bool,
    write: AsyncRwTransport<RoleServer, Empty, W>,
    /// One for each request that is worked on.
    permits: Arc<Semaphore>,
    /// One for each answer that the client has not taken yet.
    unread: Arc<Semaphore>,
    /// True while others wait for a place.
    is_full: watch::Receiver<bool>,
}

/// What is no message of MCP and yet wants an answer.
#[derive(Deserialize)]
struct RequestHead {
    id: Option<RequestId>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Carries messages as long as `permits` has places for them.
    pub(super) fn new(
        read: R,
        write: W,
        permits: Arc<Semaphore>,
        is_full: watch::Receiver<bool>,
    ) -> Self {
        let write = AsyncRwTransport::new_server(tokio::io::empty(), write);
        let unread = Arc::new(Semaphore::new(MAX_CONCURRENT));
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            too_long: false,
            write,
            permits,
            unread,
            is_full,
        }
    }

    /// The next message; what is none is answered. Whoever stops waiting loses nothing.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let available = self.read.fill_buf().await.ok()?;
            // What stands behind the last line feed is no message.
            if available.is_empty() {
                return None;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let taken = part.len() + usize::from(end.is_some());
            if self.line.len() + part.len() > MAX_MESSAGE {
                (self.line, self.too_long) = (Vec::new(), true);
            } else if !self.too_long {
                self.line.extend_from_slice(part);
            }
            self.read.consume(taken);
            if end.is_none() {
                continue;
            }
            let too_long = std::mem::take(&mut self.too_long);
            let read = serde_json::from_slice(self.line.trim_ascii());
            let nothing = self.line.trim_ascii().is_empty();
            let asked = match &read {
                Err(error) if error.is_data() => serde_json::from_slice(&self.line).ok(),
                _ => None,
            };
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
            let refusal = match read {
                _ if too_long => ErrorData::invalid_request(
                    format!("a message has at most {MAX_MESSAGE} bytes"),
                    None,
                ),
                _ if nothing => continue,
                Ok(message) => return Some(message),
                Err(error) if error.is_data() => {
                    ErrorData::invalid_request("this is no message of MCP", None)
                }
                Err(_) => ErrorData::parse_error("this is no JSON", None),
            };
            // By itself: whoever stops waiting would break it off.
            tokio::spawn(self.send(TxJsonRpcMessage::<RoleServer>::error(
                refusal,
                asked.and_then(|it: RequestHead| it.id),
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
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // Those that find no place any more are no more than were worked on at once.
        let place = Arc::clone(&self.unread).try_acquire_owned();
        let sent = self.write.send(item);
        async move {
            let sent = sent.await;
            drop(place);
            sent
        }
    }

    /// The next message; `None` at the end, and when others need the place more. Who is hung up on between two requests comes back
    /// with the next one (`brain mcp` does).
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let (permits, unread) = (Arc::clone(&self.permits), Arc::clone(&self.unread));
        let mut is_full = self.is_full.clone();
        let next = async {
            // Whoever wants more than is worked off waits in their own pipe, not in our memory.
            drop(permits.acquire().await);
            // So does whoever does not take the answers: those wait in our memory.
            drop(unread.acquire().await);
            self.next().await
        };
        tokio::select! {
            biased;
            message = next => message,
            () = wait_until_evictable(&permits, &unread, &mut is_full, IDLE_TIMEOUT_WHEN_FULL) => {
                tracing::debug!("an MCP stream with nothing to do gave its place away");
                None
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.close().await
    }
}

/// Ends when there has been a crowd for the time `idle` and nothing was worked on at its end, nor was an answer on its way; or when there
/// was one for [`UNREAD_TIMEOUT_FACTOR`] times as long, and nobody took an answer.
async fn wait_until_evictable(
    permits: &Semaphore,
    unread: &Semaphore,
    is_full: &mut watch::Receiver<bool>,
    idle: Duration,
) {
    let (mut taken, mut unread_rounds) = (MAX_CONCURRENT, 0);
    loop {
        if is_full.wait_for(|full| *full).await.is_err() {
            return std::future::pending().await;
        }
        let relieved = timeout(idle, is_full.wait_for(|full| !*full)).await.is_ok();
        let now = unread.available_permits();
        unread_rounds = if relieved || now != taken { 0 } else { unread_rounds + 1 };
        taken = now;
        let silent = now == MAX_CONCURRENT || unread_rounds >= UNREAD_TIMEOUT_FACTOR;
        if !relieved && silent && permits.available_permits() == MAX_CONCURRENT {
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
    async fn whoever_takes_no_answer_is_not_heard_until_they_do() {
        let (theirs, ours) = tokio::io::duplex(64);
        let (read, write) = tokio::io::split(ours);
        let (_set_full, is_full) = watch::channel(false);
        let mut stream =
            LineTransport::new(read, write, Arc::new(Semaphore::new(MAX_CONCURRENT)), is_full);
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
            "nothing was taken yet"
        );
        let mut lines = BufReader::new(answers).lines();
        lines.next_line().await.unwrap().unwrap();
        lines.next_line().await.unwrap().unwrap();
        assert!(received.await.is_some());
    }

    #[tokio::test]
    async fn in_a_crowd_an_answer_on_its_way_is_waited_for_but_not_for_ever() {
        let (permits, unread) = (Semaphore::new(MAX_CONCURRENT), Semaphore::new(MAX_CONCURRENT));
        let (_set_full, mut is_full) = watch::channel(true);
        let idle = Duration::from_millis(10);
        wait_until_evictable(&permits, &unread, &mut is_full, idle).await;
        let answer = unread.acquire().await.unwrap();
        let mut ends = std::pin::pin!(wait_until_evictable(&permits, &unread, &mut is_full, idle));
        assert!(
            timeout(idle * (UNREAD_TIMEOUT_FACTOR / 2), &mut ends).await.is_err(),
            "it may be slow"
        );
        ends.await;
        drop(answer);
    }

    #[tokio::test]
    async fn a_large_message_leaves_no_room_behind_and_a_larger_one_is_refused() {
        let (theirs, ours) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(ours);
        let (_set_full, is_full) = watch::channel(false);
        let mut stream =
            LineTransport::new(read, write, Arc::new(Semaphore::new(MAX_CONCURRENT)), is_full);
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
        assert!(stream.receive().await.is_none(), "what is not ended is no message");
        let mut lines = BufReader::new(answers).lines();
        let mut codes = Vec::new();
        for _ in 0..3 {
            let line = lines.next_line().await.unwrap().unwrap();
            let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
            codes.push((answer["error"]["code"].as_i64().unwrap(), answer["id"].as_i64()));
        }
        codes.sort_unstable();
        // Whoever asked something that is none hears which of their requests it was.
        assert_eq!(codes, [(-32700, None), (-32600, None), (-32600, Some(7))]);
    }
}
