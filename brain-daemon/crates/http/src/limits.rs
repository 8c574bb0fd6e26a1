//! How often a client may send: a keyed limit for clients that are known, and one for wrong tokens by
//! address, listener and beginning of the token.

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

use super::tries::Tries;
use super::{Refusal, Side, auth};

/// How often one wrong token may come from one address in [`STRANGERS_MS`].
const STRANGERS: usize = 100;
const STRANGERS_MS: i64 = 10_000;
/// After so many calls, clients that have not called for a while are forgotten.
const SWEEP: u32 = 1024;

/// Calls by client, known by a keyed hash of its name.
type Clients<C> =
    RateLimiter<u64, HashMapStateStore<u64>, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The limits of one daemon.
pub(crate) struct Limits<C: Clock = DefaultClock> {
    clients: Option<Clients<C>>,
    keys: RandomState,
    calls: AtomicU32,
    clock: C,
    strangers: Tries,
}

impl Limits {
    /// So many calls of one client in so many seconds; `None`: no limit for those who are known.
    pub(crate) fn new(rate: Option<(u32, u64)>) -> Self {
        Self::with_clock(rate, DefaultClock::default())
    }
}

impl<C: Clock + Clone> Limits<C> {
    fn with_clock(rate: Option<(u32, u64)>, clock: C) -> Self {
        let quota = rate.and_then(|(calls, seconds)| {
            let calls = NonZeroU32::new(calls)?;
            let each = Duration::from_secs(seconds).checked_div(calls.get())?;
            Some(Quota::with_period(each.max(Duration::from_nanos(1)))?.allow_burst(calls))
        });
        Self {
            clients: quota.map(|quota| RateLimiter::hashmap_with_clock(quota, clock.clone())),
            keys: RandomState::new(),
            calls: AtomicU32::new(0),
            clock,
            strangers: Tries::new(STRANGERS, STRANGERS_MS),
        }
    }

    /// Counts a call of a client that is known by `name`.
    ///
    /// # Errors
    /// 429 with the seconds to wait.
    pub(crate) fn client(&self, name: &str) -> Result<(), Refusal> {
        let Some(clients) = &self.clients else { return Ok(()) };
        if self.calls.fetch_add(1, Ordering::Relaxed) % SWEEP == SWEEP - 1 {
            clients.retain_recent();
        }
        clients.check_key(&self.keys.hash_one(name)).map_err(|early| {
            let wait = early.wait_time_from(self.clock.now());
            limited(wait.as_millis().div_ceil(1000).max(1) as u64)
        })
    }

    /// Counts a wrong token from an address that came in by `side`.
    ///
    /// # Errors
    /// 429 with the seconds to wait.
    pub(crate) fn stranger(
        &self,
        from: IpAddr,
        side: Side,
        token: &str,
        now: i64,
    ) -> Result<(), Refusal> {
        let name = format!("{}:{}", side.as_str(), auth::beginning(token));
        self.strangers.count(from, &name, now).map_err(limited)
    }

    /// The hash by which connections of one address, or of one client, are counted together.
    pub(crate) fn hash_of(&self, client: impl Hash) -> u64 {
        self.keys.hash_one(client)
    }
}

fn limited(seconds: u64) -> Refusal {
    let unit = if seconds == 1 { "second" } else { "seconds" };
    let message = format!("too many calls in a short time; try again in {seconds} {unit}");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
        .with(header::RETRY_AFTER, HeaderValue::from(seconds))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::response::IntoResponse as _;
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn wait(refusal: Refusal) -> String {
        assert_eq!(refusal.error(), "rate_limited");
        refusal.into_response().headers()[header::RETRY_AFTER].to_str().unwrap().to_owned()
    }

    #[test]
    fn each_client_has_its_own_hundred_in_ten_seconds() {
        let clock = FakeRelativeClock::default();
        let limits = Limits::with_clock(Some((100, 10)), clock.clone());
        for call in 0..100 {
            assert!(limits.client("ann").is_ok(), "{call}");
        }
        assert_eq!(wait(limits.client("ann").unwrap_err()), "1");
        assert!(limits.client("bob").is_ok(), "another client is another matter");
        clock.advance(Duration::from_secs(10));
        for call in 0..100 {
            assert!(limits.client("ann").is_ok(), "{call}");
        }
        assert!(limits.client("ann").is_err());
    }

    #[test]
    fn a_slow_rate_says_how_long_to_wait() {
        let limits = Limits::with_clock(Some((1, 60)), FakeRelativeClock::default());
        assert!(limits.client("ann").is_ok());
        assert_eq!(wait(limits.client("ann").unwrap_err()), "60");
    }

    #[test]
    fn clients_that_are_gone_are_forgotten() {
        let clock = FakeRelativeClock::default();
        let limits = Limits::with_clock(Some((2, 1)), clock.clone());
        for name in 0..10 * SWEEP {
            clock.advance(Duration::from_millis(100));
            assert!(limits.client(&name.to_string()).is_ok());
        }
        assert!(limits.clients.unwrap().len() <= SWEEP as usize + 20);
    }

    #[test]
    fn without_a_rate_only_strangers_are_limited() {
        let limits = Limits::new(None);
        for _ in 0..1000 {
            assert!(limits.client("ann").is_ok());
        }
        let from = "192.0.2.1".parse().unwrap();
        for call in 0..STRANGERS {
            assert!(limits.stranger(from, Side::Local, "brain_pt_wrong", 0).is_ok(), "{call}");
        }
        assert_eq!(
            wait(limits.stranger(from, Side::Local, "brain_pt_wrong", 0).unwrap_err()),
            "10"
        );
        assert!(
            limits.stranger(from, Side::Public, "brain_pt_wrong", 0).is_ok(),
            "another listener"
        );
        assert!(limits.stranger(from, Side::Local, "brain_pt_other", 0).is_ok(), "another token");
        assert!(limits.stranger(from, Side::Local, "brain_pt_wrong", STRANGERS_MS).is_ok());
    }
}
