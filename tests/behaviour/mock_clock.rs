//! A clock that tests control, and a real brain that uses it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_base::clock::{Clock, parse_instant};
use brain_base::home::Home;
use brain_config::Config;
use brain_core::Brain;

/// An hour in milliseconds.
pub(crate) const HOUR: i64 = 60 * 60 * 1000;

/// A clock that stands still until a test advances it.
#[derive(Clone)]
pub(crate) struct MockClock(Arc<AtomicI64>);

impl MockClock {
    /// Creates a clock that stands at `instant`, in RFC 3339.
    pub(crate) fn at(instant: &str) -> Self {
        Self(Arc::new(AtomicI64::new(parse_instant(instant).unwrap())))
    }

    /// Advances the clock by `ms`, which may be negative.
    pub(crate) fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Opens the brain whose home is `dir/home`, with its configuration and this clock.
    pub(crate) fn open_brain(&self, dir: &Path, new_store_id: u64) -> Arc<Brain> {
        let home = Home::at(dir.join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        Arc::new(Brain::open(home, config, Arc::new(self.clone()), new_store_id).unwrap())
    }
}

impl Clock for MockClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
