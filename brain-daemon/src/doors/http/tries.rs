//! Who failed too often: a bounded memory of failures by address, or by address and whom it spoke for. Knows no endpoint, and is
//! told the time.
//!
//! Only what has failed keeps somebody out. What is under way is counted apart, so that a program may ask many times at once, and
//! yet not without end.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// Whoever is remembered; beyond, the one that was not seen for the longest time is forgotten.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// Under way at once, for each failure that is allowed.
const AT_ONCE: usize = 10;

/// Whose tries are counted together: an address, and a keyed hash of the name that it spoke for.
type Who = (IpAddr, u64);

/// Tries of one kind.
pub(crate) struct Tries {
    most: usize,
    span_ms: i64,
    names: RandomState,
    seen: Mutex<LruCache<Who, Seen>>,
}

#[derive(Default)]
struct Seen {
    /// When they failed, Unix milliseconds.
    failed: VecDeque<i64>,
    /// How many are under way.
    pending: usize,
}

/// A try that is under way. Unless it is said to have failed it does not count: it succeeded, or nobody learnt anything.
#[must_use]
pub(crate) struct Try<'a> {
    tries: &'a Tries,
    who: Who,
    at: i64,
}

impl Tries {
    /// `most` failures within `span_ms` milliseconds.
    pub(crate) fn new(most: usize, span_ms: i64) -> Self {
        let seen = Mutex::new(LruCache::new(REMEMBERED));
        Self { most, span_ms, names: RandomState::new(), seen }
    }

    /// Begins a try from this address, for `name`; an empty one when all that comes from there counts together.
    ///
    /// # Errors
    /// After how many seconds to try again: there were too many failures, or there is too much under way.
    pub(crate) fn begin(&self, from: IpAddr, name: &str, now: i64) -> Result<Try<'_>, u64> {
        let who = (group(from), self.names.hash_one(name));
        let mut all = self.all();
        let seen = all.get_or_insert_mut(who, Seen::default);
        // A clock that was set back must not lock anybody out for longer than the span.
        seen.failed.retain(|at| (0..self.span_ms).contains(&(now - at)));
        if seen.failed.len() >= self.most {
            let wait_ms = seen.failed.front().map_or(self.span_ms, |oldest| oldest + self.span_ms - now);
            return Err(u64::try_from(wait_ms).unwrap_or_default().div_ceil(1000).max(1));
        }
        if seen.pending >= self.most * AT_ONCE {
            return Err(1);
        }
        seen.pending += 1;
        Ok(Try { tries: self, who, at: now })
    }

    /// Counts a try that counts however it ends.
    ///
    /// # Errors
    /// As [`Tries::begin`].
    pub(crate) fn count(&self, from: IpAddr, now: i64) -> Result<(), u64> {
        self.begin(from, "", now).map(Try::failed)
    }

    fn all(&self) -> MutexGuard<'_, LruCache<Who, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Try<'_> {
    /// It was a wrong guess.
    pub(crate) fn failed(self) {
        let mut all = self.tries.all();
        let seen = all.get_or_insert_mut(self.who, Seen::default);
        // Many that were under way at once may fail: more than keep somebody out need not be known.
        if seen.failed.len() < self.tries.most {
            seen.failed.push_back(self.at);
        }
    }
}

impl Drop for Try<'_> {
    /// Also when whoever asked went away before the answer.
    fn drop(&mut self) {
        if let Some(seen) = self.tries.all().peek_mut(&self.who) {
            seen.pending = seen.pending.saturating_sub(1);
        }
    }
}

/// Who counts as one: an IPv4 address, or a /64 of IPv6, which is what one customer has.
fn group(address: IpAddr) -> IpAddr {
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
        assert_eq!(tries.count(ann, 0), Ok(()));
        assert_eq!(tries.count(ann, 10_000), Ok(()));
        assert_eq!(tries.count(ann, 10_500), Err(50), "the first one ends at 60 s");
        assert_eq!(tries.count(ann, 59_999), Err(1));
        assert_eq!(tries.count(bob, 10_500), Ok(()), "another address is another matter");
        assert_eq!(tries.count(ann, 60_000), Ok(()));
        assert_eq!(tries.count(ann, 60_000), Err(10));
    }

    #[test]
    fn what_is_under_way_is_no_failure() {
        let (tries, ann) = (Tries::new(2, 60_000), address("192.0.2.1"));
        let mut under_way: Vec<Try<'_>> = (0..20).map(|at| tries.begin(ann, "", at).ok().unwrap()).collect();
        assert_eq!(tries.begin(ann, "", 20).err(), Some(1), "there is an end, and it is near");
        // One was dropped with its connection, and one succeeded.
        under_way.truncate(18);
        assert!(tries.begin(ann, "", 20).is_ok());
        under_way.drain(..).for_each(Try::failed);
        assert_eq!(tries.begin(ann, "", 1000).err(), Some(59));
        assert!(tries.begin(ann, "", 60_001).is_ok(), "nothing is under way any more");
    }

    #[test]
    fn who_spoke_for_one_did_not_speak_for_another() {
        let (tries, ann) = (Tries::new(1, 60_000), address("192.0.2.1"));
        tries.begin(ann, "phone", 0).ok().unwrap().failed();
        assert_eq!(tries.begin(ann, "phone", 0).err(), Some(60));
        assert!(tries.begin(ann, "laptop", 0).is_ok());
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let (tries, ann) = (Tries::new(1, 60_000), address("192.0.2.1"));
        assert_eq!(tries.count(ann, 1_000_000), Ok(()));
        assert_eq!(tries.count(ann, 0), Ok(()));
    }

    #[test]
    fn one_customer_has_one_prefix() {
        let tries = Tries::new(1, 60_000);
        assert_eq!(tries.count(address("2001:db8::1"), 0), Ok(()));
        assert_eq!(tries.count(address("2001:db8::2"), 0), Err(60));
        assert_eq!(tries.count(address("2001:db8:0:1::2"), 0), Ok(()));
        assert_eq!(tries.count(address("::ffff:192.0.2.1"), 0), Ok(()));
        assert_eq!(tries.count(address("192.0.2.1"), 0), Err(60), "the same in another notation");
    }
}
