//! A header value with parameters: `text/plain; charset=utf-8` (RFC 2045, RFC 2231).

use super::words::decode_words;
use crate::codec;

/// A value and its parameters.
#[derive(Debug, Default)]
pub(super) struct Params {
    /// The value before the parameters, in lower case.
    pub(super) value: String,
    /// Names in lower case, and values.
    list: Vec<(String, String)>,
}

/// A part of a parameter: `filename*1*=…` has the section 1 and is encoded.
struct Section {
    name: String,
    number: u32,
    is_encoded: bool,
    value: String,
}

impl Params {
    /// Parses a header value.
    pub(super) fn parse(text: &str) -> Self {
        let mut parts = split(text).into_iter();
        let value = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut list = Vec::new();
        let mut sections = Vec::new();
        for part in parts {
            let Some((name, value)) = part.split_once('=') else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), unquoted(value.trim()));
            match name.split_once('*') {
                None => list.push((name, decode_words(&value))),
                Some((name, section)) => {
                    let is_encoded = section.is_empty() || section.ends_with('*');
                    let number = section.trim_end_matches('*').parse().unwrap_or(0);
                    sections.push(Section { name: name.to_owned(), number, is_encoded, value });
                }
            }
        }
        sections.sort_by(|a, b| (&a.name, a.number).cmp(&(&b.name, b.number)));
        for group in sections.chunk_by(|a, b| a.name == b.name) {
            if let Some(first) = group.first() {
                // An encoded value is exact; the plain one beside it is for old programs.
                list.retain(|(name, _)| *name != first.name);
                list.push((first.name.clone(), joined(group)));
            }
        }
        Self { value, list }
    }

    /// Returns a parameter that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.list.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }
}

/// Returns the text of all sections of a parameter. Bytes are joined before they are decoded.
fn joined(sections: &[Section]) -> String {
    let mut bytes = Vec::new();
    let mut charset = None;
    for (n, section) in sections.iter().enumerate() {
        let mut value = section.value.as_str();
        if n == 0
            && section.is_encoded
            && let [name, _language, rest] = value.splitn(3, '\'').collect::<Vec<_>>()[..]
        {
            charset = Some(name.to_owned());
            value = rest;
        }
        match section.is_encoded {
            true => bytes.extend(percent_decoded(value)),
            false => bytes.extend_from_slice(value.as_bytes()),
        }
    }
    codec::text(&bytes, charset.as_deref())
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match after {
            [high, low, after @ ..] if *byte == b'%' => {
                match codec::hex(*high).zip(codec::hex(*low)) {
                    Some((high, low)) => {
                        out.push(high << 4 | low);
                        rest = after;
                    }
                    None => out.push(*byte),
                }
            }
            _ => out.push(*byte),
        }
    }
    out
}

/// Splits at semicolons that are not in quotation marks.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Returns a value without quotation marks and their escapes.
pub(super) fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else { return value.to_owned() };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '"' => break,
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> String {
        Params::parse(text).get("filename").unwrap_or_default().to_owned()
    }

    #[test]
    fn a_file_name_is_read_in_all_forms() {
        assert_eq!(name("attachment; filename=\"a;b \\\"c\\\".pdf\""), "a;b \"c\".pdf");
        assert_eq!(name("attachment; FileName = plain.txt"), "plain.txt");
        assert_eq!(name("attachment; filename*=utf-8'de'Gr%C3%BCn%20.txt"), "Gr\u{fc}n .txt");
        assert_eq!(name("x; filename=\"=?utf-8?B?R3LD?= =?utf-8?B?vG4=?=\""), "Gr\u{fc}n");
    }

    #[test]
    fn sections_are_joined_before_they_are_decoded() {
        // A character is cut, the order is wrong, and one section is not encoded.
        let text =
            "attachment; filename*1*=%BCn; filename*0*=utf-8''Gr%C3; filename*2=\"-1%20.txt\"";
        assert_eq!(name(text), "Gr\u{fc}n-1%20.txt");
        assert_eq!(name("a; filename=old.txt; filename*=''n%65w.txt"), "new.txt");
        assert_eq!(name("a; filename*0=\"one-\"; filename*1=\"two.txt\""), "one-two.txt");
    }

    #[test]
    fn the_value_is_in_lower_case() {
        let params = Params::parse("Text/PLAIN; charset=\"UTF-8\"; broken; =x");
        assert_eq!(params.value, "text/plain");
        assert_eq!(params.get("charset"), Some("UTF-8"));
        assert_eq!(Params::parse("").value, "");
    }
}
