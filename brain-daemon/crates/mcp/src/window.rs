//! Which part of a long text goes into one answer: whole lines where they fit, a piece of a line where one does not.

use std::ops::Range;

use brain_protocol::{Fault, FaultCode};

use super::answer::weight_of;

/// What is wanted of a text.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// The bytes that are wanted at the most: all, or a section.
    pub(super) part: Range<usize>,
    /// The first line, counted from 1 in the whole text; the part's first one when absent.
    pub(super) line: Option<usize>,
    /// How many characters of the first line to leave out.
    pub(super) skip: usize,
    /// How many lines at the most.
    pub(super) lines: usize,
    /// How much at the most, in bytes of JSON.
    pub(super) bytes: usize,
}

/// What is shown of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// Its first line.
    pub(super) line: usize,
    /// Where the next window begins: a line, and how many of its characters were shown. `None` at the end of the part.
    pub(super) next: Option<(usize, usize)>,
}

/// How many lines a text has.
pub(super) fn lines(text: &str) -> usize {
    let ends = text.bytes().filter(|&byte| byte == b'\n').count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The window that shows what is wanted of `body`.
///
/// # Errors
/// When the first line is behind the part's last one.
pub(super) fn window(body: &str, wanted: &Wanted) -> Result<Window, Fault> {
    let part = wanted.part.clone();
    let first = lines(&body[..part.start]) + 1;
    let line = wanted.line.unwrap_or(first).max(first);
    let count = lines(&body[part.clone()]);
    if line > first && line >= first + count {
        let last = (first + count).saturating_sub(1);
        return Err(Fault::new(
            FaultCode::InvalidRequest,
            format!("start_line {line} is behind the end: the last line is {last}"),
        )
        .hint("begin at a line that there is"));
    }
    let mut ends = body[part.clone()].match_indices('\n').map(|(at, _)| part.start + at + 1);
    let mut start = match line - first {
        0 => part.start,
        before => ends.nth(before - 1).unwrap_or(part.end),
    };
    let all = &body[start..part.end];
    let own = all.find('\n').map_or(all, |end| &all[..end]);
    start += own.char_indices().nth(wanted.skip).map_or(own.len(), |(at, _)| at);

    let (mut end, mut left, mut next) = (start, wanted.bytes, None);
    for (number, text) in body[start..part.end].split_inclusive('\n').enumerate() {
        let weight: usize = text.chars().map(weight_of).sum();
        if number == wanted.lines {
            next = Some((line + number, 0));
            break;
        }
        if weight > left {
            next = Some((line + number, 0));
            // A line that fits into no window is cut wherever it begins.
            if number == 0 || weight > wanted.bytes {
                let shown = fitting(text, left);
                end += shown;
                let before = if number == 0 { wanted.skip } else { 0 };
                next = Some((line + number, before + text[..shown].chars().count()));
            }
            break;
        }
        left -= weight;
        end += text.len();
    }
    Ok(Window { range: start..end, line, next })
}

/// How many bytes of `text` fit into `bytes` of JSON.
fn fitting(text: &str, bytes: usize) -> usize {
    let mut left = bytes;
    for (at, c) in text.char_indices() {
        match left.checked_sub(weight_of(c)) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    text.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(body: &str) -> Wanted {
        Wanted { part: 0..body.len(), line: None, skip: 0, lines: usize::MAX, bytes: 1000 }
    }

    fn shown<'a>(body: &'a str, wanted: &Wanted) -> (&'a str, Option<(usize, usize)>) {
        let window = window(body, wanted).unwrap();
        (&body[window.range], window.next)
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(
            [lines(""), lines("a"), lines("a\n"), lines("a\nb"), lines("\n\n")],
            [0, 1, 1, 2, 2]
        );
    }

    #[test]
    fn a_window_is_whole_lines() {
        let body = "one\ntwo\nthree\n";
        assert_eq!(shown(body, &whole(body)), (body, None));
        assert_eq!(shown("", &whole("")), ("", None));
        assert_eq!(
            shown(body, &Wanted { line: Some(2), lines: 1, ..whole(body) }),
            ("two\n", Some((3, 0)))
        );
        assert_eq!(
            shown(body, &Wanted { line: Some(3), lines: 1, ..whole(body) }),
            ("three\n", None)
        );
        // A line's end is two bytes of JSON.
        assert_eq!(shown(body, &Wanted { bytes: 10, ..whole(body) }), ("one\ntwo\n", Some((3, 0))));
        assert_eq!(shown(body, &Wanted { bytes: 9, ..whole(body) }), ("one\n", Some((2, 0))));
        let behind = window(body, &Wanted { line: Some(4), ..whole(body) }).unwrap_err();
        assert!(behind.message.contains("the last line is 3"), "{}", behind.message);
        assert!(window("", &Wanted { line: Some(1), ..whole("") }).is_ok());
    }

    #[test]
    fn a_part_keeps_the_lines_of_the_whole() {
        let body = "# A\na\n# B\nb\nbb\n# C\n";
        let part = 6..15;
        let wanted = |line| Wanted { part: part.clone(), line, ..whole(body) };
        assert_eq!(
            window(body, &wanted(None)).unwrap(),
            Window { range: 6..15, line: 3, next: None }
        );
        assert_eq!(shown(body, &wanted(Some(4))), ("b\nbb\n", None));
        assert_eq!(shown(body, &wanted(Some(1))).0, "# B\nb\nbb\n");
        assert!(window(body, &wanted(Some(6))).unwrap_err().message.contains("last line is 5"));
    }

    #[test]
    fn a_long_line_comes_in_pieces() {
        let body = "größe größe\nend";
        let wanted = Wanted { bytes: 8, ..whole(body) };
        assert_eq!(shown(body, &wanted), ("größe ", Some((1, 6))).to_owned());
        assert_eq!(shown(body, &Wanted { skip: 6, ..wanted.clone() }), ("größe", Some((1, 11))));
        assert_eq!(shown(body, &Wanted { skip: 11, ..wanted.clone() }), ("\nend", None));
        assert_eq!(shown(body, &Wanted { skip: 99, ..wanted }), ("\nend", None));
        let body = "a\nlong line\nb";
        assert_eq!(shown(body, &Wanted { bytes: 8, ..whole(body) }), ("a\nlong ", Some((2, 5))));
        assert_eq!(shown(body, &Wanted { bytes: 12, ..whole(body) }), ("a\n", Some((2, 0))));
    }

    proptest! {
        #[test]
        fn windows_make_the_whole(body in "[a-c\\nÄ字\"]{0,60}", bytes in 6_usize..20, lines in 1_usize..5) {
            let (mut read, mut place) = (String::new(), (1, 0));
            for _ in 0..=body.len() {
                let wanted = Wanted { part: 0..body.len(), line: Some(place.0), skip: place.1, lines, bytes };
                let window = window(&body, &wanted).unwrap();
                read.push_str(&body[window.range]);
                match window.next {
                    Some(next) => place = next,
                    None => break,
                }
            }
            prop_assert_eq!(read, body);
        }
    }
}
