//! Tests of numbers, fields, and words that pages write joined or divided.

use super::tests::{ids, no_commit_options, note, open, page, put, question, sorted_ids};
use super::*;

/// Runs `check` on an index in memory and, after a commit, on disk.
fn in_overlay_and_on_disk(pages: Vec<IndexChange>, check: impl Fn(&Index)) {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path(), "store", 1_000_000, no_commit_options()).unwrap().0;
    index.push(pages);
    check(&index);
    index.flush().unwrap();
    check(&index);
}

#[test]
fn versions_are_found_with_and_without_their_v() {
    let pages = vec![
        put(page(1, 1, "v1.8.3", "The first one.")),
        put(page(2, 2, "v1.8.1", "Fixes 1 of 8 problems, and 1 more.")),
        note(3, "We run 1.8.3 at home."),
        note(4, "1 8 3"),
    ];
    in_overlay_and_on_disk(pages, |index| {
        assert_eq!(ids(index, "1.8.3"), [1, 3]);
        assert_eq!(ids(index, "v1.8.3"), [1, 3]);
        assert_eq!(ids(index, "1.1.8"), [0_u64; 0], "digits are not reordered");
        assert_eq!(ids(index, "1.8.1"), [2]);
        assert_eq!(sorted_ids(index, "1.8"), [1, 2, 3], "a version by its beginning");
        assert_eq!(sorted_ids(index, "v1"), [1, 2]);
        assert_eq!(ids(index, "\"1.8.3\""), [1, 3]);
    });
}

#[test]
fn numbers_are_found_with_and_without_groups() {
    let pages = vec![
        note(1, "It costs 12,345 euros."),
        note(2, "Es kostet 12.345 Euro."),
        note(3, "12345 steps"),
        note(4, "12,435 and 345 of 12"),
    ];
    in_overlay_and_on_disk(pages, |index| {
        for number in ["12345", "12,345", "12.345"] {
            assert_eq!(sorted_ids(index, number), [1, 2, 3], "{number}");
        }
        assert_eq!(ids(index, "12,435"), [4]);
        assert_eq!(ids(index, "2021-02-30"), [0_u64; 0]);
    });
}

#[test]
fn joined_and_divided_words_find_each_other() {
    let pages = vec![
        note(1, "The database is slow today."),
        note(2, "A new data base for the office."),
        note(3, "function cachedMetadata() of the vault"),
        note(4, "a self-authored text"),
        note(5, "metadata that somebody cached in a self made base of other data"),
    ];
    in_overlay_and_on_disk(pages, |index| {
        assert_eq!(sorted_ids(index, "database"), [1, 2]);
        assert_eq!(ids(index, "database")[0], 1, "the word as typed comes first");
        assert!(ids(index, "data base").starts_with(&[2]));
        assert!(ids(index, "data base").contains(&1));
        assert!(ids(index, "cached metadata").contains(&3));
        assert_eq!(ids(index, "selfauthored"), [4]);
        assert_eq!(ids(index, "selfmade"), [5]);
        assert_eq!(ids(index, "dataBase")[0], 1);
    });
}

#[test]
fn parts_in_hidden_pages_divide_no_word() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let hidden = SourceId::parse("hidden").unwrap();
    let mut secret = page(1, 1, "Note", "a data base");
    secret.source = hidden;
    index.push(vec![put(secret), note(2, "the base has data")]);
    let view = Some(vec![SourceId::default()]);
    let found = index.search(&Question { view, ..question("database") }).unwrap();
    assert!(found.hits.is_empty(), "{:?}", found.hits);
}

#[test]
fn fields_are_found_by_words_and_as_filters() {
    let with_field = |id: u64, key: &str, values: &[&str]| {
        let fields = vec![(key.to_owned(), values.iter().map(|&it| it.to_owned()).collect())];
        put(IndexPage { fields, ..page(id, id, &format!("Note {id}"), "some text") })
    };
    let pages = vec![
        with_field(1, "author", &["Nadia Holt"]),
        with_field(2, "Project Status", &["active", "on hold"]),
        with_field(3, "status", &["active"]),
        note(4, "an active status, by the author"),
    ];
    in_overlay_and_on_disk(pages, |index| {
        let parsed = |text: &str| {
            let query = index.parse(text, None).unwrap();
            let question = Question { query, limit: 20, ..Question::default() };
            let mut ids: Vec<u64> =
                index.search(&question).unwrap().hits.iter().map(|hit| hit.id).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(index, "author: Nadia Holt")[0], 1);
        assert_eq!(ids(index, "Holt"), [1]);
        assert_eq!(parsed("status:active"), [3]);
        assert_eq!(parsed("STATUS:Active"), [3]);
        assert_eq!(parsed("project-status:\"on hold\""), [2]);
        assert_eq!(parsed("author:nadia text"), [1]);
        assert_eq!(parsed("-status:active text"), [1, 2]);
        assert!(parsed("status:done").contains(&4), "a value that no page has is words");
    });
}
