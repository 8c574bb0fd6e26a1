//! Allocates minutes to jobs: at most one job of the daemon begins in each minute.
//!
//! Planned jobs have fixed minutes by configuration. Other jobs, such as a backup or a missed run
//! that is made up, use free minutes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brain_base::schedule::ScheduledTask;
use brain_config::Config;

const MINUTE_MS: i64 = 60_000;

/// The planned jobs, and the last allocated minute. Instants are Unix milliseconds.
pub struct MinuteAllocator {
    planned: Vec<ScheduledTask>,
    /// The last minute in which a job began, and which.
    taken: Mutex<Option<(i64, &'static str)>>,
}

impl MinuteAllocator {
    /// Creates an allocator for the jobs that `config` plans.
    #[must_use]
    pub fn from_config(config: &Config) -> Self {
        Self::new(config.planned_jobs())
    }

    fn new(planned: Vec<ScheduledTask>) -> Self {
        Self { planned, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Option<(i64, &'static str)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates the minute of `now` to the job `name`.
    ///
    /// # Errors
    /// The time until the next minute, if this one is planned for another job or a job has begun.
    pub(super) fn try_take(&self, name: &'static str, now: i64) -> Result<(), Duration> {
        let minute = now.div_euclid(MINUTE_MS);
        let mut taken = self.taken();
        let begun = taken.is_some_and(|(at, _)| at == minute);
        if begun || self.planned.iter().any(|job| job.name != name && job.is_due(now)) {
            let left = (minute + 1) * MINUTE_MS - now;
            return Err(Duration::from_millis(left.unsigned_abs()));
        }
        *taken = Some((minute, name));
        Ok(())
    }

    /// Releases the minute of `name`, because its job was not due.
    pub(super) fn release(&self, name: &'static str) {
        let mut taken = self.taken();
        if taken.is_some_and(|(_, by)| by == name) {
            *taken = None;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_base::clock::parse_instant;

    fn at(time: &str) -> i64 {
        parse_instant(&format!("2026-11-21T{time}Z"), false).unwrap()
    }

    fn allocator() -> MinuteAllocator {
        let job = |name, first| ScheduledTask::new(name, 30 * 60, first).unwrap();
        MinuteAllocator::new(vec![job("collector", 0), job("collector.ratings", 15)])
    }

    #[test]
    fn a_planned_minute_is_reserved_for_its_job() {
        let minutes = allocator();
        let wait = |seconds| Err(Duration::from_secs(seconds));
        assert_eq!(minutes.try_take("backup", at("10:30:00")), wait(60));
        assert_eq!(minutes.try_take("collector.ratings", at("10:30:45")), wait(15));
        assert_eq!(minutes.try_take("backup", at("10:30:59.999")), Err(Duration::from_millis(1)));
        assert_eq!(minutes.try_take("collector", at("10:30:00")), Ok(()));
        assert_eq!(minutes.try_take("backup", at("10:31:00")), Ok(()));
        assert_eq!(minutes.try_take("backup", at("10:45:10")), wait(50));
        assert_eq!(minutes.try_take("collector.ratings", at("10:45:10")), Ok(()));
    }

    #[test]
    fn one_job_begins_in_a_minute() {
        let minutes = allocator();
        // A missed run that is made up has no planned minute.
        assert_eq!(minutes.try_take("collector", at("10:07:03")), Ok(()));
        assert_eq!(minutes.try_take("backup", at("10:07:40")), Err(Duration::from_secs(20)));
        assert_eq!(
            minutes.try_take("collector", at("10:07:59")),
            Err(Duration::from_secs(1)),
            "the same job again"
        );
        assert_eq!(minutes.try_take("backup", at("10:08:00")), Ok(()));
    }

    #[test]
    fn a_released_minute_is_free_again() {
        let minutes = allocator();
        assert_eq!(minutes.try_take("backup", at("10:07:00")), Ok(()));
        minutes.release("collector");
        assert!(
            minutes.try_take("collector", at("10:07:01")).is_err(),
            "only its holder can release a minute"
        );
        minutes.release("backup");
        assert_eq!(minutes.try_take("collector", at("10:07:01")), Ok(()));
    }

    #[test]
    fn waiting_leads_to_a_free_minute() {
        let minutes = allocator();
        let mut now = at("10:29:59");
        minutes.try_take("collector", now).unwrap();
        let mut waits = 0;
        while let Err(wait) = minutes.try_take("backup", now) {
            now += i64::try_from(wait.as_millis()).unwrap();
            waits += 1;
        }
        assert_eq!((now, waits), (at("10:31:00"), 2));
    }
}
