//! Rate limits: of calls by authenticated client, and of wrong tokens by address and listener.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use super::failure_limiter::FailureLimiter;
use super::{HttpError, Side, auth};
use brain_config::Rate;

/// Maximum uses of wrong tokens of one prefix, from one address on one listener, within
/// [`WRONG_TOKEN_WINDOW_MS`].
const MAX_WRONG_TOKENS: usize = 100;
/// The window of [`MAX_WRONG_TOKENS`], in milliseconds.
const WRONG_TOKEN_WINDOW_MS: i64 = 10_000;
/// The number of calls after which inactive clients are removed.
const CLEANUP_INTERVAL: u32 = 1024;

/// Counts calls by a keyed hash of the client's name.
type ClientLimiter<C> =
    RateLimiter<u64, HashMapStateStore<u64>, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The rate limits of one daemon.
pub(crate) struct RateLimits<C: Clock = DefaultClock> {
    clients: Option<ClientLimiter<C>>,
    /// Hashes names and addresses.
    keys: RandomState,
    /// The number of calls, for [`CLEANUP_INTERVAL`].
    calls: AtomicU32,
    clock: C,
    wrong_tokens: FailureLimiter,
}

impl RateLimits {
    /// Creates limits of calls for each client. With `None`, only wrong tokens are limited.
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self::with_clock(rate, DefaultClock::default())
    }
}

impl<C: Clock + Clone> RateLimits<C> {
    fn with_clock(rate: Option<Rate>, clock: C) -> Self {
        let quota = rate.and_then(|Rate { calls, seconds }| {
            let calls = NonZeroU32::new(calls)?;
            let each = Duration::from_secs(seconds).checked_div(calls.get())?;
            Some(Quota::with_period(each.max(Duration::from_nanos(1)))?.allow_burst(calls))
        });
        Self {
            clients: quota.map(|quota| RateLimiter::hashmap_with_clock(quota, clock.clone())),
            keys: RandomState::new(),
            calls: AtomicU32::new(0),
            clock,
            wrong_tokens: FailureLimiter::new(MAX_WRONG_TOKENS, WRONG_TOKEN_WINDOW_MS),
        }
    }

    /// Counts a call of the authenticated client `name`.
    ///
    /// # Errors
    /// 429 with the seconds to wait, if the limit is reached.
    pub(crate) fn check_client(&self, name: &str) -> Result<(), HttpError> {
        let Some(clients) = &self.clients else { return Ok(()) };
        if self.calls.fetch_add(1, Ordering::Relaxed) % CLEANUP_INTERVAL == CLEANUP_INTERVAL - 1 {
            clients.retain_recent();
        }
        clients.check_key(&self.keys.hash_one(name)).map_err(|early| {
            let wait = early.wait_time_from(self.clock.now());
            rate_limited(wait.as_millis().div_ceil(1000).max(1) as u64)
        })
    }

    /// Counts the use of a wrong token from an address on the listener `side`; `now` is in Unix
    /// milliseconds.
    ///
    /// # Errors
    /// 429 with the seconds to wait, if the limit is reached.
    pub(crate) fn wrong_token(
        &self,
        from: IpAddr,
        side: Side,
        token: &str,
        now: i64,
    ) -> Result<(), HttpError> {
        let name = format!("{}:{}", side.as_str(), auth::token_prefix(token));
        self.wrong_tokens.count(from, &name, now).map_err(rate_limited)
    }

    /// Returns the hash by which connections of one address or client are counted together.
    pub(crate) fn hash_of(&self, client: impl Hash) -> u64 {
        self.keys.hash_one(client)
    }
}

fn rate_limited(seconds: u64) -> HttpError {
    let unit = if seconds == 1 { "second" } else { "seconds" };
    let message = format!("too many calls in a short time; try again in {seconds} {unit}");
    HttpError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
        .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::response::IntoResponse as _;
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn retry_after(refusal: HttpError) -> String {
        assert_eq!(refusal.code(), "rate_limited");
        refusal.into_response().headers()[header::RETRY_AFTER].to_str().unwrap().to_owned()
    }

    #[test]
    fn each_client_has_its_own_rate_limit() {
        let clock = FakeRelativeClock::default();
        let limits = RateLimits::with_clock(Some(Rate { calls: 100, seconds: 10 }), clock.clone());
        for call in 0..100 {
            assert!(limits.check_client("ann").is_ok(), "{call}");
        }
        assert_eq!(retry_after(limits.check_client("ann").unwrap_err()), "1");
        assert!(limits.check_client("bob").is_ok(), "another client has its own limit");
        clock.advance(Duration::from_secs(10));
        for call in 0..100 {
            assert!(limits.check_client("ann").is_ok(), "{call}");
        }
        assert!(limits.check_client("ann").is_err());
    }

    #[test]
    fn a_refused_call_says_how_long_to_wait() {
        let limits = RateLimits::with_clock(
            Some(Rate { calls: 1, seconds: 60 }),
            FakeRelativeClock::default(),
        );
        assert!(limits.check_client("ann").is_ok());
        assert_eq!(retry_after(limits.check_client("ann").unwrap_err()), "60");
    }

    #[test]
    fn inactive_clients_are_removed() {
        let clock = FakeRelativeClock::default();
        let limits = RateLimits::with_clock(Some(Rate { calls: 2, seconds: 1 }), clock.clone());
        for name in 0..10 * CLEANUP_INTERVAL {
            clock.advance(Duration::from_millis(100));
            assert!(limits.check_client(&name.to_string()).is_ok());
        }
        assert!(limits.clients.unwrap().len() <= CLEANUP_INTERVAL as usize + 20);
    }

    #[test]
    fn without_a_rate_only_wrong_tokens_are_limited() {
        let limits = RateLimits::new(None);
        for _ in 0..1000 {
            assert!(limits.check_client("ann").is_ok());
        }
        let from = "192.0.2.1".parse().unwrap();
        for call in 0..MAX_WRONG_TOKENS {
            assert!(limits.wrong_token(from, Side::Local, "brain_pt_wrong", 0).is_ok(), "{call}");
        }
        assert_eq!(
            retry_after(limits.wrong_token(from, Side::Local, "brain_pt_wrong", 0).unwrap_err()),
            "10"
        );
        assert!(
            limits.wrong_token(from, Side::Public, "brain_pt_wrong", 0).is_ok(),
            "another listener"
        );
        assert!(
            limits.wrong_token(from, Side::Local, "brain_pt_other", 0).is_ok(),
            "another token"
        );
        assert!(
            limits.wrong_token(from, Side::Local, "brain_pt_wrong", WRONG_TOKEN_WINDOW_MS).is_ok()
        );
    }
}
