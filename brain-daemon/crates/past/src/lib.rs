//! The past of pages: where a text comes from, what to take back, and what the brain knew at a
//! time. It reads the steps and versions that the store keeps, and has no history of its own.

mod undo;
mod why;

use std::sync::Arc;

use brain_base::clock::Clock;
use brain_pages::pages::PageService;
use brain_store::Store;
use parking_lot::Mutex;

/// Serves `why`, `undo`, and what else looks back.
pub struct PastService {
    pub(crate) store: Arc<Store>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Held by an undo or a redo: each must see what the one before recorded.
    pub(crate) undoing: Mutex<()>,
}

impl PastService {
    /// Creates the service.
    #[must_use]
    pub fn new(store: Arc<Store>, pages: Arc<PageService>, clock: Arc<dyn Clock>) -> Self {
        Self { store, pages, clock, undoing: Mutex::default() }
    }
}
