//! Measures what it costs to record what AI clients are given: the share of a call, and the bytes of
//! a record. `cargo bench --workspace --bench seen [PAGES] [CALLS]`
//!
//! Two daemons have the same pages; one of them records nothing. They are asked in turn, so that
//! both meet the same load of the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use brain_base::caller::Visibility;
use brain_store::{Store, StoreOptions};
use brain_tests::http::{Wire, request};
use brain_tests::{Daemon, TestHome};
use serde_json::json;

/// A daemon, and a connection to its `/mcp`.
struct Asked {
    home: TestHome,
    daemon: Daemon,
    wire: Wire,
    token: String,
    times: Vec<Duration>,
}

impl Asked {
    fn start(pages: usize, retention: &str) -> Self {
        let mut home = TestHome::new();
        for (name, value) in [
            ("BRAIN_HISTORY_SEEN", retention),
            ("BRAIN_SEARCH_RATE", "off"),
            ("BRAIN_INGEST_RATE", "off"),
        ] {
            home.env.push((name.to_owned(), value.to_owned()));
        }
        let daemon = home.daemon();
        let notes = home.outside();
        std::fs::create_dir_all(&notes).unwrap();
        for n in 0..pages {
            let text = format!(
                "# Note {n}\n\nThe tide of day {} lifts boat {n}; harbour {} is open.\n",
                n % 31,
                n % 97
            );
            std::fs::write(notes.join(format!("note-{n}.md")), text).unwrap();
        }
        home.json(["import".as_ref(), notes.as_os_str()]);
        let token = home.token("bench", "read", &[]);
        let wire = Wire::open(home.http_local());
        Self { home, daemon, wire, token, times: Vec::new() }
    }

    /// Asks one question, and records its time.
    fn ask(&mut self, question: &str) {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "query", "arguments": { "query": question } },
        });
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let address = self.home.http_local();
        let message = request(address, "POST", "/mcp", &headers, body.to_string().as_bytes());
        let began = Instant::now();
        assert!(self.wire.send(&message));
        let answer = self.wire.answer();
        self.times.push(began.elapsed());
        assert!(answer.expect(200).text().contains("score"), "{question}");
    }

    fn median(&mut self) -> f64 {
        self.times.sort_unstable();
        self.times[self.times.len() / 2].as_secs_f64() * 1e6
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    let (pages, calls) =
        (numbers.first().copied().unwrap_or(10_000), numbers.get(1).copied().unwrap_or(2_000));
    let [mut on, mut off] = ["90d", "off"].map(|retention| Asked::start(pages, retention));
    for n in 0..calls {
        let question = format!("tide harbour {} boat", n % 97);
        on.ask(&question);
        off.ask(&question);
    }
    let (with, without) = (on.median(), off.median());
    let share = (with - without) / without * 100.0;
    on.daemon.terminate();
    let options = StoreOptions {
        cache_bytes: 4_000_000,
        min_free_bytes: 0,
        now: 0,
        new_store_id: 1,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    };
    let store =
        Store::open(&on.home.path().join("brain.redb"), &options, Box::new(|_| {})).unwrap();
    let (rows, bytes) = store.read(Visibility::All).unwrap().seen_size().unwrap();
    let per_call = bytes as f64 / rows as f64;
    println!("{pages} pages, {calls} calls of `query` with ten hits each");
    println!("a call: {with:.0} us, without a record {without:.0} us: {share:+.1} % (limit 5 %)");
    println!("a record: {per_call:.0} bytes of {rows} (limit {} bytes)", 200 + 10 * 16);
}
