#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn names(body: &str) -> Vec<(u8, String)> {
    headings(body).into_iter().map(|heading| (heading.level, heading.text)).collect()
}

fn part<'a>(body: &'a str, heading: &str) -> Option<&'a str> {
    section(body, heading).ok().map(|range| &body[range])
}

/// Returns the addresses in the error for a name of several headings. Checks that each leads to one
/// section, and no two to the same.
fn addresses(body: &str, heading: &str) -> Vec<String> {
    let Err(SectionError::Ambiguous { first, addresses, count }) = section(body, heading) else {
        return Vec::new();
    };
    assert_eq!(count, addresses.len());
    let sections: Vec<_> = addresses.iter().map(|it| section(body, it).unwrap()).collect();
    assert_eq!(first, sections[0]);
    assert!(sections.is_sorted_by(|a, b| a.start < b.start), "{sections:?}");
    addresses
}

#[test]
fn headings_follow_commonmark() {
    let body = "# One\ntext\n##  Two ##\n   ### Three#\n#no\n####### seven\n    # code\n#\n# \
        #\n# C #\r\n";
    let found = [(1, "One"), (2, "Two"), (3, "Three#"), (1, ""), (1, ""), (1, "C")];
    assert_eq!(names(body), found.map(|(level, text)| (level, text.to_owned())));
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
    assert_eq!(part(body, "## notes"), Some("## Notes\none\n"));
    assert_eq!(addresses(body, "notes"), ["Ünïcode Größe/Notes", "/Notes"]);
    assert_eq!(part(body, "/notes"), Some("# Notes\ntwo\n"));
    assert_eq!(part(body, "# Notes"), Some("# Notes\ntwo\n"));
    assert_eq!(part(body, "#1 wish"), Some("# #1 wish\nthree"));
    assert_eq!(part(body, "# #1 wish"), Some("# #1 wish\nthree"));
}

#[test]
fn a_fence_does_not_end_a_section() {
    let body = "# A\n```sh\n# comment\n```\nmore\n# B\n";
    assert_eq!(part(body, "A"), Some("# A\n```sh\n# comment\n```\nmore\n"));
    assert_eq!(part(body, "comment"), None);
}

#[test]
fn an_underlined_heading_has_a_section() {
    let body = "Title\n=====\n\n## Keep\n\nk\n\nOther\nwords\n-----\n\nprecious\n\n---\nmore\n";
    assert_eq!(part(body, "Keep"), Some("## Keep\n\nk\n\n"));
    assert_eq!(
        part(body, "other words"),
        Some("Other\nwords\n-----\n\nprecious\n\n---\nmore\n"),
        "--- below a blank line is a rule"
    );
    assert_eq!(names("Title\r\n=\r\ntext"), [(1, "Title".into())]);
    assert_eq!(headings("a\n\nTitle\r\n=\r\ntext")[0].range, 3..13);
    assert_eq!(names("| a |\n|---|\n| # b |\n"), [], "a table");
}

#[test]
fn headings_in_html_lists_and_quotes_are_not_sections() {
    let body = "## A\n\n<!--\n## Hidden\n-->\n<div>\n## Raw\n</div>\n\n- # Item\n\n> # \
        Quote\n\n    # Code\n\n    $ x\n\n## B\n";
    assert_eq!(names(body), [(2, "A".into()), (2, "B".into())]);
    assert_eq!(names("<details>\n\n## In\n\n</details>"), [(2, "In".into())]);
}

#[test]
fn a_heading_without_text_ends_a_section() {
    assert_eq!(part("## Keep\nk\n##\nprecious\n", "Keep"), Some("## Keep\nk\n"));
}

#[test]
fn equal_headings_are_refused_with_their_addresses() {
    let body = "## Mon\n### Log\nm\n## Tue\n### Log\nt\n";
    assert_eq!(addresses(body, "log"), ["Mon/Log", "Tue/Log"]);
    assert_eq!(part(body, "tue/LOG"), Some("### Log\nt\n"));
    assert_eq!(part(body, "Wed/Log"), None);
    assert_eq!(addresses("## Log\na\n## Log\nb\n", "Log"), ["Log[1]", "Log[2]"]);
    assert_eq!(part("## Log\na\n## Log\nb\n", "log[2]"), Some("## Log\nb\n"));
    let twice = "# Tue\n## Log\n1\n# Tue\n## Log\n2\n## Log\n3\n";
    assert_eq!(addresses(twice, "log"), ["Tue[1]/Log", "Tue[2]/Log[1]", "Log[2]"]);
    assert_eq!(part("# A/B\n1\n# A\n## B\n2\n", "A/B"), Some("# A/B\n1\n"), "a whole text");
    assert_eq!(addresses("# B\n# A\n## B\n", "B"), ["/B", "A/B"]);
}

proptest! {
    #[test]
    fn every_heading_can_be_named(body in "([`ab=\\n\\-Ä字]|\n#{1,3} [ab#]){0,80}") {
        for heading in headings(&body) {
            match section(&body, &heading.text) {
                Ok(range) => prop_assert_eq!(range.start, heading.range.start),
                Err(SectionError::NotFound) => prop_assert_eq!(key(&heading.text), ""),
                Err(SectionError::Ambiguous { .. }) => {
                    addresses(&body, &heading.text);
                }
            }
        }
    }
}
