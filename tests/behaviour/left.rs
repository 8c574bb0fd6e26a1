//! `brain left`: every request to another host is listed, as a capturing server received it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use brain_tests::embedding::{Behaviour, FakeEmbedding};
use brain_tests::{TestHome, wait_for};
use serde_json::{Value, json};

use crate::meaning_endpoint::wait_for_vectors;

/// A request as a server received it: its port, the length of its body, whether it had a key.
type Captured = (u16, u64, bool);

/// A server that captures its requests.
struct CapturingServer {
    address: SocketAddr,
}

impl CapturingServer {
    /// Starts a server. `answer` gets the number of the request, from 0, and its body, and returns
    /// the status line with further headers, and the body.
    fn start(
        captured: Arc<Mutex<Vec<Captured>>>,
        answer: impl Fn(usize, &[u8]) -> (String, String) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (nth, mut stream) in listener.incoming().map_while(Result::ok).enumerate() {
                let (head, body) = read_request(&mut stream);
                let has_key = head.to_ascii_lowercase().contains("\r\nauthorization:");
                captured.lock().unwrap().push((address.port(), body.len() as u64, has_key));
                let (status, text) = answer(nth, &body);
                let length = text.len();
                let _ = stream.write_all(
                    format!(
                        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n\
                         {text}"
                    )
                    .as_bytes(),
                );
            }
        });
        Self { address }
    }
}

fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.to_ascii_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length: ").and_then(|length| length.trim().parse().ok())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

/// Returns vectors for the texts of a request.
fn vectors(body: &[u8]) -> String {
    let request: Value = serde_json::from_slice(body).unwrap();
    let count = request["input"].as_array().unwrap().len();
    let row = |index| json!({ "index": index, "embedding": [1.0, 0.5, 0.25, 0.125] });
    json!({ "data": (0..count).map(row).collect::<Vec<_>>() }).to_string()
}

/// Returns the listed requests, oldest first.
fn left(home: &TestHome, arguments: &[&str]) -> Vec<Value> {
    let all = [&["left", "--limit", "1000"][..], arguments].concat();
    let mut requests = home.json(all)["requests"].as_array().unwrap().clone();
    requests.reverse();
    requests
}

#[test]
fn redirects_and_retries_are_listed_as_a_capturing_server_sees_them() {
    let captured: Arc<Mutex<Vec<Captured>>> = Arc::default();
    let second = CapturingServer::start(captured.clone(), |nth, body| match nth {
        0 | 1 => ("503 Service Unavailable".into(), "later".into()),
        _ => ("200 OK\r\nContent-Type: application/json".into(), vectors(body)),
    });
    let target = format!("http://localhost:{}/v1/embeddings", second.address.port());
    let first = CapturingServer::start(captured.clone(), move |_, _| {
        (format!("307 Temporary Redirect\r\nLocation: {target}"), String::new())
    });
    let mut home = TestHome::new();
    home.env.extend([
        ("BRAIN_EMBEDDING_PROVIDER".to_owned(), "openai".to_owned()),
        ("BRAIN_EMBEDDING_BASE_URL".to_owned(), format!("http://{}/v1", first.address)),
        ("BRAIN_EMBEDDING_MODEL".to_owned(), "small".to_owned()),
        ("BRAIN_EMBEDDING_API_KEY".to_owned(), "sk-test-key".to_owned()),
    ]);
    let daemon = home.daemon();
    home.put("notes/garage", "# Garage\n\nThe automobile stands in the yard and rusts.\n");
    home.put("notes/harbour", "# Harbour\n\nA vessel waits for better weather.\n");
    home.json(["embed", "--stale"]);
    wait_for_vectors(&home);
    home.search("a vehicle");

    let check = |requests: &[Value]| {
        let mut seen: Vec<Captured> = captured.lock().unwrap().clone();
        assert!(seen.iter().all(|(port, _, has_key)| *has_key == (*port == first.address.port())));
        let mut listed: Vec<Captured> = requests
            .iter()
            .map(|it| {
                let port = it["port"].as_u64().unwrap() as u16;
                (port, it["sent"].as_u64().unwrap(), port == first.address.port())
            })
            .collect();
        seen.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, seen, "{requests:#?}");
        // The first call: a redirect, two refusals, an answer.
        let call = &requests[0]["call"];
        let of_call = requests.iter().filter(|it| it["call"] == *call);
        let lines: Vec<(&str, u64)> = of_call
            .map(|it| (it["host"].as_str().unwrap(), it["status"].as_u64().unwrap()))
            .collect();
        let (one, two) = ("127.0.0.1", "localhost");
        assert_eq!(lines, [(one, 307), (two, 503), (two, 503), (two, 200)]);
        assert!(requests.iter().all(|it| it["purpose"] == "embedding"));
    };
    check(&left(&home, &[]));
    let of_page = left(&home, &["--page", "notes/harbour"]);
    assert!(!of_page.is_empty());
    assert!(of_page.iter().all(|it| it["pages"].to_string().contains("notes/harbour")));
    assert!(left(&home, &["--host", "nowhere.example"]).is_empty());
    // After the end, all lines are in the store.
    daemon.terminate();
    assert_eq!(std::fs::read_to_string(home.path().join("left.jsonl")).unwrap(), "");
    home.env.push(("BRAIN_EMBEDDING_PROVIDER".to_owned(), "none".to_owned()));
    let _daemon = home.daemon();
    check(&left(&home, &[]));
}

#[test]
fn a_request_whose_end_is_not_known_says_so() {
    let endpoint = FakeEmbedding::default();
    endpoint.set_behaviour(Behaviour::Stall);
    let mut home = TestHome::new();
    home.env.extend(endpoint.variables("small"));
    let daemon = home.daemon();
    home.put("notes/garage", "# Garage\n\nThe automobile stands in the yard and rusts.\n");
    wait_for("a request", || endpoint.call_count() > 0);
    let outcomes = |home: &TestHome| {
        let all = left(home, &[]);
        all.iter().map(|it| it["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(outcomes(&home).contains(&"open".to_owned()));
    daemon.kill();
    home.env.push(("BRAIN_EMBEDDING_PROVIDER".to_owned(), "none".to_owned()));
    let _daemon = home.daemon();
    assert!(outcomes(&home).contains(&"unknown".to_owned()), "{:?}", outcomes(&home));
}

#[test]
fn a_purged_page_leaves_a_line_without_its_name() {
    let endpoint = FakeEmbedding::default();
    let mut home = TestHome::new();
    home.env.extend(endpoint.variables("small"));
    let _daemon = home.daemon();
    home.put("secret-harbour", "# Harbour\n\nA vessel waits for better weather.\n");
    home.json(["embed", "--stale"]);
    let before = left(&home, &["--page", "secret-harbour"]);
    assert!(!before.is_empty());
    home.json(["purge", "secret-harbour", "--now", "--yes"]);
    let after = left(&home, &[]);
    assert!(!json!(after).to_string().contains("secret-harbour"));
    let same = after.iter().find(|it| it["id"] == before[0]["id"]).unwrap();
    assert_eq!((&same["sent"], &same["purged_pages"]), (&before[0]["sent"], &json!(1)));
}

#[test]
fn programs_are_named_because_they_may_send() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let dir = home.outside();
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("table.csv"), "name,port\nada,7\n").unwrap();
    home.json(["import".as_ref(), dir.as_os_str()]);
    let programs: Vec<Value> =
        left(&home, &[]).into_iter().filter(|it| it["kind"] == "program").collect();
    assert!(programs.iter().any(|it| it["host"] == "brain-convert"), "{programs:?}");
    assert!(programs.iter().all(|it| it["outcome"] == "ended"), "{programs:?}");
    let table = home.brain(["left"]).expect(0).stdout;
    assert!(table.contains("may send by itself"), "{table}");
}
