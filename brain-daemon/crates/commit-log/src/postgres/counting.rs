//! Counts the bytes of a connection, for the log of outgoing requests.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use brain_base::outgoing::{OpenRequest, OutgoingLog, OutgoingRequest};
use brain_protocol::{LeftKind, LeftOutcome};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

/// Bytes of a connection so far.
#[derive(Debug, Default)]
pub(super) struct ByteCounts {
    sent: AtomicU64,
    received: AtomicU64,
}

/// A connection in the log of outgoing requests. Dropping it records its end.
pub(super) struct RecordedConnection {
    open: OpenRequest,
    counts: Arc<ByteCounts>,
}

impl RecordedConnection {
    /// Records that a connection is about to be made.
    ///
    /// # Errors
    /// When it cannot be recorded. It must not be made then.
    pub(super) fn begin(log: &Arc<dyn OutgoingLog>, host: &str, port: u16) -> io::Result<Self> {
        let request = OutgoingRequest {
            kind: LeftKind::Connection,
            call: None,
            host,
            port,
            method: "",
            purpose: "shared log",
            pages: &[],
        };
        Ok(Self { open: OpenRequest::begin(log, &request)?, counts: Arc::default() })
    }

    /// Returns the counts of the connection.
    pub(super) fn counts(&self) -> Arc<ByteCounts> {
        Arc::clone(&self.counts)
    }
}

impl Drop for RecordedConnection {
    fn drop(&mut self) {
        let end = &mut self.open.end;
        end.sent = self.counts.sent.load(Ordering::Relaxed);
        end.received = self.counts.received.load(Ordering::Relaxed);
        end.outcome = match end.sent {
            0 => LeftOutcome::NotSent,
            _ => LeftOutcome::Ended,
        };
    }
}

/// A stream that counts its bytes.
pub(super) struct CountingStream<S> {
    stream: S,
    counts: Arc<ByteCounts>,
}

impl<S: AsyncRead + Unpin> AsyncRead for CountingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        self.counts.received.fetch_add(bytes as u64, Ordering::Relaxed);
        read
    }
}

impl<S: AsyncWrite + Unpin> CountingStream<S> {
    fn count_sent(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.counts.sent.fetch_add(*bytes as u64, Ordering::Relaxed);
        }
        written
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountingStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count_sent(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.count_sent(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl TlsStream for CountingStream<Socket> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

/// TLS over a stream that counts its bytes.
#[derive(Clone)]
pub(super) struct CountingTls<T> {
    pub(super) tls: T,
    pub(super) counts: Arc<ByteCounts>,
}

impl<T: MakeTlsConnect<CountingStream<Socket>>> MakeTlsConnect<Socket> for CountingTls<T> {
    type Stream = T::Stream;
    type TlsConnect = CountingTls<T::TlsConnect>;
    type Error = T::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self::TlsConnect, Self::Error> {
        let tls = self.tls.make_tls_connect(domain)?;
        Ok(CountingTls { tls, counts: Arc::clone(&self.counts) })
    }
}

impl<T: TlsConnect<CountingStream<Socket>>> TlsConnect<Socket> for CountingTls<T> {
    type Stream = T::Stream;
    type Error = T::Error;
    type Future = T::Future;

    fn connect(self, stream: Socket) -> Self::Future {
        self.tls.connect(CountingStream { stream, counts: self.counts })
    }
}

/// No TLS. The driver passes it a connection only in the mode of direct negotiation.
#[derive(Clone, Copy)]
pub(super) struct PlainStream;

impl MakeTlsConnect<CountingStream<Socket>> for PlainStream {
    type Stream = CountingStream<Socket>;
    type TlsConnect = Self;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<Self> {
        Ok(Self)
    }
}

impl TlsConnect<CountingStream<Socket>> for PlainStream {
    type Stream = CountingStream<Socket>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Self::Stream>>;

    fn connect(self, stream: CountingStream<Socket>) -> Self::Future {
        std::future::ready(Ok(stream))
    }
}
