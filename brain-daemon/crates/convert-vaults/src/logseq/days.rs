//! Days: the names of files of journals, and the titles that Logseq shows for them.

use brain_convert_base::MONTHS;
use jiff::civil::Date;

/// The form of a title if the graph sets none.
pub(super) const DEFAULT_FORMAT: &str = "MMM do, yyyy";

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Returns the day in the name of a journal: `2023_09_08`, `2023-09-08`, `20230908`.
pub(super) fn day_of_name(stem: &str) -> Option<Date> {
    let digits: String = stem.chars().filter(|c| !matches!(c, '_' | '-' | '.')).collect();
    if digits.len() != 8 || !digits.bytes().all(|b| b.is_ascii_digit()) || stem.len() > 10 {
        return None;
    }
    let number = |from: usize, to: usize| digits.get(from..to)?.parse::<i16>().ok();
    let (month, day) = (number(4, 6)?, number(6, 8)?);
    Date::new(number(0, 4)?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Returns the title of a day in a form such as `MMM do, yyyy`.
pub(super) fn title(day: Date, format: &str) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some(c) = rest.chars().next() {
        if let Some(text) = rest.strip_prefix('\'') {
            let (quoted, after) = text.split_once('\'').unwrap_or((text, ""));
            out.push_str(if quoted.is_empty() { "'" } else { quoted });
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("do") {
            out.push_str(&ordinal(day.day()));
            rest = after;
            continue;
        }
        let length = rest.chars().take_while(|next| *next == c).count();
        let width = length * c.len_utf8();
        match part(day, c, length) {
            Some(part) => out.push_str(&part),
            None => out.push_str(rest.get(..width).unwrap_or_default()),
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    out
}

/// Returns a part of a date: `length` signs `c` of the form.
fn part(day: Date, c: char, length: usize) -> Option<String> {
    let month = usize::try_from(day.month() - 1).ok().and_then(|at| MONTHS.get(at))?;
    let weekday = usize::try_from(day.weekday().to_monday_zero_offset()).ok();
    let weekday = weekday.and_then(|at| WEEKDAYS.get(at))?;
    let short = |name: &str| name.chars().take(3).collect::<String>();
    Some(match (c, length) {
        ('y', 2) => format!("{:02}", day.year() % 100),
        ('y' | 'u', _) => format!("{:04}", day.year()),
        ('M', 1) => day.month().to_string(),
        ('M', 2) => format!("{:02}", day.month()),
        ('M', 3) => short(month),
        ('M', _) => (*month).to_owned(),
        ('d', 1) => day.day().to_string(),
        ('d', _) => format!("{:02}", day.day()),
        ('E', 1..=3) => short(weekday),
        ('E', _) => (*weekday).to_owned(),
        _ => return None,
    })
}

/// Returns `1st`, `2nd`, `3rd`, `4th`.
pub(crate) fn ordinal(day: i8) -> String {
    let ending = match (day % 10, day / 10) {
        (1, tens) if tens != 1 => "st",
        (2, tens) if tens != 1 => "nd",
        (3, tens) if tens != 1 => "rd",
        _ => "th",
    };
    format!("{day}{ending}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_the_form_of_the_graph() {
        let day = day_of_name("2023_09_08").unwrap();
        for (format, expected) in [
            (DEFAULT_FORMAT, "Sep 8th, 2023"),
            ("yyyy-MM-dd EEEE", "2023-09-08 Friday"),
            ("E, MM/dd/yy", "Fri, 09/08/23"),
            ("MMMM d", "September 8"),
            ("dd'.' M", "08. 9"),
        ] {
            assert_eq!(title(day, format), expected, "{format}");
        }
        let ends: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 22, 31].map(ordinal).to_vec();
        assert_eq!(ends.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 31st");
    }

    #[test]
    fn a_name_that_is_no_day_is_none() {
        for name in ["2023_13_08", "2023", "2023_09_08 x", "notes", "2023__09_08", ""] {
            assert!(day_of_name(name).is_none(), "{name}");
        }
        assert!(day_of_name("20230908").is_some() && day_of_name("2023-09-08").is_some());
    }
}
