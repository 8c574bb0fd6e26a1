//! Health of the background workers.

use std::sync::Arc;

use brain_base::workers::WorkerStates;
use brain_protocol::{CheckStatus, Command, WorkerFailure, WorkerState, WorkerStatus, hint};

use brain_service::health::{Finding, Health, HealthCheck, ok};

/// The checks of the background workers.
pub(crate) struct WorkerHealth(pub(crate) Arc<WorkerStates>);

impl Health for WorkerHealth {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("workers", &self.0, check)]
    }
}

/// Fails if a worker is down, and warns if one failed recently.
fn check(workers: &WorkerStates) -> Finding {
    let workers = workers.list();
    let failing: Vec<String> = workers
        .iter()
        .filter_map(|it| {
            let WorkerFailure { message, at } = it.failure.as_ref()?;
            Some(format!("\"{}\" failed at {at}: {message} (restarts: {})", it.name, it.restarts))
        })
        .collect();
    if !failing.is_empty() {
        let is_down = workers.iter().any(|it| it.state == WorkerState::Restarting);
        let status = if is_down { CheckStatus::Fail } else { CheckStatus::Warn };
        let hint = hint!(
            "the worker restarts by itself; if it fails again, run {}, and report the message with \
             the daemon's log",
            Command::Stop
        );
        return Ok((status, failing.join("; "), Some(hint)));
    }
    let names = |is_configured: bool| -> String {
        let matches =
            |it: &&WorkerStatus| (it.state != WorkerState::NotConfigured) == is_configured;
        let names: Vec<&str> = workers.iter().filter(matches).map(|it| &*it.name).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    ok(format!("at work: {}; not configured: {}", names(true), names(false)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Brain;
    use brain_base::caller::Caller;
    use brain_base::clock::SystemClock;
    use brain_base::home::Home;
    use brain_config::Config;

    #[test]
    fn a_failed_worker_is_in_status_and_doctor() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Brain::open(home, config, Arc::new(SystemClock), 7).unwrap();
        let owner = Caller::local(7);
        brain.workers.set("ingest", WorkerState::Running);
        brain.workers.set("tunnel", WorkerState::NotConfigured);
        let (status, message, _) = check(&brain.workers).unwrap();
        assert_eq!(
            (status, message.as_str()),
            (CheckStatus::Ok, "at work: ingest; not configured: tunnel")
        );
        assert!(brain.status(&owner).unwrap().degraded.is_empty());
        brain.workers.record_failure("ingest", "a defect".into(), 1_763_720_000_000);
        let (status, message, hint) = check(&brain.workers).unwrap();
        assert_eq!(status, CheckStatus::Fail);
        let failed = "\"ingest\" failed at 2025-11-21T10:13:20.000Z";
        assert_eq!(message, format!("{failed}: a defect (restarts: 1)"));
        assert!(hint.unwrap().commands().any(|it| *it == Command::Stop));
        let shown = brain.status(&owner).unwrap();
        assert_eq!(shown.workers, brain.workers.list());
        assert!(shown.degraded[0].contains("the worker \"ingest\" failed"), "{shown:?}");
        // The worker works again, but its failure is recent.
        brain.workers.set("ingest", WorkerState::Waiting);
        assert_eq!(check(&brain.workers).unwrap().0, CheckStatus::Warn);
        brain.workers.clear_failure("ingest");
        assert_eq!(check(&brain.workers).unwrap().0, CheckStatus::Ok);
        assert_eq!(brain.status(&owner).unwrap().workers[0].restarts, 1);
    }
}
