//! Rules of recurrence of vCalendar 1.0, which phones wrote: `W2 MO WE #5`.

/// How often an event recurs if its rule does not say.
const USUAL_COUNT: &str = "2";

/// Returns a rule of vCalendar 1.0 in the form of iCalendar, or `None` if it is none or has parts
/// that are not read: times of day, and rules in rules.
pub(super) fn modern(text: &str) -> Option<String> {
    let text = text.to_ascii_uppercase();
    let mut words = text.split_ascii_whitespace().peekable();
    let first = words.next()?;
    let (kind, interval) = first.split_at(first.find(|c: char| c.is_ascii_digit())?);
    let interval: u16 = interval.parse().ok()?;
    let frequency = match kind {
        "D" => "DAILY",
        "W" => "WEEKLY",
        "MP" | "MD" => "MONTHLY",
        "YM" | "YD" => "YEARLY",
        _ => return None,
    };
    let mut days: Vec<String> = Vec::new();
    while let Some(word) = words.next_if(|word| !is_end(word)) {
        let number = signed(word);
        match (kind, number) {
            ("W", None) => days.push(word.to_owned()),
            // The weekdays of a week of the month follow its number: `1+ SU MO`.
            ("MP", Some(week)) => {
                while let Some(day) = words.next_if(|it| !is_end(it) && signed(it).is_none()) {
                    days.push(format!("{week}{day}"));
                }
            }
            ("MD", None) if word == "LD" => days.push("-1".to_owned()),
            ("MD" | "YM" | "YD", Some(number)) => days.push(number.to_string()),
            _ => return None,
        }
    }
    let part = match kind {
        "W" | "MP" => "BYDAY",
        "MD" => "BYMONTHDAY",
        "YM" => "BYMONTH",
        _ => "BYYEARDAY",
    };
    let end = words.next();
    let end = match end.map(|end| end.strip_prefix('#').ok_or(end)) {
        None => format!(";COUNT={USUAL_COUNT}"),
        Some(Ok("0")) => String::new(),
        Some(Ok(count)) => format!(";COUNT={count}"),
        Some(Err(until)) => format!(";UNTIL={until}"),
    };
    let days = if days.is_empty() { String::new() } else { format!(";{part}={}", days.join(",")) };
    let is_whole = words.next().is_none();
    is_whole.then(|| format!("FREQ={frequency};INTERVAL={interval}{days}{end}"))
}

/// Returns whether a word says how long the rule holds: `#5`, or a date.
fn is_end(word: &str) -> bool {
    word.starts_with('#') || word.len() >= 8 && word.starts_with(|c: char| c.is_ascii_digit())
}

/// Parses a number: `15`, `1+` or, from the end, `2-`.
fn signed(word: &str) -> Option<i16> {
    match word.strip_suffix('-') {
        Some(number) => number.parse::<i16>().ok().and_then(i16::checked_neg),
        None => word.strip_suffix('+').unwrap_or(word).parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Rule;
    use super::*;

    #[test]
    fn rules_have_the_form_of_icalendar() {
        for (old, new) in [
            ("D2 #3", "FREQ=DAILY;INTERVAL=2;COUNT=3"),
            ("W1 #0", "FREQ=WEEKLY;INTERVAL=1"),
            ("w2 tu th #8", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;COUNT=8"),
            ("W1 MO 20260701T000000Z", "FREQ=WEEKLY;INTERVAL=1;BYDAY=MO;UNTIL=20260701T000000Z"),
            ("MP1 1+ SU 1- SU MO #4", "FREQ=MONTHLY;INTERVAL=1;BYDAY=1SU,-1SU,-1MO;COUNT=4"),
            ("MD1 15 2- LD #4", "FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=15,-2,-1;COUNT=4"),
            ("YM1 5 6 #0", "FREQ=YEARLY;INTERVAL=1;BYMONTH=5,6"),
            ("YD2 100", "FREQ=YEARLY;INTERVAL=2;BYYEARDAY=100;COUNT=2"),
        ] {
            assert_eq!(modern(old).as_deref(), Some(new), "{old}");
            assert!(Rule::parse(new).is_some(), "{new}");
        }
    }

    #[test]
    fn what_is_not_read_is_no_rule() {
        for other in
            ["", "D", "FREQ=DAILY", "D1 0600", "YM1 6 #10 MP1 1+ SU #1", "W1 MO 0600", "Q1 #3"]
        {
            let rule = modern(other).and_then(|rule| Rule::parse(&rule));
            assert!(rule.is_none(), "{other}: {rule:?}");
        }
    }
}
