//! Upkeep: the purge of what was deleted 72 hours ago, files that could not be written, rows that only wait for a
//! commit; the audit, and clients and tokens that have ended; links after an import.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use brain_core::{Brain, LinksAtRest};

/// Written files are made durable, and their outbox rows dropped, this often.
const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// Files that failed are tried again every minute.
const RETRY_EVERY: u32 = 6;
/// When clients came last is written down every minute.
const NOTE_EVERY: u32 = 6;
/// The purge comes by every ten minutes.
const PURGE_EVERY: u32 = 60;

/// How often is looked whether a read-only file system has become writable.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Calls over the network are written down this often.
const WRITE_CALLS_EVERY: Duration = Duration::from_secs(1);

/// Runs until `stop` is cancelled.
pub async fn upkeep(brain: Arc<Brain>, stop: CancellationToken) {
    // Side by side: a long purge keeps no call waiting.
    tokio::join!(
        rounds(Arc::clone(&brain), stop.clone()),
        audit(Arc::clone(&brain), stop.clone()),
        writable(brain, stop)
    );
}

/// Looks whether a file system that is read-only has become writable.
async fn writable(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if !brain.is_read_only() {
            continue;
        }
        let brain = Arc::clone(&brain);
        if tokio::task::spawn_blocking(move || brain.leave_read_only()).await.is_err() {
            tracing::error!("looking whether the file system is writable ended in a defect");
        }
    }
}

/// Writes down the calls that came over the network.
async fn audit(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval(WRITE_CALLS_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // A disk that stays full is worth one word, not one a second.
    let mut failing = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if !brain.has_calls() {
            continue;
        }
        let brain = Arc::clone(&brain);
        match tokio::task::spawn_blocking(move || brain.write_calls()).await {
            Ok(Ok(())) => failing = false,
            Ok(Err(fault)) if !failing => {
                tracing::warn!(%fault, "the audit waits");
                failing = true;
            }
            Ok(Err(_)) => {}
            Err(_) => tracing::error!("writing the audit ended in a defect"),
        }
    }
}

async fn rounds(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval(FLUSH_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count: u32 = 0;
    let mut links = LinksAtRest::default();
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
            if count.is_multiple_of(NOTE_EVERY)
                && let Err(fault) = brain.write_uses()
            {
                tracing::warn!(%fault, "when clients came last");
            }
            if count.is_multiple_of(PURGE_EVERY) {
                let purged = [
                    brain.purge_due().map(drop),
                    brain.purge_grants().map(drop),
                    brain.purge_calls(),
                ];
                for fault in purged.into_iter().filter_map(Result::err) {
                    tracing::warn!(%fault, "purge");
                }
            }
            brain.check_links_at_rest(links)
        });
        match round.await {
            Ok(seen) => links = seen,
            Err(_) => tracing::error!("a round of upkeep ended in a defect"),
        }
    }
}
