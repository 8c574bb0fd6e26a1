//! `search`: the query language, the order of results, and when a write is found.

use brain_tests::{TestHome, slugs};
use serde_json::Value;

fn home_with_pages() -> (TestHome, brain_tests::Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.put(
        "notes/latency",
        "---\ntitle: Latency budgets\ntags: [work, perf]\ntype: \
        note\n---\nEvery service has a latency budget of ten milliseconds.\n",
    );
    home.put(
        "notes/budget",
        "---\ntitle: Household money\ntags: [home]\ntype: note\n---\nThe \
        budget for groceries grows every month.\n",
    );
    home.put(
        "ideas/cache",
        "---\ntitle: A cache\ntags: [work]\ntype: idea\naliases: \
        [memoisation]\n---\nKeep answers; latency falls. The milliseconds count.\n",
    );
    home.put(
        "people/ada",
        "---\ntitle: Ada Lovelace\ntype: person\naliases: [Countess of \
        Lovelace]\n---\nWrote the first program for the analytical engine.\n",
    );
    (home, daemon)
}

fn sorted(mut found: Vec<String>) -> Vec<String> {
    found.sort();
    found
}

#[test]
fn words_are_ranked_and_not_all_required() {
    let (home, _daemon) = home_with_pages();
    let found = home.search("what is our latency budget for quantum teleportation");
    assert_eq!(found[0], "notes/latency", "the page with most words is first: {found:?}");
    assert!(
        found.contains(&"notes/budget".into()) && found.contains(&"ideas/cache".into()),
        "{found:?}"
    );
    assert!(home.search("quantum teleportation").is_empty());
    let none = home.brain(["search", "quantum"]).expect(0);
    assert!(none.stdout.is_empty() && none.stderr.contains("quantum"), "{none:?}");
}

#[test]
fn a_phrase_matches_only_in_its_order() {
    let (home, _daemon) = home_with_pages();
    assert_eq!(home.search("\"latency budget\""), ["notes/latency"]);
    assert!(home.search("\"budget latency\"").is_empty());
    assert!(home.search("\"falls milliseconds\"").is_empty(), "words in between break a phrase");
    assert_eq!(
        home.search("\"analytical engine\" latency"),
        ["people/ada"],
        "a phrase is required"
    );
}

#[test]
fn a_quoted_phrase_that_no_page_has_is_not_required() {
    let (home, _daemon) = home_with_pages();
    let question = "what is the \"budget of latency\" of a service";
    let found = home.json(["search", question]);
    assert_eq!(slugs(&found["hits"])[0], "notes/latency", "{found}");
    let note = found["note"].as_str().unwrap();
    assert!(note.contains("no page has \"budget of latency\""), "{note}");
    let printed = home.brain(["search", question]).expect(0);
    assert!(printed.stderr.contains("no page has \"budget of latency\""), "{printed:?}");
    assert_eq!(home.json(["search", "\"latency budget\" service"])["note"], Value::Null);
    assert!(home.search("\"budget of latency\"").is_empty(), "the whole question is a phrase");
    assert!(
        home.search("\"budget of latency\" type:note").is_empty(),
        "a filter does not count as a word"
    );
}

#[test]
fn a_word_with_a_minus_excludes_pages() {
    let (home, _daemon) = home_with_pages();
    assert_eq!(sorted(home.search("latency")), ["ideas/cache", "notes/latency"]);
    assert_eq!(home.search("latency -budget"), ["ideas/cache"]);
    assert_eq!(home.search("latency -\"latency budget\""), ["ideas/cache"]);
    assert_eq!(home.search("milliseconds -latency"), Vec::<String>::new());
    let found = home.json(["search", "--", "latency", "-budget"]);
    assert_eq!(slugs(&found["hits"]), ["ideas/cache"], "the same words after `--`");
    assert_eq!(
        home.fault(["search", "latency", "-budget"], 2)["code"],
        "usage",
        "`-budget` could be a mistyped option"
    );
}

#[test]
fn a_query_that_only_excludes_finds_the_other_pages() {
    let (home, _daemon) = home_with_pages();
    assert_eq!(home.search("-budget"), ["people/ada", "ideas/cache"]);
    assert_eq!(home.search("-\"latency budget\" -type:person"), ["ideas/cache", "notes/budget"]);
    assert_eq!(home.search("-tag:work"), ["people/ada", "notes/budget"]);
    let first = home.json(["search", "--limit", "1", "--", "-nowhere"]);
    assert_eq!(
        (slugs(&first["hits"]), &first["truncated"]),
        (vec!["people/ada".into()], &true.into())
    );
}

#[test]
fn a_prefix_with_a_star_is_completed() {
    let (home, _daemon) = home_with_pages();
    assert_eq!(home.search("grocer*"), ["notes/budget"]);
    assert_eq!(home.search("love*"), ["people/ada"]);
    assert_eq!(sorted(home.search("millis*")), ["ideas/cache", "notes/latency"]);
    assert!(home.search("grocerx*").is_empty());
}

#[test]
fn filters_in_the_query_restrict_the_results() {
    let (home, _daemon) = home_with_pages();
    assert_eq!(home.search("title:latency"), ["notes/latency"]);
    assert_eq!(home.search("latency type:idea"), ["ideas/cache"]);
    assert_eq!(home.search("latency tag:perf"), ["notes/latency"]);
    assert_eq!(
        sorted(home.search("tag:work")),
        ["ideas/cache", "notes/latency"],
        "a filter alone is a query"
    );
    assert_eq!(sorted(home.search("latency source:default")), ["ideas/cache", "notes/latency"]);
    assert!(home.search("latency source:elsewhere").is_empty());
    assert_eq!(home.search("tag:WORK type:idea latency"), ["ideas/cache"]);
}

#[test]
fn options_restrict_the_results() {
    let (home, _daemon) = home_with_pages();
    let search = |options: &[&str]| {
        let args: Vec<&str> = ["search", "latency"].iter().chain(options).copied().collect();
        sorted(slugs(&home.json(args)["hits"]))
    };
    assert_eq!(search(&["--type", "idea"]), ["ideas/cache"]);
    assert_eq!(search(&["--tag", "work"]), ["ideas/cache", "notes/latency"]);
    assert_eq!(
        search(&["--tag", "work", "--tag", "#Perf"]),
        ["notes/latency"],
        "a page needs all tags"
    );
    assert_eq!(search(&["--source", "default"]).len(), 2);
    assert_eq!(search(&["--since", "2020-01-01"]).len(), 2);
    assert!(search(&["--until", "2020-01-01"]).is_empty());
    assert!(search(&["--since", "2999-01-01T00:00:00Z"]).is_empty());
    for bad in ["soon", "2024-02-30", "20240"] {
        assert_eq!(home.fault(["search", "x", "--since", bad], 2)["code"], "usage", "{bad}");
    }
    assert_eq!(home.fault(["search", "x", "--limit", "201"], 2)["code"], "usage");
    assert_eq!(home.fault(["search", "  "], 2)["code"], "usage");
    assert_eq!(home.fault(["search", "x", "--source", "nowhere"], 4)["code"], "unknown_source");
}

#[test]
fn unusual_punctuation_is_never_an_error() {
    let (home, _daemon) = home_with_pages();
    for query in [
        "\"",
        "\"\"",
        "\"latency",
        "latency\"",
        "(latency",
        "latency)",
        "((",
        "*",
        "-",
        "--",
        "- -",
        "+latency",
        "latency AND",
        "OR",
        "NOT",
        "latency OR",
        "title:",
        ":latency",
        "title:\"",
        "tag:",
        "a:b:c",
        "latency^2",
        "latency~",
        "[a TO b]",
        "{x}",
        "\\",
        "latency\\",
        "/regex/",
        "!latency",
        "latency && budget",
        "?",
        "l?tency",
        "*tency",
        "-*",
        "\"*\"",
        "title:*",
        "<script>",
        "';--",
        "%00",
        "\u{202E}",
        "🦀",
        "\u{0301}",
        "…",
        "-title:latency",
        "source:!!",
        "type:Ü",
    ] {
        let output = home.brain(["search", "--json", "--", query]);
        assert_eq!(output.code, 0, "{query:?}: {output:?}");
        assert!(output.json()["hits"].is_array(), "{query:?}");
    }
    for query in [
        "(latency",
        "latency)",
        "+latency",
        "latency AND",
        "latency^2",
        "latency\\",
        "latency?!",
        "\"latency",
    ] {
        assert!(
            home.search(query).contains(&"notes/latency".into()),
            "{query:?} is searched as plain words"
        );
    }
}

#[test]
fn the_exact_title_or_alias_is_first() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 0..8 {
        let text = "Mercury Mercury Mercury is the planet; Mercury is the metal; Project Mercury \
            too. Mercury rising.\n";
        home.put(
            &format!("noise/{n}"),
            &format!("---\ntitle: About Mercury and more {n}\n---\n{text}"),
        );
    }
    home.put("exact/title", "---\ntitle: Project Mercury\n---\nShort.\n");
    home.put("exact/alias", "---\ntitle: Quicksilver\naliases: [Hg Mercury]\n---\nShort.\n");
    home.put("exact/quicksilver-names", "Quicksilver quicksilver quicksilver.\n");
    assert_eq!(home.search("Project Mercury")[0], "exact/title");
    assert_eq!(home.search("project mercury")[0], "exact/title");
    assert_eq!(home.search("hg mercury")[0], "exact/alias");
    assert_eq!(
        home.search("quicksilver")[0],
        "exact/alias",
        "a match in the title ranks above the text"
    );
    let hit = home.json(["search", "hg mercury"])["hits"][0].clone();
    assert!(hit["matched"].as_array().unwrap().contains(&"alias".into()), "{hit}");
    let hit = home.json(["search", "Project Mercury"])["hits"][0].clone();
    assert!(hit["matched"].as_array().unwrap().contains(&"title".into()), "{hit}");
}

#[test]
fn a_snippet_shows_and_highlights_the_match() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let filler =
        "Nothing to see here, só é cheio de acentuação. 日本語の文章もあります。 ".repeat(120);
    home.put(
        "long",
        &format!("{filler}\n\nThe naïve walruses crossed the ice at dawn.\n\n{filler}\n"),
    );
    for (query, parts) in [
        ("walrus", &["walruses"][..]),
        ("naive walrus", &["naïve", "walruses"]),
        ("\"crossed the ice\"", &["crossed"]),
    ] {
        let hit = home.json(["search", query])["hits"][0].clone();
        let snippet = hit["snippet"].as_str().unwrap();
        assert!(snippet.chars().count() <= 240 && !snippet.contains('\n'), "{snippet:?}");
        let highlighted = highlighted(&hit);
        for part in parts {
            assert!(
                highlighted.iter().any(|text| text.contains(part)),
                "{part} is highlighted for {query}: {highlighted:?} in {snippet:?}"
            );
        }
        assert!(hit["chunk"].as_u64().unwrap() > 0, "the snippet is from a later chunk: {hit}");
    }
}

/// Returns the highlighted parts of a hit. Panics unless the ranges are sorted, disjoint and inside
/// the snippet.
fn highlighted(hit: &Value) -> Vec<String> {
    let snippet = hit["snippet"].as_str().unwrap();
    let mut end = 0;
    let ranges = hit["highlights"].as_array().unwrap();
    assert!(!ranges.is_empty(), "{hit}");
    let cut = |range: &Value| {
        let (from, to) = (range[0].as_u64().unwrap() as usize, range[1].as_u64().unwrap() as usize);
        assert!(from >= end && to > from, "highlights are sorted and do not overlap: {hit}");
        end = to;
        snippet
            .get(from..to)
            .unwrap_or_else(|| panic!("{from}..{to} is not within {snippet:?}"))
            .to_owned()
    };
    ranges.iter().map(cut).collect()
}

#[test]
fn explain_shows_the_parts_of_the_score() {
    let (home, _daemon) = home_with_pages();
    let hit = home.json(["search", "latency budget", "--explain"])["hits"][0].clone();
    let parts = hit["explain"].as_array().unwrap();
    assert!(parts.len() >= 2, "{hit}");
    let sum: f64 = parts.iter().map(|p| p["score"].as_f64().unwrap()).sum();
    let score = hit["score"].as_f64().unwrap();
    assert!(
        (sum - score).abs() < 0.01 * score.abs().max(1.0),
        "the parts add up: {sum} and {score} in {hit}"
    );
    assert!(parts.iter().any(|p| p["reason"].as_str().unwrap().contains("latency")), "{hit}");
    let plain = home.json(["search", "latency budget"]);
    assert_eq!(plain["hits"][0]["explain"], serde_json::json!([]));
    let text = home.brain(["search", "latency", "--explain"]).expect(0);
    assert!(text.stdout.contains("latency"), "{text:?}");
}

#[test]
fn hits_are_complete_and_sorted_by_score() {
    let (home, _daemon) = home_with_pages();
    let answer = home.json(["search", "latency milliseconds"]);
    let hits = answer["hits"].as_array().unwrap();
    assert!(hits.windows(2).all(|w| w[0]["score"].as_f64() >= w[1]["score"].as_f64()), "{answer}");
    for field in [
        "slug",
        "source_id",
        "title",
        "type",
        "score",
        "snippet",
        "highlights",
        "chunk",
        "matched",
        "updated_at",
    ] {
        assert!(!hits[0][field].is_null(), "{field}: {}", hits[0]);
    }
    assert_eq!(answer["degraded"], Value::Null);
    assert_eq!(answer["query"], "latency milliseconds");
    let unique: std::collections::BTreeSet<String> = slugs(&answer["hits"]).into_iter().collect();
    assert_eq!(unique.len(), hits.len(), "one hit per page");
}

#[test]
fn a_limit_cuts_the_list_and_reports_more() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 0..25 {
        home.put(&format!("p/{n}"), &format!("walrus number {n}\n"));
    }
    for (limit, shown, truncated) in
        [("1", 1, true), ("24", 24, true), ("25", 25, false), ("200", 25, false)]
    {
        let answer = home.json(["search", "walrus", "--limit", limit]);
        assert_eq!(answer["hits"].as_array().unwrap().len(), shown, "{limit}");
        assert_eq!(answer["truncated"], truncated, "{limit}");
    }
    assert_eq!(
        home.json(["search", "walrus"])["hits"].as_array().unwrap().len(),
        20,
        "the default limit is 20"
    );
    let few = slugs(&home.json(["search", "walrus 17", "--limit", "3"])["hits"]);
    let many = slugs(&home.json(["search", "walrus 17", "--limit", "25"])["hits"]);
    assert_eq!(few, many[..3], "the limit does not change the order");
}

#[test]
fn every_write_is_found_by_the_next_search() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    for n in 0..15 {
        let word = format!("walrus{n}");
        let page = home.json(["capture", &format!("a {word} came by")]);
        let slug = page["slug"].as_str().unwrap().to_owned();
        assert_eq!(home.search(&word), [slug.as_str()], "after capture");
        home.put(&slug, &format!("a seal{n} instead\n"));
        assert_eq!(home.search(&word), Vec::<String>::new(), "after put, the old text");
        assert_eq!(home.search(&format!("seal{n}")), [slug.as_str()], "after put, the new text");
        home.json(["revert", &slug, "1"]);
        assert_eq!(home.search(&word), [slug.as_str()], "after revert");
        home.json(["delete", &slug]);
        assert_eq!(home.search(&word), Vec::<String>::new(), "after delete");
        home.json(["restore", &slug]);
        assert_eq!(home.search(&word), [slug.as_str()], "after restore");
        home.json(["tags", &slug, "--add", &format!("tag{n}")]);
        assert_eq!(home.search(&format!("tag:tag{n}")), [slug], "after a tag");
    }
}

#[test]
fn an_acknowledged_write_is_found_after_sigkill() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let mut expected = Vec::new();
    for n in 0..30 {
        expected.push(
            home.put(&format!("p/{n:02}"), &format!("walrus number {n}\n"))["slug"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    home.json(["delete", "p/07"]);
    expected.remove(7);
    daemon.kill();
    let _daemon = home.daemon();
    let found = slugs(&home.json(["search", "walrus", "--limit", "100"])["hits"]);
    assert_eq!(sorted(found), expected);
}

#[test]
fn a_name_is_found_in_any_order_and_while_it_is_typed() {
    let (home, _daemon) = home_with_pages();
    for number in 0..12 {
        let text = "Ada and the Lovelace letters. Ada Lovelace wrote many.\n".repeat(5);
        home.put(&format!("letters/{number}"), &text);
    }
    let first = |arguments: &[&str]| -> Option<String> {
        let found = home.json([&["search"], arguments].concat());
        slugs(&found["hits"]).into_iter().next()
    };
    assert_eq!(first(&["lovelace ada"]).as_deref(), Some("people/ada"));
    assert_eq!(first(&["what do we know about Lovelace, Ada?"]).as_deref(), Some("people/ada"));
    for typed in ["ada lov", "lovelace ad", "coun", "countess of l", "people/a"] {
        assert_eq!(first(&["--prefix", typed]).as_deref(), Some("people/ada"), "{typed}");
    }
    assert_eq!(first(&["--prefix", "househ"]).as_deref(), Some("notes/budget"));
    assert_eq!(first(&["househ"]), None, "without --prefix, the beginning of a word is not found");
}

#[test]
fn a_mistyped_word_finds_the_page_with_a_note() {
    let (home, _daemon) = home_with_pages();
    let found = home.json(["search", "what did Lovelcae wirte"]);
    assert_eq!(slugs(&found["hits"]).first().map(String::as_str), Some("people/ada"));
    assert_eq!(found["note"], "also searched: lovelace");
    let answer = home.brain(["search", "anlaytical"]).expect(0);
    assert!(answer.stderr.contains("also searched: analytical"), "{}", answer.stderr);
    assert_eq!(home.json(["search", "\"anlaytical\""])["note"], Value::Null);
}

#[test]
fn unknown_tags_and_types_are_reported_with_similar_ones() {
    let (home, _daemon) = home_with_pages();
    for (arguments, note) in [
        (["list", "--tag", "wrok"], "no page has the tag \"wrok\"; did you mean \"work\"?"),
        (["list", "--type", "persn"], "no page has the type \"persn\"; did you mean \"person\"?"),
        (["list", "--tag", "zebra"], "no page has the tag \"zebra\""),
    ] {
        let answer = home.brain(arguments).expect(0);
        assert!(answer.stderr.contains(note), "{arguments:?}: {}", answer.stderr);
    }
    let answer = home.brain(["search", "latency", "--tag", "wrok"]).expect(0);
    assert!(answer.stderr.contains("did you mean \"work\"?"), "{}", answer.stderr);
    let answer = home.brain(["list", "--tag", "work", "--type", "person"]).expect(0);
    assert!(answer.stderr.contains("no pages"), "the tag and the type exist: {}", answer.stderr);
}

#[test]
fn a_mistyped_beginning_of_a_name_finds_the_page() {
    let (home, _daemon) = home_with_pages();
    let found = home.json(["search", "--prefix", "ada lovlea"]);
    assert_eq!(slugs(&found["hits"]).first().map(String::as_str), Some("people/ada"));
    assert_eq!(found["note"], "also searched: lovelace");
}

#[test]
fn the_same_text_in_two_places_is_one_hit() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = format!("# Ferry\n\n{}\n", "The night ferry leaves the harbour at ten. ".repeat(8));
    home.put("a/ferry", &text);
    home.put("b/copy", &text.replacen("# Ferry", "---\ntitle: Copy\n---\n# Ferry", 1));
    home.put("c/other", &text.replace("ten", "nine"));
    let found = home.json(["search", "night ferry"]);
    assert_eq!(sorted(slugs(&found["hits"])).len(), 2, "{found}");
    let ferry = found["hits"].as_array().unwrap().iter().find(|hit| hit["slug"] != "c/other");
    let other_page = ferry.unwrap()["also_in"][0].as_str().unwrap();
    assert!(["default:a/ferry", "default:b/copy"].contains(&other_page), "{found}");
    let printed = home.brain(["search", "night ferry"]).expect(0).stdout;
    assert!(printed.contains(&format!("also in {other_page}")), "{printed}");
    assert_eq!(home.search("copy"), ["b/copy"], "its own name finds the copy");
    // Short texts can be equal by chance, so they stay separate hits.
    home.put("day/one", "---\ntitle: One\n---\nNothing happened.\n");
    home.put("day/two", "---\ntitle: Two\n---\nNothing happened.\n");
    assert_eq!(sorted(home.search("nothing happened")), ["day/one", "day/two"]);
}
