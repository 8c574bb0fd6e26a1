//! A page of HTML that converters read wrongly, at each door that takes HTML: raised numbers, a
//! formula, a table with lists and spans, ticks, a link without text, and what its head states.

use std::fs;
use std::path::Path;

use brain_tests::http::call;
use brain_tests::{TestHome, wait_for};

#[test]
fn a_hard_page_is_read_alike_at_each_door_and_found() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/html");
    let path = fixtures.join("hard.html");
    let path = path.to_str().unwrap();
    let body = fs::read_to_string(fixtures.join("hard.md")).unwrap();
    for door in ["put", "capture", "ingest"] {
        let home = TestHome::new();
        let _daemon = home.daemon();
        match door {
            "put" => drop(home.json(["put", "jam", "--file", path])),
            "capture" => drop(home.json(["capture", "--slug", "jam", "--file", path])),
            _ => ingest(&home, &fs::read(path).unwrap()),
        }
        wait_for("the page is not found", || home.search("quince") == ["jam"]);
        check(&home, &body);
    }
}

fn ingest(home: &TestHome, html: &[u8]) {
    let bearer = format!("Bearer {}", home.token("sender", "write", &[]));
    let fields =
        [("Authorization", &*bearer), ("Content-Type", "text/html"), ("X-Brain-Slug", "jam")];
    let _ = call(home.http_local(), "POST", "/ingest", &fields, html).expect(202);
}

/// Checks the page, and what finds it.
fn check(home: &TestHome, body: &str) {
    let page = home.get("jam");
    assert_eq!(page["body"].as_str().unwrap().trim_end(), body.trim_end());
    assert_eq!(page["title"], "Jam for the harbour fair");
    assert_eq!(page["tags"], serde_json::json!(["jam", "harbour fair"]));
    for field in [
        "author: Nadia Holt\n",
        "url: https://fair.example/jam\n",
        "date: 2023-06-11T09:30:00+02:00\n",
    ] {
        assert!(page["frontmatter"].as_str().unwrap().contains(field), "{field}: {page}");
    }
    for question in ["10³ litres", "10^3 litres", "H₂O", "H2O", "1 1/2 cups"] {
        assert_eq!(home.search(question), ["jam"], "{question}");
    }
    assert_eq!(home.search("103"), [""; 0], "an invented number");
    let extract = home.json(["search", "quince"])["hits"][0]["snippet"].to_string();
    assert!(extract.contains("quince sieve 3; cloth 2"), "cells stay apart: {extract}");
}
