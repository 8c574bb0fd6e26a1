//! Reads times relative to the current day: `yesterday`, `last week`, `3 days ago`, `last spring`.

use jiff::ToSpan;

use super::calendar::{self, Days};
use super::parser::{ParsedTime, TimeParser};
use super::words::{self, CalendarUnit};

/// Returns a month or a season at a step from the current one: `last March` can be of an earlier
/// year, `this March` and `next March` cannot.
fn at_step(step: i64, days: Days, end: usize) -> ParsedTime {
    let found = ParsedTime::strong(days, end);
    if step < 0 { found.of_any_year() } else { found.assumed() }
}

impl TimeParser<'_> {
    /// Reads `3 days ago`, `vor 3 Tagen`, `il y a 3 jours`. `1 week ago` is the whole former week.
    pub(super) fn age(&self, at: usize) -> Option<ParsedTime> {
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
        let days = self.calendar.unit(unit, -count)?;
        let end = if has_ago_after { after + 1 } else { after };
        let of_year = || (unit == CalendarUnit::Year).then(|| self.month_of(end, days.0.year()));
        Some(of_year().flatten().unwrap_or(ParsedTime::strong(days, end)))
    }

    /// Reads the month or season after a year: `two years ago in May`.
    fn month_of(&self, at: usize, year: i16) -> Option<ParsedTime> {
        let start = self.skip_fillers(at + usize::from(words::is_preposition(self.word(at))));
        let days = match words::month(self.word(start)) {
            Some(month) => calendar::months(year, month, 1)?,
            None => calendar::season(year, words::season(self.word(start))?)?,
        };
        Some(ParsedTime::strong(days, start + 1))
    }

    /// Reads `yesterday`, `last week`, `this year`, `last 3 months`, `semana pasada`, `last March`.
    pub(super) fn relative(&self, at: usize) -> Option<ParsedTime> {
        if let Some(distance) = words::day(self.word(at)) {
            let day = self.calendar.today.checked_add(distance.days()).ok()?;
            return Some(ParsedTime::strong((day, day), at + 1));
        }
        // `aujourd'hui`; `hier` is another word in German.
        if self.is(at, &["aujourd"]) && self.is(at + 1, &["hui"]) {
            return Some(ParsedTime::strong((self.calendar.today, self.calendar.today), at + 2));
        }
        if self.is(at, &["hier"]) && self.is_french() {
            let day = self.calendar.today.yesterday().ok()?;
            return Some(ParsedTime::strong((day, day), at + 1));
        }
        if let Some(step) = self.step(at) {
            // `last 3 weeks`, `letzten 3 Wochen`
            if step == -1
                && let Some(count) = words::number(self.word(at + 1))
                && let Some(unit) = words::unit(self.word(at + 2))
            {
                return Some(ParsedTime::strong(self.calendar.up_to_now(unit, count)?, at + 3));
            }
            if let Some(unit) = words::unit(self.word(at + 1)) {
                return Some(ParsedTime::strong(self.calendar.unit(unit, step)?, at + 2));
            }
            if let Some((day, length)) = words::weekday(self.word(at + 1), self.word(at + 2)) {
                let days = self.calendar.weekday(day, step)?;
                return Some(ParsedTime::strong(days, at + 1 + length));
            }
            // In `last March 14` and `last March 2024`, `last` is ignored.
            let after = self.named_day(at + 1).or_else(|| self.month(at + 1));
            if let Some(found) = after.filter(|found| found.end > at + 2) {
                return Some(found);
            }
            if let Some(days) = self.yearly_at_step(at + 1, step) {
                return Some(at_step(step, days, at + 2));
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
            return Some(ParsedTime::strong(self.calendar.up_to_now(unit, count)?, at + 3));
        }
        if let Some(unit) = words::unit(self.word(at))
            && let Some(step) = self.step(at + 1).filter(|step| *step != 0)
        {
            return Some(ParsedTime::strong(self.calendar.unit(unit, step)?, at + 2));
        }
        if let Some((day, length)) = words::weekday(self.word(at), self.word(at + 1))
            && let Some(step) = self.step(at + length).filter(|step| *step != 0)
        {
            let days = self.calendar.weekday(day, step)?;
            return Some(ParsedTime::strong(days, at + length + 1));
        }
        let step = self.step(at + 1).filter(|step| *step != 0)?;
        // `im März letzten Jahres`, `spring last year`
        if words::unit(self.word(at + 2)).is_some() {
            return None;
        }
        Some(at_step(step, self.yearly_at_step(at, step)?, at + 2))
    }

    /// Returns the days of the month or season at a token, counted in steps from the current one.
    fn yearly_at_step(&self, at: usize, step: i64) -> Option<Days> {
        if let Some(month) = words::month(self.word(at)) {
            return self.calendar.at_step(step, |year| calendar::months(year, month, 1));
        }
        let season = words::season(self.word(at))?;
        self.calendar.at_step(step, |year| calendar::season(year, season))
    }

    /// Returns -1 for `last`, 0 for `this`, 1 for `next`.
    pub(super) fn step(&self, at: usize) -> Option<i64> {
        match () {
            () if self.is(at, &words::LAST) || self.is(at, &words::LAST_ONE) => Some(-1),
            () if self.is(at, &words::THIS) => Some(0),
            () if self.is(at, &words::NEXT) => Some(1),
            () => None,
        }
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
