//! Floods of unfinished requests: the listener keeps answering other clients, and each client has
//! limits.
//!
//! The floods use loopback only and are finite.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_tests::http::{Wire, call, get, ingest, request};
use brain_tests::mcp::mcp;
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome, can_open_files};
use serde_json::json;

/// Maximum median duration of a call of `/health` during a flood. Without a flood, a call takes
/// about a millisecond, and [`MAX_SLOWDOWN`] applies where it takes longer.
const MAX_MEDIAN: Duration = Duration::from_millis(200);
/// Maximum ratio of the median durations during and before a flood, on a busy machine.
const MAX_SLOWDOWN: u32 = 30;
/// For `BRAIN_HTTP_TIMEOUT`: no half-sent request times out during a test, however slow the machine
/// is.
const NO_TIMEOUT: (&str, &str) = ("BRAIN_HTTP_TIMEOUT", "1h");

/// Starts a daemon with these environment variables.
fn start_daemon(pairs: &[(&str, &str)]) -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let daemon = home.daemon();
    (home, daemon)
}

/// Asserts that `/health` answers while `flood` runs, half of the calls within [`MAX_MEDIAN`]. The
/// daemon needs [`NO_TIMEOUT`]: a call that waits until half-sent requests time out fails.
fn assert_health_during(home: &TestHome, name: &str, flood: impl FnOnce() + Send) {
    let address = home.http_local();
    let call = || {
        let began = Instant::now();
        let _ = get(address, "/health").expect(200);
        began.elapsed()
    };
    let median_of = |durations: &mut Vec<Duration>| {
        durations.sort_unstable();
        durations[durations.len() / 2]
    };
    let usual = median_of(&mut (0..20).map(|_| call()).collect());
    let is_over = AtomicBool::new(false);
    let mut durations: Vec<Duration> = std::thread::scope(|scope| {
        let poller = scope.spawn(|| {
            let mut durations = Vec::new();
            while durations.len() < 10 || !is_over.load(Ordering::Relaxed) {
                durations.push(call());
                std::thread::sleep(Duration::from_millis(20));
            }
            durations
        });
        flood();
        is_over.store(true, Ordering::Relaxed);
        poller.join().unwrap()
    });
    let (median, longest) = (median_of(&mut durations), durations[durations.len() - 1]);
    let count = durations.len();
    let result = format!("{name}: /health {count} times, {usual:?}, then {median:?}, {longest:?}");
    eprintln!("{result}");
    assert!(median < MAX_MEDIAN.max(usual * MAX_SLOWDOWN), "{result}");
}

/// Asserts that the daemon evicts this connection with an unfinished body. If the client has sent
/// bytes that the daemon did not read, the answer may be lost.
fn assert_evicted(wire: &mut Wire) {
    if let Some(answer) = wire.answer_to("POST") {
        assert_eq!(answer.expect(503).error(), "busy");
    }
}

#[test]
fn health_answers_during_unauthenticated_floods() {
    let (home, _daemon) = start_daemon(&[NO_TIMEOUT]);
    let address = home.http_local();
    let head = |path| request(address, "POST", path, &[("Content-Length", "60000")], b"");
    // Two paths that read a body before authentication, and one that does not.
    let heads = ["/token", "/admin/login", "/token", "/ingest"].map(head);
    assert_health_during(&home, "150 connections a second without a token", || {
        let mut open = Vec::new();
        for n in 0..1500 {
            let began = Instant::now();
            let mut wire = Wire::open(address);
            wire.send(&heads[n % heads.len()]);
            wire.send("half of");
            open.push(wire);
            std::thread::sleep((Duration::from_secs(1) / 150).saturating_sub(began.elapsed()));
        }
        assert_evicted(&mut open[0]);
    });
}

#[test]
fn health_answers_during_authenticated_floods() {
    let count = 5000;
    if !can_open_files(6000) {
        return;
    }
    let (home, _daemon) = start_daemon(&[("BRAIN_INGEST_RATE", "off"), NO_TIMEOUT]);
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    let bearer = format!("Bearer {token}");
    let fields = [
        ("Authorization", &*bearer),
        ("Content-Type", "text/plain"),
        ("Content-Length", "1000000"),
    ];
    let head = request(address, "POST", "/ingest", &fields, b"");
    assert_health_during(&home, "5,000 connections with a token", || {
        let mut open = Vec::new();
        for n in 0..count {
            // A thousand per second, because this does not test the kernel's queue.
            if n % 50 == 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
            let mut wire = Wire::open(address);
            wire.send(&head);
            wire.send("half of");
            open.push(wire);
        }
        // All connections stay open and send nothing more.
        std::thread::sleep(Duration::from_secs(2));
        assert_evicted(&mut open[0]);
    });
    assert_eq!(
        home.status().pages + home.status().jobs.waiting,
        0,
        "no unfinished body was stored"
    );
    let _ = ingest(address, &token, "the same client continues").expect(202);
}

#[test]
fn a_flood_of_one_client_does_not_end_other_uploads() {
    let (home, _daemon) =
        start_daemon(&[("BRAIN_HTTP_CONNECTIONS", "32"), ("BRAIN_INGEST_RATE", "off"), NO_TIMEOUT]);
    let address = home.http_local();
    let request_head = |token_name: &str, length: &str, more: &[(&str, &str)]| {
        let bearer = format!("Bearer {}", home.token(token_name, "write", &[]));
        let mut fields = vec![("Authorization", &*bearer), ("Content-Type", "text/plain")];
        fields.push(("Content-Length", length));
        fields.extend(more);
        request(address, "POST", "/ingest", &fields, b"")
    };
    let mut slow = Wire::open(address);
    slow.send(request_head("slow", "10", &[("Expect", "100-continue")]));
    slow.expect_continue();
    slow.send("12345");
    let flood = request_head("floods", "1000", &[]);
    let mut open: Vec<Wire> = (0..100)
        .map(|_| {
            let mut wire = Wire::open(address);
            wire.send(&flood);
            wire.send("half of");
            wire
        })
        .collect();
    // Unauthenticated clients must not end the slow upload either.
    for _ in 0..100 {
        let mut wire = Wire::open(address);
        wire.send(request(address, "POST", "/token", &[("Content-Length", "1000")], b""));
        open.push(wire);
    }
    // A full listener would evict the oldest upload, if it is slow for two seconds.
    std::thread::sleep(Duration::from_secs(4));
    slow.send("67890");
    let _ = slow.answer().expect(202);
    assert_evicted(&mut open[0]);
}

#[test]
fn evicted_uploads_get_an_error() {
    let (home, _daemon) =
        start_daemon(&[("BRAIN_HTTP_CONNECTIONS", "8"), ("BRAIN_INGEST_RATE", "off"), NO_TIMEOUT]);
    let address = home.http_local();
    let bearer = format!("Bearer {}", home.token("t", "write", &[]));
    let fields = [
        ("Authorization", &*bearer),
        ("Content-Type", "text/plain"),
        ("Content-Length", "1000"),
        ("Expect", "100-continue"),
    ];
    let mut open: Vec<Wire> = (0..5)
        .map(|_| {
            let mut wire = Wire::open(address);
            wire.send(request(address, "POST", "/ingest", &fields, b""));
            // The next upload begins after this one, so the first is the oldest.
            wire.expect_continue();
            wire.send("half of");
            wire
        })
        .collect();
    let answer = open[0].answer().expect(503);
    assert_eq!((answer.error(), answer.header("connection")), ("busy".to_owned(), Some("close")));
    assert!(answer.header("retry-after").is_some());
    drop(open);
}

#[test]
fn half_sent_mcp_messages_do_not_block_a_large_one() {
    let (home, _daemon) = start_daemon(&[("BRAIN_INGEST_RATE", "off"), NO_TIMEOUT]);
    let address = home.http_local();
    let bearer = format!("Bearer {}", home.token("reader", "read", &[]));
    let fields = [
        ("Authorization", &*bearer),
        ("Content-Type", "application/json"),
        ("Content-Length", "8000000"),
        ("Expect", "100-continue"),
    ];
    // Together they announce more bytes than the daemon admits in large messages.
    let head = request(address, "POST", "/mcp", &fields, b"");
    let mut open: Vec<Wire> = (0..20)
        .map(|_| {
            let mut wire = Wire::open(address);
            wire.send(&head);
            wire.expect_continue();
            wire.send("{");
            wire
        })
        .collect();
    let long = "word ".repeat(100_000);
    let client = mcp(&home, &home.token("writer", "write", &[]));
    let put = client.call("put_page", json!({ "slug": "long", "content": long }));
    assert_eq!(put["status"], "created", "{put}");
    assert_eq!(home.get("long")["body"], long);
    // The half-sent messages are still in progress: the end of one gets its answer.
    open[0].send(vec![b' '; 7_999_999]);
    assert!(open[0].answer().expect(400).text().contains("-32700"));
}

#[test]
fn writing_over_mcp_is_limited_like_ingest() {
    let (home, _daemon) =
        start_daemon(&[("BRAIN_INGEST_RATE", "2/1h"), ("BRAIN_SEARCH_RATE", "5/1h")]);
    let address = home.http_local();
    let token = home.token("t", "read write", &[]);
    let client = mcp(&home, &token);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let put = |slug: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "put_page", "arguments": { "slug": slug, "content": "text" } } })
    };
    let _ = client.post(&message).expect(200);
    let _ = client.post(&put("one")).expect(200);
    let _ = ingest(address, &token, "the second text").expect(202);
    let refused = client.post(&put("two")).expect(429);
    assert_eq!(refused.error(), "rate_limited");
    assert!(refused.header("retry-after").is_some());
    // Reading has a limit of its own: each message to /mcp counts.
    for _ in 0..2 {
        let _ = client.post(&message).expect(200);
    }
    let _ = client.post(&message).expect(429);
    let _ = mcp(&home, &home.token("other", "read", &[])).post(&message).expect(200);
}

#[test]
fn a_client_has_a_quota_of_pages_and_bytes() {
    let (home, _daemon) =
        start_daemon(&[("BRAIN_INGEST_DAILY_PAGES", "3"), ("BRAIN_INGEST_DAILY_BYTES", "100000")]);
    let address = home.http_local();
    let token = home.token("t", "read write", &[]);
    let client = mcp(&home, &token);
    let _ = ingest(address, &token, "one").expect(202);
    // Duplicates and rejected items do not count.
    assert_eq!(ingest(address, &token, "one").expect(202).json()["status"], "duplicate");
    let _ = ingest(address, &token, " ").expect(400);
    let _ = ingest(address, &token, "two").expect(202);
    let put = |slug: &str| {
        json!({ "name": "put_page",
        "arguments": { "slug": slug, "content": "text" } })
    };
    let call = |params| {
        client.post(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }))
    };
    let _ = call(put("three")).expect(200);
    let refused = call(put("four")).expect(429);
    let answer = refused.json();
    assert_eq!(
        (&answer["id"], &answer["error"]["data"]["error"]),
        (&json!(7), &json!("quota_exceeded"))
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("3 pages a day") && message.contains("ingest.daily_pages"),
        "{message}"
    );
    let refused = ingest(address, &token, "five").expect(429);
    assert_eq!(refused.error(), "quota_exceeded");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&wait), "{wait}");
    let _ = call(json!({ "name": "list_pages", "arguments": {} })).expect(200);
    // Each client has its own quota.
    let other = home.token("other", "write", &[]);
    let large = ingest(address, &other, &"large ".repeat(17_000)).expect(429);
    assert!(large.json()["message"].as_str().unwrap().contains("ingest.daily_bytes"), "{large:?}");
    let _ = ingest(address, &other, "small").expect(202);
}

#[test]
fn missing_tokens_always_get_401() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_PUBLIC", "127.0.0.1:0")]);
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    } });
    let json =
        [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    for address in [home.http_public(), home.http_local()] {
        for _ in 0..150 {
            let answer =
                call(address, "POST", "/mcp", &json, initialize.to_string().as_bytes()).expect(401);
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(
                challenge.contains("resource_metadata=") && !challenge.contains("error="),
                "{challenge}"
            );
        }
    }
}

#[test]
fn wrong_tokens_do_not_affect_other_clients() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_PUBLIC", "127.0.0.1:0")]);
    let (local, public) = (home.http_local(), home.http_public());
    let status_of = |address, token: &str| ingest(address, token, "x").status;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while status_of(public, "brain_pt_wrong-token") != 429 {
        assert!(Instant::now() < deadline, "the failures are never limited");
    }
    assert_eq!(
        status_of(public, "brain_pt_ended-token"),
        401,
        "another wrong token still gets 401, which makes a client renew its token"
    );
    assert_eq!(
        status_of(local, "brain_pt_wrong-token"),
        401,
        "each listener counts its own failures"
    );
    let _ = ingest(public, &home.token("right", "write", &[]), "x").expect(202);
}
