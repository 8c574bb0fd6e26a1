//! Slow, numerous and disconnected clients, and a shutdown during requests.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use brain_tests::http::{Wire, call, get, ingest, request};
use brain_tests::{Daemon, MAX_SHUTDOWN_TIME, TEST_TIMEOUT, TestHome, can_open_files};

/// Starts a daemon with these environment variables.
fn start_daemon(pairs: &[(&str, &str)]) -> (TestHome, Daemon) {
    let mut home = TestHome::new();
    home.env.extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let daemon = home.daemon();
    (home, daemon)
}

/// Returns the head of a `POST /ingest` with this body length.
fn head(home: &TestHome, length: usize) -> String {
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    format!(
        "POST /ingest HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer \
         {token}\r\nContent-Type: text/plain\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

#[test]
fn slow_request_heads_time_out() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_TIMEOUT", "1s")]);
    let address = home.http_local();
    let mut silent = Wire::open(address);
    let mut wire = Wire::open(address);
    let began = Instant::now();
    wire.send("GET /health HTTP/1.1\r\n");
    let mut field = 0;
    while wire.send(format!("X-{field}: a\r\n")) {
        assert!(began.elapsed() < TEST_TIMEOUT, "the connection is never closed");
        field += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(began.elapsed() >= Duration::from_secs(1));
    silent.expect_closed();
    let _ = get(address, "/health").expect(200);
}

#[test]
fn stalled_and_slow_bodies_time_out() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_TIMEOUT", "1s")]);
    let (address, head) = (home.http_local(), head(&home, 100_000));
    let mut stalled = Wire::open(address);
    stalled.send(&head);
    stalled.send("half of a thought");
    let answer = stalled.answer().expect(408);
    assert_eq!(answer.error(), "request_timeout");
    assert_eq!(answer.header("connection"), Some("close"));
    stalled.expect_closed();
    // A body that keeps arriving slowly is closed after six times `BRAIN_HTTP_TIMEOUT`.
    let mut dripping = Wire::open(address);
    let began = Instant::now();
    dripping.send(&head);
    dripping.stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut byte = [0; 1];
    while std::io::Read::read(&mut dripping.stream, &mut byte).is_err() {
        assert!(began.elapsed() < TEST_TIMEOUT, "the connection is never closed");
        dripping.send("a");
    }
    assert!(began.elapsed() >= Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(home.status().pages + home.status().jobs.waiting, 0, "no item was stored");
}

#[test]
fn small_and_chunked_bodies_must_arrive_within_the_timeout() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_TIMEOUT", "2s")]);
    let address = home.http_local();
    let large = head(&home, 100_000);
    let chunked = large.replace("Content-Length: 100000", "Transfer-Encoding: chunked");
    let small = format!(
        "POST /token HTTP/1.1\r\nHost: {address}\r\nContent-Type: \
            application/x-www-form-urlencoded\r\n"
    );
    for head in [small + "Content-Length: 60000\r\n\r\n", chunked] {
        let (mut slow_body, mut large_body) = (Wire::open(address), Wire::open(address));
        slow_body.send(&head);
        large_body.send(&large);
        let began = Instant::now();
        for wire in [&slow_body, &large_body] {
            wire.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        }
        let mut byte = [0; 1];
        while slow_body.stream.peek(&mut byte).is_err() {
            assert!(began.elapsed() < TEST_TIMEOUT, "the connection is never closed");
            slow_body.send("1\r\na\r\n");
            large_body.send("a");
        }
        assert!(large_body.stream.peek(&mut byte).is_err(), "a large upload continues");
        slow_body.stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        assert_eq!(slow_body.answer().expect(408).error(), "request_timeout");
    }
}

#[test]
fn slow_uploads_do_not_block_other_clients() {
    let (home, _daemon) =
        start_daemon(&[("BRAIN_HTTP_CONNECTIONS", "4"), ("BRAIN_HTTP_TIMEOUT", "1h")]);
    let address = home.http_local();
    let head = request(address, "POST", "/token", &[("Content-Length", "60000")], b"");
    let mut slow: Vec<Wire> = (0..10).map(|_| Wire::open(address)).collect();
    for wire in &mut slow {
        wire.send(&head);
        wire.send("a");
    }
    for _ in 0..3 {
        let _ = get(address, "/health").expect(200);
    }
    // The oldest upload was ended for them.
    assert!(slow[0].answer_to("POST").is_none_or(|answer| answer.status == 503));
}

#[test]
fn long_uploads_continue_while_a_connection_is_free() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_CONNECTIONS", "2")]);
    let (address, head) = (home.http_local(), head(&home, 40));
    let mut upload = Wire::open(address);
    upload.send(&head);
    for _ in 0..4 {
        upload.send("0123456789");
        let _ = get(address, "/health").expect(200);
        // With these pauses, the upload takes longer than the 2 seconds after which a full listener
        // may close it.
        std::thread::sleep(Duration::from_millis(800));
    }
    let _ = upload.answer().expect(202);
}

#[test]
fn incomplete_bodies_are_discarded() {
    let (home, _daemon) = start_daemon(&[]);
    let (address, head) = (home.http_local(), head(&home, 1000));
    let mut wire = Wire::open(address);
    wire.send(&head);
    wire.send("half");
    wire.finish();
    assert!(wire.answer_to("POST").is_none_or(|answer| answer.status == 400));
    let mut disconnected = Wire::open(address);
    disconnected.send(&head);
    disconnected.send("half");
    drop(disconnected);
    let mut chunks = Wire::open(address);
    chunks.send(head.replace("Content-Length: 1000", "Transfer-Encoding: chunked"));
    chunks.send("5\r\nhalf");
    chunks.finish();
    assert!(chunks.answer_to("POST").is_none_or(|answer| answer.status == 400));
    let _ = get(address, "/health").expect(200);
    assert_eq!(home.status().pages + home.status().jobs.waiting, 0);
}

#[test]
fn idle_connections_are_closed() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_IDLE_TIMEOUT", "1s")]);
    let address = home.http_local();
    let mut wire = Wire::open(address);
    wire.send(request(address, "GET", "/health", &[], b""));
    let _ = wire.answer().expect(200);
    let began = Instant::now();
    wire.expect_closed();
    assert!(began.elapsed() < Duration::from_secs(30), "the default is 60 s");
}

#[test]
fn clients_that_read_no_responses_are_disconnected() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_TIMEOUT", "1s")]);
    let address = home.http_local();
    let mut wire = Wire::open(address);
    let many: Vec<u8> =
        (0..1000).flat_map(|_| request(address, "GET", "/openapi.json", &[], b"")).collect();
    wire.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    wire.send(request(address, "GET", "/health", &[], b""));
    let _ = wire.answer().expect(200);
    assert_eq!(connections(&home), 2, "the connection stays open after a response");
    let began = Instant::now();
    // Continue until both buffers are full and the daemon closes the connection.
    while connections(&home) > 1 || began.elapsed() < Duration::from_secs(2) {
        assert!(began.elapsed() < TEST_TIMEOUT, "the connection is never closed");
        wire.send(&many);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the number of open connections, including that of its own request.
fn connections(home: &TestHome) -> u64 {
    let metrics = get(home.http_local(), "/metrics").expect(200);
    let line = metrics
        .text()
        .lines()
        .find(|line| line.starts_with("brain_http_connections{listener=\"local\"}"));
    line.unwrap().rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn ten_thousand_idle_connections_do_not_block_others() {
    let count = 10_000;
    if !can_open_files(12_000) {
        return;
    }
    let (home, _daemon) = start_daemon(&[]);
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    // Every third connection receives a response and stays open; the others send nothing.
    let idle: Vec<TcpStream> = (0..count)
        .map(|n| {
            let mut wire = Wire::open(address);
            if n % 3 == 0 {
                wire.send(request(address, "GET", "/health", &[], b""));
                let _ = wire.answer().expect(200);
            }
            wire.stream
        })
        .collect();
    let _ = get(address, "/health").expect(200);
    let _ = ingest(address, &token, "from a newcomer").expect(202);
    assert!((256..=512).contains(&connections(&home)), "{}", connections(&home));
    drop(idle);
}

#[test]
fn active_connections_are_not_evicted() {
    let (home, _daemon) = start_daemon(&[("BRAIN_HTTP_CONNECTIONS", "2")]);
    let (address, head) = (home.http_local(), head(&home, 10));
    let mut upload = Wire::open(address);
    upload.send(&head);
    upload.send("12345");
    let mut idle: Vec<Wire> = (0..20).map(|_| Wire::open(address)).collect();
    let _ = get(address, "/health").expect(200);
    idle[0].expect_closed();
    upload.send("67890");
    let _ = upload.answer().expect(202);
}

#[test]
fn requests_in_progress_are_answered_at_shutdown() {
    let (home, daemon) = start_daemon(&[("BRAIN_HTTP_TIMEOUT", "1h")]);
    let (address, head) = (home.http_local(), head(&home, 10));
    let head = head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    let mut idle = Wire::open(address);
    idle.send(request(address, "GET", "/health", &[], b""));
    let _ = idle.answer().expect(200);
    let mut upload = Wire::open(address);
    upload.send(&head);
    upload.expect_continue();
    upload.send("12345");
    let ending = std::thread::spawn(move || daemon.terminate());
    idle.expect_closed();
    upload.send("67890");
    let answer = upload.answer().expect(202);
    assert_eq!(answer.header("connection"), Some("close"));
    let (status, took) = ending.join().unwrap();
    assert!(status.success(), "{status}");
    assert!(took < MAX_SHUTDOWN_TIME, "{took:?}");
    let _daemon = home.daemon();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.search("1234567890").is_empty() {
        assert!(Instant::now() < deadline, "an accepted item did not become a page");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn unfinished_requests_do_not_delay_the_shutdown() {
    let (home, daemon) = start_daemon(&[("BRAIN_HTTP_TIMEOUT", "1h")]);
    let mut stuck = Wire::open(home.http_local());
    stuck.send(head(&home, 10));
    let mut half = Wire::open(home.http_local());
    half.send("GET /hea");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(connections(&home), 3, "both requests are in progress");
    let (status, took) = daemon.terminate();
    assert!(status.success() && took < MAX_SHUTDOWN_TIME, "{status} after {took:?}");
    stuck.expect_closed();
    half.expect_closed();
}

#[test]
fn socket_activation_loses_no_request_during_a_restart() {
    let home = TestHome::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = || OwnedFd::from(listener.try_clone().unwrap());
    let start = || {
        let daemon = home.activated_by(socket(), "http-local");
        let deadline = Instant::now() + TEST_TIMEOUT;
        while home.connect().is_none() {
            assert!(Instant::now() < deadline, "{}", home.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon
    };
    let daemon = start();
    assert_eq!(
        home.http_local(),
        address,
        "the socket from systemd replaces the configured address"
    );
    let token = home.token("t", "write", &[]);
    let _ = ingest(address, &token, "before").expect(202);
    let (status, _) = daemon.terminate();
    assert!(status.success(), "{status}");
    let waiting = std::thread::spawn({
        let token = token.clone();
        move || ingest(address, &token, "between two daemons").status
    });
    std::thread::sleep(Duration::from_millis(200));
    let _daemon = start();
    assert_eq!(waiting.join().unwrap(), 202);
}

#[test]
fn sockets_of_the_wrong_kind_are_rejected_with_a_hint() {
    let home = TestHome::new();
    let path = home.outside().join("x.sock");
    let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    let mut daemon = home.activated(&listener, "http-public");
    let deadline = Instant::now() + TEST_TIMEOUT;
    while daemon.is_running() {
        assert!(Instant::now() < deadline, "{}", home.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(home.log().contains("FileDescriptorName=http-local"), "{}", home.log());
}

#[test]
fn a_busy_address_stops_only_http() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut home = TestHome::new();
    home.env.push(("BRAIN_HTTP_LOCAL".into(), address.clone()));
    let _daemon = home.daemon();
    home.put("a", "The socket serves.\n");
    assert_eq!(home.search("serves"), ["a"]);
    let status = home.status();
    assert_eq!(status.http_local, None);
    let reasons = status.degraded.join("\n");
    assert!(reasons.contains(&address) && reasons.contains("http.local"), "{reasons}");
    let checks = home.json(["doctor"])["checks"].clone();
    let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "http").unwrap();
    assert!(check["message"].as_str().unwrap().contains("tried again"), "{check}");
    // When the address becomes free, the daemon serves it.
    drop(listener);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.status().http_local.as_deref() != Some(&*address) {
        assert!(Instant::now() < deadline, "{}", home.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(home.status().degraded.is_empty(), "{:?}", home.status().degraded);
    assert_eq!(call(home.http_local(), "GET", "/health", &[], b"").status, 200);
    // If the default addresses are in use, the daemon starts without HTTP.
    let listeners: Vec<_> =
        ["127.0.0.1:3131", "127.0.0.1:8765"].map(TcpListener::bind).into_iter().collect();
    let home = TestHome::new();
    let mut command = home.command("brain-daemon");
    command.env_remove("BRAIN_HTTP_LOCAL").env_remove("BRAIN_HTTP_PUBLIC");
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.connect().is_none() {
        assert!(
            Instant::now() < deadline && child.try_wait().unwrap().is_none(),
            "the daemon does not start"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = home.status();
    assert_eq!((status.http_local, status.http_public), (None, None));
    assert!(
        status.degraded.iter().any(|reason| reason.contains("127.0.0.1:3131")),
        "{:?}",
        status.degraded
    );
    let checks = home.json(["doctor"])["checks"].clone();
    let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "http").unwrap();
    assert_eq!(check["status"], "warn", "{check}");
    assert!(check["message"].as_str().unwrap().contains("http.local"), "{check}");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(listeners);
}

#[test]
fn errors_for_large_bodies_reach_the_client() {
    let (home, _daemon) = start_daemon(&[]);
    let (address, token) = (home.http_local(), home.token("t", "write", &[]));
    let bearer = format!("Bearer {token}");
    let body = vec![b'a'; 3_000_000];
    let fields = [("Authorization", &*bearer), ("Content-Type", "text/plain")];
    for fields in [&fields[..], &fields[1..], &fields[..1]] {
        let answer = call(address, "POST", "/ingest", fields, &body);
        assert!(matches!(answer.status, 401 | 413 | 415), "{answer:?}");
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(!answer.error().is_empty());
    }
    let mut chunks = Wire::open(address);
    chunks.send(request(
        address,
        "POST",
        "/ingest",
        &[fields[0], fields[1], ("Transfer-Encoding", "chunked")],
        b"",
    ));
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(65_536));
    for _ in 0..40 {
        chunks.send(&chunk);
    }
    assert_eq!(chunks.answer().expect(413).error(), "too_large");
}
