//! `doctor`: runs all checks and reports what is wrong and what helps.
//!
//! Each check runs on its own thread with a deadline, so a check that hangs becomes a finding.
//! A hint is a command that exists, or a step by hand.

mod features;
mod installation;
mod storage;

use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use brain_protocol::{Check, CheckStatus, Doctor, DoctorReply, Fault};

use crate::{Brain, Caller};

/// How long one check may take.
const DEADLINE: Duration = Duration::from_secs(3);

type Finding = (CheckStatus, String, Option<String>);
type Look = fn(&Brain) -> Result<Finding, Fault>;

const CHECKS: &[(&str, Look)] = &[
    ("daemon", installation::daemon),
    ("http", installation::http),
    ("socket permissions", installation::socket),
    ("store integrity", storage::store),
    ("store size", storage::size),
    ("schema version", storage::schema),
    ("index", storage::index),
    ("outbox", storage::outbox),
    ("queue", storage::queue),
    ("spool", storage::spool),
    ("purge", storage::purge),
    ("sources", features::sources),
    ("watcher", features::watcher),
    ("disk space", storage::disk),
    ("backup", storage::backup),
    ("clients", installation::clients),
    ("embedding", features::embedding),
    ("collector", features::collector),
    ("tunnel", features::tunnel),
    ("language model", features::language_model),
    ("workers", installation::workers),
    ("clock", installation::clock),
];

impl Brain {
    pub(crate) fn doctor(
        self: &Arc<Self>,
        _caller: &Caller,
        request: &Doctor,
    ) -> Result<DoctorReply, Fault> {
        if request.fix && self.env.home.is_here() {
            self.files.replay_outbox();
            // The checks report what cannot be repaired.
            if let Err(fault) = self.pages.purge_due().and_then(|_| self.files.flush_outbox()) {
                tracing::warn!(%fault, "doctor");
            }
            self.index.flush();
            self.close_socket_to_others();
        }
        let checks = self.run_checks(CHECKS, DEADLINE);
        let count = |status| checks.iter().filter(|c| c.status == status).count() as u32;
        let (failed, warned) = (count(CheckStatus::Fail), count(CheckStatus::Warn));
        let status = match (failed, warned) {
            (0, 0) => "healthy",
            (0, _) => "warnings",
            _ => "unhealthy",
        };
        let health_score = 100_u32.saturating_sub(25 * failed + 5 * warned);
        Ok(DoctorReply { status: status.into(), health_score, checks })
    }

    /// Runs checks in parallel. Each one must end within `deadline`.
    fn run_checks(
        self: &Arc<Self>,
        checks: &[(&'static str, Look)],
        deadline: Duration,
    ) -> Vec<Check> {
        let until = Instant::now() + deadline;
        let looking: Vec<_> = checks
            .iter()
            .map(|&(name, look)| {
                let (answer, finding) = sync_channel(1);
                let brain = Arc::clone(self);
                let thread = std::thread::Builder::new().name("doctor".into());
                let started = thread.spawn(move || {
                    let found = look(&brain);
                    // The receiver of the finding may close the brain.
                    drop(brain);
                    let _ = answer.send(found);
                });
                (name, started.map(|_| finding))
            })
            .collect();
        looking
            .into_iter()
            .map(|(name, started)| {
                let left = until.saturating_duration_since(Instant::now());
                let found = match started {
                    Ok(finding) => finding.recv_timeout(left).map_err(|e| match e {
                        RecvTimeoutError::Timeout => format!("no answer within {deadline:?}"),
                        RecvTimeoutError::Disconnected => {
                            "a defect in brain ended this check".into()
                        }
                    }),
                    Err(error) => Err(format!("no thread for this check: {error}")),
                };
                check(name, found)
            })
            .collect()
    }

    /// Restores the mode of the socket if this daemon created it.
    fn close_socket_to_others(&self) {
        let path = self.env.config.socket(&self.env.home);
        let ours = std::fs::symlink_metadata(&path).is_ok_and(|meta| {
            meta.file_type().is_socket() && meta.uid() == rustix::process::geteuid().as_raw()
        });
        if ours
            && !self.env.config.socket_is_passed()
            && let Err(error) =
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        {
            tracing::warn!(%error, "the socket's mode");
        }
    }
}

/// Builds the result of a check from its finding, or from the reason why there is none.
fn check(name: &str, finding: Result<Result<Finding, Fault>, String>) -> Check {
    let (status, message, hint) = match finding {
        Ok(Ok(finding)) => finding,
        Ok(Err(fault)) => (CheckStatus::Fail, fault.message, fault.hint),
        Err(why) => (CheckStatus::Fail, why, Some("brain status".into())),
    };
    Check { name: name.into(), status, message, hint }
}

/// Returns a path, quoted for a shell if necessary.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn ok(message: impl Into<String>) -> Result<Finding, Fault> {
    Ok((CheckStatus::Ok, message.into(), None))
}

fn warn(message: impl Into<String>, hint: impl Into<String>) -> Result<Finding, Fault> {
    Ok((CheckStatus::Warn, message.into(), Some(hint.into())))
}

fn fail(message: impl Into<String>, hint: impl Into<String>) -> Result<Finding, Fault> {
    Ok((CheckStatus::Fail, message.into(), Some(hint.into())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use brain_access::AccessSummary;
    use brain_base::clock::SystemClock;
    use brain_base::home::Home;
    use brain_config::Config;
    use brain_protocol::WorkerState;

    #[test]
    fn tokens_that_expire_soon_are_a_warning() {
        let access = AccessSummary {
            clients: 1,
            tokens: 2,
            expiring: vec![("laptop".into(), 0)],
            without_expiry: vec!["ci".into()],
            admin_token_problem: None,
        };
        let (status, message, hint) = installation::access_finding(access.clone()).unwrap();
        assert_eq!(status, CheckStatus::Warn);
        assert_eq!(message, "tokens end soon: \"laptop\" at 1970-01-01T00:00:00.000Z");
        assert!(hint.unwrap().contains("brain token create"));
        let quiet = AccessSummary { expiring: Vec::new(), ..access };
        let (status, message, _) = installation::access_finding(quiet).unwrap();
        assert_eq!(status, CheckStatus::Ok);
        assert_eq!(message, "clients: 1, personal tokens: 2; without an end: ci");
    }

    #[test]
    fn a_failed_worker_is_in_status_and_doctor() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Arc::new(Brain::open(home, config, Arc::new(SystemClock), 7).unwrap());
        let all = Caller::local(7);
        brain.workers.set("ingest", WorkerState::Running);
        brain.workers.set("tunnel", WorkerState::NotConfigured);
        let (status, message, _) = installation::workers(&brain).unwrap();
        assert_eq!(
            (status, message.as_str()),
            (CheckStatus::Ok, "at work: ingest; not configured: tunnel")
        );
        assert!(brain.status(&all).unwrap().degraded.is_empty());
        brain.workers.record_failure("ingest", "a defect".into(), 1_763_720_000_000);
        let (status, message, hint) = installation::workers(&brain).unwrap();
        assert_eq!(status, CheckStatus::Fail);
        let failed = "\"ingest\" failed at 2025-11-21T10:13:20.000Z";
        assert_eq!(message, format!("{failed}: a defect (restarts: 1)"));
        assert!(hint.unwrap().contains("brain stop"));
        let shown = brain.status(&all).unwrap();
        assert_eq!(shown.workers, brain.workers.list());
        assert!(shown.degraded[0].contains("the worker \"ingest\" failed"), "{shown:?}");
        // The worker works again, but its failure is recent.
        brain.workers.set("ingest", WorkerState::Waiting);
        assert_eq!(installation::workers(&brain).unwrap().0, CheckStatus::Warn);
        brain.workers.clear_failure("ingest");
        assert_eq!(installation::workers(&brain).unwrap().0, CheckStatus::Ok);
        assert_eq!(brain.status(&all).unwrap().workers[0].restarts, 1);
    }

    #[test]
    fn a_check_that_hangs_is_a_finding_and_delays_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let config = Config::load(&home.config(), |_| None).unwrap();
        let brain = Arc::new(Brain::open(home, config, Arc::new(SystemClock), 7).unwrap());
        let hangs: Look = |_| {
            std::thread::sleep(Duration::from_secs(600));
            ok("never")
        };
        // Long enough for the other checks, also on a busy machine.
        let deadline = Duration::from_secs(3);
        let breaks: Look = |_| panic!("a defect");
        let looks = [
            ("slow", hangs),
            ("slower", hangs),
            ("broken", breaks),
            ("clock", installation::clock),
        ];
        let checks = brain.run_checks(&looks, deadline);
        let states: Vec<_> = checks.iter().map(|c| (c.name.as_str(), c.status)).collect();
        let (fail, ok) = (CheckStatus::Fail, CheckStatus::Ok);
        assert_eq!(states, [("slow", fail), ("slower", fail), ("broken", fail), ("clock", ok)]);
        assert!(checks[2].message.contains("a defect in brain"), "{:?}", checks[2]);
        assert!(checks[0].message.contains("no answer within 3s"), "{:?}", checks[0]);
        assert_eq!(checks[0].hint.as_deref(), Some("brain status"));
    }
}
