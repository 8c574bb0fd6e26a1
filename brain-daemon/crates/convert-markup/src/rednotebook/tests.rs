//! Tests of the reader of RedNotebook.

use std::path::Path;

use crate::FORMATS;
use brain_convert_testing::{Converted, directory};

const FIXTURE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/import/rednotebook/notes");

fn converted(files: &[(&str, &str)]) -> Converted {
    Converted::of(&FORMATS, directory(files).path())
}

#[test]
fn each_day_is_a_page_of_its_date() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    assert_eq!((done.format, done.error.clone()), ("rednotebook", None));
    assert_eq!(done.paths(), ["2026-11-01", "2026-11-14", "2026-12-02"]);
    assert_eq!(
        done.page("2026-11-14"),
        "---\ntitle: \"2026-11-14\"\ndate: \"2026-11-14\"\n---\n\nStorm. Tom & Ida \\<b>no \
         html\\</b>\n\n> tabbed quote\n"
    );
    assert_eq!(
        done.lost(),
        [
            "2026-11.txt, 2026-11-01: its file /home/ida/weir.png is not in the import",
            "2026-11.txt, 2026-11-01: its file file:///home/ida/plan b.pdf is not in the import",
        ]
    );
}

#[test]
fn the_markup_of_a_day_becomes_markdown() {
    let done = Converted::of(&FORMATS, Path::new(FIXTURE));
    let page = done.page("2026-11-01");
    for text in [
        "tags: [\"Ideas\", \"To do\", \"weather\"]",
        "# Morning\n\nWalked to the weir with **Ole** and *Ida*, <u>under</u> ~~gone~~ `code_x` raw \
         \\*\\*not\\*\\*.\nSecond line.  \nAfter a break. #river \\#abcdef \\#2026 snake_case_name C#\n",
        "- rope\n- nails\n    - long\n    - short\n\n1. first\n1. second\n\n## Links\n",
        "[heise](https://heise.example/a_b) and plan (`file:///home/ida/plan b.pdf`) and ",
        "See [[2026-11-14]] and [[2026-11-14|the storm]].",
        "| Part | Price |\n| --- | --- |\n| hinge | 4 |",
        "%% a comment %%\n\n```\nverbatim **x**\n```\n\n---\n\nred words $$x^2$$ \\# of guests",
        "\n1986\\. A dry year\n\n## Ideas\n\n- build a boat\n- oil the \"hinge\"\n\n## To do\n",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
}

#[test]
fn copies_from_saving_are_named() {
    let done = converted(&[
        ("2026-11.txt", "1: {text: hello, Tags: {old tag: null}}\n2: {text: ''}\n"),
        ("2026-11.new.txt", "1: {text: x}\n"),
        ("2026-11.old.txt", "1: {text: x}\n"),
        ("2026-11.CONFLICT_BACKUP1.5.txt", "1: {text: x}\n"),
        ("notes.txt", "x"),
    ]);
    assert_eq!(done.paths(), ["2026-11-01"]);
    assert!(done.page("2026-11-01").contains("tags: [\"old tag\"]\n"));
    let lost = done.lost();
    assert_eq!(lost.len(), 4);
    assert_eq!(lost.iter().filter(|line| line.contains("copy that RedNotebook")).count(), 3);
}

#[test]
fn a_day_that_the_month_does_not_have_is_named() {
    let done = converted(&[("2026-02.txt", "1:\n  text: a\n30:\n  text: b\n")]);
    assert_eq!(done.paths(), ["2026-02-01"]);
    assert_eq!(done.lost(), ["2026-02.txt, 30: the month has no such day"]);
}

#[test]
fn what_is_before_an_error_of_yaml_is_kept() {
    let done = converted(&[("2026-02.txt", "1:\n  text: a\n2:\n  text: \"b\n")]);
    assert_eq!(done.paths(), ["2026-02-01"]);
    assert!(done.error.unwrap().starts_with("2026-02.txt: line "));
}

#[test]
fn a_file_of_the_journal_is_attached() {
    let done = converted(&[
        ("2026-02.txt", "1:\n  text: '[\"\"pic\"\".png?40] [pdf \"\"a b.pdf\"\"]'\n"),
        ("2026-03.txt", "1:\n  text: x\n"),
        ("pic.png", "PNG"),
        ("a b.pdf", "PDF"),
    ]);
    assert!(done.page("2026-02-01").ends_with("![[pic.png]] [[a b.pdf|pdf]]\n"));
    assert_eq!(done.files().len(), 2);
    assert_eq!(done.lost(), Vec::<String>::new());
}
