//! The socket of one connection and its bodies, wrapped for hyper.
//!
//! The wrappers record progress in the [`ConnectionState`], add a JSON body to error responses of
//! hyper itself, and make sure that a client can read its last response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::body_budget::SMALL_BODY;
use super::connection_state::{ConnectionState, HttpTimeouts, Phase};
use super::request_body::RequestBody;

/// A client's socket.
pub(crate) struct ClientStream {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    /// The maximum size of a head, in bytes.
    max_head: usize,
    /// The rest of a response that replaces one of hyper; it is written before anything else.
    replacement: Bytes,
    /// Whether unread bytes have to be drained; `None` while the write side is open.
    must_drain: Option<bool>,
}

impl ClientStream {
    /// Wraps a socket whose requests have heads of up to `max_head` bytes.
    pub(crate) fn new(stream: TcpStream, state: Arc<ConnectionState>, max_head: usize) -> Self {
        Self { stream, state, max_head, replacement: Bytes::new(), must_drain: None }
    }

    /// Writes the rest of `replacement`.
    fn poll_replacement(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.replacement.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(cx, &self.replacement);
            self.state.record_write(written.is_ready());
            let written = ready!(written)?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            let _ = self.replacement.split_to(written.min(self.replacement.len()));
        }
        Poll::Ready(Ok(()))
    }

    /// Replaces an error response of hyper's parser with one that has a JSON body. Returns `false`
    /// for any other response.
    fn replace_parser_error(&mut self, response: &[u8]) -> bool {
        if self.state.phase() != Phase::Head {
            return false;
        }
        let Some(replacement) = with_json_body(response) else { return false };
        self.replacement = replacement;
        true
    }
}

/// Adds a JSON body to an error response of hyper. Returns `None` for any other response.
fn with_json_body(response: &[u8]) -> Option<Bytes> {
    let text = std::str::from_utf8(response).ok()?;
    let line = text.strip_prefix("HTTP/1.1 ")?.lines().next()?;
    // Every response of a handler has this field.
    if !line.starts_with('4')
        || !text.ends_with("\r\n\r\n")
        || text.contains("x-content-type-options")
    {
        return None;
    }
    let (error, message) = match line.get(..3)? {
        "431" => (
            "headers_too_large",
            "the head of this request has more than 16 KB or 100 fields; send a smaller one",
        ),
        "414" => ("uri_too_long", "the URI of this request is too long"),
        _ => ("bad_request", "this is not a valid HTTP/1.1 request"),
    };
    let body = serde_json::json!({ "error": error, "message": message }).to_string();
    Some(Bytes::from(format!(
        "HTTP/1.1 {line}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\r\n\
         {body}",
        body.len()
    )))
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let received = buf.filled().get(before..).unwrap_or_default();
        if !received.is_empty() {
            self.state.record_read(received, self.max_head);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_replacement(cx))?;
        if self.replace_parser_error(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.state.record_write(written.is_ready());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_replacement(cx))?;
        let is_single = bufs.iter().filter(|buf| !buf.is_empty()).count() == 1;
        if is_single
            && let Some(buf) = bufs.iter().find(|buf| !buf.is_empty())
            && self.replace_parser_error(buf)
        {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.state.record_write(written.is_ready());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Closes the write side, then drains unread bytes until the client closes.
    ///
    /// Dropping a socket with unread bytes resets the connection, and the client may lose the
    /// response (RFC 9112 section 9.6). The supervisor limits the time.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        if self.must_drain.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.must_drain = Some(self.state.finish_connection());
        }
        if self.must_drain == Some(true) {
            let mut discarded = [0_u8; 8192];
            loop {
                let mut buf = ReadBuf::new(&mut discarded);
                let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf));
                if read.is_err() || buf.filled().is_empty() {
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// A request's body with its timeouts.
pub(crate) struct TimedBody {
    /// `None` only while this is dropped.
    inner: Option<Incoming>,
    body: Arc<RequestBody>,
    timeouts: HttpTimeouts,
    /// The `Content-Length`.
    length: Option<u64>,
    /// When a handler first waited for the body.
    began: Option<Instant>,
    /// The timer for the next bytes; set when a handler first waits for the body.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether the whole body has arrived.
    has_ended: bool,
}

impl TimedBody {
    pub(crate) fn wrap(inner: Incoming, body: &Arc<RequestBody>, timeouts: &HttpTimeouts) -> Body {
        if inner.is_end_stream() {
            return Body::empty();
        }
        let (body, length) = (Arc::clone(body), inner.size_hint().exact());
        let inner = Some(inner);
        Body::new(Self {
            inner,
            body,
            timeouts: *timeouts,
            length,
            began: None,
            timer: None,
            has_ended: false,
        })
    }

    /// Records that the whole body has arrived.
    fn record_end(&mut self) {
        self.has_ended = true;
        self.body.state().end_body();
    }

    /// Sets the timer for the next bytes.
    fn set_timer(&mut self) {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        // A body without a length counts as small until more bytes have arrived.
        let is_small = self.length.unwrap_or(self.body.state().body_bytes()) <= SMALL_BODY;
        let limit = if is_small { self.timeouts.small } else { self.timeouts.body };
        let next = (began + limit).min(now + self.timeouts.step);
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(next),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(next))),
        }
    }
}

impl hyper::body::Body for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let failed =
            |kind: io::ErrorKind| Poll::Ready(Some(Err(axum::Error::new(io::Error::from(kind)))));
        if self.body.state().is_evicted() {
            return failed(io::ErrorKind::ResourceBusy);
        }
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        match Pin::new(inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.body.record_bytes(data.len());
                }
                if self.timer.is_some() {
                    self.set_timer();
                }
                if self.is_end_stream() {
                    self.record_end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(axum::Error::new(error)))),
            Poll::Ready(None) => {
                self.record_end();
                Poll::Ready(None)
            }
            Poll::Pending => {
                if self.timer.is_none() {
                    self.body.start_waiting();
                    self.set_timer();
                }
                if self.body.state().poll_evicted(cx).is_ready() {
                    return failed(io::ErrorKind::ResourceBusy);
                }
                if let Some(timer) = &mut self.timer {
                    ready!(timer.as_mut().poll(cx));
                }
                self.body.state().mark_timed_out();
                failed(io::ErrorKind::TimedOut)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::new, Incoming::size_hint)
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        self.body.state().end_body();
        if !self.has_ended {
            self.body.state().mark_unread_body();
            self.body.set_unread(self.inner.take());
        }
    }
}

/// A response's body. On drop, the connection waits for the next request.
pub(crate) struct ResponseBody {
    inner: Body,
    request: Arc<RequestBody>,
}

impl ResponseBody {
    /// Wraps the body of the response to `request`.
    pub(crate) fn new(inner: Body, request: Arc<RequestBody>) -> Self {
        Self { inner, request }
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.request.state().finish_request();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_responses_of_the_parser_get_a_json_body() {
        let bare = b"HTTP/1.1 431 Request Header Fields Too Large\r\n\
                connection: close\r\n\
                content-length: 0\r\n\
                \r\n";
        let response = with_json_body(bare).unwrap();
        let text = std::str::from_utf8(&response).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 "), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"], "headers_too_large");
        for ours in [
            &b"HTTP/1.1 400 Bad Request\r\n\
                x-content-type-options: nosniff\r\n\
                content-length: 0\r\n\
                \r\n"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400 of a page's text",
            b"\xff",
        ] {
            assert_eq!(with_json_body(ours), None);
        }
    }
}
