//! Connections after an error: the client can reuse the connection, or the response says that it
//! closes.

use std::time::Duration;

use brain_tests::http::{Answer, Wire, request};
use brain_tests::{Daemon, TestHome};

fn start_daemon() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    (home, daemon)
}

/// Returns whether the response says that the connection stays open. Asserts that the server does
/// what the response says: it answers the next request, or closes the connection.
fn stays_open(home: &TestHome, wire: &mut Wire, answer: &Answer) -> bool {
    if answer.header("connection") == Some("close") {
        wire.expect_closed();
        return false;
    }
    wire.send(request(home.http_local(), "GET", "/health", &[], b""));
    let _ = wire.answer().expect(200);
    true
}

#[test]
fn errors_before_the_body_keep_the_connection() {
    let (home, _daemon) = start_daemon();
    let address = home.http_local();
    for length in [1, 1000, 4096, 5000, 65_536] {
        let mut wire = Wire::open(address);
        let fields = [("Content-Type", "text/plain"), ("Content-Length", &*length.to_string())];
        for _ in 0..3 {
            wire.send(request(address, "POST", "/ingest", &fields, b""));
            // The body arrives after the error was sent.
            std::thread::sleep(Duration::from_millis(30));
            wire.send(vec![b'a'; length]);
            let answer = wire.answer().expect(401);
            assert!(stays_open(&home, &mut wire, &answer), "{length}: {answer:?}");
        }
    }
}

#[test]
fn errors_for_long_or_missing_bodies_close_the_connection() {
    let (home, _daemon) = start_daemon();
    let address = home.http_local();
    let large = [("Content-Type", "text/plain"), ("Content-Length", "65537")];
    let missing = [("Content-Type", "text/plain"), ("Content-Length", "10")];
    let expects =
        [("Content-Type", "text/plain"), ("Content-Length", "10"), ("Expect", "100-continue")];
    for fields in [&large[..], &missing[..], &expects[..]] {
        let mut wire = Wire::open(address);
        wire.send(request(address, "POST", "/ingest", fields, b""));
        let answer = wire.answer().expect(401);
        assert!(!stays_open(&home, &mut wire, &answer), "{fields:?}: {answer:?}");
    }
}

#[test]
fn chunked_requests_work_after_an_error() {
    let (home, _daemon) = start_daemon();
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    let bearer = format!("Bearer {token}");
    let chunked = [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")];
    let allowed = [("Authorization", &*bearer), chunked[0], chunked[1]];
    let mut wire = Wire::open(address);
    for n in 0..30 {
        // Rejected requests in one part, in two parts and chunked, then a valid one.
        match n % 3 {
            0 => {
                wire.send(request(address, "POST", "/ingest", &[chunked[0]], b"a body"));
            }
            1 => {
                wire.send(request(address, "POST", "/ingest", &[("Content-Length", "6")], b""));
                std::thread::sleep(Duration::from_millis(10));
                wire.send("a body");
            }
            _ => {
                wire.send(request(address, "POST", "/ingest", &chunked, b""));
                std::thread::sleep(Duration::from_millis(10));
                wire.send("6\r\na body\r\n0\r\n\r\n");
            }
        }
        let refused = wire.answer().expect(401);
        assert_eq!(refused.header("connection"), None, "{n}: {refused:?}");
        wire.send(request(address, "POST", "/ingest", &allowed, b""));
        std::thread::sleep(Duration::from_millis(5));
        let text = format!("text {n}");
        wire.send(format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len()));
        let _ = wire.answer().expect(202);
    }
}

#[test]
fn unknown_transfer_codings_are_rejected() {
    let (home, _daemon) = start_daemon();
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    let bearer = format!("Bearer {token}");
    let send = |codings: &[&str]| {
        let mut fields = vec![("Authorization", &*bearer), ("Content-Type", "text/plain")];
        fields.extend(codings.iter().map(|coding| ("Transfer-Encoding", *coding)));
        let mut wire = Wire::open(address);
        wire.send(request(address, "POST", "/ingest", &fields, b"4\r\ntext\r\n0\r\n\r\n"));
        (wire.answer(), wire)
    };
    for (codings, status, error) in [
        (&["chunked, chunked"][..], 400, "bad_request"),
        (&["chunked", "chunked"], 400, "bad_request"),
        (&["chunked,CHUNKED , chunked"], 400, "bad_request"),
        (&["gzip, chunked"], 501, "not_implemented"),
        (&["gzip", "chunked"], 501, "not_implemented"),
    ] {
        let (answer, mut wire) = send(codings);
        let answer = answer.expect(status);
        assert_eq!(answer.error(), error, "{codings:?}");
        assert!(!stays_open(&home, &mut wire, &answer), "{codings:?}");
    }
    let (answer, mut wire) = send(&["Chunked"]);
    assert!(stays_open(&home, &mut wire, &answer.expect(202)));
}

#[test]
fn a_thousand_posts_over_reused_connections_are_answered() {
    let (home, _daemon) = start_daemon();
    let (address, token) = (home.http_local(), home.token("t", "read", &[]));
    let bearer = format!("Bearer {token}");
    let mut wire = Wire::open(address);
    let mut connection_count = 1;
    for n in 0..1000 {
        let length = [0, 7, 4097, 30_000, 70_000][n % 5];
        let length_field = length.to_string();
        let mut fields = vec![("Content-Type", "text/plain"), ("Content-Length", &*length_field)];
        match n % 3 {
            0 => {}
            1 => fields.push(("Authorization", "Bearer brain_pt_wrong")),
            _ => fields.push(("Authorization", &*bearer)),
        }
        let path = ["/ingest", "/mcp", "/nothing", "/token", "/health"][n / 3 % 5];
        wire.send(request(address, "POST", path, &fields, b""));
        wire.send(vec![b'a'; length]);
        let answer = wire.answer();
        assert!((400..500).contains(&answer.status), "{n}: {answer:?}");
        if answer.header("connection") == Some("close") {
            wire = Wire::open(address);
            connection_count += 1;
        }
    }
    assert!(
        connection_count <= 250,
        "{connection_count} connections: only errors for long bodies close one"
    );
}
