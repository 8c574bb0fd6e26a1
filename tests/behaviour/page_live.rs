//! The stream of changes that an open screen reads.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::web::{Browser, HttpRequest, Site};

/// An open stream of events.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Opens the stream of a browser; `query` begins with `?` or is empty.
    fn open(site: &Site, browser: &Browser, query: &str) -> Self {
        let mut socket = TcpStream::connect(&site.local).unwrap();
        socket.set_read_timeout(Some(brain_tests::TEST_TIMEOUT)).unwrap();
        let (name, value) = &browser.cookies[0];
        write!(
            socket,
            "GET /web/events{query} HTTP/1.1\r\nHost: {}\r\nCookie: {name}={value}\r\n\
             Sec-Fetch-Site: same-origin\r\n\r\n",
            site.local
        )
        .unwrap();
        let mut stream = Self(BufReader::new(socket));
        assert!(stream.line().unwrap().starts_with("HTTP/1.1 200"), "the stream is refused");
        let (name, data) = stream.next().unwrap();
        assert_eq!(name, "hello");
        assert!(!data["csrf"].as_str().unwrap().is_empty());
        stream
    }

    /// Returns the next line, or `None` at the end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("the stream sent nothing in time");
        (read > 0).then_some(line)
    }

    /// Returns the next event: its name, and its data as JSON or text. `None` at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let line = self.line()?;
            if let Some(event) = line.trim_end().strip_prefix("event: ") {
                name = event.to_owned();
            } else if let Some(data) = line.trim_end().strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
                return Some((name, data));
            }
        }
    }

    /// Waits for a change that fulfils `is_expected`.
    fn change(&mut self, is_expected: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (name, data) = self.next().expect("the stream ended");
            if name == "change" && is_expected(&data) {
                return data;
            }
        }
    }

    /// Waits for the event `end`, after which the connection must end. Returns the event's reason.
    fn end(&mut self) -> Value {
        loop {
            let (name, data) = self.next().expect("the stream ended without a reason");
            if name == "end" {
                assert_eq!(self.next(), None, "an event follows the end");
                return data;
            }
        }
    }
}

#[test]
fn a_change_elsewhere_reaches_the_open_screen() {
    let site = Site::new();
    site.home.put("plan", "# Plan\n\none\n");
    let mut browser = site.open();
    let page = browser.send(&site.local, HttpRequest::get("/page/plan")).expect(200).body;
    assert!(page.contains("data-page=\"default:plan\" data-version=\"1\""), "{page}");
    assert!(page.contains("data-change-count=\""), "{page}");
    let mut stream = Stream::open(&site, &browser, "?page=default%3Aplan");
    let first = stream.change(|_| true);
    assert_eq!(first["version"], 1, "a change before the stream is not missed");
    site.home.put("plan", "# Plan\n\ntwo\n");
    let second = stream.change(|data| data["version"] == 2);
    assert!(second["seen"].as_u64() > first["seen"].as_u64(), "{first} {second}");
    site.home.put("other", "# Other\n");
    let third = stream.change(|data| data["seen"].as_u64() > second["seen"].as_u64());
    assert_eq!(third["version"], 2, "a change of another page keeps the version");
    site.home.brain(["delete", "plan"]).expect(0);
    assert_eq!(
        stream.change(|data| data["version"] != 2)["version"],
        0,
        "a deleted page has version 0"
    );
    site.home.brain(["restore", "plan"]).expect(0);
    stream.change(|data| data["version"].as_u64() > Some(0));
    // Nothing of a page's text is in the stream, and a screen without a page gets no version.
    let mut stream = Stream::open(&site, &browser, "");
    let change = stream.change(|_| true);
    assert_eq!(change, json!({ "seen": change["seen"], "version": null }));
}

#[test]
fn the_queue_and_a_sync_are_reported() {
    let site = Site::new();
    let token = site.home.token("w", "read write", &[]);
    let mut browser = site.open();
    let mut stream = Stream::open(&site, &browser, "");
    let before = stream.change(|_| true)["seen"].as_u64();
    let item = HttpRequest::json("/ingest", &json!({ "content": "a thought" })).bearer(&token);
    site.local(&item);
    stream.change(|data| data["seen"].as_u64() > before);

    let dir = site.home.outside().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    for n in 0..50 {
        std::fs::write(dir.join(format!("n{n}.md")), format!("# Note {n}\n")).unwrap();
    }
    site.home.brain(["sources", "add", "work", "--path", dir.to_str().unwrap()]).expect(0);
    let report = browser.change(&site, "/web/sources/sync", &[("source", "work")]).expect(200);
    assert!(report.body.contains("50 files"), "{}", report.body);
    let mut reports = Vec::new();
    loop {
        let (name, data) = stream.next().unwrap();
        match (name.as_str(), data) {
            ("work", Value::Null) => break,
            ("work", data) => reports.push(data),
            _ => {}
        }
    }
    assert!(!reports.is_empty());
    assert!(reports.iter().all(|data| data["name"] == "Synchronising"), "{reports:?}");
}

#[test]
fn a_stream_ends_with_its_session() {
    let site = Site::new();
    let (mut one, two, three) = (site.open(), site.open(), site.open());
    let mut streams = [&one, &two, &three].map(|browser| Stream::open(&site, browser, ""));
    one.change(&site, "/web/sign-out", &[]).expect(303);
    assert_eq!(streams[0].end(), "signed-out");
    // The other streams continue.
    site.home.put("a", "# A\n");
    let seen = streams[1].change(|_| true)["seen"].as_u64();
    site.home.put("b", "# B\n");
    streams[1].change(|data| data["seen"].as_u64() > seen);
    site.home.brain(["open", "--sign-out"]).expect(0);
    assert_eq!(streams[1].end(), "signed-out");
    assert_eq!(streams[2].end(), "signed-out");
    site.local(&HttpRequest::get("/web/events")).expect(401);
    site.public(&HttpRequest::get("/web/events")).expect(404);
}

#[test]
fn open_streams_do_not_delay_a_stop() {
    let stop = |site: &Site| {
        let began = Instant::now();
        site.home.brain(["stop"]).expect(0);
        began.elapsed()
    };
    let usual = stop(&Site::new());
    let site = Site::new();
    let browser = site.open();
    let mut streams: Vec<Stream> = (0..3).map(|_| Stream::open(&site, &browser, "")).collect();
    let took = stop(&site);
    for stream in &mut streams {
        assert_eq!(stream.end(), "stop");
    }
    // Connections with unfinished answers are closed after 2.8 seconds.
    let limit = Duration::from_secs(2) + usual * 3;
    assert!(took < limit, "the stop took {took:?}, and {usual:?} without streams");
}

#[test]
fn a_session_has_at_most_four_streams() {
    let site = Site::new();
    let mut browser = site.open();
    let mut streams: Vec<Stream> = (0..6).map(|_| Stream::open(&site, &browser, "")).collect();
    assert_eq!(streams[0].end(), "replaced");
    assert_eq!(streams[1].end(), "replaced");
    site.home.put("a", "# A\n");
    streams[2].change(|_| true);
    streams[5].change(|_| true);
    // A page from another port of this machine cannot open a stream, even with the cookie.
    let foreign = HttpRequest::get("/web/events").header("Sec-Fetch-Site", "same-site");
    browser.send(&site.local, foreign).expect(403);
    let audit = site.home.json(["audit"]).to_string();
    assert!(audit.contains("GET /web/events"), "{audit}");
}
