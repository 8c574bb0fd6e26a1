//! The dates that a page states in its frontmatter, its name and its title, and those that stand in
//! its text.

use std::collections::BTreeSet;
use std::ops::Range;

use brain_protocol::Slug;
use jiff::civil::Date;

use super::date_keys::is_time_of_writing;
use super::dates_in_text::{DateInText, dates_in};
use super::note_dates::{day_in_name, parse_day};
use super::shared_text::FrontmatterText;

/// Maximum number of days of a page.
const MAX_DAYS: usize = 1_000;
/// Maximum number of dates that are kept of a text. A text with more is a log or a table.
const MAX_MENTIONED: usize = 64;
/// A text is searched for dates up to this length, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Earlier years are numbers rather than dates.
const FIRST_YEAR: i16 = 1000;
/// A value of the frontmatter is searched for a day up to this length, in bytes.
const MAX_VALUE: usize = 60;

/// Returns the days of a page in order, at most 1,000. They are in its frontmatter (except times of
/// writing), and in its slug and title.
#[must_use]
pub fn page_dates(slug: &Slug, title: &str, frontmatter: &FrontmatterText) -> Vec<Date> {
    let mut days = BTreeSet::new();
    if let Ok(frontmatter) = frontmatter.parsed() {
        for key in frontmatter.keys().filter(|key| !is_time_of_writing(key)) {
            days.extend(frontmatter.get(key).and_then(|value| leading_day(&value)));
        }
    }
    let named = dates_in(slug.as_str()).chain(dates_in(title)).filter(DateInText::is_day);
    days.extend(named.map(|date| date.first));
    days.extend(day_in_name(slug.name()).and_then(|day| parse_day(&day)));
    days.into_iter().filter(|day| day.year() >= FIRST_YEAR).take(MAX_DAYS).collect()
}

/// Returns the first days of the months that the slug and the title of a page name: `2021-10`,
/// `October 2021`.
#[must_use]
pub fn page_months(slug: &Slug, title: &str) -> Vec<Date> {
    let titled = dates_in(slug.as_str()).chain(dates_in(title)).filter(|date| !date.is_day());
    let numbered = [slug.name(), title].into_iter().filter_map(leading_month);
    let months: BTreeSet<Date> = titled.map(|date| date.first).chain(numbered).collect();
    months.into_iter().collect()
}

/// Returns the days and months that stand in the first MiB of a page's text, as their first and last
/// day, in order. The first 64 different ones are returned.
#[must_use]
pub fn mentioned_dates(body: &str) -> Vec<(Date, Date)> {
    let mut dates = BTreeSet::new();
    for date in dates_in(&body[..body.floor_char_boundary(MAX_TEXT)]) {
        dates.insert((date.first, date.last));
        if dates.len() >= MAX_MENTIONED {
            break;
        }
    }
    dates.into_iter().collect()
}

/// Returns the first line of `body` with a day or a month from `first` to `last`, as a byte range.
#[must_use]
pub fn line_with_date(body: &str, first: Date, last: Date) -> Option<Range<usize>> {
    let found = dates_in(body).find(|date| first <= date.first && date.last <= last)?.range;
    let start = body[..found.start].rfind('\n').map_or(0, |at| at + 1);
    let end = body[found.end..].find('\n').map_or(body.len(), |at| found.end + at);
    Some(start..end)
}

/// Returns the day at the beginning of a value of the frontmatter: `2025-03-14T10:00`,
/// `[[2025-03-14]]`, `14 March 2025`.
fn leading_day(value: &str) -> Option<Date> {
    let value = value.trim().trim_start_matches("[[");
    let numeric = value.split(['T', 't', ' ', ']', '|']).next().and_then(parse_day);
    numeric.or_else(|| {
        let head = &value[..value.floor_char_boundary(MAX_VALUE)];
        let date = dates_in(head).find(DateInText::is_day)?;
        (date.range.start == 0).then_some(date.first)
    })
}

/// Returns the first day of the month with which a name begins: `2021-10`, `2021_10-review`.
fn leading_month(name: &str) -> Option<Date> {
    let (year, rest) = (name.get(..4)?, name.get(4..)?);
    let month = rest.strip_prefix(['-', '_', '.'])?;
    let (month, rest) = month.split_at_checked(2)?;
    let is_month = month.bytes().all(|byte| byte.is_ascii_digit());
    // In `2021-10-14`, the month is a part of a day.
    if !is_month || rest.chars().take(2).any(|c| c.is_ascii_digit()) {
        return None;
    }
    let first = parse_day(&format!("{year}-{month}-01"))?;
    (first.year() >= FIRST_YEAR).then_some(first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn days(slug: &str, title: &str, frontmatter: &str) -> Vec<String> {
        let slug = Slug::parse(slug).unwrap();
        let days = page_dates(&slug, title, &frontmatter.into());
        days.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn days_are_stated_in_many_places() {
        assert_eq!(days("x", "", "date: 2025-03-14\n"), ["2025-03-14"]);
        assert_eq!(days("x", "", "founded: '2019-05-01'\ntime: 10\n"), ["2019-05-01"]);
        assert_eq!(days("x", "", "when: 2025-03-14T10:00:00Z\n"), ["2025-03-14"]);
        assert_eq!(days("meetings/2025-03-14-budget", "", ""), ["2025-03-14"]);
        assert_eq!(days("journal/2025/03/14", "", ""), ["2025-03-14"]);
        assert_eq!(days("x", "Review of 2025-03-14", ""), ["2025-03-14"]);
        assert_eq!(days("journals/2025_03_14", "", ""), ["2025-03-14"]);
        assert_eq!(days("20250314-pumps", "", ""), ["2025-03-14"]);
        assert_eq!(days("x", "Review of 14 March 2025", ""), ["2025-03-14"]);
        assert_eq!(days("x", "", "released: 14 March 2025\n"), ["2025-03-14"]);
        assert!(days("x", "", "description: It came on 14 March 2025\n").is_empty());
    }

    #[test]
    fn months_are_in_slugs_and_titles() {
        let months = |slug: &str, title: &str| {
            let months = page_months(&Slug::parse(slug).unwrap(), title);
            months.iter().map(|day| day.strftime("%Y-%m").to_string()).collect::<Vec<_>>()
        };
        assert_eq!(months("journal/2021-10", ""), ["2021-10"]);
        assert_eq!(months("journal/2021-10-review", "October 2021"), ["2021-10"]);
        assert_eq!(months("x", "Letters of août 2019 and May 2020"), ["2019-08", "2020-05"]);
        for (slug, title) in
            [("2021-10-14", ""), ("x", "14 October 2021"), ("2021-13", "2021"), ("2021", "é-1")]
        {
            assert!(months(slug, title).is_empty(), "{slug} {title}");
        }
    }

    #[test]
    fn dates_in_the_text_are_mentioned() {
        let dates = mentioned_dates("On 2 May 2020, and in April 2020. On 2020-05-02 again.");
        let names: Vec<String> = dates.iter().map(|(a, b)| format!("{a} {b}")).collect();
        assert_eq!(names, ["2020-04-01 2020-04-30", "2020-05-02 2020-05-02"]);
        let many: String = (1000..2000).map(|year| format!("{year}-01-01 ")).collect();
        assert_eq!(mentioned_dates(&many).len(), MAX_MENTIONED);
    }

    #[test]
    fn other_numbers_and_times_of_writing_are_no_days() {
        let written = "updated: 2025-03-14\nmodified: 2025-03-14\ncaptured_at: 2025-03-14\n";
        assert!(days("x", "", written).is_empty());
        for title in ["2025-13-01", "12025-03-14", "2025-03-145", "2025-3-14", "é-03-14", "-", ""]
        {
            assert!(days("x", title, "").is_empty(), "{title}");
        }
        assert!(days("x", "", "date: [broken\n").is_empty());
    }

    #[test]
    fn the_line_of_a_day_is_found() {
        let body = "# Log\n\n- 2025-02-01 | started\n- 2025-03-14 | tests\nlast";
        let day = |text: &str| text.parse::<Date>().unwrap();
        let line = |first, last| line_with_date(body, day(first), day(last)).map(|at| &body[at]);
        assert_eq!(line("2025-03-01", "2025-03-31"), Some("- 2025-03-14 | tests"));
        assert_eq!(line("2025-02-01", "2025-12-31"), Some("- 2025-02-01 | started"));
        assert_eq!(line("2025-04-01", "2025-12-31"), None);
        let body = "Version 2\nReleased on 24 May 2020\n";
        let found = line_with_date(body, day("2020-05-24"), day("2020-05-24"));
        assert_eq!(found.map(|at| &body[at]), Some("Released on 24 May 2020"));
    }
}
