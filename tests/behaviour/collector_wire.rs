//! The collector over real connections: network faults, and where the token is sent.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use brain_tests::TestHome;
use brain_tests::platform::{APP_TOKEN, Fault, Platform, PlatformServer, Time, endpoint};

use crate::collector_world::files;

/// A home whose collector uses a platform on loopback.
fn fixture(address: &str, user: &str) -> TestHome {
    let mut home = TestHome::new();
    for (name, value) in [
        ("BRAIN_COLLECTOR_PLATFORM_API", address),
        ("BRAIN_COLLECTOR_HANDLE", "ada"),
        ("BRAIN_COLLECTOR_USER_ID", user),
        ("BRAIN_COLLECTOR_ENABLED", "false"),
        ("BRAIN_PLATFORM_BEARER_TOKEN", APP_TOKEN),
    ] {
        home.env.push((name.into(), value.into()));
    }
    home
}

/// Returns a platform with 120 own posts, its server, and the account's id.
fn platform() -> (Platform, PlatformServer, String) {
    let platform = Platform::new(Time::System);
    let ada = platform.create_account("ada");
    for i in 0..120 {
        platform.post(&ada, &format!("post {i}"));
    }
    let server = PlatformServer::start(&platform, false);
    (platform, server, ada)
}

#[test]
fn broken_connections_skip_one_stream() {
    let (platform, server, ada) = platform();
    let home = fixture(&server.url(), &ada);
    let _daemon = home.daemon();
    // The fault, how often it occurs, and the beginning of the reason for which the stream is
    // skipped; empty if the stream is complete.
    for (fault, times, reason) in [
        // A connection that ends before the response is retried once.
        (Fault::Close, 1, ""),
        (Fault::Close, 2, "unreachable"),
        (Fault::Cut, 1, "unreachable"),
        // The reason is `unreachable` or `unreadable`.
        (Fault::Large(9 * 1024 * 1024), 1, "un"),
        (Fault::Slow(300), 1, ""),
        (Fault::WrongContentType, 1, ""),
        (Fault::Truncated, 1, "unreadable"),
        (Fault::HtmlBody, 1, "unreadable"),
        (Fault::ServerEmpty(500), 1, "server_error"),
    ] {
        platform.fault(endpoint::TIMELINE, fault.clone(), times);
        let ran = home.brain(["collector", "collect"]).expect(0);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        let skipped = lines.iter().find_map(|line| line.strip_prefix("STREAM_SKIPPED:own:"));
        match reason {
            "" => assert!(
                skipped.is_none() && ran.stdout.contains("OWN_TWEETS:100 ("),
                "{fault:?}: {ran:?}"
            ),
            reason => {
                assert!(skipped.is_some_and(|it| it.starts_with(reason)), "{fault:?}: {ran:?}");
            }
        }
        assert!(lines.last().unwrap().starts_with("RUN_COMPLETE:"), "{fault:?}: {ran:?}");
    }
    for (path, bytes) in files(&home.path()) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("FAKEAPPBEARER"),
            "the token is in {path}"
        );
    }
    assert!(!home.log().contains("FAKEAPPBEARER"));
}

#[test]
fn an_unreachable_platform_fails_the_run() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = fixture(&format!("http://{address}"), "17");
    let _daemon = home.daemon();
    let ran = home.brain(["collector", "collect"]).expect(1);
    let reported_lines: Vec<&str> =
        ran.stdout.lines().filter(|line| line.starts_with("STREAM_SKIPPED:")).collect();
    assert_eq!(reported_lines[0], "STREAM_SKIPPED:own:unreachable");
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.starts_with("RUN_FAILED:") && last.ends_with(":unreachable"), "{ran:?}");
}

#[test]
fn redirects_do_not_receive_the_token() {
    let other_server = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("http://{}/2/users/1/tweets", other_server.local_addr().unwrap());
    let (request_tx, request_rx) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in other_server.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let _ = request_tx.send(String::from_utf8_lossy(&head[..length]).into_owned());
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
            );
        }
    });
    let (platform, server, ada) = platform();
    let home = fixture(&server.url(), &ada);
    let _daemon = home.daemon();
    platform.fault(endpoint::TIMELINE, Fault::Redirect(to), 1);
    let ran = home.brain(["collector", "collect"]).expect(0);
    assert!(ran.stdout.contains("STREAM_SKIPPED:own:"), "{ran:?}");
    assert!(request_rx.try_recv().is_err(), "the redirect target received a request");
}
