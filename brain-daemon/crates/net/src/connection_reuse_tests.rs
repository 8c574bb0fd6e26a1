//! Tests of reused connections that the server closes, with servers on this machine.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use url::Url;

use super::tests::{Server, call, head, server};
use super::*;

const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn base(server: &Server) -> Url {
    Url::parse(&format!("http://127.0.0.1:{}", server.address.port())).unwrap()
}

/// Sends a request with a body, with `stream` if `is_streamed` and with `call` otherwise.
fn post(
    client: &dyn RetryingClient,
    url: &Url,
    body: &[u8],
    is_streamed: bool,
) -> Result<HttpResponse, Error> {
    let request = HttpRequest { body: Some(body), ..call(url) };
    if is_streamed {
        let mut streamed = Vec::new();
        let answer = client.stream(&request, IDLE_TIMEOUT, &mut |part| {
            if let StreamEvent::Bytes(bytes) = part {
                streamed.extend_from_slice(bytes);
            }
            true
        })?;
        let body = if answer.status == 200 { streamed } else { answer.body };
        return Ok(HttpResponse { body, ..answer });
    }
    client.call(&request)
}

/// Reads a complete request. Returns whether one arrived.
fn read_request(stream: &mut TcpStream) -> bool {
    let head = head(stream);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    !head.is_empty() && stream.read_exact(&mut body).is_ok()
}

/// Starts a server that calls `serve` on a thread for each connection. Returns the server, and the
/// counter of requests that `serve` increments.
fn counting_server(
    serve: impl Fn(TcpStream, &AtomicUsize) + Send + Sync + 'static,
) -> (Server, Arc<AtomicUsize>) {
    let (requests, serve) = (Arc::new(AtomicUsize::new(0)), Arc::new(serve));
    let counter = Arc::clone(&requests);
    let server = server(move |stream, _: &Mutex<String>| {
        let (serve, requests) = (Arc::clone(&serve), Arc::clone(&requests));
        std::thread::spawn(move || serve(stream, &requests));
    });
    (server, counter)
}

/// Starts a server that answers one request on each connection, and closes the connection after
/// `idle`.
fn closing_server(idle: Duration) -> (Server, Arc<AtomicUsize>) {
    counting_server(move |mut stream, requests| {
        if read_request(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(OK);
            std::thread::sleep(idle);
        }
    })
}

#[test]
fn a_connection_closed_while_idle_is_not_reused() {
    for is_streamed in [false, true] {
        let (server, requests) = closing_server(Duration::from_millis(20));
        let (client, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
        for nth in 1..=20 {
            assert_eq!(post(&*client, &url, b"{}", is_streamed).unwrap().body, b"ok", "{nth}");
            assert_eq!(requests.load(Ordering::SeqCst), nth, "each request was sent once");
            std::thread::sleep(Duration::from_millis(60));
        }
    }
}

#[test]
fn an_idle_connection_is_dropped_within_five_seconds() {
    let (server, requests) = counting_server(|mut stream, requests| {
        while read_request(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(OK);
        }
    });
    let (client, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
    for (pause, connections) in [(0, 1), (1000, 1), (4900, 2)] {
        std::thread::sleep(Duration::from_millis(pause));
        post(&*client, &url, b"{}", true).unwrap();
        assert_eq!(server.connections.load(Ordering::SeqCst), connections, "after {pause} ms");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 3);
}

#[test]
fn a_request_on_a_closed_pooled_connection_is_repeated() {
    // The server closes after the request was sent. If it has not read the request, the system
    // resets the connection.
    for (reads_request, is_streamed) in [(true, false), (true, true), (false, false), (false, true)]
    {
        let (server, requests) = counting_server(move |mut stream, requests| {
            if !read_request(&mut stream) {
                return;
            }
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(OK);
            if reads_request && read_request(&mut stream) {
                requests.fetch_add(1, Ordering::SeqCst);
            } else if !reads_request {
                let _ = stream.read(&mut [0]);
                requests.fetch_add(1, Ordering::SeqCst);
            }
        });
        let (client, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
        for nth in 1..=3 {
            assert_eq!(
                post(&*client, &url, &[b'x'; 5000], is_streamed).unwrap().body,
                b"ok",
                "{reads_request} {nth}"
            );
            assert_eq!(server.connections.load(Ordering::SeqCst), nth);
            assert_eq!(requests.load(Ordering::SeqCst), 2 * nth - 1);
        }
    }
}

#[test]
fn a_request_that_may_be_processed_is_not_repeated() {
    // A new connection, and a pooled one that closes only after the server had time to process
    // the request.
    for (is_pooled, pause) in [(false, 0), (true, 3000)] {
        let (server, requests) = counting_server(move |mut stream, requests| {
            if is_pooled && read_request(&mut stream) {
                let _ = stream.write_all(OK);
            }
            if read_request(&mut stream) {
                requests.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(pause));
            }
        });
        let (client, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
        if is_pooled {
            post(&*client, &url, b"{}", true).unwrap();
        }
        let ended = post(&*client, &url, b"{}", true);
        assert!(matches!(ended, Err(Error::ConnectionBroken(_))), "{ended:?}");
        assert_eq!(requests.load(Ordering::SeqCst), 1);
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn bytes_that_are_not_http_do_not_repeat_a_request() {
    let (server, requests) = counting_server(|mut stream, requests| {
        read_request(&mut stream);
        let _ = stream.write_all(OK);
        if read_request(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"\x16\x03 nonsense\r\n\r\n");
        }
    });
    let (client, url) = (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
    post(&*client, &url, b"{}", false).unwrap();
    assert!(matches!(post(&*client, &url, b"{}", false), Err(Error::ConnectionBroken(_))));
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[test]
fn an_early_error_response_is_returned() {
    const REFUSAL: &[u8] =
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nwait";
    for (size, reads_body) in
        [(100, false), (200_000, false), (16_000_000, false), (16_000_000, true)]
    {
        for is_streamed in [false, true] {
            let (server, requests) = counting_server(move |mut stream, requests| {
                head(&mut stream);
                requests.fetch_add(1, Ordering::SeqCst);
                // Meanwhile the body fills the buffers of the connection, as over a network.
                std::thread::sleep(Duration::from_millis(100));
                let _ = stream.write_all(REFUSAL);
                if reads_body {
                    let _ = stream.shutdown(Shutdown::Write);
                    let _ = std::io::copy(&mut stream, &mut std::io::sink());
                }
            });
            let (client, url) =
                (Client::new().retrying_client(&base(&server)).unwrap(), base(&server));
            let body = vec![b'x'; size];
            for nth in 1..=5 {
                let began = Instant::now();
                let answer = post(&*client, &url, &body, is_streamed);
                let answer = answer.unwrap_or_else(|error| {
                    panic!("{size} {reads_body} {is_streamed} {nth}: {error}")
                });
                assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
                assert_eq!(requests.load(Ordering::SeqCst), nth);
                assert!(began.elapsed() < IDLE_TIMEOUT);
            }
        }
    }
}
