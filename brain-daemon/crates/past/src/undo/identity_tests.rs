use brain_store::{Content, PageRecord};

use super::super::text::lines;
use super::*;

/// Returns the ids of the lines of versions of a page.
fn ids(versions: &[(&str, VersionKind)]) -> Vec<Vec<u32>> {
    let mut ids = LineIds::default();
    let of = |(text, kind): &(&str, VersionKind)| {
        let content = Content { body: (*text).into(), ..Content::default() };
        let mut lines = lines(&PageRecord::default(), &content);
        ids.follow(&mut lines, *kind);
        lines.iter().map(|line| line.id).collect()
    };
    versions.iter().map(of).collect()
}

#[test]
fn lines_keep_their_ids_where_they_stay_or_move_at_once() {
    use VersionKind::Written;
    let found = ids(&[("a\nb\nc\n", Written), ("b\nc\na\n", Written), ("x\nb\na\n", Written)]);
    assert_eq!(found, [vec![1, 2, 3], vec![2, 3, 1], vec![4, 2, 1]]);
}

#[test]
fn a_removed_line_that_is_typed_again_is_new_unless_an_undo_brings_it_back() {
    use VersionKind::{Act, Written};
    let versions = |last| [("a\nb\n", Written), ("b\n", Written), ("a\nb\n", last)];
    assert_eq!(ids(&versions(Written))[2], [3, 2]);
    assert_eq!(ids(&versions(Act))[2], [1, 2]);
}

#[test]
fn a_turned_link_leaves_the_line_what_it_is() {
    use VersionKind::{LinkTurn, Written};
    let versions = |last| [("o\nA [[old]]\n", Written), ("o\nA [[new]]\n", last)];
    assert_eq!(ids(&versions(LinkTurn))[1], [1, 2]);
    assert_eq!(ids(&versions(Written))[1], [1, 3]);
}

#[test]
fn lines_that_come_back_lead_where_the_page_moved_to() {
    let line = |text: &str| {
        let content = Content { body: text.into(), ..Content::default() };
        lines(&PageRecord::default(), &content)
    };
    let mut ids = LineIds::default();
    ids.follow(&mut line("A [[old|it]]\n"), VersionKind::Written);
    let turned = ids.follow(&mut line("A [[new|it]]\n"), VersionKind::LinkTurn);
    let mut back = line("see [[old]], [[old#part]] and [[older]]\n");
    turn_links(&mut back, &turned);
    assert_eq!(back[0].key, "see [[new]], [[new#part]] and [[older]]");
}
