//! A fake social platform: version 2 of the API of X, with accounts, posts, edits, deletions,
//! searches, a persistent connection, fixed rate-limit windows, and faults that the real platform
//! has shown or may show. Tests control its clock.
//!
//! [`Platform::answer`] needs no socket; [`PlatformServer`] serves it on loopback, and
//! [`InProcess`] implements the daemon's [`HttpClient`](brain_net::HttpClient). The fake is as
//! strict as the real platform about tokens, parameters and values.
//!
//! The fake validates its responses to valid tokens, except streams, by the platform's OpenAPI
//! document before it applies planned faults. After a mismatch, dropping the platform fails the
//! test.
//!
//! - `world`: accounts and posts; `objects`: their JSON.
//! - `answers`: the endpoints; `params`: their parameters; `query`: the search language.
//! - `problems`: error bodies; `limits`: rate limits; `faults`: planned faults.
//! - `streaming`: the rules and the persistent connections.
//! - `schema`: the OpenAPI document.
//! - `server`: HTTP/1.1; `in_process`: a network without sockets; `control`: control by scripts.

mod answers;
mod control;
mod faults;
mod in_process;
mod limits;
mod objects;
mod params;
mod problems;
mod query;
mod schema;
mod server;
mod streaming;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use faults::Fault;
pub use in_process::InProcess;
pub use schema::Schema;
pub use server::PlatformServer;
pub use streaming::{StreamItem, Subscription};
pub use world::{Account, Counts, Media, Post};

use faults::PlannedFault;
use limits::Windows;
use streaming::StreamState;
use world::World;

/// Names of endpoints, for counts, limits and faults.
pub mod endpoint {
    /// The account of the token.
    pub const ME: &str = "/2/users/me";
    /// An account by its handle.
    pub const BY_USERNAME: &str = "/2/users/by/username/:username";
    /// The posts of an account.
    pub const TIMELINE: &str = "/2/users/:id/tweets";
    /// The posts that mention an account.
    pub const MENTIONS: &str = "/2/users/:id/mentions";
    /// Search of the last seven days.
    pub const SEARCH: &str = "/2/tweets/search/recent";
    /// One post.
    pub const LOOKUP: &str = "/2/tweets/:id";
    /// Several posts.
    pub const LOOKUPS: &str = "/2/tweets";
    /// The rules of the persistent connection.
    pub const RULES: &str = "/2/tweets/search/stream/rules";
    /// Changes of the rules.
    pub const CHANGE_RULES: &str = "POST /2/tweets/search/stream/rules";
    /// The persistent connection.
    pub const STREAM: &str = "/2/tweets/search/stream";
}

/// The bearer token of an app. It is long and unusual, so that leaks are found.
pub const APP_TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAFAKEAPPBEARERxyzzy0123456789abcdef";
/// The bearer token of a user, who owns the first account.
pub const USER_TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAFAKEUSERBEARERplugh0123456789abcdef";

/// A source of time in Unix milliseconds.
#[derive(Debug, Clone)]
pub enum Time {
    /// The system clock.
    System,
    /// A clock that the test controls.
    Virtual(Arc<AtomicI64>),
}

impl Time {
    /// Returns a clock that stands at `now` (Unix milliseconds) until the test advances it.
    #[must_use]
    pub fn at(now: i64) -> Self {
        Self::Virtual(Arc::new(AtomicI64::new(now)))
    }

    /// Returns the time in Unix milliseconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_millis() as i64),
            Self::Virtual(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Advances a virtual clock by `ms`.
    pub fn advance(&self, ms: i64) {
        let Self::Virtual(now) = self else { panic!("the system clock cannot be advanced") };
        now.fetch_add(ms, Ordering::SeqCst);
    }
}

impl brain_base::clock::Clock for Time {
    fn now(&self) -> i64 {
        Self::now(self)
    }
}

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// The path, not decoded.
    pub path: &'a str,
    /// The query without `?`, not decoded.
    pub query: &'a str,
    /// The value of the field `Authorization`.
    pub authorization: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// How a response is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Normally.
    Usual,
    /// No response; the connection stays open.
    Silence,
    /// No response; the connection is closed.
    Close,
    /// The head and this many bytes of the body, then the connection is closed.
    Cut(usize),
    /// After this delay.
    Slow(Duration),
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The header fields with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body; empty for a persistent connection.
    pub body: Vec<u8>,
    /// The stream of a persistent connection.
    pub stream: Option<Subscription>,
    /// The delivery.
    pub delivery: Delivery,
}

impl Response {
    /// Creates a response with a body of this content type.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".into(), content_type.into())];
        Self { status, headers, body: body.into(), stream: None, delivery: Delivery::Usual }
    }

    /// Returns the value of a header field by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {self:?}"))
    }
}

/// The mutable state of a platform.
struct State {
    world: World,
    windows: Windows,
    streaming: StreamState,
    planned: Vec<PlannedFault>,
    counts: BTreeMap<String, u64>,
    /// The requests since the last [`Platform::take_log`], as `METHOD /path?query`.
    log: Vec<String>,
    /// Whether problem types have the host `api.x.com`, as some have since 2026.
    uses_newer_host: bool,
    /// Descriptions of responses that do not match the OpenAPI document.
    mismatches: Vec<String>,
}

struct Inner {
    state: Mutex<State>,
    time: Time,
    schema: &'static Schema,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mismatches = &self.state.get_mut().unwrap_or_else(PoisonError::into_inner).mismatches;
        if !std::thread::panicking() {
            assert!(
                mismatches.is_empty(),
                "responses that do not match the API document: {mismatches:#?}"
            );
        }
    }
}

/// The platform. Clones share one state.
#[derive(Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

impl Platform {
    /// Creates an empty platform with this clock.
    #[must_use]
    pub fn new(time: Time) -> Self {
        let state = State {
            world: World::default(),
            windows: Windows::default(),
            streaming: StreamState::default(),
            planned: Vec::new(),
            counts: BTreeMap::new(),
            log: Vec::new(),
            uses_newer_host: false,
            mismatches: Vec::new(),
        };
        Self { inner: Arc::new(Inner { state: Mutex::new(state), time, schema: Schema::shared() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the clock.
    #[must_use]
    pub fn time(&self) -> &Time {
        &self.inner.time
    }

    /// Returns the number of requests to an endpoint, including refused ones.
    #[must_use]
    pub fn count(&self, endpoint: &str) -> u64 {
        self.state().counts.get(endpoint).copied().unwrap_or(0)
    }

    /// Returns the number of requests since the last [`Platform::take_log`].
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state().log.len() as u64
    }

    /// Returns the log of requests, as `METHOD /path?query`, and clears it.
    #[must_use]
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.state().log)
    }

    /// Plans `fault` for the next `times` requests to an endpoint, after the faults that are
    /// already planned for it.
    pub fn fault(&self, endpoint: &str, fault: Fault, times: u64) {
        self.fault_after(endpoint, 0, fault, times);
    }

    /// As [`Platform::fault`], after `good` requests without a fault.
    pub fn fault_after(&self, endpoint: &str, good: u64, fault: Fault, times: u64) {
        self.state().planned.push(PlannedFault { endpoint: endpoint.into(), good, fault, times });
    }

    /// Sets whether problem types have the host `api.x.com`.
    pub fn newer_host(&self, newer: bool) {
        self.state().uses_newer_host = newer;
    }

    /// Removes all planned faults.
    pub fn clear_faults(&self) {
        self.state().planned.clear();
    }

    /// Sets the limit of an endpoint, for apps and users, and begins new windows.
    pub fn limit(&self, endpoint: &str, limit: u64) {
        self.state().windows.set_limit(endpoint, limit);
    }

    /// Returns how many requests an app may still send to an endpoint in this window, and the end
    /// of the window in Unix seconds.
    #[must_use]
    pub fn remaining(&self, endpoint: &str) -> (u64, i64) {
        let now = self.inner.time.now();
        self.state().windows.remaining(endpoint, true, now)
    }
}
