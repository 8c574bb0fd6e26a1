//! Upkeep: the purge of what was deleted 72 hours ago, files that could not be written, rows that only wait for a
//! commit.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::brain::Brain;

/// Written files are made durable, and their outbox rows dropped, this often.
const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// Files that failed are tried again every minute.
const RETRY_EVERY: u32 = 6;
/// The purge comes by every ten minutes.
const PURGE_EVERY: u32 = 60;

/// Runs until `stop` is cancelled.
pub async fn upkeep(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval(FLUSH_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count: u32 = 0;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        count = count.wrapping_add(1);
        let brain = Arc::clone(&brain);
        let round = tokio::task::spawn_blocking(move || {
            if let Err(fault) = brain.flush_outbox() {
                tracing::warn!(%fault, "outbox");
            }
            if count.is_multiple_of(RETRY_EVERY) && brain.has_failing_files() {
                brain.replay_outbox();
            }
            if count.is_multiple_of(PURGE_EVERY)
                && let Err(fault) = brain.purge_due()
            {
                tracing::warn!(%fault, "purge");
            }
        });
        if round.await.is_err() {
            tracing::error!("a round of upkeep ended in a defect");
        }
    }
}
