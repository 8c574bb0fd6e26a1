//! Search by meaning: filters, punctuation, long questions, parts of the score, and limits.

use brain_tests::embedding::FakeEmbedding;
use brain_tests::{Daemon, TestHome, slugs};
use serde_json::Value;

/// Returns a home with vectors of pages about vehicles, a boat and bread.
fn home_with_vectors(endpoint: &FakeEmbedding) -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.extend(endpoint.variables("small"));
    let daemon = home.daemon();
    home.put("notes/garage", "# Garage\n\nThe automobile stands in the yard and rusts.\n");
    home.put(
        "notes/lorry",
        "---\ntags: [work]\n---\n# Lorry\n\nAn automobile with eighteen wheels.\n",
    );
    home.put("notes/harbour", "# Harbour\n\nA vessel waits for better weather.\n");
    home.put("notes/kitchen", "# Kitchen\n\nA fresh loaf cools on the window sill.\n");
    home.put("vehicle", "---\ntitle: Vehicle\ntype: concept\n---\nTo be written.\n");
    home.json(["embed", "--stale"]);
    (home, daemon)
}

fn found(home: &TestHome, question: &str) -> Vec<String> {
    slugs(&home.json(["search", question])["hits"])
}

#[test]
fn pages_found_by_meaning_obey_the_filters() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_vectors(&endpoint);
    // Without filters, the search also finds pages by meaning.
    let all = found(&home, "vehicle");
    assert_eq!(
        all[0], "vehicle",
        "the page with the title is first, though others are nearer in meaning: {all:?}"
    );
    assert!(all.contains(&"notes/garage".into()) && all.contains(&"notes/lorry".into()), "{all:?}");

    let remaining = found(&home, "vehicle -rusts");
    assert!(remaining.contains(&"notes/lorry".into()), "{remaining:?}");
    assert!(!remaining.contains(&"notes/garage".into()), "{remaining:?}");
    assert_eq!(found(&home, "\"vehicle\""), ["vehicle"], "a phrase is required");
    assert_eq!(found(&home, "title:garage vehicle"), ["notes/garage"]);
    assert_eq!(found(&home, "title:lor* vehicle"), ["notes/lorry"]);
    assert_eq!(found(&home, "vehicle tag:work"), ["notes/lorry"]);
    assert_eq!(found(&home, "vehicle type:concept"), ["vehicle"]);
    assert_eq!(slugs(&home.json(["search", "vehicle", "--tag", "work"])["hits"]), ["notes/lorry"]);
    assert_eq!(found(&home, "vehi*"), ["vehicle"], "a prefix has no vector");
    let none = home.json(["search", "vehicle", "--until", "2001-01-01"]);
    assert_eq!(none["hits"], Value::Array(Vec::new()));

    home.brain(["delete", "notes/garage"]).expect(0);
    assert!(
        !found(&home, "vehicle").contains(&"notes/garage".into()),
        "a deleted page is not found"
    );
}

#[test]
fn punctuation_finds_nothing_and_long_questions_work() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_vectors(&endpoint);
    let calls = endpoint.call_count();
    for question in ["???", "--- *** !!!", "\"\"", "🎉", "…"] {
        for option in ["--limit=20", "--source=default", "--type=person"] {
            let answer = home.json(["search", option, "--", question]);
            assert_eq!(answer["hits"], Value::Array(Vec::new()), "{question} {option}: {answer}");
        }
    }
    assert_eq!(endpoint.call_count(), calls, "the endpoint is not called for punctuation");
    let long = "vehicle and other things that stand about. ".repeat(240);
    assert!(long.len() > 10_000);
    let answer = home.json(["search", &long]);
    assert!(slugs(&answer["hits"]).contains(&"notes/garage".into()), "{answer}");
    assert!(answer["degraded"].is_null(), "{answer}");
}

#[test]
fn score_parts_add_up_and_truncation_is_reported() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_vectors(&endpoint);
    let all = home.json(["search", "vehicle", "--explain"]);
    let hits = all["hits"].as_array().unwrap();
    assert_eq!(all["truncated"], false, "{all}");
    for hit in hits {
        let sum: f64 =
            hit["explain"].as_array().unwrap().iter().map(|p| p["score"].as_f64().unwrap()).sum();
        assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-2, "{hit}");
        assert!(!hit["matched"].as_array().unwrap().is_empty(), "{hit}");
    }
    let order = slugs(&all["hits"]);
    for limit in 1..=order.len() {
        let limited = home.json(["search", "vehicle", "--limit", &limit.to_string()]);
        assert_eq!(slugs(&limited["hits"]), order[..limit], "the limit does not change the order");
        assert_eq!(limited["truncated"], limit < order.len(), "{limit}: {limited}");
    }
}
