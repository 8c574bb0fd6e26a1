//! Outgoing HTTP requests: to untrusted addresses by strict rules, and to configured addresses.
//!
//! Only this crate names reqwest and rustls. It knows neither pages nor clients nor features. Each
//! request uses a new client; only a [`RetryingClient`] keeps connections.
//!
//! All functions that send a request block the calling thread: for a bounded time, except
//! [`HttpClient::download`] and [`RetryingClient::stream`]. They must not be called on a thread
//! that runs async tasks: each request drives its own small runtime, and tokio refuses a runtime
//! within a runtime.
//!
//! `address` distinguishes public addresses from others. `document` has the rules for untrusted
//! addresses, `web_page` reads pages by them, and `download` fetches large files. `client` sets the
//! limits of each kind of request, `request` sends one, and `retrying_client` keeps connections.
//!
//! Every request is in the log of outgoing requests before it is sent. reqwest follows no redirect
//! and repeats nothing by itself: this crate does, and records each step.

mod address;
mod client;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod connection_reuse_tests;
mod document;
mod download;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod download_tests;
mod error;
mod reason;
mod recording;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod recording_tests;
mod redirect;
mod request;
mod retrying_client;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod retrying_client_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod web_page;

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brain_base::outgoing::OutgoingLog;
use brain_protocol::Secret;
use url::Url;

pub use client::Client;
pub use error::{Error, TlsError};
pub use reason::Reason;

/// Resolves host names. May block.
pub trait Resolver: Send + Sync {
    /// Returns every address of `host`.
    ///
    /// # Errors
    /// When the name does not exist, or no name server answers.
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}

/// Checks whether [`HttpClient::document`] accepts `url`. No I/O.
///
/// # Errors
/// [`Error::InvalidAddress`] when it does not.
pub fn check_document_address(url: &str) -> Result<(), Error> {
    document::check(&document::Rules::STRICT, url).map(drop)
}

/// Sends HTTP requests. The functions that send block, and must not be called on a thread that runs
/// async tasks. The default implementations return an error.
pub trait HttpClient: Send + Sync {
    /// Sets the log in which requests are recorded before they are sent. Called once, before the
    /// first request.
    fn set_log(&self, _log: Arc<dyn OutgoingLog>) {}

    /// Fetches the JSON document at an untrusted address.
    ///
    /// The address must be `https` at port 443, and all addresses of its host public; the name is
    /// resolved once. No redirects, cookies or proxy; at most 64 KiB, within 5 seconds.
    ///
    /// # Errors
    /// Any [`Error`].
    fn document(&self, _url: &str) -> Result<FetchedDocument, Error> {
        Err(Error::ConnectionRefused)
    }

    /// Sends a request to a configured address. Returns responses of any status.
    ///
    /// No redirects, cookies or proxy; at most 1 MiB, within 10 seconds.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::Status`] and [`Error::NotJson`].
    fn call(&self, _call: &HttpRequest<'_>) -> Result<HttpResponse, Error> {
        Err(Error::ConnectionRefused)
    }

    /// Fetches the web page at an untrusted address.
    ///
    /// The address must be `http` or `https` at its default port, and all addresses of its host
    /// public; the name is resolved once. At most three redirects, each checked in the same way.
    /// No cookies; at most 2 MiB, within 15 seconds.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::NotJson`].
    fn web_page(&self, _url: &str) -> Result<WebPage, Error> {
        Err(Error::ConnectionRefused)
    }

    /// Downloads the file at a public `https` address to `to`, and returns its length in bytes.
    ///
    /// At most five redirects, each to a public `https` address; no cookies and no authorization;
    /// at most 4 GiB, and never a minute without a byte. `on_progress` gets the number of bytes
    /// received and the total, if known; it returns `false` to stop. An interrupted download stays
    /// in `to`. The next call resumes it if the server still has the same file.
    ///
    /// # Errors
    /// [`DownloadError`] when the request or the disk fails, or `on_progress` stops the download.
    fn download(
        &self,
        _url: &str,
        _to: &Path,
        _on_progress: &mut dyn FnMut(u64, Option<u64>) -> bool,
    ) -> Result<u64, DownloadError> {
        Err(Error::Setup("downloads are not available here".into()).into())
    }

    /// Creates a client for the configured server of `base` that reuses connections. Sends nothing.
    ///
    /// # Errors
    /// [`Error::InvalidAddress`] when `base` is not the address of a server.
    fn retrying_client(&self, _base: &Url) -> Result<Box<dyn RetryingClient>, Error> {
        Err(Error::ConnectionRefused)
    }
}

/// A client of one configured server that reuses connections. It repeats requests that fail because
/// the server has closed a reused connection.
///
/// Its functions block, and must not be called on a thread that runs async tasks.
pub trait RetryingClient: Send + Sync {
    /// Sends a request like [`HttpClient::call`], to this server only; at most 8 MiB, within 30
    /// seconds, 10 of them to connect.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::Status`] and [`Error::NotJson`].
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, Error>;

    /// Sends a request, and passes an endless response to `on_event` as it arrives.
    ///
    /// Returns when the response ends or `on_event` returns `false`. `on_event` may send requests
    /// through this client meanwhile. A response whose status is not 200 is read whole and
    /// returned, without events.
    ///
    /// Follows up to three redirects with the status 307 or 308. Another server gets no
    /// authorization, and no other header than `content-type` and `accept`.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::Status`] and [`Error::NotJson`]; [`Error::Timeout`] when no byte
    /// arrives for `idle_timeout`.
    fn stream(
        &self,
        call: &HttpRequest<'_>,
        idle_timeout: Duration,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, Error>;
}

/// An event of a streamed response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// A second passed without data.
    Idle,
    /// The headers have arrived, with status 200.
    Head,
    /// The next bytes of the body, at least one.
    Bytes(&'a [u8]),
}

/// A document from an untrusted address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDocument {
    /// The body. Its media type is JSON; its content is not checked.
    pub body: Vec<u8>,
    /// How long it may be cached, if the response says so (RFC 9111 section 5.2.2).
    pub max_age: Option<Duration>,
}

/// Why a download is not complete.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Error),
    /// The file could not be written.
    #[error("the file cannot be written: {0}")]
    Disk(#[from] io::Error),
    /// The caller stopped the download.
    #[error("the download was stopped")]
    Stopped,
}

/// A web page from an untrusted address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// The address of the page, after redirects.
    pub url: String,
    /// The media type in lower case, with parameters: `text/html; charset=utf-8`.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A request.
#[derive(Clone)]
pub struct HttpRequest<'a> {
    /// The address: `http` or `https`.
    pub url: &'a Url,
    /// The body of a `POST`; `None` for a `GET`.
    pub body: Option<&'a [u8]>,
    /// Further headers. `Debug` hides their values: some services expect their key in one.
    pub headers: &'a [(&'a str, &'a str)],
    /// The value of `Authorization`.
    pub authorization: Option<&'a Secret>,
    /// Whether the address must be public, because another server named it and not the owner.
    pub must_be_public: bool,
    /// Why the request is sent.
    pub reason: &'a Reason,
    /// Decides whether a response is complete before its end, as an event stream may be.
    pub is_complete: fn(&HttpResponse) -> bool,
}

impl std::fmt::Debug for HttpRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        let (url, bytes) = (self.url.as_str(), self.body.map(<[u8]>::len));
        f.debug_struct("HttpRequest")
            .field("url", &url)
            .field("bytes", &bytes)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Headers, with names in lower case. Values that are not UTF-8 are left out.
    pub headers: Vec<(String, String)>,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
    /// The address of the server.
    pub server_address: Option<SocketAddr>,
}

impl HttpResponse {
    /// Returns the first value of a header. `name` is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the media type in lower case, without parameters: `application/json`.
    #[must_use]
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}
