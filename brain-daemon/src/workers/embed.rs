//! Computes missing vectors in the background.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Next, Worker};
use brain_core::Brain;

/// How long further changes are awaited after the first one.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Computes missing vectors. Those missing at the shutdown are computed after the next start.
pub(super) struct Embedding(pub(super) Arc<Brain>);

impl Worker for Embedding {
    fn round(&mut self) -> Next {
        Next::AfterOrWakeup(self.0.embedding.embed_in_background())
    }

    async fn wakeup(&mut self) {
        self.0.embedding.embed_wakeup().await;
        tokio::time::sleep(DEBOUNCE).await;
    }
}
