//! Days of pages as keys, and periods as sets of keys.

use jiff::civil::Date;

/// The first and last year that are indexed. Questions do not name other years, and the limit keeps
/// the number of keys of a period small.
const YEARS: [i16; 2] = [1000, 2999];

/// Returns the keys of a day: itself, its month and its year.
pub(super) fn keys_of_day(day: Date) -> [String; 3] {
    [key(day, "%Y-%m-%d"), key(day, "%Y-%m"), key(day, "%Y")]
}

/// Returns the keys of a period: whole years, whole months, and days. A page has one of them if one
/// of its days is from `first` to `last`.
pub(super) fn keys_of_period(first: Date, last: Date) -> Vec<String> {
    let year = |year: i16, month, day| Date::new(year, month, day).unwrap_or(Date::MAX);
    let mut day = first.max(year(YEARS[0], 1, 1));
    let last = last.min(year(YEARS[1], 12, 31));
    let mut keys = Vec::new();
    while day <= last {
        let (end, pattern) = match day {
            _ if day == day.first_of_year() && day.last_of_year() <= last => {
                (day.last_of_year(), "%Y")
            }
            _ if day == day.first_of_month() && day.last_of_month() <= last => {
                (day.last_of_month(), "%Y-%m")
            }
            _ => (day, "%Y-%m-%d"),
        };
        keys.push(key(day, pattern));
        let Ok(next) = end.tomorrow() else { break };
        day = next;
    }
    keys
}

fn key(day: Date, pattern: &str) -> String {
    day.strftime(pattern).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn period(first: &str, last: &str) -> Vec<String> {
        keys_of_period(first.parse().unwrap(), last.parse().unwrap())
    }

    #[test]
    fn periods_have_few_keys() {
        assert_eq!(period("2025-03-14", "2025-03-14"), ["2025-03-14"]);
        assert_eq!(period("2025-03-01", "2025-03-31"), ["2025-03"]);
        assert_eq!(period("2024-12-30", "2026-02-02").join(" "), {
            "2024-12-30 2024-12-31 2025 2026-01 2026-02-01 2026-02-02"
        });
        assert!(period("2025-03-15", "2025-03-14").is_empty());
        assert_eq!(period("-009999-01-01", "9999-12-31").len(), 2000);
    }

    #[test]
    fn a_day_has_keys_for_itself_its_month_and_its_year() {
        let day: Date = "2025-03-14".parse().unwrap();
        let keys = keys_of_day(day);
        for (first, last) in [
            ("2025-03-14", "2025-03-14"),
            ("2025-03-01", "2025-04-10"),
            ("2025-02-27", "2025-03-14"),
            ("2024-05-05", "2026-01-01"),
        ] {
            assert!(period(first, last).iter().any(|key| keys.contains(key)), "{first} {last}");
        }
        for (first, last) in [("2025-03-15", "2026-12-31"), ("2020-01-01", "2025-03-13")] {
            assert!(!period(first, last).iter().any(|key| keys.contains(key)), "{first} {last}");
        }
    }
}
