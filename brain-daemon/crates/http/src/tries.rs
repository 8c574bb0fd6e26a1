//! Counts failures by address and name, in a bounded memory. Knows no endpoint, and is told the time.
//!
//! A right token or secret is never asked about here: only the answer to a wrong one changes, from
//! "wrong" to "too often". So nobody locks anybody else out.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// Whoever is remembered; beyond, the one that was not seen for the longest time is forgotten.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// Whose tries are counted together: an address, and a keyed hash of the name that it spoke for.
type Who = (IpAddr, u64);

/// Tries of one kind.
pub(crate) struct Tries {
    most: usize,
    span_ms: i64,
    names: RandomState,
    /// When they failed, Unix milliseconds.
    seen: Mutex<LruCache<Who, VecDeque<i64>>>,
}

impl Tries {
    /// `most` failures within `span_ms` milliseconds.
    pub(crate) fn new(most: usize, span_ms: i64) -> Self {
        let seen = Mutex::new(LruCache::new(REMEMBERED));
        Self { most, span_ms, names: RandomState::new(), seen }
    }

    /// Counts a failure from this address, for `name`; an empty one when all failures of the address
    /// count together.
    ///
    /// # Errors
    /// After how many seconds to try again: there were too many.
    pub(crate) fn count(&self, from: IpAddr, name: &str, now: i64) -> Result<(), u64> {
        let who = (group(from), self.names.hash_one(name));
        let mut all = self.all();
        let failed = all.get_or_insert_mut(who, VecDeque::new);
        // A clock that was set back must not lock anybody out for longer than the span.
        failed.retain(|at| (0..self.span_ms).contains(&(now - at)));
        if failed.len() >= self.most {
            let wait_ms = failed.front().map_or(self.span_ms, |oldest| oldest + self.span_ms - now);
            return Err(u64::try_from(wait_ms).unwrap_or_default().div_ceil(1000).max(1));
        }
        failed.push_back(now);
        Ok(())
    }

    fn all(&self) -> MutexGuard<'_, LruCache<Who, VecDeque<i64>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who counts as one: an IPv4 address, or a /64 of IPv6, which is what one customer has.
pub(super) fn group(address: IpAddr) -> IpAddr {
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
    fn failures_are_counted_by_address_and_end_with_the_span() {
        let (tries, ann, bob) = (Tries::new(2, 60_000), address("192.0.2.1"), address("192.0.2.2"));
        assert_eq!(tries.count(ann, "", 0), Ok(()));
        assert_eq!(tries.count(ann, "", 10_000), Ok(()));
        assert_eq!(tries.count(ann, "", 10_500), Err(50), "the first one ends at 60 s");
        assert_eq!(tries.count(ann, "", 59_999), Err(1));
        assert_eq!(tries.count(bob, "", 10_500), Ok(()), "another address is another matter");
        assert_eq!(tries.count(ann, "", 60_000), Ok(()));
        assert_eq!(tries.count(ann, "", 60_000), Err(10));
    }

    #[test]
    fn who_spoke_for_one_did_not_speak_for_another() {
        let (tries, ann) = (Tries::new(1, 60_000), address("192.0.2.1"));
        assert_eq!(tries.count(ann, "phone", 0), Ok(()));
        assert_eq!(tries.count(ann, "phone", 0), Err(60));
        assert_eq!(tries.count(ann, "laptop", 0), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let (tries, ann) = (Tries::new(1, 60_000), address("192.0.2.1"));
        assert_eq!(tries.count(ann, "", 1_000_000), Ok(()));
        assert_eq!(tries.count(ann, "", 0), Ok(()));
    }

    #[test]
    fn one_customer_has_one_prefix() {
        let tries = Tries::new(1, 60_000);
        assert_eq!(tries.count(address("2001:db8::1"), "", 0), Ok(()));
        assert_eq!(tries.count(address("2001:db8::2"), "", 0), Err(60));
        assert_eq!(tries.count(address("2001:db8:0:1::2"), "", 0), Ok(()));
        assert_eq!(tries.count(address("::ffff:192.0.2.1"), "", 0), Ok(()));
        assert_eq!(
            tries.count(address("192.0.2.1"), "", 0),
            Err(60),
            "the same in another notation"
        );
    }
}
