//! Keeps a whole, recent copy of the store in the home. `BackupService::keep_copy_if_due` decides
//! when a copy is due.

use std::sync::Arc;
use std::time::Duration;

use super::log_failure;
use super::runner::{Next, Worker};
use brain_core::Brain;

/// The longest time between two checks whether a copy is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Makes the kept copy.
pub(super) struct KeptCopyWorker {
    brain: Arc<Brain>,
    is_first: bool,
    /// Whether the last attempt failed. Repeated failures are logged once.
    is_failing: bool,
}

impl KeptCopyWorker {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { brain, is_first: true, is_failing: false }
    }
}

impl Worker for KeptCopyWorker {
    fn round(&mut self) -> Next {
        let wait = CHECK_INTERVAL.min(self.brain.config().backup.kept_every);
        // The start of the daemon stays fast.
        if std::mem::take(&mut self.is_first) {
            return Next::After(wait);
        }
        match self.brain.backup.keep_copy_if_due() {
            Ok(_) => self.is_failing = false,
            Err(fault) => {
                if !self.is_failing {
                    log_failure(&fault, "copy of the store in kept/ not made; trying again");
                }
                self.is_failing = true;
            }
        }
        Next::After(wait)
    }
}
