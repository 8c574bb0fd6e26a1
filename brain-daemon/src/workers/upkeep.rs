//! Periodic maintenance: flushes the outbox, retries files, writes the audit, and purges expired
//! pages, clients and tokens.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use brain_core::{Brain, LinksAtRest};
use brain_protocol::Fault;

/// How often written files are flushed, and their outbox rows removed.
const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// Rounds between two attempts to write failed files: one minute.
const RETRY_EVERY: u32 = 6;
/// Rounds between two writes of the clients' last use: one minute.
const LAST_USE_EVERY: u32 = 6;
/// Rounds between two purges: ten minutes.
const PURGE_EVERY: u32 = 60;

/// How often a read-only file system is checked for being writable.
const WRITABLE_CHECK_EVERY: Duration = Duration::from_secs(1);
/// How often audited calls are written to the store.
const WRITE_CALLS_EVERY: Duration = Duration::from_secs(1);

/// Runs until `stop` is cancelled.
pub async fn upkeep(brain: Arc<Brain>, stop: CancellationToken) {
    // Concurrently, so that a long purge does not delay the audit.
    tokio::join!(
        run_rounds(Arc::clone(&brain), stop.clone()),
        write_audit(Arc::clone(&brain), stop.clone()),
        leave_read_only(brain, stop)
    );
}

/// Leaves read-only mode when the file system becomes writable.
async fn leave_read_only(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval(WRITABLE_CHECK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if !brain.files.is_read_only() {
            continue;
        }
        let brain = Arc::clone(&brain);
        if tokio::task::spawn_blocking(move || brain.files.leave_read_only()).await.is_err() {
            tracing::error!("check for a writable file system panicked");
        }
    }
}

/// Writes audited calls to the store.
async fn write_audit(brain: Arc<Brain>, stop: CancellationToken) {
    let mut tick = interval(WRITE_CALLS_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // A disk that stays full is logged once, not every second.
    let mut failing = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if !brain.audit.has_waiting() {
            continue;
        }
        let brain = Arc::clone(&brain);
        match tokio::task::spawn_blocking(move || brain.audit.write()).await {
            Ok(Ok(())) => failing = false,
            Ok(Err(fault)) if !failing => {
                tracing::warn!(%fault, "audit not written; trying again");
                failing = true;
            }
            Ok(Err(_)) => {}
            Err(_) => tracing::error!("writing the audit panicked"),
        }
    }
}

/// Removes old audit records, batch by batch until the daemon stops.
fn purge_audit(brain: &Brain, stop: &CancellationToken) -> Result<(), Fault> {
    while brain.audit.purge()? && !stop.is_cancelled() {}
    Ok(())
}

async fn run_rounds(brain: Arc<Brain>, stop: CancellationToken) {
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
        let (brain, stopping) = (Arc::clone(&brain), stop.clone());
        let round = tokio::task::spawn_blocking(move || {
            if let Err(fault) = brain.files.flush_outbox() {
                tracing::warn!(%fault, "outbox not flushed");
            }
            if count.is_multiple_of(RETRY_EVERY) && brain.files.has_failing_files() {
                brain.files.replay_outbox();
            }
            if count.is_multiple_of(LAST_USE_EVERY)
                && let Err(fault) = brain.access.write_last_use()
            {
                tracing::warn!(%fault, "last use of clients not written");
            }
            if count.is_multiple_of(PURGE_EVERY) {
                let purged = [
                    brain.pages.purge_due().map(drop),
                    brain.access.purge().map(drop),
                    purge_audit(&brain, &stopping),
                ];
                for fault in purged.into_iter().filter_map(Result::err) {
                    tracing::warn!(%fault, "purge failed");
                }
            }
            brain.pages.check_links_at_rest(links)
        });
        match round.await {
            Ok(seen) => links = seen,
            Err(_) => tracing::error!("upkeep round panicked"),
        }
    }
}
