//! Measures requests about the past beside the same ones about the present, on pages with many
//! versions.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_base::clock::{Clock, SystemClock, rfc3339};
use brain_protocol::{
    AsOf, Get, List, PageRef, PastRequest, Reply, Request, Search, Slug, SourceId, Sync,
};
use brain_tests::{Client, TestHome};

use crate::Bench;
use crate::process::wait_until_idle;
use crate::report::{Goal, Row, Samples, short};

/// Versions of each page.
const VERSIONS: usize = 20;
/// Requests of each kind.
const ROUNDS: usize = 300;
/// Maximum duration of a sync.
const MAX_SYNC_TIME: Duration = Duration::from_secs(3600);

impl Bench {
    /// Fills a brain with few pages of 20 versions each, and asks about the middle of their lives.
    pub(crate) fn past(&mut self) {
        self.step("the past");
        let count = self.scale.few;
        let home = TestHome::new();
        let daemon = home.daemon();
        let dir = self.notes.write(&self.dir.path().join("past"), 0..count).unwrap();
        home.json(["sources", "add", "notes", "--path", &dir.display().to_string()]);
        let mut client = home.connect().unwrap();
        client.stream.set_read_timeout(Some(MAX_SYNC_TIME)).unwrap();
        let source = SourceId::parse("notes").unwrap();
        let mut middle = 0;
        for version in 0..VERSIONS {
            self.write_version(&dir, count, version);
            let sync = Sync { source: Some(source.clone()), ..Sync::default() };
            let reply = client.ask(&Request::Sync(sync));
            assert!(matches!(&reply, Ok(Reply::Sync(done)) if done.status.as_str() == "done"));
            if version == VERSIONS / 2 {
                // The next version begins later than this instant.
                std::thread::sleep(Duration::from_millis(5));
                middle = SystemClock.now();
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        wait_until_idle(daemon.pid(), &home);
        let slugs = pages(&mut client, count);
        let get = |n: usize| Get {
            page: PageRef { source: Some(source.clone()), slug: slugs[n % slugs.len()].clone() },
            version: None,
        };
        self.compare(&mut client, "get", middle, 2.0, |n| get(n * 37).into());
        let questions: Vec<String> = (0..ROUNDS).map(|n| self.notes.question(n)).collect();
        self.compare(&mut client, "search", middle, 10.0, |n| {
            let query = questions[n].clone();
            Search { query, limit: 20, ..Search::default() }.into()
        });
        let list = List { limit: 50, ..List::default() };
        self.compare(&mut client, "list", middle, 10.0, |_| list.clone().into());
    }

    /// Writes a version of all notes: their text with one more line.
    fn write_version(&self, dir: &Path, count: usize, version: usize) {
        for note in (0..count).map(|n| self.notes.note(n)) {
            let lines: String =
                (0..version).map(|n| format!("\nRevision {n} of this note.\n")).collect();
            std::fs::write(dir.join(&note.path), note.content() + &lines).unwrap();
        }
    }

    /// Measures a request about the present and about the past in turns, after the first one about
    /// the past.
    fn compare(
        &mut self,
        client: &mut Client,
        name: &str,
        at: i64,
        goal: f64,
        request: impl Fn(usize) -> PastRequest,
    ) {
        let past = |n| Request::AsOf(AsOf { at: rfc3339(at), request: request(n) });
        let mut time = |request: &Request| {
            let began = Instant::now();
            client.ask(request).unwrap();
            began.elapsed()
        };
        let first = time(&past(0));
        let [mut now, mut then] = std::array::from_fn(|_| Samples::default());
        for n in 0..ROUNDS {
            now.time(time(&request(n).into()));
            then.time(time(&past(n)));
        }
        let ratio = then.median() / now.median();
        self.table.add(Row {
            order: 119,
            description: format!(
                "`{name} --as-of`, {} pages with {VERSIONS} versions, as a multiple of `{name}`",
                self.scale.few
            ),
            goal: Goal::Below(goal, "times"),
            value: ratio,
            measured: format!(
                "{} times ({} against {}; the first one {:.0?})",
                short(ratio),
                then.text("ms"),
                now.text("ms"),
                first
            ),
            baseline: None,
        });
    }
}

/// Returns the slugs of the first 1,000 pages.
fn pages(client: &mut Client, count: usize) -> Vec<Slug> {
    let list = List { limit: 1000, ..List::default() };
    match client.ask(&Request::List(list)) {
        Ok(Reply::Pages(pages)) => {
            assert_eq!(pages.pages.len(), count.min(1000));
            pages.pages.into_iter().map(|page| page.slug).collect()
        }
        other => panic!("{other:?}"),
    }
}
