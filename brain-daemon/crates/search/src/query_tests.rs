//! Tests of the query language.

use proptest::prelude::*;

use std::ops::Range;

use super::{
    name_key::{key_of_words, name_key},
    query::*,
};

fn parse(text: &str) -> Vec<Unit> {
    Query::parse(text).units.iter().map(|(unit, _)| unit.clone()).collect()
}

fn words(text: &str) -> Unit {
    Unit::Words(text.into())
}

fn required(text: &str, scope: Reach) -> Unit {
    Unit::Required(text.into(), scope)
}

fn filter(field: Filter, value: &str, excluded: bool) -> Unit {
    Unit::Filter { field, value: value.into(), excluded }
}

#[test]
fn all_query_forms_are_parsed() {
    use Reach::{Anywhere, Title};
    assert_eq!(
        parse("a \"b c\" -draft e* -\"f g\""),
        [
            words("a"),
            required("b c", Anywhere),
            Unit::Excluded("draft".into(), Anywhere),
            Unit::Prefix("e".into(), Anywhere),
            Unit::Excluded("f g".into(), Anywhere),
        ]
    );
    assert_eq!(
        parse("title:x TITLE:\"a b\" tag:\"Machine Learning\" type:Person source:notes -tag:old t"),
        [
            required("x", Title),
            required("a b", Title),
            filter(Filter::Tag, "machine learning", false),
            filter(Filter::Type, "person", false),
            filter(Filter::Source, "notes", false),
            filter(Filter::Tag, "old", true),
            words("t"),
        ]
    );
    assert_eq!(parse("title:al*"), [Unit::Prefix("al".into(), Title)]);
}

#[test]
fn unparsable_text_is_plain_words() {
    assert_eq!(parse("how are   you?"), [words("how are you?")]);
    assert_eq!(parse("http://example.com/x:y"), [words("http://example.com/x:y")]);
    assert_eq!(parse("tag: x"), [words("tag: x")]);
    assert_eq!(parse("source:??? x"), [words("source:??? x")]);
    assert_eq!(parse("an \"open quote"), [words("an open quote")]);
    assert_eq!(parse("a - b -- c * d"), [words("a - b -- c * d")]);
    assert_eq!(parse("-5"), [Unit::Excluded("5".into(), Reach::Anywhere)]);
    assert_eq!(parse("\"\" \"?\""), []);
    assert_eq!(parse(""), []);
    assert_eq!(parse("   "), []);
}

#[test]
fn plain_text_has_no_operators() {
    assert_eq!(Query::parse("who -old \"met Ada\" title:x tag:y lat*").plain, "who met Ada x");
    assert_eq!(Query::parse("lat* title:al*").plain, "");
    assert_eq!(Query::parse("tag:x -z").plain, "");
}

proptest! {
    #[test]
    fn parse_never_panics(text in "\\PC{0,80}|[-a-c:*\"“”é東 taglesourcyp]{0,60}") {
        parse(&text);
    }

    #[test]
    fn a_run_of_words_has_the_key_of_its_text(
        text in "\\PC{0,30}|[a-zA-Z0-9 .'’\"@_+^東京かﾞ²₂\u{3099}ไที่é\u{301}\u{200b}צה-]{0,30}",
    ) {
        let all = super::query::words(&text);
        let all: Vec<(&str, Range<usize>)> = simple_words(&all).collect();
        for from in 0..all.len() {
            for to in from + 1..=all.len() {
                let run = &text[all[from].1.start..all[to - 1].1.end];
                // A mark that follows a letter in the text begins no word by itself.
                let alone = super::query::words(run);
                if simple_words(&alone).next().map(|(word, _)| word) != Some(all[from].0) {
                    continue;
                }
                let words = all[from..to].iter().cloned();
                assert_eq!(key_of_words(words), name_key(run), "{run:?} in {text:?}");
            }
        }
    }
}

#[test]
fn options_of_a_pasted_command_exclude_nothing() {
    let command = "npm install -g obsidian-headless";
    assert_eq!(parse(command), [words(command)]);
    assert_eq!(parse("git commit --amend -m \"a b\""), [words("git commit --amend -m \"a b\"")]);
    let query = Query::parse("jaguar -car -\"big cat\" -lion*");
    assert_eq!(query.excluded_words().collect::<Vec<_>>(), ["car", "lion"]);
    let filtered = Query::parse("make -j tag:build");
    assert_eq!(filtered.units.len(), 3, "a question with a filter is no command");
}

#[test]
fn fields_that_pages_have_are_filters() {
    let mut asked = Vec::new();
    let query =
        Query::parse_with_fields("status:active who:\"Ada L\" 10:30 a:b", &mut |key, value| {
            asked.push(format!("{key}={value}"));
            key == "status" || key == "who"
        });
    let units: Vec<Unit> = query.units.iter().map(|(unit, _)| unit.clone()).collect();
    assert_eq!(asked, ["status=active", "who=Ada L", "a=b"]);
    assert_eq!(
        units,
        [
            filter(Filter::Field, "status=active", false),
            filter(Filter::Field, "who=ada l", false),
            words("10:30 a:b"),
        ]
    );
}

#[test]
fn numbers_are_searched_whole() {
    let query = Query::parse("release v1.8.3 notes");
    let searched = query.units[0].1.iter().filter(|word| !word.is_number_part);
    assert_eq!(
        searched.map(|word| word.text.as_str()).collect::<Vec<_>>(),
        ["release", "v1.8.3", "notes"]
    );
}

#[test]
fn another_text_keeps_the_filters_of_a_question() {
    let query = Query::parse_with_fields("notes in March Status:active x:y", &mut |key, _| {
        key.eq_ignore_ascii_case("status")
    });
    let rest = query.with_text("notes Status:active x:y");
    assert_eq!(rest.plain, "notes x:y");
    assert_eq!(query.with_text("notes status:done").plain, "notes status:done");
}
