//! Collector runs, on request and by schedule.

use std::cell::Cell;
use std::io::ErrorKind;

use brain_base::leases;
use brain_protocol::{CollectorRun, Command, Fault, FaultCode, RunStatus, Secret, hint};
use serde_json::json;
use url::Url;

use super::{TOKEN, data_fault};
use crate::service::CollectorService;
use crate::{COLLECTOR_VERSION, Data, Line, Record, Run, RunListener, RunSettings, State, Stream};
use brain_base::schedule::ScheduledTask;
use brain_net::RetryingClient;
use brain_service::{Heartbeat, NoProgress, Progress};

/// The inputs of a run.
pub(super) struct RunInputs {
    /// The settings, with the account.
    pub(super) settings: RunSettings,
    /// The platform's token.
    pub(super) token: Secret,
}

/// Forwards the event lines of a run to the daemon's output and to the caller.
struct RunForwarder<'a> {
    service: &'a CollectorService,
    progress: &'a dyn Progress,
    /// Whether the run ends when another machine runs the collector. A requested run does not.
    needs_lease: bool,
    /// Whether a new post was stored.
    has_new_posts: Cell<bool>,
}

impl RunListener for RunForwarder<'_> {
    fn line(&self, line: &Line) {
        let line = line.to_string();
        self.service.env.lines.emit(&line);
        self.progress.line(&line);
    }

    fn new_post(&self, _: Stream, _: &Record) {
        self.has_new_posts.set(true);
    }

    fn should_continue(&self, done: u64, total: u64) -> bool {
        // A requested run finishes even if its caller disconnects.
        let _ = self.progress.at(done, total);
        let env = &self.service.env;
        let is_lost = self.needs_lease && env.leases.is_elsewhere(leases::COLLECTOR);
        !is_lost && !env.stop.is_cancelled()
    }
}

/// Returns whether a scheduled run is due: a scheduled time lies between the last start and `now`.
/// Without a last start, or with one in the future, only the scheduled minute itself is due.
fn is_due(task: &ScheduledTask, last_started: Option<i64>, now: i64) -> bool {
    match last_started {
        Some(started) if started <= now => task.last_start(now) > started,
        _ => task.is_due(now),
    }
}

impl CollectorService {
    /// Runs the collector once. Event lines also go to `progress`.
    ///
    /// # Errors
    /// `not_set_up` without a token or account; `busy` during another run or a setup;
    /// `invalid_config` or `service_failed` if the platform's URL cannot be used; otherwise the
    /// fault of the collector's files. Later failures are part of the report.
    pub fn collect(&self, progress: &dyn Progress) -> Result<CollectorRun, Fault> {
        let _guard = self.state.begin("a requested run", self.env.clock.now())?;
        let inputs = self.run_inputs()?;
        self.run_collector(&inputs, progress, false)
    }

    /// Runs the collector if a scheduled run is due. Several missed runs become one run. Blocks.
    ///
    /// Returns `None` if no run is due, the setup is missing, or this daemon or another machine
    /// already runs the collector.
    ///
    /// # Errors
    /// `busy` while another program runs the collector in this directory; `service_failed` if the
    /// run failed; `not_set_up` if the account is missing because the state is damaged; otherwise
    /// as for a requested run.
    pub fn collect_due(&self) -> Result<Option<CollectorRun>, Fault> {
        let now = self.env.clock.now();
        let is_ours = self.env.leases.holds(leases::COLLECTOR);
        if !self.env.config.enabled || self.env.home.has_moved() || !is_ours {
            return Ok(None);
        }
        let (state, damage) =
            State::peek(&Data::new(&self.collector_settings().dir)).map_err(|f| data_fault(&f))?;
        let last = state.last_started.as_deref().and_then(brain_base::clock::parse_instant);
        {
            let mut last_attempt = self.state.last_attempt.lock();
            if !is_due(&self.env.task, last.max(*last_attempt), now) {
                return Ok(None);
            }
            *last_attempt = Some(now);
        }
        // The active operation is a run or a setup; a setup includes a run.
        let Ok(_guard) = self.state.begin("a scheduled run", now) else { return Ok(None) };
        let inputs = match self.run_inputs() {
            // If the state is damaged, the account may be lost: that is reported.
            Err(fault) if fault.code == FaultCode::NotSetUp && damage.is_none() => return Ok(None),
            result => result?,
        };
        let run = self.run_collector(&inputs, &NoProgress, true)?;
        for warning in &run.warnings {
            tracing::warn!(warning, "scheduled collector run completed with a warning");
        }
        let is_elsewhere = self.env.leases.is_elsewhere(leases::COLLECTOR);
        if run.status == RunStatus::Failed && !self.env.stop.is_cancelled() && !is_elsewhere {
            let why = run.why().unwrap_or_default();
            return Err(Fault::new(
                FaultCode::ServiceFailed,
                format!("the collector's run failed: {why}"),
            )
            .hint(hint!(
                "{} shows the state; {} checks each step",
                Command::CollectorStatus,
                Command::CollectorSetup
            )));
        }
        Ok(Some(run))
    }

    /// Returns the inputs of a run.
    ///
    /// # Errors
    /// `not_set_up` without a token or account; otherwise the fault of reading the token or the
    /// state.
    pub(super) fn run_inputs(&self) -> Result<RunInputs, Fault> {
        let found = self.platform_token()?.ok_or_else(|| self.missing_token_fault())?;
        let settings = self.collector_settings();
        let (state, damage) = State::peek(&Data::new(&settings.dir)).map_err(|f| data_fault(&f))?;
        let settings = Self::with_account(settings, &state);
        if settings.user_id.is_none() {
            let handle = settings.handle.clone();
            let damage = damage.map(|damage| format!(" ({damage})")).unwrap_or_default();
            let message = format!("the collector has no account to collect posts of{damage}");
            return Err(Fault::new(FaultCode::NotSetUp, message).hint(hint!(
                "{} looks up the account's id; or set collector.user_id",
                Command::CollectorSetupHandle { handle }
            )));
        }
        // `damage` is not returned: the run itself reports a damaged state.
        Ok(RunInputs { settings, token: found.secret })
    }

    /// Returns the fault for a missing token.
    pub(super) fn missing_token_fault(&self) -> Fault {
        let variable = format!("BRAIN_{}", TOKEN.to_uppercase().replace('-', "_"));
        let file = self.env.secrets.home_path(TOKEN);
        Fault::new(
            FaultCode::NotSetUp,
            format!(
                "there is no bearer token for the platform: neither ${variable}, nor the file of \
                 collector.token_file, nor the systemd credential {TOKEN}, nor {}",
                file.display()
            ),
        )
        .hint(hint!("{} checks a token and stores it", Command::CollectorSetupToken))
    }

    /// Returns the platform's URL and an HTTP client for it.
    ///
    /// # Errors
    /// `invalid_config` if the URL is invalid; `service_failed` if no client can be created for it.
    pub(super) fn platform_client(
        &self,
        settings: &RunSettings,
    ) -> Result<(Url, Box<dyn RetryingClient>), Fault> {
        let base = Url::parse(&settings.platform_api).map_err(|e| {
            Fault::new(FaultCode::InvalidConfig, format!("collector.platform_api: {e}"))
                .hint("write it as https://api.x.com")
        })?;
        let http_client = self.env.net.retrying_client(&base).map_err(|error| {
            Fault::new(FaultCode::ServiceFailed, format!("{base} cannot be called: {error}"))
                .hint("check collector.platform_api and the network")
        })?;
        Ok((base, http_client))
    }

    /// Runs the collector and writes a heartbeat. The caller must hold the guard that
    /// `CollectorState::begin` returns.
    ///
    /// # Errors
    /// `busy` while another program runs the collector in this directory; the faults of
    /// [`Self::platform_client`]; otherwise the fault of the collector's files.
    pub(super) fn run_collector(
        &self,
        inputs: &RunInputs,
        progress: &dyn Progress,
        needs_lease: bool,
    ) -> Result<CollectorRun, Fault> {
        let (base, http_client) = self.platform_client(&inputs.settings)?;
        let has_new_posts = Cell::new(false);
        let forwarder = RunForwarder { service: self, progress, needs_lease, has_new_posts };
        let run = Run {
            settings: &inputs.settings,
            base: &base,
            http_client: &*http_client,
            token: &inputs.token,
            clock: &*self.env.clock,
        };
        let result = run.execute(&forwarder);
        if forwarder.has_new_posts.get() {
            self.state.new_posts.notify_one();
        }
        let user_id = inputs.settings.user_id.as_ref().map(ToString::to_string);
        let (status, details) = match &result {
            Ok(run) => {
                let status = match run.status {
                    RunStatus::Failed => "failed",
                    RunStatus::Complete => "ok",
                };
                let skipped: Vec<&str> = run
                    .streams
                    .iter()
                    .filter(|s| s.skipped.is_some())
                    .map(|s| s.stream.as_str())
                    .collect();
                let details = json!({
                    "user_id": user_id, "tweets_stored": run.tweets_stored,
                    "deletions": run.deletions,
                    "velocity_alerts": run.velocity_alerts, "skipped": skipped,
                    "reason": run.reason,
                });
                (status, details)
            }
            // The other run writes its own heartbeat.
            Err(fault) if fault.error.kind() == ErrorKind::WouldBlock => {
                return Err(Fault::new(
                    FaultCode::Busy,
                    format!(
                        "another program runs the collector in {}",
                        inputs.settings.dir.display()
                    ),
                )
                .hint("wait until it ends; two brains need two directories: collector.dir"));
            }
            Err(fault) => ("failed", json!({ "user_id": user_id, "reason": fault.to_string() })),
        };
        let written = self.heartbeat("collect", status, &details);
        let mut run = result.map_err(|fault| data_fault(&fault))?;
        run.warnings.extend(written.err().map(|fault| fault.message));
        Ok(run)
    }

    /// Appends a heartbeat.
    ///
    /// # Errors
    /// A fault with the path if the heartbeat file cannot be written.
    pub(super) fn heartbeat(
        &self,
        event: &str,
        status: &str,
        details: &serde_json::Value,
    ) -> Result<(), Fault> {
        let heartbeat = Heartbeat::new(self.env.home.root(), "collector", COLLECTOR_VERSION);
        heartbeat
            .beat(self.env.clock.now(), event, status, details)
            .map_err(|fault| data_fault(&fault))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_base::clock::parse_instant;

    fn at(time: &str) -> i64 {
        parse_instant(&format!("2026-11-21T{time}Z")).unwrap()
    }

    #[test]
    fn a_run_is_due_once_in_each_slot() {
        let task = ScheduledTask::new("collector", 30 * 60, 0).unwrap();
        for (last, now, due) in [
            ("10:00:00.050", "10:00:00.051", false),
            ("10:00:00.050", "10:29:59.999", false),
            ("10:00:00.050", "10:30:00.000", true),
            ("10:30:00.000", "10:30:00.000", false),
            ("10:29:59.999", "10:30:00.000", true),
            // The last run was a requested one, between two slots.
            ("10:12:00.000", "10:20:00.000", false),
            ("10:12:00.000", "10:30:00.000", true),
        ] {
            assert_eq!(is_due(&task, Some(at(last)), at(now)), due, "{last} {now}");
        }
    }

    #[test]
    fn missed_runs_are_made_up_by_one_run() {
        let task = ScheduledTask::new("collector", 30 * 60, 0).unwrap();
        let resumed = at("10:47:13.000");
        assert!(is_due(&task, Some(at("02:00:00.010")), resumed), "17 slots were missed");
        assert!(!is_due(&task, Some(resumed), resumed + 1), "no second run in the same slot");
        assert!(is_due(&task, Some(resumed), at("11:00:00.000")));
    }

    #[test]
    fn the_first_run_waits_for_its_minute() {
        let task = ScheduledTask::new("collector", 3600, 5).unwrap();
        for (now, due) in [
            ("10:04:59.999", false),
            ("10:05:00.000", true),
            ("10:05:59.999", true),
            ("10:06:00.000", false),
        ] {
            assert_eq!(is_due(&task, None, at(now)), due, "{now}");
            // A wrong clock at the last run must not block the schedule.
            assert_eq!(is_due(&task, Some(at("23:00:00.000")), at(now)), due, "{now}");
        }
    }
}
