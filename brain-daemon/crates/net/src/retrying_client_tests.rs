//! Links and web pages, with servers on this machine.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brain_protocol::Secret;
use url::Url;

use super::document::Rules;
use super::tests::{Server, answering, call, head, server, told};
use super::*;

/// Long enough that only a hang comes to it.
const LONG: Duration = Duration::from_secs(20);

fn base(server: &Server) -> Url {
    Url::parse(&format!("http://127.0.0.1:{}", server.address.port())).unwrap()
}

fn linked(server: &Server) -> Box<dyn RetryingClient> {
    Client::new().retrying_client(&base(server)).unwrap()
}

/// Answers as many requests of each connection as `each` says.
fn keeping(each: usize) -> Server {
    server(move |mut stream, heard| {
        for _ in 0..each {
            let asked = head(&mut stream);
            if asked.is_empty() {
                return;
            }
            *heard.lock().unwrap() = asked;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

/// Sends the head of an endless answer, then does this.
fn streaming(then: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Server {
    let then = Arc::new(then);
    server(move |mut stream, _| {
        let then = Arc::clone(&then);
        // Others are served meanwhile.
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

/// Waits until the other end is gone.
fn linger(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

#[test]
fn calls_of_one_link_share_a_connection() {
    let server = keeping(usize::MAX);
    let link = linked(&server);
    for path in ["/a", "/b?c=d", "/e"] {
        let url = base(&server).join(path).unwrap();
        assert_eq!(link.call(&call(&url)).unwrap().body, b"ok");
        assert!(server.heard.lock().unwrap().starts_with(&format!("GET {path} HTTP/1.1")));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_connection_that_the_server_ended_is_made_anew() {
    let server = keeping(1);
    let link = linked(&server);
    let url = base(&server);
    for _ in 0..3 {
        assert_eq!(link.call(&call(&url)).unwrap().body, b"ok");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

fn server_that_only_reads() -> Server {
    server(|mut stream, _| drop(head(&mut stream)))
}

#[test]
fn a_request_that_meets_the_end_of_a_connection_is_asked_once_more_if_it_only_reads() {
    let server = server(|mut stream, _| {
        head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        // The next one was sent already when the connection ends.
        head(&mut stream);
    });
    let (link, url) = (linked(&server), base(&server));
    for connections in [1, 2] {
        assert_eq!(link.call(&call(&url)).unwrap().body, b"ok");
        assert_eq!(server.connections.load(Ordering::SeqCst), connections);
    }
    // On a new connection it is not known whether it was done.
    let gone = server_that_only_reads();
    let (link, url) = (linked(&gone), base(&gone));
    let writes = HttpRequest { body: Some(b"{}"), ..call(&url) };
    assert!(matches!(link.call(&writes), Err(Error::ConnectionBroken(_))));
    assert_eq!(gone.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn nothing_is_looked_up_before_the_first_call_and_then_once() {
    let server = keeping(usize::MAX);
    let names = told(&[&["127.0.0.1"], &["127.0.0.9"]]);
    let client = Client::with(names.clone(), Vec::new(), Rules::STRICT);
    let url =
        Url::parse(&format!("http://api.example:{}/2/users/me", server.address.port())).unwrap();
    let link = client.retrying_client(&url).unwrap();
    assert_eq!(names.asked.load(Ordering::SeqCst), 0);
    for _ in 0..2 {
        assert_eq!(link.call(&call(&url)).unwrap().status, 200);
    }
    assert_eq!(names.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn a_server_that_is_gone_is_looked_up_again() {
    let server = keeping(usize::MAX);
    // Nobody listens at the first.
    let names = told(&[&["127.0.0.9"], &["127.0.0.1"]]);
    let client = Client::with(names.clone(), Vec::new(), Rules::STRICT);
    let url = Url::parse(&format!("http://api.example:{}/", server.address.port())).unwrap();
    let link = client.retrying_client(&url).unwrap();
    assert_eq!(link.call(&call(&url)), Err(Error::ConnectionRefused));
    assert_eq!(link.call(&call(&url)).unwrap().status, 200);
    assert_eq!(names.asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_token_goes_to_its_own_server_only() {
    let (ours, theirs) = (keeping(1), keeping(1));
    let link = linked(&ours);
    let token = Secret::new("Bearer hidden");
    let url = base(&theirs);
    for url in [url.as_str(), "http://localhost:1/", "https://127.0.0.1/"] {
        let url = Url::parse(url).unwrap();
        let refused = link.call(&HttpRequest { authorization: Some(&token), ..call(&url) });
        assert!(matches!(refused, Err(Error::InvalidAddress(_))), "{refused:?}");
    }
    assert_eq!(theirs.connections.load(Ordering::SeqCst), 0);
    // Nor where the server itself would send it.
    let leading =
        answering(&format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n"));
    let url = base(&leading);
    let answer =
        linked(&leading).call(&HttpRequest { authorization: Some(&token), ..call(&url) }).unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(theirs.connections.load(Ordering::SeqCst), 0);
    assert!(leading.heard.lock().unwrap().contains("authorization: Bearer hidden"));
    for bad in ["ftp://a/", "mailto:a@b", "file:///etc/passwd"] {
        let refused = Client::new().retrying_client(&Url::parse(bad).unwrap()).err();
        assert!(matches!(refused, Some(Error::InvalidAddress(_))), "{bad}");
    }
}

#[test]
fn an_answer_may_be_large_but_not_endless() {
    let sized = |n: usize| {
        let text = "x".repeat(n);
        answering(&format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n{text}"))
    };
    let most = 8 * 1024 * 1024;
    let full = sized(most);
    assert_eq!(linked(&full).call(&call(&base(&full))).unwrap().body.len(), most);
    let over = sized(most + 1);
    assert_eq!(linked(&over).call(&call(&base(&over))), Err(Error::TooLarge(most)));
    let endless = streaming(|stream| {
        let text = "x".repeat(1 << 20);
        for _ in 0..9 {
            chunk(stream, &text);
        }
        linger(stream);
    });
    assert_eq!(linked(&endless).call(&call(&base(&endless))), Err(Error::TooLarge(most)));
}

/// Follows to the end; everything that came, and how it ended.
fn followed(server: &Server, silence: Duration) -> (bool, String, Result<HttpResponse, Error>) {
    let (mut begun, mut text) = (false, String::new());
    let end = linked(server).stream(&call(&base(server)), silence, &mut |part| {
        match part {
            StreamEvent::Idle => {}
            StreamEvent::Head => begun = true,
            StreamEvent::Bytes(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
        }
        true
    });
    (begun, text, end)
}

#[test]
fn an_answer_without_end_is_handed_over_as_it_comes() {
    let server = streaming(|stream| {
        for text in ["{\"a\":1}\r\n", "\r\n", "{\"b\":2}\r\n"] {
            chunk(stream, text);
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let (begun, text, end) = followed(&server, LONG);
    assert_eq!((begun, text.as_str()), (true, "{\"a\":1}\r\n\r\n{\"b\":2}\r\n"));
    assert_eq!(end.unwrap().status, 200);
}

#[test]
fn one_that_is_cut_is_no_end() {
    let server = streaming(|stream| chunk(stream, "{\"a\":1}\r\n"));
    let (_, text, end) = followed(&server, LONG);
    assert_eq!(text, "{\"a\":1}\r\n");
    assert!(matches!(end, Err(Error::ConnectionBroken(_))), "{end:?}");
}

#[test]
fn silence_is_told_before_and_after_the_head() {
    let after = streaming(|stream| {
        chunk(stream, "one\r\n");
        linger(stream);
    });
    let keep: Mutex<Vec<TcpStream>> = Mutex::default();
    let before = server(move |stream, _| keep.lock().unwrap().push(stream));
    for (server, expected) in [(after, (true, "one\r\n")), (before, (false, ""))] {
        let (begun, text, end) = followed(&server, Duration::from_secs(2));
        assert_eq!((begun, text.as_str()), expected);
        assert_eq!(end, Err(Error::Timeout(2)));
    }
}

#[test]
fn a_trickle_is_no_silence() {
    let server = streaming(|stream| {
        for _ in 0..12 {
            std::thread::sleep(Duration::from_millis(250));
            chunk(stream, "\r\n");
        }
        let _ = stream.write_all(b"0\r\n\r\n");
    });
    let (_, text, end) = followed(&server, Duration::from_secs(2));
    assert_eq!(text, "\r\n".repeat(12));
    assert_eq!(end.unwrap().status, 200);
}

#[test]
fn who_follows_may_stop_at_any_time() {
    let silent = streaming(linger);
    let keep: Mutex<Vec<TcpStream>> = Mutex::default();
    let headless = server(move |stream, _| keep.lock().unwrap().push(stream));
    for server in [silent, headless] {
        let (link, url, began) = (linked(&server), base(&server), Instant::now());
        let mut asked = 0;
        let end = link.stream(&call(&url), LONG, &mut |part| {
            asked += usize::from(part == StreamEvent::Idle);
            asked == 0
        });
        assert!(end.is_ok(), "{end:?}");
        assert!(began.elapsed() < LONG, "it was asked before the silence was over");
    }
}

#[test]
fn whoever_follows_may_call_meanwhile() {
    let seen = Arc::new(AtomicUsize::new(0));
    let again = Arc::clone(&seen);
    let server = streaming(move |stream| {
        let nth = again.fetch_add(1, Ordering::SeqCst);
        chunk(stream, if nth == 0 { "one\r\n" } else { "other\r\n" });
        match nth {
            0 => linger(stream),
            _ => drop(stream.write_all(b"0\r\n\r\n")),
        }
    });
    let (link, url) = (linked(&server), base(&server));
    let mut found = Vec::new();
    let end = link.stream(&call(&url), LONG, &mut |part| {
        if part == StreamEvent::Bytes(b"one\r\n") {
            found = link.call(&call(&url)).unwrap().body;
            return false;
        }
        true
    });
    assert_eq!(found, b"other\r\n");
    assert!(end.is_ok());
}

#[test]
fn a_refusal_is_read_whole() {
    let server = answering(
        "HTTP/1.1 429 Too Many Requests\r\nX-Rate-Limit-Reset: 7\r\nContent-Length: 4\r\n\r\nwait",
    );
    let (begun, text, end) = followed(&server, LONG);
    let answer = end.unwrap();
    assert_eq!(
        (begun, text.as_str(), answer.status, answer.body.as_slice()),
        (false, "", 429, &b"wait"[..])
    );
    assert_eq!(answer.header("x-rate-limit-reset"), Some("7"));
}

/// The rules for pages, but that this machine's usual address counts as public; no other does.
const LOOSE: Rules = Rules {
    requires_public_name: false,
    is_allowed: |ip| ip == IpAddr::V4(Ipv4Addr::LOCALHOST),
    ..Rules::PAGES
};

fn page(turns: &[&[&str]], url: &str) -> Result<WebPage, Error> {
    Client::with_pages(told(turns), LOOSE).web_page(url)
}

fn named(server: &Server, name: &str, path: &str) -> String {
    format!("http://{name}:{}{path}", server.address.port())
}

#[test]
fn a_web_page_is_read_where_it_is() {
    let html = "<title>A page</title>";
    let there = answering(&format!(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=UTF-8\r\nContent-Length: {}\r\n\r\n{html}",
        html.len()
    ));
    let to = named(&there, "other.example", "/page");
    let first = answering(&format!(
        "HTTP/1.1 301 Moved\r\nLocation: {to}#part\r\nContent-Length: 0\r\n\r\n"
    ));
    let found = page(&[&["127.0.0.1"]], &named(&first, "short.example", "/x#y")).unwrap();
    assert_eq!(
        found,
        WebPage { url: to, content_type: "text/html; charset=utf-8".into(), body: html.into() }
    );
    let heard = there.heard.lock().unwrap().to_ascii_lowercase();
    assert!(
        heard.starts_with("get /page http/1.1") && heard.contains("accept-encoding: identity"),
        "{heard}"
    );
    assert!(
        !heard.contains("cookie") && !heard.contains("referer") && !heard.contains("authorization")
    );
}

#[test]
fn a_page_that_leads_inside_is_not_followed() {
    let inside = answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin");
    let port = inside.address.port();
    let leading = |to: &str| {
        answering(&format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
    };
    // The first name is public, the second is not.
    let names: &[&[&str]] = &[&["127.0.0.1"], &["10.0.0.1"]];
    let first = leading(&format!("http://inside.example:{port}/"));
    assert_eq!(page(names, &named(&first, "app.example", "/")), Err(Error::NotPublic));
    // One of two is enough.
    let first = leading(&format!("http://inside.example:{port}/"));
    let names: &[&[&str]] = &[&["127.0.0.1"], &["127.0.0.1", "169.254.169.254"]];
    assert_eq!(page(names, &named(&first, "app.example", "/")), Err(Error::NotPublic));
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
        let first = leading(to);
        let refused = page(&[&["127.0.0.1"]], &named(&first, "app.example", "/"));
        assert!(matches!(refused, Err(Error::InvalidAddress(_))), "{to}: {refused:?}");
    }
    assert_eq!(inside.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn the_rules_in_force_for_pages_want_a_public_name_and_the_usual_port() {
    let names = told(&[&["10.1.2.3"]]);
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
    assert_eq!(names.asked.load(Ordering::SeqCst), 0);
    // In whatever spelling, if only it is one.
    for good in
        ["HTTP://News.Example:80", "https://news.example/a/../b#c", "https://bücher.example/"]
    {
        assert_eq!(client.web_page(good), Err(Error::NotPublic), "{good}");
    }
}

#[test]
fn three_redirects_are_followed_and_no_fourth() {
    for (hops, expected) in [(3, Ok(())), (4, Err(Error::Status(302)))] {
        let left = AtomicUsize::new(hops);
        let there = server(move |mut stream, _| {
            head(&mut stream);
            let more =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
            let text = match more {
                // Relative, as most are.
                true => "HTTP/1.1 302 Found\r\nLocation: on?x\r\nContent-Length: 0\r\n\r\n",
                false => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            };
            let _ = stream.write_all(text.as_bytes());
        });
        let found = page(&[&["127.0.0.1"]], &named(&there, "app.example", "/a/b")).map(|page| {
            assert_eq!(page.url, named(&there, "app.example", "/a/on?x"));
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn a_page_is_small_plain_and_there() {
    let read = |text: String| {
        let there = answering(&text);
        page(&[&["127.0.0.1"]], &named(&there, "app.example", "/")).map(|page| page.body.len())
    };
    let most = 2 * 1024 * 1024;
    let full = "x".repeat(most);
    assert_eq!(read(format!("HTTP/1.1 200 OK\r\nContent-Length: {most}\r\n\r\n{full}")), Ok(most));
    let over = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{full}x", most + 1);
    assert_eq!(read(over), Err(Error::TooLarge(most)));
    assert_eq!(read(format!("HTTP/1.1 200 OK\r\n\r\n{full}x")), Err(Error::TooLarge(most)));
    assert_eq!(
        read("HTTP/1.1 404 Not Found\r\nContent-Length: 9999999\r\n\r\n".into()),
        Err(Error::Status(404))
    );
    let packed = read(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x00".into(),
    );
    assert!(matches!(packed, Err(Error::ConnectionBroken(_))), "{packed:?}");
}
