//! The tunnel's watchdog: at start, and whenever the brain says, it lets the brain look. At the daemon's end it ends the agent that the
//! daemon started.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use brain_core::Brain;

/// When a look ended in a defect.
const AFTER_DEFECT: Duration = Duration::from_secs(2 * 60);

/// Runs until `stop` is cancelled; ends at once when no tunnel is configured.
pub async fn tunnel(brain: Arc<Brain>, stop: CancellationToken) {
    loop {
        let at_work = Arc::clone(&brain);
        let looking = tokio::task::spawn_blocking(move || at_work.check_tunnel());
        let looked = tokio::select! {
            () = stop.cancelled() => break,
            looked = looking => looked,
        };
        let wait = match looked {
            Ok(None) => return,
            Ok(Some(ms)) => Duration::from_millis(ms),
            Err(_) => {
                tracing::error!(
                    "[watchdog] a look ended in a defect; the next one is in two minutes"
                );
                AFTER_DEFECT
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = brain.tunnel_wakeup() => {}
            () = sleep(wait) => {}
        }
    }
    // A look that is under way is waited for; one that takes longer than the daemon's end is ended with it, and so is the agent.
    let _ = tokio::task::spawn_blocking(move || brain.stop_tunnel_agent()).await;
}
