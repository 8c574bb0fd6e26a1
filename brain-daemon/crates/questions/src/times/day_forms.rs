//! Reads days: `2025-03-14`, `14 March 2025`, `Monday`. Reads months in digits: `05/2021`.

use jiff::civil::Date;

use super::calendar::{Days, months};
use super::parser::{ParsedTime, TimeParser};
use super::words;

/// A number in digits.
#[derive(Clone, Copy)]
struct Number {
    value: i16,
    digits: usize,
}

impl Number {
    fn is_year(self) -> bool {
        self.digits == 4 && words::YEARS.contains(&self.value)
    }
}

/// Returns the days of a date. A day or month of two digits that does not exist has none.
fn day(year: i16, month: Number, day: Number) -> Option<Days> {
    let date = Date::new(year, month.value.try_into().ok()?, day.value.try_into().ok()?).ok()?;
    Some((date, date))
}

impl TimeParser<'_> {
    fn digits(&self, at: usize) -> Option<Number> {
        let text = self.word(at);
        let is_short = !text.is_empty() && text.len() <= 4;
        let is_number = is_short && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = is_number.then(|| text.parse().ok())??;
        Some(Number { value, digits: text.len() })
    }

    /// Returns the mark between the numbers of a date, if one is after the token `at`.
    fn mark_after(&self, at: usize) -> Option<char> {
        let mut gap = self.gap_after(at).chars();
        gap.next().filter(|mark| matches!(mark, '-' | '/' | '.') && gap.next().is_none())
    }

    /// Returns the three numbers of a date and the mark between them.
    fn three_numbers(&self, at: usize) -> Option<([Number; 3], char)> {
        let numbers = [self.digits(at)?, self.digits(at + 1)?, self.digits(at + 2)?];
        let mark = self.mark_after(at)?;
        let [one, two, three] = numbers;
        // `2021.3.4` is a version of a program.
        let is_version = one.is_year() && mark == '.' && (two.digits != 2 || three.digits != 2);
        let is_date = two.digits <= 2
            && !is_version
            && ((one.is_year() && three.digits <= 2) || (three.is_year() && one.digits <= 2));
        (is_date && self.mark_after(at + 1) == Some(mark)).then_some((numbers, mark))
    }

    /// Reads `12.04.24` and `3/3/24`. `1.2.23` is a version of a program, and so is `10.1.23.4`.
    fn short_date(&self, at: usize) -> Option<ParsedTime> {
        let [one, two, three] = [self.digits(at)?, self.digits(at + 1)?, self.digits(at + 2)?];
        let mark = self.mark_after(at).filter(|mark| self.mark_after(at + 1) == Some(*mark))?;
        let is_longer = self.mark_after(at + 2).is_some() && self.digits(at + 3).is_some();
        let year = self.short_year(at + 2).filter(|_| one.digits <= 2 && two.digits <= 2)?;
        let can_be_date = mark == '/' || (mark == '.' && one.digits == 2);
        let is_part = at > 0 && self.mark_after(at - 1).is_some();
        if three.digits != 2 || !can_be_date || is_longer || is_part {
            return None;
        }
        let (day_first, month_first) = (day(year, two, one), day(year, one, two));
        let month_first = month_first.filter(|_| mark == '/');
        let days = day_first.or(month_first)?;
        let other = month_first.filter(|other| *other != days);
        Some(ParsedTime { other, ..ParsedTime::strong(days, at + 3) })
    }

    /// Returns the year that two digits stand for: one of this century, up to the next year, else
    /// one of the last.
    pub(super) fn short_year(&self, at: usize) -> Option<i16> {
        let year = self.digits(at).filter(|year| year.digits == 2)?.value;
        let is_past = 2000 + year <= self.calendar.today.year() + 1;
        Some(if is_past { 2000 + year } else { 1900 + year })
    }

    /// Reads `2025-03-14`, `14.3.2025`, `14/03/2025`, `2025-03`, `05/2021`. `03/04/2021` has two
    /// readings.
    pub(super) fn numeric(&self, at: usize) -> Option<ParsedTime> {
        let Some(([one, two, three], mark)) = self.three_numbers(at) else {
            return self.short_date(at).or_else(|| self.numeric_month(at));
        };
        if one.is_year() {
            return Some(ParsedTime::strong(day(one.value, two, three)?, at + 3));
        }
        let (day_first, month_first) = (day(three.value, two, one), day(three.value, one, two));
        let month_first = month_first.filter(|_| mark != '.');
        let days = day_first.or(month_first)?;
        let other = month_first.filter(|other| *other != days);
        Some(ParsedTime { other, ..ParsedTime::strong(days, at + 3) })
    }

    /// Reads `2025-03`, `2021/05`, `05/2021`. `05.2021` can be a version of a program.
    fn numeric_month(&self, at: usize) -> Option<ParsedTime> {
        let (one, two) = (self.digits(at)?, self.digits(at + 1)?);
        let mark = self.mark_after(at)?;
        let (year, month) = match () {
            () if one.is_year() => (one, two),
            () if two.is_year() => (two, one),
            () => return None,
        };
        let is_month = month.digits == 2 || (month.digits == 1 && mark == '/');
        let days = months(year.value, month.value.try_into().ok()?, 1).filter(|_| is_month)?;
        Some(match mark {
            '.' => ParsedTime::weak(days, at + 2),
            _ => ParsedTime::strong(days, at + 2),
        })
    }

    /// Reads a day without a year after a preposition: `am 24.5.`, `le 24/05`, `on 5/24`.
    pub(super) fn day_and_month(&self, at: usize) -> Option<ParsedTime> {
        let start = at + 1;
        let (one, two) = (self.digits(start)?, self.digits(start + 1)?);
        let is_short = one.digits <= 2 && two.digits <= 2;
        let has_dots = self.mark_after(start) == Some('.')
            && self.gap_after(start + 1).starts_with('.')
            && self.is(at, &words::DAY_PREPOSITIONS_DOTS);
        let has_slash =
            self.mark_after(start) == Some('/') && self.is(at, &words::DAY_PREPOSITIONS);
        if !is_short || !(has_dots || has_slash) || self.three_numbers(start).is_some() {
            return None;
        }
        let latest = |month, number| self.calendar.latest(|year| day(year, month, number));
        let (day_first, month_first) = (latest(two, one), latest(one, two));
        let month_first = month_first.filter(|_| has_slash);
        let days = day_first.or(month_first)?;
        let other = month_first.filter(|other| *other != days);
        Some(ParsedTime { other, ..ParsedTime::strong(days, start + 2).of_any_year() })
    }

    /// Returns whether an apostrophe is before the token: `May ’21`.
    pub(super) fn has_apostrophe(&self, at: usize) -> bool {
        at > 0 && self.gap_after(at - 1).ends_with(['\'', '’'])
    }

    /// Returns the number of a day: `14`, `14th`, `1er`.
    fn day_number(&self, at: usize) -> Option<i8> {
        let text = self.word(at);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let is_ordinal = words::DAY_ENDINGS.contains(&&text[digits.len()..]);
        let is_day = is_ordinal && digits.len() <= 2 && !self.has_apostrophe(at);
        digits.parse().ok().filter(|_| is_day)
    }

    /// Returns the month and the day that words name, and the position after them.
    fn month_and_day(&self, at: usize) -> Option<(i8, i8, usize)> {
        if let Some(day) = self.day_number(at) {
            let month_at = self.skip_fillers(at + 1);
            return Some((words::month(self.word(month_at))?, day, month_at + 1));
        }
        let month = words::month(self.word(at))?;
        // `Mai 24`: only English has the day after the month.
        if !self.is(at, &words::ENGLISH_MONTHS) && self.short_year_after_month(at).is_some() {
            return None;
        }
        let day_at = self.skip_fillers(at + 1);
        Some((month, self.day_number(day_at)?, day_at + 1))
    }

    /// Returns the year of two digits directly after a month: `Mai 24`. A later year is a day.
    pub(super) fn short_year_after_month(&self, at: usize) -> Option<i16> {
        let is_beside = self.gap_after(at).trim().is_empty() && self.mark_after(at + 1).is_none();
        self.short_year(at + 1).filter(|year| is_beside && *year >= 2000)
    }

    /// Returns the year of two digits after a day at the end of a question: `May 17, 24`,
    /// `17. Mai 24`.
    fn short_year_after_day(&self, end: usize) -> Option<(i16, usize)> {
        let is_after_comma = self.gap_after(end.checked_sub(1)?).starts_with(',');
        let is_after_month =
            end.checked_sub(1).is_some_and(|at| words::month(self.word(at)).is_some());
        let is_last = end + 1 == self.tokens.len();
        let year =
            self.short_year(end).filter(|_| is_last && (is_after_comma || is_after_month))?;
        Some((year, end + 1))
    }

    /// Reads `14 March 2025`, `March 14`, `14. März`, `14 de marzo de 2025`, `Monday, 14 March`.
    pub(super) fn named_day(&self, at: usize) -> Option<ParsedTime> {
        if let Some((_, length)) = words::weekday(self.word(at), self.word(at + 1)) {
            let day_at = self.skip_fillers(at + length);
            let numeric = self.numeric(day_at).filter(ParsedTime::is_day);
            return numeric.or_else(|| self.named_day(day_at));
        }
        let (month, day, end) = self.month_and_day(at)?;
        let date = |year| {
            let date = Date::new(year, month, day).ok()?;
            Some((date, date))
        };
        Some(match self.year_at(end).or_else(|| self.short_year_after_day(end)) {
            Some((year, end)) => ParsedTime::strong(date(year)?, end),
            None => ParsedTime::strong(self.calendar.latest(date)?, end).of_any_year(),
        })
    }

    /// Reads a day that is not in the calendar: `2021-02-30`, `30 February 2021`. Returns the
    /// position after it.
    pub(super) fn no_day(&self, at: usize) -> Option<usize> {
        if self.three_numbers(at).is_some() {
            return self.numeric(at).is_none().then_some(at + 3);
        }
        if words::weekday(self.word(at), self.word(at + 1)).is_some() {
            return None;
        }
        let (month, day, end) = self.month_and_day(at)?;
        // A leap year has all days that there are.
        let stated = self.year_at(end);
        let is_number_of_day = day > 0 && (day <= 31 || stated.is_some());
        let (year, end) = stated.unwrap_or((2000, end));
        (is_number_of_day && Date::new(year, month, day).is_err()).then_some(end)
    }

    /// Reads `Monday`: the last Monday, which may be today.
    pub(super) fn weekday(&self, at: usize) -> Option<ParsedTime> {
        let (day, length) = words::weekday(self.word(at), self.word(at + 1))?;
        Some(ParsedTime::weak(self.calendar.weekday(day, 0)?, at + length).assumed())
    }
}
