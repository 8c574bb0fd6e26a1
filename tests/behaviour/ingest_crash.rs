//! SIGKILL while many clients post. Every item that was accepted with 202 becomes one page with its
//! file, and an item that is sent again after a lost response is not duplicated.
//!
//! `crash` describes the variables `BRAIN_CRASH_ROUNDS` and `BRAIN_CRASH_SEED`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use brain_protocol::{Get, List, PageRef, Request, Sort};
use brain_tests::{TEST_TIMEOUT, TestHome, expect_reply};

use crate::crash::{Run, settle};

/// The number of clients that post at the same time.
const CLIENTS: usize = 16;
/// Time limit of a run with the default number of rounds.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Waits until every accepted item is a page.
pub(crate) fn wait_for_queue(home: &TestHome) {
    settle(home);
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let jobs = home.status().jobs;
        assert_eq!(jobs.failed, 0, "{}", home.log());
        if jobs.waiting == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "{} items still wait: {}", jobs.waiting, home.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn each_accepted_item_survives_sigkill_as_one_page() {
    let run = Run::new(10);
    let mut home = TestHome::new();
    home.env.push(("BRAIN_INGEST_RATE".into(), "off".into()));
    let mut rng = run.rng();
    let token = {
        let _daemon = home.daemon();
        home.token("posting", "read write", &[])
    };
    let mut logs: Vec<ClientLog> = (0..CLIENTS).map(ClientLog::new).collect();
    let (mut kills, mut accepted, mut waiting) = (0, 0, 0);
    for _ in 0..run.rounds {
        if run.is_default && run.started_at.elapsed() > TIME_LIMIT {
            break;
        }
        let daemon = home.daemon();
        let address = home.http_local();
        let delay = Duration::from_micros((600 << rng.below(10)) + rng.below(4000));
        std::thread::scope(|scope| {
            let clients: Vec<_> = logs
                .iter_mut()
                .map(|log| {
                    let token = &token;
                    scope.spawn(move || log.post_until_killed(address, token))
                })
                .collect();
            std::thread::sleep(delay);
            daemon.kill();
            kills += 1;
            for client in clients {
                accepted += client.join().expect("a client found a fault; see above");
            }
        });
        // Sometimes kill a second daemon while it processes the queue.
        if rng.one_in(2) {
            let daemon = home.daemon();
            std::thread::sleep(Duration::from_micros(rng.below(60_000)));
            daemon.kill();
            kills += 1;
        }
        let daemon = home.daemon();
        waiting += home.status().jobs.waiting;
        assert!(daemon.terminate().0.success(), "{}", home.log());
    }

    let _daemon = home.daemon();
    wait_for_queue(&home);
    let mut sent_bodies = BTreeSet::new();
    let mut accepted_bodies = BTreeSet::new();
    for log in &logs {
        sent_bodies.extend(&log.sent);
        accepted_bodies.extend(&log.accepted);
    }
    let pages = bodies(&home);
    for (body, slugs) in &pages {
        assert!(sent_bodies.contains(body), "{slugs:?} has a text that was not sent: {body}");
        assert_eq!(slugs.len(), 1, "\"{body}\" was stored more than once: {slugs:?}");
        let file =
            std::fs::read_to_string(home.page_file(&slugs[0])).expect("the page has no file");
        assert!(file.ends_with(body.as_str()), "the file of {} differs from its page", slugs[0]);
    }
    for body in &accepted_bodies {
        assert!(pages.contains_key(*body), "\"{body}\" was accepted and lost");
    }
    for body in accepted_bodies.iter().step_by(1 + accepted_bodies.len() / 50) {
        let word = body.split_whitespace().next().unwrap();
        assert_eq!(home.search(word), pages[*body], "search finds \"{word}\"");
    }
    assert!(accepted > 0, "no item was accepted");
    run.report(&format!(
        "ingest: {kills} kills, {accepted} accepted items, {waiting} found waiting, {:.0?}",
        run.started_at.elapsed()
    ));
}

/// The items of one client.
struct ClientLog {
    client: usize,
    /// All sent items.
    sent: BTreeSet<String>,
    /// Items accepted with 202.
    accepted: BTreeSet<String>,
    /// The item that got no response. The client sends it again first.
    unanswered: Option<String>,
}

impl ClientLog {
    fn new(client: usize) -> Self {
        Self { client, sent: BTreeSet::new(), accepted: BTreeSet::new(), unanswered: None }
    }

    /// Posts items until the daemon is killed. Returns the number of accepted items.
    fn post_until_killed(&mut self, address: SocketAddr, token: &str) -> usize {
        let Ok(stream) = TcpStream::connect(address) else { return 0 };
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut answers = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        let mut accepted = 0;
        loop {
            let text = self.unanswered.take().unwrap_or_else(|| {
                format!("item{}x{} of client {}", self.client, self.sent.len(), self.client)
            });
            self.sent.insert(text.clone());
            let request = format!(
                "POST /ingest HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            );
            let answer =
                stream.write_all(request.as_bytes()).ok().and_then(|()| read_answer(&mut answers));
            match answer {
                None => {
                    self.unanswered = Some(text);
                    return accepted;
                }
                Some((202, _)) => {
                    self.accepted.insert(text);
                    accepted += 1;
                }
                Some((status, body)) => panic!("{status} {body}"),
            }
        }
    }
}

/// Reads the status and the body of a response. Returns `None` for an incomplete response, which
/// `brain_tests::http` treats as an error.
pub(crate) fn read_answer(stream: &mut BufReader<TcpStream>) -> Option<(u16, String)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut length = None;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    let mut body = vec![0; length?];
    stream.read_exact(&mut body).ok()?;
    Some((status, String::from_utf8(body).ok()?))
}

/// Returns the slugs of all active pages by their bodies.
fn bodies(home: &TestHome) -> BTreeMap<String, Vec<String>> {
    let mut client = home.connect().unwrap();
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut after = None;
    loop {
        let list = List { sort: Sort::Slug, limit: 1000, after, ..List::default() };
        let pages = expect_reply!(client.ask(&Request::List(list)), Pages);
        for row in pages.pages {
            let page = PageRef { source: None, slug: row.slug.clone() };
            let page = expect_reply!(client.ask(&Request::Get(Get { page, version: None })), Page);
            assert_eq!(page.source_kind.as_deref(), Some("webhook"), "{}", row.slug);
            out.entry(page.body.trim_end().to_owned()).or_default().push(row.slug.to_string());
        }
        match pages.next {
            Some(next) => after = Some(next),
            None => return out,
        }
    }
}
