//! What undo makes of pages that were made from others, and of what it undid before.
#![allow(clippy::unwrap_used)]

// The benchmark uses it as well.
#[path = "../benches/fixture/mod.rs"]
mod fixture;
#[path = "past/views.rs"]
mod views;

use brain_base::caller::{Caller, Scopes, Visibility};
use brain_protocol::{
    Changes, Delete, Fault, FaultCode, LifeStep, Merge, Redo, Rename, Slug, SourceId, Undo,
    UndoEffect, UndoReply, Why,
};
use fixture::{TestBrain, client, owner, page_ref};

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
    assert_eq!(marked.source_uri, "to be made again: a source of it was undone");
    let lines: Vec<&str> = ports.content.lines().collect();
    assert_eq!(lines[marked.first as usize - 1..marked.last as usize], ["Of one and two."]);
    assert!(ports.body.contains("The owner's line."));
    assert!(brain.get("sum/two").unwrap().outside_lines.is_empty());
    for slug in ["src/one", "sum/one", "sum/of-sum"] {
        assert!(brain.get(slug).is_err(), "{slug}");
    }
    // Again changes nothing. Somebody who writes the page again removes the mark.
    let version = ports.version;
    let again = undo(&brain, "helm", true, false);
    assert_eq!(again.run, None, "{again:?}");
    assert_eq!(brain.get("sum/ports").unwrap().version, version);
    let redone = brain
        .act(&owner(), &[], || brain.past.redo(&owner(), &brain_protocol::Redo::default()))
        .unwrap();
    assert_eq!(redone.taken_back, 6, "{redone:#?}");
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
fn a_restricted_caller_gets_no_number_that_counts_other_changes() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let visible = Visibility::Only(vec![SourceId::default()]);
    let helm = Caller::granted("helm", Scopes::READ_WRITE, visible).as_model();
    brain.put(&helm, "a", "One.\n", &[]);
    brain.put(&helm, "b", "Two.\n", &[]);
    let changes = |caller: &Caller, before| {
        let request =
            Changes { since: "2020-01-01".into(), until: None, source: None, before, limit: 1 };
        brain.past.changes(caller, &request)
    };
    let of_owner = changes(&owner(), None).unwrap();
    let first = changes(&helm, None).unwrap();
    assert_eq!((of_owner.pages[0].steps[0].by.change, first.pages[0].steps[0].by.change), (2, 0));
    assert!(first.next.unwrap() > 1 << 60 && of_owner.next == Some(2));
    let second = changes(&helm, first.next).unwrap();
    assert_eq!(second.pages[0].slug.as_ref().unwrap().as_str(), "a");
    assert_eq!(changes(&helm, Some(2)).unwrap_err().code, FaultCode::Usage);
    let undone = brain.act(&helm, &[], || brain.past.undo(&helm, &Undo::default())).unwrap();
    assert_eq!((undone.run, undone.pages[0].by.change), (None, 0));
    let why = |caller: &Caller| {
        brain.past.why(caller, &Why { page: page_ref("b"), line: None }).unwrap().steps
    };
    let last = |steps: Vec<LifeStep>| steps.last().map(|it| it.by.clone()).unwrap();
    assert_eq!(last(why(&owner())).run.as_deref(), Some("undo-1"));
    assert_eq!((last(why(&helm)).run, last(why(&helm)).change), (None, 0));
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

#[test]
fn what_an_earlier_undo_took_back_has_children_too() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let (helm, quill) = (client("helm"), client("quill"));
    brain.put(&helm, "src", "Spoiled.\n", &[]);
    brain.put(&quill, "sum", "Of the spoiled.\n", &["src"]);
    undo(&brain, "helm", false, false);
    assert!(brain.get("src").is_err() && brain.get("sum").is_ok());
    undo(&brain, "helm", true, false);
    assert!(brain.get("sum").is_err());
}

#[test]
fn pages_that_were_made_from_each_other_end() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let (helm, quill) = (client("helm"), client("quill"));
    brain.put(&helm, "src", "Spoiled.\n", &[]);
    brain.put(&quill, "a", "First.\n", &["src"]);
    brain.put(&quill, "b", "Of a.\n", &["a"]);
    brain.put(&quill, "a", "Of b.\n", &["b"]);
    undo(&brain, "helm", true, false);
    let marked = |slug: &str| {
        brain.get(slug).is_err()
            || brain.get(slug).unwrap().outside_lines[0].source_kind == "undone"
    };
    assert!(marked("a") && marked("b") && brain.get("src").is_err());
}

fn undo_own(brain: &TestBrain, page: Option<&str>) -> Result<UndoReply, Fault> {
    let request = Undo { page: page.map(page_ref), ..Undo::default() };
    brain.act(&owner(), &[], || brain.past.undo(&owner(), &request))
}

fn redo(brain: &TestBrain) -> Result<UndoReply, Fault> {
    brain.act(&owner(), &[], || brain.past.redo(&owner(), &Redo::default()))
}

fn rename(brain: &TestBrain, caller: &Caller, from: &str, to: &str) {
    let request = Rename { page: page_ref(from), to: Slug::parse(to).unwrap() };
    brain.act(caller, &[], || brain.pages.rename(caller, &request)).unwrap();
}

fn merge(brain: &TestBrain, from: &str, into: &str) {
    let request = Merge { page: page_ref(from), into: Slug::parse(into).unwrap() };
    brain.act(&owner(), &[], || brain.pages.merge(&owner(), &request)).unwrap();
}

fn body(brain: &TestBrain, slug: &str) -> String {
    brain.get(slug).unwrap().body
}

#[test]
fn undo_and_redo_go_through_the_callers_writes() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    brain.put(&owner(), "a/plan", "one\n", &[]);
    brain.put(&owner(), "a/plan", "two\n", &[]);
    brain.put(&client("helm"), "b/log", "x\n", &[]);
    brain.put(&client("helm"), "b/log", "y\n", &[]);
    let first = undo_own(&brain, None).unwrap();
    assert_eq!((first.newer_total, body(&brain, "a/plan").as_str()), (2, "one\n"));
    undo_own(&brain, None).unwrap();
    assert!(brain.get("a/plan").is_err());
    assert_eq!(undo_own(&brain, None).unwrap_err().code, FaultCode::NotFound);
    redo(&brain).unwrap();
    assert_eq!(body(&brain, "a/plan"), "one\n");
    redo(&brain).unwrap();
    assert_eq!(body(&brain, "a/plan"), "two\n");
    assert_eq!(redo(&brain).unwrap_err().code, FaultCode::NotFound);
    undo_own(&brain, None).unwrap();
    assert_eq!(body(&brain, "a/plan"), "one\n");
    brain.put(&owner(), "d", "new\n", &[]);
    assert_eq!(redo(&brain).unwrap_err().code, FaultCode::NotFound);
    undo_own(&brain, None).unwrap();
    assert!(brain.get("d").is_err());
    undo_own(&brain, None).unwrap();
    assert!(brain.get("a/plan").is_err());
    assert_eq!(body(&brain, "b/log"), "y\n");
}

#[test]
fn undo_goes_back_through_a_move() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    brain.put(&owner(), "notes/alpha", "one\n", &[]);
    brain.put(&owner(), "notes/alpha", "two\n", &[]);
    brain.put(&owner(), "log", "see [[notes/alpha]] today\n", &[]);
    rename(&brain, &owner(), "notes/alpha", "notes/beta");
    brain.put(&owner(), "notes/beta", "three\n", &[]);
    undo_own(&brain, None).unwrap();
    assert_eq!(body(&brain, "notes/beta"), "two\n");
    assert!(body(&brain, "log").contains("[[notes/beta]]"));
    assert_eq!(undo_own(&brain, None).unwrap().taken_back, 2);
    assert_eq!(body(&brain, "notes/alpha"), "two\n");
    assert_eq!(body(&brain, "log"), "see [[notes/alpha]] today\n");
    redo(&brain).unwrap();
    assert_eq!(body(&brain, "notes/beta"), "two\n");
    assert!(body(&brain, "log").contains("[[notes/beta]]"));
    undo_own(&brain, None).unwrap();
    undo_own(&brain, Some("notes/alpha")).unwrap();
    assert_eq!(body(&brain, "notes/alpha"), "one\n");
}

#[test]
fn each_redo_goes_one_undo_forward_also_through_a_move() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    brain.put(&owner(), "a", "One.\n", &[]);
    rename(&brain, &owner(), "a", "b");
    brain.put(&owner(), "c", "Two.\n", &[]);
    undo_own(&brain, None).unwrap();
    undo_own(&brain, None).unwrap();
    assert!(brain.get("a").is_ok() && brain.get("c").is_err());
    redo(&brain).unwrap();
    assert!(brain.get("b").is_ok() && brain.get("c").is_err());
    redo(&brain).unwrap();
    assert!(brain.get("b").is_ok() && brain.get("c").is_ok());
    assert_eq!(redo(&brain).unwrap_err().code, FaultCode::NotFound);
}

#[test]
fn merges_are_taken_back_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let pages = ["people/j-roe", "people/jan-roe", "people/jan-roemer"];
    for slug in pages {
        brain.put(&owner(), slug, &format!("# {slug}\n\nText.\n"), &[]);
    }
    brain.put(&owner(), "log/1", "met [[people/j-roe]] today\n", &[]);
    brain.put(&owner(), "log/2", "met [[people/jan-roe]] today\n", &[]);
    let before = pages.map(|slug| body(&brain, slug));
    merge(&brain, pages[0], pages[1]);
    merge(&brain, pages[1], pages[2]);
    let fault = undo_own(&brain, Some(pages[0])).unwrap_err();
    assert_eq!(fault.code, FaultCode::Conflict);
    assert!(fault.message.contains("merged into \"people/jan-roemer\""), "{fault:?}");
    brain.put(&owner(), "unrelated", "x\n", &[]);
    brain.put(&owner(), "log/2", "met [[people/jan-roemer]] at noon\n", &[]);
    undo_own(&brain, Some(pages[1])).unwrap();
    assert_eq!(body(&brain, "log/2"), "met [[people/jan-roe]] at noon\n");
    assert_eq!(body(&brain, "log/1"), "met [[people/jan-roe]] today\n");
    undo_own(&brain, Some(pages[0])).unwrap();
    assert_eq!(pages.map(|slug| body(&brain, slug)), before);
    assert_eq!(body(&brain, "log/1"), "met [[people/j-roe]] today\n");
    assert_eq!(body(&brain, "log/2"), "met [[people/jan-roe]] at noon\n");
}

#[test]
fn a_client_that_moved_and_wrote_is_taken_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let helm = client("helm");
    brain.put(&owner(), "a", "one\n", &[]);
    brain.put(&owner(), "log", "see [[a]]\n", &[]);
    rename(&brain, &helm, "a", "b/c");
    brain.put(&helm, "b/c", "spoiled\n", &[]);
    brain.put(&owner(), "log", &format!("{}\nThe owner's line\n", body(&brain, "log")), &[]);
    brain.put(&owner(), "taken", "x\n", &[]);
    rename(&brain, &helm, "taken", "elsewhere");
    brain.put(&owner(), "taken", "another page\n", &[]);
    let plan = undo(&brain, "helm", false, true);
    let done = undo(&brain, "helm", false, false);
    assert_eq!(rows(&done), rows(&plan), "{done:#?}");
    assert_eq!(body(&brain, "a"), "one\n");
    let log = body(&brain, "log");
    assert!(log.contains("[[a]]") && log.contains("The owner's line"), "{log}");
    assert_eq!(body(&brain, "elsewhere"), "x\n");
    assert_eq!(done.kept_in_part, 2, "{done:#?}");
}

#[test]
fn deletions_and_texts_of_a_client_are_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let brain = TestBrain::open(dir.path());
    let helm = client("helm");
    brain.put(&helm, "x/new", "---\ntitle: Bad\n---\nA1\n\nA2\n", &[]);
    let text = brain.get("x/new").unwrap().content;
    brain.put(&owner(), "x/new", &format!("{text}\nThe owner's line\n"), &[]);
    brain.put(&owner(), "x/mine", "Mine.\n", &[]);
    brain.put(&helm, "x/mine", "Spoiled.\n", &[]);
    let delete = Delete { page: page_ref("x/mine"), expect: None };
    brain.act(&helm, &[], || brain.pages.delete(&helm, &delete)).unwrap();
    let done = undo(&brain, "helm", false, false);
    assert_eq!((done.taken_back, done.kept_in_part), (1, 1), "{done:#?}");
    let page = brain.get("x/new").unwrap();
    assert_eq!(page.body.trim(), "The owner's line");
    assert_ne!(page.title, "Bad");
    assert_eq!(body(&brain, "x/mine"), "Mine.\n");
    redo(&brain).unwrap();
    assert!(brain.get("x/mine").is_err() && body(&brain, "x/new").contains("A2"));
}
