//! `why`: a page's life through doors, moves, merges, deletions and purges.

use std::fs;

use brain_tests::TestHome;
use brain_tests::mcp::{Mcp, mcp};
use serde_json::{Value, json};

fn why(home: &TestHome, slug: &str) -> Value {
    home.json(["why", slug])
}

/// Event, door and version of each step.
fn life(reply: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let steps = reply["steps"].as_array().unwrap().iter();
    let row = |step: &Value| {
        (text(&step["event"]), text(&step["by"]["door"]), step["version"].as_u64().unwrap())
    };
    steps.map(row).collect()
}

fn row(event: &str, door: &str, version: u64) -> (String, String, u64) {
    (event.to_owned(), door.to_owned(), version)
}

fn client(home: &TestHome, name: &str) -> Mcp {
    mcp(home, &home.token(name, "read write", &[]))
}

#[test]
fn lines_have_the_client_that_changed_them_last_through_a_move() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("notes/alpha", "First line of mine.\n\nSecond line.\n");
    let helm = client(&home, "helm");
    let _ = helm.call(
        "edit_page",
        json!({ "slug": "notes/alpha", "operation": "append", "content": "A line by helm." }),
    );
    home.brain(["mv", "notes/alpha", "notes/beta"]).expect(0);
    home.brain(["append", "notes/beta", "My last line."]).expect(0);

    for name in ["notes/beta", "notes/alpha"] {
        let reply = why(&home, name);
        assert_eq!(reply["slug"], "notes/beta");
        assert_eq!(
            life(&reply),
            [
                row("created", "cli", 1),
                row("written", "mcp", 2),
                row("moved", "cli", 2),
                row("written", "cli", 3),
            ]
        );
        assert_eq!(reply["steps"][1]["slug"], "notes/alpha");
    }
    let line = home.json(["why", "notes/beta", "--line", "BY HELM"])["lines"].clone();
    assert_eq!(line.as_array().unwrap().len(), 1);
    assert_eq!((&line[0]["by"]["door"], &line[0]["version"]), (&json!("mcp"), &json!(2)));
    assert_eq!(line[0]["by"]["client"], "token:helm");
    let printed = home.brain(["why", "notes/beta", "--line", "last line"]).expect(0).stdout;
    assert!(printed.contains("owner, cli") && !printed.contains("helm"), "{printed}");
    let seen = helm.call("get_page", json!({ "slug": "notes/beta", "include": ["why"] }));
    let rows = seen["why"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{rows:?}");
}

#[test]
fn a_merged_page_has_its_authors_and_its_origin() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let helm = client(&home, "helm");
    home.put("people/jan", "Mine.\n");
    let _ = helm.call("put_page", json!({ "slug": "people/j-roe", "content": "By helm.\n" }));
    home.brain(["merge", "people/j-roe", "people/jan"]).expect(0);
    let reply = why(&home, "people/jan");
    let merged = reply["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(merged["made_from"], json!(["default:people/j-roe@1"]));
    let by = |text: &str| {
        let line = reply["lines"].as_array().unwrap().iter().find(|line| line["text"] == text);
        line.unwrap_or_else(|| panic!("no line {text}: {reply}"))["by"]["author"].clone()
    };
    assert_eq!(by("Mine."), "owner");
    assert_ne!(by("By helm."), "owner", "{reply}");
    let from = why(&home, "people/j-roe");
    assert_eq!(
        (&from["deleted"], &from["made"]),
        (&json!(true), &json!([{ "source": "default", "slug": "people/jan" }]))
    );
}

#[test]
fn a_deleted_page_has_its_life_until_it_is_purged() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("x/key", "pin 4471\n");
    home.brain(["delete", "x/key"]).expect(0);
    assert_eq!(life(&why(&home, "x/key")), [row("created", "cli", 1), row("deleted", "cli", 1)]);
    home.brain(["restore", "x/key"]).expect(0);
    home.brain(["purge", "x/key", "--now", "--yes"]).expect(0);
    let fault = home.fault(["why", "x/key"], 4);
    assert_eq!(fault["code"], "purged");
    assert!(fault["message"].as_str().unwrap().contains("was purged on"), "{fault}");
    assert_eq!(home.fault(["why", "x/other"], 4)["code"], "not_found");
}

#[test]
fn imports_and_syncs_name_their_run_and_a_renamed_file_keeps_its_life() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside().join("vault");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("tide.md"), "The tide.\n").unwrap();
    let id = home.json(["import", dir.to_str().unwrap()])["id"].as_str().unwrap().to_owned();
    let imported = why(&home, "tide");
    assert_eq!(
        (&imported["steps"][0]["by"]["door"], &imported["steps"][0]["by"]["run"]),
        (&json!("import"), &json!(id))
    );
    home.json(["sources", "add", "vault", dir.to_str().unwrap()]);
    home.json(["sync", "vault"]);
    fs::rename(dir.join("tide.md"), dir.join("ebb.md")).unwrap();
    home.json(["sync", "vault"]);
    let synced = why(&home, "vault:ebb");
    assert_eq!(life(&synced), [row("created", "sync", 1), row("moved", "sync", 1)]);
    assert_eq!(synced["steps"][0]["slug"], "tide");
    let run = synced["steps"][0]["by"]["run"].as_str().unwrap();
    assert!(run.starts_with("sync-") && run.ends_with("-vault"), "{run}");
}

#[test]
fn a_client_names_what_its_text_is_made_from() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("src/one", "One.\n");
    let helm = client(&home, "helm");
    let put = json!({
        "slug": "sum/ports", "content": "Ports.\n",
        "made_from": ["src/one", "https://example.org/ports"],
    });
    let _ = helm.call("put_page", put.clone());
    let made = why(&home, "sum/ports");
    let origins = json!(["default:src/one@1", "https://example.org/ports"]);
    assert_eq!(made["steps"][0]["made_from"], origins);
    assert_eq!(
        why(&home, "src/one")["made"],
        json!([{ "source": "default", "slug": "sum/ports" }])
    );
    let mut wrong = put;
    (wrong["slug"], wrong["made_from"]) = (json!("sum/other"), json!(["src/two"]));
    let refusal = helm.expect_refusal("put_page", wrong);
    assert!(refusal.contains("src/two"), "{refusal}");
    home.fault(["get", "sum/other"], 4);
}

#[test]
fn a_caller_of_one_source_learns_nothing_of_another() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("secret/plan", "Secret.\n");
    let dir = home.outside().join("work");
    fs::create_dir(&dir).unwrap();
    home.json(["sources", "add", "work", dir.to_str().unwrap()]);
    home.put("work:a", "A.\n");
    let limited = mcp(&home, &home.token("limited", "read", &["work"]));
    let fault = limited.expect_refusal(
        "get_page",
        json!({
            "slug": "default:secret/plan", "include": ["why"]
        }),
    );
    assert!(!fault.contains("Secret"), "{fault}");
    let own = limited.call("get_page", json!({ "slug": "work:a", "include": ["why"] }));
    assert_eq!(own["why"].as_array().unwrap().len(), 1);
}
