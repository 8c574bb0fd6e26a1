//! Backups by schedule: looks now and then whether one is due. What is due, and when, is the brain's to say; in which minute one may
//! begin, the ledger's.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::Minutes;
use brain_core::Brain;

/// What it is called among the jobs.
const NAME: &str = "backup";
/// The first look: a start has better things to do.
const FIRST: Duration = Duration::from_secs(5);
/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Runs until `stop` is cancelled.
pub async fn backup(brain: Arc<Brain>, minutes: Arc<Minutes>, stop: CancellationToken) {
    let mut tick = interval_at(Instant::now() + FIRST, LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        // Another job's minute: the next look is near enough.
        if minutes.take(NAME, brain.now()).is_err() {
            continue;
        }
        let (brain, minutes) = (Arc::clone(&brain), Arc::clone(&minutes));
        let look = tokio::task::spawn_blocking(move || match brain.backup_due() {
            Ok(Some(_)) => {}
            Ok(None) => minutes.give_back(NAME),
            Err(fault) => {
                tracing::warn!(%fault, hint = fault.hint.as_deref().unwrap_or_default(), "no backup");
            }
        });
        if look.await.is_err() {
            tracing::error!("a backup by schedule ended in a defect");
        }
    }
}
