//! A social platform as a test needs it: version 2 of the API of X, with accounts, posts, edits,
//! deletions, searches, a persistent connection, fixed rate-limit windows, and every fault that the
//! real one was seen to have. Its time is given in, so days pass at once.
//!
//! [`Platform::answer`] is all of it, without a socket; [`Served`] puts it behind one,
//! [`InProcess`] behind the daemon's own trait for what goes out. It is as strict as the real one:
//! it refuses a wrong token, an unknown parameter, a value out of bounds. And it is honest: what it
//! answers by itself is held against the platform's OpenAPI document, and a test in which an answer
//! did not fit fails.
//!
//! `world` is who wrote what, `query` the search language, `params` what may be asked, `objects`
//! what a post looks like in an answer, `answers` the endpoints, `problems` refusals, `limits` the
//! windows, `faults` what can go wrong, `schema` the document, `streaming` rules and connections,
//! `server` HTTP/1.1, `control` what scripts may do to it, `in_process` the way around sockets.

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
pub use server::Served;
pub use streaming::{Subscription, Told};
pub use world::{Account, Counts, Media, Post};

use faults::Planned;
use limits::Windows;
use streaming::Streaming;
use world::World;

/// The endpoints by which requests are counted, limited and made to fail.
pub mod endpoint {
    /// Whose token it is.
    pub const ME: &str = "/2/users/me";
    /// An account by its handle.
    pub const BY_USERNAME: &str = "/2/users/by/username/:username";
    /// What an account wrote.
    pub const TIMELINE: &str = "/2/users/:id/tweets";
    /// What mentions an account.
    pub const MENTIONS: &str = "/2/users/:id/mentions";
    /// Search of the last seven days.
    pub const SEARCH: &str = "/2/tweets/search/recent";
    /// One post.
    pub const LOOKUP: &str = "/2/tweets/:id";
    /// Several posts.
    pub const LOOKUPS: &str = "/2/tweets";
    /// The rules of the persistent connection.
    pub const RULES: &str = "/2/tweets/search/stream/rules";
    /// Changing them.
    pub const CHANGE_RULES: &str = "POST /2/tweets/search/stream/rules";
    /// The persistent connection.
    pub const STREAM: &str = "/2/tweets/search/stream";
}

/// The bearer token of an app. Long, so that it is found wherever it leaks to.
pub const APP_TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAFAKEAPPBEARERxyzzy0123456789abcdef";
/// The bearer token of a user, who is the first account that was made.
pub const USER_TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAFAKEUSERBEARERplugh0123456789abcdef";

/// Where the time comes from, in Unix milliseconds.
#[derive(Debug, Clone)]
pub enum Time {
    /// The machine.
    System,
    /// A test.
    Virtual(Arc<AtomicI64>),
}

impl Time {
    /// A time that stands at `now` until it is turned.
    #[must_use]
    pub fn at(now: i64) -> Self {
        Self::Virtual(Arc::new(AtomicI64::new(now)))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> i64 {
        match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_millis() as i64),
            Self::Virtual(at) => at.load(Ordering::SeqCst),
        }
    }

    /// Lets `ms` pass. Only a test's time can be turned.
    pub fn pass(&self, ms: i64) {
        let Self::Virtual(at) = self else { panic!("the machine's time cannot be turned") };
        at.fetch_add(ms, Ordering::SeqCst);
    }
}

impl brain_base::clock::Clock for Time {
    fn now(&self) -> i64 {
        Self::now(self)
    }
}

/// What came in.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// The path, as it came.
    pub path: &'a str,
    /// The query, as it came, without `?`.
    pub query: &'a str,
    /// The value of `Authorization`.
    pub authorization: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// How an answer is brought, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As it should be.
    Usual,
    /// Not at all, while the connection stays open.
    Silence,
    /// Not at all; the connection ends.
    Close,
    /// The head, and this many bytes of the body; then the connection ends.
    Cut(usize),
    /// After this long.
    Slow(Duration),
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its fields, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body; of a persistent connection there is none.
    pub body: Vec<u8>,
    /// What a persistent connection goes on with.
    pub stream: Option<Subscription>,
    /// How it is brought.
    pub manner: Manner,
}

impl Response {
    /// A body of this kind.
    #[must_use]
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".into(), kind.into())];
        Self { status, headers, body: body.into(), stream: None, manner: Manner::Usual }
    }

    /// The value of a field.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {self:?}"))
    }
}

/// All that changes.
struct State {
    world: World,
    windows: Windows,
    streaming: Streaming,
    planned: Vec<Planned>,
    counts: BTreeMap<String, u64>,
    /// Every request, `METHOD /path?query`.
    log: Vec<String>,
    /// Problems are of `api.x.com`, as they are here and there since 2026.
    renamed: bool,
    /// Answers that do not fit the document.
    misfits: Vec<String>,
}

struct Inner {
    state: Mutex<State>,
    time: Time,
    schema: Option<&'static Schema>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let misfits = &self.state.get_mut().unwrap_or_else(PoisonError::into_inner).misfits;
        if !std::thread::panicking() {
            assert!(misfits.is_empty(), "answers that the platform would not give: {misfits:#?}");
        }
    }
}

/// The platform. Clones are the same one.
#[derive(Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

impl Platform {
    /// An empty one, with this time.
    #[must_use]
    pub fn new(time: Time) -> Self {
        let state = State {
            world: World::default(),
            windows: Windows::default(),
            streaming: Streaming::default(),
            planned: Vec::new(),
            counts: BTreeMap::new(),
            log: Vec::new(),
            renamed: false,
            misfits: Vec::new(),
        };
        Self { inner: Arc::new(Inner { state: Mutex::new(state), time, schema: Schema::shared() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its time.
    #[must_use]
    pub fn time(&self) -> &Time {
        &self.inner.time
    }

    /// How many requests came to an endpoint, refused ones included.
    #[must_use]
    pub fn count(&self, endpoint: &str) -> u64 {
        self.state().counts.get(endpoint).copied().unwrap_or(0)
    }

    /// How many requests came at all.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state().log.len() as u64
    }

    /// Every request since the last call, `METHOD /path?query`.
    #[must_use]
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.state().log)
    }

    /// The next `times` requests to an endpoint fail like this, after those that are planned
    /// already.
    pub fn fault(&self, endpoint: &str, fault: Fault, times: u64) {
        self.fault_after(endpoint, 0, fault, times);
    }

    /// As [`Platform::fault`], after `good` requests.
    pub fn fault_after(&self, endpoint: &str, good: u64, fault: Fault, times: u64) {
        self.state().planned.push(Planned { endpoint: endpoint.into(), good, fault, times });
    }

    /// The types of problems name the platform by its newer host from now on, or by the older one.
    pub fn newer_host(&self, newer: bool) {
        self.state().renamed = newer;
    }

    /// No fault any more.
    pub fn mend(&self) {
        self.state().planned.clear();
    }

    /// An endpoint lets `limit` requests through in a window from now on; a new window begins.
    pub fn limit(&self, endpoint: &str, limit: u64) {
        self.state().windows.set(endpoint, limit);
    }

    /// Requests that are left to an app at an endpoint, and when the window ends (Unix seconds).
    #[must_use]
    pub fn left(&self, endpoint: &str) -> (u64, i64) {
        let now = self.inner.time.now();
        self.state().windows.left(endpoint, true, now)
    }
}
