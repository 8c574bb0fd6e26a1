//! `doctor`: runs all checks and reports problems with their remedies.
//!
//! Each check runs on its own thread with a deadline, so a check that hangs becomes a finding.

pub(crate) mod access;
pub(crate) mod process;
pub(crate) mod store;
mod store_size;
pub(crate) mod workers;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use brain_protocol::{Check, CheckStatus, Command, Doctor, DoctorReply, DoctorStatus};

use crate::doctor::process::Process;
use crate::purge::PurgeService;
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::PageService;
use brain_service::health::{Finding, Health, HealthCheck};

/// Maximum time of the checks, which run in parallel.
const DEADLINE: Duration = Duration::from_secs(3);

/// The names of all checks, in the order of the reply.
const ORDER: [&str; 29] = [
    "daemon",
    "home",
    "configuration",
    "http",
    "socket permissions",
    "store integrity",
    "store size",
    "history",
    "schema version",
    "index",
    "outbox",
    "queue",
    "spool",
    "purge",
    "attachments",
    "sources",
    "watcher",
    "disk space",
    "backup",
    "kept copy",
    "clients",
    "embedding",
    "recall",
    "collector",
    "tunnel",
    "machines",
    "language model",
    "workers",
    "clock",
];

/// Runs the checks of all services. On request, it first repairs files, index and socket.
pub(crate) struct DoctorService {
    /// The services that have checks.
    pub(crate) services: Vec<Arc<dyn Health>>,
    pub(crate) process: Arc<Process>,
    pub(crate) files: Arc<FileService>,
    pub(crate) pages: Arc<PageService>,
    pub(crate) purge: Arc<PurgeService>,
    pub(crate) index: Arc<IndexFollower>,
}

impl DoctorService {
    /// Repairs files, index and socket if `request.fix` is set, then runs all checks. The health
    /// score is 100, less 25 for each failure and 5 for each warning, but not below 0.
    pub(crate) fn doctor(&self, request: &Doctor) -> DoctorReply {
        if request.fix && !self.process.home.has_moved() {
            self.files.replay_outbox();
            // The checks below report the files that were not repaired.
            if let Err(fault) = self.pages.purge_due().and_then(|_| self.files.flush_outbox()) {
                tracing::warn!(%fault, "doctor could not repair all files");
            }
            self.index.flush();
            self.purge.finish_interrupted();
            self.process.close_socket_to_others();
        }
        let checks = run_checks(self.checks(), DEADLINE);
        let count = |status| checks.iter().filter(|c| c.status == status).count() as u32;
        let (failed, warned) = (count(CheckStatus::Fail), count(CheckStatus::Warn));
        let status = match (failed, warned) {
            (0, 0) => DoctorStatus::Healthy,
            (0, _) => DoctorStatus::Warnings,
            _ => DoctorStatus::Unhealthy,
        };
        let health_score = 100_u32.saturating_sub(25 * failed + 5 * warned);
        DoctorReply { status, health_score, checks }
    }

    /// Returns the checks of all services, in the order of the reply.
    fn checks(&self) -> Vec<HealthCheck> {
        let services = self.services.iter().map(Arc::clone);
        let mut checks: Vec<HealthCheck> = services.flat_map(Health::checks).collect();
        checks.sort_by_key(|check| ORDER.iter().position(|name| *name == check.name));
        checks
    }
}

/// Runs checks in parallel. A check without a finding within `deadline` fails.
fn run_checks(checks: Vec<HealthCheck>, deadline: Duration) -> Vec<Check> {
    let until = Instant::now() + deadline;
    let running: Vec<_> = checks
        .into_iter()
        .map(|check| {
            let name = check.name;
            let (sender, receiver) = sync_channel(1);
            let thread = std::thread::Builder::new().name("doctor".into());
            // The check releases its service before it sends: the caller may then close the brain.
            let started = thread.spawn(move || sender.send(check.run()));
            (name, started.map(|_| receiver))
        })
        .collect();
    running
        .into_iter()
        .map(|(name, receiver)| {
            let remaining = until.saturating_duration_since(Instant::now());
            let finding = match receiver {
                Ok(receiver) => receiver.recv_timeout(remaining).map_err(|e| match e {
                    RecvTimeoutError::Timeout => format!("no answer within {deadline:?}"),
                    RecvTimeoutError::Disconnected => "a defect in brain ended this check".into(),
                }),
                Err(error) => Err(format!("no thread for this check: {error}")),
            };
            check(name, finding)
        })
        .collect()
}

/// Builds the result of a check from its finding, or from the reason why there is none.
fn check(name: &str, finding: Result<Finding, String>) -> Check {
    let (status, message, hint) = match finding {
        Ok(Ok(finding)) => finding,
        Ok(Err(fault)) => (CheckStatus::Fail, fault.message, fault.hint),
        Err(why) => (CheckStatus::Fail, why, Some(Command::Status.into())),
    };
    Check { name: name.into(), status, message, hint }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::Brain;
    use brain_base::clock::SystemClock;
    use brain_base::home::Home;
    use brain_config::Config;
    use brain_service::health::ok;

    #[test]
    fn every_check_has_its_place_in_the_order() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Brain::open(home, config, Arc::new(SystemClock), 7).unwrap();
        let checks = brain.doctor().checks();
        assert_eq!(checks.iter().map(|check| check.name).collect::<Vec<_>>(), ORDER);
    }

    #[test]
    fn a_check_that_hangs_fails_and_delays_no_other() {
        let service = Arc::new(());
        let hangs = |_: &()| {
            std::thread::sleep(Duration::from_secs(600));
            ok("never")
        };
        let checks = vec![
            HealthCheck::new("slow", &service, hangs),
            HealthCheck::new("slower", &service, hangs),
            HealthCheck::new("broken", &service, |_| panic!("a defect")),
            HealthCheck::new("clock", &service, |_| ok("now")),
        ];
        // Long enough for the other checks, also on a busy machine.
        let checks = run_checks(checks, Duration::from_secs(3));
        let states: Vec<_> = checks.iter().map(|c| (c.name.as_str(), c.status)).collect();
        let (fail, ok) = (CheckStatus::Fail, CheckStatus::Ok);
        assert_eq!(states, [("slow", fail), ("slower", fail), ("broken", fail), ("clock", ok)]);
        assert!(checks[2].message.contains("a defect in brain"), "{:?}", checks[2]);
        assert!(checks[0].message.contains("no answer within 3s"), "{:?}", checks[0]);
        assert_eq!(checks[0].hint, Some(Command::Status.into()));
    }
}
