//! How the collector is, for `doctor`: nothing is asked of the platform for it.

use std::sync::PoisonError;
use std::time::Duration;

use brain_protocol::Fault;

use super::super::Brain;
use super::data_fault;
use brain_base::clock::{parse_instant, rfc3339};
use brain_collector::{Data, State};

/// How late a run may be: it waits for a free minute, and a machine that woke up has other things to do, too.
const LATE: Duration = Duration::from_secs(15 * 60);
/// Why a run ends without anything being wrong: the daemon was told to end.
const STOPPED: &str = "stopped";
/// Why a stream is skipped without anything being wrong: it waits for its reset.
const RATE_LIMITED: &str = "rate_limited";

/// How it is.
pub(crate) enum Standing {
    /// Well, or off.
    Well(String),
    /// Somebody should look at it.
    Ill {
        /// What is wrong.
        problem: String,
        /// A command that helps.
        hint: String,
    },
}

impl Brain {
    /// How the collector is.
    ///
    /// # Errors
    /// When its state or token cannot be read, or others can read the token.
    pub(crate) fn collector_standing(&self) -> Result<Standing, Fault> {
        let ill = |problem: String, hint: &str| Ok(Standing::Ill { problem, hint: hint.into() });
        if !self.config.collector_enabled() {
            return Ok(Standing::Well("off (`collector.enabled`)".into()));
        }
        if self.platform_token()?.is_none() {
            return Ok(Standing::Well(
                "off: there is no token for the platform (`brain collector setup`)".into(),
            ));
        }
        let settings = self.collector_settings();
        let (state, damage) = State::look(&Data::new(&settings.dir)).map_err(|f| data_fault(&f))?;
        if let Some(damage) = damage {
            return ill(damage, "brain collector setup");
        }
        if Self::with_account(settings, &state).user_id.is_none() {
            return ill(
                "there is a token, and no account".into(),
                "brain collector setup --handle NAME",
            );
        }
        let now = self.now();
        let job = self.config.collector_job()?;
        let started = state.last_started.as_deref().and_then(|at| parse_instant(at, false));
        let at_work =
            self.collecting.at_work.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let late = i64::try_from(LATE.as_millis()).unwrap_or(i64::MAX);
        if let Some(started) = started
            && job.next(started).saturating_add(late) < now
            && self.started.elapsed() > LATE
            && !at_work
        {
            let problem =
                format!("a run was due at {}, and there was none", rfc3339(job.next(started)));
            return ill(problem, "brain collector collect");
        }
        let Some(last) = state.last_report else {
            return Ok(Standing::Well(format!(
                "on; the first run is at {}",
                rfc3339(job.next(now))
            )));
        };
        let reason = last.reason.as_deref().unwrap_or_default();
        if last.status == "failed" && reason != STOPPED {
            let message = last.message.as_deref().unwrap_or_default();
            let problem = format!("the run at {} failed ({reason}): {message}", last.started_at);
            return ill(problem, "brain collector setup");
        }
        let skipped: Vec<String> = last
            .streams
            .iter()
            .filter_map(|stream| Some((stream, stream.skipped.as_ref()?)))
            .filter(|(_, skipped)| skipped.reason != RATE_LIMITED)
            .map(|(stream, skipped)| format!("{}: {}", stream.stream, skipped.message))
            .collect();
        if !skipped.is_empty() {
            let problem = format!("the run at {} skipped {}", last.started_at, skipped.join("; "));
            return ill(problem, "brain collector status");
        }
        Ok(Standing::Well(format!(
            "on; the last run was at {}, the next one is at {}",
            last.started_at,
            rfc3339(job.next(now))
        )))
    }
}
