//! When the daemon's own jobs begin: each at fixed minutes of the day (UTC), and no two of them in one minute. Pure.

use brain_protocol::{Fault, FaultCode};

const DAY: u32 = 24 * 60;
const MINUTE_MS: i64 = 60_000;

/// A job that begins every `every` minutes, the first time of a day at minute `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// What it is called, as its configuration is.
    pub name: &'static str,
    /// Minutes between two beginnings: a divisor of a day.
    every: u32,
    /// Minutes after midnight, below `every`.
    at: u32,
}

impl Job {
    /// A job; `every` in seconds, as configured, `at` in minutes after the hour.
    ///
    /// # Errors
    /// [`FaultCode::InvalidConfig`] when the times do not come again every day.
    pub fn new(name: &'static str, every_seconds: u64, at: u32) -> Result<Self, Fault> {
        let every = u32::try_from(every_seconds / 60).unwrap_or(u32::MAX);
        if !every_seconds.is_multiple_of(60)
            || every == 0
            || every > DAY
            || !DAY.is_multiple_of(every)
        {
            return Err(Fault::new(
                FaultCode::InvalidConfig,
                format!("{name}.every does not divide a day into whole minutes"),
            )
            .hint("use 5m, 10m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 24h"));
        }
        Ok(Self { name, every, at: at % every })
    }

    /// The last minute at or before `now` at which it begins; both in Unix milliseconds.
    #[must_use]
    pub fn last(&self, now: i64) -> i64 {
        let minute = now.div_euclid(MINUTE_MS);
        // Days begin at multiples of 1440 minutes since the epoch, and `every` divides them.
        let past = (minute - i64::from(self.at)).rem_euclid(i64::from(self.every));
        (minute - past) * MINUTE_MS
    }

    /// The first minute after `now` at which it begins.
    #[must_use]
    pub fn next(&self, now: i64) -> i64 {
        self.last(now) + i64::from(self.every) * MINUTE_MS
    }

    /// Whether it begins in the minute of `now`.
    #[must_use]
    pub fn begins(&self, now: i64) -> bool {
        now - self.last(now) < MINUTE_MS
    }

    /// The same as a cron expression with seconds.
    #[must_use]
    pub fn cron(&self) -> String {
        let (hours, at) = (self.every.div_ceil(60), self.at);
        if self.every <= 60 && 60 % self.every == 0 {
            let minutes: Vec<String> =
                (at..60).step_by(self.every as usize).map(|m| m.to_string()).collect();
            return format!("0 {} * * * *", minutes.join(","));
        }
        if self.every.is_multiple_of(60) {
            let list: Vec<String> =
                (at / 60..24).step_by(hours as usize).map(|h| h.to_string()).collect();
            return format!("0 {} {} * * *", at % 60, list.join(","));
        }
        // Every 45 or 48 minutes: the bell rings each minute, and whoever hears it asks what is due.
        "0 * * * * *".into()
    }
}

/// The first two jobs that ever begin in the same minute, and the first such minute of a day.
#[must_use]
pub fn conflict(jobs: &[Job]) -> Option<(&'static str, &'static str, u32)> {
    jobs.iter().enumerate().find_map(|(i, a)| {
        jobs[i + 1..].iter().find_map(|b| {
            let together = |minute: &u32| minute % a.every == a.at && minute % b.every == b.at;
            (0..DAY).find(together).map(|minute| (a.name, b.name, minute))
        })
    })
}

/// Whether they leave no minute of a day to anybody else.
#[must_use]
pub fn is_full(jobs: &[Job]) -> bool {
    (0..DAY).all(|minute| jobs.iter().any(|job| minute % job.every == job.at))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::clock::{parse_instant, rfc3339};

    fn at(text: &str) -> i64 {
        parse_instant(text, false).unwrap()
    }

    fn job(name: &'static str, minutes: u64, at: u32) -> Job {
        Job::new(name, minutes * 60, at).unwrap()
    }

    #[test]
    fn the_usual_collector_begins_at_the_full_and_the_half_hour() {
        let job = job("collector", 30, 0);
        for (now, last, next) in [
            ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00.000Z", "2026-11-21T10:30:00.000Z"),
            ("2026-11-21T10:00:59.999Z", "2026-11-21T10:00:00.000Z", "2026-11-21T10:30:00.000Z"),
            ("2026-11-21T10:29:59.999Z", "2026-11-21T10:00:00.000Z", "2026-11-21T10:30:00.000Z"),
            ("2026-11-21T23:45:00Z", "2026-11-21T23:30:00.000Z", "2026-11-22T00:00:00.000Z"),
            ("2028-02-29T23:59:00Z", "2028-02-29T23:30:00.000Z", "2028-03-01T00:00:00.000Z"),
            ("1969-12-31T23:59:00Z", "1969-12-31T23:30:00.000Z", "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(
                (rfc3339(job.last(at(now))), rfc3339(job.next(at(now)))),
                (last.into(), next.into()),
                "{now}"
            );
        }
        assert!(
            job.begins(at("2026-11-21T10:30:00Z")) && job.begins(at("2026-11-21T10:30:59.999Z"))
        );
        assert!(
            !job.begins(at("2026-11-21T10:29:59.999Z")) && !job.begins(at("2026-11-21T10:31:00Z"))
        );
    }

    #[test]
    fn a_job_of_hours_begins_anew_each_day() {
        // The social monitor of the specification: at :10, every three hours.
        let job = job("monitor", 3 * 60, 10);
        assert_eq!(rfc3339(job.next(at("2026-11-21T21:10:00Z"))), "2026-11-22T00:10:00.000Z");
        assert_eq!(rfc3339(job.last(at("2026-11-22T00:09:59Z"))), "2026-11-21T21:10:00.000Z");
        let daily = self::job("daily", 24 * 60, 59);
        assert_eq!(rfc3339(daily.next(at("2026-11-21T00:58:59Z"))), "2026-11-21T00:59:00.000Z");
        assert_eq!(rfc3339(daily.next(at("2026-11-21T00:59:00Z"))), "2026-11-22T00:59:00.000Z");
    }

    #[test]
    fn every_day_has_the_same_beginnings() {
        for (every, first) in
            [(1, 0), (5, 3), (288, 50), (48, 47), (90, 0), (12 * 60, 59), (24 * 60, 0)]
        {
            let job = job("job", every, first);
            for day in ["2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", "2028-02-29T00:00:00Z"] {
                let (mut now, mut begun) = (at(day) - 1, Vec::new());
                while job.next(now) < at(day) + 24 * 60 * MINUTE_MS {
                    now = job.next(now);
                    begun.push(now);
                }
                assert_eq!(begun.len() as u64, 24 * 60 / every, "{every} {day}");
                assert_eq!(
                    begun[0],
                    at(day) + i64::from(first) * MINUTE_MS % (every as i64 * MINUTE_MS)
                );
                assert!(
                    begun.iter().all(|&minute| job.begins(minute) && job.last(minute) == minute)
                );
            }
        }
    }

    #[test]
    fn what_does_not_divide_a_day_is_refused() {
        for seconds in
            [0, 59, 61, 90, 7 * 60, 50 * 60, 5 * 3600, 25 * 3600, 7 * 24 * 3600, u64::MAX]
        {
            let fault = Job::new("collector", seconds, 0).unwrap_err();
            assert_eq!(fault.code, FaultCode::InvalidConfig, "{seconds}");
            assert!(
                fault.message.contains("collector.every") && fault.hint.unwrap().contains("30m")
            );
        }
    }

    #[test]
    fn the_first_minute_that_two_share_is_found() {
        let (collector, ratings) = (job("collector", 30, 0), job("collector.ratings", 30, 15));
        assert_eq!(conflict(&[collector, ratings]), None);
        // The specification's example.
        assert_eq!(conflict(&[collector, job("bundle", 30, 5), job("monitor", 180, 10)]), None);
        assert_eq!(
            conflict(&[collector, job("monitor", 180, 30)]),
            Some(("collector", "monitor", 30))
        );
        assert_eq!(
            conflict(&[job("each", 1, 0), job("late", 1440, 59)]),
            Some(("each", "late", 59))
        );
        // 45 and 30 minutes meet each 90, unless their first minutes differ by what no step makes up.
        assert_eq!(conflict(&[job("a", 45, 15), job("b", 30, 0)]), Some(("a", "b", 60)));
        assert_eq!(conflict(&[job("a", 45, 1), job("b", 30, 0)]), None);
        assert_eq!(conflict(&[collector]), None);
        assert_eq!(conflict(&[]), None);
    }

    #[test]
    fn a_day_without_a_free_minute_is_told() {
        assert!(is_full(&[job("each", 1, 0)]));
        assert!(is_full(&[job("even", 2, 0), job("odd", 2, 1)]));
        assert!(!is_full(&[job("even", 2, 0), job("third", 3, 0)]));
        assert!(!is_full(&[]));
    }

    #[test]
    fn the_same_is_said_in_cron() {
        for (every, first, cron) in [
            (30, 0, "0 0,30 * * * *"),
            (30, 35, "0 5,35 * * * *"),
            (60, 59, "0 59 * * * *"),
            (20, 19, "0 19,39,59 * * * *"),
            (180, 10, "0 10 0,3,6,9,12,15,18,21 * * *"),
            (1440, 7, "0 7 0 * * *"),
            // What cron cannot say is asked each minute.
            (90, 0, "0 * * * * *"),
            (48, 3, "0 * * * * *"),
        ] {
            assert_eq!(job("job", every, first).cron(), cron, "{every} {first}");
        }
    }
}
