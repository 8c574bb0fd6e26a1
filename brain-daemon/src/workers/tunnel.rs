//! Runs the tunnel's watchdog, and stops the tunnel's agent at shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use brain_core::Brain;

/// The pause after a panic.
const AFTER_DEFECT: Duration = Duration::from_secs(2 * 60);

/// Runs until `stop` is cancelled. Returns when no tunnel is configured.
pub async fn tunnel(brain: Arc<Brain>, stop: CancellationToken) {
    loop {
        let checked = Arc::clone(&brain);
        let check = tokio::task::spawn_blocking(move || checked.tunnel.check_tunnel());
        let result = tokio::select! {
            () = stop.cancelled() => break,
            result = check => result,
        };
        let wait = match result {
            Ok(None) => return,
            Ok(Some(ms)) => Duration::from_millis(ms),
            Err(_) => {
                tracing::error!("[watchdog] check panicked; next check in two minutes");
                AFTER_DEFECT
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = brain.tunnel.tunnel_wakeup() => {}
            () = sleep(wait) => {}
        }
    }
    // Waits for a check in progress. If it outlasts the shutdown, it ends with the process, and so
    // does the agent.
    let _ = tokio::task::spawn_blocking(move || brain.tunnel.stop_tunnel_agent()).await;
}
