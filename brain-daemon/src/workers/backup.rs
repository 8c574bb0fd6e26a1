//! Backups by schedule: looks now and then whether one is due. What is due, and when, is the brain's to say.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::brain::Brain;

/// The first look: a start has better things to do.
const FIRST: Duration = Duration::from_secs(5);
/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Runs until `stop` is cancelled.
pub async fn backup(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval_at(Instant::now() + FIRST, LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let brain = Arc::clone(&brain);
        let look = tokio::task::spawn_blocking(move || {
            if let Err(fault) = brain.backup_due() {
                tracing::warn!(%fault, hint = fault.hint.as_deref().unwrap_or_default(), "no backup");
            }
        });
        if look.await.is_err() {
            tracing::error!("a backup by schedule ended in a defect");
        }
    }
}
