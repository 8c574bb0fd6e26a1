//! The past of pages: where a text comes from, what to take back, and what the brain knew at a
//! time. It reads the steps and versions that the store keeps, and has no history of its own.

mod as_of;
mod changes;
mod origins;
mod prune;
mod steps;
mod undo;
mod why;

use std::sync::Arc;
use std::time::Duration;

use brain_base::caller::Visibility;
use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_pages::pages::PageService;
use brain_store::{Reader, Store, StoreError};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use as_of::{CopiedPages, OpenPastBrain, PastBrain};

/// Serves `why`, `undo`, and what else looks back.
pub struct PastService {
    pub(crate) store: Arc<Store>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Held by an undo or a redo: each must see what the one before recorded.
    pub(crate) undoing: Mutex<()>,
    pub(crate) stop: CancellationToken,
    pub(crate) views: as_of::Views,
    /// How long former versions are kept; `None`: for ever.
    pub(crate) keep: Option<Duration>,
}

impl PastService {
    /// Creates the service. `opener` composes what answers requests about a past state. `keep` is
    /// how long former versions are kept; `None`: for ever. Long work ends early when `stop` is
    /// cancelled.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        pages: Arc<PageService>,
        clock: Arc<dyn Clock>,
        home: &Home,
        opener: Arc<dyn OpenPastBrain>,
        keep: Option<Duration>,
        stop: CancellationToken,
    ) -> Self {
        let views = as_of::Views::new(home.past(), opener);
        Self { store, pages, clock, undoing: Mutex::default(), stop, views, keep }
    }

    /// Returns a snapshot whose steps have the times at which they were made, also after the clock
    /// was ahead.
    pub(crate) fn read(&self, view: Visibility) -> Result<Reader, StoreError> {
        self.store.read(view)?.with_step_times(self.clock.now())
    }
}
