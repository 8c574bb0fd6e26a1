//! Normalises callers' numbers for comparison and for pages. No I/O.

/// Prefixes of names that are not numbers: accounts at the provider and SIP addresses.
const NAME_PREFIXES: [&str; 2] = ["client:", "sip:"];
/// The provider's numbers for withheld callers: ANONYMOUS, BLOCKED, RESTRICTED, UNAVAILABLE and
/// UNKNOWN on a keypad.
const WITHHELD: [&str; 5] = ["+266696687", "+2562533", "+7378742833", "+86282452253", "+8656696"];
/// Maximum length of a caller's name or number, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// Returns whether the list has the caller. Numbers are normalised; names must match exactly.
pub(super) fn is_among(callers: &[String], from: &str) -> bool {
    let Some(from) = normalize(from) else { return false };
    callers.iter().any(|caller| normalize(caller).as_ref() == Some(&from))
}

/// Returns the URI of the caller; `tel:unknown` without a number or name.
pub(super) fn uri(from: &str) -> String {
    match normalize(from) {
        Some(name) if is_name(&name) => name,
        Some(number) => format!("tel:{number}"),
        None => "tel:unknown".into(),
    }
}

/// Returns an E.164 number (`+` and digits) or a name unchanged. `None` for withheld callers and
/// anything else.
fn normalize(from: &str) -> Option<String> {
    let from = from.trim();
    if is_name(from) {
        let is_valid = from.len() <= MAX_NAME_BYTES
            && !from.contains(|c: char| c.is_control() || c.is_whitespace());
        return is_valid.then(|| from.to_owned());
    }
    // `+49 (0)151 …`: the zero is only dialled without the country code.
    let from =
        if from.starts_with(['+', '0']) { from.replacen("(0)", "", 1) } else { from.to_owned() };
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '-' | '(' | ')' | '/' | '.');
    let number: String = from.chars().filter(|c| !is_separator(*c)).collect();
    let number = number.strip_prefix("00").map_or(number.clone(), |rest| format!("+{rest}"));
    let digits = number.strip_prefix('+').unwrap_or(&number);
    let is_number =
        (1..=MAX_NAME_BYTES).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    (is_number && !WITHHELD.contains(&number.as_str())).then_some(number)
}

/// Returns whether `from` is a name, not a number.
fn is_name(from: &str) -> bool {
    NAME_PREFIXES.iter().any(|kind| from.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_matches_in_every_notation() {
        for written in [
            "+49 151 123-456",
            "+49151123456",
            "0049 (151) 123/456",
            "+49 (0)151 123.456",
            " +49\u{a0}151123456 ",
        ] {
            let callers = [String::new(), written.to_owned()];
            assert!(is_among(&callers, "+49151123456"), "{written}");
            for other in ["", " ", "+", "49151123456", "+4915112345", "+491511234567", "anonymous"]
            {
                assert!(!is_among(&callers, other), "{written}: {other}");
            }
            for spoofed in [
                "sip:+49151123456@evil.example",
                "sip:+49151123456",
                "client:+49151123456",
                "tel:+49151123456",
                "+49151123456@evil.example",
                "+49151123456;x",
                "+４９151123456",
            ] {
                assert!(!is_among(&callers, spoofed), "{spoofed}");
            }
        }
    }

    #[test]
    fn name_matches_exactly() {
        let callers = ["client:ann".to_owned(), "sip:ann@example.org".into()];
        assert!(is_among(&callers, "client:ann") && is_among(&callers, "sip:ann@example.org"));
        for other in [
            "client:an.n",
            "client:a-nn",
            "client:(ann)",
            "client:anna",
            "sip:ann@exam.pleorg",
            "sip:an-n@example.org",
        ] {
            assert!(!is_among(&callers, other), "{other}");
        }
    }

    #[test]
    fn withheld_numbers_match_nobody() {
        for withheld in WITHHELD {
            assert!(!is_among(&[withheld.to_owned()], withheld), "{withheld}");
            assert_eq!(uri(withheld), "tel:unknown");
        }
        for unusable in ["", "anonymous", "Unavailable"] {
            assert!(!is_among(&[unusable.to_owned()], unusable), "{unusable}");
        }
    }

    #[test]
    fn caller_uri_is_valid() {
        let long = format!("sip:{}", "x".repeat(300));
        for (from, expected) in [
            ("+49151123456", "tel:+49151123456"),
            ("4711", "tel:4711"),
            ("sip:ann@example.org", "sip:ann@example.org"),
            ("client:ann", "client:ann"),
            ("javascript:alert(1)", "tel:unknown"),
            ("client:a\nb", "tel:unknown"),
            (long.as_str(), "tel:unknown"),
            ("anonymous", "tel:unknown"),
            ("", "tel:unknown"),
            ("+", "tel:unknown"),
        ] {
            assert_eq!(uri(from), expected);
        }
    }
}
