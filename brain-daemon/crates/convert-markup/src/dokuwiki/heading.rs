//! Headings, and the title of a page.

/// Returns the heading with which a page begins. It is the title of the page.
pub(super) fn first_heading(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !is_setting(line));
    heading(lines.next()?).map(|(_, text)| brain_page::single_line(text))
}

/// Returns whether a page has a heading of the first level: `====== Title ======`. Pages of Zim
/// have the same, below a header.
pub(super) fn has_title(text: &str) -> bool {
    let is_title = |line| heading(line).is_some_and(|(level, _)| level == 1);
    !text.starts_with("Content-Type:") && text.lines().any(is_title)
}

/// Returns whether a line can be above the title: `~~NOTOC~~` or `{{tag>a b}}`.
pub(super) fn is_setting(line: &str) -> bool {
    line.starts_with("~~") || line.starts_with("{{")
}

/// Returns the level and the text of a heading.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let marks = line.bytes().take_while(|byte| *byte == b'=').count();
    let text = line.get(marks..)?;
    let text_end = text.trim_end_matches('=');
    let is_heading = marks >= 2 && text.len() >= text_end.len() + 2 && !text_end.trim().is_empty();
    is_heading.then(|| (7 - marks.clamp(2, 6), text_end.trim()))
}
