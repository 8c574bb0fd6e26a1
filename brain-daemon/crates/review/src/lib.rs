//! What pages say of each other, and what the owner's searches found.
//!
//! [`contradictions`]: two pages state different values of one thing. `answers`: a saved answer
//! whose cited text is gone. [`RecallService`]: the owner's own test set. The crate changes no page
//! of the owner, and asks no model.

mod answers;
pub mod contradictions;
mod recall;
mod settle;

use std::sync::Arc;

use brain_base::clock::Clock;
use brain_pages::pages::PageService;
use brain_store::Store;
use tokio_util::sync::CancellationToken;

pub use recall::RecallService;

/// Serves contradictions, and answers that age.
pub struct ReviewService {
    pub(crate) store: Arc<Store>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stop: CancellationToken,
}

impl ReviewService {
    /// Creates the service. `stop` ends long work early.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        pages: Arc<PageService>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Self {
        Self { store, pages, clock, stop }
    }
}
