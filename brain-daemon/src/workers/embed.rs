//! Computes missing vectors in the background.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use brain_core::Brain;

/// The pause after a panic.
const RETRY: Duration = Duration::from_secs(60);
/// How long further changes are awaited after the first one.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Runs until `stop` is cancelled. Vectors that are missing then are computed after the next start.
pub async fn embed(brain: Arc<Brain>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let worker = Arc::clone(&brain);
        let round = tokio::task::spawn_blocking(move || worker.embedding.embed_in_background());
        let pause = round.await.unwrap_or_else(|_| {
            tracing::error!("embedding round panicked");
            RETRY
        });
        if pause.is_zero() {
            continue;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = brain.embedding.embed_wakeup() => {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(DEBOUNCE) => {}
                }
            }
        }
    }
}
