//! A year as a calendar: weeks as columns, days shaded by the number of their timeline entries.

use std::collections::HashMap;

use brain_base::clock::parse_day;
use brain_protocol::{DayCount, TimelineDaysReply};
use maud::{Markup, html};

use super::{day_path, year_path};
use crate::text::Text;

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The days of a year, as the calendar arranges them.
struct Weeks {
    /// The days of each week from Monday. Days of other years are absent.
    weeks: Vec<[Option<String>; 7]>,
    /// For each column heading, the month (January is 0) and its number of weeks.
    months: Vec<(usize, usize)>,
}

impl Weeks {
    /// Arranges a year. `None` if the year is out of range.
    fn of(year: i16) -> Option<Self> {
        let mut day = parse_day(&format!("{year:04}-01-01"))?;
        let mut weeks: Vec<[Option<String>; 7]> = vec![<[Option<String>; 7]>::default()];
        let mut months: Vec<(usize, usize)> = vec![(0, 1)];
        while day.year() == year {
            let weekday = usize::try_from(day.weekday().to_monday_zero_offset()).ok()?;
            if weekday == 0 && day.day_of_year() > 1 {
                weeks.push(Default::default());
                // A week belongs to the month of its Monday.
                let month = usize::try_from(day.month()).ok()?.checked_sub(1)?;
                match months.last_mut() {
                    Some((last, weeks)) if *last == month => *weeks += 1,
                    _ => months.push((month, 1)),
                }
            }
            weeks.last_mut()?[weekday] = Some(day.to_string());
            let Ok(next) = day.tomorrow() else { break };
            day = next;
        }
        Some(Self { weeks, months })
    }
}

/// The quartiles of the numbers of entries of the days with entries. They separate the shades 1 to
/// 4.
struct Shades([u64; 3]);

impl Shades {
    fn of(days: &[DayCount]) -> Self {
        let mut counts: Vec<u64> = days.iter().map(|day| day.entries).collect();
        counts.sort_unstable();
        Self([1, 2, 3].map(|quarter| counts.get(counts.len() * quarter / 4).copied().unwrap_or(0)))
    }

    /// Returns the shade of a day with `count` entries.
    fn level(&self, count: u64) -> usize {
        1 + self.0.iter().filter(|quarter| count > **quarter).count()
    }
}

/// Shows the calendar of `year`. `selected` is the day that the timeline below shows.
pub(super) fn calendar(
    year: i16,
    source: &str,
    selected: Option<&str>,
    reply: &TimelineDaysReply,
) -> Markup {
    let Some(weeks) = Weeks::of(year) else { return html! {} };
    let shades = Shades::of(&reply.days);
    let counts: HashMap<&str, u64> =
        reply.days.iter().map(|day| (day.date.as_str(), day.entries)).collect();
    let total: u64 = reply.days.iter().map(|day| day.entries).sum();
    let label = format!("Calendar of {year:04}");
    html! {
        section aria-labelledby="calendar-title" {
            h2 id="calendar-title" { (format!("{year:04}")) }
            p class="row" {
                @if let Some(day) = &reply.before { (year_link(day, source, "← ", "")) }
                span class="count" { (summary(total, reply.days.len())) }
                @if let Some(day) = &reply.after { (year_link(day, source, "", " →")) }
            }
            div class="wide" tabindex="0" role="region" aria-label=(label) {
                table id="calendar" {
                    thead {
                        tr {
                            td {}
                            @for (month, weeks) in &weeks.months {
                                th scope="col" colspan=(weeks) {
                                    (MONTHS.get(*month).copied().unwrap_or_default())
                                }
                            }
                        }
                    }
                    tbody {
                        @for (weekday, name) in WEEKDAYS.iter().enumerate() {
                            tr {
                                th scope="row" { (name) }
                                @for week in &weeks.weeks {
                                    (cell(&week[weekday], source, selected, &counts, &shades))
                                }
                            }
                        }
                    }
                }
            }
            p class="legend" aria-hidden="true" {
                "Fewer " @for level in 0..=4 { span class={ "l" (level) } {} } " more"
            }
        }
    }
}

fn cell(
    day: &Option<String>,
    source: &str,
    selected: Option<&str>,
    counts: &HashMap<&str, u64>,
    shades: &Shades,
) -> Markup {
    let Some(day) = day else { return html! { td {} } };
    let Some(count) = counts.get(day.as_str()) else { return html! { td class="l0" {} } };
    let noun = if *count == 1 { "entry" } else { "entries" };
    html! {
        td class={ "l" (shades.level(*count)) } {
            a href=(Text(&day_path(day, source))) title={ (count) " " (noun) " on " (day) }
                aria-current=[(selected == Some(day)).then_some("date")] {}
        }
    }
}

fn summary(total: u64, days: usize) -> String {
    match (total, days) {
        (0, _) => "Nothing is dated in this year".into(),
        (1, _) => "1 entry on 1 day".into(),
        (total, 1) => format!("{total} entries on 1 day"),
        (total, days) => format!("{total} entries on {days} days"),
    }
}

/// Links the calendar of the year of `day`.
fn year_link(day: &str, source: &str, before: &str, after: &str) -> Markup {
    let year = day.get(..4).unwrap_or_default();
    html! { a href=(Text(&year_path(year, source))) { (before) (Text(year)) (after) } }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_all_its_days_in_weeks_from_monday() {
        for (year, days, weeks, first) in
            [(2026, 365, 53, 3), (2024, 366, 53, 0), (2028, 366, 53, 5), (2012, 366, 54, 6)]
        {
            let found = Weeks::of(year).unwrap();
            let all: Vec<&String> = found.weeks.iter().flatten().flatten().collect();
            assert_eq!((all.len(), found.weeks.len()), (days, weeks), "{year}");
            assert!(all.is_sorted(), "{year}");
            let first_weekday = found.weeks[0].iter().position(Option::is_some);
            assert_eq!(first_weekday, Some(first), "{year}");
            let columns: usize = found.months.iter().map(|(_, weeks)| weeks).sum();
            assert_eq!((columns, found.months.len()), (weeks, 12), "{year}");
        }
        assert!(Weeks::of(-1).is_none());
        assert_eq!(Weeks::of(9999).unwrap().weeks.iter().flatten().flatten().count(), 365);
    }

    #[test]
    fn shades_follow_the_counts() {
        let days = |counts: &[u64]| -> Vec<DayCount> {
            counts
                .iter()
                .map(|entries| DayCount { date: String::new(), entries: *entries })
                .collect()
        };
        let shades = Shades::of(&days(&[1, 2, 3, 4, 5, 6, 7, 100]));
        assert_eq!([1, 3, 4, 6, 100].map(|count| shades.level(count)), [1, 1, 2, 3, 4]);
        assert_eq!(Shades::of(&days(&[5, 5, 5])).level(5), 1);
        assert_eq!(Shades::of(&[]).level(1), 4);
    }

    #[test]
    fn days_with_entries_are_links_with_titles() {
        let reply = TimelineDaysReply {
            days: vec![
                DayCount { date: "2026-03-04".into(), entries: 3 },
                DayCount { date: "2026-03-05".into(), entries: 1 },
            ],
            before: Some("2024-07-01".into()),
            after: None,
        };
        let shown = calendar(2026, "work", Some("2026-03-05"), &reply).0;
        assert!(shown.contains("title=\"3 entries on 2026-03-04\""), "{shown}");
        assert!(shown.contains("1 entry on 2026-03-05\" aria-current=\"date\""), "{shown}");
        assert!(shown.contains("4 entries on 2 days") && shown.contains("← 2024"), "{shown}");
        assert_eq!(shown.matches("<td class=\"l0\">").count(), 363, "{shown}");
        assert_eq!(shown.matches("<a href=").count(), 3, "{shown}");
    }
}
