//! The collector's persistent connection: a thread of its own, for as long as the daemon runs. What it does is the brain's to know.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use brain_core::Brain;

/// After a defect it is begun anew this much later.
const AGAIN: Duration = Duration::from_secs(60);

/// Runs until `stop` is cancelled and the connection is given up; ends at once when it is not switched on.
pub async fn stream(brain: Arc<Brain>, stop: CancellationToken) {
    if !brain.config().collector_switches().stream {
        return;
    }
    loop {
        let brain = Arc::clone(&brain);
        if tokio::task::spawn_blocking(move || brain.collector_stream()).await.is_ok() {
            return;
        }
        tracing::error!("the persistent connection ended in a defect");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}
