//! Tests of names in questions. A page that a question names is first, in any order of the words,
//! and also while the question is being typed.

#![allow(clippy::unwrap_used)]

use brain_protocol::{Slug, SourceId};

use super::*;
use crate::tests::{at_every_stage, page, put, question};

/// Returns a question that is being typed.
fn typing(text: &str) -> Question {
    Question { is_being_typed: true, ..question(text) }
}

/// Returns the id and the tier of each hit.
fn ranked(index: &Index, question: &Question) -> Vec<(u64, u8)> {
    index.search(question).unwrap().hits.iter().map(|hit| (hit.id, hit.tier)).collect()
}

/// Pages 1 to 6 have names; pages 11 to 39 only mention two of these names.
fn corpus() -> Vec<IndexChange> {
    let named = |id: u64, title: &str, slug: &str| IndexPage {
        slug: Slug::parse(slug).unwrap(),
        file_name: slug.rsplit('/').next().unwrap_or_default().to_owned(),
        ..page(id, id, title, "A short page.")
    };
    let mut changes = vec![
        put(named(1, "Ada Lovelace", "people/ada-lovelace")),
        put(named(2, "Lovelock Trust", "companies/lovelock-trust")),
        put(IndexPage {
            aliases: vec!["Enchantress of Numbers".into()],
            ..named(3, "A. A. L.", "people/aal")
        }),
        put(named(4, "Minutes", "meetings/2026-03-01-quarterly-review")),
        put(named(5, "東京都庁", "places/tocho")),
        put(named(6, "Call with Ada Lovelace", "calls/7")),
    ];
    changes.extend((11..40).map(|id| {
        let body = "Ada Lovelace and the Lovelock Trust. ".repeat(8);
        put(page(id, id, &format!("Talk {id}"), &body))
    }));
    changes
}

#[test]
fn a_name_in_another_order_is_first() {
    at_every_stage(&corpus(), |index| {
        for text in ["lovelace ada", "Lovelace, Ada", "numbers of enchantress"] {
            let hits = ranked(index, &question(text));
            assert_eq!(hits[0].1, 3, "{text}: {hits:?}");
            assert!([1, 3].contains(&hits[0].0), "{text}: {hits:?}");
        }
        assert_eq!(ranked(index, &question("ada lovelace"))[0], (1, 6));
        let terms = index.question_terms(&Query::parse("what about Lovelace Ada?"), None).unwrap();
        assert_eq!(terms.subjects.first().map(|s| s.pages.clone()), Some(vec![1]));
    });
}

#[test]
fn names_alone_are_found_by_beginnings_and_typos() {
    at_every_stage(&corpus(), |index| {
        let names = |text: &str| {
            let hits = ranked(index, &Question { names_only: true, ..typing(text) });
            hits.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(names("ada lov"), [1, 6]);
        assert_eq!(names("lovelicks"), [2], "a typo");
        assert_eq!(names("quarterly"), [4]);
        assert_eq!(names("talk 1"), (11..20).rev().collect::<Vec<_>>());
        assert!(names("minister").is_empty(), "pages of other names");
    });
}

#[test]
fn half_typed_names_are_first() {
    at_every_stage(&corpus(), |index| {
        let first = |text: &str| ranked(index, &typing(text)).first().copied();
        assert_eq!(first("ada lov"), Some((1, 2)));
        assert_eq!(first("lovelace a"), Some((1, 1)));
        assert_eq!(first("Lovelo"), Some((2, 2)));
        assert_eq!(first("ench"), Some((3, 2)));
        assert_eq!(first("numbers ench"), Some((3, 1)));
        assert_eq!(first("review qua"), Some((4, 1)));
        assert_eq!(first("meetings/2026"), Some((4, 2)));
        assert_eq!(first("東京都"), Some((5, 2)));
        assert_eq!(first("京都"), Some((5, 1)));
        assert_eq!(first("ada lovelace"), Some((1, 6)), "the whole name");
        // Of two names that begin so, the one with the shorter rest is first.
        let hits = ranked(index, &typing("love"));
        assert_eq!(hits[0], (2, 2));
        assert_eq!(ranked(index, &question("ada lov"))[0].1, 0, "only while it is being typed");
        assert_eq!(ranked(index, &typing("\"ada lov\"")), [], "a quoted phrase is complete");
        let filtered = Question { page_type: Some("other".into()), ..typing("ada lov") };
        assert_eq!(ranked(index, &filtered), [], "the filter applies");
    });
}

#[test]
fn names_of_hidden_pages_do_not_show_while_typing() {
    let own = SourceId::parse("own").unwrap();
    let in_own = |id, title: &str| IndexPage { source: own.clone(), ..page(id, id, title, "text") };
    let visible = vec![put(in_own(101, "Lovage soup")), put(in_own(102, "Old Lovers"))];
    let all: Vec<IndexChange> = corpus().into_iter().chain(visible.clone()).collect();
    let answers = |changes: &[IndexChange]| {
        let mut answers = Vec::new();
        at_every_stage(changes, |index| {
            for text in ["l", "lov", "love", "old lo", "ada lov"] {
                let question = Question { view: Some(vec![own.clone()]), ..typing(text) };
                answers.push(ranked(index, &question));
            }
        });
        answers
    };
    let (alone, among_others) = (answers(&visible), answers(&all));
    assert_eq!(alone, among_others);
    assert_eq!(alone[1], [(101, 2), (102, 1)]);
}
