//! Notifies workers at the times of their schedule.
//!
//! A worker that is notified checks by itself whether its job is due. So an extra, late or lost
//! notification does no harm. This is the only module that names tokio-cron-scheduler.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_cron_scheduler::{Job as CronJob, JobScheduler, JobSchedulerError};

use brain_base::schedule::ScheduledTask;

/// Sends notifications until it is stopped.
pub(super) struct CronTrigger(JobScheduler);

impl CronTrigger {
    /// Starts to notify each event at the times of its job.
    ///
    /// # Errors
    /// The error of the scheduler, for example for an invalid expression.
    pub(super) async fn start(
        jobs: &[(ScheduledTask, Arc<Notify>)],
    ) -> Result<Self, JobSchedulerError> {
        let scheduler = JobScheduler::new().await?;
        for (job, event) in jobs {
            let event = Arc::clone(event);
            let notify = move |_, _| {
                // Stored until the worker waits for it; a second notification is merged.
                event.notify_one();
                Box::pin(std::future::ready(())) as _
            };
            scheduler.add(CronJob::new_async(job.cron(), notify)?).await?;
        }
        scheduler.start().await?;
        Ok(Self(scheduler))
    }

    /// Stops the scheduler.
    pub(super) async fn stop(mut self) {
        if let Err(error) = self.0.shutdown().await {
            tracing::debug!(%error, "scheduler not stopped");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_base::clock::parse_instant;

    #[test]
    fn the_scheduler_agrees_with_our_schedule() {
        let midnight = parse_instant("2026-11-21", false).unwrap();
        for (every, first) in
            [(1, 0), (5, 4), (20, 19), (30, 0), (30, 15), (60, 59), (180, 10), (720, 59), (1440, 7)]
        {
            let job = ScheduledTask::new("job", every * 60, first).unwrap();
            let mut made = CronJob::new_async(job.cron(), |_, _| Box::pin(async {})).unwrap();
            let mut data = made.job_data().unwrap();
            let cron = data.schedule().unwrap();
            // Makes the crate itself convert the instant to its own type.
            data.next_tick = u64::try_from(midnight / 1000 - 1).unwrap();
            let before = data.next_tick_utc().unwrap();
            let mut expected = midnight - 1;
            for tick in cron.iter_after(before).take(2000 / usize::try_from(every).unwrap() + 2) {
                expected = job.next_start(expected);
                assert_eq!(tick.timestamp() * 1000, expected, "{every} {first}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_trigger_starts_and_stops() {
        let jobs = [0, 15].map(|first| {
            (ScheduledTask::new("job", 1800, first).unwrap(), Arc::new(Notify::new()))
        });
        let starting =
            tokio::time::timeout(std::time::Duration::from_secs(30), CronTrigger::start(&jobs))
                .await;
        let trigger = starting.unwrap().unwrap();
        let mut scheduler = trigger.0.clone();
        let next = scheduler.time_till_next_job().await.unwrap().unwrap();
        assert!(next <= std::time::Duration::from_secs(1801), "{next:?}");
        trigger.stop().await;
    }
}
