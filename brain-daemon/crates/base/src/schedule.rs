//! The schedule of background tasks: each starts at fixed minutes of the day (UTC). Detects tasks
//! that start in the same minute. No I/O.

use crate::Error;

const MINUTES_PER_DAY: u32 = 24 * 60;
const MINUTE_MS: i64 = 60_000;

/// A task that starts every `every` minutes, first at minute `at` of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledTask {
    /// The name of the task, which is its configuration section.
    pub name: &'static str,
    /// Minutes between two starts: a divisor of a day.
    every: u32,
    /// The first start, in minutes after midnight; less than `every`.
    at: u32,
}

impl ScheduledTask {
    /// Creates a task. `every_seconds` is the configured interval. `at` is the minute of the first
    /// start after midnight, modulo the interval.
    ///
    /// # Errors
    /// [`Error::UnevenInterval`] if the interval is not a number of whole minutes that divides a
    /// day.
    pub fn new(name: &'static str, every_seconds: u64, at: u32) -> Result<Self, Error> {
        let every = u32::try_from(every_seconds / 60).unwrap_or(u32::MAX);
        if !every_seconds.is_multiple_of(60)
            || every == 0
            || every > MINUTES_PER_DAY
            || !MINUTES_PER_DAY.is_multiple_of(every)
        {
            return Err(Error::UnevenInterval(name));
        }
        Ok(Self { name, every, at: at % every })
    }

    /// Returns the last start at or before `now`, in Unix milliseconds.
    #[must_use]
    pub fn last_start(&self, now: i64) -> i64 {
        let minute = now.div_euclid(MINUTE_MS);
        // Days begin at multiples of 1440 minutes since the epoch, and `every` divides them.
        let elapsed = (minute - i64::from(self.at)).rem_euclid(i64::from(self.every));
        (minute - elapsed) * MINUTE_MS
    }

    /// Returns the first start after `now`, in Unix milliseconds.
    #[must_use]
    pub fn next_start(&self, now: i64) -> i64 {
        self.last_start(now) + i64::from(self.every) * MINUTE_MS
    }

    /// Returns whether the task starts in the minute of `now`.
    #[must_use]
    pub fn is_due(&self, now: i64) -> bool {
        now - self.last_start(now) < MINUTE_MS
    }

    /// Returns the interval in words, such as `30 minutes` or `day`; they follow `every`.
    #[must_use]
    pub fn interval(&self) -> String {
        match self.every {
            1 => "minute".into(),
            60 => "hour".into(),
            MINUTES_PER_DAY => "day".into(),
            minutes if minutes.is_multiple_of(60) => format!("{} hours", minutes / 60),
            minutes => format!("{minutes} minutes"),
        }
    }

    /// Returns the schedule as a cron expression with seconds. If cron cannot express the interval,
    /// the expression fires each minute.
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
        // Cron cannot express, for example, 45 or 48 minutes. The worker that is woken checks
        // whether the task is due.
        "0 * * * * *".into()
    }
}

/// Returns the first two tasks that start in the same minute, and the first such minute of a day.
#[must_use]
pub fn find_conflict(tasks: &[ScheduledTask]) -> Option<(&'static str, &'static str, u32)> {
    tasks.iter().enumerate().find_map(|(i, a)| {
        tasks[i + 1..].iter().find_map(|b| {
            let is_shared = |minute: &u32| minute % a.every == a.at && minute % b.every == b.at;
            (0..MINUTES_PER_DAY).find(is_shared).map(|minute| (a.name, b.name, minute))
        })
    })
}

/// Returns whether the tasks use every minute of the day.
#[must_use]
pub fn is_full(tasks: &[ScheduledTask]) -> bool {
    (0..MINUTES_PER_DAY).all(|minute| tasks.iter().any(|task| minute % task.every == task.at))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{Fault, FaultCode};

    use super::*;
    use crate::clock::{parse_instant, rfc3339};

    fn at(text: &str) -> i64 {
        parse_instant(text).unwrap()
    }

    fn task(name: &'static str, minutes: u64, at: u32) -> ScheduledTask {
        ScheduledTask::new(name, minutes * 60, at).unwrap()
    }

    #[test]
    fn a_half_hourly_task_starts_at_0_and_30() {
        let task = task("collector", 30, 0);
        for (now, last, next) in [
            ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00.000Z", "2026-11-21T10:30:00.000Z"),
            ("2026-11-21T10:00:59.999Z", "2026-11-21T10:00:00.000Z", "2026-11-21T10:30:00.000Z"),
            ("2026-11-21T10:29:59.999Z", "2026-11-21T10:00:00.000Z", "2026-11-21T10:30:00.000Z"),
            ("2026-11-21T23:45:00Z", "2026-11-21T23:30:00.000Z", "2026-11-22T00:00:00.000Z"),
            ("2028-02-29T23:59:00Z", "2028-02-29T23:30:00.000Z", "2028-03-01T00:00:00.000Z"),
            ("1969-12-31T23:59:00Z", "1969-12-31T23:30:00.000Z", "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(
                (rfc3339(task.last_start(at(now))), rfc3339(task.next_start(at(now)))),
                (last.into(), next.into()),
                "{now}"
            );
        }
        assert!(
            task.is_due(at("2026-11-21T10:30:00Z")) && task.is_due(at("2026-11-21T10:30:59.999Z"))
        );
        assert!(
            !task.is_due(at("2026-11-21T10:29:59.999Z"))
                && !task.is_due(at("2026-11-21T10:31:00Z"))
        );
    }

    #[test]
    fn a_task_every_few_hours_starts_alike_each_day() {
        // Every three hours, ten minutes after the hour.
        let task = task("monitor", 3 * 60, 10);
        assert_eq!(
            rfc3339(task.next_start(at("2026-11-21T21:10:00Z"))),
            "2026-11-22T00:10:00.000Z"
        );
        assert_eq!(
            rfc3339(task.last_start(at("2026-11-22T00:09:59Z"))),
            "2026-11-21T21:10:00.000Z"
        );
        let daily = self::task("daily", 24 * 60, 59);
        assert_eq!(
            rfc3339(daily.next_start(at("2026-11-21T00:58:59Z"))),
            "2026-11-21T00:59:00.000Z"
        );
        assert_eq!(
            rfc3339(daily.next_start(at("2026-11-21T00:59:00Z"))),
            "2026-11-22T00:59:00.000Z"
        );
    }

    #[test]
    fn every_day_has_the_same_starts() {
        for (every, first) in
            [(1, 0), (5, 3), (288, 50), (48, 47), (90, 0), (12 * 60, 59), (24 * 60, 0)]
        {
            let task = task("task", every, first);
            for day in ["2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", "2028-02-29T00:00:00Z"] {
                let (mut now, mut starts) = (at(day) - 1, Vec::new());
                while task.next_start(now) < at(day) + 24 * 60 * MINUTE_MS {
                    now = task.next_start(now);
                    starts.push(now);
                }
                assert_eq!(starts.len() as u64, 24 * 60 / every, "{every} {day}");
                assert_eq!(
                    starts[0],
                    at(day) + i64::from(first) * MINUTE_MS % (every as i64 * MINUTE_MS)
                );
                assert!(
                    starts
                        .iter()
                        .all(|&minute| task.is_due(minute) && task.last_start(minute) == minute)
                );
            }
        }
    }

    #[test]
    fn an_interval_must_divide_a_day() {
        for seconds in
            [0, 59, 61, 90, 7 * 60, 50 * 60, 5 * 3600, 25 * 3600, 7 * 24 * 3600, u64::MAX]
        {
            let error = Fault::from(ScheduledTask::new("collector", seconds, 0).unwrap_err());
            assert_eq!(error.code, FaultCode::InvalidConfig, "{seconds}");
            assert!(
                error.message.contains("collector.every")
                    && error.hint.unwrap().to_string().contains("30m")
            );
        }
    }

    #[test]
    fn the_first_conflict_is_found() {
        let (collector, ratings) = (task("collector", 30, 0), task("collector.ratings", 30, 15));
        assert_eq!(find_conflict(&[collector, ratings]), None);
        // Three tasks with different minutes.
        assert_eq!(
            find_conflict(&[collector, task("bundle", 30, 5), task("monitor", 180, 10)]),
            None
        );
        assert_eq!(
            find_conflict(&[collector, task("monitor", 180, 30)]),
            Some(("collector", "monitor", 30))
        );
        assert_eq!(
            find_conflict(&[task("each", 1, 0), task("late", 1440, 59)]),
            Some(("each", "late", 59))
        );
        // 45 and 30 minutes meet every 90 minutes, unless their offsets prevent it.
        assert_eq!(find_conflict(&[task("a", 45, 15), task("b", 30, 0)]), Some(("a", "b", 60)));
        assert_eq!(find_conflict(&[task("a", 45, 1), task("b", 30, 0)]), None);
        assert_eq!(find_conflict(&[collector]), None);
        assert_eq!(find_conflict(&[]), None);
    }

    #[test]
    fn a_full_day_is_detected() {
        assert!(is_full(&[task("each", 1, 0)]));
        assert!(is_full(&[task("even", 2, 0), task("odd", 2, 1)]));
        assert!(!is_full(&[task("even", 2, 0), task("third", 3, 0)]));
        assert!(!is_full(&[]));
    }

    #[test]
    fn intervals_have_the_largest_exact_unit() {
        for (every, words) in [
            (1, "minute"),
            (30, "30 minutes"),
            (60, "hour"),
            (90, "90 minutes"),
            (180, "3 hours"),
            (1440, "day"),
        ] {
            assert_eq!(task("task", every, 0).interval(), words);
        }
    }

    #[test]
    fn tasks_convert_to_cron() {
        for (every, first, cron) in [
            (30, 0, "0 0,30 * * * *"),
            (30, 35, "0 5,35 * * * *"),
            (60, 59, "0 59 * * * *"),
            (20, 19, "0 19,39,59 * * * *"),
            (180, 10, "0 10 0,3,6,9,12,15,18,21 * * *"),
            (1440, 7, "0 7 0 * * *"),
            // Cron cannot express these.
            (90, 0, "0 * * * * *"),
            (48, 3, "0 * * * * *"),
        ] {
            assert_eq!(task("task", every, first).cron(), cron, "{every} {first}");
        }
    }
}
