//! The clockwork: rings bells at the minutes that jobs have by configuration. It only rings: whoever hears it looks whether there is
//! something to do, so a bell too many, too late or lost does no harm.
//!
//! The one place that names tokio-cron-scheduler. It looks at the clock twice a second, lets runs overlap and ends before its jobs do;
//! none of that matters to a bell.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_cron_scheduler::{Job as CronJob, JobScheduler, JobSchedulerError};

use brain_base::schedule::ScheduledTask;

/// Bells that ring until they are taken down.
pub(super) struct Bells(JobScheduler);

impl Bells {
    /// Hangs up a bell for each job.
    ///
    /// # Errors
    /// What the scheduler says.
    pub(super) async fn hang(
        jobs: &[(ScheduledTask, Arc<Notify>)],
    ) -> Result<Self, JobSchedulerError> {
        let scheduler = JobScheduler::new().await?;
        for (job, bell) in jobs {
            let bell = Arc::clone(bell);
            let ring = move |_, _| {
                // One that nobody hears yet is kept; a second one is the same.
                bell.notify_one();
                Box::pin(std::future::ready(())) as _
            };
            scheduler.add(CronJob::new_async(job.cron(), ring)?).await?;
        }
        scheduler.start().await?;
        Ok(Self(scheduler))
    }

    /// Takes them down.
    pub(super) async fn take_down(mut self) {
        if let Err(error) = self.0.shutdown().await {
            tracing::debug!(%error, "the bells were not taken down");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_base::clock::parse_instant;

    #[test]
    fn what_we_say_in_cron_is_what_the_scheduler_makes_of_it() {
        let midnight = parse_instant("2026-11-21", false).unwrap();
        for (every, first) in
            [(1, 0), (5, 4), (20, 19), (30, 0), (30, 15), (60, 59), (180, 10), (720, 59), (1440, 7)]
        {
            let job = ScheduledTask::new("job", every * 60, first).unwrap();
            let mut made = CronJob::new_async(job.cron(), |_, _| Box::pin(async {})).unwrap();
            let mut data = made.job_data().unwrap();
            let cron = data.schedule().unwrap();
            // The crate's own type of an instant, made where it makes one.
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
    async fn bells_are_hung_up_and_taken_down() {
        let jobs = [0, 15].map(|first| {
            (ScheduledTask::new("job", 1800, first).unwrap(), Arc::new(Notify::new()))
        });
        let hanging =
            tokio::time::timeout(std::time::Duration::from_secs(30), Bells::hang(&jobs)).await;
        let bells = hanging.unwrap().unwrap();
        let mut scheduler = bells.0.clone();
        let next = scheduler.time_till_next_job().await.unwrap().unwrap();
        assert!(next <= std::time::Duration::from_secs(1801), "{next:?}");
        bells.take_down().await;
    }
}
