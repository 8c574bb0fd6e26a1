//! Leases as features see them, before and after the brain is shared.

use std::sync::Arc;

use crate::LeaseKeeper;
use brain_base::leases::LeaseHolder;
use parking_lot::RwLock;

/// Answers whether this machine may run a task. The answer changes when the brain is shared.
#[derive(Default)]
pub struct LeaseTable(RwLock<LeaseMode>);

#[derive(Default)]
enum LeaseMode {
    /// The brain is on this machine only.
    #[default]
    Alone,
    /// The brain is shared, but this machine cannot use the log.
    Stopped,
    /// The brain is shared, and the keeper has this machine's leases.
    Keeper(Arc<LeaseKeeper>),
}

impl LeaseTable {
    pub(super) fn set_keeper(&self, keeper: Arc<LeaseKeeper>) {
        *self.0.write() = LeaseMode::Keeper(keeper);
    }

    pub(super) fn set_stopped(&self) {
        *self.0.write() = LeaseMode::Stopped;
    }

    pub(super) fn set_alone(&self) {
        *self.0.write() = LeaseMode::Alone;
    }
}

impl LeaseHolder for LeaseTable {
    fn holds(&self, lease: &'static str) -> bool {
        match &*self.0.read() {
            LeaseMode::Alone => true,
            LeaseMode::Stopped => false,
            LeaseMode::Keeper(keeper) => keeper.holds(lease),
        }
    }

    fn is_elsewhere(&self, lease: &'static str) -> bool {
        match &*self.0.read() {
            LeaseMode::Keeper(keeper) => keeper.is_elsewhere(lease),
            _ => false,
        }
    }
}
