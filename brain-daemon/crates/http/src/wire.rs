//! The socket of one connection and the bodies that go through it, as hyper sees them: they tell the [`Pulse`] what happens,
//! give every refusal of hyper's own its JSON, and leave no client without its last answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::bodies::{RequestBody, SMALL};
use super::pulse::{Phase, Pulse, Times};

/// The socket.
pub(crate) struct Wire {
    stream: TcpStream,
    pulse: Arc<Pulse>,
    /// The largest head in bytes.
    most: usize,
    /// What goes out before anything else.
    first: Bytes,
    /// Whether our side is closed, and the client may still be sending.
    lingers: Option<bool>,
}

impl Wire {
    /// A socket whose requests have heads of up to `most` bytes.
    pub(crate) fn new(stream: TcpStream, pulse: Arc<Pulse>, most: usize) -> Self {
        Self { stream, pulse, most, first: Bytes::new(), lingers: None }
    }

    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.first.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(cx, &self.first);
            self.pulse.writes(written.is_ready());
            let written = ready!(written)?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            let _ = self.first.split_to(written.min(self.first.len()));
        }
        Poll::Ready(Ok(()))
    }

    /// Takes an answer that hyper gives by itself to a head that it cannot read, and keeps the same with a body instead.
    fn explains(&mut self, answer: &[u8]) -> bool {
        if self.pulse.phase() != Phase::Head {
            return false;
        }
        let Some(better) = explained(answer) else { return false };
        self.first = better;
        true
    }
}

/// A refusal that hyper wrote without a body, with one; `None` when it is an answer of ours.
fn explained(answer: &[u8]) -> Option<Bytes> {
    let text = std::str::from_utf8(answer).ok()?;
    let line = text.strip_prefix("HTTP/1.1 ")?.lines().next()?;
    // Every answer of ours has this field.
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
        "414" => ("uri_too_long", "the address of this request is too long"),
        _ => ("bad_request", "this is not a request of HTTP/1.1 that can be read"),
    };
    let body = serde_json::json!({ "error": error, "message": message }).to_string();
    Some(Bytes::from(format!(
        "HTTP/1.1 {line}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\n\r\n{body}",
        body.len()
    )))
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let came = buf.filled().get(before..).unwrap_or_default();
        if !came.is_empty() {
            self.pulse.read(came, self.most);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_first(cx))?;
        if self.explains(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.pulse.writes(written.is_ready());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_first(cx))?;
        let alone = bufs.iter().filter(|buf| !buf.is_empty()).count() == 1;
        if alone
            && let Some(buf) = bufs.iter().find(|buf| !buf.is_empty())
            && self.explains(buf)
        {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.pulse.writes(written.is_ready());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_first(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Closes our side. Where bytes of the client were left unread it reads on until the client closes too: a socket that is
    /// dropped with unread bytes takes the answer back on its way (RFC 9112 section 9.6). The supervisor limits how long.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_first(cx))?;
        if self.lingers.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.lingers = Some(self.pulse.close());
        }
        if self.lingers == Some(true) {
            let mut waste = [0_u8; 8192];
            loop {
                let mut buf = ReadBuf::new(&mut waste);
                let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf));
                if read.is_err() || buf.filled().is_empty() {
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// A request's body with its time-outs.
pub(crate) struct Upload {
    /// Absent once it is dropped.
    inner: Option<Incoming>,
    body: Arc<RequestBody>,
    times: Times,
    /// How many bytes are to come, where the request says so.
    length: Option<u64>,
    /// When it had to be waited for first.
    began: Option<Instant>,
    /// Made when the first bytes have to be waited for.
    alarm: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl Upload {
    /// The bytes of a request's body.
    pub(crate) fn of(inner: Incoming, body: &Arc<RequestBody>, times: &Times) -> Body {
        if inner.is_end_stream() {
            return Body::empty();
        }
        let (body, length) = (Arc::clone(body), inner.size_hint().exact());
        let inner = Some(inner);
        Body::new(Self {
            inner,
            body,
            times: *times,
            length,
            began: None,
            alarm: None,
            ended: false,
        })
    }

    /// All of it is there.
    fn end(&mut self) {
        self.ended = true;
        self.body.pulse().end_body();
    }

    /// Sets the alarm for the next bytes.
    fn arm(&mut self) {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        // One that does not say its size is small until more of it has come.
        let small = self.length.unwrap_or(self.body.pulse().received()) <= SMALL;
        let whole = if small { self.times.small } else { self.times.body };
        let next = (began + whole).min(now + self.times.step);
        match &mut self.alarm {
            Some(alarm) => alarm.as_mut().reset(next),
            None => self.alarm = Some(Box::pin(tokio::time::sleep_until(next))),
        }
    }
}

impl hyper::body::Body for Upload {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let failed =
            |kind: io::ErrorKind| Poll::Ready(Some(Err(axum::Error::new(io::Error::from(kind)))));
        if self.body.pulse().is_evicted() {
            return failed(io::ErrorKind::ResourceBusy);
        }
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        match Pin::new(inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.body.receive(data.len());
                }
                if self.alarm.is_some() {
                    self.arm();
                }
                if self.is_end_stream() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(axum::Error::new(error)))),
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Pending => {
                if self.alarm.is_none() {
                    self.body.wait();
                    self.arm();
                }
                if self.body.pulse().poll_evicted(cx).is_ready() {
                    return failed(io::ErrorKind::ResourceBusy);
                }
                if let Some(alarm) = &mut self.alarm {
                    ready!(alarm.as_mut().poll(cx));
                }
                self.body.pulse().be_late();
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

impl Drop for Upload {
    fn drop(&mut self) {
        self.body.pulse().end_body();
        if !self.ended {
            self.body.pulse().leave_unread();
            self.body.leave(self.inner.take());
        }
    }
}

/// An answer's body: when it is through, the connection waits for the next request.
pub(crate) struct Download {
    inner: Body,
    request: Arc<RequestBody>,
}

impl Download {
    /// The body of the answer to the request with that body.
    pub(crate) fn new(inner: Body, request: Arc<RequestBody>) -> Self {
        Self { inner, request }
    }
}

impl hyper::body::Body for Download {
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

impl Drop for Download {
    fn drop(&mut self) {
        self.request.pulse().answered();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_parser_get_a_body_and_answers_of_ours_stay() {
        let bare =
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let better = explained(bare).unwrap();
        let text = std::str::from_utf8(&better).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 "), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"], "headers_too_large");
        for ours in [
            &b"HTTP/1.1 400 Bad Request\r\nx-content-type-options: nosniff\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400 of a page's text",
            b"\xff",
        ] {
            assert_eq!(explained(ours), None);
        }
    }
}
