//! `search.rerank`: a second model orders the first results, at an endpoint or on this machine.

use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_tests::http::{ReceivedRequest, call};
use brain_tests::{TestHome, slugs, tiny_model};
use serde_json::{Value, json};

/// The word that the fake reranker counts.
const COUNTED_WORD: &str = "because";

/// A reranker that scores a text by the number of times that [`COUNTED_WORD`] occurs in it.
struct FakeReranker {
    base_url: String,
    /// The bodies of all requests.
    bodies: Arc<Mutex<Vec<Value>>>,
    /// Whether the reranker answers only after 30 seconds.
    is_stalled: Arc<Mutex<bool>>,
}

impl FakeReranker {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let bodies = Arc::<Mutex<Vec<Value>>>::default();
        let is_stalled = Arc::<Mutex<bool>>::default();
        let (server_bodies, stalls) = (Arc::clone(&bodies), Arc::clone(&is_stalled));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = ReceivedRequest::read(&stream) else { continue };
                assert_eq!(
                    (request.method.as_str(), request.path.as_str()),
                    ("POST", "/v1/rerank")
                );
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let texts = body["documents"].as_array().unwrap().clone();
                server_bodies.lock().unwrap().push(body);
                if *stalls.lock().unwrap() {
                    std::thread::sleep(Duration::from_secs(30));
                }
                let score = |text: &Value| text.as_str().unwrap().matches(COUNTED_WORD).count();
                let row = |(index, text)| json!({ "index": index, "relevance_score": score(text) });
                let rows: Vec<Value> = texts.iter().enumerate().map(row).collect();
                let answer =
                    json!({ "results": rows, "usage": { "total_tokens": 100 } }).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    answer.len()
                );
                let _ = stream.write_all((head + &answer).as_bytes());
            }
        });
        Self { base_url, bodies, is_stalled }
    }

    /// Returns the sent texts of all requests.
    fn texts(&self) -> Vec<String> {
        let bodies = self.bodies.lock().unwrap();
        let texts = bodies.iter().flat_map(|body| body["documents"].as_array().unwrap().clone());
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// Returns a home that uses the reranker, with these further environment variables.
    fn home(&self, variables: &[(&str, &str)]) -> TestHome {
        let mut home = TestHome::new();
        let own = [
            ("BRAIN_SEARCH_RERANK", "endpoint"),
            ("BRAIN_SEARCH_RERANK_MODEL", "judge"),
            ("BRAIN_SEARCH_RERANK_BASE_URL", &self.base_url),
        ];
        let variables = own.iter().chain(variables);
        home.env.extend(variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        home
    }
}

/// Returns the slugs that a search finds, best first.
fn found_slugs(home: &TestHome, question: &str) -> Vec<String> {
    slugs(&home.json(["search", question])["hits"])
}

#[test]
fn an_endpoint_orders_the_first_results() {
    let reranker = FakeReranker::new();
    let home = reranker.home(&[("BRAIN_SEARCH_RERANK_PRICE", "0.02")]);
    let _daemon = home.daemon();
    home.put("notes/many", "Latency latency latency latency.\n");
    home.put("notes/some", "Latency is high, because the queue is long.\n");
    home.put("notes/best", "Nobody likes latency, because because.\n");
    home.put("notes/other", "Nothing of it.\n");
    assert_eq!(found_slugs(&home, "high latency"), ["notes/best", "notes/some", "notes/many"]);
    {
        let bodies = reranker.bodies.lock().unwrap();
        assert_eq!(
            (&bodies[0]["model"], &bodies[0]["query"]),
            (&json!("judge"), &json!("high latency"))
        );
        assert_eq!(bodies[0]["top_n"], 3);
    }
    let explained = home.json(["search", "high latency", "--explain"]);
    let hits = explained["hits"].as_array().unwrap();
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    for hit in hits {
        let parts = hit["explain"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["score"].as_f64().unwrap()).sum();
        assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-2, "{hit}");
        let reason = parts.last().unwrap()["reason"].as_str().unwrap();
        assert!(reason.starts_with("rerank: relevance "), "{hit}");
    }
    // The limit of the results does not change their order.
    let one = home.json(["search", "high latency", "--limit", "1"]);
    assert_eq!(slugs(&one["hits"]), ["notes/best"]);
    let costs = home.json(["costs"]);
    assert!(costs.to_string().contains("rerank"), "{costs}");

    // A page whose name is the question stays first.
    home.put("notes/latency", "---\ntitle: Latency\n---\nA word.\n");
    assert_eq!(found_slugs(&home, "latency")[0], "notes/latency");
    // A query of filters alone calls no reranker.
    let before = reranker.texts().len();
    home.json(["search", "type:note"]);
    assert_eq!(reranker.texts().len(), before);
}

#[test]
fn search_goes_on_without_the_reranker() {
    let reranker = FakeReranker::new();
    let home = reranker.home(&[]);
    let _daemon = home.daemon();
    home.put("notes/many", "Latency latency latency latency.\n");
    home.put("notes/best", "Nobody likes latency, because because.\n");
    assert_eq!(found_slugs(&home, "high latency"), ["notes/best", "notes/many"]);
    *reranker.is_stalled.lock().unwrap() = true;
    let began = Instant::now();
    let answer = home.json(["search", "high latency"]);
    // The daemon waits for 2 seconds; the limit here allows for a busy machine.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(slugs(&answer["hits"]), ["notes/many", "notes/best"]);
    let degraded = answer["degraded"].as_str().unwrap();
    assert!(degraded.starts_with("reranking: the reranker"), "{degraded}");
}

#[test]
fn only_text_that_the_caller_can_see_is_sent() {
    let reranker = FakeReranker::new();
    let home = reranker.home(&[]);
    let _daemon = home.daemon();
    let work = home.outside().join("work");
    std::fs::create_dir_all(&work).unwrap();
    home.json(["sources", "add", "work", "--path", work.to_str().unwrap()]);
    home.put("notes/one", "Latency of the first kind.\n");
    home.put("notes/two", "Latency of the second kind, because.\n");
    home.put("work:secret", "Latency hidden, because because because.\n");
    let bearer = format!("Bearer {}", home.token("phone", "read", &["default"]));
    let headers = [("Authorization", bearer.as_str())];
    let hits = call(home.http_local(), "GET", "/search?q=latency+kind", &headers, b"");
    assert_eq!(slugs(&hits.expect(200).json()["hits"]), ["notes/two", "notes/one"]);
    let sent_texts = reranker.texts();
    assert!(
        sent_texts.len() == 2 && sent_texts.iter().all(|text| !text.contains("hidden")),
        "{sent_texts:?}"
    );
}

#[test]
fn a_local_reranker_needs_no_embedding_model() {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_SEARCH_RERANK".into(), "local".into()));
    let _daemon = home.daemon();
    home.put("notes/one", "The boat and the car, a boat.\n");
    home.put("notes/two", "A ship , the boat , at the sea in a storm of bread.\n");
    home.put("notes/three", "Money for the teacher with the boat.\n");
    let plain = home.json(["search", "boat money"]);
    let degraded = plain["degraded"].as_str().unwrap();
    assert!(degraded.contains("no reranker is installed"), "{degraded}");

    let dir = home.outside().join("judge");
    tiny_model::write_reranker(&dir, 7);
    let installed = home.json(["model", "install", dir.to_str().unwrap()]);
    assert!(installed["message"].as_str().unwrap().contains("search.rerank"), "{installed}");
    // A reranker makes no vectors, so search by meaning is still off.
    let list = home.json(["model", "list"]);
    assert_eq!(
        (&list["provider"], &list["installed"][0]["name"]),
        (&json!("none"), &json!("judge"))
    );
    let answer = home.json(["search", "boat money", "--explain"]);
    assert!(answer["degraded"].is_null(), "{answer}");
    let numbers: Vec<f32> = answer["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| {
            let reason = hit["explain"].as_array().unwrap().last().unwrap()["reason"].clone();
            let rest =
                reason.as_str().unwrap().strip_prefix("rerank: relevance ").unwrap().to_owned();
            rest.split(',').next().unwrap().parse().unwrap()
        })
        .collect();
    assert_eq!(numbers.len(), 3);
    assert!(
        numbers.is_sorted_by(|one, other| one >= other) && numbers[0] > numbers[2],
        "{numbers:?}"
    );
}
