//! Selects the part of a long text that fits into one answer.
//!
//! The part consists of whole lines. Only the first line, or a line longer than a whole part, is
//! cut.

use std::ops::Range;

use brain_protocol::{Fault, FaultCode};

use super::answer::json_char_len;

/// The requested part of a text.
#[derive(Debug, Clone)]
pub(super) struct WindowRequest {
    /// The byte range to select from: the whole text or a section.
    pub(super) part: Range<usize>,
    /// The first line, counted from 1 in the whole text. `None` means the first line of the range.
    pub(super) line: Option<usize>,
    /// Characters to skip in the first line.
    pub(super) skip: usize,
    /// The maximum number of lines; `usize::MAX` for no limit.
    pub(super) max_lines: usize,
    /// The maximum size, in bytes of JSON.
    pub(super) max_bytes: usize,
}

/// The selected part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextWindow {
    /// The byte range.
    pub(super) range: Range<usize>,
    /// The first line.
    pub(super) line: usize,
    /// Where the next window begins: the line, and how many of its characters to skip. `None` at
    /// the end.
    pub(super) next: Option<(usize, usize)>,
}

/// Returns the number of lines of a text.
pub(super) fn count_lines(text: &str) -> usize {
    let ends = text.bytes().filter(|&byte| byte == b'\n').count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Selects the requested part of `body`.
///
/// # Errors
/// `invalid_request` if the first line is after the last line of the range.
pub(super) fn select_window(body: &str, request: &WindowRequest) -> Result<TextWindow, Fault> {
    let part = request.part.clone();
    let first = count_lines(&body[..part.start]) + 1;
    let line = request.line.unwrap_or(first).max(first);
    let count = count_lines(&body[part.clone()]);
    if line > first && line >= first + count {
        let last = (first + count).saturating_sub(1);
        return Err(Fault::new(
            FaultCode::InvalidRequest,
            format!("start_line {line} is after the end: the last line is {last}"),
        )
        .hint("begin at a line that exists"));
    }
    let mut ends = body[part.clone()].match_indices('\n').map(|(at, _)| part.start + at + 1);
    let mut start = match line - first {
        0 => part.start,
        before => ends.nth(before - 1).unwrap_or(part.end),
    };
    let all = &body[start..part.end];
    let first_line = all.find('\n').map_or(all, |end| &all[..end]);
    start += first_line.char_indices().nth(request.skip).map_or(first_line.len(), |(at, _)| at);

    let (mut end, mut left, mut next) = (start, request.max_bytes, None);
    for (number, text) in body[start..part.end].split_inclusive('\n').enumerate() {
        let size: usize = text.chars().map(json_char_len).sum();
        if number == request.max_lines {
            next = Some((line + number, 0));
            break;
        }
        if size > left {
            next = Some((line + number, 0));
            // Only the first line, or a line longer than a whole window, is cut.
            if number == 0 || size > request.max_bytes {
                let cut = fitting_bytes(text, left);
                end += cut;
                let before = if number == 0 { request.skip } else { 0 };
                next = Some((line + number, before + text[..cut].chars().count()));
            }
            break;
        }
        left -= size;
        end += text.len();
    }
    Ok(TextWindow { range: start..end, line, next })
}

/// Returns how many bytes of `text` fit into `bytes` of JSON.
fn fitting_bytes(text: &str, bytes: usize) -> usize {
    let mut left = bytes;
    for (at, c) in text.char_indices() {
        match left.checked_sub(json_char_len(c)) {
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

    fn whole(body: &str) -> WindowRequest {
        WindowRequest {
            part: 0..body.len(),
            line: None,
            skip: 0,
            max_lines: usize::MAX,
            max_bytes: 1000,
        }
    }

    fn shown<'a>(body: &'a str, request: &WindowRequest) -> (&'a str, Option<(usize, usize)>) {
        let window = select_window(body, request).unwrap();
        (&body[window.range], window.next)
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(
            [
                count_lines(""),
                count_lines("a"),
                count_lines("a\n"),
                count_lines("a\nb"),
                count_lines("\n\n")
            ],
            [0, 1, 1, 2, 2]
        );
    }

    #[test]
    fn a_window_has_whole_lines() {
        let body = "one\ntwo\nthree\n";
        assert_eq!(shown(body, &whole(body)), (body, None));
        assert_eq!(shown("", &whole("")), ("", None));
        assert_eq!(
            shown(body, &WindowRequest { line: Some(2), max_lines: 1, ..whole(body) }),
            ("two\n", Some((3, 0)))
        );
        assert_eq!(
            shown(body, &WindowRequest { line: Some(3), max_lines: 1, ..whole(body) }),
            ("three\n", None)
        );
        // A line feed takes two bytes of JSON.
        assert_eq!(
            shown(body, &WindowRequest { max_bytes: 10, ..whole(body) }),
            ("one\ntwo\n", Some((3, 0)))
        );
        assert_eq!(
            shown(body, &WindowRequest { max_bytes: 9, ..whole(body) }),
            ("one\n", Some((2, 0)))
        );
        let refused =
            select_window(body, &WindowRequest { line: Some(4), ..whole(body) }).unwrap_err();
        assert!(refused.message.contains("the last line is 3"), "{}", refused.message);
        assert!(select_window("", &WindowRequest { line: Some(1), ..whole("") }).is_ok());
    }

    #[test]
    fn a_section_keeps_its_line_numbers() {
        let body = "# A\na\n# B\nb\nbb\n# C\n";
        let part = 6..15;
        let request = |line| WindowRequest { part: part.clone(), line, ..whole(body) };
        assert_eq!(
            select_window(body, &request(None)).unwrap(),
            TextWindow { range: 6..15, line: 3, next: None }
        );
        assert_eq!(shown(body, &request(Some(4))), ("b\nbb\n", None));
        assert_eq!(shown(body, &request(Some(1))).0, "# B\nb\nbb\n");
        let refused = select_window(body, &request(Some(6))).unwrap_err();
        assert!(refused.message.contains("last line is 5"), "{}", refused.message);
    }

    #[test]
    fn a_long_line_is_split() {
        let body = "größe größe\nend";
        let request = WindowRequest { max_bytes: 8, ..whole(body) };
        assert_eq!(shown(body, &request), ("größe ", Some((1, 6))).to_owned());
        assert_eq!(
            shown(body, &WindowRequest { skip: 6, ..request.clone() }),
            ("größe", Some((1, 11)))
        );
        assert_eq!(shown(body, &WindowRequest { skip: 11, ..request.clone() }), ("\nend", None));
        assert_eq!(shown(body, &WindowRequest { skip: 99, ..request }), ("\nend", None));
        let body = "a\nlong line\nb";
        assert_eq!(
            shown(body, &WindowRequest { max_bytes: 8, ..whole(body) }),
            ("a\nlong ", Some((2, 5)))
        );
        assert_eq!(
            shown(body, &WindowRequest { max_bytes: 12, ..whole(body) }),
            ("a\n", Some((2, 0)))
        );
    }

    proptest! {
        #[test]
        fn all_windows_together_are_the_text(
            body in "[a-c\\nÄ字\"]{0,60}",
            max_bytes in 6_usize..20,
            max_lines in 1_usize..5,
        ) {
            let (mut read, mut position) = (String::new(), (1, 0));
            for _ in 0..=body.len() {
                let (line, skip) = (Some(position.0), position.1);
                let part = 0..body.len();
                let request = WindowRequest { part, line, skip, max_lines, max_bytes };
                let window = select_window(&body, &request).unwrap();
                read.push_str(&body[window.range]);
                match window.next {
                    Some(next) => position = next,
                    None => break,
                }
            }
            prop_assert_eq!(read, body);
        }
    }
}
