//! The number of rounds and the random choices of a crash test.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The number of rounds and the seed of a crash test.
pub(crate) struct Run {
    pub(crate) rounds: usize,
    pub(crate) is_default: bool,
    seed: u64,
    pub(crate) started_at: Instant,
}

impl Run {
    /// Reads the environment. Without `BRAIN_CRASH_ROUNDS`, the test has `rounds` rounds.
    pub(crate) fn new(rounds: usize) -> Self {
        let number =
            |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("not a number"));
        let requested = number("BRAIN_CRASH_ROUNDS").map(|n| n as usize);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        Self {
            rounds: requested.unwrap_or(rounds),
            is_default: requested.is_none(),
            seed: number("BRAIN_CRASH_SEED").unwrap_or(now),
            started_at: Instant::now(),
        }
    }

    pub(crate) fn rng(&self) -> Rng {
        Rng(self.seed)
    }

    /// Prints a text even when the test passes.
    pub(crate) fn report(&self, text: &str) {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "crash: {text} (seed {})", self.seed);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.report("failed; repeat the choices with BRAIN_CRASH_SEED");
        }
    }
}

/// A seeded random generator (SplitMix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Returns `true` once in `n` calls, on average.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns another generator, for a thread.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }
}
