//! Search by meaning with an embedding endpoint: results, requests, and endpoints that stall, limit
//! the rate, or answer nonsense.

use std::time::{Duration, Instant};

use brain_tests::embedding::{Behaviour, FakeEmbedding};
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, slugs};
use serde_json::Value;

/// Starts a daemon with `endpoint` and these further environment variables, and writes three pages.
fn home_with_pages(endpoint: &FakeEmbedding, variables: &[(&str, &str)]) -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.extend(endpoint.variables("small"));
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    home.env.extend(variables);
    let daemon = home.daemon();
    home.put("notes/garage", "# Garage\n\nThe automobile stands in the yard and rusts.\n");
    home.put("notes/harbour", "# Harbour\n\nA vessel waits for better weather.\n");
    home.put("notes/kitchen", "# Kitchen\n\nA fresh loaf cools on the window sill.\n");
    (home, daemon)
}

fn embed(home: &TestHome) -> Value {
    home.json(["embed", "--stale"])
}

/// Waits until every page has its vectors; returns the output of `brain model list`.
pub(crate) fn wait_for_vectors(home: &TestHome) -> Value {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let list = home.json(["model", "list"]);
        if list["model"].is_string() && list["missing"] == 0 && list["problem"].is_null() {
            return list;
        }
        assert!(Instant::now() < deadline, "vectors are still missing: {list}\n{}", home.log());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_page_is_found_by_meaning_without_a_shared_word() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_pages(&endpoint, &[]);
    let report = embed(&home);
    assert_eq!(
        (&report["provider"], &report["model"], &report["missing"]),
        (&"openai".into(), &"small".into(), &0.into())
    );
    for (question, page) in
        [("vehicle", "notes/garage"), ("ship", "notes/harbour"), ("bread", "notes/kitchen")]
    {
        let answer = home.json(["search", question]);
        assert_eq!(
            slugs(&answer["hits"]).first().map(String::as_str),
            Some(page),
            "{question}: {answer}"
        );
        assert!(answer["degraded"].is_null(), "{answer}");
    }
    let list = wait_for_vectors(&home);
    assert_eq!((&list["pages"], &list["installed"]), (&3.into(), &Value::Array(Vec::new())));
    // No text is sent twice.
    let before = endpoint.texts().len();
    home.put("notes/garage", "# Garage\n\nThe automobile stands in the yard and rusts.\n");
    assert_eq!(embed(&home)["pages"], 0);
    assert_eq!(endpoint.texts().len(), before);
}

#[test]
fn search_continues_with_words_if_the_endpoint_fails() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_pages(&endpoint, &[]);
    embed(&home);
    for behaviour in
        [Behaviour::Stall, Behaviour::Drip, Behaviour::Fail(503), Behaviour::Body("<html>".into())]
    {
        endpoint.set_behaviour(behaviour.clone());
        // A new question each time, so that no cached vector answers it.
        let question = format!("automobile {}", endpoint.call_count());
        let began = Instant::now();
        let answer = home.json(["search", &question]);
        assert_eq!(
            slugs(&answer["hits"]).first().map(String::as_str),
            Some("notes/garage"),
            "{behaviour:?}: {answer}"
        );
        assert!(answer["degraded"].is_string(), "{behaviour:?}: {answer}");
        // The deadline is 2 seconds; the limit here allows for a busy machine.
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{behaviour:?} took {:?}",
            began.elapsed()
        );
    }
    endpoint.set_behaviour(Behaviour::Unordered);
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let answer = home.json(["search", "vehicle"]);
        if answer["degraded"].is_null() {
            assert_eq!(
                slugs(&answer["hits"]).first().map(String::as_str),
                Some("notes/garage"),
                "{answer}"
            );
            break;
        }
        assert!(Instant::now() < deadline, "search by meaning does not recover: {answer}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn phrases_names_and_repeated_questions_are_not_sent() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_pages(&endpoint, &[]);
    home.put("people/ann", "---\ntitle: Ann Lee\n---\nShe drives an automobile.\n");
    embed(&home);
    let before = endpoint.call_count();
    for (question, page) in [("\"an automobile\"", "people/ann"), ("ann lee", "people/ann")] {
        assert_eq!(home.search(question)[0], page, "{question}");
    }
    assert_eq!(home.search("\"automobile stands\" type:note"), ["notes/garage"]);
    assert_eq!(endpoint.call_count(), before, "a phrase or a name was sent");
    for question in ["vehicle", "vehicle", "ship", "vehicle"] {
        assert!(!home.search(question).is_empty(), "{question}");
    }
    assert_eq!(endpoint.call_count(), before + 2, "each question is sent once");
}

#[test]
fn nonsense_makes_no_vectors_and_is_reported() {
    let endpoint = FakeEmbedding::default();
    endpoint.set_behaviour(Behaviour::Body("<html>proxy</html>".into()));
    let (home, _daemon) = home_with_pages(&endpoint, &[]);
    for (response, expected) in [
        ("<html>proxy</html>", "HTML page"),
        ("{\"data\":[]}", "0 vectors"),
        ("{\"data\":[{\"embedding\":[NaN]}]}", "not JSON"),
        ("{\"data\":[{\"embedding\":[1e39,0]}]}", "vector"),
        ("{\"data\":[{\"emb", "cut off"),
    ] {
        endpoint.set_behaviour(Behaviour::Body(response.into()));
        let error = home.fault(["embed"], 1);
        assert!(error["message"].as_str().unwrap().contains(expected), "{response}: {error}");
        assert_eq!(home.json(["embed", "--dry-run"])["missing"], 3);
    }
    let checks = home.json(["doctor"])["checks"].clone();
    let check = checks
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "embedding")
        .unwrap()
        .clone();
    assert_eq!(check["status"], "warn", "{check}");
    // Vectors in base64 work, and so does an endpoint that accepts small batches only.
    endpoint.set_behaviour(Behaviour::Base64);
    assert_eq!(embed(&home)["missing"], 0);
    endpoint.set_behaviour(Behaviour::MaxBytes(90));
    home.put("notes/long", &format!("# Long\n\n{}\n", "the hound sleeps by the door. ".repeat(40)));
    assert_eq!(embed(&home)["missing"], 0);
    assert_eq!(home.search("puppy").first().map(String::as_str), Some("notes/long"));
}

#[test]
fn a_rate_limited_request_is_repeated() {
    let endpoint = FakeEmbedding::default();
    endpoint.set_behaviour(Behaviour::RateLimit(Some(1)));
    let (home, _daemon) = home_with_pages(&endpoint, &[]);
    std::thread::scope(|scope| {
        let embedding = scope.spawn(|| embed(&home));
        let deadline = Instant::now() + TEST_TIMEOUT;
        while endpoint.call_count() < 2 {
            assert!(Instant::now() < deadline, "the endpoint was not called again");
            std::thread::sleep(Duration::from_millis(50));
        }
        endpoint.set_behaviour(Behaviour::Normal);
        assert_eq!(embedding.join().unwrap()["missing"], 0);
    });
    // The daemon does not wait for an hour.
    endpoint.set_behaviour(Behaviour::RateLimit(Some(3600)));
    home.put("notes/new", "# New\n\nA letter came.\n");
    let error = home.fault(["embed"], 1);
    assert!(error["message"].as_str().unwrap().contains("429"), "{error}");
}

#[test]
fn no_output_contains_the_key_of_the_endpoint() {
    let endpoint = FakeEmbedding::new(Some("sk-right-and-secret"));
    let key = ("BRAIN_EMBEDDING_API_KEY", "sk-wrong-but-secret");
    let (home, daemon) = home_with_pages(&endpoint, &[key]);
    let error = home.fault(["embed"], 3);
    assert!(error["hint"].as_str().unwrap().contains("embedding-api-key"), "{error}");
    let visible_text =
        format!("{error} {} {}", home.json(["doctor"]), home.json(["model", "list"]));
    drop(daemon);
    let mut home = home;
    home.env.retain(|(name, _)| name != key.0);
    let secrets = home.path().join("secrets");
    let file = secrets.join("embedding-api-key");
    std::fs::write(&file, "sk-right-and-secret\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let _daemon = home.daemon();
    assert_eq!(embed(&home)["missing"], 0);
    assert_eq!(home.search("vehicle").first().map(String::as_str), Some("notes/garage"));
    let all = format!("{visible_text} {} {}", home.log(), home.json(["config", "show"]));
    assert!(!all.contains("and-secret") && !all.contains("but-secret"), "{all}");
}

#[test]
fn a_new_model_replaces_all_vectors_in_the_background() {
    let endpoint = FakeEmbedding::default();
    let (mut home, daemon) = home_with_pages(&endpoint, &[]);
    embed(&home);
    drop(daemon);
    for (name, value) in &mut home.env {
        if name == "BRAIN_EMBEDDING_MODEL" {
            *value = "large".into();
        }
    }
    let _daemon = home.daemon();
    let list = wait_for_vectors(&home);
    assert_eq!((&list["model"], &list["pages"]), (&"large".into(), &3.into()));
    let sent_count: usize = endpoint
        .requests()
        .iter()
        .filter(|request| request.model == "large")
        .map(|request| request.texts.len())
        .sum();
    assert!(sent_count >= 3, "{sent_count}");
    let answer = home.json(["search", "ship"]);
    assert_eq!(
        slugs(&answer["hits"]).first().map(String::as_str),
        Some("notes/harbour"),
        "{answer}"
    );
}

#[test]
fn a_deleted_page_is_not_found_and_a_restored_one_is() {
    let endpoint = FakeEmbedding::default();
    let (home, daemon) = home_with_pages(&endpoint, &[]);
    embed(&home);
    home.json(["delete", "notes/garage"]);
    assert!(!home.search("vehicle").contains(&"notes/garage".to_owned()));
    drop(daemon);
    let _daemon = home.daemon();
    wait_for_vectors(&home);
    assert!(!home.search("vehicle").contains(&"notes/garage".to_owned()));
    home.json(["restore", "notes/garage"]);
    embed(&home);
    assert_eq!(home.search("vehicle").first().map(String::as_str), Some("notes/garage"));
    // A page is not found by the meaning of its former text.
    home.put("notes/garage", "# Garage\n\nIt is empty now, but for the tempest outside.\n");
    embed(&home);
    assert_eq!(home.search("gale").first().map(String::as_str), Some("notes/garage"));
    assert_ne!(home.search("vehicle").first().map(String::as_str), Some("notes/garage"));
}

#[test]
fn a_sync_without_embedding_makes_no_vectors() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_pages(&endpoint, &[]);
    embed(&home);
    let notes = home.outside();
    std::fs::write(notes.join("school.md"), "# School\n\nThe tutor is late again.\n").unwrap();
    home.json(["sources", "add", "work", "--path", notes.to_str().unwrap()]);
    home.json(["sync", "--source", "work", "--no-embed"]);
    assert_eq!(home.search("tutor"), ["school"]);
    std::thread::sleep(Duration::from_secs(2));
    assert!(
        !endpoint.texts().iter().any(|text| text.contains("tutor is late")),
        "{:?}",
        endpoint.texts()
    );
    assert_eq!(home.json(["embed", "--dry-run"])["missing"], 1);
    assert_eq!(embed(&home)["missing"], 0);
    assert_eq!(home.search("lecturer").first().map(String::as_str), Some("school"));
}

#[test]
fn paid_calls_are_in_the_ledger() {
    let endpoint = FakeEmbedding::default();
    let (home, _daemon) = home_with_pages(&endpoint, &[("BRAIN_EMBEDDING_PRICE", "20")]);
    embed(&home);
    wait_for_vectors(&home);
    let costs = home.json(["costs"]);
    let sum = costs["sums"]
        .as_array()
        .unwrap()
        .iter()
        .find(|sum| sum["purpose"] == "embedding")
        .unwrap()
        .clone();
    assert_eq!(sum["model"], "small");
    assert_eq!(sum["input_tokens"], endpoint.tokens(), "{costs}");
    let paid = endpoint.tokens() as f64 * 20.0 / 1_000_000.0;
    assert!((sum["actual_usd"].as_f64().unwrap() - paid).abs() < 1e-9, "{costs}");
}

#[test]
fn without_a_model_search_works_and_a_hint_names_the_setup() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("a", "# A\n\nwalrus\n");
    let answer = home.json(["search", "walrus"]);
    assert!(answer["degraded"].is_null(), "{answer}");
    let list = home.json(["model", "list"]);
    assert_eq!((&list["provider"], &list["model"]), (&"none".into(), &Value::Null));
    let error = home.fault(["embed"], 4);
    assert!(error["hint"].as_str().unwrap().contains("brain model install"), "{error}");
}
