//! Tests of reused connections, streams and web pages, with servers on this machine.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_protocol::Secret;
use url::Url;

use super::document::Rules;
use super::tests::{Server, call, head, scripted_resolver, server, server_with_response};
use super::*;

/// A time limit that only a hang reaches.
const HANG_TIMEOUT: Duration = Duration::from_secs(20);

fn base(server: &Server) -> Url {
    Url::parse(&format!("http://127.0.0.1:{}", server.address.port())).unwrap()
}

fn client_of(server: &Server) -> Box<dyn RetryingClient> {
    Client::new().retrying_client(&base(server)).unwrap()
}

/// The number of requests for [`server_for_requests`] that never closes a connection.
const UNLIMITED: usize = usize::MAX;

/// A server that answers this number of requests on each connection.
fn server_for_requests(per_connection: usize) -> Server {
    server(move |mut stream, received| {
        for _ in 0..per_connection {
            let request = head(&mut stream);
            if request.is_empty() {
                return;
            }
            *received.lock().unwrap() = request;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

/// A server that sends the head of an endless response, then calls `then`.
fn streaming_server(then: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Server {
    let then = Arc::new(then);
    server(move |mut stream, _| {
        let then = Arc::clone(&then);
        // The server accepts other connections meanwhile.
        std::thread::spawn(move || {
            head(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            then(&mut stream);
        });
    })
}

fn chunk(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
}

/// Waits until the client closes the connection.
fn wait_for_close(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

#[test]
fn calls_of_one_client_share_a_connection() {
    let server = server_for_requests(UNLIMITED);
    let client = client_of(&server);
    for path in ["/a", "/b?c=d", "/e"] {
        let url = base(&server).join(path).unwrap();
        assert_eq!(client.call(&call(&url)).unwrap().body, b"ok");
        assert!(server.received.lock().unwrap().starts_with(&format!("GET {path} HTTP/1.1")));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_closed_connection_is_opened_again() {
    let server = server_for_requests(1);
    let client = client_of(&server);
    let url = base(&server);
    for _ in 0..3 {
        assert_eq!(client.call(&call(&url)).unwrap().body, b"ok");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

fn server_that_never_responds() -> Server {
    server(|mut stream, _| drop(head(&mut stream)))
}

#[test]
fn a_post_on_a_new_connection_is_not_repeated() {
    let server = server(|mut stream, _| {
        head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        // The connection closes after the client has sent the next request.
        head(&mut stream);
    });
    let (client, url) = (client_of(&server), base(&server));
    for connections in [1, 2] {
        assert_eq!(client.call(&call(&url)).unwrap().body, b"ok");
        assert_eq!(server.connections.load(Ordering::SeqCst), connections);
    }
    // On a new connection the server may have processed the request.
    let closing = server_that_never_responds();
    let (client, url) = (client_of(&closing), base(&closing));
    let post = HttpRequest { body: Some(b"{}"), ..call(&url) };
    assert!(matches!(client.call(&post), Err(Error::ConnectionBroken(_))));
    assert_eq!(closing.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn the_name_is_looked_up_once_by_the_first_call() {
    let server = server_for_requests(UNLIMITED);
    let names = scripted_resolver(&[&["127.0.0.1"], &["127.0.0.9"]]);
    let client = Client::with_documents(names.clone(), Vec::new(), Rules::STRICT);
    let url =
        Url::parse(&format!("http://api.example:{}/2/users/me", server.address.port())).unwrap();
    let client = client.retrying_client(&url).unwrap();
    assert_eq!(names.lookups.load(Ordering::SeqCst), 0);
    for _ in 0..2 {
        assert_eq!(client.call(&call(&url)).unwrap().status, 200);
    }
    assert_eq!(names.lookups.load(Ordering::SeqCst), 1);
}

#[test]
fn an_unreachable_server_is_looked_up_again() {
    let server = server_for_requests(UNLIMITED);
    // No server listens at the first address.
    let names = scripted_resolver(&[&["127.0.0.9"], &["127.0.0.1"]]);
    let client = Client::with_documents(names.clone(), Vec::new(), Rules::STRICT);
    let url = Url::parse(&format!("http://api.example:{}/", server.address.port())).unwrap();
    let client = client.retrying_client(&url).unwrap();
    assert_eq!(client.call(&call(&url)), Err(Error::ConnectionRefused));
    assert_eq!(client.call(&call(&url)).unwrap().status, 200);
    assert_eq!(names.lookups.load(Ordering::SeqCst), 2);
}

#[test]
fn a_token_is_sent_to_its_own_server_only() {
    let (ours, theirs) = (server_for_requests(1), server_for_requests(1));
    let client = client_of(&ours);
    let token = Secret::new("Bearer hidden");
    let url = base(&theirs);
    for url in [url.as_str(), "http://localhost:1/", "https://127.0.0.1/"] {
        let url = Url::parse(url).unwrap();
        let refused = client.call(&HttpRequest { authorization: Some(&token), ..call(&url) });
        assert!(matches!(refused, Err(Error::InvalidAddress(_))), "{refused:?}");
    }
    assert_eq!(theirs.connections.load(Ordering::SeqCst), 0);
    // After a redirect by its own server, the token is not sent to another server either.
    let redirecting = server_with_response(&format!(
        "HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n"
    ));
    let url = base(&redirecting);
    let answer = client_of(&redirecting)
        .call(&HttpRequest { authorization: Some(&token), ..call(&url) })
        .unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(theirs.connections.load(Ordering::SeqCst), 0);
    assert!(redirecting.received.lock().unwrap().contains("authorization: Bearer hidden"));
    for bad in ["ftp://a/", "mailto:a@b", "file:///etc/passwd"] {
        let refused = Client::new().retrying_client(&Url::parse(bad).unwrap()).err();
        assert!(matches!(refused, Some(Error::InvalidAddress(_))), "{bad}");
    }
}

#[test]
fn a_response_has_a_maximum_size() {
    let sized = |n: usize| {
        let text = "x".repeat(n);
        server_with_response(&format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n{text}"))
    };
    let max_bytes = 8 * 1024 * 1024;
    let full = sized(max_bytes);
    assert_eq!(client_of(&full).call(&call(&base(&full))).unwrap().body.len(), max_bytes);
    let over = sized(max_bytes + 1);
    assert_eq!(client_of(&over).call(&call(&base(&over))), Err(Error::TooLarge(max_bytes)));
    let endless = streaming_server(|stream| {
        let text = "x".repeat(1 << 20);
        for _ in 0..9 {
            chunk(stream, &text);
        }
        wait_for_close(stream);
    });
    assert_eq!(client_of(&endless).call(&call(&base(&endless))), Err(Error::TooLarge(max_bytes)));
}

/// Reads a stream to its end. Returns whether a head arrived, the text, and the result.
fn read_stream(
    server: &Server,
    idle_timeout: Duration,
) -> (bool, String, Result<HttpResponse, Error>) {
    let (mut has_head, mut text) = (false, String::new());
    let end = client_of(server).stream(&call(&base(server)), idle_timeout, &mut |part| {
        match part {
            StreamEvent::Idle => {}
            StreamEvent::Head => has_head = true,
            StreamEvent::Bytes(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
        }
        true
    });
    (has_head, text, end)
}

#[test]
fn an_endless_response_is_passed_on_as_it_arrives() {
    let server = streaming_server(|stream| {
        for text in ["{\"a\":1}\r\n", "\r\n", "{\"b\":2}\r\n"] {
            chunk(stream, text);
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let (has_head, text, end) = read_stream(&server, HANG_TIMEOUT);
    assert_eq!((has_head, text.as_str()), (true, "{\"a\":1}\r\n\r\n{\"b\":2}\r\n"));
    assert_eq!(end.unwrap().status, 200);
}

#[test]
fn an_interrupted_stream_is_an_error() {
    let server = streaming_server(|stream| chunk(stream, "{\"a\":1}\r\n"));
    let (_, text, end) = read_stream(&server, HANG_TIMEOUT);
    assert_eq!(text, "{\"a\":1}\r\n");
    assert!(matches!(end, Err(Error::ConnectionBroken(_))), "{end:?}");
}

#[test]
fn a_silent_stream_times_out_before_and_after_its_head() {
    let after = streaming_server(|stream| {
        chunk(stream, "one\r\n");
        wait_for_close(stream);
    });
    let open_streams: Mutex<Vec<TcpStream>> = Mutex::default();
    let before = server(move |stream, _| open_streams.lock().unwrap().push(stream));
    for (server, expected) in [(after, (true, "one\r\n")), (before, (false, ""))] {
        let (has_head, text, end) = read_stream(&server, Duration::from_secs(2));
        assert_eq!((has_head, text.as_str()), expected);
        assert_eq!(end, Err(Error::Timeout(2)));
    }
}

#[test]
fn a_slow_stream_does_not_time_out() {
    let server = streaming_server(|stream| {
        for _ in 0..12 {
            std::thread::sleep(Duration::from_millis(250));
            chunk(stream, "\r\n");
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let (_, text, end) = read_stream(&server, Duration::from_secs(2));
    assert_eq!(text, "\r\n".repeat(12));
    assert_eq!(end.unwrap().status, 200);
}

#[test]
fn the_caller_can_stop_an_idle_stream() {
    let silent = streaming_server(wait_for_close);
    let open_streams: Mutex<Vec<TcpStream>> = Mutex::default();
    let headless = server(move |stream, _| open_streams.lock().unwrap().push(stream));
    for server in [silent, headless] {
        let (client, url, began) = (client_of(&server), base(&server), Instant::now());
        let mut idle_events = 0;
        let end = client.stream(&call(&url), HANG_TIMEOUT, &mut |part| {
            idle_events += usize::from(part == StreamEvent::Idle);
            idle_events == 0
        });
        assert!(end.is_ok(), "{end:?}");
        assert!(
            began.elapsed() < HANG_TIMEOUT,
            "the listener stopped the stream before the time limit"
        );
    }
}

#[test]
fn a_stream_listener_can_send_requests() {
    let requests = AtomicUsize::new(0);
    let server = streaming_server(move |stream| {
        let nth = requests.fetch_add(1, Ordering::SeqCst);
        chunk(stream, if nth == 0 { "one\r\n" } else { "other\r\n" });
        match nth {
            0 => wait_for_close(stream),
            _ => drop(stream.write_all(b"0\r\n\r\n")),
        }
    });
    let (client, url) = (client_of(&server), base(&server));
    let mut nested_body = Vec::new();
    let end = client.stream(&call(&url), HANG_TIMEOUT, &mut |part| {
        if part == StreamEvent::Bytes(b"one\r\n") {
            nested_body = client.call(&call(&url)).unwrap().body;
            return false;
        }
        true
    });
    assert_eq!(nested_body, b"other\r\n");
    assert!(end.is_ok());
}

#[test]
fn an_error_response_to_a_stream_is_read_completely() {
    let server = server_with_response(
        "HTTP/1.1 429 Too Many Requests\r\nX-Rate-Limit-Reset: 7\r\nContent-Length: 4\r\n\r\nwait",
    );
    let (has_head, text, end) = read_stream(&server, HANG_TIMEOUT);
    let answer = end.unwrap();
    assert_eq!(
        (has_head, text.as_str(), answer.status, answer.body.as_slice()),
        (false, "", 429, &b"wait"[..])
    );
    assert_eq!(answer.header("x-rate-limit-reset"), Some("7"));
}

/// The rules for pages, except that 127.0.0.1 is the only permitted address.
const LOOSE: Rules = Rules {
    requires_public_name: false,
    is_allowed: |ip| ip == IpAddr::V4(Ipv4Addr::LOCALHOST),
    ..Rules::PAGES
};

fn page(lookups: &[&[&str]], url: &str) -> Result<WebPage, Error> {
    Client::with_pages(scripted_resolver(lookups), LOOSE).web_page(url)
}

fn url_with_name(server: &Server, name: &str, path: &str) -> String {
    format!("http://{name}:{}{path}", server.address.port())
}

#[test]
fn a_web_page_is_read_at_the_redirect_target() {
    let html = "<title>A page</title>";
    let target = server_with_response(&format!(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=UTF-8\r\n\
         Content-Length: {}\r\n\r\n{html}",
        html.len()
    ));
    let to = url_with_name(&target, "other.example", "/page");
    let first = server_with_response(&format!(
        "HTTP/1.1 301 Moved\r\nLocation: {to}#part\r\nContent-Length: 0\r\n\r\n"
    ));
    let found = page(&[&["127.0.0.1"]], &url_with_name(&first, "short.example", "/x#y")).unwrap();
    assert_eq!(
        found,
        WebPage { url: to, content_type: "text/html; charset=utf-8".into(), body: html.into() }
    );
    let received = target.received.lock().unwrap().to_ascii_lowercase();
    assert!(
        received.starts_with("get /page http/1.1")
            && received.contains("accept-encoding: identity"),
        "{received}"
    );
    assert!(
        !received.contains("cookie")
            && !received.contains("referer")
            && !received.contains("authorization")
    );
}

#[test]
fn a_redirect_to_a_private_address_is_refused() {
    let inside = server_with_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin");
    let port = inside.address.port();
    let redirecting = |to: &str| {
        server_with_response(&format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
        ))
    };
    // The first name is public, the second is not.
    let names: &[&[&str]] = &[&["127.0.0.1"], &["10.0.0.1"]];
    let first = redirecting(&format!("http://inside.example:{port}/"));
    assert_eq!(page(names, &url_with_name(&first, "app.example", "/")), Err(Error::NotPublic));
    // One private address of two is enough.
    let first = redirecting(&format!("http://inside.example:{port}/"));
    let names: &[&[&str]] = &[&["127.0.0.1"], &["127.0.0.1", "169.254.169.254"]];
    assert_eq!(page(names, &url_with_name(&first, "app.example", "/")), Err(Error::NotPublic));
    let numbers = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("//2130706433:{port}/"),
    ];
    for to in numbers.iter().map(String::as_str).chain([
        "file:///etc/passwd",
        "ftp://app.example/",
        "http://a@b.example/",
    ]) {
        let first = redirecting(to);
        let refused = page(&[&["127.0.0.1"]], &url_with_name(&first, "app.example", "/"));
        assert!(matches!(refused, Err(Error::InvalidAddress(_))), "{to}: {refused:?}");
    }
    assert_eq!(inside.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn page_addresses_need_a_public_name_and_default_port() {
    let names = scripted_resolver(&[&["10.1.2.3"]]);
    let client = Client::with_pages(names.clone(), Rules::PAGES);
    for bad in [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://0x7f.1/",
        "http://localhost/",
        "http://printer.local/",
        "http://intranet/",
        "http://news.example:8080/",
        "https://news.example:80/",
        "https://me@news.example/",
        "ftp://news.example/",
        "news.example",
    ] {
        assert!(matches!(client.web_page(bad), Err(Error::InvalidAddress(_))), "{bad}");
    }
    assert_eq!(names.lookups.load(Ordering::SeqCst), 0);
    // Any spelling of a valid address is accepted. The host is not public, as the lookup shows.
    for good in
        ["HTTP://News.Example:80", "https://news.example/a/../b#c", "https://bücher.example/"]
    {
        assert_eq!(client.web_page(good), Err(Error::NotPublic), "{good}");
    }
}

#[test]
fn the_fourth_redirect_is_an_error() {
    for (redirects, expected) in [(3, Ok(())), (4, Err(Error::Status(302)))] {
        let redirects_left = AtomicUsize::new(redirects);
        let target = server(move |mut stream, _| {
            head(&mut stream);
            let is_redirect = redirects_left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                .is_ok();
            let text = match is_redirect {
                // A relative address.
                true => "HTTP/1.1 302 Found\r\nLocation: on?x\r\nContent-Length: 0\r\n\r\n",
                false => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            };
            let _ = stream.write_all(text.as_bytes());
        });
        let found =
            page(&[&["127.0.0.1"]], &url_with_name(&target, "app.example", "/a/b")).map(|page| {
                assert_eq!(page.url, url_with_name(&target, "app.example", "/a/on?x"));
            });
        assert_eq!(found, expected);
    }
}

#[test]
fn a_page_is_small_uncompressed_and_has_status_200() {
    let read = |text: String| {
        let target = server_with_response(&text);
        page(&[&["127.0.0.1"]], &url_with_name(&target, "app.example", "/"))
            .map(|page| page.body.len())
    };
    let max_bytes = 2 * 1024 * 1024;
    let full = "x".repeat(max_bytes);
    assert_eq!(
        read(format!("HTTP/1.1 200 OK\r\nContent-Length: {max_bytes}\r\n\r\n{full}")),
        Ok(max_bytes)
    );
    let over = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{full}x", max_bytes + 1);
    assert_eq!(read(over), Err(Error::TooLarge(max_bytes)));
    assert_eq!(read(format!("HTTP/1.1 200 OK\r\n\r\n{full}x")), Err(Error::TooLarge(max_bytes)));
    assert_eq!(
        read("HTTP/1.1 404 Not Found\r\nContent-Length: 9999999\r\n\r\n".into()),
        Err(Error::Status(404))
    );
    let compressed = read(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x00".into(),
    );
    assert!(matches!(compressed, Err(Error::ConnectionBroken(_))), "{compressed:?}");
}
