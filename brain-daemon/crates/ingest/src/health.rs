//! Health of the ingest queue.

use std::sync::Arc;

use brain_protocol::{Command, JobId, JobState};

use crate::IngestService;
use brain_base::caller::Visibility;
use brain_base::clock::rfc3339;
use brain_service::health::{Finding, Health, HealthCheck, ok, warn};
use brain_store::JobKind;

/// How long a job may be due before the check warns, in milliseconds.
const MAX_OVERDUE_MS: i64 = 10 * 60 * 1000;

impl Health for IngestService {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![HealthCheck::new("queue", &self, Self::check_queue)]
    }
}

impl IngestService {
    fn check_queue(&self) -> Finding {
        let reader = self.store.read(Visibility::All)?;
        let counts = reader.job_counts()?;
        if counts.failed > 0 {
            let mut newest = None;
            reader.newest_jobs(
                u64::MAX,
                |_, state| state == JobState::Failed,
                |id, record| {
                    let message = record.error.map(|(_, message)| message);
                    newest = Some((JobId(id).to_string(), message.unwrap_or_default()));
                    Ok(false)
                },
            )?;
            let (id, why) = newest.unwrap_or_default();
            let message = format!(
                "{} items failed after all attempts; the reason of the newest, {id}: {why}; `{}` \
                 tries all of them again",
                counts.failed,
                Command::JobsRetry
            );
            return warn(message, Command::JobsListFailed);
        }
        let now = self.clock.now();
        let next = |kind| reader.next_due_job(kind, now);
        match next(JobKind::Text)?.into_iter().chain(next(JobKind::Document)?).min() {
            Some(at) if at + MAX_OVERDUE_MS < now => {
                let message =
                    format!("{} items wait, and one is due since {}", counts.waiting, rfc3339(at));
                warn(message, Command::JobsListQueued)
            }
            _ => ok(format!("items waiting: {}", counts.waiting)),
        }
    }
}
