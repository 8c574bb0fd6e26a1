//! The HTTP listeners: their paths, accepted hosts and origins, and JSON errors.

use brain_tests::http::{self, Wire, call, get, request};
use brain_tests::{Daemon, TestHome};

/// Starts a daemon with both listeners and these environment variables.
fn start_daemon(pairs: &[(&str, &str)]) -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.push(("BRAIN_HTTP_PUBLIC".into(), "127.0.0.1:0".into()));
    home.env.extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let daemon = home.daemon();
    (home, daemon)
}

#[test]
fn each_listener_serves_its_own_paths() {
    let (home, _daemon) = start_daemon(&[]);
    let (local, public) = (home.http_local(), home.http_public());
    assert_ne!(local, public);
    for address in [local, public] {
        let health = get(address, "/health").expect(200);
        let expected =
            format!(r#"{{"status":"ok","version":"{}","engine":"redb"}}"#, brain_protocol::VERSION);
        assert_eq!(health.text(), expected);
        assert_eq!(health.header("content-type"), Some("application/json"));
        let head = call(address, "HEAD", "/health", &[], b"").expect(200);
        assert!(head.body.is_empty());
        assert_eq!(head.header("content-length"), Some(&*expected.len().to_string()));
        let _ = call(address, "POST", "/ingest", &[], b"x").expect(401);
        assert!(
            get(address, "/openapi.json").expect(200).json()["paths"]["/ingest"]["post"]
                .is_object()
        );
        assert_eq!(get(address, "/nothing").expect(404).error(), "not_found");
    }
    assert!(get(local, "/metrics").expect(200).text().contains("brain_pages 0\n"));
    let register = |address| call(address, "POST", "/admin/api/register-client", &[], b"{}").status;
    assert_eq!(register(local), 401);
    assert_eq!(register(public), 404);
    for path in [
        "/metrics",
        "/metrics/",
        "//metrics",
        "/%6detrics",
        "/admin",
        "/admin/api/clients",
        "/health/../metrics",
    ] {
        assert_eq!(get(public, path).expect(404).error(), "not_found", "{path}");
    }
    let api = get(public, "/openapi.json").json();
    let is_local_only = |path: &String| path.starts_with("/admin") || path == "/metrics";
    assert!(!api["paths"].as_object().unwrap().keys().any(is_local_only), "{api}");
}

#[test]
fn errors_are_json_with_security_headers() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let wrong = call(address, "DELETE", "/health", &[], b"").expect(405);
    assert_eq!(wrong.error(), "method_not_allowed");
    assert!(wrong.header("allow").is_some_and(|allow| allow.contains("GET")), "{wrong:?}");
    for answer in [
        wrong,
        get(address, "/nothing"),
        get(address, "/health"),
        call(address, "POST", "/ingest", &[], b"x"),
    ] {
        for (name, value) in [("x-content-type-options", "nosniff"), ("cache-control", "no-store")]
        {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("server"), None);
    }
}

#[test]
fn only_known_host_names_are_accepted() {
    let (home, _daemon) = start_daemon(&[
        ("BRAIN_HTTP_BASE_URL", "https://brain.example.org"),
        ("BRAIN_HTTP_ALLOWED_HOSTS", "nas"),
    ]);
    for address in [home.http_local(), home.http_public()] {
        let port = address.port();
        let with_port = |name: &str| format!("{name}:{port}");
        for (host, status) in [
            (with_port("127.0.0.1"), 200),
            (with_port("localhost"), 200),
            (with_port("[::1]"), 200),
            ("localhost".into(), 200),
            ("brain.example.org".into(), 200),
            (with_port("nas"), 200),
            (with_port("evil.example"), 403),
            (with_port("127.0.0.1.evil.example"), 403),
            ("169.254.169.254".into(), 403),
            ("a b".into(), 400),
            (String::new(), 400),
        ] {
            let answer = call(address, "GET", "/health", &[("Host", &host)], b"").expect(status);
            if status != 200 {
                assert_eq!(
                    answer.error(),
                    if status == 403 { "forbidden_host" } else { "bad_request" },
                    "{host}"
                );
            }
        }
        let mut wire = Wire::open(address);
        wire.send("GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(
            wire.answer().expect(403).error(),
            "forbidden_host",
            "the host of the absolute form is checked"
        );
        let mut wire = Wire::open(address);
        wire.send("GET /health HTTP/1.1\r\n\r\n");
        assert_eq!(wire.answer().expect(400).error(), "bad_request", "a request without Host");
    }
}

#[test]
fn cross_origin_requests_are_rejected() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let own = format!("http://{address}");
    for (origin, status) in [
        (&*own, 200),
        ("http://localhost:3000", 403),
        ("https://claude.ai", 403),
        ("null", 403),
        ("", 403),
    ] {
        let answer = call(address, "GET", "/health", &[("Origin", origin)], b"").expect(status);
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
        if status == 403 {
            assert_eq!(answer.error(), "forbidden_origin");
        }
    }
    let preflight = [("Origin", "https://claude.ai"), ("Access-Control-Request-Method", "POST")];
    let _ = call(address, "OPTIONS", "/ingest", &preflight, b"").expect(403);

    let (home, _daemon) =
        start_daemon(&[("BRAIN_HTTP_ALLOWED_ORIGINS", "https://claude.ai, https://app.example")]);
    let address = home.http_public();
    let answer = call(address, "OPTIONS", "/ingest", &preflight, b"").expect(204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://claude.ai"));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("Authorization"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let answer = call(address, "POST", "/ingest", &preflight[..1], b"x").expect(401);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://claude.ai"),
        "the page of the other origin can read the error"
    );
    assert!(answer.header("vary").unwrap().contains("Origin"));
    let _ = call(address, "GET", "/health", &[("Origin", "https://claude.ai.evil.example")], b"")
        .expect(403);
}

#[test]
fn ambiguous_requests_are_rejected() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let token = home.token("t", "read write", &[]);
    let head =
        format!("POST /ingest HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n");
    let plain = "Content-Type: text/plain\r\n";
    for (problem, rest) in [
        (
            "length, then encoding",
            format!("{plain}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET"),
        ),
        (
            "encoding, then length",
            format!("{plain}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nGET"),
        ),
        ("two lengths", format!("{plain}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")),
        ("a negative length", format!("{plain}Content-Length: -1\r\n\r\n")),
        ("a length with a sign", format!("{plain}Content-Length: +3\r\n\r\nabc")),
        ("another encoding", format!("{plain}Transfer-Encoding: gzip\r\n\r\nabc")),
        ("two content types", format!("{plain}{plain}Content-Length: 3\r\n\r\nabc")),
        ("two hosts", format!("{plain}Host: {address}\r\nContent-Length: 3\r\n\r\nabc")),
        (
            "two tokens",
            format!("{plain}Authorization: Bearer {token}\r\nContent-Length: 3\r\n\r\nabc"),
        ),
        (
            "two sources",
            format!(
                "{plain}X-Brain-Source-Id: default\r\nX-Brain-Source-Id: b\r\nContent-Length: \
                    3\r\n\r\nabc"
            ),
        ),
        ("a folded line", format!("{plain}X-A: b\r\n c\r\nContent-Length: 3\r\n\r\nabc")),
        ("a space before the colon", format!("{plain}Content-Length : 3\r\n\r\nabc")),
        ("a NUL byte", format!("{plain}X-A: \0\r\nContent-Length: 3\r\n\r\nabc")),
    ] {
        let mut wire = Wire::open(address);
        wire.send(head.clone() + &rest);
        let answer = wire.answer();
        assert_eq!(answer.status, 400, "{problem}: {answer:?}");
        assert_eq!(answer.error(), "bad_request", "{problem}");
    }
    assert_eq!(home.status().jobs.waiting + home.status().pages, 0, "no item was stored");
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
    ] {
        let mut wire = Wire::open(address);
        wire.send(bytes);
        wire.finish();
        if let Some(answer) = wire.answer_to("GET") {
            assert_eq!(answer.expect(400).error(), "bad_request");
        }
    }
    let _ = get(address, "/health").expect(200);
}

#[test]
fn request_heads_have_a_limit() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let fits = "a".repeat(15 * 1024);
    let _ = call(address, "GET", "/health", &[("X-A", &fits)], b"").expect(200);
    let long = "a".repeat(600 * 1024);
    let answer = call(address, "GET", "/health", &[("X-A", &long)], b"").expect(431);
    assert_eq!(answer.error(), "headers_too_large");
    let answer = call(address, "GET", &format!("/{long}"), &[], b"");
    assert!(matches!(answer.status, 414 | 431), "{answer:?}");
    let many: Vec<(&str, &str)> = (0..200).map(|_| ("X-A", "b")).collect();
    assert_eq!(
        call(address, "GET", "/health", &many, b"").expect(431).error(),
        "headers_too_large"
    );
}

#[test]
fn a_connection_serves_several_and_pipelined_requests() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let mut wire = Wire::open(address);
    for _ in 0..3 {
        wire.send(request(address, "GET", "/health", &[], b""));
        let _ = wire.answer().expect(200);
    }
    let mut both = request(address, "GET", "/nothing", &[], b"");
    both.extend(request(address, "GET", "/health", &[], b""));
    wire.send(both);
    let _ = wire.answer().expect(404);
    let _ = wire.answer().expect(200);
}

#[test]
fn ambiguous_pipelined_requests_are_rejected() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let token = home.token("t", "read write", &[]);
    let bearer = format!("Bearer {token}");
    let fields = [
        ("Authorization", &*bearer),
        ("Content-Type", "text/plain"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "3"),
    ];
    let first = request(address, "GET", "/health", &[], b"");
    let mut wire = Wire::open(address);
    wire.send(
        [first, request(address, "POST", "/ingest", &fields, b"3\r\nabc\r\n0\r\n\r\n")].concat(),
    );
    let _ = wire.answer().expect(200);
    let refused = wire.answer().expect(400);
    assert_eq!((&*refused.error(), refused.header("connection")), ("bad_request", Some("close")));
    assert_eq!(home.status().jobs.waiting + home.status().pages, 0, "no item was stored");
    // A client that waits for each response may send several chunked requests.
    let mut wire = Wire::open(address);
    for text in ["abc", "def", "ghi"] {
        wire.send(request(
            address,
            "POST",
            "/ingest",
            &fields[..3],
            format!("3\r\n{text}\r\n0\r\n\r\n").as_bytes(),
        ));
        let _ = wire.answer().expect(202);
    }
}

#[test]
fn metrics_count_requests() {
    let (home, _daemon) = start_daemon(&[]);
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    let _ = http::ingest(address, &token, "one").expect(202);
    let _ = http::ingest(address, &token, "one").expect(202);
    let _ = http::ingest(address, "nobody", "two").expect(401);
    let metrics = get(address, "/metrics").expect(200);
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = metrics.text();
    for line in [
        "brain_ingest_items_total{result=\"accepted\"} 1",
        "brain_ingest_items_total{result=\"duplicate\"} 1",
        "brain_ingest_items_total{result=\"refused\"} 1",
        "brain_http_requests_total{route=\"/ingest\",status=\"2xx\"} 2",
        "brain_http_requests_total{route=\"/ingest\",status=\"4xx\"} 1",
        "brain_http_request_duration_seconds_count 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(!text.contains(&token));
}

#[test]
fn a_listener_beyond_loopback_causes_a_warning() {
    let (home, _daemon) =
        start_daemon(&[("BRAIN_HTTP_LOCAL", "0.0.0.0:0"), ("BRAIN_HTTP_PUBLIC", "0.0.0.0:0")]);
    let checks = home.json(["doctor"])["checks"].clone();
    let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "http").unwrap();
    assert_eq!(check["status"], "warn", "{check}");
    for key in ["http.local", "http.public"] {
        assert!(check["message"].as_str().unwrap().contains(key), "{check}");
        assert!(home.log().contains(key), "{}", home.log());
    }
}

#[test]
fn unauthenticated_calls_do_not_fill_the_audit() {
    let (home, _daemon) = start_daemon(&[]);
    let address = home.http_local();
    let token = home.token("t", "read write", &[]);
    let path = format!("/nothing?{}=1&{token}", "n".repeat(64));
    let mut wire = Wire::open(address);
    for _ in 0..300 {
        wire.send(request(address, "GET", &path, &[], b""));
        let _ = wire.answer().expect(404);
    }
    let bearer = format!("Bearer {token}");
    let fields = [("Authorization", &*bearer), ("Content-Type", "text/plain")];
    let _ = call(address, "POST", &format!("/ingest?{token}&title=x"), &fields, b"one");
    let audit = home.json(["audit", "--limit", "1000"]);
    let calls = audit["calls"].as_array().unwrap();
    let (unknown, known): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call["client"] == "-");
    // The audit records 60 calls a minute of unknown callers. If a minute ended meanwhile, there
    // are two such minutes, and a record with the number of omitted calls.
    assert!((60..=121).contains(&unknown.len()), "{}", unknown.len());
    assert!(
        unknown.iter().all(|call| call["parameters"].as_array().is_none_or(Vec::is_empty)),
        "{unknown:?}"
    );
    assert_eq!(known.len(), 1, "{known:?}");
    assert_eq!(known[0]["client"], "token:t");
    assert!(!audit.to_string().contains(&token), "{known:?}");
    let parameters = known[0]["parameters"].to_string();
    assert!(parameters.contains("title:1") && parameters.contains("other:"), "{parameters}");
}
