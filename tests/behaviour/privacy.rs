//! A token for one source learns nothing about other sources. The tests repeat known attacks and
//! compare all answers with and without hidden pages, byte for byte.

mod answers;

use std::time::{Duration, Instant};

use answers::{all_answers, put_hidden_pages, put_own_pages};
use brain_tests::embedding::FakeEmbedding;
use brain_tests::mcp::{Mcp, mcp};
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, http};
use serde_json::{Value, json};

/// Returns a home with the sources `mine` and `secret` besides the default source.
fn home_with_sources(variables: Vec<(String, String)>) -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.extend(variables);
    home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
    let daemon = home.daemon();
    for source in ["mine", "secret"] {
        let dir = home.outside().join(source);
        std::fs::create_dir_all(&dir).unwrap();
        home.json(["sources", "add", source, "--path", dir.to_str().unwrap()]);
    }
    (home, daemon)
}

fn put(home: &TestHome, source: &str, slug: &str, text: &str) {
    home.brain_with(["put", slug, "--source", source], text.as_bytes()).expect(0);
}

/// Returns the slugs that a query finds, best first.
fn found_slugs(client: &Mcp, question: &str) -> Vec<String> {
    let found = client.call("query", json!({ "query": question }));
    let results = found["results"].as_array().unwrap();
    results.iter().map(|one| one["slug"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_order_of_own_pages_does_not_reveal_a_hidden_word() {
    const SECRET: &str = "quixotry";
    let (home, _daemon) = home_with_sources(Vec::new());
    put(&home, "secret", "plan", &format!("The word is {SECRET}, and it is nowhere else.\n"));
    home.put("diary", &format!("{SECRET} again\n"));
    let client = mcp(&home, &home.token("writer", "read write", &["mine"]));
    let write = |slug: &str, word: &str| {
        let content = format!("---\ntitle: '4711'\n---\n{word}\n");
        let _ =
            client.call("put_page", json!({ "slug": slug, "content": content, "overwrite": true }));
    };
    // The word of p1 has only digits, so only p2 can contain the guess.
    write("p1", "90125");
    let (mut word, mut calls) = (String::new(), 0);
    'next: while word.len() < SECRET.len() {
        for letter in 'a'..='z' {
            let guess = format!("{word}{letter}");
            // p2 equals p1 except for its word, and it is newer. So p2 comes first, unless more
            // words begin with the guess than with 90125.
            write("p2", &guess);
            calls += 1;
            let found = found_slugs(&client, &format!("{guess}* 90125"));
            if found == ["p1", "p2"] {
                word = guess;
                continue 'next;
            }
            assert_eq!(found, ["p2", "p1"], "{guess}");
        }
        break;
    }
    assert_eq!((word.as_str(), calls), ("", 26), "the order revealed letters of the hidden word");
}

#[test]
fn the_order_of_equal_pages_does_not_reveal_hidden_writes() {
    let (home, _daemon) = home_with_sources(Vec::new());
    put(&home, "mine", "a", "a takeover of the mill\n");
    put(&home, "mine", "b", "a merger of the mill\n");
    let client = mcp(&home, &home.token("reader", "read", &["mine"]));
    let all = mcp(&home, &home.token("all", "read", &[]));
    let arguments =
        json!({ "query": "takeover merger", "source_id": "mine", "format": "detailed" });
    let (before, before_all) =
        (client.call("query", arguments.clone()), all.call("query", arguments.clone()));
    assert_eq!(before["results"].as_array().map(Vec::len), Some(2), "{before}");
    for n in 0..12 {
        home.put(&format!("deals/{n}"), if n < 8 { "merger\n" } else { "takeover\n" });
        assert_eq!(client.call("query", arguments.clone()), before, "{n}");
    }
    // A client that may see all pages does see the difference.
    let score = |found: &Value| found["results"][0]["score"].as_f64().unwrap();
    assert!(score(&all.call("query", arguments)) < score(&before_all));
}

/// Waits until all pages are indexed and have vectors.
fn settle(home: &TestHome) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.status().index_behind > 0 || home.json(["model", "list"])["missing"] != 0 {
        assert!(Instant::now() < deadline, "pages are still not indexed or have no vectors");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Asserts that the answers to all requests are the same.
fn assert_same_answers(before: &[(String, String)], after: &[(String, String)], situation: &str) {
    assert_eq!(before.len(), after.len(), "{situation}");
    for (old, new) in before.iter().zip(after) {
        assert_eq!(old, new, "{situation}");
    }
}

#[test]
fn no_answer_depends_on_pages_of_other_sources() {
    let endpoint = FakeEmbedding::default();
    let (home, daemon) = home_with_sources(endpoint.variables("small").to_vec());
    let token = home.token("bound", "read write", &["mine"]);
    put_own_pages(&home);
    let client = mcp(&home, &token);
    let _ = client.call("capture", json!({ "content": "captured by me\n" }));
    let receipt = http::ingest(home.http_local(), &token, "sent by me").expect(202).json();
    let job = receipt["job_id"].as_str().unwrap().to_owned();
    home.json(["embed", "--stale"]);
    settle(&home);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.json(["jobs", "show", &job])["status"] != "stored" {
        assert!(Instant::now() < deadline, "the item did not become a page");
        std::thread::sleep(Duration::from_millis(50));
    }
    home.json(["embed", "--stale"]);
    settle(&home);
    let before = all_answers(&home, &token, &job);
    // The OpenAPI document, which has the word `meaning`, does not count.
    let answers = || before.iter().filter(|(request, _)| !request.contains("openapi.json"));
    let requests_answered_with = |part: &str| {
        let answers = answers().filter(|(_, answer)| answer.contains(part));
        answers.map(|(request, _)| request.as_str()).collect::<Vec<_>>()
    };
    assert!(requests_answered_with("notes/harbour").len() > 20, "the answers contain pages");
    assert!(!requests_answered_with("meaning").is_empty(), "pages are found by meaning, too");
    assert_same_answers(&before, &all_answers(&home, &token, &job), "nothing has changed");

    put_hidden_pages(&home);
    assert_same_answers(&before, &all_answers(&home, &token, &job), "hidden pages were just added");
    let _ =
        http::ingest(home.http_local(), &home.token("other", "write", &["secret"]), "sent by me")
            .expect(202);
    home.json(["embed", "--stale"]);
    settle(&home);
    assert_same_answers(
        &before,
        &all_answers(&home, &token, &job),
        "hidden pages are indexed and have vectors",
    );
    drop(daemon);
    let _daemon = home.daemon();
    settle(&home);
    assert_same_answers(&before, &all_answers(&home, &token, &job), "after a restart");
    for source in ["default", "secret"] {
        for n in [1, 2, 5, 6] {
            home.brain(["delete", &format!("notes/n{n}"), "--source", source]).expect(0);
        }
    }
    assert_same_answers(
        &before,
        &all_answers(&home, &token, &job),
        "after hidden pages were deleted",
    );
}

#[test]
fn the_time_of_an_answer_does_not_reveal_a_hidden_word() {
    const CALLS: usize = 150;
    let (home, _daemon) = home_with_sources(Vec::new());
    let dir = home.outside().join("secret");
    for n in 0..500 {
        let rare = if n == 77 { "hiddenonce" } else { "" };
        std::fs::write(dir.join(format!("n{n}.md")), format!("hiddenoften {n} {rare} harbour\n"))
            .unwrap();
    }
    home.json(["sync", "--source", "secret"]);
    for n in 0..50 {
        put(&home, "mine", &format!("n{n}"), &format!("harbour {n}\n"));
    }
    let client = mcp(&home, &home.token("reader", "read", &["mine"]));
    let measure = || {
        let words = ["hiddenonce", "absentonce", "hiddenoften", "absentoften"];
        let mut times: [Vec<Duration>; 4] = Default::default();
        // The words take turns, so that other work of the machine slows all of them equally.
        for _ in 0..CALLS {
            for (word, times) in words.iter().zip(&mut times) {
                let began = Instant::now();
                let found = client.call("query", json!({ "query": format!("{word} harbour") }));
                times.push(began.elapsed());
                assert_eq!(found["results"].as_array().map(Vec::len), Some(10));
            }
        }
        times.map(|mut times| {
            times.sort_unstable();
            times[CALLS / 2]
        })
    };
    // The limit is generous; the real difference is a few microseconds.
    let differ = |hidden: Duration, absent: Duration| {
        hidden.abs_diff(absent) >= absent / 4 + Duration::from_micros(300)
    };
    // On a busy machine, a difference can be chance. One that a caller can use is there each time.
    let mut found = Vec::new();
    for _ in 0..4 {
        let [once, no_once, often, no_often] = measure();
        if !differ(once, no_once) && !differ(often, no_often) {
            return;
        }
        found.push([once, no_once, often, no_often]);
    }
    panic!("hidden and absent words differ in all measurements: {found:?}");
}

#[test]
fn sequence_numbers_are_not_shown_to_restricted_callers() {
    let (home, _daemon) = home_with_sources(Vec::new());
    let bound = home.token("bound", "read write", &["mine"]);
    let all = home.token("all", "write", &[]);
    // Sends a text and returns the number in the job's id, and the id.
    let send = |token: &str, text: &str| {
        let job = http::ingest(home.http_local(), token, text).expect(202).json();
        let id = job["job_id"].as_str().unwrap().to_owned();
        (id.strip_prefix("job_").unwrap().parse::<u64>().unwrap(), id)
    };
    let (first, id) = send(&bound, "one");
    let (plain_number, _) = send(&all, "elsewhere");
    let (second, _) = send(&bound, "two");
    let (_, repeated_id) = send(&bound, "one");
    assert_eq!(repeated_id, id, "a duplicate has the same job id");
    assert!(
        first.abs_diff(second) > 1000 && plain_number < 1000,
        "{first} {plain_number} {second}"
    );
    let bearer = format!("Bearer {bound}");
    let ask = |id: &str| {
        let headers = [("Authorization", bearer.as_str())];
        http::call(home.http_local(), "GET", &format!("/ingest/{id}"), &headers, b"")
    };
    assert_eq!(ask(&id).expect(200).json()["job_id"], id.as_str());
    // Trying all small numbers finds no job, not even one of the caller's own.
    for n in 1..=plain_number + 1 {
        assert_eq!(ask(&format!("job_{n}")).expect(404).error(), "unknown_job");
    }
    // The owner's commands accept this id, too.
    assert_eq!(home.json(["jobs", "show", &id])["client"], "token:bound");
    // A cursor of the latest pages does not contain the id of a page either.
    for n in 0..3 {
        put(&home, "mine", &format!("n{n}"), "text\n");
    }
    let client = mcp(&home, &bound);
    let mut listed_slugs = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let listed =
            client.call("list_pages", json!({ "limit": 2, "prefix": "n", "cursor": cursor }));
        listed_slugs
            .extend(listed["pages"].as_array().unwrap().iter().map(|page| page["slug"].clone()));
        cursor = listed["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
        // A new page in another source does not change the cursor.
        home.put(&format!("hidden/{}", listed_slugs.len()), "text\n");
    }
    assert_eq!(listed_slugs, ["n2", "n1", "n0"]);
    for n in 0..60 {
        put(&home, "mine", &format!("more/{n}"), "text\n");
    }
    let next =
        client.result("resources/list", json!({}))["nextCursor"].as_str().unwrap().to_owned();
    // The cursor has the date of the last page and an encrypted page id.
    let (date, id) = next.rsplit_once('-').unwrap();
    assert!(id.parse::<u64>().unwrap() > 1 << 40, "{next}");
    let rest = client.result("resources/list", json!({ "cursor": next }));
    assert!(rest["resources"].as_array().unwrap().len() >= 13, "{rest}");
    for forged in ["17".to_owned(), format!("{date}-17")] {
        let answer = client.ask("resources/list", json!({ "cursor": forged }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}
