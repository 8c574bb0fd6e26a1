//! Reads weeks, months, quarters, seasons and years: `Q3 2025`, `spring 2021`, `week of 12 May`.

use super::calendar::{self, Days};
use super::parser::{ParsedTime, TimeParser};
use super::words::{self, CalendarUnit};

impl TimeParser<'_> {
    /// Reads a yearly period with the year at `end`, if there is one: else it is the last one that
    /// has begun.
    fn of_year(&self, end: usize, of: impl Fn(i16) -> Option<Days>) -> Option<ParsedTime> {
        Some(match self.year_at(end) {
            Some((year, end)) => ParsedTime::strong(of(year)?, end),
            None => ParsedTime::weak(self.calendar.latest(of)?, end).of_any_year(),
        })
    }

    /// Reads the year after a day, a month or a season: `2025`, `of 2025`, `’25`, `last year`.
    /// Returns it and the position after it.
    pub(super) fn year_at(&self, at: usize) -> Option<(i16, usize)> {
        let year_of = |step: i64| {
            let step = i16::try_from(step).ok()?;
            self.calendar.today.year().checked_add(step)
        };
        let start = self.skip_fillers(at);
        for at in [at, start] {
            let is_year = |at: usize| words::unit(self.word(at)) == Some(CalendarUnit::Year);
            // `de l'année dernière`
            let unit_at = if self.is(at, &["l"]) { at + 1 } else { at };
            if let Some(step) = self.step(unit_at + 1).filter(|_| is_year(unit_at)) {
                return Some((year_of(step)?, unit_at + 2));
            }
            if let Some(step) = self.step(at).filter(|_| is_year(at + 1)) {
                return Some((year_of(step)?, at + 2));
            }
        }
        if let Some(year) = self.year(start) {
            return Some((year, start + 1));
        }
        // `May two years ago`
        if let Some(ParsedTime { days: (first, last), end, .. }) = self.age(start)
            && calendar::year(first.year()) == Some((first, last))
        {
            return Some((first.year(), end));
        }
        // `May ’21`
        let year = self.short_year(start).filter(|_| self.has_apostrophe(start))?;
        Some((year, start + 1))
    }

    /// Returns the year at a token, from 1800 to 2199.
    fn year(&self, at: usize) -> Option<i16> {
        let text = self.word(at);
        let year = text.parse::<i16>().ok().filter(|_| text.len() == 4)?;
        words::YEARS.contains(&year).then_some(year)
    }

    /// Reads `2025`.
    pub(super) fn whole_year(&self, at: usize) -> Option<ParsedTime> {
        Some(ParsedTime::weak(calendar::year(self.year(at)?)?, at + 1))
    }

    /// Reads `March 2025`, `March`, `März letzten Jahres`.
    pub(super) fn month(&self, at: usize) -> Option<ParsedTime> {
        let month = words::month(self.word(at))?;
        if !self.is(at, &words::ENGLISH_MONTHS)
            && let Some(year) = self.short_year_after_month(at)
        {
            return Some(ParsedTime::strong(calendar::months(year, month, 1)?, at + 2));
        }
        self.of_year(at + 1, |year| calendar::months(year, month, 1))
    }

    /// Reads `spring 2021`, `summer`, `Winter 2020/21`. `winter 2020` can begin or end in 2020.
    pub(super) fn season(&self, at: usize) -> Option<ParsedTime> {
        let season = words::season(self.word(at))?;
        // In `a été vu`, the word for summer is a form of `être`.
        let is_verb = self.is(at, &["ete"])
            && at > 0
            && !self.is(at - 1, &["en", "l", "cet", "d", "pendant"]);
        if is_verb {
            return None;
        }
        let found = self.of_year(at + 1, |year| calendar::season(year, season))?;
        let is_faint = found.is_assumed;
        if season != words::WINTER || found.is_assumed {
            return Some(ParsedTime { is_faint, ..found });
        }
        let year = found.days.0.year();
        let next = self.word(found.end).parse::<i16>().ok().filter(|next| {
            self.gap_after(found.end - 1) == "/" && (*next == year + 1 || *next == (year + 1) % 100)
        });
        Some(match next {
            Some(_) => ParsedTime { end: found.end + 1, ..found },
            None => ParsedTime { other: calendar::months(year, 1, 2), ..found },
        })
    }

    /// Reads `Q3 2025`, `2025 Q3`, `third quarter of 2025`, `3. Quartal`, `H1 2025`.
    pub(super) fn quarter(&self, at: usize) -> Option<ParsedTime> {
        // `2025 Q3`, `2025-H1`, `2025-W20`
        if let Some(year) = self.year(at) {
            let days = match (words::quarter(self.word(at + 1)), words::half(self.word(at + 1))) {
                (Some((number, true)), _) => calendar::quarter(year, number),
                (_, Some(half)) => calendar::months(year, half * 6 - 5, 6),
                _ => {
                    let number = self.word(at + 1).strip_prefix('w')?.parse().ok()?;
                    calendar::numbered_week(year, number)
                }
            }?;
            return Some(ParsedTime::strong(days, at + 2));
        }
        if let Some(half) = words::half(self.word(at)) {
            let found = self.of_year(at + 1, |year| calendar::months(year, half * 6 - 5, 6));
            return found.filter(|found| !found.is_assumed);
        }
        let (number, is_short) = words::quarter(self.word(at))?;
        if is_short {
            return self.of_year(at + 1, |year| calendar::quarter(year, number));
        }
        if self.is(at + 1, &words::HALF) && number <= 2 {
            let found = self.of_year(at + 2, |year| calendar::months(year, number * 6 - 5, 6))?;
            return (!found.is_assumed).then_some(found);
        }
        let is_quarter = words::unit(self.word(at + 1)) == Some(CalendarUnit::Quarter);
        let found = self.of_year(at + 2, |year| calendar::quarter(year, number));
        found.filter(|_| is_quarter).map(|found| ParsedTime { is_weak: false, ..found })
    }

    /// Reads `early May 2021`, `Ende 2020`, `last week of May`: the whole month, season or year.
    pub(super) fn part(&self, at: usize) -> Option<ParsedTime> {
        let unit = words::unit(self.word(at + 1));
        let is_unit_of = matches!(unit, Some(CalendarUnit::Week | CalendarUnit::Day))
            && self.is(at + 2, &words::OF);
        let start = match () {
            () if self.is(at, &words::PARTS) => at + 1,
            () if is_unit_of && (self.step(at) == Some(-1) || words::is_ordinal(self.word(at))) => {
                at + 3
            }
            () => return None,
        };
        let start = self.skip_fillers(start);
        let found = self.month(start).or_else(|| self.season(start));
        let year = || Some(ParsedTime { is_weak: false, ..self.whole_year(start)? });
        found.or_else(|| self.quarter(start)).or_else(year)
    }

    /// Reads `the week of 12 May 2021`, `week 20 of 2021`, `KW 20`.
    pub(super) fn week(&self, at: usize) -> Option<ParsedTime> {
        let word = self.word(at);
        // `KW20`, `W20 2025`. `W2` alone is a form for taxes.
        let joined = ["kw", "wk"].iter().find_map(|short| word.strip_prefix(short));
        let joined =
            joined.or_else(|| word.strip_prefix('w').filter(|_| self.year(at + 1).is_some()));
        if let Some(number) = joined.and_then(|digits| digits.parse::<i8>().ok()) {
            return self.of_year(at + 1, |year| calendar::numbered_week(year, number));
        }
        let is_week = words::unit(word) == Some(CalendarUnit::Week);
        if !is_week && !self.is(at, &words::NUMBERED_WEEK) {
            return None;
        }
        let number = self.word(at + 1).parse::<i8>().ok();
        let numbered = number.filter(|number| (1..=53).contains(number) && !self.is_day(at + 1));
        if let Some(number) = numbered {
            let found = self.of_year(at + 2, |year| calendar::numbered_week(year, number))?;
            return Some(ParsedTime { is_faint: found.is_assumed && is_week, ..found });
        }
        let is_linked =
            words::is_preposition(self.word(at + 1)) || words::is_filler(self.word(at + 1));
        let start = self.skip_fillers(at + 1 + usize::from(is_linked));
        let found = self.day(start).filter(|_| is_week)?;
        let other = found.other.and_then(|(day, _)| calendar::week(day));
        Some(ParsedTime { days: calendar::week(found.days.0)?, other, ..found })
    }

    /// Reads a day that is written with its month.
    pub(super) fn day(&self, at: usize) -> Option<ParsedTime> {
        let found = self.numeric(at).or_else(|| self.named_day(at))?;
        found.is_day().then_some(found)
    }

    fn is_day(&self, at: usize) -> bool {
        self.day(at).is_some()
    }
}
