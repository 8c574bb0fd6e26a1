//! Measures operations whose time should hardly grow with the brain: listings, tags, links,
//! phrases, and a sync without changes.

use std::path::Path;
use std::time::{Duration, Instant};

use brain_protocol::{BrokenLinks, List, Reply, Request, SourceId, Sync, Tags};
use brain_tests::{Client, TestHome};

use crate::operations::walk_files;
use crate::process::{memory, reset_peak_memory, wait_until_idle};
use crate::report::{Goal, Row, Samples, short};
use crate::{Bench, search};

/// Repetitions of each operation.
const ROUNDS: usize = 30;
/// Repetitions of a sync.
const SYNCS: usize = 5;
/// Maximum duration of a sync.
const MAX_SYNC_TIME: Duration = Duration::from_secs(7200);

impl Bench {
    /// Syncs a source with `count` notes in `dir` and measures the operations. `pages` is the
    /// number in the table; `phrase_goal` is the goal for a phrase, in milliseconds.
    pub(crate) fn growth(&mut self, dir: &Path, count: usize, pages: &str, phrase_goal: f64) {
        self.step(&format!("growth: {pages} pages"));
        let home = TestHome::new();
        let daemon = home.daemon();
        home.json(["sources", "add", "notes", "--path", &dir.display().to_string()]);
        let mut client = home.connect().unwrap();
        client.stream.set_read_timeout(Some(MAX_SYNC_TIME)).unwrap();
        let source = SourceId::parse("notes").ok();
        let sync = Request::Sync(Sync { source, ..Sync::default() });
        let began = Instant::now();
        run_sync(&mut client, &sync, count);
        eprintln!("  the first sync took {:.1?}", began.elapsed());
        wait_until_idle(daemon.pid(), &home);
        // A file that the first sync read soon after its last change is read once more.
        run_sync(&mut client, &sync, count);
        wait_until_idle(daemon.pid(), &home);

        let list = |tag: Option<&str>, page_type: Option<&str>| {
            let (tag, page_type) = (tag.map(Into::into), page_type.map(Into::into));
            Request::List(List { tag, page_type, limit: 50, ..List::default() })
        };
        let tags = Tags { source: None, slug: None, add: Vec::new(), remove: Vec::new() };
        let phrase = format!("\"{}\"", self.notes.common_phrase());
        let listings = [
            ("`list --tag`, a common tag", list(Some("work"), None), Goal::Below(5.0, "ms")),
            ("`list --type`, the type of all", list(None, Some("note")), Goal::Below(5.0, "ms")),
            ("`list --type`, a type of none", list(None, Some("nothing")), Goal::Below(5.0, "ms")),
            ("`tags`", Request::Tags(tags), Goal::Below(5.0, "ms")),
            (
                "`links --broken --limit 20`",
                Request::BrokenLinks(BrokenLinks { source: None, limit: 20 }),
                Goal::Below(5.0, "ms"),
            ),
        ];
        for (order, (operation, request, goal)) in (110..).zip(listings) {
            let mut samples = Samples::default();
            for _ in 0..ROUNDS {
                let began = Instant::now();
                client.ask(&request).unwrap();
                samples.time(began.elapsed());
            }
            self.add_row(order, operation, pages, goal, &samples);
        }
        for (order, operation, question, goal) in [
            (
                115,
                "a search for a phrase of common words",
                phrase.as_str(),
                Goal::Below(phrase_goal, "ms"),
            ),
            (116, "a search for a prefix of one letter", "s*", Goal::None),
        ] {
            let mut samples = Samples::default();
            for _ in 0..ROUNDS {
                let began = Instant::now();
                assert!(!search(&mut client, question).is_empty(), "{question}");
                samples.time(began.elapsed());
            }
            self.add_row(order, operation, pages, goal, &samples);
        }

        let [mut syncs, mut walks] = std::array::from_fn(|_| Samples::default());
        let before = memory(daemon.pid(), "VmRSS");
        reset_peak_memory(daemon.pid());
        for _ in 0..SYNCS {
            walks.time(walk_files(dir, count));
            let began = Instant::now();
            run_sync(&mut client, &sync, count);
            syncs.time(began.elapsed());
        }
        let (peak, ratio) = (memory(daemon.pid(), "VmHWM"), syncs.median() / walks.median());
        self.table.add(Row {
            order: 117,
            description: format!(
                "a sync of {pages} files, nothing changed, as a multiple of looking at each file"
            ),
            goal: Goal::Below(1.5, "times"),
            value: ratio,
            measured: format!("{} times ({})", short(ratio), syncs.text("ms")),
            baseline: Some((
                None,
                format!("{} ms: walking the directory and looking", short(walks.median())),
            )),
        });
        self.table.add(Row {
            order: 118,
            description: format!("the daemon's peak memory during that, {pages} files (VmHWM)"),
            goal: Goal::Below(100.0, "MB"),
            value: peak,
            measured: format!("{} MB ({} MB before)", short(peak), short(before)),
            baseline: None,
        });
    }

    fn add_row(&mut self, order: u8, operation: &str, pages: &str, goal: Goal, samples: &Samples) {
        self.table.add(Row {
            order,
            description: format!("{operation}, {pages} pages, over the socket"),
            goal,
            value: samples.median(),
            measured: samples.text("ms"),
            baseline: None,
        });
    }
}

/// Syncs, and checks that the source has `count` files.
fn run_sync(client: &mut Client, sync: &Request, count: usize) {
    match client.ask(sync) {
        Ok(Reply::Sync(reply)) => {
            assert_eq!(
                (reply.status.as_str(), reply.sources[0].files),
                ("done", count as u64),
                "{reply:?}"
            );
        }
        other => panic!("no sync: {other:?}"),
    }
}
