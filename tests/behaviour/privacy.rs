//! A token for one source learns nothing about other sources. The tests repeat known attacks and
//! compare all answers with and without hidden pages, byte for byte.

use std::time::{Duration, Instant};

use brain_tests::embedding::FakeEmbedding;
use brain_tests::mcp::{Mcp, mcp};
use brain_tests::{Daemon, PATIENCE, TestHome, http};
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

fn order(client: &Mcp, question: &str) -> Vec<String> {
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
    // Names with digits are no words, so only p2 contains the guess.
    write("p1", "90125");
    let (mut word, mut calls) = (String::new(), 0);
    'next: while word.len() < SECRET.len() {
        for letter in 'a'..='z' {
            let guess = format!("{word}{letter}");
            // p2 equals the other page except for its word, and it is newer. So it comes first,
            // unless more words begin with the guess than with the marker.
            write("p2", &guess);
            calls += 1;
            if order(&client, &format!("{guess}* 90125")) == ["p1", "p2"] {
                word = guess;
                continue 'next;
            }
        }
        break;
    }
    assert_eq!((word.as_str(), calls), ("", 26), "the letters of a word in hidden pages");
}

#[test]
fn the_order_of_equal_pages_does_not_reveal_hidden_writes() {
    let (home, _daemon) = home_with_sources(Vec::new());
    put(&home, "mine", "a", "a takeover of the mill\n");
    put(&home, "mine", "b", "a merger of the mill\n");
    let client = mcp(&home, &home.token("reader", "read", &["mine"]));
    let asked = json!({ "query": "takeover merger", "format": "detailed" });
    let before = client.call("query", asked.clone());
    for n in 0..12 {
        home.put(&format!("deals/{n}"), if n < 8 { "merger\n" } else { "takeover\n" });
        assert_eq!(client.call("query", asked.clone()), before, "{n}");
    }
}

/// Writes the pages that the restricted caller sees.
fn put_own_pages(home: &TestHome) {
    put(
        home,
        "mine",
        "people/ada",
        "---\ntitle: Ada Lovelace\ntype: person\ntags: [math]\naliases: [Ada]\n---\nShe founded [[acme]] with \
         [[people/bo]] and knows [[people/ghost]] and [[secret:plan]].\n\n## Timeline\n\n- **2026-01-02** | met Bo\n",
    );
    put(
        home,
        "mine",
        "people/bo",
        "---\ntitle: Bo Brown\ntype: person\n---\nInvested in [Acme](acme). A vehicle owner.\n",
    );
    put(
        home,
        "mine",
        "acme",
        "---\ntitle: Acme\ntype: company\ntags: [math, boats]\n---\nAcme builds harbour cranes and vessels.\n",
    );
    put(
        home,
        "mine",
        "notes/harbour",
        "The harbour of the old mill; an automobile stands there.\n",
    );
    put(home, "mine", "notes/mill", "The mill of the old harbour; a vessel lies there.\n");
    for n in 0..8 {
        put(
            home,
            "mine",
            &format!("notes/n{n}"),
            &format!("# Note {n}\n\nharbour boats {n} and bread\n"),
        );
    }
    home.brain(["delete", "notes/n7", "--source", "mine"]).expect(0);
}

/// Writes hidden pages with the same words, tags, types, titles, slugs, links and languages.
fn put_hidden_pages(home: &TestHome) {
    for source in ["default", "secret"] {
        put(
            home,
            source,
            "people/ada",
            "---\ntitle: Ada Lovelace\ntype: person\ntags: [math, hush]\n---\n[[mine:acme]] [[mine:people/ada]] [[people/ghost]]\n\n\
             ## Timeline\n\n- **2026-01-03** | hid\n",
        );
        put(
            home,
            source,
            "people/ghost",
            "---\ntitle: Ghost\ntype: person\naliases: [Acme]\n---\nHarbour of [[mine:acme|Acme]].\n",
        );
        put(
            home,
            source,
            "plan",
            "---\ntitle: Plan\ntags: [boats]\n---\nA takeover of Acme by the mill.\n",
        );
        put(
            home,
            source,
            "notes/deutsch",
            "Der alte Hafen ist nicht mehr in der Stadt, und die Boote sind weg.\n",
        );
        for n in 0..25 {
            let text = format!(
                "---\ntitle: Harbour {n}\n---\nharbour mill vessel automobile bread bo{n} ha{n}\n"
            );
            put(home, source, &format!("notes/n{n}"), &text);
        }
        put(home, source, "notes/n3", "changed: harbour, harbour, harbour\n");
        home.brain(["delete", "notes/n4", "--source", source]).expect(0);
        home.brain(["delete", "plan", "--source", source]).expect(0);
    }
    home.json(["capture", "harbour boats 1 and bread"]);
}

/// Calls every tool and route that a token for `mine` can reach; returns requests with answers.
fn all_answers(home: &TestHome, token: &str, job: &str) -> Vec<(String, String)> {
    let client = mcp(home, token);
    let mut told = Vec::new();
    let mut ask = |method: &str, params: Value| -> Value {
        let answer = client.ask(method, params.clone());
        // The status tells the time, which goes on.
        let now = answer["result"]["structuredContent"]["now"].as_str().unwrap_or("(no time)");
        told.push((format!("{method} {params}"), answer.to_string().replace(now, "NOW")));
        answer
    };
    ask("tools/list", json!({}));
    ask("prompts/list", json!({}));
    ask("prompts/get", json!({ "name": "brief", "arguments": { "topic": "harbour" } }));
    ask("resources/templates/list", json!({}));
    ask("resources/list", json!({}));
    for uri in ["people/ada", "people/ghost", "secret:plan", "notes/n7", "default:people/ada"] {
        ask("resources/read", json!({ "uri": format!("brain://page/{uri}") }));
    }
    let template = json!({ "type": "ref/resource", "uri": "brain://page/{+slug}" });
    for typed in ["", "p", "people/", "secret:", "default:p", "mine:notes/"] {
        ask(
            "completion/complete",
            json!({ "ref": template, "argument": { "name": "slug", "value": typed } }),
        );
    }
    let person = json!({ "type": "ref/prompt", "name": "prep_meeting" });
    for typed in ["", "a", "g"] {
        ask(
            "completion/complete",
            json!({ "ref": person, "argument": { "name": "person", "value": typed } }),
        );
    }
    let mut tool = |name: &str, arguments: Value| -> Value {
        ask("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    for question in [
        "harbour",
        "harbour mill",
        "harbour boats bread",
        "h*",
        "bo*",
        "ha* mill",
        "\"old harbour\"",
        "title:harbour",
        "harbour -mill",
        "-h* vessel",
        "tag:math",
        "tag:hush",
        "type:person",
        "acme",
        "takeover",
        "absent",
        "who founded Acme",
        "people at Acme",
        "who knows Ghost",
        "source:secret harbour",
        "Hafen Boote",
        "vehicle",
        "ship",
        "loaf on the sill",
        "latest harbour",
    ] {
        for limit in [3, 50] {
            tool("query", json!({ "query": question, "limit": limit, "format": "detailed" }));
        }
        tool("search", json!({ "query": question }));
    }
    tool("query", json!({ "query": "harbour", "source_id": "mine" }));
    tool("query", json!({ "query": "harbour", "source_id": "secret" }));
    tool("query", json!({ "query": "harbour", "type": "person", "tags": ["math"] }));
    let mut cursor = Value::Null;
    for _ in 0..3 {
        let listed = tool("list_pages", json!({ "limit": 4, "cursor": cursor }));
        cursor = listed["result"]["structuredContent"]["next_cursor"].clone();
    }
    for arguments in [
        json!({ "sort": "slug", "limit": 4 }),
        json!({ "tag": "math" }),
        json!({ "tag": "hush" }),
        json!({ "type": "person" }),
        json!({ "prefix": "people/" }),
        json!({ "source_id": "secret" }),
    ] {
        tool("list_pages", arguments);
    }
    let include = json!(["links", "backlinks", "timeline", "frontmatter", "versions"]);
    for slug in [
        "people/ada",
        "acme",
        "people/ghost",
        "people/gohst",
        "notes/n7",
        "secret:plan",
        "secret:nothing",
        "default:people/ada",
        "none:a",
        "harbour",
    ] {
        tool("get_page", json!({ "slug": slug, "include": include }));
        tool("fetch", json!({ "id": slug }));
        for depth in [1, 3] {
            tool("get_links", json!({ "slug": slug, "depth": depth }));
        }
        tool("get_timeline", json!({ "slug": slug }));
    }
    tool("get_timeline", json!({}));
    tool("collector_digest", json!({}));
    tool("brain_status", json!({}));
    // Writes that change nothing or are refused.
    tool("capture", json!({ "content": "captured by me\n" }));
    tool("capture", json!({ "content": "x", "source_id": "secret" }));
    tool("put_page", json!({ "slug": "acme", "content": "x\n" }));
    tool("put_page", json!({ "slug": "secret:plan", "content": "x\n" }));
    tool("edit_page", json!({ "slug": "people/ghost", "operation": "append", "content": "x" }));
    tool(
        "edit_page",
        json!({ "slug": "acme", "operation": "append", "content": "x", "dry_run": true }),
    );
    tool(
        "add_timeline_entry",
        json!({ "slug": "people/ada", "date": "2026-01-02", "text": "met Bo" }),
    );
    tool("delete_page", json!({ "slug": "people/ghost" }));
    tool("delete_page", json!({ "slug": "secret:plan" }));
    tool("restore_page", json!({ "slug": "plan" }));
    tool("restore_page", json!({ "slug": "secret:plan" }));

    let bearer = format!("Bearer {token}");
    let mut call = |method: &str, path: &str, source: &str, body: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "text/plain"),
            ("X-Brain-Source-Id", source),
        ];
        let headers = if source.is_empty() { &headers[..2] } else { &headers[..] };
        let answer = http::call(home.http_local(), method, path, headers, body.as_bytes());
        let asked = format!("{method} {path} {source}");
        told.push((asked, format!("{} {}", answer.status, answer.text())));
    };
    call("POST", "/ingest", "mine", "sent by me");
    call("POST", "/ingest", "", "sent by me");
    for source in ["secret", "default", "none"] {
        call("POST", "/ingest", source, "harbour");
    }
    call("GET", &format!("/ingest/{job}"), "", "");
    for path in [
        "/ingest/job_1",
        "/ingest/job_2",
        "/ingest/job_3",
        "/ingest/job_999",
        "/health",
        "/openapi.json",
        "/admin/api/status",
        "/admin/api/jobs",
        "/page/people/ghost",
        "/.well-known/oauth-protected-resource",
        "/nothing",
    ] {
        call("GET", path, "", "");
    }
    // The daemon's port changes with each start.
    let here = home.http_local().to_string();
    told.into_iter().map(|(asked, answer)| (asked, answer.replace(&here, "HERE"))).collect()
}

/// Waits until all pages are indexed and have vectors.
fn settle(home: &TestHome) {
    let until = Instant::now() + PATIENCE;
    while home.status().index_behind > 0 || home.json(["model", "list"])["missing"] != 0 {
        assert!(Instant::now() < until, "it does not come to rest");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn compare(before: &[(String, String)], after: &[(String, String)], when: &str) {
    assert_eq!(before.len(), after.len(), "{when}");
    for ((asked, old), (again, new)) in before.iter().zip(after) {
        assert_eq!((asked, old), (again, new), "{when}");
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
    let sent = http::ingest(home.http_local(), &token, "sent by me").expect(202).json();
    let job = sent["job_id"].as_str().unwrap().to_owned();
    home.json(["embed", "--stale"]);
    settle(&home);
    let until = Instant::now() + PATIENCE;
    while home.json(["jobs", "show", &job])["status"] != "stored" {
        assert!(Instant::now() < until, "the item becomes a page");
        std::thread::sleep(Duration::from_millis(50));
    }
    home.json(["embed", "--stale"]);
    settle(&home);
    let before = all_answers(&home, &token, &job);
    // The OpenAPI document describes results by meaning.
    let answers = || before.iter().filter(|(asked, _)| !asked.contains("openapi.json"));
    let with = |what: &str| {
        let answers = answers().filter(|(_, answer)| answer.contains(what));
        answers.map(|(asked, _)| asked.as_str()).collect::<Vec<_>>()
    };
    assert!(with("notes/harbour").len() > 20, "the answers contain pages");
    assert!(!with("meaning").is_empty(), "pages are found by meaning, too");
    compare(&before, &all_answers(&home, &token, &job), "nothing has changed");

    put_hidden_pages(&home);
    compare(&before, &all_answers(&home, &token, &job), "hidden pages have just come in");
    let _ =
        http::ingest(home.http_local(), &home.token("other", "write", &["secret"]), "sent by me")
            .expect(202);
    home.json(["embed", "--stale"]);
    settle(&home);
    compare(&before, &all_answers(&home, &token, &job), "they are indexed and have vectors");
    drop(daemon);
    let _daemon = home.daemon();
    settle(&home);
    compare(&before, &all_answers(&home, &token, &job), "after a new start");
    for source in ["default", "secret"] {
        for n in [1, 2, 5, 6] {
            home.brain(["delete", &format!("notes/n{n}"), "--source", source]).expect(0);
        }
    }
    compare(&before, &all_answers(&home, &token, &job), "after hidden pages were deleted");
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
    let [once, no_once, often, no_often] = times.map(|mut times| {
        times.sort_unstable();
        times[CALLS / 2]
    });
    for (hidden, absent) in [(once, no_once), (often, no_often)] {
        let difference = hidden.abs_diff(absent);
        // The limit is generous for a busy machine; the real difference is a few microseconds.
        assert!(difference < absent / 4 + Duration::from_micros(300), "{hidden:?} and {absent:?}");
    }
}

#[test]
fn sequence_numbers_are_not_shown_to_restricted_callers() {
    let (home, _daemon) = home_with_sources(Vec::new());
    let bound = home.token("bound", "read write", &["mine"]);
    let all = home.token("all", "write", &[]);
    let sent = |token: &str, text: &str| {
        let job = http::ingest(home.http_local(), token, text).expect(202).json();
        let id = job["job_id"].as_str().unwrap().to_owned();
        (id.strip_prefix("job_").unwrap().parse::<u64>().unwrap(), id)
    };
    let (first, id) = sent(&bound, "one");
    let (counted, _) = sent(&all, "elsewhere");
    let (second, _) = sent(&bound, "two");
    assert_eq!(sent(&bound, "one").1, id, "a duplicate has the same one");
    assert!(first.abs_diff(second) > 1000 && counted < 1000, "{first} {counted} {second}");
    let bearer = format!("Bearer {bound}");
    let ask = |id: &str| {
        let headers = [("Authorization", bearer.as_str())];
        http::call(home.http_local(), "GET", &format!("/ingest/{id}"), &headers, b"")
    };
    assert_eq!(ask(&id).expect(200).json()["job_id"], id.as_str());
    // Trying all small numbers finds no page, not even the caller's own.
    for n in 1..=counted + 1 {
        assert_eq!(ask(&format!("job_{n}")).expect(404).error(), "unknown_job");
    }
    // The owner's commands accept both ids.
    assert_eq!(home.json(["jobs", "show", &id])["client"], "token:bound");
    // A cursor of the newest pages does not contain a sequence number either.
    for n in 0..3 {
        put(&home, "mine", &format!("n{n}"), "text\n");
    }
    let client = mcp(&home, &bound);
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let listed =
            client.call("list_pages", json!({ "limit": 2, "prefix": "n", "cursor": cursor }));
        seen.extend(listed["pages"].as_array().unwrap().iter().map(|page| page["slug"].clone()));
        cursor = listed["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
        // A new page in another source does not change the cursor.
        home.put(&format!("hidden/{}", seen.len()), "text\n");
    }
    assert_eq!(seen, ["n2", "n1", "n0"]);
    for n in 0..60 {
        put(&home, "mine", &format!("more/{n}"), "text\n");
    }
    let next =
        client.result("resources/list", json!({}))["nextCursor"].as_str().unwrap().to_owned();
    assert!(next.parse::<u64>().unwrap() > 1 << 40, "{next}");
    let rest = client.result("resources/list", json!({ "cursor": next }));
    assert!(rest["resources"].as_array().unwrap().len() >= 13, "{rest}");
    let forged = client.ask("resources/list", json!({ "cursor": "17" }));
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
}
