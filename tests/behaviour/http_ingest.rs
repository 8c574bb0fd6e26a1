//! `POST /ingest`: authentication, accepted content, and the order of checks.

use std::time::{Duration, Instant};

use brain_tests::http::{Answer, Wire, call, get, ingest, request};
use brain_tests::{Daemon, TEST_TIMEOUT, TestHome};

/// A daemon, and a token `sender` that may read and write.
struct Sender {
    home: TestHome,
    _daemon: Daemon,
    token: String,
}

impl Sender {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(pairs: &[(&str, &str)]) -> Self {
        let mut home = TestHome::new();
        home.env
            .extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let daemon = home.daemon();
        let token = home.token("sender", "read write", &[]);
        Self { home, _daemon: daemon, token }
    }

    fn post(&self, fields: &[(&str, &str)], body: &[u8]) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("Authorization", &*bearer)];
        all.extend(fields);
        call(self.home.http_local(), "POST", "/ingest", &all, body)
    }

    /// Polls `GET /ingest/{id}` with this token until the item is processed. Returns its job.
    fn wait_for_job(&self, token: &str, id: &str) -> serde_json::Value {
        let bearer = format!("Bearer {token}");
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let path = format!("/ingest/{id}");
            let job =
                call(self.home.http_local(), "GET", &path, &[("Authorization", &bearer)], b"")
                    .expect(200)
                    .json();
            if !matches!(job["status"].as_str(), Some("queued" | "processing" | "retrying")) {
                return job;
            }
            assert!(Instant::now() < deadline, "{job}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

const PLAIN: (&str, &str) = ("Content-Type", "text/plain");

#[test]
fn ingested_content_becomes_a_page() {
    let sender = Sender::new();
    let fields = [
        ("Content-Type", "text/markdown; charset=utf-8"),
        ("X-Brain-Title", "Grüße"),
        ("X-Brain-Type", "note"),
        ("X-Brain-Slug", "letters/one"),
        ("X-Brain-Source-Uri", "https://example.org/1"),
    ];
    let accepted = sender.post(&fields, "Ein Brief über Otter".as_bytes()).expect(202).json();
    assert_eq!(accepted["status"], "queued");
    assert_eq!(accepted["source_id"], "default");
    assert_eq!(accepted["content_hash"].as_str().unwrap().len(), 64);
    let job = sender.wait_for_job(&sender.token, accepted["job_id"].as_str().unwrap());
    assert_eq!((&job["status"], &job["slug"]), (&"stored".into(), &"letters/one".into()), "{job}");
    let page = sender.home.get("letters/one");
    assert_eq!((&page["title"], &page["type"]), (&"Grüße".into(), &"note".into()), "{page}");
    assert_eq!(sender.home.search("Otter"), ["letters/one"]);
    let again = sender.post(&fields, "Ein Brief über Otter".as_bytes()).expect(202).json();
    assert_eq!((&again["status"], &again["job_id"]), (&"duplicate".into(), &accepted["job_id"]));
    let other = sender.home.token("other", "read", &[]);
    let path = format!("/ingest/{}", accepted["job_id"].as_str().unwrap());
    let show_job = |token: &str| {
        call(
            sender.home.http_local(),
            "GET",
            &path,
            &[("Authorization", &format!("Bearer {token}"))],
            b"",
        )
    };
    assert_eq!(
        show_job(&other).expect(404).error(),
        "unknown_job",
        "a client cannot see jobs of other clients"
    );
    assert_eq!(
        call(sender.home.http_local(), "GET", &path, &[], b"").expect(401).error(),
        "invalid_token"
    );
}

#[test]
fn only_complete_tokens_are_accepted() {
    let sender = Sender::new();
    let (address, token) = (sender.home.http_local(), &sender.token);
    let metadata =
        format!("resource_metadata=\"http://{address}/.well-known/oauth-protected-resource\"");
    let absent = call(address, "POST", "/ingest", &[PLAIN], b"x").expect(401);
    let challenge = absent.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("Bearer ") && challenge.contains(&metadata), "{challenge}");
    assert!(
        challenge.contains("scope=\"read write\"") && !challenge.contains("error="),
        "{challenge}"
    );
    let long = format!("Bearer {}", "a".repeat(9000));
    for field in [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "bearer",
        token,
        &format!("Basic {token}"),
        &format!("Token {token}"),
        &format!("Bearer{token}"),
        &format!("Bearer {token}x"),
        &format!("Bearer {}", &token[..token.len() - 1]),
        &format!("Bearer {} {token}", &token[..4]),
        &format!("Bearer {token}, Bearer {token}"),
        &format!("Bearer \"{token}\""),
        &format!("Bearer {}", token.to_uppercase()),
        &format!("Bearer {token}%00"),
        "Bearer \u{1f600}",
        "Bearer ../../secrets/admin-token",
        "Bearer ' OR 1=1 --",
        "Bearer ====",
        &long,
    ] {
        let answer =
            call(address, "POST", "/ingest", &[PLAIN, ("Authorization", field)], b"x").expect(401);
        assert_eq!(answer.error(), "invalid_token", "{field}");
        assert!(
            answer.header("www-authenticate").unwrap().contains("error=\"invalid_token\""),
            "{field}"
        );
        assert!(!answer.text().contains(token.as_str()));
    }
    let query = call(address, "POST", &format!("/ingest?access_token={token}"), &[PLAIN], b"x");
    assert_eq!(query.expect(401).error(), "invalid_token", "a token in the URL was accepted");
    let _ = call(
        address,
        "POST",
        "/ingest",
        &[PLAIN, ("authorization", &format!("bEaReR {token}"))],
        b"x",
    )
    .expect(202);
    assert!(!sender.home.log().contains(token.as_str()));
}

#[test]
fn grants_limit_scope_and_sources() {
    let sender = Sender::new();
    let address = sender.home.http_local();
    let notes = sender.home.outside().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    let _ = sender.home.json(["sources", "add", "work", "--path", notes.to_str().unwrap()]);
    let reader = sender.home.token("reader", "read", &[]);
    let refused = ingest(address, &reader, "x").expect(403);
    assert_eq!(refused.error(), "insufficient_scope");
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"write\""),
        "{challenge}"
    );
    let worker = sender.home.token("worker", "write", &["work"]);
    let send = |token: &str, source: &str| {
        let bearer = format!("Bearer {token}");
        let fields = [("Authorization", &*bearer), PLAIN, ("X-Brain-Source-Id", source)];
        call(address, "POST", "/ingest", &fields, format!("for {source}").as_bytes())
    };
    assert_eq!(send(&worker, "work").expect(202).json()["source_id"], "work");
    assert_eq!(send(&worker, "default").expect(403).error(), "insufficient_scope");
    let unknown = send(&worker, "nowhere").expect(403);
    assert_eq!(
        unknown.error(),
        "insufficient_scope",
        "the answer does not reveal whether the source exists"
    );
    assert_eq!(send(&sender.token, "work").expect(202).json()["source_id"], "work");
    assert_eq!(send(&sender.token, "nowhere").expect(400).error(), "invalid_source");
    assert_eq!(send(&sender.token, "../etc").expect(400).error(), "invalid_source");
}

#[test]
fn blank_content_is_rejected_in_every_form() {
    let sender = Sender::new();
    let (address, token) = (sender.home.http_local(), &sender.token);
    let blank = [
        &b""[..],
        b" ",
        b"\r\n\t ",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf \n",
        "\u{a0}\u{2003}".as_bytes(),
    ];
    for kind in ["text/plain", "text/markdown", "text/html", "application/json"] {
        for body in blank {
            assert_eq!(
                sender.post(&[("Content-Type", kind)], body).expect(400).error(),
                "empty_body",
                "{kind} {body:?}"
            );
        }
    }
    let head = format!(
        "POST /ingest HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer \
            {token}\r\nContent-Type: text/plain\r\n"
    );
    for rest in [
        "\r\n",
        "Content-Length: 0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n \n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nExpect: 100-continue\r\n\r\n",
    ] {
        let mut wire = Wire::open(address);
        wire.send(head.clone() + rest);
        assert_eq!(wire.answer().expect(400).error(), "empty_body", "{rest:?}");
    }
    assert_eq!(sender.home.status().pages + sender.home.status().jobs.waiting, 0);
}

#[test]
fn only_text_content_types_are_accepted() {
    let sender = Sender::new();
    for (kind, body) in [
        ("text/plain", &b"plain one"[..]),
        ("TEXT/PLAIN;charset=\"UTF-8\"", b"plain two"),
        ("text/markdown", b"# markdown"),
        ("text/html; charset=utf-8", b"<title>t</title><p>html</p>"),
        ("application/json", br#"{"text":"from json"}"#),
        ("text/csv", b"a,b"),
    ] {
        let _ = sender.post(&[("Content-Type", kind)], body).expect(202);
    }
    for kind in [
        "application/octet-stream",
        "application/xml",
        "multipart/form-data; boundary=x",
        "nonsense",
        "text/plain; charset=latin1",
    ] {
        assert_eq!(
            sender.post(&[("Content-Type", kind)], b"x").expect(415).error(),
            "unsupported_content_type",
            "{kind}"
        );
    }
    assert_eq!(sender.post(&[], b"x").expect(415).error(), "unsupported_content_type");
    assert_eq!(
        sender.post(&[PLAIN, ("Content-Encoding", "gzip")], b"x").expect(415).error(),
        "unsupported_content_type"
    );
    for kind in ["image/png", "application/pdf"] {
        let refused = sender.post(&[("Content-Type", kind)], b"x").expect(415);
        assert!(refused.text().contains("skill pack"), "{}", refused.text());
    }
    for body in [&b"\xff\xfe"[..], b"a\0b"] {
        assert_eq!(sender.post(&[PLAIN], body).expect(400).error(), "invalid_encoding");
    }
    assert_eq!(
        sender.post(&[("Content-Type", "application/json")], b"{").expect(400).error(),
        "invalid_json"
    );
}

#[test]
fn invalid_fields_are_rejected() {
    let sender = Sender::new();
    let long = "a".repeat(1025);
    for (name, value, error) in [
        ("X-Brain-Slug", "../../etc/passwd", "invalid_slug"),
        ("X-Brain-Slug", "a//b", "invalid_slug"),
        ("X-Brain-Slug", "a\\b", "invalid_slug"),
        ("X-Brain-Slug", "%2e%2e/x", "invalid_slug"),
        ("X-Brain-Slug", "/x", "invalid_slug"),
        ("X-Brain-Source-Id", "A B", "invalid_source"),
        ("X-Brain-Source-Uri", &long, "invalid_request"),
        ("X-Brain-Title", &long, "invalid_request"),
        ("X-Brain-Title", "a\tb", "invalid_request"),
        ("Idempotency-Key", &long[..256], "invalid_request"),
    ] {
        assert_eq!(
            sender.post(&[PLAIN, (name, value)], b"x").expect(400).error(),
            error,
            "{name}: {value:.40}"
        );
    }
    assert_eq!(sender.home.status().pages + sender.home.status().jobs.waiting, 0);
    let _ = sender.post(&[PLAIN, ("X-Brain-Title", ""), ("X-Brain-Slug", " ")], b"x").expect(202);
    let path = "/ingest/nonsense";
    let bearer = format!("Bearer {}", sender.token);
    let answer =
        call(sender.home.http_local(), "GET", path, &[("Authorization", &bearer)], b"").expect(400);
    assert_eq!(answer.error(), "invalid_request");
}

#[test]
fn bodies_have_a_limit_with_and_without_length() {
    let sender = Sender::with(&[("BRAIN_INGEST_MAX_BYTES", "1000")]);
    let (address, token) = (sender.home.http_local(), &sender.token);
    let _ = sender.post(&[PLAIN], &[b'a'; 1000]).expect(202);
    assert_eq!(sender.post(&[PLAIN], &[b'a'; 1001]).expect(413).error(), "too_large");
    let head = format!(
        "POST /ingest HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer \
            {token}\r\nContent-Type: text/plain\r\n"
    );
    // The response does not wait for the body.
    let mut wire = Wire::open(address);
    wire.send(format!("{head}Content-Length: 1000000000000\r\nExpect: 100-continue\r\n\r\n"));
    assert_eq!(wire.answer().expect(413).error(), "too_large");
    let mut wire = Wire::open(address);
    wire.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n3e9\r\n{}\r\n", "a".repeat(1001)));
    assert_eq!(wire.answer().expect(413).error(), "too_large");
    let mut wire = Wire::open(address);
    wire.send(format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n3e8\r\n{}\r\n0\r\n\r\n",
        "b".repeat(1000)
    ));
    let _ = wire.answer().expect(202);
}

#[test]
fn checks_have_a_fixed_order() {
    let sender = Sender::with(&[("BRAIN_INGEST_MAX_BYTES", "10")]);
    let (address, reader) = (sender.home.http_local(), sender.home.token("reader", "read", &[]));
    let large = [b'a'; 11];
    // The order is: token, scope, content type, size, blank content.
    assert_eq!(call(address, "POST", "/ingest", &[("Content-Type", "x/y")], &large).status, 401);
    let bearer = format!("Bearer {reader}");
    assert_eq!(call(address, "POST", "/ingest", &[("Authorization", &bearer)], &large).status, 403);
    assert_eq!(sender.post(&[("Content-Type", "x/y")], &large).status, 415);
    assert_eq!(sender.post(&[PLAIN], &large).status, 413);
    assert_eq!(sender.post(&[("Content-Type", "x/y")], b"").status, 415);
    assert_eq!(sender.post(&[PLAIN], b"").status, 400);
}

#[test]
fn rate_limits_apply_to_clients_and_unknown_callers() {
    let sender = Sender::with(&[("BRAIN_INGEST_RATE", "3/1h")]);
    let address = sender.home.http_local();
    for n in 0..3 {
        let _ = ingest(address, &sender.token, &format!("text {n}")).expect(202);
    }
    let refused = ingest(address, &sender.token, "one more").expect(429);
    assert_eq!(refused.error(), "rate_limited");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1200).contains(&wait), "{wait}");
    // The rate limit is checked before the content type. Each client has its own limit.
    assert_eq!(sender.post(&[("Content-Type", "x/y")], b"").status, 429);
    let other = sender.home.token("other", "write", &[]);
    let _ = ingest(address, &other, "from another").expect(202);
    let (mut refusals, mut limited) = (0, 0);
    for _ in 0..150 {
        match ingest(address, "brain_pt_wrong", "x").status {
            401 => refusals += 1,
            429 => limited += 1,
            other => panic!("{other}"),
        }
    }
    assert!(refusals >= 100 && limited > 0, "{refusals} refused, {limited} limited");
    let _ = ingest(address, &other, "not limited by guesses of others").expect(202);
    let unlimited = Sender::with(&[("BRAIN_INGEST_RATE", "off")]);
    let mut wire = Wire::open(unlimited.home.http_local());
    let bearer = format!("Bearer {}", unlimited.token);
    for n in 0..300 {
        let body = format!("text {n}");
        let fields = [("Authorization", &*bearer), PLAIN];
        wire.send(request(
            unlimited.home.http_local(),
            "POST",
            "/ingest",
            &fields,
            body.as_bytes(),
        ));
        let _ = wire.answer().expect(202);
    }
}

#[test]
fn the_audit_lists_calls_without_their_content() {
    let sender = Sender::new();
    let address = sender.home.http_local();
    let _ = sender.post(&[PLAIN, ("X-Brain-Title", "very private")], b"my secret text").expect(202);
    let _ = get(address, "/health").expect(200);
    let _ = get(address, "/nothing?password=hunter2").expect(404);
    let deadline = Instant::now() + TEST_TIMEOUT;
    let calls = loop {
        let request = brain_protocol::AuditList { limit: 100, ..Default::default() };
        match sender.home.connect().unwrap().ask(&brain_protocol::Request::AuditList(request)) {
            Ok(brain_protocol::Reply::Audit(audit)) if audit.calls.len() >= 2 => break audit.calls,
            Ok(_) => {}
            Err(fault) => panic!("{fault}"),
        }
        assert!(Instant::now() < deadline, "the audit has no calls");
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = serde_json::to_string(&calls).unwrap();
    assert!(text.contains("POST /ingest") && text.contains("token:sender"), "{text}");
    assert!(text.contains("x-brain-title") && text.contains("GET (none)"), "{text}");
    for secret in ["very private", "my secret", "password", "hunter2", "/health", &sender.token] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}
