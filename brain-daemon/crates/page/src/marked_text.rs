//! Splits a text at the lines that somebody other than the page's author wrote.

use brain_protocol::MarkedLines;

/// Returns how many lines of a page's file stand above its body.
#[must_use]
pub fn lines_above_body(content: &str, body: &str) -> u32 {
    let above = content.len().saturating_sub(body.len());
    let ends = content.bytes().take(above).filter(|byte| *byte == b'\n').count();
    u32::try_from(ends).unwrap_or(u32::MAX)
}

/// Splits `text`, which begins in line `first` of the page's file, into parts with and without a
/// mark, in order. The parts together are the text. Neighbouring lines of one origin are one part.
#[must_use]
pub fn split_marked<'t, 'm>(
    text: &'t str,
    first: u32,
    marks: &'m [MarkedLines],
) -> Vec<(Option<&'m MarkedLines>, &'t str)> {
    let is_same = |a: Option<&MarkedLines>, b: Option<&MarkedLines>| match (a, b) {
        (Some(a), Some(b)) => (&a.source_kind, &a.source_uri) == (&b.source_kind, &b.source_uri),
        (a, b) => a.is_none() && b.is_none(),
    };
    let mut parts: Vec<(Option<&MarkedLines>, &str)> = Vec::new();
    let (mut begin, mut at) = (0, 0);
    // The mark of the current part; `None` before the first line.
    let mut current_mark: Option<Option<&MarkedLines>> = None;
    for (number, line) in (first..).zip(text.split_inclusive('\n')) {
        let mark = marks.iter().find(|mark| (mark.first..=mark.last).contains(&number));
        if let Some(before) = current_mark
            && !is_same(before, mark)
        {
            parts.push((before, &text[begin..at]));
            begin = at;
        }
        if at == begin {
            current_mark = Some(mark);
        }
        at += line.len();
    }
    if let Some(last) = current_mark {
        parts.push((last, &text[begin..]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(first: u32, last: u32, uri: &str) -> MarkedLines {
        MarkedLines {
            first,
            last,
            source_kind: "mcp:put_page".into(),
            source_uri: uri.into(),
            written_at: String::new(),
        }
    }

    fn parts(text: &str, first: u32, marks: &[MarkedLines]) -> Vec<(bool, String)> {
        split_marked(text, first, marks)
            .into_iter()
            .map(|(mark, part)| (mark.is_some(), part.to_owned()))
            .collect()
    }

    #[test]
    fn a_text_is_split_at_its_marks() {
        let own = |text: &str| (false, text.to_owned());
        let outside = |text: &str| (true, text.to_owned());
        assert_eq!(parts("a\nb", 1, &[]), [own("a\nb")]);
        assert_eq!(parts("", 1, &[mark(1, 1, "x")]), []);
        let marks = [mark(2, 2, "x"), mark(3, 3, "x"), mark(5, 5, "y")];
        assert_eq!(
            parts("1\n2\n3\n4\n5", 1, &marks),
            [own("1\n"), outside("2\n3\n"), own("4\n"), outside("5")]
        );
        assert_eq!(parts("3\n4\n", 3, &marks), [outside("3\n"), own("4\n")]);
        assert_eq!(parts("4\n5\n", 4, &[mark(4, 4, "x"), mark(5, 5, "y")]).len(), 2);
    }

    #[test]
    fn lines_above_the_body_are_counted() {
        let content = crate::file_text("a: 1\nb: 2\n", "text\n");
        assert_eq!(lines_above_body(&content, "text\n"), 5);
        assert_eq!(lines_above_body("text\n", "text\n"), 0);
    }
}
