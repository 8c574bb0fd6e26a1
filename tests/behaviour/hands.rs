//! A clock whose hands a test turns, and a real brain that goes by it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use brain_base::clock::{Clock, parse_instant};
use brain_base::home::Home;
use brain_config::Config;
use brain_core::Brain;

pub(crate) const HOUR: i64 = 60 * 60 * 1000;

/// Time stands still until it is turned.
#[derive(Clone)]
pub(crate) struct Hands(Arc<AtomicI64>);

impl Hands {
    pub(crate) fn at(instant: &str) -> Self {
        Self(Arc::new(AtomicI64::new(parse_instant(instant, false).unwrap())))
    }

    /// Goes on by so many milliseconds, or back.
    pub(crate) fn turn(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// The brain in `dir`, with the configuration that is there.
    pub(crate) fn open(&self, dir: &Path, fresh_id: u64) -> Arc<Brain> {
        let home = Home::at(dir.join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        Arc::new(Brain::open(home, config, Arc::new(self.clone()), fresh_id).unwrap())
    }
}

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
