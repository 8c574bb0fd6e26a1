//! Makes the vectors that are missing, in the background, as long as there are any and nothing else goes first.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use brain_core::Brain;

/// After a defect.
const RETRY: Duration = Duration::from_secs(60);
/// How long changes gather after the first of them.
const GATHER: Duration = Duration::from_millis(200);

/// Runs until `stop` is cancelled. What is missing then is made after the next start.
pub async fn embed(brain: Arc<Brain>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let worker = Arc::clone(&brain);
        let turn = tokio::task::spawn_blocking(move || worker.embed_in_background());
        let rest = turn.await.unwrap_or_else(|_| {
            tracing::error!("a round of making vectors ended in a defect");
            RETRY
        });
        if rest.is_zero() {
            continue;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(rest) => {}
            () = brain.embed_wakeup() => {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(GATHER) => {}
                }
            }
        }
    }
}
