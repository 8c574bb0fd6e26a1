//! The dates that a page states: in its frontmatter, its name, its title and its timeline.

use std::collections::BTreeSet;
use std::ops::Range;

use brain_protocol::Slug;
use jiff::civil::Date;

use super::date_keys::is_time_of_writing;
use super::note_dates::parse_day;
use super::shared_text::FrontmatterText;

/// Maximum number of days of a page.
const MAX_DAYS: usize = 1_000;
/// Earlier years are numbers rather than dates.
const FIRST_YEAR: i16 = 1000;

/// Returns the days of a page in order, at most 1,000. They are in its frontmatter (except times of
/// writing), in its slug and title, and in `timeline_days` (`YYYY-MM-DD`).
#[must_use]
pub fn page_dates<'a>(
    slug: &Slug,
    title: &str,
    frontmatter: &FrontmatterText,
    timeline_days: impl Iterator<Item = &'a str>,
) -> Vec<Date> {
    let mut days = BTreeSet::new();
    if let Ok(frontmatter) = frontmatter.parsed() {
        for key in frontmatter.keys().filter(|key| !is_time_of_writing(key)) {
            days.extend(frontmatter.get(key).and_then(|value| leading_day(&value)));
        }
    }
    days.extend(days_in(slug.as_str()).chain(days_in(title)).map(|(day, _)| day));
    // `journal/2025/03/14`
    let segments: Vec<&str> = slug.as_str().split('/').collect();
    days.extend(segments.windows(3).filter_map(|parts| parse_day(&parts.join("-"))));
    days.extend(timeline_days.filter_map(parse_day));
    days.into_iter().filter(|day| day.year() >= FIRST_YEAR).take(MAX_DAYS).collect()
}

/// Returns the first line of `body` with a day from `first` to `last`, as a byte range.
#[must_use]
pub fn line_with_date(body: &str, first: Date, last: Date) -> Option<Range<usize>> {
    let (_, found) = days_in(body).find(|(day, _)| (first..=last).contains(day))?;
    let start = body[..found.start].rfind('\n').map_or(0, |at| at + 1);
    let end = body[found.end..].find('\n').map_or(body.len(), |at| found.end + at);
    Some(start..end)
}

/// Returns the day at the beginning of a value of the frontmatter: `2025-03-14T10:00`,
/// `[[2025-03-14]]`.
fn leading_day(value: &str) -> Option<Date> {
    let value = value.trim().trim_start_matches("[[");
    parse_day(value.split(['T', 't', ' ', ']', '|']).next()?)
}

/// Returns the days `YYYY-MM-DD` in a text with their byte ranges.
fn days_in(text: &str) -> impl Iterator<Item = (Date, Range<usize>)> + '_ {
    let bytes = text.as_bytes();
    text.match_indices('-').filter_map(move |(at, _)| {
        let range = at.checked_sub(4)?..at.checked_add(6)?;
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let is_whole = !range.start.checked_sub(1).is_some_and(is_digit) && !is_digit(range.end);
        let day = text.get(range.clone()).filter(|day| is_whole && day.as_bytes()[7] == b'-')?;
        Some((parse_day(day)?, range))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn days(slug: &str, title: &str, frontmatter: &str, timeline: &[&str]) -> Vec<String> {
        let slug = Slug::parse(slug).unwrap();
        let days = page_dates(&slug, title, &frontmatter.into(), timeline.iter().copied());
        days.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn days_are_stated_in_many_places() {
        assert_eq!(days("x", "", "date: 2025-03-14\n", &[]), ["2025-03-14"]);
        assert_eq!(days("x", "", "founded: '2019-05-01'\ntime: 10\n", &[]), ["2019-05-01"]);
        assert_eq!(days("x", "", "when: 2025-03-14T10:00:00Z\n", &[]), ["2025-03-14"]);
        assert_eq!(days("meetings/2025-03-14-budget", "", "", &[]), ["2025-03-14"]);
        assert_eq!(days("journal/2025/03/14", "", "", &[]), ["2025-03-14"]);
        assert_eq!(days("x", "Review of 2025-03-14", "", &[]), ["2025-03-14"]);
        assert_eq!(days("x", "", "", &["2025-02-01", "2024-01-01"]), ["2024-01-01", "2025-02-01"]);
    }

    #[test]
    fn other_numbers_and_times_of_writing_are_no_days() {
        let written = "updated: 2025-03-14\nmodified: 2025-03-14\ncaptured_at: 2025-03-14\n";
        assert!(days("x", "", written, &[]).is_empty());
        for title in ["2025-13-01", "12025-03-14", "2025-03-145", "2025-3-14", "é-03-14", "-", ""]
        {
            assert!(days("x", title, "", &[]).is_empty(), "{title}");
        }
        assert!(days("x", "", "date: [broken\n", &[]).is_empty());
    }

    #[test]
    fn the_line_of_a_day_is_found() {
        let body = "# Log\n\n- 2025-02-01 | started\n- 2025-03-14 | tests\nlast";
        let day = |text: &str| text.parse::<Date>().unwrap();
        let line = |first, last| line_with_date(body, day(first), day(last)).map(|at| &body[at]);
        assert_eq!(line("2025-03-01", "2025-03-31"), Some("- 2025-03-14 | tests"));
        assert_eq!(line("2025-02-01", "2025-12-31"), Some("- 2025-02-01 | started"));
        assert_eq!(line("2025-04-01", "2025-12-31"), None);
    }
}
