//! Names of pages: every name that brain prints opens its page, and names may be shortened.

use brain_tests::mcp::mcp;
use brain_tests::{TestHome, http, texts};
use serde_json::json;

/// A home with the sources `default`, `work` and `attic`, and pages in them.
fn home() -> TestHome {
    let home = TestHome::new();
    for source in ["work", "attic"] {
        let dir = home.outside().join(source);
        std::fs::create_dir_all(&dir).unwrap();
        home.json(["sources", "add", source, "--path", dir.to_str().unwrap()]);
    }
    for (page, text) in [
        ("people/ada-lovelace", "# Ada Lovelace\nzebra at home\n"),
        ("people/grace-hopper", "# Grace Hopper\nzebra at home\n"),
        ("shared", "zebra shared at home\n"),
        ("work:people/bob", "# Bob\nzebra at work [[people/carol]]\n"),
        ("work:people/carol", "# Carol\nzebra at work\n- 2026-01-02 | met Bob\n"),
        ("work:shared", "zebra shared at work\n"),
        ("work:both", "in two sources, at work\n"),
        ("attic:both", "in two sources, in the attic\n"),
    ] {
        home.brain_with(["put", page], text.as_bytes()).expect(0);
    }
    home
}

fn lines(home: &TestHome, args: &[&str]) -> Vec<String> {
    home.brain(args).expect(0).stdout.lines().map(str::to_owned).collect()
}

fn body(home: &TestHome, name: &str) -> String {
    home.json(["get", name])["body"].as_str().unwrap().to_owned()
}

#[test]
fn every_printed_name_opens_its_page() {
    let home = home();
    let _daemon = home.daemon();
    for default_source in ["default", "work"] {
        home.json(["sources", "default", default_source]);
        for args in [&["search", "zebra", "--json"][..], &["list", "--json"]] {
            let rows = home.json(args);
            let rows = rows.get("hits").or(rows.get("pages")).unwrap().clone();
            let quiet_args: &[&str] =
                if args[0] == "list" { &["list", "-q"] } else { &["search", "zebra", "-q"] };
            let names = lines(&home, quiet_args);
            assert_eq!(rows.as_array().unwrap().len(), names.len(), "{names:?}");
            for (name, row) in names.iter().zip(rows.as_array().unwrap()) {
                let page = home.json(["get", name]);
                assert_eq!(
                    (&page["source_id"], &page["slug"]),
                    (&row["source_id"], &row["slug"]),
                    "{name} with the default source {default_source}"
                );
            }
        }
    }
    home.json(["sources", "default", "default"]);
    let shown = home.brain(["search", "zebra bob"]).expect(0).stdout;
    assert!(shown.contains("work:people/bob"), "{shown}");
    assert_eq!(lines(&home, &["links", "work:people/bob", "-q"]), ["work:people/carol"]);
    assert_eq!(lines(&home, &["backlinks", "work:people/carol", "-q"]), ["work:people/bob"]);
    assert_eq!(
        lines(&home, &["graph", "work:people/bob", "-q"]),
        ["work:people/bob", "work:people/carol"]
    );
    let timeline = home.brain(["timeline", "work:people/carol"]).expect(0).stdout;
    assert!(timeline.contains("work:people/carol"), "{timeline}");
    let written = home.brain_with(["put", "work:new", "-q"], b"x\n").expect(0).stdout;
    assert_eq!(written, "work:new\n");
    assert_eq!(home.brain(["mv", "work:new", "newer", "-q"]).expect(0).stdout, "work:newer\n");
    let moved = home.brain(["mv", "work:newer", "newest"]).expect(0).stdout;
    assert!(moved.starts_with("renamed work:newer to work:newest\n"), "{moved}");
    // Without a language model, the prompts of the ideas are printed.
    let ideas = home.brain(["brainstorm", "zebra bob", "--no-save", "--yes"]).expect(0).stdout;
    assert!(ideas.contains("work:people/bob"), "{ideas}");
}

#[test]
fn commands_take_the_source_before_the_slug() {
    let home = home();
    assert_eq!(home.json(["tags", "work:people/bob", "--add", "t"])["tags"], json!(["t"]));
    assert_eq!(home.json(["tags", "work:people/bob"])["source_id"], "work");
    assert_eq!(home.json(["history", "work:people/bob"])["versions"].as_array().unwrap().len(), 2);
    assert_eq!(home.json(["revert", "work:people/bob", "1"])["source_id"], "work");
    let link = ["link", "work:people/bob", "attic:both"];
    assert_eq!(home.json(link)["live"], true);
    let linked = home.json(["links", "work:people/bob"]);
    assert!(texts(&linked["links"], "source_id").contains(&"attic".to_owned()), "{linked}");
    assert_eq!(home.json(link)["status"], "unchanged");
    assert_eq!(home.json(["link", link[1], link[2], "--remove"])["status"], "removed");
    let captured = home.json(["capture", "x", "--slug", "work:inbox/x"]);
    assert_eq!(captured["source_id"], "work");
    assert_eq!(home.json(["delete", "work:shared"])["source_id"], "work");
    assert_eq!(body(&home, "shared"), "zebra shared at home\n");
    let fault = home.fault(["get", "work:shared"], 4);
    assert!(fault["hint"].as_str().unwrap().contains("brain restore work:shared"), "{fault}");
    assert_eq!(home.json(["restore", "work:shared"])["status"], "restored");
    assert_eq!(home.json(["get", "work:shared", "--source", "work"])["source_id"], "work");
    assert_eq!(home.json(["mv", "work:shared", "work:moved"])["source_id"], "work");
    assert_eq!(home.fault(["mv", "work:moved", "attic:moved"], 2)["code"], "usage");
    let fault = home.fault(["get", "work:moved", "--source", "attic"], 2);
    assert!(fault["message"].as_str().unwrap().contains("\"attic\""), "{fault}");
}

#[test]
fn a_slug_of_one_source_needs_no_source() {
    let home = home();
    assert_eq!(home.json(["get", "people/bob"])["source_id"], "work");
    assert_eq!(body(&home, "shared"), "zebra shared at home\n", "the default source is first");
    assert_eq!(home.json(["tags", "people/bob", "--add", "t"])["source_id"], "work");
    let several = home.fault(["get", "both"], 4);
    assert_eq!(several["code"], "ambiguous_slug");
    let message = several["message"].as_str().unwrap();
    assert!(message.contains("attic:both") && message.contains("work:both"), "{message}");
    assert_eq!(home.fault(["delete", "both"], 4)["code"], "ambiguous_slug");
    home.json(["delete", "people/bob"]);
    assert_eq!(home.fault(["get", "work:people/bob"], 4)["code"], "not_found");
    assert_eq!(home.json(["restore", "people/bob"])["source_id"], "work");
    // A repeated delete must not reach the page of another source.
    home.json(["delete", "shared"]);
    assert_eq!(home.fault(["delete", "shared"], 1)["code"], "already_soft_deleted");
    assert_eq!(body(&home, "work:shared"), "zebra shared at work\n");
    let put = home.json_with(["put", "people/carol"], b"another Carol\n");
    assert_eq!(put["source_id"], "default", "a new page belongs to the default source");
    let warning = put["warnings"][0].as_str().unwrap();
    assert!(warning.contains("work:people/carol"), "{warning}");
}

#[test]
fn reading_commands_accept_a_unique_prefix_of_a_slug() {
    let home = home();
    for short in ["people/ada", "ada-lov", "ada-lovelace", "people/ada-lovelace"] {
        assert_eq!(home.json(["get", short])["slug"], "people/ada-lovelace", "{short}");
    }
    assert_eq!(home.json(["links", "bob"])["slug"], "people/bob");
    assert_eq!(home.json(["history", "work:car"])["slug"], "people/carol");
    let several = home.fault(["get", "people"], 4);
    assert_eq!(several["code"], "ambiguous_slug");
    assert!(several["message"].as_str().unwrap().contains("people/ada-lovelace"), "{several}");
    for args in [
        &["delete", "ada-lov"][..],
        &["revert", "ada-lov", "1"],
        &["tags", "ada-lov", "--add", "x"],
        &["link", "ada-lov", "shared"],
        &["append", "ada-lov", "more"],
        &["edit", "ada-lov"],
    ] {
        let refused = home.fault(args, 4);
        assert_eq!(refused["code"], "not_found", "{args:?}");
        let hint = refused["hint"].as_str().unwrap();
        assert!(
            hint.contains("whole slug") && hint.contains("people/ada-lovelace"),
            "{args:?}: {hint}"
        );
    }
    assert_eq!(
        home.json(["list"])["pages"].as_array().unwrap().len(),
        8,
        "a refused command writes nothing"
    );
}

#[test]
fn a_missing_page_names_the_source_and_pages_that_exist() {
    let home = home();
    home.put("inbox/2026-01-01-ab", "# The Analytical Engine\n\nA machine.\n");
    for (wrong, similar) in [
        ("people/ada-lovelaec", "people/ada-lovelace"),
        ("persons/grace-hopper", "people/grace-hopper"),
        ("analytical-engine", "inbox/2026-01-01-ab"),
        ("the-analytcal-engine", "inbox/2026-01-01-ab"),
        ("people/bobb", "work:people/bob"),
    ] {
        let fault = home.fault(["get", wrong], 4);
        let message = fault["message"].as_str().unwrap();
        assert!(message.contains(&format!("similar pages: {similar}")), "{wrong}: {message}");
        for name in message.rsplit_once("similar pages: ").unwrap().1.split(", ") {
            assert_eq!(home.brain(["get", name]).code, 0, "{name} is suggested for {wrong}");
        }
    }
    let named = home.fault(["get", "work:nothing-like-it"], 4);
    assert_eq!(
        named["message"], "there is no page \"nothing-like-it\" in source \"work\"",
        "nothing is suggested"
    );
    let fault = home.fault(["get", "nothing-like-it"], 4);
    assert!(fault["message"].as_str().unwrap().contains("default, attic, work"), "{fault}");
}

#[test]
fn a_restricted_client_learns_nothing_about_other_sources() {
    let home = home();
    let _daemon = home.daemon();
    let all = mcp(&home, &home.token("all", "read", &[]));
    let attic = mcp(&home, &home.token("attic", "read", &["attic"]));
    assert_eq!(all.call("get_page", json!({ "slug": "people/bob" }))["slug"], "work:people/bob");
    assert_eq!(all.call("get_page", json!({ "slug": "ada-lov" }))["slug"], "people/ada-lovelace");
    assert!(all.expect_refusal("get_page", json!({ "slug": "both" })).contains("work:both"));
    // In the client's only source, the slug is unique.
    assert_eq!(attic.call("get_page", json!({ "slug": "both" }))["slug"], "both");
    for hidden in ["people/bob", "work:people/bob", "ada-lov", "people/ada-lovelace", "shared"] {
        let refused = attic.expect_refusal("get_page", json!({ "slug": hidden }));
        assert!(
            !refused.contains("Ada Lov")
                && !refused.contains("similar")
                && !refused.contains("home"),
            "{hidden}: {refused}"
        );
    }
    let absent = attic.expect_refusal("get_page", json!({ "slug": "people/xyz" }));
    let hidden = attic.expect_refusal("get_page", json!({ "slug": "people/bob" }));
    assert_eq!(absent.replace("xyz", "bob"), hidden);
}

#[test]
fn tools_that_write_need_the_whole_slug() {
    let home = home();
    let _daemon = home.daemon();
    let writer = mcp(&home, &home.token("writer", "read write", &[]));
    let edit = |slug: &str| json!({ "slug": slug, "operation": "append", "content": "more" });
    let refused = writer.expect_refusal("edit_page", edit("ada-lov"));
    assert!(refused.contains("people/ada-lovelace"), "{refused}");
    assert_eq!(writer.call("edit_page", edit("people/bob"))["slug"], "work:people/bob");
    assert!(body(&home, "work:people/bob").contains("more"));
    assert_eq!(home.fault(["get", "default:people/bob"], 4)["code"], "not_found");
}

#[test]
fn the_page_api_finds_pages_of_all_sources() {
    let home = home();
    let _daemon = home.daemon();
    let token = home.token("reader", "read", &[]);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    let get = |path: &str| http::call(home.http_local(), "GET", path, &headers, b"");
    let found = get("/pages/people/bob").expect(200);
    assert!(found.text().contains("zebra at work"), "{found:?}");
    let several = get("/pages/both").expect(404);
    assert!(several.text().contains("ambiguous_slug"), "{several:?}");
}

#[test]
fn command_names_of_other_programs_work_or_give_a_hint() {
    let home = home();
    assert_eq!(lines(&home, &["show", "shared"]).last().unwrap(), "zebra shared at home");
    assert_eq!(lines(&home, &["ls", "-q", "--source", "attic"]), ["attic:both"]);
    assert_eq!(lines(&home, &["find", "carol", "-q"])[0], "work:people/carol");
    home.brain(["rename", "shared", "renamed"]).expect(0);
    assert_eq!(body(&home, "renamed"), "zebra shared at home\n");
    home.brain(["rm", "attic:both"]).expect(0);
    assert_eq!(home.fault(["get", "attic:both"], 4)["code"], "not_found");
    let fault = home.fault(["new", "x"], 2);
    let hint = fault["hint"].as_str().unwrap();
    assert!(hint.contains("brain capture"), "{hint}");
}
