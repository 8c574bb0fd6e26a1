//! The writing tools of `/mcp` as an AI client uses them: what they store, what they refuse, and
//! that no text is lost.

mod edits;
mod rights;

use std::sync::Barrier;
use std::{fs, thread};

use brain_tests::mcp::{Mcp, mcp};
use brain_tests::{Daemon, TestHome};
use serde_json::{Value, json};

use crate::faults::{fill, small_home};

/// A daemon, and a client `robot` that may read and write all sources.
struct Fixture {
    home: TestHome,
    daemon: Daemon,
    agent: Mcp,
}

impl Fixture {
    fn new() -> Self {
        Self::with_home(TestHome::new())
    }

    fn with_home(home: TestHome) -> Self {
        let daemon = home.daemon();
        let token = home.token("robot", "read write", &[]);
        let agent = mcp(&home, &token);
        Self { home, daemon, agent }
    }

    fn body(&self, slug: &str) -> String {
        self.home.get(slug)["body"].as_str().unwrap().to_owned()
    }

    fn source_kind(&self, slug: &str) -> String {
        self.home.get(slug)["source_kind"].as_str().unwrap().to_owned()
    }

    fn edit(&self, slug: &str, operation: &str, content: &str, more: Value) -> Value {
        self.agent.call("edit_page", edit(slug, operation, content, more))
    }
}

/// Returns the arguments of `edit_page`; `more` is an object with further arguments.
fn edit(slug: &str, operation: &str, content: &str, more: Value) -> Value {
    let mut arguments = json!({ "slug": slug, "operation": operation, "content": content });
    let Value::Object(more) = more else { panic!("{more}") };
    arguments.as_object_mut().unwrap().extend(more);
    arguments
}

/// Returns the arguments of `put_page`.
fn put(slug: &str, content: &str) -> Value {
    json!({ "slug": slug, "content": content })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key}: {value}"))
}

#[test]
fn a_capture_is_a_page_at_once_and_a_repeat_adds_none() {
    let fixture = Fixture::new();
    let thought = json!({
        "content": "The walrus naps at noon.",
        "title": "Walrus",
        "type": "idea",
        "tags": "animals, sea",
        "source_uri": "https://e.org/walrus",
        "source_id": null,
    });
    let first = fixture.agent.call("capture", thought.clone());
    assert_eq!((text(&first, "status"), &first["version"]), ("created", &json!(1)));
    let slug = text(&first, "slug");
    assert!(slug.starts_with("inbox/"), "{first}");
    assert_eq!(fixture.home.search("walrus naps"), [slug]);
    let page = fixture.home.get(slug);
    assert_eq!(page["content_hash"], first["content_hash"]);
    assert_eq!(
        (&page["type"], &page["title"], &page["tags"], &page["source_kind"], &page["source_uri"]),
        (
            &json!("idea"),
            &json!("Walrus"),
            &json!(["animals", "sea"]),
            &json!("mcp:put_page"),
            &json!("https://e.org/walrus")
        )
    );
    assert!(fixture.home.page_file(slug).exists());

    let again = fixture.agent.call("capture", thought);
    assert_eq!((text(&again, "status"), text(&again, "slug")), ("unchanged", slug));
    assert_eq!(fixture.agent.call("capture", json!({ "content": "other" }))["status"], "created");
    let other = fixture.agent.call("capture", json!({ "content": "other" }));
    assert_eq!(fixture.home.get(text(&other, "slug"))["source_uri"], "mcp:token:robot");

    let long = "x".repeat(1025);
    for (arguments, code) in [
        (json!({ "content": " \n" }), "empty_content"),
        (json!({ "content": "---\ntitle: T\n---\n" }), "empty_content"),
        (json!({ "content": "a\u{0}b" }), "binary_content"),
        (json!({ "content": "---\ntitle: [\n---\nx" }), "invalid_frontmatter"),
        (json!({ "content": "x", "source_uri": "https://e.org/\nx" }), "invalid_params"),
        (json!({ "content": "x", "source_uri": long }), "invalid_params"),
        (json!({ "content": "x", "type": "Not A Type" }), "invalid_params"),
        (json!({ "content": "x", "source_id": "nowhere" }), "unknown_source"),
        (json!({ "text": "x" }), "invalid_params"),
    ] {
        let refusal = fixture.agent.expect_refusal("capture", arguments.clone());
        assert!(refusal.starts_with(&format!("{code}: ")), "{arguments}: {refusal}");
        assert!(!refusal.contains("--"), "the error names no command-line options: {refusal}");
    }
}

#[test]
fn a_page_is_not_replaced_by_accident() {
    let fixture = Fixture::new();
    fixture.home.put("people/ada", "---\ntags: [math]\n---\nAda\n");
    let hash = text(&fixture.home.get("people/ada"), "content_hash").to_owned();
    let refusal = fixture.agent.expect_refusal("put_page", put("people/ada", "Bob"));
    assert!(
        refusal.starts_with("conflict: ")
            && refusal.contains(&hash)
            && refusal.contains("version 1"),
        "{refusal}"
    );
    assert!(refusal.contains("get_page"), "{refusal}");
    assert_eq!(fixture.body("people/ada"), "Ada\n");

    // The page's own hash is accepted; another hash is refused.
    let mut replacement = put("people/ada", "Ada Lovelace\n");
    replacement["expected_hash"] = json!(hash.to_uppercase());
    let reply = fixture.agent.call("put_page", replacement.clone());
    assert_eq!((text(&reply, "status"), &reply["version"]), ("updated", &json!(2)));
    let page = fixture.home.get("people/ada");
    assert_eq!(
        (&page["body"], &page["content_hash"]),
        (&json!("Ada Lovelace\n"), &reply["content_hash"])
    );
    // A repeated call, as after a lost answer, changes nothing.
    let again = fixture.agent.call("put_page", replacement.clone());
    assert_eq!((text(&again, "status"), &again["version"]), ("unchanged", &json!(2)));
    replacement["content"] = json!("other");
    assert!(
        fixture
            .agent
            .expect_refusal("put_page", replacement)
            .contains(text(&reply, "content_hash"))
    );
    let whole = "---\ntags: [math]\n---\nAda Lovelace\n";
    assert_eq!(fixture.agent.call("put_page", put("people/ada", whole))["status"], "unchanged");

    let mut overwriting = put("people/ada", "Replaced\n");
    overwriting["overwrite"] = json!("true");
    assert_eq!(fixture.agent.call("put_page", overwriting)["status"], "updated");
    assert_eq!(
        fixture.home.json(["history", "people/ada"])["versions"].as_array().unwrap().len(),
        3
    );

    for (arguments, code) in [
        (put("people/bob", ""), "empty_content"),
        (json!({ "slug": "people/ada", "content": "\n", "overwrite": true }), "empty_content"),
        (json!({ "slug": "people/nobody", "content": "x", "expected_hash": hash }), "conflict"),
        (
            json!({ "slug": "people/ada", "content": "x", "expected_hash": "latest" }),
            "invalid_params",
        ),
        (put("../etc/passwd", "x"), "invalid_slug"),
        (put("people/ada#Life", "x"), "invalid_params"),
        (put("people/bob", "---\na: [1\nb: 2\n---\nx"), "invalid_frontmatter"),
    ] {
        let refusal = fixture.agent.expect_refusal("put_page", arguments.clone());
        assert!(refusal.starts_with(&format!("{code}: ")), "{arguments}: {refusal}");
    }
    assert_eq!(fixture.home.fault(["get", "people/bob"], 4)["code"], "not_found");
}

#[test]
fn a_deleted_page_and_its_former_text_can_be_restored() {
    let fixture = Fixture::new();
    for text in ["one\n", "two\n"] {
        fixture.home.put("a", text);
    }
    let hash = text(&fixture.home.get("a"), "content_hash").to_owned();
    let stale = fixture
        .agent
        .expect_refusal("delete_page", json!({ "slug": "a", "expected_hash": "ab".repeat(32) }));
    assert!(stale.starts_with("conflict: ") && stale.contains(&hash), "{stale}");
    let deleted = fixture.agent.call("delete_page", json!({ "slug": "a", "expected_hash": hash }));
    assert_eq!((text(&deleted, "slug"), text(&deleted, "status")), ("a", "deleted"));
    assert!(text(&deleted, "recoverable_until").ends_with('Z'));
    assert!(
        fixture
            .agent
            .expect_refusal("delete_page", json!({ "slug": "a" }))
            .starts_with("already_soft_deleted: ")
    );
    assert!(
        fixture
            .agent
            .expect_refusal("edit_page", edit("a", "append", "x", json!({})))
            .contains("is deleted")
    );

    assert_eq!(fixture.agent.call("restore_page", json!({ "slug": "a" }))["status"], "restored");
    assert_eq!(fixture.body("a"), "two\n");
    assert!(
        fixture
            .agent
            .expect_refusal("restore_page", json!({ "slug": "a" }))
            .starts_with("already_active: ")
    );
    let restored = fixture.agent.call("restore_page", json!({ "slug": "a", "version": 1 }));
    assert_eq!((text(&restored, "status"), &restored["version"]), ("updated", &json!(3)));
    assert_eq!(fixture.body("a"), "one\n");
    // A repeated call changes nothing.
    for version in [1, 3] {
        let again = fixture.agent.call("restore_page", json!({ "slug": "a", "version": version }));
        assert_eq!(
            (text(&again, "status"), &again["version"]),
            ("unchanged", &json!(3)),
            "{version}"
        );
    }
    let none = fixture.agent.expect_refusal("restore_page", json!({ "slug": "a", "version": 9 }));
    assert!(
        none.starts_with("unknown_version: ") && none.contains("current version is 3"),
        "{none}"
    );
    assert!(
        fixture
            .agent
            .expect_refusal("restore_page", json!({ "slug": "b" }))
            .starts_with("not_found: ")
    );

    // One call restores a version of a deleted page.
    let _ = fixture.agent.call("delete_page", json!({ "slug": "a" }));
    let _ = fixture.agent.call("restore_page", json!({ "slug": "a", "version": 2 }));
    assert_eq!(fixture.body("a"), "two\n");
    // A new page may replace a deleted page without the overwrite flag.
    let _ = fixture.agent.call("delete_page", json!({ "slug": "a" }));
    assert_eq!(fixture.agent.call("put_page", put("a", "anew\n"))["status"], "restored");
}

#[test]
fn concurrent_writers_lose_nothing() {
    let fixture = Fixture::new();
    fixture.home.put("shared", "# Shared\n");
    let (workers, rounds) = (4, 8);
    let start = Barrier::new(workers);
    thread::scope(|scope| {
        for worker in 0..workers {
            let (agent, start) = (fixture.agent.clone(), &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..rounds {
                    // The same text from two writers is appended twice.
                    for line in [format!("- {worker}.{round}"), "- tick".into()] {
                        let _ = agent.call("edit_page", edit("shared", "append", &line, json!({})));
                    }
                }
            });
        }
    });
    let body = fixture.body("shared");
    for worker in 0..workers {
        let own_lines: Vec<&str> =
            body.lines().filter(|line| line.starts_with(&format!("- {worker}."))).collect();
        let expected: Vec<String> =
            (0..rounds).map(|round| format!("- {worker}.{round}")).collect();
        assert_eq!(own_lines, expected, "{body}");
    }
    assert_eq!(body.matches("- tick\n").count(), workers * rounds, "{body}");
    assert_eq!(fixture.home.get("shared")["version"], json!(1 + 2 * workers * rounds));

    // Of several writers of one new page, one wins; the same holds for writers that send the
    // expected hash.
    for round in 0..6 {
        let slug = format!("race/{}", round / 2);
        let hash =
            (round % 2 == 1).then(|| text(&fixture.home.get(&slug), "content_hash").to_owned());
        let start = Barrier::new(workers);
        let winners: Vec<usize> = thread::scope(|scope| {
            let racers: Vec<_> = (0..workers)
                .map(|worker| {
                    let (agent, start, slug, hash) = (fixture.agent.clone(), &start, &slug, &hash);
                    scope.spawn(move || {
                        let mut page = put(slug, &format!("round {round} worker {worker}\n"));
                        page["expected_hash"] = json!(hash);
                        start.wait();
                        let result = agent.call_unchecked("put_page", page);
                        let refusal = text(&result["content"][0], "text");
                        assert!(
                            result["isError"] != true || refusal.starts_with("conflict: "),
                            "{refusal}"
                        );
                        (result["isError"] != true).then_some(worker)
                    })
                })
                .collect();
            racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect()
        });
        assert_eq!(winners.len(), 1, "{slug}: {winners:?}");
        assert_eq!(fixture.body(&slug), format!("round {round} worker {}\n", winners[0]));
    }
}

#[test]
fn many_writers_of_one_page_all_succeed() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
    let fixture = Fixture::with_home(home);
    let _ = fixture.agent.call("put_page", put("a", "# Log\n"));
    let begin = Barrier::new(12);
    thread::scope(|scope| {
        for writer in 0..12 {
            let (agent, begin) = (&fixture.agent, &begin);
            scope.spawn(move || {
                begin.wait();
                for n in 0..15 {
                    let line = format!("- {writer}.{n}.");
                    let _ = agent.call("edit_page", edit("a", "append", &line, json!({})));
                }
            });
        }
    });
    let body = fixture.body("a");
    for (writer, n) in (0..12).flat_map(|writer| (0..15).map(move |n| (writer, n))) {
        assert_eq!(body.matches(&format!("- {writer}.{n}.\n")).count(), 1, "{writer}.{n}: {body}");
    }
}

#[test]
fn a_file_that_another_program_changed_is_read_first() {
    let fixture = Fixture::new();
    let dir = fixture.home.outside().join("work");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("read.md"), "read from disk\r\n").unwrap();
    fixture.home.json(["sources", "add", "work", "--path", dir.to_str().unwrap()]);
    fixture.home.json(["sync", "--source", "work", "--no-pull"]);
    // The file is unchanged since the last sync, so it follows the page.
    let reply = fixture.edit("work:read", "append", "more", json!({}));
    assert_eq!(reply["warnings"], Value::Null, "{reply}");
    assert!(
        fs::read_to_string(dir.join("read.md"))
            .unwrap()
            .ends_with("read from disk\r\n\r\nmore\r\n")
    );
    // The file was changed: both texts are in page and file.
    fs::write(dir.join("read.md"), "by hand\r\n").unwrap();
    let reply = fixture.edit("work:read", "append", "and more", json!({}));
    assert_eq!((text(&reply, "status"), &reply["warnings"]), ("updated", &Value::Null));
    assert_eq!(fs::read_to_string(dir.join("read.md")).unwrap(), "by hand\r\n\r\nand more\r\n");
    // A file that cannot be a page stays, and the answer has a warning.
    fs::write(dir.join("read.md"), "---\nbroken: [\n---\n").unwrap();
    let reply = fixture.edit("work:read", "append", "again", json!({}));
    let warning = reply["warnings"][0].as_str().unwrap();
    assert!(warning.contains("its file is not"), "{warning}");
    assert_eq!(fs::read_to_string(dir.join("read.md")).unwrap(), "---\nbroken: [\n---\n");
}

#[test]
fn large_and_unusual_texts_are_stored_unchanged() {
    let fixture = Fixture::new();
    let large = "walrus 海象\n".repeat(5_000_000 / "walrus 海象\n".len());
    let reply = fixture.agent.call("put_page", put("large", &large));
    assert_eq!(text(&reply, "status"), "created");
    assert_eq!(fixture.body("large"), large);
    let refusal = fixture.agent.expect_refusal("put_page", put("larger", &"x".repeat(5_000_001)));
    assert!(refusal.starts_with("too_large: ") && refusal.contains("several pages"), "{refusal}");
    let refusal = fixture
        .agent
        .expect_refusal("edit_page", edit("large", "append", &"x".repeat(10_000), json!({})));
    assert!(refusal.starts_with("too_large: "), "{refusal}");

    let _ = fixture.agent.call(
        "put_page",
        put("odd", "\u{feff}---\r\ntitle: Odd\r\nx: 1\r\n---\r\n\r\nbody\r\n---\r\nrule\r\n"),
    );
    let page = fixture.home.get("odd");
    assert_eq!((&page["title"], &page["body"]), (&json!("Odd"), &json!("body\r\n---\r\nrule\r\n")));
    assert!(text(&page, "frontmatter").starts_with("title: Odd\nx: 1\n"), "{page}");
    fixture.edit("odd", "append", "end", json!({}));
    assert_eq!(fixture.body("odd"), "body\r\n---\r\nrule\r\n\r\nend\r\n");
}

#[test]
fn a_full_disk_is_reported_to_the_model() {
    let Some(home) = small_home("60m") else { return };
    let fixture = Fixture::with_home(home);
    fixture.home.put("kept", "walrus\n");
    let filler = fill(&fixture.home.path(), 200_000);
    for (tool, arguments) in [
        ("capture", json!({ "content": "no room" })),
        ("put_page", put("fresh", "no room")),
        ("edit_page", edit("kept", "append", "no room", json!({}))),
        ("add_timeline_entry", json!({ "slug": "kept", "date": "2024-01-01", "text": "no room" })),
        ("delete_page", json!({ "slug": "kept" })),
    ] {
        let refusal = fixture.agent.expect_refusal(tool, arguments);
        assert!(
            refusal.starts_with("disk_full: ") && refusal.contains("nothing was stored"),
            "{tool}: {refusal}"
        );
    }
    assert_eq!(fixture.body("kept"), "walrus\n");
    fs::remove_file(filler).unwrap();
    assert_eq!(fixture.edit("kept", "append", "room", json!({}))["status"], "updated");
}

#[test]
fn a_client_takes_back_its_own_last_writes_and_nothing_else() {
    let fixture = Fixture::new();
    let other = mcp(&fixture.home, &fixture.home.token("other", "read write", &[]));
    let undone = |agent: &Mcp, arguments: Value| {
        let answer = agent.call("restore_page", arguments);
        answer["undone"].as_array().unwrap().clone()
    };
    fixture.home.put("plan", "Mine.\n");
    fixture.edit("plan", "append", "Of the client.", json!({}));
    let _ = fixture.agent.call("put_page", put("log/1", "A log."));
    let _ = other.call("put_page", put("log/2", "Another log."));
    fixture.home.brain(["append", "plan", "Mine, later."]).expect(0);
    assert_eq!(
        undone(&fixture.agent, json!({ "undo": true })),
        ["log/1: taken back; the page is deleted"]
    );
    // One further back. The owner's later line stays.
    let rows = undone(&fixture.agent, json!({ "undo": true }));
    assert!(rows[0].as_str().unwrap().starts_with("plan: taken back in part: "), "{rows:?}");
    let body = fixture.body("plan");
    assert!(body.contains("Mine.") && body.contains("Mine, later."), "{body}");
    assert!(!body.contains("Of the client."), "{body}");
    let refused = fixture.agent.expect_refusal("restore_page", json!({ "undo": true }));
    assert!(refused.starts_with("not_found: ") && refused.contains("`get_page`"), "{refused}");
    // A page of somebody else.
    for arguments in
        [json!({ "slug": "log/2", "undo": true }), json!({ "slug": "plan", "undo": true })]
    {
        let refused = fixture.agent.expect_refusal("restore_page", arguments);
        assert!(refused.starts_with("not_found: "), "{refused}");
    }
    assert_eq!(fixture.body("log/2"), "Another log.");
    assert_eq!(undone(&other, json!({ "slug": "log/2", "undo": true })).len(), 1);
    for arguments in [json!({}), json!({ "slug": "plan", "version": 1, "undo": true })] {
        let refused = fixture.agent.expect_refusal("restore_page", arguments);
        assert!(refused.starts_with("invalid_params: "), "{refused}");
    }
}
