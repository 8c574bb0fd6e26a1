//! Parses and formats durations such as `90d` and `1h30m`.

/// Parses a duration and returns seconds. The text has integers with the units `s`, `m`, `h`, `d`
/// and `w`, without spaces.
///
/// # Errors
/// Returns a message if the text is not a duration, is zero, or has more than `u64::MAX` seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    let invalid = || {
        format!(
            "\"{text}\" is not a duration; \
             use a number with s, m, h, d or w, for example 90d or 1h30m"
        )
    };
    let mut total = 0_u64;
    let mut unparsed = text;
    while !unparsed.is_empty() {
        let digits = unparsed.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = unparsed[..digits].parse().map_err(|_| invalid())?;
        let mut unit = unparsed[digits..].chars();
        let length = match unit.next() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            Some('w') => 7 * 86_400,
            None if digits == text.len() => {
                return Err(format!(
                    "\"{text}\" has no unit; use {text}s, {text}m, {text}h, {text}d or {text}w"
                ));
            }
            _ => return Err(invalid()),
        };
        total =
            number.checked_mul(length).and_then(|n| total.checked_add(n)).ok_or_else(invalid)?;
        unparsed = unit.as_str();
    }
    match total {
        0 => Err(format!("\"{text}\" is zero; use a longer duration")),
        n => Ok(n),
    }
}

/// Formats seconds for [`parse_seconds`], in the largest exact units.
pub(crate) fn format(seconds: u64) -> String {
    let mut text = String::new();
    let mut remaining = seconds;
    for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)] {
        if remaining >= length {
            text.push_str(&format!("{}{unit}", remaining / length));
            remaining %= length;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

/// Formats seconds in the two largest units.
pub(crate) fn format_rounded(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, m) => format!("{m} min {} s", seconds % 60),
        (0, h, m) => format!("{h} h {m} min"),
        (d, h, _) => format!("{d} d {h} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_formatted() {
        for (text, expected) in [
            ("90d", 7_776_000),
            ("1h", 3600),
            ("1h30m", 5400),
            ("45s", 45),
            ("2w", 1_209_600),
            ("1d1s", 86_401),
        ] {
            assert_eq!(parse_seconds(text), Ok(expected), "{text}");
            assert_eq!(parse_seconds(&format(expected)), Ok(expected), "{text}");
        }
        assert_eq!(format(7_776_000), "90d");
    }

    #[test]
    fn invalid_durations_are_refused() {
        for text in [
            "",
            "d",
            "1x",
            "-1d",
            "1 d",
            "1.5h",
            "0s",
            "1h ",
            "h1",
            "1d30",
            "99999999999999999999d",
            "999999999999999w",
            "é",
        ] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
        assert!(parse_seconds("90").is_err_and(|message| message.contains("90d")));
        assert!(parse_seconds("1y").is_err_and(|message| message.contains("1h30m")));
    }

    #[test]
    fn rounded_durations_have_units() {
        assert_eq!(format_rounded(7), "7 s");
        assert_eq!(format_rounded(67), "1 min 7 s");
        assert_eq!(format_rounded(3600 * 3 + 120), "3 h 2 min");
        assert_eq!(format_rounded(86_400 * 2 + 3600), "2 d 1 h");
    }
}
