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
use brain_protocol::Scope;

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
    reads: CallLimiter<C>,
    writes: CallLimiter<C>,
    /// Hashes names and addresses.
    keys: RandomState,
    wrong_tokens: FailureLimiter,
}

/// A limit of calls for each client.
struct CallLimiter<C: Clock> {
    clients: Option<ClientLimiter<C>>,
    /// The number of calls, for [`CLEANUP_INTERVAL`].
    calls: AtomicU32,
    clock: C,
}

impl RateLimits {
    /// Creates limits of reading and writing calls for each client; `None` is no limit.
    pub(crate) fn new(reads: Option<Rate>, writes: Option<Rate>) -> Self {
        Self::with_clock(reads, writes, DefaultClock::default())
    }
}

impl<C: Clock + Clone> RateLimits<C> {
    fn with_clock(reads: Option<Rate>, writes: Option<Rate>, clock: C) -> Self {
        Self {
            reads: CallLimiter::new(reads, clock.clone()),
            writes: CallLimiter::new(writes, clock),
            keys: RandomState::new(),
            wrong_tokens: FailureLimiter::new(MAX_WRONG_TOKENS, WRONG_TOKEN_WINDOW_MS),
        }
    }

    /// Counts a call of the authenticated client `name` that needs `scope`.
    ///
    /// # Errors
    /// 429 with the seconds to wait, if the limit is reached.
    pub(crate) fn check_client(&self, name: &str, scope: Scope) -> Result<(), HttpError> {
        let limiter = if scope == Scope::Read { &self.reads } else { &self.writes };
        limiter.check(self.keys.hash_one(name))
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

impl<C: Clock + Clone> CallLimiter<C> {
    fn new(rate: Option<Rate>, clock: C) -> Self {
        let quota = rate.and_then(|Rate { calls, seconds }| {
            let calls = NonZeroU32::new(calls)?;
            let each = Duration::from_secs(seconds).checked_div(calls.get())?;
            Some(Quota::with_period(each.max(Duration::from_nanos(1)))?.allow_burst(calls))
        });
        let clients = quota.map(|quota| RateLimiter::hashmap_with_clock(quota, clock.clone()));
        Self { clients, calls: AtomicU32::new(0), clock }
    }

    fn check(&self, client: u64) -> Result<(), HttpError> {
        let Some(clients) = &self.clients else { return Ok(()) };
        if self.calls.fetch_add(1, Ordering::Relaxed) % CLEANUP_INTERVAL == CLEANUP_INTERVAL - 1 {
            clients.retain_recent();
        }
        clients.check_key(&client).map_err(|early| {
            let wait = early.wait_time_from(self.clock.now());
            rate_limited(wait.as_millis().div_ceil(1000).max(1) as u64)
        })
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
        let limits =
            RateLimits::with_clock(None, Some(Rate { calls: 100, seconds: 10 }), clock.clone());
        for call in 0..100 {
            assert!(limits.check_client("ann", Scope::Write).is_ok(), "{call}");
        }
        assert_eq!(retry_after(limits.check_client("ann", Scope::Write).unwrap_err()), "1");
        assert!(
            limits.check_client("bob", Scope::Write).is_ok(),
            "another client has its own limit"
        );
        clock.advance(Duration::from_secs(10));
        for call in 0..100 {
            assert!(limits.check_client("ann", Scope::Write).is_ok(), "{call}");
        }
        assert!(limits.check_client("ann", Scope::Write).is_err());
    }

    #[test]
    fn reads_do_not_count_as_writes() {
        let (one, two) = (Rate { calls: 1, seconds: 60 }, Rate { calls: 2, seconds: 60 });
        let limits = RateLimits::with_clock(Some(two), Some(one), FakeRelativeClock::default());
        let is_admitted = |scope| limits.check_client("ann", scope).is_ok();
        assert!(is_admitted(Scope::Read) && is_admitted(Scope::Write) && is_admitted(Scope::Read));
        assert!(!is_admitted(Scope::Read) && !is_admitted(Scope::Write));
    }

    #[test]
    fn a_refused_call_says_how_long_to_wait() {
        let limits = RateLimits::with_clock(
            None,
            Some(Rate { calls: 1, seconds: 60 }),
            FakeRelativeClock::default(),
        );
        assert!(limits.check_client("ann", Scope::Write).is_ok());
        assert_eq!(retry_after(limits.check_client("ann", Scope::Write).unwrap_err()), "60");
    }

    #[test]
    fn inactive_clients_are_removed() {
        let clock = FakeRelativeClock::default();
        let limits =
            RateLimits::with_clock(None, Some(Rate { calls: 2, seconds: 1 }), clock.clone());
        for name in 0..10 * CLEANUP_INTERVAL {
            clock.advance(Duration::from_millis(100));
            assert!(limits.check_client(&name.to_string(), Scope::Write).is_ok());
        }
        assert!(limits.writes.clients.unwrap().len() <= CLEANUP_INTERVAL as usize + 20);
    }

    #[test]
    fn without_a_rate_only_wrong_tokens_are_limited() {
        let limits = RateLimits::new(None, None);
        for _ in 0..1000 {
            assert!(limits.check_client("ann", Scope::Write).is_ok());
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
