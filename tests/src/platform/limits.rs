//! Rate limits: fixed windows of 15 minutes for each endpoint and kind of token, and the header
//! fields that report them.

use std::collections::BTreeMap;

use super::{Response, endpoint};

/// The length of a window in milliseconds.
const WINDOW_MS: i64 = 15 * 60_000;

/// A window.
struct Window {
    /// Unix milliseconds.
    start: i64,
    /// The number of requests that the window allowed so far.
    used: u64,
}

/// The latest window of each endpoint, and limits that tests changed.
#[derive(Default)]
pub(super) struct Windows {
    /// By endpoint, and by whether the token is an app's.
    latest_windows: BTreeMap<(String, bool), Window>,
    /// By endpoint.
    test_limits: BTreeMap<String, u64>,
}

/// The state of a window after a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// The number of requests that one window allows.
    pub(super) limit: u64,
    /// The number of requests that this window still allows.
    pub(super) remaining: u64,
    /// The end of the window in Unix seconds.
    pub(super) reset: i64,
    /// Whether the request is allowed.
    pub(super) is_allowed: bool,
}

/// Returns the documented number of requests in a window, for an app or for a user.
fn documented_limit(endpoint: &str, app: bool) -> u64 {
    let (by_app, by_user) = match endpoint {
        endpoint::ME => (75, 75),
        endpoint::BY_USERNAME => (300, 900),
        endpoint::TIMELINE => (10_000, 900),
        endpoint::MENTIONS | endpoint::SEARCH => (450, 300),
        endpoint::LOOKUPS => (3500, 5000),
        endpoint::RULES => (450, 450),
        endpoint::CHANGE_RULES => (100, 100),
        endpoint::STREAM => (50, 50),
        _ => (450, 900),
    };
    if app { by_app } else { by_user }
}

impl Windows {
    /// Sets the limit of an endpoint for all tokens and begins new windows.
    pub(super) fn set_limit(&mut self, endpoint: &str, limit: u64) {
        self.test_limits.insert(endpoint.into(), limit);
        self.latest_windows.retain(|(name, _), _| name != endpoint);
    }

    fn limit(&self, endpoint: &str, app: bool) -> u64 {
        self.test_limits.get(endpoint).copied().unwrap_or_else(|| documented_limit(endpoint, app))
    }

    /// Counts a request, if the window allows it.
    pub(super) fn count_request(&mut self, endpoint: &str, app: bool, now: i64) -> Allowance {
        let limit = self.limit(endpoint, app);
        let window = self
            .latest_windows
            .entry((endpoint.into(), app))
            .or_insert(Window { start: now, used: 0 });
        if now - window.start >= WINDOW_MS {
            *window = Window { start: now, used: 0 };
        }
        let is_allowed = window.used < limit;
        window.used += u64::from(is_allowed);
        Allowance {
            limit,
            remaining: limit - window.used,
            reset: (window.start + WINDOW_MS).div_euclid(1000),
            is_allowed,
        }
    }

    /// Returns the remaining requests and the end of the window in Unix seconds.
    pub(super) fn remaining(&self, endpoint: &str, app: bool, now: i64) -> (u64, i64) {
        let limit = self.limit(endpoint, app);
        match self.latest_windows.get(&(endpoint.into(), app)) {
            Some(window) if now - window.start < WINDOW_MS => {
                (limit - window.used, (window.start + WINDOW_MS).div_euclid(1000))
            }
            _ => (limit, (now + WINDOW_MS).div_euclid(1000)),
        }
    }
}

impl Allowance {
    /// Adds the rate-limit fields to a response.
    pub(super) fn add_to(&self, answer: &mut Response) {
        let fields = [
            ("x-rate-limit-limit", self.limit.to_string()),
            ("x-rate-limit-remaining", self.remaining.to_string()),
            ("x-rate-limit-reset", self.reset.to_string()),
            ("x-access-level", "read".to_owned()),
        ];
        for (name, value) in fields {
            answer.headers.retain(|(known, _)| known != name);
            answer.headers.push((name.into(), value));
        }
    }
}
