//! Sections of a page. Knows only headings with `#` outside of fenced code, and ignores lists and
//! quotes.

use super::fence::Fences;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization as _;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Number of `#`, 1 to 6.
    pub level: u8,
    /// The text: markdown as written, on one line, without the `#`.
    pub text: String,
    /// The byte range of the heading's line in the body, including the line end.
    pub range: Range<usize>,
}

/// Returns the headings of `body` in order. Linear in the body's length.
#[must_use]
pub fn headings(body: &str) -> Vec<Heading> {
    each_heading(body).collect()
}

/// Iterates over the headings of `body`.
pub(super) fn each_heading(body: &str) -> impl Iterator<Item = Heading> {
    let mut fences = Fences::default();
    let mut start = 0;
    body.split_inclusive('\n').filter_map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        let (level, text) = if fences.push_line(line) { None } else { heading(line) }?;
        Some(Heading { level, text: text.to_owned(), range })
    })
}

/// Returns the byte range of the section of `body` below the first heading with the text `heading`.
/// It begins with the heading's line and ends before the next heading of the same or a higher
/// level.
///
/// Ignores case, surrounding white space, and the Unicode form of accents. The name may begin with
/// `#`; then a heading of that level is preferred.
#[must_use]
pub fn section(body: &str, heading: &str) -> Option<Range<usize>> {
    let full = heading.trim();
    let bare = full.trim_start_matches('#');
    let level = full.len() - bare.len();
    let has_text = |name: &str| {
        let plain = |text: &str| text.nfc().collect::<String>().to_lowercase();
        let name = plain(name.trim());
        move |heading: &Heading| plain(&heading.text) == name
    };
    let (has_full_text, has_bare_text) = (has_text(full), has_text(bare));
    let found = each_heading(body)
        .find(has_full_text)
        .or_else(|| {
            each_heading(body)
                .find(|heading| usize::from(heading.level) == level && has_bare_text(heading))
        })
        .or_else(|| each_heading(body).find(&has_bare_text))?;
    let next = each_heading(body)
        .find(|heading| heading.range.start >= found.range.end && heading.level <= found.level);
    Some(found.range.start..next.map_or(body.len(), |next| next.range.start))
}

/// Returns level and text of a heading (CommonMark 0.31, ATX headings). A heading without a text is
/// ignored, because it cannot be named.
fn heading(line: &str) -> Option<(u8, &str)> {
    let line = line.trim_end();
    let heading = line.trim_start_matches(' ');
    if line.len() - heading.len() > 3 {
        return None;
    }
    let text = heading.trim_start_matches('#');
    let level =
        u8::try_from(heading.len() - text.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !text.starts_with([' ', '\t']) {
        return None;
    }
    let text = text.trim();
    // `#` after the text closes the heading if white space precedes it.
    let open = text.trim_end_matches('#');
    let text = if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { text };
    (!text.is_empty()).then_some((level, text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(body: &str) -> Vec<(u8, String)> {
        headings(body).into_iter().map(|heading| (heading.level, heading.text)).collect()
    }

    fn part<'a>(body: &'a str, heading: &str) -> Option<&'a str> {
        section(body, heading).map(|range| &body[range])
    }

    #[test]
    fn headings_follow_commonmark() {
        let body = "# One\ntext\n##  Two ##\n   ### Three#\n#no\n####### seven\n    # code\n#\n# \
            #\n# C #\r\n";
        let found = [(1, "One".into()), (2, "Two".into()), (3, "Three#".into()), (1, "C".into())];
        assert_eq!(names(body), found);
        assert_eq!(&body[headings(body)[1].range.clone()], "##  Two ##\n");
        assert_eq!(names("```\n# no\n```\n# yes\n~~~\n# no"), [(1, "yes".into())]);
        assert_eq!(names("# last"), [(1, "last".into())]);
        assert_eq!(names(""), []);
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let body = "intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne\n";
        assert_eq!(part(body, "B"), Some("## B\nb\n### C\nc\n"));
        assert_eq!(part(body, "a"), Some("# A\na\n## B\nb\n### C\nc\n## D\nd\n"));
        assert_eq!(part(body, "e"), Some("# E\ne\n"));
        assert_eq!(part(body, "F"), None);
        assert_eq!(part(body, ""), None);
        assert_eq!(part(body, "##"), None);
    }

    #[test]
    fn a_section_is_found_by_any_spelling_of_its_heading() {
        let body = "# Ünïcode Größe\nx\n## Notes\none\n# Notes\ntwo\n# #1 wish\nthree";
        assert_eq!(
            part(body, "U\u{308}nïcode Gro\u{308}ße"),
            Some("# Ünïcode Größe\nx\n## Notes\none\n")
        );
        assert_eq!(part(body, " ÜNÏCODE GRÖßE "), Some("# Ünïcode Größe\nx\n## Notes\none\n"));
        assert_eq!(part(body, "notes"), Some("## Notes\none\n"));
        assert_eq!(part(body, "# Notes"), Some("# Notes\ntwo\n"));
        assert_eq!(part(body, "### notes"), Some("## Notes\none\n"));
        assert_eq!(part(body, "#1 wish"), Some("# #1 wish\nthree"));
        assert_eq!(part(body, "# #1 wish"), Some("# #1 wish\nthree"));
    }

    #[test]
    fn a_fence_does_not_end_a_section() {
        let body = "# A\n```sh\n# comment\n```\nmore\n# B\n";
        assert_eq!(part(body, "A"), Some("# A\n```sh\n# comment\n```\nmore\n"));
        assert_eq!(part(body, "comment"), None);
    }

    proptest! {
        #[test]
        fn every_heading_can_be_named(body in "([#` a-c\\nÄ字]|# ){0,80}") {
            for heading in headings(&body) {
                let range = section(&body, &heading.text).unwrap();
                prop_assert!(range.start <= heading.range.start);
                prop_assert!(body[range].starts_with([' ', '#']));
            }
        }
    }
}
