//! Dates of birth, with or without a year.

use brain_convert_base::MONTHS;

/// The year that Apple's programs write for none.
const NO_YEAR: &str = "1604";

/// Returns a date of a vCard for people: `1980-05-04`, or `4 May` without a year. Other text, such
/// as "circa 1800", stays.
pub(super) fn shown_date(text: &str) -> String {
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let (year, rest) = match day.strip_prefix("--") {
        Some(rest) => (None, rest),
        None if day.len() >= 8 && day.is_ascii() => {
            let (year, rest) = day.split_at(4);
            (Some(year), rest)
        }
        None => return text.to_owned(),
    };
    let digits: String = rest.chars().filter(|c| *c != '-').collect();
    let is_date = digits.len() == 4
        && digits.bytes().chain(year.unwrap_or_default().bytes()).all(|b| b.is_ascii_digit());
    if !is_date {
        return text.to_owned();
    }
    let (month, day) = digits.split_at(2);
    let name = month.parse().ok().and_then(|month: usize| MONTHS.get(month.checked_sub(1)?));
    match (year.filter(|year| *year != NO_YEAR), name) {
        (Some(year), Some(_)) => format!("{year}-{month}-{day}"),
        (None, Some(name)) => format!("{} {name}", day.trim_start_matches('0')),
        (_, None) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_birthday_can_be_without_a_year() {
        for full in ["19800504", "1980-05-04", "1980-05-04T00:00:00Z", "19800504T120000"] {
            assert_eq!(shown_date(full), "1980-05-04");
        }
        for short in ["--0504", "--05-04", "1604-05-04", "16040504"] {
            assert_eq!(shown_date(short), "4 May");
        }
        for other in ["circa 1800", "1980", "---04", "--1399", "1980-05", ""] {
            assert_eq!(shown_date(other), other);
        }
        assert_eq!(shown_date("--05"), "--05");
    }
}
