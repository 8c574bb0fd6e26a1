//! Limits failed logins, failed uses of tokens, and registrations, by address and name.
//!
//! Of logins and tokens, only failures are counted, so others never lock out a client with a valid
//! token or secret. Memory is bounded. Knows no endpoint and reads no clock.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

/// Maximum number of keys. A new key then replaces the least recently used one.
const MAX_KEYS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// A minute in milliseconds.
const MINUTE_MS: i64 = 60 * 1000;
/// Failures are counted by address and a keyed hash of the client's name.
type FailureKey = (IpAddr, u64);

/// The failures of one listener, by kind.
pub(crate) struct FailureLimits {
    /// Wrong admin tokens in the login form, by address.
    pub(crate) logins: FailureLimiter,
    /// Wrong client secrets, codes and refresh tokens, by address and client.
    pub(crate) tokens: FailureLimiter,
    /// Wrong client secrets, codes and refresh tokens, by address alone, against attackers that
    /// vary the client. The limit is higher, because several programs may share an address.
    pub(crate) addresses: FailureLimiter,
    /// Attempts of clients to register, by address.
    pub(crate) registrations: FailureLimiter,
}

impl Default for FailureLimits {
    fn default() -> Self {
        Self {
            logins: FailureLimiter::new(10, MINUTE_MS),
            tokens: FailureLimiter::new(50, 15 * MINUTE_MS),
            addresses: FailureLimiter::new(500, 15 * MINUTE_MS),
            registrations: FailureLimiter::new(50, 60 * MINUTE_MS),
        }
    }
}

/// Limits failures (or attempts) of one kind.
pub(crate) struct FailureLimiter {
    max: usize,
    window_ms: i64,
    /// Hashes names.
    names: RandomState,
    /// The times of failures, in Unix milliseconds.
    failures: Mutex<LruCache<FailureKey, VecDeque<i64>>>,
}

impl FailureLimiter {
    /// Creates a limiter for `max` failures within `window_ms` milliseconds.
    pub(crate) fn new(max: usize, window_ms: i64) -> Self {
        let failures = Mutex::new(LruCache::new(MAX_KEYS));
        Self { max, window_ms, names: RandomState::new(), failures }
    }

    /// Counts a failure of `name` from this address at `now` (Unix milliseconds). With an empty
    /// name, all failures of the address count together.
    ///
    /// # Errors
    /// The seconds to wait, when the limit is reached.
    pub(crate) fn count(&self, from: IpAddr, name: &str, now: i64) -> Result<(), u64> {
        let key = (address_prefix(from), self.names.hash_one(name));
        let mut failures = self.lock();
        let times = failures.get_or_insert_mut(key, VecDeque::new);
        // A time in the future, after the clock was set back, does not count.
        times.retain(|at| (0..self.window_ms).contains(&(now - at)));
        if times.len() >= self.max {
            let oldest = times.front();
            let wait_ms = oldest.map_or(self.window_ms, |oldest| oldest + self.window_ms - now);
            return Err(u64::try_from(wait_ms).unwrap_or_default().div_ceil(1000).max(1));
        }
        times.push_back(now);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<FailureKey, VecDeque<i64>>> {
        self.failures.lock()
    }
}

/// Returns the part of an address that stands for one customer: an IPv4 address, or a /64 of IPv6.
pub(super) fn address_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn failures_count_by_address_within_the_window() {
        let (limiter, ann, bob) =
            (FailureLimiter::new(2, 60_000), address("192.0.2.1"), address("192.0.2.2"));
        assert_eq!(limiter.count(ann, "", 0), Ok(()));
        assert_eq!(limiter.count(ann, "", 10_000), Ok(()));
        assert_eq!(limiter.count(ann, "", 10_500), Err(50), "the first one ends at 60 s");
        assert_eq!(limiter.count(ann, "", 59_999), Err(1));
        assert_eq!(limiter.count(bob, "", 10_500), Ok(()), "another address has its own limit");
        assert_eq!(limiter.count(ann, "", 60_000), Ok(()));
        assert_eq!(limiter.count(ann, "", 60_000), Err(10));
    }

    #[test]
    fn failures_count_by_name() {
        let (limiter, ann) = (FailureLimiter::new(1, 60_000), address("192.0.2.1"));
        assert_eq!(limiter.count(ann, "phone", 0), Ok(()));
        assert_eq!(limiter.count(ann, "phone", 0), Err(60));
        assert_eq!(limiter.count(ann, "laptop", 0), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let (limiter, ann) = (FailureLimiter::new(1, 60_000), address("192.0.2.1"));
        assert_eq!(limiter.count(ann, "", 1_000_000), Ok(()));
        assert_eq!(limiter.count(ann, "", 0), Ok(()));
    }

    #[test]
    fn failures_count_by_ipv6_prefix() {
        let limiter = FailureLimiter::new(1, 60_000);
        assert_eq!(limiter.count(address("2001:db8::1"), "", 0), Ok(()));
        assert_eq!(limiter.count(address("2001:db8::2"), "", 0), Err(60));
        assert_eq!(limiter.count(address("2001:db8:0:1::2"), "", 0), Ok(()));
        assert_eq!(limiter.count(address("::ffff:192.0.2.1"), "", 0), Ok(()));
        assert_eq!(
            limiter.count(address("192.0.2.1"), "", 0),
            Err(60),
            "the same address in another notation"
        );
    }
}
