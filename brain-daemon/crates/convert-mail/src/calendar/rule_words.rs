//! A rule of recurrence in words.

use brain_convert_base::MONTHS;
use jiff::civil::Weekday;

use super::rule::{Frequency, Rule};

/// Returns a rule in words, without its end: `every 2 weeks on Monday`.
pub(super) fn words(rule: &Rule) -> String {
    let unit = match rule.frequency {
        Frequency::Daily => "day",
        Frequency::Weekly => "week",
        Frequency::Monthly => "month",
        Frequency::Yearly => "year",
    };
    let mut words = match rule.interval {
        1 => format!("every {unit}"),
        n => format!("every {n} {unit}s"),
    };
    let days: Vec<String> = rule.days.iter().map(|it| day(*it)).collect();
    let month_days: Vec<String> = rule.month_days.iter().map(|it| numbered(*it, "day")).collect();
    let year_days: Vec<String> = rule.year_days.iter().map(|it| numbered(*it, "day")).collect();
    let months: Vec<String> = rule.months.iter().map(|it| month(*it)).collect();
    let positions: Vec<String> = rule.positions.iter().map(|it| numbered(*it, "one")).collect();
    for (before, list, after) in [
        (" on ", days, ""),
        (" on the ", month_days, " of the month"),
        (" on the ", year_days, " of the year"),
        (" in ", months, ""),
        (", of these the ", positions, ""),
    ] {
        if !list.is_empty() {
            words.push_str(&format!("{before}{}{after}", list.join(", ")));
        }
    }
    words
}

fn month(number: i16) -> String {
    let name = usize::try_from(number - 1).ok().and_then(|at| MONTHS.get(at));
    name.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

/// Returns `Monday`, `the second Tuesday` or `the last Friday`.
fn day((number, weekday): (i16, Weekday)) -> String {
    let name = match weekday {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    };
    match number {
        0 => name.to_owned(),
        number => format!("the {}", numbered(number, name)),
    }
}

/// Returns `2nd day`, `last day` or `2nd last day`.
fn numbered(number: i16, name: &str) -> String {
    let ordinal = match (number.abs() % 10, number.abs() % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    match number {
        -1 => format!("last {name}"),
        ..0 => format!("{}{ordinal} last {name}", -number),
        _ => format!("{number}{ordinal} {name}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_in_words() {
        for (rule, expected) in [
            ("FREQ=WEEKLY", "every week"),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", "every 2 weeks on Monday, Wednesday"),
            ("FREQ=MONTHLY;BYDAY=2TU,-1FR", "every month on the 2nd Tuesday, the last Friday"),
            (
                "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=21,-2",
                "every year on the 21st day, 2nd last day of the month in March",
            ),
            (
                "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1",
                "every month on Monday, Tuesday, of these the last one",
            ),
        ] {
            assert_eq!(words(&Rule::parse(rule).unwrap()), expected);
        }
    }
}
