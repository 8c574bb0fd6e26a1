//! SIGTERM while clients send requests: each request that was sent is answered.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use brain_tests::{TestHome, report};
use rustix::process::{Pid, Signal, kill_process};

const REQUEST: &[u8] = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const CLIENTS: usize = 16;

/// The end of one exchange.
enum Exchange {
    /// An answer, and whether the connection stays open.
    Answered { stays_open: bool },
    /// The connection ended without an answer.
    Lost,
}

fn exchange(stream: &mut TcpStream) -> Exchange {
    if stream.write_all(REQUEST).is_err() {
        return Exchange::Lost;
    }
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("content-length: ").map_or("0", |(_, rest)| rest);
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                assert!(head.starts_with("http/1.1 200") || head.starts_with("http/1.1 503"));
                return Exchange::Answered { stays_open: !head.contains("connection: close") };
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return Exchange::Lost,
            Ok(n) => answer.extend_from_slice(&buffer[..n]),
        }
    }
}

/// Sends requests until the daemon takes no connections any more. With `keeps`, a connection is
/// used as long as the daemon keeps it. Returns how many requests were answered and lost.
fn run_client(address: SocketAddr, keeps: bool) -> (usize, usize) {
    let (mut answered, mut lost) = (0, 0);
    loop {
        let mut stream = match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            Ok(stream) => stream,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
                return (answered, lost);
            }
        };
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        loop {
            match exchange(&mut stream) {
                Exchange::Answered { stays_open } => {
                    answered += 1;
                    if !keeps || !stays_open {
                        break;
                    }
                }
                Exchange::Lost => {
                    lost += 1;
                    break;
                }
            }
        }
    }
}

#[test]
fn requests_are_answered_while_the_daemon_stops() {
    let (answered, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for _ in 0..5 {
        let home = TestHome::new();
        let daemon = home.daemon();
        let address = home.http_local();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (answered, lost) = (&answered, &lost);
                scope.spawn(move || {
                    let counts = run_client(address, client % 2 == 0);
                    answered.fetch_add(counts.0, Ordering::Relaxed);
                    lost.fetch_add(counts.1, Ordering::Relaxed);
                });
            }
            std::thread::sleep(Duration::from_millis(500));
            let pid = Pid::from_raw(daemon.pid().cast_signed()).unwrap();
            kill_process(pid, Signal::TERM).unwrap();
        });
        drop(daemon);
    }
    let (answered, lost) = (answered.into_inner(), lost.into_inner());
    report(&format!("stop under load: {answered} requests answered, {lost} lost"));
    assert!(answered > 100, "{answered} requests");
    assert_eq!(lost, 0, "of {answered} requests");
}
