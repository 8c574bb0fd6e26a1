//! Wakes workers at the minutes of their jobs, and gives each minute to at most one job.
//!
//! Planned jobs have fixed minutes by configuration. Other jobs, such as a backup or a missed run
//! that is made up, use free minutes. tokio-cron-scheduler only wakes a worker. The job computes
//! from the time and its state whether it is due. So an extra, late or lost wake-up does no harm.
//!
//! A worker also checks every half minute, because the scheduler wakes no worker for a while after
//! the clock is set back (test `the_scheduler_pauses_after_the_clock_is_set_back`).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use brain_protocol::Fault;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_cron_scheduler::{Job as CronJob, JobScheduler, JobSchedulerError};

use super::runner::Next;
use brain_base::schedule::ScheduledTask;

const MINUTE_MS: i64 = 60_000;
/// The longest time between two checks whether a job is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The planned jobs, their wake-ups, and the last allocated minute. `now` is in Unix milliseconds.
pub(super) struct Schedule {
    /// Each planned job, and the event of its minutes.
    planned: Vec<(ScheduledTask, Arc<Notify>)>,
    /// The last minute in which a job began, in minutes since 1970, and the name of the job.
    last_start: Mutex<Option<(i64, &'static str)>>,
    /// The running scheduler; `None` if it could not start.
    scheduler: OnceLock<Option<JobScheduler>>,
}

impl Schedule {
    /// Creates a schedule for jobs with fixed minutes.
    pub(super) fn new(planned: Vec<ScheduledTask>) -> Self {
        let planned = planned.into_iter().map(|job| (job, Arc::default())).collect();
        Self { planned, last_start: Mutex::default(), scheduler: OnceLock::new() }
    }

    /// Starts the scheduler, which wakes the workers of planned jobs. Further calls do nothing.
    /// Blocks, and must run on a thread of a runtime.
    ///
    /// The scheduler reads the clock several times a second, so it is started only when a job can
    /// run.
    pub(super) fn start_scheduler(&self) {
        self.scheduler.get_or_init(|| {
            Handle::current()
                .block_on(start(&self.planned))
                .inspect_err(|error| tracing::error!(%error, "scheduler unavailable"))
                .ok()
        });
    }

    /// Completes at the next minute of the planned job `name`; at once if such a minute began since
    /// the last call. Never completes if the job is not planned.
    pub(super) async fn planned_minute(&self, name: &str) {
        match self.planned.iter().find(|(job, _)| job.name == name) {
            Some((_, event)) => event.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Runs a job if the minute of `now` is free, and returns when to try again. `job` returns
    /// whether it was due.
    pub(super) fn run(
        &self,
        name: &'static str,
        now: i64,
        job: impl FnOnce() -> Result<bool, Fault>,
    ) -> Next {
        if let Err(wait) = self.try_take(name, now) {
            return Next::After(wait);
        }
        match job() {
            Ok(true) => {}
            Ok(false) => self.release(name),
            Err(fault) => log_failure(name, &fault),
        }
        Next::AfterOrWakeup(CHECK_INTERVAL)
    }

    fn last_start(&self) -> MutexGuard<'_, Option<(i64, &'static str)>> {
        self.last_start.lock()
    }

    /// Allocates the minute of `now` to the job `name`.
    ///
    /// # Errors
    /// The time until the next minute, if this one is planned for another job, or a job has begun
    /// in it.
    pub(super) fn try_take(&self, name: &'static str, now: i64) -> Result<(), Duration> {
        let minute = now.div_euclid(MINUTE_MS);
        let mut last_start = self.last_start();
        let is_taken = last_start.is_some_and(|(taken, _)| taken == minute);
        if is_taken || self.planned.iter().any(|(job, _)| job.name != name && job.is_due(now)) {
            let left = (minute + 1) * MINUTE_MS - now;
            return Err(Duration::from_millis(left.unsigned_abs()));
        }
        *last_start = Some((minute, name));
        Ok(())
    }

    /// Releases the minute of `name`, because its job was not due.
    fn release(&self, name: &'static str) {
        let mut last_start = self.last_start();
        if last_start.is_some_and(|(_, by)| by == name) {
            *last_start = None;
        }
    }
}

/// Logs the failure of a job.
pub(super) fn log_failure(name: &str, fault: &Fault) {
    let hint = fault.hint.clone().unwrap_or_default().to_string();
    tracing::warn!(%fault, hint, job = name, "scheduled job failed");
}

/// Starts to notify each event at the times of its job.
async fn start(jobs: &[(ScheduledTask, Arc<Notify>)]) -> Result<JobScheduler, JobSchedulerError> {
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
    Ok(scheduler)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::FaultCode;

    use super::*;
    use brain_base::clock::parse_instant;

    fn at(time: &str) -> i64 {
        parse_instant(&format!("2026-11-21T{time}Z")).unwrap()
    }

    fn schedule() -> Schedule {
        let job = |name, first| ScheduledTask::new(name, 30 * 60, first).unwrap();
        Schedule::new(vec![job("collector", 0), job("collector.ratings", 15)])
    }

    #[test]
    fn a_planned_minute_is_reserved_for_its_job() {
        let schedule = schedule();
        let wait = |seconds| Err(Duration::from_secs(seconds));
        assert_eq!(schedule.try_take("backup", at("10:30:00")), wait(60));
        assert_eq!(schedule.try_take("collector.ratings", at("10:30:45")), wait(15));
        assert_eq!(schedule.try_take("backup", at("10:30:59.999")), Err(Duration::from_millis(1)));
        assert_eq!(schedule.try_take("collector", at("10:30:00")), Ok(()));
        assert_eq!(schedule.try_take("backup", at("10:31:00")), Ok(()));
        assert_eq!(schedule.try_take("backup", at("10:45:10")), wait(50));
        assert_eq!(schedule.try_take("collector.ratings", at("10:45:10")), Ok(()));
    }

    #[test]
    fn one_job_begins_in_a_minute() {
        let schedule = schedule();
        // A missed run that is made up has no planned minute.
        assert_eq!(schedule.try_take("collector", at("10:07:03")), Ok(()));
        assert_eq!(schedule.try_take("backup", at("10:07:40")), Err(Duration::from_secs(20)));
        assert_eq!(
            schedule.try_take("collector", at("10:07:59")),
            Err(Duration::from_secs(1)),
            "the same job again"
        );
        assert_eq!(schedule.try_take("backup", at("10:08:00")), Ok(()));
    }

    #[test]
    fn a_released_minute_is_free_again() {
        let schedule = schedule();
        assert_eq!(schedule.try_take("backup", at("10:07:00")), Ok(()));
        schedule.release("collector");
        assert!(
            schedule.try_take("collector", at("10:07:01")).is_err(),
            "only its holder can release a minute"
        );
        schedule.release("backup");
        assert_eq!(schedule.try_take("collector", at("10:07:01")), Ok(()));
    }

    #[test]
    fn waiting_leads_to_a_free_minute() {
        let schedule = schedule();
        let mut now = at("10:29:59");
        schedule.try_take("collector", now).unwrap();
        let (mut waits, mut runs) = (0, 0);
        let next = loop {
            match schedule.run("backup", now, || {
                runs += 1;
                Ok(true)
            }) {
                Next::After(wait) => now += i64::try_from(wait.as_millis()).unwrap(),
                next => break next,
            }
            waits += 1;
        };
        assert_eq!((now, waits, runs), (at("10:31:00"), 2, 1));
        assert_eq!(next, Next::AfterOrWakeup(CHECK_INTERVAL));
    }

    #[test]
    fn only_a_job_that_was_due_keeps_its_minute() {
        let schedule = schedule();
        let run = |result| schedule.run("backup", at("10:07:00"), || result);
        let next_check = Next::AfterOrWakeup(CHECK_INTERVAL);
        assert_eq!(run(Ok(false)), next_check);
        let failure = Fault::new(FaultCode::Io, "the disk is gone");
        assert_eq!(run(Err(failure)), next_check);
        let next_minute = Next::After(Duration::from_secs(60));
        assert_eq!(run(Ok(true)), next_minute, "the failed job kept its minute");
    }

    #[test]
    fn the_scheduler_agrees_with_our_schedule() {
        let midnight = parse_instant("2026-11-21T00:00:00Z").unwrap();
        for (every, first) in
            [(1, 0), (5, 4), (20, 19), (30, 0), (30, 15), (60, 59), (180, 10), (720, 59), (1440, 7)]
        {
            let job = ScheduledTask::new("job", every * 60, first).unwrap();
            let mut cron_job = CronJob::new_async(job.cron(), |_, _| Box::pin(async {})).unwrap();
            let mut data = cron_job.job_data().unwrap();
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
    async fn the_scheduler_is_started_once() {
        let schedule = Arc::new(schedule());
        for _ in 0..2 {
            let schedule = Arc::clone(&schedule);
            tokio::task::spawn_blocking(move || schedule.start_scheduler()).await.unwrap();
        }
        let mut scheduler = schedule.scheduler.get().unwrap().clone().unwrap();
        let next = scheduler.time_till_next_job().await.unwrap().unwrap();
        assert!(next <= Duration::from_secs(1801), "{next:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_scheduler_pauses_after_the_clock_is_set_back() {
        // Due each minute, but its next time was computed before the clock was set back.
        let job = ScheduledTask::new("job", 60, 0).unwrap();
        let mut cron_job = CronJob::new_async(job.cron(), |_, _| Box::pin(async {})).unwrap();
        let mut data = cron_job.job_data().unwrap();
        data.next_tick += 3600;
        cron_job.set_job_data(data).unwrap();
        let mut scheduler = JobScheduler::new().await.unwrap();
        scheduler.add(cron_job).await.unwrap();
        scheduler.start().await.unwrap();
        let silence = scheduler.time_till_next_job().await.unwrap().unwrap();
        assert!(silence > Duration::from_secs(50 * 60), "{silence:?}");
    }
}
