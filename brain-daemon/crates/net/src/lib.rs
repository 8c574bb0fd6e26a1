//! Calls that go out over HTTP: to addresses that a stranger named, by narrow rules, and to addresses that the owner named.
//!
//! Only this room names reqwest and rustls. It knows pages, clients and protocols as little as the rooms beside it (store, search,
//! files). Nothing is here before the first call: each call has a client of its own, which is gone with it, and a link has one that it
//! keeps.
//!
//! Everything here blocks the thread that calls, for a bounded time; only [`Link::follow`] may last. It must never be called on a thread
//! that runs async tasks: each call drives a small runtime of its own, and tokio refuses a runtime within a runtime.
//!
//! `address.rs` says which addresses are public, `document.rs` has the rules for strangers' addresses, `web.rs` reads web pages by them,
//! `download.rs` brings large files. `client.rs` has what goes out, `way.rs` one request and its answer, `link.rs` a link that lasts, `trouble.rs` says in words what went
//! wrong.

mod address;
mod client;
mod document;
mod download;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod download_tests;
#[doc(hidden)]
#[allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]
pub mod fake;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod kept_tests;
mod link;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod link_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod trouble;
mod way;
mod web;

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use brain_protocol::Secret;
use url::Url;

pub use client::Client;
pub use trouble::{Tls, Trouble};

/// Finds the addresses of a name. May block.
pub trait Resolver: Send + Sync {
    /// Every address of `host`.
    ///
    /// # Errors
    /// When it has none, or nobody can tell.
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}

/// Whether `url` is one that [`Outgoing::document`] would try to read at all. Pure.
///
/// # Errors
/// [`Trouble::Address`].
pub fn check_document_address(url: &str) -> Result<(), Trouble> {
    document::check(&document::Rules::STRICT, url).map(drop)
}

/// What goes out. Every function blocks, and must not be called on a thread that runs async tasks. Whatever serves a part of it only refuses
/// the rest.
pub trait Outgoing: Send + Sync {
    /// Reads the JSON document at an address that a stranger named: `https` at port 443 of a name whose addresses are all public,
    /// looked up once; without redirects, cookies or a proxy; at most 64 KiB, within 5 seconds.
    ///
    /// # Errors
    /// Why there is none.
    fn document(&self, _url: &str) -> Result<Document, Trouble> {
        Err(Trouble::Refused)
    }

    /// Sends a request to an address that the owner named, and reads the answer whatever its status: without redirects, cookies
    /// or a proxy; at most 1 MiB, within 10 seconds, which is how long clients wait.
    ///
    /// # Errors
    /// Why there is no answer.
    fn call(&self, _call: &Call<'_>) -> Result<Answer, Trouble> {
        Err(Trouble::Refused)
    }

    /// Reads the web page at an address that a stranger named: `http` or `https` at its usual port, of a name whose addresses are all
    /// public, looked up once; at most three redirects, each held to the same; no cookies; at most 2 MiB, within 15 seconds.
    ///
    /// # Errors
    /// Why there is none.
    fn web_page(&self, _url: &str) -> Result<WebPage, Trouble> {
        Err(Trouble::Refused)
    }

    /// Brings the file at a public `https` address, at its usual port, to `to`, written as it comes; at most five redirects, each held to
    /// the same; no cookies and no authorization; at most 4 GB, and never a minute without a byte. `on` hears how many bytes are there, and of
    /// how many; `false` ends it. What is cut stays in `to`, and is gone on with the next time, when it is still the same file there. Gives its
    /// length.
    ///
    /// # Errors
    /// Why it is not there.
    fn download(
        &self,
        _url: &str,
        _to: &Path,
        _on: &mut dyn FnMut(u64, Option<u64>) -> bool,
    ) -> Result<u64, DownloadTrouble> {
        Err(Trouble::Setup("no files are brought here".into()).into())
    }

    /// A link to the server of `base`, an address that the owner named: calls through it share connections. Nothing is sent yet, and
    /// nothing built.
    ///
    /// # Errors
    /// [`Trouble::Address`] when `base` is no address of a server.
    fn link(&self, _base: &Url) -> Result<Box<dyn Link>, Trouble> {
        Err(Trouble::Refused)
    }
}

/// A link to one server that the owner named. Its functions block, and must not be called on a thread that runs async tasks.
pub trait Link: Send + Sync {
    /// As [`Outgoing::call`], to an address of this server and no other; at most 8 MiB, within 30 seconds, 10 of them to connect.
    ///
    /// # Errors
    /// Why there is no answer.
    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble>;

    /// Sends a request whose answer does not end, and hands over what comes as it comes. Ends well when the answer does, or when `part`
    /// gives `false`. `part` may call through this link meanwhile; what comes then waits. An answer whose status is not 200 is read whole
    /// and given back, and `part` gets nothing of it.
    ///
    /// # Errors
    /// Why there is no answer, or why it broke off; [`Trouble::Slow`] when nothing came for `silence`.
    fn follow(
        &self,
        call: &Call<'_>,
        silence: Duration,
        part: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble>;
}

/// What happens to an answer that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// A second went by without anything.
    Nothing,
    /// The head is there, with status 200.
    Head,
    /// The next bytes of the body, at least one.
    Bytes(&'a [u8]),
}

/// A document that a stranger's address had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What came: JSON, if its label is right.
    pub body: Vec<u8>,
    /// How long it may be kept, if the answer says so (RFC 9111 section 5.2.2).
    pub fresh: Option<Duration>,
}

/// Why a file is not there, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum DownloadTrouble {
    /// The call went wrong.
    #[error(transparent)]
    Call(#[from] Trouble),
    /// The disk did.
    #[error("it cannot be written: {0}")]
    Disk(#[from] io::Error),
    /// Whoever wanted it wants it no more.
    #[error("it was told to stop")]
    Stopped,
}

/// A web page that a stranger's address had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// Where it was found, after redirects.
    pub url: String,
    /// Its kind, in lower case, with its parameters: `text/html; charset=utf-8`.
    pub content_type: String,
    /// What came.
    pub body: Vec<u8>,
}

/// A request to an address that the owner named.
#[derive(Clone)]
pub struct Call<'a> {
    /// Where to: `http` or `https`.
    pub url: &'a Url,
    /// What to send; `None` for a `GET`, which has no body.
    pub body: Option<&'a [u8]>,
    /// Further fields of the head. What is in them is not shown by `Debug`: some services take their key in a field of their own.
    pub headers: &'a [(&'a str, &'a str)],
    /// The whole value of `Authorization`.
    pub authorization: Option<&'a Secret>,
    /// It was not the owner who named this address, but somebody at one that the owner named: it must be public then.
    pub public: bool,
    /// Whether what has come is enough: a stream of events need not end.
    pub enough: fn(&Answer) -> bool,
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        let (url, bytes) = (self.url.as_str(), self.body.map(<[u8]>::len));
        f.debug_struct("Call")
            .field("url", &url)
            .field("bytes", &bytes)
            .field("fields", &fields)
            .finish_non_exhaustive()
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its fields, with names in lower case; a value that is not UTF-8 is left out.
    pub headers: Vec<(String, String)>,
    /// Its body, or what was enough of it.
    pub body: Vec<u8>,
    /// Who sent it.
    pub from: Option<SocketAddr>,
}

impl Answer {
    /// The first value of a field, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The kind of its body, in lower case and without parameters: `application/json`.
    #[must_use]
    pub fn kind(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}
