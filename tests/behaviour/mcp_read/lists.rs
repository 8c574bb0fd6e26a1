//! Tools whose answers are lists: filters, cursors and limits.

use brain_tests::mcp::Mcp;
use serde_json::{Value, json};

use super::{Fixture, MAX_ANSWER_BYTES, field};

/// Reads all parts of a list and returns all rows.
fn all_rows(client: &Mcp, tool: &str, mut arguments: Value, rows: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let answer = client.call(tool, arguments.clone());
        assert!(answer.to_string().len() <= MAX_ANSWER_BYTES);
        all.extend(answer[rows].as_array().unwrap().iter().cloned());
        let Some(cursor) = answer.get("next_cursor") else { return all };
        assert!(!answer[rows].as_array().unwrap().is_empty(), "an empty part has a cursor");
        arguments["cursor"] = cursor.clone();
    }
}

#[test]
fn a_query_can_be_filtered_and_continued() {
    let fixture = Fixture::new();
    for n in 0..30 {
        let kind = if n % 2 == 0 { "meeting" } else { "note" };
        fixture.home.put(
            &format!("n/{n:02}"),
            &format!("---\ntype: {kind}\ntags: [odd{}]\n---\nalpha beta {n}\n", n % 3),
        );
    }
    let all =
        all_rows(&fixture.client, "query", json!({ "query": "alpha", "limit": 7 }), "results");
    let mut slugs: Vec<&str> = all.iter().map(|row| row["slug"].as_str().unwrap()).collect();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!((all.len(), slugs.len()), (30, 30));
    let row = &all[0];
    assert!(row["snippet"].as_str().unwrap().contains("alpha") && row["line"] == 1, "{row}");
    assert!(row["trust"] == "owner" && row.get("url").is_none(), "{row}");

    let some = fixture.client.call(
        "query",
        json!({
            "query": "alpha", "type": "meeting", "tags": "odd1", "limit": "50",
            "format": "detailed", "since": "", "cursor": null,
        }),
    );
    assert_eq!(field(&some["results"], "slug").len(), 5, "{some}");
    assert!(some.get("next_cursor").is_none() && some.get("note").is_none(), "{some}");
    assert!(
        some["results"][0]["url"]
            .as_str()
            .unwrap()
            .ends_with(some["results"][0]["slug"].as_str().unwrap())
    );
    assert_eq!(
        fixture.client.call("query", json!({ "query": "alpha", "until": "2000-01-01" }))["results"],
        json!([])
    );

    for (arguments, expected) in [
        (json!({ "query": "alpha", "limit": 51 }), "\"limit\" is 1 to 50, not 51"),
        (json!({ "query": "alpha", "limit": 0 }), "\"limit\" is 1 to 50, not 0"),
        (
            json!({ "query": "alpha", "mode": "semantic" }),
            "there is no argument \"mode\"; there are: ",
        ),
        (json!({ "query": "alpha", "since": "soon" }), "neither a day nor an instant"),
        (json!({ "query": "alpha", "format": "long" }), "\"format\" is one of concise, detailed"),
        (json!({ "query": "alpha", "source_id": "No Such" }), "invalid_source: "),
        (json!({ "query": "alpha", "source_id": "nosuch" }), "unknown_source: "),
        (json!({}), "the argument \"query\" is missing"),
    ] {
        let refused = fixture.client.expect_refusal("query", arguments);
        assert!(refused.contains(expected), "{expected}: {refused}");
        assert!(!refused.contains("brain ") && !refused.contains("--"), "{refused}");
    }
}

#[test]
fn cursors_survive_edits_and_fit_only_their_own_list() {
    let fixture = Fixture::new();
    for n in 0..12 {
        fixture.home.put(&format!("n/{n:02}"), &format!("alpha {}", "beta ".repeat(n)));
    }
    let request_arguments = json!({ "query": "alpha", "limit": 4 });
    let first = fixture.client.call("query", request_arguments.clone());
    let cursor = first["next_cursor"].clone();
    let refused_with_cursor = |tool: &str, arguments: Value, cursor: &Value| {
        let mut arguments = arguments;
        arguments["cursor"] = cursor.clone();
        fixture.client.expect_refusal(tool, arguments)
    };
    assert!(
        refused_with_cursor("query", json!({ "query": "beta" }), &cursor)
            .contains("a call with other arguments")
    );
    assert!(
        refused_with_cursor("query", json!({ "query": "alpha", "type": "note" }), &cursor)
            .contains("other arguments")
    );
    assert!(
        refused_with_cursor("list_pages", json!({}), &cursor).contains("belongs to another tool")
    );
    for forged in ["1", "AAAA", "../..", "ÿ", &"x".repeat(200_000)] {
        let refused = refused_with_cursor("query", request_arguments.clone(), &json!(forged));
        assert!(
            refused.starts_with("invalid_params: the cursor is not one of brain's cursors"),
            "{refused}"
        );
        assert!(refused.contains("Next: send next_cursor unchanged"), "{refused}");
    }

    // After the last page of the first part is deleted, no page is listed twice.
    let shown_slugs: Vec<String> =
        field(&first["results"], "slug").into_iter().map(Into::into).collect();
    let _ = fixture.home.json(["delete", &shown_slugs[3]]);
    let mut next = request_arguments.clone();
    next["cursor"] = cursor;
    next["limit"] = json!(50);
    let rest = fixture.client.call("query", next);
    let rest = field(&rest["results"], "slug");
    assert!(
        rest.len() >= 7 && rest.iter().all(|slug| !shown_slugs.contains(&(*slug).to_owned())),
        "{rest:?}"
    );

    let listed = fixture.client.call("list_pages", json!({ "sort": "slug", "limit": 5 }));
    let last = field(&listed["pages"], "slug")[4].to_owned();
    let _ = fixture.home.json(["delete", &last]);
    let rest = fixture
        .client
        .call("list_pages", json!({ "sort": "slug", "limit": 5, "cursor": listed["next_cursor"] }));
    assert!(field(&rest["pages"], "slug")[0] > last.as_str(), "{rest}");
}

#[test]
fn large_answers_are_cut_and_can_be_continued() {
    let fixture = Fixture::new();
    let line = "größe \"quoted\" \\ 字 ".repeat(5_000);
    fixture.home.put("big/line", &format!("first\n{line}\nlast\n"));
    let (mut text, mut start_line, mut skip_chars) = (String::new(), 1, 0);
    for round in 0.. {
        assert!(round < 20, "the parts do not end");
        let part = fixture.get(json!({
            "slug": "big/line", "start_line": start_line, "skip_chars": skip_chars,
            "max_chars": 80_000,
        }));
        let length = part.to_string().len();
        assert!(
            length <= MAX_ANSWER_BYTES && (round > 0 || length > MAX_ANSWER_BYTES - 5_000),
            "{length}"
        );
        text += part["text"].as_str().unwrap();
        let next = |name: &str| part[name].as_u64();
        match next("next_start_line") {
            Some(next_line) => {
                start_line = next_line;
                skip_chars = next("next_skip_chars").unwrap_or(0);
            }
            None => break,
        }
    }
    assert_eq!(text, format!("first\n{line}\nlast\n"));

    let body: String = (0..80_000)
        .map(|n| format!("row {n} of a page that is much too long for one answer\n"))
        .collect();
    assert!(body.len() > 4_000_000);
    fixture.home.put("big/page", &body);
    let part = fixture.get(json!({
        "slug": "big/page", "max_chars": 80_000,
        "include": "links,backlinks,timeline,frontmatter,versions",
    }));
    let length = part.to_string().len();
    assert!(length <= MAX_ANSWER_BYTES && length > MAX_ANSWER_BYTES - 5_000, "{length}");
    let next = part["next_start_line"].as_u64().unwrap();
    assert!(part.get("next_skip_chars").is_none() && part["total_lines"] == 80_000);
    let next_part = fixture.get(json!({ "slug": "big/page", "start_line": next, "max_lines": 1 }));
    let next_text = next_part["text"].as_str().unwrap();
    assert!(next_text.starts_with(&format!("row {} of", next - 1)), "{next_part}");
    let found = fixture.client.call("query", json!({ "query": "quoted", "limit": 50 }));
    assert!(found.to_string().len() < 3_000);
}

#[test]
fn two_thousand_links_are_read_in_parts() {
    let fixture = Fixture::new();
    let links: String = (0..2_000).map(|n| format!("[[people/number-{n:04}]]\n")).collect();
    fixture.home.put("hub", &format!("{links}\n- 2026-01-02 | met [[hub]]\n"));
    fixture.home.put("people/number-0007", "See [[hub]]. [[ghost]]");
    let out = all_rows(
        &fixture.client,
        "get_links",
        json!({ "slug": "hub", "direction": "out", "limit": 100 }),
        "links",
    );
    assert!(out.len() >= 2_000, "{}", out.len());
    let live: Vec<&Value> = out.iter().filter(|row| row.get("slug").is_some()).collect();
    assert!(live.iter().any(|row| row["slug"] == "people/number-0007"), "{live:?}");
    let missing = out
        .iter()
        .find(|row| row["target"] == "people/number-0008")
        .expect("the missing link is not listed");
    assert_eq!((&missing["problem"], &missing["trust"]), (&json!("missing"), &json!("owner")));
    let back = fixture.client.call("get_links", json!({ "slug": "hub", "direction": "in" }));
    assert!(field(&back["links"], "slug").contains(&"people/number-0007"), "{back}");
    assert!(back["links"].as_array().unwrap().iter().all(|row| row["direction"] == "in"));

    let page = fixture.get(json!({
        "slug": "hub",
        "include": ["links", "backlinks", "timeline", "versions", "frontmatter"],
    }));
    assert!(
        page["links"].as_array().unwrap().iter().any(|name| name == "people/number-0007"),
        "{page}"
    );
    assert_eq!(page["timeline"], json!(["2026-01-02 | met [[hub]]"]));
    assert_eq!(page["versions"].as_array().unwrap().len(), 1);
    assert!(page["frontmatter"].is_string());
    let far = fixture
        .client
        .call("get_links", json!({ "slug": "people/number-0007", "depth": 2, "direction": "out" }));
    assert_eq!(field(&far["links"], "slug")[0], "hub");
    assert_eq!(far["links"][0]["depth"], 1);

    // Backlinks work for a page that does not exist yet.
    let ghost = fixture.client.call("get_links", json!({ "slug": "ghost" }));
    assert_eq!(field(&ghost["links"], "slug"), ["people/number-0007"]);
    assert!(
        fixture
            .client
            .expect_refusal("get_links", json!({ "slug": "ghost", "direction": "out" }))
            .starts_with("not_found: ")
    );
    assert!(
        fixture
            .client
            .expect_refusal("get_links", json!({ "slug": "hub", "depth": 4 }))
            .contains("\"depth\" is 1 to 3, not 4")
    );
}

#[test]
fn a_graph_query_reports_its_limits() {
    let fixture = Fixture::new();
    fixture.home.put("a", "[[b]]");
    fixture.home.put("b", "[[c]]");
    fixture.home.put("c", "end");
    let far =
        fixture.client.call("get_links", json!({ "slug": "a", "direction": "out", "depth": 3 }));
    assert_eq!(field(&far["links"], "slug"), ["b", "c"]);
    assert_eq!((&far["links"][1]["depth"], &far["links"][1]["via"]), (&json!(2), &json!("b")));
    let back = fixture
        .client
        .call("get_links", json!({ "slug": "c", "direction": "in", "depth": 2, "limit": 1 }));
    assert_eq!(field(&back["links"], "slug"), ["b"]);
    let rest = fixture.client.call(
        "get_links",
        json!({
            "slug": "c", "direction": "in", "depth": 2, "limit": 1, "cursor": back["next_cursor"],
        }),
    );
    assert_eq!(field(&rest["links"], "slug"), ["a"]);
    assert!(rest.get("next_cursor").is_none());
}

#[test]
fn a_timeline_covers_one_page_or_all_pages() {
    let fixture = Fixture::new();
    fixture.home.put(
        "p/one",
        &(1..=28)
            .map(|d| format!("- 2026-02-{d:02} | day {d} [Source: diary]\n"))
            .collect::<String>(),
    );
    fixture.home.put("p/two", "- 2026-03-01 | spring\n");
    let all = all_rows(&fixture.client, "get_timeline", json!({ "limit": 10 }), "entries");
    assert_eq!(all.len(), 29);
    assert_eq!(
        (&all[0]["text"], &all[0]["slug"], &all[0]["trust"]),
        (&json!("spring"), &json!("p/two"), &json!("owner"))
    );
    assert_eq!((&all[1]["date"], &all[1]["source"]), (&json!("2026-02-28"), &json!("diary")));
    let some = fixture.client.call(
        "get_timeline",
        json!({ "slug": "p/one", "since": "2026-02-03", "until": "2026-02-04" }),
    );
    assert_eq!(field(&some["entries"], "date"), ["2026-02-04", "2026-02-03"]);
    assert!(
        fixture
            .client
            .expect_refusal("get_timeline", json!({ "since": "yesterday" }))
            .contains("write it as YYYY-MM-DD")
    );
    assert!(
        fixture
            .client
            .expect_refusal("get_timeline", json!({ "slug": "p/none" }))
            .contains("similar pages: p/one")
    );
}

#[test]
fn list_pages_filters_sorts_and_limits() {
    let fixture = Fixture::new();
    for n in 0..25 {
        fixture.home.put(&format!("people/p{n:02}"), "---\ntype: person\ntags: [friend]\n---\nx\n");
    }
    fixture.home.put("ideas/one", "An idea.");
    let newest = fixture.client.call("list_pages", json!({}));
    assert_eq!(field(&newest["pages"], "slug")[0], "ideas/one");
    assert_eq!(newest["pages"].as_array().unwrap().len(), 20);
    let people = all_rows(
        &fixture.client,
        "list_pages",
        json!({ "prefix": "people/", "sort": "SLUG", "limit": "10" }),
        "pages",
    );
    let slugs: Vec<&str> = people.iter().map(|row| row["slug"].as_str().unwrap()).collect();
    assert_eq!((slugs.len(), slugs[0], slugs[24]), (25, "people/p00", "people/p24"));
    assert_eq!(people[0]["tags"], json!(["friend"]));
    let none = fixture.client.call("list_pages", json!({ "type": "person", "tag": "foe" }));
    assert_eq!(none, json!({ "pages": [] }));
    assert_eq!(
        fixture.client.call("list_pages", json!({ "updated_after": "2999-01-01" })),
        json!({ "pages": [] })
    );
    assert!(
        fixture
            .client
            .expect_refusal("list_pages", json!({ "limit": 101 }))
            .contains("\"limit\" is 1 to 100, not 101")
    );
    assert!(
        fixture
            .client
            .expect_refusal("list_pages", json!({ "sort": "best" }))
            .contains("one of updated, slug")
    );
}
