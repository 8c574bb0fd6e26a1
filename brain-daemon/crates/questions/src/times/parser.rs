//! Parses times in a question, and computes their days.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use super::Period;
use super::tokens::TimeToken;
use super::words::{self, CalendarUnit};

/// A parsed time: its days, and the index of the token after its words.
struct ParsedTime {
    first: Date,
    last: Date,
    end: usize,
    /// Whether the words are a time only after a preposition.
    is_weak: bool,
}

/// Reads the times in the tokens of a text.
pub(super) struct TimeParser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [TimeToken],
    pub(super) today: Date,
}

impl ParsedTime {
    /// Returns a time that needs no preposition.
    fn strong((first, last): (Date, Date), end: usize) -> Self {
        Self { first, last, end, is_weak: false }
    }
}

impl TimeParser<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    fn is(&self, at: usize, list: &[&str]) -> bool {
        list.contains(&self.word(at))
    }

    /// Returns the position after the words without a meaning at `at`, at most two.
    fn skip_fillers(&self, at: usize) -> usize {
        at + (at..at + 2).take_while(|at| words::is_filler(self.word(*at))).count()
    }

    /// Reads a period that begins at the token `at`.
    pub(super) fn period(&self, at: usize) -> Option<Period> {
        let (first, last, end) = self
            .between(at)
            .or_else(|| self.bounded(at))
            .or_else(|| self.plain(at).map(|found| (found.first, found.last, found.end)))?;
        let range =
            self.tokens.get(at)?.range.start..self.tokens.get(end.checked_sub(1)?)?.range.end;
        (first <= last).then_some(Period { first, last, range })
    }

    /// Reads `between March and May`, `from 3 to 10 May`. Returns the first and the last day, and
    /// the index of the token after them.
    fn between(&self, at: usize) -> Option<(Date, Date, usize)> {
        if !self.is(at, &words::BETWEEN) {
            return None;
        }
        let start = self.skip_fillers(at + 1);
        let and = |at: usize| self.is(at, &words::AND).then_some(at + 1);
        // `between 3 and 10 May`: the first day has the month of the second.
        if let Some(day) = words::number(self.word(start)).filter(|day| (1..=31).contains(day))
            && let Some(after) = and(start + 1)
            && let Some(found) = self.time(self.skip_fillers(after))
            && found.first == found.last
            && let Ok(first) = found.first.with().day(i8::try_from(day).ok()?).build()
        {
            return Some((first, found.last, found.end));
        }
        let one = self.time(start)?;
        let other = self.time(self.skip_fillers(and(one.end)?))?;
        // `between March and May 2024`: the first has the year of the second.
        let mut first = one.first;
        if first > other.last || !self.has_year(start, one.end) {
            let year = other.last.year();
            let in_year = first.with().year(year).build().ok()?;
            let is_after = in_year > other.last;
            first = if is_after { in_year.checked_sub(1.year()).ok()? } else { in_year };
        }
        Some((first, other.last, other.end))
    }

    /// Returns whether the tokens `from..to` have a year, or a day such as `yesterday`.
    fn has_year(&self, from: usize, to: usize) -> bool {
        (from..to).any(|at| self.year(at).is_some() || words::day(self.word(at)).is_some())
    }

    /// Reads `since March`, `before 2024`, `until yesterday`. Returns the first and the last day,
    /// and the index of the token after them.
    fn bounded(&self, at: usize) -> Option<(Date, Date, usize)> {
        let lists: [&[&str]; 4] = [&words::SINCE, &words::AFTER, &words::BEFORE, &words::UNTIL];
        let bound = lists.iter().position(|list| self.is(at, list))?;
        // `vor 3 Tagen` is an age. `na` is `after` in Dutch, and `in the` in Portuguese.
        let is_portuguese =
            self.is(at, &["na"]) && (self.is(at + 1, &["semana"]) || self.is(at + 2, &["feira"]));
        if self.age(at).is_some() || is_portuguese {
            return None;
        }
        let start = self.skip_fillers(at + 1);
        let found = self.time(start)?;
        let is_numbered = words::number(self.word(at + 1)).is_some_and(|number| number < 1000);
        if found.is_weak && is_numbered {
            return None;
        }
        // `bound` is an index of `lists`.
        Some(match bound {
            0 => (found.first, Date::MAX, found.end),
            1 => (found.last.tomorrow().ok()?, Date::MAX, found.end),
            2 => (Date::MIN, found.first.yesterday().ok()?, found.end),
            _ => (Date::MIN, found.last, found.end),
        })
    }

    /// Reads a time, with the preposition before it if there is one.
    fn plain(&self, at: usize) -> Option<ParsedTime> {
        if words::is_preposition(self.word(at))
            && let Some(found) = self.time(self.skip_fillers(at + 1))
        {
            return Some(found);
        }
        let found = self.time(at)?;
        let is_all = at == 0 && found.end == self.tokens.len();
        (!found.is_weak || is_all).then_some(found)
    }

    /// Reads a time at a token.
    fn time(&self, at: usize) -> Option<ParsedTime> {
        self.numeric(at)
            .or_else(|| self.age(at))
            .or_else(|| self.relative(at))
            .or_else(|| self.named_day(at))
            .or_else(|| self.quarter(at))
            .or_else(|| self.month(at))
            .or_else(|| self.weekday(at))
            .or_else(|| self.whole_year(at))
    }

    /// Reads `2025-03-14`, `2025-03`, `14.3.2025`, `14/03/2025`.
    fn numeric(&self, at: usize) -> Option<ParsedTime> {
        let number = |at: usize| {
            let text = self.word(at);
            let is_short = !text.is_empty() && text.len() <= 4;
            (is_short && text.bytes().all(|b| b.is_ascii_digit()))
                .then(|| text.parse::<i16>().ok())?
        };
        let separator_after = |at: usize| {
            let gap = self.tokens.get(at)?.range.end..self.tokens.get(at + 1)?.range.start;
            self.text.get(gap).filter(|gap| gap.len() == 1)?.chars().next()
        };
        let day = |year: i16, month: i16, day: i16| {
            Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
        };
        let (one, two) = (number(at)?, number(at + 1)?);
        let separator = separator_after(at).filter(|mark| matches!(mark, '-' | '/' | '.'))?;
        let three = number(at + 2).filter(|_| separator_after(at + 1) == Some(separator));
        let is_year = self.word(at).len() == 4;
        match three {
            Some(three) if is_year => {
                let day = day(one, two, three)?;
                Some(ParsedTime::strong((day, day), at + 3))
            }
            Some(three) if self.word(at + 2).len() == 4 => {
                let day = day(three, two, one).or_else(|| day(three, one, two))?;
                Some(ParsedTime::strong((day, day), at + 3))
            }
            None if is_year && separator == '-' && self.word(at + 1).len() == 2 => {
                let first = day(one, two, 1)?;
                Some(ParsedTime::strong((first, first.last_of_month()), at + 2))
            }
            _ => None,
        }
    }

    /// Reads `3 days ago`, `vor 3 Tagen`, `il y a 3 jours`. `1 week ago` is the whole former week.
    fn age(&self, at: usize) -> Option<ParsedTime> {
        let number_at = match () {
            () if self.is(at, &["il"]) && self.is(at + 1, &["y"]) && self.is(at + 2, &["a"]) => {
                at + 3
            }
            () if self.is(at, &words::AGO_BEFORE) && words::number(self.word(at + 1)).is_some() => {
                at + 1
            }
            () => at,
        };
        let count = words::number(self.word(number_at))?;
        let unit = words::unit(self.word(number_at + 1))?;
        let after = number_at + 2;
        let has_ago_after = self.is(after, &words::AGO);
        if number_at == at && !has_ago_after {
            return None;
        }
        let days = self.calendar(unit, -count)?;
        Some(ParsedTime::strong(days, if has_ago_after { after + 1 } else { after }))
    }

    /// Reads `yesterday`, `last week`, `this year`, `last 3 months`, `semana pasada`, `last March`.
    fn relative(&self, at: usize) -> Option<ParsedTime> {
        if let Some(distance) = words::day(self.word(at)) {
            let day = self.today.checked_add(distance.days()).ok()?;
            return Some(ParsedTime::strong((day, day), at + 1));
        }
        // `aujourd'hui`; `hier` is another word in German.
        if self.is(at, &["aujourd"]) && self.is(at + 1, &["hui"]) {
            return Some(ParsedTime::strong((self.today, self.today), at + 2));
        }
        if self.is(at, &["hier"]) && self.is_french() {
            let day = self.today.yesterday().ok()?;
            return Some(ParsedTime::strong((day, day), at + 1));
        }
        if let Some(step) = self.step(at) {
            // `last 3 weeks`, `letzten 3 Wochen`
            if step == -1
                && let Some(count) = words::number(self.word(at + 1))
                && let Some(unit) = words::unit(self.word(at + 2))
            {
                return Some(ParsedTime::strong(self.up_to_now(unit, count)?, at + 3));
            }
            if let Some(unit) = words::unit(self.word(at + 1)) {
                return Some(ParsedTime::strong(self.calendar(unit, step)?, at + 2));
            }
            if let Some((day, length)) = words::weekday(self.word(at + 1), self.word(at + 2)) {
                let day = self.weekday_at_step(day, step)?;
                return Some(ParsedTime::strong((day, day), at + 1 + length));
            }
            if let Some(month) = words::month(self.word(at + 1)) {
                // In `last March 14` and `last March 2024`, `last` is ignored.
                let month_after = self.month(at + 1).filter(|found| found.end > at + 2);
                if month_after.is_some() {
                    return month_after;
                }
                return Some(ParsedTime::strong(self.month_at_step(month, step)?, at + 2));
            }
        }
        self.relative_after(at)
    }

    /// Reads `3 derniers mois`, `semana pasada`, `mardi dernier`.
    fn relative_after(&self, at: usize) -> Option<ParsedTime> {
        if let Some(count) = words::number(self.word(at))
            && self.is(at + 1, &words::LAST)
            && let Some(unit) = words::unit(self.word(at + 2))
        {
            return Some(ParsedTime::strong(self.up_to_now(unit, count)?, at + 3));
        }
        if let Some(unit) = words::unit(self.word(at))
            && let Some(step) = self.step(at + 1).filter(|step| *step != 0)
        {
            return Some(ParsedTime::strong(self.calendar(unit, step)?, at + 2));
        }
        if let Some((day, length)) = words::weekday(self.word(at), self.word(at + 1))
            && let Some(step) = self.step(at + length).filter(|step| *step != 0)
        {
            let day = self.weekday_at_step(day, step)?;
            return Some(ParsedTime::strong((day, day), at + length + 1));
        }
        if let Some(month) = words::month(self.word(at))
            && let Some(step) = self.step(at + 1).filter(|step| *step != 0)
        {
            return Some(ParsedTime::strong(self.month_at_step(month, step)?, at + 2));
        }
        None
    }

    /// Returns -1 for `last`, 0 for `this`, 1 for `next`.
    fn step(&self, at: usize) -> Option<i64> {
        match () {
            () if self.is(at, &words::LAST) || self.is(at, &words::LAST_ONE) => Some(-1),
            () if self.is(at, &words::THIS) => Some(0),
            () if self.is(at, &words::NEXT) => Some(1),
            () => None,
        }
    }

    /// Reads `14 March 2025`, `March 14`, `14. März`, `14 de marzo de 2025`.
    fn named_day(&self, at: usize) -> Option<ParsedTime> {
        let day_at = |at: usize| {
            let text = self.word(at);
            let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let ending = &text[digits.len()..];
            let is_ordinal = ["", "st", "nd", "rd", "th", "er"].contains(&ending);
            digits.parse::<i8>().ok().filter(|day| is_ordinal && (1..=31).contains(day))
        };
        let (month, day, end) = match (day_at(at), words::month(self.word(at))) {
            (Some(day), _) => {
                let month_at = self.skip_fillers(at + 1);
                (words::month(self.word(month_at))?, day, month_at + 1)
            }
            (None, Some(month)) => (month, day_at(at + 1)?, at + 2),
            _ => return None,
        };
        let year_at = self.skip_fillers(end);
        let (date, end) = match self.year(year_at) {
            Some(year) => (Date::new(year, month, day).ok()?, year_at + 1),
            None => {
                let date = Date::new(self.today.year(), month, day).ok()?;
                let past = if date > self.today { date.checked_sub(1.year()).ok()? } else { date };
                (past, end)
            }
        };
        Some(ParsedTime::strong((date, date), end))
    }

    /// Reads `Q3 2025`, `third quarter of 2025`, `3. Quartal`.
    fn quarter(&self, at: usize) -> Option<ParsedTime> {
        let (number, is_short) = words::quarter(self.word(at))?;
        let end = match is_short {
            true => at + 1,
            false if words::unit(self.word(at + 1)) == Some(CalendarUnit::Quarter) => at + 2,
            false => return None,
        };
        let quarter = |year| {
            let first = Date::new(year, number * 3 - 2, 1).ok()?;
            Some((first, first.checked_add(2.months()).ok()?.last_of_month()))
        };
        let year_at = self.skip_fillers(end);
        let (days, end) = match self.year(year_at) {
            Some(year) => (quarter(year)?, year_at + 1),
            None => {
                let current = quarter(self.today.year())?;
                let has_begun = current.0 <= self.today;
                (if has_begun { current } else { quarter(self.today.year() - 1)? }, end)
            }
        };
        Some(ParsedTime { first: days.0, last: days.1, end, is_weak: is_short && end == at + 1 })
    }

    /// Reads `March 2025`, `March`.
    fn month(&self, at: usize) -> Option<ParsedTime> {
        let month = words::month(self.word(at))?;
        let year_at = self.skip_fillers(at + 1);
        let (first, end, is_weak) = match self.year(year_at) {
            Some(year) => (Date::new(year, month, 1).ok()?, year_at + 1, false),
            None => {
                let first = Date::new(self.today.year(), month, 1).ok()?;
                let is_ahead = first > self.today;
                let first = if is_ahead { first.checked_sub(1.year()).ok()? } else { first };
                (first, at + 1, true)
            }
        };
        Some(ParsedTime { first, last: first.last_of_month(), end, is_weak })
    }

    /// Reads `Monday`: the last Monday, which may be today.
    fn weekday(&self, at: usize) -> Option<ParsedTime> {
        let (day, length) = words::weekday(self.word(at), self.word(at + 1))?;
        let back = i64::from(day.until(self.today.weekday()));
        let date = self.today.checked_sub(back.days()).ok()?;
        Some(ParsedTime { first: date, last: date, end: at + length, is_weak: true })
    }

    /// Returns the year at a token, from 1800 to 2199.
    fn year(&self, at: usize) -> Option<i16> {
        let text = self.word(at);
        let year = text.parse::<i16>().ok().filter(|_| text.len() == 4)?;
        (1800..2200).contains(&year).then_some(year)
    }

    /// Reads `2025`.
    fn whole_year(&self, at: usize) -> Option<ParsedTime> {
        let first = Date::new(self.year(at)?, 1, 1).ok()?;
        Some(ParsedTime { first, last: first.last_of_year(), end: at + 1, is_weak: true })
    }

    /// Returns the day, week, month, quarter or year that lies `step` units from the current one.
    /// Weeks begin on Monday.
    fn calendar(&self, unit: CalendarUnit, step: i64) -> Option<(Date, Date)> {
        let today = self.today;
        let (first, length) = match unit {
            CalendarUnit::Day => (today, 1.day()),
            CalendarUnit::Week => {
                let monday = i64::from(today.weekday().to_monday_zero_offset());
                (today.checked_sub(monday.days()).ok()?, 1.week())
            }
            CalendarUnit::Month => (today.first_of_month(), 1.month()),
            CalendarUnit::Quarter => {
                let month = (today.month() - 1) / 3 * 3 + 1;
                (Date::new(today.year(), month, 1).ok()?, 3.months())
            }
            CalendarUnit::Year => (today.first_of_year(), 1.year()),
        };
        let first = first.checked_add(length.checked_mul(step).ok()?).ok()?;
        Some((first, first.checked_add(length).ok()?.yesterday().ok()?))
    }

    /// Returns the days from `count` units ago to today.
    fn up_to_now(&self, unit: CalendarUnit, count: i64) -> Option<(Date, Date)> {
        let length = match unit {
            CalendarUnit::Day => 1.day(),
            CalendarUnit::Week => 1.week(),
            CalendarUnit::Month => 1.month(),
            CalendarUnit::Quarter => 3.months(),
            CalendarUnit::Year => 1.year(),
        };
        Some((self.today.checked_sub(length.checked_mul(count).ok()?).ok()?, self.today))
    }

    /// Returns a date with this day of the week: for `step` -1 the last one before today, for 0 the
    /// last one up to today, for 1 the first one after today.
    fn weekday_at_step(&self, day: Weekday, step: i64) -> Option<Date> {
        let latest = self.today.checked_sub(if step < 0 { 1.day() } else { 0.days() }).ok()?;
        let back = i64::from(day.until(latest.weekday()));
        let past = latest.checked_sub(back.days()).ok()?;
        if step > 0 { past.checked_add(1.week()).ok() } else { Some(past) }
    }

    /// Returns the days of this month: for `step` -1 the last such month that has ended, for 0 that
    /// of this year, for 1 the first one that has not begun.
    fn month_at_step(&self, month: i8, step: i64) -> Option<(Date, Date)> {
        let this_year = Date::new(self.today.year(), month, 1).ok()?;
        let first = match step {
            -1 if this_year.last_of_month() >= self.today => {
                this_year.checked_sub(1.year()).ok()?
            }
            1 if this_year <= self.today => this_year.checked_add(1.year()).ok()?,
            _ => this_year,
        };
        Some((first, first.last_of_month()))
    }

    /// Returns whether the text has one word only, or a common French word.
    fn is_french(&self) -> bool {
        const FRENCH: [&str; 14] = [
            "le", "la", "les", "des", "du", "est", "qui", "que", "qu", "quoi", "avec", "ai",
            "nous", "fait",
        ];
        self.tokens.len() == 1
            || self.tokens.iter().any(|token| FRENCH.contains(&token.text.as_str()))
    }
}
