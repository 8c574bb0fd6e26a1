use brain_page::Frontmatter;
use brain_store::{Author, Content, LineMark, PageRecord};

use super::super::identity::{LineIds, VersionKind};
use super::*;

fn text(text: &str) -> Vec<Line> {
    lines(&PageRecord::default(), &Content { body: text.into(), ..Content::default() })
}

/// Reverses the second of several versions of a page from the last one.
fn reverse_second(mut versions: Vec<Vec<Line>>, turns_links: bool) -> Reversed {
    let mut ids = LineIds::default();
    for lines in &mut versions {
        ids.follow(lines, VersionKind::Written);
    }
    let now = versions.pop().unwrap();
    reverse(&versions[1], &versions[0], now, turns_links)
}

fn reversed_of(versions: &[&str]) -> (String, usize) {
    let done = reverse_second(versions.iter().map(|it| text(it)).collect(), false);
    (join(&done.lines).1, done.conflicts.len())
}

fn reversed(written: &str, parent: &str, now: &str) -> (String, usize) {
    reversed_of(&[parent, written, now])
}

#[test]
fn each_version_is_reversed_against_its_own_parent() {
    // The client added A, the owner B, the client C.
    let (after_c, _) = reversed("o\nA\nB\nC\n", "o\nA\nB\n", "o\nA\nB\nC\n");
    assert_eq!(reversed("o\nA\n", "o\n", &after_c), ("o\nB\n".into(), 0));
    // The owner's line came before the client's, between its lines, or in place of another line.
    assert_eq!(reversed("o\nA\n", "o\n", "o\nB\nA\n"), ("o\nB\n".into(), 0));
    assert_eq!(reversed("A1\nA2\nA3\n", "", "A1\nB\nA2\nA3\n"), ("B\n".into(), 0));
    assert_eq!(reversed("o\nA\n", "o\n", "O\nA\n"), ("O\n".into(), 0));
}

#[test]
fn removed_and_changed_lines_come_back() {
    assert_eq!(reversed("a\nc\n", "a\nb\nc\n", "a\nc\nd\n"), ("a\nb\nc\nd\n".into(), 0));
    assert_eq!(reversed("a\nX\nc\n", "a\nb\nc\n", "a\nX\nc\nd\n"), ("a\nb\nc\nd\n".into(), 0));
    assert_eq!(reversed("a\nc\n", "a\nb\nc\n", "a\nb\nc\nd\n"), ("a\nb\nc\nd\n".into(), 0));
    assert_eq!(reversed("X\nY\nZ\n", "p\n", "X\nY\nZ\nd\n"), ("p\nd\n".into(), 0));
}

#[test]
fn only_the_lines_that_others_changed_stay() {
    // Of many lines of the client, the owner changed one.
    assert_eq!(reversed("A1\nA2\nA3\n", "", "A1\nMine\nA3\n"), ("Mine\n".into(), 1));
    // One line for another: no second value beside the owner's.
    assert_eq!(
        reversed("port 22\nx\n", "port 21\nx\n", "port 23\nx\n"),
        ("port 23\nx\n".into(), 1)
    );
    assert_eq!(reversed("A\nB\nC\n", "a\nb\nc\n", "A\nMine\nC\n"), ("a\nMine\nc\n".into(), 1));
    // The owner removed the client's line: what it replaced is named.
    assert_eq!(reversed("a\nX\nc\n", "a\nb\nc\n", "a\nc\nd\n"), ("a\nc\nd\n".into(), 1));
    assert_eq!(reversed("a\nX\nc\n", "a\nc\n", "a\nc\nd\n"), ("a\nc\nd\n".into(), 0));
}

#[test]
fn a_line_that_was_only_moved_goes() {
    assert_eq!(reversed("a\nA\nb\nc\n", "a\nb\nc\n", "a\nb\nc\nA\n"), ("a\nb\nc\n".into(), 0));
    // The version moved a line itself, and somebody moved it on.
    assert_eq!(reversed("b\nc\na\n", "a\nb\nc\n", "b\na\nc\n"), ("b\na\nc\n".into(), 0));
    // Code moves with its fences.
    let written = "P\n```\ncode\n```\na\n";
    assert_eq!(reversed(written, "P\na\n", "P\na\n```\ncode\n```\n"), ("P\na\n".into(), 0));
}

#[test]
fn a_line_that_somebody_typed_again_stays() {
    // The owner removed the client's task, and later wrote the same one.
    let versions =
        ["P\na\nb\n", "P\n- [ ] call Oda\na\nb\n", "P\na\nb\n", "P\na\nb\n- [ ] call Oda\n"];
    assert_eq!(reversed_of(&versions), ("P\na\nb\n- [ ] call Oda\n".into(), 0));
    // The owner's code has the same fences.
    let written = "P\n```\ncode\n```\na\n";
    let mine = "P\na\n```\nmine\n```\n";
    assert_eq!(reversed(written, "P\na\n", mine), (mine.into(), 0));
}

#[test]
fn line_ends_stay_as_they_are() {
    assert_eq!(reversed("a\r\nA\r\nb", "a\r\nb", "a\r\nA\r\nb\r\nd"), ("a\r\nb\r\nd".into(), 0));
}

#[test]
fn a_link_is_turned_back_in_a_line_that_changed_since() {
    let turn = |now: &str| {
        let versions = ["met [[p/j-roe]] today\n", "met [[p/jan-roe]] today\n", now];
        let done = reverse_second(versions.iter().map(|it| text(it)).collect(), true);
        (join(&done.lines).1, done.conflicts.len())
    };
    assert_eq!(turn("met [[p/jan-roe]] at noon\n"), ("met [[p/j-roe]] at noon\n".into(), 0));
    assert_eq!(turn("met nobody\n"), ("met nobody\n".into(), 1));
}

#[test]
fn marks_follow_their_lines() {
    let author = Author { kind: "mcp:put_page".into(), uri: "mcp:helm".into() };
    let mark = LineMark { first: 2, last: 2, author: author.clone(), at: 7 };
    let record = PageRecord { marks: vec![mark], ..PageRecord::default() };
    let content = Content { body: "a\nX\nb\n".into(), ..Content::default() };
    let marked = lines(&record, &content);
    // Lines about the origin come before the text.
    let with_origin = Content {
        frontmatter: Frontmatter::parse("source_kind: sync\n").unwrap().into(),
        ..content
    };
    let found = marks(&marked, &with_origin);
    assert_eq!(found, [LineMark { first: 6, last: 6, author, at: 7 }]);
    // The line that comes back has the mark that it had.
    let done = reverse_second(vec![marked, text("a\nb\n"), text("a\nb\nc\n")], false);
    let body = join(&done.lines).1;
    assert_eq!(marks(&done.lines, &Content { body: body.into(), ..Content::default() }).len(), 1);
}

#[test]
fn frontmatter_and_body_do_not_mix() {
    let content = |head: &str, body: &str| {
        lines(
            &PageRecord::default(),
            &Content { frontmatter: Frontmatter::parse(head).unwrap().into(), body: body.into() },
        )
    };
    let (written, parent) = (content("title: Bad\nsource_uri: x\n", "A\n"), Vec::new());
    let now = content("title: Bad\ntags: [mine]\nsource_uri: y\n", "A\n\ntitle: Bad\n");
    let done = reverse_second(vec![parent, written, now], false);
    assert_eq!(join(&done.lines), ("tags: [mine]\n".into(), "\ntitle: Bad\n".into()));
}

proptest::proptest! {
    /// If nobody else wrote, the former text comes back. No line of others is lost, and no line
    /// that the version alone has stays.
    #[test]
    fn innocent_lines_stay(
        base in proptest::collection::vec("[a-d]", 0..10),
        client in proptest::collection::vec(0..10_usize, 0..4),
        owner in proptest::collection::vec(0..14_usize, 0..4),
    ) {
        let add = |lines: &[String], places: &[usize], who: &str| {
            let mut lines = lines.to_vec();
            for (n, place) in places.iter().enumerate() {
                lines.insert((*place).min(lines.len()), format!("{who} {n}"));
            }
            lines
        };
        let file = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let written = add(&base, &client, "client");
        let now = add(&written, &owner, "owner");
        let (done, conflicts) = reversed(&file(&written), &file(&base), &file(&now));
        let mut expected: Vec<&str> = now.iter().map(String::as_str).collect();
        expected.retain(|line| !line.starts_with("client"));
        proptest::prop_assert_eq!(done.lines().collect::<Vec<_>>(), expected);
        proptest::prop_assert_eq!(conflicts, 0);
    }
}
