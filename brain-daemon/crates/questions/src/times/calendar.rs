//! Computes weeks, months, seasons and other periods around the current day. No I/O.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use super::words::CalendarUnit;

/// The first and the last day of a period.
pub(super) type Days = (Date, Date);

/// The oldest and the newest year, from the current one, in which a period without a year is
/// sought: 29 February can be missing for eight years.
const YEARS: i16 = 8;

/// The calendar as seen from a day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    pub(super) today: Date,
}

impl Calendar {
    /// Returns the day, week, month, quarter or year that lies `step` units from the current one.
    /// Weeks begin on Monday.
    pub(super) fn unit(self, unit: CalendarUnit, step: i64) -> Option<Days> {
        let today = self.today;
        let first = match unit {
            CalendarUnit::Day => today,
            CalendarUnit::Week => week(today)?.0,
            CalendarUnit::Month => today.first_of_month(),
            CalendarUnit::Quarter => quarter(today.year(), (today.month() - 1) / 3 + 1)?.0,
            CalendarUnit::Year => today.first_of_year(),
        };
        let first = first.checked_add(length(unit).checked_mul(step).ok()?).ok()?;
        Some((first, first.checked_add(length(unit)).ok()?.yesterday().ok()?))
    }

    /// Returns the days from `count` units ago to today.
    pub(super) fn up_to_now(self, unit: CalendarUnit, count: i64) -> Option<Days> {
        let first = self.today.checked_sub(length(unit).checked_mul(count).ok()?).ok()?;
        Some((first, self.today))
    }

    /// Returns a date with this day of the week: for `step` -1 the last one before today, for 0 the
    /// last one up to today, for 1 the first one after today.
    pub(super) fn weekday(self, day: Weekday, step: i64) -> Option<Days> {
        let latest = self.today.checked_sub(if step < 0 { 1.day() } else { 0.days() }).ok()?;
        let back = i64::from(day.until(latest.weekday()));
        let past = latest.checked_sub(back.days()).ok()?;
        let date = if step > 0 { past.checked_add(1.week()).ok()? } else { past };
        Some((date, date))
    }

    /// Returns the last one of the yearly periods `of` that has begun.
    pub(super) fn latest(self, of: impl Fn(i16) -> Option<Days>) -> Option<Days> {
        self.find(-1, of, |days| days.0 <= self.today)
    }

    /// Returns one of the yearly periods `of`: for `step` -1 the last one that has ended, for 0
    /// the current one or that of this year, for 1 the first one that has not begun.
    pub(super) fn at_step(self, step: i64, of: impl Fn(i16) -> Option<Days>) -> Option<Days> {
        let is_current = |days: &Days| (days.0..=days.1).contains(&self.today);
        match step {
            ..0 => self.find(-1, of, |days| days.1 < self.today),
            0 => {
                let this_year = of(self.today.year());
                let former = of(self.today.year().checked_sub(1)?).filter(is_current);
                former.or(this_year)
            }
            1.. => self.find(1, of, |days| days.0 > self.today),
        }
    }

    /// Returns the first of the yearly periods, from this year in the direction `way`, that fits.
    fn find(
        self,
        way: i16,
        of: impl Fn(i16) -> Option<Days>,
        fits: impl Fn(&Days) -> bool,
    ) -> Option<Days> {
        let mut years = (0..=YEARS).filter_map(|n| self.today.year().checked_add(way * n));
        years.find_map(|year| of(year).filter(&fits))
    }
}

fn length(unit: CalendarUnit) -> Span {
    match unit {
        CalendarUnit::Day => 1.day(),
        CalendarUnit::Week => 1.week(),
        CalendarUnit::Month => 1.month(),
        CalendarUnit::Quarter => 3.months(),
        CalendarUnit::Year => 1.year(),
    }
}

/// Returns the days of the week with the day `date`.
pub(super) fn week(date: Date) -> Option<Days> {
    let back = i64::from(date.weekday().to_monday_zero_offset());
    let monday = date.checked_sub(back.days()).ok()?;
    Some((monday, monday.checked_add(6.days()).ok()?))
}

/// Returns the days of the week with the number `number` of a year, as ISO 8601 counts them.
pub(super) fn numbered_week(year: i16, number: i8) -> Option<Days> {
    let monday = jiff::civil::ISOWeekDate::new(year, number, Weekday::Monday).ok()?;
    week(monday.date())
}

/// Returns `count` whole months from the month `month` on.
pub(super) fn months(year: i16, month: i8, count: i64) -> Option<Days> {
    let first = Date::new(year, month, 1).ok()?;
    Some((first, first.checked_add((count - 1).months()).ok()?.last_of_month()))
}

/// Returns the days of the quarter `number`, from 1.
pub(super) fn quarter(year: i16, number: i8) -> Option<Days> {
    months(year, number * 3 - 2, 3)
}

/// Returns the days of a season of the northern hemisphere, from 0 for spring. The winter of a year
/// begins in its December.
pub(super) fn season(year: i16, number: i8) -> Option<Days> {
    months(year, number * 3 + 3, 3)
}

/// Returns the days of a year.
pub(super) fn year(year: i16) -> Option<Days> {
    months(year, 1, 12)
}
