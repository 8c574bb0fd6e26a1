//! Kept connections that the other side has closed, with servers on this machine.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use url::Url;

use super::tests::{Server, call, head, server};
use super::*;

const SILENCE: Duration = Duration::from_secs(20);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn base(server: &Server) -> Url {
    Url::parse(&format!("http://127.0.0.1:{}", server.address.port())).unwrap()
}

/// A request with a body, by `call` and by `follow`.
fn post(
    link: &dyn RetryingClient,
    url: &Url,
    body: &[u8],
    followed: bool,
) -> Result<HttpResponse, Error> {
    let asked = HttpRequest { body: Some(body), ..call(url) };
    if followed {
        let mut come = Vec::new();
        let answer = link.stream(&asked, SILENCE, &mut |part| {
            if let StreamEvent::Bytes(bytes) = part {
                come.extend_from_slice(bytes);
            }
            true
        })?;
        let body = if answer.status == 200 { come } else { answer.body };
        return Ok(HttpResponse { body, ..answer });
    }
    link.call(&asked)
}

/// Reads a request whole; whether there was one.
fn request(stream: &mut TcpStream) -> bool {
    let asked = head(stream);
    let length = asked.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    !asked.is_empty() && stream.read_exact(&mut body).is_ok()
}

/// A server that counts requests, each connection in a thread of its own.
fn counting(
    serve: impl Fn(TcpStream, &AtomicUsize) + Send + Sync + 'static,
) -> (Server, Arc<AtomicUsize>) {
    let (requests, serve) = (Arc::new(AtomicUsize::new(0)), Arc::new(serve));
    let counted = Arc::clone(&requests);
    let server = server(move |stream, _: &Mutex<String>| {
        let (serve, requests) = (Arc::clone(&serve), Arc::clone(&requests));
        std::thread::spawn(move || serve(stream, &requests));
    });
    (server, counted)
}

/// Answers one request of each connection, and closes it after `idle`.
fn closing(idle: Duration) -> (Server, Arc<AtomicUsize>) {
    counting(move |mut stream, requests| {
        if request(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(OK);
            std::thread::sleep(idle);
        }
    })
}

#[test]
fn an_end_that_came_while_idle_is_noticed_before_the_next_request() {
    for followed in [false, true] {
        let (server, requests) = closing(Duration::from_millis(20));
        let (link, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
        for nth in 1..=20 {
            assert_eq!(post(&*link, &url, b"{}", followed).unwrap().body, b"ok", "{nth}");
            assert_eq!(requests.load(Ordering::SeqCst), nth, "each was sent once");
            std::thread::sleep(Duration::from_millis(60));
        }
    }
}

#[test]
fn a_connection_is_kept_for_less_than_five_seconds() {
    let (server, requests) = counting(|mut stream, requests| {
        while request(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(OK);
        }
    });
    let (link, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
    for (pause, connections) in [(0, 1), (1000, 1), (4900, 2)] {
        std::thread::sleep(Duration::from_millis(pause));
        post(&*link, &url, b"{}", true).unwrap();
        assert_eq!(server.connections.load(Ordering::SeqCst), connections, "after {pause} ms");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 3);
}

#[test]
fn a_request_that_meets_the_end_of_a_kept_connection_is_sent_once_more() {
    // The end comes when the request is there already: with all of it read, and with nothing, which
    // resets.
    for (reads, followed) in [(true, false), (true, true), (false, false), (false, true)] {
        let (server, requests) = counting(move |mut stream, requests| {
            if !request(&mut stream) {
                return;
            }
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(OK);
            if reads && request(&mut stream) {
                requests.fetch_add(1, Ordering::SeqCst);
            } else if !reads {
                let _ = stream.read(&mut [0]);
                requests.fetch_add(1, Ordering::SeqCst);
            }
        });
        let (link, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
        for nth in 1..=3 {
            assert_eq!(
                post(&*link, &url, &[b'x'; 5000], followed).unwrap().body,
                b"ok",
                "{reads} {nth}"
            );
            assert_eq!(server.connections.load(Ordering::SeqCst), nth);
            assert_eq!(requests.load(Ordering::SeqCst), 2 * nth - 1);
        }
    }
}

#[test]
fn a_request_that_may_have_been_done_is_sent_once() {
    // On a new connection; and on a kept one that ended only after the service had time to work.
    for (kept, pause) in [(false, 0), (true, 3000)] {
        let (server, requests) = counting(move |mut stream, requests| {
            if kept && request(&mut stream) {
                let _ = stream.write_all(OK);
            }
            if request(&mut stream) {
                requests.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(pause));
            }
        });
        let (link, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
        if kept {
            post(&*link, &url, b"{}", true).unwrap();
        }
        let ended = post(&*link, &url, b"{}", true);
        assert!(matches!(ended, Err(Error::ConnectionBroken(_))), "{ended:?}");
        assert_eq!(requests.load(Ordering::SeqCst), 1);
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn what_is_no_http_is_no_end_of_a_connection() {
    let (server, requests) = counting(|mut stream, requests| {
        request(&mut stream);
        let _ = stream.write_all(OK);
        if request(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"\x16\x03 nonsense\r\n\r\n");
        }
    });
    let (link, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
    post(&*link, &url, b"{}", false).unwrap();
    assert!(matches!(post(&*link, &url, b"{}", false), Err(Error::ConnectionBroken(_))));
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[test]
fn a_refusal_that_comes_while_the_body_is_still_sent_is_heard() {
    const REFUSAL: &[u8] =
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nwait";
    for (size, drains) in [(100, false), (200_000, false), (16_000_000, false), (16_000_000, true)]
    {
        for followed in [false, true] {
            let (server, requests) = counting(move |mut stream, requests| {
                head(&mut stream);
                requests.fetch_add(1, Ordering::SeqCst);
                // What is sent until here fills every buffer in between, as over a network.
                std::thread::sleep(Duration::from_millis(100));
                let _ = stream.write_all(REFUSAL);
                if drains {
                    let _ = stream.shutdown(Shutdown::Write);
                    let _ = std::io::copy(&mut stream, &mut std::io::sink());
                }
            });
            let (link, url) =
                (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
            let body = vec![b'x'; size];
            for nth in 1..=5 {
                let began = Instant::now();
                let answer = post(&*link, &url, &body, followed);
                let answer =
                    answer.unwrap_or_else(|e| panic!("{size} {drains} {followed} {nth}: {e}"));
                assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
                assert_eq!(requests.load(Ordering::SeqCst), nth);
                assert!(began.elapsed() < SILENCE);
            }
        }
    }
}
