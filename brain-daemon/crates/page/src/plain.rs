//! Converts markdown to plain text on one line, for models that read text. Accepts any part of a
//! text, even one that begins within a link or a fence. Unknown markup stays.

/// Maximum distance to a link's end, in bytes. Keeps the work linear.
const MAX_DISTANCE: usize = 300;

/// Returns `text` without markdown syntax, with single spaces between words.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = without_head(line.trim());
        if line.chars().all(|c| {
            matches!(c, '-' | '=' | '*' | '_' | '|' | ':' | '~' | '`') || c.is_whitespace()
        }) {
            continue;
        }
        out.push(' ');
        inline(line, &mut out);
    }
    let mut words = out.split_whitespace();
    let mut plain = words.next().unwrap_or_default().to_owned();
    for word in words {
        plain.push(' ');
        plain.push_str(word);
    }
    plain
}

/// Returns a line without the syntax of a quotation, heading, list item or fence.
fn without_head(mut line: &str) -> &str {
    loop {
        let bare = line.trim_start_matches(['>', '`']).trim_start();
        let bare = bare.strip_prefix("~~~").unwrap_or(bare);
        let heading = bare.trim_start_matches('#');
        let bare = if bare.len() - heading.len() <= 6 && heading.starts_with([' ', '\t']) {
            heading
        } else {
            bare
        };
        let entry = ["- ", "* ", "+ ", "[ ] ", "[x] ", "[X] "]
            .iter()
            .find_map(|prefix| bare.strip_prefix(prefix));
        let bare = entry.unwrap_or(bare).trim_start();
        if bare.len() == line.len() {
            return bare;
        }
        line = bare;
    }
}

/// Appends a line's text without the syntax within it.
fn inline(line: &str, out: &mut String) {
    let mut at = 0;
    let mut prev = ' ';
    while let Some(c) = line.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &line[at..];
        let behind = &rest[c.len_utf8()..];
        let next = behind.chars().next().unwrap_or(' ');
        let mut step = c.len_utf8();
        match c {
            '`' => {}
            '|' => out.push(' '),
            '*' if !(prev.is_whitespace() && next.is_whitespace()) => {}
            '_' if !(prev.is_alphanumeric() && next.is_alphanumeric()) => {}
            '~' if prev == '~' || next == '~' => {}
            '\\' if next.is_ascii_punctuation() => {
                out.push(next);
                step += next.len_utf8();
            }
            '!' if next == '[' => {}
            '[' | ']' | '<' => match link(rest) {
                Some((label, length)) => {
                    out.push_str(label);
                    step = length;
                }
                None => out.push(c),
            },
            c => out.push(c),
        }
        prev = c;
        at += step;
    }
}

/// Returns the text and the length of the link, link end or HTML tag at the beginning of `rest`.
fn link(rest: &str) -> Option<(&str, usize)> {
    if let Some(inner) = rest.strip_prefix("[[") {
        let content = &inner[..near(inner, ']').filter(|end| inner[*end..].starts_with("]]"))?];
        let label = content.rsplit('|').next().unwrap_or(content);
        return Some((label, content.len() + 4));
    }
    if let Some(inner) = rest.strip_prefix('[') {
        let label = &inner[..near(inner, ']')?];
        let (_, more) = target(&inner[label.len()..])?;
        return (!label.contains('[')).then_some((label, 1 + label.len() + more));
    }
    if rest.starts_with(']') {
        return target(rest);
    }
    let inner = rest.strip_prefix('<')?;
    let tag = &inner[..near(inner, '>')?];
    let is_address = tag.starts_with("http://") || tag.starts_with("https://");
    let is_tag = tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!')
        && !tag.contains('<');
    (is_address || is_tag).then_some((if is_address { tag } else { " " }, tag.len() + 2))
}

/// Returns an empty text and the length of the `](address)` at the beginning of `rest`.
fn target(rest: &str) -> Option<(&str, usize)> {
    let inner = rest.strip_prefix("](")?;
    let end = near(inner, ')')?;
    Some(("", end + 3))
}

/// Returns the position of `needle` if it is within [`MAX_DISTANCE`].
fn near(text: &str, needle: char) -> Option<usize> {
    let mut end = text.len().min(MAX_DISTANCE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].find(needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn syntax_is_removed_and_words_are_kept() {
        assert_eq!(
            plain("# Head\n\n> - **bold** and _italic_, `code` ~~gone~~\n"),
            "Head bold and italic, code gone"
        );
        assert_eq!(
            plain("see [the docs](https://x.test/a_b) and [[people/ann|Ann]] and [[acme]]"),
            "see the docs and Ann and acme"
        );
        assert_eq!(
            plain("![a picture](p.png) <b>fat</b> <https://x.test>"),
            "a picture fat https://x.test"
        );
        assert_eq!(plain("- [ ] buy milk\n- [x] done\n1. one"), "buy milk done 1. one");
        assert_eq!(plain("| a | b |\n|---|:--|\n| 1 | 2 |"), "a b 1 2");
        assert_eq!(plain("```rust\nlet some_name = 2 * 3;\n```\n"), "rust let some_name = 2 * 3;");
        assert_eq!(plain("a \\* b, 1 < 2 and 3 > 2, a[0]"), "a * b, 1 < 2 and 3 > 2, a[0]");
        assert_eq!(plain("---\n***\n"), "");
    }

    #[test]
    fn a_link_that_was_cut_leaves_no_address() {
        assert_eq!(
            plain("rest of the label](https://x.test/long) and on"),
            "rest of the label and on"
        );
        assert_eq!(plain("it begins [here and"), "it begins [here and");
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_line(text in "([a-z\\[\\]()<>*_`#|~!\\\\ \
            é字\u{200B}\n-]{0,60}|\\PC{0,40})") {
            let plain = plain(&text);
            prop_assert!(!plain.contains('\n') && !plain.contains("  ") && plain.trim() == plain);
        }

        #[test]
        fn plain_words_are_left_alone(words in proptest::collection::vec("[a-zA-Zäöü字]{1,8}",
            0..30)) {
            prop_assert_eq!(plain(&words.join("\n")), words.join(" "));
        }
    }
}
