//! Notices that disks with sources were mounted or unmounted.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Next, Worker};
use brain_core::Brain;

/// How often the kernel is asked whether the mounted file systems changed.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Checks the directories of all sources after each change of the mounted file systems.
pub(super) struct PresenceWatch(pub(super) Arc<Brain>);

impl Worker for PresenceWatch {
    fn round(&mut self) -> Next {
        self.0.sources.check_presence();
        Next::After(CHECK_EVERY)
    }
}
