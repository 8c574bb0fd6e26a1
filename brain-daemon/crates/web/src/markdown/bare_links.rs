//! Finds addresses of the web in plain text. No I/O.

use std::ops::Range;

/// The longest address that becomes a link, in bytes.
const MAX_ADDRESS: usize = 2000;

/// Returns the byte ranges of the addresses in `text`, in order: `http://…` or `https://…`, without
/// punctuation at the end, as GitHub's markdown has it.
pub(super) fn bare_links(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut end) = (Vec::new(), 0);
    for (at, _) in text.match_indices("http") {
        let Some(rest) = text.get(at..) else { continue };
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        if at < end || before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        let Some(scheme) = ["https://", "http://"].into_iter().find(|it| rest.starts_with(it))
        else {
            continue;
        };
        let length = address_length(rest);
        end = at + length;
        let first = rest.get(scheme.len()..length).and_then(|host| host.chars().next());
        if length <= MAX_ADDRESS && first.is_some_and(|char| char.is_alphanumeric() || char == '[')
        {
            found.push(at..end);
        }
    }
    found
}

/// Returns the length of the address at the beginning of `text`.
fn address_length(text: &str) -> usize {
    let mut length = 0;
    // The number of open brackets: a closing bracket without an open one ends the address.
    let (mut round, mut square) = (0_u32, 0_u32);
    for char in text.chars() {
        match char {
            '(' => round += 1,
            '[' => square += 1,
            ')' if round == 0 => break,
            ']' if square == 0 => break,
            ')' => round -= 1,
            ']' => square -= 1,
            char if is_end(char) => break,
            _ => {}
        }
        length += char.len_utf8();
        if length > MAX_ADDRESS {
            return length;
        }
    }
    let address = text.get(..length).unwrap_or_default();
    let is_punctuation = |char: char| ".,:;!?'*_~…".contains(char);
    address.trim_end_matches(is_punctuation).len()
}

/// Returns whether a character is never part of an address.
fn is_end(char: char) -> bool {
    char.is_whitespace()
        || char.is_control()
        || matches!(char, '<' | '>' | '"' | '`' | '{' | '}' | '|' | '\\' | '^')
        || matches!(char, '“' | '”' | '„' | '«' | '»' | '‘' | '’')
        || matches!(char, '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FF0F}')
        || matches!(char, '\u{FF1A}'..='\u{FF1F}')
        // Direction marks could make the address look like another one.
        || matches!(char, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}')
        || matches!(char, '\u{2060}'..='\u{206F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        bare_links(text).into_iter().filter_map(|range| text.get(range)).collect()
    }

    #[test]
    fn addresses_end_before_punctuation() {
        for (text, address) in [
            ("see https://a.example/x.", "https://a.example/x"),
            ("(https://a.example/x)", "https://a.example/x"),
            ("https://a.example/x_(y), and", "https://a.example/x_(y)"),
            ("https://a.example/?q=a&b=c#d!?", "https://a.example/?q=a&b=c#d"),
            ("“http://a.example”", "http://a.example"),
            ("[https://a.example]", "https://a.example"),
            ("https://[::1]:80/x", "https://[::1]:80/x"),
            ("見る https://a.example/日本。次", "https://a.example/日本"),
            ("https://a.example/\u{202e}x", "https://a.example/"),
            ("https://ä.example/ä", "https://ä.example/ä"),
        ] {
            assert_eq!(found(text), [address], "{text}");
        }
        let two = "https://a.example,https://b.example and http://c.example";
        assert_eq!(found(two), ["https://a.example,https://b.example", "http://c.example"]);
    }

    #[test]
    fn other_text_is_no_address() {
        for text in [
            "",
            "http",
            "https://",
            "xhttps://a.example",
            "https:// a",
            "https://.",
            "javascript:https://",
            "ftp://a.example",
            "HTTP://",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
        let long = format!("https://a.example/{}", "x".repeat(3000));
        assert_eq!(found(&long), Vec::<&str>::new());
        // This takes linear time.
        assert!(found(&"http://".repeat(100_000)).len() <= 1);
    }
}
