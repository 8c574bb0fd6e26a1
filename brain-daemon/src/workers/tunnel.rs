//! Checks the tunnel at the times that each check returns.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Next, Worker};
use brain_core::Brain;

/// Checks the tunnel, and restarts its agent if necessary.
pub(super) struct TunnelChecks(pub(super) Arc<Brain>);

impl Worker for TunnelChecks {
    /// Longer than usual, because a check calls the provider.
    const RESTART_DELAY: Duration = Duration::from_secs(2 * 60);

    fn round(&mut self) -> Next {
        let next_ms = self.0.tunnel.check_tunnel();
        next_ms.map_or(Next::Ended, |ms| Next::AfterOrWakeup(Duration::from_millis(ms)))
    }

    async fn wakeup(&mut self) {
        self.0.tunnel.wakeup().await;
    }
}
