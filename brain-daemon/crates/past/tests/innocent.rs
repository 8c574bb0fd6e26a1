//! What an undo must not touch: lines, links, marks, files and pages of others.
#![allow(clippy::unwrap_used)]

// The benchmark uses it as well.
#[path = "../benches/fixture/mod.rs"]
mod fixture;

use brain_protocol::{Rename, Slug, Undo, UndoEffect, UndoReply};
use fixture::{TestBrain, client, owner, page_ref};

fn undo(brain: &TestBrain, name: &str, derived: bool) -> UndoReply {
    let request = Undo { client: Some(name.into()), derived, ..Undo::default() };
    brain.act(&owner(), &[], || brain.past.undo(&owner(), &request)).unwrap()
}

fn open() -> (tempfile::TempDir, TestBrain) {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    (dir, brain)
}

fn body(brain: &TestBrain, slug: &str) -> String {
    brain.get(slug).unwrap().body
}

#[test]
fn a_line_that_the_owner_typed_again_stays() {
    let (_dir, brain) = open();
    brain.put(&owner(), "plan", "# June\na\nb\n", &[]);
    brain.put(&client("helm"), "plan", "# June\n- [ ] call Oda\na\nb\n", &[]);
    brain.put(&owner(), "plan", "# June\na\nb\n", &[]);
    let july = "# June\na\nb\n\n# July\n- [ ] call Oda\n";
    brain.put(&owner(), "plan", july, &[]);
    undo(&brain, "helm", false);
    assert_eq!(body(&brain, "plan"), july);
}

#[test]
fn links_that_the_owner_turned_stay_turned() {
    let (_dir, brain) = open();
    brain.put(&owner(), "old", "A plan.\n", &[]);
    brain.put(&owner(), "notes", "see [[old]]\n", &[]);
    brain.put(&owner(), "tasks", "do [[old]]\nend\n", &[]);
    brain.put(&client("helm"), "notes", "see [[old]]\nhelm\n", &[]);
    brain.put(&client("helm"), "tasks", "do [[old]] at once\nend\n", &[]);
    let request = Rename { page: page_ref("old"), to: Slug::parse("new").unwrap() };
    brain.act(&owner(), &[], || brain.pages.rename(&owner(), &request)).unwrap();
    undo(&brain, "helm", false);
    assert_eq!(body(&brain, "notes"), "see [[new]]\n");
    assert_eq!(body(&brain, "tasks"), "do [[new]]\nend\n");
}

#[test]
fn links_in_lines_that_come_back_lead_to_pages_that_moved() {
    let (_dir, brain) = open();
    let helm = client("helm");
    brain.put(&owner(), "old", "A plan.\n", &[]);
    brain.put(&owner(), "gone", "Another.\n", &[]);
    for slug in ["whole", "part"] {
        brain.put(&owner(), slug, "top\nsee [[old|it]]\nand [b](gone.md)\nend\n", &[]);
        brain.put(&helm, slug, "top\nend\n", &[]);
    }
    brain.put(&owner(), "part", "top\nend\nsee [[nowhere]], [[old]]\n", &[]);
    for (from, to) in [("old", "new"), ("gone", "a/found")] {
        let request = Rename { page: page_ref(from), to: Slug::parse(to).unwrap() };
        brain.act(&owner(), &[], || brain.pages.rename(&owner(), &request)).unwrap();
    }
    undo(&brain, "helm", false);
    let lines = "top\nsee [[new|it]]\nand [b](a/found.md)\nend\n";
    assert_eq!(body(&brain, "whole"), lines);
    assert_eq!(body(&brain, "part"), format!("{lines}see [[nowhere]], [[new]]\n"));
    // A redo takes the lines away again.
    let redo = brain_protocol::Redo::default();
    brain.act(&owner(), &[], || brain.past.redo(&owner(), &redo)).unwrap();
    assert_eq!(body(&brain, "whole"), "top\nend\n");
}

#[test]
fn a_line_that_somebody_typed_again_is_no_line_of_the_source() {
    let (_dir, brain) = open();
    brain.put(&owner(), "src", "", &[]);
    brain.put(&client("helm"), "src", "A lie.\n", &[]);
    brain.put(&client("quill"), "sum", "Of a lie.\n", &["src"]);
    brain.put(&owner(), "src", "Nothing.\n", &[]);
    brain.put(&owner(), "src", "A lie.\n", &[]);
    undo(&brain, "helm", true);
    assert_eq!(body(&brain, "src"), "A lie.\n");
    assert!(brain.get("sum").is_err());
}

#[test]
fn a_dry_run_knows_what_other_programs_saved() {
    let (dir, brain) = open();
    brain.put(&client("helm"), "bad", "Bad.\n", &[]);
    let file = dir.path().join("home/pages/bad.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\nThe owner's line.\n")).unwrap();
    let request = Undo { client: Some("helm".into()), dry_run: true, ..Undo::default() };
    let plan = brain.act(&owner(), &[], || brain.past.undo(&owner(), &request)).unwrap();
    assert_eq!(plan.kept_in_part, 1, "{plan:#?}");
    assert_eq!(undo(&brain, "helm", false).kept_in_part, 1);
}

#[test]
fn a_mark_of_another_undo_stays() {
    let (_dir, brain) = open();
    let (helm, quill, nib) = (client("helm"), client("quill"), client("nib"));
    brain.put(&owner(), "good", "Good.\n", &[]);
    brain.put(&helm, "bad", "Bad.\n", &[]);
    brain.put(&quill, "sum", "Of both.\n", &["good", "bad"]);
    undo(&brain, "helm", true);
    let marks = |brain: &TestBrain| {
        let lines = brain.get("sum").unwrap().outside_lines;
        lines.iter().filter(|line| line.source_kind == "undone").count()
    };
    brain.put(&nib, "sum", "Of both.\n\nMore.\n", &[]);
    let marked = marks(&brain);
    assert!(marked > 0);
    undo(&brain, "nib", false);
    assert_eq!(body(&brain, "sum"), "Of both.\n");
    assert_eq!(marks(&brain), marked);
}

#[test]
fn a_derived_page_whose_file_the_owner_changed_stays() {
    let (dir, brain) = open();
    brain.put(&client("helm"), "bad", "Bad.\n", &[]);
    brain.put(&client("quill"), "sum", "Of bad.\n", &["bad"]);
    let file = dir.path().join("home/pages/sum.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\nThe owner's line.\n")).unwrap();
    let done = undo(&brain, "helm", true);
    assert_eq!(done.to_be_made_again, 1, "{done:#?}");
    assert!(body(&brain, "sum").contains("The owner's line."));
    assert!(std::fs::read_to_string(&file).unwrap().contains("The owner's line."));
}

#[test]
fn a_page_whose_source_lives_in_part_is_marked() {
    let (_dir, brain) = open();
    brain.put(&owner(), "src", "One fact.\n\nTwo facts.\n", &[]);
    brain.put(&client("helm"), "src", "One fact.\n\nTwo facts.\n\nA lie.\n", &[]);
    brain.put(&client("quill"), "sum", "Of src.\n", &["src"]);
    let done = undo(&brain, "helm", true);
    let effects: Vec<(String, UndoEffect)> =
        done.pages.iter().map(|row| (row.page.slug.to_string(), row.effect)).collect();
    let expected = [("src", UndoEffect::TakenBack), ("sum", UndoEffect::ToBeMadeAgain)];
    assert_eq!(effects, expected.map(|(slug, effect)| (slug.to_owned(), effect)));
}

#[test]
fn an_empty_page_that_a_client_filled_is_empty_again() {
    let (_dir, brain) = open();
    brain.put(&owner(), "empty", "", &[]);
    brain.put(&client("helm"), "empty", "Text.\n", &[]);
    undo(&brain, "helm", false);
    assert_eq!(body(&brain, "empty").trim(), "");
}
