//! Removes markdown syntax from a line of a page. Each character keeps its match flag.
//!
//! The text can begin or end within markup, because it is a part of a page. Unknown markup stays.

/// A character, and whether it belongs to a match.
pub(super) type Char = (char, bool);

/// Maximum length of a link in characters. It keeps the time linear.
const MAX_LINK: usize = 300;

/// Returns the text of `chars` without syntax, with single spaces between words.
pub(super) fn without_markup(chars: &[Char]) -> Vec<Char> {
    let mut out: Vec<Char> = Vec::with_capacity(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let previous = at.checked_sub(1).map(|before| chars[before].0);
        let (text, length) = element(&chars[at..], previous).unwrap_or((vec![chars[at]], 1));
        for char in text {
            if char.0 != ' ' || out.last().is_some_and(|last| last.0 != ' ') {
                out.push(char);
            }
        }
        at += length;
    }
    out
}

/// Returns the visible text of the markup at the beginning of `rest`, and the length of the markup
/// in characters. Returns `None` if `rest` begins with plain text.
fn element(rest: &[Char], previous: Option<char>) -> Option<(Vec<Char>, usize)> {
    let is_space = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || c == '…');
    let char_at = |at: usize| rest.get(at).map(|c| c.0);
    let no_text = |length| Some((Vec::new(), length));
    let (c, next) = (char_at(0)?, char_at(1));
    if is_space(previous)
        && let Some(length) = block_prefix(rest, previous.is_none())
    {
        return no_text(length);
    }
    let is_alone = is_space(previous) && is_space(next);
    let is_in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    match c {
        '[' => link(rest),
        '!' if next == Some('[') => link(&rest[1..]).map(|(text, length)| (text, length + 1)),
        '<' => angle_brackets(rest),
        '`' => no_text(1),
        '*' if !is_alone => no_text(1),
        '_' if !(is_alone || is_in_word(previous) && is_in_word(next)) => no_text(1),
        '~' | '=' if next == Some(c) && is_space(previous) != is_space(char_at(2)) => no_text(2),
        '\\' if next.is_some_and(|c| c.is_ascii_punctuation()) => Some((vec![rest[1]], 2)),
        _ => None,
    }
}

/// Returns the length of the syntax of a heading, task, rule or table at the beginning of a word.
/// At the beginning of the text, lists and quotations count, too.
fn block_prefix(rest: &[Char], is_first: bool) -> Option<usize> {
    let word: String = rest.iter().map(|c| c.0).take_while(|c| !c.is_whitespace()).collect();
    let length = word.chars().count();
    let is_all = |set: &[char]| !word.is_empty() && word.chars().all(|c| set.contains(&c));
    let is_bullet = matches!(word.as_str(), "-" | "*" | "+");
    let task: String = rest.iter().map(|c| c.0).skip(1).take(5).collect();
    if is_bullet && matches!(task.as_str(), " [ ] " | " [x] " | " [X] ") {
        return Some(6);
    }
    let is_prefix = (is_all(&['#']) && length <= 6)
        || is_all(&['|', '-', ':']) && word.contains('|')
        || (length >= 3 && is_all(&['-', '=', '*', '_', '~', ':']))
        || (is_first && (is_bullet || is_all(&['>'])));
    is_prefix.then_some(length)
}

/// Returns the visible text and the length of `[[page]]`, `[[page|text]]`, `[text](address)` or
/// `[^note]`, which has no text. The target of a link stays if it has the only match.
fn link(rest: &[Char]) -> Option<(Vec<Char>, usize)> {
    let rest = &rest[..rest.len().min(MAX_LINK)];
    let position = |from: usize, c: char| rest.iter().skip(from).position(|x| x.0 == c);
    if rest.get(1)?.0 == '[' {
        let length = position(2, ']')?;
        rest.get(length + 3).filter(|c| c.0 == ']')?;
        let inner = &rest[2..length + 2];
        let text = match inner.iter().position(|c| c.0 == '|') {
            Some(bar) if has_match(&inner[bar..]) || !has_match(&inner[..bar]) => &inner[bar + 1..],
            Some(bar) => &inner[..bar],
            None => inner,
        };
        return Some((text.to_vec(), length + 4));
    }
    let mut depth = 0;
    let close = rest.iter().position(|c| {
        depth += i32::from(c.0 == '[') - i32::from(c.0 == ']');
        depth == 0
    })?;
    let inner = &rest[1..close];
    if inner.first()?.0 == '^' {
        return Some((Vec::new(), close + 1));
    }
    if rest.get(close + 1)?.0 != '(' {
        return None;
    }
    // If the text was cut inside the address, the address has no end.
    let mut depth = 0;
    let end = rest.iter().skip(close + 1).position(|c| {
        depth += i32::from(c.0 == '(') - i32::from(c.0 == ')');
        depth == 0
    });
    let end = end.map_or(rest.len(), |length| close + length + 2);
    let address = &rest[close + 2..end.saturating_sub(1).max(close + 2)];
    let mut text = without_markup(inner);
    if has_match(address) && !has_match(&text) {
        text.extend([(' ', false), ('(', false)]);
        text.extend_from_slice(address);
        text.push((')', false));
    }
    Some((text, end))
}

/// Returns the visible text and the length of `<https://example.org>`, `<b>` or
/// `<!-- a comment -->`. Tags and comments have no text.
fn angle_brackets(rest: &[Char]) -> Option<(Vec<Char>, usize)> {
    let rest = &rest[..rest.len().min(MAX_LINK)];
    let end = rest.iter().position(|c| c.0 == '>')?;
    let inner = &rest[1..end];
    let text: String = inner.iter().map(|c| c.0).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!') {
        return None;
    }
    let is_address = !text.contains(' ') && (text.contains("://") || text.contains('@'));
    Some((if is_address { inner.to_vec() } else { Vec::new() }, end + 1))
}

fn has_match(chars: &[Char]) -> bool {
    chars.iter().any(|c| c.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let chars: Vec<Char> = text.chars().map(|c| (c, false)).collect();
        without_markup(&chars).iter().map(|c| c.0).collect()
    }

    #[test]
    fn syntax_is_removed_and_text_stays() {
        for (text, expected) in [
            ("## Plan **now** and _then_ `code`", "Plan now and then code"),
            ("see [[people/ann|Ann]] and [[people/bob]]", "see Ann and people/bob"),
            ("a [site](https://e.org/x_(1) \"t\") ![pic](p.png) b", "a site pic b"),
            ("- [ ] buy milk - [x] call Ann", "buy milk call Ann"),
            ("> quoted text | a | b | --- | c", "quoted text a b c"),
            ("<b>bold</b> <https://e.org> 2 < 3 > 1", "bold https://e.org 2 < 3 > 1"),
            ("==high== ~~gone~~ a == b x[^1] \\*star\\*", "high gone a == b x *star*"),
            ("snake_case and 2 * 3 #tag a-b - c", "snake_case and 2 * 3 #tag a-b - c"),
            ("the end [of a link](https://exam…", "the end of a link"),
            ("[open and [[also open", "[open and [[also open"),
            ("…rest](https://e.org) text", "…rest](https://e.org) text"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn a_match_in_an_address_stays() {
        let text = "a [site](https://needle.org) b";
        let at = text.find("needle").expect("the word");
        let chars: Vec<Char> =
            text.char_indices().map(|(i, c)| (c, (at..at + 6).contains(&i))).collect();
        let plain: String = without_markup(&chars).iter().map(|c| c.0).collect();
        assert_eq!(plain, "a site (https://needle.org) b");
    }
}
