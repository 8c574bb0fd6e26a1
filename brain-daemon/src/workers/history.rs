//! Removes former versions that `[history] keep` does not keep. `PastService::prune` decides which.

use std::sync::Arc;
use std::time::Duration;

use super::log_failure;
use super::runner::{Next, Worker};
use brain_base::leases;
use brain_core::Brain;

/// Time from the start of the daemon to the first round, so that the start stays fast.
const FIRST_AFTER: Duration = Duration::from_secs(10 * 60);
/// Time between two rounds.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Time after which a round that failed is repeated.
const RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Prunes the history.
pub(super) struct HistoryPruning {
    brain: Arc<Brain>,
    is_first: bool,
}

impl HistoryPruning {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { brain, is_first: true }
    }
}

impl Worker for HistoryPruning {
    fn round(&mut self) -> Next {
        if std::mem::take(&mut self.is_first) {
            return Next::After(FIRST_AFTER);
        }
        // In a shared brain, one machine prunes for all.
        if !self.brain.env.leases.holds(leases::PURGE) {
            return Next::After(RETRY_AFTER);
        }
        match self.brain.prune_history() {
            Ok(0) => Next::After(EVERY),
            Ok(removed) => {
                tracing::info!(removed, "former versions pruned");
                Next::After(EVERY)
            }
            Err(fault) => {
                log_failure(&fault, "former versions not pruned; trying again in an hour");
                Next::After(RETRY_AFTER)
            }
        }
    }
}
