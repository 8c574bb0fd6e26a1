//! Health of the ingest queue.

use std::sync::Arc;

use brain_protocol::{JobId, JobState};

use crate::IngestService;
use crate::health::{Finding, Health, HealthCheck, ok, warn};
use brain_base::caller::Visibility;
use brain_base::clock::rfc3339;

/// How long an item may wait for its page, in milliseconds.
const QUEUE_GRACE_MS: i64 = 10 * 60 * 1000;

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
            let mut last = None;
            reader.newest_jobs(
                u64::MAX,
                |_, state| state == JobState::Failed,
                |id, record| {
                    let message = record.error.map(|(_, message)| message);
                    last = Some((JobId(id).to_string(), message.unwrap_or_default()));
                    Ok(false)
                },
            )?;
            let (id, why) = last.unwrap_or_default();
            let message = format!(
                "{} items failed for good, the last one, {id}, because: {why}; \
                 `brain jobs retry` tries them again",
                counts.failed
            );
            return warn(message, "brain jobs list --state failed");
        }
        match reader.next_due_job(self.clock.now())? {
            Some(at) if at + QUEUE_GRACE_MS < self.clock.now() => {
                let message =
                    format!("{} items wait, one of them since {}", counts.waiting, rfc3339(at));
                warn(message, "brain jobs list --state queued")
            }
            _ => ok(format!("{} items waiting", counts.waiting)),
        }
    }
}
