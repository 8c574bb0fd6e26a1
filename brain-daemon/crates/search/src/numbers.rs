//! Numbers, versions, days and addresses: `12,345`, `v1.8.3`, `2026-11-20`, `192.168.0.1`.
//!
//! Their digits have a meaning only in their order, so a question's number is searched whole, in
//! all forms that pages write. Its parts are not searched: `1.1.8` is not `1.8.1`.

/// Number of digits between two signs that group them.
const GROUP_DIGITS: usize = 3;
/// Maximum digits of a number that pages may write in groups.
const MAX_GROUPED: usize = 18;

/// Number of digits of a code; with fewer, it is a number.
const MIN_CODE_DIGITS: usize = 7;
/// Maximum digits of a code.
const MAX_CODE_DIGITS: usize = 24;
/// Maximum letters before a code.
const MAX_CODE_LETTERS: usize = 3;

/// Returns whether a whole compound is a number: all its parts begin with a digit, the first one
/// after an optional `v`.
pub(super) fn is_number(whole: &str) -> bool {
    let mut parts = without_v(whole).split(|c: char| !c.is_alphanumeric());
    parts.all(|part| part.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns a version without its `v`; any other text as it is.
pub(super) fn without_v(text: &str) -> &str {
    match text.strip_prefix('v') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => text,
    }
}

/// Returns the other forms in which pages write a number or version: `v1.8.3` for `1.8.3`, `12,345`
/// and `12.345` for `12345`.
pub(super) fn other_forms(number: &str) -> Vec<String> {
    let bare = without_v(number);
    let mut forms = Vec::new();
    if bare.len() < number.len() {
        forms.push(bare.to_owned());
    } else if is_number(number) && number.contains('.') && !number.contains([',', '-', '/', ':']) {
        forms.push(format!("v{number}"));
    }
    // A port after an address, and the other decimal sign.
    if let Some((address, _)) = number.split_once(':').filter(|(address, _)| address.contains('.'))
    {
        forms.push(address.to_owned());
    }
    if let Some((whole, rest)) = bare.split_once([',', '.'])
        && rest.bytes().all(|b| b.is_ascii_digit())
        && rest.len() != GROUP_DIGITS
    {
        let sign = if bare.contains('.') { ',' } else { '.' };
        forms.push(format!("{whole}{sign}{rest}"));
    }
    let digits = ungrouped(number);
    if let Some(digits) = digits.filter(|it| (GROUP_DIGITS + 1..=MAX_GROUPED).contains(&it.len())) {
        let all = [digits.clone(), grouped(&digits, ','), grouped(&digits, '.')];
        forms.extend(all.into_iter().filter(|form| form != number));
    }
    forms
}

/// Calls `add` with a number of several parts and its beginnings of at least two: `1.8` and `1.8.3`
/// of `v1.8.3`, and with `v1`; `2.0` and `2.0.1` of `2.0.1.tar.gz`.
pub(super) fn each_beginning(whole: &str, add: &mut impl FnMut(&str)) {
    let bare = without_v(whole);
    let is_digit = |c: char| c.is_ascii_digit();
    let mut end = 0;
    let parts = bare.split_inclusive(|c: char| !c.is_alphanumeric());
    for (count, part) in parts.take_while(|part| part.starts_with(is_digit)).enumerate() {
        let number = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let number_end = end + number.len();
        if count > 0 {
            add(&bare[..number_end]);
            // `10.5` of `10.5km`, and `802.11` of `802.11ac`.
            let digits = number.trim_end_matches(char::is_alphabetic);
            if digits.len() < number.len() {
                add(&bare[..end + digits.len()]);
            }
        }
        end += part.len();
    }
    if bare.len() < whole.len() {
        let first = whole.find(|c: char| !c.is_alphanumeric()).unwrap_or(whole.len());
        add(&whole[..first]);
    }
}

/// Calls `add` with the digits of each code of a text, such as an ISBN or a number of a telephone
/// or an order, in whatever groups it is written; and with a letter before them, as one text.
pub(super) fn each_code(text: &str, add: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(u8::is_ascii_digit) {
        let start = at + found;
        let (code, end) = code_at(text, start);
        at = end;
        if !(MIN_CODE_DIGITS..=MAX_CODE_DIGITS).contains(&code.len()) {
            continue;
        }
        add(&code);
        let letters = letters_before(&text[..start]);
        if !letters.is_empty() {
            add(&format!("{}{code}", letters.to_lowercase()));
        }
    }
}

/// Returns the digits from `start` on, in groups with one sign between them, and their end.
fn code_at(text: &str, start: usize) -> (String, usize) {
    let (mut code, mut end) = (String::new(), start);
    let mut rest = text[start..].char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if c.is_ascii_digit() {
            code.push(c);
            end = start + at + 1;
        } else if !(is_code_sign(c) && rest.peek().is_some_and(|(_, c)| c.is_ascii_digit())) {
            break;
        }
    }
    (code, end)
}

/// Whether a sign can divide the digits of a code.
fn is_code_sign(c: char) -> bool {
    matches!(c, ' ' | '-' | '/' | '.') || is_group_space(c)
}

/// Whether `c` is a space that does not end a line, such as those between the digits of a number.
pub(super) fn is_group_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Whether a space divides a number: `digits` before it are its group `count`, counted from 1, and
/// three digits follow. The first group can be shorter.
pub(super) fn is_grouped(digits: &str, count: usize, after: &[u8]) -> bool {
    let is_digits = digits.bytes().all(|b| b.is_ascii_digit());
    let is_first = count == 1 && digits.len() < GROUP_DIGITS;
    let following = after.iter().take(GROUP_DIGITS + 1).take_while(|b| b.is_ascii_digit());
    is_digits && (is_first || digits.len() == GROUP_DIGITS) && following.count() == GROUP_DIGITS
}

/// Returns up to three ASCII letters at the end of a text, before a hyphen or at once, if no other
/// letter or digit stands before them.
fn letters_before(text: &str) -> &str {
    let text = text.strip_suffix('-').unwrap_or(text);
    let count = text.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let start = text.len() - count;
    let is_alone = !text[..start].ends_with(char::is_alphanumeric);
    if is_alone && count <= MAX_CODE_LETTERS { &text[start..] } else { "" }
}

/// Returns the digits of a number that may be in groups of three; `None` for any other text.
fn ungrouped(number: &str) -> Option<String> {
    let sign = number.chars().find(|c| !c.is_ascii_digit());
    let Some(sign) = sign else { return Some(number.to_owned()) };
    let mut groups = number.split(sign);
    let first = groups.next()?;
    let is_grouped = matches!(sign, ',' | '.')
        && (1..=GROUP_DIGITS).contains(&first.len())
        && groups
            .all(|group| group.len() == GROUP_DIGITS && group.bytes().all(|b| b.is_ascii_digit()));
    is_grouped.then(|| number.replace(sign, ""))
}

/// Returns `digits` in groups of three.
fn grouped(digits: &str, sign: char) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(GROUP_DIGITS) {
            out.push(sign);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_names() {
        for number in ["1.8.3", "v1.8.3", "2026-11-20", "12,345", "09:30", "10^3", "2.0rc1"] {
            assert!(is_number(number), "{number}");
        }
        for other in ["alice@example.com", "snake_case", "v.2", "h.264", "vim", "a1.b2", "1.x"] {
            assert!(!is_number(other), "{other}");
        }
    }

    #[test]
    fn pages_write_numbers_in_several_forms() {
        assert_eq!(other_forms("1.8.3"), ["v1.8.3"]);
        assert_eq!(other_forms("v1.8.3"), ["1.8.3"]);
        assert_eq!(other_forms("12345"), ["12,345", "12.345"]);
        assert_eq!(other_forms("12,345"), ["12345", "12.345"]);
        assert_eq!(other_forms("1.234.567"), ["v1.234.567", "1234567", "1,234,567"]);
        assert_eq!(other_forms("2026-11-20"), Vec::<String>::new());
        assert_eq!(other_forms("3,5"), ["3.5"]);
        assert_eq!(other_forms("3.5"), ["v3.5", "3,5"]);
        assert_eq!(other_forms("192.168.0.1:8080"), ["192.168.0.1"]);
        assert_eq!(other_forms("vim"), Vec::<String>::new());
        assert_eq!(other_forms("300"), Vec::<String>::new());
    }

    #[test]
    fn a_version_is_found_by_its_beginning() {
        let beginnings = |whole: &str| {
            let mut all = Vec::new();
            each_beginning(whole, &mut |beginning| all.push(beginning.to_owned()));
            all
        };
        assert_eq!(beginnings("v1.8.3"), ["1.8", "1.8.3", "v1"]);
        assert_eq!(beginnings("2026-11-20"), ["2026-11", "2026-11-20"]);
        assert_eq!(beginnings("1.8"), ["1.8"]);
        assert_eq!(beginnings("2.0.1.tar.gz"), ["2.0", "2.0.1"]);
        assert_eq!(beginnings("10.5km"), ["10.5km", "10.5"]);
        assert_eq!(beginnings("alice@example.com"), Vec::<String>::new());
    }

    #[test]
    fn codes_are_found_in_any_groups() {
        let codes = |text: &str| {
            let mut all = Vec::new();
            each_code(text, &mut |code| all.push(code.to_owned()));
            all
        };
        assert_eq!(codes("ISBN 978-3-16-148410-0."), ["9783161484100"]);
        assert_eq!(codes("call +49 30 123/4567, or 030 1234"), ["49301234567", "0301234"]);
        assert_eq!(
            codes("order #A-0204945 and A0204945"),
            ["0204945", "a0204945", "0204945", "a0204945"]
        );
        assert_eq!(codes("1 234\u{202f}567"), ["1234567"]);
        assert_eq!(codes("v1.8.3, 12,345 of 2021"), Vec::<String>::new());
        assert_eq!(codes("abcd1234567"), ["1234567"]);
    }
}
