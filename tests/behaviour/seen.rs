//! `brain seen`: what AI clients were given, and answers that are rendered again byte for byte.

use brain_tests::mcp::{Mcp, mcp};
use brain_tests::{TestHome, wait_for};
use serde_json::{Value, json};

use crate::purge::files_with;

/// Posts a request and returns the bytes of its result, as they were on the wire.
#[allow(clippy::needless_pass_by_value)]
fn raw_result(client: &Mcp, method: &str, params: Value) -> String {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let text = client.post(&message).expect(200).text().to_owned();
    let start = text.find("\"result\":").expect("a result") + "\"result\":".len();
    // The envelope ends with a brace, whether the result is its last field or not.
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    values.next().unwrap().unwrap();
    text[start..start + values.byte_offset()].to_owned()
}

#[allow(clippy::needless_pass_by_value)]
fn call(client: &Mcp, tool: &str, arguments: Value) -> String {
    raw_result(client, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Returns the recorded calls, oldest first.
fn seen(home: &TestHome, arguments: &[&str]) -> Vec<Value> {
    let all = [&["seen", "--limit", "1000"][..], arguments].concat();
    let mut calls = home.json(all)["calls"].as_array().unwrap().clone();
    calls.reverse();
    calls
}

fn replay(home: &TestHome, call: &Value) -> String {
    let reply = home.json(["seen", "--replay", call["id"].as_str().unwrap()]);
    reply["answer"].as_str().unwrap().to_owned()
}

fn put_pages(home: &TestHome) {
    for (slug, word) in [("a/one", "ebb"), ("b/two", "flood"), ("c/three", "slack")] {
        home.put(
            slug,
            &format!("# Notes\n\nThe tide at {word} lifts the boats.\n\nSee [[d/four]].\n"),
        );
    }
    home.put(
        "d/four",
        "---\ntags: [harbour]\nauthor: Nadia Holt\n---\n# Harbour \u{202e}\n\n- 2026-03-01 the tide table of \
         **Nadia** was printed\n\nMore of the [tide](https://example.org/tide) and its `code`.\n",
    );
}

/// The reading calls whose answers are compared.
fn reading_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("query", json!({ "query": "tide" })),
        ("query", json!({ "query": "tide", "limit": 2 })),
        ("query", json!({ "query": "nadia tide", "format": "detailed" })),
        ("query", json!({ "query": "a page about nothing such as xyzzy" })),
        ("search", json!({ "query": "boats" })),
        ("fetch", json!({ "id": "d/four" })),
        ("get_page", json!({ "slug": "d/four" })),
        (
            "get_page",
            json!({ "slug": "a/one", "include": ["links", "backlinks", "timeline", "versions"] }),
        ),
        ("list_pages", json!({})),
        ("list_tags", json!({})),
        ("get_links", json!({ "slug": "d/four" })),
        ("get_timeline", json!({})),
    ]
}

#[test]
fn an_answer_is_rendered_again_byte_for_byte() {
    let mut home = TestHome::new();
    let daemon = home.daemon();
    put_pages(&home);
    let token = home.token("helm", "read write", &[]);
    let client = mcp(&home, &token);
    let mut answers: Vec<String> = reading_calls()
        .into_iter()
        .map(|(tool, arguments)| call(&client, tool, arguments))
        .collect();
    answers.push(raw_result(&client, "resources/read", json!({ "uri": "brain://page/d/four" })));
    answers.push(raw_result(&client, "resources/list", json!({})));
    answers.push(call(&client, "get_page", json!({ "slug": "no/such" })));
    let calls = seen(&home, &["--client", "token:helm"]);
    assert_eq!(calls.len(), answers.len(), "{calls:#?}");
    let check = |home: &TestHome| {
        for (call, answer) in calls.iter().zip(&answers) {
            assert_eq!(replay(home, call), *answer, "{call}");
        }
    };
    check(&home);
    // The brain changes: texts, names, a deleted page, an index that is made anew, another zone and
    // locale.
    home.put("a/one", "# Otherwise\n\nNothing of the sea.\n");
    home.put("d/four", "# Harbour\n\nClosed.\n");
    home.json(["mv", "b/two", "z/moved"]);
    home.json(["delete", "c/three"]);
    daemon.terminate();
    std::fs::remove_dir_all(home.path().join("index")).unwrap();
    for (name, value) in [("TZ", "Asia/Tokyo"), ("LC_ALL", "tr_TR.UTF-8")] {
        home.env.push((name.to_owned(), value.to_owned()));
    }
    let _daemon = home.daemon();
    check(&home);
    let fault = home.fault(["seen", "--replay", "0000000000000001"], 4);
    assert_eq!(fault["code"], "not_found");
}

#[test]
fn hits_have_their_scores_and_versions_in_order() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    put_pages(&home);
    let client = mcp(&home, &home.token("helm", "read", &[]));
    let answer: Value =
        serde_json::from_str(&call(&client, "query", json!({ "query": "tide" }))).unwrap();
    let results = answer["structuredContent"]["results"].as_array().unwrap();
    let recorded = &seen(&home, &[])[0];
    let pages = recorded["pages"].as_array().unwrap();
    assert_eq!(pages.len(), results.len(), "{recorded}");
    for (page, result) in pages.iter().zip(results) {
        assert_eq!((&page["slug"], &page["version"]), (&result["slug"], &json!(1)));
        assert_eq!(page["score"].as_str().unwrap(), result["score"].to_string());
    }
    assert_eq!(recorded["request"], "{\"query\":\"tide\"}");
    assert_eq!((&recorded["tool"], &recorded["outcome"]), (&json!("query"), &json!("answered")));
    assert_eq!(seen(&home, &["--page", "d/four"]).len(), 1);
    assert!(seen(&home, &["--client", "token:quill"]).is_empty());
}

#[test]
fn a_failed_tool_a_protocol_error_and_a_refusal_are_different() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let client = mcp(&home, &home.token("helm", "read", &[]));
    call(&client, "get_page", json!({ "slug": "no/such" }));
    let write = json!({ "name": "capture", "arguments": { "content": "pin 4471" } });
    let write = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": write });
    let _ = client.post(&write).expect(403);
    let unknown = client.ask("tools/call", json!({ "name": "no_such", "arguments": {} }));
    assert!(unknown["error"].is_object(), "{unknown}");
    let calls = seen(&home, &["--failed"]);
    let outcomes: Vec<(&str, &str)> = calls
        .iter()
        .map(|it| (it["outcome"].as_str().unwrap(), it["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        outcomes,
        [("tool_failed", "not_found"), ("http_refused", "403"), ("protocol_failed", "-32602")]
    );
    assert!(calls[1]["request"].is_null(), "the text of a write is not kept: {}", calls[1]);
    let table = home.brain(["seen"]).expect(0).stdout;
    for words in ["tool failed not_found", "403", "protocol error -32602"] {
        assert!(table.contains(words), "{table}");
    }
}

#[test]
fn a_purge_reaches_what_clients_were_given() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put("x/key", "# Office\n\nThe pin of the harbour office is 4471-zz.\n");
    home.put("x/other", "# Tides\n\nThe table of tides.\n");
    let client = mcp(&home, &home.token("helm", "read", &[]));
    call(&client, "get_page", json!({ "slug": "x/key" }));
    call(&client, "query", json!({ "query": "4471-zz" }));
    call(&client, "get_page", json!({ "slug": "x/other" }));
    let calls = seen(&home, &[]);
    home.put("x/key", "# Office\n\nNo pin.\n");
    home.json(["purge", "x/key", "--now", "--yes"]);
    for given in &calls[..2] {
        let fault = home.fault(["seen", "--replay", given["id"].as_str().unwrap()], 1);
        assert_eq!(fault["code"], "not_replayable");
        assert!(fault["message"].as_str().unwrap().contains("purge"), "{fault}");
    }
    replay(&home, &calls[2]);
    let after = seen(&home, &[]);
    assert_eq!(after.len(), 3);
    for (before, after) in calls[..2].iter().zip(&after) {
        assert_eq!((&before["at"], &before["bytes"]), (&after["at"], &after["bytes"]));
        assert!(after["request"].is_null() && after["purged_at"].is_string(), "{after}");
        assert!(after["pages"].as_array().unwrap().is_empty());
    }
    daemon.terminate();
    assert!(files_with(&home.path(), "4471-zz").is_empty());
}

#[test]
fn calls_are_not_recorded_if_that_is_off() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_HISTORY_SEEN".to_owned(), "off".to_owned()));
    let _daemon = home.daemon();
    let client = mcp(&home, &home.token("helm", "read", &[]));
    call(&client, "list_pages", json!({}));
    let reply = home.json(["seen"]);
    assert_eq!((&reply["calls"], &reply["kept"]), (&json!([]), &json!("off")));
}

#[test]
fn calls_survive_a_kill_after_a_second() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let client = mcp(&home, &home.token("helm", "read", &[]));
    call(&client, "list_pages", json!({}));
    wait_for("the record", || seen(&home, &[]).len() == 1);
    daemon.kill();
    let _daemon = home.daemon();
    assert_eq!(seen(&home, &[]).len(), 1);
}
