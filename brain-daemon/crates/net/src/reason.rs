//! Why requests are sent, and what the requests of one call have in common.

use std::sync::OnceLock;

use parking_lot::Mutex;
use url::Url;

/// Why a call is made. Its redirects and retries use the same value, so that the log of outgoing
/// requests joins them.
#[derive(Debug)]
pub struct Reason {
    purpose: &'static str,
    pages: Vec<u64>,
    /// The id of the first request in the log.
    first: OnceLock<u64>,
    /// Where the server has redirected the call. A retry goes there.
    moved_to: Mutex<Option<Url>>,
}

impl Reason {
    /// Returns the reason of a call that has no text of pages. `purpose` is a short name such as
    /// `tunnel`.
    #[must_use]
    pub const fn new(purpose: &'static str) -> Self {
        Self::with_pages(purpose, Vec::new())
    }

    /// Returns the reason of a call that has the text of pages with these ids.
    #[must_use]
    pub const fn with_pages(purpose: &'static str, pages: Vec<u64>) -> Self {
        Self { purpose, pages, first: OnceLock::new(), moved_to: Mutex::new(None) }
    }

    /// Returns the name of the purpose.
    #[must_use]
    pub fn purpose(&self) -> &'static str {
        self.purpose
    }

    /// Returns the ids of the pages whose text is in the call.
    #[must_use]
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// Returns the id of the call's first request, if it has begun.
    pub(super) fn first(&self) -> Option<u64> {
        self.first.get().copied()
    }

    /// Records the id of a request.
    pub(super) fn record(&self, id: u64) {
        let _ = self.first.set(id);
    }

    pub(super) fn moved_to(&self) -> Option<Url> {
        self.moved_to.lock().clone()
    }

    pub(super) fn set_moved_to(&self, url: &Url) {
        *self.moved_to.lock() = Some(url.clone());
    }
}
