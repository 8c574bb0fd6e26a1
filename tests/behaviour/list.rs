//! `list`, `tags` and `timeline`.

use std::collections::BTreeSet;

use brain_tests::{TestHome, slugs};
use serde_json::{Value, json};

/// Writes the pages `n/000`, `n/001` and so on, alternately tagged `even` and `odd`. The type of
/// every fifth page is `five`.
fn put_numbered_pages(home: &TestHome, count: usize) {
    let mut client = home.connect().unwrap();
    for n in 0..count {
        let page = brain_protocol::PageRef {
            source: None,
            slug: brain_protocol::Slug::parse(format!("n/{n:03}")).unwrap(),
        };
        let tag = ["even", "odd"][n % 2];
        let put = brain_protocol::Put {
            page,
            content: format!(
                "---\ntags: [{tag}]\ntype: {}\n---\npage {n}\n",
                if n % 5 == 0 { "five" } else { "note" }
            )
            .into_bytes(),
            origin: brain_protocol::Origin::Stdin,
            allow_empty: false,
            expect: None,
        };
        client.ask(&brain_protocol::Request::Put(put)).unwrap();
    }
}

/// Lists pages in parts of `limit` and returns the slugs of all parts.
fn all_slugs(home: &TestHome, flags: &[&str], limit: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut args = vec!["list", "--limit", limit];
        args.extend(flags);
        if let Some(after) = &after {
            args.extend(["--after", after]);
        }
        let answer = home.json(&args);
        let rows = slugs(&answer["pages"]);
        assert!(rows.len() <= limit.parse().unwrap(), "{answer}");
        found.extend(rows);
        after = answer["next"].as_str().map(str::to_owned);
        assert_eq!(answer["truncated"], after.is_some(), "{answer}");
        if after.is_none() {
            return found;
        }
    }
}

#[test]
fn every_page_is_listed_once_with_any_limit() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    put_numbered_pages(&home, 23);
    let all: BTreeSet<String> = (0..23).map(|n| format!("n/{n:03}")).collect();
    for flags in [
        &[][..],
        &["--sort", "slug"],
        &["--tag", "odd"],
        &["--prefix", "n/01"],
        &["--type", "five"],
    ] {
        for limit in ["1", "4", "23", "24"] {
            let found = all_slugs(&home, flags, limit);
            let unique: BTreeSet<String> = found.iter().cloned().collect();
            assert_eq!(
                unique.len(),
                found.len(),
                "no duplicates with {flags:?} by {limit}: {found:?}"
            );
            let expected: BTreeSet<String> = match flags {
                [_, "odd"] => {
                    all.iter().filter(|s| s.ends_with(['1', '3', '5', '7', '9'])).cloned().collect()
                }
                [_, "n/01"] => all.iter().filter(|s| s.starts_with("n/01")).cloned().collect(),
                [_, "five"] => all.iter().filter(|s| s.ends_with(['0', '5'])).cloned().collect(),
                _ => all.clone(),
            };
            assert_eq!(unique, expected, "no gaps with {flags:?} by {limit}");
        }
    }
}

#[test]
fn deleted_pages_are_listed_in_parts_too() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    put_numbered_pages(&home, 7);
    for n in 0..7 {
        home.json(["delete", &format!("n/{n:03}")]);
    }
    for limit in ["1", "3", "7"] {
        let mut found = all_slugs(&home, &["--deleted"], limit);
        found.sort();
        assert_eq!(found, (0..7).map(|n| format!("n/{n:03}")).collect::<Vec<_>>());
    }
    assert_eq!(home.json(["list"])["pages"], json!([]));
}

#[test]
fn the_newest_change_is_listed_first_unless_sorted_by_slug() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for slug in ["b", "c", "a"] {
        home.put(slug, "x\n");
    }
    home.put("b", "changed\n");
    assert_eq!(slugs(&home.json(["list"])["pages"]), ["b", "a", "c"]);
    assert_eq!(slugs(&home.json(["list", "--sort", "slug"])["pages"]), ["a", "b", "c"]);
    let row = &home.json(["list", "--limit", "1"])["pages"][0];
    for field in ["slug", "source_id", "title", "type", "tags", "created_at", "updated_at"] {
        assert!(!row[field].is_null(), "{field}: {row}");
    }
}

#[test]
fn paging_has_no_gaps_while_pages_are_added() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    put_numbered_pages(&home, 10);
    let first = home.json(["list", "--sort", "slug", "--limit", "4"]);
    home.put("a/new", "before all of them\n");
    home.put("n/0035", "in between\n");
    let next = first["next"].as_str().unwrap();
    let second = home.json(["list", "--sort", "slug", "--limit", "100", "--after", next]);
    let mut listed = slugs(&first["pages"]);
    listed.extend(slugs(&second["pages"]));
    let unique: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len());
    assert!((0..10).all(|n| listed.contains(&format!("n/{n:03}"))), "{listed:?}");
}

#[test]
fn all_with_quiet_prints_one_slug_per_line() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    put_numbered_pages(&home, 60);
    let quiet = home.brain(["list", "--all", "--quiet"]).expect(0);
    assert_eq!(quiet.stdout.lines().count(), 60, "{quiet:?}");
    assert!(quiet.stdout.lines().all(|l| l.starts_with("n/")));
    let default_list = home.brain(["list"]).expect(0);
    assert!(
        default_list.stderr.contains("more")
            || default_list.stderr.contains("--after")
            || default_list.stderr.contains("--all"),
        "{default_list:?}"
    );
}

#[test]
fn pages_of_any_type_can_be_listed_and_searched() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for (slug, page_type) in
        [("a", "Meeting Note"), ("b", "meeting_note"), ("c", "notiz-für-später")]
    {
        home.put(slug, &format!("---\ntype: {page_type}\n---\nwalrus\n"));
        for type_filter in [page_type.to_owned(), page_type.to_lowercase()] {
            assert_eq!(slugs(&home.json(["list", "--type", &type_filter])["pages"]), [slug]);
            assert_eq!(
                slugs(&home.json(["search", "walrus", "--type", &type_filter])["hits"]),
                [slug]
            );
        }
    }
    assert_eq!(home.json(["list", "--type", "no such type"])["pages"], json!([]));
}

#[test]
fn an_invalid_cursor_is_refused() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    put_numbered_pages(&home, 3);
    assert_eq!(home.fault(["list", "--after", "nonsense"], 2)["code"], "usage");
}

#[test]
fn tags_are_counted_added_and_removed_with_a_version() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "---\ntags: [work, Home]\n# kept\nother: 1\n---\nbody\n");
    home.put("b", "---\ntags: work\n---\nbody\n");
    let counts = home.json(["tags"]);
    assert_eq!(counts["tags"], json!([{"tag": "work", "pages": 2}, {"tag": "home", "pages": 1}]));
    let changed = home.json(["tags", "a", "--add", "#New Tag", "--remove", "work"]);
    assert_eq!(changed["changed"], true);
    let tags = changed["tags"].as_array().unwrap();
    assert!(
        tags.contains(&json!("home")) && !tags.contains(&json!("work")) && tags.len() == 2,
        "{changed}"
    );
    let page = home.get("a");
    assert_eq!(page["version"], 2);
    assert!(page["frontmatter"].as_str().unwrap().contains("# kept\nother: 1\n"), "{page}");
    assert_eq!(
        std::fs::read_to_string(home.page_file("a")).unwrap(),
        page["content"].as_str().unwrap()
    );
    assert_eq!(home.json(["tags", "a", "--add", "home"])["changed"], false);
    assert_eq!(home.json(["tags", "a", "--remove", "never-there"])["changed"], false);
    assert_eq!(home.get("a")["version"], 2, "an edit without a change adds no version");
    assert_eq!(home.fault(["tags", "--add", "x"], 2)["code"], "usage");
    assert_eq!(home.fault(["tags", "a", "--add", " # "], 2)["code"], "usage");
}

#[test]
fn the_timeline_lists_each_entry_once_with_its_source() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put(
        "t",
        "- 2024-02-29 | Leap day [Source: calendar]\n- **2023-05-06** | Bold\n- 2024-02-30 | No \
         such day\n\
         - 2024-02-29 | Leap day [Source: calendar]\n- 2024-02-29 | Another on that day\n```\n- \
         2020-01-01 | code\n```\n",
    );
    home.put("u", "- 2025-01-01 | New year\n");
    let one = home.json(["timeline", "t"]);
    let entries: Vec<(&str, &str)> = one["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["date"].as_str().unwrap(), e["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        entries,
        [("2024-02-29", "Leap day"), ("2024-02-29", "Another on that day"), ("2023-05-06", "Bold")]
    );
    assert_eq!(one["entries"][0]["source"], "calendar");
    let dates = |answer: &Value| -> Vec<String> {
        answer["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["date"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        dates(&home.json(["timeline"])),
        ["2025-01-01", "2024-02-29", "2024-02-29", "2023-05-06"]
    );
    let some = home.json(["timeline", "--since", "2024-01-01", "--until", "2024-12-31"]);
    assert_eq!(dates(&some), ["2024-02-29", "2024-02-29"]);
    let limited = home.json(["timeline", "--limit", "1"]);
    assert_eq!((dates(&limited).len(), &limited["truncated"]), (1, &json!(true)));
    for bad in ["2024-02-30", "soon", "2024-2-3"] {
        assert_eq!(home.fault(["timeline", "--since", bad], 2)["code"], "usage", "{bad}");
    }
    home.put("t", "nothing dated\n");
    assert_eq!(
        dates(&home.json(["timeline"])),
        ["2025-01-01"],
        "the entries of the overwritten text are gone"
    );
}

#[test]
fn a_limit_that_is_no_number_is_refused_with_the_reason() {
    let home = TestHome::new();
    let fault = home.fault(["list", "--limit", "abc"], 2);
    assert_eq!(fault["message"], "invalid value 'abc' for '--limit <N>': expects a number");
}
