//! Which minute is whose: at most one of the daemon's own jobs begins in a minute. Planned jobs have theirs by configuration; what has
//! none of its own (a backup that is due, a run that is made up) takes one that is free.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brain_protocol::Fault;

use brain_base::schedule::ScheduledTask;
use brain_core::config::Config;

/// In milliseconds.
const MINUTE: i64 = 60_000;

/// The ledger. Instants are Unix milliseconds.
pub struct Minutes {
    planned: Vec<ScheduledTask>,
    /// The last minute in which a job began, and which.
    taken: Mutex<Option<(i64, &'static str)>>,
}

impl Minutes {
    /// For the jobs that `config` plans.
    ///
    /// # Errors
    /// As [`Config::planned_jobs`].
    pub fn of(config: &Config) -> Result<Self, Fault> {
        Ok(Self::new(config.planned_jobs()?))
    }

    fn new(planned: Vec<ScheduledTask>) -> Self {
        Self { planned, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Option<(i64, &'static str)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the minute of `now` for the job `name`.
    ///
    /// # Errors
    /// How long until the next minute, when this one is another job's or one has begun in it.
    pub(super) fn take(&self, name: &'static str, now: i64) -> Result<(), Duration> {
        let minute = now.div_euclid(MINUTE);
        let mut taken = self.taken();
        let begun = taken.is_some_and(|(at, _)| at == minute);
        if begun || self.planned.iter().any(|job| job.name != name && job.is_due(now)) {
            let left = (minute + 1) * MINUTE - now;
            return Err(Duration::from_millis(left.unsigned_abs()));
        }
        *taken = Some((minute, name));
        Ok(())
    }

    /// Gives back what [`Minutes::take`] took for `name`: it was not due after all.
    pub(super) fn give_back(&self, name: &'static str) {
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

    fn ledger() -> Minutes {
        let job = |name, first| ScheduledTask::new(name, 30 * 60, first).unwrap();
        Minutes::new(vec![job("collector", 0), job("collector.ratings", 15)])
    }

    #[test]
    fn a_planned_minute_is_for_its_own_job() {
        let minutes = ledger();
        let wait = |seconds| Err(Duration::from_secs(seconds));
        assert_eq!(minutes.take("backup", at("10:30:00")), wait(60));
        assert_eq!(minutes.take("collector.ratings", at("10:30:45")), wait(15));
        assert_eq!(minutes.take("backup", at("10:30:59.999")), Err(Duration::from_millis(1)));
        assert_eq!(minutes.take("collector", at("10:30:00")), Ok(()));
        assert_eq!(minutes.take("backup", at("10:31:00")), Ok(()));
        assert_eq!(minutes.take("backup", at("10:45:10")), wait(50));
        assert_eq!(minutes.take("collector.ratings", at("10:45:10")), Ok(()));
    }

    #[test]
    fn one_job_begins_in_a_minute() {
        let minutes = ledger();
        // A run that is made up has no minute of its own.
        assert_eq!(minutes.take("collector", at("10:07:03")), Ok(()));
        assert_eq!(minutes.take("backup", at("10:07:40")), Err(Duration::from_secs(20)));
        assert_eq!(
            minutes.take("collector", at("10:07:59")),
            Err(Duration::from_secs(1)),
            "nor itself again"
        );
        assert_eq!(minutes.take("backup", at("10:08:00")), Ok(()));
    }

    #[test]
    fn what_was_not_due_leaves_the_minute_free() {
        let minutes = ledger();
        assert_eq!(minutes.take("backup", at("10:07:00")), Ok(()));
        minutes.give_back("collector");
        assert!(
            minutes.take("collector", at("10:07:01")).is_err(),
            "only who has it gives it back"
        );
        minutes.give_back("backup");
        assert_eq!(minutes.take("collector", at("10:07:01")), Ok(()));
    }

    #[test]
    fn whoever_waits_for_a_free_minute_gets_one() {
        let minutes = ledger();
        let mut now = at("10:29:59");
        minutes.take("collector", now).unwrap();
        let mut waits = 0;
        while let Err(wait) = minutes.take("backup", now) {
            now += i64::try_from(wait.as_millis()).unwrap();
            waits += 1;
        }
        assert_eq!((now, waits), (at("10:31:00"), 2));
    }
}
