//! Runs the collector's persistent connection on its own thread.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use brain_core::Brain;

/// The pause before a restart after a panic.
const RESTART_DELAY: Duration = Duration::from_secs(60);

/// Runs until `stop` is cancelled and the connection has ended. Returns at once when disabled.
pub async fn collector_stream(brain: Arc<Brain>, stop: CancellationToken) {
    if !brain.config().collector.stream {
        return;
    }
    loop {
        let brain = Arc::clone(&brain);
        if tokio::task::spawn_blocking(move || brain.collector.collector_stream()).await.is_ok() {
            return;
        }
        tracing::error!("collector stream panicked");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RESTART_DELAY) => {}
        }
    }
}
