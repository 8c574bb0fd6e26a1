//! Rate limits: fixed windows of 15 minutes for each endpoint and kind of token, and the header
//! fields that report them.

use std::collections::BTreeMap;

use super::{Response, endpoint as at};

/// The length of a window in milliseconds.
const WINDOW_MS: i64 = 15 * 60_000;

/// An active window.
struct Window {
    began: i64,
    used: u64,
}

/// The active windows, and limits that tests changed.
#[derive(Default)]
pub(super) struct Windows {
    active_windows: BTreeMap<(String, bool), Window>,
    test_limits: BTreeMap<String, u64>,
}

/// The state of a window after a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    pub(super) limit: u64,
    pub(super) remaining: u64,
    /// Unix seconds.
    pub(super) reset: i64,
    /// Whether the request is allowed.
    pub(super) is_allowed: bool,
}

/// Returns the documented limit of an app or a user.
fn documented_limit(endpoint: &str, app: bool) -> u64 {
    let (by_app, by_user) = match endpoint {
        at::ME => (75, 75),
        at::BY_USERNAME => (300, 900),
        at::TIMELINE => (10_000, 900),
        at::MENTIONS | at::SEARCH => (450, 300),
        at::LOOKUPS => (3500, 5000),
        at::RULES => (450, 450),
        at::CHANGE_RULES => (100, 100),
        at::STREAM => (50, 50),
        _ => (450, 900),
    };
    if app { by_app } else { by_user }
}

impl Windows {
    pub(super) fn set_limit(&mut self, endpoint: &str, limit: u64) {
        self.test_limits.insert(endpoint.into(), limit);
        self.active_windows.retain(|(name, _), _| name != endpoint);
    }

    fn limit(&self, endpoint: &str, app: bool) -> u64 {
        self.test_limits.get(endpoint).copied().unwrap_or_else(|| documented_limit(endpoint, app))
    }

    /// Counts a request in an endpoint's window.
    pub(super) fn count_request(&mut self, endpoint: &str, app: bool, now: i64) -> Allowance {
        let limit = self.limit(endpoint, app);
        let window = self
            .active_windows
            .entry((endpoint.into(), app))
            .or_insert(Window { began: now, used: 0 });
        if now - window.began >= WINDOW_MS {
            *window = Window { began: now, used: 0 };
        }
        let is_allowed = window.used < limit;
        window.used += u64::from(is_allowed);
        Allowance {
            limit,
            remaining: limit - window.used,
            reset: (window.began + WINDOW_MS).div_euclid(1000),
            is_allowed,
        }
    }

    /// Returns the remaining requests and the end of the window in Unix seconds.
    pub(super) fn remaining(&self, endpoint: &str, app: bool, now: i64) -> (u64, i64) {
        let limit = self.limit(endpoint, app);
        match self.active_windows.get(&(endpoint.into(), app)) {
            Some(window) if now - window.began < WINDOW_MS => {
                (limit - window.used, (window.began + WINDOW_MS).div_euclid(1000))
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
