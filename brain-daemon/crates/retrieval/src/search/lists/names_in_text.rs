//! Items, names and links in a line of a page. No I/O.

/// What separates names in one line.
const SEPARATORS: [&str; 8] = [",", ";", " and ", " und ", " et ", " y ", " & ", " + "];

/// Returns the text of a list item.
pub(super) fn list_item(line: &str) -> Option<&str> {
    let item =
        ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).or_else(|| {
            let (number, item) = line.split_once(['.', ')'])?;
            (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(item)
        })?;
    let item = item.trim_start();
    let boxes = ["[ ] ", "[x] ", "[X] "];
    Some(boxes.iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item))
}

/// Splits a text at the marks and words between names.
pub(super) fn split_names(text: &str) -> Vec<String> {
    let mut parts = vec![text.to_owned()];
    for separator in SEPARATORS {
        parts = parts.iter().flat_map(|part| part.split(separator).map(str::to_owned)).collect();
    }
    parts.retain(|part| part.chars().any(char::is_alphabetic));
    parts
}

/// Returns the target of the first link in a text, and the text that it shows.
pub(super) fn link_in(text: &str) -> Option<(&str, &str)> {
    if let Some((_, rest)) = text.split_once("[[") {
        let (inner, _) = rest.split_once("]]")?;
        let (target, shown) = inner.split_once('|').unwrap_or((inner, inner));
        return Some((target.trim_end_matches('\\').trim(), shown.trim()));
    }
    let (_, rest) = text.split_once('[')?;
    let (shown, rest) = rest.split_once("](")?;
    let (target, _) = rest.split_once(')')?;
    Some((target.trim(), shown.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_a_target_and_a_text() {
        assert_eq!(link_in("- [[people/ann|Ann]] came"), Some(("people/ann", "Ann")));
        assert_eq!(link_in("[Ann](people/ann)"), Some(("people/ann", "Ann")));
        assert_eq!(link_in("Ann"), None);
        assert_eq!(link_in("[[open"), None);
    }
}
