//! Days of pages as keys, and periods as sets of keys.

use jiff::civil::Date;

/// The first and last year that are indexed. Questions do not name other years, and the limit keeps
/// the number of keys of a period small.
const YEARS: [i16; 2] = [1000, 2999];

/// How a page is connected with days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayRole {
    /// The page states the day as its own: in its frontmatter, its slug or its title.
    Stated,
    /// The timeline of the page has the day, and the page states no day of its own.
    Listed,
    /// The page was created or last changed on the day.
    Written,
    /// The day stands in the page's text.
    Mentioned,
}

/// Days of a page: one, or those of a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageDays {
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
    /// How the page is connected with them.
    pub role: DayRole,
}

/// A condition: only pages with a day of these periods, in one of these roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayCondition {
    /// The first and the last day of each period.
    pub spans: Vec<(Date, Date)>,
    /// The roles that count.
    pub roles: Vec<DayRole>,
}

impl DayRole {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Stated, Self::Listed, Self::Written, Self::Mentioned];

    /// The beginning of the keys of this role. Those of stated days have none.
    fn prefix(self) -> &'static str {
        match self {
            Self::Stated => "",
            Self::Listed => "t",
            Self::Written => "w",
            Self::Mentioned => "m",
        }
    }
}

/// Returns the keys of days of a page: the day, its month and its year, or the month and its year.
/// Days that are no whole month count as the first of them.
pub(super) fn keys_of_days(days: PageDays) -> impl Iterator<Item = String> {
    let PageDays { first, last, role } = days;
    let is_month = first == first.first_of_month() && last == first.last_of_month();
    let patterns = if is_month { &["%Y-%m", "%Y"][..] } else { &["%Y-%m-%d", "%Y-%m", "%Y"] };
    patterns.iter().map(move |pattern| format!("{}{}", role.prefix(), key(first, pattern)))
}

/// Returns the keys of which a page has one if it meets `condition`.
pub(super) fn keys_of_condition(condition: &DayCondition) -> Vec<String> {
    let spans = condition.spans.iter();
    let keys: Vec<String> = spans.flat_map(|(first, last)| keys_of_period(*first, *last)).collect();
    let with_role = |role: &DayRole| {
        let prefix = role.prefix();
        keys.iter().map(move |key| format!("{prefix}{key}")).collect::<Vec<_>>()
    };
    condition.roles.iter().flat_map(with_role).collect()
}

/// Returns the keys of a period: whole years, whole months, and days. A page has one of them if one
/// of its days is from `first` to `last`.
fn keys_of_period(first: Date, last: Date) -> Vec<String> {
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

    fn days_of_page(first: &str, last: &str, role: DayRole) -> Vec<String> {
        let days = PageDays { first: first.parse().unwrap(), last: last.parse().unwrap(), role };
        keys_of_days(days).collect()
    }

    #[test]
    fn a_day_has_keys_for_itself_its_month_and_its_year() {
        let keys = days_of_page("2025-03-14", "2025-03-14", DayRole::Stated);
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

    #[test]
    fn a_month_is_found_by_whole_months_only() {
        let keys = days_of_page("2025-03-01", "2025-03-31", DayRole::Stated);
        assert_eq!(keys, ["2025-03", "2025"]);
        assert!(period("2025-03-01", "2025-04-02").iter().any(|key| keys.contains(key)));
        assert!(!period("2025-03-01", "2025-03-30").iter().any(|key| keys.contains(key)));
    }

    #[test]
    fn a_condition_has_the_keys_of_its_roles() {
        let day: Date = "2025-03-14".parse().unwrap();
        let keys = |roles: &[DayRole]| {
            let spans = vec![(day, day), (day.tomorrow().unwrap(), day.tomorrow().unwrap())];
            keys_of_condition(&DayCondition { spans, roles: roles.to_vec() })
        };
        assert_eq!(keys(&[DayRole::Mentioned]), ["m2025-03-14", "m2025-03-15"]);
        let mentioned = days_of_page("2025-03-14", "2025-03-14", DayRole::Mentioned);
        let stated = keys(&[DayRole::Stated, DayRole::Written]);
        assert!(!stated.iter().any(|key| mentioned.contains(key)));
        assert!(keys(&DayRole::ALL).iter().any(|key| mentioned.contains(key)));
    }
}
