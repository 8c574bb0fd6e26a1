//! What undo makes of pages that were made from others, and of what it undid before.

use brain_protocol::{Undo, UndoEffect, UndoReply};
use fixture::{TestBrain, client, owner, page_ref};

// The benchmark uses it as well.
#[path = "../benches/fixture.rs"]
mod fixture;

fn undo(brain: &TestBrain, name: &str, derived: bool, dry_run: bool) -> UndoReply {
    let request = Undo { client: Some(name.into()), derived, dry_run, ..Undo::default() };
    brain.act(&owner(), &[], || brain.past.undo(&owner(), &request)).unwrap()
}

fn rows(reply: &UndoReply) -> Vec<(String, UndoEffect)> {
    reply.pages.iter().map(|row| (row.page.slug.to_string(), row.effect)).collect()
}

#[test]
fn a_page_with_a_source_that_lives_is_marked() {
    use UndoEffect::{TakenBack, ToBeMadeAgain};
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let (helm, quill) = (client("helm"), client("quill"));
    brain.put(&helm, "src/one", "One.\n", &[]);
    brain.put(&owner(), "src/two", "Two.\n", &[]);
    brain.put(&quill, "sum/ports", "Of one and two.\n", &["src/one", "src/two"]);
    brain.put(&quill, "sum/next", "Of the ports.\n", &["sum/ports"]);
    brain.put(&quill, "sum/one", "Of one.\n", &["src/one"]);
    brain.put(&quill, "sum/of-sum", "Of the sum.\n", &["sum/one"]);
    brain.put(&quill, "sum/edited", "Of one.\n", &["src/one"]);
    brain.put(&quill, "sum/two", "Of two.\n", &["src/two"]);
    for slug in ["sum/ports", "sum/edited"] {
        let text = brain.get(slug).unwrap().body;
        brain.put(&owner(), slug, &format!("{text}\nThe owner's line.\n"), &[]);
    }
    let expected: Vec<(String, UndoEffect)> = [
        ("src/one", TakenBack),
        ("sum/of-sum", TakenBack),
        ("sum/one", TakenBack),
        ("sum/edited", ToBeMadeAgain),
        ("sum/next", ToBeMadeAgain),
        ("sum/ports", ToBeMadeAgain),
    ]
    .map(|(slug, effect)| (slug.to_owned(), effect))
    .into();
    assert_eq!(rows(&undo(&brain, "helm", true, true)), expected);
    let done = undo(&brain, "helm", true, false);
    assert_eq!(rows(&done), expected);
    let ports = brain.get("sum/ports").unwrap();
    assert_eq!(ports.outside_lines.len(), 1, "{ports:?}");
    let marked = &ports.outside_lines[0];
    assert_eq!(marked.source_uri, "to be made again: source src/one was undone");
    let lines: Vec<&str> = ports.content.lines().collect();
    assert_eq!(lines[marked.first as usize - 1..marked.last as usize], ["Of one and two."]);
    assert!(ports.body.contains("The owner's line."));
    assert!(brain.get("sum/two").unwrap().outside_lines.is_empty());
    for slug in ["src/one", "sum/one", "sum/of-sum"] {
        assert!(brain.get(slug).is_err(), "{slug}");
    }
    // Again changes nothing. Somebody who writes the page again removes the mark.
    let version = ports.version;
    undo(&brain, "helm", true, false);
    assert_eq!(brain.get("sum/ports").unwrap().version, version);
    let redone = brain
        .act(&owner(), &[], || brain.past.redo(&owner(), &brain_protocol::Redo::default()))
        .unwrap();
    assert!(redone.run.is_some());
    assert!(
        brain.get("sum/ports").unwrap().outside_lines.iter().all(|it| it.source_kind != "undone")
    );
    assert_eq!(brain.get("sum/of-sum").unwrap().body, "Of the sum.\n");
}

#[test]
fn a_version_from_before_the_client_wrote_is_innocent() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let (helm, quill) = (client("helm"), client("quill"));
    brain.put(&owner(), "src", "Innocent.\n", &[]);
    brain.put(&quill, "before", "Of the innocent.\n", &["src"]);
    brain.put(&helm, "src", "Spoiled.\n", &[]);
    brain.put(&quill, "after", "Of the spoiled.\n", &["src"]);
    let done = undo(&brain, "helm", true, false);
    let slugs: Vec<String> = done.pages.iter().map(|row| row.page.slug.to_string()).collect();
    assert_eq!(slugs, ["after", "src"]);
    assert_eq!(brain.get("src").unwrap().body, "Innocent.\n");
    assert!(brain.get("before").is_ok() && brain.get("after").is_err());
}

#[test]
fn an_ai_client_takes_back_only_its_own_writes() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let (helm, quill) = (client("helm"), client("quill"));
    brain.put(&helm, "a", "One.\n", &[]);
    brain.put(&quill, "b", "Two.\n", &[]);
    brain.put(&owner(), "c", "Three.\n", &[]);
    let own = Undo::default();
    brain.act(&helm, &[], || brain.past.undo(&helm, &own)).unwrap();
    assert!(brain.get("a").is_err() && brain.get("b").is_ok() && brain.get("c").is_ok());
    let fault = brain.act(&helm, &[], || brain.past.undo(&helm, &own)).unwrap_err();
    assert_eq!(fault.code, brain_protocol::FaultCode::NotFound);
    let of_other = Undo { page: Some(page_ref("b")), ..Undo::default() };
    assert!(brain.act(&helm, &[], || brain.past.undo(&helm, &of_other)).is_err());
    assert!(brain.get("b").is_ok());
}

#[test]
fn undone_writes_count_for_nothing_in_a_later_undo() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let helm = client("helm");
    brain.put(&helm, "a", "One.\n", &[]);
    brain.put(&helm, "a", "One.\n\nTwo.\n", &[]);
    brain.act(&helm, &[], || brain.past.undo(&helm, &Undo::default())).unwrap();
    assert_eq!(brain.get("a").unwrap().body, "One.\n");
    // Nobody but the client wrote the page, so it goes.
    let done = undo(&brain, "helm", false, false);
    assert_eq!(rows(&done), [("a".to_owned(), UndoEffect::TakenBack)]);
    assert!(brain.get("a").is_err());
}
