//! Rules of recurrence (RFC 5545, 3.3.10).
//!
//! A rule is expanded period by period: a period's days are filtered by all its parts.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, ToSpan as _};

/// How many periods without an instance are tried before a rule counts as ended.
const MAX_EMPTY: u32 = 400;

/// How often a rule recurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// A rule of recurrence.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) frequency: Frequency,
    /// Every how many periods.
    pub(super) interval: u16,
    /// The number of instances.
    pub(super) count: Option<usize>,
    /// The time of the last instance, as written.
    pub(super) until: Option<String>,
    pub(super) months: Vec<i16>,
    pub(super) month_days: Vec<i16>,
    pub(super) year_days: Vec<i16>,
    /// Days of the week; with a number only that one of the month or year, from the end if
    /// negative.
    pub(super) days: Vec<(i16, Weekday)>,
    /// Which instances of a period count, from 1, or from the end.
    pub(super) positions: Vec<i16>,
    week_start: Weekday,
}

impl Rule {
    /// Parses a rule. Returns `None` if it is malformed or has parts that are not read: hours,
    /// minutes, seconds, numbers of weeks.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rule = Self {
            frequency: Frequency::Daily,
            interval: 1,
            count: None,
            until: None,
            months: Vec::new(),
            month_days: Vec::new(),
            year_days: Vec::new(),
            days: Vec::new(),
            positions: Vec::new(),
            week_start: Weekday::Monday,
        };
        let mut has_frequency = false;
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.trim().split_once('=')?;
            match name.to_ascii_uppercase().as_str() {
                "FREQ" => {
                    has_frequency = true;
                    rule.frequency = frequency(value)?;
                }
                "INTERVAL" => rule.interval = value.parse().ok().filter(|it| *it > 0)?,
                "COUNT" => rule.count = Some(value.parse().ok()?),
                "UNTIL" => rule.until = Some(value.to_owned()),
                "BYMONTH" => rule.months = numbers(value)?,
                "BYMONTHDAY" => rule.month_days = numbers(value)?,
                "BYYEARDAY" => rule.year_days = numbers(value)?,
                "BYSETPOS" => rule.positions = numbers(value)?,
                "BYDAY" => rule.days = value.split(',').map(day).collect::<Option<_>>()?,
                "WKST" => rule.week_start = weekday(value)?,
                // The calendar, and what happens to days that a month does not have: as usual.
                "RSCALE" if value.eq_ignore_ascii_case("GREGORIAN") => {}
                "SKIP" if value.eq_ignore_ascii_case("OMIT") => {}
                name if name.starts_with("X-") => {}
                _ => return None,
            }
        }
        has_frequency.then_some(rule)
    }

    /// Returns whether the rule ends.
    pub(super) fn is_finite(&self) -> bool {
        self.count.is_some() || self.until.is_some()
    }

    /// Returns the instances up to `until`, in order, at most `max`. They have the time of day of
    /// `start`. `start` is the first of them, also if it does not fit the rule.
    pub(super) fn expand(
        &self,
        start: DateTime,
        until: Option<DateTime>,
        max: usize,
    ) -> Vec<DateTime> {
        let max = max.min(self.count.unwrap_or(max));
        let mut found = vec![start];
        found.truncate(max);
        self.each(start, |instance| {
            let is_within = found.len() < max && until.is_none_or(|until| instance <= until);
            if is_within && instance != start {
                found.push(instance);
            }
            is_within
        });
        found
    }

    /// Returns the last instance that is not after `end`. `start` counts only if it fits the rule.
    pub(super) fn last_before(&self, start: DateTime, end: DateTime) -> Option<DateTime> {
        let mut last = None;
        self.each(start, |instance| {
            let is_before = instance <= end;
            if is_before {
                last = Some(instance);
            }
            is_before
        });
        last
    }

    /// Calls `take` for each instance from `start` on, until it returns `false`.
    fn each(&self, start: DateTime, mut take: impl FnMut(DateTime) -> bool) {
        let Some(mut first) = self.first_day(start.date()) else { return };
        let mut empty = 0;
        while empty < MAX_EMPTY {
            let Ok(next) = first.checked_add(self.step()) else { return };
            let Some(days) = self.days_of(first, start.date()) else { return };
            empty += 1;
            for day in days.into_iter().filter(|day| *day >= start.date()) {
                empty = 0;
                if !take(day.to_datetime(start.time())) {
                    return;
                }
            }
            first = next;
        }
    }

    /// Returns the first day of the period that contains a day.
    fn first_day(&self, day: Date) -> Option<Date> {
        match self.frequency {
            Frequency::Daily => Some(day),
            Frequency::Weekly => {
                let since = day.weekday().since(self.week_start);
                day.checked_sub(i64::from(since).days()).ok()
            }
            Frequency::Monthly => Some(day.first_of_month()),
            Frequency::Yearly => Some(day.first_of_year()),
        }
    }

    fn step(&self) -> Span {
        let interval = i64::from(self.interval);
        match self.frequency {
            // Some rules of years are written with days.
            Frequency::Daily => interval.days(),
            Frequency::Weekly => (7 * interval).days(),
            Frequency::Monthly => interval.months(),
            Frequency::Yearly => i64::from(self.interval.min(9999)).years(),
        }
    }

    /// Returns the days of the rule in the period that begins with `first`.
    fn days_of(&self, first: Date, start: Date) -> Option<Vec<Date>> {
        let len = match self.frequency {
            Frequency::Daily => 1,
            Frequency::Weekly => 7,
            Frequency::Monthly => first.days_in_month().into(),
            Frequency::Yearly => first.days_in_year(),
        };
        let mut days = Vec::new();
        let mut day = first;
        for n in 0..len {
            if self.has(day, start) {
                days.push(day);
            }
            if n + 1 < len {
                day = day.tomorrow().ok()?;
            }
        }
        if self.positions.is_empty() {
            return Some(days);
        }
        let count = i16::try_from(days.len()).unwrap_or(i16::MAX);
        let mut number = 0;
        days.retain(|_| {
            number += 1;
            self.positions.contains(&number) || self.positions.contains(&(number - count - 1))
        });
        Some(days)
    }

    /// Returns whether a day of a period fits all parts of the rule.
    fn has(&self, day: Date, start: Date) -> bool {
        let fits = |list: &[i16], number: i16, len: i16| {
            list.is_empty() || list.contains(&number) || list.contains(&(number - len - 1))
        };
        let is_free =
            self.month_days.is_empty() && self.year_days.is_empty() && self.days.is_empty();
        let of_start = match self.frequency {
            _ if !is_free => true,
            Frequency::Daily => true,
            Frequency::Weekly => day.weekday() == start.weekday(),
            Frequency::Monthly => day.day() == start.day(),
            Frequency::Yearly => {
                day.day() == start.day()
                    && (!self.months.is_empty() || day.month() == start.month())
            }
        };
        of_start
            && (self.months.is_empty() || self.months.contains(&day.month().into()))
            && fits(&self.month_days, day.day().into(), day.days_in_month().into())
            && fits(&self.year_days, day.day_of_year(), day.days_in_year())
            && (self.days.is_empty() || self.days.iter().any(|it| self.is_weekday(day, *it)))
    }

    fn is_weekday(&self, day: Date, (number, weekday): (i16, Weekday)) -> bool {
        let in_year = self.frequency == Frequency::Yearly && self.months.is_empty();
        let (at, len) = match in_year {
            true => (day.day_of_year(), day.days_in_year()),
            false => (day.day().into(), day.days_in_month().into()),
        };
        let has_number = matches!(self.frequency, Frequency::Monthly | Frequency::Yearly);
        day.weekday() == weekday
            && (number == 0
                || !has_number
                || number == (at - 1) / 7 + 1
                || number == -((len - at) / 7 + 1))
    }
}

fn frequency(text: &str) -> Option<Frequency> {
    match text.to_ascii_uppercase().as_str() {
        "DAILY" => Some(Frequency::Daily),
        "WEEKLY" => Some(Frequency::Weekly),
        "MONTHLY" => Some(Frequency::Monthly),
        "YEARLY" => Some(Frequency::Yearly),
        _ => None,
    }
}

fn numbers(text: &str) -> Option<Vec<i16>> {
    let in_range = |number: &i16| number.abs() <= 366;
    text.split(',').map(|it| it.trim().parse().ok().filter(in_range)).collect()
}

/// Parses `MO`, `2TU` or `-1FR`.
fn day(text: &str) -> Option<(i16, Weekday)> {
    let text = text.trim();
    let (number, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let number = match number {
        "" => 0,
        number => number.parse().ok().filter(|it: &i16| it.abs() <= 53)?,
    };
    Some((number, weekday(name)?))
}

fn weekday(text: &str) -> Option<Weekday> {
    match text.trim().to_ascii_uppercase().as_str() {
        "MO" => Some(Weekday::Monday),
        "TU" => Some(Weekday::Tuesday),
        "WE" => Some(Weekday::Wednesday),
        "TH" => Some(Weekday::Thursday),
        "FR" => Some(Weekday::Friday),
        "SA" => Some(Weekday::Saturday),
        "SU" => Some(Weekday::Sunday),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns the days of the first instances.
    fn days(rule: &str, start: &str, max: usize) -> String {
        let start: DateTime = start.parse().unwrap();
        let found = Rule::parse(rule).unwrap().expand(start, None, max);
        found.iter().map(|it| it.strftime("%y%m%d").to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Rules, first days, and the days that `dateutil` 4.0.0 (Python) gives.
    const CASES: [(&str, &str, &str); 22] = [
        ("FREQ=WEEKLY", "2026-01-07T19:00", "260107 260114 260121 260128"),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;WKST=SU",
            "2026-01-05T19:00",
            "260105 260107 260119 260121 260202 260204",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=MO",
            "2026-01-04T19:00",
            "260104 260112 260118 260126 260201 260209",
        ),
        ("FREQ=MONTHLY", "2026-01-31T19:00", "260131 260331 260531 260731 260831"),
        ("FREQ=MONTHLY;BYDAY=2TU", "2026-01-13T19:00", "260113 260210 260310 260414 260512"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "2026-01-30T19:00", "260130 260227 260327 260424 260529"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "2026-01-31T19:00", "260131 260228 260331 260430 260531"),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "2026-01-30T19:00",
            "260130 260227 260331 260430 260529",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=18;BYMONTHDAY=10,11",
            "2026-01-10T19:00",
            "260110 260111 270710 270711 290110 290111",
        ),
        (
            "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
            "2026-02-13T19:00",
            "260213 260313 261113 270813 281013 290413",
        ),
        ("FREQ=YEARLY", "2024-02-29T19:00", "240229 280229 320229 360229"),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "2026-03-29T19:00", "260329 270328 280326 290325"),
        ("FREQ=YEARLY;BYDAY=20MO", "2026-05-18T19:00", "260518 270517 280515 290514"),
        (
            "FREQ=YEARLY;BYYEARDAY=1,100,-1",
            "2026-01-01T19:00",
            "260101 260410 261231 270101 270410 271231 280101",
        ),
        (
            "FREQ=YEARLY;BYMONTH=1,6",
            "2026-01-07T19:00",
            "260107 260607 270107 270607 280107 280607",
        ),
        ("FREQ=YEARLY;BYMONTHDAY=7", "2026-01-07T19:00", "260107 260207 260307 260407"),
        (
            "FREQ=YEARLY;BYMONTH=6;BYDAY=TH",
            "2026-06-04T19:00",
            "260604 260611 260618 260625 270603 270610",
        ),
        ("FREQ=DAILY;BYMONTH=1", "2026-01-30T19:00", "260130 260131 270101 270102 270103"),
        ("FREQ=DAILY;INTERVAL=10", "2026-02-25T19:00", "260225 260307 260317 260327 260406"),
        ("FREQ=DAILY;BYDAY=MO,FR", "2026-01-05T19:00", "260105 260109 260112 260116 260119"),
        (
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
            "2024-11-05T19:00",
            "241105 281107 321102",
        ),
        ("FREQ=MONTHLY;BYSETPOS=2;BYDAY=TU,WE,TH", "2026-01-06T19:00", "260106"),
    ];

    #[test]
    fn rules_are_expanded_as_by_dateutil() {
        for (rule, start, expected) in CASES {
            let count = expected.split(' ').count();
            assert_eq!(days(rule, start, count), expected, "{rule} from {start}");
        }
    }

    #[test]
    fn the_start_counts_also_if_it_does_not_fit() {
        assert_eq!(
            days("FREQ=WEEKLY;BYDAY=TU;COUNT=3", "2026-01-07T19:00", 9),
            "260107 260113 260120"
        );
    }

    #[test]
    fn rules_that_never_fit_end() {
        assert_eq!(days("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31", "2026-01-07T19:00", 9), "260107");
        assert_eq!(days("FREQ=DAILY;INTERVAL=60000", "9998-12-01T19:00", 9), "981201");
        assert_eq!(days("FREQ=YEARLY;INTERVAL=65535", "2026-12-01T19:00", 9), "261201");
    }

    #[test]
    fn what_is_not_read_is_no_rule() {
        for bad in [
            "",
            "FREQ=HOURLY",
            "FREQ=DAILY;BYHOUR=9",
            "FREQ=YEARLY;BYWEEKNO=20",
            "FREQ=DAILY;INTERVAL=0",
            "COUNT=3",
            "FREQ=WEEKLY;BYDAY=XX",
            "FREQ=WEEKLY;BYDAY=\u{fc}",
            "nonsense",
        ] {
            assert!(Rule::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_last_instance_before_a_time_is_found() {
        let rule = Rule::parse("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU").unwrap();
        let (start, end) =
            ("2025-03-01T02:00".parse().unwrap(), "2026-07-01T00:00".parse().unwrap());
        assert_eq!(rule.last_before(start, end).unwrap().to_string(), "2026-03-29T02:00:00");
    }
}
