//! Makes scheduled backups. `Brain` decides when one is due, and `MinuteAllocator` in which minute.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::MinuteAllocator;
use brain_core::Brain;

/// The name of the job.
const NAME: &str = "backup";
/// The delay of the first check, to keep the start of the daemon fast.
const FIRST_CHECK: Duration = Duration::from_secs(5);
/// The time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Runs until `stop` is cancelled.
pub async fn backup(brain: Arc<Brain>, minutes: Arc<MinuteAllocator>, stop: CancellationToken) {
    let mut tick = interval_at(Instant::now() + FIRST_CHECK, CHECK_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        // Another job has this minute; the next check follows soon.
        if minutes.try_take(NAME, brain.now()).is_err() {
            continue;
        }
        let (brain, minutes) = (Arc::clone(&brain), Arc::clone(&minutes));
        let check = tokio::task::spawn_blocking(move || match brain.copies.backup_due() {
            Ok(Some(_)) => {}
            Ok(None) => minutes.release(NAME),
            Err(fault) => {
                tracing::warn!(%fault, hint = fault.hint.as_deref().unwrap_or_default(), "backup failed");
            }
        });
        if check.await.is_err() {
            tracing::error!("scheduled backup panicked");
        }
    }
}
