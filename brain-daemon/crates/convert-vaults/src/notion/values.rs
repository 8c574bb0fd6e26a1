//! Values of properties: dates, and lists of pages or files. Most exports have English dates.

use brain_convert_base::MONTHS;

/// Returns a date, or a range of two dates, in the form of ISO 8601, or `None` if the value is not
/// clearly one: `May 4, 2024`, `May 4, 2024 3:00 PM (GMT+2)`, `2024/05/04`. A time without zone gets
/// none.
pub(super) fn date(value: &str) -> Option<String> {
    let value = value.trim();
    let value = value.strip_prefix('@').unwrap_or(value);
    match value.split_once(" → ") {
        Some((first, last)) => Some(format!("{} → {}", moment(first)?, moment(last)?)),
        None => moment(value),
    }
}

fn moment(text: &str) -> Option<String> {
    let text = text.trim();
    let (text, zone) = match text.strip_suffix(')').and_then(|it| it.rsplit_once(" (")) {
        Some((text, zone)) => (text, offset(zone)?),
        None => (text, String::new()),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let (day, time) = match words.as_slice() {
        [month, day, year, time @ ..] => match month_number(month) {
            Some(month) => (day_of(year, month, day.strip_suffix(',')?)?, time),
            None => return None,
        },
        [day, time @ ..] => {
            let mut parts = day.split('/');
            let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
            (day_of(year, month.parse().ok()?, day).filter(|_| parts.next().is_none())?, time)
        }
        [] => return None,
    };
    match time {
        [] => Some(day).filter(|_| zone.is_empty()),
        [time] => Some(format!("{day}T{}{zone}", clock(time, None)?)),
        [time, half] => Some(format!("{day}T{}{zone}", clock(time, Some(half))?)),
        _ => None,
    }
}

fn month_number(name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let is_name = |month: &str| {
        month.eq_ignore_ascii_case(&name)
            || month.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(&name))
    };
    MONTHS.iter().position(|month| is_name(month)).map(|at| at + 1)
}

fn day_of(year: &str, month: usize, day: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if year.len() != 4 || !is_number(year) || !is_number(day) {
        return None;
    }
    let date =
        jiff::civil::Date::new(year.parse().ok()?, i8::try_from(month).ok()?, day.parse().ok()?);
    date.ok().map(|date| date.to_string())
}

/// Returns a time as `15:00`.
fn clock(time: &str, half: Option<&str>) -> Option<String> {
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half.map(str::to_ascii_uppercase).as_deref() {
        None => hour,
        Some("AM") if (1..=12).contains(&hour) => hour % 12,
        Some("PM") if (1..=12).contains(&hour) => hour % 12 + 12,
        Some(_) => return None,
    };
    (hour < 24 && minute < 60).then(|| format!("{hour:02}:{minute:02}"))
}

/// Returns the offset of a zone: `GMT+2`, `UTC`.
fn offset(zone: &str) -> Option<String> {
    let rest = zone.strip_prefix("GMT").or_else(|| zone.strip_prefix("UTC"))?;
    let sign = match rest.chars().next() {
        None => return Some("Z".to_owned()),
        Some(sign @ ('+' | '-')) => sign,
        Some(_) => return None,
    };
    let (hours, minutes) = rest.get(1..)?.split_once(':').unwrap_or((rest.get(1..)?, "0"));
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 15 && minutes < 60).then(|| format!("{sign}{hours:02}:{minutes:02}"))
}

/// Returns the titles and addresses of a list of pages, `Title (address), Other (address)`, or
/// `None` if the value is another one.
pub(super) fn relations(value: &str) -> Option<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        let (title, after) = rest.split_once(" (")?;
        // A title can have parentheses, an address has no blank.
        let mut title_end = title.len();
        let mut after = after;
        while let Some((more, next)) = after.split_once(" (")
            && !more.contains("), ")
        {
            title_end += 2 + more.len();
            after = next;
        }
        let title = rest.get(..title_end)?;
        let (address, next) = match after.split_once("), ") {
            Some((address, next)) => (address, next),
            None => (after.strip_suffix(')')?, ""),
        };
        let is_page = address.starts_with("https://")
            || [".md", ".html", ".csv"].iter().any(|end| address.ends_with(end));
        if address.contains(' ') || !is_page {
            return None;
        }
        found.push((title, address));
        rest = next.trim_start();
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_dates_become_iso_dates() {
        for (text, expected) in [
            ("May 4, 2024", Some("2024-05-04")),
            ("@March 1, 2024", Some("2024-03-01")),
            ("Apr 02, 2021 8:07 AM", Some("2021-04-02T08:07")),
            ("June 18, 2025 12:29 PM", Some("2025-06-18T12:29")),
            ("May 4, 2024 3:00 PM (GMT+2)", Some("2024-05-04T15:00+02:00")),
            ("May 4, 2024 12:05 AM (UTC)", Some("2024-05-04T00:05Z")),
            ("2024/05/04", Some("2024-05-04")),
            ("2024/05/04 15:00", Some("2024-05-04T15:00")),
            ("May 4, 2024 → May 6, 2024", Some("2024-05-04 → 2024-05-06")),
            ("January 1, 1601", Some("1601-01-01")),
            ("May 4", None),
            ("May 34, 2024", None),
            ("27. Juli 2023 11:52", None),
            ("04/05/2024", None),
            ("May 4, 2024 3:00 PM (PST)", None),
            ("May be, later", None),
            ("", None),
        ] {
            assert_eq!(date(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_list_of_pages_has_titles_and_addresses() {
        let one = "Power (Shell) (https://www.notion.so/P-50?pvs=21)";
        assert_eq!(
            relations(one),
            Some(vec![("Power (Shell)", "https://www.notion.so/P-50?pvs=21")])
        );
        let two = "A, b (../x%20(1).md), C (y.csv)";
        assert_eq!(relations(two), Some(vec![("A, b", "../x%20(1).md"), ("C", "y.csv")]));
        for text in ["a (b)", "text", "", "a (b.md) and more", "(x.md)"] {
            assert_eq!(relations(text), None, "{text}");
        }
    }
}
