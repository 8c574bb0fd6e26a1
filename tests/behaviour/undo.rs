//! `undo` and `redo`: what is taken back, and what of others stays.

use std::fs;

use brain_protocol::{PageRef, Reply, Slug, SourceId, Why, WhyReply};
use brain_tests::mcp::{Mcp, mcp};
use brain_tests::{Daemon, TestHome};
use serde_json::{Value, json};

struct Fixture {
    home: TestHome,
    daemon: Option<Daemon>,
    helm: Mcp,
}

impl Fixture {
    fn new() -> Self {
        let home = TestHome::new();
        let daemon = home.daemon();
        let helm = mcp(&home, &home.token("helm", "read write", &[]));
        Self { home, daemon: Some(daemon), helm }
    }

    /// Kills the daemon and starts another one.
    fn restart(&mut self) {
        self.daemon.take().unwrap().kill();
        self.daemon = Some(self.home.daemon());
    }

    fn body(&self, slug: &str) -> String {
        self.home.get(slug)["body"].as_str().unwrap().to_owned()
    }

    /// Lets the client write a page, whatever it was.
    fn client_puts(&self, slug: &str, text: &str) {
        let _ =
            self.helm.call("put_page", json!({ "slug": slug, "content": text, "overwrite": true }));
    }

    fn is_gone(&self, slug: &str) -> bool {
        self.home.brain(["get", slug]).code == 4
    }

    fn undo_client(&self, options: &[&str]) -> Value {
        let args = ["undo", "--client", "helm", "--yes"].iter().chain(options);
        self.home.json(args)
    }

    fn why(&self, page: &str) -> WhyReply {
        let (source, slug) = page.split_once(':').unwrap_or(("default", page));
        let source = SourceId::parse(source).unwrap();
        let page = PageRef::new(&source, &Slug::parse(slug).unwrap());
        match self.home.connect().unwrap().ask(&Why { page, line: None }.into()) {
            Ok(Reply::Why(reply)) => reply,
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the effects by slug.
fn effects(reply: &Value) -> Vec<(String, String)> {
    let rows = reply["pages"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.map(|row| (text(&row["page"]["slug"]), text(&row["effect"]))).collect()
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(slug, effect)| ((*slug).to_owned(), (*effect).to_owned())).collect()
}

/// The owner's last write, whatever others wrote since.
#[test]
fn undo_takes_back_the_callers_last_write() {
    let mut fixture = Fixture::new();
    let home = &fixture.home;
    home.put("a/plan", "one\n");
    home.put("a/plan", "two\n");
    fixture.client_puts("b/log", "x\n");
    fixture.client_puts("b/log", "y\n");
    let quill = mcp(home, &home.token("quill", "read write", &[]));
    let _ = quill.call("put_page", json!({ "slug": "c/x", "content": "z" }));

    let undone = home.json(["undo"]);
    assert_eq!(effects(&undone), pairs(&[("a/plan", "taken_back")]), "{undone}");
    assert_eq!(
        (&undone["pages"][0]["by"]["door"], &undone["newer_total"]),
        (&json!("cli"), &json!(3))
    );
    assert_eq!(fixture.body("a/plan"), "one\n");
    assert_eq!((fixture.body("b/log"), fixture.body("c/x")), ("y\n".into(), "z".into()));
    let file = fs::read_to_string(home.page_file("a/plan")).unwrap();
    assert!(file.ends_with("one\n"), "{file}");

    // Further back, over a restart, and forward again.
    fixture.restart();
    let home = &fixture.home;
    home.json(["undo"]);
    assert!(fixture.is_gone("a/plan"));
    assert_eq!(home.fault(["undo"], 4)["code"], "not_found");
    home.json(["redo"]);
    assert_eq!(fixture.body("a/plan"), "one\n");
    home.json(["redo"]);
    assert_eq!(fixture.body("a/plan"), "two\n");
    assert_eq!(home.fault(["redo"], 4)["code"], "not_found");
    // Undo goes on from there. A new write ends what can be written again.
    home.json(["undo"]);
    assert_eq!(fixture.body("a/plan"), "one\n");
    home.put("d", "new\n");
    assert_eq!(home.fault(["redo"], 4)["code"], "not_found");
    home.json(["undo"]);
    assert!(fixture.is_gone("d"));
    let text = home.brain(["undo"]).expect(0).stdout;
    assert!(text.contains("taken back: 1 page") && text.contains("a/plan: created by"), "{text}");
    assert!(text.contains("newer writes by others stand"), "{text}");
}

#[test]
fn one_page_can_be_named() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("a", "one\n");
    home.put("a", "two\n");
    home.put("b", "x\n");
    home.json(["undo", "a"]);
    assert_eq!((fixture.body("a"), fixture.body("b")), ("one\n".into(), "x\n".into()));
    assert_eq!(home.fault(["undo", "nothing"], 4)["code"], "not_found");
}

/// Each version of the client is reversed against its own parent.
#[test]
fn lines_of_others_between_two_writes_of_a_client_stay() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("proj/tide", "# Tide\n\nbase\n");
    let append = |text: &str| {
        let call = json!({ "slug": "proj/tide", "operation": "append", "content": text });
        let _ = fixture.helm.call("edit_page", call);
    };
    append("Line A");
    home.brain(["append", "proj/tide", "Line B"]).expect(0);
    append("Line C");
    let plan = home.json(["undo", "--client", "helm", "--since", "today", "--dry-run"]);
    let row = &plan["pages"][0];
    assert_eq!((&row["effect"], &row["kept_lines"]), (&json!("kept_in_part"), &json!(1)), "{plan}");
    assert_eq!(row["kept_by"], json!(["owner"]));
    let text = home.brain(["undo", "--client", "helm", "--dry-run"]).expect(0).stdout;
    assert!(text.contains("kept: 1 line by owner"), "{text}");
    let refused = home.fault(["undo", "--client", "helm"], 5);
    assert_eq!(refused["code"], "confirmation_needed");
    assert!(fixture.body("proj/tide").contains("Line C"));
    let undone = fixture.undo_client(&[]);
    let body = fixture.body("proj/tide");
    assert!(
        body.contains("Line B") && !body.contains("Line A") && !body.contains("Line C"),
        "{body}"
    );
    let why = fixture.why("proj/tide");
    let line = why.lines.iter().find(|line| line.text == "Line B").unwrap();
    assert_eq!(line.by.door, "cli");
    assert_eq!(home.get("proj/tide")["trust"], "owner", "{undone}");
    assert!(home.search("\"Line A\"").is_empty());
    // The same again finds nothing to do, and writes nothing.
    let version = home.get("proj/tide")["version"].clone();
    let again = fixture.undo_client(&[]);
    assert_eq!(effects(&again), pairs(&[("proj/tide", "untouched")]), "{again}");
    assert_eq!(home.get("proj/tide")["version"], version);
    home.json(["redo"]);
    let body = fixture.body("proj/tide");
    assert!(["Line A", "Line B", "Line C"].iter().all(|line| body.contains(line)), "{body}");
}

#[test]
fn a_page_of_the_client_keeps_only_the_lines_of_others() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    fixture.client_puts("x/new", "---\ntitle: Bad\n---\nA1\n\nA2\n\nA3\n");
    fixture.client_puts("x/alone", "Only the client.\n");
    home.put("x/mine", "Mine.\n");
    fixture.client_puts("x/mine", "Spoiled.\n");
    let _ = fixture.helm.call("delete_page", json!({ "slug": "x/mine" }));
    home.brain(["append", "x/new", "The owner's line"]).expect(0);
    let undone = fixture.undo_client(&[]);
    assert_eq!(
        effects(&undone),
        pairs(&[("x/alone", "taken_back"), ("x/mine", "taken_back"), ("x/new", "kept_in_part")]),
        "{undone}"
    );
    assert_eq!(fixture.body("x/new").trim(), "The owner's line");
    assert_ne!(home.get("x/new")["title"], "Bad");
    assert_eq!(home.get("x/new")["trust"], "owner");
    assert_eq!(fixture.body("x/mine"), "Mine.\n");
    assert!(fixture.is_gone("x/alone") && !home.page_file("x/alone").exists());
    home.brain(["restore", "x/alone"]).expect(0);
}

#[test]
fn conflicting_lines_are_named_and_stay() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("p", "port 21\n\nhost one\n");
    fixture.client_puts("p", "port 22\n\nhost two\n");
    home.put("p", "port 23\n\nhost two\n");
    let undone = fixture.undo_client(&[]);
    assert_eq!(fixture.body("p"), "port 23\n\nhost one\n");
    assert_eq!(undone["kept_in_part"], 1);
    assert!(undone["pages"][0]["conflicts"][0].as_str().unwrap().contains("port 23"), "{undone}");
}

/// A page with a source that lives is marked, not removed.
#[test]
fn what_was_made_from_it_goes_or_is_marked() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    fixture.client_puts("src/one", "Tides are false.\n");
    home.put("src/two", "Ports.\n");
    home.put("people/oda", "Oda.\n");
    home.put("people/pia", "Pia.\n");
    // A merge is the one way on the command line in which a page is made from another one.
    fixture.client_puts("src/three", "More false.\n");
    home.brain(["merge", "src/three", "people/oda"]).expect(0);
    home.brain(["append", "people/oda", "The owner's line"]).expect(0);
    let plan = home.json(["undo", "--client", "helm", "--derived", "--dry-run"]);
    assert_eq!(
        effects(&plan),
        pairs(&[
            ("src/one", "taken_back"),
            ("people/oda", "to_be_made_again"),
            ("src/three", "untouched"),
        ]),
        "{plan}"
    );
    fixture.undo_client(&["--derived"]);
    let oda = home.get("people/oda");
    let body = oda["body"].as_str().unwrap();
    assert!(body.contains("The owner's line") && body.contains("More false."), "{oda}");
    assert_eq!(oda["trust"], "mixed");
    let marked = &oda["outside_lines"][0];
    assert_eq!(marked["source_kind"], "undone", "{oda}");
    assert_eq!(marked["source_uri"], "to be made again: a source of it was undone");
    assert_eq!(home.get("people/pia")["version"], 1);
    let again = fixture.undo_client(&["--derived"]);
    assert_eq!(home.get("people/oda")["version"], oda["version"], "{again}");
}

/// Merges are taken back in their order, and each link leads where it did.
#[test]
fn two_merges_are_taken_back_one_after_the_other() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("people/j-roe", "# J\n\nOne.\n");
    home.put("people/jan-roe", "# Jan\n\nTwo.\n");
    home.put("people/jan-roemer", "# Roemer\n\nThree.\n");
    home.put("log/1", "met [[people/j-roe]] today\n");
    home.put("log/2", "met [[people/jan-roe]] today\n");
    let before: Vec<String> =
        ["people/j-roe", "people/jan-roe", "people/jan-roemer", "log/1", "log/2"]
            .map(|slug| fixture.body(slug))
            .into();
    home.brain(["merge", "people/j-roe", "people/jan-roe"]).expect(0);
    home.brain(["merge", "people/jan-roe", "people/jan-roemer"]).expect(0);
    assert!(fixture.body("log/1").contains("[[people/jan-roemer]]"));
    let fault = home.fault(["undo", "people/j-roe"], 1);
    assert_eq!(fault["code"], "conflict", "{fault}");
    let message = fault["message"].as_str().unwrap();
    assert!(
        message.contains("\"people/jan-roe\", which was merged into \"people/jan-roemer\""),
        "{message}"
    );
    home.put("unrelated", "x\n");
    // The owner writes about it in the line of a link that the merge turned.
    home.put("log/2", "met [[people/jan-roemer]] at noon\n");
    home.json(["undo", "people/jan-roe"]);
    assert_eq!(fixture.body("log/2"), "met [[people/jan-roe]] at noon\n");
    home.json(["undo", "people/j-roe"]);
    let after: Vec<String> = ["people/j-roe", "people/jan-roe", "people/jan-roemer", "log/1"]
        .map(|slug| fixture.body(slug))
        .into();
    assert_eq!(after, before[..4]);
    assert_eq!(fixture.body("log/2"), "met [[people/jan-roe]] at noon\n");
    assert!(home.page_file("people/j-roe").exists());
}

/// A purge is refused by name, and nothing else is undone.
#[test]
fn a_purge_is_not_taken_back() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("a", "stays\n");
    home.put("x/key", "pin 4471\n");
    home.put("x/key", "no pin\n");
    home.brain(["purge", "x/key", "--now", "--yes"]).expect(0);
    let fault = home.fault(["undo"], 4);
    assert_eq!(fault["code"], "purged", "{fault}");
    assert_eq!(fixture.body("a"), "stays\n");
    assert_eq!(home.fault(["undo", "x/key"], 4)["code"], "purged");
    // A version that is purged cannot come back.
    home.put("y", "secret\n");
    home.put("y", "clean\n");
    home.brain(["purge", "y", "--version", "1", "--now", "--yes"]).expect(0);
    assert_eq!(home.fault(["undo"], 4)["code"], "purged");
    assert_eq!(fixture.body("y"), "clean\n");
    // Nor does a redo bring back what was purged.
    home.put("z", "pin 5582\n");
    home.json(["undo"]);
    home.brain(["purge", "z", "--now", "--yes"]).expect(0);
    assert_eq!(home.fault(["redo"], 4)["code"], "purged");
    for pin in ["4471", "5582"] {
        let store = fs::read(home.path().join("brain.redb")).unwrap();
        assert!(!store.windows(4).any(|bytes| bytes == pin.as_bytes()), "{pin} is in the store");
    }
}

/// A write before a move is taken back after it, and the move with its links.
#[test]
fn undo_goes_back_through_a_move() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("notes/alpha", "one\n");
    home.put("notes/alpha", "two\n");
    home.put("log", "see [[notes/alpha]] today\n");
    home.brain(["mv", "notes/alpha", "notes/beta"]).expect(0);
    assert!(fixture.body("log").contains("[[notes/beta]]"));
    home.put("notes/beta", "three\n");
    home.json(["undo"]);
    assert_eq!(fixture.body("notes/beta"), "two\n");
    let moved = home.json(["undo"]);
    assert_eq!(moved["taken_back"], 2, "{moved}");
    assert_eq!(fixture.body("notes/alpha"), "two\n");
    assert_eq!(fixture.body("log"), "see [[notes/alpha]] today\n");
    assert!(home.page_file("notes/alpha").exists() && !home.page_file("notes/beta").exists());
    home.json(["redo"]);
    assert_eq!(fixture.body("notes/beta"), "two\n");
    assert!(fixture.body("log").contains("[[notes/beta]]"));
    home.json(["undo"]);
    home.json(["undo", "notes/alpha"]);
    assert_eq!(fixture.body("notes/alpha"), "one\n");
}

#[test]
fn a_client_that_moved_and_wrote_is_taken_back_whole() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("a", "one\n");
    home.put("log", "see [[a]]\n");
    let _ = fixture.helm.call("move_page", json!({ "slug": "a", "to": "b/c" }));
    fixture.client_puts("b/c", "spoiled\n");
    home.brain(["append", "log", "The owner's line"]).expect(0);
    home.put("taken", "x\n");
    let _ = fixture.helm.call("move_page", json!({ "slug": "taken", "to": "elsewhere" }));
    home.put("taken", "another page\n");
    let plan = home.json(["undo", "--client", "helm", "--dry-run"]);
    let undone = fixture.undo_client(&[]);
    assert_eq!(effects(&undone), effects(&plan));
    assert_eq!(fixture.body("a"), "one\n");
    let log = fixture.body("log");
    assert!(log.contains("[[a]]") && log.contains("The owner's line"), "{log}");
    // The former name has another page now.
    assert_eq!(fixture.body("elsewhere"), "x\n");
    assert!(undone.to_string().contains("\\\"taken\\\" is another page now"), "{undone}");
}

/// What a sync took in from an outside directory is taken back in its files, and stays so.
#[test]
fn the_next_sync_does_not_bring_it_back() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    let dir = home.outside().join("vault");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("a.md"), "one\n").unwrap();
    home.brain(["sources", "add", "vault", "--path", dir.to_str().unwrap()]).expect(0);
    home.brain(["sync", "--source", "vault"]).expect(0);
    fs::write(dir.join("a.md"), "two\n").unwrap();
    fs::write(dir.join("b.md"), "new\n").unwrap();
    home.brain(["sync", "--source", "vault"]).expect(0);
    let run = fixture.why("vault:a").steps.last().unwrap().by.run.clone().unwrap();
    assert!(run.starts_with("sync-"), "{run}");
    home.json(["undo", "--run", &run, "--yes"]);
    assert_eq!(fs::read_to_string(dir.join("a.md")).unwrap(), "one\n");
    assert!(!dir.join("b.md").exists());
    home.brain(["sync", "--source", "vault"]).expect(0);
    assert_eq!(fixture.body("vault:a"), "one\n");
    assert!(fixture.is_gone("vault:b"));
    home.json(["redo"]);
    assert_eq!(fs::read_to_string(dir.join("a.md")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(dir.join("b.md")).unwrap(), "new\n");
}

#[test]
fn unsaved_edits_in_a_file_survive() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    home.put("p", "one\n\nend\n");
    home.put("p", "two\n\nend\n");
    let file = home.page_file("p");
    let text = fs::read_to_string(&file).unwrap().replace("end", "from an editor");
    fs::write(&file, text).unwrap();
    home.json(["undo", "p"]);
    home.json(["undo", "p"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("from an editor") || fixture.body("p").contains("one"), "{text}");
}

#[test]
fn a_client_of_its_own_cannot_take_back_others() {
    let fixture = Fixture::new();
    let home = &fixture.home;
    let reply = home.fault(["undo", "--client", "nobody", "--yes"], 4);
    assert_eq!(reply["code"], "not_found");
    assert_eq!(home.fault(["undo", "--since", "today"], 2)["code"], "usage");
    assert_eq!(home.fault(["undo", "--run", "sync-1", "--yes"], 4)["code"], "not_found");
}
