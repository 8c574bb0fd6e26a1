//! Background workers, run by timers and notifications. They call the services of `Brain`.
//!
//! [`start`] has the list of all workers; `runner` runs each of them.

mod backup;
mod collector;
mod embed;
mod history;
mod ingest;
mod kept_copy;
mod machines;
mod maintenance;
mod presence;
mod runner;
mod schedule;
mod source_watch;
mod tunnel;
mod watchdog;
mod watcher;

use std::sync::Arc;

use backup::ScheduledBackup;
use brain_core::Brain;
use brain_protocol::{Fault, FaultCode};
use brain_tunnel::Settings as TunnelSettings;
use collector::{CollectorRuns, CollectorStream, PostAnalysis};
use embed::Embedding;
use history::HistoryPruning;
use ingest::{DocumentQueue, IngestQueue};
use kept_copy::KeptCopyWorker;
use machines::{MachineWorker, RemoteFiles};
use maintenance::{AuditUpkeep, LedgerUpkeep, Maintenance, WritableCheck};
use presence::PresenceWatch;
pub use runner::Runner;
use schedule::Schedule;
use tunnel::TunnelChecks;
use watchdog::SystemdWatchdog;
use watcher::Watcher;

/// Starts all workers.
pub fn start(brain: &Arc<Brain>, runner: &Runner) {
    let config = brain.config();
    let schedule = Arc::new(Schedule::new(config.planned_tasks()));
    let collector = &config.collector;
    let has_backups = config.backup.dir.is_some();
    let has_tunnel = TunnelSettings::from_config(config).is_some();
    let is_service = std::env::var_os("NOTIFY_SOCKET").is_some();

    runner.start("maintenance", true, brain_worker(brain, Maintenance::new));
    runner.start("audit", true, brain_worker(brain, AuditUpkeep::new));
    runner.start("ledgers", true, brain_worker(brain, LedgerUpkeep::new));
    runner.start("writable-check", true, brain_worker(brain, WritableCheck));
    runner.start("ingest", true, brain_worker(brain, IngestQueue::new));
    let has_documents = config.ingest.documents;
    runner.start("ingest-documents", has_documents, brain_worker(brain, DocumentQueue::new));
    runner.start("embedding", true, brain_worker(brain, Embedding));
    runner.start("follower", true, brain_worker(brain, MachineWorker::follower));
    runner.start("remote-files", true, brain_worker(brain, RemoteFiles));
    runner.start("leases", true, brain_worker(brain, MachineWorker::leases));
    runner.start("snapshots", true, brain_worker(brain, MachineWorker::snapshots));
    runner.start("presence", true, brain_worker(brain, PresenceWatch));
    runner.start("watcher", config.sources.watch, brain_worker(brain, Watcher::new));
    runner.start("backup", has_backups, scheduled_worker(brain, &schedule, ScheduledBackup::new));
    let is_pruned = config.history.keep.is_some();
    runner.start("history", is_pruned, brain_worker(brain, HistoryPruning::new));
    let has_kept_copy = config.backup.kept_max_mb.is_some();
    runner.start("kept-copy", has_kept_copy, brain_worker(brain, KeptCopyWorker::new));
    runner.start(
        "collector",
        collector.enabled,
        scheduled_worker(brain, &schedule, CollectorRuns::new),
    );
    runner.start(
        "collector-analyses",
        collector.has_analyses(),
        scheduled_worker(brain, &schedule, PostAnalysis::new),
    );
    runner.start("collector-stream", collector.stream, brain_worker(brain, CollectorStream));
    runner.start("tunnel", has_tunnel, brain_worker(brain, TunnelChecks));
    runner.start("service-watchdog", is_service, brain_worker(brain, SystemdWatchdog::new));
}

/// Returns whether a write failed because the log of a shared brain cannot be used.
fn is_shared_log_unusable(fault: &Fault) -> bool {
    use FaultCode as F;
    matches!(fault.code, F::ServerAway | F::OutcomeUnknown | F::MachineStopped)
}

/// Logs a failed round, unless the commit log of a shared brain cannot be used: `MachineLog` warns
/// once when that begins.
fn log_failure(fault: &Fault, message: &str) {
    if !is_shared_log_unusable(fault) {
        tracing::warn!(%fault, "{message}");
    }
}

/// Returns a function that creates a worker from the brain.
fn brain_worker<W>(brain: &Arc<Brain>, make: fn(Arc<Brain>) -> W) -> impl Fn() -> W + use<W> {
    let brain = Arc::clone(brain);
    move || make(Arc::clone(&brain))
}

/// Returns a function that creates a worker from the brain and the schedule.
fn scheduled_worker<W>(
    brain: &Arc<Brain>,
    schedule: &Arc<Schedule>,
    make: fn(Arc<Brain>, Arc<Schedule>) -> W,
) -> impl Fn() -> W + use<W> {
    let (brain, schedule) = (Arc::clone(brain), Arc::clone(schedule));
    move || make(Arc::clone(&brain), Arc::clone(&schedule))
}
