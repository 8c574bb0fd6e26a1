//! Health of the collector. Sends no request.

use brain_protocol::Command;
use std::sync::Arc;
use std::time::Duration;

use super::data_fault;
use crate::service::CollectorService;
use crate::{Data, State};
use brain_base::clock::{parse_instant, rfc3339};
use brain_protocol::{RunProblem, RunStatus};
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};

/// Delay after which a run that did not start is reported. A machine may be busy after a suspend.
const MAX_DELAY: Duration = Duration::from_secs(15 * 60);

impl Health for CollectorService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("collector", &self, Self::health)]
    }
}

impl CollectorService {
    /// Fails if the collector's state or token cannot be read, or other users can read the token.
    fn health(&self) -> Finding {
        if !self.env.config.enabled {
            return ok("off (`collector.enabled`)");
        }
        if self.platform_token()?.is_none() {
            return ok(format!(
                "off: there is no token for the platform (`{}`)",
                Command::CollectorSetup
            ));
        }
        let settings = self.collector_settings();
        let (state, damage) = State::peek(&Data::new(&settings.dir)).map_err(|f| data_fault(&f))?;
        if let Some(damage) = damage {
            return warn(damage, Command::CollectorSetup);
        }
        if Self::with_account(settings, &state).user_id.is_none() {
            return warn(
                "there is a token, but no account",
                Command::CollectorSetupHandle { handle: None },
            );
        }
        let now = self.env.clock.now();
        let task = self.env.task;
        let started = state.last_started.as_deref().and_then(parse_instant);
        let active = self.state.active.lock().is_some();
        let max_delay_ms = i64::try_from(MAX_DELAY.as_millis()).unwrap_or(i64::MAX);
        if let Some(started) = started
            && task.next_start(started).saturating_add(max_delay_ms) < now
            && self.started.elapsed() > MAX_DELAY
            && !active
        {
            let due = rfc3339(task.next_start(started));
            let problem = format!("a run was due at {due}, but did not begin");
            return warn(problem, Command::CollectorCollect);
        }
        let Some(last) = state.last_report else {
            return ok(format!("on; the first run is at {}", rfc3339(task.next_start(now))));
        };
        // The daemon may stop during a run.
        if last.status == RunStatus::Failed && last.reason != Some(RunProblem::Stopped) {
            let reason = last.reason.map_or("", RunProblem::as_str);
            let message = last.message.as_deref().unwrap_or_default();
            let problem = format!("the run at {} failed ({reason}): {message}", last.started_at);
            return warn(problem, Command::CollectorSetup);
        }
        let skipped: Vec<String> = last
            .streams
            .iter()
            .filter_map(|stream| Some((stream, stream.skipped.as_ref()?)))
            // A stream may wait for its rate limit to reset.
            .filter(|(_, skipped)| skipped.reason != RunProblem::RateLimited)
            .map(|(stream, skipped)| format!("{}: {}", stream.stream, skipped.message))
            .collect();
        if !skipped.is_empty() {
            let problem = format!("the run at {} skipped {}", last.started_at, skipped.join("; "));
            return warn(problem, Command::CollectorStatus);
        }
        ok(format!(
            "on; the last run was at {}, the next one is at {}",
            last.started_at,
            rfc3339(task.next_start(now))
        ))
    }
}
